"""Checks of a model by its numbers alone.

Constructors refuse only what is meaningless; everything dubious is said here, one small rule per
kind of mistake. Adding a rule is adding a function to RULES.
"""

import math
import re
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from ...errors import DynamisError, ModelError, SymbolError, did_you_mean, worded
from ...spatial.inertia import Inertia, eigenvalues, entries, linear, times, to_com
from ...spatial.vectors import Vector, dot, scale
from ..chain import chain
from ..drive import CIRCUIT, Drive
from ..force import Force
from ..friction import sides
from ..link import Link
from ..model import Model
from ..quantity import numeric
from .finding import LONGEST, ROUNDING, Finding, Numbers, listed, merged

EARTH = (9.75, 9.85)  # m/s^2, from the equator to the poles


def check_model(model: Model) -> list[Finding]:
    """Everything dubious about a model that can be judged without its dynamics, worst first.

    What whoever made the model said about it comes with it.
    """
    numbers = Numbers(model)
    return merged([*model.findings, *(finding for rule in RULES for finding in rule(numbers))])


def symbols(x: Numbers) -> Iterator[Finding]:
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
            yield Finding("error", "model", error.message, remedy)
    for name in model.values if x.missing else ():
        if name not in model.symbols:
            what = f"a value is given for {name!r}, which nothing in the model uses"
            yield Finding("warning", "values", what, did_you_mean(name, x.missing))


def gravity(x: Numbers) -> Iterator[Finding]:
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


def configurations(x: Numbers) -> Iterator[Finding]:
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
WIDEST_PLAY = 0.1  # rad; no gear has more backlash
FASTEST = 60.0  # rad/s; a faster joint is more likely given in degrees per second
# From where on a power of ten or nines only stand for no limit; below it may be in another unit.
ENDLESS = {"speed": 100.0, "revolute": 1e3, "prismatic": 1e4}
LARGEST = 1e9  # no joint has a limit beyond, so that this stands for none too


def geometry(x: Numbers) -> Iterator[Finding]:
    """Lengths in millimetres and angles in degrees."""
    for link in x.model.links:
        slides = link.joint == "prismatic"
        lengths = {name: x.of(getattr(link, name)) for name in ("a", "offset" if slides else "d")}
        turned = ("alpha", "theta" if slides else "offset")
        angles = {name: x.of(getattr(link, name)) for name in turned}
        yield from _units(x, f"link {link.name!r}", link.xyz, link.rpy, lengths, angles)
    yield from _units(x, "tool", x.model.tool.xyz, x.model.tool.rpy, {}, {})
    yield from _units(x, "base", None, x.model.base.rpy, {}, {})  # a base may be anywhere


def _units(
    x: Numbers, where: str, xyz: Any, rpy: Any, lengths: dict[str, Any], angles: dict[str, Any]
) -> Iterator[Finding]:
    lengths |= dict(zip(("x", "y", "z"), x.vector(xyz), strict=True))
    angles |= dict(zip(("roll", "pitch", "yaw"), x.vector(rpy), strict=True))
    for name, value in lengths.items():
        if value is not None and abs(value) > LONGEST:
            what = f"has {name} = {value:g} m, which looks like millimetres"
            yield Finding("warning", where, what, "give lengths in metres")
    for name, value in angles.items():
        if value is not None and abs(value) > math.tau + ROUNDING:
            what = f"has {name} = {value:g} rad, which looks like degrees"
            remedy = f"give angles in radians, or as text: '{value:g} deg'"
            yield Finding("warning", where, what, remedy)


