"""The devices of a board, simulated: from where the joints are to counts and codes, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...spatial.functions import Functions
from ...spatial.vectors import Scalars
from .board import Board
from .readings import TICKS, Readings
from .wiring import Channel

REGISTERS = ("counts", "latched", "index", "analog")


class Hardware:
    """Counters, index registers and converters of an arm; counters begin at 0 with the power.

    A pulse is seen between two samples, the last one of several; an arm that turns round between
    them may pass one unseen.
    """

    def __init__(self, board: Board, channels: Sequence[Channel]):
        n = len(channels)
        self.channels = channels
        self.inputs = board.of_joints("inputs", n)
        self.potentiometers = board.of_joints("potentiometers", n)

    def initial_state(self, q: Scalars, fn: Functions) -> dict[str, list[Any]]:
        """The state at power-up."""
        place = [fn.floor((a - c.zero) / c.scale + 0.5)
                 for a, c in zip(q, self.channels, strict=True)]  # fmt: skip
        still = [0.0 * a for a in q]
        origin = [0.0 * p if c.absolute else p for p, c in zip(place, self.channels, strict=True)]
        return {"place": place, "origin": origin, "tick": still[:1],
                **{name: list(still) for name in REGISTERS}}  # fmt: skip

    def read(
        self, x: Mapping[str, Scalars], q: Scalars, noise: Scalars, fn: Functions
    ) -> tuple[Readings, dict[str, list[Any]]]:
        """Readings of a sample, and the state after it."""
        new: dict[str, list[Any]] = {name: [] for name in ("place", *REGISTERS)}
        for i, c in enumerate(self.channels):
            before, origin = x["place"][i], x["origin"][i]
            place = fn.floor((q[i] - c.zero) / c.scale + 0.5)
            seen, at = self._index(c, before, place, fn)
            register = fn.select(seen > 0.0, _register(at - origin, c, fn), x["latched"][i])
            code = self._code(i, q[i], noise[i], fn)
            row = place, _register(place - origin, c, fn), register, seen, code
            for name, value in zip(("place", *REGISTERS), row, strict=True):
                new[name].append(value)
        tick = x["tick"][0]
        new["tick"] = [fn.select(tick >= TICKS - 1.0, 0.0, tick + 1.0)]
        readings = Readings(tick, *(new[name] for name in REGISTERS))
        return readings, {**new, "origin": list(x["origin"])}

    def _index(self, c: Channel, before: Any, place: Any, fn: Functions) -> tuple[Any, Any]:
        """Whether an index pulse came on the way, and the count where the last one was."""
        if c.index is None or c.absolute:
            return 0.0 * place, 0.0 * place
        turn, old = (fn.floor((v - c.index) / c.counts) for v in (place, before))
        at = c.index + c.counts * fn.select(turn > old, turn, turn + 1.0)
        return 1.0 * (turn > old) + 1.0 * (turn < old), at

    def _code(self, i: int, q: Any, noise: Any, fn: Functions) -> Any:
        """The code of a potentiometer: without contact the converter reads its lowest volts."""
        pot, given = self.potentiometers[i], self.inputs[i]
        if pot is None:
            return 0.0 * q
        low, high = pot.range[0] + pot.dead_band, pot.range[1] - pot.dead_band
        volts = pot.volts[0] + (q - pot.range[0]) / pot.slope + noise
        volts = fn.select((q >= low) * (q <= high), volts, given.range[0])
        code = fn.floor((volts - given.lowest) / given.step + 0.5)
        return fn.max(0.0, fn.min(code, 2.0**given.bits - 1.0))

    def torques(self, codes: Scalars) -> list[Any]:
        """Torques that converters, amplifiers and motors give for the codes."""
        given = zip(self.channels, codes, strict=True)
        return [c.per_volt * (c.lowest + c.step * code) for c, code in given]


def _register(count: Any, c: Channel, fn: Functions) -> Any:
    """A count as its counter shows it."""
    return count - c.modulus * fn.floor(count * (1.0 / c.modulus))
