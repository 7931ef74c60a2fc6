"""What is not a number never comes out of a law in C; time keeps its digits."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.realtime import Law

from .laws_in_c import ARM, CONTROLLERS, DT, INF, NAN, REFERENCES, InPython, Library, control, write

pytestmark = pytest.mark.usefixtures("gcc")


LIMIT = 7.0


def guarded(**options):
    robot = dy.load("planar-2link")
    law = control.ComputedTorque.from_bandwidth(robot, 8.0, integral=True)
    return Law(law, robot, DT, limit=LIMIT, safe="gravity", safe_damping=2.0, ramp=0.1, **options)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The guarded law in Python and compiled in every form, with a name each."""
    law = guarded()
    forms = [(d, t) for d in ("float64", "float32") for t in ("own", "libm")]
    found = {f"{d} {t}": Library(law, tmp_path_factory.mktemp("c"), d, t) for d, t in forms}
    return {"python": InPython(law), **found}


REST, GOOD = ([0.1, 0.2], [0.0, 0.0]), ([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])


@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e9, -1e9, 1e6])
@pytest.mark.parametrize("where", ["q", "qd", "reference"])
def test_two_bad_samples_latch_and_a_start_leaves(both, bad, where):
    for law in both.values():
        measured = ([0.1, bad], [0.0, 0.0]) if where == "q" else REST
        measured = ([0.1, 0.2], [bad, 0.0]) if where == "qd" else measured
        wanted = ([0.1, 0.2], [0.0, bad], [0.0, 0.0]) if where == "reference" else GOOD
        law.start(*REST)
        states = [law.step(*REST, GOOD)[1], law.step(*measured, wanted)[1]]
        states += [law.step(*REST, GOOD)[1], law.step(*measured, wanted)[1]]
        assert states == [0, 1, 0, 1]
        assert law.step(*measured, wanted)[1] == 2
        assert law.step(*REST, GOOD)[1] == 2  # good again, but latched
        law.start(*REST)
        assert law.step(*REST, GOOD)[1] == 0


def test_the_safe_torque_is_gravity_and_fades(both):
    robot = dy.load("planar-2link")
    weight = np.clip(robot.gravity_torque([0.1, 0.2]), -LIMIT, LIMIT)
    for law in both.values():
        law.start(*REST)
        taus = [law.step([NAN, NAN], [0.0, 0.0], GOOD)[0] for _ in range(30)]
        assert np.allclose(taus[0], weight, rtol=1e-5)
        assert (np.abs(taus[-1]) == 0.0).all()


@pytest.mark.parametrize("trig", ["own", "libm"])
def test_a_law_that_fails_inside_gives_the_safe_torque(tmp_path, trig):
    robot = dy.load("planar-2link")
    plane = [bool(np.abs(row).any()) for row in robot.jacobian([0.3, 0.4])[:3]] + [False] * 3
    inner = control.TaskSpace.from_bandwidth(robot, 8.0, task=plane, singular_damping=0.0)
    law = Law(inner, robot, DT)
    for one in (InPython(law), Library(law, tmp_path, "float64", trig)):
        stretched = [0.0, 0.0]  # no inverse of the Jacobian here
        one.start(*REST)
        assert one.step(*REST, GOOD)[1] == 0
        tau, status = one.step(stretched, [0.0, 0.0], GOOD)
        assert status == 1 and (tau == 0.0).all()


def test_a_bad_start_is_a_start_at_zero(both):
    for law in both.values():
        law.start([NAN, 1e9], [INF, NAN])
        tau, status = law.step(*REST, GOOD)
        assert status == 0 and np.isfinite(tau).all()


def test_a_reference_jump_is_followed_within_the_limit(both):
    for law in both.values():
        law.start(*REST)
        tau, status = law.step(*REST, ([9e5, -9e5], [0.0, 0.0], [0.0, 0.0]))
        assert status in (0, 1) and (np.abs(tau) <= LIMIT).all()


