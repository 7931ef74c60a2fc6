"""Reaching by torques as a Gymnasium environment: importing this registers "dynamis/Reach-v0".

import gymnasium, dynamis.gym
env = gymnasium.make("dynamis/Reach-v0", robot="puma560")
many = gymnasium.make_vec("dynamis/Reach-v0", num_envs=64, robot="ur10e",
                          vectorization_mode="vector_entry_point")
"""

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from .arguments import choice, number, positive, strict, whole
from .compile.arrays import numbers
from .errors import OptionError, ShapeError, counted, shown
from .ik.follow import follow_many
from .lazy import package, public_dir
from .model.quantity import resolve
from .robot import Robot, load
from .robot.arm import Arm
from .robot.user_function import compile_function
from .simulation.options import GYM, OPTIONS, offered
from .simulation.simulator import Simulator

if TYPE_CHECKING:
    import gymnasium
else:
    gymnasium = package("gymnasium", "gymnasium", "dynamis.gym", "gym")

__all__ = ["NAME", "ReachEnv", "ReachVectorEnv"]
__dir__ = public_dir(__name__)

NAME = "dynamis/Reach-v0"
SPEED, ACCELERATION, MARGIN, STATES = 1.0, 4.0, 1.5, 512  # what motors must do that nobody rated
USUAL = 0.95  # of the motions of a closed mechanism, whose torques grow without bound somewhere
JUDGED = "(arm, q, qd, action, target)"
FREE = {"revolute": np.pi, "prismatic": 0.5}  # where joints without limits start and reach


