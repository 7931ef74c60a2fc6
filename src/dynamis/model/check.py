"""Preflight of a model: what its numbers alone give away, as findings with a remedy.

Constructors refuse only what is meaningless; everything dubious is said here, one small rule per
kind of mistake. Adding a rule is adding a function to RULES.
"""

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import DynamisError, did_you_mean
from ..spatial.functions import MATH
from ..spatial.inertia import Inertia, Symmetric, to_com
from ..spatial.vectors import Vector, scale
from .chain import chain
from .link import Link
from .model import Model
from .quantity import resolve
from .source import plain_message

LEVELS = ("error", "warning", "note")

LONGEST = 20.0  # m; a longer link is more likely given in millimetres
HEAVIEST = 1e4  # kg; a heavier link is more likely given in grams
WIDEST = 6.0 * math.pi  # rad; a joint limit beyond three turns is more likely given in degrees
FASTEST = 60.0  # rad/s; a faster joint is more likely given in degrees per second
UNALIKE = 100.0  # how many times heavier than the others a link may be
GYRATION = 5.0  # radius of gyration, in reaches, beyond which an inertia is not in kg m^2
OUTSIDE = 3.0  # how far from its frame a centre of mass may be, in lengths of its link
BEYOND = 0.4  # how far past its own end a link's centre of mass may lie, in link lengths
EARTH = (9.75, 9.85)  # m/s^2, from the equator to the poles
ROUNDING = 1e-6  # relative; inertias violated by less are rounded ones


@dataclass(frozen=True)
class Finding:
    """One thing worth a look: how bad, where, what it is, what to do. Errors sort first."""

    level: str
    where: str
    what: str
    remedy: str

    def __lt__(self, other: "Finding") -> bool:
        return LEVELS.index(self.level) < LEVELS.index(other.level)

    def __str__(self) -> str:
        return f"{self.level}: {self.where}: {self.what}\nhint: {self.remedy}"


class Numbers:
    """A model with its symbols replaced by their values; None where there is no value."""

    def __init__(self, model: Model):
        self.model = model
        self.missing = tuple(x for x in model.symbols if x not in model.values)
        self.reach = sum(self.length(link) for link in model.links)
        self.reach += math.hypot(*self.vector(model.tool.xyz))

    def of(self, value: Any) -> float | None:
        """The number behind a quantity."""
        if value is None:
            return None
        try:
            return float(resolve(value, self.model.values))
        except DynamisError:
            return None

    def all(self, values: Any) -> tuple[float, ...] | None:
        """The numbers behind several quantities, if every one has a value."""
        found = [self.of(x) for x in values or ()]
        return None if not found or None in found else tuple(found)  # type: ignore[return-value]

    def vector(self, values: Any) -> Vector:
        """Three numbers, zero where there is no value."""
        x, y, z = (self.of(v) or 0.0 for v in values or (0.0, 0.0, 0.0))
        return x, y, z

    def length(self, link: Link) -> float:
        """How far a link can put the next joint from its own; a slide without limits: anywhere."""
        a, d, offset = (self.of(x) or 0.0 for x in (link.a, link.d, link.offset))
        fixed = math.hypot(*self.vector(link.xyz), a, d)
        if link.joint == "revolute":
            return fixed
        return fixed + max(abs(offset + x) for x in self.all(link.limits) or (math.inf,))

    def extent(self, index: int) -> float:
        """How far a link stretches, to either side of its frame."""
        parents, links = self.model.parents, self.model.links
        near = [self.length(x) for i, x in enumerate(links) if i == index or parents[i] == index]
        tool = self.vector(self.model.tool.xyz) if index == self.model.tip else (0.0,)
        return max(*near, math.hypot(*tool))

    def turns(self, index: int) -> bool:
        """Whether a link ever rotates, so that its inertia matters."""
        while index >= 0:
            if self.model.links[index].joint == "revolute":
                return True
            index = self.model.parents[index]
        return False

    def body(self, thing: Any) -> Inertia | None:
        """Inertia of a link or payload about its frame's origin."""
        try:
            return thing.body(self.model.values, MATH)
        except DynamisError:
            return None


Findings = Iterator[Finding]


def check_model(model: Model) -> list[Finding]:
    """Everything dubious about a model that can be judged without its dynamics, worst first."""
    numbers = Numbers(model)
    return sorted(finding for rule in RULES for finding in rule(numbers))


