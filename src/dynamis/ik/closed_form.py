"""Closed-form inverse kinematics: which form fits an arm and a task, and its solutions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..lazy import cached_property
from .geometry import SerialArm, motion
from .search import quasi_random
from .target import Target

# roots of the one-joint equations that the geometry leaves behind

SAMPLES = 8  # enough for trigonometric degree 2 and for degree 4
NEGLIGIBLE = 1e-11  # a coefficient below this, relative to the largest term, is rounding
Terms = Callable[[np.ndarray], tuple[Any, Any]]
OFF_CIRCLE = 0.05  # roots this far off count as real: polishing decides about them
SLACK = 1e-2  # of a cosine beyond 1 that is taken for 1


def cosine_roots(A: Any, B: Any, D: Any) -> np.ndarray:
    """Angles with A cos x + B sin x = D, (..., 2), NaN where there are fewer.

    The nearest one when D is barely too large; A = B = 0 leaves the angle free: it is set to 0.
    """
    size = np.hypot(A, B)
    free = (size <= 1e-12 * np.abs(D)) | (size == 0.0)
    ratio = D / np.where(free, 1.0, size)
    half = np.where(np.abs(ratio) > 1.0 + SLACK, np.nan, np.arccos(np.clip(ratio, -1.0, 1.0)))
    middle = np.arctan2(B, A)
    first = np.where(free, 0.0, middle - half)
    return np.stack([first, np.where(free | (half == 0.0), np.nan, middle + half)], axis=-1)


def joint_roots(terms: Terms, kind: str, scale: np.ndarray) -> np.ndarray:
    """Positions x of one joint where the two terms are equal, a(x) = b(x), (N, 4), else NaN.

    Of a revolute joint f = a - b is a trigonometric polynomial of degree 2, z^2 f(x) a polynomial
    of degree 4 in z = exp(ix) whose roots on the unit circle count; of a prismatic one f is a
    polynomial of degree 4, sampled over [-scale, scale]. When f is negligible against its terms
    the joint is free: it is set to 0. `scale` (N,) also says how many equations there are.
    """
    turning, k = kind == "R", np.arange(SAMPLES)
    x = 2 * np.pi * k / SAMPLES if turning else np.cos(np.pi * (k + 0.5) / SAMPLES)
    at = x if turning else scale[:, None] * x
    a, b = (np.broadcast_to(t, (len(scale), SAMPLES)) for t in terms(at))
    f, negligible = a - b, NEGLIGIBLE * np.max(np.abs(a) + np.abs(b), axis=1)
    if turning:
        coefficients = (np.fft.fft(f, axis=1) / SAMPLES)[:, [2, 1, 0, -1, -2]]
    else:
        coefficients = _fitted(x, f)
    counts = np.abs(coefficients) > negligible[:, None]
    first, free = np.argmax(counts, axis=1), ~counts.any(axis=1)  # of those that count
    result = np.full((len(scale), 4), np.nan)
    result[free, 0] = 0.0
    for skip in range(2 if turning else 4):
        rows = np.flatnonzero((first == skip) & ~free)
        if not len(rows):
            continue
        z: Any = _polynomial_roots(coefficients[rows, skip : 5 - skip if turning else 5])
        if turning:
            real = np.abs(np.log(np.maximum(np.abs(z), 1e-300))) < OFF_CIRCLE
            z = np.angle(z)
        else:
            real = np.abs(z.imag) < OFF_CIRCLE * (1.0 + np.abs(z))
            z = scale[rows, None] * z.real
        result[rows, : z.shape[1]] = np.where(real, z, np.nan)
    return result


def _fitted(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Coefficients of degree 4 down to 0 of polynomials through samples, (N, 5)."""
    return (np.linalg.pinv(np.vander(x, 5)) @ f[..., None])[..., 0]


