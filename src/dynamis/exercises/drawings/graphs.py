"""Graphs of motions and responses, and block diagrams."""

from math import atan, cos, exp, hypot, log10, pi, sin, sqrt

from .drawing import Drawing, Pen, Point


def axes(
    pen: Pen, width: float, height: float, across: str, up: str, origin: Point = (0, 0)
) -> None:
    """Two axes with their names."""
    x, y = origin
    pen.arrow((x - 0.08, y), (x + width, y), across, (0.14, 0.0), look="thin")
    pen.arrow((x, y - 0.08), (x, y + height), up, (0.0, 0.14), look="thin")


def quintic_peaks() -> Drawing:
    """Velocity of a quintic from rest to rest."""
    pen = Pen()
    axes(pen, 2.7, 1.45, "t", "velocity")
    points = [u / 50 for u in range(51)]
    pen.line(*((2.3 * u, 18.0 * (u * (1 - u)) ** 2) for u in points))
    pen.line((0.0, 1.125), (1.15, 1.125), look="thin", dashed=True)
    pen.line((1.15, 0.0), (1.15, 1.125), look="thin", dashed=True)
    pen.label((-0.1, 1.12), "max", "end")
    pen.label((2.3, -0.16), "T")
    pen.label((1.4, 0.45), "D")
    return pen.done()


def trapezoid() -> Drawing:
    """Velocity of a motion with two ramps."""
    pen = Pen()
    axes(pen, 2.8, 1.4, "t", "velocity")
    pen.area((0.0, 0.0), (0.6, 1.0), (1.8, 1.0), (2.4, 0.0))
    pen.line((0.0, 1.0), (0.6, 1.0), look="thin", dashed=True)
    pen.line((0.6, 0.0), (0.6, 1.0), look="thin", dashed=True)
    pen.label((-0.1, 1.0), "v", "end")
    pen.label((0.6, -0.16), "ta")
    pen.label((2.4, -0.16), "T")
    pen.label((0.42, 0.22), "qa")
    pen.label((1.2, 0.5), "D")
    pen.label((0.2, 0.62), "a")
    return pen.done()


def step_response() -> Drawing:
    """Position after a step of the reference."""
    pen = Pen()
    axes(pen, 2.9, 1.75, "t", "q")
    z, w = 0.35, 4.2
    root = sqrt(1 - z * z)
    times = [k / 40 for k in range(106)]

    def q(t: float) -> float:
        return 1 - exp(-z * w * t) * (cos(w * root * t) + z / root * sin(w * root * t))

    peak = pi / (w * root)
    pen.line((0.0, 1.0), (2.7, 1.0), look="thin", dashed=True)
    pen.line(*((t, q(t)) for t in times))
    pen.line((peak, 0.0), (peak, q(peak)), look="thin", dashed=True)
    pen.label((peak, -0.16), "tp")
    pen.label((-0.08, 1.0), "q_ref", "end")
    pen.dimension((1.25, 1.0), (1.25, q(peak)), "Mp", -0.18)
    pen.line((peak, q(peak)), (1.3, q(peak)), look="thin", dashed=True)
    return pen.done()


def phase_margin() -> Drawing:
    """Magnitude and phase of the open loop."""
    pen = Pen()
    corner, gain = 3.0, 40.0

    def magnitude(w: float) -> float:
        return log10(gain / (w * hypot(w, corner)))

    def phase(w: float) -> float:
        return -90 - atan(w / corner) * 180 / pi

    decades = [-0.4 + k / 20 for k in range(45)]
    crossing = next(x for x in decades if magnitude(10**x) < 0) - 0.02
    axes(pen, 2.7, 0.75, "w", "|L|", (0.0, 0.0))
    pen.line(*((1.05 * (x + 0.4), 0.4 * magnitude(10**x)) for x in decades))
    pen.label((-0.08, 0.0), "1", "end")
    place = 1.05 * (crossing + 0.4)
    pen.arrow((0.0, -2.1), (0.0, -0.75), "phase", (0.0, 0.14), look="thin")
    pen.arrow((-0.08, -0.9), (2.7, -0.9), "w", (0.14, 0.0), look="thin")

    def down(degrees: float) -> float:
        return -0.9 + degrees * 0.0062

    pen.line(*((1.05 * (x + 0.4), down(phase(10**x))) for x in decades))
    for degrees in (-90, -180):
        pen.line((0.0, down(degrees)), (2.4, down(degrees)), look="thin", dashed=True)
        pen.label((-0.08, down(degrees)), f"{degrees}°", "end")
    pen.line((place, 0.0), (place, down(-180)), look="thin", dashed=True)
    pen.label((place + 0.03, 0.17), "wc", "start")
    pen.dimension((place, down(-180)), (place, down(phase(10**crossing))), "", 0.0)
    pen.label((place - 0.1, down(-165)), "PM", "end")
    return pen.done()


def loop(regulator: str, rate: bool) -> Drawing:
    """A regulator and a joint with feedback of its position, and perhaps of its velocity."""
    pen = Pen()
    pen.label((-0.1, 0.16), "q_ref")
    pen.arrow((-0.3, 0.0), (0.2, 0.0))
    pen.circle((0.3, 0.0), 0.1)
    pen.arrow((0.4, 0.0), (0.7, 0.0))
    wide = max(0.8, 0.105 * len(regulator))
    pen.box((0.7 + 0.5 * wide, 0.0), wide, 0.44, regulator)
    plant = wide + (2.2 if rate else 1.7)
    if rate:
        pen.arrow((0.7 + wide, 0.0), (1.8, 0.0))
        pen.circle((1.9, 0.0), 0.1)
        pen.label((1.68, 0.2), "u")
        pen.arrow((2.0, 0.0), (plant - 0.65, 0.0))
    else:
        pen.arrow((0.7 + wide, 0.0), (plant - 0.65, 0.0))
        pen.label((plant - 0.83, 0.16), "u")
    pen.box((plant, 0.0), 1.3, 0.44, "1/(J s² + B s)")
    end = plant + 1.2
    pen.arrow((plant + 0.65, 0.0), (end, 0.0), "q", (0.1, 0.0))
    back = plant + 0.9
    pen.line((back, 0.0), (back, -0.95), (0.3, -0.95))
    pen.arrow((0.3, -0.95), (0.3, -0.1))
    pen.label((0.18, -0.22), "-", "end")
    if rate:
        pen.box((2.5, -0.55), 0.6, 0.36, "kd s")
        pen.line((back, -0.55), (2.8, -0.55))
        pen.line((2.2, -0.55), (1.9, -0.55))
        pen.arrow((1.9, -0.55), (1.9, -0.1))
        pen.label((1.78, -0.22), "-", "end")
    return pen.done()