# the model as a whole


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
        what = f"points up: {_text(g)}"
        remedy = (
            "gravity is the acceleration of free fall, such as (0, 0, -9.81); peers such as the "
            "Robotics Toolbox give its negative. Right only for an arm hanging upside down"
        )
        yield Finding("warning", "gravity", what, remedy)
    if not EARTH[0] <= size <= EARTH[1]:
        wild = size > 10.0 * EARTH[1]
        what = f"has magnitude {size:g}, on Earth it is 9.8 m/s^2"
        remedy = "give it in m/s^2, not cm/s^2 or mm/s^2" if wild else "right on another body only"
        yield Finding("warning" if wild else "note", "gravity", what, remedy)


def configurations(x: Numbers) -> Findings:
    """Named positions that the joint limits exclude."""
    free = [link for link in x.model.links if link.mimic is None]
    for name, q in x.model.configurations.items():
        for link, value in zip(free, q, strict=True):
            pair = x.all(link.limits)
            if pair and not _inside(value, pair):
                what = f"puts {link.joint_name!r} at {value:g}, outside its limits {_text(pair)}"
                turned = [v for v in (value - math.tau, value + math.tau) if _inside(v, pair)]
                remedy = "correct the position, or the limits"
                if turned and link.joint == "revolute":
                    remedy += f"; a full turn away, at {turned[0]:g}, it is inside"
                yield Finding("warning", f"configuration {name!r}", what, remedy)


def _inside(value: float, pair: tuple[float, ...]) -> bool:
    return min(pair) - ROUNDING <= value <= max(pair) + ROUNDING


# bodies


def masses(x: Numbers) -> Findings:
    """Negative, absent, in grams, or out of all proportion."""
    found = {str(link.name): body.m for link in x.model.links if (body := x.body(link))}
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


def inertias(x: Numbers) -> Findings:
    """The bodies of the links and the payload, one by one."""
    for i, link in enumerate(x.model.links):
        body, where = x.body(link), f"link {link.name!r}"
        if body is not None and body.m >= 0.0:
            yield from _inertia(where, body, link.linear is not None, x.reach)
            if body.m > 0.0 and x.turns(i):
                yield from _thin(where, body)
    load = None if x.model.payload is None else x.body(x.model.payload)
    if load is not None and load.m > 0.0:
        yield from _inertia("payload", load, False, x.reach)


def _inertia(where: str, body: Inertia, as_linear: bool, reach: float) -> Findings:
    """Whether any rigid body has this inertia: the pseudo-inertia decides."""
    if body.m == 0.0 and any(body.h):
        what = (
            f"has no mass but first moment {_text(body.h)}: its pseudo-inertia is not positive "
            "semidefinite"
        )
        remedy = "fine as a base solution of an identification, never as a body: add its mass"
        yield Finding("error", where, what, remedy)
        return
    least, middle, largest = _principal_moments(body)
    shown = f"principal moments {_text((least, middle, largest))}"
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


def _thin(where: str, body: Inertia) -> Findings:
    """Bars, and points; what violates the triangle inequality is neither."""
    moments = _principal_moments(body)
    if moments[0] == 0.0 and moments[2] <= (1.0 + ROUNDING) * moments[1]:
        thin = "a point mass" if moments[2] == 0.0 else "a bar without thickness"
        what = f"is {thin}: its inertia is not positive definite, principal moments "
        remedy = "give all of its inertia, unless the document you follow has none"
        yield Finding("note", where, what + _text(moments), remedy)


def centres(x: Numbers) -> Findings:
    """Centres of mass that are not where the link is."""
    for i, link in enumerate(x.model.links):
        where, body = f"link {link.name!r}", x.body(link)
        if link.slides:
            what = (
                "has com_factor on a prismatic joint: its centre of mass moves with q, so it has "
                "no constant parameters, no regressor and no energy law"
            )
            yield Finding("warning", where, what, "give the link a constant com")
        if body is None or body.m <= 0.0:
            continue
        c = scale(1.0 / body.m, body.h)
        away, a = math.hypot(*c), x.of(link.a) or 0.0
        if away > LONGEST:
            what = f"has its centre of mass {away:g} m away, which looks like millimetres"
            yield Finding("warning", where, what, "give com in metres")
        elif x.reach > 0.0 and away > max(OUTSIDE * x.extent(i), 0.5 * x.reach):
            what = (
                f"has its centre of mass {_text(c)} far outside itself: the link stretches "
                f"{x.extent(i):.3g} m, the arm reaches {x.reach:.3g} m"
            )
            yield Finding("warning", where, what, "com is given in the link's own frame, in metres")
        elif x.model.convention == "standard" and _beyond(c, a):
            what = f"has its centre of mass beyond its own end: com {_text(c)}, a = {a:g}"
            remedy = (
                "in standard DH the frame sits at the far end of the link, so com is near "
                f"({-0.5 * a:g}, 0, 0); the positive one belongs to modified DH"
            )
            yield Finding("note", where, what, remedy)


