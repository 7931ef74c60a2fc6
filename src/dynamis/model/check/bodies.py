"""Checks of the bodies: masses, inertias, centres of mass, payload."""

import math
import statistics

from ...spatial.inertia import Inertia, Symmetric, linear, times, to_com
from ...spatial.vectors import Vector, dot, scale
from .finding import LONGEST, ROUNDING, Finding, Findings, Numbers, listed, worded

HEAVIEST = 1e4  # kg; a heavier link is more likely given in grams
UNALIKE = 100.0  # how many times heavier than the others a link may be
GYRATION = 5.0  # radius of gyration, in reaches, beyond which an inertia is not in kg m^2
OUTSIDE = 3.0  # how far from its frame a centre of mass may be, in lengths of its link
BEYOND = 0.4  # how far past its own end a link's centre of mass may lie, in link lengths
BEHIND = 0.1  # how far behind its own joint, in lengths to the next one
SLIM = 0.05  # part by which the moments of a rod may differ from zero and from each other
ACROSS = 0.1  # cosine below which a rod lies across the way to its own centre
HELD = (0.2, 2.0)  # I / (m c^2) of a rod held at its end: 1/3, or 4/3 if about the joint


def masses(x: Numbers) -> Findings:
    """Negative, absent, in grams, or out of all proportion."""
    found = {
        str(link.name): body.m
        for i, link in enumerate(x.model.links)
        if (body := x.body(link)) and not (_is_nothing(body) and x.is_helper(i))
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


def _is_nothing(body: Inertia) -> bool:
    return not any(linear(body))


def inertias(x: Numbers) -> Findings:
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


def _inertia(where: str, body: Inertia, as_linear: bool, reach: float) -> Findings:
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


def _thin(where: str, body: Inertia) -> Findings:
    """Bars, and points; what violates the triangle inequality is neither."""
    moments = _principal_moments(body)
    if moments[0] == 0.0 and moments[2] <= (1.0 + ROUNDING) * moments[1]:
        what = "a thin rod: fine for dynamics, no moment of inertia about its own axis"
        remedy = "add that moment if a joint turns the rod about itself, as in a wrist"
        if moments[2] == 0.0:
            what = "a point mass: fine for dynamics, no inertia of its own"
            remedy = "add its inertia if the size of the body matters"
        yield Finding("note", where, what, remedy)


def _rod(where: str, body: Inertia) -> Findings:
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


def _other_convention(x: Numbers, i: int, c: Vector) -> Findings:
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


def _principal_moments(body: Inertia) -> tuple[float, ...]:
    """About the centre of mass, smallest first; those lost in rounding are zero."""
    moments = eigenvalues(body.I if body.m == 0.0 else to_com(body)[2])
    least = ROUNDING * max(abs(v) for v in body.I)
    return tuple(v if abs(v) > least else 0.0 for v in moments)


def eigenvalues(S: Symmetric) -> tuple[float, float, float]:
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
