"""One recording in many spellings: read right, or refused with the line and the reason."""

import numpy as np
import pytest

from dynamis.errors import DynamisError
from dynamis.identify import read_log

T = np.arange(6) * 0.01
Q, TAU = np.stack([np.sin(T), np.cos(T)], axis=1), np.stack([1.0 + T, 2.0 - T], axis=1)
ROWS = [[f"{x:.6f}" for x in row] for row in np.column_stack([T, Q, TAU]).tolist()]
NAMES = ["t", "q1", "q2", "tau1", "tau2"]
AS_TEXT = {"t": "0", "q": ["1", "2"], "tau": ["3", "4"]}
WITH_UNITS = ["t [s]", "q1 [deg]", "q2 [deg]", "tau1 [Nm]", "tau2 [Nm]"]
PLACES = {"t": 0, "q": [1, 2], "tau": [3, 4]}


def text(sep=",", names=NAMES, rows=ROWS, end="\n"):
    lines = [sep.join(names)] if names else []
    return end.join([*lines, *(sep.join(row) for row in rows)]) + end


def commas(rows=ROWS):
    return [[x.replace(".", ",") for x in row] for row in rows]


def with_lines(*added):
    """The plain file with lines put in at (place, line)."""
    lines = text().splitlines()
    for place, line in added:
        lines.insert(place, line)
    return "\n".join(lines) + "\n"


DEGREES = [[r[0], *(f"{np.degrees(float(x)):.9f}" for x in r[1:3]), *r[3:]] for r in ROWS]
GOOD = {
    "plain": (text(), {}),
    "semicolons": (text(";"), {}),
    "tabs": (text("\t"), {}),
    "bars": (text("|"), {}),
    "blanks": (text(" "), {}),
    "commas and blanks": (text(", "), {}),
    "windows line ends": (text(end="\r\n"), {}),
    "old mac line ends": (text(end="\r"), {}),
    "byte order mark": ("\ufeff" + text(), {}),
    "quoted": (text(names=[f'"{x}"' for x in NAMES]), {}),
    "no header": (text(names=None), {"columns": PLACES}),
    "no header, named as text": (text(names=None), {"columns": AS_TEXT}),
    "no header, blanks": (text(" ", names=None), {"columns": PLACES}),
    "no header, range": (text(names=None), {"columns": PLACES | {"q": range(1, 3)}}),
    "by place with a header": (text(), {"columns": PLACES}),
    "decimal comma, semicolons": (text(";", rows=commas()), {}),
    "decimal comma, tabs": (text("\t", rows=commas()), {}),
    "decimal comma, blanks": (text(" ", rows=commas()), {}),
    "decimal comma, no header": (text(";", names=None, rows=commas()), {"columns": PLACES}),
    "decimal comma, blanks, no header": (text(" ", names=None, rows=commas()), {"columns": PLACES}),
    "unit line": (with_lines((1, "s,rad,rad,Nm,Nm")), {}),
    "unit line in brackets": (with_lines((1, "[s],[rad],[rad],[N m],[N m]")), {}),
    "degrees by unit line": (text(rows=[["s", "deg", "deg", "Nm", "Nm"], *DEGREES]), {}),
    "degrees in the header": (text(names=WITH_UNITS, rows=DEGREES), {}),
    "header with units, by its names": (
        text(names=["time (s)", "a (rad)", "b (rad)", "x (Nm)", "y (Nm)"]),
        {"columns": {"t": "time (s)", "q": ["a (rad)", "b"], "tau": ["x", "y (Nm)"]}},
    ),
    "repeated header": (with_lines((3, ",".join(NAMES)), (6, ",".join(NAMES))), {}),
    "comments": ("# robot 1\n" + with_lines((2, "# a remark"), (4, "")), {}),
    "header in a comment": ("# " + text(), {}),
    "last line cut short": (text() + "0.06,0.1", {}),
    "more columns": (text(names=[*NAMES, "note"], rows=[[*r, "ok"] for r in ROWS]), {}),
}


@pytest.mark.parametrize("name", GOOD)
def test_it_is_read_right(name, tmp_path):
    content, options = GOOD[name]
    path = tmp_path / "run.csv"
    path.write_bytes(content.encode())
    log = read_log(path, **options)
    np.testing.assert_allclose(log.t, T, atol=1e-6)
    np.testing.assert_allclose(log.q, Q, atol=2e-6)
    np.testing.assert_allclose(log.tau, TAU, atol=1e-6)


def test_latin_1_is_read_and_said(tmp_path):
    path = tmp_path / "run.csv"
    path.write_bytes(
        text(names=["t", "q1", "q2", "tau1", "tau2"]).encode() + "# M\u00fcller\n".encode("latin-1")
    )
    log = read_log(path)
    assert len(log) == len(T) and any("Latin-1" in f.what for f in log.findings)


BAD = {
    "a number is missing": (with_lines((3, "0.5,1,2")), "line 4 has 3 cells"),
    "too many numbers": (with_lines((2, "0,1,2,3,4,5")), "line 3 has 6 cells"),
    "thousands and decimal comma": (text(";").replace("0.010000", "1.234,5"), "holds"),
    "an unknown unit line": (with_lines((1, "s,furlong,furlong,Nm,Nm")), "'t' holds|'q1' holds"),
    "a unit of something else": (with_lines((1, "s,Nm,Nm,rad,rad")), "units"),
    "no header and nothing said": (text(names=None), "5 columns without a header"),
    "words among the numbers": (text().replace("1.000000", "one", 1), "holds"),
    "binary": ("\x00\x01\x02", "zero bytes"),
    "empty": ("", "is empty"),
    "nothing but a header": ("t,q1,tau1\n", "no rows"),
    "the same name twice": (text(names=["t", "q1", "q1", "tau1", "tau2"]), "two columns 'q1'"),
    "a place that is none": (text(names=None), "places from 0 to 4"),
}


@pytest.mark.parametrize("name", BAD)
def test_it_is_refused_with_the_reason(name, tmp_path):
    content, words = BAD[name]
    path = tmp_path / "run.csv"
    path.write_text(content)
    columns = PLACES | {"q": [1, 9]} if "place" in name else None
    with pytest.raises(DynamisError, match=words):
        read_log(path, columns)
