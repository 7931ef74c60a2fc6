"""One primitive of JAX: a function of the compiler over batches, with its derivatives and batching.

Of f, x -> y, there are three operations, which JAX turns into each other:

    value     y = f(x)
    forward   y_dot = J(x) x_dot      f's pushforward, linear in x_dot
    reverse   x_bar = J(x)^T y_bar    f's pullback, linear in y_bar, the transpose of forward

Both derivatives are functions of the compiler too, so those of any order come from the same rules.
Only tangents and cotangents that are not zero are arguments of the code that is compiled.

Every operand is one sample, or a batch of the call's leading axes. A compiled program names its
function by a number that is the same in every process; `_xla` knows the code.
"""

import hashlib
from dataclasses import dataclass
from math import prod
from threading import Lock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..compile.function import Function
from ..errors import MissingPackageError, OptionError
from ..lazy import cached_property, once

try:
    from .. import _xla
except ImportError:
    raise MissingPackageError(
        "dynamis.jax needs the C extension dynamis._xla, which was not built",
        "install a C compiler, then dynamis again from its source with --force-reinstall",
    ) from None

TARGET = "dynamis_function"
PLATFORMS = {"cpu": _xla.cpu, "CUDA": _xla.cuda}
Numbers = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class JaxOperation:
    """A function; of a derivative also whose, along which arguments, of which results."""

    function: Function
    source: Function | None = None
    reverse: bool = False
    along: Numbers = ()
    results: Numbers = ()

    @cached_property
    def digest(self) -> bytes:
        """Of all that decides what it computes."""
        decides = self.function.key, self.function.ports, self.source is None
        return hashlib.sha256(repr(decides).encode()).digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        """Robots that are equal share compiled programs."""
        return isinstance(other, JaxOperation) and self.digest == other.digest

    def __repr__(self) -> str:
        names = [
            ", ".join(p.name for p in x) for x in (self.function.inputs, self.function.outputs)
        ]
        return f"{self.function.name}({names[0]}) -> {names[1]}"

    def id(self, dtype: str) -> int:
        """A number of 64 bits, with a sign, for one precision."""
        digest = hashlib.sha256(self.digest + dtype.encode()).digest()
        return int.from_bytes(digest[:8], "little", signed=True)

    @property
    def nonlinear(self) -> int:
        """Arguments, the first ones, in which it is not linear."""
        return len((self.source or self.function).inputs)

    @property
    def ranks(self) -> list[int]:
        """Axes of one sample of each argument."""
        return [len(p.shape) for p in self.function.inputs]

    def restricted(self, arguments: Numbers) -> "JaxOperation":
        """A derivative in some of its linear arguments, the others zero."""
        assert self.source is not None
        if self.reverse:
            return reverse(self.source, self.along, _taken(self.results, arguments))
        return forward(self.source, _taken(self.along, arguments), self.results)

    def transposed(self, results: Numbers) -> "JaxOperation":
        """The transpose of a derivative, from some of its results."""
        assert self.source is not None
        if self.reverse:
            return forward(self.source, _taken(self.along, results), self.results)
        return reverse(self.source, self.along, _taken(self.results, results))


def _taken(values: Numbers, places: Numbers) -> Numbers:
    return tuple(values[k] for k in places)


def value(function: Function) -> JaxOperation:
    """y = f(x)"""
    return once(function, "value", lambda: JaxOperation(function))


def forward(f: Function, along: Numbers, results: Numbers) -> JaxOperation:
    """J(x) x_dot along some arguments, for some results."""

    def made() -> JaxOperation:
        own = len(f.inputs)
        zeros = tuple(own + k for k in range(own) if k not in along)
        return JaxOperation(f.pushforward.part(zeros, results), f, False, along, results)

    return once(f, ("forward", along, results), made)


def reverse(f: Function, along: Numbers, results: Numbers) -> JaxOperation:
    """J(x)^T y_bar for some arguments, from some results."""

    def made() -> JaxOperation:
        zeros = tuple(len(f.inputs) + k for k in range(len(f.outputs)) if k not in results)
        return JaxOperation(f.pullback.part(zeros, along), f, True, along, results)

    return once(f, ("reverse", along, results), made)


def call(function: Function, *operands: jax.Array) -> list[jax.Array]:
    """A function of operands that are single samples or batches of the same leading axes."""
    return _bind(value(function), *operands)


def _leading(operands: Any, operation: JaxOperation) -> tuple[int, ...]:
    """The axes of the batch: those of any operand that is no single sample."""
    found = zip(operands, operation.ranks, strict=True)
    return max((x.shape[: len(x.shape) - rank] for x, rank in found), key=len)


def _shapes(*operands: Any, operation: JaxOperation) -> list[Any]:
    leading, dtype = _leading(operands, operation), operands[0].dtype
    shapes = [(*leading, *p.shape) for p in operation.function.outputs]
    return [ShapedArray(shape, dtype) for shape in shapes]


def _bind(operation: JaxOperation, *operands: Any) -> list[Any]:
    return primitive.bind(*map(_array, operands), operation=operation)


def _array(operand: Any) -> jax.Array:
    """An operand; constants of a program come as numbers with a type."""
    return operand if isinstance(operand, jax.Array) else jnp.asarray(operand, operand.dtype)


