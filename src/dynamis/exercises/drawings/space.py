"""Drawings of frames and arms in space, seen from the front right and above."""

from dataclasses import dataclass
from math import cos, radians, sin

from .drawing import Drawing, Pen, Point, polar

Vector = tuple[float, float, float]
FRONT = (0.9, -0.22), (0.5, 0.42), (0.0, 1.0)  # how x, y and z are seen: x to the right
CORNER = (-0.5, -0.38), (0.95, -0.14), (0.0, 1.0)  # x towards us


@dataclass
class Space(Pen):
    """A pen for space, seen in parallel projection."""

    view: tuple[Point, Point, Point] = CORNER

    def seen(self, x: float, y: float, z: float) -> Point:
        """Where a point of space is in the picture."""
        u, v, w = self.view
        return x * u[0] + y * v[0] + z * w[0], x * u[1] + y * v[1] + z * w[1]

    def triad(self, at: Vector, axes: dict[str, Vector], size: float = 0.5) -> None:
        """A frame by the directions of its axes."""
        self.frame(self.seen(*at), {k: self.seen(*(size * c for c in v)) for k, v in axes.items()})

    def base(self, at: Vector = (0.0, 0.0, 0.0), size: float = 0.5) -> None:
        """The frame of the base."""
        self.triad(at, UNIT, size)

    def turn(
        self, centre: Vector, first: Vector, second: Vector, degrees: float, text: str,
        out: float = 1.35,
    ) -> None:  # fmt: skip
        """An angle in the plane of two square vectors, from the first towards the second."""
        points = []
        for k in range(25):
            a = radians(degrees * k / 24)
            sides = zip(centre, first, second, strict=True)
            x, y, z = (o + cos(a) * f + sin(a) * s for o, f, s in sides)
            points.append(self.seen(x, y, z))
        self.line(*points[:-2], look="thin")
        self.arrow(points[-4], points[-1], look="thin")
        c, m = self.seen(*centre), points[12]
        if text:
            self.label((c[0] + out * (m[0] - c[0]), c[1] + out * (m[1] - c[1])), text)

    def axis(self, through: Vector, way: Vector, name: str, size: float = 0.55) -> None:
        """A joint's axis with its number."""
        ends = [
            self.seen(*(p + s * size * w for p, w in zip(through, way, strict=True)))
            for s in (-1, 1)
        ]
        self.arrow(ends[0], ends[1], name, (0.13, 0.05), look="thin")


UNIT: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def about_z(v: Vector, degrees: float) -> Vector:
    """Turned about z."""
    c, s = cos(radians(degrees)), sin(radians(degrees))
    return c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]


def about_x(v: Vector, degrees: float) -> Vector:
    """Turned about x."""
    c, s = cos(radians(degrees)), sin(radians(degrees))
    return v[0], c * v[1] - s * v[2], s * v[1] + c * v[2]


def about_y(v: Vector, degrees: float) -> Vector:
    """Turned about y."""
    c, s = cos(radians(degrees)), sin(radians(degrees))
    return c * v[0] + s * v[2], v[1], -s * v[0] + c * v[2]


def dh_frames() -> Drawing:
    """Three axes and the lengths between them."""
    pen = Space(view=FRONT)
    b, h, L, k = 0.7, 1.1, 1.3, 0.5
    pen.base((-1.1, 0.0, 0.0), 0.4)
    pen.axis((0.0, 0.0, 0.55), (0.0, 0.0, 1.0), "1", 1.15)
    pen.axis((b, 0.0, h), (0.0, 1.0, 0.0), "2")
    pen.axis((b + L, 0.0, h + k), (0.0, 1.0, 0.0), "3")
    pen.line(pen.seen(0, 0, h), pen.seen(b, 0, h), look="bar")
    pen.line(pen.seen(b, 0, h), pen.seen(b + L, 0, h + k), look="bar")
    pen.line(pen.seen(b, 0, h), pen.seen(b + L, 0, h), look="thin", dashed=True)
    for p in ((0, 0, h), (b, 0, h), (b + L, 0, h + k)):
        pen.circle(pen.seen(*p))
    pen.dimension(pen.seen(-0.25, 0, 0), pen.seen(-0.25, 0, h), "h", 0.14)
    pen.dimension(pen.seen(0, 0, h - 0.25), pen.seen(b, 0, h - 0.25), "b", -0.14)
    pen.dimension(pen.seen(b, 0, h - 0.25), pen.seen(b + L, 0, h - 0.25), "L", -0.14)
    pen.dimension(pen.seen(b + L + 0.25, 0, h), pen.seen(b + L + 0.25, 0, h + k), "k", -0.14)
    return pen.done()


