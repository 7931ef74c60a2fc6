"""The described masses beside a log: readings of the log that agree with them far better.

A log whose axis counts the other way round, or whose torque is doubled, is explained by some
masses about as well; the described ones, even roughly right, know which reading is right. Base
parameters x are taken as normal about those described, and the torque of every joint j is

    tau_j = Y_j x + rotor_j qdd_j + friction of j + noise of e_j |tau_j|,   x ~ N(k d, k^2 a^2 K)

K has every mass, centre of mass and second moment deviate by as much of itself (`bodies`); a, how
far all of them deviate, and k, a factor of all torques, are those that make the log likeliest:

    log p = -chi^2 / 2 - sum log(1 + k^2 a^2 lambda) / 2 - sum_j N_j log e_j

What is a joint's own (friction, rotor) is eliminated beforehand, e_j are the misfits of any masses
whatever, N_j counts rows that are independent. A description that is wrong or invented deviates
much under every reading, and then tells none from another.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ...errors import DynamisError
from ...model.check.finding import Finding, Numbers
from ...model.check.model import placeholders
from ..bodies import bodies_like, body_deviations
from ..feasible import links_of
from ..unknowns import Unknowns
from .diagnose import ANGLES, Excerpt, arrangements, repair
from .verdict import LITTLE

SURE = 12.0  # of log p: so much likelier is the reading that is named
AGREES = 0.5  # of themselves: masses as described that deviate more tell no reading from another
DEVIATIONS = 0.03 * 1.5 ** np.arange(12)  # a, that are tried
INDEPENDENT = 8  # rows that count as one: what is left over is not white
LIGHT = 0.05  # of the heaviest link: a lighter one may be so heavy
SLOWEST, SLOW = 0.03, 0.3  # rad/s or m/s, within which friction changes its sign
FINEST = 0.01  # of a torque: the least misfit
FACTORS = 2.0 ** np.array([-2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0])  # of torques that are tried
APART, TURNED_APART = 0.35, np.radians(20.0)  # of a logarithm, rad: searched about the best
CLOSER = 10  # rounds of that search
FACTOR = 1.7  # a torque that is so many times the others' is worth a word
ALL = 1.9  # times the described torques are all torques: a payload makes less of it
FACTORS_OF_ALL = 0.02, 50.0  # k
CERTAIN = 5.0  # standard deviations of k
ROUNDS = 3  # of weighting joints by what is left over, and of k
CLEARER = 1.3  # times: deviations that say why a reading is likelier


class Likeness(NamedTuple):
    """How well a reading of a log agrees with the described masses."""

    evidence: float  # log p
    deviation: float  # a
    factor: float  # k
    certain: float  # k over its standard deviation
    misfits: np.ndarray  # e_j (n,)


@dataclass(frozen=True, eq=False)
class Reading:
    """A reading: what is changed in words, of which joints, and how well it agrees then."""

    words: str
    joints: tuple[str, ...]
    likeness: Likeness
    refined: Callable[[], tuple[float, Likeness]] | None = None  # a size between those tried

    @property
    def evidence(self) -> float:
        """Its log p."""
        return self.likeness.evidence


class Motion(NamedTuple):
    """What a motion lets the bodies of each joint explain, once its own is eliminated."""

    own: list[np.ndarray]  # orthonormal columns of friction and rotor, (N, c)
    basis: list[np.ndarray]  # orthonormal columns of the bodies, (N, b)
    factors: list[np.ndarray]  # (b, m)
    weight: np.ndarray  # (N, n)


class DescribedBodies:
    """The bodies as described, and how they may deviate, in base parameters."""

    def __init__(self, unknowns: Unknowns):
        self.unknowns, robot = unknowns, unknowns.robot
        links = len(robot.model.links)
        own = np.asarray(robot.parameters.values, dtype=float)
        self.body = unknowns.of_kind("body")
        self.beside = np.flatnonzero(np.array(unknowns.kinds) != "body")
        group = unknowns.group[self.body]
        self.values = group @ own
        given, said = links_of(own, links), placeholders(Numbers(robot.model))
        self.known = bool(self.values.any()) and all(f.level == "note" for f in said)
        if self.known:
            each = [body_deviations(P) for P in bodies_like([given], LIGHT)]
            root = np.zeros((len(own), 10 * links))
            for i, columns in enumerate(each):
                root[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = columns
            self.root = group @ root

    def motion(self, rows: Excerpt) -> Motion:
        """What the bodies explain in these rows."""
        Y = self.unknowns.regressor(rows.q, rows.qd, rows.qdd)
        rigid = np.abs(Y[..., self.body] @ self.values)
        own, basis, factors = [], [], []
        for j, weight in enumerate(rows.weight.T):
            v = rows.qd[:, j]
            columns = [v, np.cbrt(v), np.ones_like(v), rows.qdd[:, j]]
            columns += [np.tanh(v / SLOWEST), np.tanh(v / SLOW), rigid[:, j] * np.tanh(v / SLOWEST)]
            A = np.column_stack([*columns, Y[:, j, self.beside]]) * weight[:, None]
            A = A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
            U, sizes, _ = np.linalg.svd(A, full_matrices=False)
            own.append(U[:, sizes > 1e-6 * sizes.max(initial=1e-300)])
            B = Y[:, j, self.body] * weight[:, None]
            Q, R = np.linalg.qr(B - own[-1] @ (own[-1].T @ B))
            basis.append(Q)
            factors.append(R)
        return Motion(own, basis, factors, rows.weight)

    def likeness(self, motion: Motion, tau: np.ndarray, scale: np.ndarray) -> Likeness:
        """How well torques (N, n), of which joints were multiplied by `scale`, agree."""
        B, t, sizes, rows, taken = self._reduced(motion, tau * scale)
        least = np.maximum(LITTLE * np.max(sizes / scale) * scale, FINEST * sizes)
        left = free_misfits(B, t, sizes, least) / np.sqrt(np.maximum(1.0 - taken / rows, 0.1))
        left = np.minimum(left, sizes)
        misfits, count = left / np.maximum(sizes, 1e-300), rows / INDEPENDENT
        weights = np.sqrt(count) / np.maximum(left, 1e-300)
        A, y = (B * weights[:, None, None]).reshape(-1, B.shape[-1]), (t * weights[:, None]).ravel()
        U, spread, _ = np.linalg.svd(A @ self.root, full_matrices=False)
        d = A @ self.values
        found = [_agreement(y, d, U.T @ y, U.T @ d, spread, a) for a in DEVIATIONS]
        best, k, certain = max(found)
        fit = float((count * np.log(np.maximum(misfits, 1e-300))).sum())
        return Likeness(best - fit, float(DEVIATIONS[found.index(max(found))]), k, certain, misfits)

    def _reduced(self, motion: Motion, tau: np.ndarray) -> tuple[np.ndarray, ...]:
        """Bodies (n, b + 1, m) and torques (n, b + 1) without what is each joint's own.

        With the torques' sizes, the rows that count and the unknowns that took part, (n,) each.
        """
        m = len(self.values)
        B, t = np.zeros((tau.shape[1], m + 1, m)), np.zeros((tau.shape[1], m + 1))
        sizes, taken = np.zeros((2, tau.shape[1]))
        for j, (own, Q, R) in enumerate(zip(motion.own, motion.basis, motion.factors, strict=True)):
            x = tau[:, j] * motion.weight[:, j]
            sizes[j] = np.linalg.norm(x)
            x = x - own @ (own.T @ x)
            along = Q.T @ x
            B[j, : len(R)], t[j, : len(R)] = R, along
            t[j, -1] = np.sqrt(max(0.0, float(x @ x - along @ along)))
            taken[j] = own.shape[1] + m / tau.shape[1]
        rows = np.maximum((motion.weight > 0.0).sum(axis=0), 1)
        return B, t, np.maximum(sizes, 1e-300), rows, taken


def free_misfits(B: np.ndarray, t: np.ndarray, sizes: np.ndarray, least: np.ndarray) -> np.ndarray:
    """What is left of every joint's torque by any bodies whatever, joints weighted, (n,)."""
    left, m = sizes, B.shape[-1]
    for _ in range(ROUNDS):
        A, y = (B / left[:, None, None]).reshape(-1, m), (t / left[:, None]).ravel()
        unit = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        x = np.linalg.lstsq(A / unit, y, rcond=1e-9)[0] / unit
        left = np.sqrt(((B @ x - t) ** 2).sum(axis=1) + least**2)
    return left


