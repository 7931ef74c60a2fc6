"""Friction laws: how viscous and Coulomb friction depend on velocity, one row per law.

tau_f = viscous V(qd) + coulomb_plus P(qd) + coulomb_minus N(qd) + offset

P acts when the joint moves positive, N when it moves negative; both vanish at rest.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..model.chain import Chain, Resistance
from ..spatial.functions import Functions
from . import coupling

Shape = Callable[[Any, Mapping[str, Any], Functions], tuple[Any, Any, Any]]


def _sides(s: Any, fn: Functions) -> tuple[Any, Any]:
    return fn.max(s, 0.0), fn.max(-s, 0.0)


def coulomb(qd: Any, constants: Mapping[str, Any], fn: Functions) -> tuple[Any, Any, Any]:
    """V = qd, P and N the two halves of sign(qd)."""
    return qd, *_sides(fn.sign(qd), fn)


def smooth(qd: Any, constants: Mapping[str, Any], fn: Functions) -> tuple[Any, Any, Any]:
    """sign(qd) replaced by tanh(qd / velocity)."""
    return qd, *_sides(fn.tanh(qd / constants["velocity"]), fn)


def stribeck(qd: Any, constants: Mapping[str, Any], fn: Functions) -> tuple[Any, Any, Any]:
    """Coulomb friction times 1 + (static_ratio - 1) exp(-(qd / velocity)^2)."""
    u = qd / constants["velocity"]
    factor = 1.0 + (constants["static_ratio"] - 1.0) * fn.exp(-u * u)
    plus, minus = _sides(fn.sign(qd), fn)
    return qd, factor * plus, factor * minus


def grotjahn(qd: Any, constants: Mapping[str, Any], fn: Functions) -> tuple[Any, Any, Any]:
    """V = qd + ratio * sign(qd) |qd|^(1/3) (Grotjahn, Daemi, Heimann 2001)."""
    s = fn.sign(qd)
    root = s * (s * qd) ** (1.0 / 3.0)
    return qd + constants["ratio"] * root, *_sides(s, fn)


SHAPES: Mapping[str, Shape] = {
    "coulomb": coulomb,
    "smooth": smooth,
    "stribeck": stribeck,
    "grotjahn": grotjahn,
}


def torque(resistance: Resistance, qd: Any, fn: Functions) -> Any:
    """Friction torque of one joint."""
    V, P, N = SHAPES[resistance.law](qd, resistance.constants, fn)
    return resistance.viscous * V + resistance.plus * P + resistance.minus * N + resistance.offset


def columns(resistance: Resistance, qd: Any, fn: Functions) -> tuple[Any, Any, Any, Any]:
    """d tau / d (viscous, coulomb+, coulomb-, offset)."""
    return *SHAPES[resistance.law](qd, resistance.constants, fn), 1.0


def motor_columns(chain: Chain, i: int, xd: Sequence[Any], fn: Functions) -> tuple:
    """(V, P, N) of a motor coupled to several joints, at its own speed u = row . qd."""
    u = sum(r * x for r, x in zip(chain.motors[i].row, xd, strict=False))
    return coulomb(u, {}, fn)


def friction_tree(chain: Chain, xd: Sequence[Any], fn: Functions) -> list:
    """Friction of every tree joint, coupled motors included; rotor bodies have none."""
    tau = [torque(r, x, fn) for r, x in zip(chain.resistances, xd, strict=False)]
    for i, motor in enumerate(chain.motors):
        if motor.coupled:
            V, P, N = motor_columns(chain, i, xd, fn)
            own = motor.viscous * V + motor.plus * P + motor.minus * N
            tau = [t + r * own for t, r in zip(tau, motor.row, strict=True)]
    return tau + [0.0] * (len(chain.joints) - len(tau))


def friction_torque(chain: Chain, qd: Sequence[Any], fn: Functions) -> Sequence[Any]:
    """Friction torque on the coordinates, (n,)."""
    return coupling.torques(chain, friction_tree(chain, coupling.rates(chain, qd), fn))