def dh_matrix() -> Drawing:
    """Two frames, and the four quantities between them."""
    pen = Space()
    pen.base((0, 0, 0), 0.42)
    theta, alpha, d, a = 70.0, 40.0, 1.0, 1.7
    unit = about_z((1.0, 0.0, 0.0), theta)
    end = (a * unit[0], a * unit[1], d)
    pen.line(pen.seen(0, 0, 0.65), pen.seen(0, 0, 1.35), look="thin", dashed=True)
    pen.line(pen.seen(0, 0, d), pen.seen(0.75, 0, d), look="thin", dashed=True)
    pen.line(pen.seen(0, 0, d), pen.seen(*end), look="bar")
    pen.line(pen.seen(*end), pen.seen(end[0], end[1], d + 0.75), look="thin", dashed=True)
    axes = {f"{k}'": about_z(about_x(v, alpha), theta) for k, v in UNIT.items()}
    pen.triad(end, axes, 0.6)
    pen.turn((0, 0, d), (0.55, 0, 0), (0, 0.55, 0), theta, "theta", 1.3)
    pen.turn(end, (0, 0, 0.5), about_z((0, -0.5, 0), theta), alpha, "alpha", 1.3)
    x, y = pen.seen(0, 0, 0)
    pen.dimension((x - 0.75, y), (x - 0.75, y + d), "d", 0.14)
    x, y = pen.seen(0.45 * end[0], 0.45 * end[1], d)
    pen.label((x + 0.05, y + 0.2), "a")
    pen.circle(pen.seen(0, 0, d))
    return pen.done()


def rotation_order() -> Drawing:
    """A frame, turned about z, then about its new x."""
    pen = Space()
    once = {f"{k}1": about_z(v, 40.0) for k, v in UNIT.items()}
    twice = {f"{k}2": about_z(about_x(v, 40.0), 40.0) for k, v in UNIT.items()}
    places = [(0.0, 1.9 * k, 0.266 * k) for k in range(3)]
    for at, before, axes in zip(places, ({}, UNIT, once), (UNIT, once, twice), strict=True):
        for v in before.values():
            tip = tuple(p + 0.6 * c for p, c in zip(at, v, strict=True))
            pen.line(pen.seen(*at), pen.seen(*tip), look="thin", dashed=True)
        pen.triad(at, axes, 0.75)
    pen.turn(places[1], (0.5, 0, 0), (0, 0.5, 0), 40.0, "a", 1.35)
    pen.turn(places[2], (0, 0, 0.45), about_z((0, -0.45, 0), 40.0), 40.0, "b", 1.35)
    return pen.done()


def euler_zyz() -> Drawing:
    """The third axis of a wrist by two angles, and the turn about it."""
    pen = Space(view=FRONT)
    pen.base((0, 0, 0), 1.1)
    phi, theta = 40.0, 50.0
    tip = about_z(about_y((0.0, 0.0, 1.3), theta), phi)
    foot = (tip[0], tip[1], 0.0)
    pen.arrow(pen.seen(0, 0, 0), pen.seen(*tip), "z'", (0.12, 0.05))
    pen.line(pen.seen(0, 0, 0), pen.seen(*foot), pen.seen(*tip), look="thin", dashed=True)
    pen.turn((0, 0, 0), (0.55, 0, 0), (0, 0.55, 0), phi, "phi", 1.35)
    pen.turn((0, 0, 0), (0, 0, 0.7), about_z((0.7, 0, 0), phi), theta, "theta", 1.25)
    middle = tuple(0.8 * x for x in tip)
    side = about_z(about_y((0.2, 0.0, 0.0), theta), phi)
    other = about_z((0.0, 0.2, 0.0), phi)
    pen.turn((middle[0], middle[1], middle[2]), side, other, 290.0, "psi", -1.6)
    return pen.done()


