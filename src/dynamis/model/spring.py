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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..arguments import choice, is_list, strict
from ..errors import ModelError, counted, shown
from .quantity import Scalar, quantities, quantity_text, settle, settle_quantities

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
class Spring:
    """A spring, gas spring or counterbalance cylinder.

    dy.Spring(kind="linear", from_="base", from_point=(0.1, 0, 0.3), to="link2",
              to_point=(0.2, 0, 0), stiffness=2e4, rest_length=0.25)

    `from_` and `to` name links or the base (default), the points lie in their frames. A "linear"
    spring pulls with `preload` + `stiffness` (l - `rest_length`); a "torsion" spring sits at a
    `joint`; a "gas" spring follows its `law`: a cylinder that pulls ("pull": drawing it out
    compresses the gas) or pushes ("push"), `force` at `rest_length`, or a "table" of `forces` over
    `lengths`. In a file `from_` is written `from`.
    """

    kind: str = "linear"
    name: str | None = None
    from_: str | None = None
    from_point: Any = (0.0, 0.0, 0.0)
    to: str | None = None
    to_point: Any = (0.0, 0.0, 0.0)
    joint: str | None = None
    stiffness: Scalar = 0.0
    rest_length: Scalar = 0.0
    rest_angle: Scalar = 0.0
    preload: Scalar = 0.0
    damping: Scalar = 0.0
    law: str = "pull"
    force: Scalar = 1.0
    gas_length: Scalar | None = None
    exponent: Scalar = 1.0
    lengths: Any = None
    forces: Any = None

    @staticmethod
    def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
        """`from` is no name in Python; files have it."""
        return {"from_" if name == "from" else name: value for name, value in given.items()}

    def __post_init__(self) -> None:
        choice(self.kind, "spring.kind", KINDS)
        own = (*COMMON, *KINDS[self.kind])
        for name, field in self.__dataclass_fields__.items():
            given = getattr(self, name)
            plain = given is None or isinstance(given, (str, int, float, tuple))
            if name not in own and not (plain and given == field.default):
                raise ModelError(
                    f"spring.{name.rstrip('_')} is {shown(given)}, which kind "
                    f"{self.kind!r} does not have; it has "
                    f"{', '.join(x.rstrip('_') for x in own)}"
                )
        points = dict.fromkeys(("from_point", "to_point"), 3)
        numbers = ("stiffness", "rest_length", "rest_angle", "preload", "damping", "force")
        settle_quantities(self, "spring.", **points, **dict.fromkeys(numbers, 1))
        settle_quantities(self, "spring.", gas_length=1, exponent=1)
        for name in ("stiffness", "damping"):
            if isinstance(value := getattr(self, name), float) and value < 0.0:
                raise ModelError(f"spring.{name} is {value}, expected >= 0")
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
        for name in ("gas_length", "exponent"):
            if isinstance(value := getattr(self, name), float) and not value > 0.0:
                raise ModelError(f"spring.{name} is {value}, expected above 0")
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
