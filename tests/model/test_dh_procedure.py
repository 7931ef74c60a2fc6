"""The Denavit-Hartenberg procedure: one arm, whatever the table."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import DynamisWarning, ModelError, OptionError, SymbolError
from dynamis.model.chain import chain
from dynamis.model.conventions import axis_frame
from dynamis.model.dh.axes import Axis, common_normal
from dynamis.model.dh.convert import certify, to_dh
from dynamis.model.dh.procedure import DH_CONVENTIONS, dh_from_axes
from dynamis.model.dh.table import dh_table
from dynamis.model.drive import Drive
from dynamis.model.friction import Friction
from dynamis.model.link import Link
from dynamis.model.model import Model, NamedFrame, Payload
from dynamis.model.pose import Pose, pose
from dynamis.spatial.frames import (
    Frame,
    about_z,
    compose,
    from_xyz_rpy,
    inverse,
    matrix,
    translation,
)
from dynamis.spatial.inertia import linear, transformed
from dynamis.spatial.vectors import add, scale, subtract

PI = math.pi
SAME = 1e-10  # poses in arm sizes, inertias relative to their largest entry
EXACT = 1e-14  # hand-computed answers of order one

PUMA = Model(
    name="puma",
    convention="standard",
    links=tuple(
        Link(d=d, a=a, alpha=alpha)
        for d, a, alpha in (
            (0, 0, PI / 2),
            (0, 0.4318, 0),
            (0.15005, 0.0203, -PI / 2),
            (0.4318, 0, PI / 2),
            (0, 0, -PI / 2),
            (0, 0, 0),
        )
    ),
)


# the test's own kinematics


def poses(c, q):
    """Joint frames of a chain by multiplying placements and motions."""
    frames = []
    for joint, x in zip(c.joints, q, strict=True):
        parent = Frame() if joint.parent < 0 else frames[joint.parent]
        moved = about_z(x) if joint.kind == "revolute" else translation(z=x)
        frames.append(compose(compose(parent, joint.placement), moved))
    return frames


def difference(a, b):
    return max(
        abs(x - y)
        for r, s in zip(matrix(a), matrix(b), strict=True)
        for x, y in zip(r, s, strict=True)
    )


def tool_pose(model, q):
    c = chain(replace(model, rotors="reflected"))
    return compose(poses(c, q)[c.tip], c.tool)


def assert_same_arm(one, two, seed=0):
    """Tool, named frames, inertias (rotors too), friction and motors agree at random q."""
    a, b = chain(replace(one, rotors="full")), chain(replace(two, rotors="full"))
    draw = random.Random(seed)
    for _ in range(3):
        q = [draw.uniform(-3, 3) for _ in a.joints]
        at, bt = poses(a, q), poses(b, q)
        size = max(1.0, *(math.hypot(*T.p) for T in at))
        assert difference(compose(at[a.tip], a.tool), compose(bt[b.tip], b.tool)) < SAME * size
        for T, S, x, y in zip(at, bt, a.bodies, b.bodies, strict=True):
            u, v = linear(transformed(T, x.inertia)), linear(transformed(S, y.inertia))
            largest = max(1e-300, *map(abs, u))
            assert max(abs(i - j) for i, j in zip(u, v, strict=True)) < SAME * largest
        for frame, other in zip(one.frames, two.frames, strict=True):
            assert difference(placed(one, frame, a, at), placed(two, other, b, bt)) < SAME * size
    assert a.resistances == b.resistances
    assert a.motors == b.motors
    assert a.gravity == b.gravity
    assert (a.coupling, a.shift) == (b.coupling, b.shift)


def placed(model, frame, c, at):
    if frame.link is None:
        return compose(c.base, frame.pose.frame({}))
    i = model.link_names.index(frame.link)
    return compose(compose(at[i], c.bodies[i].user), frame.pose.frame({}))


# random arms


lengths = st.sampled_from([0.0, 0.5, -0.3]) | st.integers(-1000, 1000).map(lambda k: k / 1000)
reaches = st.sampled_from([0.4, -1.0]) | st.integers(50, 1000).map(lambda k: k / 1000)
angles = st.sampled_from([0.0, PI / 2, -PI / 2, PI, PI / 4]) | st.integers(-314, 314).map(
    lambda k: k / 100
)
slants = st.sampled_from([PI / 2, -PI / 2, PI / 4]) | st.integers(30, 280).map(lambda k: k / 100)


@st.composite
def steps(draw):
    """The next axis seen from the one before, in one of the four cases."""
    case = draw(st.sampled_from(["skew", "intersecting", "parallel", "coincident"]))
    along, own = translation(z=draw(lengths)), translation(z=draw(lengths))
    if case in ("skew", "intersecting"):
        turn = from_xyz_rpy((0.0, 0.0, 0.0), (draw(slants), 0.0, draw(angles)))
    else:
        turn = from_xyz_rpy((0.0, 0.0, 0.0), (draw(st.sampled_from([0.0, PI])), 0, draw(angles)))
    if case in ("skew", "parallel"):
        along = compose(along, translation(x=draw(reaches), y=draw(lengths)))
    return compose(compose(along, turn), compose(own, about_z(draw(angles))))


URDF_AXES = [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0), (0.6, 0, 0.8), (1, 2, 3)]
free = st.builds(
    lambda x, y, z, r, p, w: Frame(*from_xyz_rpy((x, y, z), (r, p, w))),
    *[lengths] * 3,
    *[angles] * 3,
)


def random_body(draw):
    if draw.random() < 0.2:
        return {"linear": [draw.uniform(-1, 1) for _ in range(10)]}
    mass = draw.choice([0.0, 2.0, 0.3])
    return {
        "mass": mass,
        "com": [draw.uniform(-0.5, 0.5) for _ in range(3)],
        "inertia": [draw.uniform(0, 1) for _ in range(6)],
    }


def random_drive(draw, names):
    if draw.random() < 0.3:
        return None
    rotor = {}
    if draw.random() < 0.5:
        rotor["rotor_link"] = draw.choice(names)
    if draw.random() < 0.5:
        rotor["rotor_axis"] = [draw.uniform(0.1, 1) for _ in range(3)]
        rotor["rotor_position"] = [draw.uniform(-1, 1) for _ in range(3)]
    if draw.random() < 0.5:
        rotor["unbalance"] = (0.1, -0.2)
    return Drive(gear=-50, rotor_inertia=1e-3, viscous=0.1, coulomb=(0.2, -0.3), **rotor)


@st.composite
def arms(draw):
    """A URDF-like chain of 1 to 8 joints with bodies, friction and drives."""
    more = random.Random(draw(st.integers(0, 2**32)))
    kinds = draw(st.lists(st.sampled_from(["revolute", "revolute", "prismatic"]), max_size=8))
    links, before = [], Frame()
    for i, kind in enumerate(kinds or ["revolute"]):
        axis = draw(st.sampled_from(URDF_AXES))
        own = axis_frame(Link(axis=axis))
        at = pose(compose(compose(before, draw(steps())), inverse(own)), "at")
        names = ["base", *(f"link{k + 1}" for k in range(i))]
        links.append(
            Link(
                joint=kind,
                parent=f"link{i}" if i else None,
                xyz=at.xyz,
                rpy=at.rpy,
                axis=axis,
                offset=draw(angles),
                friction=Friction(viscous=0.3, coulomb=0.1),
                drive=random_drive(more, names),
                **random_body(more),
            )
        )
        before = own
    at = draw(st.sampled_from([None, *range(len(links))]))
    link = None if at is None else f"link{at + 1}"
    return Model(
        name="arm",
        convention="urdf",
        links=tuple(links),
        base=pose(draw(free), "base") if draw(st.booleans()) else Pose(),
        tool=pose(draw(free), "tool") if draw(st.booleans()) else Pose(),
        tool_link=link,
        frames=(NamedFrame(name="camera", link=link, pose=pose(draw(free), "camera")),),
        payload=Payload(mass=0.7, com=(0.1, 0, 0.2)),
        rotors="full",
    )


@given(arms(), st.sampled_from(DH_CONVENTIONS))
def test_any_chain_is_the_same_arm_in_dh(model, convention):
    dh = to_dh(model, convention)
    assert dh.convention == convention
    assert_same_arm(model, dh)
    assert (dh.link_names, dh.joint_names) == (model.link_names, model.joint_names)


@given(arms())
def test_there_and_back_is_the_same_arm(model):
    standard = to_dh(model, "standard")
    modified = to_dh(standard, "modified")
    assert_same_arm(standard, modified)
    assert_same_arm(standard, to_dh(modified, "standard"))


@given(st.lists(steps(), min_size=1, max_size=8), free, free, st.sampled_from(DH_CONVENTIONS))
def test_rows_rebuild_the_axes(chain_of_steps, base, tool, convention):
    """z of every row's joint frame lies on its axis, whichever the case."""
    axes, at = [], base
    for step in chain_of_steps:
        at = compose(at, step)
        axes.append(Axis("revolute", at.p, tuple(row[2] for row in at.R)))
    rows, base0, tool_n, _ = dh_from_axes(axes, convention, base, tool)
    model = Model(
        name="arm",
        convention=convention,
        links=rows,
        base=base0,
        tool=tool_n,
    )
    zeros = [0.0] * len(rows)
    assert difference(tool_pose(model, zeros), tool) < SAME * 10
    for axis, T in zip(axes, poses(chain(model), zeros), strict=True):
        z = tuple(row[2] for row in T.R)
        assert max(map(abs, subtract(z, axis.direction))) < SAME
        assert max(map(abs, subtract(axis.foot(T.p), T.p))) < SAME * 10
    assert all(row.a >= 0.0 for row in rows[1:-1])


