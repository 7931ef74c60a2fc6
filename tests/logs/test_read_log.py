"""Logs read right in every format, and hostile or careless ones refused with what to do."""

import io
import json
import re
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import dynamis as dy
from dynamis.errors import DynamisError, FileError, OptionError, ShapeError
from dynamis.identify import read_log
from dynamis.lazy import install_command
from dynamis.logs.checks import events, spikes, without_spikes
from dynamis.logs.matlab import read_matlab
from dynamis.logs.source import read_text
from dynamis.logs.table import LARGEST, MOST_COLUMNS, Allowance

from ..logs.test_log import motion

T = np.arange(200) * 0.01


def arrays(n=2, t=T):
    q, qd, _, tau = motion(t, n)
    return {"t": t, "q": q, "qd": qd, "tau": tau}


def flat(data):
    """Columns t, q1, .."""
    out = {}
    for name, array in data.items():
        if array.ndim == 1:
            out[name] = array
        else:
            out |= {f"{name}{i + 1}": array[:, i] for i in range(array.shape[1])}
    return out


def write_csv(path, columns, sign=",", above="", form="%.17g"):
    lines = [sign.join(columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append(sign.join(form % x if isinstance(x, float) else str(x) for x in row))
    path.write_text(above + "\n".join(lines) + "\n")
    return path


def same(log, data, **tolerance):
    for name, array in data.items():
        assert np.allclose(getattr(log, name), array, **{"rtol": 0, "atol": 0} | tolerance), name


def said(log, words, level=None):
    found = [x for x in log.findings if words in x.what]
    assert found, [str(x) for x in log.findings]
    assert level is None or found[0].level == level
    return found[0].what


# formats


@pytest.mark.parametrize("sign", [",", ";", "\t", "|", " "])
def test_csv_in_any_delimiter(tmp_path, sign):
    path = write_csv(tmp_path / "run.csv", flat(arrays()), sign)
    log = read_log(path)
    same(log, arrays())
    assert log.name == "run" and log.findings == ()


def test_csv_comments_bom_blank_lines_and_trailing_delimiter(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("\ufeff# made by a logger\n\nt,q1,tau1,\n# units s\n0,1,2,\n\n0.1,3,4,\n")
    log = read_log(path)
    same(log, {"t": [0, 0.1], "q": [[1], [3]], "tau": [[2], [4]]})


def test_csv_as_numpy_writes_it_with_the_header_in_a_comment(tmp_path):
    columns = flat(arrays())
    np.savetxt(tmp_path / "run.txt", np.column_stack([*columns.values()]), header=" ".join(columns))
    same(read_log(tmp_path / "run.txt"), arrays(), atol=1e-15)


def test_csv_with_a_column_of_words_that_nobody_asks_for(tmp_path):
    columns = {"state": ["RUN"] * len(T), **flat(arrays())}
    path = write_csv(tmp_path / "run.csv", columns)
    same(read_log(path), arrays())
    with pytest.raises(ShapeError, match="'state' holds"):
        read_log(path, {"t": "state"})


def test_csv_cut_short_loses_its_last_line_and_says_so(tmp_path):
    path = write_csv(tmp_path / "run.csv", flat(arrays()))
    path.write_text(path.read_text().rsplit(",", 3)[0])
    log = read_log(path)
    assert len(log) == len(T) - 1
    said(log, "cut short", "note")


def test_npz_of_matrices_and_of_columns(tmp_path):
    np.savez(tmp_path / "a.npz", **arrays())
    np.savez(tmp_path / "b.npz", **flat(arrays()))
    same(read_log(tmp_path / "a.npz"), arrays())
    same(read_log(str(tmp_path / "b.npz")), arrays())


def test_parquet_of_columns_and_of_lists(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table(flat(arrays())), tmp_path / "a.parquet")
    same(read_log(tmp_path / "a.parquet"), arrays())
    data = arrays()
    lists = {x: a if a.ndim == 1 else arrow.array(a.tolist()) for x, a in data.items()}
    parquet.write_table(arrow.table(lists), tmp_path / "b.parquet")
    same(read_log(tmp_path / "b.parquet"), data)
    lists["q"] = arrow.array([[1.0], *data["q"].tolist()[1:]])
    parquet.write_table(arrow.table(lists), tmp_path / "c.parquet")
    with pytest.raises(ShapeError, match="different lengths"):
        read_log(tmp_path / "c.parquet")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    frame = pytest.importorskip(library).DataFrame(flat(arrays()))
    same(read_log(frame), arrays())


def test_frame_with_dates_and_missing_values():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(flat(arrays()))
    frame["t"] = pandas.Timestamp("2024-05-01 12:00") + pandas.to_timedelta(T, unit="s")
    frame["q1"] = frame["q1"].astype("Float64")
    frame.loc[7, "q1"] = pandas.NA
    log = read_log(frame)
    assert np.allclose(log.t, np.delete(T, 7), rtol=0, atol=1e-9)
    said(log, "1 of 200 rows with NaN or inf were dropped", "warning")
    said(log, "2024-05-01 12:00:00", "note")


def test_polars_nulls_are_missing_rows():
    polars = pytest.importorskip("polars")
    columns = flat(arrays())
    columns["tau2"] = [None, *columns["tau2"][1:].tolist()]
    log = read_log(polars.DataFrame(columns))
    assert len(log) == len(T) - 1


def test_mapping_and_structured_array():
    same(read_log(arrays()), arrays())
    columns = flat(arrays())
    table = np.rec.fromarrays([*columns.values()], names=[*columns])
    same(read_log(np.asarray(table)), arrays())


def test_masked_numbers_are_missing_not_measured():
    data = arrays()
    data["q"] = np.ma.array(data["q"], mask=np.zeros_like(data["q"], dtype=bool))
    data["q"].mask[3, 1] = True
    assert len(read_log(data)) == len(T) - 1


# names


def test_columns_by_name_list_and_pattern():
    data = arrays()
    named = {"times": T, "positions": data["q"], "velocities": data["qd"], "torques": data["tau"]}
    spec = {"t": "times", "q": "positions", "qd": "velocities", "tau": "torques"}
    same(read_log(named, spec), data)
    loose = {"clock": T, "tau_b": data["tau"][:, 1], "tau_a": data["tau"][:, 0]}
    loose |= {f"joint{i}_position": data["q"][:, i] for i in range(2)}
    loose |= {f"vel_{i + 1}": data["qd"][:, i] for i in range(2)}
    spec = {"t": "clock", "q": "joint{}_position", "qd": "vel_*", "tau": ["tau_a", "tau_b"]}
    same(read_log(loose, spec), data)
    assert read_log(loose, spec | {"qd": None}).qd is None


def test_a_pattern_is_answered_with_a_pattern():
    data = arrays(2)
    named = {f"trq_{i + 1}": data["tau"][:, i] for i in range(2)}
    with pytest.raises(OptionError, match=r"did you mean 'trq_\*'"):
        read_log(dict(t=T, q=data["q"], **named), columns={"tau": "torq_*"})


@pytest.mark.parametrize("form", ["q{}", "q_{}", "q[{}]", "q.{}", "q {}"])
def test_default_names_with_a_sign_between(form):
    data = arrays(12)
    columns = {form.format(i): data["q"][:, i] for i in reversed(range(12))}  # 10 after 9, not 1
    log = read_log(dict(t=T, tau=data["tau"], **columns))
    assert np.array_equal(log.q, data["q"])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"q": "postions"}, r"no 'postions'.*it has: t, positions.*\nhint: did you mean 'pos"),
        ({"q": "pos_*"}, r"no 'pos_\*' for q"),
        ({"q": ["positions", "absent"]}, "no 'absent'"),
        ({"q": ["positions", "positions"]}, "twice"),
        ({"q": "*_*"}, "more than one open part"),
        ({"q": 30}, r"columns\['q'\] is 30, expected places from 0 to"),
        ({"q": 3.0}, r"columns\['q'\] is 3"),
        ({"positions": "q"}, "columns names 'positions', which is no quantity"),
        ("positions", "columns is 'positions'"),
        (
            {"q": "positions", "tau": "torques", "current": "torques"},
            "tau and current, expected one",
        ),
        ({"q": "positions", "tau": None}, r"no 'tau' or 'tau1', \.\. for tau"),
        ({"q": "n*", "tau": "torques"}, "numbers and names"),
        ({"q": "h*", "tau": "torques"}, "without holes"),
    ],
)
def test_wrong_columns(columns, words):
    source = {"t": T, "positions": arrays()["q"], "torques": arrays()["tau"], "h1": T, "h3": T}
    source |= {"n1": T, "name": T}
    with pytest.raises(OptionError, match=r"(?s)" + words):
        read_log(source, columns)


