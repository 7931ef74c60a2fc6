"""The numbers a trajectory is built from, checked: errors name the argument."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compile import arrays
from ..errors import OptionError, ShapeError


def numbers(value: Any, name: str, expected: str) -> np.ndarray:
    """A float64 array of finite numbers."""
    return arrays.finite(arrays.numbers(value, name, f"expected {expected}"), name).copy()


def vectors(given: dict[str, Any]) -> list[tuple[float, ...]]:
    """One number per joint for each argument; a single number stands for every joint."""
    arrays = {
        name: numbers(value, name, "one number per joint, or one for all of them")
        for name, value in given.items()
    }
    for name, array in arrays.items():
        if array.ndim > 1 or array.size == 0:
            raise ShapeError(f"{name} has shape {array.shape}, expected (n,): a number per joint")
    sizes = {name: len(array) for name, array in arrays.items() if array.ndim == 1}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise ShapeError(f"lengths differ ({listed})", "give a number per joint in every argument")
    n = max(sizes.values(), default=1)
    return [tuple(np.broadcast_to(array, (n,)).tolist()) for array in arrays.values()]


def all_positive(values: Sequence[float], name: str) -> None:
    """Every number above zero."""
    if not all(v > 0 for v in values):
        raise OptionError(f"{name} is {list(values)}, expected numbers above 0")


def increasing(value: Any, name: str) -> np.ndarray:
    """Two or more numbers, each above the one before."""
    array = numbers(value, name, "increasing numbers")
    if array.ndim != 1 or len(array) < 2:
        raise ShapeError(f"{name} has shape {array.shape}, expected two or more increasing numbers")
    if not (np.diff(array) > 0).all():
        first = int(np.flatnonzero(np.diff(array) <= 0)[0])
        raise OptionError(
            f"{name}[{first + 1}] = {array[first + 1]:g} does not come after "
            f"{name}[{first}] = {array[first]:g}, expected increasing numbers"
        )
    return array