def limits(x: Numbers) -> Iterator[Finding]:
    """Ranges of position, speed and effort that leave nothing, or are in another unit."""
    endless: dict[str, list[float]] = {}
    for link in x.model.links:
        where = f"joint {link.joint_name!r}"
        yield from _range(where, "limits", x.all(link.limits))
        if link.joint == "prismatic" and link.limits is None and not link.passive:
            what = "prismatic without limits: nothing stops it in simulation"
            remedy = "give limits in metres and simulate with stops"
            yield Finding("note", where, what, remedy)
        yield from _range(where, "drive.limits", x.all(link.drive.limits if link.drive else None))
        for name, able in (("velocity_limit", "move"), ("effort_limit", "push")):
            value = x.of(getattr(link, name))
            if value is not None and value <= 0.0:
                level = "error" if value < 0.0 else "warning"
                what = f"has {name} {value:g}: could never {able}"
                yield Finding(level, where, what, "give a positive limit, or leave it out")
        for finding, value, kind in _limit_units(where, link, x):
            digits = repr(value).partition("e")[0].replace(".", "").rstrip("0")
            placeholder = digits == "1" or set(digits) == {"9"} or value >= LARGEST
            if value >= ENDLESS[kind] and placeholder:
                endless.setdefault(repr(link.joint_name), []).append(value)
            else:
                yield finding
    if endless:
        values = worded(f"{v:g}" for v in sorted({v for own in endless.values() for v in own}))
        what = f"limits of {values}, which stand for no limit"
        remedy = "give the real limits in rad and rad/s (m for slides), or leave them out"
        yield Finding("note", f"joints {worded(endless)}", what, remedy)


def _range(where: str, name: str, pair: tuple[float, ...] | None) -> Iterator[Finding]:
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


def friction(x: Numbers) -> Iterator[Finding]:
    """Friction that pushes instead of resisting, at the joint and in its motor."""
    for link in x.model.links:
        where = f"joint {link.joint_name!r}"
        for name, thing in (("friction", link.friction), ("drive", link.drive)):
            for given in sides(thing.viscous) if thing else ():
                viscous = x.of(given)
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
        memory = link.friction.memory
        for weight in (x.all(memory.weights) or ()) if memory else ():
            if weight < 0.0:
                what = f"has a weight {weight:g} in friction.memory: below zero it adds energy"
                yield Finding("error", where, what, "give weights of at least 0")


def constants(x: Numbers) -> Iterator[Finding]:
    """Numbers of friction and springs that their symbols take out of range."""
    things: list[tuple[str, Any]] = [
        *((f"joint {link.joint_name!r}", link.friction) for link in x.model.links),
        *((f"{_word(force)} {force.name!r}", force) for force in x.model.forces),
    ]
    for where, thing in things:
        try:
            numeric(thing, x.model.values)
        except SymbolError:  # said already
            continue
        except ModelError as error:
            remedy = error.hint or "correct the value of the symbol"
            yield Finding("error", where, error.message, remedy)


def forces(x: Numbers) -> Iterator[Finding]:
    """Springs and the like that never act."""
    for force in x.model.forces:
        if all(x.of(getattr(force, name)) == 0.0 for name in force.coefficients):
            word = _word(force)
            remedy = f"give its {' or '.join(force.coefficients)}, or leave the {word} out"
            yield Finding("warning", f"{word} {force.name!r}", "does nothing", remedy)


def _word(force: Force) -> str:
    return type(force).__name__.lower()


def drives(x: Numbers) -> Iterator[Finding]:
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
        backlash = x.of(drive.backlash) or 0.0
        if link.joint == "revolute" and backlash > WIDEST_PLAY:
            what = f"has drive.backlash {backlash:g} rad to either side: is it in arc minutes?"
            remedy = f"give radians at the joint: '{backlash:g}/60 deg' is {backlash / 3437.75:.2g}"
            yield Finding("warning", where, what, remedy)
        yield from _circuit(where, link, drive, gear, x)


def passive(x: Numbers) -> Iterator[Finding]:
    """Joints without a drive that no closure moves."""
    if x.model.closures:
        return
    for link in x.model.links:
        if link.passive:
            what = "is passive, and the model has no closures that move it: no law may drive it"
            remedy = "add the [[closure]] that closes its loop, or take passive out"
            yield Finding("warning", f"joint {link.joint_name!r}", what, remedy)


