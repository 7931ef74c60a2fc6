"""Exciting motions of closed mechanisms: closed, inside limits, away from singularities."""

import casadi as ca
import numpy as np
import pytest

import dynamis as dy
from dynamis.compile.tracer import nested
from dynamis.errors import OptionError, ShapeError
from dynamis.excite.design import Problem, _loops, excite
from dynamis.excite.excitation import CRITERIA, measure
from dynamis.excite.limits import resolved
from dynamis.excite.loops import LOOSER
from dynamis.excite.series import Check, Series
from dynamis.excite.traced_loops import _log_conditions
from dynamis.excite.workspace import clearance_margins
from dynamis.identify.friction.models import friction_named
from dynamis.identify.unknowns import unknowns
from dynamis.robot.bodies.body import placed_bodies, rods_of
from dynamis.spatial.functions import MATH
from tests.closed_mechanisms import bar, five_bar, four_bar, made, planar_3rpr

pytestmark = pytest.mark.usefixtures("compiled")

CLOSED = 1e-9
FINE = 1009  # times at which limits are looked at: a prime, none of the design's own
GRADIENT = 1e-5  # central differences of a step of 1e-6 on a function near 10
QUICK = {"harmonics": 3, "period": 5.0, "starts": 1, "max_iterations": 5}


@pytest.fixture(scope="module")
def found():
    return excite(dy.load("five-bar"), **{**QUICK, "max_iterations": 60})


def fine(found):
    steps = found.duration / FINE
    return found.all_joints(steps)


@pytest.mark.thorough
def test_every_joint_keeps_its_limits_and_the_loops_stay_closed(found):
    robot = found.robot
    t, q, qd, qdd = fine(found)
    assert np.abs(robot.closure_error(q)).max() < CLOSED
    low, high = robot.limits.T
    assert (q >= low).all() and (q <= high).all()
    assert (np.abs(qd[:, robot.driven]) <= 15.0).all()
    assert (np.abs(robot.inverse_dynamics(q, qd, qdd)) <= 30.0).all()
    assert not any(f.level == "error" for f in found.findings)
    np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], qd[1:-1], atol=2e-2)
    np.testing.assert_allclose(q[0], q[-1], atol=CLOSED)  # the same assembly after a period


@pytest.mark.thorough
def test_it_stays_away_from_singularities_and_says_how_far(found):
    singularity = found.robot.singularity(fine(found).q)
    worst = np.maximum(singularity.serial, singularity.parallel)
    assert max(worst.max(), singularity.loops.max() / LOOSER) <= 20.0
    assert found.worst_conditioning.kind in ("serial", "parallel")
    assert found.worst_conditioning.number == pytest.approx(worst.max(), rel=1e-2)
    assert "nearest to singular" in repr(found)


def test_it_beats_random_motions(found):
    assert found.gain.condition_median > 3.0  # measured: 6 in this many iterations
    assert found.gain.information_median > 3.0


def test_the_reference_is_of_the_drives(found, tmp_path):
    robot = found.robot
    assert found.trajectory.n == 2
    assert found.trajectory.check(robot) == []
    state = found.trajectory([0.0, found.period])
    assert np.abs(state.qd).max() < 1e-10 and np.abs(state.qdd).max() < 1e-10
    every = found.all_joints(0.05)
    np.testing.assert_array_equal(every.q[:, robot.driven], found.sample(0.05).q)
    path = found.save(tmp_path / "excite.csv", 0.05)
    assert path.read_text().splitlines()[0] == "t,q1,q2,qd1,qd2,qdd1,qdd2"
    assert len(found.plot().axes[0].lines) == 2


def test_a_controller_follows_it(found):
    """Simulated under a PID the mechanism stays closed and inside the limits of its joints."""
    robot = found.robot
    q0 = found.all_joints(0.05).q[0]
    law = dy.control.JointPID.from_bandwidth(robot, 100.0, q=q0)
    run = dy.simulate(robot, found.period, 1e-3, q0=q0, controller=law, reference=found.trajectory)
    assert np.abs(robot.closure_error(run.q)).max() < CLOSED
    low, high = robot.limits.T
    away = np.abs(run.error).max()
    assert away < 0.15
    assert (run.q >= low - away).all() and (run.q <= high + away).all()
    assert robot.singularity(run.q).worst.max() < 30.0


def setting(robot, harmonics=3, own=True, **limits):
    given = {"q": None, "qd": None, "qdd": None, "tau": None, **limits}
    bounds = resolved(robot, own, None, **given)
    loops = _loops(robot, bounds, "usual")
    series = Series(harmonics, 5.0, bounds.of(robot.independent))
    space = clearance_margins(robot, None, None, 0.02, series.bounds.q, loops.seen(50))
    return Check(robot, space, series, loops)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("expressed", [100, 0])
