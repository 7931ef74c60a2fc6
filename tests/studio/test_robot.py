"""The page of robots: the catalogue, files good and bad, edits, gravity and payload."""

import dataclasses
import re

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError

from .conftest import handle

URDF = b"""<robot name="two"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" iyz="0" ixz="0"/></inertial></link>
<link name="tip"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="10" velocity="3"/></joint>
<joint name="end" type="fixed"><parent link="upper"/><child link="tip"/>
<origin xyz="0.5 0 0"/></joint>
</robot>"""
TOML = b"""schema = 1
name = "one <b>bold</b>"
convention = "standard"
[values]
L = 0.7
[[link]]
a = "L"
mass = 1.5
com = ["-L/2", 0, 0]
"""
SDF = b"""<sdf version="1.9"><model name="two"><link name="base"/><link name="upper"/>
<joint name="turn" type="revolute"><parent>base</parent><child>upper</child>
<axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
MJCF = b"""<mujoco model="two"><worldbody><body name="upper"><joint name="turn"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>"""
RELOAD = "setTimeout(() => location.reload(), 0)"
BOMB = (
    b"""<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>"""
)
BAD = {
    "empty.toml": (b" \n", "is empty"),
    "arm.png": (b"\x89PNG\r\n", "expected one of .toml, .urdf"),
    "binary.urdf": (b"\x7fELF\0\0\0", "is not text"),
    "latin.toml": (b'name = "\xe9t\xe9"', "not UTF-8"),
    "bomb.urdf": (BOMB, "document type or entities"),
    "outer.urdf": (b'<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot/>', "document type"),
    "arm.xacro": (URDF, "a program, which is never run from an upload"),
    "outer.xml": (
        MJCF.replace(b"<worldbody>", b'<include file="/etc/passwd"/><worldbody>'),
        "is not in the model's folder",
    ),
    "bomb.sdf": (BOMB, "document type or entities"),
    "left.urdf": (URDF.replace(b'"0.5 0 0"', b'"${x} 0 0"'), "xacro"),
    "no.toml": (b"name = ", "not valid TOML"),
    "no.urdf": (b"<robot", "not valid XML"),
    "codec.urdf": (b'<?xml version="1.0" encoding="nope"?><robot/>', "not valid XML"),
    "free.toml": (TOML.replace(b"L = 0.7", b""), "symbol 'L'"),
    "../../etc/passwd.toml": (b"x = 1", "passwd.toml: "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_by_name(name):
    from dynamis.studio.server.session import drawable, start_pose
    from dynamis.studio.server.uploads import uploaded_robot

    content, said = BAD[name]
    with pytest.raises(DynamisError) as refusal:
        robot = uploaded_robot(name, content)
        drawable(robot, start_pose(robot))
    assert said in str(refusal.value)
    assert "../" not in str(refusal.value)


@pytest.mark.parametrize(("name", "content"), [("arm.sdf", SDF), ("arm.xml", MJCF)])
def test_sdf_and_mjcf_are_uploaded_too(name, content):
    from dynamis.studio.server.uploads import uploaded_robot

    robot = uploaded_robot(name, content)
    assert (robot.name, robot.joint_names, robot.link_names) == ("two", ("turn",), ("upper",))


def test_names_of_files_are_only_shown():
    from dynamis.studio.server.uploads import shown_name, uploaded_robot

    assert uploaded_robot("/etc/../C:\\x\\arm.urdf", URDF).name == "two"
    assert shown_name("C:\\a\\..\\b/c.toml") == "c.toml"
    assert shown_name("a/\x1b[2J\n.toml") == "[2J.toml"
    assert len(shown_name(500 * "x" + ".toml")) == 60


def test_a_hundred_joints_are_too_many():
    import dynamis as dy
    from dynamis.studio.server.session import drawable

    links = [dy.Link(a=0.1) for _ in range(100)]
    robot = dy.Robot.from_dh("snake", convention="standard", links=links)
    with pytest.raises(DynamisError, match="at most"):
        drawable(robot, np.zeros(100))


def test_errors_show_no_markup():
    from dynamis.studio.server.session import shown_error

    text = shown_error(
        "a <img src=x onerror=alert(1)> ![x](y) [l](javascript:1) `c` {1}\nhint: *b*"
    )
    assert re.findall(r"(?<!\\)[<>*`{}\[\]()!]", text.removeprefix("**Not possible.** ")) == []


def test_values_are_shown_as_one_would_type_them():
    from dynamis.model.quantity import Expression
    from dynamis.studio.pages.chart import typed

    assert typed(Expression("L1/2")) == "L1/2"
    assert [typed(x, True) for x in (np.pi / 2, -np.pi, 0.75 * np.pi, 0.0)] == [
        *("pi/2", "-pi", "3*pi/4", "0")
    ]
    assert typed(np.pi / 2) == "1.57079632679" and typed(-0.4318) == "-0.4318"


@pytest.mark.parametrize("name", ["puma560", "kr16", "planar-rp", "five-bar", "palletizer"])
def test_every_field_of_a_robot_reads_back_and_has_a_unit(name):
    """What a field shows, typed again, changes nothing."""
    from dynamis.studio.pages.parts import CLOSURE, LINK, SPRING, UNITS

    model = dy.load(name).model
    parts = [(link, row) for link in model.links for rows in LINK.values() for row in rows]
    parts += [(x, row) for x in model.springs for row in SPRING]
    parts += [(x, row) for x in model.closures for row in CLOSURE]
    seen = [(part, row) for part, row in parts if row.when(part, model)]
    assert len(seen) > 10 * len(model.links)
    for part, row in seen:
        assert row.edited(part, row.text(part, model), model) == part, row
        label = row.label.format(**UNITS["prismatic"])
        assert row.options is not None or re.search(r"\(.+\)$", label), label


def test_parts_are_edited_in_their_units():
    from dynamis.model.drive import Drive
    from dynamis.studio.pages.parts import CLOSURE, LINK, SPRING, closure_here, new_spring

    arm = dy.load("planar-rp")
    model, link = arm.model, arm.model.links[1]

    def typed(part, rows, label, text):
        row = next(x for x in rows if x.label == label and x.when(part, model))
        return row.edited(part, text, model)

    rows = LINK["Friction"]
    stribeck = typed(link, rows, "law", "stribeck")
    slower = typed(stribeck, rows, "velocity ({velocity})", "0.2")
    assert slower.friction.constants == {"static_ratio": 1.5, "velocity": 0.2}
    assert typed(link, rows, "Coulomb ({torque})", "3").friction.coulomb == (3.0, -3.0)
    driven = typed(link, LINK["Drive"], "drive", "motor and gear")
    screw = typed(driven, LINK["Drive"], "screw lead (m/turn)", "0.01")
    assert driven.drive == Drive() and screw.drive == Drive(lead=0.01)
    assert typed(link, LINK["Limits"], "limits ({position})", "").limits is None
    inertia = typed(link, LINK["Mass and inertia"], "Ixy, Iyz, Ixz (kg m²)", "1, 2, 3").inertia
    assert inertia == (*link.inertia[:3], 1.0, 2.0, 3.0)
    third = 0.04000000000000001  # shown with twelve digits, kept as it is beside what is edited
    body = dataclasses.replace(link, inertia=(third, third, third, 0.0, 0.0, 0.0))
    label = "Ixx, Iyy, Izz (kg m²)"
    row = next(x for x in LINK["Mass and inertia"] if x.label == label)
    assert row.text(body, model) == "0.04, 0.04, 0.04"
    edited = typed(body, LINK["Mass and inertia"], label, "0.04, 0.05, 0.04")
    assert edited.inertia[:3] == (third, 0.05, third)
    spring = new_spring("linear", model, stiffness=5.0)
    gas = typed(spring, SPRING, "kind", "gas")
    assert typed(gas, SPRING, "gas law", "table").forces == (0.0, 100.0)
    assert typed(spring, SPRING, "to", "base").to is None
    with pytest.raises(DynamisError, match="stiffness is -1"):
        typed(spring, SPRING, "stiffness ({stiffness})", "-1")
    q = np.array([0.4, 0.3])
    rod = closure_here(arm, q)
    closed = dy.Robot(dataclasses.replace(model, closures=(rod,)))
    assert np.abs(closed.closure_error(q)).max() < 1e-12 and closed.dof == 1
    assert typed(rod, CLOSURE, "length (m)", "0.7").length == 0.7
    assert typed(rod, CLOSURE, "kind", "ball").length is None


def test_a_joint_becomes_elastic_by_its_stiffness_and_rigid_without():
    from dynamis.studio.pages.parts import LINK, units_of

    model = dy.load("puma560").model

    def shown(part):
        return {x.label.partition(" (")[0]: x for x in LINK["Drive"] if x.when(part, model)}

    link, own = model.links[1], {"damping", "hardening", "backlash"}
    assert "stiffness" in shown(link) and not own & {*shown(link)}
    soft = shown(link)["stiffness"].edited(link, "2e4", model)
    assert soft.drive.stiffness == 2e4 and own < {*shown(soft)}
    assert shown(soft)["hardening"].label.format(**units_of(soft)) == "hardening (N m/rad³)"
    loose = shown(soft)["backlash"].edited(soft, "5e-4", model)
    assert loose.drive.backlash == 5e-4
    assert shown(loose)["stiffness"].edited(loose, " ", model) == link


@pytest.mark.parametrize("name", ["puma560", "scara", "stanford"])
def test_what_is_shown_reads_back(name):
    """An edit that types what is there changes nothing."""
    import dynamis as dy
    from dynamis.model.quantity import quantity
    from dynamis.studio.pages.chart import typed

    for link in dy.load(name).model.links:
        for key in ("a", "alpha", "d", "theta", "offset", "mass"):
            value = getattr(link, key)
            assert quantity(typed(value, key in ("alpha", "theta", "offset")), key) == value


def test_an_edit_of_the_table_moves_the_arm_and_a_wrong_one_does_not(tab):
    before = tab.session.robot
    tab.choose("Link", "link2")
    tab.until(lambda: tab.field("a (m)").input_value() == "0.4318")
    tab.type("a (m)", "0.6")
    tab.until(lambda: tab.session.robot.model.links[1].a == 0.6)
    edited = tab.session.robot
    moved = np.abs(edited.fk(tab.session.q) - before.fk(tab.session.q)).max()
    assert moved > 0.1
    tab.says("0.6")
    tab.type("alpha (rad)", "90 deg")
    tab.until(lambda: abs(tab.session.robot.model.links[1].alpha - np.pi / 2) < 1e-12)
    edited = tab.session.robot
    tab.type("d (m)", "import os")
    tab.says("cannot read 'import os'")
    tab.click(tab.page.get_by_text("Mass and inertia", exact=True))
    tab.type("com (m)", "1, 2")
    tab.says("com has 2 entries")
    tab.type("mass (kg)", "-3")
    tab.says("mass is -3.0, expected >= 0")
    assert tab.session.robot is edited
    tab.type("mass (kg)", "0")
    tab.says("Check: 6 warnings")  # the check follows
    tab.click(tab.page.get_by_text("Friction", exact=True).first)
    tab.choose("law", "stribeck")
    tab.until(lambda: tab.session.robot.model.links[1].friction.law == "stribeck")
    tab.type("static ratio (-)", "2")
    tab.until(lambda: tab.session.robot.model.links[1].friction.constants["static_ratio"] == 2.0)
    tab.press("Undo all edits")
    tab.until(lambda: tab.session.robot == before)
    tab.until(lambda: tab.field("a (m)").input_value() == "0.4318")
    assert tab.errors == []


@pytest.mark.thorough
def test_symbols_survive_and_their_values_can_be_edited(tab):
    tab.choose("Robot", "planar-rr")
    tab.until(lambda: tab.session.robot.name == "planar-rr")
    tab.until(lambda: tab.field("a (m)").input_value() == "L1")
    tab.choose("Symbol", "L2")
    tab.until(lambda: tab.field("L2").count() == 1)
    tab.type("L2", "0.25")
    tab.until(lambda: tab.session.robot.model.values["L2"] == 0.25)
    assert str(tab.session.robot.model.links[1].a) == "L2"
    tab.type("a (m)", "2*L1")
    tab.until(lambda: str(tab.session.robot.model.links[0].a) == "2*L1")
    tab.type("a (m)", "L9")
    tab.says("symbol 'L9'")
    assert str(tab.session.robot.model.links[0].a) == "2*L1"
    assert tab.errors == []


@pytest.mark.thorough
def test_gravity_and_payload_change_the_torque(tab):
    tab.session.change_pose(np.zeros(6))
    held = tab.session.robot.gravity_torque(tab.session.q)
    tab.type("Payload (kg)", "5")
    tab.until(lambda: tab.session.robot.model.payload is not None)
    loaded = tab.session.robot.gravity_torque(tab.session.q)
    assert abs(loaded[1] - held[1]) > 1
    tab.choose("Mounted on", "zero")
    tab.until(lambda: not tab.session.robot.gravity.any())
    tab.open("Pose")
    tab.says("0 N m")
    tab.open("Robot")
    tab.says("no joint carries any weight")
    tab.choose("Mounted on", "ceiling")
    tab.until(lambda: tab.session.robot.gravity[2] == 9.81)
    assert np.allclose(tab.session.robot.gravity_torque(tab.session.q), -loaded)
    assert tab.session.robot.model.payload.mass == 5.0
    assert tab.errors == []


@pytest.mark.thorough
def test_a_change_made_while_another_is_under_way_is_not_lost(tab):
    """The robot is replaced between the choice and its answer, as on a busy machine."""
    with tab.session.lock:
        tab.choose("Mounted on", "wall")
        tab.until(lambda: handle(tab, "Mounted on").value == "wall")  # the answer waits for us
        tab.session.change_robot(tab.session.robot.with_payload(1.0), keep_pose=True)
    tab.until(lambda: tab.session.robot.gravity[2] == 0.0)
    assert tab.session.robot.model.payload.mass == 1.0


@pytest.mark.thorough
def test_what_is_typed_is_kept_also_before_its_event_comes(tab):
    from dynamis.studio.pages.parts import TextField

    field = TextField(tab.session, "x", float)
    field.set("1", "x")
    field.input._impl.value = "2"  # the page has sent it, and nobody was called yet
    field.set("3", "x")
    assert field.input.value == "2"
    field.set("4", "x", another=True)
    assert field.input.value == "4"


@pytest.mark.thorough
def test_files_good_and_bad(tab):
    tab.upload("two.urdf", URDF)
    tab.until(lambda: tab.session.robot.name == "two")
    tab.says("As a DH table it is")
    tab.press("modified")
    tab.until(lambda: tab.session.robot.model.convention == "modified")
    tab.upload("one.toml", TOML)
    tab.until(lambda: tab.session.robot.name.startswith("one"))
    tab.says("one <b>bold</b>")
    kept = tab.session.robot
    for name in ("bomb.urdf", "binary.urdf", "empty.toml", "free.toml"):
        tab.upload(name, BAD[name][0])
        tab.says(BAD[name][1])
    tab.upload("big.toml", 10_000_001 * b"#")
    tab.says("big.toml has 10.0 MB, expected at most 10 MB")
    tab.until(lambda: tab.session.client.gui._current_file_upload_states == {})
    assert tab.session.robot is kept
    tab.upload("one.toml", TOML)  # the button still works
    tab.until(lambda: tab.session.robot is not kept)
    tab.until(lambda: not tab.page.get_by_text("expected at most 10 MB").is_visible())
    assert tab.errors == []


def test_work_survives_a_reload_and_a_saved_robot_opens_again(browser, studio):
    from .conftest import Tab

    tab = Tab(browser, studio)
    tab.until(lambda: tab.page.title() == "puma560 - dynamis studio")
    tab.choose("Link", "link2")
    tab.until(lambda: tab.field("a (m)").input_value() == "0.4318")
    tab.type("a (m)", "0.6")
    undo = tab.page.get_by_role("button", name="Undo all edits", exact=True)
    tab.until(undo.is_enabled)  # the page knows of the edit
    first, posed = tab.session, np.full(6, 0.25)
    first.change_pose(posed)
    edited, run = first.robot, object()
    first.bench.log = run  # any result stands for all of them
    with tab.page.expect_download() as waiting:
        tab.press("Save as TOML")
    saved = waiting.value.path().read_bytes()

    tab.page.evaluate(RELOAD)
    tab.session, number = None, tab.number
    tab.until(lambda: max(studio.sessions, default=number) > number)
    again = studio.sessions[max(studio.sessions)]
    tab.until(lambda: again.robot is edited)
    tab.until(lambda: again.bench.log is run)
    assert again is not first and np.array_equal(again.placed, posed)
    tab.until(first.closed.is_set)
    tab.session = again
    tab.click(undo)  # back to what was loaded before the reload
    tab.until(lambda: again.robot.model.links[1].a == 0.4318)
    tab.upload("saved.toml", saved)
    tab.until(lambda: again.robot == edited)
    tab.close()


@pytest.mark.thorough
def test_what_is_not_drawn_of_an_uploaded_file_is_said(tab):
    body = b'<visual><geometry><mesh filename="tip.stl"/></geometry></visual>'
    tip = b'<link name="tip">' + body + b"</link>"
    tab.upload("two.urdf", URDF.replace(b'<link name="tip"/>', tip))
    tab.says("they are not uploaded with the file")


@pytest.mark.thorough
def test_two_tabs_have_two_robots(browser, studio, tab):
    from .conftest import NARROW, Tab

    other = Tab(browser, studio, NARROW)
    try:
        other.choose("Robot", "scara")
        other.until(lambda: other.session.robot.name == "scara")
        other.open("Pose")
        other.sees(other.field("joint3 (m)"))
        other.until(lambda: other.field("joint4 (rad)").count() == 0)
        assert tab.session.robot.name == "puma560"
        assert other.errors == tab.errors == []
    finally:
        other.close()


@pytest.mark.thorough
def test_addresses_in_names_are_no_links(tab):
    name = "see http://evil.test/x.png www.evil.test a@evil.test <b>bold</b> [x](http://y.test)"
    text = dy.load("planar-rr").model
    robot = dy.Robot(dataclasses.replace(text, name=name, description=name))
    tab.session.change_robot(robot)
    tab.says("bold")
    links = tab.page.locator("a[href*='test']")
    assert links.count() == 0, links.all_inner_texts()
    tab.session.change_robot(dy.load("puma560"))


SPRUNG = b"""schema = 1
name = "sprung"
convention = "standard"
gravity = [0, -9.81, 0]
[[link]]
a = 0.5
mass = 2.0
[[link]]
a = 0.4
mass = 1.0
[[spring]]
name = "*balance*"
from_point = [0, 0.4, 0]
to = "link1"
to_point = [-0.2, 0, 0]
stiffness = 800.0
preload = 12.5
rest_length = 0.3
[[spring]]
kind = "gas"
law = "table"
to = "link2"
to_point = [0.1, 0, 0]
lengths = [0.1, 0.6]
forces = [5, 40]
[[spring]]
kind = "torsion"
joint = "joint2"
stiffness = 3.0
rest_angle = "pi/4"
"""


@pytest.mark.thorough
def test_springs_are_drawn_and_listed(tab):
    assert "spring" not in tab.session.view.arm._parts
    tab.upload("sprung.toml", SPRUNG)
    tab.says("*balance* (linear)")
    tab.says("stiffness 800, preload 12.5, rest length 0.3")
    tab.says("table")
    tab.says("at joint2")
    session = tab.session
    tab.until(lambda: "spring" in session.view.arm._parts)
    arm = session.view.arm
    wire, gas = arm._parts["spring"]
    at = session.robot.fk(session.q, link="link1") @ [-0.2, 0.0, 0.0, 1.0]
    assert np.allclose(wire.position, [0.0, 0.4, 0.0], atol=1e-6)
    assert wire.scale[2] == pytest.approx(np.linalg.norm(at[:3] - wire.position), rel=1e-6)
    before = gas.scale[2]
    session.change_pose(np.array([0.7, -0.3]))
    assert np.allclose(wire.position, [0.0, 0.4, 0.0], atol=1e-6)
    assert abs(gas.scale[2] - before) > 1e-3
    arm.show(("frames",))
    assert not wire.visible
    tab.choose("Robot", "puma560")
    tab.until(lambda: session.robot.name == "puma560")
    tab.until(lambda: "spring" not in session.view.arm._parts)
