"""Preflight of a model: what its numbers alone give away, as findings with a remedy.

Constructors refuse only what is meaningless; everything dubious is said here, one small rule per
kind of mistake. Adding a rule is adding a function to RULES.
"""

import math
from collections.abc import Callable

from ...errors import DynamisError, did_you_mean
from ..chain import chain
from ..formats.tables import plain_message
from ..model import Model
from .bodies import centres, inertias, masses, payload
from .finding import ROUNDING, Finding, Findings, Numbers, listed, merged
from .joints import constants, drives, friction, geometry, limits

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
