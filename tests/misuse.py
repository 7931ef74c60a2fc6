"""The misuse table: every public callable times values nobody should give it.

    python tests/misuse.py [--all] [words of callables ...]

Callables are found by looking: what `dynamis` and its public modules name, and the public methods
of every object of ours they return. Each parameter in turn gets each of VALUES, the
others something valid. A call may return, or raise a DynamisError: nothing else.
"""

import contextlib
import dataclasses
import functools
import hashlib
import importlib
import inspect
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

if Path(sys.path[0]) == Path(__file__).parent:  # of a script: tests/jax is not JAX
    del sys.path[0]
os.environ.setdefault("DYNAMIS_COMPILE", "off")
os.environ.setdefault("MPLBACKEND", "agg")

import numpy as np
import sympy

import dynamis as dy
from dynamis.compile.arrays import CALL_OPTIONS
from dynamis.errors import DynamisError
from dynamis.identify.elastic.joints import ElasticEstimate, ElasticJoint

MODULES = (  # besides dynamis.__all__
    *(
        "agree",
        "calibration",
        "exercises.practica3",
        "gym",
        "identify",
        "jax",
        "plots",
        "realtime",
        "simulation",
    ),
)
N = 2  # joints of the robot that is misused
PATIENCE = 2.0  # seconds after which the script calls a call slow


# what is given


class Nothing:
    """A class of nobody's."""


@functools.cache
def other_robot() -> Any:
    return dy.load("puma560")


OWN_WORDS = {"en": {"title": "t", "text": "x", "answers": ["x [m]"]}}


def own_question():
    """An exercise of a teacher's own."""
    return dy.exercises.Question(101, "own", lambda draw: [1.0], OWN_WORDS)


def students_file() -> str:
    Path("class.csv").write_text("class_id,student,sheet,seed,exercises\nbcdfgh,Ada,1,1,1\n")
    return "class.csv"


def forms_folder() -> str:
    Path("returned").mkdir(exist_ok=True)
    Path("returned/a.csv").write_text("class,sheet,exercise,wanted,unit,answer\nbcdfgh,1,1,x,m,1\n")
    return "returned"


VALUES: dict[str, Callable[[], Any]] = {  # made anew for every call: generators are used up
    "None": lambda: None,
    "True": lambda: True,
    "empty text": lambda: "",
    "no": lambda: "no",
    "number as text": lambda: "1.5",
    "huge text": lambda: "a" * 100_000,
    "control characters": lambda: "a\x00\x1b[31m\n\t",
    "lone surrogate": lambda: "\ud800",
    "mathtext": lambda: "$\\frac{$",
    "bytes": lambda: b"",
    "0": lambda: 0,
    "-1": lambda: -1,
    "1": lambda: 1,
    "0.5": lambda: 0.5,
    "-1.5": lambda: -1.5,
    "inf": lambda: float("inf"),
    "nan": lambda: float("nan"),
    "1e300": lambda: 1e300,
    "1e-320": lambda: 1e-320,
    "10**400": lambda: 10**400,
    "2**64+1": lambda: 2**64 + 1,
    "1j": lambda: 1j,
    "Decimal": lambda: Decimal("1.5"),
    "Fraction": lambda: Fraction(1, 3),
    "symbol": lambda: sympy.Symbol("x"),
    "sympy number": lambda: sympy.Rational(1, 3),
    "[]": lambda: [],
    "[[]]": lambda: [[]],
    "()": lambda: (),
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "list of None": lambda: [None] * N,
    "list of texts": lambda: ["a", "b"],
    "list of numbers": lambda: [1.0] * N,
    "list of huge": lambda: [10**400] * N,
    "long list": lambda: [0.0] * 7,
    "nested": lambda: [[[1.0] * N]],
    "dict": lambda: {"a": 1},
    "empty dict": lambda: {},
    "dict of numbers": lambda: {0: 1.0, 1: 2.0},
    "set": lambda: {1.0, 2.0},
    "object": object,
    "function": lambda: lambda *args, **options: None,
    "function of nothing": lambda: lambda: 0,
    "class": lambda: Nothing,
    "instance": Nothing,
    "module": lambda: os,
    "generator": lambda: (x for x in (1.0, 2.0)),
    "iterator": lambda: iter([1.0]),
    "range": lambda: range(N),
    "scalar array": lambda: np.array(1.0),
    "empty array": lambda: np.zeros(0),
    "array of one": lambda: np.ones(1),
    "square": lambda: np.eye(N),
    "pose": lambda: np.eye(4),
    "many dimensions": lambda: np.zeros((1,) * 5),
    "nan array": lambda: np.ones(N) * np.nan,
    "complex array": lambda: np.ones(N) * 1j,
    "text array": lambda: np.array(["1", "2"]),
    "object array": lambda: np.array([object(), None]),
    "bool array": lambda: np.ones(N) > 0,
    "dates": lambda: np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
    "record array": lambda: np.zeros(N, dtype=[("a", float)]),
    "float16": lambda: np.ones(N).astype(np.float16),
    "masked": lambda: np.ma.masked_array(np.ones(N), mask=[True, False]),
    "mask": lambda: np.ma.masked,
    "matrix": lambda: np.asmatrix(np.ones(N)),
    "numpy bool": lambda: np.bool_(True),
    "numpy text": lambda: np.str_("no"),
    "path to nowhere": lambda: Path("nowhere") / "at all",
    "another robot": other_robot,
    "slice": lambda: slice(None),
    "not implemented": lambda: NotImplemented,
}


# what is valid


