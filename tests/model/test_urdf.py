"""URDF in and out: merging, locking, round trips, agreement with Pinocchio, hostile files."""

import pickle
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import DynamisWarning, FileError, SymbolError
from dynamis.model import catalogue
from dynamis.model.chain import chain
from dynamis.model.check.model import check_model
from dynamis.model.drive import Drive
from dynamis.model.formats.files import load_model
from dynamis.model.formats.urdf import model_from_urdf, urdf_text
from dynamis.model.formats.urdf_elements import DEEPEST
from dynamis.model.friction import Friction
from dynamis.model.link import Link
from dynamis.model.model import Model, NamedFrame, Payload
from dynamis.model.pose import Pose
from dynamis.spatial.frames import compose, inverse
from dynamis.spatial.inertia import linear, plus

from ..closed_mechanisms import OPEN_ARMS
from ..model_strategies import models

ROUNDING = 1e-12  # some thousand roundings of numbers near 1
SNAPPED = 1e-11  # real files print pi/2 with 11 digits; we take it as meant
REAL = ("tx40/tx40.urdf", "lwr4/lwr4.urdf", "ur10e/ur10e.urdf")


def urdf(body: str, name: str = "arm") -> bytes:
    return f'<robot name="{name}">{body}</robot>'.encode()


def link(name: str, inertial: str = "") -> str:
    return f'<link name="{name}">{inertial}</link>'


def inertial(mass=1.0, xyz="0 0 0", rpy="0 0 0", diagonal=(1, 2, 3)) -> str:
    xx, yy, zz = diagonal
    return (
        f'<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" iyz="0" ixz="0"/></inertial>'
    )


def joint(name, parent, child, kind="revolute", rest="", xyz="0 0 0", rpy="0 0 0") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>{rest}</joint>'
    )


TWO = link("base") + link("a", inertial()) + joint("j", "base", "a")