class _Reach:
    """The task of one arm or of many, (..., n): start, torques, observation and reward."""

    _count: Any  # steps of the episode, one number or one per arm
    metadata: dict[str, Any]
    render_mode: str | None
    _live: Any = None  # the drawing, made with the first picture

    @strict
    def _set_up(
        self,
        shape: tuple[int, ...],
        robot: Any,
        effort: Any = None,
        dt: float = 0.02,
        substeps: int = 10,
        max_steps: int = 200,
        tolerance: float = 0.05,
        control_cost: float = 1e-3,
        bonus: float = 1.0,
        noise: float = 0.1,
        reward: Any = None,
        target: Any = None,
        render_mode: str | None = None,
        **simulation: Any,
    ) -> Any:
        """Everything but the random numbers; the spaces of one arm's observation and action."""
        self.render_mode = None
        if render_mode is not None:
            self.render_mode = choice(render_mode, "render_mode", self.metadata["render_modes"])
        self.robot = robot if isinstance(robot, Robot) else load(robot)
        self.dt = OPTIONS["dt"].checked(dt)
        self.metadata = {**self.metadata, "render_fps": max(1, round(1.0 / self.dt))}
        self.substeps = whole(substeps, "substeps", most=10**6)
        self.max_steps = whole(max_steps, "max_steps")
        self.tolerance = positive(tolerance, "tolerance", "metres")
        self.bonus, self.control_cost = number(bonus, "bonus"), number(control_cost, "control_cost")
        self.noise = number(noise, "noise", "0 or more rad or m", lambda x: 0.0 <= x < np.inf)
        self._n, self._drives = self.robot.n, list(self.robot.active)
        self._seen = list(self.robot.driven)  # an arm's passive joints too
        if not self._drives:
            raise OptionError(f"robot {self.robot.name!r} has no drives: all joints are passive")
        free = np.array([FREE[kind] for kind in self.robot.joint_kinds])
        low, high = self.robot.limits.T
        self._low = np.where(np.isfinite(low), low, -free)
        self._high = np.where(np.isfinite(high), high, free)
        self._home = _home(self.robot, self._low, self._high)
        self._places = self._reached() if self.robot.model.closures else None
        self._goals = np.zeros((0, 3)) if self._places is None else self._tool(self._places)
        self.effort = self._effort() if effort is None else _given(effort, self._drives)
        self._shape = shape
        self._torques = compile_function(self.robot, self._acting, {"action": len(self._drives)})
        self._sight = self._compiled_sight()
        self._own = None if reward is None else self._compiled(reward)
        self._given_target = target
        self._drawn(np.random.default_rng(0))  # refused here rather than at the first reset
        asked = offered(simulation, GYM)
        step = self.dt / self.substeps
        self._sim = Simulator(self.robot, step, stops=True, threads=1, **asked)
        self._sim.reset(np.broadcast_to(self._home, (*shape, self._n)))
        self._target, self._count = (
            np.zeros((*shape, 3)),
            np.zeros(shape, dtype=int) if shape else 0,
        )
        turning, joints = [self._kind(k) for k in self._seen].count("revolute"), len(self._seen)
        most = np.full(turning + 2 * joints + 6, np.inf, dtype=np.float32)
        most[: 2 * turning] = 1.0
        box, actions = gymnasium.spaces.Box, (len(self._drives),)
        return box(-most, most, dtype=np.float32), box(-1.0, 1.0, actions, np.float32)

    def _kind(self, k: int) -> str:
        return self.robot.joint_kinds[k]

    @property
    def q(self) -> np.ndarray:
        """Joint positions, (..., n)."""
        return self._sim.q

    @property
    def qd(self) -> np.ndarray:
        """Joint velocities, (..., n)."""
        return self._sim.qd

    @property
    def target(self) -> np.ndarray:
        """Where the tool should be, (..., 3)."""
        return self._target.copy()

    def _begin(
        self, rng: np.random.Generator, where: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions near home and the tool's target, of all arms, or of those that begin."""
        joints = len(self.robot.independent)
        shake = rng.uniform(-self.noise, self.noise, (*self._shape, joints))
        if self._places is None:
            place = rng.uniform(self._low, self._high, (*self._shape, self._n))
            near = np.clip(self._home + shake, self._low, self._high)
            return near, self._aim(rng, self._tool(place), where)
        target = self._goals[rng.integers(len(self._goals), size=self._shape)]
        target = self._aim(rng, target, where)
        near = np.broadcast_to(self._home, (*self._shape, self._n)).copy()
        chosen = ... if where is None else where
        near[chosen] = self._led(self._home[list(self.robot.independent)] + shake[chosen])
        return near, target

    def _tool(self, q: np.ndarray) -> np.ndarray:
        return self.robot.fk(q)[..., :3, 3]

    # targets and rewards of one's own

    def _aim(self, rng: Any, reached: np.ndarray, where: np.ndarray | None) -> np.ndarray:
        """The targets that the option says, else those that were drawn within reach."""
        if self._given_target is None:
            return reached
        for index in np.ndindex(self._shape):
            if where is None or where[index]:
                reached[index] = self._drawn(rng)
        return reached

    def _drawn(self, rng: np.random.Generator) -> Any:
        """One target: the option itself, or what its function draws."""
        given = self._given_target
        if given is None:
            return None
        found = given(rng) if callable(given) else given
        return _vector(found, "target", (3,), "metres")

    def _compiled(self, own: Any) -> Any:
        """`reward(arm, q, qd, action, target)` of one's own, for one arm and for many."""
        if not callable(own):
            raise OptionError(f"reward is {shown(own)}, expected a function of {JUDGED}")
        try:
            signature(own).bind(*range(5))
        except (TypeError, ValueError):
            raise OptionError(f"reward is {shown(own)}, expected a function of {JUDGED}") from None

        def reward(arm: Arm, q: Any, qd: Any, action: Any, target: Any) -> Any:
            a = [arm.fn.max(-1.0, arm.fn.min(x, 1.0)) for x in action]
            return own(arm, q, qd, a, target)

        made: Any = compile_function(self.robot, reward, {"action": len(self._drives), "target": 3})
        shape = made.program.outputs[0].shape
        if shape != ():
            raise ShapeError(f"reward gives numbers of shape {shape}, expected one number")
        return made

    # of closed mechanisms: led from home by the joints that decide the others

    def _led(self, places: np.ndarray) -> np.ndarray:
        """As far from home as it goes; home, where that is beyond the limits of a joint."""
        own = list(self.robot.independent)
        goals = np.clip(places, self._low[own], self._high[own]).reshape(-1, len(own))
        q, _ = follow_many(self.robot, np.tile(self._home, (len(goals), 1)), goals)
        inside = self._inside(q)
        return np.where(inside[:, None], q, self._home).reshape(*places.shape[:-1], self._n)

    def _inside(self, q: np.ndarray) -> np.ndarray:
        return ((q >= self._limits[0]) & (q <= self._limits[1])).all(axis=-1)

    @property
    def _limits(self) -> np.ndarray:
        return self.robot.limits.T

    def _reached(self) -> np.ndarray:
        """Configurations from all over its range, (k, n): always the same."""
        own, rng = list(self.robot.independent), np.random.default_rng(0)
        return self._led(rng.uniform(self._low[own], self._high[own], (STATES, len(own))))

    def _back(self, q: np.ndarray) -> np.ndarray:
        """Where an arm that diverged goes on: where it was, or at home."""
        known = np.isfinite(q).all(axis=-1, keepdims=True)
        q = np.where(known, q, self._home)
        if self._places is None:
            return np.clip(q, self._low, self._high)
        sound = (self.robot.closure_status(q) == 0.0) & self._inside(q)
        return np.where(np.asarray(sound)[..., None], q, self._home)

    def _effort(self) -> np.ndarray:
        """Effort limits of the drives; of those without one, what random motions need."""
        robot, drives = self.robot, self._drives
        links = [robot.model.moving_links[k] for k in drives]
        rated = [resolve(x.effort_limit, robot.model.values) for x in links]
        if self._places is not None and None not in rated:
            return np.array(rated, dtype=float)
        rng = np.random.default_rng(0)
        qd, qdd = (rng.uniform(-x, x, (STATES, robot.dof)) for x in (SPEED, ACCELERATION))
        if self._places is None:
            low, high = np.clip(robot.limits.T, -np.pi, np.pi)
            tau = robot.inverse_dynamics(rng.uniform(low, high, qd.shape), qd, qdd)
            needed = MARGIN * np.abs(tau[:, drives]).max(axis=0)
        else:
            qd = robot.joint_rates(self._places, qd)
            qdd = robot.joint_accelerations(self._places, qd, qdd)
            tau = robot.inverse_dynamics(self._places, qd, qdd)[:, drives]
            needed = MARGIN * np.quantile(np.abs(tau), USUAL, axis=0)
        return np.array(
            [need if x is None else float(x) for x, need in zip(rated, needed, strict=True)]
        )

    # compiled, over scalars; a sum is finite where all of its numbers are

    def _acting(self, arm: Arm, action: Any) -> list[Any]:
        """Torques, zero for passive joints, the cost of the action, and its sum."""
        a = [arm.fn.max(-1.0, arm.fn.min(x, 1.0)) for x in action]
        tau: list[Any] = [0.0] * self._n
        for k, x, most in zip(self._drives, a, self.effort, strict=True):
            tau[k] = x * float(most)
        return [*tau, self.control_cost * sum(x * x for x in a) / len(a), sum(action)]

    def _compiled_sight(self) -> Any:
        """What is seen of the arm; encoders of elastic joints are on the motors."""
        if not self.robot.chain.elastic:
            return compile_function(self.robot, self._seeing, {"target": 3})
        more = {"target": 3, "motor": self._n, "motor_rate": self._n}
        return compile_function(self.robot, self._seeing_motors, more)

    def _seeing(self, arm: Arm, q: Any, qd: Any, target: Any) -> list[Any]:
        """The observation, the distance to the target, and the sum of q and qd."""
        return [*self._observed(arm, q, target, q, qd), sum([*q, *qd])]

    def _seeing_motors(
        self, arm: Arm, q: Any, qd: Any, target: Any, motor: Any, motor_rate: Any
    ) -> list[Any]:
        """`_seeing` with encoders on the motors."""
        total = sum([*q, *qd, *motor, *motor_rate])
        return [*self._observed(arm, q, target, motor, motor_rate), total]

    def _observed(self, arm: Arm, q: Any, target: Any, place: Any, speed: Any) -> list[Any]:
        """The observation of joints at q whose encoders show a place and a speed; the distance."""
        way = [goal - row[3] for goal, row in zip(target, arm.fk(q), strict=False)]
        turned = [place[k] for k in self._seen if self._kind(k) == "revolute"]
        slid = [place[k] for k in self._seen if self._kind(k) != "revolute"]
        rates = [speed[k] for k in self._seen]
        sines, cosines = [arm.fn.sin(x) for x in turned], [arm.fn.cos(x) for x in turned]
        distance = arm.fn.sqrt(sum(x * x for x in way))
        return [*sines, *cosines, *slid, *rates, *target, *way, distance]

    def _advance(self, action: Any) -> tuple[Any, Any, np.ndarray]:
        """Hold the torques for dt: the reward, which arms diverged, and what is seen then."""
        shape, sim, n = (*self._shape, len(self._drives)), self._sim, self._n
        if type(action) is not np.ndarray or action.shape != shape or action.dtype.kind != "f":
            action = _vector(action, "action", shape, "numbers from -1 to 1")
        acting, before = self._torques(action), sim.q
        if _some(_astray(acting)):
            _vector(action, "action", shape, "numbers from -1 to 1")
        sim.step(acting[..., :n], self.substeps)
        seen = self._look()
        diverged = _astray(seen)
        if _some(diverged):
            sim.reset(self._back(before), where=diverged)
            seen = self._look()
        self._count = self._count + 1
        if self._own is None:
            return self._reward(_last(acting, -2), _last(seen, -2), diverged), diverged, seen
        gained = self._own(sim.q, sim.qd, action, self._target)
        return gained if self._shape else float(gained), diverged, seen

    def _look(self) -> np.ndarray:
        sim = self._sim
        if self.robot.chain.elastic:
            return self._sight(sim.q, sim.qd, self._target, sim.motor, sim.motor_rate)
        return self._sight(sim.q, sim.qd, self._target)

    def _picture(self, q: np.ndarray, target: np.ndarray, count: Any) -> np.ndarray:
        if self._live is None:
            from .plots.animation import LivePicture

            rng = np.random.default_rng(0)
            around = rng.uniform(self._low, self._high, (STATES, self._n))
            self._live = LivePicture(self.robot, around if self._places is None else self._places)
        return self._live(q, target, f"t = {count * self.dt:.2f} s")

    def _reward(self, cost: Any, distance: Any, diverged: Any) -> Any:
        return self.bonus * (1.0 * (distance < self.tolerance) * (1.0 - diverged)) - distance - cost

    def _info(self, distance: Any) -> dict[str, Any]:
        return {"distance": distance, "is_success": distance < self.tolerance}


class _Window:
    """Pictures on the screen, by matplotlib; without a display they are drawn and not seen."""

    def __init__(self, name: str):
        from matplotlib import pyplot

        self.pyplot: Any = pyplot
        self.figure = pyplot.figure(name)
        self.image: Any = None

    def show(self, picture: np.ndarray, seconds: float) -> None:
        """Put up a picture for so long."""
        if self.image is None:
            axes = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
            axes.set_axis_off()
            self.image = axes.imshow(picture)
        self.image.set_data(picture)
        self.pyplot.pause(seconds)

    def close(self) -> None:
        """Take it away."""
        self.pyplot.close(self.figure)


@strict
class ReachEnv(_Reach, gymnasium.Env):
    """Bring the tool to a target within reach and keep it there, by joint torques.

    Action: one number in [-1, 1] per joint, times `effort` (default: the effort limits of the
    robot's links, or what 512 random motions of 1 rad/s and 4 rad/s^2 need, half as much again).
    Observation: sine and cosine of every revolute joint, position of every prismatic one, qd, the
    target and the way to it, metres in the base frame. Reward: minus the distance, minus
    `control_cost` times the mean square of the action, plus `bonus` within `tolerance`.

    An episode is truncated after `max_steps` steps of `dt` seconds, each of `substeps` steps of the
    compiled simulator; one that diverges terminates. Friction holds, joints stop at their limits.
    Further options: `noise` (rad or m) of where it starts around home; `target`, three numbers or a
    function of NumPy's random generator that draws them; `reward`, a function
    `reward(arm, q, qd, action, target)` over scalars that is compiled and replaces the one above
    (the state is that after the step; use `arm.select` instead of `if`); `render_mode` "rgb_array"
    or "human" (a window of matplotlib, in real time); `restitution` and `drives`, as in
    `dy.Simulator`.

    Of a closed mechanism actions and observations are those of its drives; it starts where its
    loops close, and targets are where its drives lead the tool from home. Of elastic joints the
    observation has positions and velocities of the motors, as their encoders show them; the way to
    the target, `q`, `qd` and what a `reward` is given are of the links. Motors start where the
    gears carry the arm at rest.
    """

    metadata = {"render_modes": ["human", "rgb_array"]}  # noqa: RUF012
    _window: "_Window | None" = None

    def __init__(self, robot: Any = "puma560", **options: Any):
        self.observation_space, self.action_space = self._set_up((), robot, **options)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """At rest near home with a new target; `options` may give q (n,) and target (3,)."""
        super().reset(seed=None if seed is None else whole(seed, "seed", 0, 2**63))
        told = {} if options is None else options
        if not isinstance(told, dict):
            raise OptionError(f"options is {shown(options)}, expected a dictionary or None")
        near, target = self._begin(self.np_random)
        q = _vector(told.get("q", near), "q", (self._n,), "positions")
        self._target[:] = _vector(told.get("target", target), "target", (3,), "metres")
        self._sim.reset(np.clip(q, self._low, self._high) if self._places is None else q)
        self._count = 0
        seen, distance = _split(self._look())
        if self.render_mode == "human":
            self.render()
        return seen, self._info(distance)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold the torques for dt."""
        reward, diverged, seen = self._advance(action)
        seen, distance = _split(seen)
        if self.render_mode == "human":
            self.render()
        return seen, reward, diverged, self._count >= self.max_steps, self._info(distance)

    def render(self) -> Any:
        """The picture (height, width, 3) of bytes; with render_mode "human" it is shown instead."""
        if self.render_mode is None:
            gymnasium.logger.warn(f"give {NAME} render_mode 'rgb_array' or 'human' to render it")
            return None
        picture = self._picture(self.q, self._target, self._count)
        if self.render_mode == "rgb_array":
            return picture
        if self._window is None:
            self._window = _Window(self.robot.name)
        self._window.show(picture, self.dt)
        return None

    def close(self) -> None:
        """Close the window."""
        if self._window is not None:
            self._window.close()
        self._window = None


@strict
class ReachVectorEnv(_Reach, gymnasium.vector.VectorEnv):
    """`num_envs` arms of `ReachEnv` advanced together, one call of the compiled simulator a step.

    An arm whose episode has ended begins a new one at the next step, whose action it ignores
    (Gymnasium's NEXT_STEP). Random numbers are drawn for all arms together. `render()` with
    render_mode "rgb_array" gives a picture of every arm.
    """

    metadata = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(self, num_envs: int, robot: Any = "puma560", **options: Any):
        self.num_envs = whole(num_envs, "num_envs", most=10**6)
        shape = (self.num_envs,)
        self.single_observation_space, self.single_action_space = self._set_up(
            shape, robot, **options
        )
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, self.num_envs)
        self.action_space = batch(self.single_action_space, self.num_envs)
        self._over = np.zeros(shape, dtype=bool)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """All arms at rest near home with new targets."""
        super().reset(seed=None if seed is None else whole(seed, "seed", 0, 2**63))
        if options is not None and not (isinstance(options, dict) and not options):
            raise OptionError(f"options is {shown(options)}, expected None")
        q, self._target[:] = self._begin(self.np_random)
        self._sim.reset(q)
        self._count[:], self._over[:] = 0, False
        seen, distance = _split(self._look())
        return seen, self._info(distance)

    def step(
        self, action: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Hold the torques for dt; arms whose episode was over begin anew instead."""
        begin = self._over
        reward, diverged, seen = self._advance(action)
        if begin.any():
            q, target = self._begin(self.np_random, begin)
            self._sim.reset(q, where=begin)
            self._target[begin], self._count[begin] = target[begin], 0
            diverged, seen = diverged & ~begin, self._look()
        seen, distance = _split(seen)
        reward = np.where(begin, 0.0, reward)
        truncated = self._count >= self.max_steps
        self._over = diverged | truncated
        return seen, reward, diverged, truncated, self._info(distance)

    def render(self) -> Any:
        """A picture of every arm, (height, width, 3) of bytes each; None without render_mode."""
        if self.render_mode is None:
            return None
        rows = zip(self.q, self._target, self._count, strict=True)
        return tuple(self._picture(q, target, count) for q, target, count in rows)


def _split(seen: np.ndarray) -> tuple[np.ndarray, Any]:
    """Observations and the distances to the targets."""
    return seen[..., :-2].astype(np.float32), _last(seen, -2)


def _last(rows: np.ndarray, k: int) -> Any:
    """The k-th last number of one row, or of each."""
    return rows.item(k) if rows.ndim == 1 else rows[..., k]


def _astray(rows: np.ndarray) -> Any:
    """Whether the sum at the end of a row is not finite."""
    total = _last(rows, -1)
    return total - total != 0.0


def _some(flags: Any) -> bool:
    return flags if isinstance(flags, bool) else bool(flags.any())


def _home(robot: Robot, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The configuration called ready, else zero; of a closed mechanism where it closes."""
    ready = robot.configurations.get("ready")
    if robot.model.closures:
        closes = ready is not None and robot.closure_status(ready) == 0.0
        return np.array(ready if closes else robot.home, dtype=float)
    return np.clip(np.array(np.zeros(robot.n) if ready is None else ready, dtype=float), low, high)


def _vector(value: Any, name: str, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Finite numbers of a shape, never fewer repeated."""
    expected = f"{'x'.join(str(k) for k in shape)} {what}"
    found = numbers(value, name, f"expected {expected}")
    if found.shape != shape:
        raise ShapeError(f"{name} has shape {found.shape}, expected {expected}")
    if not np.isfinite(found).all():
        raise OptionError(f"{name} is {shown(value)}, expected {expected}, finite")
    return found


def _given(effort: Any, drives: list[int]) -> np.ndarray:
    count = len(drives)
    found = numbers(effort, "effort", f"expected {counted(count, 'torque')}")
    found = _vector(
        np.full(count, found) if found.ndim == 0 else found, "effort", (count,), "torques"
    )
    if not (found > 0).all():
        raise OptionError(f"effort is {shown(effort)}, expected finite torques above 0")
    return found


if NAME not in gymnasium.registry:
    gymnasium.register(
        id=NAME,
        entry_point="dynamis.gym:ReachEnv",
        vector_entry_point="dynamis.gym:ReachVectorEnv",
    )