def test_the_design_has_the_reported_value_and_exact_slopes(criterion, expressed, monkeypatch):
    """Of the criterion, as an expression and by numbers, and of every limit."""
    monkeypatch.setattr("dynamis.excite.design.EXPRESSED", expressed)
    check = setting(dy.load("five-bar"), qd=[5.0, 8.0, 5.0, 9.0], qdd=40.0)
    asked = unknowns(check.robot, friction_named("viscous"))  # no sign: nothing is smoothed
    rng = np.random.default_rng(3)
    crowd = check.series.random(rng, check.places(rng, 4), check.times(40))
    crowd = check.repaired(crowd, 40)[0]
    t = check.times(24)
    state = tuple(x.reshape(-1, 4) for x in check.states(crowd, t))
    scale = measure(asked, criterion, 1e-6, state)
    problem = Problem(check, scale, 24, 5)
    X, step = crowd[0], rng.normal(size=crowd[0].shape)
    assert problem.follow.begin(check.states(X, problem.t)[0])
    values = ca.vertcat(problem.objective, *(ca.vec(limit) for limit, _, _ in problem.limits))
    f = ca.Function("f", [problem.x], [values])
    g = ca.Function("g", [problem.x], [ca.jacobian(values, problem.x)])
    value = scale.figures(*check.states(X, t)).value
    assert float(f(X)[0]) == pytest.approx(-value, rel=1e-9)
    slope = np.asarray((f(X + 1e-6 * step) - f(X - 1e-6 * step)) / 2e-6).ravel()
    exact = np.asarray(g(X)) @ step.ravel(order="F")
    np.testing.assert_allclose(exact, slope, rtol=1e-4, atol=GRADIENT * np.abs(slope).max())


def test_smooth_condition_numbers_are_not_below_the_reported_ones():
    for robot in (dy.load("five-bar"), planar_3rpr()):
        loops = setting(robot, own=False).loops  # that found first has legs of negative lengths
        q = loops.seen(40)
        x = ca.SX.sym("q", robot.n)
        values, side = _log_conditions(loops, nested(x, (robot.n,)))
        f = ca.Function("f", [x], [ca.vertcat(*values, side)])
        parallel, serial, side = np.array([np.asarray(f(row)).ravel() for row in q]).T
        exact = robot.singularity(q)
        for smooth, number in ((parallel, exact.parallel), (serial, exact.serial)):
            ratio = np.exp(smooth) / number
            assert (ratio > 1.0 - 1e-9).all() and (ratio < robot.dof**0.25 + 1e-9).all()
        mine = loops.conditions(q)
        np.testing.assert_allclose(mine[:, 0], exact.serial, rtol=1e-9)
        np.testing.assert_allclose(mine[:, 1], exact.parallel, rtol=1e-9)
        np.testing.assert_allclose(mine[:, 2], exact.loops, rtol=1e-9)


def test_motions_that_pass_a_singularity_are_shrunk_before_it():
    """The cranks are pulled apart until the couplers are nearly in line: they stop earlier."""
    links = [
        bar("a1", length=0.3), bar("a2", "a1", (0.3, 0, 0), passive=True),
        bar("b1", xyz=(1.2, 0, 0), length=0.3), bar("b2", "b1", (0.3, 0, 0), passive=True),
    ]  # fmt: skip
    pin = ({"xyz": (0.4, 0, 0)}, {"xyz": (0.4, 0, 0)})
    wide = made("wide", links, [dy.Closure(kind="pin", between=("a2", "b2"), frames=pin)])
    check = setting(wide)
    rng = np.random.default_rng(0)
    X = check.series.random(rng, check.places(rng, 6), check.times(60))
    X[:, 1:] *= 3.0
    fitted, factor = check.repaired(X, 60)
    assert (check.excess(X, 60) > 0.0).all() and (factor < 1.0).all()
    fitted = fitted[factor > 0.0]
    assert len(fitted)
    q = check.states(fitted, check.times(60))[0]
    assert (wide.singularity(q).worst <= 20.0 * LOOSER).all()
    assert (check.loops.strain(q) <= 1.0).all()


@pytest.mark.thorough
def test_limits_of_passive_joints_bind(found):
    """A limit that the free motion breaks is kept, and used; no motion ends in another mode."""
    robot = found.robot
    low = robot.home[1] - 0.4 * (robot.home[1] - found.demand.low[1])
    bounds = np.array(robot.limits)
    bounds[1] = [low, np.inf]
    assert found.demand.low[1] < low
    bound = excite(robot, q_limits=bounds, **QUICK)
    q = fine(bound).q
    assert low <= q[:, 1].min() < low + 0.2
    assert (np.sign(q[:, [1, 3]]) == np.sign(robot.home[[1, 3]])).all()