def _beyond(c: Vector, a: float) -> bool:
    """Whether a centre of mass lies on the link's own line, past its far end."""
    straight = max(abs(c[1]), abs(c[2])) < ROUNDING * abs(a)
    return straight and c[0] * a > BEYOND * a * a


def payload(x: Numbers) -> Findings:
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


# joints


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
    for link in x.model.links:
        where = f"joint {link.joint_name!r}"
        yield from _range(where, "limits", x.all(link.limits))
        yield from _range(where, "drive.limits", x.all(link.drive.limits if link.drive else None))
        for name in ("velocity_limit", "effort_limit"):
            value = x.of(getattr(link, name))
            if value is not None and value <= 0.0:
                level = "error" if value < 0.0 else "warning"
                what = f"has {name} {value:g}: it could never {_ABLE[name]}"
                yield Finding(level, where, what, "give a positive limit, or leave it out")
        yield from _limit_units(where, link, x)


_ABLE = {"velocity_limit": "move", "effort_limit": "push"}


def _range(where: str, name: str, pair: tuple[float, ...] | None) -> Findings:
    if pair is None:
        return
    low, high = pair
    if low > high:
        what = f"has {name} reversed: lower {low:g} is above upper {high:g}"
        yield Finding("error", where, what, "give (lower, upper)")
    elif low == high:
        what = f"has {name} {_text(pair)}: nothing is left between them"
        yield Finding("warning", where, what, "give (lower, upper), or leave them out")


def _limit_units(where: str, link: Link, x: Numbers) -> Findings:
    largest = max((abs(v) for v in x.all(link.limits) or ()), default=0.0)
    speed = x.of(link.velocity_limit) or 0.0
    if link.joint == "prismatic" and largest > LONGEST:
        what = f"has a limit of {largest:g} m, which looks like millimetres"
        yield Finding("warning", where, what, "give limits in metres")
    if link.joint == "revolute" and largest > WIDEST:
        what = f"has a limit of {largest:g} rad, which looks like degrees"
        yield Finding("warning", where, what, f"give radians, or text: '{largest:g} deg'")
    if link.joint == "revolute" and speed > FASTEST:
        what = f"has velocity_limit {speed:g} rad/s, which looks like degrees per second"
        yield Finding("warning", where, what, f"give radians per second: '{speed:g} deg'")


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
                what = f"has {name}.coulomb {_text(pair)}: one of them pushes the joint on"
                remedy = (
                    "the pair is the torque (moving positive, moving negative): at least 0, then "
                    "at most 0; a constant bias goes into friction.offset"
                )
                yield Finding("error" if pair[0] < pair[1] else "warning", where, what, remedy)


def drives(x: Numbers) -> Findings:
    """Gears that do not turn or make power, rotors that help."""
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


RULES: tuple[Callable[[Numbers], Findings], ...] = (
    symbols,
    gravity,
    masses,
    inertias,
    centres,
    geometry,
    limits,
    friction,
    drives,
    payload,
    configurations,
)


def _text(values: Any) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in values) + ")"


def _principal_moments(body: Inertia) -> tuple[float, ...]:
    """About the centre of mass, smallest first; those lost in rounding are zero."""
    moments = _eigenvalues(body.I if body.m == 0.0 else to_com(body)[2])
    least = ROUNDING * max(abs(v) for v in body.I)
    return tuple(v if abs(v) > least else 0.0 for v in moments)


def _eigenvalues(S: Symmetric) -> tuple[float, float, float]:
    """Eigenvalues of a symmetric 3x3 matrix, smallest first (Smith 1961)."""
    xx, xy, yy, xz, yz, zz = S
    mean = (xx + yy + zz) / 3.0
    a, b, c = xx - mean, yy - mean, zz - mean
    spread = math.sqrt((a * a + b * b + c * c + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0)
    if spread == 0.0:
        return mean, mean, mean
    det = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz)
    angle = math.acos(max(-1.0, min(1.0, det / (2.0 * spread**3)))) / 3.0
    largest = mean + 2.0 * spread * math.cos(angle)
    least = mean + 2.0 * spread * math.cos(angle + 2.0 * math.pi / 3.0)
    return least, 3.0 * mean - largest - least, largest
