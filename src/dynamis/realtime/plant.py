"""The simulated arm as a program of its own: measurements out, torques in, in real time, over UDP.

Every step: take the newest torque, advance the compiled simulation, send where the joints are. The
brakes hold the arm until the first torque that may act; without torques for `SILENCE` they do not
come back: the arm goes on with none. Measurements are lost and delayed as asked, torques are not.
"""

import gc
import heapq
import os
import signal
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.controller import per_joint
from ..errors import FileError, OptionError
from ..simulate.loop import MachineLoop
from ..simulate.machinery import Machinery
from ..simulate.settings import positive, settings
from . import udp

if TYPE_CHECKING:
    from ..robot import Robot

SILENCE = 0.05  # s without a torque packet after which there is no torque
PRIORITY = 80
HEAD = struct.Struct("3d")  # of a row: t, controller's t, status


class Stepper:
    """A compiled arm that is advanced one step at a time under a torque that is held."""

    def __init__(self, robot: "Robot", q0: Any, dt: float, stops: bool):
        import inspect

        from ..simulate.simulate import simulate

        known = {name: p.default for name, p in inspect.signature(simulate).parameters.items()}
        del known["robot"]
        given = {**known, "q0": q0, "dt": dt, "duration": dt, "stops": stops, "threads": 1}
        self.s = settings(robot, **given)
        if self.s.count != 1:
            raise OptionError(f"q0 is for {self.s.count} arms, expected one")
        m = self.m = Machinery(self.s, "plant")
        self._loop = MachineLoop(m.tasks, 1, 1)
        self._signals, self._constants = m.signals(0, 1), m.constants()
        self._saved = np.zeros((1, 1, m.slots.integrated))
        self.x = m.start()
        self.q, self.qd = (m.slots.part(self.x, name)[0] for name in ("q", "qd"))
        self._command = m.slots.part(self.x, "command")[0]

    def step(self, tau: Any) -> None:
        """One step of dt."""
        self._command[:] = tau
        early = self.m.slots.integrated
        self._loop.run(self.x, 0, 1, self._signals, self._constants, self._saved, early, 1)


class Channel:
    """Loses packets at random and gives the others late by a random part of `jitter`."""

    def __init__(self, loss: float, delay: float, jitter: float, seed: int):
        self.loss, self.delay, self.jitter = loss, delay, jitter
        self.lost = 0
        self._rng = np.random.default_rng(seed)
        self._waiting: list[tuple[float, int, bytes]] = []
        self._count = 0

    def put(self, t: float, data: bytes) -> None:
        """A packet goes in at time t."""
        chance, part = self._rng.random(2)
        if chance < self.loss:
            self.lost += 1
            return
        self._count += 1
        due = t + self.delay + self.jitter * part
        heapq.heappush(self._waiting, (due, self._count, data))

    @property
    def due(self) -> float:
        """When the next one comes out."""
        return self._waiting[0][0] if self._waiting else np.inf

    def ready(self, t: float) -> Iterator[bytes]:
        """What has come out until time t."""
        while self.due <= t:
            yield heapq.heappop(self._waiting)[2]


class Encoder:
    """Positions in whole steps, velocities from their differences; exact without a step."""

    def __init__(self, robot: "Robot", step: Any, dt: float):
        self.step = None if step is None else np.array(per_joint(step, "encoder", robot))
        if self.step is not None and not (self.step > 0).all():
            raise OptionError(f"encoder is {step!r}, expected rad or m per count above 0")
        self.dt, self._last = dt, None

    def read(self, q: np.ndarray, qd: np.ndarray) -> tuple[list[float], list[float]]:
        """What is measured at (q, qd)."""
        if self.step is None:
            return q.tolist(), qd.tolist()
        count = np.round(q / self.step) * self.step
        last = count if self._last is None else self._last
        self._last = count
        return count.tolist(), ((count - last) / self.dt).tolist()


@dataclass
class PlantRun:
    """What happened: counts, the plant's own lateness (s), and rows (t, controller's t, status, q,
    qd, torque) of every step since the brakes opened."""

    joints: tuple[str, ...]
    rate: float
    steps: int = 0
    sent: int = 0
    lost: int = 0
    received: int = 0
    overruns: int = 0  # steps that began more than a period late
    silent: int = 0  # steps without torque because no controller was there
    latest: float = 0.0
    rows: list[bytes] = field(default_factory=list, repr=False)  # small pieces: no row waits

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

    def save(self, path: str | Path) -> None:
        """Write the rows as CSV."""
        try:
            np.savetxt(path, self.log, "%.9g", ",", header=",".join(self.columns), comments="")
        except OSError as error:
            raise FileError(f"cannot write {str(path)!r}: {error.strerror}") from None


