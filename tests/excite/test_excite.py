"""Exciting motions: they keep their limits, start and end at rest, and beat random ones."""

import os
import signal
import sys
import threading

import casadi as ca
import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError, FileError, OptionError, ShapeError
from dynamis.excite.design import Problem, excite
from dynamis.excite.excitation import CRITERIA, measure
from dynamis.excite.limits import resolved
from dynamis.excite.series import Check, Series, shrunk
from dynamis.excite.workspace import clearance_margins
from dynamis.identify.friction.models import friction_named
from dynamis.identify.unknowns import unknowns

ROUNDING = 1e-12  # of sums of a few numbers near 1
GRADIENT = 1e-5  # central differences of a step of 1e-6 on a function near 10
FINE = 7919  # times at which limits are looked at: a prime, none of the design's own
# robot -> factors over the median of random series, by condition number and by information,
# somewhat below what was measured: 1.64 and 2.46, 2.45 and 2.42, 1.67 and 3.26, 2.55 and 3.33
FACTORS = {
    "planar-2link": (1.5, 2.2),
    "planar-rr": (2.0, 2.2),
    "scara": (1.5, 2.5),
    "pendulum3": (2.0, 2.8),
}


@pytest.fixture(scope="module")
def designs():
    return {name: excite(dy.load(name)) for name in FACTORS}


def fine(found):
    t = np.linspace(0.0, found.period, FINE)
    return found.trajectory(t)


@pytest.mark.parametrize("name", FACTORS)
def test_starts_and_ends_at_rest(designs, name):
    found = designs[name]
    state = found.trajectory([0.0, found.period])
    assert np.abs(state.qd).max() < 20 * ROUNDING
    assert np.abs(state.qdd).max() < 20 * ROUNDING
    assert np.allclose(state.q[0], state.q[1], atol=20 * ROUNDING)


@pytest.mark.parametrize("name", FACTORS)
def test_keeps_the_default_limits_and_says_them(designs, name):
    found = designs[name]
    q, qd, _ = fine(found)
    slides = [link.joint == "prismatic" for link in found.robot.model.links]
    assert (np.abs(q) <= np.where(slides, 0.3, np.pi / 2)).all()
    assert (np.abs(qd) <= np.where(slides, 0.5, 2.0)).all()
    said = " ".join(f.what for f in found.findings)
    assert "no position limit" in said
    assert "no velocity limit" in said
    upright = found.robot.name == "scara"  # the others hang in a vertical plane: no floor is known
    assert [f.where for f in found.findings if f.level != "note"] == ([] if upright else ["floor"])


@pytest.mark.parametrize("name", FACTORS)
def test_beats_random_series_within_the_same_limits(designs, name):
    gain = designs[name].gain
    condition, information = FACTORS[name]
    assert gain.condition_median >= condition
    assert gain.information_median >= information
    assert gain.information_best >= 1.2


def test_condition_criterion_has_the_better_condition_number(designs):
    found = excite(dy.load("planar-2link"), criterion="condition")
    assert found.gain.condition_median >= 3.0  # 4.26 measured
    assert found.gain.condition_best >= 1.5
    assert found.condition_number < designs["planar-2link"].condition_number
    assert found.log_det < designs["planar-2link"].log_det


def test_reported_figures_are_those_of_the_motion(designs):
    """The condition number from the robot's own regressor, stacked here."""
    found = designs["planar-rr"]
    asked = unknowns(found.robot, friction_named("asymmetric"))
    t = found.period / 200 * (np.arange(200) + 0.5)
    state = found.trajectory(t)
    Y = asked.regressor(*state)
    assert found.unknowns == asked.names
    tau = found.robot.inverse_dynamics(*fine(found))
    assert np.allclose(found.demand.tau, np.abs(tau).max(axis=0), rtol=1e-3)
    Z = (Y / found.usual_torque[:, None]).reshape(-1, len(asked))
    values = np.linalg.svd(Z / np.linalg.norm(Z, axis=0), compute_uv=False)
    assert found.condition_number == pytest.approx(values[0] / values[-1], rel=1e-9)


