"""One motion, many ways: Python or machine code, alone or in company, twice."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import ComputedTorque, JointPID, MomentumObserver
from dynamis.control.sensors import Sensors
from tests.random_robots import build
from tests.simulation.arms import bar, pair, slider

CLOSE = 1e-12
RNG = np.random.default_rng(7)
START = {"q0": RNG.uniform(-0.3, 0.3, (70, 2)), "qd0": RNG.normal(size=(70, 2))}
FIELDS = ("q", "qd", "tau", "friction")


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Both ways are compared here."""


@pytest.fixture(scope="module")
def arm():
    """Everything at once: dry friction, losses, limits, a stop."""
    drive = dy.Drive(gear=20.0, rotor_inertia=1e-3, coulomb=0.02, efficiency=0.8, limits=(-2, 2))
    first = bar(dy.Friction(coulomb=(2.0, -1.0), viscous=0.1), drive, (-1.0, 0.7))
    return pair(first, bar(dy.Friction(coulomb=1.0, law="stribeck")))


def same(a, b, tolerance=0.0):
    for name in FIELDS:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=tolerance, rtol=0)
    np.testing.assert_array_equal(a.stuck, b.stuck)


WAYS = {
    "free": {},
    "torque": {"torque": lambda t: [20 * np.sin(9 * t), 3.0], "external": [0.5, -0.5]},
    "wrench": {"wrench": [1.0, 2.0, 3.0, 0.1, 0.2, 0.3], "integrator": "heun"},
    "link forces": {"link_forces": [[1.0, 2.0, 3.0, 0.1, 0.2, 0.3]] * 2, "wrench": [1.0] * 6},
    "sampled": {
        "controller": JointPID(80.0, 20.0, 9.0, gravity=True),
        "reference": [0.3, -0.2],
        "sample_time": 4e-3,
        "delay": 2e-3,
        "sensors": Sensors(encoder=1e-3, velocity_filter=40.0, position_noise=1e-4),
    },
    "observed": {"controller": ComputedTorque(50.0, 14.0), "observer": MomentumObserver(30.0)},
    "function": {"controller": lambda t, q, qd: -30.0 * q - 4.0 * qd},
    "adaptive": {"integrator": "dormand-prince", "torque": [5.0, 0.0]},
}


@pytest.mark.parametrize("way", WAYS)
def test_python_is_machine_code(arm, way, monkeypatch):
    options = {"duration": 0.1, "dt": 2e-3, "q0": [0.6, 0.1], "qd0": [2.0, -1.0], "stops": True}
    options["check_step"] = way != "sampled"  # 4 mrad off: what encoders give flips at the stop
    fast = dy.simulate(arm, **options, **WAYS[way])
    monkeypatch.setenv("DYNAMIS_COMPILE", "off")
    slow = dy.simulate(arm, **options, **WAYS[way])
    same(fast, slow, CLOSE if way != "adaptive" else 1e-9)
    if fast.observed is not None:
        np.testing.assert_allclose(fast.observed, slow.observed, atol=1e-9)


WAYS["quiet"] = {**WAYS["sampled"], "sensors": Sensors(encoder=1e-3, velocity_filter=40.0)}


@pytest.mark.parametrize("way", ["free", "torque", "quiet"])
def test_a_member_is_the_arm_alone_bit_for_bit(arm, way):
    options = {"duration": 0.2, "stops": True, **WAYS[way]}
    together = dy.simulate(arm, **START, **options)
    assert together.q.shape == (70, 201, 2)
    for k in (0, 31, 69):
        alone = dy.simulate(arm, q0=START["q0"][k], qd0=START["qd0"][k], **options)
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(together, name)[k], getattr(alone, name))


