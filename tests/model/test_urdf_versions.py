"""The extension of URDF files: as version 0.2 wrote it, and what other tools do to a file.

Files of version 0.2 lie beside the models they are of, as TOML.
"""

import re
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisWarning, FileError
from dynamis.model.formats.files import load_model, model_from_toml
from dynamis.model.formats.urdf import model_from_urdf, urdf_text

FILES = sorted((Path(__file__).parent / "urdf_0_2").glob("*.urdf"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_of_an_earlier_version_loads_as_it_did(file):
    expected = model_from_toml(file.with_suffix(".toml").read_bytes(), file.stem)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DynamisWarning)
        assert model_from_urdf(file.read_bytes(), str(file)) == expected


def written(model) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DynamisWarning)
        return urdf_text(model)


def read(text, **options):
    """A model, and what is said of edits."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = model_from_urdf(
            text if isinstance(text, bytes) else text.encode(), "arm", **options
        )
    return model, [str(x.message) for x in caught]


def changed(path, key, value):
    def edit(root):
        root.find(path).set(key, value)

    return edit


def added(root):
    root.append(ET.fromstring('<link name="extra"/>'))
    joint = '<joint name="j9" type="revolute"><parent link="{}"/><child link="extra"/></joint>'
    root.append(ET.fromstring(joint.format(root.findall("joint/child")[-1].get("link"))))


FIRST = "joint[@type='revolute']"
EDITS = {
    "placement": changed(f"{FIRST}/origin", "xyz", "0 0 0.7"),
    "mass": changed("link/inertial/mass", "value", "5.5"),
    "limit": changed(f"{FIRST}/limit", "upper", "0.5"),
    "torque limit": changed(f"{FIRST}/limit", "effort", "33"),
    "joint": added,
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_edits_count_in_files_of_both_versions(file, edit):
    """The same edit gives the same model; version 0.2 did not know what URDF alone had said."""
    model = model_from_toml(file.with_suffix(".toml").read_bytes(), file.stem)
    found = []
    for text in (file.read_text(), written(model)):
        root = ET.fromstring(text)
        EDITS[edit](root)
        found.append(read(ET.tostring(root)))
    (old, said), (new, words) = found
    assert new != model and len(words) == 1 and "edited since dynamis wrote them" in words[0]
    if edit in ("joint", "placement") and model.convention == "urdf":
        return  # a file of version 0.2 does not say where its joints were
    if edit == "joint":  # nor always which link was the tool
        kept = {"tool": new.tool, "tool_link": new.tool_link, "tool_name": new.tool_name}
        old = replace(old, **kept)
    assert old == new
    assert all(x.partition(" for: ")[0] == words[0].partition(" for: ")[0] for x in said)


def respelt(text: str) -> str:
    """Other white space, order of attributes, digits and places of elements; the same robot."""
    root = ET.fromstring(text)
    for element in root.iter():
        if element.tag == "dynamis":
            continue
        for key, value in reversed(list(element.attrib.items())):
            numbers = re.fullmatch(r"[-+0-9.]+[-+0-9.e ]*", value)
            del element.attrib[key]
            element.set(
                key, "  ".join(f"{float(x):.17e}" for x in value.split()) if numbers else value
            )
        if element.tag in ("joint", "inertial"):
            element[:] = reversed(element)
    root.append(ET.fromstring("<gazebo><static>true</static></gazebo>"))
    for link in root.findall("link"):
        box = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
        link.insert(0, ET.fromstring(box))
    ET.indent(root, "\t\t")
    return ET.tostring(root, encoding="unicode")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_spelling_and_shapes_are_no_edit(file):
    model = model_from_toml(file.with_suffix(".toml").read_bytes(), file.stem)
    for text in (file.read_text(), written(model)):
        again, said = read(respelt(text))
        assert (again, said) == (model, [])


def test_springs_stay_where_they_are_when_joints_move():
    """Points on links of a DH arm, in the frames that URDF has."""
    arm = dy.load("planar-2link")
    line = {"from_point": (0, 1, 0), "to_point": (-0.5, 0.1, 0), "stiffness": 100.0}
    springs = (
        dy.Spring(to="link2", **line),
        dy.Spring(kind="torsion", joint="joint2", stiffness=3.0),
    )
    arm = dy.Robot(replace(arm.model, springs=springs))
    root = ET.fromstring(written(arm.model))
    root.find("joint[@name='joint1']/origin").set("rpy", "0 0 0.4")  # as if it began there
    again, (said,) = read(ET.tostring(root))
    assert "joint placements (the DH table is dropped)" in said and "spring" not in said
    assert again.convention == "urdf" and len(again.springs) == 2
    q = np.array([0.3, -0.2])
    turned = dy.Robot(again)
    np.testing.assert_allclose(
        turned.spring_torque(q - [0.4, 0.0]), arm.spring_torque(q), rtol=1e-12, atol=1e-12
    )


def test_a_spring_on_a_link_that_is_gone_is_said():
    model = replace(
        load_model("planar-2link"),
        springs=(dy.Spring(name="balance", to="link2", from_point=(0, 1, 0), stiffness=1.0),),
    )
    text = written(model).replace('"link2"', '"forearm"', 3)
    assert text.count('="forearm"') == 3
    again, (said,) = read(text)
    assert "spring 'balance' (it is dropped)" in said
    assert again.link_names == ("link1", "forearm")


def edited(model, *changes):
    """A model that was written and edited by another tool, and what is said of that."""
    root = ET.fromstring(written(model))
    for change in changes:
        change(root)
    return read(ET.tostring(root))


def renamed(old, new):
    """A link or joint, and whatever refers to it in standard elements."""

    def edit(root):
        for element in root.iter():
            for key in ("name", "link"):
                if element.get(key) == old and element.tag != "robot":
                    element.set(key, new)

    return edit


def test_a_base_with_another_name_is_noticed():
    model = load_model("puma560")
    again, (said,) = edited(model, renamed("base", "pedestal"))
    assert "for: named frames or the base" in said
    assert again == replace(model, base_name="pedestal")


def test_a_base_frame_that_was_moved_is_noticed():
    """Joints hang on the root, so they stay; but the DH table was seen from the base."""
    model = load_model("cartesian-xy")
    move = changed("joint[@name='base_fixed']/origin", "xyz", "0 0 0.5")
    again, (said,) = edited(model, move)
    assert "joint placements (the DH table is dropped)" in said and again.convention == "urdf"
    q = [0.1, 0.2]
    here, there = (dy.Robot(x) for x in (again, model))
    np.testing.assert_allclose(here.mass_matrix(q), there.mass_matrix(q), atol=1e-12)
    np.testing.assert_allclose(here.gravity_torque(q), there.gravity_torque(q), atol=1e-12)


def test_a_tool_with_another_name_is_noticed():
    model = load_model("planar-2link")
    again, (said,) = edited(model, renamed("tool", "gripper"))
    assert "the tool" in said and again.tool_name == "gripper"
    q = [0.3, -0.4]
    np.testing.assert_allclose(dy.Robot(again).fk(q), dy.Robot(model).fk(q), atol=1e-15)


def test_a_joint_that_mimics_since_then_leaves_configurations_behind():
    model = load_model("planar-2link")
    assert model.configurations

    def mimic(root):
        joint = root.find("joint[@name='joint2']")
        joint.append(ET.fromstring('<mimic joint="joint1" multiplier="-1"/>'))

    again, (said,) = edited(model, mimic)
    assert "the mimic of 'joint2', configurations (dropped)" in said
    assert again.n == 1 and not again.configurations and again.convention == "standard"


def test_a_drive_that_has_no_place_any_more_is_said():
    """A joint and its link with other names, one that slides now, and one that is gone."""
    model = load_model("puma560")
    both = renamed("joint2", "shoulder"), renamed("link2", "upper")
    again, (said,) = edited(model, *both)
    assert "all but these elements of 'joint2' (dropped)" in said
    assert [x.drive is not None for x in again.links] == [True, False, *[True] * 4]
    again, (said,) = edited(model, changed("joint[@name='joint1']", "type", "prismatic"))
    assert "all but these elements of 'joint1' (dropped)" in said
    assert again.links[0].drive is None and again.links[1].drive == model.links[1].drive
    screws = load_model("3-rps")
    swap = (renamed(*x) for x in (("hinge1", "x"), ("leg1", "hinge1"), ("x", "leg1")))
    again, (said,) = edited(screws, *swap)
    assert "all but these elements of 'hinge1', 'leg1' (dropped)" in said


def test_configurations_go_with_the_order_of_joints():
    model = load_model("puma560")
    swap = (renamed(*x) for x in (("joint1", "x"), ("joint2", "joint1"), ("x", "joint2")))
    again, (said,) = edited(model, *swap)
    assert again.joint_names[:2] == ("joint2", "joint1")
    assert "configurations (dropped)" in said and not again.configurations


@pytest.mark.parametrize("convention", ["standard", "urdf"])
def test_rotors_of_links_that_are_elsewhere_are_said(convention):
    """Axes and positions of rotors are those of a frame of the DH table, or of a link."""
    arm = dy.load("puma560")
    arm = arm if convention == "standard" else dy.Robot(read(bare(written(arm.model)))[0])
    arm = arm.with_drive(2, gear=50, rotor_link=arm.link_names[0], rotor_position=(0.1, 0, 0))
    model = replace(arm.model, rotors="full")
    move = changed("joint[@name='joint2']/origin", "rpy", "0 0.3 0")
    again, (said,) = edited(model, move)
    kept = convention == "urdf"
    assert ("rotor placement of 'joint3' (dropped)" in said) is not kept
    assert (again.links[2].drive.rotor_position == (0.1, 0, 0)) is kept
    again, (said,) = edited(model, renamed("link1", "shoulder"))
    assert "rotor placement of 'joint3' (dropped)" in said
    assert again.links[2].drive.rotor_link is None and again.rotors == "full"
    dy.Robot(again).mass_matrix(np.zeros(6))


def bare(text):
    """Standard elements alone."""
    root = ET.fromstring(text)
    root.remove(root.find("dynamis"))
    return ET.tostring(root)


TEXT_EDITS = {
    "mass": ("mass = 20.0", "mass = 77.0", "the inertia of 'link1'"),
    "limits": ("mass = 20.0", "mass = 20.0\nlimits = [-1, 1]", "the limits of 'joint1'"),
    "length": ("a = 2.0", "a = 1.0", "joint placements"),
    "friction": ("mass = 20.0", "mass = 20.0\nfriction = {viscous = 1}", "the friction of"),
}


@pytest.mark.parametrize("name", TEXT_EDITS)
def test_text_that_was_edited_counts_and_is_said_where_other_tools_see_something_else(name):
    old, new, words = TEXT_EDITS[name]
    text = written(model := load_model("planar-2link"))
    head, tail = text.split("<dynamis")
    again, (said,) = read(f"{head}<dynamis{tail.replace(old, new, 1)}")
    assert "<dynamis> was edited since dynamis wrote it and counts" in said and words in said
    assert again != model
    assert read(written(again)) == (again, [])


def test_text_that_was_edited_where_urdf_has_no_words_is_no_matter():
    text = written(model := load_model("planar-2link"))
    again, said = read(text.replace("gravity = [0.0, -9.81, 0.0]", "gravity = [0, -1.62, 0]"))
    assert (again, said) == (replace(model, gravity=(0.0, -1.62, 0.0)), [])


BOMB = "a = " + "[" * 5000
WRONG = {
    "not TOML": ("schema = 1\n", "schema = 1 =", "not valid TOML"),
    "nested": ("schema = 1\n", BOMB + "\n", "nested too deep"),
    "long": ("schema = 1\n", "#" * 1_000_001 + "\nschema = 1\n", "expected at most 1000000"),
    "key": ("schema = 1\n", "schema = 1\ngravty = 0\n", "'gravty'"),
    "version": ('schema="2"', 'schema="3"', "schema '3'"),
    "text of version 1": ('schema="2"', 'schema="1"', "schema '1' and text in it"),
    "attribute": ('schema="2"', 'schema="2" rotors="full"', "unknown key 'rotors'"),
    "element": ("[urdf]", '<drive gear="3"/>[urdf]', "<drive> in it, expected TOML text alone"),
    "element first": ('schema="2">', 'schema="2"><drive/>', "<drive> in it"),
    "joint": ("<axis", "<dynamis><drive/></dynamis><axis", "joint 'joint1' has one too"),
    "twice": ("</robot>", "<dynamis/></robot>", "has several <dynamis> elements"),
    "no digests": ("[urdf]", "[urfd]", "urdf is None"),
    "helpers": ("helpers = [", "helpers = 3 # [", "urdf.helpers"),
    "digests": ("body = [", 'body = ["x", ', "urdf.body"),
    "code": ("[[link]]", '[[load]]\nlaw = "os.system"\n[[link]]', "'os.system' does not exist"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_extension_is_refused_by_name(name):
    old, new, words = WRONG[name]
    text = written(load_model("planar-2link"))
    assert old in text
    with pytest.raises(FileError) as caught:
        read(text.replace(old, new, 1))
    assert words in str(caught.value) and str(caught.value).startswith("arm: ")


def test_text_whose_lines_were_joined_is_refused_with_what_to_do():
    text = written(load_model("planar-2link"))
    head, tail = text.split('schema="2">')
    for inside in (" ".join(tail.partition("</dynamis>")[0].split()), ""):
        with pytest.raises(FileError, match="must keep the lines of this text"):
            read(f'{head}schema="2">{inside}</dynamis></robot>')


NAMES = ('a"b', "'" * 3, '"' * 3, "]]>", "</dynamis>", "[urdf]\ntip = 3", "a\tb\rc", "&amp;", "\\")


@pytest.mark.parametrize("name", NAMES)
def test_names_that_look_like_toml_or_xml_come_back(name):
    arm = load_model("planar-2link")
    links = (replace(arm.links[0], name=name, joint_name=name), arm.links[1])
    model = replace(arm, name=name, description=name, tool_name=f"{name}!", links=links)
    text = written(model)
    for spelling in (text, text.replace("\n", "\r\n"), ET.tostring(ET.fromstring(text))):
        assert read(spelling) == (model, [])


@pytest.mark.parametrize("place", ["[urdf]", "</dynamis>"])
def test_comments_within_the_text_are_none_of_it(place):
    text = written(model := load_model("planar-2link"))
    assert read(text.replace(place, f"<!-- by\nhand -->{place}")) == (model, [])
