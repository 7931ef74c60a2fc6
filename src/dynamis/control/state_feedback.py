"""Feedback of the whole state of an elastic arm, of which encoders see the motors alone.

    z = x - x_d,  x = (q, motor, qd, motor_rate) as `linearise` orders them
    z = z_p + L (th - th_d - C z_p)          what the encoders say
    tau = tau_d - K z                        tau_d, th_d: flatness, as in FlatnessFeedForward
    z_p of the next sample = A z + B (tau - tau_d)

K and L are optimal for the arm linear about one configuration, sampled (Riccati equations), with
the weights of a rigid arm of this bandwidth: J w^2 e^2 + J ed^2 + u^2 / (J w^2) for every joint, in
joules. Kalman's filter takes accelerations for what disturbs the arm, of the motors
more than of the links: so the loop keeps much of the margins of a measured state.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..arguments import checked, positive, strict
from ..compile.arrays import numbers
from ..dynamics.elastic import coordinate
from ..errors import OptionError, ShapeError, SingularError
from ..model.chain import Chain
from ..robot.arm import Arm
from ..spatial.vectors import Scalars
from .controller import (
    FASTEST,
    NO_LIMIT,
    Gain,
    Sample,
    Step,
    Values,
    check_sampling,
    clipped,
    joint_inertia,
    model_of,
    one_position,
    per_joint,
)
from .elastic_joints import Flat, refuse_closures
from .linearise import linearise
from .resonance import warn_of_stiffness

if TYPE_CHECKING:
    from ..robot import Robot

OBSERVER = 10.0  # times the bandwidth: of the filter unless given
LINKS = 0.1  # share of disturbances on links: with 1 a softer arm than thought becomes unstable
MATRICES = ("feedback", "correction", "transition", "input")


@strict
@dataclass(frozen=True)
class StateFeedback(Flat):
    """tau = tau_d - K z, z the estimated deviation of links and motors from the wanted motion.

    From `from_bandwidth`. `feedback` is K (drives, states), `correction` L (states, drives),
    `transition` A and `input` B the arm over one sample of `period` seconds, about which the law is
    linear. It damps what rings, from the encoders of the motors alone. `limit` clips the torque.
    """

    feedback: Any
    correction: Any
    transition: Any
    input: Any
    period: float
    model: "Robot | None" = None
    limit: Gain | None = None
    sample_time: float | None = None
    dynamic = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", positive(self.period, "period", "seconds"))
        for name in MATRICES:
            rows = numbers(getattr(self, name), name, "expected a matrix")
            if rows.ndim != 2:
                raise ShapeError(f"{name} has shape {rows.shape}, expected a matrix")
            object.__setattr__(self, name, tuple(map(tuple, rows.tolist())))
        if self.sample_time is None:
            object.__setattr__(self, "sample_time", self.period)
        self._check()

    @classmethod
    @checked
    def from_bandwidth(
        cls,
        robot: "Robot",
        bandwidth: Gain,
        sample_time: float,
        q: Any = None,
        observer: Gain | None = None,
        **options: Any,
    ) -> "StateFeedback":
        """Optimal gains about rest at q (home if not given), as fast as a rigid arm of `bandwidth`.

        `observer` is the bandwidth of the filter, 10 times that of the law if the sample time
        allows it; both in rad/s, one number or one per joint, at most 0.5 / sample_time.
        """
        h = positive(sample_time, "sample_time", "seconds")
        check_sampling(bandwidth, h)
        if observer is None:
            faster: Any = np.minimum(OBSERVER * np.asarray(bandwidth, float), FASTEST / h)
        else:
            faster = observer
            check_sampling(faster, h)
        w, v = (
            np.array(per_joint(x, name, robot))
            for x, name in ((bandwidth, "bandwidth"), (faster, "observer"))
        )
        place = np.array(robot.home) if q is None else one_position(robot, q)
        refuse_closures(cls.__name__, robot)
        found = designed(robot, place, h, w, v)
        law = cls(**found._asdict(), period=h, **options)
        law.gains(robot)
        warn_of_stiffness(robot, law, place, bandwidth)
        return law

    @checked
    def sampled(self, sample_time: float) -> Self:
        """Itself; refuses another sample time than that of its matrices."""
        h = positive(sample_time, "sample_time", "seconds")
        if h != self.period:
            raise OptionError(
                f"sample_time is {h:g} s, this StateFeedback is for {self.period:g} s",
                f"design it for that: StateFeedback.from_bandwidth(robot, w, {h:g})",
            )
        return self

    def gains(self, robot: "Robot") -> Values:
        """Its matrices row by row; refuses those of another number of states."""
        super().gains(robot)
        model = model_of(self, robot)
        m, size = model.n, 2 * (model.n + len(model.chain.elastic))
        shapes = ((m, size), (size, m), (size, size), (size, m))
        for name, shape in zip(MATRICES, shapes, strict=True):
            given = np.shape(getattr(self, name))
            if given != shape:
                raise ShapeError(
                    f"{name} has shape {given}, expected {shape} for robot {model.name!r}",
                    "StateFeedback.from_bandwidth makes all of them",
                )
        limit = NO_LIMIT if self.limit is None else self.limit
        rows = {name: [x for row in getattr(self, name) for x in row] for name in MATRICES}
        return {**rows, "limit": per_joint(limit, "limit", robot)}

    def start(self, arm: Arm, sample: Sample) -> Values:
        """The predicted deviation, and whether a sample came before."""
        return {"predicted": [0.0] * _states(arm.chain), "begun": [0.0]}

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and the state after it."""
        gains, state = sample.gains, sample.state
        torque, motor, _ = self.feed_forward(arm, sample)
        off = [a - b for a, b in zip(sample.q, motor, strict=True)]
        seen, joints = _measured(arm.chain), _joints(arm.chain)
        first = [off[k] for k in joints] + [0.0] * len(joints)  # all of it turned, nothing bent
        begun = state.begun[0] > 0.0
        z = [arm.select(begun, x, y) for x, y in zip(state.predicted, first, strict=True)]
        wrong = [a - z[k] for a, k in zip(off, seen, strict=True)]
        z = [x + dx for x, dx in zip(z, _times(gains.correction, wrong), strict=True)]
        back = _times(gains.feedback, z)
        tau = [clipped(arm, torque[i] - back[i], gains.limit[i]) for i in range(arm.n)]
        acted = [a - b for a, b in zip(tau, torque, strict=True)]
        moved, pushed = _times(gains.transition, z), _times(gains.input, acted)
        after = [a + b for a, b in zip(moved, pushed, strict=True)]
        return tau, {"predicted": after, "begun": [1.0]}


