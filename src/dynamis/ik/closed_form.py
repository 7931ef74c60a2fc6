"""Closed-form inverse kinematics: which form fits an arm and a task, and its solutions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .geometry import Arm, motion
from .search import quasi_random
from .target import Target

# roots of the one-joint equations that the geometry leaves behind

SAMPLES = 8  # enough for trigonometric degree 2 and for degree 4
NEGLIGIBLE = 1e-11  # a coefficient below this, relative to the largest term, is rounding
Terms = Callable[[np.ndarray], tuple[Any, Any]]
OFF_CIRCLE = 0.05  # roots this far off count as real: polishing decides about them


def cosine_roots(A: float, B: float, D: float, slack: float = 1e-2) -> list[float]:
    """Angles with A cos x + B sin x = D: two, or the nearest one when D is barely too large.

    A = B = 0 leaves the angle free: it is set to 0.
    """
    size = np.hypot(A, B)
    if size <= 1e-12 * abs(D) or size == 0.0:
        return [0.0]
    ratio = D / size
    if abs(ratio) > 1 + slack:
        return []
    middle, half = np.arctan2(B, A), np.arccos(np.clip(ratio, -1.0, 1.0))
    return [middle] if half == 0.0 else [middle - half, middle + half]


def joint_roots(terms: Terms, kind: str, scale: float) -> list[float]:
    """Positions x of one joint where the two terms are equal: a(x) = b(x).

    Of a revolute joint f = a - b is a trigonometric polynomial of degree 2, z^2 f(x) a polynomial
    of degree 4 in z = exp(ix) whose roots on the unit circle count; of a prismatic one f is a
    polynomial of degree 4, sampled over [-scale, scale]. When f is negligible against its terms
    the joint is free: it is set to 0.
    """
    turning, k = kind == "R", np.arange(SAMPLES)
    x = 2 * np.pi * k / SAMPLES if turning else np.cos(np.pi * (k + 0.5) / SAMPLES)
    a, b = (np.broadcast_to(t, x.shape) for t in terms(x if turning else scale * x))
    f, negligible = a - b, NEGLIGIBLE * float(np.max(np.abs(a) + np.abs(b)))
    coefficients = (np.fft.fft(f) / SAMPLES)[[2, 1, 0, -1, -2]] if turning else np.polyfit(x, f, 4)
    if np.abs(coefficients).max() <= negligible:
        return [0.0]
    while len(coefficients) > 1 and abs(coefficients[0]) <= negligible:
        coefficients = coefficients[1:-1] if turning else coefficients[1:]
    z = np.roots(coefficients)
    if turning:
        z = z[np.abs(np.log(np.maximum(np.abs(z), 1e-300))) < OFF_CIRCLE]
        return [float(angle) for angle in np.angle(z)]
    z = z[np.abs(z.imag) < OFF_CIRCLE * (1.0 + np.abs(z))]
    return [float(scale * value) for value in z.real]


# Closed form: up to three joints, revolute or prismatic in any order, that carry a point.
#
# The point is P_1 M_1(q_1) P_2 M_2(q_2) P_3 M_3(q_3) w. Joint 1 is eliminated by what it cannot
# change (height and distance for a revolute joint, x and y for a prismatic one), joint 2 because it
# enters those linearly, and joint 3 is left in one equation of degree four.
# D. L. Pieper, The kinematics of manipulators under computer control, 1968.

PARALLEL = 1e-6  # sine of the angle below which two directions count as one
ON_AXIS = 1e-7  # distance, relative to the arm, below which a point counts as on an axis
ROUNDING = 1e-13  # distance, relative to the arm, below which it is on the axis to rounding
CLOSE = 1e-2  # error, relative to the arm, that polishing is trusted to remove
REFINED = 4  # Newton steps: roots of a polynomial are only as exact as its coefficients


def point_candidates(arm: Arm, point: np.ndarray) -> list[np.ndarray]:
    """Joint positions, before polishing, that may bring the tool's origin to `point`."""
    P1 = arm.placements[0]
    c = P1[:3, :3].T @ (point - P1[:3, 3])
    L = arm.size + float(np.linalg.norm(c))
    w = arm.tool[:3, 3]
    rest = {1: _none, 2: _second, 3: _second_and_third}[len(arm.kinds)]
    result = []
    for q_rest, g in rest(arm, w, c, L):
        for q_first in _first(arm.kinds[0], g, c, L):
            q = np.array([q_first, *q_rest])
            if np.linalg.norm(arm.reach(q) - point) < CLOSE * L:
                result.append(q)
    return list(_refined(arm, np.array(result), point)) if result else []


