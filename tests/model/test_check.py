"""The preflight: every kind of mistake has its finding, and what is sound has none."""

import math
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.damping import fastest_stop
from dynamis.errors import worded
from dynamis.model import catalogue
from dynamis.model.check.finding import Finding
from dynamis.model.check.model import check_model
from dynamis.model.model import Model
from dynamis.robot.preflight import usual_configurations
from dynamis.robot.shapes import link_shapes
from dynamis.spatial.inertia import eigenvalues, from_linear, pseudo_inertia, symmetric_matrix

from ..random_robots import body
from .test_catalogue import REAL

SOUND = {"a": 1.0, "mass": 3.0, "com": (-0.5, 0, 0), "inertia": (0.01, 0.25, 0.25)}
ROD = {"mass": 3.0, "com": (-0.5, 0, 0)}


def arm(*changes, **rest):
    """A sound two-link arm, with changes to its first links (None: left as it is)."""
    links = [dy.Link(**{**SOUND, **(change or {})}) for change in (*changes, None, None)[:2]]
    options = {"convention": "standard", "gravity": (0, -9.81, 0), **rest}
    return dy.Robot.from_dh("arm", links=links, **options)


def bare(**fields):
    """A one-link arm of these fields alone."""
    return dy.Robot.from_dh("bare", convention="standard", links=[dy.Link(**fields)])


def linear(mass, com, inertia):
    """The ten parameters of a body given by mass, centre of mass and diagonal inertia about it."""
    return dy.Robot.from_dh(
        "x", convention="standard", links=[dy.Link(mass=mass, com=com, inertia=inertia)]
    ).parameters.values[:10]


def found(robot):
    return [(f.level, f.where) for f in robot.check()]


NO_MASS = {"a": 1.0, "mass": 0.0, "com": None, "inertia": None}
INDEFINITE = linear(1.0, (0.5, 0, 0), (0.1, 0.1, 0.1)) - np.eye(10)[6] * 0.2
FLAT = linear(1.0, (0.5, 0, 0), (0.1, 0.1, 0.3))
AS_LINEAR = {"mass": 0.0, "com": None, "inertia": None}


# id, robot, level, where, words of what is wrong, words of the remedy
@dataclass(frozen=True)
class Pushing:
    size: float = 2.0

    def torque(self, qd, direction, constants, fn):
        return 0.3 * direction - constants["size"] * qd


def sprung(**spring):
    """Two links, and a spring between the base and the second."""
    spring = dy.Spring(to="link2", **{"from_point": (0, 0.4, 0), **spring})
    return dy.Robot(replace(arm().model, springs=(spring,), values={"k": -5.0}))


