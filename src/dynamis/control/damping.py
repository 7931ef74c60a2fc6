"""How fast damping stops an arm, and what a sampled law may give: M(q) qdd = -D qd.

In one sample of length h, torques held, the velocity changes by -h M^-1 D qd. Where an eigenvalue
of h M^-1 D is above 2 the arm shakes harder with every sample; with one sample of delay, above 1.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionError
from ..robot.preflight import usual_configurations
from ..spatial.functions import MATH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..robot import Robot
    from .law import Law

SAMPLED = 2.0  # times the velocity that a sample takes away from which on it grows
STEP = 1e-4  # rad/s or m/s
DIGITS = 2  # of a damping that is proposed
HALF = 0.5  # of any velocity is what a proposed damping takes away in a sample at most
BRAKE = 20.0  # 1/s: joints stop in about 0.1 s; at 1 rad/s that takes about the torque of weights
POSES = 2000


def fastest_stop(robot: "Robot", damping: "ArrayLike", q: np.ndarray) -> tuple[float, int]:
    """The largest eigenvalue of M^-1 D in any of q (k, n), 1/s, and the joint it is due to.

    `damping`: one number per drive, or all of D.
    """
    inverse, D = mobilities(robot, q), np.asarray(damping, float)
    if not len(inverse):
        return 0.0, 0
    D = np.diag(D) if D.ndim == 1 else D
    each = np.diagonal(inverse, axis1=1, axis2=2).max(0) * np.diagonal(D)
    return _largest(inverse, D), int(np.argmax(each))


def damping_of(law: "Law", q: Sequence[float]) -> np.ndarray:
    """D = - d tau / d qd of a law that holds an arm at rest at q, its velocities measured."""
    rest = [0.0] * law.n
    wanted = law._resting(q)
    state = law.start(q, rest, MATH)
    rows = [law.step(state, q, qd, wanted, MATH)[0] for qd in (STEP * np.eye(law.n)).tolist()]
    return (np.array(law.step(state, q, rest, wanted, MATH)[0]) - np.array(rows)).T / STEP


def shaking(law: "Law", q: np.ndarray, robot: "Robot | None" = None) -> str:
    """Text of a law that takes more velocity away in a sample than is stable at q (n,), or "".

    `robot` is the arm itself, where it is not that of the law.
    """
    robot, h = robot or law.robot, law.sample_time
    rate, joint = fastest_stop(robot, damping_of(law, q[list(robot.driven)].tolist()), q[None])
    if not rate * h > SAMPLED:
        return ""
    return (
        f"every {h:g} s the controller takes {rate * h:.3g} times the velocity of joint "
        f"{robot.drive_names[joint]!r} away (at most {SAMPLED:g} times is stable)"
    )


def brake_rate(robot: "Robot", sample_time: float, hertz: float | None = None) -> float:
    """k of the damping torque k M(q) qd with which an arm is let down, 1/s.

    All velocities fall by k h in a sample of length h, in every pose: at most by half, with
    velocities filtered at `hertz` so slowly that nothing oscillates behind the filter, and never
    faster than `BRAKE`, because heavy arms would be stopped with many times their weight.
    """
    if sorted(robot.driven) != sorted(robot.independent):
        raise OptionError(
            f"safe_damping is 'auto', but robot {robot.name!r} has no mass matrix of its drives: "
            "they are not its coordinates",
            "give safe_damping in numbers, 0 for none",
        )
    rate = min(BRAKE, HALF / sample_time)
    if hertz is not None:  # of s (1 + s T) + rate = 0 both roots are real up to 1 / (4 T)
        rate = min(rate, 0.25 * 2.0 * np.pi * hertz)
    return float(rate)


def steady_damping(robot: "Robot", sample_time: float) -> list[float]:
    """A damping of every joint that takes at most half of any velocity away in a sample."""
    inverse = mobilities(robot, places(robot))
    D = 1.0 / np.diagonal(inverse, axis1=1, axis2=2).max(0)
    D *= HALF / sample_time / _largest(inverse, np.diag(D))
    unit = 10.0 ** (np.floor(np.log10(D)) - (DIGITS - 1))
    return [float(f"{x:.{DIGITS}g}") for x in np.floor(D / unit) * unit]


def places(robot: "Robot") -> np.ndarray:
    """Configurations in which a damping is looked at, (k, n): stretched ones are rare."""
    if robot.model.closures:
        return robot.home[None]
    low, high = np.sort(np.clip(robot.limits, -np.pi, np.pi)).T
    anywhere = np.random.default_rng(1).uniform(low, high, (POSES, robot.n))
    return np.concatenate([usual_configurations(robot).q, anywhere])


def mobilities(robot: "Robot", q: np.ndarray) -> np.ndarray:
    """M^-1 over the drives where it exists, (k, n, n); none where they are not the coordinates."""
    if sorted(robot.driven) != sorted(robot.independent):
        return np.empty((0, robot.dof, robot.dof))
    M = robot._calls.interpreted("mass_matrix", {"q": q})
    M = M[np.isfinite(M).all((1, 2))]
    M = M[np.linalg.eigvalsh(M)[:, 0] > 0.0]
    order = [robot.independent.index(k) for k in robot.driven]
    return np.linalg.inv(M)[:, order][:, :, order]


def _largest(inverse: np.ndarray, D: np.ndarray) -> float:
    return float(np.linalg.eigvals(inverse @ D).real.max())
