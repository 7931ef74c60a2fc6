"""The page of an identification: fair figures first, one file, nothing unescaped."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import FileError, OptionError
from dynamis.identify.deviations import autocorrelation
from dynamis.identify.estimate import fitted_rows, friction_curve
from dynamis.identify.friction.hysteresis import presliding_said, reversals
from dynamis.identify.friction.models import FRICTIONS
from dynamis.identify.identification import identify
from dynamis.identify.verdict.error_split import percent
from dynamis.logs.log import Log
from dynamis.report.identification import Torques, write
from dynamis.report.page import few

from ..identify.test_elastic import counted, moved, two_masses
from ..identify.test_memory import WEIGHTS, hysteretic, recorded

HOSTILE = "<script>alert(1)</script>"
LARGEST = 4e5  # bytes
NOISE = 0.05  # N m


def motion(robot, seed, rows=1200, name="run"):
    """A log of a Fourier motion with noisy torque."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.0, 0.8, (2, robot.n, 4))
    t = 0.01 * np.arange(rows)
    q, qd, qdd = dy.trajectory.fourier(a, b, 6.0)(t)
    tau = robot.inverse_dynamics(q, qd, qdd)
    return Log(t=t + 100.0, q=q, qd=qd, tau=tau + NOISE * rng.normal(size=tau.shape), name=name)


@pytest.fixture(scope="module")
def arm():
    links = [
        dy.Link(
            name=f"{name} link", joint_name=name, joint="revolute", a=0.5, mass=2.0,
            com=(-0.25, 0, 0), inertia=(0.01, 0.05, 0.05),
            friction=dy.Friction(viscous=0.3, coulomb=(0.8, -0.8)),
        )
        for name in ("shoulder", HOSTILE)
    ]  # fmt: skip
    return dy.Robot.from_dh("two & <b>", convention="standard", gravity=(0, -9.81, 0), links=links)


@pytest.fixture(scope="module")
def estimate(arm):
    log = motion(arm, 0, name=f"run {HOSTILE}")
    return identify(arm, log, estimator="weighted", friction="smooth")


@pytest.fixture(scope="module")
def other(arm, estimate):
    return estimate.validate(motion(arm, 1, 400, name="another"))


