"""`dy.simulate` called again: what changed since is seen, whatever simulators were kept."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import ComputedTorque, Controller, JointPID, MomentumObserver
from dynamis.errors import OptionError
from dynamis.simulation.simulator import RECENT, _recent
from dynamis.trajectory import Trajectory
from tests.simulation.arms import bar, pair

Q0, WANTED = np.array([0.3, 0.2]), np.array([0.1, -0.1])
PAIRS = np.array([Q0, Q0 + 0.1])


@pytest.fixture(scope="module")
def arm():
    return pair(bar(), bar())


def first_torque(arm, controller=None, reference=WANTED, q0=Q0, **options):
    run = dy.simulate(arm, 2e-3, q0=q0, controller=controller, reference=reference, **options)
    return run.tau[..., 0, :]


def proportional(kp):
    return JointPID(kp, 0.0, 0.0)


def test_options_that_come_again_find_their_simulator(arm):
    _recent.clear()
    runs = [dy.simulate(arm, 2e-3, q0=Q0, controller=proportional(5.0)) for _ in range(3)]
    assert len(_recent) == 1
    np.testing.assert_array_equal(runs[0].q, runs[2].q)
    assert not np.shares_memory(runs[0].q, runs[2].q)
    dy.simulate(arm, 3e-3, q0=-Q0, controller=proportional(5.0), reference=WANTED, save_every=2)
    assert len(_recent) == 1  # no code depends on these
    dy.simulate(arm, 2e-3, controller=proportional(6.0))
    assert len(_recent) == 2


@pytest.mark.parametrize("kind", [np.array, list])
def test_gains_changed_in_place(arm, kind):
    gains = kind([5.0, 5.0])
    law = proportional(gains)
    np.testing.assert_allclose(first_torque(arm, law), -5.0 * (Q0 - WANTED))
    gains[0], gains[1] = 7.0, 8.0
    np.testing.assert_allclose(first_torque(arm, law), np.array([-7.0, -8.0]) * (Q0 - WANTED))
    again = first_torque(arm, proportional(kind([5.0, 5.0])))
    np.testing.assert_allclose(again, -5.0 * (Q0 - WANTED))


def test_a_field_set_by_force(arm):
    """Also of the law whose simulator was kept: an ensemble would still be traced from it."""
    weak = arm.with_payload(1.0)
    law = ComputedTorque(5.0, 1.0, model=arm)
    plain = first_torque(arm, law)
    object.__setattr__(law, "model", weak)
    assert np.abs(first_torque(arm, law) - plain).min() > 1e-3
    original = first_torque(arm, ComputedTorque(5.0, 1.0, model=arm), q0=PAIRS)
    np.testing.assert_array_equal(original[0], plain)
    object.__setattr__(law, "step", lambda arm, sample: ([3.0, 4.0], {"integral": [0.0, 0.0]}))
    np.testing.assert_array_equal(first_torque(arm, law), [3.0, 4.0])


def test_a_function_of_a_class_of_the_package_replaced_or_rewritten(arm, monkeypatch):
    law = proportional(5.0)
    plain = first_torque(arm, law)

    def other(self, arm, sample):
        return [3.0, 4.0], {"integral": [0.0, 0.0]}

    with monkeypatch.context() as patch:
        patch.setattr(JointPID, "step", other)
        np.testing.assert_array_equal(first_torque(arm, law), [3.0, 4.0])
    np.testing.assert_array_equal(first_torque(arm, law), plain)
    with monkeypatch.context() as patch:
        patch.setattr(JointPID.step, "__code__", other.__code__)
        np.testing.assert_array_equal(first_torque(arm, law), [3.0, 4.0])
    np.testing.assert_array_equal(first_torque(arm, law), plain)


@dataclass
class Mutable(Controller):
    """A law of the user's own whose gain changes."""

    kp: float
    model: Any = None
    sample_time: float | None = None

    def step(self, arm, sample):
        return [-self.kp * e for e in sample.e], {}


def test_a_mutable_law_of_ones_own(arm):
    law = Mutable(2.0)
    for kp in (2.0, 3.0, 2.0):
        law.kp = kp
        np.testing.assert_allclose(first_torque(arm, law), -kp * (Q0 - WANTED))


