"""What a Python shell and a notebook show: findings, parameters, solutions."""

import numpy as np

import dynamis as dy
from dynamis.model.check.finding import Finding, Findings
from dynamis.model.parameters import Parameters
from dynamis.spatial.inertia import NAMES
from dynamis.tables import html_table, rest, text_table

ROWS = [("joint", "kp"), ("a\x1b[1m", "100"), ("<b>", "2")]


def test_a_table_as_text_and_as_html():
    assert text_table(ROWS, rule=False) == "joint       kp\na\\u001b[1m  100\n<b>         2"
    aligned = text_table(ROWS, right=1).splitlines()
    assert aligned[0].endswith("  kp") and aligned[1] == "----------  ---"
    assert aligned[3] == "<b>           2"
    page = html_table(ROWS, caption=("a < b",), style="x:y")
    assert page.startswith('<table><caption>a &lt; b</caption><tr><th style="x:y">joint</th>')
    assert "<b>" not in page and "\x1b" not in page
    assert rest(13) == ["... 1 more"] and rest(12) == []


def test_findings_are_shown_as_sentences():
    found = dy.load("sixr").check()
    levels = [finding.level for finding in found]
    head, *lines = repr(found).splitlines()
    assert head.startswith(f"{levels.count('error')} error")
    assert lines[:2] == str(found[0]).splitlines()
    assert "what to do" in found._repr_html_() and found[0].remedy in found._repr_html_()
    assert Findings() == [] and repr(Findings()) == "no findings"
    many = Findings([Finding("note", f"link {k}", "is", "look") for k in range(40)])
    assert repr(many).splitlines()[0] == "40 notes:"
    assert repr(many).endswith("... 28 more")


def test_parameters_are_shown_link_by_link():
    arm = dy.load("planar-2link")
    lines = repr(arm.parameters).splitlines()
    assert lines[0] == "Parameters(30 values, named such as 'link1.m')"
    assert lines[1].split() == ["link", *NAMES]
    assert [float(x) for x in lines[3].split()[1:]] == [
        float(f"{x:.5g}") for x in arm.parameters.values[10:20]
    ]
    assert lines[4].split()[:3] == ["joint", "rotor_inertia", "viscous"]
    assert len(lines) == 7
    assert arm.parameters._repr_html_().count("<table>") == 2
    assert repr(Parameters((), np.zeros(0))) == "Parameters(0 values)"
    chain = [dy.Link(a=0.1, mass=1.0) for _ in range(20)]
    long = dy.Robot.from_dh("long", convention="standard", links=chain)
    assert repr(long.parameters).count("... 8 more") == 2


def test_solutions_are_a_table_in_a_notebook():
    arm = dy.load("planar-2link")
    found = arm.ik(arm.fk([0.4, 0.9]))
    page = found._repr_html_()
    assert "2 solutions" in page and "<th>q2</th>" in page and "0.90000" in page
