"""Steps of the questions about trajectories, motors and the control of a joint."""

from typing import Any

import sympy as sp

from ..question import Step
from .frames import symbols


def trapezoid() -> list[Step]:
    """Ramps, and the cruise between them."""
    D, v, a, ta, qa = symbols("D v a ta qa")
    t = sp.Symbol("t")
    ramp = sp.integrate(a * t, (t, 0, ta)).subs(a * ta, v)
    return [
        Step("ta", v / a, "s"),
        Step("qa", ramp.subs(a * ta**2, v * ta), "rad"),
        Step("T", 2 * ta + (D - 2 * qa) / v, "s"),
    ]


def motor_speed() -> list[Step]:
    """Through the gear; power is lost in it."""
    qd, tau, N, eta, wm, tm = symbols("qd tau N eta wm tau_m")
    return [
        Step("wm", N * qd, "rad/s"),
        Step("n", 30 * wm / sp.pi, "rpm"),
        Step("tau_m", 100 * tau / (N * eta), "N m"),
        Step("P", tm * wm, "W"),
    ]


def characteristic(*gains: Any) -> Any:
    """J s^2 + B s + kp + kd s, times s with an integral gain."""
    J, B, s = symbols("J B s")
    kp, kd, *ki = gains
    law = kp + kd * s + (ki[0] / s if ki else 0)
    return sp.collect(sp.expand(((J * s + B) * s + law) * (s if ki else 1)), s)


def step_response() -> list[Step]:
    """By comparison with s^2 + 2 z w s + w^2."""
    J, s, kp, kd, w, z = symbols("J s kp kd wn zeta")
    P = characteristic(kp, kd)
    pair = sp.expand(J * (s**2 + 2 * z * w * s + w**2))
    square = sp.solve(P.subs(s, 0) - pair.subs(s, 0), w**2)[0]
    ratio = sp.solve(P.coeff(s, 1) - pair.coeff(s, 1), z)[0]
    root = sp.sqrt(1 - z**2)
    return [
        Step("P", P),
        Step("wn", sp.sqrt(square), "rad/s"),
        Step("zeta", ratio),
        Step("Mp", 100 * sp.exp(-sp.pi * z / root), "%"),
        Step("tp", sp.pi / (w * root), "s"),
    ]


def phase_margin() -> list[Step]:
    """Where the loop has gain 1, and its phase there."""
    J, B, kp, w, PM, phi = symbols("J B kp wc PM phi")
    W = sp.Symbol("W")  # w^2
    both: Any = sp.solve(J**2 * W**2 + B**2 * W - kp**2, W)
    square: Any = max(both, key=lambda x: float(x.subs({J: 1, B: 1, kp: 1})))
    square = sp.together(square)
    phase = 90 - 180 / sp.pi * sp.atan(J * w / B)
    return [
        Step("wc", sp.Pow(square, sp.Rational(1, 2), evaluate=False), "rad/s"),
        Step("PM", phase, "°"),
        Step("phi", sp.pi * PM / 180, "rad"),
        Step("Td", 1000 * phi / w, "ms"),
    ]


def pid_limit() -> list[Step]:
    """On the imaginary axis: even and odd powers vanish by themselves."""
    s, kp, kd, ki, w = symbols("s kp kd ki w")
    P = characteristic(kp, kd, ki)
    there = sp.expand(P.subs(s, sp.I * w))
    even, odd = sp.re(there), sp.im(there)
    square = sp.solve(sp.cancel(odd / w).subs(w**2, symbols("W")[0]), symbols("W")[0])[0]
    limit = sp.solve(even.subs(w**2, square), ki)[0]
    return [
        Step("P", P),
        Step("w", sp.sqrt(square), "rad/s"),
        Step("ki", sp.factor(limit), "N m/(rad s)"),
    ]
