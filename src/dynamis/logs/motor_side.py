"""Motor-side quantities and units, converted to the joint side in SI.

With R the gear matrix, motor positions R q, power R^T:

    q = R^-1 q_motor + offset,    tau = R^T tau_motor,    tau = gain i

The gears are taken as loss-free: what they eat is friction of the joint, identified with it.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_word
from ..compile.arrays import numbers
from ..errors import OptionError, ShapeError, did_you_mean, shown
from ..model.quantity import resolve

if TYPE_CHECKING:
    from ..robot import Robot

SINGULAR = 1e-9  # of a gear matrix: smallest next to largest singular value


def to_joint_motion(motor: np.ndarray, R: np.ndarray) -> np.ndarray:
    """R^-1 x for every sample, (N, n): positions, velocities or accelerations."""
    return np.linalg.solve(R, motor.T).T


def to_joint_torque(motor: np.ndarray, R: np.ndarray) -> np.ndarray:
    """R^T tau_motor for every sample, (N, n)."""
    return motor @ R


def from_current(current: np.ndarray, gains: Any, where: str) -> np.ndarray:
    """gain i for every sample, (N, n)."""
    if gains is None:
        raise OptionError(
            f"{where} gives currents, and a current is not a torque: drive_gains is missing",
            "drive_gains=[...] in N m/A at the joint (torque constant times gear ratio), from the "
            "maker, from a published model, or identified from the same motion without and with "
            "a known load",
        )
    return current * per_joint(gains, "drive_gains", current.shape[1])


def gear_matrix_of(given: Any, robot: "Robot | None", n: int, where: str) -> np.ndarray:
    """R (n, n) as given (n numbers are its diagonal), or as the robot has it; invertible."""
    if given is None:
        R = _of_robot(robot, n, where)
    else:
        R = _numbers(given, "gear_matrix")
        R = np.diag(R) if R.ndim == 1 else R
    if R.shape != (n, n):
        raise ShapeError(
            f"gear_matrix has shape {R.shape}, expected ({n}, {n}), or {n} ratios: one per motor"
        )
    sizes = np.linalg.svd(R, compute_uv=False)
    if not sizes[-1] > SINGULAR * sizes[0]:
        raise OptionError(
            "gear_matrix is singular: the motors do not determine the joints",
            "row i is what motor i turns per turn of each joint",
        )
    return R


def per_joint(given: Any, name: str, n: int) -> np.ndarray:
    """n finite numbers."""
    values = _numbers(given, name)
    if values.shape != (n,):
        raise ShapeError(f"{name} has shape {values.shape}, expected ({n},): one per joint")
    return values


def _numbers(given: Any, name: str) -> np.ndarray:
    array = numbers(given, name, "expected finite numbers")
    if not np.isfinite(array).all():
        raise ShapeError(f"{name} is {shown(given)}, expected finite numbers")
    return array


def _of_robot(robot: "Robot | None", n: int, where: str) -> np.ndarray:
    if robot is None:
        raise OptionError(
            f"{where} gives motor positions or torques, but gear_matrix is missing",
            "gear_matrix=[...] with one ratio per joint, or rows where motors turn several "
            "joints; or robot= with drives",
        )
    model = robot.model
    if len(model.links) != n:
        raise OptionError(
            f"robot {robot.name!r} has {len(model.links)} motors, {where} gives {n}",
            "give gear_matrix= for the motors of the log",
        )
    if model.gear_matrix is not None:
        return np.array([[resolve(x, model.values) for x in row] for row in model.gear_matrix])
    drives = [link.drive for link in model.links]
    missing = [str(x.joint_name) for x in model.links if x.drive is None]
    if missing:
        raise OptionError(
            f"robot {robot.name!r} has no drive at {', '.join(missing)}, so no gear ratio",
            "give gear_matrix=",
        )
    return np.diag([float(resolve(x.gear, model.values)) for x in drives if x is not None])


# units a log may come in, as factors to SI and radians

TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0}
ANGLE = {"rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180, "rev": 2 * math.pi}
LENGTH = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254}
POSITION = ANGLE | LENGTH
SPEED = {f"{unit}/s": x for unit, x in POSITION.items()} | {"rpm": 2 * math.pi / 60}
ACCELERATION = {f"{unit}/s^2": x for unit, x in POSITION.items()}
POUND, INCH = 4.4482216152605, 0.0254  # N, m; both exact
EFFORT = {
    **{"Nm": 1.0, "mNm": 1e-3, "cNm": 1e-2, "kNm": 1e3, "Ncm": 1e-2, "Nmm": 1e-3},
    **{"N": 1.0, "mN": 1e-3, "kN": 1e3, "lbf": POUND, "lbf in": POUND * INCH},
    **{"lbf ft": POUND * 12 * INCH, "ozf in": POUND / 16 * INCH, "kgf cm": 9.80665e-2},
}
UNITS: Mapping[str, Mapping[str, float]] = {
    "t": TIME,
    **{"q": POSITION, "qd": SPEED, "qdd": ACCELERATION, "tau": EFFORT},
    "current": {"A": 1.0, "mA": 1e-3},
    **{"motor_q": POSITION, "motor_qd": SPEED, "motor_qdd": ACCELERATION, "motor_tau": EFFORT},
}


def checked_units(units: Any) -> Mapping[str, Any]:
    """Units by quantity; the quantities must exist."""
    if units is None:
        return {}
    if not isinstance(units, Mapping):
        raise OptionError(f"units is {units!r}, expected such as {{'q': 'deg', 't': 'ms'}}")
    for name in units:
        if not is_word(name, UNITS):
            raise OptionError(f"units names {name!r}, which is no quantity of a log",
                              did_you_mean(name, UNITS))  # fmt: skip
    return units


def factor(quantity: str, unit: Any, columns: int) -> Any:
    """What to multiply by for SI: a number, or one per column where units are listed so."""
    if isinstance(unit, (list, tuple)):
        if len(unit) != columns:
            raise OptionError(
                f"units[{quantity!r}] lists {len(unit)} units, expected {columns}: one per joint"
            )
        return np.array([_one(quantity, x) for x in unit])
    return _one(quantity, unit)


def _one(quantity: str, unit: Any) -> float:
    if isinstance(unit, (int, float, np.integer, np.floating)) and not isinstance(unit, bool):
        if np.isfinite(unit) and unit != 0:
            return float(unit)
    elif isinstance(unit, str):
        table = {_plain(name): x for name, x in UNITS[quantity].items()}
        if _plain(unit) in table:
            return table[_plain(unit)]
    raise OptionError(
        f"units[{quantity!r}] is {unit!r}, expected one of: {', '.join(UNITS[quantity])}",
        "or a number: how much of the SI unit one of yours is",
    )


def _plain(unit: str) -> str:
    """A unit without the signs between its parts: N m, N.m, N*m are Nm; degrees are deg."""
    for sign in (" ", ".", "*", "\N{MIDDLE DOT}", "\N{DOT OPERATOR}"):
        unit = unit.replace(sign, "")
    for long, short in (
        *(("degrees", "deg"), ("\N{DEGREE SIGN}", "deg"), ("radians", "rad"), ("seconds", "s")),
        *(("\N{SUPERSCRIPT TWO}", "^2"), ("/s2", "/s^2"), ("\N{MICRO SIGN}", "u")),
    ):
        unit = unit.replace(long, short)
    return unit
