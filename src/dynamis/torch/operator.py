"""One PyTorch operator for every function of a robot, and the rules for its derivatives.

    dynamis::evaluate(Tensor[] inputs, str key) -> Tensor[]

A key names a function in this process. The derivatives of a function are functions again, with
keys of their own (`KEY/pullback:...`, `KEY/pushforward`): a backward pass is a call of the same
operator, so that derivatives of any order are too.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from itertools import count, pairwise
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ..compile.function import Function, kernel_function
from ..compile.kernels import Kernel
from ..errors import OptionError
from ..lazy import once, package

if TYPE_CHECKING:
    from ..robot import Robot

torch: Any = package("torch", "torch", "dynamis.torch", "torch")
forward_ad: Any = package("torch.autograd.forward_ad", "torch", "dynamis.torch", "torch")

REFUSED = "torch.compile holds no forward-mode or torch.func derivatives of a robot's functions"
INSTEAD = "take them outside the compiled function, or use torch.autograd.grad"
DTYPES = {torch.float64: "float64", torch.float32: "float32"}


class Keyed:
    """A function under its key, with its code and its derivatives as they are asked for."""

    def __init__(self, function: Function, key: str):
        self.function, self.key = function, key
        self.names, self.cores, _, self.results = function.ports
        self.axes = [len(core) for core in self.cores]
        self.sizes = [prod(core) for core in self.cores]
        self.alike = len(set(self.cores)) == 1
        self.groups = [name.startswith("parameters") for name in self.names]
        self._derived: dict[str, Keyed] = {}
        self._code: dict[Any, Any] = {}
        _table[key] = self

    def derived(self, what: str) -> "Keyed":
        """`pushforward`, or `pullback:I,J`: the gradients in arguments I, J."""
        found = self._derived.get(what)
        if found is None:
            kind, _, kept = what.partition(":")
            function = getattr(self.function, kind)
            if kept:
                function = function.part((), tuple(int(i) for i in kept.split(",")))
            found = self._derived.setdefault(what, Keyed(function, f"{self.key}/{what}"))
        return found

    def pullback(self, needed: Sequence[bool]) -> tuple[list[int], str]:
        """Arguments whose gradients come together, and the key of the function that gives them.

        Those of parameters come apart from the others: they are many, and often not asked for.
        """
        asked = {group for group, x in zip(self.groups, needed, strict=True) if x}
        kept = [i for i, group in enumerate(self.groups) if group in asked]
        return kept, f"{self.key}/pullback:{','.join(map(str, kept))}"

    def code(self, dtype: Any, gpu: bool) -> Any:
        """Code for the processor or for a GPU."""
        found = self._code.get((dtype, gpu))
        if found is None:
            of = self.function.device_code if gpu else self.function.code  # type: ignore[attr-defined]
            found = self._code[dtype, gpu] = of(DTYPES[dtype])
        return found


# a robot holds its functions, a graph those it will call: what nobody holds leaves the table
_table: WeakValueDictionary[str, Keyed] = WeakValueDictionary()
_numbers = count()


def keyed(robot: "Robot", kernel: Kernel, parameters: bool) -> Keyed:
    """A kernel of a robot, made once."""

    def made() -> Keyed:
        function = kernel_function(kernel, robot.model, parameters)
        # the number tells functions apart, the digest keeps graphs that PyTorch stores on disk
        # from being taken for those of another robot
        digest = hashlib.sha256(repr(function.key).encode()).hexdigest()[:16]
        return Keyed(function, f"{kernel.name}-{digest}-{next(_numbers)}")

    return once(robot, ("torch", kernel.key, parameters), made)


def known(key: str) -> Keyed:
    """The function of a key."""
    found = _table.get(key)
    if found is not None:
        return found
    base, _, what = key.rpartition("/")
    if not base:
        raise OptionError(
            f"{key!r} is no function of a robot in this process",
            "keep the robot as long as graphs of it are used; a stored graph needs its own robot",
        )
    return known(base).derived(what)


# values


def leading(axes: Sequence[int], inputs: Sequence[Any]) -> tuple[int, ...]:
    """Common leading axes of tensors whose last `axes` are a sample."""
    return common([x.shape[: x.dim() - last] for x, last in zip(inputs, axes, strict=True)])


def common(shapes: Sequence[Any]) -> tuple[int, ...]:
    """The shape that shapes broadcast to; quickly where they are equal or empty."""
    longest = max(shapes, key=len)
    for shape in shapes:
        if len(shape) > 0 and shape != longest:
            return tuple(torch.broadcast_shapes(*shapes))
    return tuple(longest)


def samples(x: Any, shape: tuple[int, ...], core: tuple[int, ...], size: int) -> tuple[Any, int]:
    """A tensor whose samples are contiguous, and the entries from one to the next.

    Slices of a wider tensor are read where they lie, and a sample that repeats is stored once:
    only other orders are copied.
    """
    if x.is_contiguous():
        entries = x.numel()
        if entries == size:
            return x, 0
        if entries == size * prod(shape):
            return x, size
    x = x.expand(*shape, *core)
    strides, sizes = x.stride(), x.shape
    axes = [i for i in range(len(shape)) if sizes[i] != 1]
    if not any(strides[i] for i in axes):
        return x[(0,) * len(shape)].contiguous(), 0
    regular = all(strides[i] == strides[j] * sizes[j] for i, j in pairwise(axes))
    step = 1
    for i in range(x.dim() - 1, len(shape) - 1, -1):
        regular = regular and (sizes[i] == 1 or strides[i] == step)
        step *= sizes[i]
    if regular:
        return x, strides[axes[-1]]
    return x.contiguous(), size


def computed(function: Keyed, inputs: Sequence[Any], outputs: Any = None) -> list[Any]:
    """Every sample by compiled code, into `outputs` or new tensors."""
    first = inputs[0]
    whole, axes = first.shape, function.axes
    simple = function.alike and all(x.shape == whole and x.is_contiguous() for x in inputs)
    shape = whole[: len(whole) - axes[0]] if simple else leading(axes, inputs)
    if outputs is None:
        outputs = [first.new_empty((*shape, *core)) for core in function.results]
    number = prod(shape)
    if not number:
        return outputs
    held, strides = inputs, function.sizes
    if not simple:
        ports = zip(inputs, function.cores, function.sizes, strict=True)
        pairs = [samples(x, shape, core, size) for x, core, size in ports]
        held, strides = [x for x, _ in pairs], [stride for _, stride in pairs]
    starts = [x.data_ptr() for x in held]
    ends = [x.data_ptr() for x in outputs]
    code = function.code(first.dtype, first.is_cuda)
    if first.is_cuda:
        # on the caller's stream, as PyTorch's own operators: its allocator gives the memory of
        # copies made here to others in the order of that stream, so nothing has to be recorded
        device = first.device
        stream = torch.cuda.current_stream(device).cuda_stream
        code.launch(device.index, stream, number, starts, strides, ends)
    else:
        code.run_at(starts, strides, ends, number, None)
    return outputs


def _values(inputs: Sequence[Any], key: str) -> list[Any]:
    return computed(known(key), inputs)


def _shapes(inputs: Sequence[Any], key: str) -> list[Any]:
    function = known(key)
    shape = leading(function.axes, inputs)
    return [inputs[0].new_empty((*shape, *core)) for core in function.results]


# derivatives


def evaluated(inputs: Sequence[Any], key: str) -> Sequence[Any]:
    """A function of tensors, by the operator, with the derivatives that are being taken."""
    if torch.compiler.is_compiling():
        if getattr(forward_ad, "_current_level", -1) >= 0:
            return _forward_mode_outside_graphs(inputs, key)
        return torch.ops.dynamis.evaluate(list(inputs), key)
    if _transformed():
        return _Transformed.apply(key, *inputs)
    function = known(key)
    if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
        return _Recorded.apply(function, *inputs)
    return below(function, inputs)


@torch.compiler.disable  # graphs hold reverse mode only
def _forward_mode_outside_graphs(inputs: Sequence[Any], key: str) -> Sequence[Any]:
    return _Transformed.apply(key, *inputs)


def below(function: Keyed, inputs: Sequence[Any]) -> Sequence[Any]:
    """A function of tensors, without derivatives; without the operator's 10 us where it can be."""
    if plain(inputs):
        return computed(function, inputs)
    return torch.ops.dynamis.values(list(inputs), function.key)


