"""Gears, motors and friction: signs, sides and directions of power."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import given

import dynamis as dy
from dynamis.dynamics.elements.friction import SHAPES
from dynamis.model.formats.files import model_from_toml, toml_text
from dynamis.model.formats.urdf import model_from_urdf, urdf_text
from dynamis.model.friction import LAWS
from dynamis.model.model import Model
from dynamis.model.quantity import Expression
from dynamis.spatial.functions import MATH

from ..model_strategies import VALUES, drives

LAW_NAMES = sorted(LAWS)


def one_joint(drive=None, friction=None, **link):
    body = {"mass": 2.0, "a": 1.0, "com": (-0.5, 0, 0), "inertia": (0, 0.2, 0.2), **link}
    joint = dy.Link(**body, drive=drive, friction=friction or dy.Friction())
    return dy.Robot.from_dh("one", convention="standard", links=[joint], gravity=(0, -9.81, 0))


@pytest.mark.parametrize("gear", [50.0, -50.0])
@pytest.mark.parametrize("eta", [1.0, 0.8])
def test_efficiency_follows_the_power(gear, eta):
    """Driving: load / (G eta). Driven back: load eta / G. At rest: lossless."""
    robot = one_joint(dy.Drive(gear=gear, efficiency=eta))
    load = robot.gravity_torque([0.2])[0]
    assert load > 0
    for qd, factor in ((1e-9, 1 / eta), (-1e-9, eta), (0.0, 1.0)):
        tau = robot.motor_torque([0.2], [qd], [0.0])[0]
        assert tau == pytest.approx(load / gear * factor, rel=1e-6)
    with_it, without = (one_joint(dy.Drive(gear=gear, efficiency=e)) for e in (eta, 1.0))
    a, b = (r.inverse_dynamics([0.2], [0.4], [1.0]) for r in (with_it, without))
    assert np.array_equal(a, b)  # inverse dynamics stays linear in the parameters


@pytest.mark.parametrize("lead", [0.025, -0.01])
def test_a_screw_is_a_gear(lead):
    """G = 2 pi / lead, whatever else the drive says; the file keeps the lead."""
    screw = dy.Drive(lead=lead, rotor_inertia=1e-4, viscous=2e-4, coulomb=0.03, efficiency=0.7)
    assert screw.gear == 2 * np.pi / lead and dy.Drive().gear == 1.0
    gear = dy.Drive(**GEARED, gear=2 * np.pi / lead)
    a, b = (one_joint(drive, joint="prismatic") for drive in (screw, gear))
    state = [0.3], [0.2], [1.5]
    assert np.array_equal(a.inverse_dynamics(*state), b.inverse_dynamics(*state))
    assert np.array_equal(a.motor_torque(*state), b.motor_torque(*state))
    assert f"lead = {lead}" in toml_text(a.model) and "gear" not in toml_text(a.model)
    assert replace(screw, viscous=0.0).lead == lead
    assert replace(screw, lead=None, gear=9.0) == dy.Drive(**GEARED, gear=9.0)


GEARED = {"rotor_inertia": 1e-4, "viscous": 2e-4, "coulomb": 0.03, "efficiency": 0.7}


def test_a_lead_may_be_a_symbol():
    """With a value it is a number, without one the equations keep it, pi and all."""
    drive = dy.Drive(lead="p", rotor_inertia=1e-4)
    assert drive.gear == Expression("2*pi/(p)")
    robot = one_joint(drive, joint="prismatic")
    with pytest.raises(dy.errors.SymbolError, match="'p'"):
        robot.inverse_dynamics([0.0], [0.0], [0.0])
    numeric = robot.with_values(p=0.02)
    assert numeric.mass_matrix([0.0])[0, 0] == pytest.approx(2.0 + (2 * np.pi / 0.02) ** 2 * 1e-4)
    M = robot.equations().M[0, 0]
    p = next(x for x in M.free_symbols if x.name == "p")
    assert sp.simplify(M - 2 - sp.pi**2 * sp.Rational(4, 10**4) / p**2) == 0
    number = one_joint(dy.Drive(lead=0.02, rotor_inertia=1e-4), joint="prismatic")
    assert number.equations().M[0, 0] == 2 + sp.pi**2


def test_equations_of_a_screw_with_a_gear_matrix():
    drive, bare = dy.Drive(lead=0.02, rotor_inertia=1e-4), dy.Link(a=0.1, mass=1.0)
    slide = dy.Link(joint="prismatic", mass=2.0, drive=drive)
    G = [["2*pi/0.02", 0], [5, 50]]
    robot = dy.Robot.from_dh("s", convention="standard", links=[slide, bare], gear_matrix=G)
    M = np.array(robot.equations().M.subs({"q1": 0, "q2": 0}), dtype=float)
    assert pytest.approx(robot.mass_matrix([0, 0])) == M


@given(drive=drives("prismatic"))
def test_drives_survive_both_files(drive):
    link = dy.Link(joint="prismatic", axis=(0, 0, 1), mass=1.0, drive=drive)
    model = Model(name="x", convention="urdf", links=(link,), values=VALUES)
    assert model_from_toml(toml_text(model)) == model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dy.errors.DynamisWarning)
        text = urdf_text(model)
    assert model_from_urdf(text.encode()) == model


def test_the_chain_holds_limits_and_circuit():
    """Resolved numbers on the motor's side; nothing of it reaches inverse dynamics."""
    drive = dy.Drive(gear=20, rotor_inertia=1e-4, limits=("-T", "T"), resistance="R",
                     inductance=1e-3, torque_constant=0.1, voltage_limit=24)  # fmt: skip
    robot = one_joint(drive).with_values(T=0.5, R=1.2)
    motor = robot.chain.motors[0]
    assert motor.limits == (-0.5, 0.5)
    assert motor.circuit == (1.2, 1e-3, 0.1, 24.0, None, 1000.0, None)
    plain = one_joint(dy.Drive(gear=20, rotor_inertia=1e-4))
    assert plain.chain.motors[0].limits is None and plain.chain.motors[0].circuit is None
    assert one_joint(dy.Drive(resistance=1.0)).chain.motors[0].circuit is None
    state = [0.3], [0.2], [1.5]
    assert np.array_equal(robot.inverse_dynamics(*state), plain.inverse_dynamics(*state))
    assert np.array_equal(robot.motor_torque(*state), plain.motor_torque(*state))
    assert robot.equations().M == plain.equations().M