def _circuit(
    where: str, link: Link, drive: Drive, gear: float | None, x: Numbers
) -> Iterator[Finding]:
    given = {name: x.of(getattr(drive, name)) for name in CIRCUIT}
    for name, value in given.items():
        if value is not None and (value < 0.0 or (value == 0.0 and name != "inductance")):
            what = f"has drive.{name} {value:g}"
            yield Finding("error", where, what, "give a number above 0, or leave it out")
    if drive.torque_constant is None:
        words = ("resistance", "inductance", "current_limit", "amplifier_gain")
        idle = [f"drive.{x}" for x in words if given[x]]
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


# bodies: masses, inertias, centres of mass, payload

HEAVIEST = 1e4  # kg; a heavier link is more likely given in grams
UNALIKE = 100.0  # how many times heavier than the others a link may be
GYRATION = 5.0  # radius of gyration, in reaches, beyond which an inertia is not in kg m^2
OUTSIDE = 3.0  # how far from its frame a centre of mass may be, in lengths of its link
BEYOND = 0.4  # how far past its own end a link's centre of mass may lie, in link lengths
BEHIND = 0.1  # how far behind its own joint, in lengths to the next one
SLIM = 0.05  # part by which the moments of a rod may differ from zero and from each other
ACROSS = 0.1  # cosine below which a rod lies across the way to its own centre
HELD = (0.2, 2.0)  # I / (m c^2) of a rod held at its end: 1/3, or 4/3 if about the joint


def masses(x: Numbers) -> Iterator[Finding]:
    """Negative, absent, in grams, or out of all proportion."""
    found = {
        str(link.name): body.m
        for i, link in enumerate(x.model.links)
        if (body := x.body(link)) and (any(linear(body)) or not x.is_helper(i))
    }
    if len(found) > 1 and not any(found.values()):
        what = "have no mass, none of them: this is geometry without dynamics"
        yield Finding("warning", f"links {worded(map(repr, found))}", what, "give their masses")
        return
    for name, m in found.items():
        where, others = f"link {name!r}", [v for k, v in found.items() if k != name and v > 0]
        if m < 0:
            what = f"has negative mass {m:g}: its motion would give back energy"
            remedy = "give a mass above 0, or identify with estimator='feasible'"
            yield Finding("error", where, what, remedy)
        elif m == 0:
            what = "has no mass: only what it carries, and its inertia if any, resists its motion"
            remedy = "give its mass, unless it is lumped into its neighbours"
            yield Finding("warning", where, what, remedy)
        elif m > HEAVIEST:
            what = f"has mass {m:g} kg, which looks like grams"
            yield Finding("warning", where, what, "give masses in kilograms")
        elif len(others) > 1 and m > UNALIKE * statistics.median(others):
            what = f"has mass {m:g} kg, more than {UNALIKE:g} times that of the other links"
            yield Finding("warning", where, what, "compare its unit with that of the others")


def inertias(x: Numbers) -> Iterator[Finding]:
    """The bodies of the links and the payload, one by one."""
    for i, link in enumerate(x.model.links):
        body, where = x.body(link), f"link {link.name!r}"
        if body is not None and body.m >= 0.0:
            yield from _inertia(where, body, link.linear is not None, x.reach)
            if body.m > 0.0 and x.turns(i):
                yield from [*_rod(where, body)] or _thin(where, body)
    load = None if x.model.payload is None else x.body(x.model.payload)
    if load is not None and load.m > 0.0:
        yield from _inertia("payload", load, False, x.reach)