@functools.cache
def robot() -> Any:
    friction, limits = dy.Friction(viscous=0.1, coulomb=0.2), (-3.0, 3.0)
    body = {"friction": friction, "inertia": (0.05, 0.3, 0.3), "limits": limits}
    links = [
        dy.Link(a=1.0, mass="m1", com=(-0.5, 0, 0), **body),
        dy.Link(a=0.8, mass=2.0, com=(-0.4, 0, 0), drive=dy.Drive(gear=50.0), **body),
    ]
    shapes = [dy.Geometry(kind="sphere", link=x, radius=0.05) for x in (None, "link2")]
    return dy.Robot.from_dh(
        "two-link", convention="standard", links=links, gravity=(0, -9.81, 0), values={"m1": 3.0},
        geometry=shapes,
    )  # fmt: skip


@functools.cache
def mechanism() -> Any:
    """A four-bar, for the methods of closed mechanisms."""
    from tests.closed_mechanisms import four_bar

    return four_bar()


@functools.cache
def elastic_robot() -> dy.Robot:
    """The two-link arm with elastic joints."""
    drive = dy.Drive(gear=50.0, rotor_inertia=1e-4, stiffness=1e4)
    return robot().with_drive(0, drive).with_drive(1, drive)


OF_ELASTIC = ("resonances", "elastic_inverse_dynamics", "elastic_regressor")
IMU = ("angular_rate", "acceleration")
HELD = ("constraint_forces", "closure_reactions")
OF_CLOSED = (
    *("assemble", "project", "closure_error", "closure_jacobian", "closure_status"),
    *(*HELD, "drive_jacobian", "joint_rates", "joint_accelerations", "with_home"),
)
SPECIAL = {  # methods that the two-link arm does not have
    **dict.fromkeys(OF_CLOSED, mechanism),
    **dict.fromkeys(OF_ELASTIC, elastic_robot),
    **dict.fromkeys(("distance", "collides", "collision_pairs"), robot),
}


@functools.cache
def touching_run() -> Any:
    return dy.simulate(robot(), 0.02, 1e-3, world=[dy.Plane(offset=-5.0)])


@functools.cache
def run() -> Any:
    law = dy.control.JointPID(10.0, 1.0, 1.0)
    return dy.simulate(robot(), 0.02, 1e-3, controller=law, reference=[0.1, 0.2])


@functools.cache
def study() -> Any:
    vary = dy.Scatter(robot(), mass=0.1)
    return dy.study(
        robot(), 0.1, 0.05, controller=LAW(), reference=[0.1, 0.2], vary=vary, samples=3
    )


@functools.cache
def watched_run() -> Any:
    return dy.simulate(robot(), 0.01, 2e-3, observer=dy.PayloadObserver())


@functools.cache
def thermal_robot() -> dy.Robot:
    """The same arm with friction by temperature."""
    rubs = dy.Friction(viscous=1.0, temperature_slope=-0.01, heating=(0.1, 0.1))
    links = tuple(dataclasses.replace(x, friction=rubs) for x in robot().model.links)
    return dy.Robot(dataclasses.replace(robot().model, links=links))


def log() -> Any:
    t = np.arange(400) / 100.0
    phase = np.arange(1, 5)[:, None] * 2.0 * t
    q = np.stack([np.sin(phase).sum(axis=0), np.cos(1.3 * phase).sum(axis=0)], axis=1) / 4
    qd, qdd = (np.gradient(x, t, axis=0) for x in (q, np.gradient(q, t, axis=0)))
    return dy.Log(t=t, q=q, qd=qd, tau=robot().inverse_dynamics(q, qd, qdd))


@functools.cache
def estimate() -> Any:
    return dy.identify(robot(), log(), estimator="ordinary", held_out=False, force=True)


@functools.cache
def elastic_estimate() -> Any:
    """The same with an elastic second joint, as if it had been found."""
    constants = dict.fromkeys(("damping", "backlash", "viscous", "coulomb", "zero", "lag"), 0.0)
    joint = ElasticJoint(
        "joint2", stiffness=900.0, rotor_inertia=0.1, delay=0.0, explained=1.0, cutoff=10.0,
        half_widths={}, **constants,
    )  # fmt: skip
    bent = log().q + 1e-3 * log().tau * [0.0, 1.0]
    both = dataclasses.replace(log(), motor=bent)
    return dataclasses.replace(estimate(), elastic=ElasticEstimate((joint,)), recorded=(both,))


def measured() -> dict[str, Any]:
    """Postures of the two-link arm and the positions of its tool there."""
    q = 0.5 + np.sin(np.arange(24.0)).reshape(12, 2)
    return {"q": q, "position": robot().fk(q)[:, :3, 3]}


def points_measured() -> Any:
    """What a tracker would have seen of the two-link arm."""
    return dy.calibration.Points(**measured())


def sockets_file() -> str:
    """Joint positions of a socket."""
    rows = [f"{a},{b}" for a, b in measured()["q"]]
    Path("front.csv").write_text("\n".join(["q1,q2", *rows]))
    return "front.csv"


def plant_file() -> str:
    Path("plant.csv").write_text("t,t_controller,status,q_a,qd_a,tau_a\n0,0,1,0,0,0\n1,0,1,0,0,0\n")
    return "plant.csv"


def behind_board() -> tuple[Any, Any]:
    """A law of an arm with amplifiers, and the board between them."""
    from dynamis.realtime import Law

    arm = robot()
    for joint in range(arm.n):
        arm = arm.with_drive(joint, gear=50.0, torque_constant=0.1, amplifier_gain=1.0)
    encoder = dy.control.Encoder(counts=1000)
    board = dy.control.Board(encoders=encoder, potentiometers=None, parked=[0.0] * arm.n)
    return Law(dy.control.JointPID(1.0), arm, 0.005), board


