"""The simulated arm as a program of its own: measurements out, torques in, in real time, over UDP.

Every step: take the newest torque, advance the compiled simulation, send where the joints are. An
arm whose viscous friction is too stiff for steps of that length takes several shorter ones. The
brakes hold the arm until the first torque that may act; without torques for `SILENCE` they do not
come back: the arm goes on with none. Both ways lose and delay packets as asked, each for itself.
An arm whose state is not finite any more ends the run, and its `message` says so.
"""

import gc
import heapq
import math
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import a_robot, checked, choice, flag, fraction, number, positive, strict, whole
from ...control.controller import above_zero
from ...control.damping import places
from ...control.sensors import SIDES, Sensors
from ...errors import FileError, OptionError, ShapeError, counted, shown
from ...files import write_csv
from ...simulation.closing.lost_loops import lost_hint
from ...simulation.elastic.vibration import integrator_for
from ...simulation.options import PLANT, offered
from ...simulation.record import stiff_friction
from ...simulation.simulator import Simulator
from ...simulation.tableau import RK4
from ...spatial.functions import MATH
from ...trajectory.trajectory import Trajectory, beyond, bounds
from . import udp

if TYPE_CHECKING:
    from ...robot import Robot

# a process in the foreground: signals end it, and it comes first where that is allowed

PRIORITY = 80


