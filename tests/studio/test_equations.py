"""The Equations page: formulas in the page, made by a process that can be stopped."""

import subprocess
import sys
import threading
from dataclasses import replace

import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.studio.pages import equations as formulas
from dynamis.studio.pages.equations import Question, answered, asked


def drawn(locator):
    box = locator.bounding_box()
    return box is not None and box["width"] > 5 and box["height"] > 5


def test_the_equations_of_a_planar_arm_are_in_the_page(tab):
    tab.session.change_robot(dy.load("planar-rr"))
    tab.open("Equations")
    tab.press("Derive")
    tab.sees(tab.page.locator(".dy-eq h4", has_text="Mass matrix"))
    rows = tab.page.locator(".dy-eq .row")
    tab.until(lambda: rows.count() == 2 + 4 + 3 + 2 + 2)  # tau, M, C without its zero, g, energies
    symbol = rows.nth(2).locator("msub").first
    tab.until(lambda: drawn(symbol), "it is not drawn as a formula")
    tab.choose("Show", "One entry")
    tab.choose("Quantity", "g")
    tab.choose("Row", "2")
    tab.press("Derive")
    tab.until(lambda: rows.count() == 1)
    assert tab.errors == []


def test_a_process_answers_or_is_stopped():
    robot = dy.load("planar-rr")
    assert "<math>" in asked(Question.of(robot, "entry", entry="M", i=1, j=1), threading.Event())
    gone = threading.Event()
    gone.set()
    with pytest.raises(OptionError, match="the tab was closed"):
        asked(Question.of(robot, "derivation"), gone)
    with pytest.raises(OptionError, match=r"longer than 0\.1 s"):
        asked(Question.of(robot, "derivation"), threading.Event(), patience=0.1)
    with pytest.raises(OptionError, match="expected 2 from 0 to 1"):
        asked(Question.of(robot, "entry", entry="M", i=7), threading.Event())


def test_the_process_imports_no_other_page():
    """Seconds, of which every answer would take them."""
    code = f"import sys, {formulas.__name__}; print('matplotlib' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"


def test_counts_and_base_parameters():
    html = answered(Question.of(dy.load("planar-rr"), "counts"))
    assert "inverse_dynamics" in html and "13 base parameters of" in html


def test_nothing_of_a_name_is_markup():
    robot = dy.load("planar-rr")
    evil = "<img src=x onerror=alert(1)>"
    links = tuple(replace(link, name=f"{evil}{i}") for i, link in enumerate(robot.model.links))
    named = dy.Robot(replace(robot.model, name=evil, description=evil, links=links))
    for show in ("equations", "derivation", "counts"):
        assert "<img" not in answered(Question.of(named, show))


def test_what_is_too_long_is_said(monkeypatch):
    monkeypatch.setattr(formulas, "LONGEST", 5_000)
    with pytest.raises(OptionError, match="too many to show"):
        answered(Question.of(dy.load("planar-rr"), "equations"))
