"""Springs: forces between two links, or at a joint, that depend on where the arm is.

    linear    tension F = preload + stiffness (l - rest_length) + damping dl/dt
    torsion   torque against the joint's motion = preload + stiffness (q - rest_angle) + damping qd
    gas       tension F = force S(l) + damping dl/dt, with a shape S by `law`:
              "pull"   (gas_length / (gas_length - s))^exponent    s = l - rest_length
              "push"  -(gas_length / (gas_length + s))^exponent
              "table"  forces over lengths, straight in between and held beyond the ends

l is the distance of two points, each fixed in a link or in the base. F pulls them together.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from ..arguments import choice, is_list, strict
from ..errors import ModelError, counted, shown
from ..spatial.vectors import ZERO
from .force import End, Force
from .quantity import Scalar, quantities, quantity_text, settle
from .schema import About, refuse_other_fields, settle_fields

ENDS = ("from_", "from_point", "to", "to_point", "rest_length")
KINDS: Mapping[str, tuple[str, ...]] = {  # the fields each kind has
    "linear": (*ENDS, "stiffness", "preload"),
    "torsion": ("joint", "rest_angle", "stiffness", "preload"),
    "gas": (*ENDS, "law", "force", "gas_length", "exponent", "lengths", "forces"),
}
COEFFICIENTS: Mapping[str, tuple[str, ...]] = {  # what the torque is linear in, besides damping
    "linear": ("stiffness", "preload"),
    "torsion": ("stiffness", "preload"),
    "gas": ("force",),
}
LAWS = ("pull", "push", "table")
COMMON = ("kind", "name", "damping")


@strict
@dataclass(frozen=True, kw_only=True, repr=False)
class Spring(Force):
    """A spring, gas spring or counterbalance cylinder.

    dy.Spring(kind="linear", from_="base", from_point=(0.1, 0, 0.3), to="link2",
              to_point=(0.2, 0, 0), stiffness=2e4, rest_length=0.25)

    `from_` and `to` name links or the base (default), the points lie in their frames. A "linear"
    spring pulls with `preload` + `stiffness` (l - `rest_length`); a "torsion" spring sits at a
    `joint`; a "gas" spring follows its `law`: a cylinder that pulls ("pull": drawing it out
    compresses the gas) or pushes ("push"), `force` at `rest_length`, or a "table" of `forces` over
    `lengths`. In a file `from_` is written `from`.
    """

    kind: Annotated[str, About("linear, torsion or gas")] = "linear"
    name: Annotated[str | None, About("spring1, spring2, ...")] = None
    from_: Annotated[str | None, About("link, or the base", key="from", label="from")] = None
    from_point: Annotated[Any, About("in its frame", "m", 3)] = (0.0, 0.0, 0.0)
    to: Annotated[str | None, About("link, or the base")] = None
    to_point: Annotated[Any, About("in its frame", "m", 3)] = (0.0, 0.0, 0.0)
    joint: Annotated[str | None, About("torsion: where it sits", label="at joint")] = None
    stiffness: Annotated[Scalar, About("linear, torsion", "{stiffness}", least=0.0)] = 0.0
    rest_length: Annotated[Scalar, About("without force", "m")] = 0.0
    rest_angle: Annotated[Scalar, About("torsion: without torque", "rad")] = 0.0
    preload: Annotated[Scalar, About("at rest", "{torque}")] = 0.0
    damping: Annotated[Scalar, About("per rate of the length or angle", "{viscous}", least=0.0)] = (
        0.0
    )
    law: Annotated[str, About("gas: pull, push or table", label="gas law")] = "pull"
    force: Annotated[Scalar, About("gas: at rest_length; times the table", "N")] = 1.0
    gas_length: Annotated[
        Scalar | None, About("of the gas at rest_length, in travel of the piston", "m", above=0.0)
    ] = None
    exponent: Annotated[Scalar, About("gas: 1 is isothermal", "-", above=0.0)] = 1.0
    lengths: Annotated[Any, About("table: rising", "m", 0)] = None
    forces: Annotated[Any, About("table: at these lengths", "N", 0)] = None

    @staticmethod
    def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
        """`from` is no name in Python; files have it."""
        return {"from_" if name == "from" else name: value for name, value in given.items()}

    def __post_init__(self) -> None:
        choice(self.kind, "spring.kind", KINDS)
        refuse_other_fields(self, "spring", (*COMMON, *KINDS[self.kind]))
        settle_fields(self, "spring.")
        if self.kind == "gas":
            self._check_gas()

    def _check_gas(self) -> None:
        choice(self.law, "spring.law", LAWS)
        tabled = self.law == "table"
        for name in ("lengths", "forces"):
            if (getattr(self, name) is not None) != tabled:
                raise ModelError(
                    f"spring.{name} is {shown(getattr(self, name))} with law {self.law!r}, "
                    'expected numbers with law "table" and none without'
                )
        if tabled:
            self._check_table()
            return
        if self.gas_length is None:
            raise ModelError(
                "spring.gas_length is missing: the length of the gas column at rest_length, in "
                "units of the piston's travel"
            )
        if isinstance(self.force, float) and self.force < 0.0:
            raise ModelError(f"spring.force is {self.force}, expected >= 0: the law has the sign")

    def _check_table(self) -> None:
        rows = []
        for name in ("lengths", "forces"):
            given = getattr(self, name)
            if not is_list(given) or len(given) < 2:
                raise ModelError(f"spring.{name} is {shown(given)}, expected at least two numbers")
            row = quantities(given, len(given), f"spring.{name}")
            if not all(isinstance(x, float) for x in row):
                raise ModelError(f"spring.{name} holds a symbol, expected numbers")
            rows.append(row)
        lengths, forces = rows
        if len(lengths) != len(forces):
            raise ModelError(
                f"spring.forces has {counted(len(forces), 'entry')}, expected {len(lengths)}"
            )
        if not all(a < b for a, b in itertools.pairwise(lengths)):
            raise ModelError(f"spring.lengths is {shown(lengths)}, expected rising lengths")
        settle(self, lengths=lengths, forces=forces)

    def __repr__(self) -> str:
        own = {
            f: getattr(self, f)
            for f, x in self.__dataclass_fields__.items()
            if f == "kind" or getattr(self, f) != x.default
        }
        return f"Spring({', '.join(f'{name}={value!r}' for name, value in own.items())})"

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of what the torque is linear in; damping only where there is some."""
        return *COEFFICIENTS[self.kind], *(("damping",) if self.damping != 0.0 else ())

    @property
    def signed(self) -> Sequence[str]:
        """Coefficients that may be negative."""
        return ("preload",)

    @property
    def ends(self) -> Mapping[str, str]:
        """Both its ends; a torsion spring has none."""
        return {} if self.kind == "torsion" else {"from_": "from_point", "to": "to_point"}

    @property
    def joints(self) -> Sequence[str]:
        """The joint of a torsion spring."""
        return ("joint",) if self.kind == "torsion" else ()

    def _on_chain(
        self, ends: tuple[End, ...], joint: int, number: Callable[[Any], Any]
    ) -> "ChainSpring":
        """The spring with its points in joint frames."""
        coefficients = tuple(number(getattr(self, x)) for x in self.coefficients)
        if self.kind == "torsion":
            nowhere, rest = ((-1, ZERO), (-1, ZERO)), {"rest": number(self.rest_angle)}
            return ChainSpring(nowhere, joint, coefficients, "straight", rest)
        names = ("gas_length", "exponent", "lengths", "forces")
        given = {"rest": self.rest_length} | {x: getattr(self, x) for x in names}
        constants = {k: number(x) for k, x in given.items() if x is not None}
        law = "straight" if self.kind == "linear" else self.law
        return ChainSpring(ends, joint, coefficients, law, constants)


class ChainSpring(NamedTuple):
    """A spring on a chain: its ends or its joint, and what decides its force."""

    ends: tuple[End, ...]
    joint: int  # of a torsion spring
    coefficients: tuple[Any, ...]
    law: str  # "straight", or that of a gas spring
    constants: Mapping[str, Any]


SPRING_COLUMNS = ("spring", "acts", "by")


def spring_row(spring: Spring, base: str) -> tuple[str, str, str]:
    """For a table: name and kind, where it acts, and its numbers."""
    place = f"at {spring.joint}"
    if spring.kind != "torsion":
        place = f"{spring.from_ or base} to {spring.to or base}"
    words = [spring.law] if spring.kind == "gas" else []
    shape = ("rest_length", "rest_angle", "gas_length", "exponent")
    tabled = spring.kind == "gas" and spring.law == "table"
    own = () if tabled else tuple(name for name in shape if name in KINDS[spring.kind])
    for name in (*spring.coefficients, *own):
        words.append(f"{name.replace('_', ' ')} {quantity_text(getattr(spring, name))}")
    return f"{spring.name} ({spring.kind})", place, ", ".join(words)
