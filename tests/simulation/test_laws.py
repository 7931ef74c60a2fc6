"""A law in a simulation is the program that is exported, bit for bit, safe state included."""

import dataclasses
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile.arrays import run as evaluated
from dynamis.compile.service import Ports, compiled
from dynamis.control.law import BAD, LATCHED, RUNNING
from dynamis.errors import OptionError, ShapeError
from dynamis.realtime import Law
from tests.control.blocks import LAWS

pytestmark = pytest.mark.usefixtures("compiled")
Q0, GOAL, DT = [0.3, 0.2], [0.45, 0.1], 4e-3
MOTION = dy.trajectory.quintic(Q0, GOAL, 0.1)
SMOOTH = dy.trajectory.sine(Q0, [0.1, 0.1], [1.0, 2.0])  # with jerk and snap


@pytest.fixture(scope="module")
def arm():
    return dy.load("planar-2link")


def program(traced):
    """A program as machine code, by itself."""
    ports = Ports(
        tuple(p.name for p in traced.inputs),
        tuple(p.shape for p in traced.inputs),
        tuple(p.name for p in traced.outputs),
        tuple(p.shape for p in traced.outputs),
    )
    code = compiled(None, lambda: traced, ports, "float64", 1, what=traced.name)
    return lambda *rows: evaluated(code, [np.array(r) for r in rows], ports.inputs)


def replayed(law, seen, wanted):
    """Torques and status of the exported `init` and `step` over what was measured."""
    state = program(law.start_program())(seen.q[0], seen.qd[0])
    step, found = program(law.program()), SimpleNamespace(tau=[], status=[])
    for k in range(len(seen.t)):
        tau, state, status = step(state, seen.q[k], seen.qd[k], wanted[k])
        found.tau.append(tau)
        found.status.append(float(status[0]))
    return found