# the four cases, by hand


def line(point, direction):
    return Axis("revolute", point, direction)


def close(a, b):
    return max(abs(x - y) for x, y in zip(a, b, strict=True)) < EXACT


def test_skew_lines():
    normal = common_normal(line((0, 0, 1), (0, 0, 2)), line((3, 5, 2), (0, 1, 0)))
    assert normal.case == "skew"
    assert close(normal.foot_a, (0, 0, 2))
    assert close(normal.foot_b, (3, 0, 2))
    assert close(normal.x, (1, 0, 0))
    assert close((normal.length, normal.twist), (3, -PI / 2))


def test_skew_lines_at_an_angle_that_is_not_right():
    normal = common_normal(line((1, 0, 0), (0, 0, 1)), line((1, -2, 0), (1, 0, 1)))
    assert normal.case == "skew"
    assert close(normal.foot_a, (1, 0, 0))
    assert close(normal.foot_b, (1, -2, 0))
    assert close(normal.x, (0, -1, 0))
    assert close((normal.length, normal.twist), (2, -PI / 4))


def test_intersecting_lines():
    normal = common_normal(line((0, 0, -4), (0, 0, 1)), line((2, 0, 1), (1, 0, 0)))
    assert normal.case == "intersecting"
    assert close(normal.foot_a, (0, 0, 1))
    assert close(normal.foot_b, (0, 0, 1))
    assert close(normal.x, (0, 1, 0))  # z x x
    assert close((normal.length, normal.twist), (0, PI / 2))