_eager = jax.jit(_bind, static_argnums=0)


def _evaluated(*operands: Any, operation: JaxOperation) -> list[Any]:
    if jax.config.jax_disable_jit:  # type: ignore[attr-defined]  # for the user's own functions
        with jax.disable_jit(False):
            return _eager(operation, *operands)
    return _eager(operation, *operands)


def _jvp(primals: Any, tangents: Any, *, operation: JaxOperation) -> tuple[list[Any], list[Any]]:
    results = _bind(operation, *primals)
    active = tuple(k for k, t in enumerate(tangents) if type(t) is not ad.Zero)
    given, own = [tangents[k] for k in active], operation.nonlinear
    if operation.source is not None and min(active) >= own:  # linear in all that changes
        along = operation.restricted(tuple(k - own for k in active))
        return results, _bind(along, *primals[:own], *given)
    every = tuple(range(len(operation.function.outputs)))
    return results, _bind(forward(operation.function, active, every), *primals, *given)


def _transpose(cotangents: Any, *operands: Any, operation: JaxOperation) -> list[Any]:
    own = operation.nonlinear
    x, linear = operands[:own], operands[own:]
    wanted = tuple(k for k, t in enumerate(linear) if ad.is_undefined_primal(t))
    results = tuple(k for k, c in enumerate(cotangents) if type(c) is not ad.Zero)
    found: list[Any] = [None] * len(operands)
    if not results:
        return found
    back = operation.restricted(wanted).transposed(results)
    given = _bind(back, *x, *(cotangents[k] for k in results))
    for k, array in zip(wanted, given, strict=True):
        surplus = array.ndim - len(linear[k].aval.shape)  # one tangent served the whole batch
        found[own + k] = jnp.sum(array, axis=tuple(range(surplus))) if surplus else array
    return found


def _batched(operands: Any, axes: Any, *, operation: JaxOperation) -> tuple[list[Any], list[int]]:
    """A new leading axis; single samples that do not have it stay as they are."""
    given = zip(map(_array, operands), axes, strict=True)
    moved = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in given]
    size = next(x.shape[0] for x, axis in zip(moved, axes, strict=True) if axis is not None)
    leading = [x.shape[: x.ndim - r] for x, r in zip(moved, operation.ranks, strict=True)]
    own = [lead if axis is None else lead[1:] for lead, axis in zip(leading, axes, strict=True)]
    inner = max(own, key=len)
    ready = []
    for x, lead, rest in zip(moved, leading, own, strict=True):
        core = x.shape[len(lead) :]
        if lead and not rest:  # mapped over, but one sample for the inner axes
            x = jnp.reshape(x, (size, *(1 for _ in inner), *core))  # noqa: PLW2901
        ready.append(jnp.broadcast_to(x, (size, *inner, *core)) if lead else x)
    results = _bind(operation, *ready)
    return results, [0] * len(results)


_kept: dict[tuple[int, str], Any] = {}  # code that programs of JAX may call as long as it lives
_lock = Lock()


def _sizes(ports: Any) -> tuple[int, ...]:
    return tuple(prod(p.shape) for p in ports)


def registered(operation: JaxOperation, dtype: str, platform: str) -> int:
    """The number under which `_xla` knows an operation."""
    number, f = operation.id(dtype), operation.function
    with _lock:
        if (number, platform) not in _kept:
            sizes = dtype == "float64", _sizes(f.inputs), _sizes(f.outputs)
            if platform == "cpu":
                code: Any = f.code(dtype)
                _xla.register(number, *sizes, code.batch, code.largest)
            else:
                code = f.device_code(dtype, fused=False)  # type: ignore[attr-defined]
                _xla.register_cuda(number, *sizes, _launch(), code.kernel, code.threads)
            _kept[number, platform] = code
    return number


def _launch() -> int:
    """Address of cuLaunchKernel in the driver that JAX uses."""
    import ctypes

    function = ctypes.CDLL("libcuda.so.1").cuLaunchKernel
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address
    return address


def _lowering(platform: str) -> Any:
    called = jax.ffi.ffi_lowering(TARGET)

    def lowered(context: Any, *operands: Any, operation: JaxOperation) -> Any:
        number = registered(operation, context.avals_in[0].dtype.name, platform)
        return called(context, *operands, id=np.int64(number))

    return lowered


def _elsewhere(context: Any, *operands: Any, operation: JaxOperation) -> Any:
    raise OptionError(
        "dynamis.jax was to be compiled for a platform it does not know, expected the CPU or CUDA",
        "jax.default_device(jax.devices('cpu')[0]) computes on the CPU",
    )


def _primitive() -> Primitive:
    made = Primitive("dynamis")
    made.multiple_results = True
    made.def_impl(_evaluated)
    made.def_abstract_eval(_shapes)
    ad.primitive_jvps[made] = _jvp
    ad.primitive_transposes[made] = _transpose
    batching.primitive_batchers[made] = _batched
    mlir.register_lowering(made, _elsewhere)
    for platform, handler in PLATFORMS.items():
        jax.ffi.register_ffi_target(TARGET, handler, platform=platform)
        name = platform.lower()
        mlir.register_lowering(made, _lowering(name), platform=name)
    return made


primitive = _primitive()
