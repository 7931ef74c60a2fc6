"""SDF files: poses in the model, relative to other frames, of joints; and what is refused."""

import math

import numpy as np
import pytest

from dynamis.errors import FileError
from dynamis.model.chain import chain
from dynamis.model.formats.files import load_model
from dynamis.model.formats.sdf import model_from_sdf
from dynamis.model.pose import pose
from dynamis.spatial.frames import Frame, compose, from_xyz_rpy, inverse, matrix

ROUNDING = 1e-12


def sdf(body, version="1.9", world=None):
    model = f'<model name="arm">{body}</model>'
    inner = model if world is None else f'<world name="w">{world}{model}</world>'
    return f'<?xml version="1.0"?><sdf version="{version}">{inner}</sdf>'.encode()


BODY = (
    "<inertial><pose>0.1 0.2 0.3 0.1 -0.2 0.3</pose><mass>2</mass><inertia><ixx>0.2</ixx>"
    "<iyy>0.25</iyy><izz>0.3</izz><ixy>0.01</ixy><ixz>-0.02</ixz><iyz>0.03</iyz></inertia>"
    "</inertial>"
)


def link(name, pose="0 0 0 0 0 0", more="", body=BODY):
    return f'<link name="{name}"><pose {more}>{pose}</pose>{body}</link>'


def joint(name, parent, child, kind="revolute", axis="<xyz>0 0 1</xyz>", more=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
        f"<axis>{axis}</axis>{more}</joint>"
    )


HELD = '<joint name="hold" type="fixed"><parent>world</parent><child>base</child></joint>'
PLAIN = link("base") + HELD + link("a", "0.1 0.2 0.3 0.4 0.5 0.6") + joint("j1", "base", "a")


def spatial(pose):
    values = [float(x) for x in pose.split()]
    return from_xyz_rpy(values[:3], values[3:])


def near(a, b):
    np.testing.assert_allclose(matrix(a), matrix(b), atol=ROUNDING)


def test_an_arm_of_the_catalogue_written_as_sdf(tmp_path):
    """Every link at its place in the model: inertias, limits, axes come out as they were."""
    theirs = load_model("ur10e")
    c = chain(theirs)
    frames, text = [], link("base", body="") + HELD
    for i, own in enumerate(theirs.links):
        above = Frame() if c.joints[i].parent < 0 else frames[c.joints[i].parent]
        frames.append(compose(above, from_xyz_rpy(own.xyz, own.rpy)))
        at = pose(frames[-1], "x")
        six = "".join(
            f"<{k}>{x!r}</{k}>"
            for k, x in zip(("ixx", "iyy", "izz", "ixy", "iyz", "ixz"), own.inertia, strict=True)
        )
        com = " ".join(map(repr, (*own.com, 0.0, 0.0, 0.0)))
        body = (
            f"<inertial><pose>{com}</pose><mass>{own.mass!r}</mass><inertia>{six}</inertia>"
            "</inertial>"
        )
        text += link(own.name, " ".join(map(repr, (*at.xyz, *at.rpy))), body=body)
        low, high = own.limits
        limit = (
            f"<limit><lower>{low!r}</lower><upper>{high!r}</upper><effort>{own.effort_limit!r}"
            f"</effort><velocity>{own.velocity_limit!r}</velocity></limit>"
        )
        axis = f"<xyz>{' '.join(map(repr, own.axis))}</xyz>{limit}"
        text += joint(own.joint_name, own.parent or "base", own.name, axis=axis)
    path = tmp_path / "ur10e.sdf"
    path.write_bytes(sdf(text))
    ours = load_model(path)
    for a, b, x, y in zip(chain(ours).joints, c.joints, ours.links, theirs.links, strict=True):
        near(a.placement, b.placement)
        assert (x.limits, x.effort_limit, x.velocity_limit) == (
            y.limits,
            y.effort_limit,
            y.velocity_limit,
        )
        assert (x.name, x.joint_name, x.mass, x.com, x.inertia) == (
            *(y.name, y.joint_name, y.mass),
            *(y.com, y.inertia),
        )


def test_poses_are_relative_to_what_they_name():
    text = (
        PLAIN
        + link("b", "0.2 0 0 0 0 1", 'relative_to="a"')
        + joint("j2", "a", "b")
        + '<frame name="f" attached_to="b"><pose>0 0.3 0 0 0 0</pose></frame>'
        + link("c", "0 0 0.1 0 90 0", 'relative_to="f" degrees="true"')
        + joint("j3", "b", "c", "prismatic")
        + link("d", "0 0 0.1 0 0 0.6 0.8", 'relative_to="j3" rotation_format="quat_xyzw"')
        + joint("j4", "f", "d")
    )
    model = model_from_sdf(sdf(text))
    c = chain(model)
    near(c.joints[0].placement, spatial("0.1 0.2 0.3 0.4 0.5 0.6"))
    near(c.joints[1].placement, spatial("0.2 0 0 0 0 1"))
    near(c.joints[2].placement, spatial(f"0 0.3 0.1 0 {math.pi / 2} 0"))
    assert [link.parent for link in model.links] == [None, "a", "b", "b"]
    near(
        c.joints[3].placement,
        compose(c.joints[2].placement, spatial(f"0 0 0.1 0 0 {2 * math.atan2(0.6, 0.8)}")),
    )
    assert [frame.name for frame in model.frames] == ["base", "f"]
    assert c.joints[2].kind == "prismatic"


