"""Functions of numbers inside CasADi expressions, with their own Jacobian."""

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

Value = Callable[..., Any]


class Numeric(ca.Callback):
    """`value` of one array (rows, columns), dense; `slope(input, output)` its Jacobian's entries.

    The entries are those of the sparsity `pattern`, column by column. Both get and give NumPy
    arrays; NaN makes a solver take a shorter step.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[tuple[int, int]],
        output: Any,
        value: Value,
        slope: Value | None = None,
        pattern: Any = None,
    ):
        ca.Callback.__init__(self)
        self.inputs, self.output, self.value = tuple(inputs), output, value
        self.slope, self.pattern = slope, pattern
        self.made: list[Any] = []  # CasADi keeps no reference
        self.construct(name, {})

    def get_n_in(self) -> int:
        """Inputs."""
        return len(self.inputs)

    def get_n_out(self) -> int:
        """Outputs."""
        return 1

    def get_sparsity_in(self, i: int) -> Any:
        """Of an input: dense."""
        return ca.Sparsity.dense(*self.inputs[i])

    def get_sparsity_out(self, i: int) -> Any:
        """Of the output."""
        return self.output

    def eval(self, arg: Any) -> list[Any]:
        """The output at numbers."""
        found = np.asarray(self.value(*(np.asarray(x) for x in arg)), dtype=float)
        return [ca.DM(self.output, found.ravel(order="F"))]

    def has_jacobian(self) -> bool:
        """Whether the Jacobian is known."""
        return self.slope is not None

    def has_jac_sparsity(self, oind: int, iind: int) -> bool:
        """Whether its pattern is."""
        return self.slope is not None

    def get_jac_sparsity(self, oind: int, iind: int, symmetric: bool) -> Any:
        """Its pattern."""
        return self.pattern

    def get_jacobian(self, name: str, inames: Any, onames: Any, opts: Any) -> Any:
        """It, as a function of the input and the output."""
        assert self.slope is not None
        shapes = (*self.inputs, self.output.shape)
        self.made.append(Numeric(name, shapes, self.pattern, self.slope))
        return self.made[-1]
