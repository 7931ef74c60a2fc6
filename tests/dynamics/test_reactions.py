"""Reactions of joints: links in equilibrium, torques of the drives, other engines' forces."""

import tempfile
from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import ClosureError, OptionError
from dynamis.interop import to_mjcf, to_pinocchio
from dynamis.model.closure import KINDS

from .. import closed_mechanisms
from ..closed_mechanisms import (
    MECHANISMS,
    any_mechanism,
    mechanism,
    random_loops,
    six_rss,
    states_near,
)
from ..random_robots import any_arm, build, close, dressed, robots, states, with_links
from .test_laws import WRENCH, dot, hold, place, tension, times, turned

few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
PEER = 1e-10  # next to the largest force


def joint_frames(robot, q):
    """Frames that reactions are seen from: of link i - 1 in the standard convention."""
    T, parents = robot.frames(q), np.array(robot.model.parents)
    return T[..., parents + 1, :, :] if robot.model.convention == "standard" else T[..., 1:, :, :]


def about_base(T, w):
    """Force, and moment about the reference origin, of a wrench at a frame; in reference axes."""
    f, n = (times(T[..., :3, :3], part) for part in (w[..., :3], w[..., 3:]))
    return np.concatenate([f, n + np.cross(T[..., :3, 3], f)], axis=-1)


def at_point(p, f, n=0.0):
    """A force and a moment at a point as a wrench about the origin."""
    return np.concatenate([f, n + np.cross(p, f)], axis=-1)


def link_motion(tree, q, qd, qdd, name):
    """w, wd and the acceleration of the origin of a link's frame, by its Jacobian."""
    J, Jd = tree.jacobian(q, link=name), tree.jacobian_dot(q, qd, link=name)
    a = times(J, qdd) + times(Jd, qd)
    return times(J, qd)[..., 3:], a[..., 3:], a[..., :3]


def inertial(tree, i, T, motion):
    """What a link's mass and inertia need, as a wrench about the reference origin."""
    chain, (w, wd, a) = tree.chain, motion
    m, h, (xx, xy, yy, xz, yz, zz) = chain.bodies[i].user_inertia
    R, a = T[..., :3, :3], a - tree.gravity
    h = times(R, np.array(h))
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turned(R)
    F = m * a + np.cross(wd, h) + np.cross(w, np.cross(w, h))
    return at_point(T[..., :3, 3], F, times(I, wd) + np.cross(w, times(I, w)) + np.cross(h, a))


def spring_pulls(tree, q, qd):
    """(link, wrench that it exerts) of both ends of every spring between two points."""
    for spring in tree.model.springs:
        if spring.kind != "torsion":
            ends = [
                (name or tree.model.base_name, np.array(at))
                for name, at in ((spring.from_, spring.from_point), (spring.to, spring.to_point))
            ]
            (a, Ja), (b, Jb) = (place(tree, q, *end) for end in ends)
            length = np.linalg.norm(b - a, axis=-1, keepdims=True)
            along = (b - a) / length
            rate = dot(along, times(Jb - Ja, qd))[..., None]
            pull = (tension(spring, length) + spring.damping * rate) * along
            yield ends[0][0], at_point(a, -pull)
            yield ends[1][0], at_point(b, pull)


def closure_frame(robot, q, closure, end):
    """R and p of one of its frames in the reference frame."""
    name, pose = closure.between[end], closure.frames[end].frame(robot.model.values)
    row = 0 if name in (None, robot.model.base_name) else robot.link_names.index(name) + 1
    T = robot.frames(q)[..., row, :, :]
    R, p = T[..., :3, :3], T[..., :3, 3]
    return R @ np.array(pose.R), p + times(R, np.array(pose.p))


def closure_holds(robot, q, reactions):
    """(link, wrench that it exerts) of both links of every closure, from `closure_reactions`."""
    for k, closure in enumerate(robot.model.closures):
        (R, _), (_, at) = (closure_frame(robot, q, closure, end) for end in (0, 1))
        w = reactions[..., k, :]
        f, n = times(R, w[..., :3]), times(R, w[..., 3:])
        yield closure.between[0], at_point(at, f, n)
        yield closure.between[1], -at_point(at, f, n)