def test_the_screws_of_document_000():
    """Motor torque F p / (2 pi eta) when driving, F p eta / (2 pi) when driven back."""
    robot = dy.load("rppr")
    links = [replace(link, drive=None) for link in robot.model.links]
    bare = dy.Robot(replace(robot.model, links=tuple(links)))
    q, p, eta = np.array([0.3, 0.5, 0.2, -0.7]), 0.025, 0.85
    for rates in ([0, 0, 0, 0], [0.4, 0.3, -0.2, 0.1], [0.4, -0.3, 0.2, 0.1], [2, 0.1, 0.1, 0]):
        qd, qdd = np.array(rates, dtype=float), np.array([0.1, 0.5, -0.4, 0.3])
        force = robot.inverse_dynamics(q, qd, qdd)
        assert np.array_equal(force, bare.inverse_dynamics(q, qd, qdd))
        power = np.sign(force * qd)
        loss = np.where(power > 0, 1 / eta, np.where(power < 0, eta, 1.0))
        expected = np.where([0, 1, 1, 0], force * p / (2 * np.pi) * loss, force)
        assert robot.motor_torque(q, qd, qdd) == pytest.approx(expected, rel=1e-13)


def test_full_rotor_kinetics_by_hand():
    """A rotor on link 1 with its axis along link 1's own: gyroscopic coupling J G qd2 w1."""
    J, G = 2e-3, 40.0
    straight = dy.Drive(gear=G, rotor_inertia=J)
    links = [
        dy.Link(alpha="pi/2", mass=1.0, inertia=(0.1, 0.1, 0.1)),
        dy.Link(mass=0.0, inertia=(0.0, 0.0, 0.5), drive=straight),
    ]
    full = dy.Robot.from_dh(
        "f", convention="standard", links=links, gravity=(0, 0, 0), rotors="full"
    )
    flat = dy.Robot.from_dh("r", convention="standard", links=links, gravity=(0, 0, 0))
    q, qd, qdd = np.array([0.1, 0.7]), np.array([2.0, 3.0]), np.array([0.0, 0.0])
    # axis 2 is horizontal: a spinning rotor's moment turns with joint 1 but about a horizontal axis
    assert full.inverse_dynamics(q, qd, qdd) == pytest.approx(flat.inverse_dynamics(q, qd, qdd))
    tilted = dy.Drive(gear=G, rotor_inertia=J, rotor_axis=(0, 1, 0))  # along axis 1, in frame 1
    links[1] = dy.Link(mass=0.0, inertia=(0.0, 0.0, 0.5), drive=tilted)
    along = dy.Robot.from_dh(
        "a", convention="standard", links=links, gravity=(0, 0, 0), rotors="full"
    )
    extra = along.inverse_dynamics(q, 0 * qd, [0.0, 1.0]) - flat.inverse_dynamics(
        q, 0 * qd, [0.0, 1.0]
    )
    assert extra == pytest.approx([J * G, 0.0])  # spinning it up pushes back on joint 1
    assert along.mass_matrix(q)[0, 1] == pytest.approx(J * G)