def written(model) -> str:
    """The text, whatever it says aloud."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DynamisWarning)
        return urdf_text(model)


def stripped(text: str) -> bytes:
    """The file without a trace of us."""
    root = ET.fromstring(text)
    for element in root.iter():
        for extension in element.findall("dynamis"):
            element.remove(extension)
    return ET.tostring(root)


def matrix(frame):
    return np.vstack([np.column_stack([frame.R, frame.p]), [0, 0, 0, 1]]).astype(float)


def in_urdf_frames(model):
    """Joint placements and ten parameters in the frames a URDF of the model has."""
    c = chain(model)
    own = model.convention == "urdf"
    rows = {}
    for i, name in enumerate(model.tree_joint_names):
        body = c.bodies[i]
        placement = c.joints[i].placement
        if own:
            placement = compose(placement, body.user)
            if c.joints[i].parent >= 0:
                placement = compose(inverse(c.bodies[c.joints[i].parent].user), placement)
        inertia = body.user_inertia if own else body.inertia
        if body.load is not None:
            inertia = plus(inertia, body.load)
        rows[name] = matrix(placement), np.array(linear(inertia), dtype=float)
    return rows


def in_pinocchio(text: str, names):
    peer = pin.buildModelFromXML(text)
    rows = {}
    for name in names:
        i = peer.getJointId(name)
        placement = peer.jointPlacements[i].homogeneous
        rows[name] = placement, peer.inertias[i].toDynamicParameters()
    return rows


def assert_same(rows, others, tolerance):
    assert rows.keys() == others.keys()
    for name, (placement, parameters) in rows.items():
        np.testing.assert_allclose(others[name][0], placement, rtol=0, atol=tolerance)
        np.testing.assert_allclose(others[name][1], parameters, rtol=tolerance, atol=tolerance)


# reading


def test_a_plain_urdf_loads():
    rest = (
        '<axis xyz="0 0 2"/><limit lower="-1" upper="2" effort="3" velocity="4"/>'
        '<dynamics damping="0.5" friction="0.25"/>'
    )
    model = model_from_urdf(
        urdf(
            link("base", inertial(9))
            + link("a", inertial(2, "0.1 0 0"))
            + joint("j", "base", "a", rest=rest, xyz="0 0 1", rpy="0.5 0 0")
            + '<gazebo/><transmission name="t"><joint name="j"/></transmission>'
        )
    )
    (arm,) = model.links
    assert (model.name, model.base_name, model.convention) == ("arm", "base", "urdf")
    assert (arm.name, arm.joint_name, arm.parent, arm.joint) == ("a", "j", None, "revolute")
    assert (arm.xyz, arm.rpy, arm.axis) == ((0, 0, 1), (0.5, 0, 0), (0, 0, 2))
    assert (arm.mass, arm.com, arm.inertia) == (2, (0.1, 0, 0), (1, 2, 3, 0, 0, 0))
    assert (arm.limits, arm.effort_limit, arm.velocity_limit) == ((-1, 2), 3, 4)
    assert arm.friction == Friction(viscous=0.5, coulomb=0.25)
    assert (model.tool_name, model.tool, model.tip) == ("a", Pose(), 0)


def test_the_default_axis_is_urdfs_x():
    assert model_from_urdf(urdf(TWO)).links[0].axis == (1.0, 0.0, 0.0)


def test_a_continuous_joint_has_no_limits():
    body = joint("j", "base", "a", "continuous", '<limit lower="0" upper="0" effort="5"/>')
    arm = model_from_urdf(urdf(link("base") + link("a") + body)).links[0]
    assert (arm.joint, arm.limits, arm.effort_limit) == ("revolute", None, 5)


def test_a_turned_inertial_is_read_into_the_link_frame():
    body = (
        link("base") + link("a", inertial(rpy="1.5707963267948966 0 0")) + joint("j", "base", "a")
    )
    np.testing.assert_allclose(
        model_from_urdf(urdf(body)).links[0].inertia, (1, 3, 2, 0, 0, 0), atol=1e-15
    )


def test_fixed_links_are_merged_and_keep_their_names():
    model = model_from_urdf(
        urdf(
            link("world")
            + link("base", inertial(50))
            + link("a", inertial(1, diagonal=(0, 0, 0)))
            + link("plate", inertial(2, diagonal=(0, 0, 0)))
            + link("b")
            + joint("w", "world", "base", "fixed", xyz="0 0 5")
            + joint("j", "base", "a", xyz="1 0 0")
            + joint("p", "a", "plate", "fixed", xyz="0 0 1", rpy="0 0 1.5707963267948966")
            + joint("k", "plate", "b", xyz="3 0 0")
        )
    )
    a, b = model.links
    assert [(f.name, f.link) for f in model.frames] == [("base", None), ("plate", "a")]
    assert a.xyz == (1, 0, 5)
    assert (b.parent, b.xyz) == ("a", pytest.approx((0, 3, 1)))
    assert b.rpy == pytest.approx((0, 0, np.pi / 2))
    assert a.linear == (3, 0, 0, 2, 2, 0, 2, 0, 0, 0)  # 2 kg one metre up
    assert (b.linear, b.mass) == (None, 0.0)


TREE = (
    link("base")
    + "".join(link(x) for x in ("a", "b", "c", "d", "flange", "tool", "camera"))
    + joint("jd", "base", "d")
    + joint("ja", "base", "a")
    + joint("jc", "a", "c", "prismatic")
    + joint("jb", "a", "b")
    + joint("f", "b", "flange", "fixed", xyz="0 0 1")
    + joint("t", "flange", "tool", "fixed", xyz="0 0 1")
    + joint("x", "base", "camera", "fixed")
)


def test_a_tree_is_read_depth_first_in_file_order():
    model = model_from_urdf(urdf(TREE))
    assert model.link_names == ("d", "a", "c", "b")
    assert model.parents == (-1, -1, 1, 1)


@pytest.mark.parametrize(
    ("tip", "tool_name", "link_name", "z"),
    [
        (None, "c", "c", 0),  # c and b are as deep: the first counts
        ("tool", "tool", "b", 2),
        ("flange", "flange", "b", 1),
        ("d", "d", "d", 0),
    ],
)
def test_the_tip_chooses_the_tool(tip, tool_name, link_name, z):
    model = model_from_urdf(urdf(TREE), tip=tip)
    assert (model.tool_name, model.link_names[model.tip]) == (tool_name, link_name)
    assert model.tool.xyz == (0, 0, z)
    assert len(model.links) == 4


def test_the_default_tip_follows_a_single_fixed_link():
    one = TWO + link("flange") + joint("f", "a", "flange", "fixed", xyz="0 0 1")
    assert model_from_urdf(urdf(one)).tool_name == "flange"
    two = one + link("camera") + joint("x", "a", "camera", "fixed")
    assert model_from_urdf(urdf(two)).tool_name == "a"


GRIPPER = (
    link("base")
    + "".join(link(x, inertial(diagonal=(0, 0, 0))) for x in ("hand", "left", "right"))
    + joint("turn", "base", "hand", rest='<axis xyz="0 0 1"/>')
    + joint("l", "hand", "left", "prismatic", '<axis xyz="0 1 0"/>')
    + joint("r", "hand", "right", "prismatic", '<axis xyz="0 1 0"/><mimic joint="l" '
            'multiplier="-1" offset="0.5"/>')
)  # fmt: skip


def test_mimic_joints_follow():
    model = model_from_urdf(urdf(GRIPPER))
    assert model.links[2].mimic == ("l", -1.0, 0.5)
    assert model.joint_names == ("turn", "l")


TCP = link("tcp") + joint("t", "hand", "tcp", "fixed", xyz="0 0 0.1")


def tool_notes(body, **options):
    found = check_model(model_from_urdf(urdf(body), **options))
    return [f"{f.level}: {f.what}; {f.remedy}" for f in found if f.where == "tool"]


def test_a_finger_as_tool_is_noted():
    (note,) = tool_notes(GRIPPER + TCP)
    assert "note: is 'left'" in note and "'right'" in note and "tip='tcp'" in note
    assert tool_notes(GRIPPER + TCP, tip="tcp") == []
    (longer,) = tool_notes(  # no tie
        GRIPPER + TCP + link("pad", inertial()) + joint("p", "left", "pad")
    )
    assert "is 'pad', on a joint that mimics or is mimicked" in longer and "tip='tcp'" in longer
    assert tool_notes(TWO) == []


def test_arms_of_the_same_length_are_noted():
    (note,) = tool_notes(TREE)
    assert "is 'c'; as many joints lead to 'b'" in note


def test_a_mimic_joint_is_counted_apart():
    robot = dy.Robot(model_from_urdf(urdf(GRIPPER + TCP), tip="tcp"))
    assert "2 joints RP + 1 mimic" in repr(robot)


def test_the_gear_ratio_of_a_transmission_is_noted():
    ratio = "<mechanicalReduction>{}</mechanicalReduction>"
    gear = '<transmission name="x"><joint name="j"/><actuator name="m">' + ratio + "</actuator>"
    for text, said in (("100", True), ("1", False), ("1.0", False), ("${n}", False)):
        found = model_from_urdf(urdf(TWO + gear.format(text) + "</transmission>")).findings
        assert [
            f.what for f in found if "mechanicalReduction 100, which is not used" in f.what
        ] == [f.what for f in found]
        assert bool(found) == said


def test_locking_a_leader_locks_its_follower():
    model = model_from_urdf(urdf(GRIPPER), lock={"l": 0.2}, tip="hand")
    assert model.joint_names == ("turn",)
    assert {f.name: f.pose.xyz for f in model.frames} == {
        "left": (0, 0.2, 0),
        "right": (0, pytest.approx(0.3), 0),
    }
    assert model.links[0].linear[:4] == pytest.approx((3, 0, 0.5, 0))


def test_locking_a_follower_leaves_the_leader():
    model = model_from_urdf(urdf(GRIPPER), lock={"r": 0.1})
    assert model.joint_names == ("turn", "l")


def test_locking_turns_about_the_axis():
    body = TWO + link("b") + joint("k", "a", "b")
    model = model_from_urdf(urdf(body), lock={"j": "90 deg"})
    assert model.links[0].rpy == pytest.approx((np.pi / 2, 0, 0))
    assert model.frames[0].pose.rpy == pytest.approx((np.pi / 2, 0, 0))


def fingers(*ties: str) -> bytes:
    """A leader `f0` and joints f1, f2, ... that each mimic what `ties` says."""
    body = link("base") + link("l0", inertial()) + joint("f0", "base", "l0")
    for i, tie in enumerate(ties, 1):
        body += link(f"l{i}", inertial()) + joint(f"f{i}", f"l{i - 1}", f"l{i}", rest=tie)
    return urdf(body)


def mimic(leader: str, multiplier: float = 1.0, offset: float = 0.0) -> str:
    return f'<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/>'


numbers = st.floats(-2.0, 2.0)


@given(numbers, numbers, numbers, numbers, numbers, st.permutations([1, 2]))
def test_a_joint_that_mimics_a_mimic_follows_the_leader_of_both(k, c, kk, cc, lead, order):
    """x2 = kk x1 + cc, x1 = k x0 + c, in whichever order the file has them."""
    first, second = order
    ties = {first: mimic("f0", k, c), second: mimic(f"f{first}", kk, cc)}
    data = fingers(ties[1], ties[2])
    model = model_from_urdf(data)
    assert model.joint_names == ("f0",)
    assert model.links[second].mimic == ("f0", kk * k, kk * c + cc)
    held = model_from_urdf(data, lock={f"f{first}": lead}, tip="l0")  # its follower is held too
    assert held.joint_names == ("f0",)
    turn = sum(frame.pose.rpy[0] for frame in held.frames[-1:])
    assert np.cos(turn) == pytest.approx(np.cos(lead + kk * lead + cc), abs=1e-9)


def test_joints_that_mimic_each_other_in_a_circle_are_refused():
    with pytest.raises(FileError, match="none of them moves by itself"):
        model_from_urdf(fingers(mimic("f2"), mimic("f1")))


def test_a_tie_to_what_does_not_exist_is_named_at_its_own_joint():
    with pytest.raises(FileError, match="joint 'f1' mimics 'f9', which does not exist"):
        model_from_urdf(fingers(mimic("f9"), mimic("f1")))


@pytest.mark.parametrize(
    "text",
    [
        '<robot name="arm">{}<drake:joint name="x"/></robot>',
        '<robot name="arm">{}<joint_limits drake:acceleration="1"/><a:b><c:d/></a:b></robot>',
        '<robot name="arm" xmlns="http://www.ros.org">{}</robot>',
        '<robot name="arm" xmlns:drake="http://drake.mit.edu" xmlns="http://x">{}</robot>',
        '<?xml version="1.0"?><robot name="arm">{}<gazebo><x xmlns="y"/></gazebo></robot>',
    ],
)
def test_namespaces_need_no_declaration_and_change_nothing(text):
    assert model_from_urdf(text.format(TWO).encode()) == model_from_urdf(urdf(TWO))


@pytest.mark.parametrize("prefix", ["xacro", "x"])
def test_xacro_is_known_by_its_namespace(prefix):
    space = f'xmlns:{prefix}="http://www.ros.org/wiki/xacro"'
    text = f'<robot name="arm" {space}>{TWO}<{prefix}:include filename="a"/></robot>'
    with pytest.raises(FileError, match=f"<{prefix}:include>"):
        model_from_urdf(text.encode())


def test_a_default_of_the_environment_is_taken_and_said():
    body = TWO.replace(
        'xyz="0 0 0" rpy="0 0 0"/></joint>', 'xyz="$(optenv ARM_XYZ 1 2 3)"/></joint>'
    )
    with pytest.warns(DynamisWarning, match=r"\$\(optenv ARM_XYZ 1 2 3\)': '1 2 3' is taken"):
        assert model_from_urdf(urdf(body)).links[0].xyz == (1.0, 2.0, 3.0)
    with pytest.raises(FileError, match="xacro"):
        model_from_urdf(urdf(body.replace("ARM_XYZ 1 2 3", "ARM_XYZ")))


def test_too_many_links_are_refused():
    chain = link("b") + "".join(link(f"l{i}") for i in range(1002))
    chain += joint("j", "b", "l0")
    chain += "".join(joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(1001))
    with pytest.raises(FileError, match="has 1002 moving joints, expected at most 1000"):
        model_from_urdf(urdf(chain))
    with pytest.raises(FileError, match="has 20001 links, expected at most 10000"):
        model_from_urdf(urdf(link("b") + "".join(link(f"l{i}") for i in range(20_000))))
    with pytest.raises(FileError, match="more than 200000 XML elements"):
        model_from_urdf(urdf("<a/>" * 300_000))
    with pytest.raises(FileError, match="nested too deep, expected at most"):
        model_from_urdf(urdf("<a>" * (DEEPEST + 1)))


def test_elements_of_others_may_be_nested(tmp_path):
    depth = DEEPEST - 3
    inner = "<transmission>" + "<a>" * depth + "</a>" * depth + "</transmission>"
    joint = '<joint name="j" type="continuous"><parent link="b"/><child link="c"/></joint>'
    text = urdf(link("b") + link("c") + joint + inner)
    robot = dy.Robot(model_from_urdf(text))
    robot.save(tmp_path / "arm.urdf")
    assert dy.load(tmp_path / "arm.urdf").joint_names == ("j",)


def test_meshes_are_never_opened():
    mesh = '<visual><geometry><mesh filename="package://nowhere/a.dae"/></geometry></visual>'
    assert model_from_urdf(urdf(TWO.replace("</link>", mesh + "</link>"))).n == 1


LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY l "lol">'
    + "".join(f'<!ENTITY l{i} "{f"&l{i - 1 or str()};" * 10}">' for i in range(1, 10))
    + ']><robot name="&l9;"/>'
)
OUTSIDE = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><robot name="&x;"/>'
LOOP = (
    "".join(link(x) for x in "abcd")
    + joint("r", "a", "b")
    + joint("one", "c", "d")
    + joint("two", "d", "c")
)


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"", ["not valid XML", "no element found"]),
        (b"\x00\x01\xff garbage", ["not valid XML"]),
        (b"<robot", ["not valid XML", "line 1"]),
        (b'<?xml version="1.0" encoding="klingon"?><robot/>', ["not valid XML"]),
        (LAUGHS.encode(), ["document type or entities", "refused"]),
        (OUTSIDE.encode(), ["document type or entities", "refused"]),
        (b"<!DOCTYPE robot><robot/>", ["document type or entities"]),
        (b"<mujoco/>", ["root element is <mujoco>", "expected <robot>"]),
        (b"<robot/>", ["no <link>"]),
        (b"<robot><xacro:macro/></robot>", ["<xacro:macro>", "not expanded"]),
        (
            b'<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property/></robot>',
            ["<xacro:property>", "not expanded"],
        ),
        (urdf(link("a") + link("a")), ["two links are called 'a'"]),
        (urdf(TWO + link("b") + joint("j", "a", "b")), ["two joints are called 'j'"]),
        (urdf("<link/>"), ["<link> has no name"]),
        (urdf(TWO + '<joint type="fixed"/>'), ["<joint> has no name"]),
        (urdf(link("a") + '<joint name="j" type="fixed"/>'), ["'j'", "no <parent>"]),
        (urdf(link("base") + joint("j", "base", "arn")), ["'j'", "child link 'arn'"]),
        (urdf(link("base") + joint("j", "bas", "base")), ["parent link 'bas'", "mean 'base'"]),
        (urdf(TWO + joint("k", "base", "a")), ["'a' has two parents", "'j' and 'k'"]),
        (urdf(LOOP), ["['one', 'two'] form a loop"]),
        (urdf(link("a") + joint("self", "a", "a")), ["['self'] form a loop"]),
        (urdf(TWO + link("other")), ["2 root links ['base', 'other']", "expected one"]),
        (
            urdf(link("a") + link("b") + joint("j", "a", "b", "fixed")),
            ["no moving", "1 joint, fixed"],
        ),
        (urdf(link("a")), ["no moving joint (no joint at all)"]),
        (urdf(TWO.replace("revolute", "floating")), ["'j' is floating", "not supported"]),
        (urdf(TWO.replace("revolute", "planar")), ["'j' is planar", "not supported"]),
        (urdf(TWO.replace("revolute", "revolut")), ["'j' has type 'revolut'", "'revolute'"]),
        (urdf(TWO.replace(' type="revolute"', "")), ["'j' has type None", "known: revolute"]),
        (
            urdf(link("base") + link("a") + joint("j", "base", "a", rest='<axis xyz="0 0 0"/>')),
            ["'j' has axis 0 0 0", "expected a direction"],
        ),
        (urdf(TWO.replace('mass value="1.0"', 'mass value="nan"')), ["'a'", "'nan'", "finite"]),
        (urdf(TWO.replace('mass value="1.0"', 'mass value="-1"')), ["'a' has mass -1.0", ">= 0"]),
        (urdf(TWO.replace('mass value="1.0"', 'mass value="1e999"')), ["'1e999'", "finite"]),
        (urdf(TWO.replace('mass value="1.0"', 'mass value="1_0"')), ["'1_0'", "finite"]),
        (urdf(TWO.replace('mass value="1.0"', 'mass value="${m}"')), ["'${m}'", "xacro"]),
        (urdf(TWO.replace('mass value="1.0"', "mass")), ["'a'", '<mass> has no value="..."']),
        (urdf(TWO.replace('ixy="0" ', "")), ["'a'", '<inertia> has no ixy="..."']),
        (urdf(link("base") + link("a", "<inertial/>") + joint("j", "base", "a")), ["no <mass>"]),
        (
            urdf(link("base") + link("a") + joint("j", "base", "a", xyz="0 0")),
            ["'j'", "xyz is '0 0'", "2 words", "expected 3 finite numbers"],
        ),
        (
            urdf(link("base") + link("a") + joint("j", "base", "a", rpy="0 inf 0")),
            ["'j'", "rpy is '0 inf 0'", "expected 3 finite numbers"],
        ),
        (
            urdf(link("base") + link("a") + joint("j", "base", "a", rest='<limit lower="x"/>')),
            ["'j'", "<limit> lower is 'x'", "expected 1 finite number"],
        ),
        (urdf(GRIPPER.replace('joint="l"', 'joint="ll"')), ["'r' mimics 'll'", "does not exist"]),
        (urdf(GRIPPER.replace('joint="l"', 'joint="r"')), ["'r' mimics 'r'", "by itself"]),
        (urdf(TWO + '<dynamis schema="9"/>'), ["schema '9'", "reads schema 1"]),
        (urdf(TWO + '<dynamis schema="1" gravty="0"/>'), ["'gravty'", "'gravity'"]),
        (urdf(TWO + '<dynamis schema="1"><vlaue/></dynamis>'), ["<vlaue>", "'value'"]),
        (
            urdf(TWO.replace("</joint>", '<dynamis><drive geer="1"/></dynamis></joint>')),
            ["drive has unknown key 'geer'", "'gear'"],
        ),
        (
            urdf(TWO.replace("</joint>", '<dynamis><body gear="1"/></dynamis></joint>')),
            ["<body> has unknown attribute 'gear'"],
        ),
    ],
)
def test_a_bad_file_is_refused_by_name(data, parts):
    with pytest.raises(FileError) as caught:
        model_from_urdf(data, "arm.urdf")
    message = str(caught.value)
    assert message.startswith("arm.urdf: ")
    missing = [part for part in parts if part not in message]
    assert not missing, f"{missing} not in: {message}"


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"tip": "tol"}, ["tip 'tol' is not a link", "did you mean 'tool'"]),
        ({"tip": "camera"}, ["tip 'camera' is fixed to the base"]),
        ({"lock": {"jx": 0}}, ["lock names 'jx'", "known: jd, ja, jc, jb"]),
        ({"lock": {"t": 0}}, ["lock names 't'", "not a joint that moves"]),
        ({"lock": {"ja": "m1"}}, ["lock['ja'] is 'm1'", "expected a number"]),
        ({"lock": {"ja": float("nan")}}, ["lock['ja'] is nan", "finite"]),
        ({"lock": dict.fromkeys(["ja", "jb", "jc", "jd"], 0)}, ["no moving joint", "locked"]),
    ],
)
def test_bad_options_are_refused_by_name(options, parts):
    with pytest.raises(FileError) as caught:
        model_from_urdf(urdf(TREE), "arm.urdf", **options)
    missing = [part for part in parts if part not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_load_or_are_refused(data):
    with pytest.raises(FileError):
        model_from_urdf(data)


def test_a_chain_of_a_thousand_links_loads():
    count = 1000
    body = "".join(link(f"l{i}") for i in range(count + 1))
    body += "".join(joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(count))
    assert model_from_urdf(urdf(body)).n == count


# writing


@settings(deadline=None)
@given(models(xml=True))
def test_a_saved_model_loads_equal(model):
    text = written(model)
    assert model_from_urdf(text.encode(), "arm.urdf") == model


@settings(deadline=None)
@given(models(xml=True, physical=True))
def test_the_standard_elements_alone_give_the_same_arm(model):
    plain = model_from_urdf(stripped(written(model)), "arm.urdf")
    assert plain.convention == "urdf"
    assert_same(in_urdf_frames(model), in_urdf_frames(plain), 10 * ROUNDING)


@pytest.mark.parametrize("name", OPEN_ARMS)  # URDF has no closures
def test_the_catalogue_loads_equal(name):
    model = load_model(name)
    assert model_from_urdf(written(model).encode()) == model


@pytest.mark.parametrize("name", catalogue.names())
def test_pinocchio_reads_the_same_arm(name):
    model = load_model(name)
    rows = in_urdf_frames(model)
    assert_same(rows, in_pinocchio(written(model), rows), ROUNDING)


@pytest.mark.parametrize("path", REAL)
def test_real_files_agree_with_pinocchio(path, data):
    model = load_model(data / path)
    rows = in_urdf_frames(model)
    text = (data / path).read_text()
    assert_same(rows, in_pinocchio(text, rows), SNAPPED)


@pytest.mark.parametrize("path", REAL)
def test_real_files_are_saved_without_a_word_and_load_equal(path, data):
    model = load_model(data / path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = urdf_text(model) if model.links[0].linear is None else written(model)
    assert model_from_urdf(text.encode()) == model


def test_the_payload_is_in_the_standard_elements():
    model = Model(
        name="loaded",
        convention="standard",
        links=(Link(a=1, mass=2, com=(-0.5, 0, 0)),),
        tool={"xyz": (0, 0, 0.5)},
        payload=Payload(mass=3, com=(0, 0, 0.1), inertia=(1, 1, 1)),
    )
    rows = in_urdf_frames(model)
    assert rows["joint1"][1][0] == 5
    assert_same(rows, in_pinocchio(written(model), rows), ROUNDING)
    assert model_from_urdf(written(model).encode()) == model
    elsewhere = model_from_urdf(written(model).encode(), tip="link1")
    assert elsewhere.payload is None
    assert_same(rows, {"joint1": (rows["joint1"][0], canonical(elsewhere, 0))}, ROUNDING)


def canonical(model, i):
    return np.array(linear(chain(model).bodies[i].inertia), dtype=float)


def test_a_warning_points_at_the_line_that_led_to_it(tmp_path):
    """Through methods, decorators and readers of the package."""
    with pytest.warns(DynamisWarning) as caught:
        dy.load("puma560").save(tmp_path / "arm.urdf")
    assert [Path(x.filename).name for x in caught] == [Path(__file__).name]


def test_what_only_the_extension_holds_is_said_aloud():
    with pytest.warns(DynamisWarning) as caught:
        urdf_text(load_model("puma560"))
    assert len(caught) == 1
    words = ("convention", "gears", "rotor inertia", "motor friction", "configurations")
    assert all(word in str(caught[0].message) for word in words)
    model = Model(
        name="x",
        convention="urdf",
        links=(Link(axis=(0, 0, 1), friction=Friction(coulomb=(1, -2), offset=0.1)),),
    )
    with pytest.warns(DynamisWarning, match=r"asymmetric Coulomb friction, friction offset"):
        urdf_text(model)
    screw = Drive(lead=0.01, resistance=1.0, torque_constant=0.1)
    slide = Link(joint="prismatic", axis=(0, 0, 1), drive=screw)
    with pytest.warns(DynamisWarning, match=r"screw leads, motor circuits"):
        urdf_text(Model(name="x", convention="urdf", links=(slide,)))


# what other tools read, kept from file to file


def shape(tag, file="meshes/a.stl", texture="red.png") -> str:
    return (
        f'<{tag}><origin xyz="0 0 0.1"/><geometry><mesh filename="{file}"/></geometry>'
        f'<material name="m"><texture filename="{texture}"/></material></{tag}>'
    )


TRANSMISSION = (
    '<transmission name="t"><type>simple</type><joint name="j"><hardwareInterface>effort'
    '</hardwareInterface></joint><actuator name="motor"/></transmission>'
)
PLUGIN = '<plugin name="p" filename="libx.so"/>'
DRESSED = (
    '<material name="red"><color rgba="1 0 0 1"/></material>'
    + link("floor", shape("visual") + inertial(200.0))
    + link("a", shape("visual") + shape("collision", "package://p/a.stl") + inertial())
    + link("tip", shape("visual", "/abs/tip.stl"))
    + joint("j", "floor", "a", rest='<safety_controller k_velocity="10"/>')
    + joint("bolts", "a", "tip", "fixed", xyz="0 0 0.3")
    + TRANSMISSION
    + '<gazebo reference="bolts"><preserveFixedJoint>true</preserveFixedJoint></gazebo>'
    + f"<gazebo>{PLUGIN}</gazebo>"
)


@pytest.fixture
def dressed(tmp_path):
    (tmp_path / "arm.urdf").write_bytes(
        urdf(DRESSED).replace(b" name=", b' version="1.1" name=', 1)
    )
    return tmp_path / "arm.urdf"


def elements(path) -> dict[str, list[str]]:
    """Shapes, and everything else in a file that is kept as it is, by the name it is under."""
    root = ET.parse(path).getroot()
    rows = {"": root, **{f"{x.tag} {x.get('name')}": x for x in root if x.tag in ("link", "joint")}}
    ours = ("link", "joint", "dynamis", "parent", "child", "origin", "axis", "limit", "dynamics")
    found = {}
    for name, element in rows.items():
        still = name == "link floor"
        others = [x for x in element if x.tag not in ours and (still or x.tag != "inertial")]
        for x in others:
            ET.indent(x)
            x.tail = None
        found[name] = sorted(ET.tostring(x, encoding="unicode") for x in others)
    return found


EDITS = {
    "load": lambda arm: arm,
    "payload": lambda arm: arm.with_payload(2.0, com=(0, 0, 0.1)),
    "parameters": lambda arm: arm.with_parameters(1.1 * arm.parameters.values),
    "gravity": lambda arm: arm.with_gravity((0, 0, -1.62)),
    "friction": lambda arm: arm.with_friction(viscous=0.3),
    "pickle": lambda arm: pickle.loads(pickle.dumps(arm)),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.filterwarnings("ignore:URDF cannot hold all")
def test_elements_of_other_tools_survive_load_edit_and_save(dressed, edit):
    arm = EDITS[edit](dy.load(dressed))
    arm.save(dressed.parent / "again.urdf")
    before, after = elements(dressed), elements(dressed.parent / "again.urdf")
    assert {name: after[name] for name in before} == before
    assert ET.parse(dressed.parent / "again.urdf").getroot().get("version") == "1.1"
    again = dy.load(dressed.parent / "again.urdf")
    assert again == arm and again.model.frames == dy.load(dressed).model.frames


def test_meshes_are_the_same_files_wherever_the_robot_is_saved(dressed):
    other = dressed.parent / "deep/er"
    other.mkdir(parents=True)
    dy.load(dressed).save(other / "arm.urdf")
    text = (other / "arm.urdf").read_text()
    assert text.count('filename="../../meshes/a.stl"') == 2
    assert text.count('filename="../../red.png"') == 4
    for same in ("package://p/a.stl", "/abs/tip.stl", "libx.so"):
        assert f'filename="{same}"' in text
    dy.load(other / "arm.urdf").save(dressed.parent / "back.urdf")
    assert elements(dressed.parent / "back.urdf") == elements(dressed)


def test_elements_without_a_place_are_said(dressed, tmp_path):
    arm = dy.load(dressed)
    with pytest.warns(DynamisWarning, match=r"TOML cannot hold all of 'arm': .*<inertial> of the"):
        arm.save(tmp_path / "arm.toml")
    with pytest.warns(DynamisWarning, match="its collision geometry, its visual geometry"):
        dy.interop.to_mjcf(arm)
    with pytest.warns(DynamisWarning) as caught:
        arm.to_dh("standard").save(tmp_path / "dh.urdf")
    assert "left out: <inertial> of 'floor'" in str(caught[-1].message)
    two = DRESSED + link("b", inertial()) + joint("k", "tip", "b")
    dressed.write_bytes(urdf(two))
    with pytest.warns(DynamisWarning, match="left out: .*<transmission> of 'j'"):
        dy.load(dressed, lock={"j": 0.2}).save(tmp_path / "locked.urdf")
    assert "<visual>" in (tmp_path / "locked.urdf").read_text()


def test_a_dh_arm_keeps_the_shapes_its_urdf_was_given(tmp_path):
    arm = dy.load("planar-2link")
    with pytest.warns(DynamisWarning, match="URDF cannot hold all"):
        arm.save(tmp_path / "arm.urdf")
    text = (
        (tmp_path / "arm.urdf").read_text().replace("</inertial>", "</inertial>" + shape("visual"))
    )
    (tmp_path / "arm.urdf").write_text(text)
    again = dy.load(tmp_path / "arm.urdf")
    assert again == arm and again.model.convention == "standard"
    with pytest.warns(DynamisWarning, match="URDF cannot hold all"):
        again.save(tmp_path / "again.urdf")
    assert (tmp_path / "again.urdf").read_text().count("<visual>") == 2


def test_a_symbol_without_a_value_cannot_be_written():
    model = Model(name="x", convention="standard", links=(Link(mass="m1"),))
    with pytest.raises(SymbolError, match="'m1'"):
        written(model)


@pytest.mark.parametrize("name", ["a\x00", "a\x0b", "\ufffe", "\ud800"])
def test_what_xml_cannot_hold_is_refused(name):
    model = Model(name=name, convention="standard", links=(Link(),))
    with pytest.raises(FileError, match="no XML file can hold"):
        written(model)


def test_a_frame_with_a_links_name_is_refused():
    twice = NamedFrame(name="a", link=None, pose=Pose())
    model = Model(
        name="x",
        convention="urdf",
        links=(Link(name="a", axis=(0, 0, 1)),),
        frames=(twice,),
    )
    with pytest.raises(FileError, match="called 'a'"):
        written(model)


def test_a_hand_written_extension_works():
    extension = (
        '<dynamis><drive gear="-100" rotor_inertia="1e-4" coulomb="0.1, -0.2"/>'
        '<friction viscous="0" coulomb="0.5, -0.5" law="stribeck" static_ratio="2"/></dynamis>'
    )
    dynamics = '<dynamics friction="15.5"/>'
    data = urdf(TWO.replace("</joint>", dynamics + extension + "</joint>"))
    arm = model_from_urdf(data).links[0]
    assert arm.drive == Drive(gear=-100, rotor_inertia=1e-4, coulomb=(0.1, -0.2))
    assert arm.friction.constants["static_ratio"] == 2


# files edited by hand since they were written


def edited(model, change):
    root = ET.fromstring(written(model))
    change(root)
    with pytest.warns(DynamisWarning, match="edited since dynamis wrote them") as caught:
        again = model_from_urdf(ET.tostring(root), "arm.urdf")
    assert len(caught) == 1
    return again, str(caught[0].message)


def test_an_edited_placement_drops_the_dh_table():
    puma = load_model("puma560")
    again, message = edited(
        puma, lambda root: root.find("joint[@name='joint2']/origin").set("xyz", "0 0 0.1")
    )
    assert "joint placements (the DH table is dropped)" in message
    assert again.convention == "urdf"
    assert again.links[1].xyz == (0, 0, 0.1)
    assert again.links[1].drive == puma.links[1].drive
    assert again.gravity == puma.gravity


def test_an_edited_mass_counts():
    puma = load_model("puma560")
    again, message = edited(
        puma, lambda root: root.find("link[@name='link3']/inertial/mass").set("value", "5.5")
    )
    assert "the inertia of 'link3'" in message
    assert again.convention == "standard"
    assert again.links[2].linear[0] == 5.5
    assert again.links[1] == puma.links[1]
    link3 = puma.links[2]
    com = np.array(again.links[2].linear[1:4]) / 5.5
    np.testing.assert_allclose(com, link3.com, atol=ROUNDING)


def test_an_edited_friction_counts_for_joint_and_motor():
    puma = load_model("puma560")
    again, message = edited(
        puma, lambda root: root.find("joint[@name='joint1']/dynamics").set("damping", "7.0")
    )
    assert "the friction of 'joint1'" in message
    resistance = chain(again).resistances[0]
    assert resistance.viscous == 7.0
    assert again.links[0].drive.rotor_inertia == puma.links[0].drive.rotor_inertia


def test_an_edited_limit_counts():
    model = Model(
        name="x",
        convention="urdf",
        links=(Link(axis=(0, 0, 1), limits=("-r", "r")),),
        values={"r": 2.0},
    )
    again, message = edited(model, lambda root: root.find("joint/limit").set("upper", "1.5"))
    assert "the limits of 'joint1'" in message
    assert again.links[0].limits == (-2.0, 1.5)


def test_an_edited_tool_counts():
    panda = load_model("panda")
    again, message = edited(
        panda, lambda root: root.find("joint[@name='flange_fixed']/origin").set("xyz", "0 0 1")
    )
    assert "the tool" in message
    assert (again.tool.xyz, again.convention) == ((0, 0, 1), "modified")
    assert again.links == panda.links


def test_an_added_joint_counts():
    puma = load_model("puma560")

    def add(root):
        root.append(ET.fromstring(link("extra", inertial())))
        root.append(ET.fromstring(joint("j7", "link6", "extra")))

    again, message = edited(puma, add)
    assert again.n == 7
    assert "configurations" in message


def test_locked_joints_of_a_written_file():
    puma = load_model("puma560")
    model = model_from_urdf(written(puma).encode(), lock={"joint6": 0.5})
    assert (model.n, model.convention) == (5, "urdf")
    assert model.links[0].drive == puma.links[0].drive
    np.testing.assert_allclose(
        canonical(model, 4)[0], puma.links[4].mass + puma.links[5].mass, rtol=ROUNDING
    )
    rppr = written(load_model("rppr")).encode()
    with pytest.raises(FileError, match=r"'link2' moves with q"):
        model_from_urdf(rppr, lock={"joint4": 0})
