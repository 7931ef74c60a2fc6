"""The Denavit-Hartenberg procedure: from joint axes to frames and rows.

Between neighbouring axes lies a bar, their common normal: it gives x, a and alpha. Along each axis
lie the angle theta and the distance d from one bar to the next. Both conventions share them and
differ only in which bar belongs to which row:

    standard:  T_i = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i)            (the bar after joint i)
    modified:  T_i = Rx(alpha_i-1) Tx(a_i-1) Rz(theta_i) Tz(d_i)        (the bar before it)

Siciliano et al., Robotics, section 2.8.2; Craig, Introduction to Robotics, section 3.4.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from ...arguments import one_of
from ...errors import ModelError
from ...spatial.frames import ORIGIN, Frame, compose, dh_frame, inverse, point
from ...spatial.rotations import rotate, transpose
from ...spatial.vectors import ZERO, Vector, add, cross, dot, negate, scale, subtract
from ..link import Link
from .axes import (
    NEARLY,
    PARALLEL,
    TOUCHING,
    Axis,
    aligned,
    are_parallel,
    axis_of,
    common_normal,
    perpendicular,
    sine_between,
)

DH_CONVENTIONS = ("standard", "modified")
SNAP = 1e-12  # an angle this close to a right one, or a length (in arm sizes) to 0, is meant to be
DIGITS = 14  # decimals kept of a length in arm sizes, so that 0.15005 does not end in ...02
FAR = 100.0  # arm sizes; lengths beyond are common normals of nearly parallel axes
SLANT = 0.1  # a sliding axis meets both neighbours unless they are this close to one plane with it


class DhChain(NamedTuple):
    """Rows, frame 0 in the reference frame, and the tool in frame n.

    `doubt` says, where axes are nearly but not quite parallel, what came of it.
    """

    rows: tuple[Link, ...]  # of geometry alone
    base: Frame
    tool: Frame
    doubt: str | None = None


class Bar(NamedTuple):
    """Common normal of two axes: direction, feet on both, length, twist.

    `case` says how the two axes lie to each other, "" if there are no two.
    """

    x: Vector
    start: Vector
    end: Vector
    a: float = 0.0
    alpha: float = 0.0
    case: str = ""

    def reversed(self) -> "Bar":
        """The bar with x the other way round: length and twist change their signs."""
        return self._replace(x=negate(self.x), a=-self.a, alpha=-self.alpha)

    def moved(self, T: Frame) -> "Bar":
        """The bar in the coordinates that T leads to."""
        start, end = point(T, self.start), point(T, self.end)
        return self._replace(x=rotate(T.R, self.x), start=start, end=end)


class Choices(NamedTuple):
    """Choices that the procedure leaves open, other than base and tool.

    x of the frames in `flip` is turned round. The origin between parallel axes is placed so that
    the d before it vanishes ("previous"), or next to the point given for the axis ahead ("joint").
    """

    flip: frozenset[int] = frozenset()
    parallel: str = "previous"


NEXT_TO_JOINT = "joint"
PARALLEL_ORIGINS = ("previous", NEXT_TO_JOINT)
BY_DEFAULT = Choices()


class Construction(NamedTuple):
    """Result of the procedure; points and directions are in the reference frame at q = 0.

    Bar i lies along x of frame i, in both conventions: bar 0 leads to axis 1, bars 1 to n-1 are the
    common normals, bar n leads from axis n to the last frame.
    """

    convention: str
    axes: tuple[Axis, ...]  # as given
    lines: tuple[Axis, ...]  # where the procedure takes them: sliding axes are moved
    bars: tuple[Bar, ...]
    frames: tuple[Frame, ...]  # 0 to n
    tip: Frame  # the tool
    keeps_base: bool  # whether the base that was given is frame 0
    chain: DhChain


def dh_from_axes(axes: Sequence[Axis], convention: str, base: Frame, tool: Frame | None) -> DhChain:
    """DH rows of an arm given by its joint axes: those of `construct`."""
    return construct(axes, convention, base, tool).chain


def construct(
    axes: Sequence[Axis],
    convention: str,
    base: Frame,
    tool: Frame | None,
    choices: Choices = BY_DEFAULT,
) -> Construction:
    """The procedure on joint axes, base and tool in the reference frame at q = 0.

    base T_1(q_1) ... T_n(q_n) tool is the tool's pose for every q. The given base stays where it
    can be frame 0, and frame n is the tool's own frame where that is one. A tool of None is on the
    last axis: at its point, with z along it. Axes whose common normal would lie FAR away are taken
    as parallel if they nearly are.
    """
    check_convention(convention)
    _check(axes, base, tool or Frame())
    if tool is None:
        point_n, u = axes[-1].point, axes[-1].direction
        tool = _frame(Bar(perpendicular(u), point_n, point_n), axes[-1])
    into = inverse(base)
    lines = [moved(x, into) for x in axes]
    tip = compose(into, tool)
    size = arm_size([*(x.point for x in lines if x.kind == "revolute"), tip.p])
    found = _built(axes, lines, tip, convention, base, size, choices)
    far = max(abs(x) for row in found.chain.rows for x in (row.a, constants(row)[1]))
    sines = [sine_between(a.direction, b.direction) for a, b in pairwise(lines)]
    least = min((x for x in sines if x >= PARALLEL), default=None)
    if far <= FAR * size or least is None:
        return found
    i = sines.index(least) + 1
    doubt = f"the axes of joints {i} and {i + 1} are {least:.2g} rad from parallel"
    if least >= NEARLY:
        return _doubted(found, f"{doubt}: their common normal lies {far:.4g} m away")
    straight = list(accumulate(lines, lambda before, line: aligned(line, before)))
    found = _built(axes, straight, tip, convention, base, size, choices)
    doubt += f" and taken as parallel (else their common normal lies {far:.4g} m away)"
    return _doubted(found, doubt)


def _doubted(found: Construction, doubt: str) -> Construction:
    return found._replace(chain=found.chain._replace(doubt=doubt))


def _built(
    axes: Sequence[Axis],
    lines: list[Axis],
    tip: Frame,
    convention: str,
    base: Frame,
    size: float,
    choices: Choices,
) -> Construction:
    """Bars and rows of lines and tool given in the base's coordinates."""
    lines, bars, kept = _bars(lines, tip, convention, size, choices)
    chain = _rows(lines, bars, kept, tip, convention, base, size)
    return Construction(
        convention,
        tuple(axes),
        tuple(moved(x, base) for x in lines),
        tuple(x.moved(base) for x in bars),
        frames_of(chain, convention),
        compose(base, tip),
        kept,
        chain,
    )


