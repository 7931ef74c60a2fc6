"""Checks of a model by its numbers alone: gravity, values, geometry, limits, friction, drives.

Constructors refuse only what is meaningless; everything dubious is said here, one small rule per
kind of mistake. Adding a rule is adding a function to RULES.
"""

import math
from collections.abc import Callable, Iterator

from ...errors import DynamisError, did_you_mean
from ..chain import chain
from ..drive import CIRCUIT, Drive
from ..formats.tables import plain_message
from ..friction import allowed, bound
from ..link import Link
from ..model import Model
from .bodies import centres, inertias, masses, payload
from .finding import LONGEST, ROUNDING, Finding, Findings, Numbers, listed, merged, worded

EARTH = (9.75, 9.85)  # m/s^2, from the equator to the poles


def check_model(model: Model) -> list[Finding]:
    """Everything dubious about a model that can be judged without its dynamics, worst first."""
    numbers = Numbers(model)
    return merged(finding for rule in RULES for finding in rule(numbers))


def symbols(x: Numbers) -> Findings:
    """Symbols without a value (or with a misspelt one), expressions without a result."""
    model = x.model
    if x.missing:
        names = ", ".join(x.missing)
        example = ", ".join(f"{name}=..." for name in x.missing[:3])
        what = f"no value for {names}: numeric calls will refuse, closed forms will not"
        yield Finding("warning", "values", what, f"robot.with_values({example}), or [values]")
    else:
        try:
            chain(model)
        except DynamisError as error:
            remedy = error.hint or "correct the value, or the expression it goes into"
            yield Finding("error", "model", plain_message(error), remedy)
    for name in model.values if x.missing else ():
        if name not in model.symbols:
            what = f"a value is given for {name!r}, which nothing in the model uses"
            yield Finding("warning", "values", what, did_you_mean(name, x.missing))


def known(x: Numbers) -> Findings:
    """What whoever made the model said about it."""
    yield from x.model.findings


def gravity(x: Numbers) -> Findings:
    """Absent, upwards, or of a magnitude that betrays its unit."""
    g = x.all(x.model.gravity)
    if g is None:
        return
    size = math.hypot(*g)
    if size == 0.0:
        what = "is zero: no joint carries any weight"
        yield Finding("note", "gravity", what, "right in space or in a horizontal plane only")
        return
    if g[2] > 0.5 * size:
        what = f"points up: {listed(g)}"
        remedy = (
            "gravity is the acceleration of free fall, such as (0, 0, -9.81); peers such as the "
            "Robotics Toolbox give its negative. Right only for an arm hanging upside down"
        )
        yield Finding("warning", "gravity", what, remedy)
    elif max(g, key=abs) > 0.0:
        what = f"points up an axis: {listed(g)}"
        down = listed(-v or 0.0 for v in g)
        remedy = f"gravity is the acceleration of free fall: it points down, such as {down}"
        yield Finding("note", "gravity", what, remedy)
    if not EARTH[0] <= size <= EARTH[1]:
        wild = size > 10.0 * EARTH[1]
        what = f"has magnitude {size:g}, on Earth it is 9.8 m/s^2"
        remedy = "give it in m/s^2, not cm/s^2 or mm/s^2" if wild else "right on another body only"
        yield Finding("warning" if wild else "note", "gravity", what, remedy)


def configurations(x: Numbers) -> Findings:
    """Named positions that the joint limits exclude."""
    free = x.model.moving_links
    for name, q in x.model.configurations.items():
        for link, value in zip(free, q, strict=True):
            pair = x.all(link.limits)
            if pair and not _inside(value, pair):
                what = f"puts {link.joint_name!r} at {value:g}, outside its limits {listed(pair)}"
                turned = [v for v in (value - math.tau, value + math.tau) if _inside(v, pair)]
                remedy = "correct the position, or the limits"
                if turned and link.joint == "revolute":
                    remedy += f"; a full turn away, at {turned[0]:g}, it is inside"
                yield Finding("warning", f"configuration {name!r}", what, remedy)


def _inside(value: float, pair: tuple[float, ...]) -> bool:
    return min(pair) - ROUNDING <= value <= max(pair) + ROUNDING


WIDEST = 6.0 * math.pi  # rad; a joint limit beyond three turns is more likely given in degrees
LONGEST_LEAD = 1.0  # m per turn; a longer lead is more likely given in millimetres
FASTEST = 60.0  # rad/s; a faster joint is more likely given in degrees per second
# From where on 1000, 1e4 or 999999 stands for no limit at all; below it may be in another unit.
ENDLESS = {"speed": 100.0, "revolute": 1e3, "prismatic": 1e4}
LARGEST = 1e9  # no joint has a limit beyond


