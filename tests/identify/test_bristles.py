"""LuGre and Dahl constants from logs: truth of simulations, slopes, and what a log cannot show."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import dynamis as dy
from dynamis.errors import DynamisError
from dynamis.identify.estimate import beside
from dynamis.identify.processing import torque_of
from dynamis.robot.deflections import Bristles, relaxed

from ..closed_mechanisms import parallelogram
from .motions import arm, coupled, series

LUGRE = {"law": "lugre", "static_ratio": 1.4, "velocity": 0.05, "stiffness": 600.0, "damping": 2.0}
DAHL = {"law": "lugre", "static_ratio": 1.0, "velocity": 0.05, "stiffness": 900.0, "damping": 0.0}
STIFFNESS, SLIDING = 0.1, 0.02  # relative errors of bristles, of Coulomb and viscous friction
CONSTANTS = ("coulomb", "stribeck", "velocity", "stiffness", "damping")
pytestmark = pytest.mark.usefixtures("compiled")


def described(robot):
    """The same arm, nothing known of its friction."""
    links = [replace(x, friction=dy.Friction()) for x in robot.model.links]
    return dy.Robot(replace(robot.model, links=tuple(links)))


def simulated(robot, seconds=20.0, seed=0, size=0.15, harmonics=15):
    """A run of a random motion, led by a law that knows no friction."""
    rng, w = np.random.default_rng(seed), 2.0 * np.pi / seconds * np.arange(1, harmonics + 1)
    a, b = rng.normal(size=(2, robot.n, harmonics)) * size / np.sqrt(np.arange(1, harmonics + 1))

    def move(t):
        s, c = np.sin(w * t), np.cos(w * t)
        return a @ s + b @ c, a @ (w * c) - b @ (w * s), -a @ (w * w * s) - b @ (w * w * c)

    law = dy.control.ComputedTorque(2500.0, 100.0, model=described(robot))
    q0, qd0, _ = move(0.0)
    return dy.simulate(robot, seconds, 1e-3, q0=q0, qd0=qd0, controller=law, reference=move,
                       check_step=False)  # fmt: skip


def logged(run, seed=0, every=4, noise=0.05):
    """What a log of the run would hold."""
    rng = np.random.default_rng([seed, 7])
    rows = slice(None, None, every)
    tau = run.tau[rows] + noise * rng.normal(size=run.q[rows].shape)
    q, qd = (
        x[rows] + s * rng.normal(size=x[rows].shape) for x, s in ((run.q, 2e-6), (run.qd, 1e-4))
    )
    return dy.Log(t=run.t[rows], q=q, qd=qd, tau=tau, name="run")


def values_of(found, kind):
    return found.values[found.unknowns.of_kind(kind)]


@pytest.fixture(scope="module")
def lugre(compiled):
    true = arm(**LUGRE)
    run = simulated(true)
    return true, run, dy.identify(described(true), logged(run), friction="lugre", held_out=False)


def test_lugre_is_found(lugre):
    _, _, found = lugre
    np.testing.assert_allclose(values_of(found, "bristle_stiffness"), 600.0, rtol=STIFFNESS)
    np.testing.assert_allclose(values_of(found, "coulomb"), 1.2, rtol=SLIDING)
    np.testing.assert_allclose(values_of(found, "viscous"), 0.6, rtol=SLIDING)
    np.testing.assert_allclose(values_of(found, "stribeck"), 0.4 * 1.2, rtol=0.2)
    np.testing.assert_allclose(values_of(found, "stribeck_velocity"), 0.05, rtol=0.2)
    low, high = found.intervals(0.999).T
    for kind, truth in (("coulomb", 1.2), ("viscous", 0.6), ("stribeck", 0.48)):
        of = found.unknowns.of_kind(kind)
        assert (low[of] <= truth).all() and (truth <= high[of]).all()
    assert found.verdict.level == "good" and found.is_physical
    assert not [x for x in found.findings if "bristles" in x.what]


def test_the_robot_that_is_handed_over_is_the_one_that_was_found(lugre, tmp_path):
    true, _, found = lugre
    for joint, link in enumerate(found.robot.model.links):
        friction, constants = link.friction, link.friction.constants
        c = values_of(found, "coulomb")[joint]
        assert friction.law == "lugre" and friction.coulomb == pytest.approx((c, -c), rel=1e-9)
        assert constants["stiffness"] == pytest.approx(values_of(found, "bristle_stiffness")[joint])
        ratio = 1.0 + values_of(found, "stribeck")[joint] / c
        assert constants["static_ratio"] == pytest.approx(ratio, rel=1e-9)
    other = logged(simulated(true, 6.0, seed=3), 3)
    own = beside(lambda s: torque_of(found.robot, s), found.robot, other, found._how(other))
    np.testing.assert_allclose(own.predicted, found.predict(other), atol=1e-9)
    along = dy.torque_along(found.robot, other, found._how(other))
    np.testing.assert_allclose(along, found.predict(other), atol=1e-9)
    found.robot.save(tmp_path / "arm.toml")
    again = dy.load(tmp_path / "arm.toml")
    np.testing.assert_allclose(dy.torque_along(again, other, found._how(other)), along, atol=1e-9)
    assert not any("not the model that was validated" in x.what for x in found.findings)
    error = found.validate(other).relative_error_overall
    smooth = dy.identify(described(true), found.logs[0], friction="smooth", held_out=False)
    assert error < 0.6 * smooth.validate(other).relative_error_overall


def test_it_holds_and_breaks_away_as_the_truth(lugre):
    """On a level arm: less than the static torque bends the bristles, more turns the joint."""
    true, _, found = lugre
    ends = []
    for robot in (true, found.robot):
        level = robot.with_gravity((0, 0, 0))
        for torque in (1.3, 2.6):
            run = dy.simulate(level, 0.5, 1e-3, q0=[0, 0], torque=[torque, 0.0], check_step=False)
            ends.append(run.q[-1, 0])
    held, free, held_too, free_too = ends
    assert held_too == pytest.approx(held, rel=0.15) and held < 0.01
    assert free_too == pytest.approx(free, rel=0.1) and free > 5.0 * held


def test_reports_samples_and_curves_go_on_working(lugre, tmp_path):
    _, _, found = lugre
    assert "bristle_stiffness" in found.report(tmp_path / "report.html").read_text()
    draws = found.sample(20)
    assert draws.shape[1] == len(found.robot.parameters.values) and np.isfinite(draws).all()


def test_dahl_is_lugre_without_damping_and_stribeck(compiled):
    true = arm(**DAHL)
    log = logged(simulated(true))
    found = dy.identify(described(true), log, friction="dahl", held_out=False)
    np.testing.assert_allclose(values_of(found, "bristle_stiffness"), 900.0, rtol=STIFFNESS)
    np.testing.assert_allclose(values_of(found, "coulomb"), 1.2, rtol=SLIDING)
    np.testing.assert_allclose(values_of(found, "viscous"), 0.6, rtol=SLIDING)
    for link in found.robot.model.links:
        constants = link.friction.constants
        assert constants["static_ratio"] == 1.0 and constants["damping"] == 0.0
    more = dy.identify(described(true), log, friction="lugre", held_out=False)
    np.testing.assert_allclose(values_of(more, "bristle_stiffness"), 900.0, rtol=STIFFNESS)
    assert (values_of(more, "stribeck") < 0.1).all()


def test_described_bristles_are_sought(lugre):
    _, _, found = lugre
    guess = arm(**LUGRE | {"stiffness": 5e3, "static_ratio": 1.1, "damping": 0.0})
    again = dy.identify(guess, found.logs[0], friction="described", held_out=False, cutoff=20.0,
                        estimator="weighted")  # fmt: skip
    np.testing.assert_allclose(values_of(again, "bristle_stiffness"), 600.0, rtol=STIFFNESS)
    np.testing.assert_allclose(values_of(again, "coulomb"), 1.2, rtol=SLIDING)
    assert again.robot.model.links[0].friction.law == "lugre"


@dataclass(frozen=True)
class Dahl:
    """As in the guide to laws of one's own."""

    stiffness: float = 600.0
    dry: float = 1.2
    states = ("stretch",)

    def torque(self, qd, direction, constants, fn, state):
        return constants["stiffness"] * state["stretch"]

    def rate(self, qd, direction, constants, fn, state):
        slip = constants["stiffness"] / constants["dry"] * abs(qd) * state["stretch"]
        return {"stretch": qd - slip}

    def steady(self, qd, direction, constants, fn):
        return {"stretch": constants["dry"] / constants["stiffness"] * direction}