def test_a_formula_is_a_name_like_any_other(tmp_path):
    formula = "=cmd|' /C calc'!A0"
    columns = {"t": T, formula: arrays()["q"][:, 0], "__import__('os')": arrays()["tau"][:, 0]}
    path = write_csv(tmp_path / "run.csv", columns)
    log = read_log(path, {"q": formula, "tau": "__import__('os')"})
    assert log.n == 1
    same(log, {"q": arrays()["q"][:, :1]})


def test_a_pattern_is_not_a_regular_expression():
    data = dict(t=T, tau1=T, tau2=T, **{"q.+1": T, "qxx1": T + 1})
    assert read_log(data, {"q": "q.+*", "tau": ["tau1"]}).n == 1


# joints


def named_columns():
    data = arrays(3)
    names = ("elbow", "wrist", "finger")
    out = {"t": T}
    for key in ("q", "qd", "tau"):
        order = (0, 1, 2) if key == "q" else (2, 0, 1)  # each quantity in its own order
        out |= {f"{key}_{names[i]}": data[key][:, i] for i in order}
    return out, data, {"q": "q_*", "qd": "qd_*", "tau": "tau_*"}


def test_named_columns_find_their_joints():
    source, data, spec = named_columns()
    same(read_log(source, spec), data)
    log = read_log(source, spec, joints=["wrist", "elbow"])
    same(log, {k: data[k][:, [1, 0]] for k in ("q", "qd", "tau")})
    log = read_log(source, spec, joints=[2, 0])
    same(log, {k: data[k][:, [2, 0]] for k in ("q", "qd", "tau")})


def two_links(*names, **options):
    drive = dy.Drive(gear=50, rotor_inertia=1e-4)
    links = [dy.Link(joint_name=x, a=1.0, mass=1.0, drive=drive) for x in names]
    return dy.Robot.from_dh("made", links=links, convention="standard", **options)


def test_the_robot_says_which_joints_and_in_which_order():
    source, data, spec = named_columns()
    log = read_log(source, spec, robot=two_links("wrist", "elbow"))
    same(log, {k: data[k][:, [1, 0]] for k in ("q", "qd", "tau")})
    said(log, "left out, as the robot has none such: finger", "note")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"joints": ["elbo"]}, "did you mean 'elbow'"),
        ({"joints": ["elbow", "elbow"]}, "twice"),
        ({"joints": [3]}, "places from 0 to 2"),
        ({"joints": [True]}, "places from 0 to 2"),
        ({"joints": "elbow"}, "joints is 'elbow'"),
        ({"joints": []}, r"joints is \[\]"),
    ],
)
def test_wrong_joints(options, words):
    source, _, spec = named_columns()
    with pytest.raises(OptionError, match=words):
        read_log(source, spec, **options)


def test_joints_without_names():
    robot = two_links("a", "b")
    with pytest.raises(OptionError, match="carry none"):
        read_log(arrays(3), joints=["a"])
    with pytest.raises(OptionError, match="has 3 joints, robot 'made' has 2"):
        read_log(arrays(3), robot=robot)
    assert read_log(arrays(3), robot=robot, joints=[0, 1]).n == 2
    same(read_log(arrays(2), robot=robot, joints=["b"]), {"q": arrays()["q"][:, 1:]})


def test_quantities_that_name_different_joints():
    source, _, spec = named_columns()
    source["tau_thumb"] = source.pop("tau_finger")
    with pytest.raises(OptionError, match=r"name different joints: \['finger', 'thumb'\]"):
        read_log(source, spec)


# units


def test_units():
    data = arrays()
    other = {
        "t": T * 1e3,
        "q": np.rad2deg(data["q"]),
        "qd": np.rad2deg(data["qd"]) / 6,
        "tau": data["tau"] * 1e3,
    }
    units = {"t": "ms", "q": "deg", "qd": "rpm", "tau": "mNm"}
    same(read_log(other, units=units), data, atol=1e-12)
    mixed = dict(data, q=data["q"] * [1 / (2 * np.pi), 1000.0])
    same(read_log(mixed, units={"q": ["rev", "mm"]}), data, atol=1e-12)
    same(read_log(mixed, units={"q": [2 * np.pi, 0.001]}), data, atol=1e-12)


@pytest.mark.parametrize("unit", ["N m", "N.m", "Nm", "N*m", "N\N{MIDDLE DOT}m"])
def test_spellings(unit):
    same(read_log(arrays(), units={"tau": unit}), arrays())


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ({"q": "furlong"}, "expected one of: rad, mrad, deg, rev, m, cm"),
        ({"q": "deg/s"}, "expected one of: rad"),
        ({"tau": "NM"}, "expected one of: Nm"),
        ({"q": 0.0}, "is 0.0, expected"),
        ({"q": True}, "is True, expected"),
        ({"q": ["deg"]}, "lists 1 unit, expected 2"),
        ({"position": "deg"}, "units names 'position'"),
        ("deg", "units is 'deg'"),
    ],
)
def test_wrong_units(units, words):
    with pytest.raises(OptionError, match=words):
        read_log(arrays(), units=units)


