"""Simulations in one kernel: the bits of the processor for every feature."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis import control
from dynamis.errors import OptionError
from tests.dynamics.test_own_laws import rubbing
from tests.elastic_arms import elastic
from tests.simulation.own_states import Dahl, Maxwell

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.usefixtures("compiled")
ARMS = 37
PUMA, UR = dy.load("puma560"), dy.load("ur10e")
RNG = np.random.default_rng(8)
START = RNG.uniform(-0.5, 0.5, (ARMS, 6))
MOVE = dy.trajectory.quintic(np.zeros(6), np.full(6, 0.5), 0.8)
LAW = {"kp": 100.0, "kd": 20.0}
NOISY = dy.Sensors(encoder=1e-4, position_noise=1e-4, seed=3)
SOFT, RINGING = elastic(UR), elastic(PUMA)
PLAYING = PUMA.with_drive(1, stiffness=1e8, damping=100.0, backlash=1e-3)
PLAYING = PLAYING.with_drive(2, stiffness=1e3, damping=0.5, backlash=2e-3)
PRESLIDING = {"viscous": 0.5, "coulomb": 0.4, "memory": dy.Memory((1e-4, 5e-3), (0.8, 1.2))}
HYSTERETIC = PUMA.with_friction(**PRESLIDING)
OWN_STATES = rubbing(UR, Dahl(stiffness=50.0, dry=20.0, grease=0.5)).with_load(Maxwell(joint=1))
SWAY = {"torque": lambda t: [9.0 * np.sin(3 * t)] * 6}

CASES = {
    "free": (UR, {}),
    "static friction": (PUMA, {}),
    "without drives": (PUMA, {"drives": False}),
    "stops": (UR, {"stops": True, "restitution": 0.3}),
    "torque": (PUMA, {"torque": lambda t: [np.sin(3 * t)] * 6}),
    "external and wrench": (UR, {"external": np.full(6, 0.5), "wrench": np.arange(6.0)}),
    "link forces": (UR, {"link_forces": np.ones((6, 6))}),
    "torque of every arm": (PUMA, {"torque": RNG.uniform(-9.0, 9.0, (ARMS, 1, 6))}),
    "computed torque": (PUMA, {"controller": control.ComputedTorque(**LAW), "reference": MOVE}),
    "joint PID, sampled": (
        PUMA,
        {"controller": control.JointPID(kp=100.0, ki=0.0, kd=20.0), "reference": MOVE,
         "sample_time": 4e-3},
    ),
    "joint PID, delayed": (
        PUMA,
        {"controller": control.JointPID(kp=100.0, ki=10.0, kd=20.0), "reference": MOVE,
         "sample_time": 4e-3, "delay": 2e-3},
    ),
    "noise": (
        PUMA,
        {"controller": control.ComputedTorque(**LAW), "reference": MOVE, "sensors": NOISY},
    ),
    "euler": (UR, {"integrator": "euler"}),
    "heun": (PUMA, {"integrator": "heun"}),
    "semi-implicit": (PUMA, {"integrator": "semi-implicit-euler"}),
    "elastic": (SOFT, {}),
    "elastic, explicit": (elastic(UR, 50.0, 0.1), {"dt": 2e-4, "integrator": "heun"}),
    "elastic, static friction": (RINGING, SWAY),
    "elastic, computed torque": (
        RINGING, {"controller": control.ComputedTorque(kp=20.0, kd=5.0), "reference": MOVE},
    ),
    "backlash": (PLAYING, {}),
    "friction with memory": (HYSTERETIC, SWAY),
    "friction with memory, computed torque": (
        HYSTERETIC,
        {"controller": control.ComputedTorque(model=HYSTERETIC, **LAW), "reference": MOVE},
    ),
    "friction with memory, elastic": (SOFT.with_friction(**PRESLIDING), SWAY),
    "own laws with states": (OWN_STATES, {}),
}  # fmt: skip


def same(a, b) -> None:
    motors = ("motor", "motor_rate", "motor_friction", "motor_stuck")
    for name in ("q", "qd", "tau", "friction", "stuck", *motors):
        x, y = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        assert np.array_equal(x, y, equal_nan=True), (name, np.abs(x - y).max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_bits(name, dtype):
    robot, options = CASES[name]
    given = dict(q0=START, dtype=dtype, save_every=50, check_step=False, **options)
    duration = 0.2 if "noise" in name else 1.0
    same(
        dy.simulate(robot, duration, device="cuda", **given), dy.simulate(robot, duration, **given)
    )


def test_parameters_of_every_arm():
    values = np.asarray(PUMA.parameters.values) * RNG.uniform(0.8, 1.2, (ARMS, 1))
    given = {"q0": START, "parameters": values, "save_every": 20}
    same(dy.simulate(PUMA, 0.3, device="cuda", **given), dy.simulate(PUMA, 0.3, **given))


@pytest.mark.filterwarnings("ignore:contacts of")
def test_contacts_with_a_world():
    tool = dy.Geometry(kind="sphere", link="link6", radius=0.03)
    arm = dy.Robot(replace(PUMA.model, geometry=(tool,)))
    floor = dy.Plane(offset=float(PUMA.fk(START)[:, 2, 3].min()) - 0.04, restitution=0.2)
    given = {"q0": START, "world": [floor], "save_every": 10, "check_step": False}
    a, b = (dy.simulate(arm, 0.5, **given, **on) for on in ({"device": "cuda"}, {}))
    same(a, b)
    assert np.array_equal(a.contact_force, b.contact_force) and b.contact_force.any()


def test_threads_simulate_beside_each_other():
    """Each on a stream and with memory of its own, which the next run takes over."""
    starts = [RNG.uniform(-0.5, 0.5, (arms, 6)) for arms in (1, 5, 300, 40, 2000, 7) * 4]

    def run(device):
        return lambda q0: dy.simulate(UR, 0.05, q0=q0, device=device, save_every=7)

    with ThreadPoolExecutor(6) as executor:
        found = list(executor.map(run("cuda"), starts))
    for q0, own in zip(starts, found, strict=True):
        same(own, run(None)(q0))


def test_one_arm_uneven_durations_and_rows():
    given = {"q0": START[0], "controller": control.ComputedTorque(**LAW), "reference": MOVE}
    a, b = (dy.simulate(PUMA, 0.1235, device=d, save_every=7, **given) for d in ("cuda", None))
    same(a, b)
    np.testing.assert_array_equal(a.measured.q, b.measured.q)


def test_run_lives_where_the_start_lived():
    expected = dy.simulate(UR, 0.1, q0=START, save_every=10)
    a = dy.simulate(UR, 0.1, q0=cupy.asarray(START), device="cuda", save_every=10)
    assert isinstance(a.q, cupy.ndarray) and isinstance(a.stuck, cupy.ndarray)
    same(a.numpy(), expected)
    np.testing.assert_allclose(a.energy.total.get(), expected.energy.total, rtol=1e-12)
    b = dy.simulate(UR, 0.1, q0=torch.as_tensor(START, device="cuda"), device="cuda", save_every=10)
    assert b.q.is_cuda
    same(b.numpy(), expected)
    assert np.asarray(b.diverged).shape == (ARMS,)


def test_simulator_steps_and_runs():
    a, b = (dy.Simulator(PUMA, device=d) for d in ("cuda", None))
    for sim in (a, b):
        sim.reset(START)
        sim.step(np.ones(6), steps=5)
        sim.step(np.zeros(6), steps=7)
    np.testing.assert_array_equal(a.q, b.q)
    same(a.run(0.05, save_every=4), b.run(0.05, save_every=4))


def test_diverging_arms():
    with np.errstate(all="ignore"):
        given = {"q0": START, "qd0": 1e5 * START, "dt": 0.5, "integrator": "euler"}
        a, b = (dy.simulate(UR, 10.0, device=d, **given) for d in ("cuda", None))
        c = dy.simulate(UR, 10.0, device="cuda", **{**given, "q0": cupy.asarray(START)})
    np.testing.assert_array_equal(a.diverged, b.diverged)
    assert np.any(a.diverged)
    same(a, b)
    same(c.numpy(), b)


def test_what_cannot_run_there():
    with pytest.raises(OptionError, match="function as controller"):
        dy.simulate(UR, 0.1, controller=lambda t, q, qd: np.zeros(6), device="cuda")
    with pytest.raises(OptionError, match="dormand-prince"):
        dy.simulate(UR, 0.1, integrator="dormand-prince", device="cuda")
    with pytest.raises(OptionError, match="events"):
        dy.simulate(UR, 0.1, events=[lambda t, q, qd: q[0]], device="cuda")


def test_fused_is_close():
    a, b = (dy.simulate(UR, 0.5, q0=START, device="cuda", fused=f) for f in (True, False))
    assert not np.array_equal(a.q, b.q)
    np.testing.assert_allclose(a.q, b.q, atol=1e-9)