@pytest.fixture(scope="module")
def text(estimate, other, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "id.html"
    assert write(estimate, path, [other]) == path
    assert path.stat().st_size < LARGEST
    return path.read_text(encoding="utf-8")


def test_held_out_before_validation_before_training(estimate, other, text):
    shown = [
        f"<b>{100 * x.relative_error_overall:.2f} %</b> as logged"
        for x in (estimate.held_out, other, *estimate.training)
    ]
    places = [text.index(x) for x in shown]
    assert len(set(shown)) == 3
    assert places == sorted(places)
    titles = ("<h2>Held out", "<h2>Validation: another", "<h2>Residual on the training log")
    assert [text.index(x) for x in titles] == sorted(text.index(x) for x in titles)


def test_one_figure_leads_and_its_parts_stand_beside_it(estimate, other, text):
    """The error of the validation, as logged; no other share of the torque is called an error."""
    split = estimate.split(other)
    first = text[text.index("<h2>Verdict") : text.index("<h2>Held out")]
    assert f"Torque error: {percent(split.error)} on another" in first
    assert f"It is made of {split.said}" in first
    for name, *cells in estimate.split(estimate.held_out).cells():
        row = "</td><td>".join(cells)
        assert f"{html.escape(name)}</td>" in text and row in text
    assert "low-passed at" not in text


def test_without_a_held_out_part_it_says_so(arm, tmp_path):
    found = identify(arm, motion(arm, 2, 600), estimator="weighted", held_out=False)
    text = found.report(tmp_path / "id.html").read_text(encoding="utf-8")
    assert "No data were held out" in text


def test_a_model_chosen_among_several_shows_their_scores(estimate, tmp_path):
    chosen = replace(estimate, scores=(("smooth", 0.02), ("viscous <i>", 0.4)))
    text = write(chosen, tmp_path / "id.html").read_text(encoding="utf-8")
    assert "chosen without these rows" in text
    assert "viscous &lt;i&gt;" in text and "40.00 %" in text


def test_several_logs_hold_out_the_last(arm, tmp_path):
    logs = [motion(arm, k, 500, name=f"run {k}") for k in (4, 5)]
    text = identify(arm, logs, estimator="weighted").report(tmp_path / "id.html").read_text()
    assert "compared on run 5 (500 rows)" in text
    assert "<h3>run 4</h3>" in text and "Spectrum of run 5" in text


def test_every_joint_and_every_unknown_is_shown(estimate, text):
    for name in ("shoulder", "&lt;script&gt;alert(1)&lt;/script&gt;"):
        assert text.count(f"<figcaption>{name}</figcaption>") == 3 + 3  # torques of three motions
    for value in estimate.values:
        assert f"<td>{value:.5g}</td>" in text


def test_every_section_is_there(text):
    titles = re.findall("<h2>(.*?)</h2>", text)
    assert titles[0] == "Verdict" and titles[4:] == [
        *("Findings", "Measured and predicted torque", "Residuals of the fit", "Friction"),
        *("Parameters", "Not identifiable", "Physical consistency", "Excitation", "Processing"),
    ]


def test_what_makes_the_intervals_is_said_once(estimate, text):
    assert re.match(r"of \d+ intervals the noise|the noise of the torque", estimate.interval_source)
    assert text.count(estimate.interval_source) == 1
    assert text.index("<h2>Parameters") < text.index(estimate.interval_source)


def test_names_are_data(text):
    assert HOSTILE not in text and "two & <b>" not in text
    assert "two &amp; &lt;b&gt;" in text
    assert "run &lt;script&gt;" in text


def test_nothing_is_fetched(text):
    assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", text)
    assert not re.search(r"@import|url\(\s*['\"]?https?:", text)
    assert "<link" not in text
    assert text.count("<script src") == 0


def test_no_folder_no_file(estimate, tmp_path):
    with pytest.raises(FileError, match="no folder"):
        estimate.report(tmp_path / "no" / "id.html")
    with pytest.raises(OptionError, match="suffix"):
        estimate.report(tmp_path / "id.txt")
    assert not list(tmp_path.iterdir())


def test_a_page_that_fails_leaves_the_old_one(estimate, tmp_path, monkeypatch):
    path = tmp_path / "id.html"
    path.write_text("old")

    def fail(file):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)  # the last thing before the new page takes its place
    with pytest.raises(FileError, match="disk full"):
        estimate.report(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# what is drawn


def test_fitted_rows_are_those_of_the_fit(estimate):
    (rows,) = fitted_rows(estimate)
    friction = estimate.unknowns.of_kind("viscous", "coulomb", "offset")
    assert rows.residual.shape == rows.qd.shape == rows.friction.shape
    assert rows.residual.std() < NOISE  # filtered
    assert np.abs(rows.friction).max() > 0.5  # what the rigid arm leaves
    assert len(friction) == 6


def test_friction_curve_is_that_of_the_arm_found(estimate):
    v, tau, spread = friction_curve(estimate, 0, 2.0)
    qd = np.stack([v, 0 * v], axis=1)
    assert tau == pytest.approx(estimate.robot.friction_torque(qd)[:, 0], abs=1e-9)
    assert (spread > 0.0).any()


def test_autocorrelation():
    r = np.random.default_rng(0).normal(size=4000)
    assert autocorrelation(r)[0] == pytest.approx(1.0)
    assert np.abs(autocorrelation(r)[1:]).max() < 0.08
    assert autocorrelation(np.convolve(r, np.ones(5)))[1] == pytest.approx(0.8, abs=0.05)
    assert np.isfinite(autocorrelation(np.zeros(100))).all()


def test_thinning_keeps_peaks_and_breaks_at_gaps():
    t = 0.01 * np.arange(5000)
    t[2500:] += 3.0
    y = np.sin(t)
    y[1234], y[4321] = 9.0, -9.0
    kept = few(t, (y,), 400)
    rows = [k for k in kept if k is not None]
    assert {0, 1234, 4321, 4999} <= set(rows)
    assert len(kept) <= 400 + 3 and rows == sorted(rows)
    assert kept.count(None) == 1
    assert rows.index(next(k for k in rows if k >= 2500)) == kept.index(None)


def test_many_charts_share_the_room():
    assert Torques(["N m"], 1).most > Torques(["N m"], 100).most >= 100


def test_friction_about_reversals_has_a_section_where_it_has_memory(text, tmp_path):
    assert "Friction about reversals" not in text and "Presliding" not in text
    true, described = hysteretic()
    model = replace(FRICTIONS["memory"], radii=(*WEIGHTS,))
    options = {"held_out": False, "estimator": "weighted", "cutoff": 25.0}
    found = identify(described, recorded(true), friction=model, **options)
    page = found.report(tmp_path / "id.html").read_text(encoding="utf-8")
    verdict = page[page.index("<h2>Verdict") : page.index("<h2>Held out")]
    assert html.escape(presliding_said(found)) in verdict
    section = page[page.index("<h2>Friction about reversals") : page.index("<h2>Parameters")]
    assert section.count('<figure class="chart"') == 2 * 2
    for one in reversals(found):
        assert f"<td>{one.turns}</td>" in section
        assert all(f"<td>{x:.3g} N m</td>" in section for x in one.errors())
    assert section.count('data-name="radii of the elements"') == 2 * len(WEIGHTS)


def test_elastic_joints_have_a_section(compiled, tmp_path):
    arm = two_masses()
    found = identify(arm, counted(moved(arm)), elastic="auto", held_out=False)
    page = found.report(tmp_path / "id.html").read_text(encoding="utf-8")
    section = page[page.index("<h2>Elastic joints") : page.index("<h2>Parameters")]
    for cell in found.elastic.table()[0]:
        assert f"<td>{cell}</td>" in section
    for output in ("velocity", "deflection"):
        assert f"<figcaption>joint1: {output}</figcaption>" in section
    assert section.count('data-name="modes, rotors free"') == 2
    assert section.count('data-name="coherence"') == 2
    short = replace(found, recorded=(found.recorded[0].window(0.0, 0.2),))
    page = short.report(tmp_path / "id.html").read_text(encoding="utf-8")
    assert "No frequency responses: the longest stretch" in page
