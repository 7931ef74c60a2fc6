"""The simulator: compiled once, advanced as asked, the same bits as `dy.simulate`."""

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile import service
from dynamis.compile.arrays import run
from dynamis.compile.program import CalledProgram, Program
from dynamis.control import ComputedTorque, Controller, JointPID, MomentumObserver
from dynamis.errors import OptionError, ShapeError
from dynamis.simulation import tasks
from tests.simulation.arms import bar, pair

pytestmark = pytest.mark.usefixtures("compiled")
Q0, GOAL = np.array([0.3, 0.2]), [0.1, -0.1]
COMPUTER = {
    "controller": JointPID(20.0, 5.0, 3.0, limit=30.0),
    "reference": GOAL,
    "sample_time": 4e-3,
    "sensors": dy.Sensors(encoder=1e-4, velocity_filter=60.0, position_noise=1e-4),
    "observer": MomentumObserver(50.0),
    "delay": 2e-3,
}
OPTIONS = {
    "free": {},
    "forces": {"torque": [1.0, -0.5], "external": lambda t: [np.sin(t), 0.1], "wrench": [1.0] * 6},
    "computer": COMPUTER,
    "stops": {"stops": True},
    "heun": {"integrator": "heun"},
}


@pytest.fixture(scope="module")
def arm():
    return pair(bar(), bar())


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_steps_and_runs_are_those_of_simulate(arm, options):
    whole = dy.simulate(arm, 0.05, q0=Q0, **options)
    sim = dy.Simulator(arm, **options)
    for _ in range(2):  # a reset forgets everything
        sim.reset(Q0)
        for k, steps in ((0, 3), (3, 1), (4, 16)):
            assert sim.t == pytest.approx(1e-3 * k)
            np.testing.assert_array_equal(sim.q, whole.q[k])
            np.testing.assert_array_equal(sim.qd, whole.qd[k])
            sim.step(steps=steps)
            np.testing.assert_array_equal(sim.tau, whole.tau[k + steps - 1])
        rest = sim.run(0.03)
        np.testing.assert_array_equal(rest.q, whole.q[20:])
        np.testing.assert_array_equal(rest.tau[:-1], whole.tau[20:-1])
        np.testing.assert_allclose(rest.t, whole.t[20:], rtol=1e-14)
        assert sim.t == pytest.approx(0.05)


@pytest.mark.parametrize("every", [3, 4, 20])
def test_rows_are_kept_from_where_a_run_begins(arm, every):
    whole = dy.simulate(arm, 0.05, q0=Q0)
    sim = dy.Simulator(arm)
    sim.reset(Q0)
    sim.step(steps=10)
    run = sim.run(0.04, save_every=every)
    kept = sorted({*range(10, 51, every), 50})
    np.testing.assert_array_equal(run.q, whole.q[kept])
    np.testing.assert_allclose(run.t, whole.t[kept], rtol=1e-14)


def test_a_torque_is_held(arm):
    sim = dy.Simulator(arm)
    sim.reset(Q0)
    sim.step([1.0, -0.5])
    sim.step(steps=19)
    run = dy.simulate(arm, 0.02, q0=Q0, torque=[1.0, -0.5])
    np.testing.assert_array_equal(sim.q, run.q[-1])


def test_an_ensemble_and_some_of_its_arms_anew(arm):
    starts = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    sim = dy.Simulator(arm)
    sim.reset(starts)
    sim.step(steps=10)
    alone = [dy.simulate(arm, 0.01, q0=q).q[-1] for q in starts]
    np.testing.assert_array_equal(sim.q, alone)
    sim.reset(starts, where=np.array([False, True, False]))
    np.testing.assert_array_equal(sim.q, [alone[0], starts[1], alone[2]])


PER_ARM = {
    "torque": {"torque": (2,)},
    "forces": {"external": (2,), "wrench": (6,), "torque": (2,)},
    "links": {"link_forces": (2, 6)},
    "fed forward": {"torque": (2,), "controller": COMPUTER["controller"], "reference": GOAL},
    "function": {"torque": (2,), "controller": lambda t, q, qd: -3.0 * qd},
    "free steps": {"external": (2,), "integrator": "dormand-prince"},
}


@pytest.mark.parametrize("way", PER_ARM)
def test_forces_of_every_arm_are_those_of_the_arms_alone(arm, way, monkeypatch):
    rng = np.random.default_rng(5)
    names = [k for k, shape in PER_ARM[way].items() if isinstance(shape, tuple)]
    forces = {k: rng.normal(size=(3, 1, *PER_ARM[way][k])) for k in names}
    options = {"duration": 0.05, "q0": Q0, **PER_ARM[way]}
    together = dy.simulate(arm, **{**options, **forces})
    assert together.q.shape == (3, 51, 2)
    for k in range(3):
        alone = dy.simulate(arm, **{**options, **{name: x[k, 0] for name, x in forces.items()}})
        exact = way != "free steps"  # of which all arms share the lengths
        np.testing.assert_allclose(together.q[k], alone.q, rtol=0, atol=0 if exact else 1e-9)
        np.testing.assert_allclose(together.tau[k], alone.tau, rtol=0, atol=0 if exact else 1e-9)
    monkeypatch.setenv("DYNAMIS_COMPILE", "off")
    slow = dy.simulate(arm, **{**options, **forces, "duration": 0.01})
    np.testing.assert_allclose(slow.q, together.q[:, :11], rtol=0, atol=1e-10)