def test_constants_of_a_rate_are_named():
    own = dy.load("planar-2link").with_friction(law=Dahl())
    t, q, qd, qdd = series(0)
    log = dy.Log(t=t, q=q, qd=qd, tau=own.inverse_dynamics(q, qd, qdd))
    found = dy.identify(own, log, friction="described", held_out=False, estimator="weighted",
                        force=True)  # fmt: skip
    (said,) = (x for x in found.findings if "stay as described" in x.what)
    assert "'stiffness' and 'dry'" in said.what and "'stretch'" in said.what
    assert said.level == "note" and {*said.joints} == {*own.joint_names}


# what a log cannot show


def exact(robot, seconds=10.0, rate=200.0, every=5, turning=True):
    """A log of the exact torque along a motion; without turns every joint goes one way."""
    t, q, qd, qdd = series(1, robot.n, seconds, every * rate, 12, 0.2)
    if not turning:
        t = np.arange(int(seconds * every * rate)) / (every * rate)
        w = 2.0 * np.pi * np.array([0.7, 1.1])
        q = 0.4 * t[:, None] + 0.05 * np.sin(w * t[:, None])
        qd = 0.4 + 0.05 * w * np.cos(w * t[:, None])
        qdd = -0.05 * w**2 * np.sin(w * t[:, None])
    tau = dy.torque_along(robot, dy.Log(t=t, q=q, qd=qd, qdd=qdd, tau=0 * q))
    rows = slice(None, None, every)
    noise = 0.02 * np.random.default_rng(2).normal(size=q[rows].shape)
    return dy.Log(t=t[rows], q=q[rows], qd=qd[rows], tau=tau[rows] + noise)