class Design(NamedTuple):
    """Matrices of a StateFeedback."""

    feedback: np.ndarray
    correction: np.ndarray
    transition: np.ndarray
    input: np.ndarray


def designed(
    robot: "Robot", q: np.ndarray, h: float, bandwidth: np.ndarray, observer: np.ndarray
) -> Design:
    """Optimal K and L about rest at q for the bandwidths of law and filter, (n,) each."""
    from scipy.linalg import solve_discrete_are

    lin = linearise(robot, q, output="motor")
    sampled, half = lin.discrete(h), len(lin.states) // 2
    A, B, C = sampled.A, sampled.B, sampled.C
    J = joint_inertia(robot, q)
    Q = np.zeros(len(A))
    Q[: robot.n], Q[half : half + robot.n] = J * bandwidth**2, J
    R = 1.0 / (J * bandwidth**2)
    joints = _joints(robot.chain)
    spread = (observer**4 / J)[joints]  # of accelerations, in every joint the same energy
    spread[: robot.n] *= np.where(np.isin(range(robot.n), joints[robot.n :]), LINKS, 1.0)
    W = _disturbances(lin.A, np.concatenate([np.zeros(half), spread]), h)
    V = np.diag(1.0 / J) / h
    try:
        P = solve_discrete_are(A, B, np.diag(Q), np.diag(R))
        S = solve_discrete_are(A.T, C.T, W, V)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise SingularError(
            f"no optimal feedback of robot {robot.name!r} at this configuration: {error}",
            "a smaller bandwidth, a shorter sample_time, or another q",
        ) from None
    K = np.linalg.solve(np.diag(R) + B.T @ P @ B, B.T @ P @ A)
    L = np.linalg.solve(C @ S @ C.T + V, C @ S).T
    return Design(K, L, A, B)


def _disturbances(A: np.ndarray, intensity: np.ndarray, h: float) -> np.ndarray:
    """Covariance that white noise adds in one sample, by van Loan's exponential."""
    from scipy.linalg import expm

    n = len(A)
    F = np.block([[-A, np.diag(intensity)], [np.zeros((n, n)), A.T]])
    whole = expm(F * h)
    found = whole[n:, n:].T @ whole[:n, n:]
    return 0.5 * (found + found.T)


def _joints(chain: Chain) -> list[int]:
    """The joint of every position among the states: links, then motors of elastic joints."""
    return [*range(chain.n), *(coordinate(chain, gear) for gear in chain.elastic)]


def _measured(chain: Chain) -> list[int]:
    """The state that the encoder of every joint sees: its motor, or the joint if it is rigid."""
    found = list(range(chain.n))
    for k, gear in enumerate(chain.elastic):
        found[coordinate(chain, gear)] = chain.n + k
    return found


def _states(chain: Chain) -> int:
    return 2 * (chain.n + len(chain.elastic))


def _times(matrix: Scalars, x: Scalars) -> list[Any]:
    """Rows of a matrix, one after the other in a list, times a vector."""
    n, found = len(x), []
    for k in range(0, len(matrix), n):
        total = matrix[k] * x[0]
        for a, b in zip(matrix[k + 1 : k + n], x[1:], strict=True):
            total = total + a * b
        found.append(total)
    return found
