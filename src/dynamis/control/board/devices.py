"""Encoders, resolvers, potentiometers, A/D and D/A converters: data that check themselves."""

from dataclasses import dataclass
from typing import Annotated, Any

from ...arguments import is_whole, strict, whole
from ...errors import ModelError, shown
from ...model.quantity import Expression
from ...model.schema import About, schema, settle_fields

MOST_BITS, FEWEST_BITS = 32, 8  # of a counter
CONVERTER_BITS = 24  # at most
MOST_COUNTS = 2**24  # per motor turn
WAYS = (-1, 1)


@strict
@dataclass(frozen=True, kw_only=True)
class Encoder:
    """An incremental encoder on the motor, with the counter that is read.

    `counts` are those of a motor turn as they are counted (four per line of a quadrature encoder),
    in a counter of `bits`, which overflows. The joint is at `zero` at count 0, and once a turn, at
    count `index`, a pulse keeps the count in a register; None: there is none. `direction` -1:
    counts fall where the motor turns forward.
    """

    counts: Annotated[int, About("of a motor turn, after quadrature", "1/turn", 0)]
    bits: Annotated[int, About("of the counter", "bit", 0)] = 16
    direction: Annotated[int, About("of counting: 1 or -1", "-", 0)] = 1
    index: Annotated[int | None, About("count of the index pulse within a turn", "1", 0)] = 0
    zero: Annotated[float, About("the joint at count 0", "{position}")] = 0.0

    def __post_init__(self) -> None:
        check_numbers(self, "encoder.")
        whole(self.counts, "encoder.counts", 4, MOST_COUNTS)
        whole(self.bits, "encoder.bits", FEWEST_BITS, MOST_BITS)
        _way(self.direction, "encoder.direction")
        if self.index is not None:
            whole(self.index, "encoder.index", 0, self.counts - 1)
        if self.counts >= 2**self.bits and self.index is not None:
            raise ModelError(
                f"encoder.counts is {self.counts}, a counter of {self.bits} bits holds "
                f"{2**self.bits}: a turn, and with it the index, is lost in its overflow",
                "give a counter with more bits, or index=None",
            )


@strict
@dataclass(frozen=True, kw_only=True)
class Resolver:
    """A resolver on the motor with its converter: `bits` a turn, absolute within the turn.

    The joint is at `zero` where it shows 0 in the turn that potentiometer or parking tell.
    """

    bits: Annotated[int, About("of a turn", "bit", 0)] = 12
    direction: Annotated[int, About("of counting: 1 or -1", "-", 0)] = 1
    zero: Annotated[float, About("the joint at count 0", "{position}")] = 0.0

    def __post_init__(self) -> None:
        check_numbers(self, "resolver.")
        whole(self.bits, "resolver.bits", FEWEST_BITS, CONVERTER_BITS)
        _way(self.direction, "resolver.direction")

    @property
    def counts(self) -> int:
        """Of a motor turn."""
        return int(2**self.bits)

    @property
    def index(self) -> int:
        """The count that is the same in every turn: all of them are."""
        return 0


@strict
@dataclass(frozen=True, kw_only=True)
class Potentiometer:
    """A potentiometer on the joint: at the ends of its `range` it gives the `volts`.

    `noise` is the standard deviation of a reading. In the `dead_band` at either end the wiper
    touches nothing, and the input of the converter falls to its lowest volts. Of an elastic joint
    it is on the motor's side of the gear.
    """

    range: Annotated[Any, About("joint at both ends of the track", "{position}", 2)]
    volts: Annotated[Any, About("there", "V", 2)] = (0.0, 5.0)
    noise: Annotated[float, About("standard deviation", "V", least=0.0)] = 0.0
    dead_band: Annotated[float, About("without contact at either end", "{position}", least=0.0)] = (
        0.0
    )

    def __post_init__(self) -> None:
        check_numbers(self, "potentiometer.")
        low, high = self.range
        if not low < high:
            raise ModelError(
                f"potentiometer.range is {shown(self.range)}, expected lowest, highest"
            )
        if self.volts[0] == self.volts[1]:
            raise ModelError(
                f"potentiometer.volts is {shown(self.volts)}, expected two that differ"
            )
        if not 2.0 * self.dead_band < high - low:
            raise ModelError(
                f"potentiometer.dead_band is {self.dead_band:g}, at both ends of a range of "
                f"{high - low:g}: nothing is left between them"
            )

    @property
    def slope(self) -> float:
        """Joint per volt."""
        return (self.range[1] - self.range[0]) / (self.volts[1] - self.volts[0])


@dataclass(frozen=True, kw_only=True)
class Converter:
    """Code k is lowest + offset + k (highest - lowest) / 2^bits volts."""

    bits: Annotated[int, About("of a code", "bit", 0)] = 12
    range: Annotated[Any, About("lowest, highest", "V", 2)] = (-10.0, 10.0)
    offset: Annotated[float, About("as calibrated", "V")] = 0.0

    def __post_init__(self) -> None:
        name = type(self).__name__.removeprefix("Analog").lower()
        check_numbers(self, f"{name}.")
        whole(self.bits, f"{name}.bits", 4, CONVERTER_BITS)
        low, high = self.range
        if not low < high:
            raise ModelError(f"{name}.range is {shown(self.range)}, expected lowest, highest volts")
        if abs(self.offset) >= high - low:
            raise ModelError(f"{name}.offset is {self.offset:g} V, more than its whole range")

    @property
    def step(self) -> float:
        """Volts of a code."""
        return (self.range[1] - self.range[0]) / 2**self.bits

    @property
    def lowest(self) -> float:
        """Volts of code 0."""
        return self.range[0] + self.offset


@strict
@dataclass(frozen=True, kw_only=True)
class AnalogInput(Converter):
    """An A/D converter: code k stands for lowest + offset + k (highest - lowest) / 2^bits volts."""


@strict
@dataclass(frozen=True, kw_only=True)
class AnalogOutput(Converter):
    """A D/A converter: code k gives lowest + offset + k (highest - lowest) / 2^bits volts."""


def check_numbers(data: Any, where: str) -> None:
    """Read the quantities of a device while it is being made; symbols are refused."""
    settle_fields(data, where)
    for name in schema(type(data)):
        value = getattr(data, name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Expression):
                raise ModelError(f"{where}{name} is {shown(str(one))}, expected a number")


def _way(value: Any, name: str) -> None:
    if not is_whole(value) or int(value) not in WAYS:
        raise ModelError(f"{name} is {shown(value)}, expected 1 or -1")