@pytest.mark.parametrize(("way", "twist"), [(1, 0.0), (-1, PI)])
def test_parallel_lines(way, twist):
    normal = common_normal(line((0, 0, 7), (0, 0, 1)), line((3, 4, 0), (0, 0, way)))
    assert normal.case == "parallel"
    assert close(normal.foot_a, (0, 0, 7))
    assert close(normal.foot_b, (3, 4, 7))
    assert close(normal.x, (0.6, 0.8, 0))
    assert close((normal.length, normal.twist), (5, twist))


@pytest.mark.parametrize(("way", "twist"), [(1, 0.0), (-1, PI)])
def test_coincident_lines(way, twist):
    normal = common_normal(line((1, 1, 1), (1, 1, 1)), line((3, 3, 3), (way, way, way)))
    assert normal.case == "coincident"
    assert normal.x is None
    assert close(normal.foot_a, normal.foot_b)
    assert (normal.length, normal.twist) == (0.0, twist)


@given(st.lists(st.integers(-5, 5), min_size=12, max_size=12))
def test_feet_differ_by_length_times_x(numbers):
    p, u, r, v = (tuple(numbers[k : k + 3]) for k in (0, 3, 6, 9))
    if not any(u) or not any(v):
        return
    a, b = line(p, u), line(r, v)
    normal = common_normal(a, b)
    assert max(map(abs, subtract(a.foot(normal.foot_a), normal.foot_a))) < SAME
    assert max(map(abs, subtract(b.foot(normal.foot_b), normal.foot_b))) < SAME
    if normal.x is not None:
        end = add(normal.foot_a, scale(normal.length, normal.x))
        assert max(map(abs, subtract(end, normal.foot_b))) < SAME


