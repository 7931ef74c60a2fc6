"""Numbers from equations, to check them and to try them out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from .. import evaluate as door
from ..arguments import is_word, number
from ..errors import OptionError, SymbolError, did_you_mean, shown
from .recursion import QUANTITIES

STATE = ("q", "qd", "qdd")


def evaluate(
    equations: Any, rows: Sequence[Any], what: str, values: Mapping[str, float]
) -> np.ndarray:
    """tau or g (..., n), M or C (..., n, n) at states; None is a row of zeros."""
    if not is_word(what, QUANTITIES):
        raise OptionError(f"cannot evaluate {shown(what)}", did_you_mean(what, QUANTITIES))
    n, symbols = equations.n, equations.symbols
    given = _given(equations, values)
    arrays = [
        door.as_batch(np.zeros(n) if x is None else x, name, (n,), repr(equations))
        for name, x in zip(STATE, rows, strict=True)
    ]
    batch = door.batch_shape(STATE, [x.shape[:-1] for x in arrays])
    joints = [np.broadcast_to(x[..., k], batch) for x in arrays for k in range(n)]
    result = _function(equations, what)(*joints, *(given[s] for s in symbols))
    columns = [np.broadcast_to(np.asarray(x, float), batch) for x in result]
    stacked = np.stack(columns, axis=-1)
    return stacked.reshape(*batch, n, n) if what in ("M", "C") else stacked


def _given(equations: Any, values: Mapping[str, float]) -> dict[Any, float]:
    names = [str(s) for s in equations.symbols]
    unknown = next((k for k in values if k not in names), None)
    if unknown is not None:
        raise OptionError(
            f"robot {equations.robot_name!r} has no symbol {unknown!r}",
            did_you_mean(unknown, names),
        )
    told = {sp.Symbol(k, real=True): number(v, k) for k, v in values.items()}
    given = {**equations.values, **told}
    missing = next((s for s in equations.symbols if s not in given), None)
    if missing is not None:
        raise SymbolError(f"symbol {str(missing)!r} has no value", f"evaluate(..., {missing}=1)")
    return given


def _function(equations: Any, what: str) -> Callable[..., Any]:
    if what not in equations.functions:
        arguments = [*equations.q, *equations.qd, *equations.qdd, *equations.symbols]
        if equations.is_closed:
            entries = list(getattr(equations, what))
            function = sp.lambdify(arguments, entries, "numpy", cse=True)
        else:
            function = equations.recursion_of(what).function(arguments)
        equations.functions[what] = function
    return equations.functions[what]