@contextmanager
def signals_to(stop: Any) -> Iterator[None]:
    """SIGINT and SIGTERM call `stop`."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def first_in_line() -> Iterator[None]:
    """No garbage collection; SCHED_FIFO where there is one and it is allowed."""
    collecting, before = gc.isenabled(), None
    gc.disable()
    if hasattr(os, "sched_setscheduler"):
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        if before is not None:
            with suppress(OSError):
                os.sched_setscheduler(0, *before)
        if collecting:
            gc.enable()


# a line between a plant and its controller that loses and delays packets


class LossyChannel:
    """Loses packets at random and gives the others late by a random part of `jitter`."""

    def __init__(self, loss: float, delay: float, jitter: float, seed: Any):
        self.loss, self.delay, self.jitter = loss, delay, jitter
        self.lost = 0
        self._rng = np.random.default_rng(seed)
        self._waiting: list[tuple[float, int, Any]] = []
        self._count = 0

    def put(self, t: float, packet: Any) -> None:
        """A packet goes in at time t."""
        chance, part = self._rng.random(2)
        if chance < self.loss:
            self.lost += 1
            return
        self._count += 1
        due = t + self.delay + self.jitter * part
        heapq.heappush(self._waiting, (due, self._count, packet))

    @property
    def due(self) -> float:
        """When the next one comes out."""
        return self._waiting[0][0] if self._waiting else np.inf

    def ready(self, t: float) -> Iterator[Any]:
        """What has come out until time t."""
        while self.due <= t:
            yield heapq.heappop(self._waiting)[2]


# the encoders of a simulated arm


class Encoder:
    """Positions in whole steps, velocities from their differences; exact without a step."""

    def __init__(self, robot: "Robot", step: Any, dt: float):
        if step is not None:
            above_zero(step, "encoder", robot, "rad or m per count")
        self.sensors, self.dt = Sensors(encoder=step), dt
        self._numbers = self.sensors.constants(robot)
        self._last: dict[str, list[float]] | None = None

    def read(self, q: np.ndarray, qd: np.ndarray) -> tuple[list[float], list[float]]:
        """What is measured at (q, qd); before the first sample the arm moved evenly."""
        place, speed = q.tolist(), qd.tolist()
        if self._last is None:
            self._last = self.sensors.start(place, speed, self.dt, self._numbers, MATH)
        given = self._last, place, speed, None
        self._last = self.sensors.read(*given, self._numbers, self.dt, MATH)
        return self._last["measured_q"], self._last["measured_qd"]


class Extremes:
    """How far the drives went, how fast and under which torque, (n,) each, in so many `steps`."""

    def __init__(self, n: int):
        self.steps = 0
        self.lowest, self.highest = np.full(n, np.inf), np.full(n, -np.inf)
        self.largest_velocity, self.largest_torque = np.zeros(n), np.zeros(n)

    def see(self, q: np.ndarray, qd: np.ndarray, tau: Any) -> None:
        """One step more."""
        self.steps += 1
        np.minimum(self.lowest, q, out=self.lowest)
        np.maximum(self.highest, q, out=self.highest)
        np.maximum(self.largest_velocity, np.abs(qd), out=self.largest_velocity)
        np.maximum(self.largest_torque, np.abs(tau), out=self.largest_torque)

    def join(self, other: "Extremes") -> None:
        """Those of both."""
        steps = self.steps + other.steps
        self.see(other.lowest, other.largest_velocity, other.largest_torque)
        self.see(other.highest, other.largest_velocity, other.largest_torque)
        self.steps = steps


@dataclass
class PlantRun:
    """What happened: counts, the plant's own lateness (s), how far joints, velocities and torques
    went until the last step under a running torque (`afterwards`: from then on, while the arm is
    let down or nobody holds it), and rows (t, controller's t, status, q, qd, torque) of every step
    since the brakes opened; status -1: no controller was there. `message` says why the run ended by
    itself."""

    joints: tuple[str, ...]
    rate: float
    steps: int = 0
    sent: int = 0  # measurements
    lost: int = 0
    received: int = 0  # torques that acted
    lost_torques: int = 0
    stale: int = 0  # torques behind a newer one
    overruns: int = 0  # steps that began more than a period late
    silent: int = 0  # steps without torque because no controller was there
    safe: int = 0  # steps under a safe torque of the controller
    latest: float = 0.0
    message: str = ""
    rows: list[bytes] = field(default_factory=list, repr=False)  # small pieces: no row waits
    end: np.ndarray = field(init=False, repr=False)  # (n,), all of the drives
    controlled: Extremes = field(init=False, repr=False)
    afterwards: Extremes = field(init=False, repr=False)
    running: bool = field(init=False, default=False, repr=False)  # whether a torque ever was

    def __post_init__(self) -> None:
        n = len(self.joints)
        self.end = np.full(n, np.nan)
        self.controlled, self.afterwards = Extremes(n), Extremes(n)

    @property
    def lowest(self) -> np.ndarray:
        """Smallest positions, (n,)."""
        return self.controlled.lowest

    @property
    def highest(self) -> np.ndarray:
        """Largest positions, (n,)."""
        return self.controlled.highest

    @property
    def largest_velocity(self) -> np.ndarray:
        """Largest velocities, (n,)."""
        return self.controlled.largest_velocity

    @property
    def largest_torque(self) -> np.ndarray:
        """Largest torques, (n,)."""
        return self.controlled.largest_torque

    def _seen(self, q: np.ndarray, qd: np.ndarray, tau: Any, running: bool = False) -> None:
        """Where the drives are, how fast, and under which torque."""
        self.end = q
        if running and self.afterwards.steps:  # safe torques between running ones
            self.controlled.join(self.afterwards)
            self.afterwards = Extremes(len(self.joints))
        self.running |= running
        now = self.controlled if running or not self.running else self.afterwards
        now.see(q, qd, tau)

    @checked
    def beyond(self, robot: "Robot") -> dict[str, list[str]]:
        """Joint -> quantities that passed a limit of the model."""
        if a_robot(robot).drive_names != self.joints:
            raise ShapeError(
                f"robot {robot.name!r} has other joints than the run: {', '.join(self.joints)}"
            )
        speed, effort = bounds(robot)
        each = {
            "position": (np.stack([self.lowest, self.highest]), robot.limits),
            "velocity": (self.largest_velocity[None], speed),
            "torque": (self.largest_torque[None], effort),
        }
        found: dict[str, list[str]] = {}
        for quantity, (values, limits) in each.items():
            for x in beyond(np.zeros(len(values)), values, limits, quantity, robot.driven):
                found.setdefault(robot.joint_names[x.joint], []).append(quantity)
        return found

    @property
    def columns(self) -> list[str]:
        """Names of the rows' numbers."""
        return ["t", "t_controller", "status"] + [
            f"{what}_{name}" for what in ("q", "qd", "tau") for name in self.joints
        ]

    @property
    def log(self) -> np.ndarray:
        """The rows as one array, (K, 3 + 3 n)."""
        return np.frombuffer(b"".join(self.rows)).reshape(-1, len(self.columns))

    @checked
    def save(self, path: str | Path) -> None:
        """Write the rows as CSV."""
        write_csv(path, dict(zip(self.columns, self.log.T, strict=True)))

    @classmethod
    @checked
    def read(cls, path: str | Path) -> "PlantRun":
        """The rows of a CSV that `save` wrote; counts other than `steps` are not in it."""
        try:
            with Path(path).open(encoding="utf-8") as file:
                names = file.readline().strip().split(",")
                log = np.loadtxt(file, delimiter=",", ndmin=2)
        except (OSError, ValueError) as error:
            raise FileError(f"cannot read {str(path)!r}: {error}") from None
        joints = tuple(name[2:] for name in names if name.startswith("q_"))
        run = cls(joints, 1.0 / float(np.median(np.diff(log[:, 0]))) if len(log) > 1 else 0.0)
        if run.columns != names:
            raise FileError(f"{str(path)!r} is no log of a plant: its columns are {names}")
        run.steps, run.rows = len(log), [row.tobytes() for row in log]
        return run


@dataclass(frozen=True, eq=False)
class Tracking:
    """Errors of every joint (rad or m): those of all steps until the last one under a running
    torque, safe torques between them included.

    `steps` are those under the torque of a controller; `running` is the share of them under a
    running torque, `safe` the number under a safe one.
    """

    joints: tuple[str, ...]
    rms: np.ndarray
    largest: np.ndarray
    steps: int
    running: float
    safe: int

    def __str__(self) -> str:
        wide = max(5, *map(len, self.joints))
        lines = [f"{'joint':{wide}} {'rms':>11} {'largest':>11}   rad or m"]
        rows = zip(self.joints, self.rms, self.largest, strict=True)
        lines += [f"{name:{wide}} {rms:11.3e} {most:11.3e}" for name, rms, most in rows]
        share = f"{100.0 * self.running:.3f} % under a running torque"
        return "\n".join([*lines, f"{self.steps} steps, {share}, {self.safe} under a safe one"])


def tracking_table(run: PlantRun, reference: Trajectory) -> Tracking:
    """Compare where the joints were with what the torque that acted was made for."""
    n = len(run.joints)
    if reference.n != n:
        raise ShapeError(f"the reference moves {counted(reference.n, 'joint')}, the arm has {n}")
    log = run.log
    status = log[:, 2]
    running = status == udp.RUNNING
    safe = (status == udp.BAD) | (status == udp.SAFE)
    if not running.any():
        raise OptionError(
            f"the run has {len(log)} rows, none of them under a running torque",
            "let a controller move the arm, and keep the rows (keep=True)",
        )
    until = int(np.flatnonzero(running)[-1]) + 1
    error = log[:until, 3 : 3 + n] - reference(np.maximum(log[:until, 1], 0.0)).q
    steps = int(running.sum() + safe.sum())
    rms, largest = np.sqrt((error**2).mean(axis=0)), np.abs(error).max(axis=0)
    return Tracking(run.joints, rms, largest, steps, float(running.sum() / steps), int(safe.sum()))


class RealTime:
    """The clock of the machine, and waiting by it."""

    now = staticmethod(time.monotonic)

    def wait(self, server: "PlantServer", seconds: float) -> None:
        """Until a packet is there, at most so long."""
        select.select([server.link], [], [], seconds)


SILENCE = 0.05  # s without a torque packet after which there is no torque
HEAD = struct.Struct("3d")  # of a row: t, controller's t, status


@strict
class PlantServer:
    """An arm behind a UDP port; `run` lets time pass, `stop` ends it.

    `substeps`: of the arm, per measurement; `remark` says why they are several. Elastic joints are
    measured on the `side` "motor", or "link"; the rows that are kept are of the links. Further
    options are those of `dy.Simulator` that a plant has: `stops`.
    """

    def __init__(
        self,
        robot: "Robot",
        port: int = udp.PORT,
        *,
        host: str = udp.HOST,
        q0: Any = None,
        rate: float = 1000.0,
        loss: float = 0.0,
        delay: float = 0.0,
        jitter: float = 0.0,
        seed: int = 0,
        encoder: Any = None,
        side: str = "motor",
        keep: bool = True,
        **simulation: Any,
    ):
        self.rate = positive(rate, "rate", "steps per second")
        loss = fraction(loss, "loss", 1.0)
        delay, jitter = fraction(delay, "delay", 10.0), fraction(jitter, "jitter", 10.0)
        seed = whole(seed, "seed", 0)
        if not isinstance(host, str) or not host.strip():
            raise OptionError(
                f"host is {shown(host)}, expected an address such as {udp.HOST}",
                "0.0.0.0 listens at every network",
            )
        self.side = choice(side, "side", SIDES)
        self.drives = list(a_robot(robot).driven)
        self.n, self.keep = len(self.drives), flag(keep, "keep")
        self.substeps, self.remark = _substeps(robot, 1.0 / self.rate)
        dt = 1.0 / self.rate / self.substeps
        self.arm = Simulator(robot, dt, threads=1, **offered(simulation, PLANT))
        self.arm.step()  # compiled before anybody waits for a measurement
        self.arm.reset(q0)
        if self.arm.q.ndim != 1:
            raise OptionError(f"q0 is for {len(self.arm.q)} arms, expected one")
        self.encoder = Encoder(robot, encoder, 1.0 / self.rate)
        self.measurements = LossyChannel(loss, delay, jitter, seed)
        self.torques = LossyChannel(loss, delay, jitter, [seed, 1])
        self.found = PlantRun(robot.drive_names, self.rate)
        self._lost = lost_hint(robot)
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.link.bind((host, port))
        except (OSError, OverflowError, TypeError, ValueError) as error:
            self.link.close()
            raise OptionError(f"cannot listen at {host} port {port}: {error}") from None
        self.link.setblocking(False)
        self.port = self.link.getsockname()[1]
        self.clock: Any = RealTime()
        self._peer, self._stopped = None, False
        self._torque: udp.Packet | None = None  # the newest that may act
        self._from: Any = None  # who sent it
        self._heard = -np.inf

    def stop(self, *_: Any) -> None:
        """End the run at its next step."""
        self._stopped = True

    def run(self, duration: float = np.inf) -> PlantRun:
        """Let `duration` seconds pass, or time without end; the port is closed afterwards."""
        duration = number(duration, "duration", "seconds above 0", lambda x: x > 0.0)
        begun, dt, k = self.clock.now(), 1.0 / self.rate, 0
        with self.link:
            while not self._stopped and k * dt < duration:
                self._until(begun, k * dt)
                late = self.clock.now() - begun - k * dt
                self.found.overruns += late > dt
                self.found.latest = max(self.found.latest, late)
                self._step(k, k * dt)
                k += 1
        self.found.steps = k
        self.found._seen(self.arm.q[self.drives], self.arm.qd[self.drives], 0.0)
        self.found.lost, self.found.lost_torques = self.measurements.lost, self.torques.lost
        return self.found

    def _until(self, begun: float, t: float) -> None:
        """Wait; what comes goes into its channel and what is due comes out meanwhile."""
        while True:
            passed = self.clock.now() - begun
            self._receive(min(passed, t))  # a late plant is no late controller
            for data in self.measurements.ready(passed):
                self._send(data)
            if passed >= t:
                return
            left = max(0.0, min(t, self.measurements.due) - passed)
            self.clock.wait(self, left)

    def _step(self, k: int, t: float) -> None:
        for packet, peer in self.torques.ready(t):
            self._command(packet, peer, t)
        place, speed = self.arm.q[self.drives], self.arm.qd[self.drives]
        on_motors = self.arm.motor[self.drives], self.arm.motor_rate[self.drives]
        q, qd = self.encoder.read(*(on_motors if self.side == "motor" else (place, speed)))
        if self._peer is not None:
            self.measurements.put(t, udp.measurement(k, t, q, qd))
        if self._torque is None:
            return  # the brakes hold
        *tau, status = self._torque.values
        if t - self._heard > SILENCE:
            tau, status = [0.0] * self.n, udp.LISTENING
            self.found.silent += 1
        self.found.safe += status in (udp.BAD, udp.SAFE)
        self.found._seen(place, speed, tau, status == udp.RUNNING)
        if self.keep:
            state = place.tobytes() + speed.tobytes()
            head, tail = HEAD.pack(t, self._torque.t, status), np.array(tau).tobytes()
            self.found.rows.append(head + state + tail)
        torque = np.zeros(len(self.arm.q))
        torque[self.drives] = tau
        self.arm.step(torque, self.substeps)
        if not (np.isfinite(self.arm.q).all() and np.isfinite(self.arm.qd).all()):
            self.found.message = (
                f"the simulated arm diverged at t = {t:g} s under torques {_listed(tau)} from "
                f"velocities {_listed(qd)}{self._lost}: nothing is sent any more"
            )
            self.stop()

    def _receive(self, t: float) -> None:
        while True:
            try:
                data, peer = self.link.recvfrom(2048)
            except BlockingIOError:
                return
            except OSError:  # the controller is gone, says the network
                continue
            packet = udp.torque_of(data, self.n)
            if packet is not None:
                self.torques.put(t, (packet, peer))

    def _command(self, packet: udp.Packet, peer: Any, t: float) -> None:
        """A torque has come out of its channel."""
        self._peer = peer
        if packet.values[-1] == udp.LISTENING:
            return
        last = self._torque
        if last is not None and peer == self._from and packet.sequence <= last.sequence:
            self.found.stale += 1
            return
        self._torque, self._from, self._heard = packet, peer, t
        self.found.received += 1

    def _send(self, data: bytes) -> None:
        if self._peer is not None:
            with suppress(OSError):
                self.link.sendto(data, self._peer)
                self.found.sent += 1


def _substeps(robot: "Robot", dt: float) -> tuple[int, str]:
    """How many steps the arm takes in dt, and why more than one, if so."""
    if not math.isfinite(dt):  # which the simulator refuses
        return 1, ""
    found = stiff_friction(robot, places(robot), dt, integrator_for(robot, RK4, dt))
    if found is None:
        return 1, ""
    count = math.ceil(dt / found[1])
    return count, f"{found[0]}: the arm takes {count} of {dt / count:g} s each"


def _listed(values: Any) -> str:
    return f"[{', '.join(f'{x:.3g}' for x in values)}]"


@checked
def run_plant(
    robot: "Robot", port: int = udp.PORT, duration: float = np.inf, **options: Any
) -> PlantRun:
    """Simulate an arm in real time behind a UDP port until `duration`, SIGINT or SIGTERM.

    Options: host, q0, rate (steps per second), loss (0 to 1), delay and jitter (seconds), of both
    ways, seed, encoder (rad or m per count), side ("motor" or "link": where the encoders of elastic
    joints are), keep (the rows), and stops, as in `dy.Simulator`.
    """
    return serve(PlantServer(robot, port, **options), duration)


def serve(
    server: PlantServer, duration: float = np.inf, ready: Callable[[], None] = lambda: None
) -> PlantRun:
    """Run a plant in the foreground: signals end it, and it comes first where that is allowed.

    `ready` is called once signals end it with its report.
    """
    with signals_to(server.stop), first_in_line():
        ready()
        return server.run(duration)