def moved(line: Axis, T: Frame) -> Axis:
    """The line in the coordinates that T leads to."""
    return Axis(line.kind, point(T, line.point), rotate(T.R, line.direction))


def frames_of(chain: DhChain, convention: str) -> tuple[Frame, ...]:
    """Frames 0 to n in the reference frame at q = 0."""
    found = [chain.base]
    for row in chain.rows:
        found.append(compose(found[-1], row_frame(row, convention)))
    return tuple(found)


def row_frame(row: Link, convention: str) -> Frame:
    """The frame of a row of numbers seen from the one before, at q = 0."""
    return dh_frame(convention, *constants(row), row.a, row.alpha)


def _rows(
    lines: list[Axis],
    bars: list[Bar],
    kept: bool,
    tip: Frame,
    convention: str,
    base: Frame,
    size: float,
) -> DhChain:
    """The rows between bars, frame 0 and what is left for the tool."""
    own = bars[1:] if convention == "standard" else bars[:-1]
    rows = tuple(
        _row(line, before, after, bar, size)
        for line, (before, after), bar in zip(lines, pairwise(bars), own, strict=True)
    )
    zero = ORIGIN if kept else snapped(_frame(bars[0], lines[0]), size)
    last = zero
    for row in rows:
        last = compose(last, row_frame(row, convention))
    rest = snapped(compose(inverse(last), tip), size)
    return DhChain(rows, base if kept else compose(base, zero), rest)


def constants(row: Link) -> tuple[float, float]:
    """theta and d at q = 0."""
    return (row.offset, row.d) if row.joint == "revolute" else (row.theta, row.offset)


def row_lengths(row: Link, convention: str) -> tuple[tuple[str, str, int], ...]:
    """Lengths of a row in the order of its matrix: field, letter, rows before it of its index."""
    d = ("offset", "s", 0) if row.joint == "prismatic" else ("d", "d", 0)
    return (d, ("a", "a", 0)) if convention == "standard" else (("a", "a", 1), d)


