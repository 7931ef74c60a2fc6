"""How a Robot calls its kernels: arrays in, compiled code, arrays out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import update_wrapper
from math import prod
from types import MethodType
from typing import Any

import numpy as np

from ..arguments import known_options
from ..compile import arrays as door
from ..compile.kernels import KERNELS, Kernel, input_shape, shape_of
from ..compile.service import Code, compile_kernel, compiling, thread_count
from ..lazy import cached_property
from ..model.chain import Chain, chain
from ..model.model import Model

try:
    from .._fast import Fast
except ImportError:  # no C compiler when the package was installed: calls take the slower path
    Fast = None

CALL_OPTIONS = ("out", "threads", "dtype")


class fast:  # noqa: N801  reads as the decorator it is
    """A method that, once its kernel is compiled, is bound as a C callable.

    The first call goes through the Python method, which compiles; from then on vectors and batches
    of the right type go straight to machine code and everything else to the method.
    """

    def __init__(self, method: Callable[..., Any]):
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, robot: Any, owner: type | None = None) -> Any:
        if robot is None:
            return self.method
        bound = MethodType(self.method, robot)
        if Fast is None:
            return bound
        callable_ = Fast(bound)
        update_wrapper(callable_, bound)
        robot.__dict__[self.name] = callable_
        return callable_


class Calls:
    """A model and its compiled kernels."""

    model: Model

    def __init__(self, model: Model):
        self.model = model
        self._codes: dict[tuple[str, str, bool], Code] = {}

    def __reduce__(self) -> tuple:
        return type(self), (self.model,)

    @property
    def n(self) -> int:
        """Number of joints that move by themselves: the length of q."""
        return self.model.n

    @cached_property
    def chain(self) -> Chain:
        """The canonical chain over floats; raises if a symbol has no value."""
        return chain(self.model)

    def _code(self, kernel: Kernel, dtype: str, parameters: bool = False) -> Code:
        """Compiled code of a kernel, made once."""
        key = kernel.key, dtype, parameters
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = compile_kernel(kernel, self.model, dtype, parameters)
            if dtype == "float64" and not parameters and KERNELS[kernel.name] is kernel:
                self._install(kernel.name, code)
        return code

    def _install(self, name: str, code: Code) -> None:
        """Give a compiled default kernel to the method of its name."""
        callable_ = self.__dict__.get(name)
        if Fast is None or not isinstance(callable_, Fast):
            return
        callable_.install(  # type: ignore[union-attr]
            one=code.one,
            batch=code.batch,
            sizes=tuple(prod(s) for s in code.ports.input_shapes),
            shapes=code.ports.output_shapes,
            single=False,
            keep=code,
            refuse_nan=name == "forward_dynamics",
            largest=code.largest,
        )

    def _what(self) -> str:
        return f"robot {self.model.name!r} with joints {', '.join(self.model.joint_names)}"

    def _arrays(self, arguments: Mapping[str, Any]) -> list[np.ndarray]:
        """Checked arguments as float64 arrays."""
        what = self._what()
        shapes = [input_shape(name, self.model) for name in arguments]
        items = zip(arguments.items(), shapes, strict=True)
        return [door.as_batch(value, name, shape, what) for (name, value), shape in items]

    def _call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        call_options: Mapping[str, Any],
        parameters: Any = None,
        **kernel_options: Any,
    ) -> Any:
        """Evaluate a kernel by compiled code; one array, or a tuple if it has several results."""
        kernel = KERNELS[name]
        if kernel_options:
            kernel = replace(kernel, options=kernel_options)
        if parameters is not None:
            arguments = {**arguments, "parameters": parameters}
        options = known_options(call_options, CALL_OPTIONS)
        arrays = self._arrays(arguments)
        kind = door.checked_dtype(options.get("dtype"))
        door.checked_threads(options.get("threads"))
        if not compiling():
            return self._interpreted(kernel, arrays, tuple(arguments), options)
        code = self._code(kernel, kind.name, parameters is not None)
        return run(code, arrays, tuple(arguments), options.get("out"), options.get("threads"))

    def _interpreted(
        self,
        kernel: Kernel,
        arrays: Sequence[np.ndarray],
        names: tuple[str, ...],
        options: Mapping[str, Any],
    ) -> Any:
        """A kernel without machine code: the algorithm over arrays, or its program interpreted."""
        if not kernel.differentiate and "parameters" not in names:
            (shape,) = kernel.outputs.values()
            output = shape_of(shape, self.model)
            function = kernel.function()

            def call(*scalars: Any) -> Any:
                *values, fn = scalars
                return function(self.chain, *values, fn=fn)

            dims = [len(input_shape(name, self.model)) for name in names]
            return door.evaluate(call, arrays, dims, output, names, **options)
        from ..compile.interpreter import interpret
        from ..compile.programs import program

        kind = door.checked_dtype(options.get("dtype"))
        results = interpret(program(kernel, self.model, "parameters" in names), arrays)
        targets = door.destinations(options.get("out"), [r.shape for r in results], kind)
        for target, result in zip(targets, results, strict=True):
            target[...] = result
        return targets[0] if len(targets) == 1 else tuple(targets)

    def _generic(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        output: tuple[int, ...],
        call_options: Mapping[str, Any],
    ) -> np.ndarray:
        """Evaluate `function(chain, **arguments, fn=...)` without compiling: teaching methods."""
        names = tuple(arguments)

        def call(*scalars: Any) -> Any:
            *values, fn = scalars
            return function(self.chain, **dict(zip(names, values, strict=True)), fn=fn)

        options = known_options(call_options, CALL_OPTIONS)
        arrays = self._arrays(arguments)
        dims = [len(input_shape(name, self.model)) for name in names]
        return door.evaluate(call, arrays, dims, output, names, **options)

    def _shape(self, name: str) -> tuple[int, ...]:
        """Shape of one sample of a kernel's only result."""
        (shape,) = KERNELS[name].outputs.values()
        return shape_of(shape, self.model)


def run(
    code: Code,
    arrays: Sequence[np.ndarray],
    names: Sequence[str],
    out: Any = None,
    threads: int | None = None,
) -> Any:
    """Broadcast, evaluate every sample, return arrays of shape (..., *result)."""
    shapes = code.ports.input_shapes
    leading = [a.shape[: a.ndim - len(s)] for a, s in zip(arrays, shapes, strict=True)]
    shape = door.batch_shape(names, leading)
    count = prod(shape)
    ready, strides = [], []
    for array, own, core in zip(arrays, leading, shapes, strict=True):
        if own != shape and prod(own) != 1:
            array = np.broadcast_to(array, (*shape, *core))  # noqa: PLW2901
        ready.append(np.ascontiguousarray(array, dtype=code.dtype))
        strides.append(prod(core) if ready[-1].size == count * prod(core) and count > 1 else 0)
    targets = door.destinations(out, [(*shape, *s) for s in code.ports.output_shapes], code.dtype)
    results = [_writable(target, ready) for target in targets]
    if count:
        flat = [r.reshape(count, -1) for r in results]
        code.run(ready, strides, flat, count, thread_count(threads, code.operations, count))
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


def finished(result: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
    """A result that NumPy computed, in the precision and the array the caller asked for."""
    known_options(options, CALL_OPTIONS)
    door.checked_threads(options.get("threads"))
    kind = door.checked_dtype(options.get("dtype"))
    (target,) = door.destinations(options.get("out"), [np.shape(result)], kind)
    target[...] = result
    return target