def test_wrong_units_that_the_numbers_give_away():
    """Degrees beside rad/s are found; angles beyond those of arms are asked about."""
    data = arrays()
    data["q"] = np.rad2deg(data["q"])
    log = read_log(data)
    assert "read as deg" in said(log, "q reaches", "warning")
    same(log, arrays(), atol=1e-12)
    assert not read_log(arrays()).findings
    told = read_log(data, columns={"qd": None}, units={"q": "rad", "t": "s"})
    assert {*told.stated} == {"q", "t"} and "degrees" not in said(told, "q1 reaches", "note")
    with pytest.raises(OptionError, match="stated is 'q'"):
        replace(told, stated="q")
    motors = read_log(dict(arrays(), q=arrays()["q"] * 900.0), columns={"qd": None})
    said(motors, "are these degrees, or motor angles?", "warning")
    said(read_log(dict(data, qd=arrays()["qd"] / 3)), "qd1 is not the rate of q1", "warning")


def test_swapped_velocities_and_dead_sensors_are_noticed():
    data = arrays()
    data["qd"] = data["qd"][:, ::-1]
    data["tau"] = data["tau"] * [1.0, 0.0]
    log = read_log(data)
    said(log, "qd1 is not the rate of q1", "warning")
    said(log, "tau2 never changes", "warning")


def test_spikes_wrapped_angles_and_corrupt_rows_are_said():
    t = np.arange(600) / 100.0
    q = np.stack([3.0 + np.sin(t), np.cos(t)], axis=1)
    tau = np.stack([np.sin(2 * t), np.cos(3 * t)], axis=1)
    assert read_log({"t": t, "q": q, "tau": tau}).findings == ()

    def changed(name, rows, column, value):
        arrays = {"t": t, "q": q.copy(), "tau": tau.copy()}
        arrays[name][rows, column] = value
        return read_log(arrays)

    spiky = changed("tau", [100, 101, 400], 1, [50.0, 60.0, -70.0])
    said(spiky, "tau2 has spikes of up to -70 in rows 100 (1 s), 101 (1.01 s), 400", "warning")
    assert "interpolates" in spiky.findings[0].remedy
    clean = without_spikes(spiky)
    assert_allclose(clean.tau[:, 1], tau[:, 1], atol=1e-3)
    assert without_spikes(clean) is clean
    said(changed("q", 300, 0, 0.0), "q1 has spikes of up to 0 in row 300", "warning")
    said(changed("q", slice(0, 8), 0, 0.0), "the first rows are corrupt", "warning")
    said(changed("q", slice(300, 400), 0, 0.0), "q1 jumps by up to", "warning")
    assert not changed("tau", slice(100, 110), 1, 50.0).findings  # it lasts: a signal
    wrapped = read_log({"t": t, "q": (q + np.pi) % (2 * np.pi) - np.pi, "tau": tau})
    assert "q1 jumps by up to 6.2" in said(wrapped, "the angle is wrapped", "warning")


@pytest.mark.parametrize("logged", [True, False])
def test_a_spike_with_a_pulse_of_the_velocity_is_an_event(logged):
    """A contact moves the joint: it is not interpolated away. A sensor that fails does not."""
    t, rng = np.arange(4000) / 500.0, np.random.default_rng(0)
    q, qd = np.sin(t), np.cos(t)
    pulse = np.zeros(len(t))
    pulse[2000:2003] = -0.4  # rad/s: it is stopped and goes on
    still, struck = ((q, qd), (q + np.cumsum(pulse) / 500.0, qd + pulse))
    for (angle, rate), named in ((still, "spikes"), (struck, "an event")):
        tau = np.cos(2 * t) + 0.01 * rng.normal(size=len(t))
        tau[2000:2003] += 60.0
        arrays = {"t": t, "q": angle, "tau": tau, **({"qd": rate} if logged else {})}
        log = read_log({name: x if name == "t" else x[:, None] for name, x in arrays.items()})
        said(log, f"tau1 has {named} of up to 59", "warning")
        assert len(log.findings) == 1
        kept = bool((without_spikes(log).tau[2000:2003] > 50.0).all())
        assert kept == (named == "an event")
        assert ("tau" in events(log)) == kept and ("tau" in spikes(log)) != kept


@pytest.mark.parametrize("logged", [True, False])
def test_torques_of_a_start_are_no_spikes(logged):
    """A controller that starts from no torque takes up the weight step by step, and the arm moves.

    A driver that has measured nothing yet jumps, or moves nothing.
    """
    t = np.arange(3000) / 250.0
    taken, still = t[:15] / t[15], np.maximum(t - t[15], 0.0)
    weight = 20.0 + np.sin(3 * t)
    for start, angle, named in (
        (taken, np.cos(3 * t), False), (0.0, np.cos(3 * t), True), (taken, np.sin(still) ** 2, True)
    ):  # fmt: skip
        tau, rate = weight.copy(), np.gradient(angle, t)
        tau[:15] *= start
        arrays = {"q": angle, "tau": tau, **({"qd": rate} if logged else {})}
        log = read_log({"t": t, **{name: x[:, None] for name, x in arrays.items()}})
        found = spikes(log)
        assert ("tau" in found) == named
        assert not named or (found["tau"][:10].all() and not found["tau"][15:].any())


def test_a_corrupt_row_is_no_event():
    """Velocity and torque of a row that no arm could have."""
    t = np.arange(2000) / 500.0
    arrays = {"t": t, "q": np.sin(t)[:, None], "qd": np.cos(t)[:, None], "tau": np.cos(t)[:, None]}
    arrays = {name: x.copy() for name, x in arrays.items()}
    arrays["qd"][700], arrays["tau"][700] = 1e6, 1e6
    log = read_log(arrays)
    assert not events(log) and {*spikes(log)} == {"qd", "tau"}
    arrays["q"][900], arrays["qd"][900], arrays["tau"][900] = 0.0, 3.0, 30.0
    assert not events(read_log(arrays))


# time


def test_sample_time_instead_of_stamps():
    data = arrays()
    del data["t"]
    log = read_log(data, sample_time=0.01)
    assert np.allclose(log.t, T, rtol=0, atol=1e-12)
    assert read_log(data, sample_time=0.01, rows=(100, None)).t[0] == pytest.approx(1.0)
    with pytest.raises(OptionError, match=r"no time stamps t.*\nhint:.*'ts' is 0.01"):
        read_log(dict(data, ts=0.01))
    with pytest.raises(OptionError, match=r"columns=dict\(t=None\) ignores"):
        read_log(arrays(), sample_time=0.01)
    assert len(read_log(arrays(), {"t": None}, sample_time=0.02)) == 200
    for wrong in (0, -1.0, np.nan, np.inf, "1", True):
        with pytest.raises(OptionError, match="sample_time is"):
            read_log(data, sample_time=wrong)


EPOCH = 1_700_000_000_123_456_789
NANOSECONDS = EPOCH + np.arange(200) * 10_000_001