def test_a_member_with_noise_does_not_depend_on_those_after_it(arm):
    """Its place decides its noise; the first has that of an arm alone."""
    options = {"duration": 0.1, "stops": True, **WAYS["sampled"]}
    together = dy.simulate(arm, **START, **options)
    alone = dy.simulate(arm, **{k: v[0] for k, v in START.items()}, **options)
    few = dy.simulate(arm, **{k: v[:32] for k, v in START.items()}, **options)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(together, name)[0], getattr(alone, name))
        np.testing.assert_array_equal(getattr(together, name)[:32], getattr(few, name))


def test_threads_and_repetition_do_not_matter(arm):
    runs = [dy.simulate(arm, 0.2, **START, stops=True, threads=k) for k in (1, 2, 2)]
    for other in runs[1:]:
        same(runs[0], other)


def test_long_runs_are_one_piece(arm):
    """Looks at the clock every few thousand steps leave no trace."""
    long = dy.simulate(arm, 5.0, q0=[0.3, 0.2], save_every=7)
    half = dy.simulate(arm, 2.5, q0=[0.3, 0.2], save_every=7)
    upto = len(half.t) - 1
    np.testing.assert_array_equal(long.q[:upto], half.q[:upto])
    np.testing.assert_array_equal(long.t[:upto], half.t[:upto])


@pytest.mark.thorough
def test_an_ensemble_of_parameters_is_that_of_robots():
    robot = build("standard", ("revolute", "prismatic"), 3)
    values = np.array(robot.parameters.values)
    factor = np.random.default_rng(0).uniform(0.9, 1.1, (3, len(values)))
    options = {"duration": 0.1, "q0": [0.3, 0.1], "qd0": [0.5, -0.5]}
    ways = {
        "rk4": {},
        "dormand-prince": {"integrator": "dormand-prince"},
        "function": {"controller": lambda t, q, qd: -q},
        "held": {"controller": lambda t, q, qd: -q, "sample_time": 0.01},
    }
    for name, way in ways.items():
        together = dy.simulate(robot, **options, parameters=factor * values, **way)
        assert together.q.shape == (3, 101, 2)
        for k in range(3):
            alone = dy.simulate(robot.with_parameters(factor[k] * values), **options, **way)
            close = 1e-10 if name != "dormand-prince" else 1e-6
            np.testing.assert_allclose(together.q[k], alone.q, atol=close)
            np.testing.assert_allclose(together.qd[k], alone.qd, atol=10 * close)
        assert np.abs(together.q[0] - together.q[1]).max() > 1e-6
        one = dy.simulate(robot, **options, parameters=factor[0] * values, **way)
        assert one.q.shape == (101, 2)
        np.testing.assert_allclose(one.q, together.q[0], atol=1e-6)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,), (0, 4)])
@pytest.mark.parametrize(
    "way", [{}, {"integrator": "dormand-prince"}, {"controller": lambda t, q, qd: 0.0 * q}]
)
def test_leading_axes(shape, way):
    run = dy.simulate(slider(dy.Friction(coulomb=1.0)), 0.01, q0=np.ones((*shape, 1)), **way)
    for name in (*FIELDS, "stuck"):
        assert getattr(run, name).shape == (*shape, 11, 1)
    assert run.t.shape == (11,) and np.shape(run.diverged) == shape
    assert run.q.dtype == float and run.energy.total.shape == (*shape, 11)


@pytest.mark.parametrize("kind", [np.float32, int, list])
def test_any_kind_of_number(kind):
    q0 = [1, 2] if kind is list else np.array([1, 2], dtype=kind)
    run = dy.simulate(pair(), 0.01, q0=q0)
    same(run, dy.simulate(pair(), 0.01, q0=np.array([1.0, 2.0])))


def test_q0_and_qd0_broadcast():
    run = dy.simulate(pair(), 0.01, q0=np.zeros((3, 1, 2)), qd0=np.ones((2, 2)))
    assert run.q.shape == (3, 2, 11, 2)