def test_same_seed_same_motion(designs):
    again = excite(dy.load("planar-rr"))
    assert np.array_equal(again.trajectory.a, designs["planar-rr"].trajectory.a)
    assert np.array_equal(again.trajectory.q0, designs["planar-rr"].trajectory.q0)
    other = excite(dy.load("planar-rr"), seed=1, starts=1, max_iterations=3)
    assert not np.array_equal(again.trajectory.a, other.trajectory.a)


def test_given_limits_hold():
    robot = dy.load("planar-2link")
    limits = {"q_limits": [[-1.0, 0.5], [0.0, 2.0]], "qd_limits": 1.2, "qdd_limits": [2.0, 3.0]}
    found = excite(robot, harmonics=4, period=6.0, starts=2, table=None, **limits)
    q, qd, qdd = fine(found)
    assert ((q >= [-1.0, 0.0]) & (q <= [0.5, 2.0])).all()
    assert (np.abs(qd) <= 1.2).all()
    assert (np.abs(qdd) <= [2.0, 3.0]).all()
    assert not found.findings
    assert found.demand.qdd.max() > 1.9  # and they are used


def test_torque_limits_hold():
    robot = dy.load("planar-rr")
    free = excite(robot, starts=1, max_iterations=20)
    rest = np.abs(robot.inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]))
    bound = 0.5 * free.demand.tau + 0.4 * rest
    found = excite(robot, starts=2, torque_limits=bound)
    assert (free.demand.tau > bound).any()
    assert (np.abs(robot.inverse_dynamics(*fine(found))) <= bound).all()
    assert not any(f.level == "error" for f in found.findings)


def test_model_limits_are_used_unless_told_not_to():
    links = [
        dy.Link(
            joint="revolute", d=0, a=1.0, alpha=0, mass=2.0, com=(-0.5, 0, 0),
            inertia=(0, 0.2, 0.2, 0, 0, 0), limits=(0.2, 1.4), velocity_limit=0.7,
            effort_limit=60.0,
        )
        for _ in range(2)
    ]  # fmt: skip
    robot = dy.Robot.from_dh("short", convention="standard", gravity=(0, -9.81, 0), links=links)
    found = excite(robot, starts=1, harmonics=3, table=None)
    q, qd, qdd = fine(found)
    assert ((q >= 0.2) & (q <= 1.4)).all()
    assert (np.abs(qd) <= 0.7).all()
    assert (np.abs(robot.inverse_dynamics(q, qd, qdd)) <= 60.0).all()
    assert not found.findings
    free = excite(robot, starts=1, harmonics=3, limits=False, table=None)
    assert len(free.findings) == 2
    assert free.demand.qd.max() > 0.7


def test_center_is_held():
    found = excite(dy.load("planar-rr"), starts=1, center=[0.3, -0.4])
    assert np.allclose(found.trajectory.q0, [0.3, -0.4], atol=ROUNDING)
    assert np.abs(fine(found).q - [0.3, -0.4]).max() <= np.pi / 2


@pytest.mark.thorough
def test_puma_design_in_few_iterations():
    found = excite(dy.load("puma560"), starts=1, max_iterations=25, table=-0.6)
    q, qd, _ = fine(found)
    low, high = found.robot.limits.T
    assert ((q >= low) & (q <= high)).all()
    assert (np.abs(qd) <= 2.0).all()
    assert found.gain.information_median > 2.0
    assert len(found.unknowns) == 58
    assert not any(f.level == "error" for f in found.findings)


def test_a_failed_optimiser_falls_back_and_says_so(monkeypatch):
    def fail(self, X):
        return np.full_like(X, np.nan), "Restoration_Failed"

    monkeypatch.setattr(Problem, "solve", fail)
    found = excite(dy.load("planar-rr"), starts=2)
    (warning,) = [f for f in found.findings if f.level == "warning" and f.where != "floor"]
    assert "Restoration_Failed" in warning.what
    assert found.gain.information_median >= 1.0
    q, qd, _ = fine(found)
    assert (np.abs(q) <= np.pi / 2).all()
    assert (np.abs(qd) <= 2.0).all()