@pytest.mark.parametrize("kind", ["csv", "npz", "mapping", "parquet", "pandas", "dates"])
def test_nanoseconds_since_1970_keep_every_digit(tmp_path, kind):
    columns = {**flat(arrays()), "t": NANOSECONDS}
    options = {"units": {"t": "ns"}}
    if kind == "csv":
        source = write_csv(tmp_path / "run.csv", columns)
    elif kind == "npz":
        source = tmp_path / "run.npz"
        np.savez(source, **columns)
    elif kind == "parquet":
        arrow, source = pytest.importorskip("pyarrow"), tmp_path / "run.parquet"
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), source)
    elif kind == "pandas":
        source = pytest.importorskip("pandas").DataFrame(columns)
    elif kind == "dates":
        source, options = {**columns, "t": NANOSECONDS.astype("datetime64[ns]")}, {}
    else:
        source = columns
    log = read_log(source, **options)
    assert np.allclose(log.t, np.arange(200) * 0.010000001, rtol=1e-15, atol=0)
    said(log, "2023-11-14", "note")


def test_epoch_in_seconds_is_taken_from_the_first():
    log = read_log(dict(arrays(), t=1.46e9 + T))
    assert log.t[0] == 0.0 and np.allclose(log.t, T, rtol=0, atol=5e-7)
    assert read_log(dict(arrays(), t=1000.0 + T)).t[0] == 1000.0


def test_stamps_that_cannot_be_seconds():
    with pytest.raises(OptionError, match=r"step by 1e\+13 s.*\nhint: units="):
        read_log(dict(arrays(), t=np.arange(200) * 10**13))
    for step, unit, size in ((5, "ms", 5e-3), (2000, "us", 2e-3), (10_000_000, "ns", 1e-2)):
        log = read_log(dict(arrays(), t=np.arange(200) * step))
        assert f"read as {unit}" in said(log, f"step by {step:.6g} s", "warning")
        assert log.step == pytest.approx(size, rel=1e-12)
    slow = read_log(dict(arrays(), t=np.arange(200) * 5), units={"t": "s"})
    assert slow.step == 5.0
    milli = dict(arrays(t=T / 2), t=np.arange(200) * 5)
    assert read_log(milli, units={"t": "ms"}).findings == ()


def test_repeated_stamps_are_dropped():
    t = T.copy()
    t[50] = t[49]
    log = read_log(dict(arrays(), t=t))
    assert len(log) == 199 and np.array_equal(log.q[49], arrays()["q"][49])
    assert "1 of 200" in said(log, "repeat the one before", "note")
    coarse = np.floor(np.arange(200) / 2) * 0.01
    assert len(read_log(dict(arrays(), t=coarse))) == 100
    said(read_log(dict(arrays(), t=coarse)), "repeat", "warning")
    with pytest.raises(OptionError, match="every time stamp is the same"):
        read_log(dict(arrays(), t=np.zeros(200)))


def test_a_few_late_stamps_are_sorted_in():
    order = np.arange(200)
    order[[60, 61]] = order[[61, 60]]
    log = read_log({k: x[order] for k, x in arrays().items()})
    same(log, arrays())
    assert "row 61" in said(log, "1 late stamps", "warning")


def test_a_clock_set_back_is_refused():
    t = np.concatenate([T[:120], T[:80]])
    with pytest.raises(OptionError, match=r"backwards at row 120.*\nhint:.*rows=\(0, 120\)"):
        read_log(dict(arrays(), t=t))
    same(read_log(dict(arrays(), t=t), rows=(120, None)), {"t": T[:80]})
    with pytest.raises(OptionError, match="backwards"):
        read_log({k: x[::-1] for k, x in arrays().items()})
    t = T.copy()
    t[150] -= 1.0  # one stamp, but far off
    with pytest.raises(OptionError, match="backwards at row 150, by 990 ms"):
        read_log(dict(arrays(), t=t))
    with pytest.raises(OptionError, match="100 of 200 stamps lie before"):
        read_log(dict(arrays(), t=T.reshape(-1, 2)[:, ::-1].reshape(-1)))


def test_jitter_and_gaps_are_told_with_figures():
    shake = 0.002 * np.random.default_rng(1).uniform(-1, 1, 200)
    log = read_log(arrays(t=T + shake))
    assert "median" in said(log, "steps vary", "warning")
    said(read_log(arrays(t=T + shake / 4)), "steps vary", "note")
    t = T.copy()
    t[100:] += 0.05
    assert "1 gap of more than 3 steps, 0 of" in said(read_log(arrays(t=t)), "gap of", "note")
    t[150:] += 1.0
    what = said(read_log(arrays(t=t)), "gaps", "warning")
    assert "2 gaps of more than 3 steps, 1 of more than 10; the longest 1010 ms, 1.54 s" in what


# rows that are not there


def test_rows_with_nan_and_inf_are_dropped():
    data = arrays()
    data["q"][5, 0], data["tau"][9, 1] = np.nan, np.inf
    log = read_log(data)
    same(log, {k: np.delete(x, [5, 9], axis=0) for k, x in arrays().items()})
    assert "first row 5 (from 0); in q1, tau2" in said(log, "2 of 200 rows", "warning")
    data["tau"][:101, 1] = np.nan
    with pytest.raises(OptionError, match=r"102 of 200 rows|101 of 200 rows"):
        read_log(data)


def test_velocities_that_are_mostly_missing_are_left_out():
    data = arrays()
    data["qd"][:150] = np.nan
    log = read_log(data)
    assert log.qd is None and len(log) == 200
    said(log, "qd is NaN or inf in 150 of 200", "warning")


def test_missing_stamps():
    t = T.copy()
    t[3] = np.nan
    log = read_log(dict(arrays(), t=t))
    same(log, {k: np.delete(x, 3, axis=0) for k, x in arrays().items()})
    said(log, "1 row without time stamp", "warning")
    with pytest.raises(OptionError, match="time stamps are missing"):
        read_log(dict(arrays(), t=np.full(200, np.nan)))