def test_nearness_is_relative_to_size():
    a, b = line((0, 0, 0), (0, 0, 1)), line((1e-9, 0, 0), (0, 1, 0))
    assert common_normal(a, b).case == "skew"
    assert common_normal(a, b, size=1e4).case == "intersecting"


# known tables


def columns(model):
    return [(x.joint, x.theta, x.d, x.a, x.alpha, x.offset) for x in model.links]


def test_puma_comes_back():
    modified = to_dh(PUMA, "modified")
    assert [(x.d, x.a, x.alpha, x.offset) for x in modified.links] == [
        (0, 0, 0, 0),
        (0, 0, PI / 2, 0),
        (pytest.approx(0.15005, abs=EXACT), 0.4318, 0, 0),
        (pytest.approx(0.4318, abs=EXACT), pytest.approx(0.0203, abs=EXACT), -PI / 2, 0),
        (0, 0, PI / 2, 0),
        (0, 0, -PI / 2, 0),
    ]
    back = to_dh(modified, "standard")
    for row, expected in zip(columns(back), columns(PUMA), strict=True):
        assert row[0] == expected[0]
        assert row[1:] == pytest.approx(expected[1:], abs=EXACT)
    assert (back.base, back.tool) == (Pose(), Pose())
    assert_same_arm(PUMA, back)


def urdf_planar():
    """Three bars of 1, 0.8 and 0.5 m in the plane; the hand is a fixed frame at the end."""
    reach = (0.0, 1.0, 0.8)
    links = tuple(
        Link(parent=f"link{i}" if i else None, xyz=(x, 0, 0), axis=(0, 0, 1), mass=1.0)
        for i, x in enumerate(reach)
    )
    return Model(name="planar", convention="urdf", links=links, tool=Pose((0.5, 0, 0)))


def test_planar_arm():
    dh = to_dh(urdf_planar(), "standard")
    assert columns(dh) == [("revolute", 0, 0, a, 0, 0) for a in (1.0, 0.8, 0.5)]
    assert (dh.base, dh.tool) == (Pose(), Pose())
    assert [x.com for x in dh.links] == [(-1, 0, 0), (-0.8, 0, 0), (-0.5, 0, 0)]
    modified = to_dh(urdf_planar(), "modified")
    assert columns(modified) == [("revolute", 0, 0, a, 0, 0) for a in (0.0, 1.0, 0.8)]
    assert modified.tool == Pose((0.5, 0, 0))


def test_scara():
    links = (
        Link(xyz=(0, 0, 0.4), axis=(0, 0, 1)),
        Link(parent="link1", xyz=(0.35, 0, 0), axis=(0, 0, 1)),
        Link(parent="link2", xyz=(0.25, 0, 0), axis=(0, 0, -1), joint="prismatic"),
        Link(parent="link3", axis=(0, 0, -1)),
    )
    model = Model(name="scara", convention="urdf", links=links, tool=Pose(rpy=(PI, 0, 0)))
    dh = to_dh(model, "standard")
    assert columns(dh) == [
        ("revolute", 0, 0, 0.35, 0, 0),
        ("revolute", 0, 0, 0.25, PI, 0),
        ("prismatic", 0, 0, 0, 0, 0),
        ("revolute", 0, pytest.approx(-0.4, abs=EXACT), 0, 0, 0),
    ]
    assert (dh.base, dh.tool) == (Pose(), Pose())
    assert_same_arm(model, dh)