def _inertia(where: str, body: Inertia, as_linear: bool, reach: float) -> Iterator[Finding]:
    """Whether any rigid body has this inertia: the pseudo-inertia decides."""
    if body.m == 0.0 and any(body.h):
        what = (
            f"has no mass but first moment {listed(body.h)}: its pseudo-inertia is not positive "
            "semidefinite"
        )
        remedy = "fine as a base solution of an identification, never as a body: add its mass"
        yield Finding("error", where, what, remedy)
        return
    least, middle, largest = _principal_moments(body)
    shown = f"principal moments {listed((least, middle, largest))}"
    if least < 0.0:
        what = f"has an inertia about its centre of mass that is not positive definite: {shown}"
        remedy = "check the signs and the order Ixx Iyy Izz Ixy Iyz Ixz about the centre of mass"
        if as_linear:
            what = (
                "has a pseudo-inertia that is not positive semidefinite: m c^2 takes more from "
                f"the inertia about the origin than there is ({shown} about the centre of mass)"
            )
            remedy = "the second moments are about the frame's origin; identify with feasibility"
        yield Finding("error", where, what, remedy)
    elif least + middle < (1.0 - ROUNDING) * largest:
        what = (
            f"violates the triangle inequality, {shown}: no rigid body has a moment above the sum "
            "of the other two"
        )
        if as_linear:
            what = f"has a pseudo-inertia that is not positive semidefinite: it {what}"
        remedy = "correct the inertia; the mass matrix stays positive, so torques can be computed"
        yield Finding("warning", where, what, remedy)
    if body.m > 0.0 and reach > 0.0 and largest > body.m * (GYRATION * reach) ** 2:
        k = math.sqrt(largest / body.m)
        what = f"has radius of gyration {k:.3g} m in an arm that reaches {reach:.3g} m"
        yield Finding("warning", where, what, "give inertias in kg m^2, not kg mm^2 or kg cm^2")


def _thin(where: str, body: Inertia) -> Iterator[Finding]:
    """Bars, and points; what violates the triangle inequality is neither."""
    moments = _principal_moments(body)
    if moments[0] == 0.0 and moments[2] <= (1.0 + ROUNDING) * moments[1]:
        what = "a thin rod: fine for dynamics, no moment of inertia about its own axis"
        remedy = "add that moment if a joint turns the rod about itself, as in a wrist"
        if moments[2] == 0.0:
            what = "a point mass: fine for dynamics, no inertia of its own"
            remedy = "add its inertia if the size of the body matters"
        yield Finding("note", where, what, remedy)


def _rod(where: str, body: Inertia) -> Iterator[Finding]:
    """A rod held at its end whose inertia lies across it, or is about the joint.

    With c from the joint to its middle its two large moments are m c^2 / 3, about the joint 4/3.
    """
    m, c, S = to_com(body)
    least, middle, largest = _principal_moments(body)
    away = math.hypot(*c)
    if not (least <= SLIM * largest and middle >= (1.0 - SLIM) * largest > 0.0 < away):
        return
    share = middle / (m * away * away)
    across = dot(c, times(S, c)) / (away * away)  # largest where c is across the rod
    along = math.sqrt(max(0.0, (largest - across) / (largest - least)))
    if HELD[0] < share < HELD[1] and along < ACROSS:
        what = f"a thin rod that lies across its own com {listed(c)}"
        remedy = "the small moment of a rod is about its length: check the order Ixx Iyy Izz"
        yield Finding("note", where, what, remedy)
    elif abs(0.75 * share - 1.0) < 0.01 and along > 1.0 - ACROSS:
        what = f"a thin rod with moment {largest:.4g} = m L^2 / 3: about the joint?"
        remedy = f"inertia is about the centre of mass: m L^2 / 12 = {largest / 4.0:.4g}"
        yield Finding("note", where, what, remedy)


def centres(x: Numbers) -> Iterator[Finding]:
    """Centres of mass that are not where the link is."""
    for i, link in enumerate(x.model.links):
        where, body = f"link {link.name!r}", x.body(link)
        if link.slides:
            what = (
                "has com_factor on a prismatic joint: its centre of mass moves with q, so it has "
                "no constant parameters, no regressor and no energy law"
            )
            remedy = "give the link a constant com, or use robot.with_constant_com(q)"
            yield Finding("warning", where, what, remedy)
        if body is None or body.m <= 0.0:
            continue
        c = scale(1.0 / body.m, body.h)
        away = math.hypot(*c)
        if away > LONGEST:
            what = f"has its centre of mass {away:g} m away, which looks like millimetres"
            yield Finding("warning", where, what, "give com in metres")
        elif x.reach > 0.0 and away > max(OUTSIDE * x.extent(i), 0.5 * x.reach):
            what = (
                f"has its centre of mass {listed(c)} far outside itself: the link stretches "
                f"{x.extent(i):.3g} m, the arm reaches {x.reach:.3g} m"
            )
            yield Finding("warning", where, what, "com is given in the link's own frame, in metres")
        else:
            yield from _other_convention(x, i, c)