@pytest.mark.parametrize(
    "options, stiffness, why",
    [
        ({"turning": False}, 600.0, "never turns back"),
        ({"rate": 40.0}, 3e5, "sampled too coarsely"),
    ],
)
def test_what_the_log_does_not_show_is_said(options, stiffness, why):
    true = arm(**DAHL | {"stiffness": stiffness})
    log = exact(true, **options)
    found = dy.identify(described(true), log, friction="dahl", held_out=False, force=True,
                        estimator="weighted")  # fmt: skip
    said = [x for x in found.findings if "stiffness of its bristles is not shown" in x.what]
    assert {name for x in said for name in x.joints} == {*true.joint_names}
    assert all(why in x.what for x in said)
    assert (values_of(found, "bristle_stiffness") > 0.0).all()


def test_arms_whose_bristles_are_not_sought_are_named():
    for robot, word in ((parallelogram(), "clos"), (coupled(), "coupled")):
        t, q, qd, _ = series(0, len(robot.driven))
        log = dy.Log(t=t, q=0.1 * q, qd=0.1 * qd, tau=q)
        with pytest.raises(DynamisError, match=word):
            dy.identify(robot, log, friction="lugre", force=True)


# along a motion


def constants_of(seed, k=2):
    rng = np.random.default_rng(seed)
    c, v, size = rng.uniform(0.5, 2.0, k), rng.uniform(0.02, 0.1, k), rng.uniform(1e-3, 1e-2, k)
    return dict(zip(CONSTANTS, (c, 0.3 * c, v, c / size, rng.uniform(0.0, 3.0, k)), strict=True))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 300), st.integers(0, 3), st.integers(0, 1000))
def test_runs_of_rows_are_rows_one_after_the_other(rows, size, seed):
    rng = np.random.default_rng(seed)
    keep, push = rng.uniform(size=(rows, size)), rng.normal(size=(rows, size))
    y, wanted = np.zeros(size), []
    for a, b in zip(keep, push, strict=True):
        y = a * y + b
        wanted.append(y)
    found = relaxed(keep, push)
    np.testing.assert_allclose(found, np.array(wanted).reshape(rows, size), atol=1e-12)