def test_a_sliding_axis_goes_where_the_table_is_plain():
    """Cartesian arm: wherever its rails are drawn, no lengths remain."""
    links = (
        Link(joint="prismatic", axis=(0, 0, 1), xyz=(5, 2, 0)),
        Link(joint="prismatic", parent="link1", axis=(1, 0, 0), xyz=(0, 3, 1)),
        Link(joint="prismatic", parent="link2", axis=(0, 1, 0), xyz=(-5, -5, -1)),
    )
    dh = to_dh(Model(name="gantry", convention="urdf", links=links), "standard")
    assert [(x.a, x.offset) for x in dh.links] == [(0, 0)] * 3
    assert dh.base == Pose()


# the choices the procedure leaves open


def test_base_is_kept_where_it_can_be():
    upright = Axis("revolute", (0, 0, 3), (0, 0, 1))
    crosswise = Axis("revolute", (2, 0, 0), (0, 1, 0))
    aside = Axis("revolute", (2, 1, 0), (0, 0, 1))
    for convention in DH_CONVENTIONS:
        assert dh_from_axes([upright], convention, Frame(), Frame()).base == Frame()
    rows, base, *_ = dh_from_axes([crosswise], "modified", Frame(), Frame())
    assert base == Frame()
    assert (rows[0].a, rows[0].alpha) == (2, -PI / 2)
    for axis, convention in ((crosswise, "standard"), (aside, "standard"), (aside, "modified")):
        rows, base, *_ = dh_from_axes([axis], convention, Frame(), Frame())
        assert (rows[0].d, rows[0].a if convention == "modified" else 0.0) == (0, 0)
        assert close(axis.foot(base.p), base.p)


def test_intersecting_keeps_x_near_the_one_before():
    axes = [
        Axis("revolute", (0, 0, 0), (0, 0, 1)),
        Axis("revolute", (0, 0, 1), (0, 1, 0)),  # z x y = -x: turned round, so alpha = -pi/2
        Axis("revolute", (0, 0, 1), (0, 0, 1)),
    ]
    rows, *_ = dh_from_axes(axes, "standard", Frame(), Frame())
    assert [(row.offset, row.alpha) for row in rows[:2]] == [(0, -PI / 2), (0, PI / 2)]
    assert rows[0].d == 1


# bodies, symbols and names


def test_massless_link_with_inertia_and_linear_link():
    links = (
        Link(alpha=PI / 2, inertia=(0, 0.35, 0)),
        Link(a=0.4, linear=(0, 0.1, 0.2, 0, 1, 0, 1, 0, 0, 1)),
        Link(mass=1.0, com=(0, 0, 0.1)),
    )
    model = Model(name="classic", convention="standard", links=links)
    dh = to_dh(model, "modified")
    assert dh.links[0].inertia == (0, 0, 0.35, 0, 0, 0)
    assert dh.links[1].linear is not None
    assert_same_arm(model, dh)


def test_com_factor():
    links = (
        Link(a=1.0, alpha=PI / 2, d=0.2, mass=2.0, com_factor=-0.5),
        Link(a=0.5, mass=1.0, com=(-0.1, 0, 0)),
    )
    model = Model(name="bars", convention="standard", links=links)
    assert_same_arm(model, to_dh(model, "modified"))
    sliding = replace(model, links=(Link(joint="prismatic", mass=1.0, com_factor=-0.5),))
    with pytest.raises(ModelError, match=r"link 'link1' has com_factor[\s\S]*constant com"):
        to_dh(sliding, "modified")
    assert to_dh(sliding, "standard") is sliding


def symbolic():
    links = (
        Link(
            a="L1",
            alpha="pi/2",
            mass="m1",
            com=("-L1/2", 0, 0),
            friction=Friction(viscous="b1", coulomb="c1"),
            drive=Drive(gear="N", rotor_inertia=1e-3),
            limits=("-lim", "lim"),
        ),
        Link(joint="prismatic", theta="t0 + pi", offset="s0"),
        Link(offset="-t0", d="L1/2", mimic=("joint1", "N/50", 0.1)),
    )
    names = {"L1": 0.5, "m1": 2, "b1": 0.1, "c1": 0.2, "N": 100, "t0": 0.3, "s0": 0.2, "lim": 3}
    return Model(
        name="symbols",
        convention="standard",
        links=links,
        values=names,
        tool=Pose(("L1", 0, 0)),
        payload=Payload(mass="m1"),
        gravity=(0, 0, "-9.81*m1"),
    )