def test_time_is_held_between_the_ends(tmp_path):
    robot = dy.load("planar-2link")
    law = Law(CONTROLLERS["torque"](robot), robot, DT, REFERENCES["quintic"](2))
    for one in (InPython(law), Library(law, tmp_path)):
        found = []
        for t in (-5.0, 0.0, 0.6, 60.0):
            one.start(*REST)
            tau, status = one.step(*REST, (t,))
            assert status == 0
            found.append(tau)
        assert (found[0] == found[1]).all() and (found[2] == found[3]).all()
        assert (found[0] != found[2]).any()
        one.start(*REST)
        assert one.step(*REST, (NAN,))[1] == 1


def test_velocities_that_are_not_used_change_nothing(tmp_path):
    robot = dy.load("planar-2link")
    law = Law(CONTROLLERS["torque"](robot), robot, DT, velocity="difference", velocity_filter=30.0)
    one, found = Library(law, tmp_path), []
    for junk in (0.0, NAN, 123.0):
        one.start(REST[0], [junk, junk])
        steps = [one.step([0.1 + 0.001 * k, 0.2], [junk, junk], GOOD) for k in range(5)]
        assert [status for _, status in steps] == [0] * 5
        found.append([tau for tau, _ in steps])
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


PATTERNS = st.integers(0, 2**64 - 1).map(lambda b: float(np.uint64(b).view(np.float64)))
GARBAGE = st.one_of(
    PATTERNS, st.floats(), st.floats(-3, 3), st.sampled_from([5e-324, 1e-310, 1e-40, 1e308, -0.0])
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(st.lists(GARBAGE, min_size=10, max_size=10), min_size=1, max_size=5))
def test_garbage_never_comes_out(both, rows):
    for law in both.values():
        law.start(rows[0][:2], rows[0][2:4])
        with np.errstate(over="ignore", invalid="ignore"):
            steps = [law.step(r[:2], r[2:4], (r[4:6], r[6:8], r[8:])) for r in rows]
        for tau, status in steps:
            assert status in (0, 1, 2)
            assert (np.abs(tau) <= LIMIT).all()  # false for NaN


# long runs in single precision


@pytest.mark.parametrize(
    "motion",
    [
        dy.trajectory.sine([0.0, 0.0], [0.3, 0.2], [0.5, 0.75]),
        dy.trajectory.fourier([[0.1], [0.2]], [[0.2], [0.0]], 4.0),
        dy.trajectory.quintic([0.0, 0.0], [0.5, -0.5], 3.0),
    ],
    ids=["sine", "fourier", "quintic"],
)
def test_time_keeps_its_digits_in_single_precision(motion, tmp_path):
    """Torques of a day's run are those of the law in double."""
    law = Law(dy.control.FeedForward(100.0, 20.0), ARM, 0.001, reference=motion)
    one, whole = Library(law, tmp_path, "float32"), InPython(law)
    rest = np.array([0.1, 0.2]), np.zeros(2)
    one.start(*rest), whole.start(*rest)
    scale = np.abs([whole.step(*rest, (t,))[0] for t in np.linspace(0, 5, 50)]).max()
    for t in (0.0, 2.9, 10.123, 1e3 + 0.1, 86_400.777, 1e6 + 0.25, 3e7 + 1 / 3):
        tau, status = one.step(*rest, (t,))
        assert status == 0
        assert np.abs(tau - whole.step(*rest, (t,))[0]).max() < 2e-5 * scale, t
    for t in (NAN, np.inf, -np.inf, 1e13):
        assert one.step(*rest, (t,))[1] == whole.step(*rest, (t,))[1] == 1
        one.start(*rest), whole.start(*rest)
    assert (one.step(*rest, (-5.0,))[0] == one.step(*rest, (0.0,))[0]).all()


def test_a_motion_that_never_repeats_is_refused_in_single_precision(tmp_path):
    motion = dy.trajectory.sine([0.0, 0.0], [0.3, 0.2], [1.0, 2**0.5])
    with pytest.raises(OptionError, match="time loses its digits"):
        write(Law(dy.control.JointPID(1.0), ARM, 0.001, reference=motion), tmp_path, "float32")
    write(Law(dy.control.JointPID(1.0), ARM, 0.001, reference=motion), tmp_path, "float64")
