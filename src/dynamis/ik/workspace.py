"""Workspace of a robot in a plane: where its tool can be, and how well conditioned it is there."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import qr

from ..arguments import choice, flag, number, whole
from ..compile.arrays import finite, numbers, one_sample
from ..dynamics.mobility import size
from ..errors import OptionError
from ..model.schema import UNITS
from ..progress import stage
from ..robot.preflight import random_positions
from .assemble import counted_limits, problem_of
from .collisions import clear
from .geometry import JointSpace, outside
from .platform import plan
from .search import descend
from .singularity import drives, singularity, task_rank
from .tangent import generic_configurations, motions, tool_motions
from .target import Target, task_mask

if TYPE_CHECKING:
    from ..robot import Robot

PLANES = {"xy": (0, 1, 2), "xz": (0, 2, 1), "yz": (1, 2, 0)}  # two axes, and the one across
MOST_POINTS = 1000  # along an axis
COARSE = 41  # points of the grid that finds the extent
WIDE = 3.0  # half the width of that grid, in sizes of the mechanism
FOLLOWS = 1e-8  # m and rad that a step to the next point may leave
LEAP = 0.8  # rad or sizes that a joint may go from a point to the next in the same working mode
STEPS = 30
HELD = 1e-6  # rad or m that a joint which does not move may vary by
SAMPLES = 4096  # positions of an open arm whose tools give the extent
PREFERRED = ("home", "ready")


@dataclass(frozen=True, eq=False)
class Workspace:
    """A grid over a plane: configurations, and both condition numbers, NaN out of reach."""

    plane: str  # "xy", "xz" or "yz"
    at: float  # m, along the third axis
    x: np.ndarray  # (a,) m
    y: np.ndarray  # (b,) m
    q: np.ndarray  # (b, a, n)
    serial: np.ndarray  # (b, a)
    parallel: np.ndarray  # (b, a)
    sides: np.ndarray  # (b, a): changes sign through 0 at parallel, through infinity at serial ones
    one_mode: bool  # of the working mode of q0 alone
    fixed: tuple[str, ...] = ()  # what is the same at all points, in words: joints, orientation

    @property
    def reached(self) -> np.ndarray:
        """Where the tool can be, (b, a)."""
        return np.asarray(np.isfinite(self.q).all(axis=-1))

    @property
    def conditioning(self) -> np.ndarray:
        """One over the worse condition number: 1 is best, 0 singular; NaN out of reach."""
        return 1.0 / np.maximum(self.serial, self.parallel)


def workspace(
    robot: "Robot",
    plane: str | None = None,
    at: float | None = None,
    q0: Any = None,
    points: int = 81,
    extent: Any = None,
    task: Any = None,
    limits: bool = True,
    world: Any = None,
) -> Workspace:
    """Where the tool can be in a plane, by inverse kinematics over a grid.

    `at` (m) places the plane along its third axis (default: through the tool in the configuration
    "home", "ready" or the first). Of all solutions of a point the best conditioned counts; with
    `q0` only those that can be followed from there point by point: its working mode. Tasks that
    prescribe an orientation keep that of q0. With a `world` ([]: the arm alone) only positions
    count that do not collide. `extent` is ((x0, x1), (y0, y1)) in metres.
    """
    flag(limits, "limits")
    whole(points, "points", 2, MOST_POINTS)
    mask, start = task_mask(robot, task), _start(robot, q0)
    T = robot.fk(start)
    name = _plane(robot) if plane is None else choice(plane, "plane", PLANES)
    across = PLANES[name][2]
    height = float(T[across, 3]) if at is None else number(at, "at")
    follow = q0 is not None or (
        bool(robot.model.closures) and plan(robot, Target(np.eye(4), mask)) is None
    )
    grid = _Grid(robot, name, height, T, mask, limits, start, follow, world)
    with stage(f"scanning the workspace of {robot.name}"):
        x, y = _extent(grid, robot, extent, points)
        q = grid.scan(x, y)
    there = np.isfinite(q).all(axis=-1)
    serial, parallel, sides = (np.full(there.shape, np.nan) for _ in range(3))
    if there.any():
        found = singularity(robot, q[there], mask.astype(float).tolist())
        serial[there], parallel[there] = found.serial, found.parallel
        sides[there] = _sides(robot, q[there], mask)
    fixed = (*_held(robot, q[there]), *_kept(mask), *([] if limits else ["no joint limits"]))
    fixed += () if world is None else ("no collisions",)
    return Workspace(name, height, x, y, q, serial, parallel, sides, follow, fixed)


def _held(robot: "Robot", q: np.ndarray) -> list[str]:
    """Joints that have one value at all points (k, n), with it."""
    names, units = robot.joint_names, [UNITS[kind]["position"] for kind in robot.joint_kinds]
    still = np.ptp(q, axis=0) < HELD if len(q) > 1 else np.zeros(robot.n, dtype=bool)
    return [f"{names[k]} = {q[0, k] + 0.0:.3g} {units[k]}" for k in np.flatnonzero(still)]


def _kept(mask: np.ndarray) -> list[str]:
    """Orientation of the tool that a task asks for, in words."""
    axes = [axis for axis, told in zip("xyz", mask[3:], strict=True) if told]
    if len(axes) == 3:
        return ["orientation of the tool"]
    return [f"turn of the tool about {', '.join(axes)}"] if axes else []


def _start(robot: "Robot", q0: Any) -> np.ndarray:
    if q0 is not None:
        return finite(one_sample(q0, "q0", (robot.n,), f"robot {robot.name!r}"), "q0")
    named = robot.configurations
    for name in (*PREFERRED, *named):
        if name in named:
            return np.array(named[name])
    return generic_configurations(robot)[0]


def _plane(robot: "Robot") -> str:
    """The plane that a planar mechanism moves in, else xz."""
    J = tool_motions(robot, generic_configurations(robot))[:, :3]
    moving = np.abs(J).max(axis=(0, 2)) > 1e-9
    flat = [name for name, (*_, across) in PLANES.items() if not moving[across]]
    return flat[0] if flat else "xz"


def _extent(grid: "_Grid", robot: "Robot", extent: Any, points: int) -> list[np.ndarray]:
    """Coordinates along both axes."""
    if extent is not None:
        box = numbers(extent, "extent", "expected ((x0, x1), (y0, y1)) in metres")
        if box.shape != (2, 2) or not np.isfinite(box).all() or not (box[:, 0] < box[:, 1]).all():
            raise OptionError(f"extent is {box.tolist()}, expected ((x0, x1), (y0, y1)), x0 < x1")
    else:
        box = _found_extent(grid, robot)
    span = (box[:, 1] - box[:, 0]).max()
    counts = np.maximum(2, np.ceil(points * (box[:, 1] - box[:, 0]) / span)).astype(int)
    return [np.linspace(r[0], r[1], int(count)) for r, count in zip(box, counts, strict=True)]


def _found_extent(grid: "_Grid", robot: "Robot") -> np.ndarray:
    axes = list(PLANES[grid.plane][:2])
    if not robot.model.closures:
        q = random_positions(robot, SAMPLES, np.random.default_rng(0))
        tools = robot.fk(q)[:, axes, 3]
        margin = 0.03 * np.ptp(tools, axis=0).max()
        return np.stack([tools.min(axis=0) - margin, tools.max(axis=0) + margin], axis=1)
    half = WIDE * size(robot.chain)
    x, y = (grid.T[k, 3] + np.linspace(-half, half, COARSE) for k in axes)
    there = np.isfinite(grid.scan(x, y)).all(axis=-1)
    if not there.any():
        raise OptionError(
            f"the tool of {robot.name!r} reaches no point of the plane {grid.plane} at "
            f"{grid.at:.4g} m",
            "give another `at`, a `q0` whose tool lies in the plane, or limits=False",
        )
    rows, columns = np.nonzero(there)
    edge = 2.0 * (x[1] - x[0])
    spans = ((x, columns), (y, rows))
    return np.array([(v[k.min()] - edge, v[k.max()] + edge) for v, k in spans])


@dataclass(frozen=True, eq=False)
class _Grid:
    """Configurations over points of a plane."""

    robot: "Robot"
    plane: str
    at: float
    T: np.ndarray  # pose of the tool whose orientation is kept
    mask: np.ndarray
    limits: bool
    start: np.ndarray
    follow: bool
    world: Any = None

    @property
    def _counted(self) -> bool | str:
        """Limits that count: those of passive joints in any case."""
        return self.limits or ("passive" if self.robot.model.closures else False)

    def scan(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """q over a grid, (b, a, n), NaN where nothing was found."""
        first, second, across = PLANES[self.plane]
        poses = np.zeros((len(y), len(x), 4, 4)) + self.T
        poses[..., first, 3], poses[..., second, 3] = x, y[:, None]
        poses[..., across, 3] = self.at
        return self._followed(poses, x, y) if self.follow else self._best(poses)

    def _best(self, poses: np.ndarray) -> np.ndarray:
        task = self.mask.astype(float).tolist()
        solved: Any = self.robot.ik(poses, task, limits=self._counted, world=self.world)
        found = solved.solutions
        if found.shape[-2] == 0:
            return np.full((*poses.shape[:2], self.robot.n), np.nan)
        near = singularity(self.robot, found, task)
        worst = np.maximum(near.serial, near.parallel)
        best = np.argmin(np.where(np.isnan(worst), np.inf, worst), axis=-1)
        return np.take_along_axis(found, best[..., None, None], axis=-2)[..., 0, :]

    def _followed(self, poses: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """From the point nearest to the tool at the start on to its neighbours, and so on."""
        first, second, _ = PLANES[self.plane]
        q = np.full((len(y), len(x), self.robot.n), np.nan)
        at = int(np.abs(y - self.T[second, 3]).argmin()), int(np.abs(x - self.T[first, 3]).argmin())
        fresh = self._stepped(poses, np.array([at]), self.start[None], q, np.inf)
        while len(fresh):
            near = (fresh[:, None] + [(0, 1), (1, 0), (0, -1), (-1, 0)]).reshape(-1, 2)
            origin = np.repeat(fresh, 4, axis=0)
            ok: Any = ((near >= 0) & (near < (len(y), len(x)))).all(axis=1)
            ok[ok] &= np.isnan(q[tuple(near[ok].T)][:, 0])
            near, origin = near[ok], origin[ok]
            fresh = self._stepped(poses, near, q[tuple(origin.T)], q, LEAP)
        return q

    def _stepped(
        self, poses: np.ndarray, cells: np.ndarray, start: np.ndarray, q: np.ndarray, leap: float
    ) -> np.ndarray:
        """Cells reached from the starts, written into q."""
        if not len(cells):
            return cells
        problem = problem_of(self.robot, Target(poses[tuple(cells.T)], self.mask))
        bounds = counted_limits(self.robot, self._counted)
        moved, space = descend(problem, start, STEPS), JointSpace.of(self.robot, problem.size)
        ok = (problem.residuals(moved) < FOLLOWS) & (space.distance(moved, start) < leap)
        ok &= ~outside(space.into_limits(moved, bounds), bounds).any(axis=1)
        if self.world is not None:
            ok[ok] = clear(self.robot, moved[ok], self.world)
        _, once = np.unique(cells[ok], axis=0, return_index=True)
        cells, moved = cells[ok][once], moved[ok][once]
        q[tuple(cells.T)] = moved
        return cells


def _sides(robot: "Robot", q: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """det of the drives' over det of the tool's motions; NaN where they are not as many."""
    rank = task_rank(robot, mask)
    own = drives(robot)
    if rank != robot.dof or len(own) != robot.dof:
        return np.full(len(q), np.nan)
    general = tool_motions(robot, generic_configurations(robot))[0][mask]
    order: Any = qr(general.T, pivoting=True, mode="r")
    rows = np.sort(order[1][:rank])
    tool = np.linalg.det(tool_motions(robot, q)[..., mask, :][..., rows, :])
    with np.errstate(divide="ignore"):
        return np.linalg.det(motions(robot, q)[..., own, :]) / tool