def test_symbols_become_numbers():
    model = symbolic()
    dh = to_dh(model, "modified")
    assert dh.symbols == ()
    assert dh.links[0].limits == (-3, 3)
    assert dh.links[2].mimic == ("joint1", 2, 0.1)
    assert_same_arm(model, dh)
    with pytest.raises(SymbolError, match="'t0'"):
        to_dh(
            replace(model, values={k: v for k, v in model.values.items() if k != "t0"}), "modified"
        )


def test_everything_else_is_carried_over():
    links = tuple(
        replace(
            link,
            name=f"bar{i}",
            joint_name=f"hinge{i}",
            limits=(-1, 2),
            velocity_limit=3.0,
            effort_limit=40.0,
            drive=Drive(gear=10 + i, efficiency=0.9, limits=(-1, 1)),
        )
        for i, link in enumerate(PUMA.links)
    )
    model = replace(
        PUMA,
        links=links,
        gravity=(1, 2, 3),
        configurations={"ready": (0, 1, 2, 3, 4, 5)},
        gear_matrix=[[10 + i if i == j else 0.5 * (j == 0) for j in range(6)] for i in range(6)],
        description="an arm",
        base_name="floor",
        tool_name="hand",
    )
    dh = to_dh(model, "modified")
    assert_same_arm(model, dh)
    same = ("name", "gravity", "configurations", "gear_matrix", "description", "base_name")
    for name in (*same, "tool_name", "tool_link", "rotors", "payload"):
        assert getattr(dh, name) == getattr(model, name)
    for old, new in zip(model.links, dh.links, strict=True):
        for name in ("name", "joint_name", "limits", "velocity_limit", "effort_limit", "drive"):
            assert getattr(old, name) == getattr(new, name)


def test_same_convention_is_the_same_model():
    assert to_dh(PUMA, "standard") is PUMA


# tables as text


def test_table_text():
    model = Model(
        name="text",
        convention="modified",
        links=(
            Link(offset=PI / 2, alpha=-PI / 2, d=0.15005, joint_name="<a&b>"),
            Link(joint="prismatic", theta=PI / 4, offset=-0.25, a=0.5, alpha=0.12345),
            Link(offset=-3 * PI / 4, d="L1", a="L1/2", alpha=PI),
            Link(offset="t0", mimic=("<a&b>", -1.0, 0.0)),
            Link(offset="t0 + 1", mimic=("joint2", 0.5, PI)),
        ),
        tool=Pose((0, 0, 0.1), (0, PI / 2, 0)),
    )
    assert str(dh_table(model)).splitlines() == [
        "DH table, modified convention",
        "joint   type       theta                   d          a     alpha",
        "------  ---------  ----------------------  ---------  ----  ------",
        "<a&b>   revolute   q1 + pi/2               0.15005    0     -pi/2",
        "joint2  prismatic  pi/4                    q2 - 0.25  0.5   0.1235",
        "joint3  revolute   q3 - 3*pi/4             L1         L1/2  pi",
        "joint4  revolute   -q1 + t0                0          0     0",
        "joint5  revolute   0.5*q2 + pi + (t0 + 1)  0          0     0",
        "tool: xyz (0, 0, 0.1), rpy (0, pi/2, 0)",
    ]
    page = dh_table(model)._repr_html_()
    assert "<td>&lt;a&amp;b&gt;</td>" in page
    assert "<a&b>" not in page
    assert page.count("<tr>") == 6


def test_table_in_another_convention():
    table = dh_table(PUMA, "modified")
    assert table.convention == "modified"
    assert table.rows[1].alpha == PI / 2
    assert table.rows[0].variable == "q1"
    assert dh_table(PUMA).convention == "standard"
    assert dh_table(urdf_planar()).convention == "modified"


# what is refused