def board_file() -> str:
    """A file of a board."""
    behind_board()[1].save("board.toml")
    return "board.toml"


def mesh_file() -> str:
    """A mesh of a tetrahedron."""
    faces = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    Path("body.obj").write_text(f"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n{faces}")
    return "body.obj"


def world_file() -> str:
    """A file of a world."""
    dy.save_world([dy.Plane(), dy.Sphere(radius=0.1, xyz=(2.0, 0.0, 0.0))], "world.toml")
    return "world.toml"


def points_file() -> str:
    Path("points.csv").write_text("t,q1,q2\n0,0,0\n1,0.5,0.2\n")
    return "points.csv"


@functools.cache
def state_feedback() -> Any:
    return dy.control.StateFeedback.from_bandwidth(robot(), 2.0, 0.005)


def moving(t: float) -> tuple:
    """A motion of two joints."""
    return [0.5 * t, 0.0], [0.5, 0.0], [0.0, 0.0]


@dataclass(frozen=True)
class OwnLoad:
    """A load that pulls at both joints."""

    gain: float = 1.0

    def torque(self, q, qd, constants, fn):
        return [constants["gain"] * x for x in q]


def own_function(arm: Any, q: Any) -> Any:
    return arm.gravity_torque(q)


LAW = functools.cache(lambda: dy.control.JointPID(10.0, 1.0, 1.0))
TEXT = functools.cache(lambda: dy.interop.to_mjcf(robot()))

LINES = [("revolute", (0, 0, 0), (0, 0, 1)), ("revolute", (1, 0, 0), (0, 0, 1))]

STUDIED = (
    *("columns", "described", "distribution", "extremes", "mean", "plot", "quantile_intervals"),
    *("quantiles", "sensitivity", "standard_deviation", "units", "worst"),
)

# Práctica 3: joint vectors of the arm that the name ends with, vectors, matrices; the rest numbers
OF_JOINTS = ("q", "qp", "qpp", "tau", "qini", "qpini", "par")
MATRICES = ("r", "inercia", "inerciaext", "iexter")
VECTORS = ("vp", "wp", "w", "s", "fuerza", "n", "p_siguiente", "p", "par", "f")


def practice_value(name: str, parameter: str) -> Any:
    """Something valid for a parameter of a function of Práctica 3."""
    if parameter in ("mat_q", "path"):
        return np.zeros((3, 40)) if parameter == "mat_q" else "film.html"
    if parameter in MATRICES:
        return np.eye(3)
    if name[-1].isdigit() and parameter in OF_JOINTS:
        return [0.1] * int(name[-1])
    if parameter in VECTORS or (name, parameter) == ("ri0fi", "a"):
        return [0.1, 0.2, 0.3]
    return {"tsim": 0.02, "pint": 0.01, "tf": 0.01, "t0": 0.0}.get(parameter, 0.3)


def of_practice() -> dict[str, Callable[[], Any]]:
    """Valid values of all of its functions."""
    module = importlib.import_module("dynamis.exercises.practica3")
    return {
        f"exercises.practica3.{name}.{parameter}": functools.partial(
            practice_value, name, parameter
        )
        for name in module.__all__
        for parameter in inspect.signature(getattr(module, name)).parameters
    }


