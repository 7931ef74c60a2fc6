"""From an algorithm to numbers: the one door between the user's arrays and the kernels.

A batch is a scalar that happens to be an array: the last axes of every argument are its vector or
matrix, the leading axes broadcast. A single sample runs on plain floats.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arguments import whole
from ..errors import OptionError, ShapeError, shown
from ..spatial.functions import MATH, Functions

NUMPY = Functions(
    sin=np.sin,
    cos=np.cos,
    sqrt=np.sqrt,
    exp=np.exp,
    tanh=np.tanh,
    sign=np.sign,
    min=np.minimum,
    max=np.maximum,
    select=np.where,
    floor=np.floor,
)

DTYPES = ("float64", "float32")
MOST_THREADS = 4096


def numbers(value: Any, name: str, expected: str) -> np.ndarray:
    """`value` as a float64 array of any shape; what a masked array hides is NaN.

    Texts, objects, booleans and complex numbers are refused: none of them is a measurement.
    """
    if value is None:
        raise ShapeError(f"{name} is None, {expected}")
    try:
        array = np.asarray(value if type(value) is np.ndarray else unmasked(value))
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:  # ragged lists and others
        raise ShapeError(f"{name} is not a rectangular array ({error}), {expected}") from None
    if array.dtype.kind not in "fiu":
        raise ShapeError(f"{name} holds {array.dtype}, {expected}")
    return array.astype(np.float64, copy=False)


def unmasked(value: Any) -> Any:
    """What masked arrays hide as NaN, also those inside lists: it is missing, not measured."""
    ma = sys.modules.get("numpy.ma")
    if ma is None:  # nobody has made a masked array
        return value
    if isinstance(value, ma.MaskedArray):
        plain = value.dtype.kind in "fiu" and ma.is_masked(value)
        return value.astype(np.float64).filled(np.nan) if plain else value.filled()
    if isinstance(value, (list, tuple)) and any(
        isinstance(x, (list, tuple, ma.MaskedArray)) for x in value
    ):
        return [unmasked(x) for x in value]
    return value


def as_batch(value: Any, name: str, core: tuple[int, ...], what: str) -> np.ndarray:
    """`value` as a float64 array whose last axes are `core`; errors name the argument."""
    expected = f"expected numbers of shape (..., {', '.join(map(str, core))}) for {what}"
    array = numbers(value, name, expected)
    if array.shape[array.ndim - len(core) :] != core or array.ndim < len(core):
        raise ShapeError(f"{name} has shape {array.shape}, {expected}")
    return array


def batch_shape(names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Common leading shape of the arguments."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        given = ", ".join(f"{n}: {s}" for n, s in zip(names, shapes, strict=True))
        raise ShapeError(
            f"leading axes do not broadcast ({given}), expected equal sizes or 1"
        ) from None


def evaluate(
    function: Callable[..., Any],
    arguments: Sequence[np.ndarray],
    core_dims: Sequence[int],
    output: tuple[int, ...],
    names: Sequence[str],
    out: np.ndarray | None = None,
    dtype: Any = None,
    threads: int | None = None,
) -> np.ndarray:
    """`function(scalars..., fn)` over every sample; the result has shape (..., *output).

    An argument's last `core_dims` axes reach the function as nested lists of scalars.
    """
    kind = checked_dtype(dtype)
    checked_threads(threads)
    leading = [a.shape[: a.ndim - d] for a, d in zip(arguments, core_dims, strict=True)]
    shape = batch_shape(names, leading)
    result = destination(out, (*shape, *output), kind)
    if shape == ():
        result[...] = np.array(function(*(a.tolist() for a in arguments), MATH), dtype=np.float64)
        return result
    scalars = [_split(a, d) for a, d in zip(arguments, core_dims, strict=True)]
    with np.errstate(all="ignore"):
        leaves = function(*scalars, NUMPY)
    _store(leaves, result, len(shape))
    return result


def checked_dtype(dtype: Any) -> np.dtype:
    """float64 (default) or float32."""
    try:
        kind = np.dtype(np.float64 if dtype is None else dtype)
    except Exception:  # NumPy raises what it likes here
        raise OptionError(f"dtype is {shown(dtype)}, expected float64 or float32") from None
    if kind.name not in DTYPES:
        raise OptionError(f"dtype is {kind.name}, expected float64 or float32")
    return kind


def checked_threads(threads: Any) -> None:
    """None or a positive whole number."""
    if threads is not None:
        whole(threads, "threads", most=MOST_THREADS)


def destinations(out: Any, shapes: list[tuple[int, ...]], dtype: np.dtype) -> list[np.ndarray]:
    """Where results go: new arrays, or the user's own."""
    if out is None:
        return [np.empty(shape, dtype) for shape in shapes]
    given = [out] if len(shapes) == 1 else out
    if not isinstance(given, (list, tuple)) or len(given) != len(shapes):
        raise ShapeError(f"out is {type(out).__name__}, expected {len(shapes)} arrays")
    return [destination(o, shape, dtype) for o, shape in zip(given, shapes, strict=True)]


def destination(out: Any, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    """The user's own array for a result, checked; or a new one."""
    if out is None:
        return np.empty(shape, kind)
    if not isinstance(out, np.ndarray) or out.shape != shape:
        given = out.shape if isinstance(out, np.ndarray) else type(out).__name__
        raise ShapeError(f"out is {given}, expected an array of shape {shape}")
    if out.dtype != kind:
        raise ShapeError(f"out holds {out.dtype}, expected a writable array of {kind.name}")
    if hasattr(out, "mask"):
        raise ShapeError("out is a masked array, expected a plain one: results have no mask")
    if not out.flags.writeable:
        raise ShapeError(f"out is read-only, expected a writable array of {kind.name}")
    return out


def _split(array: np.ndarray, dims: int) -> Any:
    """Nested lists of scalars, each an array over the batch."""
    if dims == 0:
        return array
    moved = np.moveaxis(array, array.ndim - dims, 0)
    return [_split(np.ascontiguousarray(item), dims - 1) for item in moved]


def _store(leaves: Any, result: np.ndarray, batch: int) -> None:
    if result.ndim == batch:
        result[...] = leaves
        return
    for i, leaf in enumerate(leaves):
        _store(leaf, result[(slice(None),) * batch + (i,)], batch)
