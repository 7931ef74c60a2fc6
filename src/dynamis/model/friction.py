"""Joint friction: its linear coefficients, and the law that shapes them over velocity.

tau_f = viscous * V(qd) + coulomb_plus * P(qd) + coulomb_minus * N(qd) + offset
        + load * (P(qd) - N(qd)) * |T| + memory

and, with a law of one's own, what it gives: the shapes are then those of "coulomb".

The coefficients are parameters; the constants inside V, P, N and `load` are not, as the torque is
not linear in them. T is the torque that the joint transmits: all it needs but friction. The shapes
themselves are in `dynamis.dynamics.elements.friction`, one row per law.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

from ..arguments import known_options, number, one_of, strict
from ..errors import ModelError, shown
from .law import UserLaw, friction_law
from .memory import Memory
from .quantity import Expression, Scalar, quantities, quantity, settle
from .schema import About, settle_fields

Pair = tuple[Scalar, Scalar]
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

CONSTANTS: Mapping[str, About] = {  # of the laws
    "static_ratio": About("at rest per sliding", "-", label="static ratio", least=1.0),
    "velocity": About("where the law bends", "{velocity}", label="velocity", above=0.0),
    "ratio": About("of the law's second term", "-", label="ratio"),
    "stiffness": About("of the bristles", "{stiffness}", label="bristles", above=0.0),
    "damping": About("of the bristles", "{viscous}", label="their damping", least=0.0),
}
LAW = "friction laws other than Coulomb's"
Heat = partial(About, feature="friction by temperature")


@strict
@dataclass(frozen=True, kw_only=True)
class Friction:
    """Friction of one joint, on the joint's side of the gear.

    `coulomb` is one number c, meaning (c, -c), or the pair (moving positive, moving negative).
    The laws and their constants: "coulomb"; "smooth" (velocity); "stribeck" (static_ratio,
    velocity); "grotjahn" (ratio); "lugre" (static_ratio, velocity, stiffness of the bristles in
    N m/rad, their damping in N m s/rad), which is "stribeck" wherever nothing is simulated. `law`
    may also be an instance of a frozen dataclass of your own with torque(self, qd, direction,
    constants, fn), and with states of its own; viscous, coulomb and offset are zero unless given,
    and add to it.
    `viscous` is one number or the pair (moving positive, moving negative). `load` is friction per
    torque that the joint transmits to its link (gravity, inertia, springs, forces at the tool):
    0.1 is a gear that loses a tenth of what it carries.

    Viscous friction changes with the temperature of the joint (deg C), by the factor
    1 + temperature_slope (temperature - reference_temperature), never below zero; `viscous` is that
    of the reference. A simulated joint warms up from there by the power P of its friction: by two
    rises, of gear and housing, heating_time d(rise)/dt = heating P - rise.

    `memory` is a `dy.Memory`: hysteresis of a joint that moves a little and turns back, in
    simulations and `dy.torque_along`. What knows no motion in time has it at its largest, with the
    sign of qd.
    """

    viscous: Annotated[
        Any,
        About(
            "per velocity; or moving positive, negative",
            "{viscous}",
            0,
            feature="viscous friction by direction (its mean is taken)",
        ),
    ] = 0.0
    coulomb: Annotated[
        Any,
        About(
            "c for (c, -c), or moving positive, negative",
            "{torque}",
            0,
            label="Coulomb",
            feature="asymmetric Coulomb friction (its mean is taken)",
        ),
    ] = (0.0, 0.0)
    offset: Annotated[Scalar, About("a constant bias", "{torque}", feature="friction offsets")] = (
        0.0
    )
    load: Annotated[
        Scalar, About("per transmitted torque, below 1", "-", feature="friction under load")
    ] = 0.0
    temperature_slope: Annotated[Scalar, Heat("of viscous friction", "1/K")] = 0.0
    reference_temperature: Annotated[
        Scalar, Heat("where `viscous` holds", "deg C", label="reference")
    ] = 25.0
    heating: Annotated[Pair, Heat("of gear, housing by friction", "K/W", 2, least=0.0)] = (0.0, 0.0)
    heating_time: Annotated[Pair, Heat("time constants of both", "s", 2, above=0.0)] = (
        120.0,
        3600.0,
    )
    memory: Annotated[
        Memory | None,
        About("torque at radius", "{torque} at {position}", 0, feature="friction with memory"),
    ] = None
    law: Annotated[Any, About("its shape over velocity", feature=LAW)] = "coulomb"
    constants: Annotated[
        Mapping[str, float], About("of the law, beside it in a file", key=None, feature=LAW)
    ] = field(default_factory=dict)

    @staticmethod
    def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
        """The law's constants may be given as keywords of their own, as in a file."""
        law = given.get("law", "coulomb")
        own = LAWS.get(law, {}) if isinstance(law, str) else {}
        known_options(given, (*Friction.__dataclass_fields__, *own), "Friction has no keyword")
        rest = {name: value for name, value in given.items() if name not in own}
        constants = {name: value for name, value in given.items() if name in own}
        named = rest.get("constants", {})
        if not isinstance(named, Mapping):
            raise ModelError(f"constants is {shown(named)}, expected numbers by name")
        return {**rest, "constants": {**named, **constants}}

    def __post_init__(self) -> None:
        law = f"friction law {shown(self.law)}"
        known: Mapping[str, float] = {}
        if isinstance(self.law, UserLaw) or is_dataclass(self.law) or hasattr(self.law, "torque"):
            settle(self, law=friction_law(self.law))
        else:
            one_of(self.law, LAWS, f"{law} does not exist")
            known = LAWS[self.law]
        for name in self.constants:
            one_of(name, known, f"{law} has no constant {name!r}")
        given = {
            name: quantity(value, f"friction.{name}")
            for name, value in {**known, **self.constants}.items()
        }
        for name, value in given.items():
            if not CONSTANTS[name].allows(value):
                raise ModelError(f"friction.{name} is {value}, expected {CONSTANTS[name].bound}")
        settle_fields(self, "friction.")
        coulomb = coulomb_pair(self.coulomb, "friction.coulomb")
        settle(self, viscous=_viscous(self.viscous), coulomb=coulomb)
        settle(self, constants=MappingProxyType(given))
        if not isinstance(self.memory, Memory | None):
            raise ModelError(f"friction.memory is {shown(self.memory)}, expected dy.Memory(...)")
        if self.memory is not None and self.law == "lugre":
            raise ModelError(
                "friction has memory beside law 'lugre', whose bristles stretch too",
                "use another law, or the bristles alone",
            )
        self._check_load()

    def at_temperature(self, temperature: float) -> "Friction":
        """The friction whose reference temperature is this one: of the same joint, warm or cold."""
        temperature = number(temperature, "temperature", "a number of deg C")
        if self.temperature_slope == 0.0:
            return replace(self, reference_temperature=temperature)
        given = (*sides(self.viscous), self.temperature_slope, self.reference_temperature)
        if any(isinstance(x, Expression) for x in given):
            raise ModelError(
                "friction with symbols has no temperature", "give the symbols values first"
            )
        change: Any = self.temperature_slope * (temperature - self.reference_temperature)  # type: ignore[operator]
        if not change > -1.0:
            raise ModelError(
                f"at {temperature:g} deg C no viscous friction is left: temperature_slope is "
                f"{self.temperature_slope:g} from {self.reference_temperature:g} deg C on",
                "a slope holds near its reference_temperature only",
            )
        factor: Any = 1.0 + change
        viscous = tuple(x * factor for x in sides(self.viscous))
        return replace(
            self,
            viscous=viscous if isinstance(self.viscous, tuple) else viscous[0],
            temperature_slope=self.temperature_slope / factor,
            reference_temperature=temperature,
        )

    def _check_load(self) -> None:
        """Whether a torque on the motor's side belongs to one on the joint's side only."""
        if not isinstance(self.load, float) or self.load == 0.0:
            return
        most = self.constants.get("static_ratio", 1.0)
        grown = self.load * (most if isinstance(most, float) else 1.0)
        if not 0.0 < grown < 1.0:
            at_rest = " times static_ratio" if grown != self.load else ""
            raise ModelError(
                f"friction.load{at_rest} is {grown:g}, expected 0 to below 1: from 1 on the joint "
                "locks itself, no torque moves it",
                "give the share of the transmitted torque that friction takes, such as 0.1",
            )
        if self.law == "lugre":
            raise ModelError(
                f"friction.load is {self.load:g} with law 'lugre', whose bristles know no load",
                "use law 'stribeck'",
            )

    @property
    def own(self) -> UserLaw | None:
        """The law of the user's own."""
        return self.law if isinstance(self.law, UserLaw) else None

    @property
    def linear(self) -> tuple[str, ...]:
        """Constants of a law of the user's own that are parameters."""
        return () if self.own is None else self.own.linear

    def __hash__(self) -> int:
        constants = tuple(sorted(self.constants.items()))
        numbers = (self.viscous, self.coulomb, self.offset, self.load, self.temperature_slope)
        return hash((*numbers, self.memory, self.law, constants))

    def __reduce__(self) -> tuple:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return partial(Friction, **given | {"constants": dict(self.constants)}), ()


def sides(viscous: Any) -> tuple[Scalar, Scalar]:
    """Viscous friction moving positive and moving negative."""
    return viscous if isinstance(viscous, tuple) else (viscous, viscous)


def _viscous(value: Any) -> Scalar | tuple[Scalar, Scalar]:
    """One number, or the pair (moving positive, moving negative)."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return quantity(value, "friction.viscous")
    return quantities(value, 2, "friction.viscous")  # type: ignore[return-value]


def coulomb_pair(value: Any, where: str) -> tuple[Scalar, Scalar]:
    """(moving positive, moving negative) from a pair, or (c, -c) from one number."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        c = quantity(value, where)
        if not isinstance(c, Expression):
            return c, -c
        return c, quantity(f"-({c.text})", where)
    return quantities(value, 2, where)  # type: ignore[return-value]
