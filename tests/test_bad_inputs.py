"""A wrong input never gives a wrong number: it gives our error, which names what was given."""

import re
import warnings

import numpy as np
import pytest
import sympy as sp

import dynamis as dy
from dynamis.errors import (
    DynamisError,
    FileError,
    ModelError,
    OptionError,
    ShapeError,
    SingularError,
    SymbolError,
)

NAN, INF = float("nan"), float("inf")
Z6 = np.zeros(6)
EYE = np.eye(4)


def two_link(**changes):
    links = [
        dy.Link(a=1.0, mass=3.0, com=(-0.5, 0, 0), inertia=(0.01, 0.25, 0.25), **changes),
        dy.Link(a=0.8, mass=2.0, com=(-0.4, 0, 0), inertia=(0.01, 0.12, 0.12)),
    ]
    return dy.Robot.from_dh("two-link", convention="standard", links=links)


def robot_of(links=None, name="arm", convention="standard", **rest):
    links = [dy.Link(a=1.0, mass=1.0)] if links is None else links
    return dy.Robot.from_dh(name, convention=convention, links=links, **rest)


def moved(row, column, value):
    T = np.eye(4)
    T[row, column] = value
    return T


def refused(call, error, *words):
    """The call raises exactly our error, and its message holds every word."""
    with pytest.raises(DynamisError) as caught:
        call()
    assert isinstance(caught.value, error), f"{type(caught.value).__name__}: {caught.value}"
    for word in words:
        assert re.search(word, str(caught.value)), f"{word!r} is not in: {caught.value}"


def table(rows):
    """Rows (id, call, error, words...) as parameters with readable ids."""
    return pytest.mark.parametrize(
        ("call", "error", "words"),
        [pytest.param(call, error, words, id=name) for name, call, error, *words in rows],
    )


LINKS = [
    ("joint type", lambda: dy.Link(joint="revolut"), OptionError, "'revolut'", "mean 'revolute'"),
    ("joint none", lambda: dy.Link(joint=None), OptionError, "None", "'prismatic'"),
    ("nan length", lambda: dy.Link(a=NAN), ModelError, "a is nan", "finite"),
    ("inf offset", lambda: dy.Link(d=-INF), ModelError, "d is -inf", "finite"),
    ("huge integer", lambda: dy.Link(a=10**400), ModelError, "^a is too large", "finite"),
    ("none alpha", lambda: dy.Link(alpha=None), ModelError, "alpha is None", "number"),
    ("list mass", lambda: dy.Link(mass=[1.0]), ModelError, r"mass is \[1.0\]", "number"),
    ("array mass", lambda: dy.Link(mass=np.zeros(2)), ModelError, "mass is array", "number"),
    ("bool mass", lambda: dy.Link(mass=True), ModelError, "mass is True", "number"),
    ("complex mass", lambda: dy.Link(mass=1j), ModelError, "mass is 1j", "number"),
    ("numpy complex", lambda: dy.Link(mass=np.complex128(1 + 2j)), ModelError, "mass is", "2j"),
    ("numpy bool", lambda: dy.Link(mass=np.bool_(True)), ModelError, "mass is .*True", "number"),
    ("negative mass", lambda: dy.Link(mass=-2.0), ModelError, "mass is -2", ">= 0"),
    ("com length", lambda: dy.Link(com=(1, 2)), ModelError, "com has 2", "expected 3"),
    ("com scalar", lambda: dy.Link(com=1.0), ModelError, "com is 1.0", "3 numbers"),
    ("com text", lambda: dy.Link(com="0 0 1"), ModelError, "com is '0 0 1'", "3 numbers"),
    ("com nan", lambda: dy.Link(com=(0, NAN, 0)), ModelError, r"com\[1\] is nan", "finite"),
    ("com ragged", lambda: dy.Link(com=(0, [1, 2], 0)), ModelError, r"com\[1\] is \[1, 2\]"),
    ("com twice", lambda: dy.Link(com=(0, 0, 0), com_factor=-0.5), ModelError, "com_factor"),
    ("inertia length", lambda: dy.Link(inertia=(1, 2)), ModelError, "2 entries", "expected 6"),
    ("inertia scalar", lambda: dy.Link(inertia=0.5), ModelError, "inertia is 0.5", "3x3"),
    ("inertia text", lambda: dy.Link(inertia="abc"), ModelError, "inertia is 'abc'", "3x3"),
    (
        "inertia asymmetric",
        lambda: dy.Link(inertia=[[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]]),
        ModelError,
        "not symmetric",
        r"\[0\]\[1\] is 0.1",
        r"\[1\]\[0\] is 0.2",
    ),
    (
        "inertia ragged",
        lambda: dy.Link(inertia=[[1, 0, 0], [0, 1], [0, 0, 1]]),
        ModelError,
        r"inertia\[1\] has 2",
        "expected 3",
    ),
    ("inertia nan", lambda: dy.Link(inertia=(1, NAN, 1)), ModelError, r"inertia\[1\] is nan"),
    ("linear length", lambda: dy.Link(linear=[1.0] * 9), ModelError, "linear has 9", "10"),
    ("linear and mass", lambda: dy.Link(mass=1, linear=[0] * 10), ModelError, "linear", "once"),
    ("prismatic d", lambda: dy.Link(joint="prismatic", d=0.3), ModelError, "d = 0.3", "offset"),
    ("revolute theta", lambda: dy.Link(theta=0.3), ModelError, "theta = 0.3", "offset"),
    ("axis zero", lambda: dy.Link(axis=(0, 0, 0)), ModelError, r"\(0, 0, 0\)", "direction"),
    ("limits one", lambda: dy.Link(limits=3.1), ModelError, "limits is 3.1", "2 numbers"),
    ("limits three", lambda: dy.Link(limits=(1, 2, 3)), ModelError, "limits has 3", "expected 2"),
    ("limits none", lambda: dy.Link(limits=(None, 1)), ModelError, r"limits\[0\] is None"),
    ("mimic", lambda: dy.Link(mimic="joint1"), ModelError, "mimic is 'joint1'", "multiplier"),
    ("friction number", lambda: dy.Link(friction=0.1), ModelError, "friction is 0.1", "Friction"),
    ("drive dict", lambda: dy.Link(drive={"gear": 3}), ModelError, "drive is {'gear'", "Drive"),
    ("coulomb three", lambda: dy.Friction(coulomb=(1, 2, 3)), ModelError, "coulomb has 3", "2"),
    ("viscous text", lambda: dy.Friction(viscous="lots of"), ModelError, "'lots of'"),
    ("viscous nan", lambda: dy.Friction(viscous=NAN), ModelError, "friction.viscous is nan"),
    ("law", lambda: dy.Friction(law="stribek"), OptionError, "'stribek'", "mean 'stribeck'"),
    ("law kind", lambda: dy.Friction(law=3), OptionError, "3", "known: coulomb"),
    (
        "constant",
        lambda: dy.Friction(law="smooth", constants={"velocty": 1}),
        OptionError,
        "'velocty'",
        "mean 'velocity'",
    ),
    (
        "constant zero",
        lambda: dy.Friction(law="smooth", constants={"velocity": 0}),
        ModelError,
        "velocity is 0",
        "above 0",
    ),
    (
        "static ratio",
        lambda: dy.Friction(law="stribeck", static_ratio=0.9),
        ModelError,
        "static_ratio is 0.9",
        ">= 1",
    ),
    (
        "stiffness",
        lambda: dy.Friction(law="lugre", stiffness=0),
        ModelError,
        "stiffness is 0",
        "above 0",
    ),
    ("damping", lambda: dy.Friction(law="lugre", damping=-1), ModelError, "damping is -1", ">= 0"),
    ("gear and lead", lambda: dy.Drive(gear=100, lead=0.01), ModelError, "both gear 100", "one of"),
    ("gear 1 and lead", lambda: dy.Drive(gear=1, lead=0.01), ModelError, "both gear 1", "one of"),
    ("symbols", lambda: dy.Drive(gear="G", lead="p"), ModelError, "both gear G and lead p"),
    ("lead zero", lambda: dy.Drive(lead=0), ModelError, "drive.lead is 0", "metres per motor turn"),
    ("lead tiny", lambda: dy.Drive(lead=1e-320), ModelError, "drive.lead is 1e-320", "such as"),
    ("lead text", lambda: dy.Drive(lead="a lot"), ModelError, "drive.lead", "'a lot'"),
    (
        "screw that turns",
        lambda: dy.Link(joint_name="elbow", drive=dy.Drive(lead=0.01)),
        ModelError,
        "revolute joint 'elbow' with drive.lead 0.01",
        "as gear",
    ),
    (
        "voltage alone",
        lambda: dy.Drive(voltage_limit=24, torque_constant=0.1),
        ModelError,
        "voltage_limit is 24",
        "without drive.resistance",
        "give resistance",
    ),
    ("no resistance", lambda: dy.Drive(resistance=0), ModelError, "drive.resistance is 0", "above"),
    ("inductance", lambda: dy.Drive(inductance=-1), ModelError, "drive.inductance is -1", "above"),
    ("inductance none", lambda: dy.Drive(inductance=None), ModelError, "inductance is None"),
    ("constant", lambda: dy.Drive(torque_constant=-0.1), ModelError, "torque_constant is -0.1"),
    ("current", lambda: dy.Drive(current_limit=0), ModelError, "current_limit is 0", "above 0"),
    ("bandwidth", lambda: dy.Drive(current_bandwidth=0), ModelError, "current_bandwidth is 0"),
    ("gear none", lambda: dy.Drive(gear=None), ModelError, "drive.gear is None", "number"),
    ("efficiency", lambda: dy.Drive(efficiency=0), ModelError, "efficiency is 0", "above 0"),
    ("rotor axis", lambda: dy.Drive(rotor_axis=(0, 0, 0)), ModelError, "rotor_axis", "direction"),
    ("drive limits", lambda: dy.Drive(limits=5), ModelError, "drive.limits is 5", "2 numbers"),
]