def _agreement(
    y: np.ndarray, d: np.ndarray, y_u: np.ndarray, d_u: np.ndarray, spread: np.ndarray, a: float
) -> tuple[float, float, float]:
    """log p less the misfits', k, and k over its deviation, where bodies deviate by a.

    `y_u` and `d_u` are torques and described torques in the directions of the deviations, in which
    those have the sizes `spread`.
    """
    k, chi, shrink = 1.0, 0.0, np.ones_like(spread)
    outside = [float(x) for x in (d @ d - d_u @ d_u, d @ y - d_u @ y_u, y @ y - y_u @ y_u)]
    inside = np.stack([d_u * d_u, d_u * y_u, y_u * y_u])
    certain = 0.0
    for _ in range(ROUNDS):
        shrink = 1.0 / (1.0 + (k * a * spread) ** 2)
        dd, dy, yy = np.maximum(outside + inside @ shrink, [0.0, -np.inf, 0.0])
        k = float(np.clip(dy / dd, *FACTORS_OF_ALL)) if dd > 1e-12 * float(d @ d) else 1.0
        chi, certain = yy - 2.0 * k * dy + k * k * dd, k * float(np.sqrt(dd))
    return 0.5 * float(np.log(shrink).sum() - chi), k, certain


def readings(told: DescribedBodies, rows: Excerpt) -> Iterator[Reading]:
    """The log as it is, then every other reading of it."""
    robot, tau, names = told.unknowns.robot, rows.torque(), told.unknowns.robot.drive_names
    n = len(names)
    own, same = told.motion(rows), np.ones(n)
    yield Reading("", (), told.likeness(own, tau, same))
    moved, last = own, rows
    for other, torques, words, who in arrangements(rows, tau, names):
        if other is not last:
            moved, last = (own if other is rows else told.motion(other)), other
        yield Reading(words, who, told.likeness(moved, torques, same))
    for j, name in enumerate(names):
        one = np.arange(n) == j

        def scaled(factor: float, one: np.ndarray = one) -> Likeness:
            return told.likeness(own, tau, np.where(one, 1.0 / factor, 1.0))

        for f in FACTORS if n > 1 else ():
            finer = _between(scaled, lambda x: float(np.exp(x)), float(np.log(f)), APART)
            yield Reading(SCALED, (name,), scaled(float(f)), finer)
    for j in [j for j, kind in enumerate(robot.joint_kinds) if kind == "revolute"]:

        def turned(angle: float, j: int = j) -> Likeness:
            return told.likeness(told.motion(rows.turned(j, angle)), tau, same)

        for angle in ANGLES[np.abs(ANGLES) > 1e-6]:
            finer = _between(turned, lambda x: x, float(angle), TURNED_APART)
            yield Reading(ZERO, (names[j],), turned(float(angle)), finer)