def axis_angle() -> Drawing:
    """A vector, and a turn about it."""
    pen = Space(view=FRONT)
    pen.base((0, 0, 0), 0.9)
    tip = (0.75, 0.45, 1.0)
    pen.arrow(pen.seen(0, 0, 0), pen.seen(*tip), "k", (0.1, 0.08))
    middle = tuple(0.75 * x for x in tip)
    pen.turn(
        (middle[0], middle[1], middle[2]),
        (0.2, -0.33, 0.0),
        (0.22, 0.13, -0.23),
        300.0,
        "theta",
        -1.75,
    )
    return pen.done()


def camera() -> Drawing:
    """A camera that looks down at a part."""
    pen = Space(view=FRONT)
    table = [pen.seen(*p) for p in ((-0.2, -0.5, 0), (2.6, -0.5, 0), (2.6, 0.9, 0), (-0.2, 0.9, 0))]
    pen.area(*table, fill="shade", look="thin")
    pen.base((0, 0, 0), 0.5)
    eye = (1.2, 0.4, 1.5)
    part = (1.8, 0.1, 0.0)
    axes = {
        "xc": about_z((1.0, 0, 0), 70.0),
        "yc": about_z((0, -1.0, 0), 70.0),
        "zc": (0.0, 0.0, -1.0),
    }
    pen.line(pen.seen(*eye), pen.seen(*part), look="thin", dashed=True)
    pen.triad(eye, axes, 0.5)
    x, y = pen.seen(*eye)
    pen.box((x, y + 0.16), 0.3, 0.2)
    pen.box(pen.seen(*part), 0.16, 0.16)
    pen.label((pen.seen(*part)[0] + 0.15, pen.seen(*part)[1] - 0.16), "(u, v, w)", "start")
    pen.line(pen.seen(0, 0, 0), pen.seen(*eye), look="thin", dashed=True)
    pen.label((x - 0.15, y + 0.42), "(X, Y, Z)")
    return pen.done()


def inverse_transform() -> Drawing:
    """A gripper and a part, both seen from the base."""
    pen = Space(view=FRONT)
    pen.base((0, 0, 0), 0.5)
    hand, part = (0.9, 0.3, 1.2), (2.1, 0.8, 0.35)
    unit = {"x'": (1.0, 0, 0), "y'": (0, 1.0, 0), "z'": (0, 0, 1.0)}
    axes = {k: about_z(about_y(v, 30.0), 30.0) for k, v in unit.items()}
    for end in (hand, part):
        pen.line(pen.seen(0, 0, 0), pen.seen(*end), look="thin", dashed=True)
    pen.arrow(pen.seen(*hand), pen.seen(*part))
    pen.triad(hand, axes, 0.5)
    pen.circle(pen.seen(*part), 0.07, "shade")
    x, y = pen.seen(*hand)
    pen.label((x - 0.2, y + 0.02), "(X, Y, Z)", "end")
    x, y = pen.seen(*part)
    pen.label((x + 0.14, y), "(u, v, w)", "start")
    return pen.done()


def column(pen: Pen, height: float, index: str = "1") -> None:
    """A vertical first joint on the floor."""
    pen.ground((0.0, 0.0), 0.6)
    pen.line((0.0, 0.0), (0.0, height), look="bar")
    pen.line((0.0, height), (0.0, height + 0.45), look="thin", dashed=True)
    points = [polar((0.0, height + 0.3), 0.24, radians(a)) for a in range(200, 500, 12)]
    flat = [(x, height + 0.3 + 0.4 * (y - height - 0.3)) for x, y in points]
    pen.line(*flat, look="thin")
    pen.arrow(flat[-3], flat[-1], look="thin")
    if index:
        pen.label((-0.38, height + 0.33), f"q{index}")