DEEP = "(" * 90 + "1" + ")" * 90
EXPRESSIONS = [
    ("import", "__import__('os').system('true')"),
    ("dunder", "__builtins__"),
    ("lambda", "(lambda: 1)()"),
    ("attribute", "pi.real"),
    ("subscript", "[1][0]"),
    ("comparison", "1 if 2 > 1 else 0"),
    ("walrus", "(x := 3)"),
    ("keyword", "sin(x=1)"),
    ("function", "exec('1')"),
    ("text", "'abc'"),
    ("bytes", "b'1'"),
    ("unbalanced", "(1 + 2"),
    ("empty", ""),
    ("blank", "   "),
    ("two", "1, 2"),
    ("statement", "import os"),
    ("newline", "1\n2"),
    ("null", "1\0"),
    ("complex", "1j"),
    ("powers", "9**9**9"),
    ("power of powers", "9.0**9**9**9"),
    ("division", "1/0"),
    ("root", "sqrt(-1)"),
    ("complex power", "(-1)**0.5"),
    ("long", "1+" * 5000 + "1"),
    ("deep", "-" * 190 + "1 2"),
    ("bitwise", "1 << 99999"),
    ("infinite", "1e999"),
    ("nan", "nan deg deg"),
]

MODELS = [
    ("convention", lambda: robot_of(convention="standart"), OptionError, "'standart'", "standard"),
    ("no convention", lambda: robot_of(convention=None), OptionError, "without", "'modified'"),
    ("name", lambda: robot_of(name=""), ModelError, "name is ''", "non-empty"),
    ("name kind", lambda: robot_of(name=7), ModelError, "name is 7", "non-empty"),
    ("no links", lambda: robot_of(links=[]), ModelError, "'arm' has no links", "at least one"),
    ("links none", lambda: robot_of(links=7), ModelError, "links is 7", "dy.Link"),
    ("links dict", lambda: robot_of(links=[{"a": 1}]), ModelError, "{'a': 1}", "dy.Link"),
    ("one link", lambda: robot_of(links=dy.Link()), ModelError, "links is Link", "dy.Link"),
    (
        "duplicate link",
        lambda: robot_of(links=[dy.Link(name="x"), dy.Link(name="x")]),
        ModelError,
        "two links are called 'x'",
        "distinct",
    ),
    (
        "duplicate joint",
        lambda: robot_of(links=[dy.Link(joint_name="j"), dy.Link(joint_name="j")]),
        ModelError,
        "two joints are called 'j'",
        "distinct",
    ),
    ("link name", lambda: robot_of(links=[dy.Link(name=3)]), ModelError, "name is 3", "text"),
    ("keyword", lambda: robot_of(gravty=1), OptionError, "'gravty'", "mean 'gravity'"),
    ("gravity size", lambda: robot_of(gravity=9.81), ModelError, "gravity is 9.81", "3 numbers"),
    ("gravity nan", lambda: robot_of(gravity=(0, 0, NAN)), ModelError, r"gravity\[2\] is nan"),
    ("gravity none", lambda: robot_of(gravity=None), ModelError, "gravity is None", "3 numbers"),
    ("base shape", lambda: robot_of(base=np.eye(3)), ModelError, "base is", "4x4"),
    ("base ragged", lambda: robot_of(base=[[1], [1], [1], [1]]), ModelError, "four rows", "4x4"),
    ("base flat", lambda: robot_of(base=[1, 2, 3, 4]), ModelError, "base", "4x4"),
    ("base skewed", lambda: robot_of(base=moved(0, 1, 0.1)), ModelError, "base is not a rigid"),
    ("base mirrored", lambda: robot_of(base=moved(2, 2, -1)), ModelError, "base", "mirror"),
    ("base last row", lambda: robot_of(base=moved(3, 0, 1)), ModelError, "last row", r"0, 0, 0, 1"),
    ("base nan", lambda: robot_of(base=moved(0, 3, NAN)), ModelError, r"base\[0\]\[3\] is nan"),
    ("tool text", lambda: robot_of(tool="gripper"), ModelError, "tool is 'gripper'", "4x4"),
    ("tool key", lambda: robot_of(tool={"xy": (0, 0, 0)}), ModelError, "'xy'", "xyz, rpy"),
    ("tool symbol", lambda: robot_of(tool=[["c", 0, 0, 0], *EYE[1:].tolist()]), ModelError, "tool"),
    ("tool xyz", lambda: robot_of(tool={"xyz": (0, 0)}), ModelError, "tool.xyz has 2", "3"),
    ("tool link", lambda: robot_of(tool_link="link9"), OptionError, "'link9'", "mean 'link1'"),
    ("rotors", lambda: robot_of(rotors="ful"), OptionError, "'ful'", "mean 'full'"),
    ("gear rows", lambda: robot_of(gear_matrix=[[1], [2]]), ModelError, "2 rows", "expected 1"),
    ("gear number", lambda: robot_of(gear_matrix=3), ModelError, "gear_matrix is 3", "rows"),
    (
        "gear differs",
        lambda: robot_of(links=[dy.Link(drive=dy.Drive(gear=5))], gear_matrix=[[3]]),
        ModelError,
        "gear 5",
        "is 3",
        "same",
    ),
    ("values text", lambda: robot_of(values={"m": "x"}), ModelError, "values.m is 'x'", "number"),
    ("values name", lambda: robot_of(values={"2m": 1}), ModelError, "'2m'", "symbol"),
    ("values nan", lambda: robot_of(values={"m": NAN}), ModelError, "values.m is nan", "finite"),
    ("values kind", lambda: robot_of(values=[1]), ModelError, r"values is \[1\]", "m1"),
    (
        "configuration size",
        lambda: robot_of(configurations={"home": (0, 0)}),
        ModelError,
        "configurations.home has 2",
        "expected 1",
    ),
    (
        "configuration symbol",
        lambda: robot_of(configurations={"home": ("q0",)}),
        SymbolError,
        "'q0'",
        "no value",
    ),
    ("configurations kind", lambda: robot_of(configurations=[0]), ModelError, r"is \[0\]", "name"),
    ("payload number", lambda: robot_of(payload=3), ModelError, "payload is 3", "mass"),
    (
        "urdf field",
        lambda: robot_of(links=[dy.Link(xyz=(0, 0, 1))]),
        ModelError,
        "'link1' gives 'xyz'",
        "'standard'",
    ),
    (
        "dh field",
        lambda: robot_of(links=[dy.Link(a=1)], convention="urdf"),
        ModelError,
        "'link1' gives 'a'",
        "'urdf'",
    ),
    (
        "com_factor",
        lambda: robot_of(links=[dy.Link(com_factor=-0.5)], convention="modified"),
        ModelError,
        "'link1' gives com_factor",
        "give com",
    ),
    (
        "parent",
        lambda: robot_of(links=[dy.Link(parent="world")], convention="urdf"),
        ModelError,
        "'link1' has parent 'world'",
        "before it",
    ),
    (
        "mimic leader",
        lambda: robot_of(links=[dy.Link(mimic=("joint7", 1, 0)), dy.Link()]),
        OptionError,
        "'joint1' mimics 'joint7'",
        "joint2",
    ),
    ("robot of a dict", lambda: dy.Robot({}), ModelError, "dict", "from_dh"),
]

