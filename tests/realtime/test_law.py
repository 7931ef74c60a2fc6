"""The law that leaves Python: the end of a motion, limits, bad samples, lost positions."""

import ast
import re

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.law import BAD, LATCHED, RUNNING, Law
from dynamis.errors import OptionError
from dynamis.spatial.functions import MATH
from tests.closed_mechanisms import four_bar

ARM = dy.load("planar-2link")
TIME = 0.01
NAN = [float("nan")] * 2


def stepped(law, rows, start=None):
    """Torques and statuses over samples (q, qd, wanted)."""
    state = law.start(*(start or rows[0][:2]), MATH)
    found = []
    for q, qd, wanted in rows:
        torque, state, status = law.step(state, list(q), list(qd), wanted, MATH)
        found.append((np.array(torque), status, dict(law._named(state))))
    return found


@pytest.mark.parametrize(
    "motion",
    [
        dy.trajectory.cubic([0.0, 0.0], [1.0, -0.5], 1.0),
        dy.trajectory.sine([0.0, 0.0], [1.0, 0.5], 1.0),
        dy.trajectory.quintic([0.0, 0.0], [1.0, -0.5], 1.0),
    ],
    ids=["cubic", "sine", "quintic"],
)
def test_a_motion_inside_ends_as_it_does_in_python(motion):
    law = Law(dy.control.FeedForward(10.0, 2.0), ARM, TIME, reference=motion)
    for t in (0.3, 1.0, 1.01, 2.7):
        there = motion(t)
        outside = Law(dy.control.FeedForward(10.0, 2.0), ARM, TIME)
        rest = [0.1, 0.2]
        given = [x.tolist() for x in there]
        inside = stepped(law, [(rest, rest, t)])[0][0]
        np.testing.assert_allclose(
            inside, stepped(outside, [(rest, rest, given)])[0][0], rtol=1e-12
        )


def test_a_limit_stops_the_integral():
    """A blocked arm: the integral does not grow while the torque is at its limit."""
    for controller in (
        dy.control.ComputedTorque(100.0, 20.0, 200.0, model=ARM),
        dy.control.JointPID(1000.0, 500.0, 50.0),
    ):
        law = Law(controller, ARM, TIME, limit=50.0)
        rows = [([0.0, 0.0], [0.0, 0.0], [[0.5, 0.5], [0.0, 0.0], [0.0, 0.0]])] * 300
        torque, status, state = stepped(law, rows)[-1]
        assert status == RUNNING and np.abs(torque).max() == 50.0
        assert np.abs(state["controller.integral"]).max() < 0.02


def test_a_jump_of_the_reference_is_clipped_not_feared():
    law = Law(dy.control.ComputedTorque(1e4, 200.0), ARM, TIME, limit=50.0)
    torque, status, _ = stepped(law, [([0.0] * 2, [0.0] * 2, [[100.0] * 2, [0.0] * 2, [0.0] * 2])])[
        0
    ]
    assert status == RUNNING and np.abs(torque).max() == 50.0


def test_speed_from_differences_survives_lost_samples():
    """At constant speed a lost sample, or a start without a position, makes no jump."""
    law = Law(dy.control.JointPID(0.0, 0.0, 1.0), ARM, TIME, velocity="difference")
    still = [[0.0] * 2] * 3
    rows = [([k * TIME, -2 * k * TIME], [0.0] * 2, still) for k in range(1, 8)]
    rows[3] = (NAN, [0.0] * 2, still)
    found = stepped(law, rows, start=([0.0] * 2, [0.0] * 2))
    assert [status for _, status, _ in found] == [RUNNING] * 3 + [BAD] + [RUNNING] * 3
    np.testing.assert_array_equal(found[0][0], [0.0, 0.0])  # no rate yet: the one that is wanted
    for torque, status, _ in found[1:]:
        if status == RUNNING:
            np.testing.assert_allclose(torque, [-1.0, 2.0], rtol=1e-9)
    blind = stepped(law, [([0.5, 0.5], [0.0] * 2, still)], start=(NAN, NAN))
    np.testing.assert_array_equal(blind[0][0], [0.0, 0.0])