def _polynomial_roots(c: np.ndarray) -> np.ndarray:
    """Roots of polynomials with leading coefficients other than zero, (N, degree)."""
    degree = c.shape[1] - 1
    companion = np.zeros((len(c), degree, degree), dtype=c.dtype)
    companion[:, np.arange(1, degree), np.arange(degree - 1)] = 1.0
    companion[:, 0] = -c[:, 1:] / c[:, :1]
    return np.linalg.eigvals(companion)


# Closed form: up to three joints, revolute or prismatic in any order, that carry a point.
#
# The point is P_1 M_1(q_1) P_2 M_2(q_2) P_3 M_3(q_3) w. Joint 1 is eliminated by what it cannot
# change (height and distance for a revolute joint, x and y for a prismatic one), joint 2 because it
# enters those linearly, and joint 3 is left in one equation of degree four.
# D. L. Pieper, The kinematics of manipulators under computer control, 1968.
#
# Many targets are solved at once: every joint multiplies the rows by its roots, and each row knows
# the number of its target.

PARALLEL = 1e-6  # sine of the angle below which two directions count as one
ON_AXIS = 1e-7  # distance, relative to the arm, below which a point counts as on an axis
ROUNDING = 1e-13  # distance, relative to the arm, below which it is on the axis to rounding
CLOSE = 1e-2  # error, relative to the arm, that polishing is trusted to remove
REFINED = 4  # Newton steps: roots of a polynomial are only as exact as its coefficients

Candidates = tuple[np.ndarray, np.ndarray]  # number of the target (k,), joint positions (k, n)


def point_candidates(arm: SerialArm, points: np.ndarray) -> Candidates:
    """Joint positions, before polishing, that may bring the tool's origin to points (N, 3)."""
    P1 = arm.placements[0]
    c = turned(P1[:3, :3].T, points - P1[:3, 3])
    L = arm.size + np.linalg.norm(c, axis=-1)
    w = arm.tool[:3, 3]
    rest = {1: _none, 2: _second, 3: _second_and_third}[len(arm.kinds)]
    of, q_rest, g = rest(arm, w, c, L)
    rows, q_first = _listed(_first(arm.kinds[0], g, c[of], L[of]))
    of, q = of[rows], np.concatenate([q_first[:, None], q_rest[rows]], axis=1)
    close = np.linalg.norm(arm.reach(q) - points[of], axis=-1) < CLOSE * L[of]
    of, q = of[close], q[close]
    return of, _refined(arm, q, points[of])