class PlantServer:
    """An arm behind a UDP port; `run` lets time pass, `stop` ends it."""

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
        stops: bool = False,
        keep: bool = True,
    ):
        self.rate = positive(rate, "rate", "steps per second")
        for name, value, most in (
            ("loss", loss, 1.0),
            ("delay", delay, 10.0),
            ("jitter", jitter, 10.0),
        ):
            if not 0 <= value <= most:
                raise OptionError(f"{name} is {value!r}, expected a number from 0 to {most:g}")
        self.n, self.keep = robot.n, keep
        self.arm = Stepper(robot, q0, 1.0 / self.rate, stops)
        self.encoder = Encoder(robot, encoder, 1.0 / self.rate)
        self.channel = Channel(loss, delay, jitter, seed)
        self.found = PlantRun(robot.joint_names, self.rate)
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.link.bind((host, port))
        except (OSError, OverflowError) as error:
            self.link.close()
            raise OptionError(f"cannot listen at {host} port {port}: {error}") from None
        self.link.setblocking(False)
        self.port = self.link.getsockname()[1]
        self._peer, self._stopped = None, False
        self._torque: udp.Packet | None = None  # the newest that may act
        self._heard = -np.inf

    def stop(self, *_: Any) -> None:
        """End the run at its next step."""
        self._stopped = True

    def run(self, duration: float = np.inf) -> PlantRun:
        """Let `duration` seconds pass, or time without end; the port is closed afterwards."""
        begun, dt, k = time.monotonic(), 1.0 / self.rate, 0
        with self.link:
            while not self._stopped and k * dt < duration:
                self._until(begun, k * dt)
                late = time.monotonic() - begun - k * dt
                self.found.overruns += late > dt
                self.found.latest = max(self.found.latest, late)
                self._step(k, k * dt)
                k += 1
        self.found.steps, self.found.lost = k, self.channel.lost
        return self.found

    def _until(self, begun: float, t: float) -> None:
        """Wait, and send what comes out of the channel meanwhile."""
        while True:
            passed = time.monotonic() - begun
            for data in self.channel.ready(passed):
                self._send(data)
            if passed >= t:
                return
            time.sleep(max(0.0, min(t, self.channel.due) - passed))

    def _step(self, k: int, t: float) -> None:
        self._receive(t)
        q, qd = self.encoder.read(self.arm.q, self.arm.qd)
        self.channel.put(t, udp.measurement(k, t, q, qd))
        if self._torque is None:
            return  # the brakes hold
        *tau, status = self._torque.values
        if t - self._heard > SILENCE:
            tau = [0.0] * self.n
            self.found.silent += 1
        if self.keep:
            state = self.arm.q.tobytes() + self.arm.qd.tobytes()
            head, tail = HEAD.pack(t, self._torque.t, status), np.array(tau).tobytes()
            self.found.rows.append(head + state + tail)
        self.arm.step(tau)

    def _receive(self, t: float) -> None:
        while True:
            try:
                data, peer = self.link.recvfrom(2048)
            except BlockingIOError:
                return
            except OSError:  # the controller is gone, says the network
                continue
            packet = udp.torque_of(data, self.n)
            if packet is None:
                continue
            known, self._peer = peer == self._peer, peer
            if packet.values[-1] == udp.LISTENING:
                continue
            last = self._torque.sequence if known and self._torque is not None else -1
            if packet.sequence > last:
                self._torque, self._heard = packet, t
                self.found.received += 1

    def _send(self, data: bytes) -> None:
        if self._peer is not None:
            with suppress(OSError):
                self.link.sendto(data, self._peer)
                self.found.sent += 1


def run_plant(
    robot: "Robot", port: int = udp.PORT, duration: float = np.inf, **options: Any
) -> PlantRun:
    """Simulate an arm in real time behind a UDP port until `duration`, SIGINT or SIGTERM.

    Options: host, q0, rate (steps per second), loss (0 to 1), delay and jitter (seconds), seed,
    encoder (rad or m per count), stops, keep (the rows).
    """
    return serve(PlantServer(robot, port, **options), duration)


def serve(server: PlantServer, duration: float = np.inf) -> PlantRun:
    """Run a plant in the foreground: signals end it, and it comes first where that is allowed."""
    with _signals(server.stop), _priority():
        return server.run(duration)


@contextmanager
def _signals(stop: Any) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def _priority() -> Iterator[None]:
    """No garbage collection; SCHED_FIFO where there is one and it is allowed."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        with _fifo():
            yield
    finally:
        if collecting:
            gc.enable()


@contextmanager
def _fifo() -> Iterator[None]:
    if not hasattr(os, "sched_setscheduler"):
        yield
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, *before)
