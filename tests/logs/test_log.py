"""A log checks itself, is cut and resampled without inventing anything, and survives its file."""

import types

import numpy as np
import pytest

from dynamis.errors import FileError, OptionError, ShapeError
from dynamis.identify import Log, read_log
from dynamis.model.check.finding import Finding


def motion(t, n=2):
    """A smooth motion with its exact derivatives: (q, qd, qdd, tau)."""
    phase = np.asarray(t)[:, None] * (1.0 + np.arange(n)) + np.arange(n)
    w = 1.0 + np.arange(n)
    return np.sin(phase), w * np.cos(phase), -(w**2) * np.sin(phase), 3.0 * np.cos(2 * phase)


def log_at(t, n=2, **options):
    q, qd, _, tau = motion(t, n)
    return Log(t=t, q=q, qd=qd, tau=tau, **options)


@pytest.fixture
def log():
    return log_at(5.0 + np.arange(101) * 0.01, name="made")


def test_what_a_log_says_of_itself(log):
    assert (log.n, len(log)) == (2, 101)
    assert log.duration == pytest.approx(1.0)
    assert log.rate == pytest.approx(100.0)
    assert repr(log) == "Log('made', 2 joints, 101 samples over 1 s at 100 Hz, q, tau, qd)"


def test_arrays_are_copies_that_cannot_be_changed():
    t, q = np.arange(3), np.zeros((3, 1))
    log = Log(t=t, q=q, tau=np.ones((3, 1), dtype=np.float32))
    q[0] = 9.0
    assert log.q[0, 0] == 0.0
    for array in (log.t, log.q, log.tau):
        assert array.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"t": [0.0, 0.1]}, ShapeError, r"q has shape \(3, 2\)"),
        ({"t": [0.0]}, ShapeError, "at least 2"),
        ({"t": [0.0, 0.2, 0.2]}, OptionError, "does not rise at sample 2"),
        ({"t": [0.0, 0.2, 0.1]}, OptionError, "does not rise"),
        ({"t": [[0.0, 0.1, 0.2]]}, ShapeError, "t has shape"),
        ({"q": [[1.0, 2.0], [3.0]]}, ShapeError, "q is not a rectangular array"),
        ({"q": np.zeros((3, 0))}, ShapeError, r"q has shape \(3, 0\)"),
        ({"tau": None}, ShapeError, "tau is None"),
        ({"tau": np.zeros((3, 1))}, ShapeError, r"tau has shape \(3, 1\), expected \(3, 2\)"),
        ({"qd": np.zeros(3)}, ShapeError, "qd has shape"),
        ({"qdd": np.zeros((2, 2))}, ShapeError, "qdd has shape"),
        ({"q": np.full((3, 2), np.nan)}, OptionError, "q holds NaN or inf, first in sample 0"),
        ({"q": [["a", "b"]] * 3}, ShapeError, "q holds"),
        ({"q": np.zeros((3, 2), dtype=complex)}, ShapeError, "complex"),
        ({"name": 3}, OptionError, "name is 3"),
        ({"findings": ["note"]}, OptionError, "findings is"),
    ],
)
def test_what_makes_no_log_is_refused(change, error, words):
    good = {"t": [0.0, 0.1, 0.2], "q": np.zeros((3, 2)), "tau": np.zeros((3, 2))}
    Log(**good)
    with pytest.raises(error, match=words):
        Log(**{**good, **change})


def test_window_counts_from_the_first_stamp_and_includes_both_ends(log):
    part = log.window(0.1, 0.3)
    assert len(part) == 21
    assert np.array_equal(part.t, log.t[10:31])
    assert np.array_equal(part.tau, log.tau[10:31])
    assert len(log.window(None, 0.5)) == 51
    assert len(log.window(0.5)) == 51