@pytest.mark.parametrize(
    ("point", "direction", "message"),
    [
        ((0, 0, 0), (0, 0, 0), r"direction is \(0, 0, 0\)"),
        ((0, 0, math.nan), (0, 0, 1), "axis point.* is nan, expected a finite number"),
        ((0, 0, 0), (0, math.inf, 1), "axis direction.* is inf"),
        ((0, 0), (0, 0, 1), "axis point has 2 entries, expected 3"),
        ((0, 0, "L1"), (0, 0, 1), "axis point .* expected three numbers"),
    ],
)
def test_bad_axes(point, direction, message):
    with pytest.raises(ModelError, match=message):
        Axis("revolute", point, direction)


def test_tiny_and_huge_directions_are_directions():
    assert Axis("revolute", (0, 0, 0), (0, 0, 1e-300)).direction == (0, 0, 1)
    assert Axis("revolute", (0, 0, 0), (0, -1e300, 0)).direction == (0, -1, 0)


def test_bad_arguments():
    with pytest.raises(OptionError, match=r"'hinge'"):
        Axis("hinge", (0, 0, 0), (0, 0, 1))
    with pytest.raises(ModelError, match="no axes"):
        dh_from_axes([], "standard", Frame(), Frame())
    with pytest.raises(ModelError, match=r"expected Axis"):
        dh_from_axes([(0, 0, 1)], "standard", Frame(), Frame())  # type: ignore[list-item]
    axis = Axis("revolute", (0, 0, 0), (0, 0, 1))
    with pytest.raises(ModelError, match=r"tool is .* expected finite"):
        dh_from_axes([axis], "standard", Frame(), translation(x=math.nan))


@pytest.mark.parametrize("call", [to_dh, dh_table])
def test_unknown_convention(call):
    with pytest.raises(OptionError, match="did you mean 'modified'"):
        call(PUMA, "modifed")
    with pytest.raises(OptionError, match="'urdf' does not exist for a DH table"):
        call(urdf_planar(), "urdf")


def test_a_tree_is_refused_by_name():
    links = (Link(name="torso"), Link(name="left", parent="torso"), Link(parent="torso"))
    model = Model(name="twins", convention="urdf", links=links)
    with pytest.raises(ModelError, match="tree: 'torso' carries 'left' and 'link3'"):
        to_dh(model, "standard")
    model = replace(model, links=(Link(), Link()), base_name="floor")
    with pytest.raises(ModelError, match="'floor' carries 'link1' and 'link2'"):
        dh_table(model)


def test_axes_too_nearly_parallel_are_said_aloud():
    links = (Link(), Link(parent="link1", xyz=(1, 0.3, 0), rpy=(5e-9, 0, 0)), Link(parent="link2"))
    model = Model(name="crooked", convention="urdf", links=links)
    with pytest.warns(DynamisWarning, match="joint 'joint2' is off by 5e-09"):
        to_dh(model, "standard")


def crooked(angle: float, n: int = 3) -> Model:
    """Axes `angle` from parallel, and from perpendicular, with bodies on them."""
    body = {"mass": 1.2, "com": (0.1, 0.02, -0.1), "inertia": (0.01, 0.012, 0.008)}
    links = [
        Link(**body),
        Link(parent="link1", xyz=(1, 0.3, 0), rpy=(angle, 0, 0), **body),
        Link(parent="link2", xyz=(1, 0, 0), rpy=(PI / 2 + angle, 0, 0), **body),
    ]
    return Model(name="typed", convention="urdf", links=tuple(links[:n]))


@pytest.mark.parametrize("convention", DH_CONVENTIONS)
def test_axes_meant_to_be_parallel_are_said_to_be_taken_so(convention):
    """Angles typed with five digits would put frames 10 km away, and lose torques there."""
    for angle in (1e-7, 7.3e-6, PI - 3.1416):
        model = crooked(angle)
        with pytest.warns(DynamisWarning, match=r"joints 1 and 2 are .* taken as parallel"):
            dh = to_dh(model, convention)
        assert all(abs(x) < 3.0 for link in dh.links for x in (link.a, link.d))
        for q in ([0.3, -0.4, 0.5], [2.0, 1.0, -3.0]):
            one, two = (dy.Robot(x) for x in (model, dh))
            limit = 10.0 * abs(angle)
            assert np.abs(one.fk(q) - two.fk(q)).max() < limit
            M = one.mass_matrix(q)
            assert np.abs(M - two.mass_matrix(q)).max() < limit * np.abs(M).max()