def links_are_in_equilibrium(c):
    """d'Alembert of every link: its joints, springs, closures, what it exerts, its inertia."""
    robot, tree, (q, qd, _) = c.unloaded, c.tree, c.motion
    if tree.chain.rotors or any(x.slides for x in tree.model.links):
        return
    names = list(tree.link_names)
    w = robot.joint_reactions(*c.motion, **c.pushed)
    at_base = about_base(joint_frames(tree, q), w)
    T = tree.frames(q)[..., 1:, :, :]
    left = at_base - about_base(T, np.broadcast_to(c.forces, w.shape))
    for i, parent in enumerate(tree.model.parents):
        if parent >= 0:
            left[..., parent, :] -= at_base[..., i, :]
        left[..., i, :] -= inertial(
            tree, i, T[..., i, :, :], link_motion(tree, *c.motion, names[i])
        )
    left[..., tree.model.tip, :] -= about_base(tree.fk(q), WRENCH)
    exerted = [*spring_pulls(tree, q, qd)]
    if c.closed:
        exerted += closure_holds(robot, q, robot.closure_reactions(*c.motion, **c.pushed))
    for name, wrench in exerted:
        if name in names:
            left[..., names.index(name), :] -= wrench
    close(left, 0.0, 1e-10, size=np.abs(at_base).max())


def axes(robot, w):
    """The component of every reaction about or along its joint's axis."""
    model = robot.model
    z = [x.axis or (0, 0, 1) for x in model.links]
    z = np.array([np.array(a, dtype=float) / np.linalg.norm(np.array(a, dtype=float)) for a in z])
    kinds = np.array([x.joint == "revolute" for x in model.links])[:, None]
    return dot(np.where(kinds, w[..., 3:], w[..., :3]), z)


def bare(robot):
    """Links alone: no friction, no rotors, nothing that acts within a joint."""

    def change(x, i):
        drive = x.drive and replace(x.drive, rotor_inertia=0.0, viscous=0.0, coulomb=(0.0, 0.0))
        return replace(x, friction=dy.Friction(), drive=drive)

    springs = tuple(x for x in robot.model.springs if x.kind != "torsion")
    return with_links(robot, change, springs=springs, loads=(), rotors="reflected")


def axes_carry_the_torques_of_the_drives(c):
    """Power balance: of joints that mimic others the sum of their shares."""
    robot, model = bare(c.robot), c.robot.model
    found = axes(robot, robot.joint_reactions(*c.motion, **c.pushed))
    tau = robot.inverse_dynamics(*c.motion, **c.pushed)
    shares = np.zeros((len(model.links), robot.n))
    for i, link in enumerate(model.links):
        leader, ratio, _ = link.mimic or (link.joint_name, 1.0, 0.0)
        shares[i, model.joint_names.index(leader)] = ratio
    close(found @ shares, tau, size=np.abs(found).max())


def what_acts_within_joints_loads_no_bearing(c):
    """Friction, reflected rotors, torsion springs and own loads of an arm."""
    if not c.closed and not c.robot.chain.rotors:
        w = bare(c.robot).joint_reactions(*c.motion, **c.pushed)
        close(c.robot.joint_reactions(*c.motion, **c.pushed), w, size=np.abs(w).max())


def a_base_that_accelerates_is_gravity(c):
    if not c.closed:
        still = c.robot.with_gravity((0, 0, 0))
        lift = np.array([0, 0, 0, 0, 0, 0, *(-c.robot.gravity)])
        w = c.robot.joint_reactions(*c.motion)
        close(still.joint_reactions(*c.motion, base_motion=lift), w)


LAWS = (
    links_are_in_equilibrium, axes_carry_the_torques_of_the_drives,
    what_acts_within_joints_loads_no_bearing, a_base_that_accelerates_is_gravity,
)  # fmt: skip


@few
@given(any_arm(6))
def test_arms(robot):
    hold(LAWS, robot)


@settings(few, max_examples=16)
@given(any_mechanism())
def test_mechanisms(robot):
    hold(LAWS, robot)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism(name):
    hold(LAWS, dressed(mechanism(name), ("springs", "loads")))


def in_space(kind):
    return random_loops(["revolute"] * 8, [-1, 0, -1, *range(2, 7)], [(kind, 1, 7)], 11)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_closure(kind):
    hold(LAWS, in_space(kind))


def test_a_platform_on_six_cranks():
    hold((links_are_in_equilibrium,), six_rss())


# other engines


