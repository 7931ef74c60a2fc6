"""The Robotics Toolbox's names for what our Robot does, so that course code runs.

    from dynamis.rtb import DHRobot, rne
    rne(robot, q, qd, qdd)                 # a function of any Robot
    DHRobot("puma560").rne(q, qd, qdd)     # or a method, as in the toolbox

Poses are plain 4x4 arrays, not SE3; a trajectory is (m, n) as in the toolbox. `gravity` is the
acceleration of free fall, (0, 0, -9.81), as in the toolbox of today (older ones: its negative).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .arguments import a_robot, checked, passed_on, strict
from .compile.arrays import as_batch, numbers
from .errors import OptionError, ShapeError, did_you_mean, shown
from .lazy import public_dir
from .robot import Robot, load

__all__ = [
    "DHRobot", "IKSolution", "Trajectory", "accel", "coriolis", "fdyn", "fkine", "fkine_all",
    "friction", "gravload", "ikine", "inertia", "itorque", "jacob0", "jacobe", "nofriction", "rne",
]  # fmt: skip
__dir__ = public_dir(__name__)


class Trajectory(NamedTuple):
    """What `fdyn` gives: t (m,), q and qd (m, n)."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray


class IKSolution(NamedTuple):
    """What `ikine` gives: one q (n,), whether it is a solution, what it leaves, and why."""

    q: np.ndarray | None
    success: bool
    residual: float
    reason: str


def _arm(robot: Any) -> Robot:
    return a_robot(robot.robot if isinstance(robot, DHRobot) else robot)


def _under(robot: Any, gravity: Any) -> Robot:
    arm = _arm(robot)
    return arm if gravity is None else arm.with_gravity(gravity)


@strict
def fkine(robot: Any, q: Any) -> np.ndarray:
    """Tool pose, (..., 4, 4)."""
    return _arm(robot).fk(q)


@strict
def fkine_all(robot: Any, q: Any) -> np.ndarray:
    """Poses of the base and every link, (..., n + 1, 4, 4)."""
    return _arm(robot).frames(q)


@strict
def jacob0(robot: Any, q: Any) -> np.ndarray:
    """Jacobian in base axes, linear rows first, (..., 6, n)."""
    return _arm(robot).jacobian(q)


@strict
def jacobe(robot: Any, q: Any) -> np.ndarray:
    """Jacobian in tool axes, linear rows first, (..., 6, n)."""
    return _arm(robot).jacobian(q, frame="tool")


@strict
def rne(
    robot: Any, q: Any, qd: Any = None, qdd: Any = None, gravity: Any = None, fext: Any = None
) -> np.ndarray:
    """Joint torques, friction and rotors included; or of one array [q, qd, qdd], (..., 3n).

    `fext` is the toolbox's: forces first, exerted by the last link (not the tool) on the world, at
    its frame and in its axes. `robot.inverse_dynamics` takes the tool's as `wrench`.
    """
    arm = _under(robot, gravity)
    if qd is None and qdd is None:
        state = numbers(q, "q", f"expected numbers of shape (..., {3 * arm.n})")
        if state.shape[-1:] != (3 * arm.n,):
            raise ShapeError(
                f"rne got one array of shape {state.shape}, expected (..., {3 * arm.n})",
                "give q, qd and qdd, or all three side by side",
            )
        q, qd, qdd = np.split(state, 3, axis=-1)
    tau = arm.inverse_dynamics(q, qd, qdd)  # type: ignore[arg-type]  it refuses None
    if fext is None:
        return tau
    J = arm.jacobian(q, frame="tool", link=arm.link_names[-1])
    return tau + np.einsum("...ij,...i->...j", J, as_batch(fext, "fext", (6,), "the last link"))


@strict
def inertia(robot: Any, q: Any) -> np.ndarray:
    """Mass matrix with reflected rotors, (..., n, n)."""
    return _arm(robot).mass_matrix(q)


@strict
def coriolis(robot: Any, q: Any, qd: Any) -> np.ndarray:
    """Coriolis matrix, (..., n, n)."""
    return _arm(robot).coriolis_matrix(q, qd)


@strict
def gravload(robot: Any, q: Any, gravity: Any = None) -> np.ndarray:
    """Gravity torques, (..., n)."""
    return _under(robot, gravity).gravity_torque(q)


@strict
def itorque(robot: Any, q: Any, qdd: Any) -> np.ndarray:
    """M(q) qdd, (..., n)."""
    M = inertia(robot, q)
    return np.einsum("...ij,...j->...i", M, as_batch(qdd, "qdd", M.shape[-1:], "the joints"))