# valid values by the parameter's name; of one callable: "callable.parameter"
COORDINATES = ("cylindrical", "spherical", "homogeneous")
VALID: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("q", "qd", "qdd", "tau", "q0", "q1", "torque"), lambda: [0.1, 0.2]),
    **dict.fromkeys(("qddd", "qdddd", "motor", "motor_rate"), lambda: [0.1, 0.2]),
    "motor_acceleration": lambda: [0.1, 0.2],
    "Box.size": lambda: (0.3, 0.2, 0.1),
    **{f"Capsule.{x}": lambda: (0.1, 0.2, 0.3) for x in ("from_", "to")},
    **{f"{x}.radius": lambda: 0.1 for x in ("Capsule", "Sphere", "Geometry")},
    "Geometry.kind": lambda: "sphere",
    "Memory.radii": lambda: (1e-3, 1e-2),
    "FrictionModel.with_radii.*radii": lambda: (1e-3,),
    "Memory.weights": lambda: (0.5, 1.0),
    **dict.fromkeys(("center", "amplitude", "action", "reference"), lambda: [0.1, 0.2]),
    **dict.fromkeys(("bandwidth", "kp", "kd", "adaptation", "stiffness", "gain"), lambda: 2.0),
    **dict.fromkeys(
        ("angle", "roll", "pitch", "yaw", "theta", "alpha", "d", "a", "t"), lambda: 0.3
    ),
    **dict.fromkeys(("duration", "period", "frequency", "inertia", "mass"), lambda: 1.0),
    **dict.fromkeys(("T", "T0", "T1"), lambda: robot().fk([0.3, 0.5])),
    **dict.fromkeys(("log", "free", "loaded"), log),
    **dict.fromkeys(("index", "k", "n", "start"), lambda: 1),
    **dict.fromkeys(("dt", "sample_time"), lambda: 0.005),
    "R": lambda: np.eye(3),
    "a": lambda: [[0.1], [0.2]],
    "angles": lambda: (0.1, 0.2, 0.3),
    "axes": lambda: LINES,
    "b": lambda: [[0.1], [0.2]],
    "controller": LAW,
    "count": lambda: 2,
    "convention": lambda: "standard",
    "cutoff": lambda: 5.0,
    "directory": lambda: "out",
    "expression": lambda: "1",
    "error": lambda: np.ones((5, N)),
    "findings": tuple,
    "function": lambda: own_function,
    "given": lambda: "word",
    "gravity": lambda: (0.0, -9.81, 0.0),
    "known": lambda: ["words"],
    "law": OwnLoad,
    "message": lambda: "what was given",
    "name": lambda: "gravity_torque",
    "names": lambda: "gravity_torque",
    "path": lambda: "out.csv",
    "points": lambda: [[0.0, 0.0], [0.5, 0.5], [1.0, 0.0]],
    "robot": robot,
    "temperature": lambda: 30.0,
    "calibrate.observations": points_measured,
    "calibrate.temperature": lambda: None,
    "calibration_postures.count": lambda: 6,
    "calibration_postures.places": lambda: 2,
    "calibration_postures.kind": lambda: "points",
    "calibration_postures.target": lambda: (0.1, 0.0, 0.0),
    "calibration_postures.floor": lambda: None,
    **{
        f"calibration.{x}.q": lambda: measured()["q"] for x in ("Points", "Poses", "Plane", "Touch")
    },
    "calibration.Points.position": lambda: measured()["position"],
    "calibration.Poses.pose": lambda: robot().fk(measured()["q"]),
    "calibration.Sockets.places": lambda: {"front": [measured()["q"], measured()["q"] + 0.1]},
    "calibration.read_observations.source": sockets_file,
    "calibration.read_observations.kind": lambda: "sockets",
    "Calibration.report.path": lambda: "calibration.html",
    "Calibration.save.path": lambda: "as_built.toml",
    "Calibration.validate.other": points_measured,
    "Log.with_temperature.robot": thermal_robot,
    "run": run,
    "source": lambda: "planar-2link",
    "stop": lambda: 3.0,
    "times": lambda: [0.0, 0.5, 1.0],
    "value": lambda: 1.0,
    "values": lambda: robot().parameters.values,
    "what": lambda: "M",
    "xyzw": lambda: (0.0, 0.0, 0.0, 1.0),
    "y": lambda: np.linspace(0.0, 1.0, 20),
    # of one callable
    **{f"transforms.{f}.a": lambda: 0.3 for f in ("dh", "dh_inverse")},
    "DhSteps.__getitem__.label": lambda: "DH5",
    "DhSteps.plot.step": lambda: "DH5",
    "DhSteps.save.path": lambda: "dh.txt",
    **{f"transforms.from_{f}.r": lambda: 0.3 for f in ("polar", "cylindrical", "spherical")},
    **{f"transforms.to_{f}.p": lambda: (0.1, 0.2, 0.3) for f in COORDINATES},
    **dict.fromkeys(
        ("transforms.from_cylindrical.z", "transforms.from_spherical.phi"), lambda: 0.3
    ),
    "transforms.to_polar.p": lambda: (0.1, 0.2),
    "transforms.from_homogeneous.h": lambda: (0.1, 0.2, 0.3, 1.0),
    "Derivation.__getitem__.name": lambda: "tau1",
    "Derivation.html.path": lambda: "page.html",
    "Derivation.translated.language": lambda: "es",
    "Equations.html.path": lambda: "page.html",
    "BaseParameters.full.base_values": lambda: robot().base_parameters().values,
    "Fourier.check.dt": lambda: 0.1,
    "Equations.term.name": lambda: "M",
    "Equations.term.*indices": lambda: (0, 1),
    "Estimate.refine.controller": LAW,
    "Estimate.refine.iterations": lambda: 1,
    "Estimate.refine.log": lambda: log().rows(0, 8),
    "Estimate.report.path": lambda: "report.html",
    "Estimate.save.path": lambda: "estimate.toml",
    "Excitation.save.path": lambda: "motion.csv",
    "Log.stated": lambda: ("q",),
    "Log.t": lambda: np.arange(9) / 100.0,
    **{f"Log.{x}": lambda: np.ones((9, N)) for x in ("q", "qd", "qdd", "tau", "motor")},
    "Robot.kernel().*arguments": lambda: ([0.1, 0.2],),
    **{f"Robot.{x}.q": lambda: mechanism().home for x in OF_CLOSED},
    **{f"Robot.{x}.qd": lambda: np.zeros(3) for x in (*HELD, "joint_accelerations")},
    **{f"Robot.{x}.qdd": lambda: np.zeros(3) for x in HELD},
    "Robot.assemble.q_active": lambda: [0.7],
    "Robot.joint_rates.qd_active": lambda: [0.1],
    "Robot.joint_accelerations.qdd_active": lambda: [0.1],
    "Robot.from_dh.convention": lambda: "standard",
    "Robot.from_dh.links": lambda: [dy.Link(a=1.0, mass=1.0)],
    "Robot.save.path": lambda: "arm.toml",
    "Robot.free_body.link": lambda: "link1",
    "FreeBody.__getitem__.source": lambda: "weight",
    "plots.plot_nearest.pairs": lambda: robot().collision_pairs(),
    "CollisionPairs.plot.path": lambda: "near.png",
    "plots.plot_free_body.body": lambda: robot().free_body(0, [0.1, 0.2]),
    "plots.plot_reactions.found": lambda: run().reactions,
    "plots.plot_contacts.contacts": lambda: touching_run().contacts,
    **of_practice(),
    **dict.fromkeys(("Robot.with_drive.joint", "Robot.with_limits.joint"), lambda: "joint1"),
    "Robot.with_link.link": lambda: "link1",
    "Robot.with_spring.spring": lambda: dy.Spring(kind="torsion", joint="joint1", stiffness=2.0),
    "Run.animate.path": lambda: "arm.html",
    "Run.plot.what": lambda: "q",
    "Sensors.slots.n": lambda: N,
    "control.Encoder.counts": lambda: 1000,
    "control.Potentiometer.range": lambda: (-1.0, 1.0),
    "control.Board.encoders": lambda: dy.control.Encoder(counts=1000),
    "control.Board.potentiometers": lambda: dy.control.Potentiometer(range=(-1.0, 1.0)),
    "Board.save.path": lambda: "board.toml",
    "Board.load.path": board_file,
    "load_world.path": world_file,
    "inertia_of_mesh.file": mesh_file,
    "inertia_of_mesh.density": lambda: None,
    "inertia_of_mesh.mass": lambda: 2.0,
    "save_world.path": lambda: "saved.toml",
    "save_world.world": lambda: [dy.Plane()],
    "Board.of_joints.name": lambda: "encoders",
    "Board.of_joints.n": lambda: N,
    "realtime.BoardLaw.law": lambda: behind_board()[0],
    "realtime.BoardLaw.board": lambda: behind_board()[1],
    "StateSpace.feedback.gain": lambda: np.zeros((N, 2 * N)),
    "PayloadObserver.run.log": lambda: log().rows(0, 8),
    "PayloadObserver.track.run": watched_run,
    "PlantRun.read.path": plant_file,
    "Recursion.function.arguments": lambda: robot().equations().q,
    "agree.Row.quantity": lambda: "mass_matrix",
    "agree.Row.difference": lambda: 0.0,
    "agree.Row.limit": lambda: 1.0,
    "trajectory.from_file.path": points_file,
    "trajectory.from_function.function": lambda: moving,
    **{
        f"{x}.simplified.tolerance": lambda: 0.1
        for x in ("Along", "Fourier", "Hermite", "Shaped", "Sine")
    },
    "trajectory.Hermite.states": lambda: np.zeros((2, 3, N)),
    "trajectory.time_optimal.acceleration": lambda: 1.0,
    "compile().*arguments": lambda: ([0.1, 0.2],),
    "control.ControlLoop.sample_time": lambda: 0.005,
    "control.Notch.law": LAW,
    "control.Notch.sample_time": lambda: 0.005,
    **{
        f"control.StateFeedback.{x}": functools.partial(lambda x: getattr(state_feedback(), x), x)
        for x in ("feedback", "correction", "transition", "input", "period")
    },
    "trajectory.Shaped.trajectory": lambda: dy.trajectory.sine([0.1, 0.2], 0.1, 1.0),
    "trajectory.BaseMotion.path": lambda: dy.trajectory.quintic([0.0] * 6, [0.1] * 6, 1.0),
    "trajectory.BaseMotion.imu": lambda: None,
    **{f"BaseMotion.from_imu.{x}": lambda: np.zeros((5, 3)) for x in IMU},
    "BaseMotion.from_imu.t": lambda: np.linspace(0.0, 1.0, 5),
    "trajectory.Shaped.times": lambda: [0.0, 0.1],
    "trajectory.Shaped.shares": lambda: [0.5, 0.5],
    "trajectory.zvd.trajectory": lambda: dy.trajectory.sine([0.1, 0.2], 0.1, 1.0),
    "trajectory.zvd.modes": lambda: [(3.0, 0.1)],
    "gym.ReachVectorEnv.num_envs": lambda: 2,
    "ReachVectorEnv.step.action": lambda: np.zeros((2, N)),
    "control.step_metrics.t": lambda: np.arange(20) / 10.0,
    "exercises.exercise.which": lambda: 1,
    "exercises.write_class.students": lambda: [1],
    **{
        f"exercises.{name}.{x}": functools.partial(list, [1])
        for name in ("quiz", "write_quiz", "assignment", "write_assignment")
        for x in ("seeds", "which")
    },
    "exercises.write_quiz.path": lambda: "quiz.gift",
    "exercises.write_assignment.path": lambda: "ps1.ipynb",
    "exercises.register.questions": own_question,
    "exercises.Question.number": lambda: 101,
    "exercises.Question.name": lambda: "own",
    "exercises.Question.solve": lambda: lambda draw: [1.0],
    "exercises.Question.words": lambda: OWN_WORDS,
    "exercises.write_class.which": lambda: [1],
    "exercises.class_marks.directory": forms_folder,
    "exercises.class_marks.students": students_file,
    "exercises.term_marks.directories": lambda: [forms_folder()],
    "exercises.term_marks.students": lambda: [students_file()],
    "Exercise.check.answers": lambda: [1.0, 2.0],
    "excite.harmonics": lambda: 2,
    "excite.max_iterations": lambda: 2,
    "excite.starts": lambda: 1,
    "export_observer.observer": lambda: dy.control.MomentumObserver(10.0),
    "export_fmu.path": lambda: "arm.fmu",
    "gym.ReachEnv.robot": robot,
    "gym.ReachVectorEnv.robot": robot,
    "identify.Verdict.level": lambda: "good",
    "identify.Verdict.reason": lambda: "3 % of the torque is left over",
    "identify_drive_gains.cutoff": lambda: 8.0,
    "interop.from_mjcf.source": TEXT,
    "interop.from_mujoco.model": lambda: importlib.import_module("mujoco").MjModel.from_xml_string(
        TEXT()
    ),
    "interop.from_pinocchio.model": lambda: dy.interop.to_pinocchio(robot()),
    "interop.from_rtb.robot": lambda: dy.interop.to_rtb(robot()),
    "interop.from_yourdfpy.urdf": lambda: dy.interop.to_yourdfpy(robot()),
    "jax.evaluate.kernel": lambda: "fk",
    "jax.evaluate.arrays": lambda: {"q": [0.1, 0.2]},
    "plots.animate.path": lambda: "arm.html",
    "read_log.source": lambda: {"t": log().t, "q": log().q, "qd": log().qd, "tau": log().tau},
    "read_logs.source": lambda: str(log().save("run.npz")),
    "realtime.controller_cost.exported": LAW,
    "realtime.controller_cost.robot": robot,
    "realtime.run_plant.duration": lambda: 0.002,
    "realtime.run_plant.port": lambda: 0,
    "rtb.fdyn.T": lambda: 0.1,
    "rtb.fdyn.dt": lambda: 0.05,
    "rtb.rne.qd": lambda: [0.1, 0.2],
    "rtb.rne.qdd": lambda: [0.1, 0.2],
    "study.duration": lambda: 0.1,
    "study.dt": lambda: 0.05,
    "study.samples": lambda: 3,
    "study.controller": LAW,
    "study.reference": lambda: [0.1, 0.2],
    "study.vary": lambda: dy.Scatter(robot(), mass=0.1),
    "study.progress": lambda: False,
    **{f"Study.{x}.measure": lambda: "rms_error" for x in STUDIED},
    "plots.plot_hysteresis.estimate": estimate,
    "plots.plot_response.estimate": elastic_estimate,
    "plots.plot_validation.check": lambda: estimate().training[0],
    "plots.plot_study.study": study,
    "plots.plot_study.measure": lambda: "rms_error",
    "Distribution.heights.edges": lambda: [0.0, 0.5, 1.0],
    "Estimate.sample.count": lambda: 2,
    "Study.report.path": lambda: "study.html",
    "Study.save.path": lambda: "study.npz",
    "Scatter.draw.first": lambda: 0,
    "Scatter.draw.count": lambda: 2,
    "Scatter.draw.seed": lambda: 0,
    "simulate.duration": lambda: 0.1,
    "simulate.dt": lambda: 0.05,
    "trajectory.time_optimal.path": lambda: [[0.0, 0.0], [0.5, 0.5], [1.0, 0.0]],
    "trajectory.trapezoid.duration": lambda: 1.0,
}


