"""Every law gives the same torque and state on floats, batches, SX and in machine code."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import dynamis as dy
from dynamis.compile.arrays import NUMPY
from dynamis.compile.tracer import SX
from dynamis.control import ControlLoop, MomentumObserver, Sample
from dynamis.control.controller import reference_of

from .blocks import ARMS, LAWS, arm_of, gains_of, rows_of, sample, stepped

DT = 0.002
ROUNDING = 1e-9  # relative; two orders of summation of the same terms

pairs = pytest.mark.parametrize("arm", ["puma560", "panda", "random-rpr"])
laws = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def close(got, expected):
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    np.testing.assert_allclose(got, expected, rtol=0, atol=ROUNDING * (1 + np.abs(expected).max()))


def flat(result):
    tau, state = result
    return np.concatenate([np.asarray(tau, float), *(np.asarray(v, float) for v in state.values())])


@laws
@pairs
def test_a_batch_is_its_samples(law, arm):
    robot = ARMS[arm]()
    samples = [sample(robot, seed) for seed in range(3)]
    batch = [np.array(column).T for column in zip(*samples, strict=True)]
    tau, state = stepped(law, robot, batch, DT, fn=NUMPY)
    for k, one in enumerate(samples):
        single = stepped(law, robot, one, DT)
        row = [np.broadcast_to(x, (3,))[k] for part in (tau, *state.values()) for x in part]
        close(row, flat(single))


@laws
@pairs
def test_a_trace_of_symbols_is_the_law(law, arm):
    robot = ARMS[arm]()
    columns = [ca.SX.sym(name, robot.n) for name in ("q", "qd", "q_d", "qd_d", "qdd_d")]
    gains = law.gains(robot)
    gain_columns = {k: ca.SX.sym(k, len(v)) for k, v in gains.items()}
    symbolic = SimpleNamespace(**{k: ca.vertsplit(v) for k, v in gain_columns.items()})
    split = [ca.vertsplit(c) for c in columns]
    tau, state = stepped(law, robot, split, DT, fn=SX, gains=symbolic)
    assert [ca.SX(t).shape for t in tau] == [(1, 1)] * robot.n
    outputs = ca.vertcat(*tau, *(x for v in state.values() for x in v))
    function = ca.Function("law", [*columns, *gain_columns.values()], [outputs])
    for seed in range(3):
        at = sample(robot, seed)
        close(function(*at, *gains.values()).full().ravel(), flat(stepped(law, robot, at, DT)))


@laws
def test_machine_code_is_the_law(law, compiled):
    robot = dy.load("puma560")
    gains = gains_of(law, robot)

    def control(arm, q, qd, q_d, qd_d, qdd_d):
        state = SimpleNamespace(**law.start(arm, Sample(0.0, q, qd, gains)))
        reference = reference_of(rows_of(law, q_d, qd_d, qdd_d))
        return law.step(arm, Sample(0.0, q, qd, gains, state, reference, DT))[0]

    at = sample(robot, 3)
    close(dy.compile(robot, control)(*at), stepped(law, robot, at, DT)[0])


@laws
def test_the_loop_carries_the_state(law):
    robot = dy.load("planar-2link")
    loop = ControlLoop(law, robot, sample_time=DT)
    q, qd, q_d, qd_d, qdd_d = at = sample(robot)
    state = None
    for k in range(3):
        tau, state = stepped(law, robot, at, DT, state=state)
        close(loop.step(k * DT, q, qd, *rows_of(law, q_d, qd_d, qdd_d)), tau)


def test_the_observer_on_symbols_and_batches():
    robot, observer = dy.load("puma560"), MomentumObserver(50.0)
    gains = gains_of(observer, robot)

    def twice(fn, q, qd, q2, qd2, tau):
        arm = arm_of(observer, robot, fn)
        state = observer.start(arm, Sample(0.0, q, qd, gains))
        for x, v in ((q, qd), (q2, qd2)):
            before = SimpleNamespace(**state)
            seen = Sample(0.0, x, v, gains, before, dt=DT, tau=tau)
            r, state = observer.step(arm, seen)
        return r

    samples = [sample(robot, seed) for seed in range(2)]
    floats = [twice(arm_of(observer, robot).fn, *(v.tolist() for v in at)) for at in samples]
    batch = twice(NUMPY, *(list(np.array(c).T) for c in zip(*samples, strict=True)))
    close(np.array(batch).T, floats)
    columns = [ca.SX.sym(f"x{i}", robot.n) for i in range(5)]
    traced = ca.vertcat(*twice(SX, *(ca.vertsplit(c) for c in columns)))
    close(ca.Function("r", columns, [traced])(*samples[0]).full().ravel(), floats[0])


def test_gains_are_not_in_the_key():
    for law in LAWS.values():
        assert type(law).__qualname__ in law.key
        assert "25.0" not in law.key and "300.0" not in law.key
    assert LAWS["impedance"].key != LAWS["impedance-ratio"].key
    assert LAWS["joint-pid"].key != LAWS["joint-pid-error"].key