def test_empty_cells_are_missing(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("t,q1,tau1\n0,1,2\n0.1,,2\n0.2,NaN,3\n0.3,1,4\n0.4,2,5\n")
    assert read_log(path).t.tolist() == [0.0, 0.3, 0.4]


def test_rows_then_window():
    log = read_log(arrays(), rows=(50, 150), window=(0.1, 0.3))
    same(log, {k: x[60:81] for k, x in arrays().items()})
    for options, words in (
        ({"rows": (500, None)}, "hold 0 samples"),
        ({"rows": (0,)}, r"rows is \(0,\)"),
        ({"rows": (-5, None)}, "rows holds -5"),
        ({"window": (5, 6)}, "holds 0 samples.*\n.*lasts 1.99 s"),
        ({"window": (1, 0)}, "start before stop"),
        ({"window": 3.0}, "window is 3.0"),
    ):
        with pytest.raises(OptionError, match=words):
            read_log(arrays(), **options)


def test_arrays_of_different_or_turned_shapes():
    with pytest.raises(ShapeError, match="transpose"):
        read_log(dict(arrays(), tau=arrays()["tau"].T))
    turned = {k: x.T for k, x in arrays(t=T[:2]).items()}
    assert read_log(turned).n == 2  # 2 x 2 cannot be told
    with pytest.raises(ShapeError, match="more joints than samples"):
        read_log({"q": np.zeros((3, 9)), "tau": np.zeros((3, 9)), "t": [0, 1, 2]})
    with pytest.raises(ShapeError, match=r"tau has 1 column \(tau\[0\]\), q has 2"):
        read_log(dict(arrays(), tau=arrays()["tau"][:, :1]))
    with pytest.raises(ShapeError, match="expected"):
        read_log(dict(arrays(), q=np.zeros((200, 2, 2))))


# drives and motors


def test_current_is_not_torque():
    data = arrays()
    data["i"] = data.pop("tau") / [10.0, -5.0]
    with pytest.raises(OptionError, match=r"a current is not a torque.*\nhint: drive_gains=.*load"):
        read_log(data, {"current": "i"})
    same(read_log(data, {"current": "i"}, drive_gains=[10.0, -5.0]), arrays(), rtol=1e-15)
    milli = dict(data, i=data["i"] * 1e3)
    log = read_log(milli, {"current": "i"}, drive_gains=[10.0, -5.0], units={"current": "mA"})
    same(log, arrays(), rtol=1e-14)
    with pytest.raises(ShapeError, match=r"drive_gains has shape \(3,\)"):
        read_log(data, {"current": "i"}, drive_gains=[1, 2, 3])
    with pytest.raises(ShapeError, match="finite numbers"):
        read_log(data, {"current": "i"}, drive_gains=[1, np.nan])
    with pytest.raises(OptionError, match="no current"):
        read_log(arrays(), drive_gains=[1, 2])


COUPLED = np.array([[50.0, 0.0], [20.0, -30.0]])


def on_motors(R, offset=0.0):
    data = arrays()
    return {
        "t": T,
        "motor_q": (data["q"] - offset) @ R.T,
        "motor_qd": data["qd"] @ R.T,
        "motor_tau": data["tau"] @ np.linalg.inv(R),
    }


def test_motor_side_with_coupled_gears():
    offset = np.array([0.5, -1.0])
    log = read_log(on_motors(COUPLED, offset), gear_matrix=COUPLED, offset=offset)
    same(log, arrays(), atol=1e-12)
    power = (log.qd * log.tau).sum(axis=1)  # the gears take nothing
    source = on_motors(COUPLED)
    assert np.allclose(power, (source["motor_qd"] * source["motor_tau"]).sum(axis=1))
    plain = np.diag([50.0, -30.0])
    same(read_log(on_motors(plain), gear_matrix=[50.0, -30.0]), arrays(), atol=1e-12)


def test_the_robot_knows_its_gears():
    links = [dy.Link(a=1.0, mass=1.0), dy.Link(a=1.0, mass=1.0)]
    bare = dy.Robot.from_dh("bare", links=links, convention="standard")
    robot = two_links("a", "b", gear_matrix=[[50, 0], [20, 50]])
    R = np.array([[50.0, 0.0], [20.0, 50.0]])
    same(read_log(on_motors(R), robot=robot), arrays(), atol=1e-12)
    same(read_log(on_motors(np.eye(2) * 50), robot=two_links("a", "b")), arrays(), atol=1e-12)
    with pytest.raises(OptionError, match="gear matrix of 'made' is for a, b"):
        read_log(on_motors(R), robot=robot, joints=["b", "a"])
    with pytest.raises(OptionError, match="has no drive at"):
        read_log(on_motors(R), robot=bare)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, OptionError, "gear_matrix is missing"),
        ({"gear_matrix": [[1, 2], [2, 4]]}, OptionError, "singular"),
        ({"gear_matrix": [1, 0]}, OptionError, "singular"),
        ({"gear_matrix": [1, 2, 3]}, ShapeError, r"\(3, 3\), expected \(2, 2\)"),
        ({"gear_matrix": [[1, 2], [3]]}, ShapeError, "rectangular"),
        ({"gear_matrix": "big"}, ShapeError, "finite numbers"),
        ({"gear_matrix": [1, 1], "offset": [1.0]}, ShapeError, "offset has shape"),
    ],
)
def test_wrong_gears(options, error, words):
    with pytest.raises(error, match=words):
        read_log(on_motors(COUPLED), **options)


def test_gears_without_motors():
    with pytest.raises(OptionError, match="nothing on the motor side"):
        read_log(arrays(), gear_matrix=[1, 2])


# hostile files


class Bomb:
    def __reduce__(self):
        return print, ("executed",)