PUMA = dy.load("puma560")
SYMBOLIC = robot_of(links=[dy.Link(a="L1", mass="m1")])
ZERO_VALUE = robot_of(links=[dy.Link(a="1/k", mass=1.0)], values={"k": 0})
NEGATIVE = robot_of(links=[dy.Link(a="k**0.5", mass=1.0)], values={"k": -1})
GEARLESS = two_link(drive=dy.Drive(gear=0))
HEADLESS = robot_of(links=[dy.Link(a=1.0, mass=1.0), dy.Link(mass=1.0)], name="headless")
READ_ONLY = np.zeros(6)
READ_ONLY.flags.writeable = False


def fk(q, **options):
    return lambda: PUMA.fk(q, **options)


def torque(*state, **options):
    return lambda: PUMA.inverse_dynamics(*state, **options)


CALLS = [
    ("short", fk([0] * 5), ShapeError, r"q has shape \(5,\)", r"\.\.\., 6", "'puma560'", "joint6"),
    ("scalar", fk(0.0), ShapeError, r"q has shape \(\)", r"\.\.\., 6"),
    ("empty", fk([]), ShapeError, r"q has shape \(0,\)", r"\.\.\., 6"),
    ("column", fk(np.zeros((6, 1))), ShapeError, r"\(6, 1\)", r"\.\.\., 6"),
    ("none", fk(None), ShapeError, "q is None", r"\.\.\., 6"),
    ("text", fk("home"), ShapeError, "q holds text", "numbers"),
    ("texts", fk(["0"] * 6), ShapeError, "q holds text", "numbers"),
    ("degrees", fk(["30 deg"] + [0.1] * 5), ShapeError, "q holds text", r"np\.radians\(\["),
    ("ragged", fk([[0] * 6, [0] * 5]), ShapeError, "q is not a rectangular array", r"\.\.\., 6"),
    ("complex", fk(np.zeros(6, complex)), ShapeError, "q holds complex128", "numbers"),
    ("object", fk(np.array([None] * 6)), ShapeError, "q holds object", "numbers"),
    ("symbols", fk(sp.symbols("q1:7")), ShapeError, "q holds symbols", r"equations\(\).*jacobian"),
    ("bool", fk(np.zeros(6, bool)), ShapeError, "q holds bool", "numbers"),
    ("datetime", fk(np.zeros(6, "datetime64[s]")), ShapeError, "q holds datetime64", "numbers"),
    ("dict", fk({"q": 1}), ShapeError, "q holds object", "numbers"),
    ("set", fk({1, 2}), ShapeError, "q holds object", "numbers"),
    ("link", fk(Z6, link="link7"), OptionError, "'link7'", "mean 'link6'"),
    ("link number", fk(Z6, link=3), OptionError, "no link 3", "link1"),
    ("option", fk(Z6, thread=2), OptionError, "'thread'", "mean 'threads'"),
    ("threads zero", fk(Z6, threads=0), OptionError, "threads is 0", "above 0"),
    ("threads many", fk(Z6, threads=2**64 + 1), OptionError, "threads is 18446", "1 to 4096"),
    ("threads text", fk(Z6, threads="2"), OptionError, "threads is '2'", "whole number"),
    ("threads bool", fk(Z6, threads=True), OptionError, "threads is True", "whole number"),
    ("dtype int", fk(Z6, dtype=int), OptionError, "dtype is int64", "float64 or float32"),
    ("dtype unknown", fk(Z6, dtype="single-ish"), OptionError, "single-ish", "float32"),
    ("dtype object", fk(Z6, dtype=object), OptionError, "dtype is object", "float32"),
    ("out list", torque(Z6, Z6, Z6, out=[0] * 6), ShapeError, "out is list", r"\(6,\)"),
    ("out shape", torque(Z6, Z6, Z6, out=np.zeros(5)), ShapeError, r"out is \(5,\)", r"\(6,\)"),
    (
        "out dtype",
        torque(Z6, Z6, Z6, out=np.zeros(6, np.float32)),
        ShapeError,
        "out holds float32",
        "float64",
    ),
    ("out read-only", torque(Z6, Z6, Z6, out=READ_ONLY), ShapeError, "read-only", "writable"),
    ("method", torque(Z6, Z6, Z6, method="newton"), OptionError, "'newton'", "newton-euler"),
    ("method none", torque(Z6, Z6, Z6, method=None), OptionError, "None", "newton-euler"),
    ("method list", torque(Z6, Z6, Z6, method=["a"]), OptionError, "'a'", "newton-euler"),
    ("wrench", torque(Z6, Z6, Z6, wrench=[0, 0, 1]), ShapeError, r"wrench has shape \(3,\)", "6"),
    ("base motion", torque(Z6, Z6, Z6, base_motion=Z6), ShapeError, "base_motion has shape", "9"),
    (
        "base motion method",
        torque(Z6, Z6, Z6, method="lagrange-euler", base_motion=np.zeros(9)),
        OptionError,
        "'lagrange-euler' does not take base_motion",
        "newton-euler",
    ),
    (
        "broadcast",
        torque(np.zeros((3, 6)), np.zeros((4, 6)), Z6),
        ShapeError,
        "do not broadcast",
        r"q: \(3,\)",
        r"qd: \(4,\)",
    ),
    ("qdd", torque(Z6, Z6, [0]), ShapeError, r"qdd has shape \(1,\)", r"\.\.\., 6"),
    (
        "forward method",
        lambda: PUMA.forward_dynamics(Z6, Z6, Z6, method="walker-orin"),
        OptionError,
        "'walker-orin'",
        "mean 'walker-orin-",
    ),
    ("tau", lambda: PUMA.forward_dynamics(Z6, Z6, None), ShapeError, "tau is None", r"\.\.\., 6"),
    ("frame", lambda: PUMA.jacobian(Z6, frame="tol"), OptionError, "'tol'", "mean 'tool'"),
    ("frame list", lambda: PUMA.jacobian(Z6, frame=["base"]), OptionError, "base", "'tool'"),
    ("mass matrix", lambda: PUMA.mass_matrix(np.zeros(7)), ShapeError, r"\(7,\)", r"\.\.\., 6"),
    ("regressor", lambda: PUMA.regressor(Z6, Z6, Z6, qd_ref=[1]), ShapeError, "qd_ref has shape"),
    ("terms", lambda: PUMA.torque_terms(Z6, Z6, [1, 2]), ShapeError, "qdd has shape"),
    ("lagrange", lambda: PUMA.lagrange_euler(np.zeros((2, 6)), Z6, Z6), OptionError, "one state"),
    ("operational", lambda: PUMA.operational_inertia([0]), ShapeError, r"q has shape \(1,\)"),
    ("manipulability", lambda: PUMA.manipulability([0]), ShapeError, r"q has shape \(1,\)"),
    ("payload mass", lambda: PUMA.with_payload(-1), ModelError, "payload.mass is -1", ">= 0"),
    ("payload nan", lambda: PUMA.with_payload(NAN), ModelError, "payload.mass is nan", "finite"),
    ("payload com", lambda: PUMA.with_payload(1, com=3), ModelError, "payload.com is 3", "3 num"),
    ("payload inertia", lambda: PUMA.with_payload(1, (0, 0, 0), (1, 1)), ModelError, "2 entries"),
    ("with gravity", lambda: PUMA.with_gravity((0, 9.8)), ModelError, "gravity has 2", "3"),
    ("parameters", lambda: PUMA.with_parameters(np.zeros(5)), DynamisError, r"\(5,\)", "90"),
    ("parameters nan", lambda: PUMA.with_parameters(np.full(90, NAN)), ModelError, "finite"),
    ("parameters rows", lambda: PUMA.with_parameters(np.zeros((2, 90))), ModelError, r"\(90,\)"),
    ("parameters none", lambda: PUMA.with_parameters(None), ShapeError, "values is None"),
    ("no symbol", lambda: PUMA.with_values(m1=3), OptionError, "no symbol 'm1'", "none"),
    ("value", lambda: SYMBOLIC.with_values(L1="x"), ModelError, "values.L1 is 'x'", "number"),
    ("symbol close", lambda: SYMBOLIC.with_values(m=3), OptionError, "'m'", "m1"),
    ("no value", lambda: SYMBOLIC.fk([0]), SymbolError, "symbol 'L1'", "no value", "with_values"),
    ("no value: torque", lambda: SYMBOLIC.gravity_torque([0]), SymbolError, "'L1'", "no value"),
    ("no value: parameters", lambda: SYMBOLIC.parameters, SymbolError, "'L1'", "no value"),
    ("value zero", lambda: ZERO_VALUE.fk([0]), ModelError, "'1/k' with k = 0", "finite"),
    ("value negative", lambda: NEGATIVE.fk([0]), ModelError, "k = -1", "finite"),
    ("gear zero", lambda: GEARLESS.motor_torque([0, 0], [0, 0], [0, 0]), OptionError, "gear 0"),
    ("dh convention", lambda: PUMA.dh("craig"), OptionError, "'craig'", "modified"),
    ("to_dh convention", lambda: PUMA.to_dh("urdf"), OptionError, "'urdf'", "modified"),
    (
        "singular",
        lambda: HEADLESS.forward_dynamics([0, 0], [0, 0], [0, 1]),
        SingularError,
        "'headless'",
        "'joint2'",
        "joint 2",
        "rotor inertia",
    ),
    (
        "singular classic",
        lambda: dy.load("sixr").forward_dynamics(Z6, Z6, Z6),
        SingularError,
        "'sixr'",
        "'joint6'",
    ),
    (
        "singular sample",
        lambda: HEADLESS.forward_dynamics([[0, NAN], [0, 0]], [0, 0], [0, 1]),
        SingularError,
        "'joint2'",
        r"sample \(1,\)",
    ),
    (
        "singular operational",
        lambda: HEADLESS.operational_inertia([0, 0]),
        SingularError,
        "'joint2'",
    ),
    ("sliding", lambda: dy.load("rppr").regressor([0] * 4, [0] * 4, [0] * 4), ModelError, "link2"),
    ("sliding parameters", lambda: dy.load("rppr").parameters, ModelError, "link2", "com_factor"),
    ("load name", lambda: dy.load("puma56"), FileError, "'puma56'", "mean 'puma560'"),
    ("load none", lambda: dy.load(None), FileError, "None", "catalogue"),
    ("load number", lambda: dy.load(560), FileError, "560", "catalogue"),
    ("load absent", lambda: dy.load("nowhere/arm.toml"), FileError, "arm.toml", "no such file"),
    ("load suffix", lambda: dy.load("nowhere/arm.step"), FileError, "arm.step", ".urdf"),
    ("load tip", lambda: dy.load("puma560", tip="link9"), FileError, "'link9'", "link"),
    ("load lock", lambda: dy.load("puma560", lock={"joint1": 0}), FileError, "lock", "URDF"),
    ("save suffix", lambda: PUMA.save("arm.txt"), FileError, "arm.txt", ".toml"),
    ("save folder", lambda: PUMA.save("nowhere/arm.toml"), FileError, "no folder", "nowhere"),
    ("save none", lambda: PUMA.save(None), FileError, "None", ".toml"),
    ("ik shape", lambda: PUMA.ik(np.eye(3)), DynamisError, r"\(3, 3\)", "4"),
    ("ik none", lambda: PUMA.ik(None), DynamisError, "None", "4"),
    ("ik mirrored", lambda: PUMA.ik(moved(2, 2, -1)), DynamisError, "rigid|rotation|mirror"),
    ("ik nan", lambda: PUMA.ik(moved(0, 3, NAN)), DynamisError, "nan|finite"),
    ("ik task", lambda: PUMA.ik(EYE, task="positon"), OptionError, "positon", "position"),
    ("ik mask", lambda: PUMA.ik(EYE, task=[1, 1]), OptionError, r"\[1, 1\]", "six"),
    ("ik seed", lambda: PUMA.ik(EYE, seed=-1), OptionError, "seed is -1", "0 or more"),
    ("ik starts", lambda: PUMA.ik(EYE, starts=0), OptionError, "starts is 0", "above 0"),
    ("ik option", lambda: PUMA.ik(EYE, limit=True), DynamisError, "limit", "limits"),
]


