"""The linear model of an arm about one operating point, in the form control design starts from.

    x' = A x + B u + offset,   y = C x + D u
    x = [q - q0, qd - qd0],    u = tau - tau0
    A = [[0, 1], [dqdd/dq, dqdd/dqd]],   B = [[0], [M^-1]]

Of a mechanism with closures q and qd are those of its independent joints, which decide the others,
and u are the torques of its drives: where drives follow other joints, B = M^-1 Z_a^T.

Of an arm with elastic joints x = [q, motor, qd, motor_rate] less where they are at the operating
point: motors in units of their joints, of elastic joints alone, driven by u and the gears.

    M q'' + h(q, q') = e(th - q, th' - q'),    B th'' = tau - f(th') - e

Friction enters by its slope over velocity. Where a law has none at rest (the sign in "coulomb",
"stribeck", the cube root in "grotjahn") only its viscous part counts there, as if the joint were
already sliding: a stuck joint has no linear model. The law "smooth" has a slope at rest. Friction
with memory is relaxed: of joints at rest its elements are springs of weight / radius, the bristles
of "lugre" springs and dampers; of joints that move all slip.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked, choice, is_list, positive, strict
from ..compile.arrays import finite, numbers, one_sample
from ..dynamics.elastic import expanded
from ..dynamics.elements import friction
from ..dynamics.elements.gears import engaged, static_deflection, tangent, transmitted
from ..errors import OptionError, ShapeError, counted, shown
from ..model.chain import Elasticity, Resistance
from ..robot.resonances import elastic_entries, link_side
from ..spatial.functions import MATH
from ..spatial.jet import Jet, jet_functions, parts

if TYPE_CHECKING:
    from ..robot import Robot

OUTPUTS = ("q", "motor", "state", "tool")
TOOL = ("x", "y", "z", "rx", "ry", "rz")
JETS = jet_functions(MATH)
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
    motor: Any = None,
    motor_rate: Any = None,
) -> StateSpace:
    """The linear model about one operating point; with `dt` sampled, torque held in between.

    qd=None is at rest; tau=None is the torque that holds it there, inverse_dynamics(q, qd, 0).
    `output`: "q" (joint positions), "state" (positions and velocities), or "tool": displacement
    of the tool and its small rotation vector, both in base axes. Of a mechanism with closures: q,
    qd and tau of every joint are given, states and outputs are of its independent joints, and
    inputs of its drives, all numbered as in q.

    Of an arm with elastic joints the states are q, motor, qd, motor_rate. `motor` and `motor_rate`
    (n,) are in units of the joints; by default the gears hold the links against gravity and
    motion, and the motors turn with them. Gears are taken as they are there: hardened, and open
    within the backlash. Output "motor" is what encoders of the motors see (of rigid joints q).
    """
    choice(output, "output", OUTPUTS)
    x = _point(robot, q, "q")
    xd = np.zeros(robot.n) if qd is None else _point(robot, qd, "qd")
    u = None if tau is None else _point(robot, tau, "tau")
    if robot.chain.elastic:
        th, rate = (
            None if value is None else _point(robot, value, name)
            for value, name in ((motor, "motor"), (motor_rate, "motor_rate"))
        )
        A, B, offset = _elastic(robot, x, xd, u, th, xd if rate is None else rate)
    elif motor is not None or motor_rate is not None:
        raise OptionError(f"robot {robot.name!r} has no elastic joints: its motors move with them")
    else:
        own, rest = list(robot.independent), np.zeros(robot.dof)
        torque = _holding(robot, x, xd) if u is None else u
        qdd = rest if u is None else robot.forward_dynamics(x, xd, torque)[own]
        by_q, by_qd, by_drives = _slopes(_sliding(robot, xd), x, xd, torque)
        A = np.block([[np.diag(rest), np.eye(robot.dof)], [by_q, by_qd]])
        B = np.vstack([np.zeros(by_drives.shape), by_drives])
        offset = np.concatenate([xd[own], qdd])
    C, outputs = _output(robot, x, output)
    system = StateSpace(
        A=A,
        B=B,
        C=C,
        D=np.zeros((len(C), B.shape[1])),
        states=_names(robot),
        inputs=tuple(f"tau{i + 1}" for i in robot.active),
        outputs=outputs,
        offset=offset,
    )
    return system if dt is None else system.discrete(dt)


def _slopes(
    robot: "Robot", q: np.ndarray, qd: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Slopes of qdd of the independent joints over q, qd and the torques of the drives."""
    own, drives = list(robot.independent), list(robot.active)
    by_q, by_qd, by_torque = robot.forward_dynamics_derivatives(q, qd, tau)
    stiffness, damping = _springs(robot, qd)
    if stiffness.any():
        Z = robot.joint_rates(q, np.eye(robot.dof))
        by_q = by_q - by_torque @ (Z @ stiffness @ Z.T)
        by_qd = by_qd - by_torque @ (Z @ damping @ Z.T)
    if not set(drives) <= set(own):
        return by_q, by_qd, _by_drives(robot, q, qd, tau)
    return by_q, by_qd, by_torque[:, [own.index(k) for k in drives]]