def _refined(arm: SerialArm, q: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Rows of q after Newton's steps that brought the tool's origin nearer to `points`, (k, n)."""
    q = q.copy()
    rows = np.arange(len(q))  # that came nearer with the last step
    for _ in range(REFINED):
        if not len(rows):
            break
        old, goal = q[rows], points[rows]
        p = arm.reach(old)
        new = old + _least(np.swapaxes(arm.slopes(old), -1, -2), goal - p)
        nearer = _square(arm.reach(new) - goal) < _square(p - goal)
        q[rows[nearer]], rows = new[nearer], rows[nearer]
    return q


REGULAR = 1e-4  # determinant of a matrix to be inverted, its longest column being 1


def _least(J: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The shortest y with the least |J y - e|, motions that hardly move the point left out."""
    y, regular = np.empty((len(J), J.shape[-1])), np.zeros(len(J), dtype=bool)
    if J.shape[-2] == J.shape[-1]:
        longest = np.max(np.linalg.norm(J, axis=-2), axis=-1)
        regular = np.abs(np.linalg.det(J)) > REGULAR * longest ** J.shape[-1]
        y[regular] = np.linalg.solve(J[regular], e[regular, :, None])[..., 0]
    y[~regular] = (np.linalg.pinv(J[~regular], PARALLEL) @ e[~regular, :, None])[..., 0]
    return y


def _listed(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers and values of the entries of (N, k) that are not NaN."""
    rows, columns = np.nonzero(~np.isnan(x))
    return rows, x[rows, columns]


# number of the target (k,), positions of the joints after the first (k, n - 1), point in the frame
# of the first (k, 3)
Found = tuple[np.ndarray, np.ndarray, np.ndarray]


def _first(kind: str, g: np.ndarray, c: np.ndarray, L: np.ndarray) -> np.ndarray:
    """q_1 that takes g to c; 0 when c lies on the axis of a revolute joint, a few when nearly so.

    Beside the axis g is too inexact to give its direction: polishing decides.
    """
    if kind == "P":
        return (c[:, 2] - g[:, 2])[:, None]
    far, own = np.hypot(c[:, 0], c[:, 1]), np.hypot(g[:, 0], g[:, 1])
    angle = np.arctan2(c[:, 1], c[:, 0]) - np.arctan2(g[:, 1], g[:, 0])
    result = np.full((len(g), 4), np.nan)
    result[:, 0] = angle
    result[np.minimum(far, own) < ON_AXIS * L] = [0.0, 0.5 * np.pi, np.pi, -0.5 * np.pi]
    result[far < ROUNDING * L] = [0.0, np.nan, np.nan, np.nan]
    return result


def _none(_arm: SerialArm, w: np.ndarray, c: np.ndarray, _L: np.ndarray) -> Found:
    return np.arange(len(c)), np.empty((len(c), 0)), np.broadcast_to(w, c.shape)


def _second(arm: SerialArm, w: np.ndarray, c: np.ndarray, L: np.ndarray) -> Found:
    """Two joints: of joint 1's two invariants, the one that varies more with q_2 gives q_2."""
    g, wide, c = _carried(arm, 1, w), L[:, None], c[:, None]

    def height(x: np.ndarray) -> tuple[Any, Any]:
        return (g(x)[..., 2], c[..., 2]) if arm.kinds[0] == "R" else (g(x)[..., 0], c[..., 0])

    def distance(x: np.ndarray) -> tuple[Any, Any]:
        if arm.kinds[0] == "R":
            return _square(g(x)) / wide, _square(c) / wide
        return g(x)[..., 1], c[..., 1]

    samples = np.linspace(-1.0, 1.0, 7) * (np.pi if arm.kinds[1] == "R" else wide)
    spans = [
        np.ptp(np.broadcast_to(f(samples)[0], (len(L), 7)), axis=1) for f in (height, distance)
    ]
    higher = (spans[0] >= spans[1])[:, None]

    def chosen(x: np.ndarray) -> tuple[Any, Any]:
        pairs = zip(height(x), distance(x), strict=True)
        a, b = (np.where(higher, first, second) for first, second in pairs)
        return a, b

    of, x = _listed(joint_roots(chosen, arm.kinds[1], L))
    return of, x[:, None], g(x)


def _second_and_third(arm: SerialArm, w: np.ndarray, c: np.ndarray, L: np.ndarray) -> Found:
    """Three joints: q_3 from one equation of its own, then q_2."""
    P2, h = arm.placements[1], _carried(arm, 2, w)
    eliminate = {
        "RR": _turning_second,
        "PR": _turning_second,
        "RP": _sliding_after_turning,
        "PP": _sliding_after_sliding,
    }[arm.kinds[:2]]
    terms, _ = eliminate(arm.kinds[0], P2, h, c[:, None], L[:, None])
    of, x3 = _listed(joint_roots(terms, arm.kinds[2], L))
    _, second = eliminate(arm.kinds[0], P2, h, c[of], L[of])
    rows, x2 = _listed(second(x3))
    of, x3 = of[rows], x3[rows]
    g = turned(P2[:3, :3], _moved(arm.kinds[1], x2, h(x3))) + P2[:3, 3]
    return of, np.stack([x2, x3], axis=1), g


# terms of the equation for q_3, and q_2 (k, m) from q_3 (k,)
Elimination = tuple[Terms, Callable[[np.ndarray], np.ndarray]]


def _turning_second(
    kind: str, P2: np.ndarray, h: Callable, c: np.ndarray, L: np.ndarray
) -> Elimination:
    """Joint 2 turns: a_k . v = D_k(q_3), k = 1, 2, for the plane vector v = Rz(q_2) h_xy.

    When a_1, a_2 are independent, |v| = |h_xy| is the equation for q_3; when they are not (axes 1
    and 2 meet or are parallel) it is the combination of the two that v drops out of.
    """
    (b1, b2), rows = _invariants(kind, P2, c, L)
    a1, a2 = b1[..., 0] + 1j * b1[..., 1], b2[..., 0] + 1j * b2[..., 1]
    det = a1.real * a2.imag - a1.imag * a2.real
    first = np.abs(a1) >= np.abs(a2)
    larger = np.where(first, a1, a2)
    independent = np.abs(det) > PARALLEL * np.abs(larger)

    def plane(x: np.ndarray) -> np.ndarray:
        D1, D2 = _right_sides(rows, h(x))
        return (D1 * a2 - D2 * a1) * -1j  # det * v

    def terms(x: np.ndarray) -> tuple:
        with np.errstate(invalid="ignore", divide="ignore"):
            s1, s2 = ((a * larger.conjugate()).real / np.abs(larger) for a in (a1, a2))
        D1, D2 = _right_sides(rows, h(x))
        return (
            np.where(independent, np.abs(plane(x)) ** 2, s2 * D1),
            np.where(independent, det**2 * _square(h(x)[..., :2]), s1 * D2),
        )

    def second(x3: np.ndarray) -> np.ndarray:
        p = h(x3)
        D1, D2 = _right_sides(rows, p)
        flat, D = p[..., 0] + 1j * p[..., 1], np.where(first, D1, D2)
        along = larger.conjugate() * flat
        found = cosine_roots(along.real, -along.imag, D)
        other = np.angle(plane(x3) / np.where(independent, det, 1.0)) - np.angle(flat)
        found = np.column_stack([found, np.where(independent, other, np.nan)])
        found[np.abs(flat) < ON_AXIS * L] = [0.0, np.nan, np.nan]
        return found

    return terms, second


def _invariants(kind: str, P2: np.ndarray, c: np.ndarray, L: np.ndarray) -> tuple:
    """Vectors b_k, and (constant, height factor, square factor) of their right sides D_k."""
    R2, p2 = P2[:3, :3], P2[:3, 3]
    if kind == "P":
        b1, b2 = (np.broadcast_to(b, c.shape) for b in (R2[0], R2[1]))
        return (b1, b2), ((c[..., 0] - p2[0], R2[0, 2], 0.0), (c[..., 1] - p2[1], R2[1, 2], 0.0))
    b1, b2 = np.broadcast_to(R2[2], c.shape), R2.T @ p2 / L[..., None]
    distance = 0.5 * (_square(c) - p2 @ p2) / L
    return (b1, b2), ((c[..., 2] - p2[2], R2[2, 2], 0.0), (distance, b2[..., 2], 0.5 / L))


def _right_sides(rows: tuple, h: np.ndarray) -> list[np.ndarray]:
    return [r - height * h[..., 2] - square * _square(h) for r, height, square in rows]


def _sliding_after_turning(
    _kind: str, P2: np.ndarray, h: Callable, c: np.ndarray, _L: np.ndarray
) -> Elimination:
    """Joint 1 turns, joint 2 slides along z2: u_z + q_2 z2_z = c_z and |u + q_2 z2| = |c|."""
    R2, p2 = P2[:3, :3], P2[:3, 3]
    z2 = R2[:, 2]
    lifts = abs(z2[2]) > PARALLEL

    def u(x: np.ndarray) -> np.ndarray:
        return turned(R2, h(x)) + p2

    def terms(x: np.ndarray) -> tuple:
        v = u(x)
        if not lifts:
            return v[..., 2], c[..., 2]
        across = z2[2] * v + (c[..., 2:] - v[..., 2:]) * z2
        return _square(across), z2[2] ** 2 * _square(c)

    def second(x3: np.ndarray) -> np.ndarray:
        v = u(x3)
        if lifts:
            return ((c[..., 2] - v[..., 2]) / z2[2])[:, None]
        along = np.sum(z2 * v, axis=-1)
        half = np.sqrt(np.maximum(0.0, along**2 - _square(v) + _square(c)))
        return np.stack([-along - half, -along + half], axis=-1)

    return terms, second


def _sliding_after_sliding(
    _kind: str, P2: np.ndarray, h: Callable, c: np.ndarray, _L: np.ndarray
) -> Elimination:
    """Joints 1 and 2 slide: (u + q_2 z2 - c)_xy = 0."""
    R2, p2 = P2[:3, :3], P2[:3, 3]
    z2 = R2[:2, 2]

    def u(x: np.ndarray) -> np.ndarray:
        return (turned(R2, h(x)) + p2)[..., :2]

    def terms(x: np.ndarray) -> tuple:
        v = u(x)
        return z2[0] * v[..., 1] - z2[1] * v[..., 0], z2[0] * c[..., 1] - z2[1] * c[..., 0]

    def second(x3: np.ndarray) -> np.ndarray:
        return (np.sum(z2 * (c[..., :2] - u(x3)), axis=-1) / (z2 @ z2))[:, None]

    return terms, second


def _carried(arm: SerialArm, joint: int, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """x -> P M(x) w of one joint, (..., 3)."""
    P, kind = arm.placements[joint], arm.kinds[joint]
    return lambda x: turned(P[:3, :3], _moved(kind, x, w)) + P[:3, 3]


def _moved(kind: str, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    T = motion(kind, x)
    return turned(T[..., :3, :3], w) + T[..., :3, 3]


def turned(R: np.ndarray, v: np.ndarray) -> np.ndarray:
    """R v, (..., 3), of each sample by itself: its bits do not depend on the others."""
    return (R @ v[..., None])[..., 0]


def _square(v: np.ndarray) -> np.ndarray:
    return np.sum(v * v, axis=-1)


# Closed form: six joints of which the last three are revolute and meet in one point.
#
# The first three bring that point, the wrist centre, where the target wants it; the last three give
# the rest of the orientation.

MEETING = 1e-6  # distance of the wrist's axes, relative to the arm, that counts as meeting
FREE = 1e-13  # sine below which, to rounding, the wrist's first and last axes are one line
BARELY = 5e-3  # how far beyond what axis 5 can do an orientation may be: polishing decides


def wrist_centre(arm: SerialArm) -> np.ndarray | None:
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


def arm_to_wrist(arm: SerialArm, centre: np.ndarray) -> SerialArm:
    """The first three joints, carrying the wrist centre as their tool."""
    T = arm.frames(np.zeros(6))[2]
    tool = np.eye(4)
    tool[:3, 3] = T[:3, :3].T @ (centre - T[:3, 3])
    return SerialArm(arm.kinds[:3], arm.placements[:3], tool)


def wrist_target(arm: SerialArm, centre: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Where the wrist centre must be for the tool to be at T, (..., 3)."""
    tool = arm.frames(np.zeros(6))[5] @ arm.tool
    ahead = tool[:3, :3].T @ (centre - tool[:3, 3])
    return turned(T[..., :3, :3], ahead) + T[..., :3, 3]


def wrist_candidates(arm: SerialArm, centre: np.ndarray, T: np.ndarray) -> Candidates:
    """Joint positions, before polishing, that may bring the tool to poses T (N, 4, 4)."""
    front = arm_to_wrist(arm, centre)
    of, q = point_candidates(front, wrist_target(arm, centre, T))
    R = front.frames(q)[:, 2, :3, :3] @ arm.placements[3, :3, :3]
    M = np.swapaxes(R, -1, -2) @ T[of, :3, :3] @ arm.tool[:3, :3].T
    A, B = arm.placements[4, :3, :3], arm.placements[5, :3, :3]
    angles = wrist_angles(A, B, M)
    rows, ways = np.nonzero(~np.isnan(angles[..., 0]))
    return of[rows], np.concatenate([q[rows], angles[rows, ways]], axis=1)


def wrist_angles(A: np.ndarray, B: np.ndarray, M: np.ndarray) -> np.ndarray:
    """(x, y, z) with Rz(x) A Rz(y) B Rz(z) = M (k, 3, 3), (k, 2, 3), NaN where there are fewer.

    y turns the angle between the outer axes, alpha and beta away from axis 5, into theta, that of
    M: by half angles, exact also where theta is tiny. The last column of M then gives x (0 where
    it is free), the rest z. Where the outer axes line up there is one.
    """
    a, b = A[2], B[:, 2]
    middle = np.arctan2(a[1] * b[0] - a[0] * b[1], a[:2] @ b[:2])
    alpha, beta = (np.arctan2(np.hypot(v[0], v[1]), v[2]) for v in (a, b))
    theta = np.arctan2(np.hypot(M[:, 0, 2], M[:, 1, 2]), M[:, 2, 2])
    s = np.sin(0.5 * (theta + alpha - beta)) * np.sin(0.5 * (theta - alpha + beta))
    c = np.sin(0.5 * (alpha + beta + theta)) * np.sin(0.5 * (alpha + beta - theta))
    never = np.minimum(s, c) < -BARELY * np.sin(alpha) * np.sin(beta)
    half = 2.0 * np.arctan2(np.sqrt(np.maximum(s, 0.0)), np.sqrt(np.maximum(c, 0.0)))
    free = np.sin(theta) < FREE
    half = np.where(free, 0.0, half)
    y = np.stack([middle - half, np.where(half == 0.0, np.nan, middle + half)], axis=-1)
    y[never] = np.nan
    N = A @ motion("R", y)[..., :3, :3] @ B
    x = np.arctan2(M[:, 1, 2], M[:, 0, 2])[:, None] - np.arctan2(N[..., 1, 2], N[..., 0, 2])
    x = np.where(free[:, None], 0.0 * y, x)
    back = np.swapaxes(motion("R", x)[..., :3, :3], -1, -2)
    K = np.swapaxes(N, -1, -2) @ back @ M[:, None]
    z = np.arctan2(K[..., 1, 0] - K[..., 0, 1], K[..., 0, 0] + K[..., 1, 1])
    return np.stack([x, y, z], axis=-1)


# why a point cannot be reached: distances that the arm's joints cannot change

FLAT = 1e-9  # thickness, relative to the arm, of a workspace that is a plane

Distance = Callable[[np.ndarray], np.ndarray]


class Reach:
    """Where an arm's tool can be: the plane it stays in, if any, and distances from a place."""

    def __init__(self, arm: SerialArm):
        self.arm, self.q = arm, arm_positions(arm)
        self.origin, self.across, self.where = _shoulder(arm)
        self.bounded = _blind_to_slides(arm, self.distance)

    def distance(self, p: np.ndarray) -> np.ndarray:
        """From the shoulder, or from the first axis, (...,)."""
        return np.linalg.norm((p - self.origin) @ self.across, axis=-1)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Least and largest distance of the tool; without bounds where slides change it."""
        if not self.bounded:
            return -np.inf, np.inf
        low, high = (_extreme(self.arm, self.q, self.distance, sign) for sign in (1, -1))
        return low, high

    def off_plane(self, points: np.ndarray) -> np.ndarray:
        """Distance of points from the plane the tool stays in; 0 when there is no such plane."""
        return _out_of_plane(self.arm.reach(self.q), self.arm.size, points)

    def excludes(self, points: np.ndarray) -> np.ndarray:
        """Which points distances rule out, (...,)."""
        low, high = self.bounds
        d, slack = self.distance(points), 1e-9 * self.arm.size
        return (self.off_plane(points) > 0.0) | (d > high + slack) | (d < low - slack)


def out_of_reach(arm: SerialArm, point: np.ndarray, noun: str) -> str:
    """Why a point cannot be reached by the arm's tool; empty when distances do not tell."""
    reach = Reach(arm)
    off = float(reach.off_plane(point))
    if off:
        return f"the {noun} is out of the arm's plane by {off:.3g} m"
    if not reach.excludes(point):
        return ""
    (low, high), d = reach.bounds, float(reach.distance(point))
    if d > high:
        return f"the {noun} is {d:.4g} m from the {reach.where}, the arm reaches {high:.4g} m"
    close = f"the arm comes no closer than {low:.4g} m"
    return f"the {noun} is {d:.4g} m from the {reach.where}, {close}"


def arm_positions(arm: SerialArm, count: int = 2048) -> np.ndarray:
    """Joint positions all over the space of an arm, (count, n)."""
    scale = np.where(arm.turning, np.pi, arm.size)
    return quasi_random(np.stack([-scale, scale], axis=1), count)


def _out_of_plane(places: np.ndarray, size: float, points: np.ndarray) -> np.ndarray:
    middle = places.mean(axis=0)
    _, s, V = np.linalg.svd(places - middle, full_matrices=False)
    if s[2] > FLAT * size * np.sqrt(len(places)) or s[1] < FLAT * size * np.sqrt(len(places)):
        return np.zeros(points.shape[:-1])
    off = np.abs(np.sum(V[2] * (points - middle), axis=-1))
    return np.where(off > FLAT * size, off, 0.0)


def _shoulder(arm: SerialArm) -> tuple[np.ndarray, np.ndarray, str]:
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


def _blind_to_slides(arm: SerialArm, distance: Distance) -> bool:
    """Whether joint 1 turns and the distance does not feel prismatic joints: it has bounds."""
    q = arm_positions(arm, 16)
    moved = distance(arm.reach(q)) - distance(arm.reach(q * arm.turning))
    return arm.kinds[0] == "R" and bool(np.abs(moved).max() < FLAT * arm.size)


def _extreme(arm: SerialArm, q: np.ndarray, distance: Distance, sign: int) -> float:
    """Smallest (sign 1) or largest (sign -1) distance over all joint positions."""
    best = q[np.argsort(sign * distance(arm.reach(q)))[:3]]
    from scipy.optimize import minimize  # what reads a log imports ik too, and needs no solver

    runs = [minimize(lambda x: sign * float(distance(arm.reach(x))), start) for start in best]
    return float(sign * min(run.fun for run in runs))


@dataclass(frozen=True)
class ClosedForm:
    """A method that lists candidates for q, to be polished, and can say why there is none."""

    name: str
    candidates: Callable[[np.ndarray], Candidates]  # of poses (N, 4, 4)
    why_not: Callable[[Target], str]  # empty when the geometry does not tell
    beyond: Callable[[np.ndarray], np.ndarray]  # which of the poses distances rule out, (N,)


def closed_form(arm: SerialArm | None, target: Target, moving: int) -> ClosedForm | None:
    """The closed form for the first `moving` joints, the others being idle; None without one."""
    if arm is None:
        return None
    if target.is_position and moving <= 3:
        first = arm.first(moving)
        return ClosedForm(
            f"{first.kinds} to a point",
            lambda T: point_candidates(first, T[:, :3, 3]),
            lambda target: out_of_reach(first, target.T[:3, 3], "target"),
            lambda T: Reach(first).excludes(T[:, :3, 3]),
        )
    centre = wrist_centre(arm) if target.is_pose and moving == len(arm.kinds) else None
    if centre is None:
        return None
    front = arm_to_wrist(arm, centre)
    return ClosedForm(
        f"{arm.kinds[:3]} and a spherical wrist",
        lambda T: wrist_candidates(arm, centre, T),
        lambda target: out_of_reach(front, wrist_target(arm, centre, target.T), "wrist centre"),
        lambda T: Reach(front).excludes(wrist_target(arm, centre, T)),
    )