@table(LINKS)
def test_link_is_refused(call, error, words):
    refused(call, error, *words)


@pytest.mark.parametrize("text", [pytest.param(t, id=name) for name, t in EXPRESSIONS])
def test_expression_is_refused(text):
    refused(lambda: dy.Link(a=text), ModelError, "^a", "expected|error|division|large|power")


@table(MODELS)
def test_model_is_refused(call, error, words):
    refused(call, error, *words)


@table(CALLS)
def test_call_is_refused(call, error, words):
    refused(call, error, *words)


def test_convention_is_never_defaulted():
    with pytest.raises(OptionError, match="without convention"):
        dy.Robot.from_dh("arm", links=[dy.Link()])


# files


LINK = "[[link]]\na = 1.0\nmass = 1.0\n"
HEAD = 'schema = 1\nname = "arm"\nconvention = "standard"\n'

TOMLS = [
    ("empty", "", "schema", "missing"),
    ("no schema", 'name = "arm"', "'schema' is missing", "schema = 1"),
    ("schema", "schema = 2", "schema is 2", "reads schema 1"),
    ("no name", "schema = 1", "'name' is missing", "the robot's name"),
    ("no convention", 'schema = 1\nname = "arm"\n' + LINK, "'convention' is missing", "never gue"),
    ("convention", HEAD.replace("standard", "modifed") + LINK, "'modifed'", "mean 'modified'"),
    ("no link", HEAD, "'link' is missing", "link"),
    ("syntax", HEAD + "a = = 1", "not valid TOML", "line 4"),
    ("top key", HEAD + "gravty = [0, 0, -9.81]\n" + LINK, "'gravty'", "mean 'gravity'"),
    ("link key", HEAD + LINK + "mas = 2.0\n", "link 1", "'mas'", "mean 'mass'"),
    ("friction key", HEAD + LINK + "friction = { viscos = 1 }", "'viscos'", "mean 'viscous'"),
    ("drive key", HEAD + LINK + "drive = { geer = 1 }", "'geer'", "mean 'gear'"),
    ("friction list", HEAD + LINK + "friction = [1]", r"friction is \[1\]", "table"),
    ("payload key", HEAD + "payload = { com = [0, 0, 0] }\n" + LINK, "payload has no mass"),
    ("text", HEAD + LINK + 'd = "long"\nlimits = "wide"', "limits is 'wide'", "2 numbers"),
    ("bool", HEAD + LINK + "d = true", "d is True", "number"),
    ("nan", HEAD + LINK + "d = nan", "d is nan", "finite"),
    ("inf", HEAD + LINK + "d = inf", "d is inf", "finite"),
    ("date", HEAD + LINK + "d = 2020-01-01", "d is .*2020", "number"),
    ("injection", HEAD + LINK + "d = \"__import__('os')\"", "cannot read", "expected a number"),
    ("link table", HEAD + "link = 3", "link is 3", "link"),
    ("values", HEAD + "values = 3\n" + LINK, "values is 3", "table"),
    ("joint", HEAD + LINK + 'joint = "ball"', "'ball'", "prismatic"),
    ("prismatic d", HEAD + LINK + 'joint = "prismatic"\nd = 1', "d = 1", "offset"),
    ("mimic", HEAD + LINK + "mimic = { multiplier = 2 }", "mimic names joint None", "name"),
]

