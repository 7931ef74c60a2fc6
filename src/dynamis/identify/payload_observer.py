"""A payload estimated while the arm moves: recursive, physically consistent at every sample.

    tau - tau_arm = Y p + b,
    min sum_j |y_j - F_j p - u b_j|^2 / sigma_j^2 + b_j^2 / s_j^2 + tr(P0^-1 P) - log det P

y and F are the payload's torque and its columns in the momentum form (no accelerations), u a step
from 0 to 1, all through one low-pass; b_j is a constant torque that the model does not have. Each
joint keeps the discounted Gram matrix of [F y u], from which b_j is eliminated; what is left gives
its noise sigma_j, and the estimate by one Newton step per sample. Where the motion separates b_j
from the payload the data decide it, elsewhere s_j is in the interval. P is the pseudo-inertia of
the payload, P0 that of the first guess. A step never leaves Dikin's ellipsoid of log det P
(Nesterov and Nemirovskii 1994), so P stays positive definite.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, number, positive, strict
from ..compile.arrays import NUMPY
from ..compile.service import Ports, compiled, compiling
from ..control.controller import Sample, Scalars, Step, Values, per_joint
from ..control.momentum_observer import momentum_bias, relaxed_at, stretched_at
from ..control.observer import Observer, ObserverStep
from ..digest import keep_definitions
from ..dynamics.forward_dynamics import factor, substitute
from ..dynamics.gibbs_appell import unit_inertia
from ..dynamics.tool_body import momentum_columns
from ..errors import OptionError
from ..lazy import cached_property, once
from ..logs.log import LONG_GAP, Log
from ..robot.arm import Arm
from ..simulation.run import Run
from ..spatial.functions import MATH, Functions
from ..spatial.inertia import from_linear, pseudo_inertia, to_com_slope
from ..spatial.vectors import inner
from .deviations import NORMAL
from .payload import NAMES, PayloadEstimate, centred, centred_slope
from .processing import BLOCK, checked_logs

if TYPE_CHECKING:
    from ..robot import Robot

TEN, WITH_TORQUE, STEP = range(10), range(11), 11  # columns [F y u]
ALL_PAIRS = [(a, b) for a in range(12) for b in range(a, 12)]  # of a symmetric 12 x 12 matrix
PAIRS = [(a, b) for a, b in ALL_PAIRS if b < STEP]
TRIANGLE = [(a, b) for a, b in PAIRS if b < 10]
# the nonzero entries of the pseudo-inertia of each unit parameter
UNITS = [
    [(i, j, x) for i, row in enumerate(P) for j, x in enumerate(row) if x]
    for P in (pseudo_inertia(unit_inertia(k)) for k in TEN)
]
REACH = 0.7  # of Dikin's ellipsoid that one step may use
ROWS = 5.0  # rows of data that the expected noise weighs
NOISE = 0.05  # of a joint's typical torque: the noise that is expected
OFFSET = 0.4  # of that noise: constant torques that are expected, 2 % of the typical torque
KERNEL = 1.0  # s: how far back residuals are correlated
LONGEST = 0.9  # of the kernel, that the sums may give: a correlation time of nine kernels
EXPECTED = 0.1  # s: correlation time that is expected
FEWEST = 3.0  # degrees of freedom
UNKNOWN = 4.0  # inflation before anything was seen
PLAUSIBLE = {"q": 1e6, "qd": 1e6, "tau": 1e9}  # beyond, or NaN, a sample does not count
POSTURES = 64  # random ones, for the typical torque
RUBS = 0.1  # of the noise: friction above it makes a joint near rest uncertain
LEAST = 0.05  # of the arm's largest typical torque: what counts as a joint's at least
WEIGHTLESS = 1e-9  # N m or N: the typical torque of an arm without masses
TINY, HUGE = 1e-300, 1e150


@strict
@dataclass(frozen=True)
class PayloadObserver(Observer):
    """Mass, centre of mass and inertia of what the tool carries, sample by sample.

    `model` is the arm without payload (None: the robot watched, its payload taken off). `memory`
    (s of motion) is how long data counts, None for ever; `cutoff` (Hz) low-passes both sides. The
    first guess is a ball-like body of `mass` (kg) and `size` (m), worth about one row of data.
    `noise` is the torque noise expected per joint (None: 5 % of the arm's typical torque); the
    data soon outweigh it. `offset` is how large a constant torque may be that the model does not
    have (an offset of a sensor, of friction), a standard deviation per joint (None: 0.4 of
    `noise`); 0 if the model has it.
    Below the speed `slow` (rad/s or m/s) the friction of a joint is uncertain and it counts less;
    while no joint moves nothing is learned and nothing forgotten.

    The state holds `estimate`, the ten parameters in the tool frame (m, m c, inertia about the
    tool's origin), and `deviation`, of m, c and the inertia about c: 1.96 of it to either side is
    the 95 % interval. It accounts for residuals that are not white. `step` gives the external
    torque that neither the arm nor the payload explains, low-passed.
    """

    model: "Robot | None" = None
    memory: float | None = 30.0
    cutoff: float = 10.0
    mass: float = 1.0
    size: float = 0.1
    noise: Any = None
    slow: Any = 0.03
    offset: Any = None
    sample_time: float | None = None
    RESULTS = ("estimate", "deviation")

    def __post_init__(self) -> None:
        self._check()
        units = {"memory": "seconds or None", "cutoff": "Hz", "mass": "kg", "size": "m"}
        for name, unit in units.items():
            if getattr(self, name) is not None:
                positive(getattr(self, name), name, unit)

    def watched(self, robot: "Robot") -> "Robot":
        """The arm without payload."""
        given = super().watched(robot)
        given.model.refuse_closures("PayloadObserver")
        if given.model.payload is None:
            return given
        return once(given, "bare", lambda: given._with_model(payload=None))

    @checked
    def gains(self, robot: "Robot") -> Values:
        """rate, cutoff, guess; noise, offset, slow and whether it rubs, one per joint."""
        bare, slow = self.watched(robot), per_joint(self.slow, "slow", robot)
        if 0.0 in slow:
            raise OptionError(f"slow is {self.slow!r}, expected speeds above 0")
        noise = _typical(bare) if self.noise is None else per_joint(self.noise, "noise", robot)
        if 0.0 in noise:
            raise OptionError(f"noise is {self.noise!r}, expected torques above 0")
        offset = [OFFSET * x for x in noise]
        if self.offset is not None:
            offset = per_joint(self.offset, "offset", robot)
        speed = np.array(slow)
        jump = bare.friction_torque(speed) - bare.friction_torque(-speed)
        moment = 2.0 * self.mass * self.size**2
        return {
            "rate": [0.0 if self.memory is None else 1.0 / self.memory],
            "cutoff": [2.0 * math.pi * self.cutoff],
            "guess": [self.mass, 0.0, 0.0, 0.0, moment, 0.0, moment, 0.0, 0.0, moment],
            "noise": noise,
            "offset": offset,
            "slow": slow,
            "rubs": (np.abs(jump) > RUBS * np.array(noise)).astype(float).tolist(),
        }

    def start(self, arm: Arm, sample: Sample) -> Values:
        """The first guess, and nothing seen."""
        n, guess = arm.n, list(sample.gains.guess)
        rest = [0.0] * n
        prior = [[0.5 * x for x in row] for row in _curvature(_inverse(guess, arm.fn))]
        return {
            "estimate": guess,
            "deviation": _deviation(guess, factor(prior, arm.fn), UNKNOWN, arm.fn),
            "seen": [0.0],
            "momentum": rest,
            "bias": rest,
            "columns": [0.0] * (10 * n),
            "rest": [0.0] * (10 * n),
            "first": [0.0] * (11 * n),
            "second": [0.0] * (11 * n),
            "begun": [0.0, 0.0],
            "still": [1.0] * (2 * n),
            "information": [0.0] * (len(ALL_PAIRS) * n),
            "rows": rest,
            "weights": [0.0, 0.0],
            "recent": rest,
            "correlated": rest,
            "squared": rest,
            **relaxed_at(arm, sample),
        }

    def step(self, arm: Arm, sample: Sample) -> Step:
        """One sample; `tau` acted since the last one, dt ago."""
        sample, good = _plausible(arm, sample)
        before, gains, joints = sample.state, sample.gains, range(arm.n)
        fresh = good * before.seen[0]
        raw, after = _row(arm, sample)
        pole = fresh * (1.0 - arm.exp(-gains.cutoff[0] * sample.dt))
        first = _low_passed(raw, before.first, pole)
        second = _low_passed(first, before.second, pole)
        once_passed = before.begun[0] + pole * (1.0 - before.begun[0])
        step = before.begun[1] + pole * (once_passed - before.begun[1])
        z = [[*second[11 * i : 11 * (i + 1)], step] for i in joints]
        still, moving, shares = _motion(arm, sample, pole)
        time = fresh * moving * sample.dt  # in motion
        keep = arm.exp(-gains.rate[0] * time)
        new = time * gains.cutoff[0] / math.pi  # independent rows
        every = _information(before.information, z, [new * w for w in shares], keep)
        rows = [keep * a + new * w for a, w in zip(before.rows, shares, strict=True)]
        weights = [keep * before.weights[0] + new, keep * keep * before.weights[1] + new]
        alike = _alike(before.correlated, before.squared, gains.noise, gains.cutoff[0], arm.fn)
        grams, offsets = _without_offsets(before.estimate, every, rows, alike, gains, arm.fn)
        noise = _noise(before.estimate, grams, rows, gains.noise)
        estimate, root = _newton(before.estimate, *_pooled(grams, noise), gains.guess, arm)
        left = [inner(row[:STEP], [*estimate, -1.0]) for row in z]
        varying = [r + step * b for r, b in zip(left, offsets, strict=True)]
        sums = _correlation(arm, sample, [fresh * w for w in shares], varying, time, keep)
        by_joint = _variances(grams, noise, root)
        wider = _inflation(arm, sums, rows, weights, by_joint, gains)
        after |= {"estimate": estimate, "seen": [good], "still": still, "weights": weights}
        after |= {"deviation": _deviation(estimate, root, wider, arm.fn), "rows": rows, **sums}
        after |= {"first": first, "second": second, "begun": [once_passed, step]}
        return left, {**after, "information": [x for gram in every for x in gram]}

    @checked
    def run(self, robot: "Robot", log: Log) -> "PayloadTrack":
        """The estimate along a log of a robot."""
        checked_logs(log, robot)
        whole = ObserverStep(self, robot)
        advance, usual = _advancing(whole), log.step
        qd = np.gradient(log.q, log.t, axis=0, edge_order=2) if log.qd is None else log.qd
        dt = np.diff(log.t, prepend=log.t[0] - usual)
        tau = np.concatenate([log.tau[:1], 0.5 * (log.tau[1:] + log.tau[:-1])])
        state = np.array(whole.start(log.q[0].tolist(), qd[0].tolist(), MATH))
        external, kept = np.empty(log.q.shape), []
        for first in range(0, len(log), BLOCK):
            rows = range(first, min(first + BLOCK, len(log)))
            states = np.empty((len(rows), whole.states))
            for i, k in enumerate(rows):
                if dt[k] > LONG_GAP * usual:
                    state[whole.slots["seen"]] = 0.0
                external[k], states[i] = advance(state, log.q[k], qd[k], tau[k], dt[k : k + 1])
                state = states[i]
            parts = {name: states[:, where] for name, where in whole.slots.items()}
            kept.append(_kept(parts, whole.gains))
        known = {name: np.concatenate([x[name] for x in kept]) for name in kept[0]}
        return PayloadTrack(log.t, **known, external=external, _bare=self.watched(robot))

    @checked
    def track(self, run: Run) -> "PayloadTrack":
        """The estimate along a simulation that this observer watched."""
        prefix = "observer."
        rows = {k.removeprefix(prefix): v for k, v in run.states.items() if k.startswith(prefix)}
        if run.observed is None or "information" not in rows:
            raise OptionError(
                "no payload observer watched this run",
                "dy.simulate(..., observer=dy.PayloadObserver()), one arm",
            )
        known, bare = _kept(rows, self.gains(run.robot)), self.watched(run.robot)
        return PayloadTrack(run.t, **known, external=run.observed, _bare=bare)


keep_definitions(PayloadObserver)


def _advancing(whole: ObserverStep) -> Callable[..., tuple[Any, Any]]:
    """external, next = f(state, q, qd, tau, dt), as machine code where there is any."""
    n, size, numbers = whole.robot.n, whole.states, np.array(whole.numbers)
    if not compiling():

        def plainly(*given: np.ndarray) -> tuple[Any, Any]:
            state, q, qd, tau, dt = (x.tolist() for x in given)
            return whole.step(state, q, qd, tau, dt[0], whole.numbers, MATH)

        return plainly
    names = ("state", "q", "qd", "tau", "dt", "numbers")
    shapes = ((size,), (n,), (n,), (n,), (1,), numbers.shape)
    ports = Ports(names, shapes, ("next", "external"), ((size,), (n,)))
    key = None if whole.key is None else ("observer", *whole.key)
    code = compiled(key, whole.program, ports, "float64", 1, what="the observer")

    def advance(*given: np.ndarray) -> tuple[Any, Any]:
        rows = [np.ascontiguousarray(x, dtype=float) for x in (*given, numbers)]
        results = np.empty((1, size)), np.empty((1, n))
        code.run(rows, [0] * len(rows), results, 1, 1)
        return results[1][0], results[0][0]

    return advance


def _typical(robot: "Robot") -> list[float]:
    """The noise expected of every joint: a share of the arm's torques in ordinary motion."""
    rng = np.random.default_rng(0)
    drawn = rng.uniform(-1.0, 1.0, (3, POSTURES, robot.n))
    q, qd, qdd = drawn * np.array([[[math.pi]], [[1.0]], [[2.0]]])
    size = np.sqrt((robot.inverse_dynamics(q, qd, qdd) ** 2).mean(axis=0))
    if not size.max() > WEIGHTLESS:
        raise OptionError(
            f"robot {robot.name!r} moves without torque: it has no masses, and what noise to "
            "expect is not known",
            "give its links masses, or noise= in N m (N of a slide) per joint",
        )
    return (NOISE * np.maximum(size, LEAST * size.max() + 1e-9)).tolist()


def _plausible(arm: Arm, sample: Sample) -> tuple[Sample, Any]:
    """The sample with zeros instead of what is no number, and 1 if there was none, else 0."""
    good: Any = 1.0
    rows = {}
    for name, most in PLAUSIBLE.items():
        rows[name] = getattr(sample, name)
        for x in rows[name]:
            good = good * (1.0 * (x > -most) * (x < most))
    cleaned = {k: [arm.select(good > 0.0, x, 0.0) for x in row] for k, row in rows.items()}
    return sample._replace(**cleaned), good


def _row(arm: Arm, sample: Sample) -> tuple[list[Any], dict[str, list[Any]]]:
    """[F y] of every joint since the sample before, 11 each, and what the next one needs."""
    before, dt = sample.state, sample.dt
    P, B = momentum_columns(arm.chain, sample.q, sample.qd, arm.fn)
    momentum = list(arm.mass_times(sample.q, sample.qd))
    stretched = stretched_at(arm, sample)
    turned = arm.coriolis_transposed(sample.q, sample.qd)
    bias = momentum_bias(arm, sample, turned, stretched.get("memory"))
    row = []
    for i in range(arm.n):
        for k in TEN:
            grown = (P[i][k] - before.columns[10 * i + k]) / dt
            row.append(grown - 0.5 * (B[i][k] + before.rest[10 * i + k]))
        known = sample.tau[i] + 0.5 * (bias[i] + before.bias[i])
        row.append(known - (momentum[i] - before.momentum[i]) / dt)
    kept = {"momentum": momentum, "bias": bias, **stretched}
    kept |= {"columns": [x for one in P for x in one], "rest": [x for one in B for x in one]}
    return row, kept


def _low_passed(given: Scalars, before: Scalars, pole: Any) -> list[Any]:
    return [b + pole * (a - b) for a, b in zip(given, before, strict=True)]


def _motion(arm: Arm, sample: Sample, pole: Any) -> tuple[list[Any], Any, list[Any]]:
    """How still each joint is, through the low-pass; whether any moves; what each row counts.

    Where there is friction, the square of how much the joint moves: near rest its sign is open.
    """
    gains, n, rest = sample.gains, arm.n, []
    for v, slow in zip(sample.qd, gains.slow, strict=True):
        rest.append(slow * slow / (v * v + slow * slow))
    once_passed = _low_passed(rest, sample.state.still[:n], pole)
    still = _low_passed(once_passed, sample.state.still[n:], pole)
    moving: Any = 0.0
    for s in still:
        moving = arm.max(moving, 1.0 - s)
    shares = [(1.0 - f * s) * (1.0 - f * s) for s, f in zip(still, gains.rubs, strict=True)]
    return once_passed + still, moving, shares


def _information(before: Scalars, z: list[Any], rows: list[Any], keep: Any) -> list[list[Any]]:
    """The Gram matrix of [F y u] of every joint, upper triangles."""
    size, grams = len(ALL_PAIRS), []
    for i, (row, count) in enumerate(zip(z, rows, strict=True)):
        weighted = [count * x for x in row]
        old = before[size * i : size * (i + 1)]
        grams.append(
            [keep * x + weighted[a] * row[b] for x, (a, b) in zip(old, ALL_PAIRS, strict=True)]
        )
    return grams


def _without_offsets(
    estimate: Scalars,
    every: list[Any],
    rows: list[Any],
    alike: list[Any],
    gains: Any,
    fn: Functions,
) -> tuple[list[list[Any]], list[Any]]:
    """Gram matrices of [F y] with the constant torque b of every joint eliminated, and b.

    G - g g^T s^2 / (N s^2 + v), with g and N the products of u with [F y] and with itself, and v
    the variance of a row: sigma^2 for each of those that count as one.
    """
    e, grams, offsets = [*estimate, -1.0], [], []
    squares = _squares(e)
    for full, count, together, sigma, s in zip(
        every, rows, alike, gains.noise, gains.offset, strict=True
    ):
        by = dict(zip(ALL_PAIRS, full, strict=True))
        G, g, N = [by[x] for x in PAIRS], [by[a, STEP] for a in WITH_TORQUE], by[STEP, STEP]
        rest = inner(g, e)
        left = fn.max(inner(G, squares) - rest * rest / (N + TINY), 0.0)
        v = together * (left + ROWS * sigma * sigma) / (count + ROWS)
        share = s * s / (N * s * s + v)
        grams.append([x - share * g[a] * g[b] for x, (a, b) in zip(G, PAIRS, strict=True)])
        offsets.append(-share * rest)
    return grams, offsets


def _noise(estimate: Scalars, grams: list[Any], counted: list[Any], expected: Scalars) -> list[Any]:
    """sigma^2 of every joint, from what the estimate leaves over."""
    squares, result = _squares([*estimate, -1.0]), []
    for gram, count, sigma in zip(grams, counted, expected, strict=True):
        left = inner(gram, squares)
        result.append((left + ROWS * sigma * sigma) / (count + ROWS))
    return result


def _squares(e: Scalars) -> list[Any]:
    """What the upper triangle of a symmetric matrix G is multiplied with for e G e^T."""
    return [(1.0 if a == b else 2.0) * e[a] * e[b] for a, b in PAIRS]


def _pooled(grams: list[Any], noise: list[Any]) -> tuple[list[list[Any]], list[Any]]:
    """A and b of the least squares of all joints."""
    weights = [1.0 / s for s in noise]
    total = dict(zip(PAIRS, (inner(x, weights) for x in zip(*grams, strict=True)), strict=True))
    A = [[total[min(a, b), max(a, b)] for b in TEN] for a in TEN]
    return A, [total[a, 10] for a in TEN]


def _newton(x: Scalars, A: list, b: list, guess: Scalars, arm: Arm) -> tuple[list[Any], Any]:
    """The estimate after one step, and the factors of the Hessian."""
    inverse, first = _inverse(x, arm.fn), _inverse(guess, arm.fn)
    slope = []
    for k, unit in enumerate(UNITS):
        prior = sum(w * (first[i][j] - inverse[i][j]) for i, j, w in unit)
        slope.append(b[k] - inner(A[k], x) - 0.5 * prior)
    curved = _curvature(inverse)
    H = [[A[k][l] + 0.5 * curved[k][l] for l in TEN] for k in TEN]
    root = factor(H, arm.fn)
    d = substitute(*root, slope)
    # |P^-1/2 D P^-1/2|: within 1 every eigenvalue of P + D stays above zero
    length = arm.sqrt(arm.max(inner(d, [inner(row, d) for row in curved]), 0.0))
    share = arm.min(1.0, REACH / (length + TINY))
    fine = length < HUGE
    return [arm.select(fine, a + share * s, a) for a, s in zip(x, d, strict=True)], root


def _inverse(ten: Scalars, fn: Functions) -> list[list[Any]]:
    """P^-1"""
    root = factor(pseudo_inertia(from_linear(ten)), fn)
    return [substitute(*root, [float(i == k) for i in range(4)]) for k in range(4)]


def _curvature(inverse: list[list[Any]]) -> list[list[Any]]:
    """The Hessian of -log det P by the ten parameters: tr(P^-1 B_k P^-1 B_l)."""
    H: list[list[Any]] = [[0.0] * 10 for _ in TEN]
    for k, unit in enumerate(UNITS):
        C: dict[tuple[int, int], Any] = {}
        for r in range(4):
            for c in range(r, 4):
                C[r, c] = C[c, r] = sum(w * inverse[r][a] * inverse[b][c] for a, b, w in unit)
        for l in range(k + 1):
            H[k][l] = H[l][k] = sum(w * C[a, b] for a, b, w in UNITS[l])
    return H


def _variances(grams: list[Any], noise: list[Any], root: Any) -> list[Any]:
    """What the noise of every joint adds to the variance of the mass."""
    L, D = root
    squares = _squares([*substitute(L, D, [1.0] + [0.0] * 9), 0.0])
    return [inner(gram, squares) / s for gram, s in zip(grams, noise, strict=True)]


def _correlation(
    arm: Arm, sample: Sample, counts: list[Any], left: list[Any], time: Any, keep: Any
) -> dict[str, list[Any]]:
    """Sums of r(t)^2 and of r(t) times what came shortly before it."""
    before, dt = sample.state, sample.dt
    fade = arm.exp(-dt / KERNEL)
    found: dict[str, list[Any]] = {"recent": [], "correlated": [], "squared": []}
    for i, (count, residual) in enumerate(zip(counts, left, strict=True)):
        r = arm.sqrt(count) * residual
        faded = fade * before.recent[i]
        found["recent"].append(faded + dt * r)
        grown = time * r * (faded + 0.5 * dt * r)
        found["correlated"].append(keep * before.correlated[i] + grown)
        found["squared"].append(keep * before.squared[i] + time * r * r)
    return found


def _alike(
    correlated: Scalars, squared: Scalars, noise: Scalars, cutoff: Any, fn: Functions
) -> list[Any]:
    """Number of rows of every joint that count as one: residuals are alike for a time T.

    With rho(u) = exp(-u / T) the sums give X = T K / (T + K), K the kernel: T = X K / (K - X).
    """
    per_second, found = cutoff / math.pi, []
    for products, squares, sigma in zip(correlated, squared, noise, strict=True):
        expected = ROWS / per_second * sigma * sigma
        X = (products + EXPECTED * expected) / (squares + expected)
        X = fn.min(fn.max(X, 0.5 / per_second), LONGEST * KERNEL)
        found.append(2.0 * per_second * X * KERNEL / (KERNEL - X))
    return found


def _inflation(
    arm: Arm, sums: Mapping, rows: list[Any], weights: list[Any], by_joint: list[Any], gains: Any
) -> Any:
    """By how much the variance exceeds that of white residuals of known size.

    The degrees of freedom are those of the joints that decide the mass (Satterthwaite 1946).
    """
    total = wide = squared = 0.0
    every = _alike(sums["correlated"], sums["squared"], gains.noise, gains.cutoff[0], arm.fn)
    for variance, alike, count in zip(by_joint, every, rows, strict=True):
        independent = arm.max(count / alike, 1.0)
        freedom = arm.max(independent - 10.0 / arm.n - 1.0, 1.0)
        own = variance * alike * independent / freedom
        total, wide, squared = total + variance, wide + own, squared + own * own / freedom
    freedom = arm.max((wide * wide + TINY) / (squared + TINY), FEWEST)
    discounted = (weights[1] + TINY) / (weights[0] + TINY)
    student = _student(freedom) / NORMAL[0.95]
    return (wide + TINY) / (total + TINY) * discounted * student * student


def _student(freedom: Any) -> Any:
    """The 97.5 % quantile of Student's distribution (Abramowitz and Stegun 26.7.5)."""
    z, v = NORMAL[0.95], 1.0 / freedom
    g1, g2 = (z**3 + z) / 4.0, (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    return z + v * (g1 + v * g2)


def _deviation(estimate: Scalars, root: Any, inflation: Any, fn: Functions) -> list[Any]:
    """Of mass, centre and inertia about it: row H^-1 row^T, with H = L D L^T."""
    (L, D), result = root, []
    for row in to_com_slope(from_linear(estimate)):
        y = list(row)
        for i in TEN:
            for k in range(i):
                y[i] = y[i] - L[i][k] * y[k]
        variance = sum(v * v / d for v, d in zip(y, D, strict=True))
        result.append(fn.sqrt(inflation * variance))
    return result


def _kept(states: Mapping[str, np.ndarray], gains: Values) -> dict[str, np.ndarray]:
    """What a track keeps of the states of an observer, (N, ..) each."""
    ten, rows = list(states["estimate"].T), np.maximum(states["rows"], TINY)
    every = states["information"].T.reshape(-1, len(ALL_PAIRS), len(rows))
    known, counts = SimpleNamespace(**gains), list(states["rows"].T)
    correlated, squared = (list(states[name].T) for name in ("correlated", "squared"))
    alike = _alike(correlated, squared, known.noise, known.cutoff[0], NUMPY)
    grams, _ = _without_offsets(ten, list(every), counts, alike, known, NUMPY)
    A = _pooled(grams, _noise(ten, grams, counts, known.noise))[0]
    loads = _squares([*ten, -1.0]), _squares([*[0.0] * 10, -1.0])
    left, without = ([inner(gram, squares) for gram in grams] for squares in loads)
    residuals = (np.sqrt(np.maximum(np.stack(x, axis=1), 0.0) / rows) for x in (left, without))
    return {
        "parameters": states["estimate"].copy(),
        "standard_deviations": states["deviation"].copy(),
        "information": np.stack([A[i][k] for i, k in TRIANGLE], axis=1),
    } | dict(zip(("residual", "residual_without"), residuals, strict=True))


@strict
@dataclass(frozen=True, eq=False, repr=False)
class PayloadTrack:
    """A payload over time: t (N,), what was known of it, and the torque left over, (N, n).

    `parameters` are m, m c and the inertia about the tool's origin, (N, 10); `standard_deviations`
    (N, 10) are those of `values`; `residual` and `residual_without` the RMS torques left so far.
    """

    t: np.ndarray
    parameters: np.ndarray
    standard_deviations: np.ndarray
    information: np.ndarray  # (N, 55): upper triangles of the Gram matrix of the ten parameters
    residual: np.ndarray
    residual_without: np.ndarray
    external: np.ndarray
    _bare: "Robot"

    names = NAMES

    @cached_property
    def values(self) -> np.ndarray:
        """m, centre of mass, inertia about it, as in `names`, (N, 10)."""
        return np.array([centred(row) for row in self.parameters])

    @property
    def mass(self) -> np.ndarray:
        """kg, (N,)."""
        return self.parameters[:, 0]

    @property
    def com(self) -> np.ndarray:
        """Centre of mass in the tool frame, (N, 3)."""
        return self.values[:, 1:4]

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """Lowest and highest of every value at that level, (N, 10, 2); no mass below zero."""
        share = number(level, "level", "a number between 0 and 1", lambda x: 0.0 < x < 1.0)
        half = NormalDist().inv_cdf(0.5 + 0.5 * share) * self.standard_deviations
        ends = np.stack([self.values - half, self.values + half], axis=-1)
        ends[:, 0] = np.maximum(ends[:, 0], 0.0)
        return ends

    @property
    def estimate(self) -> PayloadEstimate:
        """The payload at the end."""
        return self.at(float(self.t[-1]))

    @checked
    def at(self, t: float) -> PayloadEstimate:
        """The payload as it was known at a time."""
        k = max(0, int(np.searchsorted(self.t, t, side="right")) - 1)
        ten, A = self.parameters[k].copy(), np.zeros((10, 10))
        for (a, b), x in zip(TRIANGLE, self.information[k], strict=True):
            A[a, b] = A[b, a] = x
        J, prior = centred_slope(ten), 0.5 * np.array(_curvature(_inverse(ten.tolist(), MATH)))
        known, guessed = (J @ np.linalg.inv(H) @ J.T for H in (A + prior, prior))
        own = self.standard_deviations[k] / np.sqrt(np.diag(known))
        covariance = known * np.outer(own, own)  # wider as residuals are not white
        dark = 2.0 * self.standard_deviations[k] > np.sqrt(np.diag(guessed))
        covariance[np.diag_indices(10)] = np.where(dark, np.inf, np.diag(covariance))
        return PayloadEstimate(
            parameters=ten,
            covariance=covariance,
            residual=self.residual[k],
            residual_without=self.residual_without[k],
            friction=np.zeros((self._bare.n, 0)),
            shift=None,
            status="recursive",
            _bare=self._bare,
        )

    def __repr__(self) -> str:
        return f"PayloadTrack({len(self.t)} samples to t = {self.t[-1]:g} s, {self.estimate!r})"