def _refined(arm: Arm, q: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Rows of q after Newton's steps that brought the tool's origin nearer to `point`, (k, n)."""
    turning = np.array([kind == "R" for kind in arm.kinds])[:, None]
    for _ in range(REFINED):
        frames, p = arm.frames(q), arm.reach(q)
        z, o = frames[..., :3, 2], frames[..., :3, 3]
        J = np.where(turning, np.cross(z, p[:, None] - o), z)
        step = (np.linalg.pinv(np.swapaxes(J, -1, -2), PARALLEL) @ (point - p)[..., None])[..., 0]
        nearer = _square(arm.reach(q + step) - point) < _square(p - point)
        q = np.where(nearer[:, None], q + step, q)
    return q


Found = Iterator[tuple[tuple[float, ...], np.ndarray]]


def _first(kind: str, g: np.ndarray, c: np.ndarray, L: float) -> list[float]:
    """q_1 that takes g to c; 0 when c lies on the axis of a revolute joint, a few when nearly so.

    Beside the axis g is too inexact to give its direction: polishing decides.
    """
    if kind == "P":
        return [c[2] - g[2]]
    if np.hypot(c[0], c[1]) < ROUNDING * L:
        return [0.0]
    if min(np.hypot(c[0], c[1]), np.hypot(g[0], g[1])) < ON_AXIS * L:
        return [0.0, 0.5 * np.pi, np.pi, -0.5 * np.pi]
    return [np.arctan2(c[1], c[0]) - np.arctan2(g[1], g[0])]


def _none(_arm: Arm, w: np.ndarray, _c: np.ndarray, _L: float) -> Found:
    yield (), w


def _second(arm: Arm, w: np.ndarray, c: np.ndarray, L: float) -> Found:
    """Two joints: of joint 1's two invariants, the one that varies more with q_2 gives q_2."""
    g = _carried(arm, 1, w)
    a, b = (lambda x: (g(x)[..., 0], c[0])), (lambda x: (g(x)[..., 1], c[1]))
    if arm.kinds[0] == "R":
        a, b = (lambda x: (g(x)[..., 2], c[2])), (lambda x: (_square(g(x)) / L, c @ c / L))
    samples = np.linspace(-1.0, 1.0, 7) * (np.pi if arm.kinds[1] == "R" else L)
    chosen = max((a, b), key=lambda terms: np.ptp(terms(samples)[0]))
    for x in joint_roots(chosen, arm.kinds[1], L):
        yield (x,), g(np.array(x))


def _second_and_third(arm: Arm, w: np.ndarray, c: np.ndarray, L: float) -> Found:
    """Three joints: q_3 from one equation of its own, then q_2."""
    P2, h = arm.placements[1], _carried(arm, 2, w)
    eliminate = {
        "RR": _turning_second,
        "PR": _turning_second,
        "RP": _sliding_after_turning,
        "PP": _sliding_after_sliding,
    }[arm.kinds[:2]]
    terms, second = eliminate(arm.kinds[0], P2, h, c, L)
    for x3 in joint_roots(terms, arm.kinds[2], L):
        for x2 in second(x3):
            g = P2[:3, :3] @ _moved(arm.kinds[1], x2, h(np.array(x3))) + P2[:3, 3]
            yield (x2, x3), g


Elimination = tuple[Callable[[np.ndarray], tuple], Callable[[float], list[float]]]


def _turning_second(kind: str, P2: np.ndarray, h: Callable, c: np.ndarray, L: float) -> Elimination:
    """Joint 2 turns: a_k . v = D_k(q_3), k = 1, 2, for the plane vector v = Rz(q_2) h_xy.

    When a_1, a_2 are independent, |v| = |h_xy| is the equation for q_3; when they are not (axes 1
    and 2 meet or are parallel) it is the combination of the two that v drops out of.
    """
    (b1, b2), rows = _invariants(kind, P2, c, L)
    a1, a2 = complex(*b1[:2]), complex(*b2[:2])
    det = a1.real * a2.imag - a1.imag * a2.real
    independent = abs(det) > PARALLEL * max(abs(a1), abs(a2))

    def plane(x: np.ndarray) -> np.ndarray:
        D1, D2 = _right_sides(rows, h(x))
        return (D1 * a2 - D2 * a1) * -1j  # det * v

    def terms(x: np.ndarray) -> tuple:
        if independent:
            return np.abs(plane(x)) ** 2, det**2 * _square(h(x)[..., :2])
        larger = max(a1, a2, key=abs)
        s1, s2 = ((a * larger.conjugate()).real / abs(larger) for a in (a1, a2))
        D1, D2 = _right_sides(rows, h(x))
        return s2 * D1, s1 * D2

    def second(x3: float) -> list[float]:
        p = h(np.array(x3))
        D1, D2 = (float(D) for D in _right_sides(rows, p))
        flat = complex(p[0], p[1])
        if abs(flat) < ON_AXIS * L:
            return [0.0]
        a, D = max((a1, D1), (a2, D2), key=lambda pair: abs(pair[0]))
        found = cosine_roots((a.conjugate() * flat).real, -(a.conjugate() * flat).imag, D)
        if independent:
            found.append(float(np.angle(plane(np.array(x3)) / det) - np.angle(flat)))
        return found

    return terms, second


def _invariants(kind: str, P2: np.ndarray, c: np.ndarray, L: float) -> tuple:
    """Vectors b_k, and (constant, height factor, square factor) of their right sides D_k."""
    R2, p2 = P2[:3, :3], P2[:3, 3]
    if kind == "P":
        b1, b2 = R2[0], R2[1]
        return (b1, b2), ((c[0] - p2[0], b1[2], 0.0), (c[1] - p2[1], b2[2], 0.0))
    b1, b2 = R2[2], R2.T @ p2 / L
    distance = 0.5 * (c @ c - p2 @ p2) / L
    return (b1, b2), ((c[2] - p2[2], b1[2], 0.0), (distance, b2[2], 0.5 / L))


def _right_sides(rows: tuple, h: np.ndarray) -> list[np.ndarray]:
    return [r - height * h[..., 2] - square * _square(h) for r, height, square in rows]


def _sliding_after_turning(
    _kind: str, P2: np.ndarray, h: Callable, c: np.ndarray, L: float
) -> Elimination:
    """Joint 1 turns, joint 2 slides along z2: u_z + q_2 z2_z = c_z and |u + q_2 z2| = |c|."""
    R2, p2 = P2[:3, :3], P2[:3, 3]
    z2 = R2[:, 2]
    lifts = abs(z2[2]) > PARALLEL

    def u(x: np.ndarray) -> np.ndarray:
        return h(x) @ R2.T + p2

    def terms(x: np.ndarray) -> tuple:
        v = u(x)
        if not lifts:
            return v[..., 2], c[2]
        return _square(z2[2] * v + (c[2] - v[..., 2:]) * z2), z2[2] ** 2 * (c @ c)

    def second(x3: float) -> list[float]:
        v = u(np.array(x3))
        if lifts:
            return [float((c[2] - v[2]) / z2[2])]
        half = np.sqrt(max(0.0, (z2 @ v) ** 2 - v @ v + c @ c))
        return [float(-(z2 @ v) - half), float(-(z2 @ v) + half)]

    return terms, second


def _sliding_after_sliding(
    _kind: str, P2: np.ndarray, h: Callable, c: np.ndarray, L: float
) -> Elimination:
    """Joints 1 and 2 slide: (u + q_2 z2 - c)_xy = 0."""
    R2, p2 = P2[:3, :3], P2[:3, 3]
    z2 = R2[:2, 2]

    def u(x: np.ndarray) -> np.ndarray:
        return (h(x) @ R2.T + p2)[..., :2]

    def terms(x: np.ndarray) -> tuple:
        v = u(x)
        return z2[0] * v[..., 1] - z2[1] * v[..., 0], z2[0] * c[1] - z2[1] * c[0]

    def second(x3: float) -> list[float]:
        return [float(z2 @ (c[:2] - u(np.array(x3))) / (z2 @ z2))]

    return terms, second


def _carried(arm: Arm, joint: int, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """x -> P M(x) w of one joint, (..., 3)."""
    P, kind = arm.placements[joint], arm.kinds[joint]
    return lambda x: _moved(kind, x, w) @ P[:3, :3].T + P[:3, 3]


def _moved(kind: str, x: np.ndarray | float, w: np.ndarray) -> np.ndarray:
    T = motion(kind, np.asarray(x))
    return T[..., :3, :3] @ w + T[..., :3, 3]


def _square(v: np.ndarray) -> np.ndarray:
    return np.sum(v * v, axis=-1)


# Closed form: six joints of which the last three are revolute and meet in one point.
#
# The first three bring that point, the wrist centre, where the target wants it; the last three give
# the rest of the orientation.

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


# why a point cannot be reached: distances that the arm's joints cannot change

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


@dataclass(frozen=True)
class ClosedForm:
    """A method that lists candidates for q, to be polished, and can say why there is none."""

    name: str
    candidates: Callable[[Target], list[np.ndarray]]
    why_not: Callable[[Target], str]  # empty when the geometry does not tell


def closed_form(arm: Arm | None, target: Target, moving: int) -> ClosedForm | None:
    """The closed form for the first `moving` joints, the others being idle; None without one."""
    if arm is None:
        return None
    if target.is_position and moving <= 3:
        first = arm.first(moving)
        return ClosedForm(
            f"{first.kinds} to a point",
            lambda target: point_candidates(first, target.T[:3, 3]),
            lambda target: out_of_reach(first, target.T[:3, 3], "target"),
        )
    centre = wrist_centre(arm) if target.is_pose and moving == len(arm.kinds) else None
    if centre is None:
        return None
    front = arm_to_wrist(arm, centre)
    return ClosedForm(
        f"{arm.kinds[:3]} and a spherical wrist",
        lambda target: wrist_candidates(arm, centre, target.T),
        lambda target: out_of_reach(front, wrist_target(arm, centre, target.T), "wrist centre"),
    )
