"""Reaching by torques as a Gymnasium environment: importing this registers "dynamis/Reach-v0".

import gymnasium, dynamis.gym
env = gymnasium.make("dynamis/Reach-v0", robot="puma560")
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from .arguments import number, positive, whole
from .compile.arrays import numbers
from .errors import OptionError, ShapeError, shown
from .lazy import package
from .model.quantity import resolve
from .robot import Robot, load
from .simulation.stepper import Stepper

if TYPE_CHECKING:
    import gymnasium
else:
    gymnasium = package("gymnasium", "gymnasium", "dynamis.gym", "gym")

NAME = "dynamis/Reach-v0"
SPEED, ACCELERATION, MARGIN, STATES = 1.0, 4.0, 1.5, 512  # what motors must do that nobody rated
FREE = {"revolute": np.pi, "prismatic": 0.5}  # where joints without limits start and reach


class ReachEnv(gymnasium.Env):
    """Bring the tool to a target within reach and keep it there, by joint torques.

    Action: one number in [-1, 1] per joint, times `effort` (default: the effort limits of the
    robot's links, or what 512 random motions of 1 rad/s and 4 rad/s^2 need, half as much again).
    Observation: sine and cosine of every revolute joint, position of every prismatic one, qd, the
    target and the way to it, metres in the base frame. Reward: minus the distance, minus
    `control_cost` times the mean square of the action, plus `bonus` within `tolerance`.

    An episode is truncated after `max_steps` steps of `dt` seconds, each of `substeps` steps of the
    compiled simulator; one that diverges terminates. Friction holds, joints stop at their limits.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        robot: Any = "puma560",
        *,
        effort: Any = None,
        dt: float = 0.02,
        substeps: int = 10,
        max_steps: int = 200,
        tolerance: float = 0.05,
        control_cost: float = 1e-3,
        bonus: float = 1.0,
        noise: float = 0.1,
        render_mode: str | None = None,
    ):
        if render_mode is not None:
            raise OptionError(f"render_mode is {shown(render_mode)}, expected None")
        self.robot = robot if isinstance(robot, Robot) else load(robot)
        self.dt = positive(dt, "dt", "seconds")
        self.substeps = whole(substeps, "substeps", most=10**6)
        self.max_steps = whole(max_steps, "max_steps")
        self.tolerance, self.bonus = (
            positive(tolerance, "tolerance", "metres"),
            number(bonus, "bonus"),
        )
        self.control_cost = number(control_cost, "control_cost")
        self.noise = number(noise, "noise", "0 or more rad or m", lambda x: 0.0 <= x < np.inf)
        self.effort = _effort(self.robot) if effort is None else _given(effort, self.robot)
        kinds = self.robot.joint_kinds
        self._turns = np.array([kind == "revolute" for kind in kinds])
        free = np.array([FREE[kind] for kind in kinds])
        low, high = self.robot.limits.T
        self._low = np.where(np.isfinite(low), low, -free)
        self._high = np.where(np.isfinite(high), high, free)
        self._home = np.clip(_home(self.robot), self._low, self._high)
        self._arm = Stepper(
            self.robot, self._home, self.dt / self.substeps, stops=True, steps=self.substeps
        )
        self._start = self._arm.x.copy()
        self._target, self._count = np.zeros(3), 0
        n, turning = self.robot.n, int(self._turns.sum())
        most = np.full(2 * turning + (n - turning) + n + 6, np.inf, dtype=np.float32)
        most[: 2 * turning] = 1.0
        self.observation_space = gymnasium.spaces.Box(-most, most, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (n,), np.float32)

    @property
    def q(self) -> np.ndarray:
        """Joint positions, (n,)."""
        return self._arm.q.copy()

    @property
    def qd(self) -> np.ndarray:
        """Joint velocities, (n,)."""
        return self._arm.qd.copy()

    @property
    def target(self) -> np.ndarray:
        """Where the tool should be, (3,)."""
        return self._target.copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """At rest near home with a new target; `options` may give q (n,) and target (3,)."""
        super().reset(seed=None if seed is None else whole(seed, "seed", 0, 2**63))
        told = {} if options is None else options
        if not isinstance(told, dict):
            raise OptionError(f"options is {shown(options)}, expected a dictionary or None")
        shake = self.np_random.uniform(-self.noise, self.noise, self.robot.n)
        place = self.np_random.uniform(self._low, self._high)
        q = _vector(told.get("q", self._home + shake), "q", self.robot.n, "positions")
        target = told.get("target", self.robot.fk(place)[:3, 3])
        self._target = _vector(target, "target", 3, "metres").copy()
        self._arm.x[:] = self._start
        self._arm.q[:] = np.clip(q, self._low, self._high)
        self._count = 0
        return self._seen()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold the torques for dt."""
        a = np.clip(_vector(action, "action", self.robot.n, "numbers from -1 to 1"), -1.0, 1.0)
        before = self._arm.x.copy()
        self._arm.step(a * self.effort)
        self._count += 1
        diverged = not np.isfinite(self._arm.x).all()
        if diverged:
            self._arm.x[:] = before
        seen, info = self._seen()
        reward = -info["distance"] - self.control_cost * float(np.mean(a * a))
        reward += self.bonus if info["is_success"] and not diverged else 0.0
        return seen, reward, diverged, self._count >= self.max_steps, info

    def _seen(self) -> tuple[np.ndarray, dict[str, Any]]:
        q, way = self._arm.q, self._target - self.robot.fk(self._arm.q)[:3, 3]
        turned, moved = q[self._turns], q[~self._turns]
        parts = (np.sin(turned), np.cos(turned), moved, self._arm.qd, self._target, way)
        distance = float(np.linalg.norm(way))
        info = {"distance": distance, "is_success": distance < self.tolerance}
        return np.concatenate(parts).astype(np.float32), info


def _home(robot: Robot) -> np.ndarray:
    """The configuration called ready, else zero."""
    return np.array(robot.configurations.get("ready", np.zeros(robot.n)), dtype=float)


def _vector(value: Any, name: str, size: int, what: str) -> np.ndarray:
    """`size` finite numbers, never fewer repeated."""
    found = numbers(value, name, f"expected {size} {what}")
    if found.shape != (size,):
        raise ShapeError(f"{name} has shape {found.shape}, expected {size} {what}")
    if not np.isfinite(found).all():
        raise OptionError(f"{name} is {shown(value)}, expected {size} finite {what}")
    return found


def _given(effort: Any, robot: Robot) -> np.ndarray:
    found = numbers(effort, "effort", f"expected {robot.n} torques")
    found = _vector(
        np.full(robot.n, found) if found.ndim == 0 else found, "effort", robot.n, "torques"
    )
    if not (found > 0).all():
        raise OptionError(f"effort is {shown(effort)}, expected finite torques above 0")
    return found


def _effort(robot: Robot) -> np.ndarray:
    """Effort limits; of joints without one, what random motions need."""
    links = robot.model.moving_links
    rated = [resolve(x.effort_limit, robot.model.values) for x in links]
    rng = np.random.default_rng(0)
    low, high = np.clip(robot.limits.T, -np.pi, np.pi)
    qd, qdd = (rng.uniform(-x, x, (STATES, robot.n)) for x in (SPEED, ACCELERATION))
    tau = robot.inverse_dynamics(rng.uniform(low, high, qd.shape), qd, qdd)
    needed = MARGIN * np.abs(tau).max(axis=0)
    return np.array(
        [need if x is None else float(x) for x, need in zip(rated, needed, strict=True)]
    )


if NAME not in gymnasium.registry:
    gymnasium.register(id=NAME, entry_point="dynamis.gym:ReachEnv")