# what is called


class Site(NamedTuple):
    """A callable, what it is given when it is used well, and the parameters to misuse."""

    name: str
    call: Callable[..., Any]
    arguments: dict[str, Callable[[], Any]]
    parameters: tuple[str, ...]
    places: tuple[str, ...] = ()  # of those given by position: before and among *arguments

    def used(self, changed: dict[str, Any]) -> Any:
        """The result of a call, some arguments changed."""
        given = {name: make() for name, make in self.arguments.items()} | changed
        placed = [given.pop(k) for k in self.places]
        return self.call(*placed, **given)


class MissingError(Exception):
    """The table has nothing valid for a parameter."""


def site(name: str, call: Callable[..., Any], instance: Any = None) -> Site | None:
    """The site of a callable; None for scalar-generic code, whose arguments are not checked."""
    arguments, parameters, places = {}, [], ()
    signature = inspect.signature(call)
    if {"fn", "arm"} & set(signature.parameters):
        return None
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            usual = CALL_OPTIONS if name.startswith("Robot.") and p.name == "options" else None
            known = KEYWORDS.get(name, usual)
            if known is None:
                raise MissingError(f"{name} takes **{p.name}: name them in KEYWORDS")
            parameters += [*known, "unheard_of"]
            own = {k: VALID[f"{name}.{k}"] for k in known if f"{name}.{k}" in VALID}
            arguments |= own
        elif p.kind is p.VAR_POSITIONAL:
            made = VALID.get(f"{name}.*{p.name}")
            if made is None:
                raise MissingError(f"{name} takes *{p.name}: give them in VALID")
            rest = {
                f"*{k}": functools.partial(lambda k, m: m()[k], k, made) for k in range(len(made()))
            }
            places = (*arguments, *rest)
            arguments |= rest
            parameters += rest
        else:
            make = VALID.get(f"{name}.{p.name}")
            if make is None and hasattr(instance, p.name):
                make = functools.partial(getattr, instance, p.name)
            if make is None and p.default is p.empty:
                make = VALID.get(p.name)
            if make is not None:
                arguments[p.name] = make
            elif p.default is p.empty:
                raise MissingError(f"{name} needs {p.name!r}: give something valid in VALID")
            parameters.append(p.name)
    return Site(name, call, arguments, tuple(parameters), places)