ROBOT = '<robot name="arm"><link name="base"/><link name="one"/><link name="two"/>{}</robot>'
ONE = '<joint name="j1" type="revolute"><parent link="base"/><child link="one"/></joint>'
TWO = '<joint name="j2" type="{}"><parent link="one"/><child link="two"/>{}</joint>'
BACK = '<joint name="j3" type="fixed"><parent link="two"/><child link="base"/></joint>'
BOMB = (
    '<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;">]><robot name="&c;"/>'
)
OUTSIDE = '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/hostname">]><robot name="&x;"/>'


def second(kind="revolute", inside=""):
    return ROBOT.format(ONE + TWO.format(kind, inside))


URDFS = [
    ("entity bomb", BOMB, "entities", "refused"),
    ("external entity", OUTSIDE, "entities", "refused"),
    ("not xml", "schema = 1", "not valid XML", "URDF"),
    ("truncated", second()[:-8], "not valid XML"),
    ("other root", "<svg/>", "<svg>", "<robot>"),
    ("no links", '<robot name="arm"/>', "no <link>"),
    ("loop", ROBOT.format(ONE + TWO.format("revolute", "") + BACK), "j1", "j3", "loop", "tree"),
    ("two roots", ROBOT.format(ONE), "2 root links", "'two'", "expected one"),
    (
        "two parents",
        second("fixed").replace("</robot>", ONE.replace("j1", "j9") + "</robot>"),
        "'one' has two parents",
        "'j1'",
        "'j9'",
    ),
    ("twins", second().replace('name="two"/>', 'name="one"/>', 1), "two links are called 'one'"),
    ("twin joints", second().replace("j2", "j1"), "two joints are called 'j1'"),
    ("missing child", second().replace('child link="two"', 'child link="tow"'), "'tow'", "'two'"),
    ("no parent", second().replace('<parent link="one"/>', ""), "'j2'", "no <parent>"),
    ("floating", second("floating"), "'j2' is floating", "not supported"),
    ("type", second("revolut"), "'revolut'", "mean 'revolute'"),
    ("zero axis", second(inside='<axis xyz="0 0 0"/>'), "'j2'", "0 0 0", "direction"),
    ("short axis", second(inside='<axis xyz="0 1"/>'), "'j2'", "'0 1'", "3 finite"),
    ("nan origin", second(inside='<origin xyz="nan 0 0"/>'), "'nan 0 0'", "finite"),
    ("text limit", second(inside='<limit lower="low"/>'), "'low'", "finite number"),
    ("mimic", second(inside='<mimic joint="j7"/>'), "'j2' mimics 'j7'", "j1"),
    ("xacro", second(inside='<origin xyz="${x} 0 0"/>'), "xacro", r"\$"),
    ("all fixed", second("fixed").replace("revolute", "fixed"), "no moving joint", "fixed"),
    (
        "negative mass",
        second().replace(
            '<link name="two"/>',
            '<link name="two"><inertial><mass value="-1"/>'
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" iyz="0" ixz="0"/></inertial>'
            "</link>",
        ),
        "'two' has mass -1",
        ">= 0",
    ),
    (
        "no inertia",
        second().replace(
            '<link name="two"/>', '<link name="two"><inertial><mass value="1"/></inertial></link>'
        ),
        "'two'",
        "no <inertia>",
    ),
]


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(("text", "words"), [pytest.param(t, w, id=n) for n, t, *w in TOMLS])
def test_toml_is_refused(tmp_path, text, words):
    path = written(tmp_path, "arm.toml", text)
    refused(lambda: dy.load(path), FileError, r"arm\.toml", *words)