def _springs(robot: "Robot", qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping of friction with memory of joints at rest, (n, n) each."""
    chain, found = robot.chain, np.zeros((2, robot.n, robot.n))
    for i, r in enumerate(chain.resistances):
        row = np.eye(robot.n)[i] if chain.coupling is None else np.array(chain.coupling[i], float)
        if row @ qd == 0.0:
            found += np.array(friction.presliding(r))[:, None, None] * np.outer(row, row)
    return found[0], found[1]


class _Gear(NamedTuple):
    """An elastic gear and its motor at the operating point."""

    torque: float  # that it transmits
    stiffness: float  # slopes of this torque over deflection and its rate
    damping: float
    left: float  # to accelerate the motor, and its slopes over motor rate and torque
    by_rate: float
    by_torque: float


def _elastic(
    robot: "Robot",
    q: np.ndarray,
    qd: np.ndarray,
    tau: np.ndarray | None,
    motor: np.ndarray | None,
    rate: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and offset over q, motor, qd, motor_rate."""
    own, active, entries = list(robot.independent), list(robot.active), elastic_entries(robot)
    joints = [own[i] for i in entries]
    sliding = _sliding(robot, np.where(rate == 0.0, 0.0, qd))
    links, sides = link_side(sliding), expanded(sliding.chain).resistances[robot.chain.links :]
    held = _holding(links, q, qd)
    d = [None] * robot.n if motor is None else (motor - q).tolist()
    u = [None] * robot.n if tau is None else tau.tolist()
    gears = [
        _gear(gear, side, float(held[j]), d[j], float(rate[j] - qd[j]), float(rate[j]), u[j])
        for gear, side, j in zip(robot.chain.elastic, sides, joints, strict=True)
    ]
    through, k, D, left, by_rate, by_tau = np.array(gears).T
    torque = held.copy() if tau is None else tau.copy()  # that moves the links
    torque[joints] = through
    by_q, by_qd, by_drives = _slopes(links, q, qd, torque)
    inertia = np.array([robot.chain.motors[gear.joint].inertia for gear in robot.chain.elastic])
    n, m = len(own), len(gears)
    columns = [active.index(j) for j in joints]
    across = np.hstack([-np.eye(n)[entries], np.eye(m)])  # deflections of (q, motor)
    push = np.vstack([by_drives[:, columns], -np.diag(1.0 / inertia)])  # by the gears
    slopes = np.zeros((2, n + m, n + m))  # of the accelerations, over positions and rates
    slopes[:, :n, :n] = by_q, by_qd
    slopes[1, n:, n:] = np.diag(by_rate / inertia)
    for i, (side, j) in enumerate(zip(sides, joints, strict=True)):
        if rate[j] == 0.0:
            slopes[:, n + i, n + i] -= np.array(friction.presliding(side)) / inertia[i]
    slopes += push @ np.stack([k[:, None] * across, D[:, None] * across])
    A = np.block([[np.zeros((n + m, n + m)), np.eye(n + m)], [slopes[0], slopes[1]]])
    B = np.zeros((2 * (n + m), len(active)))
    B[n + m : -m] = by_drives
    B[:, columns] = 0.0
    B[range(-m, 0), columns] = by_tau / inertia
    offset = np.concatenate([qd[own], rate[joints], np.zeros(n + m)])
    if tau is not None or motor is not None:
        offset[n + m : -m] = links.forward_dynamics(q, qd, torque)[own]
        offset[-m:] = left / inertia
    return A, B, offset


def _gear(
    gear: Elasticity, r: Resistance, held: float, d: float | None, slip: float, rate: float,
    tau: float | None,
) -> _Gear:  # fmt: skip
    """A gear at a deflection d, or at that which holds the links; torque None keeps the speed."""
    if d is None:
        s = static_deflection(gear, held - gear.damping * slip, MATH)
        d = s + gear.backlash * MATH.sign(s)
    e, touches = transmitted(gear, d, slip, MATH), engaged(gear, d, MATH)
    if tau is None:
        tau = e + friction.torque(r, rate, MATH) + friction.load_share(r, rate, MATH) * abs(e)

    def left(tau: Any, rate: Any) -> Any:
        net = tau - friction.torque(r, rate, JETS)
        return net - friction.taken(net, friction.load_share(r, rate, JETS), JETS) - e

    by_rate, by_torque = left(tau, Jet(rate, 1.0, 0.0)), left(Jet(tau, 1.0, 0.0), rate)
    slopes = touches * tangent(gear, d, MATH), touches * gear.damping
    return _Gear(e, *slopes, by_torque.value, parts(by_rate)[1], by_torque.rate)


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
    names = _names(robot)
    size, every = len(names), np.eye(len(names))
    if output == "state":
        return every, names
    if output == "tool":
        J = robot.drive_jacobian(q)
        return np.hstack([J, np.zeros((6, size - robot.dof))]), TOOL
    chosen = [f"q{i + 1}" for i in robot.independent]
    if output == "motor":
        chosen = [
            x.replace("q", "motor") if x.replace("q", "motor") in names else x for x in chosen
        ]
    return every[[names.index(x) for x in chosen]], tuple(chosen)


def _names(robot: "Robot") -> tuple[str, ...]:
    """q1.., motor1.., qd1.., motor_rate1..: states, named as the columns of a run."""
    own = list(robot.independent)
    elastic = [own[i] for i in elastic_entries(robot)]
    parts = (("q", own), ("motor", elastic), ("qd", own), ("motor_rate", elastic))
    return tuple(f"{x}{i + 1}" for x, joints in parts for i in joints)


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
