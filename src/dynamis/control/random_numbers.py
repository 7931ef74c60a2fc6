"""Random numbers by counting: seed, stream and sample decide each, whatever was drawn before.

Philox counted by (sample, member, stream) under the key `seed` gives uniform numbers; Box and
Muller make them normal, in machine code whose bits are those of every machine.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..compile.arrays import NUMPY, run
from ..compile.service import Key, Ports, compiled, compiling, share, traced
from ..spatial.functions import Functions

POSITIONS, TORQUES, SAMPLES, CHAINS = 1, 2, 3, 4  # streams
COUNT = 4  # numbers that one count of Philox gives
TOGETHER = 8192  # samples that one thread draws


def uniform(
    seed: int, stream: int, first: int, count: int, width: int, member: int = 0,
    threads: int | None = 1,
) -> np.ndarray:  # fmt: skip
    """Numbers above 0 and up to 1 of `count` samples from `first` on, (count, width)."""
    blocks = -(-width // COUNT)
    key = np.array([seed % 2**64, seed >> 64], dtype=np.uint64)
    found = np.empty((count, blocks * COUNT))

    def fill(a: int, b: int) -> None:
        start = np.array([(first + a) * blocks, member, stream, 0], dtype=np.uint64)
        made, rows = np.random.Generator(np.random.Philox(counter=start, key=key)), found[a:b]
        made.random(out=rows)  # whole multiples of 2^-53, from 0 on
        rows += 2.0**-53

    share(fill, pairwise([*range(0, count, TOGETHER), count]), threads or 1)
    return found[:, :width]


def normal(u: np.ndarray, threads: int | None = 1) -> np.ndarray:
    """Standard normal numbers (..., k) from uniform ones (..., k); k is even."""
    return BOX_MULLER(u.reshape(-1, 2), threads).reshape(u.shape)


class RowFunction:
    """A function of scalars over the rows of an array: machine code, or NumPy without it.

    `key` decides what it computes.
    """

    def __init__(
        self, name: str, function: Callable[[Any, Functions], Any], inputs: int, outputs: int,
        key: Key = (),
    ):  # fmt: skip
        self.name, self.function, self.key = name, function, (name, *key)
        self.ports = Ports(("x",), ((inputs,),), ("y",), ((outputs,),))

    def __call__(self, x: np.ndarray, threads: int | None = 1) -> np.ndarray:
        """Results (N, outputs) of rows (N, inputs)."""
        if not compiling():
            with np.errstate(all="ignore"):
                columns = self.function(list(x.T), NUMPY)
            return np.stack([np.broadcast_to(c, len(x)) for c in columns], axis=-1)
        code = compiled(self.key, self._program, self.ports, "float64", what=self.name)
        return run(code, [x], ("x",), threads=threads)

    def _program(self) -> Any:
        (inputs,), (outputs,) = self.ports.input_shapes, self.ports.output_shapes
        return traced(self.name, self.function, {"x": inputs}, {"y": outputs})


def _box_muller(u: Any, fn: Functions) -> list[Any]:
    radius, angle = fn.sqrt(-2.0 * fn.log(u[0])), 2.0 * math.pi * u[1]
    return [radius * fn.cos(angle), radius * fn.sin(angle)]


BOX_MULLER = RowFunction("box_muller", _box_muller, 2, 2)
