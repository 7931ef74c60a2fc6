"""The linear model of an arm about one operating point, in the form control design starts from.

    x' = A x + B u + offset,   y = C x + D u
    x = [q - q0, qd - qd0],    u = tau - tau0
    A = [[0, 1], [dqdd/dq, dqdd/dqd]],   B = [[0], [M^-1]]

Of a mechanism with closures q and qd are those of its independent joints, which decide the others,
and u are the torques of its drives: where drives follow other joints, B = M^-1 Z_a^T.

Friction enters by its slope over velocity. Where a law has none at rest (the sign in "coulomb",
"stribeck" and "lugre", the cube root in "grotjahn") only its viscous part counts there, as if the
joint were already sliding: a stuck joint has no linear model. The law "smooth" has a slope at rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, choice, is_list, positive, strict
from ..compile.arrays import finite, numbers, one_sample
from ..errors import OptionError, ShapeError, counted, shown

if TYPE_CHECKING:
    from ..robot import Robot

OUTPUTS = ("q", "state", "tool")
TOOL = ("x", "y", "z", "rx", "ry", "rz")
ENDLESS_SLOPE = ("grotjahn",)  # laws whose slope at rest is infinite


@strict
@dataclass(frozen=True, eq=False)
class StateSpace:
    """A linear system that unpacks as (A, B, C, D): `control.ss(*lin)`, `scipy.signal.lti(*lin)`.

    Discrete if it has a sample time: x[k+1] = A x[k] + B u[k] + offset (then pass `lin.dt` on).
    `offset` is zero at an equilibrium; elsewhere it is how the operating point itself moves.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    offset: np.ndarray
    dt: float | None = None

    def __post_init__(self) -> None:
        for name in ("states", "inputs", "outputs"):
            given = getattr(self, name)
            if not is_list(given):
                raise OptionError(f"{name} is {shown(given)}, expected names")
            object.__setattr__(self, name, tuple(given))
        n, m, p = len(self.states), len(self.inputs), len(self.outputs)
        shapes = {"A": (n, n), "B": (n, m), "C": (p, n), "D": (p, m), "offset": (n,)}
        for name, shape in shapes.items():
            array = numbers(getattr(self, name), name, f"expected numbers of shape {shape}").copy()
            if array.shape != shape:
                raise ShapeError(f"{name} has shape {array.shape}, expected {shape}")
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.A, self.B, self.C, self.D))

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: Any) -> Any:
        return (self.A, self.B, self.C, self.D)[index]

    def __repr__(self) -> str:
        kind = "continuous" if self.dt is None else f"dt={self.dt:g} s"
        sizes = (
            f"{counted(len(self.states), 'state')}, {counted(len(self.inputs), 'input')}, "
            f"{counted(len(self.outputs), 'output')}"
        )
        return f"StateSpace({sizes}, {kind})"

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A, slowest to die out first."""
        values, _ = _eigenvalues(self.A)
        size = np.real(values) if self.dt is None else np.abs(values)
        return values[np.argsort(-size, kind="stable")]

    @property
    def stable(self) -> bool:
        """Whether every motion dies out: Re < 0, or modulus < 1 in discrete time.

        An eigenvalue that rounding cannot tell from the border counts as on it.
        """
        values, error = _eigenvalues(self.A)
        excess = np.real(values) if self.dt is None else np.abs(values) - 1.0
        return bool(np.all(excess < -error))

    @checked
    def discrete(self, dt: float) -> "StateSpace":
        """The system sampled every dt seconds with u held in between, exactly."""
        if self.dt is not None:
            raise OptionError(
                f"this system is discrete already (dt={self.dt:g})", "sample the continuous one"
            )
        from scipy.linalg import expm

        step = positive(dt, "dt", "seconds")
        n, m = self.B.shape
        F = np.zeros((n + m + 1, n + m + 1))
        F[:n] = np.column_stack([self.A, self.B, self.offset])
        Phi = expm(F * step)[:n]  # exp([[A, B], [0, 0]] dt) = [[Ad, Bd], [0, 1]]
        A, B, offset = Phi[:, :n], Phi[:, n:-1], Phi[:, -1]
        return replace(self, A=A, B=B, offset=offset, dt=step)

    def feedback(self, gain: Any) -> "StateSpace":
        """The loop closed by u = -gain x + u': A - B gain and C - D gain.

        For a PD of every joint about the operating point, gain = [diag(kp), diag(kd)].
        """
        m, n = len(self.inputs), len(self.states)
        K = one_sample(gain, "gain", (m, n), "this system (inputs, states)")
        return replace(self, A=self.A - self.B @ K, C=self.C - self.D @ K)


@checked
def linearise(
    robot: "Robot",
    q: Any,
    qd: Any = None,
    tau: Any = None,
    output: str = "q",
    dt: float | None = None,
) -> StateSpace:
    """The linear model about one operating point; with `dt` sampled, torque held in between.

    qd=None is at rest; tau=None is the torque that holds it there, inverse_dynamics(q, qd, 0).
    `output`: "q" (joint positions), "state" (positions and velocities), or "tool": displacement
    of the tool and its small rotation vector, both in base axes. Of a mechanism with closures: q,
    qd and tau of every joint are given, states and outputs are of its independent joints, and
    inputs of its drives, all numbered as in q.
    """
    choice(output, "output", OUTPUTS)
    n = robot.dof
    rest, own, drives = np.zeros(n), list(robot.independent), list(robot.active)
    x = _point(robot, q, "q")
    xd = np.zeros(robot.n) if qd is None else _point(robot, qd, "qd")
    torque = _holding(robot, x, xd) if tau is None else _point(robot, tau, "tau")
    qdd = rest if tau is None else robot.forward_dynamics(x, xd, torque)[own]
    sliding = _sliding(robot, xd)
    slopes = sliding.forward_dynamics_derivatives(x, xd, torque)
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, len(drives)))
    A[:n, n:] = np.eye(n)
    A[n:, :n], A[n:, n:], by_torque = slopes
    known = set(drives) <= set(own)
    B[n:] = (
        by_torque[:, [own.index(k) for k in drives]]
        if known
        else _by_drives(sliding, x, xd, torque)
    )
    C, outputs = _output(robot, x, output)
    positions, velocities = _names(own)
    system = StateSpace(
        A=A,
        B=B,
        C=C,
        D=np.zeros((len(C), len(drives))),
        states=positions + velocities,
        inputs=tuple(f"tau{i + 1}" for i in drives),
        outputs=outputs,
        offset=np.concatenate([xd[own], qdd]),
    )
    return system if dt is None else system.discrete(dt)


def _holding(robot: "Robot", q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """The torque at which the independent joints do not accelerate."""
    rest = np.zeros(robot.dof)
    still = robot.joint_accelerations(q, qd, rest)
    return robot.inverse_dynamics(q, qd, still)


def _by_drives(robot: "Robot", q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Accelerations of the independent joints per torque of each drive, M^-1 Z_a^T, (dof, k).

    Of a torque n that other friction leaves, friction under load leaves n / (1 + s sign(n)).
    """
    drives = list(robot.driven)
    Z = robot.joint_rates(q, np.eye(robot.dof))[:, drives]
    side = np.sign(tau - robot.friction_torque(qd))[drives]
    return np.linalg.solve(robot.mass_matrix(q), Z) / (1.0 + robot.load_shares(qd)[drives] * side)