def _setting(name, harmonics=3, **limits):
    robot = dy.load(name)
    given = {"q": None, "qd": None, "qdd": None, "tau": None, **limits}
    bounds = resolved(robot, True, None, **given)
    space = clearance_margins(robot, None, None, 0.05, bounds.q)
    return Check(robot, space, Series(harmonics, 5.0, bounds))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_design_criterion_is_the_reported_one_and_its_gradient_exact(criterion):
    check = _setting("scara")
    asked = unknowns(check.robot, friction_named("viscous"))  # no sign: nothing is smoothed
    rng = np.random.default_rng(3)
    t = check.times(40)
    crowd = check.series.random(rng, check.places(rng, 6), t)
    state = tuple(x.reshape(-1, 3) for x in check.series.states(crowd, t))
    scale = measure(asked, criterion, 1e-6, state)
    problem = Problem(check, scale, 40, 5)
    f = ca.Function("f", [problem.x], [problem.objective])
    g = ca.Function("g", [problem.x], [ca.gradient(problem.objective, problem.x)])
    X = crowd[0]
    value = scale.figures(*check.series.states(X, t)).value
    assert float(f(X)) == pytest.approx(-value, rel=1e-9)
    step = rng.normal(size=X.shape)
    slope = float((f(X + 1e-6 * step) - f(X - 1e-6 * step)) / 2e-6)
    assert float(ca.dot(g(X), step)) == pytest.approx(slope, rel=GRADIENT, abs=GRADIENT)


def test_series_are_the_trajectories_they_become():
    check = _setting("scara", harmonics=4)
    rng = np.random.default_rng(5)
    X = check.series.random(rng, check.places(rng, 1), check.times(50))[0]
    t = rng.uniform(0.0, 5.0, 30)
    made = check.series.trajectory(X)(t)
    for ours, theirs in zip(check.series.states(X, t), made, strict=True):
        assert np.allclose(ours, theirs, atol=100 * ROUNDING)


def test_what_happens_between_two_looks():
    """max |p| <= max over T even times |p| / cos(pi H / T) for degree H (Ehlich and Zeller)."""
    rng = np.random.default_rng(0)
    H, T = 5, 24
    h = np.arange(H + 1)
    for _ in range(200):
        a, b = rng.normal(size=(2, H + 1))
        few, many = (np.linspace(0, 2 * np.pi, k, endpoint=False) for k in (T, 5000))
        p = [np.abs(np.cos(np.outer(t, h)) @ a + np.sin(np.outer(t, h)) @ b) for t in (few, many)]
        assert p[1].max() <= p[0].max() / np.cos(np.pi * H / T)


def test_repair_shrinks_as_little_as_it_must():
    check = _setting("planar-rr")
    rng = np.random.default_rng(1)
    X = check.series.random(rng, check.places(rng, 5), check.times(100))
    wide = shrunk(X, np.full(5, 1.4))
    fitted, factor = check.repaired(wide)
    assert (check.excess(wide) > 0.0).all()
    assert (check.excess(fitted) <= 0.0).all()
    assert (check.excess(shrunk(fitted, 1.01)) > 0.0).all()
    assert (factor > 0.6).all()


def test_csv_columns(designs, tmp_path):
    found = designs["planar-rr"]
    path = found.save(tmp_path / "excite.csv", dt=0.05)
    assert path.read_text().splitlines()[0] == "t,q1,q2,qd1,qd2,qdd1,qdd2"
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    assert table.shape == (201, 7)
    assert np.array_equal(table[:, 1:3], found.trajectory(table[:, 0]).q)
    assert list(tmp_path.iterdir()) == [path]
    with np.load(found.save(tmp_path / "excite.npz")) as saved:
        assert sorted(saved) == ["q", "qd", "qdd", "t"]
    with pytest.raises(OptionError, match=r"\.csv, \.npz"):
        found.save(tmp_path / "excite.txt")
    with pytest.raises(FileError, match="no folder"):
        found.save(tmp_path / "none" / "excite.csv")
    with pytest.raises(OptionError, match="does not divide"):
        found.save(tmp_path / "other.csv", dt=0.03)


