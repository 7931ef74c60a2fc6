"""Kernels as files of serialised CasADi functions, with a few lines that load them.

Functions take columns and give matrices of the kernels' shapes (more than two axes are stacked by
rows). min and max are CasADi's, which leave NaN out. What follows a function in its file CasADi
does not read: there it says where it comes from.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca

from .. import templates
from ..compile.kernels import Kernel, input_shape, shape_of
from ..compile.ops import OPS
from ..compile.program import Operation, Port, Program
from ..compile.programs import results_of
from ..compile.tracer import flat, nested, symbols
from ..errors import OptionError
from ..model.chain import chain
from ..model.model import Model
from .c_function import Programs, free_outputs, names_in_code, remarks, translated

# ops whose meaning in the table is NumPy's; the others are operators and work as they stand
OURS: Mapping[str, Callable[..., Any]] = {
    "sin": ca.sin, "cos": ca.cos, "sqrt": ca.sqrt, "exp": ca.exp, "log": ca.log, "tanh": ca.tanh,
    "pow": lambda a, b: a**b, "atan2": ca.atan2, "floor": ca.floor, "abs": ca.fabs,
    "sign": ca.sign, "min": ca.fmin, "max": ca.fmax, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "not": lambda a: a == 0, "and": lambda a, b: ca.logic_and(a != 0, b != 0),
    "or": lambda a, b: ca.logic_or(a != 0, b != 0), "select": ca.if_else,
}  # fmt: skip


def casadi_folder(
    robot: str, programs: Programs, notes: Sequence[str], dtype: str
) -> dict[str, str]:
    """File name -> text, for the kernels of one robot."""
    if dtype != "float64":
        raise OptionError(f"dtype is {dtype!r}, but CasADi computes in float64", "leave dtype out")
    stem, names = names_in_code(robot, programs)
    files = {
        f"{names[key]}.casadi": f"{_saved(function(program, names[key]))}\n{remarks(notes)}"
        for key, program in programs.items()
    }
    return {**files, f"{stem}_load.py": _loader(names, notes)}


def function(program: Program, name: str) -> ca.Function:
    """The program as a CasADi Function."""
    columns = [ca.SX.sym(p.name, p.size) for p in program.inputs]

    def operation(_: int, step: Operation, x: list[Any]) -> Any:
        return (OURS.get(step.op) or OPS[step.op].meaning)(*x)

    values = translated(program, columns, ca.SX, operation)
    pairs = zip(program.outputs, program.results, strict=True)
    results = [_matrix([values[v] for v in result], port.shape) for port, result in pairs]
    names = [p.name for p in program.inputs], free_outputs(program)
    return ca.Function(name, columns, results, *names)


def _saved(made: ca.Function) -> str:
    """What Function.save writes, which is text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "function.casadi"
        made.save(str(path))
        return path.read_text(encoding="ascii")


def _matrix(entries: list[Any], shape: tuple[int, ...]) -> Any:
    """Entries row by row as a dense matrix; more than two axes are stacked by rows."""
    columns = shape[-1] if len(shape) > 1 else 1
    column = ca.vertcat(*map(ca.SX, entries))
    return ca.densify(ca.reshape(column, columns, len(entries) // columns).T)


def _loader(names: Mapping[str, str], notes: Sequence[str]) -> str:
    rows = "\n".join(f'    "{name}",' for name in names.values())
    return templates.filled(__package__, "casadi_load.py.in", REMARKS=remarks(notes), NAMES=rows)


# kernels and user functions over CasADi symbols


def casadi_function(kernel: Kernel, model: Model, parameters: bool) -> ca.Function:
    """A CasADi Function: column vectors in, matrices of the kernel's shapes out, all named."""
    wanted = (*kernel.inputs, *(("parameters",) if parameters else ()))
    inputs = [Port(name, input_shape(name, model)) for name in wanted]
    columns = symbols(inputs)
    own = nested(columns[-1], inputs[-1].shape) if parameters else None
    given = columns[: len(kernel.inputs)], inputs[: len(kernel.inputs)]
    results = results_of(kernel, chain(model, parameters=own), *given)
    shapes = [shape_of(s, model) for s in kernel.outputs.values()]
    matrices = [_matrix(list(flat(r)), s) for r, s in zip(results, shapes, strict=True)]
    names = [f"{name}_out" if name in kernel.inputs else name for name in kernel.outputs]
    name = kernel.name.replace(":", "_")
    return ca.Function(name, columns, matrices, list(wanted), names)