def check_convention(convention: Any) -> None:
    """Refuse what is not one of the two DH conventions."""
    expected = "'standard' (Denavit-Hartenberg) or 'modified' (Craig)"
    what = f"convention {convention!r} does not exist for a DH table, expected {expected}"
    one_of(convention, DH_CONVENTIONS, what)


def arm_size(points: Sequence[Vector]) -> float:
    """The largest distance of a point from the origin; 1 if there is none."""
    return max((math.hypot(*p) for p in points), default=0.0) or 1.0


def snapped(T: Frame, size: float) -> Frame:
    """The frame with what is 0, 1 or -1 up to rounding made exactly that."""
    rows = [tuple(_near(x, float(round(x)), SNAP) for x in row) for row in T.R]
    x, y, z = (tidy(c, size) for c in T.p)
    return Frame((rows[0], rows[1], rows[2]), (x, y, z))  # type: ignore[arg-type]


def tidy(length: float, size: float) -> float:
    """A length without rounding errors: 0 if it is within SNAP, else at most DIGITS of the arm."""
    rounded = round(length, DIGITS - math.ceil(math.log10(size)))
    return _near(rounded, 0.0, SNAP * size)


def _near(x: float, meant: float, within: float) -> float:
    return meant + 0.0 if abs(x - meant) <= within else x


def _check(axes: Sequence[Axis], base: Frame, tool: Frame) -> None:
    if not axes:
        raise ModelError("no axes were given, expected at least one")
    wrong = next((x for x in axes if not isinstance(x, Axis)), None)
    if wrong is not None:
        raise ModelError(f"axes contains {wrong!r}, expected Axis(kind, point, direction)")
    for name, frame in (("base", base), ("tool", tool)):
        if not all(math.isfinite(x) for row in (*frame.R, frame.p) for x in row):
            raise ModelError(f"{name} is {frame!r}, expected finite numbers")


def _bars(
    axes: list[Axis], tool: Frame, convention: str, size: float, choices: Choices
) -> tuple[list[Axis], list[Bar], bool]:
    """Every axis in its place, bars 0 to n around them, and whether the base itself is frame 0.

    All in the base's coordinates. Bar 0 leads from frame 0 to axis 1, bar n from axis n to frame n;
    the one the convention has no room for has neither length nor twist.
    """
    lines = list(axes)
    start = lines[0].through(ZERO) if lines[0].kind == "prismatic" else lines[0]
    before = _bar_from(ORIGIN, start, size)
    if before is not None and convention == "standard" and not _is_nothing(before, size):
        before = None
    first = before
    lines[0] = _placed(lines[0], None, _beyond(lines, 0, tool)) if first is None else start
    bars = []
    for i in range(1, len(lines)):
        here = lines[i - 1].through(before.end if before else lines[i - 1].foot(ZERO))
        if choices.parallel == NEXT_TO_JOINT:
            here = here.through(here.foot(axes[i].point))
        lines[i] = _placed(lines[i], here, _beyond(lines, i, tool))
        before = _bar_between(here, lines[i], before, size)
        before = before.reversed() if i in choices.flip else before
        bars.append(before)
    bars.append(_last_bar(lines[-1], tool, before, convention, size))
    zero = first or Bar(bars[0].x, bars[0].start, bars[0].start)
    return lines, [zero, *bars], first is not None


def _bar_between(here: Axis, ahead: Axis, before: Bar | None, size: float) -> Bar:
    """The common normal, with what it leaves open chosen after the bar before."""
    normal = common_normal(here, ahead, size)
    if normal.x is None:  # coincident: keep the x before
        x = perpendicular(here.direction) if before is None else before.x
        return Bar(x, normal.foot_a, normal.foot_b, 0.0, normal.twist, normal.case)
    meets = normal.case == "intersecting"
    if meets and before is not None and dot(normal.x, before.x) < -SNAP:
        normal = normal.reversed()  # so that theta is at most a right angle
    foot_a, foot_b, length = normal.foot_a, normal.foot_b, normal.length
    return Bar(normal.x, foot_a, foot_b, length, normal.twist, normal.case)  # type: ignore[arg-type]