def test_several_periods_repeat():
    found = excite(dy.load("planar-rr"), starts=1, max_iterations=5, periods=3)
    sampled = found.sample(0.1)
    assert sampled.t[-1] == found.duration == 30.0
    assert np.allclose(sampled.q[:101], sampled.q[200:], atol=1e-11)


def test_table_of_the_result(designs):
    text = repr(designs["scara"])
    assert "joint3" in text
    assert "condition number" in text
    assert "no velocity limit" in text


def test_progress_is_shown_on_stderr_only_if_wanted(capsys):
    excite(dy.load("planar-rr"), starts=1, max_iterations=5)
    assert capsys.readouterr() == ("", "")
    watched = excite(dy.load("planar-rr"), starts=1, max_iterations=5, progress=True)
    plain = excite(dy.load("planar-rr"), starts=1, max_iterations=5)
    assert np.array_equal(watched.trajectory.a, plain.trajectory.a)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"harmonics": 1}, OptionError, "harmonics is 1"),
        ({"harmonics": 2.5}, OptionError, "whole number"),
        ({"period": 0.0}, OptionError, "period is 0.0"),
        ({"criterion": "a-optimal"}, OptionError, "d-optimal"),
        ({"friction": "dry"}, OptionError, "friction 'dry' does not exist"),
        ({"samples": 5}, OptionError, "samples is 5"),
        ({"starts": 0}, OptionError, "starts is 0"),
        ({"ridge": -1.0}, OptionError, "ridge"),
        ({"limits": "model"}, OptionError, "limits is 'model'"),
        ({"q_limits": [1.0, 2.0, 3.0]}, ShapeError, "q_limits has shape"),
        ({"q_limits": [2.0, 1.0]}, OptionError, "joint 'joint1' may move from 2 to 1"),
        ({"qd_limits": -1.0}, OptionError, "qd_limits"),
        ({"qdd_limits": "fast"}, ShapeError, "qdd_limits"),
        ({"torque_limits": 1e-3}, OptionError, "hold its own weight"),
        ({"center": "ready"}, OptionError, "no configuration 'ready'"),
        ({"center": [9.0, 0.0], "q_limits": [-1.0, 1.0]}, OptionError, "center of joint"),
        ({"table": [1, 2, 3]}, ShapeError, "table has shape"),
        ({"table": ((0, 0, 0), (0, 0, 0))}, ShapeError, "point, normal"),
        ({"clearance": -0.1}, OptionError, "clearance is -0.1"),
        ({"capsule_radius": 0.0}, OptionError, "capsule_radius"),
    ],
)
def test_bad_inputs_are_named(options, kind, words):
    with pytest.raises(kind, match=words):
        excite(dy.load("planar-rr"), **options)


def inside_the_optimiser(thread):
    """Whether a thread is in the compiled code of CasADi, called by the design."""
    frame, codes = sys._current_frames()[thread], []
    while frame is not None:
        codes.append(frame.f_code)
        frame = frame.f_back
    return Problem.solve.__code__ in codes and "casadi" in codes[0].co_filename


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals as POSIX has them")
def test_an_interrupt_inside_the_optimiser_ends_the_design():
    main, over, pressed = threading.get_ident(), threading.Event(), threading.Event()
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background

    def press():
        while not over.wait(1e-3):
            if inside_the_optimiser(main):
                pressed.set()
                os.kill(os.getpid(), signal.SIGINT)
                return

    presser = threading.Thread(target=press)
    presser.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            while not pressed.is_set():  # on a slow machine the moment may pass unseen
                excite(dy.load("pendulum3"))
    finally:
        over.set()
        presser.join()
        after = signal.signal(signal.SIGINT, outside)
    assert after is signal.default_int_handler


def test_a_design_runs_in_any_thread():
    found = []
    thread = threading.Thread(
        target=lambda: found.append(excite(dy.load("planar-rr"), starts=1, max_iterations=5))
    )
    thread.start()
    thread.join()
    assert found[0].gain.condition_best > 0.0


def test_robots_that_cannot_be_excited_are_refused():
    with pytest.raises(DynamisError, match="com_factor"):
        excite(dy.load("rppr"))
    with pytest.raises(OptionError, match="expected a Robot"):
        excite("planar-rr")  # type: ignore[arg-type]
