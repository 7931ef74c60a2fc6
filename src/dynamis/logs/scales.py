"""Units guessed from the numbers of a log, where nothing says them: degrees, millimetres, mN m.

A guess is applied and is a finding, with the option that states it or takes it back.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..model.check.finding import Finding
from .checks import FAR, rate_ratios
from .log import Log
from .units import POSITION, SPEED, UNITS

if TYPE_CHECKING:
    from ..robot import Robot

MOST_DEGREES = 2 * 360.0  # a joint that goes further is on the side of a motor
BEYOND = 3.0  # times its limits: positions so far out are in another unit
LONG = 20.0  # m: longer than the axes of arms
STRONG = 5e4  # N m: more than the joints of arms have
NEAR = 0.1  # how near the ratio of qd to the rate of q is to that of two units
SURE = 0.9  # least correlation of qd and the rate of q
MOTORS = {"q": "motor", "qd": "motor_rate"}
RATES = ("deg/s", "rpm", "mm/s")  # that qd may be in beside rad/s and m/s


def guess_units(
    log: Log, stated: Sequence[str], robot: "Robot | None", joints: Sequence[str] | None, where: str
) -> tuple[Log, list[Finding]]:
    """The log in SI units as its numbers suggest, and what was guessed.

    `stated` are the quantities whose units are known; `joints` those of the robot in the log.
    """
    found: list[Finding] = []
    slides, limits = _described(log.n, robot, joints)
    for name, guess in (("q", _positions), ("qd", _rates), ("tau", _torques)):
        array = getattr(log, name)
        if array is None or name in stated:
            continue
        units = guess(log, slides, limits)
        if any(units):
            factors = [UNITS[name][unit] if unit else 1.0 for unit in units]
            found.append(_finding(name, units, np.abs(array).max(), slides, where))
            log = replace(log, **{name: array * factors})
            other = MOTORS.get(name)
            if other not in (None, *stated) and getattr(log, other) is not None:  # measured alike
                log = replace(log, **{other: getattr(log, other) * factors})
    return log, found


def _described(
    n: int, robot: "Robot | None", joints: Sequence[str] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Which joints slide, (n,), and limits of the joints, (n, 2), as the robot has them."""
    slides, limits = np.zeros(n, dtype=bool), np.tile([-np.inf, np.inf], (n, 1))
    names = [] if robot is None else [*(joints or robot.drive_names)]
    if robot is not None and len(names) == n and {*names} <= {*robot.joint_names}:
        places = [robot.joint_names.index(name) for name in names]
        slides = np.array([robot.joint_kinds[k] == "prismatic" for k in places])
        limits = np.asarray(robot.limits)[places]
    return slides, limits


def _positions(log: Log, slides: np.ndarray, limits: np.ndarray) -> list[str]:
    """Degrees and millimetres, by how far the joints go."""
    largest = np.abs(log.q).max(axis=0)
    units = [""] * log.n
    if (~slides).any() and _degrees(log, ~slides, largest, limits):
        units = ["" if slide else "deg" for slide in slides]
    for k in np.flatnonzero(slides):
        known = np.isfinite(limits[k]).all()
        limit = np.abs(limits[k]).max() if known else LONG / BEYOND
        if largest[k] > BEYOND * max(limit, 1.0) and (
            largest[k] * POSITION["mm"] <= BEYOND * limit
        ):
            units[k] = "mm"
    return units


def _degrees(log: Log, turns: np.ndarray, largest: np.ndarray, limits: np.ndarray) -> bool:
    """Whether angles are in degrees: by qd, the limits of the robot, or how far most joints go."""
    if largest[turns].max() > MOST_DEGREES:
        return False
    rates = _ratios(log)[turns] if log.qd is not None else np.full(turns.sum(), np.nan)
    moving = rates[np.isfinite(rates)]
    if len(moving) and _all_near(moving, POSITION["deg"]):  # qd is in rad/s
        return True
    limit = np.abs(limits[turns]).max(axis=1)
    known = np.isfinite(limit)
    if known.all():
        outside = bool((largest[turns] > BEYOND * limit).any())
        return outside and bool((np.radians(largest[turns]) <= 1.05 * limit).all())
    return bool(np.median(largest[turns]) > FAR)


def _rates(log: Log, slides: np.ndarray, limits: np.ndarray) -> list[str]:
    """The unit of qd by its ratio to the rate of q."""
    ratios = _ratios(log)
    units = [""] * log.n
    for some in (slides, ~slides):
        moving = ratios[some & np.isfinite(ratios)]
        for unit in RATES:
            fits = len(moving) and (unit == "mm/s") == bool(slides[some].any())
            if fits and _all_near(moving, 1.0 / SPEED[unit]):
                units = [unit if here else x for x, here in zip(units, some, strict=True)]
    return units


def _ratios(log: Log) -> np.ndarray:
    """Size of qd next to the rate of q, (n,); NaN where they are not alike."""
    pairs = [] if log.qd is None else [*rate_ratios(log, log.qd)]
    found = [ratio if alike > SURE else np.nan for ratio, alike in pairs]
    return np.array(found or [np.nan] * log.n)


def _all_near(ratios: np.ndarray, ratio: float) -> bool:
    return bool((np.abs(ratios / ratio - 1.0) < NEAR).all())


def _torques(log: Log, slides: np.ndarray, limits: np.ndarray) -> list[str]:
    """mN m, where torques are larger than those of arms."""
    large = np.abs(log.tau[:, ~slides]).max(initial=0.0) > STRONG
    return ["mNm" if large and not slide else "" for slide in slides]


def _finding(
    name: str, units: Sequence[str], largest: float, slides: np.ndarray, where: str
) -> Finding:
    """What was guessed, and how to say so or otherwise."""
    plain = {"q": ("rad", "m"), "qd": ("rad/s", "m/s"), "tau": ("Nm", "N")}[name]
    usual = [plain[int(slide)] for slide in slides]
    full = [unit or x for unit, x in zip(units, usual, strict=True)]
    said = ", ".join(dict.fromkeys(unit for unit in units if unit))
    what = f"{name} reaches {largest:.4g}: read as {said}"
    return Finding(
        "warning", where, what, f"{_option(name, full)} says so, or {_option(name, usual)}"
    )


def _option(name: str, units: Sequence[str]) -> str:
    """units={'q': 'deg'}, or a list of several."""
    given = {name: units[0] if len({*units}) == 1 else [*units]}
    return f"units={given}"