def test_rows_split_and_every(log):
    assert np.array_equal(log.rows(3, 7).q, log.q[3:7])
    assert np.array_equal(log.rows(90).t, log.t[90:])
    first, last = log.split(0.75)
    assert (len(first), len(last)) == (76, 25)
    assert np.array_equal(np.concatenate([first.qd, last.qd]), log.qd)
    assert np.array_equal(log.every(10).t, log.t[::10])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.window(2.0, 3.0), "holds 0 samples.*\n.*lasts 1 s"),
        (lambda x: x.window(0.3, 0.1), "start before stop"),
        (lambda x: x.window("a"), "window is 'a'"),
        (lambda x: x.rows(100), "hold 1 sample,"),
        (lambda x: x.rows(-3), "rows holds -3"),
        (lambda x: x.rows(1.5), "rows holds 1.5"),
        (lambda x: x.split(1.0), "fraction is 1.0"),
        (lambda x: x.split(0.001), "less than 2"),
        (lambda x: x.every(0), "k is 0"),
        (lambda x: x.every(101), "leaves 1"),
        (lambda x: x.pieces(0.5), "gap is 0.5"),
        (lambda x: x.uniform(-1.0), "rate is -1.0"),
        (lambda x: x.uniform(1e12), "rate is in Hz"),
        (lambda x: x.uniform(0.1), "rate is in Hz"),
    ],
)
def test_parts_that_do_not_exist_are_refused(log, call, words):
    with pytest.raises(OptionError, match=words):
        call(log)


# Error of interpolation over a step h: cubic Hermite h^4 / 384 max|q''''|, linear h^2 / 8 max|x''|.
STEP = 0.013  # longest step of `uneven`, below
HERMITE = STEP**4 / 384 * 2.0**4
LINEAR_RATE = STEP**2 / 8 * 2.0**3
LINEAR_TORQUE = STEP**2 / 8 * 3 * 4.0**2


@pytest.fixture
def uneven():
    steps = 0.01 + 0.003 * np.random.default_rng(0).uniform(-1, 1, 500)
    return log_at(np.concatenate([[2.0], 2.0 + np.cumsum(steps)]))


def test_uniform_follows_the_motion(uneven):
    even = uneven.uniform(200.0)
    q, qd, _, tau = motion(even.t)
    assert np.allclose(np.diff(even.t), 0.005, rtol=1e-9)
    assert even.t[0] == uneven.t[0] and uneven.t[-1] - even.t[-1] < 0.005
    assert np.abs(even.q - q).max() < HERMITE
    assert np.abs(even.qd - qd).max() < LINEAR_RATE
    assert np.abs(even.tau - tau).max() < LINEAR_TORQUE


def test_uniform_uses_accelerations_where_there_are_any(uneven):
    qdd = motion(uneven.t)[2]
    log = Log(t=uneven.t, q=uneven.q, qd=uneven.qd, qdd=qdd, tau=uneven.tau)
    even = log.uniform()
    assert np.abs(even.qd - motion(even.t)[1]).max() < 2 * HERMITE
    assert np.abs(even.qdd - motion(even.t)[2]).max() < 2 * LINEAR_RATE


def test_uniform_without_velocities_is_linear():
    log = Log(t=[0.0, 1.0, 3.0], q=[[0.0], [1.0], [5.0]], tau=[[0.0], [2.0], [0.0]])
    even = log.uniform(1.0)
    assert even.q[:, 0].tolist() == [0.0, 1.0, 3.0, 5.0]
    assert even.tau[:, 0].tolist() == [0.0, 2.0, 1.0, 0.0]
    assert even.qd is None


def test_an_even_log_stays_what_it_is(log):
    even = log.uniform()
    assert len(even) == len(log)
    assert np.allclose(even.t, log.t, rtol=0, atol=1e-12)
    assert np.allclose(even.q, log.q, rtol=0, atol=1e-11)
    assert even.findings == ()


