"""Arrays of other libraries: CuPy arrays and PyTorch tensors are computed where they lie.

What is computed on a GPU runs on the caller's stream, without a copy where samples are contiguous,
and comes back as the same kind of array. JAX arrays go through `dynamis.jax`.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import flag, known_options
from ..errors import OptionError, ShapeError, shown
from .arrays import (
    CALL_OPTIONS,
    DTYPES,
    PLAIN,
    as_batch,
    batch_shape,
    checked_dtype,
    checked_options,
    checked_threads,
    numbers,
    refuse_shape,
)
from .arrays import run as run_on_host

if TYPE_CHECKING:
    from .function import Function

COMMON = {np.dtype(name): name for name in DTYPES}
NUMBERS = (*DTYPES, "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


class CuPy:
    """Arrays of CuPy."""

    name, array = "cupy", "array of CuPy"

    def index(self, x: Any) -> int:
        """The GPU an array lies on."""
        return x.device.id

    def kind(self, x: Any) -> str:
        """The name of its type of number."""
        return COMMON.get(x.dtype) or x.dtype.name  # NumPy makes the name anew every time

    def address(self, x: Any) -> int:
        """Where its numbers begin."""
        return x.data.ptr

    def contiguous(self, x: Any, shape: tuple[int, ...], dtype: str) -> Any:
        """It with that shape and type, its numbers one after the other."""
        if x.shape == shape and x.dtype == dtype and x.flags.c_contiguous:
            return x
        cupy = sys.modules["cupy"]
        return cupy.ascontiguousarray(cupy.broadcast_to(x, shape), dtype)

    def empty(self, shape: tuple[int, ...], dtype: str, index: int) -> Any:
        """A new array on a GPU."""
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(index):
            return cupy.empty(shape, dtype)

    def to_host(self, x: Any) -> np.ndarray:
        """A copy as a NumPy array."""
        return x.get()

    def apart(self, x: Any) -> int:
        """Numbers from one entry of the first axis to the next."""
        return x.strides[0] // x.itemsize

    def from_host(self, x: np.ndarray, index: int) -> Any:
        """A copy of a NumPy array on a GPU."""
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(index):
            return cupy.asarray(x)

    def stream(self, index: int) -> int:
        """The stream of the caller on a GPU."""
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(index):
            return cupy.cuda.get_current_stream().ptr


class Torch:
    """Tensors of PyTorch on a GPU."""

    name, array = "torch", "CUDA tensor"

    def index(self, x: Any) -> int:
        """The GPU a tensor lies on."""
        return x.device.index

    def kind(self, x: Any) -> str:
        """The name of its type of number."""
        return str(x.dtype).removeprefix("torch.")

    def address(self, x: Any) -> int:
        """Where its numbers begin."""
        return x.data_ptr()

    def contiguous(self, x: Any, shape: tuple[int, ...], dtype: str) -> Any:
        """It with that shape and type, its numbers one after the other."""
        torch = sys.modules["torch"]
        return x.to(getattr(torch, dtype)).expand(shape).contiguous()

    def empty(self, shape: tuple[int, ...], dtype: str, index: int) -> Any:
        """A new tensor on a GPU."""
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=f"cuda:{index}")

    def to_host(self, x: Any) -> np.ndarray:
        """A copy as a NumPy array."""
        return x.cpu().numpy()

    def apart(self, x: Any) -> int:
        """Numbers from one entry of the first axis to the next."""
        return x.stride(0)

    def from_host(self, x: np.ndarray, index: int) -> Any:
        """A copy of a NumPy array on a GPU."""
        return sys.modules["torch"].as_tensor(x, device=f"cuda:{index}")

    def stream(self, index: int) -> int:
        """The stream of the caller on a GPU."""
        return sys.modules["torch"].cuda.current_stream(index).cuda_stream


CUPY, TORCH = CuPy(), Torch()
HOST = ("tensor", "jax")  # arrays that no driver of ours computes
Library = CuPy | Torch


def origin(value: Any) -> str:
    """Whose array a value is: "cupy", "cuda tensor", "tensor", "jax", or "" for anything else."""
    if isinstance(value, PLAIN):
        return ""
    if (cupy := sys.modules.get("cupy")) is not None and isinstance(value, cupy.ndarray):
        return "cupy"
    if (torch := sys.modules.get("torch")) is not None and isinstance(value, torch.Tensor):
        return "cuda tensor" if value.is_cuda else "tensor"
    jax = sys.modules.get("jax")
    return "jax" if jax is not None and isinstance(value, jax.Array) else ""


def origins(values: Iterable[Any]) -> set[str]:
    """Whose arrays are among the values, NumPy's left out."""
    return {kind for kind in map(origin, values) if kind}


