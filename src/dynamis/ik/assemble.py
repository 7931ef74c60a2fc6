"""Closed mechanisms: every way to close the loops with the drives held, or the tool in place."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import choice, is_flag, whole
from ..compile.arrays import NUMPY, as_batch, finite, one_sample
from ..dynamics import closures
from ..dynamics.mobility import size
from ..errors import ClosureError, OptionError
from ..model.chain import Chain
from ..model.closure import KINDS
from .batch import SolvedRows
from .geometry import (
    JointSpace,
    arm_size,
    in_order,
    outside,
    pose_scale,
    turning,
    whole_turns,
)
from .legs import as_rods, rods, with_legs, with_others_held
from .search import IkProblem, descend, search, start_bounds
from .target import Target

if TYPE_CHECKING:
    from ..robot import Robot

STARTS = 256  # of a round, unasked
MOST_STARTS = 100_000
MOST = 128  # assemblies; a Gough-Stewart platform has at most 40, more are a continuum
CLOSED = 1e-9  # m and rad together
POLISH = 30  # steps to the nearest configuration that closes


@dataclass(frozen=True)
class LoopProblem:
    """Loops to be closed by some of the coordinates, the others held; perhaps a pose too.

    In the form of the problems of `search`: errors and Jacobians in scaled units.
    """

    robot: "Robot"
    size: float
    free: tuple[int, ...]
    held: np.ndarray  # (n,), or (k, n): a row for every row of x
    target: Target | None = None
    rods: tuple[Chain, tuple[int, ...]] | None = None  # legs as rods, and the joints left then
    most = MOST

    @classmethod
    def of(cls, robot: "Robot", target: Target | None = None) -> "LoopProblem":
        """With every coordinate free."""
        return cls(robot, size(robot.chain), tuple(range(robot.n)), np.zeros(robot.n), target)

    def at(self, rows: np.ndarray) -> "LoopProblem":
        """That of some rows of x."""
        held = self.held if self.held.ndim == 1 else self.held[rows]
        target = self.target
        if target is not None and target.T.ndim == 3:
            target = Target(target.T[rows], target.mask)
        return replace(self, held=held, target=target)

    def full(self, x: np.ndarray) -> np.ndarray:
        """q of all joints, (..., n)."""
        q = np.array(np.broadcast_to(self.held, (*x.shape[:-1], self.robot.n)))
        q[..., self.free] = x
        return q

    @property
    def revolute(self) -> np.ndarray:
        """Which of the free coordinates turn."""
        return turning(self.robot)[list(self.free)]

    @property
    def space(self) -> JointSpace:
        """How free coordinates compare."""
        return JointSpace(self.revolute & whole_turns(self.robot)[list(self.free)], self.size)

    @property
    def joint_scale(self) -> np.ndarray:
        """The mechanism's size for slides, 1 for angles."""
        return np.where(self.revolute, 1.0, self.size)

    @property
    def row_scale(self) -> np.ndarray:
        """One over the size for lengths, 1 for angles."""
        chain = self.robot.chain if self.rods is None else self.rods[0]
        names = [name for x in chain.closures for name in KINDS[x.kind].rows]
        rows = [1.0 if "about" in name else 1.0 / self.size for name in names]
        pose = [] if self.target is None else pose_scale(self.size)[self.target.mask]
        return np.array([*rows, *pose])

    def _errors(self, q: np.ndarray) -> np.ndarray:
        parts = [-self._closure_error(q)]
        if self.target is not None:
            parts.append(self.target.error(self.robot.fk(q)))
        return np.concatenate(parts, axis=-1)

    def _closure_error(self, q: np.ndarray) -> np.ndarray:
        if self.rods is None:
            return self.robot.closure_error(q)
        chain, kept = self.rods
        rows = closures.closure_error(chain, list(np.moveaxis(q[..., kept], -1, 0)), NUMPY)
        return _stacked(rows, q.shape[:-1])

    def _closure_jacobian(self, q: np.ndarray) -> np.ndarray:
        """Columns of the free coordinates, (..., rows, free)."""
        if self.rods is None:
            return self.robot.closure_jacobian(q)[..., list(self.free)]
        chain, kept = self.rods
        J = closures.closure_jacobian(chain, list(np.moveaxis(q[..., kept], -1, 0)), NUMPY)
        columns = [kept.index(k) for k in self.free]
        rows = [_stacked([row[k] for k in columns], q.shape[:-1]) for row in J]
        return np.stack(rows, axis=-2)

    def residuals(self, x: np.ndarray) -> np.ndarray:
        """What is left of all conditions, metres and radians together, (...,)."""
        return np.linalg.norm(self._errors(self.full(x)), axis=-1)

    def linearised(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The error and its Jacobian A, e(x + s y) = e - A y, in scaled units."""
        q, w = self.full(x), self.row_scale
        A = self._closure_jacobian(q)
        if self.target is not None:
            T = self.robot.fk(q)
            own = self.target.error_jacobian(self.robot.jacobian(q), T)
            A = np.concatenate([A, own[..., list(self.free)]], axis=-2)
        return self._errors(q) * w, A * w[:, None] * self.joint_scale


def _stacked(values: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Arrays and numbers of one shape, side by side in the last axis."""
    return np.stack([np.broadcast_to(x, shape) for x in values], axis=-1)


LIMITS = ("passive",)  # or True, or False


def counted_limits(robot: "Robot", limits: Any) -> np.ndarray:
    """Joint limits that count, (n, 2): all, none, or those of passive joints."""
    if not is_flag(limits):
        choice(limits, "limits", LIMITS)
        passive = [k not in robot.active for k in range(robot.n)]
        return np.where(np.array(passive)[:, None], robot.limits, (-np.inf, np.inf))
    return robot.limits if limits else np.tile([-np.inf, np.inf], (robot.n, 1))


def assemble(
    robot: "Robot",
    q_active: Any,
    *,
    limits: bool | str = "passive",
    q0: Any = None,
    starts: int | None = None,
    seed: int = 0,
) -> np.ndarray:
    """Every assembly found with the independent joints at q_active, (k, n)."""
    refuse_open_arms(robot)
    given = one_sample(q_active, "q_active", (robot.dof,), f"the drives of {robot.name!r}")
    finite(given, "q_active")
    held = np.zeros(robot.n)
    held[list(robot.independent)] = given
    free = tuple(k for k in range(robot.n) if k not in robot.independent)
    found = solutions(LoopProblem(robot, size(robot.chain), free, held), limits, starts, seed)
    if q0 is not None:
        near = as_batch(q0, "q0", (robot.n,), f"robot {robot.name!r}")
        away = JointSpace.of(robot, size(robot.chain)).away(found, near)
        found = found[np.argsort(away, kind="stable")]
    return found


def solutions(
    problem: LoopProblem, limits: Any = "passive", starts: int | None = None, seed: int = 0
) -> np.ndarray:
    """Every distinct q that a search finds, in order, (k, n).

    Legs that turn about a point are rods in the search and are put back afterwards.
    """
    robot = problem.robot
    whole(seed, "seed", 0)
    count = STARTS if starts is None else whole(starts, "starts", most=MOST_STARTS)
    counted = counted_limits(robot, limits)
    legs = rods(robot.chain, problem.free) if problem.target is None else []
    reduced = problem
    if legs:
        chain, kept = as_rods(robot.chain, legs, problem.held)
        free = tuple(k for k in problem.free if k in kept)
        reduced = replace(problem, free=free, rods=(chain, kept))
    q = _searched(reduced, count, seed)
    space = JointSpace.of(robot, problem.size)
    if legs:
        held = [with_others_held(leg, problem.held) for leg in legs]
        rows, _ = with_legs(robot.chain, held, SolvedRows(np.arange(len(q)), q), space, counted)
        q = rows.q[problem.residuals(rows.q[:, problem.free]) <= CLOSED]
    free = list(problem.free)
    q[:, free] = space.into_limits(space.wrapped(q), counted)[:, free]
    q = q[~outside(q, counted)[:, free].any(axis=1)]
    return q[in_order(q)]


def _searched(problem: LoopProblem, count: int, seed: int) -> np.ndarray:
    """Distinct q of a problem, (k, n)."""
    free = list(problem.free)
    if not free:
        q = problem.held[None]
        return q if problem.residuals(np.zeros((1, 0)))[0] <= CLOSED else q[:0]
    bounds = start_bounds(problem.robot.limits[free], problem.revolute, problem.size)
    x, _ = search(problem, bounds, count, seed, CLOSED, len(free))  # type: ignore[arg-type]
    return problem.full(x)


def project(robot: "Robot", q: Any, qd: Any = None) -> Any:
    """The nearest configurations that close, (..., n); with qd also rates that keep them closed.

    Those of open arms are what is given.
    """
    what = f"robot {robot.name!r}"
    (given,) = robot._calls.arrays({"q": q})
    if not robot.model.closures:
        (rates,) = robot._calls.arrays({"qd": q if qd is None else qd})
        return given if qd is None else (given, np.broadcast_to(rates, given.shape).copy())
    rows = given.reshape(-1, robot.n)
    found, left = nearest(robot, rows)
    if (left > CLOSED).any():
        k = int(np.argmax(left))
        raise ClosureError(
            f"{what}: row {k} of q does not come to close: {left[k]:.3g} m and rad stay open",
            "start nearer to a closed configuration, or use robot.assemble(q_active)",
        )
    closed = found.reshape(given.shape)
    if qd is None:
        return closed
    (rates,) = robot._calls.arrays({"qd": qd})
    rates = np.broadcast_to(rates, closed.shape)
    J = robot.closure_jacobian(closed)
    taken = np.linalg.pinv(J, rcond=1e-9) @ (J @ rates[..., None])
    return closed, rates - taken[..., 0]


def nearest(
    robot: "Robot", rows: np.ndarray, bounds: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Every row moved to a nearby configuration that closes, within `bounds` (n, 2) if given.

    And what stays open there, (k,): above CLOSED where none was come to.
    """
    problem = LoopProblem.of(robot)
    found = descend(problem, rows, POLISH, bounds)  # type: ignore[arg-type]
    return found, problem.residuals(found) if len(found) else np.zeros(0)


def refuse_open_arms(robot: "Robot") -> None:
    """Say that a robot has no loops."""
    if not robot.model.closures:
        raise OptionError(f"robot {robot.name!r} has no closures: there is nothing to assemble")


def problem_of(robot: "Robot", target: Target) -> IkProblem:
    """The tool at a target; of a mechanism with closures, its loops closed too."""
    if robot.model.closures:
        return LoopProblem.of(robot, target)  # type: ignore[return-value]
    return IkProblem(robot, target, arm_size(robot))