@pytest.mark.parametrize(("text", "words"), [pytest.param(t, w, id=n) for n, t, *w in URDFS])
def test_urdf_is_refused(tmp_path, text, words):
    path = written(tmp_path, "arm.urdf", text)
    refused(lambda: dy.load(path), FileError, r"arm\.urdf", *words)


TREE = second().replace('<parent link="one"/>', '<parent link="base"/>')
DRIVEN = second(inside='<mimic joint="j1" multiplier="2"/>')


def test_a_tree_has_no_dh_table(tmp_path):
    tree = dy.load(written(tmp_path, "tree.urdf", TREE))
    refused(tree.dh, ModelError, "'arm' is a tree", "'one' and 'two'", "lock")
    refused(lambda: tree.to_dh("standard"), ModelError, "tree", "'one' and 'two'")


def test_mimic_has_no_motor_torque_and_no_articulated_body(tmp_path):
    robot = dy.load(written(tmp_path, "mimic.urdf", DRIVEN))
    refused(lambda: robot.motor_torque([0], [0], [0]), OptionError, "'j2' mimics 'j1'", "lock")
    refused(
        lambda: robot.forward_dynamics([0], [0], [0], method="articulated-body"),
        OptionError,
        "couples its joints",
        "walker-orin",
    )


def test_urdf_options(tmp_path):
    path = written(tmp_path, "arm.urdf", second())
    refused(lambda: dy.load(path, tip="tow"), FileError, "'tow'", "mean 'two'")
    refused(lambda: dy.load(path, tip=3), FileError, "tip 3", "two")
    refused(lambda: dy.load(path, lock={"j9": 0}), FileError, "'j9'", "j1")
    refused(lambda: dy.load(path, lock={"j1": NAN}), FileError, "j1", "nan", "finite")
    refused(lambda: dy.load(path, lock=["j1"]), FileError, r"lock is \['j1'\]", "value")
    refused(lambda: dy.load(tmp_path), FileError, "directory")