def test_a_link_is_moved_to_its_joint_and_its_own_frame_is_kept():
    moved = "0.3 0.1 0 0 0.2 0"
    text = (
        link("base") + HELD + link("a", "0.1 0.2 0.3 0.4 0.5 0.6")
        + joint("j1", "base", "a", more=f"<pose>{moved}</pose>")
        + link("b", "1 0 0 0 0 0") + joint("j2", "a", "b")
    )  # fmt: skip
    model = model_from_sdf(sdf(text))
    a = compose(spatial("0.1 0.2 0.3 0.4 0.5 0.6"), spatial(moved))
    c = chain(model)
    near(c.joints[0].placement, a)
    near(compose(a, c.joints[1].placement), spatial("1 0 0 0 0 0"))
    origin = next(frame for frame in model.frames if frame.name == "a_origin")
    near(compose(a, origin.pose.frame({})), spatial("0.1 0.2 0.3 0.4 0.5 0.6"))
    centre = compose(inverse(spatial(moved)), spatial("0.1 0.2 0.3 0.1 -0.2 0.3"))
    assert model.links[0].com == pytest.approx(centre.p, abs=ROUNDING)
    values = np.array([[0.2, 0.01, -0.02], [0.01, 0.25, 0.03], [-0.02, 0.03, 0.3]])
    R = np.array(centre.R)
    xx, yy, zz, xy, yz, xz = model.links[0].inertia
    found = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    np.testing.assert_allclose(found, R @ values @ R.T, atol=ROUNDING)


@pytest.mark.parametrize(
    ("version", "axis", "turned"),
    [
        ("1.9", "<xyz>0 0 1</xyz>", False),
        ("1.9", '<xyz expressed_in="__model__">0 0 1</xyz>', True),
        ("1.6", "<xyz>0 0 1</xyz>", False),
        ("1.6", "<xyz>0 0 1</xyz><use_parent_model_frame>1</use_parent_model_frame>", True),
        ("1.4", "<xyz>0 0 1</xyz>", True),  # as its readers take old files
    ],
)
def test_the_frame_of_an_axis_depends_on_the_version(version, axis, turned):
    text = link("base") + HELD + link("a", "0 0 0 1 0 0") + joint("j1", "base", "a", axis=axis)
    model = model_from_sdf(sdf(text, version))
    expected = (0, math.sin(1), math.cos(1)) if turned else (0, 0, 1)
    assert model.links[0].axis == pytest.approx(expected, abs=ROUNDING)


def test_limits_friction_springs_mimics_gravity_and_the_model_in_the_world():
    axis = (
        "<xyz>0 0 1</xyz><limit><lower>-1e16</lower><upper>inf</upper><effort>-1</effort></limit>"
        "<dynamics><damping>0.5</damping><friction>0.2</friction><spring_stiffness>3</spring_stiffness>"
        "<spring_reference>0.1</spring_reference></dynamics>"
    )
    follow = (
        '<xyz>0 0 1</xyz><mimic joint="j1"><multiplier>2</multiplier><offset>1</offset>'
        "<reference>0.25</reference></mimic><limit><lower>-1</lower></limit>"
    )
    text = (
        "<pose>0 0 2 0 0 0</pose>" + link("base") + HELD + link("a", "0 0 1 0 0 0")
        + joint("j1", "base", "a", axis=axis) + link("b") + joint("j2", "a", "b", axis=follow)
    )  # fmt: skip
    world = '<gravity>0 0 -1.62</gravity><model name="ground"><link name="plane"/></model>'
    model = model_from_sdf(sdf(text, world=world))
    first, second = model.links
    assert (first.limits, first.effort_limit, first.velocity_limit) == (None, None, None)
    assert (first.friction.viscous, first.friction.coulomb[0]) == (0.5, 0.2)
    (spring,) = model.springs
    assert (spring.joint, spring.stiffness, spring.rest_angle) == ("j1", 3.0, 0.1)
    assert second.mimic == ("j1", 2.0, 0.5)
    assert second.limits == (-1.0, 1e9)
    assert model.gravity == (0.0, 0.0, -1.62)
    near(chain(model).joints[0].placement, spatial("0 0 3 0 0 0"))
    assert model_from_sdf(sdf(text), lock={"j2": 0.5}).n == 1


