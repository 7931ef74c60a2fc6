"""Kernels of a robot as differentiable functions: their programs, and those of their derivatives.

    pushforward   y_dot = J(x) x_dot     along tangents of the arguments (forward mode)
    pullback      x_bar = J(x)^T y_bar   from cotangents of the results (reverse mode)

Both are functions of the same kind again, so derivatives of any order are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ..lazy import cached_property, once
from ..model.chain import chain
from ..model.model import Model
from ..model.parameters import parameter_names
from .kernels import Kernel, input_shape, kernel_named, shape_of
from .program import Port, Program
from .service import Code, Key, Ports, compiled

if TYPE_CHECKING:
    from ..model.chain import Chain
    from ..robot import Robot
    from .gpu import DeviceCode

Columns = Sequence[Any]


@dataclass(frozen=True, eq=False)
class Function:
    """A function of arguments with shapes; `key` decides what it computes.

    `program` traces it. `columns` are its results over columns of CasADi symbols. `owner` is the
    robot whose function it is, for users to read.
    """

    name: str
    key: Key
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    columns: Callable[[Columns], list[Any]]
    traced: Callable[[], Program] | None = None
    owner: str = ""

    @property
    def title(self) -> str:
        """The name that users know."""
        return f"{self.name} of {self.owner}" if self.owner else self.name

    @cached_property
    def ports(self) -> Ports:
        """Names and shapes of its arguments, and of its results."""
        inputs, outputs = self.inputs, self.outputs
        return Ports(
            tuple(p.name for p in inputs), tuple(p.shape for p in inputs),
            tuple(p.name for p in outputs), tuple(p.shape for p in outputs),
        )  # fmt: skip

    def program(self) -> Program:
        """What it computes, traced: a straight line of operations."""
        if self.traced is not None:
            return self.traced()
        from .optimise import factored, share_reciprocals
        from .tracer import program_of, symbols

        columns = symbols(self.inputs)
        results = self.columns(columns)
        found = program_of(self.name, columns, results, self.inputs, self.outputs)
        return factored(share_reciprocals(found))

    def code(self, dtype: str) -> Code:
        """Machine code for the processor."""
        return compiled(self.key, self.program, self.ports, dtype, what=self.title)

    def device_code(self, dtype: str, fused: bool = False) -> "DeviceCode":
        """Code for GPUs; `fused` adds products without rounding them first."""
        code = self._device_codes.get((dtype, fused))
        if code is None:
            from .gpu import device_code

            code = device_code(self.key, self.program, self.ports, dtype, fused, self.title)
            self._device_codes[dtype, fused] = code
        return code

    @cached_property
    def _device_codes(self) -> "dict[tuple[str, bool], DeviceCode]":
        return {}

    @cached_property
    def pushforward(self) -> "Function":
        """Its derivative along tangents, which follow the arguments."""
        tangents = tuple(Port(f"{p.name}_dot", p.shape) for p in self.inputs)
        outputs = tuple(Port(f"{p.name}_dot", p.shape) for p in self.outputs)
        return self._derived("pushforward", tangents, outputs, transposed=False)

    @cached_property
    def pullback(self) -> "Function":
        """Its transposed derivative times cotangents, which follow the arguments."""
        cotangents = tuple(Port(f"{p.name}_bar", p.shape) for p in self.outputs)
        outputs = tuple(Port(f"{p.name}_bar", p.shape) for p in self.inputs)
        return self._derived("pullback", cotangents, outputs, transposed=True)

    def part(self, zeros: tuple[int, ...], results: tuple[int, ...]) -> "Function":
        """Some of its results, by number, where some arguments are zero: only that is compiled."""
        if not zeros and results == tuple(range(len(self.outputs))):
            return self

        def columns(given: Columns) -> list[Any]:
            import casadi as ca

            rest = iter(given)
            full = [
                ca.SX.zeros(p.size) if k in zeros else next(rest) for k, p in enumerate(self.inputs)
            ]
            found = self.columns(full)
            return [found[k] for k in results]

        key = (f"zeros {zeros} results {results}", *self.key)
        inputs = tuple(p for k, p in enumerate(self.inputs) if k not in zeros)
        outputs = tuple(self.outputs[k] for k in results)
        return Function(self.name, key, inputs, outputs, columns, owner=self.owner)

    def _derived(
        self, what: str, seeds: tuple[Port, ...], outputs: tuple[Port, ...], transposed: bool
    ) -> "Function":
        own = len(self.inputs)

        def columns(given: Columns) -> list[Any]:
            import casadi as ca

            from .tracer import flat

            results = [ca.SX(x) for row in self.columns(given[:own]) for x in flat(row)]
            x, y, seed = ca.vertcat(*given[:own]), ca.vertcat(*results), ca.vertcat(*given[own:])
            found, rows, start = ca.jtimes(y, x, seed, transposed), [], 0
            for port in outputs:
                rows.append([found[i] for i in range(start, start + port.size)])
                start += port.size
            return rows

        key = (what, *self.key)
        name, inputs = f"{self.name}:{what}", (*self.inputs, *seeds)
        return Function(name, key, inputs, outputs, columns, owner=self.owner)


def kernel_function(kernel: Kernel, model: Model, parameters: bool = False) -> Function:
    """A kernel of a robot; with `parameters`, their vector is its last argument."""
    kernel.check(model)  # also where code of the rigid arm is known
    names = (*kernel.inputs, "parameters") if parameters else kernel.inputs
    inputs = tuple(Port(name, input_shape(name, model)) for name in names)
    outputs = tuple(Port(name, shape_of(s, model)) for name, s in kernel.outputs.items())

    def columns(given: Columns) -> list[Any]:
        from .programs import candidates, chain_for, results_of
        from .tracer import nested

        values = nested(given[-1], inputs[-1].shape) if parameters else None
        own = len(kernel.inputs)
        row = candidates(kernel, model)[0]
        c: Chain = chain_for(row, model, values)
        return results_of(row, c, given[:own], inputs[:own])

    def traced() -> Program:
        from .programs import program

        return program(kernel, model, parameters)

    key = kernel_key(kernel, model, parameters)
    return Function(kernel.name, key, inputs, outputs, columns, traced, model.name)


def robot_function(robot: "Robot", name: str, parameters: bool = False) -> Function:
    """A kernel of a robot by name, made once."""
    made = partial(kernel_function, kernel_named(name), robot.model, parameters)
    return once(robot, ("function", name, parameters), made)


def kernel_key(kernel: Kernel, model: Model, parameters: bool) -> Key:
    """Texts that decide what a kernel of a robot computes."""
    values = [0.0] * len(parameter_names(model)) if parameters else None
    found = chain(model, parameters=values)
    own = (repr(found.elastic),) if kernel.elastic else ()
    return repr(found), kernel.key, str(parameters), *own