def test_the_safe_torque_is_a_number():
    """Gravity compensation ramps down; absurd speeds give nothing."""
    law = Law(dy.control.JointPID(1.0), ARM, TIME, safe="gravity", safe_damping=2.0, ramp=0.1)
    bad = [NAN, [0.0] * 2, [0.0] * 2]
    rows = [([0.3, 0.2], [0.0] * 2, bad)] * 15
    found = stepped(law, rows)
    np.testing.assert_allclose(found[0][0], ARM.gravity_torque([0.3, 0.2]))
    assert found[1][1] == LATCHED and not found[-1][0].any()
    assert np.isfinite(stepped(law, [([0.0] * 2, [9e5] * 2, bad)])[0][0]).all()
    with pytest.raises(OptionError, match="safe_damping"):
        Law(dy.control.JointPID(1.0), ARM, TIME, safe="gravity", safe_damping=np.inf)


@pytest.mark.parametrize("name", ["ur5e", "scara", "polar-rp", "five-bar"])
def test_a_safe_damping_that_shakes_the_arm_is_refused(name):
    """What is proposed instead takes velocity away in every sample, wherever the arm is."""
    robot = dy.load(name)

    def law(damping):
        return Law(dy.control.JointPID(1.0), robot, TIME, safe="gravity", safe_damping=damping)

    with pytest.raises(OptionError, match="shakes the arm") as refused:
        law(1e4)
    steady = ast.literal_eval(re.search(r"in numbers (\[.*?\]) take", refused.value.hint)[1])
    assert law(steady).damping == steady
    q = robot.home[None]
    if not robot.model.closures:
        q = np.random.default_rng(3).uniform(*np.clip(robot.limits, -3, 3).T, (20, robot.n))
    for M in robot.mass_matrix(q):
        left = np.eye(len(M)) - TIME * np.linalg.solve(M, np.diag(steady))
        assert np.abs(np.linalg.eigvals(left)).max() < 1.0


def let_down(law, q, qd, samples):
    """Torques of samples in a row whose reference is not a number, (samples, n)."""
    n = law.n
    rows = [(q, qd, [[NAN[0]] * n, [0.0] * n, [0.0] * n])] * samples
    return np.array([torque for torque, _, _ in stepped(law, rows)])


@pytest.mark.parametrize("told", [{}, {"velocity": "difference", "velocity_filter": 5.0}])
@pytest.mark.parametrize(("time", "rate"), [(0.005, 20.0), (0.1, 5.0)])
def test_the_usual_safe_damping_stops_all_velocities_at_one_rate(time, rate, told):
    law = Law(dy.control.JointPID(1.0), ARM, time, safe="gravity", **told)
    assert law.brake == (min(rate, 0.5 * np.pi * 5.0) if told else rate)
    assert law.brake * time <= 0.5 and not any(law.damping)