@strict
def accel(robot: Any, q: Any, qd: Any, torque: Any, gravity: Any = None) -> np.ndarray:
    """Joint accelerations, (..., n)."""
    return _under(robot, gravity).forward_dynamics(q, qd, torque)


@strict
def friction(robot: Any, qd: Any) -> np.ndarray:
    """Friction as the toolbox signs it: what it adds to the motors' torque, against qd."""
    return -_arm(robot).friction_torque(qd)


@checked
def nofriction(robot: Any, coulomb: bool = True, viscous: bool = False) -> Robot:
    """The robot without Coulomb friction, that of its load included (and viscous friction)."""

    gone = {"coulomb": (0.0, 0.0)} if coulomb else {}
    gone |= {"viscous": 0.0} if viscous else {}
    model, load = _arm(robot).model, {"load": 0.0} if coulomb else {}
    links = [
        replace(
            x,
            friction=replace(x.friction, **gone, **load),
            drive=x.drive and replace(x.drive, **gone),
        )
        for x in model.links
    ]
    return Robot(replace(model, links=tuple(links)))


@checked
def fdyn(
    robot: Any,
    T: float,
    q0: Any,
    Q: Callable[..., Any] | None = None,
    Q_args: Mapping[str, Any] | None = None,
    qd0: Any = None,
    dt: float = 1e-3,
    **options: Any,
) -> Trajectory:
    """(t, q, qd) of T seconds from q0 under Q(robot, t, q, qd, **Q_args); none is no torque.

    Steps are of `dt` and T is included; `options` are those of `dy.simulate` (integrator, stops,
    ...). Coulomb friction holds the joints here, where the toolbox chatters.
    """
    from .simulation import simulate
    from .simulation.signals import accepts

    extra = dict(Q_args or {})
    if Q is not None and (not callable(Q) or isinstance(Q, type)):
        raise OptionError(f"Q is {shown(Q)}, expected a function(robot, t, q, qd)")
    if Q is not None and not extra:
        accepts(Q, "Q", "robot, t, q, qd")
    torque = None if Q is None else (lambda t, q, qd: Q(robot, t, q, qd, **extra))
    known = passed_on(options, simulate, "robot", "duration", "dt", "q0", "qd0", "controller")
    run = simulate(_arm(robot), T, dt, q0, qd0, torque, **known)
    return Trajectory(run.t, run.q, run.qd)


@strict
def ikine(
    robot: Any, T: Any, q0: Any = None, mask: Any = None, joint_limits: bool = False
) -> IKSolution:
    """The solution nearest to q0 (default: the first) that puts the tool at T."""
    arm = _arm(robot)
    found = arm.ik(
        T if isinstance(T, np.ndarray) else getattr(T, "A", T), mask, limits=joint_limits
    )
    if not len(found):
        return IKSolution(None, False, np.inf, found.reason)
    near = None if q0 is None else as_batch(q0, "q0", (arm.n,), "the joints")
    if near is not None and near.ndim != 1:
        raise ShapeError(f"q0 has shape {near.shape}, expected ({arm.n},)")
    best = 0 if near is None else int(np.argmin(np.linalg.norm(found.q - near, axis=1)))
    return IKSolution(found.q[best], True, float(found.residual[best]), found.reason)


ikine_LM = ikine
METHODS = (
    *(fkine, fkine_all, jacob0, jacobe, rne, inertia, coriolis, gravload, itorque),
    *(accel, friction, nofriction, fdyn, ikine),
)
NAMES: Mapping[str, Callable[..., Any]] = {f.__name__: f for f in METHODS} | {"ikine_LM": ikine}


@strict
class DHRobot:
    """A Robot under the toolbox's names: its methods, `n`, `gravity`, and configurations as `qz`.

    `DHRobot("puma560")`, a file, or any Robot; what it does not know the Robot answers.
    """

    def __init__(self, robot: Any):
        self.robot: Robot = robot if isinstance(robot, Robot) else load(robot)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "robot":
            raise AttributeError(name)
        if name in NAMES:
            return lambda *arguments, **options: self._call(name, *arguments, **options)
        if name in self.robot.configurations:
            return self.robot.configurations[name]
        if hasattr(self.robot, name):
            return getattr(self.robot, name)
        known = [*NAMES, *self.robot.configurations, *dir(self.robot)]
        raise AttributeError(f"DHRobot has no {name!r}: {did_you_mean(name, known)}")

    def __dir__(self) -> list[str]:
        return sorted({*NAMES, *self.robot.configurations, *dir(self.robot)})

    def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        found = NAMES[name](self, *arguments, **options)
        return DHRobot(found) if isinstance(found, Robot) else found

    def __repr__(self) -> str:
        return f"DHRobot({self.robot!r})"