def test_a_torque_of_every_arm_with_starts_and_parameters_of_their_own(arm):
    rng = np.random.default_rng(6)
    starts, torque = rng.uniform(-1, 1, (4, 2)), rng.normal(size=(4, 1, 2))
    values = np.asarray(arm.parameters.values) * rng.uniform(0.9, 1.1, (4, 1))
    sim = dy.Simulator(arm, parameters=values, torque=torque)
    sim.reset(starts)
    sim.step(steps=20)
    for k in range(4):
        alone = dy.Simulator(arm, parameters=values[k], torque=torque[k, 0])
        alone.reset(starts[k])
        alone.step(steps=20)
        np.testing.assert_array_equal(sim.q[k], alone.q)
    np.testing.assert_array_equal(sim.tau, torque[:, 0])
    assert dy.simulate(arm, 0.01, torque=torque[:0]).q.shape == (0, 11, 2)
    two = dy.simulate(arm, 0.01, q0=starts, torque=torque.reshape(2, 2, 1, 2)[:, :1])
    assert two.q.shape == (2, 4, 11, 2)  # leading axes broadcast
    steps = dy.simulate(arm, 4e-3, q0=starts, torque=torque[None, :, 0])
    alone = dy.simulate(arm, 4e-3, q0=starts[2], torque=torque[:, 0])
    np.testing.assert_array_equal(steps.q[2], alone.q)  # one row per step, the same for all arms


@dataclass(frozen=True)
class Counted(Controller):
    """A law that knows how often it was traced."""

    calls: list
    model: Any = None
    sample_time: float | None = None

    def step(self, arm, sample):
        self.calls.append(1)
        return [-3.0 * e for e in sample.e], {}


def test_a_law_of_ones_own_is_traced_once_a_reset(arm):
    law = Counted([])
    sim = dy.Simulator(arm, controller=law, reference=GOAL)
    for resets in (1, 2, 3):
        sim.reset(Q0)
        sim.step(steps=2)
        sim.run(0.01)
        assert len(law.calls) == resets


def test_functions_and_free_steps_run_from_a_reset(arm):
    options = [{"controller": lambda t, q, qd: -q}, {"integrator": "dormand-prince"}]
    for given in (*options, {**options[0], "sample_time": 2e-3}):
        sim = dy.Simulator(arm, **given)
        sim.reset(Q0)
        run = sim.run(0.01)
        np.testing.assert_array_equal(run.q, dy.simulate(arm, 0.01, q0=Q0, **given).q)
        np.testing.assert_array_equal(sim.q, run.q[-1])
        with pytest.raises(OptionError, match="cannot go on"):
            sim.run(0.01)
        sim.reset(Q0)
        if "integrator" in given or "controller" in given:
            with pytest.raises(OptionError, match=r"use run\(duration\)"):
                sim.step()


def test_what_cannot_be_done_is_said(arm):
    sim = dy.Simulator(arm, controller=ComputedTorque(25.0, 10.0), reference=GOAL)
    sim.reset(Q0)
    with pytest.raises(OptionError, match="the controller commands"):
        sim.step([0.0, 0.0])
    sim.run(0.0105)
    with pytest.raises(OptionError, match="cannot go on"):
        sim.step()
    free = dy.Simulator(arm)
    free.reset(Q0)
    with pytest.raises(ShapeError, match="tau"):
        free.step(np.zeros((3, 2)))
    with pytest.raises(OptionError, match="steps"):
        free.step(steps=0)
    with pytest.raises(ShapeError, match="where"):
        free.reset(Q0, where=[True])


# noise


def test_every_arm_of_an_ensemble_has_noise_of_its_own(arm):
    """The first has that of an arm alone, whatever the company."""
    given = {k: v for k, v in COMPUTER.items() if k != "observer"}
    few, many = (dy.simulate(arm, 0.05, q0=np.tile(Q0, (k, 1)), **given).q for k in (2, 5))
    np.testing.assert_array_equal(few, many[:2])
    np.testing.assert_array_equal(few[0], dy.simulate(arm, 0.05, q0=Q0, **given).q)
    assert len({row[-1].tobytes() for row in many}) == 5