def like(first: Any, value: Any) -> Any:
    """A value as an array of the library, on the device and of the type of the first."""
    if origin(value):
        return value
    kind = origin(first)
    if not kind:
        return value
    array = np.asarray(value)
    dtype = bool if array.dtype == bool else first.dtype
    if kind == "jax":
        return import_module("jax.numpy").asarray(array, dtype)
    if kind == "cupy":
        return CUPY.from_host(array, CUPY.index(first)).astype(dtype)
    torch = sys.modules["torch"]
    dtype = torch.bool if dtype is bool else dtype
    return torch.as_tensor(np.ascontiguousarray(array), dtype=dtype, device=first.device)


def evaluate_elsewhere(
    function: "Function", given: Mapping[str, Any], options: Mapping[str, Any], what: str
) -> Any:
    """A function over arrays of which some are not NumPy's; the results are of the same kind."""
    if "jax" in origins(given.values()):
        from ..jax.functions import method

        return method(function, given, options)
    library = library_of(given)
    if library is not None:
        return evaluate(library, function, given, options, what)
    return _on_host(function, given, options, what)


def _on_host(
    function: "Function", given: Mapping[str, Any], options: Mapping[str, Any], what: str
) -> Any:
    """Tensors of PyTorch in host memory, as NumPy arrays that share it."""
    torch = sys.modules["torch"]
    checked = {}
    for (name, value), core in zip(given.items(), function.ports.input_shapes, strict=True):
        if getattr(value, "requires_grad", False):
            refuse_gradient(name)
        array = value.numpy() if isinstance(value, torch.Tensor) else value
        checked[name] = as_batch(array, name, core, what)
    kinds = {v.dtype for v in given.values() if isinstance(v, torch.Tensor)}
    asked = options.get("dtype")
    single = kinds == {torch.float32} if asked is None else "float32" in str(asked)
    rest = {**options, "dtype": "float32" if single else "float64"}
    out = rest.pop("out", None)
    if out is not None:
        outs = out if isinstance(out, (tuple, list)) else [out]
        own = [o.numpy() if isinstance(o, torch.Tensor) else o for o in outs]
        rest["out"] = own if isinstance(out, (tuple, list)) else own[0]
    target, threads, kind = checked_options(rest)
    found = run_on_host(
        function.code(kind.name), list(checked.values()), tuple(given), target, threads
    )
    if out is not None:
        return out
    several = found if isinstance(found, tuple) else (found,)
    tensors = tuple(torch.from_numpy(np.asarray(r)) for r in several)
    return tensors if isinstance(found, tuple) else tensors[0]


def refuse_gradient(name: str) -> None:
    """A tensor that requires a gradient."""
    raise OptionError(
        f"{name} requires a gradient, which methods of a robot do not pass on",
        "use dynamis.torch, or detach() it",
    )


def on_host(value: Any) -> Any:
    """A value as NumPy can read it: arrays on a GPU are copied."""
    kind = origin(value)
    if kind in ("tensor", "cuda tensor"):
        return TORCH.to_host(value.detach())
    return CUPY.to_host(value) if kind == "cupy" else value


def library_of(given: Mapping[str, Any]) -> Library | None:
    """The library of the arrays on a GPU, if there are any; arrays of two kinds are refused."""
    kinds = {name: origin(value) for name, value in given.items()}
    found = {kind for kind in kinds.values() if kind in ("cupy", "cuda tensor")}
    if not found:
        return None
    hosts = {k for k, v in given.items() if isinstance(v, np.ndarray) or kinds[k] in HOST}
    if len(found) > 1 or hosts:
        listed = ", ".join(f"{k}: {described(v)}" for k, v in given.items() if v is not None)
        raise ShapeError(f"arrays of two kinds were given ({listed}), expected all on one GPU")
    return CUPY if found == {"cupy"} else TORCH


def described(value: Any) -> str:
    """An array in words: its kind, and where it lies."""
    kind = origin(value)
    if kind in ("cupy", "cuda tensor"):
        library = CUPY if kind == "cupy" else TORCH
        return f"{library.array} on cuda:{library.index(value)}"
    return {"tensor": "tensor in host memory", "jax": "array of JAX"}.get(
        kind, f"{type(value).__name__} in host memory"
    )


def device_of(library: Library, given: Mapping[str, Any]) -> int:
    """The one GPU all arrays lie on."""
    where = {k: library.index(v) for k, v in given.items() if not isinstance(v, PLAIN)}
    if len(set(where.values())) > 1:
        listed = ", ".join(f"{k}: cuda:{index}" for k, index in where.items())
        raise ShapeError(f"arrays on several GPUs were given ({listed}), expected one")
    return next(iter(where.values()))