def pinocchio_forces(robot, q, qd, qdd):
    """data.f of every joint in order of the links, as wrenches about the reference origin."""
    model = to_pinocchio(robot)
    data = model.createData()
    order = [model.getJointId(x) for x in robot.joint_names]
    place = np.argsort([model.idx_vs[k] for k in order])
    rows = [np.asarray(x)[place] for x in (q, qd, qdd)]
    pin.rnea(model, data, *rows)
    pin.forwardKinematics(model, data, rows[0])
    return np.array([np.array(data.oMi[k].act(data.f[k]).vector) for k in order])


def mujoco_forces(robot, q, qd, qdd):
    """What force and torque sensors at the bodies' frames say, as wrenches about the origin."""
    spec = mujoco.MjSpec.from_string(to_mjcf(robot))
    for body in spec.bodies:
        if body.name in robot.link_names:
            body.add_site(name=f"{body.name}:own")
    kinds = mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE
    for name in robot.link_names:
        for kind in kinds:
            spec.add_sensor(
                type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=f"{name}:own",
                name=f"{name}:{kind.value}",
            )  # fmt: skip
    model = spec.compile()
    data = mujoco.MjData(model)
    for name, *values in zip(robot.joint_names, q, qd, qdd, strict=True):
        joint = model.joint(name)
        data.qpos[joint.qposadr], data.qvel[joint.dofadr], data.qacc[joint.dofadr] = values
    mujoco.mj_inverse(model, data)
    found = []
    for name in robot.link_names:
        R = data.site(f"{name}:own").xmat.reshape(3, 3)
        f, n = (R @ data.sensor(f"{name}:{kind.value}").data for kind in kinds)
        found.append(at_point(data.site(f"{name}:own").xpos, f, n))
    return np.array(found)


@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
@pytest.mark.parametrize("peer", [pinocchio_forces, mujoco_forces])
@settings(few, max_examples=15)
@given(robots(6))
def test_peers_agree(peer, robot):
    robot = bare(robot)
    motion = states(robot)
    found = about_base(joint_frames(robot, motion[0]), robot.joint_reactions(*motion))
    close(found, peer(robot, *motion), PEER)


@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
@settings(few, max_examples=10)
@given(st.integers(0, 10**6))
def test_frames_of_a_urdf_are_those_of_pinocchio(seed):
    """Component by component: no frames of ours are asked; axes of joints point anywhere."""
    kinds, parents = ["revolute", "prismatic", "revolute", "revolute"], [-1, 0, 0, 2]
    robot = bare(build("urdf", kinds, seed, parents))
    with tempfile.TemporaryDirectory() as folder:
        robot.save(f"{folder}/arm.urdf")
        model = pin.buildModelFromUrdf(f"{folder}/arm.urdf")
    model.gravity.linear = robot.gravity
    data, motion = model.createData(), states(robot)
    order = [model.getJointId(x) for x in robot.joint_names]
    place = np.argsort([model.idx_vs[k] for k in order])
    pin.rnea(model, data, *(x[place] for x in motion))
    close(robot.joint_reactions(*motion), [np.array(data.f[k].vector) for k in order], PEER)


def test_a_pendulum_at_rest_and_turning():
    """By hand: m g and m l qd^2 along the rod, axes that stay (standard) or turn (modified)."""
    link = {"mass": 2.0, "inertia": (0, 0, 0)}
    arms = {
        "standard": dy.Link(a=0.5, com=(0, 0, 0), **link),
        "modified": dy.Link(com=(0.5, 0, 0), **link),
    }
    for convention, own in arms.items():
        robot = dy.Robot.from_dh("p", convention=convention, links=[own], gravity=(0, -10.0, 0))
        ((fx, fy, fz, nx, ny, nz),) = robot.joint_reactions([np.pi / 2], [3.0], [0.0])
        along = -2.0 * 0.5 * 9.0 + 20.0  # upwards: the rod points up
        expected = (0.0, along) if convention == "standard" else (along, 0.0)
        close([fx, fy, fz, nx, ny, nz], [*expected, 0, 0, 0, 0])
        ((*_, nz),) = robot.joint_reactions([0.0], [0.0], [0.0])
        close(nz, 10.0)


def test_a_slide_carries_moments():
    """A mass on an arm beside a vertical slide: weight along it, a moment across it."""
    own = dy.Link(joint="prismatic", mass=3.0, com=(0.4, 0.0, 0.0), inertia=(0, 0, 0))
    robot = dy.Robot.from_dh("s", convention="modified", links=[own], gravity=(0, 0, -10.0))
    (w,) = robot.joint_reactions([0.7], [1.0], [2.0])
    close(w, [0, 0, 36.0, 0, -0.4 * 36.0, 0])  # r x f, r along x, f along z