def test_noise_is_normal_and_counted():
    """Quantiles within four deviations of theirs; a stretch of samples is part of a longer one."""
    sensors = dy.Sensors(position_noise=2.0, torque_noise=2.0, seed=5)
    rows = np.concatenate([sensors.noise(1, 0, 4000, arm, 3) for arm in range(4)]) / 2.0
    for z, share in ((-1.0, 0.158655), (0.0, 0.5), (1.0, 0.841345), (2.0, 0.977250)):
        error = 4.0 * np.sqrt(share * (1.0 - share) / rows.size)
        assert abs((rows < z).mean() - share) < error
    together = np.concatenate(
        [rows[:4000], rows[4000:8000], sensors.noise(2, 0, 4000, 0, 3) / 2.0], 1
    )
    away = np.corrcoef(together.T) - np.eye(9)
    assert np.abs(away).max() < 5.0 / np.sqrt(4000)
    np.testing.assert_array_equal(sensors.noise(1, 17, 5, 2, 3) / 2.0, rows[8000:12000][17:22])
    other = dy.Sensors(position_noise=2.0, seed=5 + 2**64)
    assert not np.array_equal(other.noise(1, 0, 9, 0, 3), sensors.noise(1, 0, 9, 0, 3))


def test_a_simulator_begins_at_rest_at_zero(arm):
    sim = dy.Simulator(arm)
    np.testing.assert_array_equal(sim.q, np.zeros(arm.n))
    np.testing.assert_array_equal(dy.Simulator(arm).run(0.01).q, dy.simulate(arm, 0.01).q)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_torques_that_are_no_numbers_are_refused_and_change_nothing(arm, bad):
    sim = dy.Simulator(arm)
    sim.reset(Q0)
    with pytest.raises(OptionError, match="finite"):
        sim.step(np.full(arm.n, bad))
    sim.step(np.zeros(arm.n))
    assert np.isfinite(sim.q).all()


def test_options_are_those_of_simulate(arm):
    """Their names, order, kinds and defaults; what is unknown, or given twice, is named."""
    of_a_run = {"duration", "q0", "qd0", "motor0", "motor_rate0", "save_every", "check_step"}
    options = inspect.signature(dy.simulate).parameters
    expected = [x for name, x in options.items() if name not in of_a_run]
    assert list(inspect.signature(dy.Simulator).parameters.values()) == expected
    assert [*inspect.signature(dy.Simulator.__init__).parameters][:3] == ["self", "robot", "dt"]
    with pytest.raises(
        TypeError, match=r"(?s)Simulator has no keyword 'tourque'.*did you mean 'torque'"
    ):
        dy.Simulator(arm, tourque=[0.0, 0.0])
    with pytest.raises(TypeError, match="Simulator has no keyword 'duration'"):
        dy.Simulator(arm, duration=1.0)
    with pytest.raises(TypeError, match="multiple values for argument 'dt'"):
        dy.Simulator(arm, 1e-3, dt=2e-3)
    with pytest.raises(TypeError, match="positional arguments"):
        dy.Simulator(arm, 1e-3, None, "rk4", None)


# long steps call their parts


def lossy():
    robot = dy.load("puma560")
    links = [
        replace(x, drive=replace(x.drive, efficiency=0.8), friction=dy.Friction(coulomb=1.0))
        for x in robot.model.links[:2]
    ]
    return dy.Robot(replace(robot.model, links=(*links, *robot.model.links[2:])))


PARTS = {
    "five-bar": (lambda: dy.load("five-bar"), {"stops": True}),
    "forces": (lambda: pair(bar(), bar()), OPTIONS["forces"]),
    "observer": (lambda: pair(bar(), bar()), COMPUTER),
    "heun": (lambda: pair(bar(), bar()), {"integrator": "heun"}),
    "euler": (lambda: dy.load("five-bar"), {"integrator": "euler"}),
    "semi-implicit": (lambda: dy.load("rppr"), {"integrator": "semi-implicit-euler"}),
    "losses": (lossy, {}),
}


@pytest.mark.parametrize("case", PARTS.values(), ids=PARTS)
def test_steps_in_parts_are_those_of_one_program(case, monkeypatch):
    """The same numbers; reciprocals that parts do not share round otherwise."""
    robot, options = case[0](), case[1]
    sim = dy.Simulator(robot, **options)
    sim.reset()
    task, rng = sim.assembly.plant_task, np.random.default_rng(3)
    whole = task.program()
    monkeypatch.setattr(tasks, "INLINE", 0)
    parts = task.program()
    assert isinstance(whole, Program) and isinstance(parts, CalledProgram)
    shapes = (task.slots.size,), (task.signals,), (task.constants,)
    ports = service.Ports(("x", "signal", "constants"), shapes, ("x",), shapes[:1])
    codes = [
        service.Code(service.object_of(p, "float64"), ports, "float64") for p in (whole, parts)
    ]
    x = np.tile(sim._x, (20, 1))
    for _ in range(30):
        signal, constants = rng.normal(size=task.signals), np.full(task.constants, 1e-3)
        command = sim.assembly.slots.part(x, "command")
        command[:, list(robot.active)] = rng.normal(size=(20, len(robot.active)))
        after = [run(code, [x, signal, constants], ("x", "signal", "constants")) for code in codes]
        np.testing.assert_allclose(after[1], after[0], rtol=1e-11, atol=1e-12)
        x = after[0]
    assert np.isfinite(x).all()