ELASTIC = {"gear": 100, "rotor_inertia": 2e-5, "stiffness": 1e4}
MISTAKES = [
    ("stiffness of motors", arm(None, {"drive": dy.Drive(**{**ELASTIC, "stiffness": 1.0})}),
     "warning", "joint 'joint2'", "swings against the links", "gear^2 = 10000"),
    ("stiffness in N mm", arm({"drive": dy.Drive(**{**ELASTIC, "stiffness": 1e10})}),
     "warning", "joint 'joint1'", "swings against the links", "N m/rad on the joint side"),
    ("nothing behind the gear", bare(drive=dy.Drive(**ELASTIC)),
     "error", "joint 'joint1'", "links without inertia", "the rotor is on the other side"),
    ("arc minutes", arm({"drive": dy.Drive(**ELASTIC, backlash=1.5)}),
     "warning", "joint 'joint1'", "arc minutes", "'1.5/60 deg' is 0.00044"),
    ("negative mass", bare(a=1.0, linear=[-1, 0, 0, 0, 1, 0, 1, 0, 0, 1]),
     "error", "link 'link1'", "negative mass -1", "above 0"),
    ("negative symbol", arm({"mass": "m"}, values={"m": -2}),
     "error", "link 'link1'", "negative mass -2", "above 0"),
    ("no mass", arm(NO_MASS), "warning", "link 'link1'", "has no mass", "neighbours"),
    ("grams", arm({"mass": 3e4}), "warning", "link 'link1'", "grams", "kilograms"),
    ("too heavy", dy.Robot.from_dh("a", convention="standard", links=[
        dy.Link(**{**SOUND, "mass": m, "inertia": (m, m, m)}) for m in (1.0, 500.0, 1.5)]),
     "warning", "link 'link2'", "500 kg", "unit"),
    ("indefinite", arm({"inertia": (0.1, -0.2, 0.1)}),
     "error", "link 'link1'", "not positive definite", "Ixx Iyy Izz"),
    ("products", arm({"inertia": (0.1, 0.1, 0.1, 0.2, 0, 0)}),
     "error", "link 'link1'", r"not positive definite: principal moments (-0.1, 0.1, 0.3)", "sign"),
    ("triangle", arm({"inertia": (0.1, 0.1, 0.3)}),
     "warning", "link 'link1'", "triangle inequality", "correct the inertia"),
    ("pseudo-inertia", arm({**AS_LINEAR, "linear": INDEFINITE}),
     "error", "link 'link1'", "pseudo-inertia", "origin"),
    ("pseudo-inertia triangle", arm({**AS_LINEAR, "linear": FLAT}),
     "warning", "link 'link1'", "pseudo-inertia", "correct"),
    ("moment without mass", arm({**AS_LINEAR, "linear": [0, 1, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1]}),
     "error", "link 'link1'", "no mass but first moment (1, 0, 0)", "add its mass"),
    ("point mass", arm({"inertia": None}), "note", "link 'link1'", "point mass", "inertia"),
    ("rod", arm({"inertia": (0, 0.25, 0.25)}), "note", "link 'link1'", "thin rod: fine", "moment"),
    ("rod across", arm({"inertia": (0.25, 0.002, 0.25)}),
     "note", "link 'link1'", "lies across its own com (-0.5, 0, 0)", "order Ixx Iyy Izz"),
    ("thin rod across", arm({"inertia": (0.25, 0, 0.25)}),
     "note", "link 'link1'", "thin rod", "order Ixx Iyy Izz"),  # and nothing about being fine
    ("rod about its joint", arm({"inertia": (0, 1.0, 1.0)}),
     "note", "link 'link1'", "m L^2 / 3: about the joint?", "m L^2 / 12 = 0.25"),
    ("kg mm^2", arm({"inertia": (1e4, 25e4, 25e4)}),
     "warning", "link 'link1'", "radius of gyration", "kg mm^2"),
    ("com in mm", arm({"com": (-500, 0, 0)}), "warning", "link 'link1'", "millimetres", "metres"),
    ("com outside", arm({"com": (0, 4.5, 0)}), "warning", "link 'link1'", "far outside", "frame"),
    ("com of modified DH", arm({"com": (0.5, 0, 0)}),
     "note", "link 'link1'", "beyond its own end", "far end"),
    ("com of standard DH", arm(convention="modified"),
     "note", "link 'link1'", "behind its own joint", "belongs to standard DH"),
    ("com of standard DH before the tool",
     arm(None, {"com": (-0.3, 0, 0)}, convention="modified", tool={"xyz": (0.8, 0, 0)}),
     "note", "link 'link2'", "behind its own joint: com (-0.3, 0, 0), next a = 0.8", "(0.4, 0, 0)"),
    ("sliding", dy.Robot.from_dh("a", convention="standard", links=[
        dy.Link(joint="prismatic", mass=1.0, com_factor=-0.5)]),
     "warning", "link 'link1'", "com_factor on a prismatic", "constant com"),
    ("a in mm", arm({"a": 431.8}), "warning", "link 'link1'", "a = 431.8 m", "metres"),
    ("d in mm", arm({"d": 150.0}), "warning", "link 'link1'", "d = 150 m", "metres"),
    ("alpha in degrees", arm({"alpha": -90}),
     "warning", "link 'link1'", "alpha = -90 rad", "'-90 deg'"),
    ("offset in degrees", arm({"offset": 45}),
     "warning", "link 'link1'", "offset = 45 rad", "'45 deg'"),
    ("theta in degrees", arm({"joint": "prismatic", "theta": 180, "limits": (0, 1)}),
     "warning", "link 'link1'", "theta = 180 rad", "'180 deg'"),
    ("prismatic offset in mm", arm({"joint": "prismatic", "offset": 180, "limits": (0, 1)}),
     "warning", "link 'link1'", "offset = 180 m", "metres"),
    ("tool in mm", arm(tool={"xyz": (0, 0, 100)}), "warning", "tool", "z = 100 m", "metres"),
    ("tool in degrees", arm(tool={"rpy": (0, 90, 0)}), "warning", "tool", "pitch = 90", "90 deg"),
    ("base in degrees", arm(base={"rpy": (180, 0, 0)}), "warning", "base", "roll = 180", "180 deg"),
    ("reversed", arm({"limits": (3.1, -3.1)}), "error", "joint 'joint1'", "reversed", "lower"),
    ("no room", arm({"limits": (1, 1)}), "warning", "joint 'joint1'", "nothing is left", "upper"),
    ("limits in degrees", arm({"limits": (-160, 160)}),
     "warning", "joint 'joint1'", "160 rad", "'160 deg'"),
    ("limits in mm", arm({"joint": "prismatic", "limits": (0, 500)}),
     "warning", "joint 'joint1'", "500 m", "metres"),
    ("degrees per second", arm({"velocity_limit": 156}),
     "warning", "joint 'joint1'", "156 rad/s", "radians per second"),
    ("no velocity", arm({"velocity_limit": 0}),
     "warning", "joint 'joint1'", "never move", "positive"),
    ("no effort", arm({"effort_limit": 0}), "warning", "joint 'joint1'", "never push", "positive"),
    ("negative effort", arm({"effort_limit": -5}),
     "error", "joint 'joint1'", "effort_limit -5", "positive"),
    ("motor limits", arm({"drive": dy.Drive(limits=(5, -5))}),
     "error", "joint 'joint1'", "drive.limits reversed", "lower"),
    ("gear", arm({"drive": dy.Drive(gear=0)}), "error", "joint 'joint1'", "gear 0", "turns"),
    ("gear matrix", arm({"drive": dy.Drive()}, gear_matrix=[[0, 0], [0, 1]]),
     "error", "joint 'joint1'", "gear 0", "turns"),
    ("efficiency", arm({"drive": dy.Drive(efficiency=85)}),
     "error", "joint 'joint1'", "efficiency 85", "percent"),
    ("rotor", arm({"drive": dy.Drive(rotor_inertia=-1e-4)}),
     "error", "joint 'joint1'", "negative rotor inertia -0.0001", "at least 0"),
    ("lead in mm", arm({"joint": "prismatic", "limits": (0, 1), "drive": dy.Drive(lead=25)}),
     "warning", "joint 'joint1'", "drive.lead 25 m", "metres per motor turn"),
    ("no torque constant", arm({"drive": dy.Drive(resistance=1.2, current_limit=5)}),
     "warning", "joint 'joint1'", "drive.resistance and drive.current_limit but no", "N m/A"),
    ("no resistance", arm({"drive": dy.Drive(inductance=1e-3, torque_constant=0.1)}),
     "warning", "joint 'joint1'", "half known", "ohm"),
    ("resistance symbol", arm({"drive": dy.Drive(resistance="R", torque_constant=0.1)},
                              values={"R": -1}),
     "error", "joint 'joint1'", "drive.resistance -1", "above 0"),
    ("too few volts", arm({"velocity_limit": 10, "drive": dy.Drive(
        gear=-50, resistance=1, torque_constant=0.1, voltage_limit=24)}),
     "warning", "joint 'joint1'", "velocity_limit 10, but its voltage is used up at 4.8", "gear"),
    ("law's symbol", arm({"friction": dy.Friction(law="lugre", stiffness="k")}, values={"k": -1}),
     "error", "joint 'joint1'", "friction.stiffness is -1.0, expected above 0", "correct"),
    ("viscous", arm({"friction": dy.Friction(viscous=-0.1)}),
     "error", "joint 'joint1'", "friction.viscous -0.1", "at least 0"),
    ("motor viscous", arm({"drive": dy.Drive(viscous=-0.1)}),
     "error", "joint 'joint1'", "drive.viscous -0.1", "at least 0"),
    ("coulomb reversed", arm({"friction": dy.Friction(coulomb=(-0.4, 0.4))}),
     "error", "joint 'joint1'", "friction.coulomb (-0.4, 0.4)", "moving positive"),
    ("coulomb biased", arm({"friction": dy.Friction(coulomb=(0.4, 0.1))}),
     "warning", "joint 'joint1'", "friction.coulomb (0.4, 0.1)", "friction.offset"),
    ("motor coulomb", arm({"drive": dy.Drive(coulomb=(-0.4, 0.4))}),
     "error", "joint 'joint1'", "drive.coulomb", "moving positive"),
    ("locked by a symbol", arm({"friction": dy.Friction(load="mu")}, values={"mu": 1.2}),
     "error", "joint 'joint1'", "friction.load is 1.2", "the share of the transmitted torque"),
    ("locked at rest", arm({"friction": dy.Friction(load="mu", law="stribeck", static_ratio=2.0)},
                           values={"mu": 0.6}),
     "error", "joint 'joint1'", "friction.load times static_ratio is 1.2", "the share"),
    ("a law that pushes", arm({"friction": dy.Friction(law=Pushing())}),
     "error", "joint 'joint1'", "friction law 'Pushing' pushes the joint on at 1", "sign of qd"),
    ("stiffness by a symbol", sprung(stiffness="k"), "error", "spring 'spring1'",
     "spring.stiffness is -5.0, expected >= 0", "correct"),
    ("a spring of nothing", sprung(), "warning", "spring 'spring1'", "does nothing", "stiffness"),
    ("a spring of no length", sprung(stiffness=9.0, from_point=(2, 0, 0)),
     "warning", "spring 'spring1'", "no direction or no gas at q = 0", "points apart"),
    ("an empty cylinder", sprung(kind="gas", force=9.0, gas_length=1e-3, from_point=(0, 9, 0)),
     "error", "spring 'spring1'", "no direction or no gas everywhere", "gas_length"),
    ("no gravity", arm(gravity=(0, 0, 0)), "note", "gravity", "is zero", "horizontal"),
    ("gravity up", arm(gravity=(0, 0, 9.81)), "warning", "gravity", "points up", "free fall"),
    ("gravity up y", arm(gravity=(0, 9.81, 0)),
     "note", "gravity", "points up an axis: (0, 9.81, 0)", "such as (0, -9.81, 0)"),
    ("gravity along the axes", arm(gravity=(0, 0, -9.81)),
     "note", "gravity", "no joint feels (0, 0, -9.81)", "vertical plane"),
    ("gravity across the slide", dy.Robot.from_dh("a", convention="standard", links=[
        dy.Link(joint="prismatic", mass=1.0, limits=(0, 1))], gravity=(-9.81, 0, 0)),
     "note", "gravity", "no joint feels", "horizontal"),
    ("gravity in cm", arm(gravity=(0, -981, 0)), "warning", "gravity", "981", "mm/s^2"),
    ("gravity in mm", arm(gravity=(0, -9810, 0)), "warning", "gravity", "9810", "mm/s^2"),
    ("moon", arm(gravity=(0, -1.62, 0)), "note", "gravity", "1.62", "another body"),
    ("no value", arm({"mass": "m1"}), "warning", "values", "no value for m1", "with_values(m1"),
    ("endless slide", bare(joint="prismatic", mass=1.0), "note", "joint 'joint1'",
     "nothing stops it", "with stops"),
    ("limit symbol", arm({"limits": ("lo", 1)}), "warning", "values", "lo", "with_values(lo"),
    ("unused value", arm({"mass": "m_1"}, values={"m_11": 1}),
     "warning", "values", "'m_11'", "mean 'm_1'"),
    ("no result", arm({"a": "1/k"}, values={"k": 0}), "error", "model", "k = 0", "value"),
    ("outside limits", arm({"limits": (-1, 1)}, configurations={"home": (2, 0)}),
     "warning", "configuration 'home'", "'joint1' at 2", "limits"),
    ("a turn outside", arm({"limits": (-4, 1)}, configurations={"home": (math.pi, 0)}),
     "warning", "configuration 'home'", "'joint1'", "full turn away, at -3.14"),
    ("heavy payload", arm().with_payload(70), "warning", "payload", "70 kg", "kilograms"),
    ("far payload", arm().with_payload(1, com=(0, 0, 30)), "warning", "payload", "30 m", "tool fr"),
    ("no payload", arm().with_payload(0), "warning", "payload", "has no mass", "leave"),
    ("payload inertia", arm().with_payload(1, inertia=(1, 1, 3)),
     "warning", "payload", "triangle", "correct"),
    ("singular", arm(None, {"a": 0.0, "com": None, "inertia": None}),
     "error", "joint 'joint2'", "singular mass matrix everywhere", "rotor inertia"),
    ("indefinite matrix", arm(None, {**AS_LINEAR, "a": 0.0, "linear": [1] + [0] * 8 + [-0.1]}),
     "error", "joint 'joint2'", "not positive definite", "inertia about its axis"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("robot", "level", "where", "what", "remedy"), [pytest.param(*r, id=n) for n, *r in MISTAKES]
)
def test_mistake_is_found(robot, level, where, what, remedy):
    findings = [f for f in robot.check() if f.where == where and what in f.what]
    assert [f.level for f in findings] == [level], "\n".join(map(str, robot.check()))
    assert remedy in findings[0].remedy


def test_a_sound_arm_has_no_findings():
    assert arm().check() == []
    ahead = {"com": (0.5, 0, 0)}
    assert arm(ahead, ahead, convention="modified", tool={"xyz": (1, 0, 0)}).check() == []
    assert arm().with_payload(2, com=(0.05, 0, 0.1), inertia=(0.01, 0.01, 0.01)).check() == []


# What is known to be odd about each robot of the catalogue; everything else must be silent.
POINT, ROD, MASSLESS = "a point mass: fine", "a thin rod: fine", "has no mass"
TRIANGLE, OUT = "triangle inequality", "outside its limits"
LEGS = ", ".join(f"'{part}{k}'" for k in (1, 2, 3, 4) for part in ("cylinder", "piston"))
ENDLESS = "prismatic without limits"
# arms whose masses nobody publishes: the last joint and the links without mass
SIX = "links 'link_1', 'link_2', 'link_3', 'link_4', 'link_5' and 'link_6'"
GEOMETRY = {
    "irb140": ("joint_6", SIX.replace(" 'link_4',", "")),
    "irb2400": ("joint_6", SIX.replace(", 'link_5'", "")),
    "lrmate200id": ("joint_6", SIX),
    "gp7": ("joint_6_t", "links 'link_1_s', 'link_2_l', 'link_3_u' and 'link_6_t'"),
    "kr6-r900": ("joint_a6", SIX),
}
EFFORT = "the same effort limit"
SERVOS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")
WAIST = ("waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate")
SAME_EFFORT = {
    name: f"joints {worded(map(repr, joints))}"
    for name, joints in (
        ("iiwa7", [f"iiwa_joint_{i}" for i in range(1, 8)]),
        *(("so100", SERVOS), ("so101", SERVOS), ("vx300s", WAIST)),
    )
}
EXPECTED = {
    "3-rps": [],
    "cartesian-xy": [("joints 'joint1' and 'joint2'", ENDLESS)],  # its point masses never turn
    "delta": [],
    "elbow6": [("link 'link3'", MASSLESS), ("link 'link5'", MASSLESS)],  # document 000
    "five-bar": [],
    "gough-stewart": [(f"links {LEGS} and 4 more", ROD)],  # as published: no moment about itself
    "kr16": [],
    "kr16-p4": [("joint 'joint4'", ENDLESS)],
    "palletizer": [],
    "panda": [("configuration 'zero'", OUT)],  # joint 4 never reaches 0
    "pendulum3": [("links 'link1', 'link2' and 'link3'", ROD)],  # diag(0, .25, .25)
    "planar-2link": [("links 'link1' and 'link2'", POINT)],
    "planar-rp": [("links 'link1' and 'link2'", ROD), ("joint 'joint2'", ENDLESS)],
    "planar-rr": [("links 'link1' and 'link2'", ROD)],
    "polar-rp": [
        ("links 'link1' and 'link2'", POINT),
        ("gravity", "no joint feels"),
        ("joint 'joint2'", ENDLESS),
    ],
    "puma560": [
        ("link 'link1'", MASSLESS),
        ("link 'link1'", TRIANGLE),  # only Iyy was measured
        ("link 'link3'", TRIANGLE),  # 0.086 > 0.066 + 0.0125, as published
        ("configuration 'nominal'", OUT),  # q3 = pi, reached as -pi
        ("configuration 'qn'", OUT),
    ],
    "puma560-mdh": [("link 'link1'", MASSLESS), ("link 'link1'", TRIANGLE)],
    "rppr": [
        *((f"link 'link{i}'", "com_factor on a prismatic") for i in (2, 3)),
        ("joints 'joint2' and 'joint3'", ENDLESS),
    ],
    "scara": [("links 'link1', 'link2' and 'link3'", ROD), ("joint 'joint3'", ENDLESS)],
    "sixr": [
        ("joint 'joint6'", "singular mass matrix"),
        ("links 'link1', 'link2', 'link3', 'link4', 'link5' and 'link6'", POINT),
    ],
    "stanford": [
        ("link 'link5'", TRIANGLE),  # (0.003, 0.0004, 0), as published
        ("configuration 'zero'", OUT),  # the slide starts at 0.3 m
    ],
    "ur10e": [],
    "fr3": [("configuration 'zero'", OUT)] * 2,  # joints 4 and 6 never reach 0
    "jaco2": [("configuration 'zero'", OUT)] * 3,  # joints 2, 3 and 5 are at pi when straight
    "xarm6": [("link 'link2'", TRIANGLE), ("link 'link3'", TRIANGLE)],  # as published
    **{name: [] for name in REAL - {"fr3", "jaco2", "xarm6", "ur5", "wx250s"} - set(GEOMETRY)},
    # as published: one effort limit for all joints, inertias of nobody's size
    **{name: [(joints, EFFORT)] for name, joints in SAME_EFFORT.items()},
    "ur5": [("links 'wrist_1_link', 'wrist_2_link' and 'wrist_3_link'", "gyration 0.42 m")],
    "wx250s": [(SAME_EFFORT["vx300s"], EFFORT), ("link 'gripper_link'", "gyration 0.17 m")],
    **{
        name: [(f"joint {last!r}", "singular mass matrix"), (links, "geometry without dynamics")]
        for name, (last, links) in GEOMETRY.items()
    },
}


BARE = "no rotor inertia"
WITHOUT_ROTORS = {"elbow6", "kr16", "kr16-p4", "panda", "rppr", "ur10e"} | (
    REAL - {"fr3", "ur5"} - set(GEOMETRY)
)


@pytest.mark.parametrize("name", catalogue.names())
def test_catalogue(name):
    robot = dy.load(name)
    findings = robot.check()
    shown = "\n".join(map(str, findings))
    if robot.model.closures:  # how it moves is told of every closed mechanism
        assert [f.level for f in findings if f.where == "mobility"] == ["note"], shown
        findings = [f for f in findings if f.where != "mobility"]
    bare = [f.level for f in findings if BARE in f.what]
    assert bare == ["note"] * (name in WITHOUT_ROTORS), shown
    findings = [f for f in findings if BARE not in f.what]
    assert len(findings) == len(EXPECTED[name]), shown
    for where, what in EXPECTED[name]:
        assert any(f.where == where and what in f.what for f in findings), f"{where}\n{shown}"


def joints(*fields, kind="revolute"):
    """A chain with one joint per table of fields."""
    links = [dy.Link(**{**SOUND, "joint": kind, **own}) for own in fields]
    return dy.Robot.from_dh("arm", convention="standard", gravity=(0, -9.81, 0), links=links)


@pytest.mark.parametrize(
    "value", [100.0, 1e3, 1e4, 1e6, 999.0, 9999.0, 999999.0, 99999.9, 1e16, 3.4e38]
)
def test_placeholders_are_one_note_whatever_they_limit(value):
    limits = (-max(value, 1e3), max(value, 1e3))
    fields = {"velocity_limit": value, "limits": limits if value in (1e3, 1e4, 999999.0) else None}
    findings = check_model(joints(*[fields] * 7).model)
    assert [f.level for f in findings] == ["note"]
    assert (
        findings[0].where.startswith("joints 'joint1', 'joint2'") and "no limit" in findings[0].what
    )


def test_placeholders_of_several_sizes_are_still_one_note():
    fields = [{"velocity_limit": v} for v in (100, 1e3, 1e4, 999999, 2.5)]
    (finding,) = check_model(joints(*fields).model)
    assert finding.what == "limits of 100, 1000, 10000 and 999999, which stand for no limit"
    assert "joint5" not in finding.where
    (finding,) = check_model(joints({"limits": (-999999, 999999)}, kind="prismatic").model)
    assert finding.level == "note"


@pytest.mark.parametrize("value", [120.0, 180.0, 110.0, 99.0, 360.0, 250.0, 199.0])
def test_degrees_per_second_are_no_placeholders(value):
    (finding,) = check_model(joints(*[{"velocity_limit": value}] * 3).model)
    assert finding.level == "warning" and "degrees per second" in finding.what
    assert finding.where == "joints 'joint1', 'joint2' and 'joint3'"


def urdf_arm(*links):
    return check_model(Model(name="arm", convention="urdf", links=links))


# dynamics that someone invented


def chain_of(count, **fields):
    """A URDF arm of links of different masses, one metre apart; fields by what to call with i."""
    links = [
        dy.Link(**{
            "name": f"l{i}", "joint_name": f"j{i}", "parent": f"l{i - 1}" if i else None,
            "xyz": (1.0 if i else 0.0, 0, 0), "axis": (0, 1, 0), "mass": 5.0 - i,
            "com": (0.5, 0, 0), "inertia": (0.01, 0.3 - 0.01 * i, 0.3 - 0.01 * i),
            "effort_limit": 100.0 - i, **{k: f(i) for k, f in fields.items()},
        })
        for i in range(count)
    ]  # fmt: skip
    model = Model(name="arm", convention="urdf", links=tuple(links), tool={"xyz": (1, 0, 0)})
    return dy.Robot(model)


def test_one_inertia_for_all_links_is_found():
    assert check_model(chain_of(4).model) == []
    same = chain_of(4, inertia=lambda i: (0.3, 0.2, 0.4))
    assert found(same) == [("warning", "links 'l0', 'l1', 'l2' and 'l3'")]
    assert "inertia (0.3, 0.2, 0.4, 0, 0, 0) and masses from 2 to 5 kg" in same.check()[0].what
    modules = chain_of(4, inertia=lambda i: (0.3, 0.2, 0.4), mass=lambda i: 2.0)
    assert modules.check() == []  # of one make
    balls = chain_of(4, inertia=lambda i: (0.3, 0.3, 0.3), mass=lambda i: 2.0)
    assert "have the same inertia (0.3, 0.3, 0.3)" in balls.check()[0].what
    assert chain_of(2, inertia=lambda i: (0.3, 0.3, 0.3)).check() == []


def test_centres_of_mass_on_all_joints_are_found():
    on = chain_of(4, com=lambda i: (0, 0, 0))
    assert found(on) == [("warning", "links 'l0', 'l1', 'l2' and 'l3'")]
    assert "exactly on their joints" in on.check()[0].what
    assert chain_of(4, com=lambda i: (0, 0, 0) if i else (0.2, 0, 0)).check() == []


def test_one_effort_for_all_joints_is_noted():
    assert found(chain_of(4, effort_limit=lambda i: 1000.0)) == [
        ("note", "joints 'j0', 'j1', 'j2' and 'j3'")
    ]
    assert chain_of(3, effort_limit=lambda i: 1000.0).check() == []
    assert chain_of(4, effort_limit=lambda i: 1000.0 if i else None).check() == []


def test_a_radius_of_gyration_beyond_the_joints_is_noted():
    def inertia(i):
        return (4.0, 4.1, 4.2) if i == 3 else (0.05, 0.3, 0.3 + 0.01 * i)

    wrist = chain_of(4, inertia=inertia, mass=lambda i: 5.0 if i < 3 else 0.6)
    assert found(wrist) == [("note", "link 'l3'")]
    assert "has radius of gyration 2.6 m" in wrist.check()[0].what
    # moments that never act are nobody's business: the first link turns about y alone
    first = chain_of(3, inertia=lambda i: inertia(i) if i else (30.0, 0.3, 30.0))
    assert first.check() == []


STL_HEAD = b"mesh".ljust(80)


def write_stl(path, size, text=False):
    """A box of this size about the origin as STL; the volume is exact."""
    x, y, z = np.array(size) / 2
    corners = np.array([(i, j, k) for i in (-x, x) for j in (-y, y) for k in (-z, z)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    triangles = corners[np.array(faces)]
    if text:
        rows = ["\n".join(f"vertex {a} {b} {c}" for a, b, c in t) for t in triangles]
        path.write_text("solid box\n" + "\n".join(rows) + "\nendsolid")
        return
    data = STL_HEAD + len(triangles).to_bytes(4, "little")
    for t in triangles:
        data += np.concatenate([np.zeros(3), t.ravel()]).astype("<f4").tobytes() + b"\0\0"
    path.write_bytes(data)


SHAPED = """<robot name="arm"><link name="base"/>
<link name="a"><inertial><origin xyz="0 0 0.2"/><mass value="{mass}"/>
<inertia ixx="{I}" iyy="{I}" izz="{izz}" ixy="0" iyz="0" ixz="0"/></inertial>
<visual><origin xyz="0 0 0.2"/><geometry>{shape}</geometry></visual></link>
<link name="b"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
<inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" iyz="0" ixz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
<joint name="k" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 0 0.4"/>
<axis xyz="1 0 0"/></joint></robot>"""
BOX = '<box size="0.1 0.1 0.4"/>'
MESH = '<mesh filename="meshes/{}.stl" scale="0.001 0.001 0.001"/>'
SHAPES = {
    "box": '<box size="0.1 0.1 0.4"/>',
    "cylinder": '<cylinder radius="0.05" length="0.4"/>',
    "sphere": '<sphere radius="0.1"/>',
    "binary": MESH.format("binary"),
    "text": MESH.format("text"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_bodies_that_do_not_fit_their_shapes_are_found(tmp_path, shape):
    (tmp_path / "meshes").mkdir()
    for name in ("binary", "text"):
        write_stl(tmp_path / f"meshes/{name}.stl", (100, 100, 400), text=name == "text")
    volume = {"cylinder": math.pi * 1e-3, "sphere": math.pi / 6 * 8e-3}.get(shape, 4e-3)
    if shape not in ("cylinder", "sphere"):
        assert link_shapes(shaped(tmp_path, SHAPES[shape]).model)["a"].volume == pytest.approx(
            volume, rel=1e-6
        )

    def said(mass, I):
        arm = shaped(tmp_path, SHAPES[shape], mass, I)
        return [(f.level, f.what) for f in arm.check() if "rotor inertia" not in f.what]

    assert said(10.0, 0.15) == []
    ((level, what),) = said(1.1 * 23000 * volume, 1.0)
    assert level == "warning" and "25300 kg/m^3: no material has that" in what
    ((level, what),) = said(0.9 * 50 * volume, 0.001)
    assert level == "note" and "45.0 kg/m^3: as light as foam" in what


def shaped(folder, shape, mass=10.0, I=0.15):
    (folder / "arm.urdf").write_text(SHAPED.format(shape=shape, mass=mass, I=I, izz=I / 4.0))
    return dy.load(folder / "arm.urdf")


def test_a_radius_of_gyration_beyond_its_shapes_is_found(tmp_path):
    """sqrt(I / m) of no body exceeds the way from its centre of mass to its farthest point."""
    write_stl(tmp_path / "box.stl", (0.1, 0.1, 0.4))
    text = SHAPED.format(shape='<mesh filename="box.stl"/>', mass=2.0, I=0.05, izz=0.2)
    (tmp_path / "arm.urdf").write_text(text)
    (finding,) = [f for f in dy.load(tmp_path / "arm.urdf").check() if "gyration" in f.what]
    assert finding.level == "warning" and finding.where == "link 'a'"
    assert "radius of gyration 0.316 m, and its shapes end 0.212 m" in finding.what


def test_a_body_unlike_an_even_one_in_its_shapes_is_noted(tmp_path):
    """A box of 0.1 x 0.1 x 0.4 m and 10 kg: radii of gyration 0.0408, 0.119, 0.119 m."""
    write_stl(tmp_path / "box.stl", (0.1, 0.1, 0.4))

    def said(izz, xyz):
        text = SHAPED.format(shape='<mesh filename="box.stl"/>', mass=10.0, I=0.1417, izz=izz)
        (tmp_path / "arm.urdf").write_text(text.replace("0 0 0.2", xyz, 1))
        found = dy.load(tmp_path / "arm.urdf").check()
        return [f.what for f in found if "shapes" in f.what and f.where == "link 'a'"]

    middle = "0 0 0.2"
    assert said(0.0167, middle) == []
    (what,) = said(0.0035, middle)
    assert what == (
        "has radii of gyration 0.0187 0.119 0.119 m; filled evenly its shapes have "
        "0.0408 0.119 0.119 m"
    )
    (what,) = said(0.0167, "0 0 0.35")
    assert what.startswith(
        "has its centre of mass 0.15 m from the middle of its shapes, (0, 0, 0.2)"
    )


WILD = [
    b"solid x" + b"\nvertex 1 2 " + x + b"\nvertex 0 0 1" * 20 for x in (b"nan", b"1e300", b"x")
]


@pytest.mark.parametrize(
    "content", [b"", b"solid x\nvertex 1 2", STL_HEAD + b"\xff" * 20, None, *WILD]
)
def test_meshes_that_cannot_be_read_say_nothing(tmp_path, content):
    if content is not None:
        (tmp_path / "box.stl").write_bytes(content)
    assert link_shapes(shaped(tmp_path, '<mesh filename="box.stl"/>', 1e4).model) == {}
    for name in ("../../../../../../etc/passwd", "box.dae", "http://x/box.stl"):
        assert link_shapes(shaped(tmp_path, f'<mesh filename="{name}"/>').model) == {}


LEG = """<link name="{0}1"/><link name="{0}2"/><link name="{0}3"/>
<joint name="{0}a" type="continuous"><parent link="pelvis"/><child link="{0}1"/></joint>
<joint name="{0}b" type="continuous"><parent link="{0}1"/><child link="{0}2"/></joint>
<joint name="{0}c" type="continuous"><parent link="{0}2"/><child link="{0}3"/></joint>"""
PELVIS = """<link name="pelvis"><inertial><mass value="12"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" iyz="0" ixz="0"/></inertial></link>"""
ON = """<link name="{0}"/><joint name="f" type="fixed"><parent link="{0}"/><child link="pelvis"/>
</joint>"""


def test_a_torso_that_is_bolted_to_the_world_is_said(tmp_path):
    def said(*parts):
        (tmp_path / "x.urdf").write_text(f'<robot name="x">{"".join(parts)}</robot>')
        return [f for f in check_model(dy.load(tmp_path / "x.urdf").model) if "bolted" in f.what]

    legs = [LEG.format(x) for x in "lr"]
    for root in ((), (ON.format("base_link"),)):
        (finding,) = said(*root, PELVIS, *legs)
        assert finding.level == "note"
        assert "'pelvis' is bolted to the world here: 12 kg with 2 limbs on it" in finding.what
    assert said(PELVIS, legs[0]) == []  # an arm
    assert said(ON.format("world"), PELVIS, *legs) == []  # the file says so itself
    assert said('<link name="pelvis"/>', *legs) == []  # no body


def test_an_arm_of_geometry_alone_is_one_finding():
    findings = check_model(joints(*[NO_MASS] * 6).model)
    assert [f.where for f in findings] == [
        "links 'link1', 'link2', 'link3', 'link4', 'link5' and 'link6'"
    ]


def test_helper_links_of_a_body_with_several_joints_need_no_mass():
    """A shoulder of three joints in one place: two links without body, and the arm."""
    body = {"mass": 3.0, "com": (0.2, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    first, second = dy.Link(name="a"), dy.Link(name="b", parent="a", axis=(0, 1, 0))
    third = dy.Link(name="c", parent="b", axis=(1, 0, 0), **body)
    assert urdf_arm(first, second, third) == []
    away = replace(third, xyz=(0.1, 0, 0))
    assert [f.where for f in urdf_arm(first, second, away)] == ["link 'b'"]
    assert [f.where for f in urdf_arm(first, replace(second, name="end"))] == ["link 'end'"]


@pytest.mark.parametrize("name", [n for n in catalogue.names() if n != "rppr"])
def test_findings_survive_the_parameter_vector(name):
    robot = dy.load(name)
    again = robot.with_parameters(robot.parameters.values)
    assert found(again) == found(robot)


def test_light_joints_without_rotors_are_noted():
    """The damping said is the one at which a sampled law begins to shake the joint."""
    robot = dy.load("ur5e")
    (note,) = [f for f in robot.check() if "rotor" in f.what]
    assert (note.level, note.where) == ("note", "joint 'wrist_3_joint'")
    assert note.what.endswith("bear; 1 more joint below 0.01 kg m^2")
    most = float(re.search(r"more than ([\d.]+) N m s/rad", note.what)[1])
    each = [
        fastest_stop(robot, np.eye(6)[5] * most, q[None])[0] for q in usual_configurations(robot).q
    ]
    assert min(each) * 0.005 == pytest.approx(2.0, rel=0.05)
    names = [f"wrist_{k}_joint.rotor_inertia" for k in (2, 3)]
    assert '"wrist_3_joint.rotor_inertia"' in note.remedy
    assert not robot.with_parameters(dict.fromkeys(names, 0.1)).check()
    assert not [f for f in dy.load("puma560").check() if "rotor" in f.what]


def test_frequency_of_a_gear_is_that_of_two_masses():
    drive = dy.Drive(**{**ELASTIC, "stiffness": 1.0})
    one = dy.Robot.from_dh("one", convention="standard", links=[dy.Link(**SOUND, drive=drive)])
    (note,) = [f for f in one.check() if "Hz" in f.what]
    expected = np.sqrt(1.0 / 0.2 + 1.0 / (3.0 * 0.25 + 0.25)) / (2.0 * np.pi)
    assert f"{expected:.3g} Hz" in note.what
    np.testing.assert_allclose(one.with_gravity((0, 0, 0)).resonances([0.3]).free, expected)
    assert not [f for f in one.with_drive(0, stiffness=1e4).check() if "Hz" in f.what]


def test_errors_come_first():
    robot = arm({"limits": (1, -1), "alpha": 90, "inertia": None}, gravity=(0, 0, 0))
    levels = [f.level for f in robot.check()]
    assert levels == sorted(levels, key=("error", "warning", "note").index)
    assert set(levels) == {"error", "warning", "note"}


def test_weightless_arms_feel_no_gravity_but_need_none():
    nothing = {"mass": 0.0, "com": None}
    robot = arm(nothing, nothing, gravity=(0, 0, -9.81))
    assert not [f for f in robot.check() if f.where == "gravity"]


def test_a_finding_reads_well():
    finding = Finding("warning", "link 'link1'", "has no mass", "give its mass")
    assert str(finding) == "warning: link 'link1': has no mass\nhint: give its mass"


@pytest.mark.parametrize(
    "robot", [dy.load(n) for n in catalogue.names()] + [m[1] for m in MISTAKES], ids=repr
)
def test_every_finding_is_complete_and_repeatable(robot):
    findings = robot.check()
    assert robot.check() == findings
    # what only the dynamics give away, and the placement of the joints
    moving = ("mass matrix", "no joint feels", "no gas", "pushes the joint on at", "Gruebler")
    moving += (BARE, "far more than the size by the joints", "Hz", "links without inertia")
    assert check_model(robot.model) == [f for f in findings if not any(x in f.what for x in moving)]
    for f in findings:
        assert f.level in ("error", "warning", "note")
        assert all(isinstance(x, str) and x for x in (f.where, f.what, f.remedy))


def test_a_matrix_singular_in_places_only_is_a_warning():
    """A point mass that a slide carries over the axis of the joint before it."""
    links = [dy.Link(alpha=-math.pi / 2), dy.Link(joint="prismatic", mass=1.0, limits=(-1, 0))]
    places = {"out": (0, -0.5), "centre": (0, 0)}
    polar = dy.Robot.from_dh("polar", convention="standard", links=links, configurations=places)
    (finding,) = [f for f in polar.check() if f.where.startswith("joint")]
    assert (finding.level, finding.where) == ("warning", "joint 'joint1'")
    assert "in configuration 'centre'" in finding.what
    del places["centre"]
    fine = dy.Robot.from_dh("polar", convention="standard", links=links, configurations=places)
    assert not [f for f in fine.check() if f.where.startswith("joint")]


def test_an_unbuildable_model_is_a_finding():
    links = [dy.Link(**SOUND, drive=dy.Drive(rotor_link="nowhere"))]
    robot = dy.Robot.from_dh("x", convention="standard", links=links, rotors="full")
    assert [(f.level, f.where) for f in robot.check()] == [("error", "model")]
    assert "'nowhere'" in robot.check()[0].what


@pytest.mark.parametrize("seed", range(20))
def test_physical_bodies_are_silent(seed):
    rng = np.random.default_rng(seed)
    robot = dy.Robot.from_dh("x", convention="standard", links=[dy.Link(a=1.0, **body(rng))])
    assert not [f for f in robot.check() if "inertia" in f.what]
    linear_robot = robot.with_parameters(robot.parameters.values)
    assert not [f for f in linear_robot.check() if "inertia" in f.what]


@pytest.mark.parametrize("seed", range(60))
def test_the_pseudo_inertia_decides(seed):
    """A body is impossible exactly where its 4x4 pseudo-inertia has a negative eigenvalue."""
    rng = np.random.default_rng(seed)
    sound = dy.Robot.from_dh("x", convention="standard", links=[dy.Link(a=1.0, **body(rng))])
    ten = sound.parameters.values[:10] + rng.normal(scale=0.15, size=10) * (seed % 3)
    ten[0] = abs(ten[0])
    least = np.linalg.eigvalsh(np.array(pseudo_inertia(from_linear(ten))))[0]
    robot = bare(a=1.0, linear=ten)
    complaints = [f for f in check_model(robot.model) if "pseudo-inertia" in f.what]
    assert len(complaints) == (least < 0)


@pytest.mark.parametrize("seed", range(20))
def testeigenvalues(seed):
    rng = np.random.default_rng(seed)
    S = tuple(rng.normal(size=6) * rng.choice([0.0, 1.0, 1e-3], size=6))
    expected = np.linalg.eigvalsh(np.array(symmetric_matrix(S)))
    np.testing.assert_allclose(eigenvalues(S), expected, atol=1e-7)