def plain(inputs: Sequence[Any]) -> bool:
    """Whether tensors are memory and nothing else, which an operator would only hand on."""
    if _modes():
        return False
    keys = _plain_keys(inputs[0].is_cuda)
    return all(_keys(x) == keys for x in inputs)


@cache
def _plain_keys(gpu: bool) -> Any:
    with torch.inference_mode(False):
        return _keys(torch.empty(0, device="cuda" if gpu else "cpu"))


def _transformed() -> bool:
    """Whether torch.func or forward-mode differentiation is at work."""
    return _functorch() or getattr(forward_ad, "_current_level", 0) >= 0


# What only PyTorch's internals tell: whether a transformation is at work, whether something watches
# operators, what a tensor is besides memory (a negated view, a zero, a wrapper: its dispatch keys).
# Where one of them is missing, the answer is the one that is always right, but slower.
_functorch = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
_keys = getattr(torch._C, "_dispatch_keys", lambda _: object())


def gradients(
    function: Keyed, inputs: Sequence[Any], needed: Sequence[bool], cotangents: Sequence[Any]
) -> list[Any]:
    """x_bar = J(x)^T y_bar, for the arguments that need it.

    One that was repeated over a batch gets the sum: of values computed for every sample, without
    atomic additions. PyTorch adds them in an order that the shape, the device and the number of
    threads decide, so that the sum has the same bits each time.
    """
    found: list[Any] = [None] * len(inputs)
    if not any(needed) or all(y is None for y in cotangents):
        return found
    kept, key = function.pullback(needed)
    given = _filled(cotangents, function.results, inputs[0])
    for i, result in zip(kept, evaluated([*inputs, *given], key), strict=True):
        if needed[i]:
            own = inputs[i].shape
            found[i] = result if result.shape == own else result.sum_to_size(own)
    return found


