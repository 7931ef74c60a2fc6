"""Closed mechanisms in the rest of the package: what works is right, the rest says so by name."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ModelError, OptionError, ShapeError
from dynamis.model.pose import Pose
from dynamis.realtime import Law
from tests.closed_mechanisms import five_bar, four_bar, motions
from tests.random_robots import close

SEED = 3


@pytest.mark.parametrize("name", ["five-bar", "delta", "planar-rr"])
def test_joints_are_chosen_by_index(name):
    """Of one vector and of many; what a caller does to the index stays with the caller."""
    robot = dy.load(name)
    many = np.arange(3.0 * robot.n).reshape(3, robot.n)
    for kind, known in (("driven", robot.model.driven), ("active", robot.model.active)):
        index = getattr(robot, kind)
        assert many[1][index].tolist() == [many[1, k] for k in known]
        assert (many[..., index] == many[:, index]).all() and many[:, index].shape[1] == len(known)
    assert many[0][robot.independent].shape == (robot.dof,)
    robot.driven.clear(), robot.active.clear(), robot.independent.clear()
    assert len(robot.driven) == len(robot.active) == len(robot.independent) == robot.dof


def tooled(robot=None, efficiency=0.8, **changes):
    """With a tool, drives with losses, friction in every joint and a spring."""
    robot = robot or five_bar()
    links = list(robot.model.links)
    for k, link in enumerate(links):
        more = {"friction": dy.Friction(viscous=0.1 + 0.02 * k, coulomb=0.3)}
        if not link.passive:
            drive = dy.Drive(gear=20, rotor_inertia=1e-4, viscous=1e-3, efficiency=efficiency)
            more["drive"] = drive
        links[k] = replace(link, **more)
    spring = dy.Spring(from_=None, to="a2", to_point=(0.2, 0, 0), stiffness=40.0, damping=3.0)
    tool = Pose((0.4, 0.0, 0.0))
    model = replace(robot.model, links=tuple(links), springs=(spring,), tool=tool, tool_link="a2")
    return dy.Robot(replace(model, **changes))


@pytest.mark.parametrize("name", ["planar-rp", "puma560", "mimicking"])
def test_an_open_arm_answers_as_a_mechanism_without_loops(name):
    """Every joint decides itself: rates, accelerations and configurations are those given."""
    robot = mimicking() if name == "mimicking" else dy.load(name)
    q, qd, qdd = np.random.default_rng(SEED).normal(size=(3, 4, robot.n))
    assert (robot.joint_rates(q, qd) == qd).all()
    assert (robot.joint_accelerations(q, qd, qdd) == qdd).all()
    assert (robot.joint_accelerations(q[0], qd, qdd) == qdd).all()
    for words in ({}, {"frame": "tool"}, {"link": robot.model.link_names[0]}):
        assert (robot.drive_jacobian(q, **words) == robot.jacobian(q, **words)).all()
    assert (robot.project(q) == q).all() and robot.project(q[:0]).shape == (0, robot.n)
    kept = robot.project(q, qd[0])
    assert (kept[0] == q).all() and (kept[1] == qd[0]).all() and kept[1].shape == q.shape
    with pytest.raises(ShapeError, match="qd"):
        robot.project(q, qd[..., :-1])


def mimicking():
    """Two joints, and a third that follows the first."""
    links = list(dy.load("pendulum3").model.links)
    links[2] = replace(links[2], mimic=(links[0].joint_name, -1.0, 0.3))
    model = dy.load("pendulum3").model
    return dy.Robot(replace(model, links=tuple(links), configurations={}))


def test_functions_of_all_joints_have_the_torques_of_the_drives():
    """What an Arm of all joints of a closed mechanism gives is what the Robot gives."""
    robot = tooled(efficiency=1.0)
    q, qd, qdd, *_ = motions(robot, 3, SEED)
    found = dy.compile(robot, lambda arm, q, qd, qdd: arm.frictionless_torque(q, qd, qdd))
    terms = robot.torque_terms(q, qd, qdd)
    close(found(q, qd, qdd), sum(terms.values()) - terms["friction"])
    still = dy.compile(robot, lambda arm, q: arm.static_torque(q))(q)
    resting = robot.torque_terms(q, 0.0 * q, 0.0 * q)
    close(still, resting["gravity"] + resting["spring"])
    Y = dy.compile(robot, lambda arm, q, qd, qdd: arm.regressor(q, qd, qdd))(q, qd, qdd)
    close(Y, robot.regressor(q, qd, qdd))
    turned = dy.compile(robot, lambda arm, q, qd: arm.coriolis_transposed(q, qd))(q, qd)
    C = robot.coriolis_matrix(q, qd)
    close(turned, np.einsum("kij,ki->kj", C, qd[:, robot.independent]))


def test_a_regressor_needs_drives_for_every_motion():
    idle = four_bar(passive=(True, True, True))
    with pytest.raises(OptionError, match="no torques give every motion"):
        idle.regressor(*np.zeros((3, 3)))


SERIAL = [dy.Link(a=0.3, mass=1.0, inertia=(1, 1, 1)) for _ in range(4)]
RESTING = np.zeros((3, 4))


def log():
    t = np.linspace(0.0, 1.0, 101)
    wave = np.sin(np.outer(t, [3.0, 4.0, 5.0, 6.0]))
    return dy.Log(t=t, q=wave, tau=wave)


REFUSED = {
    "identify_drive_gains": lambda robot, folder: dy.identify_drive_gains(robot, log(), log(), 1.0),
    "PayloadObserver": lambda robot, folder: dy.PayloadObserver(model=robot).gains(robot),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_missing_says_so(name, tmp_path):
    with pytest.raises(OptionError, match="not available for mechanisms with closures") as raised:
        REFUSED[name](five_bar(), tmp_path)
    assert raised.value.hint
    assert not list(tmp_path.iterdir())


def test_a_chain_with_a_closure_has_a_dh_table_and_a_tree_has_none():
    robot = dy.Robot.from_dh("loop", convention="standard", links=SERIAL, closures=[
        dy.Closure(kind="pin", between=("link4", None), frames=(None, {"xyz": (0.5, 0, 0)}))
    ])  # fmt: skip
    assert len(robot.dh().rows) == 4  # its own table
    other = robot.to_dh("modified")
    q = robot.home
    np.testing.assert_allclose(other.closure_error(q), 0.0, atol=1e-9)
    for ask in (lambda: five_bar().dh(), lambda: five_bar().to_dh("standard")):
        with pytest.raises(ModelError, match="is a tree"):
            ask()


def test_the_tree_still_has_them():
    tree = four_bar().without_closures()
    assert tree.equations().M.shape == (3, 3)
    assert tree.base_parameters().rank > 0


ONE, ZERO = [0.7], np.zeros(3)  # of the drive, and of all joints of a four-bar
TORQUES = r"{0} = np.zeros\(robot.n\); {0}\[..., robot.driven\] = "
OF_DRIVES = {  # calls with a vector of the drives alone, and what the hint says to write
    "inverse q": (lambda r: r.inverse_dynamics(ONE, ZERO, ZERO), r"robot.assemble\("),
    "inverse qd": (lambda r: r.inverse_dynamics(r.home, ONE, ZERO), r"robot.joint_rates\("),
    "inverse qdd": (lambda r: r.inverse_dynamics(r.home, ZERO, ONE), "robot.joint_accelerations"),
    "forward": (lambda r: r.forward_dynamics(r.home, ZERO, [ONE] * 4), TORQUES.format("tau")),
    "terms": (lambda r: r.torque_terms(ONE, ZERO, ZERO), r"robot.assemble\("),
    "project": (lambda r: r.project(ONE), r"robot.assemble\("),
    "home": (lambda r: r.with_home(ONE), r"robot.assemble\("),
    "q0": (lambda r: dy.simulate(r, 0.01, q0=ONE), r"robot.assemble\("),
    "qd0": (lambda r: dy.simulate(r, 0.01, q0=r.home, qd0=ONE), r"robot.joint_rates\("),
    "torque": (lambda r: dy.simulate(r, 0.01, torque=ONE), TORQUES.format("torque")),
    "torque of time": (
        lambda r: dy.simulate(r, 0.01, torque=lambda t: ONE),
        TORQUES.format("torque"),
    ),
    "step": (lambda r: dy.Simulator(r).step(ONE), TORQUES.format("tau")),
}


@pytest.mark.parametrize("name", OF_DRIVES)
def test_a_vector_of_the_drives_alone_is_told_how_to_have_all_joints(name):
    call, words = OF_DRIVES[name]
    with pytest.raises(ShapeError, match=rf"hint: \w+ is of all 3 joints.*\(joint1\): .*{words}"):
        call(four_bar())


REFERENCES = {
    "place": lambda r: r.home,
    "trajectory": lambda r: dy.trajectory.quintic(r.home, r.home, 1.0),
    "function": lambda r: lambda t: (r.home, r.home, r.home),
}


@pytest.mark.parametrize("kind", REFERENCES)
def test_a_reference_of_all_joints_is_told_to_be_of_the_drives(kind):
    robot, law = four_bar(), dy.control.JointPID(kp=1.0)
    words = r"hint: it is of the drives alone \(joint1\): q\[..., robot.driven\]"
    with pytest.raises(ShapeError, match=words):
        dy.simulate(robot, 0.01, controller=law, reference=REFERENCES[kind](robot))
    if kind == "trajectory":
        with pytest.raises(ShapeError, match=words):
            Law(law, robot, 1e-3, reference=REFERENCES[kind](robot))


def test_what_the_hints_say_works():
    robot = four_bar()
    q = robot.assemble(ONE)[0]
    qd = robot.joint_rates(q, ONE)
    qdd = robot.joint_accelerations(q, qd, ONE)
    tau = np.zeros(robot.n)
    tau[..., robot.driven] = robot.inverse_dynamics(q, qd, qdd)[robot.driven]
    close(robot.forward_dynamics(q, qd, tau), qdd)
    with pytest.raises(ShapeError, match=r"qd_active\[..., robot.independent\]"):
        robot.joint_rates(q, qd)
    with pytest.raises(ShapeError) as caught:
        robot.inverse_dynamics(q, qd, [0.0, 0.0])  # neither of the drives nor of all
    assert caught.value.hint is None
    with pytest.raises(ShapeError) as caught:
        dy.load("planar-rr").inverse_dynamics([0.0], [0.0], [0.0])
    assert caught.value.hint is None
