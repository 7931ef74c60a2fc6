"""Zeros of functions along a run."""

import numpy as np
import pytest

import dynamis as dy
from tests.simulation.arms import GRAVITY, slider


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Quick."""


@pytest.fixture(scope="module")
def thrown():
    """Thrown up with 3 m/s: height 3 t - g t^2 / 2."""
    return slider(gravity=GRAVITY)


def height(level, direction=0, terminal=False, name="height"):
    def g(t, q, qd):
        return q[0] - level

    g.direction, g.terminal, g.name = direction, terminal, name
    return g


def crossing(level, v=3.0):
    root = np.sqrt(v**2 - 2 * GRAVITY * level)
    return (v - root) / GRAVITY, (v + root) / GRAVITY


WAYS = [
    {},
    {"integrator": "dormand-prince"},
    {"controller": lambda t, q, qd: [0.0]},
    {"controller": lambda t, q, qd: [0.0], "sample_time": 0.01},
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_located_on_the_right_side(thrown, direction, way):
    run = dy.simulate(thrown, 0.61, 1e-2, qd0=[3.0], events=height(0.3, direction), **way)
    up, down = crossing(0.3)
    wanted = {-1: [down], 0: [up, down], 1: [up]}[direction]
    np.testing.assert_allclose([e.t for e in run.events], wanted, atol=1e-9)
    for e in run.events:
        assert e.name == "height" and e.q[0] == pytest.approx(0.3, abs=1e-9)
        assert e.qd[0] == pytest.approx(3 - GRAVITY * e.t, abs=1e-9)
    assert run.t[-1] == 0.61 and run.message == ""


@pytest.mark.parametrize("way", WAYS)
def test_a_terminal_event_ends_the_run(thrown, way):
    run = dy.simulate(
        thrown, 0.6, 1e-2, qd0=[3.0], **way,
        events=[height(0.2, name="pass"), height(0.3, -1, terminal=True, name="land")],
    )  # fmt: skip
    down = crossing(0.3)[1]
    assert run.t[-1] == pytest.approx(down, abs=1e-9)
    assert run.q[-1, 0] == pytest.approx(0.3, abs=1e-9)
    assert [e.name for e in run.events] == ["pass", "land"]
    assert "'land'" in run.message and not run.diverged
    assert len(run.t) == len(run.q) == len(run.tau) and (np.diff(run.t) > 0).all()


@pytest.mark.parametrize("way", WAYS)
def test_events_are_seen_whatever_is_kept(thrown, way):
    """Up and down again between two rows that are kept."""
    events = [lambda t, q, qd: q[0] - 0.45, height(0.3, 1, name="rising")]
    every, few = (
        dy.simulate(thrown, 0.63, 1e-2, qd0=[3.0], events=events, save_every=k, **way)
        for k in (1, 50)
    )
    assert [(e.t, e.name) for e in few.events] == [(e.t, e.name) for e in every.events]
    assert [e.name for e in few.events] == ["rising", "event 1", "event 1"]
    np.testing.assert_array_equal(few.t, every.t[[0, 50, 63]])
    np.testing.assert_array_equal(few.q, every.q[[0, 50, 63]])


@pytest.mark.parametrize("way", WAYS)
def test_a_terminal_event_ends_a_run_whatever_is_kept(thrown, way):
    land = height(0.42, 1, terminal=True, name="there")
    run = dy.simulate(thrown, 0.6, 1e-2, qd0=[3.0], events=land, save_every=50, **way)
    np.testing.assert_allclose(run.t, [0.0, crossing(0.42)[0]], atol=1e-9)
    assert run.q[-1, 0] == pytest.approx(0.42, abs=1e-9) and len(run.q) == len(run.stuck)


def test_an_event_is_no_sample(thrown):
    """The last row of a run ended by an event is not among what was measured."""
    land = height(0.42, 1, terminal=True)
    how = {"controller": dy.control.JointPID(0.0), "sample_time": 2e-2, "events": land}
    run = dy.simulate(thrown, 0.6, 1e-2, q0=[0.0], qd0=[3.0], reference=[0.0], **how)
    assert run.t[-1] not in run.measured.t
    np.testing.assert_allclose(run.measured.t, 2e-2 * np.arange(len(run.measured.t)))


def test_looking_for_events_changes_nothing(thrown):
    how = {
        "controller": dy.control.JointPID(5.0), "sample_time": 2e-2, "save_every": 3,
        "sensors": dy.Sensors(encoder=1e-3, torque_noise=0.1),
    }  # fmt: skip
    plain = dy.simulate(thrown, 0.5, 1e-2, qd0=[3.0], **how)
    seen = dy.simulate(thrown, 0.5, 1e-2, qd0=[3.0], events=height(0.1), **how)
    assert seen.events and not plain.events
    for name in ("t", "q", "qd", "tau", "stuck"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(plain, name))
    for a, b in zip(seen.measured, plain.measured, strict=True):
        np.testing.assert_array_equal(a, b)


def test_order_of_events_is_that_of_time(thrown):
    levels = [0.4, 0.1, 0.2, 0.30]
    run = dy.simulate(thrown, 0.3, 1e-1, qd0=[3.0], events=[height(x, 1) for x in levels])
    np.testing.assert_allclose([e.q[0] for e in run.events], sorted(levels), atol=1e-9)


def test_a_sine_is_located_by_its_cubic():
    """Not exact, but of order four: dt^4 / 384."""
    run = dy.simulate(
        slider(mass=1.0), 3.5, 1e-2, qd0=[1.0], torque=lambda t: [-np.sin(t)],
        events=lambda t, q, qd: q[0] - 0.5,
    )  # fmt: skip
    times = [e.t for e in run.events]
    np.testing.assert_allclose(times, [np.pi / 6, np.pi - np.pi / 6], atol=1e-9)
    assert run.events[0].name == "event 1"


def test_a_function_of_time_alone(thrown):
    run = dy.simulate(thrown, 0.5, 1e-2, events=lambda t, q, qd: t - 0.1234)
    assert run.events[0].t == pytest.approx(0.1234, abs=1e-12)


def test_zero_at_the_start_or_at_a_step_is_seen_at_most_once(thrown):
    run = dy.simulate(thrown, 0.4, 1e-1, events=[lambda t, q, qd: t, lambda t, q, qd: t - 0.2])
    assert [e.t for e in run.events] == [pytest.approx(0.2)]


def test_long_runs_find_events_between_the_looks():
    """The loop looks up every few thousand steps; nothing falls between."""
    k = [4095.5e-3, 4096.5e-3, 8191.5e-3, 8192.5e-3]
    run = dy.simulate(
        slider(), 9.0, 1e-3, qd0=[1.0], events=[lambda t, q, qd, k=k: q[0] - k for k in k]
    )
    np.testing.assert_allclose([e.t for e in run.events], k, atol=1e-9)