# numbers that are not finite


def friction_laws():
    laws = ("coulomb", "smooth", "stribeck", "grotjahn", "lugre")
    links = [
        dy.Link(
            joint=kind,
            **size,
            mass=1.0,
            com=(0.1, 0.2, 0.1),
            inertia=(0.1, 0.1, 0.1),
            friction=dy.Friction(coulomb=0.3, law=law),
            drive=dy.Drive(rotor_inertia=0.1),
        )
        for law, kind, size in zip(
            laws,
            (*("revolute", "prismatic") * 2, "revolute"),
            ({"a": 1.0}, {"alpha": 1.0}, {"d": 0.5}, {"a": 0.3}, {"alpha": -1.0}),
            strict=True,
        )
    ]
    return dy.Robot.from_dh("laws", convention="modified", links=links)


ROBOTS = {
    "puma560": PUMA,
    "stanford": dy.load("stanford"),
    "laws": friction_laws(),
    "slide": robot_of(links=[dy.Link(joint="prismatic", mass=1.0)]),
}
INVERSE = ("newton-euler", "newton-euler-base", "lagrange-euler", "gibbs-appell", "kane")
FORWARD = ("walker-orin-1", "walker-orin-2", "walker-orin-3", "walker-orin-4", "articulated-body")
FUNCTIONS = {
    "fk": ("q",),
    "frames": ("q",),
    "jacobian": ("q",),
    "jacobian_dot": ("q", "qd"),
    "mass_matrix": ("q",),
    "coriolis_matrix": ("q", "qd"),
    "gravity_torque": ("q",),
    "friction_torque": ("qd",),
    "kinetic_energy": ("q", "qd"),
    "potential_energy": ("q",),
    "momentum": ("q", "qd"),
    "motor_torque": ("q", "qd", "qdd"),
    "regressor": ("q", "qd", "qdd"),
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "operational_inertia": ("q",),
    "manipulability": ("q",),
}
METHODS = {"inverse_dynamics": INVERSE, "forward_dynamics": FORWARD}
CASES = [(name, method) for name in FUNCTIONS for method in METHODS.get(name, (None,))]


def bound(robot, name, method):
    function = getattr(robot, name)
    return function if method is None else lambda *x: function(*x, method=method)


def state(robot, count, width=None, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.2, 1.0, (width, robot.n) if width else robot.n) for _ in range(count)]


# functions that depend on nothing: a slide never turns, and the Stanford arm has no friction
TURNING = ("gravity_torque", "jacobian", "jacobian_dot", "mass_matrix", "coriolis_matrix")
CONSTANT = {("stanford", "friction_torque"), ("slide", "friction_torque")}
CONSTANT |= {("slide", name) for name in (*TURNING, "operational_inertia", "manipulability")}
DEPENDENT = [(r, *case) for case in CASES for r in ROBOTS if (r, case[0]) not in CONSTANT]