@pytest.mark.parametrize("name", ["elbow6", "ur5e", "polar-rp", "five-bar", "sixr"])
def test_an_arm_that_is_let_down_is_damped_by_its_mass_matrix(name):
    robot = dy.load(name)
    law = Law(dy.control.JointPID(1.0), robot, TIME, safe="gravity", ramp=10 * TIME)
    rng, driven = np.random.default_rng(4), robot.driven
    q = robot.home if robot.model.closures else rng.uniform(-1, 1, robot.n)
    qd = rng.normal(size=law.n)
    found = let_down(law, q[driven].tolist(), qd.tolist(), 12)
    order = [robot.independent.index(k) for k in driven]
    M = robot.mass_matrix(q)[np.ix_(order, order)]
    hold = let_down(law, q[driven].tolist(), [0.0] * law.n, 12)
    # gravity compensation fades, the damping stays until it is gone; then there is no torque
    np.testing.assert_allclose(
        found[:10] - hold[:10], np.tile(-law.brake * M @ qd, (10, 1)), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(hold[5], 0.5 * hold[0], rtol=1e-9, atol=1e-9)
    assert np.abs(found[10:]).max() < 1e-9


def test_no_pose_makes_the_let_down_unstable():
    """Near this pose of the elbow6 a damping of its joints alone shakes it harder and harder."""
    robot = dy.load("elbow6").with_friction(viscous=0.0, coulomb=0.0)
    law = Law(dy.control.JointPID(1.0), robot, TIME, safe="gravity", ramp=1.0)
    q = np.array([0.55, 1.57, -1.57, -0.46, 3.14, -1.69])
    worst = np.linalg.eigh(robot.mass_matrix(q))[1][:, 0]  # the direction of least inertia
    qd, energies = worst.copy(), []
    for _ in range(20):
        energies.append(robot.kinetic_energy(q, qd))
        tau = let_down(law, q.tolist(), qd.tolist(), 1)[0]
        for _ in range(4):
            qdd = robot.forward_dynamics(q, qd, tau)
            q, qd = q + TIME / 4 * qd, qd + TIME / 4 * qdd
    assert (np.diff(energies) < 0.0).all() and energies[-1] < 0.1 * energies[0]


def test_damping_by_the_mass_matrix_needs_one_of_the_drives():
    controller = dy.control.JointPID(1.0)
    twice = four_bar(passive=(False, False, True))
    with pytest.raises(OptionError, match="no mass matrix of its drives") as refused:
        Law(controller, twice, TIME, safe="gravity")
    assert "safe_damping in numbers" in str(refused.value)
    assert Law(controller, twice, TIME, safe="gravity", safe_damping=0).n == len(twice.driven)
    with pytest.raises(OptionError, match="safe_damping is 'aut', expected numbers or 'auto'"):
        Law(controller, ARM, TIME, safe="gravity", safe_damping="aut")


def test_the_safe_torque_keeps_the_limit_of_the_law():
    pid = dy.control.JointPID(1.0, limit=[3.0, 1.0])
    law = Law(pid, ARM, TIME, safe="gravity")
    bad = [NAN, [0.0] * 2, [0.0] * 2]
    torque = stepped(law, [([0.3, 0.2], [0.0] * 2, bad)])[0][0]
    heavy = ARM.gravity_torque([0.3, 0.2])
    assert (abs(heavy) > [3.0, 1.0]).all()
    np.testing.assert_allclose(torque, np.sign(heavy) * [3.0, 1.0])


@pytest.mark.parametrize("latch", [1, 2, 5])
def test_so_many_bad_samples_in_a_row_latch(latch):
    """One fewer runs again with the next good sample; a good one between begins anew."""
    law = Law(dy.control.JointPID(1.0), ARM, TIME, latch=latch)
    still = [[0.5] * 2, [0.0] * 2, [0.0] * 2]
    good, bad = ([0.0] * 2, [0.0] * 2, still), (NAN, [0.0] * 2, still)
    fewer, enough = latch - 1, latch
    found = stepped(law, [good, *[bad] * fewer, good, *[bad] * fewer, good])
    torques, statuses, _ = zip(*found, strict=True)
    spell = [RUNNING, *[BAD] * fewer]
    assert list(statuses) == [*spell, *spell, RUNNING]
    np.testing.assert_array_equal(torques[-1], [0.5, 0.5])
    found = stepped(law, [good, *[bad] * enough, good, good])
    assert [status for _, status, _ in found] == [*spell, LATCHED, LATCHED, LATCHED]
    assert not any(torque.any() for torque, _, _ in found[1:])


@pytest.mark.parametrize("latch", [0, -1, True, 1.5, "2", None])
def test_a_latch_is_a_number_of_samples(latch):
    with pytest.raises(OptionError, match="expected a whole number above 0"):
        Law(dy.control.JointPID(1.0), ARM, TIME, latch=latch)


@pytest.mark.parametrize(
    "change, said",
    [
        ({"reference": [0.0, 0.0]}, "expected a trajectory"),
        ({"robot": "puma560"}, "expected a Robot"),
        ({"controller": None}, "expected one of dy.control"),
    ],
)
def test_wrong_arguments(change, said):
    given = {"controller": dy.control.JointPID(1.0), "robot": ARM, "sample_time": TIME, **change}
    with pytest.raises(OptionError, match=said):
        Law(**given)


def test_a_start_in_motion_makes_no_kick():
    """A law that makes velocities from positions is on its reference from the first sample on."""
    damper = dy.control.JointPID(0.0, 0.0, 1.0, derivative="error")
    law = Law(damper, ARM, TIME, velocity="difference", velocity_filter=5.0)
    move = [[0.0] * 2, [1.0, -2.0], [0.0] * 2]
    rows = [([k * TIME, -2 * k * TIME], [0.0] * 2, move) for k in range(6)]
    for torque, status, _ in stepped(law, rows):
        assert status == RUNNING
        np.testing.assert_allclose(torque, [0.0, 0.0], atol=1e-9)


def test_without_a_position_there_is_no_gravity_torque():
    law = Law(dy.control.JointPID(1.0), ARM, TIME, safe="gravity", latch=5)
    still = [[0.0] * 2] * 3
    blind = stepped(law, [(NAN, NAN, still)] * 2, start=(NAN, NAN))
    assert not any(torque.any() for torque, _, _ in blind)
    half = stepped(law, [([0.3, NAN[0]], [0.0] * 2, still)], start=([0.3, NAN[0]], [0.0] * 2))
    assert not half[0][0].any()
    known = stepped(law, [(NAN, NAN, still)], start=([0.3, 0.2], [0.0] * 2))
    np.testing.assert_allclose(known[0][0], ARM.gravity_torque([0.3, 0.2]))


def test_a_leap_of_a_position_is_a_bad_sample():
    law = Law(dy.control.JointPID(1.0), ARM, TIME, jump=[0.1, 0.1], latch=4)
    still, rest = [[0.0] * 2] * 3, [0.0] * 2
    rows = [([0.0, 0.0], rest, still), ([0.05, -0.09], rest, still), ([1.05, 0.0], rest, still),
            ([0.24, 0.0], rest, still), ([0.26, 0.0], rest, still)]  # fmt: skip
    found = [status for _, status, _ in stepped(law, rows)]
    assert found == [RUNNING, RUNNING, BAD, RUNNING, RUNNING]  # a sample lost allows twice as far
    for wrong in (0.0, -1.0, [1.0, 2.0, 3.0], "far"):
        with pytest.raises(dy.errors.DynamisError, match="jump"):
            Law(dy.control.JointPID(1.0), ARM, TIME, jump=wrong)


def test_time_goes_on_for_longer_than_an_arm_lasts():
    motion = dy.trajectory.sine([0.0, 0.0], [1.0, 0.5], 1.0)
    law = Law(dy.control.JointPID(1.0), ARM, TIME, reference=motion)
    found = stepped(law, [([0.0] * 2, [0.0] * 2, t) for t in (999_999.5, 1e6, 1e9)])
    assert [status for _, status, _ in found] == [RUNNING] * 3


def test_the_tighter_of_two_limits_stops_the_integral():
    loose = dy.control.ComputedTorque(10.0, 1.0, 5.0, limit=1000.0)
    law = Law(loose, ARM, TIME, limit=[2.0, 3.0])
    assert law.gains["limit"] == [2.0, 3.0]
    assert Law(loose, ARM, TIME, limit=5000.0).gains["limit"] == [1000.0, 1000.0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0.0}, "limit is 0.0, expected torques above 0"),
        ({"limit": [1.0, -1.0]}, "limit"),
        ({"safe_damping": 1.0}, "the safe torque is zero"),
        ({"latch": 10**400}, "latch is 1000"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, said):
    with pytest.raises(OptionError, match=said):
        Law(dy.control.JointPID(1.0), ARM, TIME, **options)


def test_a_latch_may_be_any_whole_number():
    assert Law(dy.control.JointPID(1.0), ARM, TIME, latch=np.int64(3)).latch == 3