@pytest.mark.parametrize("law", LAW_NAMES)
def test_friction_laws(law):
    """Every law: zero at rest, resists motion, and its coefficients act linearly."""
    assert set(SHAPES) == set(LAWS)
    constants = {**LAWS[law], **({"ratio": 0.5} if law == "grotjahn" else {})}
    assert SHAPES[law](0.0, constants, MATH) == (0.0, 0.0, 0.0)
    for qd in (1e-4, 0.03, 2.0):
        V, P, N = SHAPES[law](qd, constants, MATH)
        assert V > 0 and P > 0 and N == 0.0
        assert SHAPES[law](-qd, constants, MATH) == pytest.approx((-V, N, P))


def test_constants_of_a_law_may_be_keywords():
    """The keyword names are the file's keys."""
    flat = dy.Friction(law="stribeck", coulomb=0.4, static_ratio=1.8, velocity=0.2)
    assert flat == dy.Friction(
        law="stribeck", coulomb=0.4, constants={"static_ratio": 1.8, "velocity": 0.2}
    )
    with pytest.raises(dy.errors.OptionError, match="no keyword 'static_ratio'"):
        dy.Friction(coulomb=0.4, static_ratio=1.8)


def test_stribeck_falls_from_static_to_coulomb():
    constants = {"static_ratio": 1.8, "velocity": 0.1}
    assert SHAPES["stribeck"](1e-9, constants, MATH)[1] == pytest.approx(1.8)
    assert SHAPES["stribeck"](1.0, constants, MATH)[1] == pytest.approx(1.0)


def test_grotjahn_by_hand():
    V, P, _ = SHAPES["grotjahn"](0.008, {"ratio": 0.5}, MATH)
    assert pytest.approx(0.008 + 0.5 * 0.2) == V and P == 1.0


def test_gear_zero_is_refused_where_it_is_asked():
    robot = one_joint(dy.Drive(gear=0.0))
    with pytest.raises(dy.errors.OptionError, match="gear 0"):
        robot.motor_torque([0.0], [0.0], [0.0])


def test_gibbs_appell_terms_of_document_003():
    """G, C and the columns of M out of the observation matrix."""
    robot = dy.load("elbow6")
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 6))
    terms = robot.gibbs_appell(q, qd, qdd)
    assert np.allclose(terms.W @ terms.phi, terms.tau, atol=1e-11)
    assert np.allclose(terms.G, robot.gravity_torque(q), atol=1e-11)
    assert np.allclose(terms.C, robot.coriolis_matrix(q, qd) @ qd, atol=1e-11)
    assert np.allclose(terms.M, robot.mass_matrix(q), atol=1e-11)  # this arm has no rotors