def test_what_the_format_assumes_is_a_finding():
    text = link("base", body="") + link("a", body="") + joint("j1", "base", "a")
    model = model_from_sdf(sdf(text))
    assert (model.links[0].mass, model.links[0].inertia[:3]) == (1.0, (1.0, 1.0, 1.0))
    found = [(f.where, f.what) for f in model.findings]
    assert any(where == "link 'a'" and "SDF's default" in what for where, what in found)
    assert any("stands on its root link" in what for _, what in found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"<robot/>", "root element is <robot>"),
        (sdf("").replace(b'"1.9"', b'"9"'), "version '9'"),
        (sdf(""), "none with a joint"),
        (b'<sdf version="1.9"><include><uri>model://arm</uri></include></sdf>', "not followed"),
        (sdf(PLAIN + '<model name="hand"/>'), "<model> 'hand' inside"),
        (sdf(PLAIN + "<include><uri>x</uri></include>"), "<include> 'x' inside"),
        (sdf(PLAIN + link("a")), "two links are called 'a'"),
        (sdf(PLAIN + joint("j2", "a", "nowhere")), "'nowhere', which does not exist"),
        (sdf(PLAIN + link("b") + joint("j2", "a", "b", "ball")), "'j2' is ball"),
        (sdf(PLAIN + link("b") + joint("j2", "a", "b", "hinge")), "type 'hinge'"),
        (sdf(PLAIN + link("b", "1 2 3") + joint("j2", "a", "b")), "expected 6 finite numbers"),
        (sdf(PLAIN + link("b", "1 2 3 4 5 nan") + joint("j2", "a", "b")), "6 finite numbers"),
        (sdf(PLAIN + link("b", "0 0 0 0 0 0", 'relative_to="x"') + joint("j2", "a", "b")), "'x'"),
        (sdf(PLAIN + link("b", "0 0 0 0 0 0", 'relative_to="b"') + joint("j2", "a", "b")),
         "relative to itself"),
        (sdf(PLAIN + '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'),
         "attached to itself"),
        (sdf(PLAIN + link("b") + joint("j2", "a", "b") + joint("j3", "base", "b")), "two parents"),
        (sdf(PLAIN + link("b", body='<inertial auto="true"/>') + joint("j2", "a", "b")), "auto"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]>' + sdf(PLAIN)[21:], "document type or entities"),
        (sdf(PLAIN)[:-6], "not valid XML"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_what_is_refused_is_named(text, words):
    with pytest.raises(FileError) as caught:
        model_from_sdf(text)
    assert words in str(caught.value)


def test_names_of_an_sdf_are_text_like_any_other(tmp_path):
    text = PLAIN.replace('"a"', '"a; import os"').replace(">a<", ">a; import os<")
    path = tmp_path / "arm.sdf"
    path.write_bytes(sdf(text))
    assert load_model(path).link_names == ("a; import os",)


SHAPED = (
    link("base", body=BODY + "<visual name='v'><geometry><box><size>1 2 3</size></box></geometry>"
         "</visual>")
    + HELD
    + link("a", "0.1 0.2 0.3 0.4 0.5 0.6", body=BODY + "".join((
        "<collision name='c1'><pose>0.1 0 0.2 0.3 0 0</pose><geometry><cylinder><radius>0.1"
        "</radius><length>0.4</length></cylinder></geometry></collision>",
        "<collision name='c2'><pose relative_to='base'>1 2 3 0 0 0</pose><geometry><sphere>"
        "<radius>0.2</radius></sphere></geometry></collision>",
        "<visual name='c3'><geometry><mesh><uri>meshes/a.stl</uri><scale>2 2 2</scale></mesh>"
        "</geometry></visual>",
        "<visual name='c4'><geometry><capsule><radius>0.1</radius><length>0.6</length></capsule>"
        "</geometry></visual>",
        "<visual name='c5'><geometry><plane/></geometry></visual>",
        "<visual name='c6'><geometry><sphere><radius>-1</radius></sphere></geometry></visual>",
    )))
    + joint("j1", "base", "a", more="<pose>0.05 0 0 0 0 0.7</pose>")
)  # fmt: skip


def test_shapes_stay_where_they_are(tmp_path):
    """Also of a link that is moved to its joint, whose pose is its own."""
    path = tmp_path / "arm.sdf"
    path.write_bytes(sdf(SHAPED))
    found = load_model(path)
    kinds = [(x.kind, x.link, x.use) for x in found.geometry]
    assert kinds == [
        ("box", "base", ("visual",)),
        ("cylinder", "a", ("collision",)),
        ("sphere", "a", ("collision",)),
        ("mesh", "a", ("visual",)),
        ("capsule", "a", ("visual",)),
    ]
    box, cylinder, ball, mesh, capsule = found.geometry
    assert box.size == (1.0, 2.0, 3.0) and (cylinder.radius, cylinder.length) == (0.1, 0.4)
    assert mesh.file == "meshes/a.stl" and mesh.scale == (2.0, 2.0, 2.0)
    assert mesh.source is not None and mesh.source.folder == tmp_path
    assert (capsule.from_, capsule.to) == ((0.0, 0.0, -0.3), (0.0, 0.0, 0.3))
    own = spatial("0.1 0.2 0.3 0.4 0.5 0.6")
    at_joint = compose(own, spatial("0.05 0 0 0 0 0.7"))
    near(compose(at_joint, cylinder.placement({})), compose(own, spatial("0.1 0 0.2 0.3 0 0")))
    near(compose(at_joint, mesh.placement({})), own)
    near(compose(at_joint, ball.placement({})), spatial("1 2 3 0 0 0"))