# closed mechanisms by dense algebra


def unit_holds(robot, q, closure):
    """Wrench on its second link of every unit force of a closure, by what its kind holds."""
    (R, a), (other, b) = (closure_frame(robot, q, closure, end) for end in (0, 1))
    for row in closure.rows:
        if row == "length":
            yield at_point(b, (b - a) / np.linalg.norm(b - a))
        elif row in KINDS["ball"].rows:
            yield at_point(b, R[:, "xyz".index(row)])
        elif row == "about x cross y":
            yield at_point(b, np.zeros(3), np.cross(R[:, 0], other[:, 1]))
        else:
            yield at_point(b, np.zeros(3), R[:, "xyz".index(row.removeprefix("about "))])


def kkt_solution(robot, q, qd, qdd):
    """Wrenches of the joints, about the base, and forces of the closures, all by one dense solve.

    Every link is free, sums of wrenches are inertia; unknown are six numbers of every driven joint,
    five of a passive one, and the forces of closures in the rows that count.
    """
    model, names, counting = robot.model, list(robot.link_names), robot.chain.mobility.rows
    tree, T, frames = robot.without_closures(), robot.frames(q)[1:], joint_frames(robot, q)
    columns, joints, numbers = [], [], iter(range(len(robot.closure_rows)))

    def column(*acting):
        found = np.zeros((len(names), 6))
        for link, w in acting:
            if link in names:
                found[names.index(link)] += w
        columns.append(found.ravel())

    for i, parent in enumerate(model.parents):
        axis = np.zeros(6)
        axis[3 * (robot.joint_kinds[i] == "revolute") :][:3] = model.links[i].axis or (0, 0, 1)
        basis = np.eye(6) if i in robot.active else np.linalg.svd(axis[None])[2][1:]
        for w in (about_base(frames[i], x) for x in basis):
            column((names[i], w), (names[parent] if parent >= 0 else None, -w))
            joints.append((i, w))
    for closure in model.closures:
        for w in unit_holds(robot, q, closure):
            if next(numbers) in counting:
                column((closure.between[1], w), (closure.between[0], -w))
    moving = (link_motion(tree, q, qd, qdd, name) for name in names)
    needed = [inertial(tree, i, T[i], motion) for i, motion in enumerate(moving)]
    x, _, rank, _ = np.linalg.lstsq(np.array(columns).T, np.ravel(needed), rcond=None)
    assert rank == len(columns)
    f, found = np.zeros(len(robot.closure_rows)), np.zeros((len(names), 6))
    f[list(counting)] = x[len(joints) :]
    for value, (i, w) in zip(x, joints, strict=False):
        found[i] += value * w
    return found, f


@pytest.mark.parametrize("name", ["five_bar", "four_bar", "parallelogram", "six_rss", *KINDS])
def test_closed_mechanisms_by_one_dense_solve(name):
    robot = in_space(name) if name in KINDS else getattr(closed_mechanisms, name)()
    robot = bare(robot)
    found = states_near(robot, 3, condition=300.0, home=robot.home)
    for motion in zip(*found[:3], strict=True):
        joints, f = kkt_solution(robot, *motion)
        w, size = robot.joint_reactions(*motion), np.abs(joints).max()
        close(about_base(joint_frames(robot, motion[0]), w), joints, PEER, size)
        close(robot.constraint_forces(*motion), f, PEER, size)


def test_rods_hold_along_their_line():
    """By the one force that `constraint_forces` has of them."""
    closures = [("rod", 1, 4), ("rod", -1, 2)]
    robot = random_loops(["revolute"] * 5, [-1, 0, -1, 2, 3], closures, 21)
    q, qd, qdd, *_ = states_near(robot, 2, condition=300.0)
    w, f = (x(q, qd, qdd) for x in (robot.closure_reactions, robot.constraint_forces))
    assert w.shape == (2, 2, 6)
    close(np.linalg.norm(w[..., :3], axis=-1), np.abs(f))
    close(w[..., 3:], 0.0)


def test_what_is_refused():
    q = np.zeros(3)
    with pytest.raises(OptionError, match="for mechanisms with closures"):
        dy.load("pendulum3").closure_reactions(q, q, q)
    robot = closed_mechanisms.five_bar()
    q = robot.home
    with pytest.raises(ClosureError):
        robot.joint_reactions(q + 0.1, 0 * q, 0 * q)