def _output(robot: "Robot", q: np.ndarray, output: str) -> tuple[np.ndarray, tuple[str, ...]]:
    n = robot.dof
    positions, velocities = _names(robot.independent)
    if output == "q":
        return np.eye(n, 2 * n), positions
    if output == "state":
        return np.eye(2 * n), positions + velocities
    J = robot.drive_jacobian(q)
    return np.hstack([J, np.zeros((6, n))]), TOOL


def _names(joints: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """q1.., qd1..: the columns of a run."""
    return tuple(tuple(f"{x}{i + 1}" for i in joints) for x in ("q", "qd"))


def _point(robot: "Robot", value: Any, name: str) -> np.ndarray:
    what = f"one operating point of robot {robot.name!r}"
    array = one_sample(value, name, (robot.n,), what, "call linearise once per point")
    return finite(array, name, OptionError)


def _sliding(robot: "Robot", qd: np.ndarray) -> "Robot":
    """The robot with the friction that has no slope at this velocity cut to its viscous part."""
    at_rest = {name for name, rate in zip(robot.joint_names, qd, strict=True) if rate == 0.0}
    links = list(robot.model.links)
    for i, link in enumerate(links):
        leader = link.mimic[0] if link.mimic else link.joint_name
        if link.friction.law in ENDLESS_SLOPE and leader in at_rest:
            friction = replace(link.friction, law="coulomb", constants={})
            links[i] = replace(link, friction=friction)
    if all(new is old for new, old in zip(links, robot.model.links, strict=True)):
        return robot
    return type(robot)(replace(robot.model, links=tuple(links)))


def _eigenvalues(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, and how far rounding may have moved each: n eps |A| / |y^H x|.

    x and y are its unit right and left eigenvectors (Golub and Van Loan, 7.2.2); the error of a
    double eigenvalue goes with sqrt(eps).
    """
    from scipy.linalg import eig

    values, left, right = eig(A, left=True, right=True)  # type: ignore[misc]
    eps = np.finfo(float).eps
    cosine = np.abs(np.sum(left.conj() * right, axis=0))
    error = len(A) * eps * np.linalg.norm(A, 2) / np.maximum(cosine, np.sqrt(eps))
    return values, error