def singularity() -> Drawing:
    """An arm with a vertical and two level axes, from the side."""
    pen = Pen()
    column(pen, 0.8)
    shoulder = (0.0, 0.8)
    elbow = polar(shoulder, 1.35, radians(25.0))
    tool = polar(elbow, 0.95, radians(80.0))
    pen.line(shoulder, elbow, tool, look="bar")
    pen.line(shoulder, (1.0, 0.8), look="thin", dashed=True)
    pen.line(elbow, polar(elbow, 0.7, radians(25.0)), look="thin", dashed=True)
    pen.arc(shoulder, 0.75, 0.0, 25.0, "q2")
    pen.arc(elbow, 0.45, 25.0, 80.0, "q3")
    pen.label((0.62, 1.35), "L2")
    pen.label((tool[0] - 0.25, tool[1] - 0.42), "L3")
    for p in (shoulder, elbow):
        pen.circle(p, 0.08)
    pen.circle(tool, 0.05, "ink")
    pen.line(tool, (0.0, tool[1]), look="thin", dashed=True)
    pen.label((0.65, tool[1] + 0.14), "rho")
    return pen.done()


def wrist_center() -> Drawing:
    """An arm from the side: wrist, its centre, and the tool behind it."""
    pen = Pen()
    column(pen, 0.8)
    shoulder = (0.0, 0.8)
    elbow = polar(shoulder, 1.1, radians(55.0))
    wrist = polar(elbow, 1.2, radians(-20.0))
    tool = polar(wrist, 0.75, radians(-40.0))
    pen.line(shoulder, elbow, wrist, look="bar")
    pen.line(wrist, tool)
    pen.line(wrist, (wrist[0] + 0.8, wrist[1]), look="thin", dashed=True)
    pen.arc(wrist, 0.5, 0.0, -40.0, "b")
    for p in (shoulder, elbow):
        pen.circle(p, 0.08)
    pen.circle(wrist, 0.11, "shade")
    pen.circle(tool, 0.05, "ink")
    pen.label((wrist[0] - 0.05, wrist[1] + 0.25), "(xc, yc, zc)", "start")
    pen.label((tool[0] + 0.12, tool[1] - 0.05), "(x, y, z)", "start")
    lower = [polar(p, 0.22, radians(-130.0)) for p in (wrist, tool)]
    pen.dimension(lower[0], lower[1], "d6", -0.17)
    return pen.done()


def spherical_inverse() -> Drawing:
    """A column, an elevation and a slide."""
    pen = Pen()
    column(pen, 1.0)
    shoulder = (0.0, 1.0)
    a = radians(32.0)
    tool = polar(shoulder, 2.0, a)
    pen.line(shoulder, polar(shoulder, 1.1, a), look="bar")
    pen.line(polar(shoulder, 1.1, a), tool)
    corners = [polar(polar(shoulder, s, a), t, a + 1.5708) for s, t in
               ((0.6, -0.13), (1.2, -0.13), (1.2, 0.13), (0.6, 0.13))]  # fmt: skip
    pen.area(*corners)
    pen.line(shoulder, (1.3, 1.0), look="thin", dashed=True)
    pen.arc(shoulder, 0.95, 0.0, 32.0, "q2")
    pen.circle(shoulder, 0.09)
    pen.circle(tool, 0.05, "ink")
    pen.label((tool[0] + 0.12, tool[1]), "(x, y, z)", "start")
    upper = [polar(p, 0.34, a + 1.5708) for p in (shoulder, tool)]
    pen.dimension(upper[0], upper[1], "d3", 0.15)
    pen.dimension((-0.45, 0.0), (-0.45, 1.0), "h", 0.14)
    return pen.done()


def cylindrical_velocity() -> Drawing:
    """A column that turns, a carriage that lifts and a slide that stretches."""
    pen = Pen()
    column(pen, 1.9, "")
    pen.label((-0.38, 2.23), "w")
    pen.box((0.0, 1.1), 0.42, 0.36)
    pen.line((0.21, 1.1), (1.7, 1.1), look="bar")
    pen.box((0.5, 1.1), 0.5, 0.24)
    pen.circle((1.7, 1.1), 0.06, "ink")
    pen.arrow((1.8, 1.1), (2.25, 1.1), "vr", (0.16, 0.0))
    pen.arrow((-0.4, 0.9), (-0.4, 1.4), "vz", (-0.16, -0.05))
    pen.dimension((0.0, 0.65), (1.7, 0.65), "r", -0.14)
    pen.line((1.7, 1.0), (1.7, 0.65), look="thin", dashed=True)
    pen.line((2.1, 0.15), (2.9, 0.15), look="thin", dashed=True)
    pen.line((2.1, 0.15), polar((2.1, 0.15), 0.8, radians(40.0)), look="bar")
    pen.arc((2.1, 0.15), 0.5, 0.0, 40.0, "q1")
    pen.circle((2.1, 0.15))
    return pen.done()


