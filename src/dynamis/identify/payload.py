"""Payload identification: mass, centre of mass and inertia of a body held by the tool.

    tau - tau_robot(q, qd, qdd) = Y_L(q, qd, qdd) p_L + changes of friction

p_L are the ten parameters of the body in the tool frame. With a log of the same motion without the
body, the difference of the two is used: errors of the robot's model cancel.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ..arguments import checked, is_word, strict
from ..errors import OptionError
from ..ik.driven import alike, assembly
from ..lazy import cached_property
from ..logs.log import Log, interpolated
from ..robot.closing import tree_of
from ..spatial.functions import MATH
from ..spatial.inertia import from_linear, linear, to_com, to_com_slope, transformed
from .deviations import correlation_time
from .feasible import (
    BODY,
    FAINT,
    MARGIN,
    body_matrix,
    cvxpy_module,
    misfit_of,
    physical,
    solved,
)
from .friction.models import FrictionModel, friction_named
from .information import Information, Solution, told_apart, weighted
from .processing import BLOCK, Processing, Samples, checked_logs, prepare, torque_of
from .scatter import (
    JOINTS,
    TIME,
    VELOCITY,
    Rows,
    Widened,
    count_of,
    scatter,
    speed_blocks,
    sums,
    time_blocks,
    widened,
)

if TYPE_CHECKING:
    from ..robot import Robot

WORST = 1e7  # condition number beyond which directions show nothing
LINEAR = ("viscous", "coulomb", "offset")  # kinds of friction that may have changed
SEARCHED = 1.0  # s: how far two recordings of one motion may be shifted
SAME = 0.05  # of a joint's standard deviation: how far two runs of one motion may be apart
NAMES = ("m", "cx", "cy", "cz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


@strict
@dataclass(frozen=True, eq=False, repr=False)
class PayloadEstimate:
    """The body at the tool: `values` as in `names`, com in the tool frame, inertia about it.

    `standard_deviations` are infinite for what the motion does not show. `residual` (n,) is the
    RMS torque that is left with the payload, `residual_without` without it, both filtered.
    """

    parameters: np.ndarray  # (10,) m, m c, inertia about the tool's origin
    covariance: np.ndarray  # (10, 10) of `values`
    residual: np.ndarray
    residual_without: np.ndarray
    friction: np.ndarray  # (n, kinds): changes of friction, joint by joint
    shift: float | None  # s between the two runs, where there are two
    status: str
    _bare: "Robot"
    noise_covariance: np.ndarray | None = None  # (10, 10) of `values`, by noise alone
    interval_sources: tuple[str, ...] = ()  # what decides each interval of the ten parameters

    names = NAMES

    @cached_property
    def values(self) -> np.ndarray:
        """m, centre of mass, inertia about it (xx, xy, yy, xz, yz, zz), (10,)."""
        return centred(self.parameters)

    @property
    def standard_deviations(self) -> np.ndarray:
        """One per value, (10,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def unseen(self) -> tuple[str, ...]:
        """Names of values that the motion does not show."""
        dark = np.isinf(self.standard_deviations)
        return tuple(name for name, d in zip(NAMES, dark, strict=True) if d)

    @property
    def mass(self) -> float:
        """kg"""
        return float(self.values[0])

    @property
    def com(self) -> np.ndarray:
        """Centre of mass in the tool frame, (3,)."""
        return self.values[1:4]

    @property
    def inertia(self) -> np.ndarray:
        """About the centre of mass, axes of the tool frame, (3, 3)."""
        xx, xy, yy, xz, yz, zz = self.values[4:]
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def is_physical(self) -> bool:
        """Whether such a body is physically consistent."""
        return bool(self.parameters[0] > 0.0 and physical(self.parameters))

    @cached_property
    def robot(self) -> "Robot":
        """The robot carrying the payload."""
        if not self.mass > 0.0:
            raise OptionError(
                f"the payload has mass {self.mass:.3g} kg: nothing is carried",
                "use the robot as it is, or feasible=True",
            )
        return self._bare.with_payload(self.mass, tuple(self.com), self.inertia.tolist())

    def __repr__(self) -> str:
        cx, cy, cz = self.com
        return (
            f"PayloadEstimate({self.mass:.4g} +- {self.standard_deviations[0]:.2g} kg at "
            f"({cx:.4g}, {cy:.4g}, {cz:.4g}) m of the tool, "
            f"{'physical' if self.is_physical else 'not physical'})"
        )


@checked
def identify_payload(
    robot: "Robot",
    log: Log,
    *,
    free: Log | None = None,
    friction: Any = None,
    processing: Processing | None = None,
    feasible: bool = True,
    threads: int | None = None,
) -> PayloadEstimate:
    """Identify what a robot of known parameters carries.

    A payload that `robot` already has is taken off first. `free`: a log of the same motion without
    the payload. `friction` says what of the joints' friction may have changed: None, "offset", or
    a friction model's name such as "asymmetric". `feasible`: only physically consistent bodies.
    Logs of a closed mechanism hold its drives, the tool is on its platform.
    """
    bare, how = bare_of(robot), processing or Processing()
    (log,) = checked_logs(log, robot)
    if free is not None:
        (free,) = checked_logs(free, robot, "free")
    if robot.rubs_under_load:
        robot.model.refuse_closures("identify_payload with friction under load")
    model = changed_friction(friction)
    shift = None if free is None else same_motion(free, log)
    motions = prepare(log, how, robot=bare)[0]
    ours = [payload_columns(bare, samples, threads) for samples in motions]
    gears = [Gears(bare, samples) for samples in motions]
    blocks = time_blocks(motions), speed_blocks(motions)
    found: PayloadEstimate | None = None
    for _ in range(ROUNDS if gears[0].lossy else 1):
        parts = []
        for samples, Y_L, gear, time, speed in zip(motions, ours, gears, *blocks, strict=True):
            grown, own = gear.under(None if found is None else Y_L @ found.parameters)
            left, keep = samples.tau - own, np.ones(len(samples), dtype=bool)
            if free is not None and shift is not None:
                other, keep = _other_left(bare, free, samples.t - shift, how)
                left = left - other
            columns = [Y_L * grown, friction_columns(samples.qd[:, samples.columns], model)]
            sides = np.concatenate(columns, axis=-1), left
            both = (samples.low_passed(x[keep], samples.settle) for x in sides)
            beside = (x[keep] for x in (samples.weight, time, speed))
            parts.append([x[:: samples.every] for x in (*both, *beside)])
        rows = FittedRows(*map(np.concatenate, zip(*parts, strict=True)))
        found = _estimate(bare, rows, model, shift, feasible)
    assert found is not None
    return found


ROUNDS = 4  # of friction under load, whose sign depends on the payload


def bare_of(robot: "Robot") -> "Robot":
    """The robot without its payload."""
    return alike(robot, robot._with_model(payload=None))


class Gears:
    """Friction under load along a motion: of a transmitted torque T, T + s |T| is needed."""

    def __init__(self, bare: "Robot", samples: Samples):
        motion = samples.q, samples.qd, samples.qdd
        warm = samples.temperature
        self.lossy, self.tau = bare.rubs_under_load, torque_of(bare, samples)
        if not self.lossy:
            return
        self.share = bare.load_shares(samples.qd)
        self.other = bare.friction_torque(samples.qd, temperature=warm)
        self.torque = self.tau - self.other - bare.load_friction(*motion)

    def under(self, payload: np.ndarray | None) -> tuple[Any, np.ndarray]:
        """Torque needed per torque of a payload, and that of the bare arm, given a payload's."""
        if not self.lossy:
            return 1.0, self.tau
        carried = self.torque if payload is None else self.torque + payload
        grown = 1.0 + self.share * np.sign(carried)
        return grown[..., None], self.torque * grown + self.other


def tool_map(robot: "Robot") -> np.ndarray:
    """The 10x10 matrix from a body's parameters in the tool frame to those in its link's frame."""
    T_link_tool, unit = robot.model.tool.frame(robot.model.values, MATH), np.eye(10).tolist()
    return np.array([linear(transformed(T_link_tool, from_linear(e))) for e in unit]).T


def payload_columns(robot: "Robot", samples: Samples, threads: int | None = None) -> np.ndarray:
    """Y_L: the regressor of a body held by the tool, (N, rows, 10)."""
    first, A = 10 * robot.model.tip, tool_map(robot)
    tree = tree_of(robot)
    parts = []
    for k in range(0, len(samples), BLOCK):
        part = samples.rows(k, k + BLOCK)
        Y = tree.regressor(part.q, part.qd, part.qdd, threads=threads)[..., first : first + 10]
        Y = assembly(robot).lowered(part.q, Y)
        parts.append(Y @ A)
    return np.concatenate(parts)


def changed_friction(friction: Any) -> FrictionModel:
    """Which columns of friction are fitted anew."""
    if friction is None:
        return friction_named("none")
    if is_word(friction, ("offset",)):
        return FrictionModel("offset", columns=("offset",))
    model = friction_named(friction)
    odd = [kind for kind in model.columns if kind not in LINEAR]
    if odd:
        raise OptionError(
            f"friction {model.name!r} has {', '.join(odd)}, which cannot be fitted with a payload",
            "use 'offset', 'viscous', 'symmetric' or 'asymmetric'",
        )
    return model


def friction_columns(qd: np.ndarray, model: FrictionModel) -> np.ndarray:
    """One column per joint and kind, (N, n, n kinds); Coulomb friction as tanh(qd / speed)."""
    N, n = qd.shape
    shapes = {"viscous": qd, "coulomb": np.tanh(qd / model.speed), "offset": np.ones_like(qd)}
    F = np.zeros((N, n, n, len(model.columns)))
    for k, kind in enumerate(model.columns):
        F[:, range(n), range(n), k] = shapes[kind]
    return F.reshape(N, n, -1)


def same_motion(free: Log, loaded: Log) -> float:
    """s with q_loaded(t) = q_free(t - s); two different motions are refused."""
    every = max(1, len(loaded) // 4000)
    at, q = loaded.t[::every], loaded.q[::every]
    size = np.maximum(np.std(q, axis=0), 1e-2)
    nominal = loaded.t[0] - free.t[0]

    def apart(s: float) -> np.ndarray:
        when = at - nominal - s
        inside = (when >= free.t[0]) & (when <= free.t[-1])
        if inside.mean() < 0.5:
            return np.full(free.n, np.inf)
        other = interpolated(when[inside], free.t, free.q)
        return np.sqrt(((q[inside] - other) ** 2).mean(axis=0)) / size

    def cost(s: float) -> float:
        return float(np.sum(apart(s) ** 2))

    tried = np.linspace(-SEARCHED, SEARCHED, 81)
    near, width = tried[np.argmin([cost(s) for s in tried])], tried[1] - tried[0]
    bounds, fine = (near - width, near + width), {"xatol": 1e-6}
    best = minimize_scalar(cost, bounds=bounds, method="bounded", options=fine)
    s = float(best.x)  # type: ignore[attr-defined]
    off = apart(s)
    if not off.max() <= SAME:
        raise OptionError(
            f"free {free.name!r} and loaded {loaded.name!r} are different motions: joint "
            f"{int(off.argmax()) + 1} is {100 * off.max():.3g} % of its standard deviation apart",
            f"record the same motion twice, starting within {SEARCHED:g} s of each other",
        )
    return nominal + s


def _other_left(
    bare: "Robot", free: Log, at: np.ndarray, processing: Processing
) -> tuple[np.ndarray, np.ndarray]:
    """tau - tau_robot of the free run at other instants, (N, n), and which of them it covers."""
    result, covered = np.zeros((len(at), free.n)), np.zeros(len(at), dtype=bool)
    for s in prepare(free, processing, robot=bare)[0]:
        left = s.tau - torque_of(bare, s)
        inside = (at >= s.t[0]) & (at <= s.t[-1])
        result[inside] = interpolated(at[inside], s.t, left)
        covered |= inside
    return result, covered


class FittedRows(NamedTuple):
    """Y (N, n, k), tau, weight (N, n), and of every row the block of time and range of velocity."""

    Y: np.ndarray
    tau: np.ndarray
    weight: np.ndarray
    time: np.ndarray
    speed: np.ndarray


def _estimate(
    bare: "Robot", rows: FittedRows, model: FrictionModel, shift: float | None, feasible: bool
) -> PayloadEstimate:
    Y, tau, weight = rows[:3]
    joined = np.concatenate([Y, tau[..., None]], axis=-1) * weight[..., None]
    size = joined.shape[-1]
    if len(joined) < size:
        raise OptionError(
            f"{len(joined)} rows are left for {size - 1} unknowns", "use a longer log"
        )
    triangles = [np.linalg.qr(joined[:, j], mode="r") for j in range(joined.shape[1])]
    info = Information(np.stack(triangles), (weight > 0.0).sum(axis=0))
    solution = weighted(info)
    seen = told_apart(info, solution.weights, WORST, 1e-4)[:10]
    x, status = _feasible(info, solution) if feasible else (solution.x, "")
    left = (tau - Y @ x) * weight
    times = solution.average(correlation_time(left))  # few rows: no spectrum of their residuals
    wide = _widened(solution, rows, times)
    J = centred_slope(x[:10])
    covariance, noise = (J @ C[:10, :10] @ J.T for C in (wide.covariance, wide.noise))
    dark = np.abs(J[:, ~seen]).max(axis=1, initial=0.0) > 1e-9
    covariance[np.diag_indices(10)] = np.where(dark, np.inf, np.diag(covariance))
    counted = np.maximum(info.rows, 1)
    return PayloadEstimate(
        parameters=x[:10],
        covariance=covariance,
        noise_covariance=noise,
        interval_sources=wide.sources[:10],
        residual=np.sqrt((left**2).sum(axis=0) / counted),
        residual_without=np.sqrt(((tau * weight) ** 2).sum(axis=0) / counted),
        friction=x[10:].reshape(joined.shape[1], len(model.columns)),
        shift=shift,
        status=status,
        _bare=bare,
    )


def _widened(solution: Solution, rows: FittedRows, times: float) -> Widened:
    """The covariance by noise, rows so alike, grown to the scatter of the payload.

    Over blocks of time, ranges of velocity and joints: what is wrong with the arm's model is not
    the same for all of them.
    """
    Y, tau, weight, time, speed = rows
    joint = np.where(weight > 0.0, np.arange(Y.shape[1]), -1)
    parts = Rows(Y * weight[..., None], (tau - Y @ solution.x) * weight, [time, speed, joint])
    ways = {TIME: time, VELOCITY: speed, JOINTS: joint}
    found = sums(iter([parts]), [count_of([x]) for x in ways.values()], solution.gain)
    body = np.arange(Y.shape[-1]) < 10
    each = {way: scatter(x) for way, x in zip(ways, found, strict=True)}
    return widened(solution.covariance * times, [(body, each)])


def _feasible(info: Information, solution: Solution) -> tuple[np.ndarray, str]:
    """Weighted least squares among physically consistent bodies, of little trace without data.

    min |R x - r|^2,   pseudo-inertia of the payload >= margin
    """
    cp = cvxpy_module("feasible=False")
    body, others = cp.Variable(10), cp.Variable(len(solution.x) - 10)
    x, P = cp.hstack([cp.multiply(BODY, body), others]), body_matrix(body)
    cost = misfit_of(cp, info, solution.weights, x)
    cost = cost + FAINT / max(int(info.rows.sum()), 1) * cp.trace(P)
    status = solved(cp, cp.Problem(cp.Minimize(cost), [P >> MARGIN * np.eye(4)]))
    return np.asarray(x.value), status


def centred(ten: np.ndarray) -> np.ndarray:
    """m, c, inertia about c; NaN where there is no mass to divide by."""
    if not ten[0] > 0.0:
        return np.array([ten[0], *[np.nan] * 9])
    m, c, about = to_com(from_linear(ten))
    return np.array([m, *c, *about])


def centred_slope(ten: np.ndarray) -> np.ndarray:
    """Derivative of mass, centre and central inertia by the ten parameters, (10, 10)."""
    if not ten[0] > 0.0:
        return np.diag([1.0, *[np.nan] * 9])
    return np.array(to_com_slope(from_linear(ten)), dtype=float)
