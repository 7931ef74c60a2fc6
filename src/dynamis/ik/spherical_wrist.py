"""Closed form: six joints of which the last three are revolute and meet in one point.

The first three bring that point, the wrist centre, where the target wants it; the last three give
the rest of the orientation.
"""

import numpy as np

from .geometry import Arm, motion
from .point import point_candidates

MEETING = 1e-6  # distance of the wrist's axes, relative to the arm, that counts as meeting
FREE = 1e-13  # sine below which, to rounding, the wrist's first and last axes are one line
BARELY = 5e-3  # how far beyond what axis 5 can do an orientation may be: polishing decides


def wrist_centre(arm: Arm) -> np.ndarray | None:
    """Where axes 4, 5, 6 meet, in the reference frame at q = 0; None when they do not."""
    if len(arm.kinds) != 6 or arm.kinds[3:] != "RRR":
        return None
    frames = arm.frames(np.zeros(6))[3:]
    z, o = frames[:, :3, 2], frames[:, :3, 3]
    if min(np.linalg.norm(np.cross(z[i], z[i + 1])) for i in (0, 1)) < MEETING:
        return None
    across = np.eye(3) - z[:, :, None] * z[:, None, :]  # takes out the part along each axis
    centre = np.linalg.solve(across.sum(0), (across @ o[:, :, None]).sum(0)[:, 0])
    gaps = np.linalg.norm((across @ (centre - o)[:, :, None])[..., 0], axis=1)
    return centre if gaps.max() < MEETING * arm.size else None


def arm_to_wrist(arm: Arm, centre: np.ndarray) -> Arm:
    """The first three joints, carrying the wrist centre as their tool."""
    T = arm.frames(np.zeros(6))[2]
    tool = np.eye(4)
    tool[:3, 3] = T[:3, :3].T @ (centre - T[:3, 3])
    return Arm(arm.kinds[:3], arm.placements[:3], tool)


def wrist_target(arm: Arm, centre: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Where the wrist centre must be for the tool to be at T."""
    tool = arm.frames(np.zeros(6))[5] @ arm.tool
    return T[:3, :3] @ tool[:3, :3].T @ (centre - tool[:3, 3]) + T[:3, 3]


def wrist_candidates(arm: Arm, centre: np.ndarray, T: np.ndarray) -> list[np.ndarray]:
    """Joint positions, before polishing, that may bring the tool to T."""
    front = arm_to_wrist(arm, centre)
    result = []
    for q in point_candidates(front, wrist_target(arm, centre, T)):
        R = front.frames(q)[2, :3, :3] @ arm.placements[3, :3, :3]
        M = R.T @ T[:3, :3] @ arm.tool[:3, :3].T
        A, B = arm.placements[4, :3, :3], arm.placements[5, :3, :3]
        result += [np.concatenate([q, angles]) for angles in wrist_angles(A, B, M)]
    return result


def wrist_angles(A: np.ndarray, B: np.ndarray, M: np.ndarray) -> list[tuple[float, float, float]]:
    """(x, y, z) with Rz(x) A Rz(y) B Rz(z) = M: two, or one when the outer axes line up.

    y turns the angle between the outer axes, alpha and beta away from axis 5, into theta, that of
    M: by half angles, exact also where theta is tiny. The last column of M then gives x (0 where
    it is free), the rest z.
    """
    a, b = A[2], B[:, 2]
    middle = np.arctan2(a[1] * b[0] - a[0] * b[1], a[:2] @ b[:2])
    alpha, beta, theta = (np.arctan2(np.hypot(v[0], v[1]), v[2]) for v in (a, b, M[:, 2]))
    s = np.sin(0.5 * (theta + alpha - beta)) * np.sin(0.5 * (theta - alpha + beta))
    c = np.sin(0.5 * (alpha + beta + theta)) * np.sin(0.5 * (alpha + beta - theta))
    if min(s, c) < -BARELY * np.sin(alpha) * np.sin(beta):
        return []
    half = 2.0 * np.arctan2(np.sqrt(max(s, 0.0)), np.sqrt(max(c, 0.0)))
    free = np.sin(theta) < FREE
    result = []
    for y in [middle] if free or half == 0.0 else [middle - half, middle + half]:
        N = A @ motion("R", np.array(y))[:3, :3] @ B
        x = 0.0 if free else np.arctan2(M[1, 2], M[0, 2]) - np.arctan2(N[1, 2], N[0, 2])
        K = N.T @ motion("R", np.array(x))[:3, :3].T @ M
        result.append((float(x), float(y), float(np.arctan2(K[1, 0] - K[0, 1], K[0, 0] + K[1, 1]))))
    return result
