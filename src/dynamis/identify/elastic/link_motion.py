"""Links of elastic joints along motors that move as measured: simulated in compiled steps.

    M_ll u_l' + M_lr th_r'' + h_l + v u_l + c tanh(u_l / slow) = e,    q_l' = u_l - pull (m - e)
    e = K z + D (th' - u) beyond the gap,    m = tau - B th'' - v_m th' - c_m sgn(th') - o

l are the elastic joints, z the dead zone of th - q; r those taken as rigid, which move with their
motors. m is what the gear transmits as the motor shows it: `pull` (rad/s per N m) holds the links
to it, as an observer does; 0 leaves them free. All constants are numbers of every member of an
ensemble, so one piece of machine code serves a whole identification.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline

from ...compile.service import compiling
from ...dynamics import elements, equation
from ...dynamics.instant import Instant
from ...lazy import cached_property
from ...model.chain import Chain, chain
from ...model.parameters import parameter_names
from ...simulation.inertia import independent_solve
from ...simulation.loop import Given, MachineLoop, PythonLoop, Record
from ...simulation.tasks import Layout, Task
from ...spatial.functions import Functions
from ...spatial.vectors import Scalars, inner

if TYPE_CHECKING:
    from ...robot import Robot

MEMORY = 1e8  # bytes of states that are kept at a time
GEAR = ("stiffness", "damping", "backlash", "link_viscous", "link_coulomb", "pull")
MOTOR = ("rotor_inertia", "viscous", "coulomb", "offset", "delay")
STAGES = ((0, 0.0, 1.0), (1, 0.5, 2.0), (1, 0.5, 2.0), (2, 1.0, 1.0))  # instant, way, weight of RK4


class MotorPath(NamedTuple):
    """Motors over even steps of `h` seconds, `every` of which make a sample of a log.

    Rows of `signal` (steps, 3 w) hold begin, middle and end of a step: positions, rates and
    accelerations of all motors, then of every elastic joint torque and the columns of MOTOR.
    """

    signal: np.ndarray
    h: float
    every: int

    @property
    def samples(self) -> int:
        """Samples of the log."""
        return len(self.signal) // self.every


def motor_path(t: np.ndarray, motor: np.ndarray, shown: np.ndarray, every: int) -> MotorPath:
    """Cubic splines through motors (N, n) on an even grid, straight lines through `shown` (N, w).

    `shown` are torques and columns of MOTOR of the elastic joints, one joint after the other.
    """
    step = (t[-1] - t[0]) / (len(t) - 1)
    nodes = np.arange(2 * every * len(t) + 1) / (2.0 * every)  # in samples; the last has a step too
    nodes = np.minimum(nodes, len(t) - 1.0)
    spline = make_interp_spline(np.arange(len(t)), motor, 3)
    rows = [spline(nodes), spline(nodes, 1) / step, spline(nodes, 2) / step**2]
    rows += [np.interp(nodes, np.arange(len(t)), x)[:, None] for x in shown.T]
    row = np.concatenate(rows, axis=1)
    signal = np.concatenate([row[:-2:2], row[1:-1:2], row[2::2]], axis=1)
    return MotorPath(np.ascontiguousarray(signal), step / every, every)


@dataclass(frozen=True, eq=False)
class LinkMotion:
    """The links of an arm, those of the joints `elastic` free to move against their motors.

    `slow` (rad/s or m/s) is the velocity over which friction of their links turns round.
    """

    robot: "Robot"  # without drives
    elastic: tuple[int, ...]
    slow: tuple[float, ...]

    @cached_property
    def rigid(self) -> tuple[int, ...]:
        """Joints that move with their motors."""
        return tuple(k for k in range(self.robot.n) if k not in self.elastic)

    @cached_property
    def parameters(self) -> int:
        """Numbers of a full parameter vector."""
        return len(parameter_names(self.robot.model))

    @cached_property
    def _task(self) -> Task:
        m, n = len(self.elastic), self.robot.n
        layout = Layout({"q": m, "qd": m, "torque": n})
        key = ("links along motors", repr(self.robot.chain), repr((self.elastic, self.slow)))
        wide = 3 * n + (1 + len(MOTOR)) * m
        constants = 1 + self.parameters + (len(GEAR) + len(MOTOR)) * m
        return Task("links", self._step, layout, 3 * wide, constants, key)

    def _step(self, x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        """One classical Runge-Kutta step; the torques are those at its begin."""
        m, wide, h = len(self.elastic), len(signal) // 3, constants[0]
        p, rest = constants[1 : 1 + self.parameters], constants[1 + self.parameters :]
        arm = chain(self.robot.model, parameters=list(p))
        count = len(GEAR) + len(MOTOR)
        gears = [list(rest[k * count : (k + 1) * count]) for k in range(m)]
        y, felt, rates = list(x[: 2 * m]), None, [0.0] * (2 * m)
        total = list(rates)
        for instant, way, weight in STAGES:
            at = [a + (way * h) * b for a, b in zip(y, rates, strict=True)] if way else y
            own = list(signal[instant * wide : (instant + 1) * wide])
            rates, torque = self._rates(arm, at, own, gears, fn)
            felt = torque if felt is None else felt
            total = [a + weight * b for a, b in zip(total, rates, strict=True)]
        assert felt is not None
        return [*(a + (h / 6.0) * b for a, b in zip(y, total, strict=True)), *felt]

    def _rates(
        self, arm: Chain, y: Scalars, signal: list[Any], gears: list[list[Any]], fn: Functions
    ) -> tuple[list[Any], list[Any]]:
        """Rates of q and u of the elastic joints, and what every motor feels of its link."""
        n, m = self.robot.n, len(self.elastic)
        motor, rate, acceleration = signal[:n], signal[n : 2 * n], signal[2 * n : 3 * n]
        q, qd, qdd = list(motor), list(rate), [0.0] * n
        for k, i in enumerate(self.elastic):
            q[i], qd[i] = y[k], y[m + k]
        for i in self.rigid:
            qdd[i] = acceleration[i]
        felt = list(elements.torque(Instant(arm, fn, q, qd, qdd), elements.without_rotors))
        M, left, drift = equation.mass_matrix(arm, q, fn), [], []
        for k, (i, gear) in enumerate(zip(self.elastic, gears, strict=True)):
            K, D, gap, viscous, coulomb, pull = gear[: len(GEAR)]
            torque, *columns = signal[3 * n + k * (1 + len(MOTOR)) :][: 1 + len(MOTOR)]
            e = gear_torque(motor[i] - q[i], rate[i] - qd[i], K, D, gap, fn)
            shown = torque - inner(columns, gear[len(GEAR) :])
            rubs = viscous * qd[i] + coulomb * fn.tanh(qd[i] / self.slow[k])
            left.append(e - felt[i] - rubs)
            drift.append(qd[i] - pull * (shown - e))
            felt[i] = e
        inertia = [[M[i][j] for j in self.elastic] for i in self.elastic]
        found = independent_solve(inertia, left, fn)[0]
        for i in self.rigid:
            felt[i] = felt[i] + inner([M[i][j] for j in self.elastic], found)
        return [*drift, *found], felt

    def run(
        self, path: MotorPath, full: np.ndarray, gears: np.ndarray, q0: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions of elastic links (members, N, m) and what motors feel (members, N, n).

        `full` (members, p) are parameters of the links, `gears` (members, m, 11) the constants of
        GEAR and MOTOR; links begin at q0 (members, m) with the rates of their motors.
        """
        m, n, members = len(self.elastic), self.robot.n, len(full)
        h = np.full((members, 1), path.h)
        constants = np.concatenate([h, full, gears.reshape(members, -1)], axis=1)
        x = np.zeros((members, 2 * m + n))
        x[:, :m] = q0
        x[:, m : 2 * m] = path.signal[0, n : 2 * n][list(self.elastic)]
        rows = np.zeros((members, path.samples, 2 * m + n))
        few = max(1, int(MEMORY / rows[0].nbytes))
        loop = self._loop(members)
        with np.errstate(all="ignore"):
            for a in range(0, members, few):
                part = slice(a, a + few)
                given = Given([path.signal], [np.ascontiguousarray(constants[part])])
                record = Record(rows[part], 2 * m, path.every)
                loop.run(x[part], 0, len(path.signal), given, record)
        return rows[..., :m], rows[..., 2 * m :]

    def _loop(self, members: int) -> MachineLoop | PythonLoop:
        return MachineLoop([self._task], members) if compiling() else PythonLoop([self._task])


def gear_torque(d: Any, rate: Any, K: Any, D: Any, gap: Any, fn: Functions) -> Any:
    """K z + D d' of a gear with a dead zone of half width `gap`; 0 within."""
    size = fn.max(d, -d) - gap
    z = fn.select(d < 0.0, -size, size)
    return fn.select(size > 0.0, K * z + D * rate, 0.0)
