"""The demonstration runs, passes its checks, and writes a self-contained page."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.demo import demonstration
from dynamis.demo.demonstration import STEPS


@pytest.fixture(scope="module")
def told(compiled, tmp_path_factory):
    """Figures and page of one run."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("demo")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["demo", "--json"])
    assert code == 0, err.getvalue()
    return json.loads(out.getvalue()), (folder / "report.html").read_text(), err.getvalue()


def test_every_step_is_told_and_holds(told):
    figures, _, talk = told
    assert list(figures) == list(STEPS)
    assert all(step["good"] for step in figures.values())
    assert all(f"{what} ..." in talk for what, _ in STEPS.values())


def test_its_figures_are_those_of_a_working_arm(told):
    figures, _, _ = told
    assert figures["agreement"]["ok"]
    assert 1 < figures["excitation"]["condition_number"] < 50
    assert figures["identification"]["unknowns"] == 58
    assert figures["validation"]["sliding"] < 0.03 < figures["validation"]["as_logged"]
    law, pid = (figures["controllers"][k]["rms"] for k in ("computed torque", "joint PID"))
    assert max(law) < 0.1 * min(pid)
    for form in ("libm", "own"):
        said = figures["code"][form]["self_test"]
        assert said.startswith("passed") or said == "no C compiler here"
    assert figures["speed"]["inverse_dynamics"]["us"] > 0


def test_the_page_is_complete_and_loads_nothing(told):
    _, page, _ = told
    for part in ("0.4318", "triangle inequality", "<math", "gibbs-appell", "computed torque"):
        assert part in page
    assert page.count('class="plot"') >= 26
    assert not re.search(r'<(script|link|img|iframe)[^>]*(src|href)="', page)


def test_nobody_beside_us_takes_no_columns(compiled, monkeypatch):
    monkeypatch.setattr(demonstration, "find_spec", lambda name: None)
    monkeypatch.setattr(demonstration, "together", lambda *calls: [1e-6 for _ in calls])
    made = demonstration.speed(dy.load("planar-rr"), {})
    ((_, header, rows),) = made.tables
    assert header == ("", "dynamis, us")
    assert all(len(row) == 2 for row in rows)
    assert "pip install pin" in made.text
    assert made.facts["inverse_dynamics"]["us"] == 1.0


@pytest.mark.parametrize("package", [None, "cvxpy"])
def test_an_arm_that_is_not_possible_says_why(package, monkeypatch):
    found = SimpleNamespace(
        names=["x"], is_physical=package is not None, unknowns=SimpleNamespace(values=np.ones(1)),
        values=np.ones(1), standard_deviations=np.ones(1),
        training=[SimpleNamespace(relative_error_overall=0.1)],
    )  # fmt: skip
    monkeypatch.setattr(demonstration, "find_spec", lambda name: package)
    monkeypatch.setattr(demonstration, "identify", lambda *_, **__: found)
    made = demonstration.identification(dy.load("planar-rr"), {"log": SimpleNamespace()})
    assert made.good
    assert ("dynamis[identify]" in made.text) == (package is None)


def test_somebody_elses_report_is_not_replaced(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").write_text("my own")
    assert main(["demo"]) == 2
    assert "another folder" in capsys.readouterr().err
    assert (tmp_path / "report.html").read_text() == "my own"


def test_a_folder_that_cannot_be_written_is_refused_first(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.access", lambda *_: False)
    assert main(["demo"]) == 2
    assert "cannot write report.html" in capsys.readouterr().err