def _filled(given: Sequence[Any], cores: Sequence[tuple[int, ...]], like: Any) -> list[Any]:
    """Zeros, of one sample, for what is not given."""
    return [like.new_zeros(core) if x is None else x for x, core in zip(given, cores, strict=True)]


def batched(
    key: str, dimensions: Sequence[int | None], inputs: Sequence[Any]
) -> tuple[Sequence[Any], int]:
    """The function over one more axis, put before the others; what has none is not repeated."""
    function = known(key)
    own = [
        x.dim() - axes - (d is not None)
        for x, axes, d in zip(inputs, function.axes, dimensions, strict=True)
    ]
    most, moved = max(own), []
    for x, d, axes in zip(inputs, dimensions, own, strict=True):
        ones = (slice(None), *(None,) * (most - axes))
        moved.append(x if d is None else x.movedim(d, 0)[ones])
    return evaluated(moved, key), len(function.results)


class _Recorded(torch.autograd.Function):
    """The operator in reverse mode, eagerly: the way of training loops, kept short."""

    @staticmethod
    def forward(ctx: Any, function: Keyed, *inputs: Any) -> Any:
        ctx.function = function
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs)
        return tuple(below(function, inputs))

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        needed = ctx.needs_input_grad[1:]
        return None, *gradients(ctx.function, ctx.saved_tensors, needed, cotangents)


class _Transformed(torch.autograd.Function):
    """The operator under torch.func (grad, vmap, jvp and what is made of them) and dual numbers."""

    @staticmethod
    def forward(key: str, *inputs: Any) -> Any:
        return tuple(torch.ops.dynamis.values(list(inputs), key))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.function = known(inputs[0])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])

    backward = _Recorded.backward

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        inputs = ctx.saved_tensors
        given = _filled(tangents, ctx.function.cores, inputs[0])
        return tuple(evaluated([*inputs, *given], f"{ctx.function.key}/pushforward"))

    @staticmethod
    def vmap(info: Any, dimensions: Any, key: str, *inputs: Any) -> Any:
        results, number = batched(key, dimensions[1:], inputs)
        return tuple(results), (0,) * number


# `evaluate` is what graphs are traced with, and has rules for derivatives; `values` has none. It is
# what the classes above call: rules that are looked for inside a rule take another 10 us.

SCHEMA = "(Tensor[] inputs, str key) -> Tensor[]"
_library = torch.library.Library("dynamis", "DEF")
for _name in ("evaluate", "values"):
    _library.define(_name + SCHEMA)
    for _device in ("CPU", "CUDA"):
        _library.impl(_name, _values, _device)
    torch.library.register_fake(f"dynamis::{_name}", _shapes, lib=_library)


def _autograd(inputs: Sequence[Any], key: str) -> Sequence[Any]:
    """The rule for derivatives in compiled graphs, in reverse mode."""
    if _functorch() or any(forward_ad.unpack_dual(x, level=0).tangent is not None for x in inputs):
        raise OptionError(REFUSED, INSTEAD)
    if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
        return list(_Recorded.apply(known(key), *inputs))
    return torch.ops.dynamis.values(inputs, key)


def _vmap(info: Any, dimensions: Any, inputs: Any, key: str) -> Any:
    results, number = batched(key, dimensions[0], inputs)
    return list(results), [0] * number


_library.impl("evaluate", _autograd, "Autograd")
torch.library.register_vmap("dynamis::evaluate", _vmap, lib=_library)
