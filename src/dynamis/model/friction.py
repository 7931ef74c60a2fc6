"""Joint friction: its linear coefficients, and the law that shapes them over velocity.

tau_f = viscous * V(qd) + coulomb_plus * P(qd) + coulomb_minus * N(qd) + offset

The coefficients are parameters; the constants inside V, P, N are not. The shapes themselves are in
`dynamis.dynamics.friction`, one row per law.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..arguments import is_word
from ..errors import ModelError, OptionError, did_you_mean, shown
from .quantity import Expression, Scalar, quantities, quantity, strict

# law -> its constants with their defaults
LAWS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "coulomb": {},
        "smooth": {"velocity": 0.01, "ratio": 0.0},
        "stribeck": {"static_ratio": 1.5, "velocity": 0.1},
        "grotjahn": {"ratio": 0.0},
        "lugre": {"static_ratio": 1.5, "velocity": 0.01, "stiffness": 1e4, "damping": 10.0},
    }
)

# constant -> its least value, and whether that value itself is one
LEAST: Mapping[str, tuple[float, bool]] = MappingProxyType(
    {
        "velocity": (0.0, False),
        "static_ratio": (1.0, True),
        "stiffness": (0.0, False),
        "damping": (0.0, True),
    }
)


@strict
@dataclass(frozen=True, kw_only=True)
class Friction:
    """Friction of one joint, on the joint's side of the gear.

    `coulomb` is one number c, meaning (c, -c), or the pair (moving positive, moving negative).
    The laws and their constants: "coulomb"; "smooth" (velocity); "stribeck" (static_ratio,
    velocity); "grotjahn" (ratio); "lugre" (static_ratio, velocity, stiffness of the bristles in
    N m/rad, their damping in N m s/rad), which is "stribeck" wherever nothing is simulated.
    """

    viscous: Scalar = 0.0
    coulomb: Any = (0.0, 0.0)
    offset: Scalar = 0.0
    law: str = "coulomb"
    constants: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
        """The law's constants may be given as keywords of their own, as in a file."""
        law = given.get("law", "coulomb")
        own = LAWS.get(law, {}) if isinstance(law, str) else {}
        rest = {name: value for name, value in given.items() if name not in own}
        constants = {name: value for name, value in given.items() if name in own}
        named = rest.get("constants", {})
        if not isinstance(named, Mapping):
            raise ModelError(f"constants is {shown(named)}, expected numbers by name")
        return {**rest, "constants": {**named, **constants}}

    def __post_init__(self) -> None:
        if not isinstance(self.constants, Mapping):
            raise ModelError(f"constants is {shown(self.constants)}, expected numbers by name")
        if not is_word(self.law, LAWS):
            raise OptionError(
                f"friction law {shown(self.law)} does not exist", did_you_mean(self.law, LAWS)
            )
        unknown = [name for name in self.constants if name not in LAWS[self.law]]
        if unknown:
            raise OptionError(
                f"friction law {shown(self.law)} has no constant {unknown[0]!r}",
                did_you_mean(unknown[0], LAWS[self.law]),
            )
        given = {
            name: quantity(value, f"friction.{name}")
            for name, value in {**LAWS[self.law], **self.constants}.items()
        }
        for name, value in given.items():
            if isinstance(value, float) and not allowed(name, value):
                raise ModelError(f"friction.{name} is {value}, expected {bound(name)}")
        object.__setattr__(self, "viscous", quantity(self.viscous, "friction.viscous"))
        object.__setattr__(self, "offset", quantity(self.offset, "friction.offset"))
        object.__setattr__(self, "coulomb", coulomb_pair(self.coulomb, "friction.coulomb"))
        object.__setattr__(self, "constants", MappingProxyType(given))

    def __hash__(self) -> int:
        constants = tuple(sorted(self.constants.items()))
        return hash((self.viscous, self.coulomb, self.offset, self.law, constants))

    def __reduce__(self) -> tuple:
        return _friction, (self.viscous, self.coulomb, self.offset, self.law, dict(self.constants))


def _friction(viscous: Any, coulomb: Any, offset: Any, law: str, constants: dict) -> Friction:
    return Friction(viscous=viscous, coulomb=coulomb, offset=offset, law=law, constants=constants)


def allowed(name: str, value: float) -> bool:
    """Whether a law's constant may have this value."""
    least, itself = LEAST.get(name, (-math.inf, True))
    return value > least or (itself and value == least)


def bound(name: str) -> str:
    """The values a law's constant may have, in words."""
    least, itself = LEAST[name]
    return f"{'>=' if itself else '>'} {least:g}"


def coulomb_pair(value: Any, where: str) -> tuple[Scalar, Scalar]:
    """(moving positive, moving negative) from a pair, or (c, -c) from one number."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        c = quantity(value, where)
        if not isinstance(c, Expression):
            return c, -c
        return c, quantity(f"-({c.text})", where)
    return quantities(value, 2, where)  # type: ignore[return-value]
