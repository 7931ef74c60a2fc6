"""Closed forms of elastic joints: letters, numbers, text, LaTeX, HTML, derivations."""

import numpy as np
import pytest
import sympy as sp

import dynamis as dy
from dynamis.dynamics.elastic import expanded
from dynamis.dynamics.equation import inverse_dynamics
from dynamis.equations import closed
from dynamis.equations.scalars.polynomial import TooLongError
from dynamis.errors import OptionError
from dynamis.spatial.functions import MATH

from ..dynamics.test_elastic_inverse import LAWS, two_links

ROUNDING = 1e-11


def by_letters():
    """Two rods of symbols, the second joint rigid."""

    def link(i, **elastic):
        drive = dy.Drive(gear=f"G{i}", rotor_inertia=f"J{i}", **elastic)
        return dy.Link(joint="revolute", a=f"l{i}", mass=f"m{i}", com=(f"-l{i}/2", 0, 0),
                       inertia=(0, 0, f"I{i}"), drive=drive)  # fmt: skip

    links = [link(1, stiffness="k1", damping="d1"), link(2)]
    return dy.Robot.from_dh("two", convention="standard", gravity=(0, "-g", 0), links=links)


def test_letters_of_the_gear():
    found = by_letters().equations()
    k1, d1, G1, J1, q1, qd1, th1, thd1, thdd1 = sp.symbols(
        "k1 d1 G1 J1 q1 qd1 th1 thd1 thdd1", real=True
    )
    e = k1 * (th1 - q1) + d1 * (thd1 - qd1)
    assert sp.expand(found.gear_torque[0] - e) == 0
    assert sp.expand(found.motor_side[0] - (G1**2 * J1 * thdd1 + e)) == 0
    assert (found.motor, found.motor_rate, found.motor_acceleration) == ((th1,), (thd1,), (thdd1,))
    # the links feel no rotor behind the elastic gear, and that of the rigid joint
    qdd = sp.symbols("qdd1 qdd2", real=True)
    left = sp.expand(found.tau - found.link_side)
    assert left == sp.Matrix([G1**2 * J1 * qdd[0], 0])


@pytest.mark.parametrize("friction", [*LAWS.values(), {"coulomb": 0.5, "load": 0.2}])
@pytest.mark.parametrize("backlash", [0.0, 0.3])
def test_numbers_of_both_sides(friction, backlash):
    given = {"hardening": 4e3, "damping": 3.0, "backlash": backlash, "coulomb": (4e-4, -3e-4)}
    robot = two_links({**friction}, **given)
    found = robot.equations()
    for d in ((0.5, -0.5), (-0.4, 0.1)):  # either side of the teeth, and between
        state = np.random.default_rng(0).normal(size=(6, 2))
        state[3] = state[0] + d
        symbols = (
            found.q,
            found.qd,
            found.qdd,
            found.motor,
            found.motor_rate,
            found.motor_acceleration,
        )
        values = {
            s: x
            for row, own in zip(symbols, state, strict=True)
            for s, x in zip(row, own, strict=True)
        }
        links, gears, motors = (
            np.array(x.subs(values).evalf(), float).ravel()
            for x in (found.link_side, found.gear_torque, found.motor_side)
        )
        both = [np.concatenate([state[k], state[k + 3]]).tolist() for k in range(3)]
        expected = inverse_dynamics(expanded(robot.chain), *both, MATH)
        np.testing.assert_allclose([*(links - gears), *motors], expected, rtol=ROUNDING)


def test_text_latex_and_html_have_both_sides():
    found = by_letters().equations()
    text = str(found)
    assert "e1 = d1*(-qd1 + thd1) + k1*(-q1 + th1)" in text
    assert "G1**2*J1*thdd1 + e1 = tau1" in text
    assert text.count("= e1\n") == 1 and text.count("= tau2\n") == 1
    latex = found.latex()
    assert r"\tau_{1} &= G_{1}^{2} \, J_{1} \, \ddot{\theta}_{1} + e_{1}" in latex
    assert latex.count("e_{1} &=") == 2 and r"\dot{\theta}_{1}" in latex
    assert found._repr_html_().count("<math") == len(latex.splitlines()) - 2
    rigid = str(dy.load("planar-2link").equations())
    assert "elastic" not in rigid


def test_long_arms_have_gears_and_motors(monkeypatch):
    def too_long(*_):
        raise TooLongError("as those of long arms are")

    monkeypatch.setattr(closed, "closed", too_long)
    found = by_letters().equations()
    assert not found.is_closed
    text = str(found)
    assert "e1 = d1*(-qd1 + thd1) + k1*(-q1 + th1)\n" in text
    assert "without these motors, = e: .link_side\n" in text
    assert text.endswith("G1**2*J1*thdd1 + e1 = tau1")
    assert found.latex().count("e_{1} &=") == 1


def test_derivations_have_a_step(tmp_path):
    found = by_letters().equations().steps
    (step,) = [s for s in found if s.title == "Elastic joints"]
    assert step.number == found.steps[-1].number  # symbols without values: no check behind it
    text = found.text()
    assert "e1 = d1 (-qd1 + thetad1) + k1 (-q1 + theta1)" in text
    assert "e1 = tau1 - (G1^2 J1 qdd1) of the step before" in text
    assert "tau1 = G1^2 J1 thetadd1 + e1" in text
    found.html(tmp_path / "page.html")
    assert "Elastic joints" in (tmp_path / "page.html").read_text()
    robot = two_links({"coulomb": 0.5, "load": 0.1})
    derived = robot.equations().derivation([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    assert [s.title for s in derived][-2:] == ["Elastic joints", "Check"]
    assert "without friction under load" in derived.text()
    assert "tau1" in derived.evaluate([0.1, 0.2])


def test_symbols_that_motors_have_are_refused():
    link = dy.Link(joint="revolute", a="th1", mass=1.0,
                   drive=dy.Drive(rotor_inertia=1e-2, stiffness=100.0))  # fmt: skip
    robot = dy.Robot.from_dh("one", convention="standard", links=[link])
    with pytest.raises(OptionError, match="symbol 'th1'"):
        robot.equations().gear_torque  # noqa: B018