OPTIONS = {
    "plain": {},
    "inside": {"reference": MOTION},
    "difference": {"velocity": "difference", "velocity_filter": 40.0, "limit": [60.0, 25.0]},
    "safe": {"safe": "gravity", "safe_damping": 2.0, "ramp": 0.02, "jump": 0.004, "latch": 3},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", ["joint-pid", "computed-torque", "slotine-li"])
def test_the_simulated_law_is_the_exported_program(arm, name, options):
    law = Law(LAWS[name], arm, DT, **options)
    given = {} if "reference" in options else {"reference": MOTION}
    qd0 = [1.5, -1.0] if "jump" in options else [0.0, 0.0]  # too fast for its `jump`
    run = dy.simulate(arm, 0.12, q0=Q0, qd0=qd0, controller=law, **given)
    seen, state = run.measured, run.states["computer.status"][:: round(DT / run.dt)]
    wanted = seen.t[:, None] if given == {} else np.stack(MOTION(seen.t), axis=1)
    found = replayed(law, seen, wanted)
    np.testing.assert_array_equal(seen.tau, found.tau)
    np.testing.assert_array_equal(state[:, 0], found.status)
    if "jump" in options:
        assert found.status[0] == RUNNING and BAD in found.status and found.status[-1] == LATCHED


def test_a_latched_law_keeps_the_safe_torque(arm):
    law = Law(LAWS["computed-torque"], arm, DT, jump=1e-3, latch=1)
    run = dy.simulate(arm, 0.1, q0=Q0, qd0=[2.0, 0.0], controller=law, reference=GOAL)
    assert run.states["computer.status"][-1, 0] == LATCHED
    assert not run.tau[round(DT / run.dt) :].any()


def test_an_ensemble_runs_the_law_of_each_arm(arm):
    law = Law(LAWS["joint-pid"], arm, DT, velocity="difference", jump=2e-3, latch=1)
    starts = {"q0": np.tile(Q0, (3, 1)), "qd0": np.array([[0.0, 0.0], [2.0, 0.0], [0.1, 0.1]])}
    given = {"controller": law, "reference": GOAL, "duration": 0.05}
    together = dy.simulate(arm, **starts, **given)
    for k in range(3):
        alone = dy.simulate(arm, **{name: x[k] for name, x in starts.items()}, **given)
        np.testing.assert_array_equal(together.q[k], alone.q)


def test_what_does_not_fit_is_refused(arm):
    inside = Law(LAWS["joint-pid"], arm, DT, reference=MOTION)
    with pytest.raises(OptionError, match="trajectory inside"):
        dy.simulate(arm, 0.1, controller=inside, reference=GOAL)
    with pytest.raises(OptionError, match=r"sample_time is 0\.004 s, expected a whole number"):
        dy.simulate(arm, 0.1, 3e-3, controller=inside)
    with pytest.raises(ShapeError, match="the law drives 2 joints"):
        dy.simulate(dy.load("puma560"), 0.1, controller=Law(LAWS["joint-pid"], arm, DT))


@pytest.mark.parametrize("name", LAWS)
def test_a_plain_controller_is_the_exported_program(arm, name):
    law = LAWS[name]
    step, motion = law.sample_time or DT, SMOOTH if law.derivatives == 4 else MOTION
    run = dy.simulate(arm, 0.06, q0=Q0, controller=law, reference=motion, sample_time=step)
    seen = run.measured
    wanted = motion.derivatives(seen.t) if law.derivatives == 4 else motion(seen.t)
    found = replayed(Law(law, arm, step), seen, np.stack(wanted, axis=1))
    np.testing.assert_array_equal(seen.tau, found.tau)
    assert not run.states["computer.status"].any() and not run.message


@dataclass(frozen=True)
class Timed(dy.control.Controller):
    """A spring that grows with time, and breaks at an instant."""

    broken: float = 1e9
    model: dy.Robot | None = None
    sample_time: float | None = None

    def step(self, arm, sample):
        force = arm.select(sample.t > self.broken, float("inf"), -10.0 * sample.t)
        return [force * e for e in sample.e], {}


@pytest.mark.parametrize("members", [(), (3,)])
def test_a_controller_that_breaks_goes_to_its_safe_state(arm, members):
    q0 = np.broadcast_to([0.3, 0.2], (*members, 2))
    run = dy.simulate(arm, 0.1, q0=q0, controller=Timed(0.05), reference=GOAL, sample_time=DT)
    after = run.t > 0.0515
    assert np.isfinite(run.q).all() and not run.tau[..., after, :].any()
    assert run.tau[..., ~after & (run.t > 2 * DT), :].all()
    if not members:
        assert run.message == "the controller is in its safe state from t = 0.056 s on"
        assert run.message in repr(run) and not run.diverged


def test_a_law_that_needs_the_time_is_told_it_or_refused(arm, tmp_path):
    inside = Law(Timed(), arm, DT, reference=MOTION)
    run = dy.simulate(arm, 0.1, q0=[0.4, 0.2], controller=inside)
    seen = run.measured
    want = -10.0 * seen.t[:, None] * (seen.q - MOTION(seen.t).q)
    np.testing.assert_allclose(seen.tau, want, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(seen.tau, replayed(inside, seen, seen.t[:, None]).tau)
    with pytest.raises(OptionError, match=r"sample\.t, but the law is not told the time"):
        dy.export_controller(arm, Timed(), tmp_path / "c", DT)
    assert not (tmp_path / "c").exists()


def test_a_law_has_one_sample_time(arm):
    law = Law(LAWS["joint-pid"], arm, DT)
    with pytest.raises(OptionError, match=r"sample_time is 0\.002, but the law runs every 0\.004"):
        dy.simulate(arm, 0.1, controller=law, sample_time=0.002)
    own = dataclasses.replace(LAWS["joint-pid"], sample_time=0.002)
    slow = dy.simulate(arm, 0.1, q0=Q0, controller=own, reference=GOAL, sample_time=DT)
    np.testing.assert_array_equal(
        slow.q, dy.simulate(arm, 0.1, q0=Q0, controller=law, reference=GOAL).q
    )


def test_a_loop_of_ones_own_goes_to_its_safe_state(arm):
    loop = dy.control.ControlLoop(LAWS["joint-pid"], arm, DT)
    good, bad = (Q0, [0.0, 0.0], GOAL), ([np.nan, 0.2], [0.0, 0.0], GOAL)
    assert loop.status == RUNNING and loop.step(0.0, *good).any() and loop.status == RUNNING
    assert not loop.step(DT, *bad).any() and loop.status == BAD
    assert loop.step(2 * DT, *good).any() and loop.status == RUNNING
    for k in (3, 4):
        assert not loop.step(k * DT, *bad).any()
    assert not loop.step(5 * DT, *good).any() and loop.status == LATCHED
    loop.reset()
    assert loop.step(6 * DT, *good).any() and loop.status == RUNNING
