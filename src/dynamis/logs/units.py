"""Units a log may come in, as factors to SI and radians."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arguments import real
from ..errors import OptionError, counted

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
    "temperature": {"C": 1.0, "degC": 1.0},
    **{"motor": POSITION, "motor_rate": SPEED},
    **{"motor_q": POSITION, "motor_qd": SPEED, "motor_qdd": ACCELERATION, "motor_tau": EFFORT},
}


def factor(quantity: str, unit: Any, columns: int) -> Any:
    """What to multiply by for SI: a number, or one per column where units are listed so."""
    if isinstance(unit, (list, tuple)):
        if len(unit) != columns:
            what = f"lists {counted(len(unit), 'unit')}, expected {columns}: one per joint"
            raise OptionError(f"units[{quantity!r}] {what}")
        return np.array([one_factor(quantity, x) for x in unit])
    return one_factor(quantity, unit)


def one_factor(quantity: str, unit: Any) -> float:
    """What to multiply one column by."""
    table = {plain_unit(name): x for name, x in UNITS[quantity].items()}
    if isinstance(unit, str):
        plain = plain_unit(unit)
        found = table.get(plain.removeprefix("-"), 0.0) * (-1.0 if plain[:1] == "-" else 1.0)
    else:
        found = real(unit)
    if np.isfinite(found) and found != 0.0:
        return float(found)
    raise OptionError(
        f"units[{quantity!r}] is {unit!r}, expected one of: {', '.join(UNITS[quantity])}",
        "or a number: how much of the SI unit one of yours is; -deg is the opposite sign",
    )


def plain_unit(unit: str) -> str:
    """A unit without the signs between its parts: N m, N.m, N*m are Nm; degrees are deg."""
    for sign in (" ", ".", "*", "\N{MIDDLE DOT}", "\N{DOT OPERATOR}"):
        unit = unit.replace(sign, "")
    for long, short in (
        *(("degrees", "deg"), ("\N{DEGREE SIGN}", "deg"), ("radians", "rad"), ("seconds", "s")),
        *(("\N{SUPERSCRIPT TWO}", "^2"), ("/s2", "/s^2"), ("\N{MICRO SIGN}", "u")),
    ):
        unit = unit.replace(long, short)
    return unit


KNOWN = {plain_unit(name) for table in UNITS.values() for name in table}
WITH_UNIT = re.compile(r"(.*?)\s*[\[(]\s*([^\[\]()]*?)\s*[\])]")  # a name and its unit: q1 [deg]


# quantities of the joints, whose signs may be given alone
SIGNED = ("q", "qd", "qdd", "tau", "motor", "motor_rate")


def split_signs(
    units: Mapping[str, Any], joints: int
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Signs that were given without a unit, -1 or a list of 1 and -1, and all other units."""
    signs, rest = dict[str, np.ndarray](), dict(units)
    for name in SIGNED:
        given = units.get(name)
        listed = [*given] if isinstance(given, (list, tuple)) else [given]
        plain = all(isinstance(x, (int, float)) and x in (1, -1) for x in listed)
        if plain and -1 in listed:
            column = factor(name, given, joints)
            signs[name] = np.broadcast_to(np.asarray(column, dtype=np.float64), (joints,))
            del rest[name]
    return signs, rest


def sign_option(quantities: Sequence[str], joint: int | None = None, joints: int = 1) -> str:
    """The option of `read_log` that turns signs around, of one joint or of all."""
    one = -1 if joint is None else [-1 if k == joint else 1 for k in range(joints)]
    return f"units={dict.fromkeys(quantities, one)}"