def evaluate(
    library: Library,
    function: "Function",
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    what: str,
) -> Any:
    """A function over arrays on a GPU: (..., *result), one array or a tuple of them.

    It is computed in float32 if all arrays are float32, else in float64, unless `dtype` says.
    """
    known_options(options, CALL_OPTIONS)
    checked_threads(options.get("threads"))
    index = device_of(library, given)
    arrays = {k: _checked(library, index, k, v) for k, v in given.items()}
    dtype = _dtype(library, given, options.get("dtype"))
    shapes, names = function.ports.input_shapes, tuple(given)
    for (name, array), core in zip(arrays.items(), shapes, strict=True):
        refuse_shape(tuple(array.shape), name, core, what)
    cores = zip(arrays.values(), shapes, strict=True)
    leading = [tuple(a.shape[: a.ndim - len(core)]) for a, core in cores]
    shape = batch_shape(names, leading)
    count, ready, strides = prod(shape), [], []
    for array, own, core in zip(arrays.values(), leading, shapes, strict=True):
        once = prod(own) == 1
        full = tuple(array.shape) if once or own == shape else (*shape, *core)
        ready.append(library.contiguous(array, full, dtype))
        strides.append(0 if once else prod(core))
    wanted = [(*shape, *core) for core in function.ports.output_shapes]
    targets = _targets(library, index, options.get("out"), wanted, dtype)
    results = [
        _writable(library, t, ready, s, dtype, index) for t, s in zip(targets, wanted, strict=True)
    ]
    if count:
        code = function.device_code(dtype, flag(options.get("fused", False), "fused"))
        code.launch(
            index, library.stream(index), count, [library.address(a) for a in ready], strides,
            [library.address(r) for r in results],
        )  # fmt: skip
    for target, result in zip(targets, results, strict=True):
        if target is not None and target is not result:
            target[...] = result
    found = tuple(r if t is None else t for t, r in zip(targets, results, strict=True))
    return found[0] if len(found) == 1 else found


def _checked(library: Library, index: int, name: str, value: Any) -> Any:
    """An array of numbers on the GPU; lists are copied there."""
    if isinstance(value, PLAIN):
        return library.from_host(numbers(value, name, "expected numbers"), index)
    if library.kind(value) not in NUMBERS:
        raise ShapeError(f"{name} holds {library.kind(value)}, expected numbers")
    if getattr(value, "requires_grad", False):
        refuse_gradient(name)
    return value


def _dtype(library: Library, given: Mapping[str, Any], asked: Any) -> str:
    """As asked, or as the arrays are; lists have no say."""
    if asked is not None:
        return checked_dtype(str(asked).removeprefix("torch.") if _torch(asked) else asked).name
    kinds = {library.kind(a) for a in given.values() if not isinstance(a, PLAIN)}
    return "float32" if kinds <= {"float32", "float16"} else "float64"


def _torch(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "torch"


def _targets(
    library: Library, index: int, out: Any, shapes: Sequence[tuple[int, ...]], dtype: str
) -> list[Any]:
    """The caller's own arrays for the results, checked; None where there is none."""
    if out is None:
        return [None] * len(shapes)
    given = [out] if len(shapes) == 1 else out
    if not isinstance(given, (list, tuple)) or len(given) != len(shapes):
        raise ShapeError(f"out is {type(out).__name__}, expected {len(shapes)} arrays")
    for target, shape in zip(given, shapes, strict=True):
        expected = f"expected an {library.array} on cuda:{index}, {dtype}, of shape {shape}"
        if library_of({"out": target}) is not library:
            raise ShapeError(f"out is {shown(target)}, {expected}")
        fits = tuple(target.shape) == shape and library.kind(target) == dtype
        if not fits or library.index(target) != index:
            found = f"{library.kind(target)}, {tuple(target.shape)}, {described(target)}"
            raise ShapeError(f"out is {found}, {expected}")
    return list(given)


def _writable(
    library: Library, target: Any, inputs: Iterable[Any], shape: Any, dtype: str, index: int
) -> Any:
    """The target itself if code may write there, else a new array."""
    if target is not None:
        plain = library.contiguous(target, shape, dtype)
        own = library.address(target), _bytes(target)
        apart = all(not _overlap(own, (library.address(x), _bytes(x))) for x in inputs)
        if library.address(plain) == own[0] and apart:
            return target
    return library.empty(shape, dtype, index)


def _bytes(x: Any) -> int:
    return int(x.nbytes)


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1]