def test_nothing_is_invented_inside_a_long_gap():
    t = np.concatenate([np.arange(50), 50 + 4 + np.arange(50), 200 + np.arange(50)]) * 0.01
    log = log_at(t)
    even = log.uniform()
    inside = (even.t > t[99] + 1e-6) & (even.t < t[100] - 1e-6)
    assert not inside.any()
    assert len(even) == 154  # 150 samples, and the four instants of the short gap
    short, long = even.findings
    assert short.level == "note" and "1 gap of" in short.what
    assert long.level == "warning" and "96 instants inside 1 gap" in long.what


def test_pieces_end_at_long_gaps():
    t = np.concatenate([np.arange(50), 54 + np.arange(50), [150], 200 + np.arange(50)]) * 0.01
    first, last = log_at(t).pieces()
    assert (len(first), len(last)) == (100, 50)
    assert first.t[-1] == pytest.approx(1.03) and last.t[0] == pytest.approx(2.0)
    assert len(log_at(t).pieces(gap=3.0)) == 3


def test_even_pieces_of_an_interrupted_log():
    t = np.concatenate([np.arange(50), 200.4 + np.arange(50)]) * 0.01
    for piece in log_at(t).uniform().pieces():
        assert np.allclose(np.diff(piece.t), 0.01, rtol=1e-6)


@pytest.mark.parametrize("ending", [".csv", ".npz"])
def test_a_saved_log_reads_back_exactly(log, tmp_path, ending):
    full = Log(t=log.t, q=log.q, qd=log.qd, qdd=-log.q, tau=log.tau)
    path = full.save(tmp_path / f"log{ending}")
    back = read_log(path)
    for name in ("t", "q", "qd", "qdd", "tau"):
        assert np.array_equal(getattr(back, name), getattr(full, name)), name
    assert [x.name for x in tmp_path.iterdir()] == [path.name]


def test_saving_fails_whole(log, tmp_path):
    with pytest.raises(OptionError, match=r"expected one of \.csv, \.npz"):
        log.save(tmp_path / "log.xlsx")
    with pytest.raises(FileError, match="cannot write"):
        log.save(tmp_path / "absent" / "log.csv")
    assert not [*tmp_path.iterdir()]


def test_html_shows_findings_and_escapes_names(log):
    found = Finding("note", "<i>here</i>", "<script>", "none")
    page = Log(t=log.t, q=log.q, tau=log.tau, name="<b>", findings=(found,))._repr_html_()
    assert "<script>" not in page and "<b>" not in page and "<i>" not in page
    assert "&lt;script&gt;" in page


def made_run(measured):
    t = np.arange(5) * 0.1
    q, qd, _, tau = motion(t)
    sensed = types.SimpleNamespace(t=t[::2], q=q[::2], qd=qd[::2], tau=tau[::2] + 1)
    n = q.shape[1]
    robot = types.SimpleNamespace(name="arm", n=n, driven=tuple(range(n)))
    return types.SimpleNamespace(
        robot=robot, t=t, q=q, qd=qd, tau=tau, measured=sensed if measured else None
    )


@pytest.mark.parametrize("measured", [True, False])
def test_from_run_takes_what_the_sensors_gave(measured):
    run = made_run(measured)
    log = Log.from_run(run)
    expected = run.measured if measured else run
    assert log.name == "arm"
    for name in ("t", "q", "qd", "tau"):
        assert np.array_equal(getattr(log, name), getattr(expected, name))


def test_from_run_of_a_simulation():
    import dynamis as dy

    robot = dy.load("pendulum3")
    run = dy.simulate(robot, duration=0.05, dt=0.005, q0=[0.1] * robot.n)
    log = Log.from_run(run)
    assert (log.n, len(log)) == (robot.n, len(run.t))
    assert np.array_equal(log.q, (run if run.measured is None else run.measured).q)


def test_from_run_refuses_an_ensemble():
    run = made_run(False)
    run.q = np.stack([run.q, run.q])
    with pytest.raises(OptionError, match="ensemble"):
        Log.from_run(run)
