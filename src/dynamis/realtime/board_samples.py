"""Samples of a law behind a board for its self-test: a simulated start, then faults."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compile.arrays import run
from ..compile.service import Ports, compiled, compiling
from ..control.board.hardware import Hardware
from ..control.board.program import BoardLaw
from ..control.board.readings import INPUTS, TICKS, Readings
from ..control.law import UNKNOWN
from ..control.sensors import Sensors
from ..errors import DynamisError
from ..spatial.functions import MATH
from . import c_text

COUNT = 240  # samples of the self-test that are simulated
AHEAD = 0.05  # motor turns: where it starts before the index
STEP = 5e-3


class BoardSamples(NamedTuple):
    """Readings (K, 1 + 4 n) and references or times (K, ..) of a self-test; which starts anew."""

    readings: np.ndarray
    wanted: np.ndarray
    restart: int
    how: str


def runner(law: BoardLaw) -> Any:
    """A function (state, readings, wanted) -> codes, volts, position, told, next; compiled."""
    program = law.program()
    if not compiling():
        return _interpreted(law)
    ports = Ports(
        tuple(p.name for p in program.inputs), tuple(p.shape for p in program.inputs),
        tuple(p.name for p in program.outputs), tuple(p.shape for p in program.outputs),
    )  # fmt: skip
    code = compiled(None, lambda: program, ports, "float64", 1, what="the law behind a board")

    def step(state: np.ndarray, readings: np.ndarray, wanted: np.ndarray) -> Any:
        rows = [readings[:1], *readings[1:].reshape(4, law.n)]
        shape = program.inputs[-1].shape
        return run(code, [state, *rows, wanted.reshape(shape)], ports.inputs)

    return step


def _interpreted(law: BoardLaw) -> Any:
    """The same by the functions themselves."""
    inside = law.law.reference is not None

    def step(state: np.ndarray, readings: np.ndarray, wanted: np.ndarray) -> Any:
        left = iter(state.tolist())
        x = {name: [next(left) for _ in range(size)] for name, size in law.slots.items()}
        read = Readings(float(readings[0]), *readings[1:].reshape(4, law.n).tolist())
        rows = None if inside else wanted.reshape(-1, law.n).tolist()
        t = float(wanted[0]) if inside else UNKNOWN
        a, after = law.stepped(x, t, read, rows, law.inner.gains, law.law.sample_time, MATH)
        state = np.array([v for k in law.slots for v in after[k]])
        told = np.array([a.status, a.phase, a.fault, a.joint])
        return np.array(a.codes), np.array(a.volts), np.array(a.q), told, state

    return step


def replay(
    law: BoardLaw, readings: np.ndarray, wanted: np.ndarray, starts: Sequence[int] = (0,)
) -> tuple[np.ndarray, np.ndarray]:
    """Codes (K, n) and status, phase, fault, joint (K, 4) of the program over samples."""
    step = runner(law)
    begun = np.array([v for row in law.begun(law.inner.gains, MATH).values() for v in row], float)
    codes, told, state = [], [], begun
    for k, (row, goal) in enumerate(zip(readings, wanted, strict=True)):
        state = begun if k in starts else state
        code, _, _, said, state = step(state, row.astype(float), goal)
        codes.append(code)
        told.append(said)
    return np.array(codes), np.array(told)


def readings_of(states: Any, wanted: Any, rows: Any = slice(None)) -> tuple[Any, Any]:
    """Readings (K, 1 + 4 n) of a simulated run, and its references (K, rows n)."""
    tick = np.mod(states["board.tick"][rows] - 1.0, TICKS)
    parts = [tick, *(states[f"board.{name}"][rows] for name in INPUTS[1:])]
    return np.concatenate(parts, axis=1), np.concatenate([x[rows] for x in wanted], axis=1)


def samples(law: BoardLaw, count: int = COUNT) -> BoardSamples:
    """Samples of a simulated start, and faults behind them."""
    readings, wanted, how = _closed_loop(law, count)
    latch = min(law.law.latch, c_text.FEW)
    kinds = ["good", "missed", "good", "jump", "good", "good"]
    kinds += ["dead"] * latch + ["good"] * (2 * c_text.FEW)
    more = np.tile(readings[-1], (len(kinds), 1))
    more[:, 1 + 2 * law.n : 1 + 3 * law.n] = 0.0  # no pulses
    ticks = readings[-1, 0] + 1.0 + np.arange(len(kinds)) + np.cumsum(np.array(kinds) == "missed")
    more[:, 0] = np.mod(ticks, TICKS)
    for k, kind in enumerate(kinds):
        if kind == "jump":
            c = law.channels[0]
            more[k, 1] = np.mod(more[k, 1] + np.floor(0.4 * c.modulus), c.modulus)
        elif kind == "dead":
            more[k, 1 + 3 * law.n :] = 0.0
    after = np.tile(wanted[-1], (len(kinds), 1))
    if law.law.reference is not None:
        after += law.law.sample_time * (1.0 + np.arange(len(kinds)))[:, None]
    rows = np.concatenate([readings, more]), np.concatenate([wanted, after])
    return BoardSamples(*rows, len(rows[0]) - c_text.FEW, how)


def _closed_loop(law: BoardLaw, count: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Readings of `dy.simulate` from a place just before the index pulses."""
    from ..simulation.simulator import simulated

    own, dt = law.law, law.law.sample_time
    plan = c_text.self_test_plan(own)
    q0 = _before_index(law, plan(0.0).q)
    sensors = Sensors(board=law.board, velocity_filter=own.velocity_filter)
    try:
        run = simulated(
            own.robot, count * dt, dt / np.ceil(dt / STEP), q0, None, own,
            reference=plan if own.reference is None else None, sensors=sensors, progress=False,
        )  # fmt: skip
    except DynamisError:
        run = None
    goal = c_text.wanted_rows(own, plan, count)
    if run is None or len(run.t) <= count:
        return _at_rest(law, q0, count), goal, c_text.SYNTHETIC
    period = round(dt / run.dt)
    readings, _ = readings_of(run.states, (run.q,), slice(0, count * period, period))
    return readings, goal, c_text.SIMULATED


def _at_rest(law: BoardLaw, q: np.ndarray, count: int) -> np.ndarray:
    """Readings of an arm that does not move."""
    hardware = Hardware(law.board, law.channels)
    x, rows = hardware.initial_state(q.tolist(), MATH), []
    for _ in range(count):
        r, x = hardware.read(x, q.tolist(), [0.0] * law.n, MATH)
        rows.append([r.tick, *r.counts, *r.latched, *r.index, *r.analog])
    return np.array(rows)


def _before_index(law: BoardLaw, q: np.ndarray) -> np.ndarray:
    """A place near q from which every motor soon comes to its index."""
    found = np.array(q, float)
    for i, c in enumerate(law.channels):
        if not c.searched:
            continue
        way = -1.0 if found[i] > law._middle[i] else 1.0
        way *= 1.0 if c.scale > 0.0 else -1.0
        turns = np.round(((found[i] - c.zero) / c.scale - float(c.index or 0)) / c.counts)
        found[i] = c.zero + c.scale * (float(c.index or 0) + c.counts * (turns - way * AHEAD))
    return found
