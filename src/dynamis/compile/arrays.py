"""Arrays in and out of kernels: checks, broadcasting, evaluation by compiled code or over NumPy.

The last axes of every argument are its vector or matrix, the leading axes broadcast. The C callable
`Fast` does this for arrays and lists of numbers; what is here says what is right, takes what is
rare, and explains what is wrong.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import update_wrapper
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import flag, known_options, whole
from ..errors import DynamisError, OptionError, ShapeError, counted, shown
from ..spatial.functions import MATH, Functions

try:
    from .. import _fast
    from .._fast import Fast
except ImportError:  # no C compiler when the package was installed: calls take the slower path
    Fast = None

if TYPE_CHECKING:
    from .service import Code

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
    log=np.log,
    atan2=np.arctan2,
)

CALL_OPTIONS = {"out": None, "threads": None, "dtype": None, "fused": False}  # their defaults
DTYPES = ("float64", "float32")
MOST_THREADS = 4096
CLOSED_FORMS = (
    "closed forms in SymPy: robot.equations() has .fk, .jacobian, .M, .C, .g and .tau, "
    "and .steps shows the derivation"
)
Hint = Callable[[str, tuple[int, ...]], str | None]  # for an argument of a wrong shape, by its name
PLAIN = (np.ndarray, list, tuple, float, int, type(None))


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
    if array.dtype.kind in "US":
        degrees = any("deg" in str(x) or "°" in str(x) for x in array.flat)
        hint = "np.radians([30, 45]) is 30 and 45 degrees in radians" if degrees else None
        raise ShapeError(f"{name} holds text, {expected}", hint)
    if array.dtype.kind not in "fiu":
        if any(hasattr(x, "free_symbols") for x in array.flat):
            raise ShapeError(f"{name} holds symbols of SymPy, {expected}", CLOSED_FORMS)
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


def foreign(values: Iterable[Any]) -> bool:
    """Whether any of them may be an array of another library than NumPy."""
    return any(not isinstance(value, PLAIN) for value in values)


def as_batch(
    value: Any, name: str, core: tuple[int, ...], what: str, hint: Hint | None = None
) -> np.ndarray:
    """`value` as a float64 array whose last axes are `core`; errors name the argument."""
    plain = type(value) is np.ndarray and value.dtype == np.float64
    if plain and value.shape[value.ndim - len(core) :] == core:
        return value  # most
    array = numbers(value, name, _expected(core, what))
    refuse_shape(array.shape, name, core, what, hint)
    return array


def refuse_shape(
    shape: tuple[int, ...],
    name: str,
    core: tuple[int, ...],
    what: str,
    hint: Hint | None = None,
) -> None:
    """Refuse a shape whose last axes are not `core`; the error names the argument."""
    if shape[len(shape) - len(core) :] != core or len(shape) < len(core):
        todo = None if hint is None else hint(name, shape)
        raise ShapeError(f"{name} has shape {shape}, {_expected(core, what)}", todo)


def _expected(core: tuple[int, ...], what: str) -> str:
    return f"expected numbers of shape (..., {', '.join(map(str, core))}) for {what}"


def one_sample(
    value: Any, name: str, core: tuple[int, ...], what: str, hint: str | None = None
) -> np.ndarray:
    """`value` as a float64 array of shape `core`; a batch is refused."""
    array = as_batch(value, name, core, what)
    if array.ndim != len(core):
        raise ShapeError(f"{name} has shape {array.shape}, expected {core} for {what}", hint)
    return array


def finite(array: np.ndarray, name: str, error: type[DynamisError] = ShapeError) -> np.ndarray:
    """The array, if all of its numbers are finite."""
    if not np.isfinite(array).all():
        raise error(f"{name} holds {array[~np.isfinite(array)][0]}, expected finite numbers")
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


def run(
    code: "Code",
    arrays: Sequence[np.ndarray],
    names: Sequence[str],
    out: Any = None,
    threads: int | None = None,
) -> Any:
    """Broadcast, evaluate every sample, return arrays of shape (..., *result)."""
    shapes = code.ports.input_shapes
    leading = [a.shape[: a.ndim - len(s)] for a, s in zip(arrays, shapes, strict=True)]
    shape = batch_shape(names, leading)
    count = prod(shape)
    ready, strides = [], []
    for array, own, core in zip(arrays, leading, shapes, strict=True):
        if own != shape and prod(own) != 1:
            array = np.broadcast_to(array, (*shape, *core))  # noqa: PLW2901
        ready.append(np.ascontiguousarray(array, dtype=code.dtype))
        strides.append(prod(core) if ready[-1].size == count * prod(core) and count > 1 else 0)
    targets = destinations(out, [(*shape, *s) for s in code.ports.output_shapes], code.dtype)
    results = [_writable(target, ready) for target in targets]
    if count:
        code.run(ready, strides, [r.reshape(count, -1) for r in results], count, threads)
    for target, result in zip(targets, results, strict=True):
        if target is not result:
            target[...] = result
    return targets[0] if len(targets) == 1 else tuple(targets)


def _writable(target: np.ndarray, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """The target itself if machine code may write there, else an array of its shape."""
    plain = target.flags.c_contiguous and target.flags.aligned
    if plain and not any(np.may_share_memory(target, array) for array in inputs):
        return target
    return np.empty(target.shape, target.dtype)


def function(
    what: str, names: Sequence[str], evaluated: Callable[[dict[str, Any], dict[str, Any], Any], Any]
) -> Callable[..., Any]:
    """A function of arrays, which are given by position.

    `evaluated(arguments, options, callable)` computes it, and installs code in the C callable.
    """

    def call(*arguments: Any, **options: Any) -> Any:
        if len(arguments) != len(names):
            raise OptionError(
                f"{what} got {counted(len(arguments), 'argument')}, expected {len(names)}: "
                f"{', '.join(names)}"
            )
        return evaluated(dict(zip(names, arguments, strict=True)), options, callable_)

    callable_: Any = None if Fast is None else Fast(call, tuple(names), (), named=False)
    return call if callable_ is None else update_wrapper(callable_, call)


def checked_options(options: Mapping[str, Any]) -> tuple[Any, int | None, np.dtype]:
    """`out`, `threads` and `dtype` of a call."""
    known_options(options, CALL_OPTIONS)
    if flag(options.get("fused", False), "fused"):
        raise OptionError("fused is true, but the arrays do not lie on a GPU", "leave it out")
    kind = checked_dtype(options.get("dtype"))
    checked_threads(options.get("threads"))
    return options.get("out"), options.get("threads"), kind


def install(
    callable_: Any, code: "Code", words: Mapping[str, Any] | None = None, refuse_nan: bool = False
) -> None:
    """Let a C callable run code where its other parameters are `words`, else as by default.

    With `refuse_nan` a result with NaN in it is left to the Python function, which knows why.
    """
    inputs, names = code.ports.inputs, callable_.parameters
    first = len(names) - len(callable_.defaults)
    others = dict(zip(names[first:], callable_.defaults, strict=True)) | dict(words or {})
    plain = all(word is None or type(word) is str for word in others.values())
    if plain and set(names[:first]) <= set(inputs) <= set(names):
        _fast.install(
            callable_,
            one=code.one,
            batch=code.batch,
            ports=tuple(inputs.index(name) if name in inputs else -1 for name in names),
            words=tuple(others.get(name) for name in names),
            sizes=code.ports.input_shapes,
            shapes=code.ports.output_shapes,
            single=code.dtype == np.float32,
            keep=code,
            refuse_nan=refuse_nan,
            largest=code.largest,
        )


def evaluate(
    function: Callable[..., Any],
    arguments: Sequence[np.ndarray],
    core_dims: Sequence[int],
    output: tuple[int, ...],
    names: Sequence[str],
    out: np.ndarray | None = None,
    dtype: Any = None,
    threads: int | None = None,
    fused: Any = False,
) -> np.ndarray:
    """`function(scalars..., fn)` over every sample; the result has shape (..., *output).

    An argument's last `core_dims` axes reach the function as nested lists of scalars.
    """
    _, _, kind = checked_options({"dtype": dtype, "threads": threads, "fused": fused})
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


def stored(results: Sequence[np.ndarray], options: Mapping[str, Any]) -> Any:
    """Results that NumPy computed, in the precision and the arrays the caller asked for."""
    out, _, kind = checked_options(options)
    targets = destinations(out, [np.shape(r) for r in results], kind)
    for target, result in zip(targets, results, strict=True):
        target[...] = result
    return targets[0] if len(targets) == 1 else tuple(targets)


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
