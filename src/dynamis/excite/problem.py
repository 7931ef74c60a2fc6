"""Information content of a motion, and the optimisation problem that maximises it.

    A = 1/N sum Z^T Z + ridge I,  Z = W Y D

with Y the columns of the unknowns, W one over the torque that is usual in each joint (noise is
taken to grow with it) and D one over the size that is usual in each column. "d-optimal" is
log det A: its exponent is one over the volume of the unknowns' confidence ellipsoid, squared.
"condition" is -log sum_j A_jj (A^-1)_jj: the condition number (Frobenius) of Z with columns of
unit length, which does not care how large the motion is.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from ..compile.tracer import SX, nested
from ..dynamics import equation
from ..dynamics.regressor import regressor
from ..identify.information import condition
from ..identify.unknowns import Unknowns
from ..model.chain import Chain
from ..model.friction import LAWS
from .verify import SPARE_SPACE, Check

CRITERIA = ("d-optimal", "condition")
LEAST = 0.01  # of the largest torque: no joint is weighted as if it were quieter


@dataclass(frozen=True, eq=False)
class Figures:
    """What is said about one motion."""

    value: float  # of the criterion; more is better
    log_det: float
    condition_number: float


@dataclass(frozen=True, eq=False)
class Measure:
    """The criterion with its fixed scales: `rows` (n,) is W, `columns` (m,) is D."""

    unknowns: Unknowns
    criterion: str
    ridge: float
    rows: np.ndarray
    columns: np.ndarray

    def regressor(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Z stacked over the samples of one motion, (N n, m)."""
        Y = self.unknowns.regressor(q, qd, qdd)
        return (Y * self.rows[:, None] * self.columns).reshape(-1, len(self.unknowns))

    def figures(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Figures:
        """Of one motion, with friction as it is."""
        Z = self.regressor(q, qd, qdd)
        A = Z.T @ Z / len(q) + self.ridge * np.eye(Z.shape[1])
        log_det = float(np.linalg.slogdet(A)[1])
        inflation = float((np.diag(A) * np.diag(np.linalg.inv(A))).sum())
        value = log_det if self.criterion == "d-optimal" else -float(np.log(inflation))
        return Figures(value, log_det, condition(Z))


def measure(
    unknowns: Unknowns, criterion: str, ridge: float, state: tuple[Any, Any, Any]
) -> Measure:
    """Scales from usual motions, q, qd, qdd (N, n)."""
    tau = np.sqrt(np.mean(unknowns.robot.inverse_dynamics(*state) ** 2, axis=0))
    largest = tau.max(initial=0.0)
    rows = 1.0 / np.maximum(tau, LEAST * largest) if largest > 0.0 else np.ones(len(tau))
    Y = unknowns.regressor(*state) * rows[:, None]
    size = np.sqrt(np.mean(np.sum(Y**2, axis=1), axis=0))
    columns = 1.0 / np.where(size > 0.0, size, 1.0)
    return Measure(unknowns, criterion, ridge, rows, columns)


# the design as a nonlinear program: CasADi expressions, exact gradients, IPOPT

INSIDE = 0.995  # fraction of each limit the design uses: little is left to shrink afterwards
REVERSAL = 0.05  # velocity, as a fraction of its limit, over which a smooth sign turns
GRID = 12  # looks at linear limits per harmonic
KINK = 0.05  # smooth maximum: its error at the kink is half of this

IPOPT = {
    "print_level": 0,
    "sb": "yes",
    "hessian_approximation": "limited-memory",
    "limited_memory_max_history": 30,
    "mu_strategy": "adaptive",
    "tol": 1e-4,
    "acceptable_tol": 1e-2,
    "acceptable_obj_change_tol": 1e-4,
    "acceptable_iter": 5,
}

Watch = Callable[[], None]


class Problem:
    """Maximise the criterion over the series of one robot; built once, solved from many starts."""

    def __init__(
        self,
        check: Check,
        measure: Measure,
        samples: int,
        iterations: int,
        watch: Watch | None = None,
    ):
        self.check, self.measure = check, measure
        self.series, self.samples = check.series, samples
        self.x = ca.MX.sym("x", self.series.rows, self.series.n)
        self.constraints: list[Any] = []
        self.low: list[np.ndarray] = []
        self.high: list[np.ndarray] = []
        t = np.linspace(0.0, self.series.period, samples, endpoint=False)
        state = self._states(t)
        self.objective = self._objective(state)
        self._linear_limits()
        self._other_limits(state)
        self.solver = self._solver(iterations, watch)

    def _solver(self, iterations: int, watch: Watch | None) -> Any:
        x, g = ca.vec(self.x), ca.vertcat(*map(ca.vec, self.constraints))
        options: dict[str, Any] = {
            "print_time": False,
            "error_on_fail": False,
            "ipopt": {**IPOPT, "max_iter": iterations},
        }
        if watch is not None:
            self._watcher = _Watcher(x.numel(), g.numel(), watch)  # CasADi keeps no reference
            options["iteration_callback"] = self._watcher
        return ca.nlpsol("design", "ipopt", {"x": x, "f": self.objective, "g": g}, options)

    def solve(self, X: np.ndarray) -> tuple[np.ndarray, str]:
        """The best series near X, and IPOPT's word for how it ended."""
        free = np.full((self.series.rows, self.series.n), np.inf)
        if self.series.bounds.center is not None:
            free[0] = 0.0
        with interruptible():
            found = self.solver(
                x0=X.flatten(order="F"),
                lbx=-free.flatten(order="F"),
                ubx=free.flatten(order="F"),
                lbg=np.concatenate(self.low),
                ubg=np.concatenate(self.high),
            )
        status = str(self.solver.stats()["return_status"])
        if status == "User_Requested_Stop":
            raise KeyboardInterrupt
        return np.asarray(found["x"]).reshape(X.shape, order="F"), status

    def _states(self, t: np.ndarray) -> list[Any]:
        """q, qd, qdd at times t as expressions, (n, T) each."""
        s = self.series
        moves = self.x[1:, :].T
        scale = ca.DM(s.size)
        place = ca.DM(s.middle) + self.x[0, :].T * ca.DM(s.bounds.half)
        q, qd, qdd = (
            ca.mtimes(moves, ca.DM(shape.T)) * ca.repmat(scale, 1, len(t)) for shape in s.shapes(t)
        )
        return [q + ca.repmat(place, 1, len(t)), qd, qdd]

    def _objective(self, state: list[Any]) -> Any:
        m, K = len(self.measure.unknowns), self.samples
        Z = _regressor(self.measure, self.series.bounds.qd).map(K)(*state)  # (n, m K)
        stacked = ca.vertcat(*ca.horzsplit(Z, m))
        A = ca.mtimes(stacked.T, stacked) / K + self.measure.ridge * ca.MX.eye(m)
        return -_criterion(self.measure.criterion, m)(A)

    def _linear_limits(self) -> None:
        """Position, velocity, acceleration: sparse rows, a joint depends on its own numbers."""
        b = self.series.bounds
        looks = GRID * self.series.harmonics
        t = np.linspace(0.0, self.series.period, looks, endpoint=False)
        q, qd, qdd = self._states(t)
        place = np.stack([b.middle - INSIDE * b.half, b.middle + INSIDE * b.half])
        self._add(q, *(np.tile(x, looks) for x in place))
        self._add(qd, *(np.tile(s * INSIDE * b.qd, looks) for s in (-1.0, 1.0)))
        if np.isfinite(b.qdd).any():
            self._add(qdd, *(np.tile(s * INSIDE * b.qdd, looks) for s in (-1.0, 1.0)))

    def _other_limits(self, state: list[Any]) -> None:
        b, K = self.series.bounds, self.samples
        limited = np.flatnonzero(np.isfinite(b.tau))
        if len(limited):
            torque = _torque(self.check.robot.chain, b.qd, b.tau, limited).map(K)(*state)
            ones = np.full(len(limited) * K, INSIDE)
            self._add(torque, -ones, ones)
        space = self.check.space
        if space.near:
            q = ca.SX.sym("q", self.series.n)
            margins = space.margins(nested(q, (self.series.n,)), SX)
            near = ca.vertcat(*(margins[k] for k in space.near))
            values = ca.Function("margins", [q], [near]).map(K)(state[0])
            least = np.full(len(space.near) * K, 3.0 * SPARE_SPACE)
            self._add(values, least, np.full(len(least), np.inf))

    def _add(self, expression: Any, low: np.ndarray, high: np.ndarray) -> None:
        self.constraints.append(expression)
        self.low.append(low)
        self.high.append(high)


@contextmanager
def interruptible() -> Iterator[None]:
    """What Ctrl-C raises inside comes out, though CasADi takes it for a failed evaluation."""
    old, raised = signal.getsignal(signal.SIGINT), []

    def handler(signum: int, frame: Any) -> None:
        try:
            old(signum, frame)  # type: ignore[operator]
        except BaseException as error:
            raised.append(error)
            raise

    if not callable(old) or threading.current_thread() is not threading.main_thread():
        yield  # signals are ignored, or arrive in another thread
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
    if raised:
        raise raised[0]


def smooth(chain: Chain, speed: np.ndarray) -> Chain:
    """The arm with friction that has derivatives where a joint reverses."""
    tree = [REVERSAL * float(speed.min())] * chain.links
    if chain.coupling is None:
        tree = [REVERSAL * float(v) for v in speed]
    resistances = tuple(
        r._replace(law="smooth", constants={**LAWS["smooth"], "velocity": v})
        for r, v in zip(chain.resistances, tree, strict=True)
    )
    return replace(chain, resistances=resistances)


def _smooth_functions(speed: np.ndarray) -> Any:
    """SX with a sign and a maximum that have derivatives."""
    v = REVERSAL * float(speed.min())
    return SX._replace(
        sign=lambda x: ca.tanh(x / v),
        max=lambda a, b: 0.5 * (a + b + ca.sqrt((a - b) * (a - b) + KINK * KINK)),
    )


def _symbols(n: int) -> tuple[list[Any], list[Any]]:
    columns = [ca.SX.sym(name, n) for name in ("q", "qd", "qdd")]
    return columns, [nested(x, (n,)) for x in columns]


def _regressor(measure: Measure, speed: np.ndarray) -> ca.Function:
    """Z = W Y D of one sample, with smooth friction, (n, m)."""
    columns, scalars = _symbols(len(speed))
    robot = measure.unknowns.robot
    Y = regressor(smooth(robot.chain, speed), *scalars, fn=_smooth_functions(speed))
    full = ca.vertcat(*(ca.horzcat(*(ca.SX(x) for x in row)) for row in Y))
    picked = ca.mtimes(full, ca.sparsify(ca.DM(measure.unknowns.pick)))
    Z = ca.mtimes([ca.diag(ca.DM(measure.rows)), picked, ca.diag(ca.DM(measure.columns))])
    return ca.Function("regressor", columns, [ca.densify(Z)])


def _torque(
    chain: Chain, speed: np.ndarray, limits: np.ndarray, limited: np.ndarray
) -> ca.Function:
    """Torques of the limited joints, as fractions of their limits."""
    columns, scalars = _symbols(len(limits))
    fn = _smooth_functions(speed)
    tau = equation.inverse_dynamics(smooth(chain, speed), *scalars, fn=fn)
    used = ca.vertcat(*(ca.SX(tau[i]) / float(limits[i]) for i in limited))
    return ca.Function("torque", columns, [used])


def _criterion(name: str, m: int) -> ca.Function:
    """The criterion of A, through its Cholesky factor."""
    A = ca.SX.sym("A", m, m)
    log_det = 2.0 * ca.sum1(ca.log(ca.diag(ca.chol(A))))
    if name == "d-optimal":
        return ca.Function("criterion", [A], [log_det])
    inverse = ca.gradient(log_det, A)  # its diagonal is that of A^-1
    inflation = ca.sum1(ca.diag(A) * ca.diag(inverse))
    return ca.Function("criterion", [A], [-ca.log(inflation)])


class _Watcher(ca.Callback):
    """Tells that an iteration was made."""

    def __init__(self, nx: int, ng: int, watch: Watch):
        ca.Callback.__init__(self)
        self.nx, self.ng, self.watch = nx, ng, watch
        self.construct("watcher", {})

    def get_n_in(self) -> int:
        """As many as an NLP solver has outputs."""
        return ca.nlpsol_n_out()

    def get_n_out(self) -> int:
        """One: whether to stop."""
        return 1

    def get_name_in(self, i: int) -> str:
        """The solver's own name."""
        return ca.nlpsol_out(i)

    def get_name_out(self, i: int) -> str:
        """A number that is not zero stops the solver."""
        return "stop"

    def get_sparsity_in(self, i: int) -> Any:
        """Shapes of the solver's outputs."""
        name = ca.nlpsol_out(i)
        sizes = {"f": 1, "x": self.nx, "lam_x": self.nx, "g": self.ng, "lam_g": self.ng}
        return ca.Sparsity.dense(sizes.get(name, 0), 1 if name in sizes else 0)

    def eval(self, arg: Any) -> list[int]:
        """One more iteration."""
        self.watch()
        return [0]