@pytest.mark.parametrize(("robot", "name", "method"), DEPENDENT)
def test_what_depends_on_a_bad_number_is_not_finite(robot, name, method):
    robot, given = ROBOTS[robot], FUNCTIONS[name]
    function = bound(robot, name, method)
    good = np.array(state(robot, len(given)))
    before = function(*good)
    places = [(which, joint) for which in range(len(given)) for joint in range(robot.n)]

    def changed(change):
        """The good state changed at every place in turn, and unchanged."""
        rows = np.repeat(good[:, None], len(places) + 1, axis=1)
        for k, (which, joint) in enumerate(places):
            rows[which, k, joint] = change(rows[which, k, joint])
        return rows

    moved = function(*changed(lambda x: x + 0.37))[:-1]
    depends = np.abs(moved - before) > 1e-9 * np.abs(before).max()
    assert depends.any(), "nothing was tested"
    for bad in (NAN, INF, -INF):
        rows = changed(lambda _, bad=bad: bad)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            batch = function(*rows)
            single = [function(*rows[:, k]) for k in range(len(places))]
        for (which, joint), at, one, several in zip(places, depends, single, batch, strict=False):
            for result in (one, several):
                assert not np.isfinite(result[at]).any(), (given[which], joint, bad)


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_bad_sample_leaves_the_others_alone(name, method, robot):
    function = bound(robot, name, method)
    good = state(robot, len(FUNCTIONS[name]), width=9)
    bad = [x.copy() for x in good]
    for x in bad:
        x[4] = NAN
    keep = np.arange(9) != 4
    clean, mixed = function(*good), function(*bad)
    assert np.array_equal(mixed[keep], clean[keep])
    assert np.array_equal(mixed[keep], function(*(x[keep] for x in good)))
    assert not np.isfinite(mixed[4]).all() or np.array_equal(mixed[4], clean[0])  # a constant


# everyday inputs


@pytest.fixture(scope="module")
def arm():
    return two_link()


FORMS = {
    "tuple": tuple,
    "list": list,
    "array of int": np.array,
    "int8": lambda x: np.array(x, np.int8),
    "uint16": lambda x: np.array(x, np.uint16),
    "float32": lambda x: np.array(x, np.float32),
    "float16": lambda x: np.array(x, np.float16),
    "big-endian": lambda x: np.array(x, ">f8"),
    "list of scalars": lambda x: [np.float32(v) for v in x],
    "strided": lambda x: np.repeat(np.array(x, float), 3)[::3],
    "reversed": lambda x: np.array(x[::-1], float)[::-1],
    "mixed": lambda x: [x[0], float(x[1])],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_a_vector(arm, form):
    q, qd, qdd = (1, 2), (0, 1), (3, 0)
    expected = arm.inverse_dynamics(np.array(q, float), np.array(qd, float), np.array(qdd, float))
    result = arm.inverse_dynamics(form(q), form(qd), form(qdd))
    assert result.dtype == np.float64
    assert np.array_equal(result, expected)


SHAPES = [
    ((), (), ()), ((5,), (), ()), ((), (5,), (1,)), ((3, 5), (5,), (3, 1)), ((0,), (), (1,)),
    ((2, 0), (0,), ()), ((1,), (1,), (1,)), ((2, 1, 3), (4, 1), (1,)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "regressor"])
def test_leading_axes_broadcast(arm, shapes, name):
    rng = np.random.default_rng(2)
    arguments = [rng.normal(size=(*shape, 2)) for shape in shapes]
    leading = np.broadcast_shapes(*shapes)
    result = getattr(arm, name)(*arguments)
    core = (2, len(arm.parameters.names)) if name == "regressor" else (2,)
    assert result.shape == (*leading, *core)
    full = [np.broadcast_to(x, (*leading, 2)) for x in arguments]
    for index in np.ndindex(leading):
        alone = getattr(arm, name)(*(x[index] for x in full))
        np.testing.assert_allclose(result[index], alone, rtol=1e-12, atol=1e-12)


def test_memory_layout_does_not_matter(arm):
    q = np.random.default_rng(3).normal(size=(4, 6, 2))
    expected = arm.mass_matrix(q)
    for view in (np.asfortranarray(q), q[:, ::-1][:, ::-1], np.repeat(q, 2, axis=1)[:, ::2]):
        assert np.array_equal(arm.mass_matrix(view), expected)
    q.flags.writeable = False
    assert np.array_equal(arm.mass_matrix(q), expected)


def test_empty_batches(arm):
    none = np.zeros((0, 2))
    assert arm.fk(none).shape == (0, 4, 4)
    assert arm.jacobian(none).shape == (0, 6, 2)
    assert arm.frames(none).shape == (0, 3, 4, 4)
    assert arm.kinetic_energy(none, none).shape == (0,)
    assert arm.operational_inertia(none).shape == (0, 6, 6)
    assert arm.manipulability(none).shape == (0,)
    assert {k: v.shape for k, v in arm.torque_terms(none, none, none).items()} == dict.fromkeys(
        ("inertial", "coriolis", "gravity", "friction"), (0, 2)
    )
    for method in FORWARD:
        assert arm.forward_dynamics(none, none, none, method=method).shape == (0, 2)


@pytest.mark.parametrize("joint", ["revolute", "prismatic"])
def test_one_joint(joint):
    robot = robot_of(links=[dy.Link(joint=joint, mass=2.0, com=(0.5, 0, 0))], gravity=(0, 0, 0))
    inertia = 2.0 if joint == "prismatic" else 0.5
    assert robot.mass_matrix([0.3]).tolist() == [[inertia]]
    for method in INVERSE:
        assert robot.inverse_dynamics([0], [0], [2], method=method).tolist() == [2 * inertia]
    for method in FORWARD:
        result = robot.forward_dynamics([0], [0], [inertia], method=method)
        np.testing.assert_allclose(result, [1.0], rtol=1e-14)
    assert robot.fk([[0.1], [0.2]]).shape == (2, 4, 4)


def test_out_and_dtype(arm):
    q = np.random.default_rng(4).normal(size=(5, 2))
    out = np.empty((5, 2, 2), np.float32)
    result = arm.mass_matrix(q, out=out, dtype=np.float32, threads=2)
    assert result is out
    np.testing.assert_allclose(out, arm.mass_matrix(q), rtol=1e-6)
    strided = np.zeros((10, 2, 2))[::2]
    assert np.array_equal(arm.mass_matrix(q, out=strided), arm.mass_matrix(q))


def test_arguments_are_never_changed(arm):
    state_before = [np.full((3, 2), 0.5) for _ in range(3)]
    kept = [x.copy() for x in state_before]
    arm.inverse_dynamics(*state_before)
    arm.forward_dynamics(*state_before)
    assert all(np.array_equal(a, b) for a, b in zip(state_before, kept, strict=True))
