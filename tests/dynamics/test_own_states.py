"""Laws of a user's own with states: steady values, parameters, C, and what is refused."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.dynamics.elements.friction import sticks
from dynamis.errors import DynamisError
from tests.dynamics.test_own_laws import own_load, rubbing, state
from tests.realtime.laws_in_c import kernel_in_c
from tests.simulation.arms import slider
from tests.simulation.own_states import Aging, Dahl, Maxwell


def arm():
    """Friction that is steady where it slides, and a load that is not told so."""
    law = Dahl(dry=2.0, grease=0.5)
    return rubbing(dy.load("planar-2link"), law).with_load(Maxwell(joint=1))


def test_without_a_motion_states_are_steady_or_zero():
    robot, bare = arm(), dy.load("planar-2link")
    q, qd, qdd = state(robot, 0, 5)
    wanted = 2.0 * np.sign(qd) + 0.5 * qd + 0.1
    np.testing.assert_allclose(robot.friction_torque(qd), wanted, rtol=1e-14)
    assert not robot.load_torque(q, qd).any()
    smooth = dy.Robot(replace(bare.model, links=[replace(x, friction=dy.Friction(), drive=None)
                                                 for x in bare.model.links]))  # fmt: skip
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(tau, smooth.inverse_dynamics(q, qd, qdd) + wanted, rtol=1e-12)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, atol=1e-10)
    settled = bare.with_load(Settled())
    np.testing.assert_allclose(settled.load_torque(q, qd)[:, 0], 5.0 * qd[:, 0])


@dataclass(frozen=True)
class Settled(Maxwell):
    """It pulls as its damper does."""

    def steady(self, q, qd, constants, fn):
        return [constants["damping"] / constants["stiffness"] * qd[0]]


def test_constants_of_rates_are_no_parameters():
    robot = arm()
    assert robot.model.law_states == ("joint1.stretch", "joint2.stretch", "Maxwell.stretch")
    assert robot.parameters.names[-3:] == ("Maxwell.gain", "joint1.grease", "joint2.grease")
    q, qd, qdd = state(robot, 1, 4)
    Y = robot.regressor(q, qd, qdd)
    assert not Y[..., -3].any()
    np.testing.assert_allclose(Y[..., 0, -2], qd[:, 0])
    other = robot.with_parameters(np.array([*robot.parameters.values[:-3], 3.0, 0.7, 0.8]))
    assert other.model.loads[0].own == Maxwell(joint=1, gain=3.0)
    assert other.model.links[1].friction.own.own == Dahl(dry=2.0, grease=0.8)
    tau = other.inverse_dynamics(q, qd, qdd) - robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(tau, (0.2, 0.3) * qd, atol=1e-12)
    law = rubbing(dy.load("planar-2link"), Aging()).model.links[0].friction.own
    assert law.linear == ("dry", "rise", "stiffness")


def test_a_constant_that_bends_the_steady_state_is_no_parameter():
    @dataclass(frozen=True)
    class Bent:
        force: float = 2.0
        speed: float = 0.3
        states = ("z",)

        def torque(self, qd, direction, constants, fn, state):
            return constants["force"] * state["z"] + constants["speed"] * qd

        def rate(self, qd, direction, constants, fn, state):
            return {"z": qd - state["z"]}

        def steady(self, qd, direction, constants, fn):
            return {"z": fn.tanh(qd / constants["speed"])}

    assert dy.Friction(law=Bent()).own.linear == ("force",)


def test_c_of_inverse_dynamics_takes_the_steady_states(tmp_path):
    robot = arm()
    rows = state(robot, 2, 20)
    found = kernel_in_c(robot, "inverse_dynamics", tmp_path)(2, *rows)
    np.testing.assert_allclose(found, robot.inverse_dynamics(*rows), rtol=1e-12, atol=1e-12)


def test_equations_show_the_steady_states():
    equations = rubbing(dy.load("planar-2link"), Dahl(dry=2.0, grease=0.5)).equations()
    assert str(equations.friction[0]) == "qd1/2 + 2*sign(qd1) + 1/10"


def test_controllers_compensate_what_inverse_dynamics_has():
    robot = slider(dy.Friction(law=Dahl()), mass=1.5)
    law = dy.control.FeedForward.from_bandwidth(robot, 8.0)
    motion = dy.trajectory.fourier([[0.2]], [[0.1]], 2.0)
    q, qd, qdd = (x[0] for x in motion(np.array([0.1])))
    loop = dy.control.ControlLoop(law, robot, 1e-3)
    assert abs(qd[0]) > 0.1
    tau = loop.step(0.0, q, qd, q, qd, qdd)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, qd, qdd), rtol=1e-12)


def test_copies_are_equal_and_other_rates_differ(monkeypatch, tmp_path):
    robot = arm()
    assert pickle.loads(pickle.dumps(robot)) == robot
    monkeypatch.setenv("DYNAMIS_COMPILE", "on")
    monkeypatch.setenv("DYNAMIS_CACHE", str(tmp_path))

    def moved(factor):
        @dataclass(frozen=True)
        class Same(Maxwell):
            def rate(self, q, qd, constants, fn, state):
                return {"stretch": factor * qd[0] - state["stretch"]}

        robot = slider().with_load(Same())
        return robot, dy.simulate(robot, 0.1, qd0=[1.0], check_step=False).q[-1, 0]

    (one, first), (other, second), (same, third) = moved(1.0), moved(-1.0), moved(1.0)
    assert one.model.loads[0].states != other.model.loads[0].states
    assert one.model.loads[0].states == same.model.loads[0].states
    assert first == third < 0.1 < second


def test_a_law_sticks_by_its_torque_in_motion():
    """Dahl's has no direction in it, though its steady state has."""
    found = [
        rubbing(dy.load("planar-2link"), law).chain.resistances[0] for law in (Dahl(), Aging())
    ]
    assert [sticks(x) for x in found] == [False, True]