def test_forces_changed_in_place(arm):
    torque = np.array([1.0, 2.0])
    for options in ({"torque": torque}, {"torque": [torque, torque]}):
        torque[:] = 1.0, 2.0
        np.testing.assert_array_equal(first_torque(arm, reference=None, **options), [1.0, 2.0])
        torque[:] = 3.0, 4.0
        np.testing.assert_array_equal(first_torque(arm, reference=None, **options), [3.0, 4.0])
        same = np.array([1.0, 2.0])
        for given in (same, [same, same]):
            found = first_torque(arm, reference=None, torque=given)
            np.testing.assert_array_equal(found, [1.0, 2.0])


def test_sensors_and_observers_changed_in_place(arm):
    def run(noise, gain):
        sensors, observer = dy.Sensors(position_noise=noise), MomentumObserver(gain)
        return dy.simulate(arm, 3e-3, q0=Q0, controller=proportional(5.0), sensors=sensors,
                           observer=observer)  # fmt: skip

    noise, gain = np.array([1e-3, 1e-3]), np.array([50.0, 50.0])
    first = run(noise, gain)
    noise[:], gain[:] = 0.0, 20.0
    quiet = run(noise, gain)
    np.testing.assert_allclose(quiet.measured.q, quiet.q, rtol=0.0, atol=1e-15)
    again = run(np.array([1e-3, 1e-3]), np.array([50.0, 50.0]))
    np.testing.assert_array_equal(again.measured.q, first.measured.q)
    np.testing.assert_array_equal(again.observed, first.observed)
    assert not np.array_equal(again.observed, quiet.observed)


def test_another_robot(arm):
    heavy = arm.with_payload(2.0)
    law = ComputedTorque(5.0, 1.0)
    for robot in (arm, heavy, arm, heavy.with_gravity((0.0, 0.0, 0.0))):
        found = first_torque(robot, law)
        wanted = robot.inverse_dynamics(Q0, [0.0, 0.0], -5.0 * (Q0 - WANTED))
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


class Place(Trajectory):
    """A place that moves when its owner says so."""

    n, duration = 2, 1.0

    def __init__(self, q):
        self.q = q

    def at(self, t, fn=None):
        still = [0.0 * t, 0.0 * t]
        return [x + 0.0 * t for x in self.q], still, still


def test_another_reference_or_one_that_changed(arm):
    law, place, own = proportional(5.0), WANTED.copy(), Place([0.0, 0.0])
    moves = [dy.trajectory.quintic(a, a + 0.1, 1.0) for a in (WANTED, -WANTED)]
    for k, move in enumerate(moves):
        wanted = [WANTED, -WANTED][k]
        np.testing.assert_allclose(first_torque(arm, law, move), -5.0 * (Q0 - wanted))
        place[:] = wanted
        own.q = wanted.tolist()
        for reference in (place, own, lambda t, q=wanted: (q, [0.0, 0.0], [0.0, 0.0])):
            np.testing.assert_allclose(first_torque(arm, law, reference), -5.0 * (Q0 - wanted))
    np.testing.assert_allclose(first_torque(arm, law, None), [0.0, 0.0], atol=1e-15)  # at q0


def test_options_that_are_equal_and_not_the_same(arm):
    dy.simulate(arm, 2e-3, q0=Q0, stops=True, restitution=1)
    with pytest.raises(OptionError, match="stops is 1, expected True or False"):
        dy.simulate(arm, 2e-3, q0=Q0, stops=1, restitution=1)
    with pytest.raises(OptionError, match="restitution is True"):
        dy.simulate(arm, 2e-3, q0=Q0, stops=True, restitution=True)
    with pytest.raises(OptionError, match="robot is None"):
        dy.simulate(None)


def test_few_simulators_are_kept(arm):
    other = pair(bar(), bar())
    dy.simulate(other, 2e-3, q0=Q0)
    left = weakref.ref(other)
    del other
    for k in range(RECENT + 2):
        dy.simulate(arm, 2e-3, q0=Q0, controller=proportional(1.0 + k))
    gc.collect()
    assert len(_recent) == RECENT and left() is None


def test_threads_that_simulate_at_once_do_not_meet(arm):
    starts = np.random.default_rng(0).uniform(-1.0, 1.0, (24, 2))

    def end(q):
        return dy.simulate(arm, 5e-3, q0=q, controller=proportional(5.0), reference=WANTED).q[-1]

    alone = [end(q) for q in starts]
    with ThreadPoolExecutor(4) as pool:
        np.testing.assert_array_equal(list(pool.map(end, starts)), alone)