def modules() -> dict[str, ModuleType]:
    """Public modules by the name they go by."""
    found = {"": dy}
    found |= {n: getattr(dy, n) for n in dy.__all__ if inspect.ismodule(getattr(dy, n))}
    return found | {n: importlib.import_module(f"dynamis.{n}") for n in MODULES}


def named(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Public names of a module: its __all__, else what is defined there."""
    names = getattr(module, "__all__", None)
    for name in names or [x for x in vars(module) if not x.startswith("_")]:
        value = getattr(module, name)
        own = names or getattr(value, "__module__", None) == module.__name__
        if own and callable(value):  # folders that are functions too among them
            yield name, value


def methods(thing: Any) -> Iterator[tuple[str, Any]]:
    """Public methods of an object of ours, those of its bases in other packages left out."""
    for name in dir(type(thing)):
        owner = next((c for c in type(thing).__mro__ if name in vars(c)), object)
        if (name.startswith("_") and name != "__call__") or not owner.__module__.startswith(
            "dynamis"
        ):
            continue
        if isinstance(inspect.getattr_static(thing, name), (property, functools.cached_property)):
            continue
        value = getattr(thing, name)
        if callable(value):
            yield name, value


class Table:
    """Every site there is; `missing` says what a newcomer still has to add."""

    def __init__(self) -> None:
        self.sites: dict[str, Site] = {}
        self.missing: list[str] = []
        self.instances: dict[type, Any] = {}
        self._seen: set[int] = set()
        waiting: list[tuple[str, type]] = []
        for prefix, module in modules().items():
            for name, value in named(module):
                function = id(inspect.unwrap(value))  # also of the folder that stands for it
                if function in self._seen:
                    continue
                self._seen.add(function)
                full = f"{prefix}.{name}" if prefix else name
                if not inspect.isclass(value):
                    self._add(full, value)
                elif not inspect.isabstract(value):
                    waiting.append((full, value))
        for full, kind in waiting:
            instance = self.instances.get(kind)
            if not issubclass(kind, (Warning, tuple)):  # a NamedTuple holds what it is given
                self._add(full, kind, instance)

    def _add(self, name: str, call: Callable[..., Any], instance: Any = None) -> None:
        if name in NOT_TRIED:
            return
        try:
            found = site(name, call, instance)
        except MissingError as error:
            self.missing.append(str(error))
            return
        if found is None:
            return
        self.sites[name] = found
        try:
            with quiet():
                result = found.used({})
        except Exception as error:
            self.missing.append(f"{name} used well: {type(error).__name__}: {error}")
            return
        function = inspect.isfunction(inspect.unwrap(result))  # also one that is called through C
        if function and str(result.__module__).startswith("dynamis"):
            self._add(f"{name}()", result)
        else:
            self._look(result)

    def _look(self, thing: Any) -> None:
        """The methods of an object of ours, unless one of its type was seen."""
        if isinstance(thing, (tuple, list)):
            for part in thing[:3]:
                self._look(part)
        kind = type(thing)
        if not kind.__module__.startswith("dynamis") or kind in self.instances:
            return
        if isinstance(thing, (type, BaseException)):
            return
        self.instances[kind] = thing
        for method, call in methods(thing):
            special = SPECIAL.get(method) if kind is dy.Robot else None
            own = call if special is None else getattr(special(), method)
            self._add(f"{kind.__name__}.{method}", own)


# options behind ** by callable; of methods of Robot: `CALL_OPTIONS` unless said here
BLOCK = ("model", "sample_time", "friction")
MAP = ("plane", "at", "points", "extent", "limits")
KEYWORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Derivation.evaluate", "Equations.evaluate", "Robot.with_values"), ("m1",)),
    **{f"{x}.from_bandwidth": BLOCK for x in ("ComputedTorque", "FeedForward", "PointToPoint")},
    **{f"{x}.from_bandwidth": BLOCK for x in ("Impedance", "TaskSpace")},
    **{
        f"{x}.from_bandwidth": ("model", "sample_time", "limit")
        for x in ("FlatnessFeedForward", "MotorPD", "StateFeedback")
    },
    "JointPID.from_bandwidth": ("model", "sample_time", "gravity", "derivative", "limit"),
    "SlotineLi.from_bandwidth": ("model", "sample_time", "adapt", "start_from", "smoothing"),
    "Estimate.refine": ("iterations", "sample_time", "dt", "step", "sensors"),
    **dict.fromkeys(("BaseParameters.regressor", "Robot.kernel()", "compile()"), CALL_OPTIONS),
    "Robot.base_parameters": ("tolerance",),
    "Robot.assemble": ("limits", "q0", "starts", "seed"),
    **dict.fromkeys(
        ("gym.ReachEnv", "gym.ReachVectorEnv"),
        ("effort", "dt", "substeps", "noise", "reward", "target", "render_mode"),
    ),
    "Robot.from_axes": ("links", "gravity", "values"),
    "Robot.from_dh": ("values", "configurations", "payload", "gear_matrix", "rotors", "frames"),
    "Robot.ik": ("limits", "tolerance", "starts", "seed"),
    "Robot.with_friction": ("offset", "load", "law"),
    "Robot.plot_workspace": MAP,
    "plots.plot_workspace": MAP,
    "Robot.singularity": ("condition",),
    "Robot.significance": ("speed", "acceleration", "samples", "seed"),
    "Run.animate": ("fps", "speed", "frames", "trace", "links"),
    "Run.plot": ("joints", "path"),
    "Study.plot": ("joint", "path"),
    "interop.to_yourdfpy": (),
    "read_logs": ("sample_time", "joints", "window", "rows", "name"),
    "realtime.run_plant": (
        "host",
        "q0",
        "rate",
        "loss",
        "delay",
        "jitter",
        "seed",
        "encoder",
        "stops",
        "keep",
    ),
    "rtb.fdyn": ("integrator", "stops", "wrench"),
}

# left out, and why
NOT_TRIED = {
    "Estimate.plot_response": "of elastic joints: plots.plot_response is tried",
    "Along.derivatives": "the one made here is not smooth; Sine.derivatives is the same function",
    "Hermite.derivatives": "the one made here is not smooth; Sine.derivatives is the same function",
    "Draw.part": "it takes what NumPy takes as indices",
    "exercises.Exercise": "a result, which exercises.exercise makes",
    "exercises.Drawing": "a picture, which exercises.Pen makes",
    **{
        f"NumberDraw.{x}": "what a question draws its numbers with; tests/exercises has some"
        for x in ("__call__", "degrees", "given", "hide", "mistake", "sign")
    },
    "Question.said": "words for those who write sheets; exercises.exercise checks the language",
    "Question.solved": "what exercises.exercise calls with the numbers that it drew",
    "Exercise.margin": "what Exercise.check asks",
    "Exercise.typical": "what Exercise.check asks",
    "exercises.Pen": "a collector of strokes; tests/exercises draws with it",
    "exercises.Step": "a row of a table",
    "exercises.ClassMarks": "a result, which exercises.class_marks makes",
    "exercises.Student": "a row of a table, which exercises.class_marks reads",
    "exercises.StudentMarks": "a result, which exercises.class_marks makes",
    "exercises.TermMarks": "a result, which exercises.term_marks makes",
    "exercises.Mark": "a result, which Exercise.check makes",
    "ray_executor": "it starts a cluster; tests/study gives it one",
    "Skeleton.is_shown": "a question of the code that draws, by the number of a link",
    "simulation.Tableau": "a table of numbers that proves its own sums",
    "Picture.set": "matplotlib's own",
    **{
        f"calibration.{x}": "a result, which dy.calibrate makes"
        for x in ("Accuracy", "CalibratedParameters", "Calibration")
    },
    "calibration.Observations": "what all observations have; those that are measured are tried",
}
ENDLESS = {"realtime.run_plant.duration"}  # numbers here mean what they say

# callables of more than a tenth of a second: in the tests they get some of the values
SLOW = (
    *("calibrate", "calibration_postures", "Calibration.report", "Calibration.validate"),
    *("excite", "export_controller", "export_fmu", "identify_drive_gains", "identify_payload"),
    *("Estimate.refine", "Estimate.report", "Equations.html", "gym.ReachEnv"),
    *("Derivation.html", "Derivation.evaluate", "Equations.derivation", "trajectory.line"),
    *("realtime.controller_cost", "exercises.write_class", "exercises.quiz"),
    *("exercises.write_quiz", "exercises.write_assignment", "exercises.assignment"),
    *("realtime.run_plant", "interop.from_rtb", "interop.from_yourdfpy", "interop.from_mujoco"),
    *("interop.from_pinocchio", "agree.agreement", "Run.animate", "plots.animate"),
    *("plots.plot_study", "Study.plot", "Study.report", "study"),
    *("plots.plot_hysteresis", "plots.plot_response", "Estimate.plot_hysteresis"),
    *("plots.plot_validation", "Validation.plot", "plots.plot_reactions", "plots.plot_contacts"),
    *("plots.plot_run", "Run.plot", "Excitation.plot", "Robot.equations", "Robot.plot"),
)
FEW, SOME = 3, 16  # values that a parameter of a slow and of any other callable gets in the tests


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """In an empty folder, silent; a number that loses its imaginary part is an error."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        os.chdir(folder)
        try:
            with np.errstate(all="ignore"):
                yield
        finally:
            os.chdir(before)


class Outcome(NamedTuple):
    """What a misused call came to."""

    site: str
    parameter: str
    value: str
    error: BaseException | None
    seconds: float

    @property
    def good(self) -> bool:
        """It returned, or raised an error of ours."""
        return self.error is None or isinstance(self.error, DynamisError)

    def __str__(self) -> str:
        said = " ".join(str(self.error).split())[:150]
        shown = f"{self.site}({self.parameter}={self.value}): {type(self.error).__name__}: {said}"
        return shown.encode(errors="backslashreplace").decode()


def chosen(site: Site, parameter: str, every: bool) -> list[str]:
    """Names of the values a parameter gets: all, or some that its own name decides."""
    names = list(VALUES)
    if f"{site.name}.{parameter}" in ENDLESS:
        names = [x for x in names if x not in ("1", "0.5", "inf", "1e300", "2**64+1", "Decimal")]
    if every and site.name not in SLOW:
        return names
    digest = hashlib.sha256(f"{site.name}.{parameter}".encode()).digest()
    start = int.from_bytes(digest[:4]) % len(names)
    turned = names[start:] + names[:start]
    count = SOME if every or site.name not in SLOW else FEW
    return turned[:: max(1, len(turned) // count)][:count]


def misused(site: Site, every: bool = False) -> Iterator[Outcome]:
    """Every misuse of one callable."""
    for parameter in site.parameters:
        for name in chosen(site, parameter, every):
            begun, error = time.perf_counter(), None
            try:
                with quiet():
                    site.used({parameter: VALUES[name]()})
            except Exception as found:
                error = found
            finally:
                close_figures()
            yield Outcome(site.name, parameter, name, error, time.perf_counter() - begun)


def misspelt(site: Site) -> Iterator[tuple[str, str, BaseException | None]]:
    """Every parameter of a callable under a wrong name: its name, the wrong one, what came."""
    for parameter in site.parameters:
        if parameter in site.places:
            continue
        wrong, error = parameter[0] + parameter, None
        given = {name: make for name, make in site.arguments.items() if name != parameter}
        try:
            with quiet():
                site._replace(arguments=given).used({wrong: VALUES["1"]()})
        except Exception as found:
            error = found
        yield parameter, wrong, error


def close_figures() -> None:
    """Figures that a call left open."""
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is not None:
        plots.close("all")


def main(every: bool, words: list[str]) -> int:
    """Run the table; print what is wrong, what is slow, and how often each error came."""
    table = Table()
    print(*table.missing, sep="\n")
    sites = [x for x in table.sites.values() if not words or any(w in x.name for w in words)]
    counts: Counter[str] = Counter()
    for site in sites:
        for outcome in misused(site, every):
            counts["returned" if outcome.error is None else type(outcome.error).__name__] += 1
            if not outcome.good:
                print(outcome, flush=True)
            elif outcome.seconds > PATIENCE:
                print(f"slow: {outcome.seconds:.1f} s {outcome}", flush=True)
    print(f"{len(sites)} callables, {counts.total()} calls: {dict(counts.most_common())}")
    return int(bool(table.missing))


if __name__ == "__main__":
    sys.exit(main("--all" in sys.argv, [x for x in sys.argv[1:] if x != "--all"]))