@pytest.mark.parametrize("convention", DH_CONVENTIONS)
def test_axes_not_quite_parallel_are_held_and_their_distance_said(convention):
    """Angles typed as 3.14: too far off to be taken for pi; the arm stays the same."""
    for angle in (1e-4, 1e-3):
        with pytest.warns(DynamisWarning, match="common normal lies .* m away"):
            dh = to_dh(crooked(angle), convention)
        one, two = dy.Robot(crooked(angle)), dy.Robot(dh)
        M = one.mass_matrix([0.3, -0.4, 0.5])
        assert np.abs(M - two.mass_matrix([0.3, -0.4, 0.5])).max() < 1e-6 * np.abs(M).max()


@pytest.mark.parametrize("angle", [3.1416, 3.14, 1e-5, 1e-3])
def test_a_tool_need_not_be_parallel_to_the_last_axis(angle):
    """What DH cannot say of the tool is in the tool's own pose: nothing is lost."""
    model = replace(crooked(0.0), tool=Pose((0.0, 0.1, 0.2), (angle, 0.0, 0.0)))
    for convention in DH_CONVENTIONS:
        dh = to_dh(model, convention)
        assert_same_arm(model, dh)
        assert all(abs(x) < 3.0 for link in dh.links for x in (link.a, link.d))


def test_a_table_that_is_another_arm_is_refused():
    """Both arms are evaluated before a table is handed over."""
    for convention in DH_CONVENTIONS:
        model = crooked(0.5, 2)
        wrong = Model(name="x", convention=convention, links=(Link(a=1.0), Link(a=1.0)))
        with pytest.raises(ModelError, match=r"no DH table holds robot 'typed': .*is off by"):
            certify(model, wrong, 1.0, None)


def test_axes_of_ones_own_are_told_when_they_are_taken_as_parallel():
    axes = [("revolute", (0, 0, 0), (0, 0, 1)), ("revolute", (1, 0.3, 0), (0, 1e-5, 1))]
    with pytest.warns(DynamisWarning, match="joints 1 and 2 are 1e-05 rad from parallel"):
        arm = dy.Robot.from_axes("arm", axes)
    assert abs(arm.model.links[1].d) < 1.0


def test_from_axes():
    """Points and directions in, a DH arm out; the axes are where they were."""
    axes = [("revolute", (0, 0, 0), (0, 0, 1)), ("revolute", (0.1, 0, 0.5), (0, 1, 0)),
            ("prismatic", (0, 0, 0), (1, 0, 0))]  # fmt: skip
    for convention in ("standard", "modified"):
        arm = dy.Robot.from_axes("a", axes, convention=convention, tool={"xyz": (1, 0, 0.5)})
        assert np.allclose(arm.fk([0, 0, 0])[:3, 3], (1, 0, 0.5))
        assert np.allclose(arm.fk([0, 0, 0.3])[:3, 3], (1.3, 0, 0.5))
        assert np.allclose(arm.fk([np.pi / 2, 0, 0])[:3, 3], (0, 1, 0.5))
        plain = dy.Robot.from_axes("a", axes[:2], convention=convention)  # its tool: the last axis
        for q in ([0, 0], [0, 0.7], [0.4, -1.1]):
            T = plain.fk(q)
            assert np.allclose(T[:3, 3], (0.1 * np.cos(q[0]), 0.1 * np.sin(q[0]), 0.5))
            assert np.allclose(T[:3, 2], (-np.sin(q[0]), np.cos(q[0]), 0))
        assert np.allclose(plain.fk([0, 0])[:3, 0], (1, 0, 0))
    with pytest.raises(dy.errors.ModelError, match=r"axes\[0\] is 'revolute', expected"):
        dy.Robot.from_axes("a", ["revolute"])