# what is refused


def load_of(**members):
    """A load with one state, but for what is given."""
    given = {
        "states": ("z",),
        "torque": lambda s, q, qd, c, fn, state: [state["z"]] * len(q),
        "rate": lambda s, q, qd, c, fn, state: {"z": qd[0] - state["z"]},
    } | members
    states = given.pop("states")
    law = own_load(**{k: v for k, v in given.items() if v is not None})
    type(law).states = states
    return law


REFUSED = {
    "a text": (load_of(states="z"), r"states = 'z', expected a tuple of texts\n.*states = \(\"z\""),
    "numbers": (load_of(states=(1.0,)), r"states = \(1.0,\), expected a tuple of texts"),
    "twice": (load_of(states=("z", "z")), "two states 'z'"),
    "a field": (own_load(states=("z",), torque=lambda *a: 0.0), "its states as a constant"),
    "no names": (load_of(states=()), r"names no states, but torque \(.*\) takes one more"),
    "no rate": (load_of(rate=None), r"states 'z' and no rate, expected a method rate\(self, q, qd"),
    "no state in torque": (
        load_of(torque=lambda s, q, qd, c, fn: [0.0, 0.0]),
        r"states 'z', but torque \(.*\) does not take .* expected torque\(self, q, qd, constants, ",
    ),
    "no state in rate": (load_of(rate=lambda s, q, qd, c, fn: [0.0]), "but rate .*does not take"),
    "state in steady": (
        load_of(steady=lambda s, q, qd, c, fn, state: [0.0]),
        r"but steady .*does not take .*, expected steady\(self, q, qd, constants, fn\)",
    ),
    "other names": (
        load_of(rate=lambda s, q, qd, c, fn, state: {"y": 0.0}),
        r"(?s)rate of load 'Bad'.* returned values of 'y', expected one value per state: 'z'.*"
        r"return \{'z': ...\}",
    ),
    "two rates": (load_of(rate=lambda s, q, qd, c, fn, state: qd), "returned 2 values, expected"),
    "a number": (load_of(rate=lambda s, q, qd, c, fn, state: qd[0]), "returned one value, exp"),
    "nothing": (load_of(rate=lambda s, q, qd, c, fn, state: None), "returned None, expected"),
    "steady names": (
        load_of(steady=lambda s, q, qd, c, fn: {"x": 0.0}),
        "steady of load 'Bad'.* returned values of 'x'",
    ),
    "no such state": (
        load_of(torque=lambda s, q, qd, c, fn, state: [state["y"], 0.0]),
        r"load 'Bad' has no state 'y'\n.*it has: 'z'",
    ),
    "no such constant": (
        load_of(rate=lambda s, q, qd, c, fn, state: [c["k"]]),
        "the rate of load 'Bad' has no constant 'k'",
    ),
    "branches": (
        load_of(torque=lambda s, q, qd, c, fn, state: [1.0 if state["z"] > 0 else 0.0, 0.0]),
        "branches on a value",
    ),
    "NaN": (
        load_of(rate=lambda s, q, qd, c, fn, state: [float("nan")]),
        "the rate of load 'Bad' gives nan",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_laws_are_refused_by_name(case):
    law, words = REFUSED[case]
    with pytest.raises(DynamisError, match=words):
        dy.load("planar-2link").with_load(law)


def test_bad_friction_laws_are_refused_by_name():
    with pytest.raises(DynamisError, match=r"torque\(self, qd, direction, constants, fn, state\)"):
        dy.Friction(law=load_of(torque=lambda s, qd, d, c, fn: 0.0))
    with pytest.raises(DynamisError, match=r"rate of friction law 'Bad'.* returned values of 'y'"):
        dy.Friction(
            law=load_of(
                torque=lambda s, qd, d, c, fn, state: state["z"],
                rate=lambda s, qd, d, c, fn, state: {"y": qd},
            )
        )


def test_a_law_whose_states_have_no_names_is_as_before():
    law = own_load(gain=2.0, torque=lambda s, q, qd, c, fn: [c["gain"] * q[0], 0.0])
    type(law).states = ()
    robot = dy.load("planar-2link").with_load(law)
    assert robot.model.loads[0].states is None
    assert robot.load_torque([0.5, 0.0], [0, 0])[0] == 1.0