def geometry(x: Numbers) -> Findings:
    """Lengths in millimetres and angles in degrees."""
    for link in x.model.links:
        where = f"link {link.name!r}"
        straight = "offset" if link.joint == "prismatic" else "d"
        turned = ("alpha", "offset" if link.joint == "revolute" else "theta")
        lengths = {name: x.of(getattr(link, name)) for name in ("a", straight)}
        lengths |= dict(zip(("x", "y", "z"), x.vector(link.xyz), strict=True))
        angles = {name: x.of(getattr(link, name)) for name in turned}
        angles |= dict(zip(("roll", "pitch", "yaw"), x.vector(link.rpy), strict=True))
        yield from _units(where, lengths, angles)
    for name in ("tool", "base"):
        pose = getattr(x.model, name)
        lengths = dict(zip(("x", "y", "z"), x.vector(pose.xyz), strict=True))
        angles = dict(zip(("roll", "pitch", "yaw"), x.vector(pose.rpy), strict=True))
        yield from _units(name, lengths if name == "tool" else {}, angles)  # a base may be anywhere


def _units(where: str, lengths: dict, angles: dict) -> Findings:
    for name, value in lengths.items():
        if value is not None and abs(value) > LONGEST:
            what = f"has {name} = {value:g} m, which looks like millimetres"
            yield Finding("warning", where, what, "give lengths in metres")
    for name, value in angles.items():
        if value is not None and abs(value) > math.tau + ROUNDING:
            what = f"has {name} = {value:g} rad, which looks like degrees"
            remedy = f"give angles in radians, or as text: '{value:g} deg'"
            yield Finding("warning", where, what, remedy)


def limits(x: Numbers) -> Findings:
    """Ranges of position, speed and effort that leave nothing, or are in another unit."""
    endless: dict[str, list[float]] = {}
    for link in x.model.links:
        where = f"joint {link.joint_name!r}"
        yield from _range(where, "limits", x.all(link.limits))
        yield from _range(where, "drive.limits", x.all(link.drive.limits if link.drive else None))
        for name in ("velocity_limit", "effort_limit"):
            value = x.of(getattr(link, name))
            if value is not None and value <= 0.0:
                level = "error" if value < 0.0 else "warning"
                what = f"has {name} {value:g}: could never {_ABLE[name]}"
                yield Finding(level, where, what, "give a positive limit, or leave it out")
        for finding, value, kind in _limit_units(where, link, x):
            if stands_for_none(value, ENDLESS[kind]):
                endless.setdefault(repr(link.joint_name), []).append(value)
            else:
                yield finding
    if endless:
        values = worded(f"{v:g}" for v in sorted({v for own in endless.values() for v in own}))
        what = f"limits of {values}, which stand for no limit"
        remedy = "give the real limits in rad and rad/s (m for slides), or leave them out"
        yield Finding("note", f"joints {worded(endless)}", what, remedy)


def stands_for_none(value: float, least: float) -> bool:
    """Whether a number is a power of ten, or nines only, or beyond all joints: a placeholder."""
    digits = repr(value).partition("e")[0].replace(".", "").rstrip("0")
    return value >= least and (digits == "1" or set(digits) == {"9"} or value >= LARGEST)


_ABLE = {"velocity_limit": "move", "effort_limit": "push"}


def _range(where: str, name: str, pair: tuple[float, ...] | None) -> Findings:
    if pair is None:
        return
    low, high = pair
    if low > high:
        what = f"has {name} reversed: lower {low:g} is above upper {high:g}"
        yield Finding("error", where, what, "give (lower, upper)")
    elif low == high:
        what = f"has {name} {listed(pair)}: nothing is left between them"
        yield Finding("warning", where, what, "give (lower, upper), or leave them out")


def _limit_units(where: str, link: Link, x: Numbers) -> Iterator[tuple[Finding, float, str]]:
    """Limits in another unit: what to say, the number, and what it limits."""
    largest = max((abs(v) for v in x.all(link.limits) or ()), default=0.0)
    speed = x.of(link.velocity_limit) or 0.0
    if link.joint == "prismatic" and largest > LONGEST:
        what = f"has a limit of {largest:g} m, which looks like millimetres"
        yield Finding("warning", where, what, "give limits in metres"), largest, link.joint
    if link.joint == "revolute" and largest > WIDEST:
        what = f"has a limit of {largest:g} rad, which looks like degrees"
        remedy = f"give radians, or text: '{largest:g} deg'"
        yield Finding("warning", where, what, remedy), largest, link.joint
    if link.joint == "revolute" and speed > FASTEST:
        what = f"has velocity_limit {speed:g} rad/s, which looks like degrees per second"
        remedy = f"give radians per second: '{speed:g} deg'"
        yield Finding("warning", where, what, remedy), speed, "speed"


