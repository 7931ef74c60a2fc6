"""Derivations in Spanish: every text of every method, symbols and numbers as in English."""

import re

import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.equations.derivation.steps import METHODS, derivation
from dynamis.equations.render.phrases import table
from dynamis.errors import OptionError

ENGLISH = re.compile(r"\b(the|The|and|And|of|is|are|that|joint|link|frame|step|as|with)\b")
URDF = """<robot name="one"><link name="base"/><link name="bar"><inertial><mass value="1"/>
<origin xyz="0.5 0 0"/><inertia ixx="0" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="turn" type="revolute"><parent link="base"/><child link="bar"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
STATE = ((0.3, 0.5), (0.1, 0.2), (1.0, 2.0))


def arm(convention):
    """Two joints with all that adds steps or sentences to a derivation."""
    drive = dy.Drive(gear=10, rotor_inertia=1e-3, stiffness=1e4)
    friction = dy.Friction(viscous=0.1, load=0.05)
    links = [
        dy.Link(a=0.5, mass=2.0, friction=friction, drive=drive, joint_name="a. the (b)"),
        dy.Link(joint="prismatic", alpha=0.3, mass=1.0, friction=friction, joint_name="slide"),
    ]
    base, tool = {"xyz": (0, 0, 0.3)}, {"xyz": (0, 0, 0.1)}
    springs = [dy.Spring(kind="torsion", joint="slide", stiffness=3.0)]
    return dy.Robot.from_dh(
        "two", convention=convention, links=links, base=base, tool=tool, springs=springs
    )


def left_in_english(steps):
    for step in steps.steps:
        for text in (step.title, step.text, *(x for row in step.table[:1] for x in row)):
            yield from ENGLISH.findall(text.replace("a. the (b)", ""))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("which", ["standard", "modified"])
def test_nothing_is_left_in_english(which, method):
    english = derivation(arm(which), method, STATE)
    spanish = english.translated("es")
    assert not list(left_in_english(spanish)) and list(left_in_english(english))
    assert len(spanish) == len(english) and spanish.translated("es") is spanish
    for a, b in zip(english.steps, spanish.steps, strict=True):
        assert [x.value for x in a.items] == [x.value for x in b.items]
        assert "a. the (b)" in b.title or "a. the (b)" not in a.title
    text = spanish.text()
    assert "paso a paso" in text and "Comprobación" in text and "estado indicado" in text


def test_without_a_state_and_from_a_urdf(tmp_path):
    path = tmp_path / "one.urdf"
    path.write_text(URDF)
    spanish = derivation(dy.load(path), "lagrange-euler").translated("es")
    assert not list(left_in_english(spanish)) and "evaluados en q = (" in spanish.text()


def test_the_command_writes_spanish(tmp_path, capsys):
    page = tmp_path / "polar.html"
    assert main(["equations", "polar-rp", "--language", "es", "--html", str(page)]) == 0
    text = page.read_text()
    assert '<html lang="es">' in text and "Ecuación de movimiento" in text and "Valores:" in text
    assert "Los números aparecen" in text
    assert main(["equations", "five-bar", "--language", "es"]) == 2
    assert "in English only" in capsys.readouterr().err
    with pytest.raises(OptionError, match="'en', 'es'"):
        derivation(dy.load("polar-rp")).translated("de")


def test_the_table_keeps_what_varies():
    place = re.compile(r"\{\w+\}")
    for part in table("es").values():
        for english, spanish in part.items():
            assert sorted(place.findall(english)) == sorted(place.findall(spanish))