def test_pickles_are_never_opened(tmp_path, capsys):
    data = arrays()
    np.savez(tmp_path / "a.npz", **{**data, "q": np.array([Bomb()] * 200, dtype=object)})
    with pytest.raises(FileError, match="pickled objects, which could run code"):
        read_log(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", **data, other=np.array([Bomb()], dtype=object))
    same(read_log(tmp_path / "b.npz"), data)
    (tmp_path / "c.pkl").write_bytes(b"\x80\x04.")
    with pytest.raises(FileError, match="pickles run code"):
        read_log(tmp_path / "c.pkl")
    assert "executed" not in capsys.readouterr().out


def test_objects_text_and_complex_numbers_are_no_measurements():
    for wrong in (
        np.array([[1.0, None]] * 200, dtype=object),
        np.array([["1", "2"]] * 200),
        np.ones((200, 2), dtype=bool),
        np.ones((200, 2), dtype=complex),
        [[1.0, 2.0]] * 199 + [[1.0]],
        np.ones((200, 2), dtype="datetime64[ns]"),
    ):
        with pytest.raises(ShapeError):
            read_log(dict(arrays(), q=wrong))


def claims(shape):
    """An .npy whose header promises more than there is."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + bytes(64)


def test_archives_that_lie(tmp_path):
    path = tmp_path / "run.npz"
    for broken in (claims((10**6, 2)), b"no array", claims((200, 2))[:40]):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("q.npy", broken)
            archive.writestr("tau.npy", broken)
            archive.writestr("t.npy", broken)
        with pytest.raises(DynamisError, match=r"'t' cannot be read|'t' holds"):
            read_log(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(FileError, match="holds no arrays"):
        read_log(path)


GARBAGE = bytes(np.random.default_rng(7).integers(0, 256, 5000, dtype=np.uint8))


@pytest.mark.parametrize("ending", ["csv", "tsv", "npz", "parquet", "mcap"])
@pytest.mark.parametrize("content", [b"", b"\n\n", GARBAGE, b"PK\x03\x04" + GARBAGE, bytes(100)])
def test_garbage_under_any_ending(tmp_path, ending, content):
    path = tmp_path / f"run.{ending}"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"run\."):
        read_log(path)


@pytest.mark.parametrize("cut", [10, 500, -1, -40])
@pytest.mark.parametrize("ending", ["npz", "parquet", "mcap"])
def test_files_cut_anywhere(tmp_path, ending, cut):
    path = tmp_path / f"run.{ending}"
    if ending == "npz":
        np.savez(path, **arrays())
    elif ending == "parquet":
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table(flat(arrays())), path)
    else:
        write_mcap(path, messages())
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FileError, match=r"run\."):
        read_log(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t,q1,tau1\n", "header but no rows"),
        ("# nothing\n", "nothing but comments"),
        ("0,1,2\n0.1,1,2\n", "begins with numbers: 3 columns without a header"),
        ("t,q1,tau1\n0,1,2\n0.1,1\n0.2,1,2\n0.3,1,2\n", "line 3 has 2 cells, the header 3"),
        ("t,q1,tau1\n0,1,2\n0.1,1,2,3\n", "line 3 has 4 cells"),
        ("t,q1,q1,tau1\n0,1,2,3\n", "two columns 'q1'"),
        ("t;q1;tau1\n0;1.234,5;2\n0.1;1;2\n", "'q1' holds"),
    ],
)
def test_careless_text(tmp_path, text, words):
    path = tmp_path / "run.csv"
    path.write_text(text)
    with pytest.raises(DynamisError, match=words):
        read_log(path)


def test_utf_16_is_named(tmp_path):
    (tmp_path / "run.csv").write_text("t,q1,tau1\n0,1,2\n", encoding="utf-16")
    with pytest.raises(FileError, match="UTF-16"):
        read_log(tmp_path / "run.csv")


def test_one_row_is_no_log(tmp_path):
    (tmp_path / "run.csv").write_text("t,q1,tau1\n0,1,2\n")
    with pytest.raises(ShapeError, match="has 1 row,"):
        read_log(tmp_path / "run.csv")


def test_sources_that_are_none(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        read_log(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        read_log(tmp_path / "folder.csv")
    with pytest.raises(FileError, match=r"\nhint: export the sheet as CSV"):
        read_log("run.xls")
    with pytest.raises(FileError, match=r"expected one of \.csv, \.tsv, \.txt, \.npz"):
        read_log("run")
    for wrong in (None, 3, b"run.csv", [1, 2], np.zeros(3)):
        with pytest.raises(OptionError, match="source is"):
            read_log(wrong)
    with pytest.raises(OptionError, match=r"recordings have topics: \.mcap, \.db3, \.bag"):
        (tmp_path / "a.csv").write_text("t")
        read_log(tmp_path / "a.csv", topic="/joint_states")


# MCAP


def messages(n=2, names=("a", "b"), **more):
    data = arrays(n)
    for k, t in enumerate(T):
        state = {"name": [*names], **more}
        for name, key in (("position", "q"), ("velocity", "qd"), ("effort", "tau")):
            state[name] = data[key][k].tolist()
        yield EPOCH + round(t * 1e9), state


def write_mcap(path, states, topic="/joint_states", encoding="json", extra=()):
    writer = pytest.importorskip("mcap.writer")
    with path.open("wb") as file:
        out = writer.Writer(file)
        out.start()
        schema = out.register_schema("sensor_msgs/JointState", "jsonschema", b"{}")
        channel = out.register_channel(topic, encoding, schema)
        for other, code in extra:
            place = out.register_channel(other, code, schema)
            out.add_message(place, 1, b"{}", 1)
        for stamp, state in states:
            body = state if isinstance(state, bytes) else json.dumps(state).encode()
            out.add_message(channel, stamp, body, stamp)
        out.finish()
    return path


def test_mcap_of_joint_states(tmp_path):
    path = write_mcap(tmp_path / "run.mcap", messages(), extra=[("/rosout", "cdr")])
    log = read_log(path)
    same(log, arrays(), atol=1e-15)
    said(log, "times are those of the recorder", "note")
    same(read_log(path, joints=["b", "a"]), {"q": arrays()["q"][:, ::-1]})
    same(read_log(path, robot=two_links("b", "a")), {"q": arrays()["q"][:, ::-1]})
    same(read_log(path, {"current": "effort"}, drive_gains=[1, 1]), {"tau": arrays()["tau"]})


@pytest.mark.parametrize("spelling", [("sec", "nanosec"), ("sec", "nsec"), ("secs", "nsecs")])
def test_mcap_prefers_the_stamp_in_the_header(tmp_path, spelling):
    states = []
    for k, (logged, state) in enumerate(messages()):
        stamp = dict(zip(spelling, divmod(int(NANOSECONDS[k]), 10**9), strict=True))
        states.append((logged + 12345 * k, {**state, "header": {"stamp": stamp}}))
    log = read_log(write_mcap(tmp_path / "run.mcap", states))
    assert np.allclose(log.t, np.arange(200) * 0.010000001, rtol=1e-15, atol=0)


def test_mcap_with_joints_in_changing_order_and_a_gripper_between(tmp_path):
    states = []
    for k, (stamp, state) in enumerate(messages()):
        if k % 2:
            turned = {x: y[::-1] for x, y in state.items()}
            states.append((stamp, turned))
        else:
            states.append((stamp, state))
        states.append((stamp + 1000, {"name": ["finger"], "position": [0.0]}))
    path = write_mcap(tmp_path / "run.mcap", states[::2])
    same(read_log(path), arrays(), atol=1e-15)
    path = write_mcap(tmp_path / "run.mcap", states)
    same(read_log(path, joints=["a", "b"]), arrays(), atol=1e-15)
    with pytest.raises(OptionError, match=r"different joints: a, b \(200 times\); finger"):
        read_log(path)
    with pytest.raises(OptionError, match="no message carries all of a, thumb"):
        read_log(path, joints=["a", "thumb"])


def test_mcap_topics(tmp_path):
    path = write_mcap(tmp_path / "run.mcap", messages(), topic="/arm", extra=[("/b", "json")])
    with pytest.raises(OptionError, match="several JSON topics: /arm, /b\nhint: give topic="):
        read_log(path)
    assert read_log(path, topic="/arm").n == 2
    with pytest.raises(OptionError, match="did you mean '/arm'"):
        read_log(path, topic="/arms")
    with pytest.raises(FileError, match="has no list 'position'"):
        read_log(path, topic="/b")


@pytest.mark.parametrize("encoding", ["cdr", "protobuf", "ros1"])
def test_mcap_in_binary_is_refused_by_name(tmp_path, encoding):
    path = write_mcap(tmp_path / "run.mcap", [(1, b"\0\1\0\0")], encoding=encoding)
    with pytest.raises(FileError, match=rf"/joint_states \({encoding}\).*\nhint:.*export"):
        read_log(path)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "is not JSON"),
        (b"\xff\xfe\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[1, 2]", "no list 'position'"),
        (b'{"position": [1, "2"]}', "expected numbers"),
        (b'{"position": [1, {"a": 1}]}', "expected numbers"),
        (b'{"position": [1, 2], "effort": [1]}', "'effort' is not a list of 2"),
        (b'{"position": [1, 2], "effort": 3}', "'effort' is not a list of 2"),
        (b'{"position": [1, 2], "name": ["a"]}', "does not name the 2 joints"),
        (b'{"position": [1, 2], "name": ["a", "a"]}', "does not name the 2 joints"),
    ],
)
def test_mcap_with_a_broken_message(tmp_path, body, words):
    path = write_mcap(tmp_path / "run.mcap", [*messages(), (EPOCH + 10**10, body)])
    with pytest.raises(FileError, match=words):
        read_log(path)


def test_mcap_nulls_are_missing(tmp_path):
    states = [*messages()]
    states[3][1]["effort"] = [None, 1.0]
    states[4][1]["position"] = [1.0, 10**400]
    states[5][1]["velocity"] = []
    log = read_log(write_mcap(tmp_path / "run.mcap", states))
    assert len(log) == 197


@pytest.mark.parametrize(
    ("ending", "module"), [("parquet", "pyarrow.parquet"), ("mcap", "backports.zstd")]
)
def test_a_missing_extra_says_how_to_get_it(tmp_path, monkeypatch, ending, module):
    import sys

    path = tmp_path / f"run.{ending}"
    path.write_bytes(b"anything")
    if ending == "mcap":
        write_mcap(path, messages())  # packed as zstd
    monkeypatch.setitem(sys.modules, module, None)
    said = f"not installed\nhint: {install_command('logs')}"
    with pytest.raises(ImportError, match=re.escape(said)):
        read_log(path)


# real arms


def test_panda(data):
    log = read_log(data / "panda" / "excitation.npz")
    assert (log.n, len(log), log.name) == (7, 20544, "excitation")
    assert log.rate == pytest.approx(1000, rel=1e-6)
    assert "4 gaps" in said(log, "the longest 8.81 ms", "note")
    even = log.uniform()
    assert len(even) == 21000 and len(even.pieces()) == 1


def test_tx40_from_its_motors(data):
    R = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    R[5, 4] = 32.0  # motor 6 also turns with joint 5
    log = read_log(
        data / "tx40" / "excitation.npz",
        {"motor_q": "motor_pos", "motor_tau": "motor_torque"},
        gear_matrix=R,
        offset=[0.0, -np.pi / 2, np.pi / 2, 0.0, 0.0, 0.0],
        sample_time=2e-4,
    )
    with np.load(data / "tx40" / "excitation.npz") as raw:
        assert np.allclose(log.q, raw["q"], rtol=0, atol=1e-12)
        assert np.allclose(log.tau, raw["tau"], rtol=1e-12, atol=1e-12)
    assert log.rate == pytest.approx(5000) and log.findings == ()


GAINS = [14.87, 13.26, 11.13, 10.62, 11.03, 11.47]


def test_ur10e_from_currents(data):
    path = data / "ur10e" / "excitation_30s.npz"
    with pytest.raises(OptionError, match="'i', gives currents, and a current is not a torque"):
        read_log(path)
    log = read_log(path, {"current": "i"}, drive_gains=GAINS, rows=(634, 3510))
    with np.load(path) as raw:
        assert np.array_equal(log.tau, raw["i"][634:3510] * GAINS)
        assert np.array_equal(log.t, raw["t"][634:3510])
    assert log.rate == pytest.approx(100, rel=1e-6) and len(log) / log.duration < 96
    said(log, "steps vary", "note")


def test_lwr4_under_its_own_names(data):
    names = {
        "t": "times",
        "q": "positions",
        "qd": "velocities",
        "qdd": "accelerations",
        "tau": "torques",
    }
    log = read_log(data / "lwr4" / "measurements_1.npz", names)
    with np.load(data / "lwr4" / "measurements_1.npz") as raw:
        assert np.array_equal(log.t, raw["times"] - raw["times"][0])
        assert np.array_equal(log.qdd, raw["accelerations"])
    assert (log.n, len(log)) == (7, 5027)
    said(log, "2016-04-07", "note")


@pytest.mark.parametrize("arm", ["panda", "ur10e", "lwr4"])
def test_real_velocities_are_the_rates_of_the_positions(data, arm):
    lwr4 = {"t": "times", "q": "positions", "qd": "velocities", "tau": "torques"}
    for path in sorted((data / arm).glob("*.npz")):
        log = read_log(path, {"lwr4": lwr4, "ur10e": {"tau": "i"}}.get(arm))
        assert not [x for x in log.findings if "rate of" in x.what or "never" in x.what], path.name


# more than a log


def test_a_small_parquet_that_unpacks_to_gigabytes_is_refused_by_what_it_declares(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows, groups = 2**20, LARGEST // 2**23 + 1
    table = arrow.table({"joint.q1": arrow.array(np.zeros(rows, dtype=np.int8))})
    path = tmp_path / "bomb.parquet"
    with parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(groups):
            writer.write_table(table)
    assert path.stat().st_size < 1e6
    with pytest.raises(FileError, match=r"520 MiB of numbers .*at most 512 MiB") as raised:
        read_log(path, {"q": "joint.q1", "tau": "joint.q1"}, sample_time=0.01)
    assert f"max_bytes={8 * rows * groups}" in str(raised.value.hint)


def test_an_npz_is_refused_by_what_its_headers_claim(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez(path, **arrays())
    with zipfile.ZipFile(path, "a") as archive, archive.open("tau2.npy", "w") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**9,)}
        np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(FileError, match="'tau2' alone 7629 MiB"):
        read_log(path, {"tau": "tau2"})
    same(read_log(path), arrays())  # what nobody asks for does not count


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet", "mcap"])
def test_the_limit_is_the_callers(ending, tmp_path):
    path = tmp_path / f"run.{ending}"
    if ending == "csv":
        write_csv(path, flat(arrays()))
    elif ending == "npz":
        np.savez(path, **arrays())
    elif ending == "parquet":
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table(flat(arrays())), path)
    else:
        write_mcap(path, messages())
    with pytest.raises(FileError, match=r"expected at most 0\.0009766 MiB"):
        read_log(path, max_bytes=1024)
    assert len(read_log(path, max_bytes=10**6)) == len(read_log(path)) > 1
    for wrong in (0, -1, "much", None, True, float("nan")):
        with pytest.raises(OptionError, match="max_bytes is"):
            read_log(path, max_bytes=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet", "frame"])
def test_too_many_columns_are_refused_before_they_are_read(ending, tmp_path):
    names = [f"x{k}" for k in range(MOST_COLUMNS - 3)]
    for extra, refused in (([], False), (["one more"], True)):
        columns = {"t": T[:3], "q1": T[:3] ** 2, "tau1": T[:3]}
        columns |= {name: np.zeros(3) for name in [*names, *extra]}
        source = path = tmp_path / f"run.{ending}"
        if ending == "csv":
            write_csv(path, columns, form="%g")
        elif ending == "npz":
            np.savez(path, **columns)
        elif ending == "parquet":
            arrow = pytest.importorskip("pyarrow")
            pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), path)
        else:
            source = pytest.importorskip("pandas").DataFrame(columns)
        if refused:
            with pytest.raises(FileError, match="has 4097 columns, expected at most 4096"):
                read_log(source)
        else:
            assert len(read_log(source)) == 3


@given(st.lists(st.floats(width=64), min_size=4, max_size=40))
def test_every_number_of_a_text_is_read_to_its_last_bit(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("text") / "log.csv"
    path.write_text("t,q1\n" + "".join(f"{k},{x!r}\n" for k, x in enumerate(numbers)))
    read = read_text(path, Allowance(path.name, 1e9)).array("q1")
    whole = [abs(x) >= 2.0**53 for x in numbers]
    if not any(whole):  # those become integers
        assert np.array_equal(read, numbers, equal_nan=True)


@pytest.mark.parametrize("packed", [False, True])
def test_matlab_files(tmp_path, packed):
    scipy_io = pytest.importorskip("scipy.io")
    data, path = arrays(), tmp_path / "run.mat"
    inside = {"t": data["t"], "arm": {k: data[k] for k in ("q", "qd", "tau")}, "note": "x"}
    scipy_io.savemat(path, {"log": inside, "words": "robot"}, do_compression=packed)
    names = {"t": "log.t", "q": "log.arm.q", "qd": "log.arm.qd", "tau": "log.arm.tau"}
    log = read_log(path, names)
    np.testing.assert_array_equal(log.q, data["q"])
    np.testing.assert_array_equal(log.tau, data["tau"])
    scipy_io.savemat(path, data, do_compression=packed)
    np.testing.assert_array_equal(read_log(path).qd, data["qd"])
    with pytest.raises(FileError, match="expected at most"):
        read_log(path, max_bytes=1000)


@pytest.mark.parametrize("packed", [False, True])
def test_arrays_of_matlab_files_are_those_that_scipy_reads(tmp_path, packed):
    scipy_io, path = pytest.importorskip("scipy.io"), tmp_path / "run.mat"
    kinds = ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
    held = {kind: np.arange(6).reshape(3, 2).astype(kind) for kind in kinds}
    held["stack"] = np.arange(24.0).reshape(2, 3, 4)
    other = {"c": 1j, "yes": True, "words": "robot", "cells": np.array([1, "a"], dtype=object)}
    written = {**held, **other, "s": {**held, **other, "s": {"row": [[1.0, 2.0]], "one": 3.0}}}
    scipy_io.savemat(path, written, do_compression=packed)
    found, read = read_matlab(path, Allowance("", 1e9)), scipy_io.loadmat(path, simplify_cells=True)
    assert found.names == (*held, *(f"s.{name}" for name in held), "s.s.row", "s.s.one")
    for name in found.names:
        expected: Any = read
        for part in name.split("."):
            expected = expected[part]
        np.testing.assert_array_equal(found.read(name), expected, strict=name != "s.s.one")


def test_single_cells_of_matlab_files_are_looked_into(tmp_path):
    scipy_io, path = pytest.importorskip("scipy.io"), tmp_path / "run.mat"
    q, cell = np.arange(6.0).reshape(3, 2), np.empty((1, 1), dtype=object)
    cell[0, 0] = q
    for packed in (False, True):
        scipy_io.savemat(path, {"c": cell, "log": {"c": cell}}, do_compression=packed)
        found = read_matlab(path, Allowance("", 1e9))
        assert found.names == ("c", "log.c")
        np.testing.assert_array_equal(found.read("log.c"), q)


@pytest.mark.parametrize("packed", [False, True])
def test_arrays_of_structs_are_counted_from_one(tmp_path, packed):
    scipy_io, path, data = pytest.importorskip("scipy.io"), tmp_path / "run.mat", arrays()
    joints = np.array(
        [[(data["q"][:, k], {"Trq": data["tau"][:, k]}) for k in range(2)]],
        dtype=[("pos", object), ("meas", object)],
    )
    many = np.array([[(np.zeros(2),)] * 65], dtype=[("pos", object)])
    written = {"t": data["t"], "joint": joints, "other": many}
    scipy_io.savemat(path, written, do_compression=packed)
    found = read_matlab(path, Allowance("", 1e9)).names
    assert found == ("t", "joint(1).pos", "joint(1).meas.Trq", "joint(2).pos", "joint(2).meas.Trq")
    same(read_log(path), {x: data[x] for x in ("t", "q", "tau")})
    named = {"q": ["joint(2).pos", "joint(1).pos"], "tau": "joint(*).meas.Trq"}
    same(read_log(path, named), {"q": data["q"][:, ::-1], "tau": data["tau"]})


def test_a_struct_with_two_fields_of_a_name_is_refused_where_it_is_asked_for(tmp_path):
    """MATLAB writes none; such a file was refused as a whole."""
    scipy_io, path = pytest.importorskip("scipy.io"), tmp_path / "run.mat"
    data = arrays()
    scipy_io.savemat(path, {**data, "other": {"first": data["q"], "again": data["q"]}})
    path.write_bytes(path.read_bytes().replace(b"again", b"first"))
    np.testing.assert_array_equal(read_log(path).q, data["q"])
    names = {x: x for x in ("t", "qd", "tau")}
    with pytest.raises(FileError, match=r"run.mat has 2 arrays 'other.first', expected one"):
        read_log(path, names | {"q": "other.first"})


def test_damaged_matlab_files_are_refused(tmp_path):
    """Where a bit of the packed bytes differs, the checksum behind them does."""
    scipy_io, path = pytest.importorskip("scipy.io"), tmp_path / "run.mat"
    scipy_io.savemat(path, {"q": np.sin(np.arange(300.0))}, do_compression=True)
    sound = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(150, len(sound), 40):
        bits = bytearray(sound)
        bits[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(bits)
        with pytest.raises(FileError):
            read_matlab(path, Allowance("", 1e9))


def test_bad_matlab_files(tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    path = tmp_path / "run.mat"
    for content, words in (
        (b"", "no MATLAB 5 file"),
        (b"MATLAB 7.3 MAT-file" + bytes(500), "version 7.3"),
        (b"MATLAB 5.0 MAT-file" + bytes(200), "run.mat"),
    ):
        path.write_bytes(content)
        with pytest.raises(DynamisError, match=words):
            read_log(path)
    scipy_io.savemat(path, {"words": "robot"})
    with pytest.raises(FileError, match="no arrays of numbers"):
        read_log(path)
    scipy_io.savemat(path, {"big": np.zeros(30_000_000)}, do_compression=True)  # 240 MB in 240 kB
    with pytest.raises(FileError, match="expected at most"):
        read_log(path, max_bytes=1e7)
