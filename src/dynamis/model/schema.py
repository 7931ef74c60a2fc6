"""What the fields of a model mean: words, units, bounds and keys, beside the fields themselves.

    gear: Annotated[Scalar, About("motor turns per joint turn", "{gear}")] = 1.0

Readers and writers of files, tables of a robot, the editors of the studio, the reference and the
list of what other formats cannot hold read it here: a new field says it once.
"""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, NamedTuple

from ..errors import ModelError, shown
from .quantity import quantities, quantity, settle

UNITS: Mapping[str, Mapping[str, str]] = {  # by the kind of a joint
    "revolute": {
        "position": "rad", "velocity": "rad/s", "torque": "N m", "viscous": "N m s/rad",
        "stiffness": "N m/rad", "hardening": "N m/rad^3", "gear": "-",
    },
    "prismatic": {
        "position": "m", "velocity": "m/s", "torque": "N", "viscous": "N s/m",
        "stiffness": "N/m", "hardening": "N/m^3", "gear": "rad/m",
    },
}  # fmt: skip


class About(NamedTuple):
    """A field: what it means, the unit of its numbers, and what they may be.

    A unit in braces is that of UNITS by the kind of the joint; without a unit it holds no numbers.
    `count` numbers are read by `settle_fields`, 0: by its class. Numbers other than the default are
    from `least` on, or `above`. `feature` is what a format that has no place for it calls it.
    """

    meaning: str
    unit: str = ""
    count: int = 1
    label: str = ""
    key: str | None = ""
    least: float | None = None
    above: float | None = None
    group: str = ""
    feature: str = ""

    @property
    def bound(self) -> str:
        """Its bounds in words."""
        return f">= {self.least:g}" if self.least is not None else f"above {self.above:g}"

    def allows(self, value: Any) -> bool:
        """Whether a number is within its bounds; of a symbol nobody knows."""
        if not isinstance(value, float):
            return True
        low = self.least is None or value >= self.least
        return low and (self.above is None or value > self.above)

    def unit_of(self, kind: str = "") -> str:
        """Its unit at a joint of a kind; "SI" where that decides and is not known."""
        if "{" not in self.unit:
            return self.unit
        return self.unit.format(**UNITS[kind]) if kind else "SI"

    @property
    def heading(self) -> str:
        """Its label with the unit; units of joints stay in braces."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@cache
def schema(kind: type) -> Mapping[str, About]:
    """Every field of a class of the model; labels and keys are its name where none is given."""
    found = {}
    for field in fields(kind):
        own: About = field.type.__metadata__[0]  # type: ignore[union-attr]
        label, name = field.name.replace("_", " "), field.name
        key = name if own.key == "" else own.key
        found[name] = own._replace(label=own.label or label, key=key, feature=own.feature or label)
    return found


@cache
def keys(kind: type) -> tuple[str, ...]:
    """Keys of a class in files."""
    return tuple(x.key for x in schema(kind).values() if x.key is not None)


def is_default(data: Any, name: str) -> bool:
    """Whether a field of some data has nothing but its default."""
    field = data.__dataclass_fields__[name]
    made = field.default_factory
    return getattr(data, name) == (field.default if made is MISSING else made())


def changed_fields(data: Any) -> list[str]:
    """Fields of some data that are not as by default."""
    return [name for name in schema(type(data)) if not is_default(data, name)]


def settle_fields(data: Any, where: str) -> None:
    """Read the quantities of frozen data while it is being made, and check their bounds.

    None stays where it is the default.
    """
    for name, own in schema(type(data)).items():
        value = getattr(data, name)
        default = data.__dataclass_fields__[name].default
        if not own.unit or not own.count or (value is None and default is None):
            continue
        place = f"{where}{name.rstrip('_')}"
        if own.count == 1:
            read = quantity(value, place)
            numbers = (read,)
        else:
            read = numbers = quantities(value, own.count, place)
        for number in numbers if read != default else ():
            if not own.allows(number):
                raise ModelError(f"{place} is {number}, expected {own.bound}")
        settle(data, **{name: read})


def refuse_other_fields(data: Any, what: str, own: Collection[str]) -> None:
    """Refuse fields of another kind: all that are given must be among its `own`."""
    for name, field in data.__dataclass_fields__.items():
        given = getattr(data, name)
        plain = given is None or isinstance(given, (str, int, float, tuple))
        if name not in own and not (plain and given == field.default):
            hidden = {x for x in own if schema(type(data))[x].key is None}
            raise ModelError(
                f"{what}.{name.rstrip('_')} is {shown(given)}, which kind {data.kind!r} does not "
                f"have; it has {', '.join(x.rstrip('_') for x in own if x not in hidden)}"
            )