def _bar_from(frame: Frame, line: Axis, size: float) -> Bar | None:
    """The bar along a frame's own x that ends on a line, if x crosses the line at a right angle."""
    x, _, z = transpose(frame.R)
    u, between = line.direction, subtract(line.point, frame.p)
    if abs(dot(x, u)) > SNAP or abs(dot(between, cross(x, u))) > TOUCHING * size:
        return None
    a, alpha = dot(between, x), math.atan2(dot(x, cross(z, u)), dot(z, u))
    return Bar(x, frame.p, add(frame.p, scale(a, x)), a, alpha)


def _is_nothing(bar: Bar, size: float) -> bool:
    return abs(bar.a) <= SNAP * size and abs(bar.alpha) <= SNAP


def _last_bar(line: Axis, tool: Frame, before: Bar | None, convention: str, size: float) -> Bar:
    """From axis n to frame n: to the tool if DH allows, else as near to it as DH can."""
    own = _bar_from(tool, line, size)
    if convention == "standard":
        if own is not None:
            return Bar(own.x, own.end, tool.p, -own.a, -own.alpha)
        here = line.through(line.foot(tool.p))
        ahead = aligned(axis_of("revolute", tool), here, 1.0 / FAR)  # the rest is the tool's own
        return _bar_between(here, ahead, before, size)
    if own is not None and _is_nothing(own, size):
        return Bar(own.x, tool.p, tool.p)
    if before is None:
        foot = line.foot(ZERO)
        return Bar(perpendicular(line.direction), foot, foot)
    return Bar(before.x, before.end, before.end)


def _beyond(lines: list[Axis], i: int, tool: Frame) -> Axis | None:
    """What a sliding axis i should meet next: a line, or None if the next axis slides too."""
    if i + 1 < len(lines):
        return lines[i + 1] if lines[i + 1].kind == "revolute" else None
    x, _, z = transpose(tool.R)
    u = lines[i].direction
    along_x = not are_parallel(u, z) and abs(dot(x, u)) <= SNAP
    return aligned(Axis("revolute", tool.p, x if along_x else z), lines[i], 1.0 / FAR)


def _placed(axis: Axis, behind: Axis | None, beyond: Axis | None) -> Axis:
    """A sliding axis moved to where it meets its neighbours, so that a and d vanish if they can."""
    if axis.kind == "revolute":
        return axis
    u = axis.direction
    for other in (beyond, behind):
        if other is not None and are_parallel(u, other.direction):
            return axis.through(other.point)
    if beyond is None:
        return axis.through(ZERO if behind is None else behind.point)
    n = cross(u, beyond.direction)  # the axis meets `beyond` if it lies in this plane through it
    slant = 0.0 if behind is None else dot(behind.direction, n)
    if behind is not None and abs(slant) > SLANT:
        t = dot(subtract(beyond.point, behind.point), n) / slant
        return axis.through(add(behind.point, scale(t, behind.direction)))
    gap = dot(subtract(beyond.point, axis.point), n) / dot(n, n)
    return axis.through(add(axis.point, scale(gap, n)))


def _row(line: Axis, before: Bar, after: Bar, own: Bar, size: float) -> Link:
    """theta and d from bar to bar along the line's z, a and alpha of the row's own bar."""
    z = line.direction
    sine, cosine = dot(z, cross(before.x, after.x)), dot(before.x, after.x)
    theta, alpha = _angle(math.atan2(sine, cosine)), _angle(own.alpha)
    d, a = tidy(dot(subtract(after.start, before.end), z), size), tidy(own.a, size)
    if line.kind == "revolute":
        return Link(joint="revolute", d=d, a=a, alpha=alpha, offset=theta)
    return Link(joint="prismatic", theta=theta, a=a, alpha=alpha, offset=d)


def _angle(x: float) -> float:
    """The angle, made exact if it is a right one; -pi becomes pi."""
    right = round(2.0 * x / math.pi)
    if abs(x - 0.5 * math.pi * right) > SNAP:
        return x
    return 0.5 * math.pi * abs(right) if right == -2 else 0.5 * math.pi * right


def _frame(bar: Bar, line: Axis) -> Frame:
    """The frame at the bar's start with its x and the line's z."""
    z = line.direction
    return Frame(transpose((bar.x, cross(z, bar.x), z)), bar.start)