SCALED, ZERO = "the torque scaled", "the zero moved"


def _between(
    score: Callable[[float], Likeness], size: Callable[[float], float], at: float, reach: float
) -> Callable[[], tuple[float, Likeness]]:
    """The likeliest size about one that was tried, and its likeness."""

    def refined() -> tuple[float, Likeness]:
        found: Any = minimize_scalar(
            lambda x: -score(size(x)).evidence,
            bounds=(at - reach, at + reach),
            method="bounded",
            options={"maxiter": CLOSER},
        )
        tried = [(size(x), score(size(x))) for x in (at, float(found.x))]
        return max(tried, key=lambda x: x[1].evidence)

    return refined


def as_described(unknowns: Unknowns, rows: Excerpt) -> Iterator[Finding]:
    """Readings, and factors of torques, under which the log agrees far better with the description.

    A description that agrees little whatever the reading says nothing, nor does one without masses
    or with placeholders for them.
    """
    robot = unknowns.robot
    if robot.model.closures or robot.n != rows.q.shape[1]:
        return
    try:
        told = DescribedBodies(unknowns)
    except (DynamisError, TypeError):
        return  # a symbol without a value
    if not told.known:
        return
    now, *others = readings(told, rows)
    best = max(others, key=lambda x: x.evidence, default=now)
    size, then = best.refined() if best.refined else (1.0, best.likeness)
    if then.evidence > now.evidence + SURE and then.deviation <= AGREES:
        yield from _named(best, size, now.likeness, then, robot.drive_names)
    elif now.likeness.deviation <= AGREES and now.likeness.certain > CERTAIN:
        k = now.likeness.factor
        if not 1.0 / ALL < k < ALL:
            what = f"all torques are about {k:.2g} times what the described masses need"
            yield Finding("warning", "description", what, SCALES)


SCALES = "check unit, gear ratio and drive gain of the torque, or the described masses"


def _named(
    best: Reading, size: float, now: Likeness, then: Likeness, names: Sequence[str]
) -> Iterator[Finding]:
    """The finding on a reading that agrees far better."""
    if best.words == SCALED:
        if not 1.0 / FACTOR < size < FACTOR:
            what = (
                f"its torque is {size * then.factor:.2g} times what the described masses need, "
                f"that of the other joints {then.factor:.2g} times"
            )
            yield Finding("warning", "description", what, SCALES, best.joints)
        return
    words, remedy = best.words, repair(best.words, best.joints, names)
    if best.words == ZERO:
        words = f"{np.degrees(-size):+.0f} degrees added to the position of {best.joints[0]}"
        remedy = "check its zero: read_log(..., offset=...) adds to the positions"
    what = f"with {words} the masses as described would {_better(now, then)}"
    remedy += ", if the described masses are right"
    yield Finding("warning", "description", what, remedy, best.joints)


def _better(now: Likeness, then: Likeness) -> str:
    """Why a reading agrees better with the described masses."""
    a, b = now.deviation, then.deviation
    if a > CLEARER * b:
        now_off = f"{100 * a:.0f} %" if a < 1.0 else "100 % and more"
        return f"be off by about {100 * b:.0f} %, as it is by {now_off}"
    a, b = (float(np.sqrt(np.mean(x.misfits**2))) for x in (now, then))
    if a > CLEARER * b:
        return f"miss {100 * b:.0f} % of the torque, as it is {100 * a:.0f} %"
    return "explain the log far better than as it is"
