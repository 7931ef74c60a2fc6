"""Excitation of arms with shapes: clear of torso, head, the other arm and a world, by coal."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.excite.design import excite
from dynamis.excite.workspace import clearance_margins

QUICK = {"starts": 1, "max_iterations": 6, "period": 5.0, "harmonics": 3, "progress": False}
LIMITS = '<limit lower="-2.6" upper="2.6" velocity="2" effort="200"/>'


def body(name, shape, xyz="0 0 0", mass=1.0):
    return f"""
    <link name="{name}">
      <inertial><mass value="{mass}"/><origin xyz="{xyz}"/>
        <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><origin xyz="{xyz}"/><geometry>{shape}</geometry></collision>
    </link>"""


def joint(name, parent, child, xyz, axis, kind="revolute"):
    return f"""
    <joint name="{name}" type="{kind}">
      <parent link="{parent}"/><child link="{child}"/>
      <origin xyz="{xyz}"/><axis xyz="{axis}"/>{LIMITS if kind == "revolute" else ""}
    </joint>"""


def arm(side, y):
    rod = '<cylinder radius="0.05" length="0.3"/>'
    names = [f"{side}_{x}" for x in ("shoulder", "upper", "fore", "hand")]
    return (
        body(names[0], '<sphere radius="0.06"/>')
        + body(names[1], rod, "0 0 -0.2")
        + body(names[2], rod, "0 0 -0.2")
        + body(names[3], '<box size="0.08 0.08 0.1"/>', "0 0 -0.05", 0.5)
        + joint(f"{side}_yaw", "torso", names[0], f"0.1 {y} 0.3", "0 0 1")
        + joint(f"{side}_lift", names[0], names[1], "0 0 0", "0 1 0")
        + joint(f"{side}_elbow", names[1], names[2], "0 0 -0.4", "0 1 0")
        + joint(f"{side}_wrist", names[2], names[3], "0 0 -0.4", "0 0 1", "fixed")
    )


TWO_ARMS = f"""<robot name="two-arms">
    {body("torso", '<box size="0.2 0.35 0.8"/>', mass=20)}
    {body("head", '<sphere radius="0.15"/>', mass=3)}
    {joint("neck", "torso", "head", "0.05 0 0.6", "0 0 1", "fixed")}
    {arm("left", 0.3)}{arm("right", -0.3)}