def friction(x: Numbers) -> Findings:
    """Friction that pushes instead of resisting, at the joint and in its motor."""
    for link in x.model.links:
        where = f"joint {link.joint_name!r}"
        for name, thing in (("friction", link.friction), ("drive", link.drive)):
            viscous = x.of(thing.viscous) if thing else None
            if viscous is not None and viscous < 0.0:
                what = f"has {name}.viscous {viscous:g}: below zero it adds energy"
                yield Finding("error", where, what, "give a coefficient of at least 0")
            pair = x.all(thing.coulomb) if thing else None
            if pair and (pair[0] < 0.0 or pair[1] > 0.0):
                what = f"has {name}.coulomb {listed(pair)}: one of them pushes the joint on"
                remedy = (
                    "the pair is the torque (moving positive, moving negative): at least 0, then "
                    "at most 0; a constant bias goes into friction.offset"
                )
                yield Finding("error" if pair[0] < pair[1] else "warning", where, what, remedy)


def constants(x: Numbers) -> Findings:
    """Constants of a friction law that its symbols take out of range."""
    for link in x.model.links:
        for name, given in link.friction.constants.items():
            value = x.of(given)
            if value is not None and not allowed(name, value):
                what = f"has friction.{name} {value:g}, out of range"
                yield Finding("error", f"joint {link.joint_name!r}", what, f"give {bound(name)}")


def drives(x: Numbers) -> Findings:
    """Gears that do not turn or make power, rotors that help, circuits that do nothing."""
    for i, link in enumerate(x.model.links):
        drive, where = link.drive, f"joint {link.joint_name!r}"
        if drive is None:
            continue
        matrix = x.model.gear_matrix
        gear = x.of(drive.gear if matrix is None else matrix[i][i])
        rotor, efficiency = x.of(drive.rotor_inertia), x.of(drive.efficiency)
        if gear == 0.0:
            what = "has gear 0: its motor does not move it, its rotor and motor friction are lost"
            yield Finding("error", where, what, "give motor turns per joint turn, such as 100")
        if rotor is not None and rotor < 0.0:
            what = f"has negative rotor inertia {rotor:g}"
            yield Finding("error", where, what, "give the rotor's inertia in kg m^2, at least 0")
        if efficiency is not None and not 0.0 < efficiency <= 1.0:
            what = f"has efficiency {efficiency:g}: a gear gives back at most what it gets"
            yield Finding("error", where, what, "give a fraction above 0, at most 1 (not percent)")
        lead = x.of(drive.lead)
        if lead is not None and abs(lead) > LONGEST_LEAD:
            what = f"has drive.lead {lead:g} m, which looks like millimetres"
            yield Finding("warning", where, what, "give metres per motor turn, such as 0.005")
        yield from _circuit(where, link, drive, gear, x)


def _circuit(where: str, link: Link, drive: Drive, gear: float | None, x: Numbers) -> Findings:
    given = {name: x.of(getattr(drive, name)) for name in CIRCUIT}
    for name, value in given.items():
        if value is not None and (value < 0.0 or (value == 0.0 and name != "inductance")):
            what = f"has drive.{name} {value:g}"
            yield Finding("error", where, what, "give a number above 0, or leave it out")
    if drive.torque_constant is None:
        idle = [f"drive.{name}" for name in _NEED_CONSTANT if given[name]]
        if idle:
            what = f"has {' and '.join(idle)} but no drive.torque_constant: they do nothing"
            yield Finding("warning", where, what, "give torque_constant in N m/A")
        return
    if given["inductance"] and drive.resistance is None:
        what = "has drive.inductance but no drive.resistance: its circuit is half known"
        yield Finding("warning", where, what, "give the winding's resistance in ohm")
    top, volts, K = x.of(link.velocity_limit), given["voltage_limit"], given["torque_constant"]
    if top and volts and K and gear and K * abs(gear) * top > volts:
        speed = volts / (K * abs(gear))
        what = f"has velocity_limit {top:g}, but its voltage is used up at {speed:.4g}"
        yield Finding("warning", where, what, "check voltage_limit, torque_constant and the gear")


_NEED_CONSTANT = ("resistance", "inductance", "current_limit")


RULES: tuple[Callable[[Numbers], Findings], ...] = (
    known,
    symbols,
    gravity,
    masses,
    inertias,
    centres,
    geometry,
    limits,
    friction,
    constants,
    drives,
    payload,
    configurations,
)