@pytest.mark.thorough
def test_limits_and_centers_are_given_for_drives_or_for_all_joints():
    robot = dy.load("five-bar")
    drives = [2.2, 1.0]
    found = excite(robot, center=drives, qd_limits=[0.5, 1.0], **QUICK)
    np.testing.assert_allclose(found.trajectory.q0, drives, atol=1e-12)
    assert (np.abs(fine(found).qd[:, robot.driven]) <= [0.5, 1.0]).all()
    given = resolved(robot, True, None, None, 0.5, None, [10.0, 20.0])
    assert given.qd.tolist() == [0.5, np.inf, 0.5, np.inf]  # passive joints have no such limit
    assert given.tau.tolist() == [10.0, np.inf, 20.0, np.inf]
    other = robot.assemble(robot.home[list(robot.driven)])
    other = other[np.abs(other - robot.home).max(axis=1) > 0.1][0]
    there = excite(robot, center=other, **QUICK)  # another assembly: the motion stays in it
    assert np.abs(fine(there).q - other).max() < np.abs(fine(there).q - robot.home).max()


def test_drives_that_follow_have_a_series_of_their_own():
    """Three drives on two degrees of freedom: the reference of the third is where it is."""
    links = [
        bar("a1", length=0.3, velocity_limit=4.0),
        bar("a2", "a1", (0.3, 0, 0), velocity_limit=6.0),
        bar("b1", xyz=(0.4, 0, 0), length=0.3, velocity_limit=4.0),
        bar("b2", "b1", (0.3, 0, 0), passive=True),
    ]
    pin = ({"xyz": (0.4, 0, 0)}, {"xyz": (0.4, 0, 0)})
    robot = made("three", links, [dy.Closure(kind="pin", between=("a2", "b2"), frames=pin)])
    assert len(robot.driven) == 3 > robot.dof
    check = setting(robot)
    rng = np.random.default_rng(0)
    X = check.series.random(rng, check.places(rng, 1), check.times(60))
    X, factor = check.repaired(X, 60)
    assert factor[0] > 0.0
    made_of, t = check.trajectory(X[0]), np.linspace(0.0, 5.0, 77)
    for own, every in zip(made_of(t), check.states(X[0], t), strict=True):
        np.testing.assert_allclose(own, every[:, robot.driven], atol=1e-7 * np.abs(every).max())


def test_bodies_of_closed_mechanisms_reach_their_closures():
    robot = five_bar()
    rods = rods_of(robot.chain)
    placed = [(x.a, x.b) for x in placed_bodies(robot.chain, rods, robot.home.tolist(), MATH)]
    tips = robot.frames(robot.home)[[2, 4]] @ np.array([0.4, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(tips[0], tips[1], atol=1e-6)
    assert sum(np.allclose(b, tips[0][:3], atol=1e-6) for _, b in placed) == 2
    assert all(rod.link >= 0 for rod in rods_of(dy.load("gough-stewart").chain) if rod.slide)
    slides = {rod.link for rod in rods_of(dy.load("gough-stewart").chain) if rod.slide}
    assert slides == set(dy.load("gough-stewart").driven)  # not those of the platform's place
    held = four_bar().model
    rod = dy.Closure(kind="rod", between=("coupler", "rocker"), frames=held.closures[0].frames,
                     length=0.1)  # fmt: skip
    pieces = rods_of(made("rod", list(held.links), [rod]).chain)
    assert [(x.link, x.to) for x in pieces if x.to is not None] == [(1, 2)]


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"max_condition": 0.5}, OptionError, "max_condition is 0.5"),
        ({"center": [9.0, 9.0]}, OptionError, "does not come there|center of joint"),
        ({"center": [1.0, 2.0, 3.0]}, ShapeError, "those of the drives"),
        ({"center": [0.1, 0.2, 0.3, 0.4]}, dy.errors.ClosureError, "does not close"),
        ({"qd_limits": [1.0, 2.0, 3.0]}, ShapeError, "of the drives"),
    ],
)
def test_bad_inputs_are_named(options, kind, words):
    with pytest.raises(kind, match=words):
        excite(dy.load("five-bar"), **options)


def test_too_few_drives_are_refused_by_name():
    robot = four_bar(passive=(True, True, True))
    with pytest.raises(OptionError, match="1 degree of freedom: its drives do not decide joint2"):
        excite(robot)
    with pytest.raises(OptionError, match="home of joint 'joint5' is"):
        excite(planar_3rpr())
    with pytest.raises(OptionError, match="has no closures"):
        excite(dy.load("planar-rr"), max_condition=10.0)
