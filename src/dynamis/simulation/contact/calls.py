"""The solver as calls of small programs, a sweep and a correction among them, compiled once each.

The problem travels as one vector: G (lower triangle), v, and two numbers of every block.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...compile.program import Call, Program, Source
from ...compile.service import traced
from ...spatial.functions import Functions
from .solver import (
    CORRECTIONS,
    SWEEPS,
    SWEEPS_AFTER,
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
    solution = (2 * m + 1,)

    def sweep(problem: Any, l: Any, fn: Functions) -> list[Any]:
        own = read_problem(problem, kinds)
        return swept(own, scales_of(own, fn), list(l), fn)

    def look(problem: Any, l: Any, fn: Functions) -> list[Any]:
        own = read_problem(problem, kinds)
        return _written(looked_at(own, scales_of(own, fn), list(l), fn))

    def choose(problem: Any, l: Any, before: Any, best: Any, fn: Functions) -> list[list[Any]]:
        own = read_problem(problem, kinds)
        now = looked_at(own, scales_of(own, fn), list(l), fn)
        now = better(now, read_solution(before), fn)
        return [_written(now), _written(better(now, read_solution(best), fn))]

    def correct(problem: Any, now: Any, best: Any, fn: Functions) -> list[list[Any]]:
        own = read_problem(problem, kinds)
        after = corrected(own, scales_of(own, fn), read_solution(now), fn)
        return [_written(after), _written(better(after, read_solution(best), fn))]

    impulses = {"l": (m,)}
    both = {"now": solution, "best": solution}
    sweeping = traced("sweep", sweep, given | impulses, impulses)
    looking = traced("look", look, given | impulses, {"now": solution})
    choosing = traced(
        "choose", choose, given | impulses | {"before": solution, "best": solution}, both
    )
    correcting = traced("correct", correct, given | both, both)
    calls: list[Call] = []

    def call(program: Program, reads: Sequence[str], writes: Sequence[str]) -> None:
        """Never into a vector that is read."""
        calls.append(
            Call(
                program,
                _sources(*(prefix + x for x in ("problem", *reads))),
                tuple(prefix + x for x in writes),
            )
        )

    def sweeps(number: int, start: str) -> str:
        for k in range(number):
            call(sweeping, [start], [start := f"l{k % 2}"])
        return start

    call(sweeping, ["guess"], ["first"])
    call(looking, ["first"], ["best1"])
    call(choosing, [sweeps(SWEEPS - 1, "first"), "best1", "best1"], ["now", "best0"])
    for k in range(CORRECTIONS):
        call(correcting, ["now", "best0"], ["after", "best1"])
        end = "solution" if k == CORRECTIONS - 1 else "best0"
        call(choosing, [sweeps(SWEEPS_AFTER, "after"), "after", "best1"], ["now", end])
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