</robot>"""
RIGHT = {"right_yaw": 0.7, "right_lift": -1.2, "right_elbow": 0.3}  # in front of the torso


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("two") / "two-arms.urdf"
    path.write_text(TWO_ARMS)
    return dy.load(path, lock=RIGHT)


def nearest_by_coal(design, world=()):
    """Least distance of the moving links from all that stands still, by Pinocchio and coal."""
    pin = pytest.importorskip("pinocchio", reason="needs pinocchio")
    coal = pytest.importorskip("coal", reason="needs coal")
    model = pin.buildModelFromXML(TWO_ARMS)
    shapes = pin.buildGeomFromUrdfString(model, TWO_ARMS, pin.GeometryType.COLLISION)
    held = pin.neutral(model)
    for name, value in RIGHT.items():
        held[model.joints[model.getJointId(name)].idx_q] = value
    locked = [model.getJointId(name) for name in RIGHT]
    model, shapes = pin.buildReducedModel(model, shapes, locked, held)
    for k, one in enumerate(world):
        place = pin.SE3(np.eye(3), np.array(one.xyz, dtype=float))
        shapes.addGeometryObject(pin.GeometryObject(f"world{k}", 0, 0, place, coal.Box(*one.size)))
    own = shapes.geometryObjects
    still = [k for k, x in enumerate(own) if x.parentJoint == 0]
    moving = [k for k, x in enumerate(own) if x.parentJoint >= 2]
    for a in still:
        for b in moving:
            shapes.addCollisionPair(pin.CollisionPair(a, b))
    data, found = model.createData(), shapes.createData()
    names, least = [model.names[k + 1] for k in range(model.nq)], np.inf
    order = [design.robot.joint_names.index(x) for x in names]
    for q in design.trajectory(np.linspace(0.0, design.period, 301)).q:
        pin.computeDistances(model, data, shapes, found, q[order])
        least = min(least, *(x.min_distance for x in found.distanceResults))
    return least


def test_a_two_armed_robot_keeps_clear_of_torso_head_and_other_arm(robot):
    free = excite(robot, **QUICK, table=None, clearance=None)
    found = excite(robot, **QUICK)
    assert nearest_by_coal(free) < -0.02  # it matters
    assert nearest_by_coal(found) >= 0.02
    assert found.worst_clearance.metres >= 0.02
    assert not any(f.level == "error" for f in found.findings)
    (said,) = [f for f in found.findings if f.where == "geometry"]
    assert "capsules and boxes around the shapes of" in said.what and "'left_upper'" in said.what


def test_and_of_a_world(robot):
    """A box where the motion without it takes the hand."""
    free = excite(robot, **QUICK)
    tool = robot.fk(free.trajectory(np.linspace(0.0, free.period, 200)).q)[:, :3, 3]
    far = tool[np.abs(tool - [0.0, 0.3, 0.0]).sum(axis=1).argmax()]
    world = [dy.Box(size=(0.1, 0.1, 0.1), xyz=tuple(far.tolist()), name="post")]
    found = excite(robot, **QUICK, world=world)
    assert nearest_by_coal(free, world) < 0.0
    assert nearest_by_coal(found, world) >= 0.02


def test_parts_of_a_base_are_pairs_of_the_first_link(robot):
    """Only the torso holds the shoulder; the head and the locked arm do not."""
    names = robot.collision_pairs().names
    of = {x.name: x.link or robot.model.base_name for x in robot.model.geometry}
    pairs = {frozenset((of[a], of[b])) for a, b in names}
    assert frozenset(("torso", "left_shoulder")) not in pairs
    assert frozenset(("head", "left_shoulder")) in pairs
    assert frozenset(("right_hand", "left_shoulder")) in pairs
    assert frozenset(("torso", "left_upper")) in pairs
    assert frozenset(("left_fore", "left_upper")) not in pairs
    assert frozenset(("left_hand", "left_upper")) in pairs
    assert frozenset(("left_hand", "left_fore")) not in pairs


def test_links_without_shapes_are_rods_and_said(robot):
    some = tuple(x for x in robot.model.geometry if x.link != "left_upper")
    part = dy.Robot(replace(robot.model, geometry=some))
    space = clearance_margins(part, None, 0.02, 0.04, robot.limits)
    (said,) = [f for f in space.findings if "without shapes" in f.what]
    assert said.what == "'left_upper' without shapes: rods of 0.04 m"
    assert any("'left_upper'" in space.label(k) for k in range(len(space)))
    lost = replace(some[0], kind="mesh", size=None, file="none.stl")
    away = dy.Robot(replace(robot.model, geometry=(lost, *some[1:])))
    notes = clearance_margins(away, None, 0.02, 0.04, robot.limits).findings
    assert any(f.level == "warning" and "'none.stl' is not there" in f.what for f in notes)


def test_margins_are_distances_of_the_simple_shapes(robot):
    simple = robot.with_simple_shapes()
    space = clearance_margins(robot, None, 0.02, None, robot.limits)
    q = np.random.default_rng(0).uniform(-2.0, 2.0, (30, robot.n))
    pairs = simple.collision_pairs()
    apart = dict(zip(pairs.names, pairs.distances(q).T, strict=True))
    margins = space.over(q).T
    found = 0
    for (a, b), margin in zip(space.pairs, margins, strict=True):
        both = apart.get((a.name, b.name))
        if both is not None:
            assert np.abs(both - 0.02 - margin).max() < 1e-12
            found += 1
    assert found > 10
