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

from ..accessibility import serious_findings

LARGEST = 4e5  # bytes


@pytest.fixture(scope="module")
def told(compiled, tmp_path_factory):
    """Figures and page of one run."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("demo")
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.delenv("DYNAMIS_PROGRESS")
        code = main(["demo", "--json"])
    assert code == 0, err.getvalue()
    return json.loads(out.getvalue()), (folder / "report.html").read_text(), err.getvalue()


@pytest.mark.thorough
def test_every_step_is_told_and_holds(told):
    figures, _, talk = told
    assert list(figures) == list(STEPS)
    assert all(step["good"] for step in figures.values())
    assert all(f"{what} ..." in talk for what, _ in STEPS.values())
    assert re.search(r"open it in a browser: file:///\S+/report\.html", talk)


@pytest.mark.thorough
def test_its_figures_are_those_of_a_working_arm(told):
    figures, _, _ = told
    assert figures["agreement"]["ok"]
    assert 1 < figures["excitation"]["condition_number"] < 50
    assert figures["identification"]["unknowns"] == 58
    error = figures["validation"]
    assert error["model"] < 0.03 < error["error"]
    parts = np.array([error[name] for name in ("noise", "model", "rest")])
    assert error["error"] == pytest.approx(np.linalg.norm(parts))
    law, pid = (figures["controllers"][k]["rms"] for k in ("computed torque", "joint PID"))
    assert max(law) < 0.1 * min(pid)
    for form in ("libm", "own"):
        said = figures["code"][form]["self_test"]
        assert said.startswith("passed") or said == "no C compiler here"
    assert figures["speed"]["inverse_dynamics"]["us"] > 0


@pytest.mark.thorough
def test_the_page_is_complete_and_loads_nothing(told):
    _, page, _ = told
    for part in ("0.4318", "triangle inequality", "<math", "gibbs-appell", "computed torque"):
        assert part in page
    assert page.count('class="plot"') == 4 * 6
    assert not re.search(r'<(script|link|img|iframe)[^>]*(src|href)="', page)
    assert len(page) < LARGEST


@pytest.mark.thorough
def test_headline_figures_are_those_of_this_run(told):
    figures, page, _ = told
    first = page[page.index("<main>") : page.index("<h2>")]
    error, tracking, speed = re.findall(r"<dd><b>(.*?) (?:%|mrad|\u00b5s)</b>", first)
    assert float(error) == pytest.approx(100 * figures["validation"]["error"], rel=0.05)
    rms = np.array(figures["controllers"]["computed torque"]["rms"])
    assert float(tracking) == pytest.approx(1e3 * np.sqrt(np.mean(rms**2)), rel=0.05)
    assert float(speed) == figures["speed"]["inverse_dynamics"]["us"]


@pytest.mark.thorough
def test_findings_of_the_published_data_are_folded_and_explained(told):
    figures, page, _ = told
    assert figures["model"]["findings"]
    shown = re.sub("<details>.*?</details>", "", page, flags=re.DOTALL)
    assert "triangle inequality" not in shown and "warning" not in shown
    (lesson,) = re.findall("<details><summary>What the check finds.*?</details>", page, re.DOTALL)
    assert "belong to no rigid body" in lesson and lesson.count("<tr>") == 1 + len(
        figures["model"]["findings"]
    )


# moments of the arm's motion, and how much of the canvas is drawn at each
SEEN = """() => new Promise((done) => {
    const arm = document.querySelector(".arm"), slider = arm.querySelector("input");
    const canvas = arm.querySelector("canvas"), seen = [];
    const look = () => {
        if (slider.value !== (seen.length ? seen[seen.length - 1][0] : "0")) {
            const drawn = canvas.getContext("2d"), {width, height} = canvas;
            const all = drawn.getImageData(0, 0, width, height).data;
            let solid = 0, sum = 0;
            for (let k = 0; k < all.length; k += 4) if (all[k + 3] === 255) { solid++; sum += k; }
            seen.push([slider.value, 4 * solid / all.length, sum]);
        }
        if (seen.length < 3) requestAnimationFrame(look); else done(seen);
    };
    look();
})"""


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_first_screen_shows_the_moving_arm_and_three_figures(size, told, browser, tmp_path):
    (tmp_path / "report.html").write_text(told[1])
    tab = browser.new_page(viewport={"width": size[0], "height": size[1]})
    faults, asked = [], []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((tmp_path / "report.html").as_uri())
    moving = tab.evaluate(SEEN)
    places = [x.bounding_box() for x in tab.locator(".arm canvas, .figures > div").all()]
    across = tab.evaluate("document.documentElement.scrollWidth")
    barred = serious_findings(tab)
    tab.close()
    assert not barred
    assert len(places) == 4 and len(asked) == 1 and not faults
    assert all(p["y"] >= 0 and p["y"] + p["height"] <= size[1] for p in places)
    assert across <= size[0]
    assert all(share > 0.01 for _, share, _ in moving)  # solid, not sticks
    assert len({place for _, _, place in moving}) > 1  # it moves


def test_nobody_beside_us_takes_no_columns(compiled, monkeypatch):
    monkeypatch.setattr(demonstration, "find_spec", lambda name: None)
    monkeypatch.setattr(demonstration, "together", lambda *calls: [1e-6 for _ in calls])
    made = demonstration.speed(dy.load("planar-rr"), {})
    ((_, _, table),) = made.folded
    assert table.header == ("function", "dynamis, us")
    assert all(len(row) == 2 for row in table.rows)
    assert "pip install pin" in made.text and "Pinocchio" not in made.headline.meaning
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
    assert ("the extra identify" in made.text) == (package is None)


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
