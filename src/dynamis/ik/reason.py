"""Reasons why there is no solution, and remarks on special ones, in words."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from .geometry import Arm
from .search import Problem, across, descend, quasi_random, settle, weakness
from .solutions import JointSpace, outside
from .target import Target

SINGULAR = 1e-6  # smallest singular value of the scaled Jacobian, relative to the largest
INVOLVED = 0.05  # share of a joint in a motion below which it is not named
STEP = 1e-3  # of a motion of the joints, rad or arm sizes, that shows whether the tool stays
FLAT = 1e-9  # thickness, relative to the arm, of a workspace that is a plane

Distance = Callable[[np.ndarray], np.ndarray]


def out_of_reach(arm: Arm, point: np.ndarray, noun: str) -> str:
    """Why a point cannot be reached by the arm's tool; empty when distances do not tell."""
    q = _positions(arm)
    off = _out_of_plane(arm.reach(q), arm.size, point)
    if off:
        return f"the {noun} is out of the arm's plane by {off:.3g} m"
    origin, across, where = _shoulder(arm)

    def distance(p: np.ndarray) -> np.ndarray:
        return np.linalg.norm((p - origin) @ across, axis=-1)

    if not _blind_to_slides(arm, distance):
        return ""
    low, high = (_extreme(arm, q, distance, sign) for sign in (1, -1))
    d, slack = float(distance(point)), 1e-9 * arm.size
    if d > high + slack:
        return f"the {noun} is {d:.4g} m from the {where}, the arm reaches {high:.4g} m"
    if d < low - slack:
        return f"the {noun} is {d:.4g} m from the {where}, the arm comes no closer than {low:.4g} m"
    return ""


def closest_approach(problem: Problem, starts: np.ndarray, tolerance: float) -> str:
    """How much of the target the arm leaves, position first."""
    mask = problem.target.mask
    turning = bool(mask[3:].any())
    if mask[:3].any():
        position = Target(problem.target.T, mask & (np.arange(6) < 3))
        left = _least(Problem(problem.robot, position, problem.size), starts)
        if left > tolerance:
            return f"closest approach leaves {left:.3g} m"
    left = _least(problem, starts)
    if left < tolerance or not turning:
        return "no start of the search converged, more starts may"
    if not mask[:3].any():
        return f"closest approach leaves {left:.3g} rad"
    return (
        "the position can be reached, but not in this orientation: closest approach leaves "
        f"{left:.3g} (metres and radians together)"
    )


def singularity(
    problem: Problem, space: JointSpace, q: np.ndarray, rank: int, felt: np.ndarray
) -> str:
    """Which solutions are singular and which of the joints felt move without moving the tool."""
    _, s, V = np.linalg.svd(problem.jacobian(q)[..., felt])
    bad = np.nonzero(s[:, rank - 1] < SINGULAR * s[:, 0])[0]
    if not len(bad):
        return ""
    motions = np.zeros((len(bad), len(felt)))
    motions[:, felt] = V[bad, rank - 1]
    names = np.array(problem.robot.joint_names)
    joints = ", ".join(names[np.any(np.abs(motions) > INVOLVED, axis=0)])
    count = f"singular target ({len(bad)} of {len(q)} solutions): joints {joints}"
    together = "can move together without moving the tool"
    weak = s[bad, rank - 1]
    stay = _stay(problem, q[bad], motions, weak, rank)
    if _free(problem, space, q[bad], motions, rank):
        return f"{count} {together}, each given is one of infinitely many"
    if stay.any():
        return (
            f"nearly {count} can move together and move the tool by no more than "
            f"{weak[stay].max():.1g} per radian: solutions may be missing or inexact there"
        )
    return f"{count} {together}, two solutions meet there"


def _free(
    problem: Problem, space: JointSpace, q: np.ndarray, motions: np.ndarray, rank: int
) -> bool:
    """Whether a small step along a motion leads to solutions other than q itself."""
    moved = descend(problem, q + STEP * motions * problem.joint_scale, 30)
    moved = settle(problem, moved, rank)
    apart = space.distance(moved, q) > 0.3 * STEP * np.abs(motions).max(axis=-1)
    return bool((apart & (problem.residuals(moved) < 1e-9 * problem.size)).any())


def _stay(
    problem: Problem, q: np.ndarray, motions: np.ndarray, weak: np.ndarray, rank: int
) -> np.ndarray:
    """Whether the tool stays, but for `weak` per step, all along a motion and not only at first."""
    moved = across(problem, q + STEP * motions * problem.joint_scale, rank)
    return weakness(problem, moved, rank)[0] < 10.0 * STEP * weak


def limits_exclude(problem: Problem, q: np.ndarray, limits: np.ndarray) -> str:
    """Which joints' limits every solution breaks."""
    broken = outside(q, limits)
    parts = []
    for i in np.nonzero(broken.any(axis=0))[0]:
        low, high = limits[i]
        name = problem.robot.joint_names[i]
        parts.append(f"{name} [{low:.4g}, {high:.4g}] ({int(broken[:, i].sum())} of {len(q)})")
    return f"joint limits exclude every solution found: {', '.join(parts)}"


def _positions(arm: Arm, count: int = 2048) -> np.ndarray:
    scale = np.array([np.pi if kind == "R" else arm.size for kind in arm.kinds])
    return quasi_random(np.stack([-scale, scale], axis=1), count)


def _out_of_plane(places: np.ndarray, size: float, point: np.ndarray) -> float:
    """Distance of a point from the plane the tool stays in; 0 when there is no such plane."""
    middle = places.mean(axis=0)
    _, s, V = np.linalg.svd(places - middle, full_matrices=False)
    if s[2] > FLAT * size * np.sqrt(len(places)) or s[1] < FLAT * size * np.sqrt(len(places)):
        return 0.0
    off = abs(float(V[2] @ (point - middle)))
    return off if off > FLAT * size else 0.0


def _shoulder(arm: Arm) -> tuple[np.ndarray, np.ndarray, str]:
    """Where distances are measured from: an origin, the directions that count, and its name.

    It is the point of axis 1 nearest axis 2; all of axis 1 when the two are parallel.
    """
    frames = arm.frames(np.zeros(len(arm.kinds)))
    z, o = frames[:, :3, 2], frames[:, :3, 3]
    across = np.eye(3) - np.outer(z[0], z[0])
    if len(z) > 1 and arm.kinds[1] == "R":
        second = np.eye(3) - np.outer(z[1], z[1])
        slope = z[0] @ second @ z[0]
        if slope > 1e-9:
            return o[0] + z[0] * (z[0] @ second @ (o[1] - o[0]) / slope), np.eye(3), "shoulder"
    return o[0], across, "first axis"


def _blind_to_slides(arm: Arm, distance: Distance) -> bool:
    """Whether joint 1 turns and the distance does not feel prismatic joints: it has bounds."""
    q = _positions(arm, 16)
    turning = np.array([kind == "R" for kind in arm.kinds])
    moved = distance(arm.reach(q)) - distance(arm.reach(q * turning))
    return arm.kinds[0] == "R" and bool(np.abs(moved).max() < FLAT * arm.size)


def _extreme(arm: Arm, q: np.ndarray, distance: Distance, sign: int) -> float:
    """Smallest (sign 1) or largest (sign -1) distance over all joint positions."""
    best = q[np.argsort(sign * distance(arm.reach(q)))[:3]]
    runs = [minimize(lambda x: sign * float(distance(arm.reach(x))), start) for start in best]
    return float(sign * min(run.fun for run in runs))


def _least(problem: Problem, starts: np.ndarray) -> float:
    return float(problem.residuals(descend(problem, starts, 60)).min())
