"""The solver as calls of two small programs: a sweep, and a correction, compiled once each.

The problem travels as one vector: G (lower triangle), v, and two numbers of every block.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...compile.program import Call, Source
from ...compile.service import traced
from ...spatial.functions import Functions
from .solver import (
    CORRECTIONS,
    SWEEPS,
    Box,
    Cone,
    Problem,
    Solution,
    better,
    corrected,
    looked_at,
    scales_of,
    swept,
)

Kind = float | None  # friction of a cone; None: a box
Solve = Callable[[Problem, Any, Functions], Solution]


def rows_of(kinds: Sequence[Kind]) -> int:
    """Rows of blocks of these kinds."""
    return sum(1 if kind is None else 3 for kind in kinds)


def size_of(kinds: Sequence[Kind]) -> int:
    """Numbers of a problem."""
    m = rows_of(kinds)
    return m * (m + 1) // 2 + m + 2 * len(kinds)


def written_problem(problem: Problem, fn: Functions) -> list[Any]:
    """A problem as one vector."""
    found = [x for i, row in enumerate(problem.G) for x in row[: i + 1]]
    found += problem.v
    for block in problem.blocks:
        if isinstance(block, Box):
            found += [block.low, block.high]
        else:
            found += [fn.select(block.active, 1.0, 0.0), 0.0]
    return found


def read_problem(x: Any, kinds: Sequence[Kind]) -> Problem:
    """A problem from its vector."""
    m, values = rows_of(kinds), list(x)
    G: list[list[Any]] = [[0.0] * m for _ in range(m)]
    k = 0
    for i in range(m):
        for j in range(i + 1):
            G[i][j] = G[j][i] = values[k]
            k += 1
    v, k = values[k : k + m], k + m
    blocks: list[Box | Cone] = []
    for kind in kinds:
        pair = values[k : k + 2]
        blocks.append(Box(*pair) if kind is None else Cone(kind, pair[0] > 0.0))
        k += 2
    return Problem(G, v, blocks)


def _written(found: Solution) -> list[Any]:
    return [*found.l, *found.u, found.residual]


def read_solution(x: Any) -> Solution:
    """A solution from its vector."""
    *values, residual = x
    m = len(values) // 2
    return Solution(values[:m], values[m:], residual)


def solver_calls(kinds: Sequence[Kind], prefix: str) -> list[Call]:
    """Calls from the vectors prefix + "problem" and prefix + "guess" to prefix + "solution"."""
    m = rows_of(kinds)
    given = {"problem": (size_of(kinds),)}
    solution = {"solution": (2 * m + 1,)}

    def sweep(problem: Any, l: Any, fn: Functions) -> list[Any]:
        own = read_problem(problem, kinds)
        return swept(own, scales_of(own, fn), list(l), fn)

    def look(problem: Any, l: Any, fn: Functions) -> list[Any]:
        own = read_problem(problem, kinds)
        return _written(looked_at(own, scales_of(own, fn), list(l), fn))

    def choose(problem: Any, l: Any, first: Any, fn: Functions) -> list[Any]:
        own = read_problem(problem, kinds)
        found = looked_at(own, scales_of(own, fn), list(l), fn)
        return _written(better(found, read_solution(first), fn))

    def correct(problem: Any, found: Any, fn: Functions) -> list[Any]:
        own = read_problem(problem, kinds)
        return _written(corrected(own, scales_of(own, fn), read_solution(found), fn))

    impulses = {"l": (m,)}
    program = traced("sweep", sweep, given | impulses, impulses)
    calls, last, own = [], prefix + "guess", prefix + "problem"
    for k in range(SWEEPS):  # never into the vector that is read
        to = f"{prefix}l{k % 2}"
        calls.append(Call(program, _sources(own, last), (to,)))
        if k == 0:
            first = traced("look", look, given | impulses, solution)
            calls.append(Call(first, _sources(own, to), (prefix + "first",)))
        last = to
    first = {"first": solution["solution"]}
    program = traced("choose", choose, given | impulses | first, solution)
    names = [f"{prefix}found{k % 2}" for k in range(CORRECTIONS)] + [prefix + "solution"]
    calls.append(Call(program, _sources(own, last, prefix + "first"), (names[0],)))
    program = traced("correct", correct, given | solution, solution)
    for a, b in zip(names, names[1:], strict=False):
        calls.append(Call(program, _sources(own, a), (b,)))
    return calls


def around_solver(
    name: str, given: Mapping[str, Any], wanted: Mapping[str, Any], kinds: Sequence[Kind],
    function: Callable[..., Any],
) -> list[Call]:  # fmt: skip
    """Calls that take vectors to others by a function(*values, fn, solve=), solver and all.

    It is traced twice: up to the problem, and once more with the solution known.
    """
    kept: list[list[Any]] = []

    def before(*values: Any) -> list[list[Any]]:
        function(*values, solve=captured(kept))
        return kept

    def after(*values: Any) -> list[Any]:
        *own, solution, fn = values
        return function(*own, fn, solve=known(solution))

    m, own = rows_of(kinds), [name + x for x in ("problem", "guess", "solution")]
    sizes = {own[0]: (size_of(kinds),), own[1]: (m,)}
    first = traced(name, before, given, sizes)
    last = traced(name, after, {**given, own[2]: (2 * m + 1,)}, wanted)
    return [
        Call(first, _sources(*given), (own[0], own[1])),
        *solver_calls(kinds, name),
        Call(last, _sources(*given, own[2]), tuple(wanted)),
    ]


def captured(kept: list[list[Any]]) -> Solve:
    """A solver that only keeps the problem and the guess it is given, as vectors."""

    def solve(problem: Problem, guess: Any, fn: Functions) -> Solution:
        kept[:] = [written_problem(problem, fn), list(guess)]
        nothing = [0.0] * len(problem.v)
        return Solution(nothing, nothing, 0.0)

    return solve


def known(solution: Any) -> Solve:
    """A solver that was done elsewhere."""
    return lambda problem, guess, fn: read_solution(solution)


def _sources(*vectors: str) -> tuple[Source, ...]:
    return tuple(map(Source, vectors))