def _other_convention(x: Numbers, i: int, c: Vector) -> Iterator[Finding]:
    """A centre of mass on the link's own line where the other DH convention would have it."""
    link, convention = x.model.links[i], x.model.convention
    where, a = f"link {link.name!r}", x.of(link.a) or 0.0
    if convention == "standard" and _along(c, a) > BEYOND * a * a:
        what = f"has its centre of mass beyond its own end: com {listed(c)}, a = {a:g}"
        remedy = (
            "in standard DH the frame sits at the far end of the link, so com is near "
            f"({-0.5 * a:g}, 0, 0); the positive one belongs to modified DH"
        )
        yield Finding("note", where, what, remedy)
    a = _next(x, i)
    if convention == "modified" and _along(c, a) < -BEHIND * a * a:
        what = f"has its centre of mass behind its own joint: com {listed(c)}, next a = {a:g}"
        remedy = (
            "in modified DH the frame sits at the link's own joint, so com is near "
            f"({0.5 * a:g}, 0, 0); the negative one belongs to standard DH"
        )
        yield Finding("note", where, what, remedy)


def _along(c: Vector, a: float) -> float:
    """c a of a centre of mass on the x axis; 0 of any other."""
    return c[0] * a if max(abs(c[1]), abs(c[2])) < ROUNDING * abs(a) else 0.0


def _next(x: Numbers, i: int) -> float:
    """The `a` from a link's joint to the one it carries (modified DH), or to the tool."""
    if i == x.model.tip:
        return x.vector(x.model.tool.xyz)[0]
    carried = (x.of(b.a) for b, j in zip(x.model.links, x.model.parents, strict=True) if j == i)
    return next(carried, 0.0) or 0.0


def payload(x: Numbers) -> Iterator[Finding]:
    """A payload that is no load, too heavy, or nowhere near the tool."""
    load = None if x.model.payload is None else x.body(x.model.payload)
    if load is None:
        return
    arm = sum(max(body.m, 0.0) for link in x.model.links if (body := x.body(link)))
    if load.m < 0.0:
        yield Finding("error", "payload", f"has negative mass {load.m:g}", "give a mass above 0")
    elif load.m == 0.0:
        what = "has inertia but no mass" if any(load.I) else "has no mass"
        yield Finding("warning", "payload", what, "give its mass, or leave the payload out")
    elif arm > 0.0 and load.m > arm:
        what = f"weighs {load.m:g} kg, more than the whole arm ({arm:g} kg)"
        yield Finding("warning", "payload", what, "give the payload's mass in kilograms")
    if load.m > 0.0 and 0.0 < x.reach < (away := math.hypot(*load.h) / load.m):
        what = f"is {away:g} m away from the tool, the arm reaches {x.reach:.3g} m"
        yield Finding("warning", "payload", what, "com is given in the tool frame, in metres")


FEWEST = 3  # links that have something in common by design rather than by chance
ALIKE = 1.05  # largest by smallest mass of links that may be of one make


def placeholders(x: Numbers) -> Iterator[Finding]:
    """One inertia for all links, all centres of mass on the joints, one effort for all joints."""
    links = [(i, link, x.body(link)) for i, link in enumerate(x.model.links)]
    bodies = [(link, to_com(b)) for i, link, b in links if b and b.m > 0.0 and x.turns(i)]
    yield from _same_inertia(bodies)
    named = worded(repr(link.name) for link, _ in bodies) if bodies else ""
    at_joints = x.model.convention != "standard" and len(bodies) >= FEWEST
    if at_joints and all(math.hypot(*c) < ROUNDING * x.reach for _, (_, c, _) in bodies):
        what = "have their centres of mass exactly on their joints, all of them"
        remedy = "placeholders: give com from a drawing, or identify the arm"
        yield Finding("warning", f"links {named}", what, remedy)
    efforts = [x.of(link.effort_limit) for link in x.model.moving_links]
    deep = not x.model.closures and max(x.model.depths) > FEWEST
    if deep and efforts[0] and len(set(efforts)) == 1:
        what = f"have the same effort limit, {efforts[0]:g}, though they carry different loads"
        remedy = "right for servos of one size; else a placeholder: give those of the data sheet"
        joints = worded(map(repr, x.model.joint_names))
        yield Finding("note", f"joints {joints}", what, remedy)


