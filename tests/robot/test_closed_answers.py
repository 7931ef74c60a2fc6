"""Closed mechanisms in the rest of the package: what works is right, the rest says so by name."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ModelError, OptionError, ShapeError
from tests.closed_mechanisms import five_bar, four_bar

SEED = 3


def close(a, b, tolerance=1e-9):
    assert np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max())


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