def test_bristles_are_the_differential_equation():
    """Next to SciPy along a smooth motion, of another friction in either direction."""
    t = np.linspace(0.0, 3.0, 6001)
    q, qd = 0.05 * np.sin(4.0 * t), 0.2 * np.cos(4.0 * t)
    plus, minus, more, v, stiff, damp = 1.5, 1.1, 0.4, 0.05, 400.0, 3.0

    def rate(t, y):
        u = 0.2 * np.cos(4.0 * t)
        side = plus if u >= 0.0 else minus
        return stiff * (u - abs(u) * y / (side * (1.0 + more * np.exp(-((u / v) ** 2)))))

    y = solve_ivp(rate, (0.0, 3.0), [0.0], "Radau", t, rtol=1e-9, atol=1e-10).y[0]
    side = np.where(qd >= 0.0, plus, minus)
    g = side * (1.0 + more * np.exp(-((qd / v) ** 2)))
    wanted = y + damp * (qd - np.abs(qd) * y / g)
    one = np.array([1.0])
    bristles = Bristles(plus * one, more * plus * one, v * one, stiff * one, damp * one,
                        (minus * one, more * minus * one))  # fmt: skip
    found = bristles.along(q[:, None], qd[:, None])[:, 0]
    assert np.abs(found - wanted).max() < 2e-3 * np.abs(wanted).max()


@pytest.mark.parametrize("seed", [0, 1])
def test_slopes_are_differences_and_add_up_to_the_torque(seed):
    t = np.linspace(0.0, 5.0, 2001)[:, None]
    q = 0.05 * np.sin([2.0, 3.0] * t) + 0.02 * np.sin([7.0, 11.0] * t)
    qd = np.gradient(q, t[:, 0], axis=0)
    constants, e = constants_of(seed), 1e-5
    slopes, told = Bristles(**constants).slopes(q, qd)
    size = [constants[x] for x in ("coulomb", "stribeck", "stiffness", "damping")]
    whole = np.einsum("skj,sj->kj", slopes[:4], np.array(size))
    np.testing.assert_allclose(whole, Bristles(**constants).along(q, qd), atol=1e-12)
    names = ("coulomb", "stribeck", "stiffness", "damping", "velocity")
    for name, slope in zip(names, slopes, strict=True):
        ends = [
            Bristles(**constants | {name: constants[name] * (1.0 + s)}).along(q, qd)
            for s in (e, -e)
        ]
        change = (ends[0] - ends[1]) / (2.0 * e)
        wanted = slope if name == "velocity" else slope * constants[name]
        np.testing.assert_allclose(change, wanted, atol=1e-7 * np.abs(wanted).max())
    begun = Bristles(**constants).along(
        np.concatenate([q[:1] - 1.0, q]), np.concatenate([qd[:1], qd])
    )
    off = np.abs(begun[1:] - whole)[told]
    assert told.any() and off.max() < 0.05 * np.abs(whole).max()


@pytest.mark.parametrize("friction", [
    {"viscous": 0.6, "coulomb": 1.2}, {"viscous": (0.4, 0.9), "coulomb": (1.5, -1.0)},
])  # fmt: skip
def test_torque_along_is_the_friction_of_a_simulation(friction):
    robot = arm(**LUGRE)
    links = [replace(x, friction=replace(x.friction, **friction)) for x in robot.model.links]
    robot = dy.Robot(replace(robot.model, links=tuple(links)))
    run = simulated(robot, 4.0, size=0.1)
    qdd = np.gradient(run.qd, run.t, axis=0)
    log = dy.Log(t=run.t, q=run.q, qd=run.qd, qdd=qdd, tau=run.tau)
    rigid = described(robot).inverse_dynamics(run.q, run.qd, qdd)
    found = dy.torque_along(robot, log) - rigid
    size = np.abs(run.friction).max()
    assert np.abs(found - run.friction)[20:].max() < 0.04 * size
    largest = robot.inverse_dynamics(run.q, run.qd, qdd) - rigid
    assert np.abs(largest - run.friction)[20:].max() > 0.2 * size