def newton_euler() -> Drawing:
    """A bar beside a vertical axis, which a level axis lifts."""
    pen = Space(view=FRONT)
    h, e, L, q = 1.0, 1.0, 1.8, 35.0
    pen.ground((0.0, 0.0), 0.6)
    pen.line(pen.seen(0, 0, 0), pen.seen(0, 0, h), look="bar")
    pen.line(pen.seen(0, 0, h), pen.seen(0, 0, h + 0.6), look="thin", dashed=True)
    pen.line(pen.seen(0, 0.5, h), pen.seen(0, -e - 0.35, h), look="thin", dashed=True)
    pen.line(pen.seen(0, 0, h), pen.seen(0, -e, h), look="bar")
    tip = (L * cos(radians(q)), -e, h + L * sin(radians(q)))
    middle = tuple((a + b) / 2.0 for a, b in zip(tip, (0.0, -e, h), strict=True))
    pen.line(pen.seen(0, -e, h), pen.seen(*tip), look="bar")
    pen.line(pen.seen(0, -e, h), pen.seen(1.2, -e, h), look="thin", dashed=True)
    pen.turn((0, -e, h), (1.1, 0, 0), (0, 0, 1.1), q, "q2", 1.16)
    pen.turn((0, 0, h + 0.45), (0.25, 0, 0), (0, 0.25, 0), 300.0, "", 1.0)
    pen.label(pen.seen(-0.4, 0, h + 0.45), "q1")
    pen.circle(pen.seen(0, 0, h), 0.08)
    pen.circle(pen.seen(0, -e, h), 0.08)
    pen.circle(pen.seen(*middle), 0.05, "ink")
    pen.label((pen.seen(*middle)[0] + 0.1, pen.seen(*middle)[1] - 0.14), "m", "start")
    pen.label((pen.seen(*tip)[0] - 0.2, pen.seen(*tip)[1] + 0.08), "L", "end")
    pen.label((pen.seen(0, -e / 2, h)[0] - 0.1, pen.seen(0, -e / 2, h)[1] + 0.12), "e")
    pen.arrow(pen.seen(1.7, -e, 1.2), pen.seen(1.7, -e, 0.75), "g", (0.12, 0.12))
    return pen.done()


def lift() -> Drawing:
    """A carriage on a vertical rail, and the bar that it carries."""
    pen = Pen()
    for x in (-0.2, 0.2):
        pen.line((x, 0.0), (x, 2.2))
    pen.ground((0.0, 0.0), 0.7)
    pen.box((0.0, 1.0), 0.62, 0.5)
    pen.label((-0.45, 1.0), "m1", "end")
    tip = polar((0.0, 1.0), 1.7, radians(38.0))
    pen.line((0.0, 1.0), tip, look="bar")
    pen.circle((0.0, 1.0), 0.08)
    pen.line((0.0, 1.0), (1.15, 1.0), look="thin", dashed=True)
    pen.arc((0.0, 1.0), 0.9, 0.0, 38.0, "q", 0.13)
    pen.label((0.75, 1.85), "m2")
    lower = [polar(p, -0.24, radians(128.0)) for p in (polar((0.0, 1.0), 1.15, radians(38.0)), tip)]
    pen.label((lower[0][0] + 0.1, lower[0][1]), "L", "start")
    pen.arrow((-0.5, 0.25), (-0.5, 0.7), "F", (-0.14, -0.1))
    pen.arrow((-0.75, 1.3), (-0.75, 1.75), "a", (-0.12, -0.05))
    pen.arrow((1.9, 1.3), (1.9, 0.85), "g", (0.12, 0.12))
    return pen.done()