class TestInstants:
    """t runs from 0 to the duration, both included."""

    def test_whole_steps(self):
        run = dy.simulate(slider(), 0.3, 0.1, qd0=[1.0])
        np.testing.assert_allclose(run.t, [0, 0.1, 0.2, 0.3], rtol=1e-15)
        np.testing.assert_allclose(run.q[:, 0], run.t, rtol=1e-14)

    @pytest.mark.parametrize("way", [
        {}, {"controller": lambda t, q, qd: [0.0]},
        {"controller": lambda t, q, qd: [0.0], "sample_time": 0.1},
        {"integrator": "dormand-prince"},
    ])  # fmt: skip
    @pytest.mark.parametrize("save_every", [1, 2, 3, 5])
    def test_a_short_step_ends_on_time(self, way, save_every):
        robot = slider(gravity=9.81)
        run = dy.simulate(robot, 0.55, 0.1, qd0=[1.0], save_every=save_every, **way)
        whole = [0.1 * k for k in range(6) if k % save_every == 0]
        np.testing.assert_allclose(run.t, [*whole, 0.55], rtol=1e-14)
        np.testing.assert_allclose(run.q[:, 0], run.t - 9.81 * run.t**2 / 2, atol=1e-13)
        np.testing.assert_allclose(run.qd[:, 0], 1 - 9.81 * run.t, atol=1e-13)

    def test_save_every_that_does_not_divide_keeps_the_end(self):
        run = dy.simulate(slider(), 1.0, 0.1, qd0=[1.0], save_every=3)
        np.testing.assert_allclose(run.t, [0, 0.3, 0.6, 0.9, 1.0], rtol=1e-15)
        np.testing.assert_allclose(run.q[:, 0], run.t, rtol=1e-14)

    def test_one_step(self):
        run = dy.simulate(slider(), 0.1, 0.1, qd0=[1.0])
        np.testing.assert_allclose(run.q[:, 0], [0, 0.1])


class TestForces:
    """Rows are held for one step each; functions are followed within it."""

    ROWS = np.array([[1.0], [-3.0], [2.0], [0.0], [5.0]])

    @pytest.mark.parametrize("integrator", ["rk4", "heun", "dormand-prince"])
    @pytest.mark.parametrize("kind", ["torque", "external"])
    def test_rows_are_held(self, integrator, kind):
        h, m = 0.1, 2.0
        run = dy.simulate(slider(mass=m), 0.5, h, **{kind: self.ROWS}, integrator=integrator)
        v = np.concatenate([[0], np.cumsum(self.ROWS[:, 0]) * h / m])
        q = np.concatenate([[0], np.cumsum((v[1:] + v[:-1]) / 2 * h)])
        np.testing.assert_allclose(run.qd[:, 0], v, atol=1e-13)
        np.testing.assert_allclose(run.q[:, 0], q, atol=1e-13)

    def test_rows_under_a_function(self):
        zero = dy.simulate(slider(), 0.5, 0.1, torque=self.ROWS, controller=lambda t, q, qd: [0.0])
        np.testing.assert_allclose(zero.qd[-1, 0], 0.25, atol=1e-13)
        np.testing.assert_array_equal(zero.tau[:5], self.ROWS)

    @pytest.mark.parametrize("way", [{}, {"integrator": "dormand-prince", "tolerance": 1e-12}])
    def test_functions_are_followed(self, way):
        run = dy.simulate(slider(mass=1.0), 1.0, 0.01, torque=lambda t: [np.cos(t)], **way)
        np.testing.assert_allclose(run.qd[:, 0], np.sin(run.t), atol=1e-10)
        np.testing.assert_allclose(run.tau[:, 0], np.cos(run.t), atol=1e-13)

    def test_the_tool_pushes_with_the_opposite_of_its_wrench(self):
        run = dy.simulate(slider(mass=2.0), 1.0, 0.1, wrench=[0, 0, 3.0, 0, 0, 0])
        assert run.qd[-1, 0] == pytest.approx(-1.5, abs=1e-12)
        out = dy.simulate(slider(mass=2.0), 1.0, 0.1, external=[-3.0])
        np.testing.assert_allclose(run.q, out.q, atol=1e-13)
