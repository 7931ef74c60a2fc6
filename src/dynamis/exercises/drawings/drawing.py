"""Line drawings with labels, as SVG and as TikZ: strokes, circles and names of quantities."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple
from unicodedata import lookup

from ... import markup
from ...errors import OptionError, shown

Point = tuple[float, float]
SCALE = 92.0  # pixels per unit
LETTER = 0.165  # height of a label, in units
WIDE = 0.62  # of a letter by its height
BELOW = 0.72  # size of an index
MARGIN = 0.12
WIDTHS = {"thin": 1.0, "line": 1.7, "bar": 7.0}  # pixels
ARROW, HALF = 0.13, 0.042  # length and half the width of an arrow's head
ARC_STEPS = 24
LETTERS = ("alpha", "theta", "phi", "psi", "omega", "tau", "eta", "zeta", "rho")
GREEK = {name: lookup(f"GREEK SMALL LETTER {name.upper()}") for name in LETTERS}
NAME = re.compile(rf"({'|'.join(GREEK)}|[A-Za-z])(?:_(\w+)|(\d+|[A-Za-z]?))")  # q_ref, q1, Fx


class Stroke(NamedTuple):
    """A line through points; `look` is "thin", "line" or "bar"."""

    points: tuple[Point, ...]
    look: str = "line"
    dashed: bool = False
    fill: str = "none"  # "ink", "paper", "shade"


class Circle(NamedTuple):
    """A circle."""

    centre: Point
    radius: float
    look: str = "line"
    fill: str = "paper"


class Label(NamedTuple):
    """A name of a quantity, with an index behind its letter; any other text stands upright."""

    at: Point
    text: str
    anchor: str = "middle"  # "start", "end"

    @property
    def name(self) -> tuple[str, str] | None:
        """Letter and index; None for what is no name."""
        found = NAME.fullmatch(self.text)
        return (found[1], found[2] or found[3]) if found else None

    @property
    def width(self) -> float:
        """About how wide it is."""
        name = self.name
        if name is None:
            return WIDE * LETTER * len(self.text)
        return WIDE * LETTER * (1.0 + BELOW * len(name[1]))


@dataclass(frozen=True)
class Drawing:
    """Strokes, circles and labels in units of about a link's length, y upwards."""

    parts: tuple[Stroke | Circle | Label, ...]

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of all that is in it."""
        xs, ys = [], []
        for part in self.parts:
            for x, y in _corners(part):
                xs.append(x)
                ys.append(y)
        return min(xs) - MARGIN, min(ys) - MARGIN, max(xs) + MARGIN, max(ys) + MARGIN

    def svg(self, title: str = "") -> str:
        """An SVG picture with a `title` for those who cannot see it."""
        left, bottom, right, top = self.box
        width, height = SCALE * (right - left), SCALE * (top - bottom)

        def at(p: Point) -> str:
            return f"{SCALE * (p[0] - left):.1f} {SCALE * (top - p[1]):.1f}"

        inside = "".join(_svg(part, at) for part in self.parts)
        named = f"<title>{escape(title)}</title>" if title else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0f} '
            f'{height:.0f}" width="{width:.0f}" height="{height:.0f}" '
            f'font-family="STIX Two Text, Georgia, DejaVu Serif, serif" '
            f'font-size="{SCALE * LETTER:.1f}">{named}{inside}</svg>'
        )

    def tikz(self) -> str:
        """The picture for LaTeX with the package tikz."""
        lines = [r"\begin{tikzpicture}[scale=1.9, line join=round, line cap=round]"]
        lines += map(_tikz, self.parts)
        return "\n".join([*lines, r"\end{tikzpicture}"])


def _corners(part: Any) -> Sequence[Point]:
    if isinstance(part, Stroke):
        return part.points
    if isinstance(part, Circle):
        (x, y), r = part.centre, part.radius
        return (x - r, y - r), (x + r, y + r)
    (x, y), w, h = part.at, part.width, 0.6 * LETTER
    shift = {"start": 0.0, "middle": -0.5 * w, "end": -w}[part.anchor]
    return (x + shift, y - h), (x + shift + w, y + h)


FILLS = {"none": "none", "ink": "#1c2430", "paper": "#fff", "shade": "#dbe6ee"}


def _svg(part: Any, at: Any) -> str:
    if isinstance(part, Label):
        return _svg_label(part, at)
    width = WIDTHS[part.look]
    colour = "#7d93a3" if part.look == "bar" else "#1c2430"
    look = f'fill="{FILLS[part.fill]}" stroke="{colour}" stroke-width="{width}"'
    if isinstance(part, Circle):
        x, y = at(part.centre).split()
        return f'<circle cx="{x}" cy="{y}" r="{SCALE * part.radius:.1f}" {look}/>'
    dashes = ' stroke-dasharray="6 4"' if part.dashed else ""
    path = "M" + "L".join(map(at, part.points))
    return f'<path d="{path}" {look}{dashes} stroke-linejoin="round" stroke-linecap="round"/>'


def _svg_label(label: Label, at: Any) -> str:
    x, y = at((label.at[0], label.at[1] - 0.34 * LETTER)).split()
    head = (
        f'<text x="{x}" y="{y}" text-anchor="{label.anchor}" fill="#1c2430" stroke="#fff" '
        'stroke-width="3.5" paint-order="stroke"'
    )
    if label.name is None:
        return f"{head}>{escape(label.text)}</text>"
    letter, index = label.name
    small = SCALE * LETTER * BELOW
    below = f'<tspan dy="{0.3 * small:.1f}" font-size="{small:.1f}">{escape(index)}</tspan>'
    return (
        f'{head}><tspan font-style="italic">{GREEK.get(letter, letter)}</tspan>'
        f"{below if index else ''}</text>"
    )


def _tikz(part: Any) -> str:
    if isinstance(part, Label):
        anchor = {"start": "west", "middle": "center", "end": "east"}[part.anchor]
        x, y = part.at
        return rf"\node[anchor={anchor}, inner sep=0.5pt] at ({x:.3f}, {y:.3f}) {{{_tex(part)}}};"
    fill = {"none": "", "ink": ", fill=black", "paper": ", fill=white", "shade": ", fill=black!12"}
    colour = "gray" if part.look == "bar" else "black"
    look = f"draw={colour}, line width={0.45 * WIDTHS[part.look]:.2f}pt{fill[part.fill]}"
    if isinstance(part, Circle):
        x, y = part.centre
        return rf"\path[{look}] ({x:.3f}, {y:.3f}) circle[radius={part.radius:.3f}];"
    look += ", dashed" if part.dashed else ""
    return rf"\path[{look}] " + " -- ".join(f"({x:.3f}, {y:.3f})" for x, y in part.points) + ";"


def _tex(label: Label) -> str:
    if label.name is None:
        return markup.latex(label.text).replace("°", r"\textdegree{}")
    letter, index = label.name
    head = rf"\{letter}" if letter in GREEK else letter
    return f"${head}_{{{index}}}$" if index else f"${head}$"


# drawing


@dataclass
class Pen:
    """Collects the parts of a drawing."""

    parts: list[Stroke | Circle | Label] = field(default_factory=list)

    def done(self) -> Drawing:
        """The drawing."""
        return Drawing(tuple(self.parts))

    def line(self, *points: Point, look: str = "line", dashed: bool = False) -> None:
        """A line through points."""
        self.parts.append(Stroke(points, look, dashed))

    def area(self, *points: Point, fill: str = "shade", look: str = "line") -> None:
        """A closed area."""
        self.parts.append(Stroke((*points, points[0]), look, False, fill))

    def box(self, centre: Point, width: float, height: float, text: str = "") -> None:
        """A rectangle with a label in it."""
        (x, y), w, h = centre, width / 2.0, height / 2.0
        self.area((x - w, y - h), (x + w, y - h), (x + w, y + h), (x - w, y + h), fill="paper")
        if text:
            self.label(centre, text)

    def circle(self, centre: Point, radius: float = 0.07, fill: str = "paper") -> None:
        """A joint, or a mass."""
        self.parts.append(Circle(centre, radius, "line", fill))

    def label(self, at: Point, text: str, anchor: str = "middle") -> None:
        """A name of a quantity, or a word."""
        if anchor not in ("start", "middle", "end"):
            raise OptionError(f"anchor is {shown(anchor)}, expected 'start', 'middle' or 'end'")
        self.parts.append(Label(at, text, anchor))

    def arrow(
        self, start: Point, end: Point, text: str = "", off: Point = (0.0, 0.0), look: str = "line"
    ) -> None:
        """An arrow, with a label `off` its end."""
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        self.line(start, polar(end, -0.6 * ARROW, angle), look=look)
        self._head(end, angle)
        if text:
            self.label((end[0] + off[0], end[1] + off[1]), text)

    def _head(self, tip: Point, angle: float) -> None:
        back = polar(tip, -ARROW, angle)
        sides = [polar(back, s * HALF, angle + math.pi / 2.0) for s in (1.0, -1.0)]
        self.parts.append(Stroke((tip, *sides, tip), "thin", False, "ink"))

    def arc(
        self, centre: Point, radius: float, first: float, last: float, text: str = "",
        out: float = 0.16, head: bool = True,
    ) -> None:  # fmt: skip
        """An angle in degrees from `first` to `last`, with an arrow's head and its name."""
        radians = [math.radians(first + (last - first) * k / ARC_STEPS) for k in range(25)]
        shorter = radians[: -1 if abs(last - first) > 20.0 else None] if head else radians
        self.line(*(polar(centre, radius, a) for a in shorter), look="thin")
        if head:
            turn = math.copysign(math.pi / 2.0, last - first)
            self._head(polar(centre, radius, radians[-1]), radians[-1] + 0.86 * turn)
        if text:
            self.label(polar(centre, radius + out, radians[ARC_STEPS // 2]), text)

    def dimension(self, start: Point, end: Point, text: str, side: float = 0.16) -> None:
        """A length between two points, its name `side` to the left of the way."""
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        self.line(start, end, look="thin")
        self._head(end, angle)
        self._head(start, angle + math.pi)
        middle = ((start[0] + end[0]) / 2.0, (start[1] + end[1]) / 2.0)
        if text:
            self.label(polar(middle, side, angle + math.pi / 2.0), text)

    def ground(self, at: Point, width: float = 0.5, angle: float = 0.0) -> None:
        """Draw a hatched line for a body that does not move; `angle` 0 is a floor."""
        a = math.radians(angle)
        ends = [polar(at, s * width / 2.0, a) for s in (-1.0, 1.0)]
        self.line(*ends)
        for k in range(6):
            share = (k + 0.5) / 6.0
            p = tuple(u + share * (v - u) for u, v in zip(*ends, strict=True))
            foot = (p[0], p[1])
            self.line(foot, polar(foot, 0.1, a - 2.2), look="thin")

    def frame(self, origin: Point, axes: dict[str, Point], off: float = 0.11) -> None:
        """Axes with their names; each is given by its end as seen from the origin."""
        for name, (dx, dy) in axes.items():
            end = (origin[0] + dx, origin[1] + dy)
            size = math.hypot(dx, dy) or 1.0
            self.arrow(origin, end, name, (off * dx / size, off * dy / size), look="thin")


def polar(p: Point, radius: float, angle: float) -> Point:
    """A point at a distance and an angle (radians) from another."""
    return p[0] + radius * math.cos(angle), p[1] + radius * math.sin(angle)