def _same_inertia(bodies: list[tuple[Link, tuple[float, Vector, Any]]]) -> Iterator[Finding]:
    """Links of different masses, or round ones, that share one tensor: most of the arm's links."""
    alike: dict[tuple[float, ...], list[tuple[str, float]]] = {}
    for link, (m, _, S) in bodies:
        if any(S):
            key = tuple(float(f"{v:.6g}") for v in entries(S))
            alike.setdefault(key, []).append((repr(link.name), m))
    if not alike:
        return
    tensor, found = max(alike.items(), key=lambda row: len(row[1]))
    masses = [m for _, m in found]
    differ = max(masses) > ALIKE * min(masses)
    is_round = tensor[0] == tensor[1] == tensor[2] and not any(tensor[3:])
    if len(found) < max(FEWEST, 0.5 * len(bodies)) or not (differ or is_round):
        return
    what = f"have the same inertia {listed(tensor[:3] if is_round else tensor)}"
    what += f" and masses from {min(masses):g} to {max(masses):g} kg" if differ else ""
    remedy = "a placeholder: give each link its own inertia (kg m^2), or identify the arm"
    yield Finding("warning", f"links {worded(name for name, _ in found)}", what, remedy)


def _principal_moments(body: Inertia) -> tuple[float, ...]:
    """About the centre of mass, smallest first; those lost in rounding are zero."""
    moments = eigenvalues(body.I if body.m == 0.0 else to_com(body)[2])
    least = ROUNDING * max(abs(v) for v in body.I)
    return tuple(v if abs(v) > least else 0.0 for v in moments)


TOOL_NAMES = re.compile(r"tcp|tool|(^|[_-])eef?($|[_-])|end[_-]?effector", re.IGNORECASE)


def tool(x: Numbers) -> Iterator[Finding]:
    """A tool that another link could be as well: several arms, or a finger of a gripper."""
    model = x.model
    if model.convention != "urdf" or model.closures:
        return
    depths, tip = model.depths, model.tip
    deepest = [i for i, depth in enumerate(depths) if depth == max(depths)]
    alike = [model.link_names[i] for i in deepest if i != tip] if tip in deepest else []
    frames = [f.name for f in model.frames if f.link and TOOL_NAMES.search(f.name)]
    meant = [name for name in frames if name != model.tool_name]
    finger = _on_finger(model, tip) and bool(meant) and not TOOL_NAMES.search(model.tool_name)
    if not finger and not alike:
        return
    what = f"is {model.tool_name!r}"
    if finger:
        what += ", on a joint that mimics or is mimicked, as fingers are"
    if alike:
        what += f"; as many joints lead to {worded(map(repr, alike))}"
    chosen = (meant or alike)[0]
    remedy = f"right if that link is meant; otherwise load the robot with tip={chosen!r}"
    yield Finding("note", "tool", what, remedy)


def _on_finger(model: Model, index: int) -> bool:
    """Whether a joint on the way to a link mimics another or is mimicked."""
    leaders = {link.mimic[0] for link in model.links if link.mimic is not None}
    while index >= 0:
        link = model.links[index]
        if link.mimic is not None or link.joint_name in leaders:
            return True
        index = model.parents[index]
    return False


RULES: tuple[Callable[[Numbers], Iterator[Finding]], ...] = (
    *(symbols, gravity, masses, inertias, centres, placeholders, geometry),
    *(limits, friction, constants, forces, drives, passive, payload, tool, configurations),
)
