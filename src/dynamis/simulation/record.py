"""Keeps what a simulation passes through, and makes a Run of it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compile.libraries import like
from ..control.board.readings import FAULTS
from ..control.damping import fastest_stop
from ..control.law import LATCHED, PLAUSIBLE
from ..control.resonance import ElasticLoop
from ..control.sensors import TORQUES
from ..control.stability import NOTABLE, why_unstable
from ..errors import OptionError, ShapeError
from ..robot import Robot
from ..spatial.functions import MATH
from ..trajectory.trajectory import State
from ..user_code import location
from .assembly import Assembly
from .contact.history import PARTS as CONTACT_PARTS
from .elastic.vibration import fastest_friction
from .rows import own_rates, with_own_states
from .run import Event, Measurement, Run
from .settings import Settings, shorter_steps
from .signals import RIGID, returned
from .tableau import Tableau

if TYPE_CHECKING:
    from .step_check import StepCheck

MEMORY = 8e9  # bytes
TOO_SHORT = "steps became too short"  # the message of a run that cannot go on begins so
DIFFERENCE = 1e-6  # of a state, for the slope of its rate
HALVINGS = 50  # to find an event between two rows
PHYSICAL = ("bristle", "current", "warmth", "law_state")  # states of the arm besides q and qd


def stiff_friction(
    robot: Robot, q: np.ndarray, dt: float, tableau: Tableau
) -> tuple[str, float] | None:
    """That steps are too long for the viscous friction in any of q (k, n), and a step that is not;
    None if they are not. Closed mechanisms are not looked at."""
    viscous = [r.mean_viscous for r in robot.chain.resistances]
    if tableau.adaptive or len(viscous) != robot.dof:
        return None
    elastic = robot.chain.elastic
    if elastic:
        rate, joint = fastest_friction(robot, q, dt, tableau.gamma)
    else:
        rate, joint = fastest_stop(robot, viscous, q)
    most = tableau.stability_limit
    if not rate * dt > most:
        return None
    if elastic:  # shorter steps tie motor and link less
        rate, _ = fastest_friction(robot, q, dt, 0.0)
    name = robot.joint_names[joint]
    said = f"steps of {dt:g} s are too long for the viscous friction of joint {name!r}"
    return said, 0.5 * most / rate


def stiff_law(
    robot: Robot, q: np.ndarray, qd: np.ndarray, z: np.ndarray, dt: float, tableau: Tableau
) -> tuple[str, float] | None:
    """Words on steps too long for the states z of laws, and a step that is not; or None."""
    if tableau.adaptive or not (len(z) and np.isfinite([*q, *qd, *z]).all()):
        return None
    place, speed, direction = (x.tolist() for x in (q, qd, np.sign(qd)))

    def rates(states: np.ndarray) -> np.ndarray:
        chain = with_own_states(robot.chain, states.tolist())
        return np.array(own_rates(chain, place, speed, direction, MATH), float)

    steps = DIFFERENCE * np.maximum(1.0, np.abs(z))
    try:
        J = np.array([rates(z + e) - rates(z) for e in np.diag(steps)]).T / steps
    except ArithmeticError:  # the arm is far off
        return None
    if not np.isfinite(J).all():
        return None
    rate = -float(np.linalg.eigvals(J).real.min())
    if not rate * dt > tableau.stability_limit:
        return None
    name = robot.model.law_states[int(np.argmin(J.diagonal()))]
    said = f"steps of {dt:g} s are too long for the state {name!r} of a law"
    return said, 0.5 * tableau.stability_limit / rate


class Instant(NamedTuple):
    """The last instant before a run ended, and the state of an arm there."""

    t: float
    row: np.ndarray


Again = Callable[[], tuple[np.ndarray, np.ndarray]]  # instants (k,), states there (k, numbers)


class RunRecorder:
    """Rows of the state at the instants that are kept."""

    def __init__(self, s: Settings, assembly: Assembly):
        self.s, self.m = s, assembly
        slots, start, span = assembly.slots, s.start, s.span
        self.kept = slots.size if s.count == 1 else slots.slices["motor_direction"].stop
        instants = span.steps // span.save_every + 1
        size = float(np.dtype(s.options.dtype).itemsize) * s.count * instants * self.kept
        if size > MEMORY and not start.resident:
            hint = "save fewer instants with save_every=..."
            if s.options.events:
                hint = "events look at every step: take longer steps, or simulate in parts"
            raise OptionError(
                f"{s.count} arms at {instants} instants need {size / 1e9:.0f} GB", hint
            )
        whole = np.arange(0, span.steps + 1, span.save_every)
        self.t = s.dt * (span.first + whole)
        self.k = span.first + whole
        if span.short or whole[-1] != span.steps:
            self.t = np.append(self.t, span.end)
            self.k = np.append(self.k, span.first + span.steps + bool(span.short))
        shape = (s.count, len(self.t), self.kept)
        if start.resident:
            self.rows: Any = start.library.empty(shape, s.options.dtype, s.device)
        else:
            self.rows = np.zeros(shape, s.options.dtype)
        self.filled = 0
        self.message, self.events = "", []
        self.ended, self.diverged_at = False, None

    def put(self, row: int, x: np.ndarray) -> None:
        """One instant."""
        self.rows[:, row] = x[:, : self.kept]
        self.filled = max(self.filled, row + 1)

    def accept(self, upto: int, again: Again | None = None) -> bool:
        """Take the rows up to here as filled; whether the run goes on.

        A single arm ends where a state is implausible, or at an event that is terminal. Where rows
        are several steps apart, `again` gives the states of every step since the last call.
        """
        first = self.filled
        self.filled = upto
        if self.s.start.shape != ():
            return True
        good = self._plausible(self.rows[0, first:upto])
        if not good.all():
            row = first + int(good.argmin())
            self.diverge(row, *self._end_between(row, again))
            return False
        return not self.s.options.events or self._events(first, upto)

    def _plausible(self, rows: np.ndarray) -> np.ndarray:
        """Whether the states of rows (k, numbers) are of this world, (k,)."""
        with np.errstate(invalid="ignore"):
            return np.asarray((np.abs(rows[..., : 2 * self.s.n]) < PLAUSIBLE).all(axis=-1))

    def _end_between(self, row: int, again: Again | None) -> tuple[float, Instant | None]:
        """When a run ended that is implausible at `row`, and the last state before, if known."""
        if again is not None and row:
            t, states = again()
            k = int(self._plausible(states).argmin())
            if self.t[row - 1] < t[k] <= self.t[row]:  # not so: a force was another one this time
                return float(t[k]), Instant(float(t[k - 1]), states[k - 1]) if k else None
        return float(self.t[row]), None

    def diverge(self, row: int, t: float, last: Instant | None) -> None:
        """End a run before `row`, at t, after its last state if that is known."""
        self._end(row, f"diverged at t = {t:g} s{self._reason(row, t, 0, last)}")
        self.diverged_at = t

    def give_up(self, row: int, t: float, last: Instant) -> None:
        """End a run before `row` that cannot be followed as closely as was asked."""
        tolerance = f"tolerance {self.s.options.tolerance:g}"
        why = self._reason(row, t, 0, last)
        self._end(row, f"{TOO_SHORT} at t = {t:g} s ({tolerance}){why}")

    def _reason(self, row: int, t: float, member: int, last: Instant | None = None) -> str:
        """Reason why an arm ended at t, before `row`; "" if none is known."""
        s = self.s
        if row == 0 or not np.isfinite(t):
            return ""
        q = self.rows[member, 0, : s.n].astype(float)
        if found := self._stiff_law(row, member) or self._too_stiff(q, t, member):
            return f": {found}"
        if not s.robot.model.closures:
            return ""
        from .closing.lost_loops import why_lost

        last = last or Instant(float(self.t[row - 1]), self.rows[member, row - 1])
        return why_lost(s, self.m, last.row, last.t, member)

    def _first_reason(self, when: np.ndarray) -> str:
        """When the first member of an ensemble ended, and why."""
        member = int(np.nanargmin(when))
        row = int(np.searchsorted(self.t, when[member]))
        why = self._reason(row, when[member], member)
        return f"; arm {member} at t = {when[member]:g} s{why}" if why else ""

    def _too_stiff(self, q: np.ndarray, t: float, member: int) -> str:
        """That steps or samples are too long for the arm's friction or its law, if they are."""
        s, robot = self.s, self._robot(member)
        if found := stiff_friction(robot, q[None], s.dt, s.tableau):
            return f"{found[0]}, use {shorter_steps(s, found[1])}"
        if s.law is None:
            return ""
        if loop := self._elastic_loop(member):
            mode = loop.mode()
            return mode.text if mode and mode.growth(t - self.t[0]) > NOTABLE else ""
        unstable, remedy = why_unstable(s.law, robot, q, t - self.t[0], s.delay * s.dt)
        sampling = "sample_time and dt" if s.period == 1 else "sample_time"
        return unstable and f"{unstable}; {remedy} or shorten {sampling}"

    def _stiff_law(self, row: int, member: int) -> str:
        """Words on steps too long for the states of laws, at the start or before `row`."""
        s = self.s
        for known in self.rows[member, [0, row - 1]].astype(float):
            q, qd, z = (known[self.m.slots.slices[name]] for name in ("q", "qd", "law_state"))
            if found := stiff_law(self._robot(member), q, qd, z, s.dt, s.tableau):
                return f"{found[0]}, use {shorter_steps(s, found[1])}"
        return ""

    def _elastic_loop(self, member: int) -> ElasticLoop | None:
        """The loop of a law and an arm with elastic joints."""
        s = self.s
        if s.law is None or not s.robot.chain.elastic or not self.filled:
            return None
        q = self.rows[member, 0, : s.n].astype(float)
        return ElasticLoop(s.law, self._robot(member), q, s.delay * s.dt, s.sensors)

    def _robot(self, member: int) -> Robot:
        """One arm of the run, with its own parameters."""
        s = self.s
        if s.start.parameters is None:
            return s.robot
        values = np.array(s.robot.parameters.values)
        values[slice(None) if s.varied is None else list(s.varied)] = s.start.parameters[member]
        return s.robot.with_parameters(values)

    def _end(self, row: int, message: str) -> None:
        self.filled, self.message, self.ended = row, message, True
        self.rows[:, row:] = np.nan

    def _events(self, first: int, upto: int) -> bool:
        """Whether no event among the new rows ends the run."""
        found = crossings(self.s, self.t, self.rows[0], max(first - 1, 0), upto)
        for event, terminal, row in found:
            self.events.append(event)
            if terminal:
                self.filled, self.ended = row + 1, True
                self.t = self.t.copy()
                self.t[row] = event.t
                n = self.s.n
                self.rows[0, row, :n], self.rows[0, row, n : 2 * n] = event.q, event.qd
                self.message = f"ended by event {event.name!r} at t = {event.t:g} s"
                return False
        return True

    def run(self, step: "StepCheck | None" = None) -> Run:
        """The result; `step` is what its check of the step needs."""
        s, m, start = self.s, self.m, self.s.start
        if start.resident:
            return self._resident()
        kept = self._thinned()
        t, rows = self.t[kept], self.rows[:, kept]
        diverged: Any = self.diverged_at is not None
        diverged_at: Any = self.diverged_at
        if start.shape != ():
            diverged, diverged_at, rows = self._members(rows, t)
            gave_up = self.ended and self.diverged_at is None
            if np.any(diverged) and not gave_up:
                self.message = f"{int(np.sum(diverged))} of {s.count} diverged"
                self.message += self._first_reason(np.ravel(diverged_at))

        shaped, places = rows.reshape((*start.shape, *rows.shape[1:])), m.slots.slices

        def part(name: str) -> np.ndarray:
            return np.ascontiguousarray(shaped[..., places[name]])

        held = m.holds(start.parameters)
        states = {}
        if s.count == 1:
            states = {k: part(k) for k in m.slots.slices if "." in k or k in PHYSICAL}
        if s.law is not None and not self.message:
            self.message = self._safe(states, t)
        reference = None
        if start.reference is not None:  # a copy: the signal remembers its rows
            wanted = start.reference(t).reshape(len(t), s.parts, len(s.driven))
            reference = State(*wanted.swapaxes(0, 1)[:RIGID].copy())
        run = Run(
            robot=s.robot,
            t=t,
            q=part("q"),
            qd=part("qd"),
            tau=part("tau"),
            friction=part("friction"),
            stuck=(part("direction") == 0.0) & held,
            dt=s.dt,
            integrator=s.tableau.name,
            reference=reference,
            measured=self._measured(part, t, self.k[kept]) if s.count == 1 and m.computes else None,
            observed=part("observed") if s.count == 1 and s.options.observer is not None else None,
            states=states,
            events=tuple(self.events),
            diverged=diverged,
            diverged_at=diverged_at,
            message=self.message,
            measured_side=s.sensors.side,
            _contacts=self._contacts(part),
            _points=s.contacts,
            _motors=self._motors(part),
            _step=step,
            _loop=self._elastic_loop(0) if start.shape == () else None,
            _acted=partial(m.acted, s, t, rows[0]) if start.shape == () else None,
        )
        return run if start.like is None else run._moved(partial(like, start.like))

    def _motors(
        self, part: Callable[[str], Any], to: Callable[[Any], Any] = lambda x: x
    ) -> dict[str, Any]:
        """Arrays of the motors of elastic joints, by joint; none of rigid arms."""
        m, found = self.m, {}
        if not m.plant.gears:
            return found
        for name, alike in (("motor", "q"), ("motor_rate", "qd")):
            found[name] = m.with_motors(part(alike), part(name))
        found["motor_friction"] = m.with_motors(0.0 * part("friction"), part("motor_friction"))
        holds = m.holds(self.s.start.parameters).astype(self.s.options.dtype)
        holds = m.with_motors(holds, m.motor_holds)
        direction = m.with_motors(part("direction"), part("motor_direction"))
        return found | {"motor_stuck": (direction == 0.0) & (to(holds) > 0.0)}

    def _contacts(self, part: Callable[[str], Any]) -> dict[str, Any]:
        """Parts of the state that contacts are told from."""
        return {name: part(name) for name in CONTACT_PARTS} if self.s.contacts else {}

    def _resident(self) -> Run:
        """The result of an ensemble whose rows lie on a GPU, and stay there."""
        s, slices, rows = self.s, self.m.slots.slices, self.rows
        good = (abs(rows[..., : 2 * s.n]) < PLAUSIBLE).all(-1)
        bad = (~good).cumsum(1) > 0
        rows[bad] = float("nan")
        first = s.start.library.to_host((~bad).sum(1))
        diverged = first < len(self.t)
        when = np.where(diverged, np.append(self.t, np.nan)[first], np.nan)

        def part(name: str) -> Any:
            return rows[..., slices[name]].reshape((*s.start.shape, len(self.t), -1))

        parts = {name: part(name) for name in ("q", "qd", "tau", "friction", "direction")}
        holds = like(rows, self.m.holds(s.start.parameters).astype(s.options.dtype)) > 0.0
        parts["stuck"] = (parts.pop("direction") == 0.0) & holds
        wanted = None if s.start.reference is None else s.start.reference(self.t)
        return Run(
            robot=s.robot,
            t=self.t,
            **parts,
            dt=s.dt,
            integrator=s.tableau.name,
            reference=None
            if wanted is None
            else State(*(like(rows, part) for part in np.split(wanted, s.parts, axis=1)[:RIGID])),
            diverged=diverged.reshape(s.start.shape),
            diverged_at=when.reshape(s.start.shape),
            message=f"{int(diverged.sum())} of {s.count} diverged" if diverged.any() else "",
            _contacts=self._contacts(part),
            _points=s.contacts,
            _motors=self._motors(part, partial(like, rows)),
        )

    def _safe(self, states: Mapping[str, np.ndarray], t: np.ndarray) -> str:
        """That the law went to its safe state, when, and behind a board why, if it did."""
        status = states.get("computer.status")
        if status is None or not (status == LATCHED).any():
            return ""
        k = int((status.reshape(-1) == LATCHED).argmax())
        said = f"the controller is in its safe state from t = {t[k]:g} s on"
        if "board.fault" not in states:
            return said
        fault, joint = (int(states[f"board.{name}"][k, 0]) for name in ("fault", "joint"))
        where = f" ({self.s.robot.drive_names[joint]})" if joint >= 0 else ""
        return f"{said}: {FAULTS[fault].name}{where}"

    def _thinned(self) -> slice | np.ndarray:
        """The rows to give: every one, or with events every few and the last."""
        end = self.filled if self.s.start.shape == () else len(self.t)
        if self.s.span.thin == 1:
            return slice(end)  # a view: ensembles are large
        kept = np.arange(0, end, self.s.span.thin)
        return kept if not end or kept[-1] == end - 1 else np.append(kept, end - 1)

    def _members(self, rows: np.ndarray, t: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        """Which members diverged, when; their rows from then on are NaN."""
        s = self.s
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(rows[..., : 2 * s.n]) < PLAUSIBLE).all(axis=-1)
        bad = np.logical_or.accumulate(bad, axis=1)
        diverged = bad.any(axis=1)
        when = np.where(diverged, t[bad.argmax(axis=1)] if len(t) else 0.0, np.nan)
        rows = np.where(bad[..., None], np.nan, rows) if diverged.any() else rows
        return diverged.reshape(s.start.shape), when.reshape(s.start.shape), rows

    def _measured(
        self, part: Callable[[str], np.ndarray], t: np.ndarray, k: np.ndarray
    ) -> Measurement:
        """What the computer logged at its samples that are among the rows."""
        s = self.s
        last = s.span.first + s.span.steps
        samples: Any = slice(None)
        if s.period > 1 or s.span.short or self.ended:
            samples = (k % s.period == 0) & (k <= last) & (np.abs(t - s.dt * k) <= 1e-6 * s.dt)
        tau = part("tau")[..., samples, :]
        if len(s.driven) < s.n:
            tau = tau[..., s.driven]
        if s.sensors._has("torque_noise") and len(tau):
            number = k[samples] // s.period
            span = int(number[-1] - number[0]) + 1
            noise = s.sensors.noise(TORQUES, int(number[0]), span, 0, len(s.driven))
            tau = tau + noise[number - number[0]]
        q, qd = (part(name)[..., samples, :] for name in ("measured_q", "measured_qd"))
        return Measurement(t[samples].copy(), q, qd, tau)


# zeros of functions g(t, q, qd) along a run, between its steps


def crossings(
    s: Settings, t: np.ndarray, rows: np.ndarray, first: int, upto: int
) -> list[tuple[Event, bool, int]]:
    """(event, whether it ends the run, the row after it), in order of time."""
    n, found = s.n, []
    if upto - first < 2:
        return []
    for number, function in enumerate(s.options.events, start=1):
        name = event_name(function, number)
        values = [_value(function, name, t[k], rows[k], n) for k in range(first, upto)]
        rising = getattr(function, "direction", 0)
        for k in range(first, upto - 1):
            a, b = values[k - first], values[k - first + 1]
            if (a < 0.0 <= b and rising >= 0) or (a > 0.0 >= b and rising <= 0):
                event = _located(function, name, t, rows, k, n)
                found.append((event, bool(getattr(function, "terminal", False)), k + 1))
    return sorted(found, key=lambda e: e[0].t)


def event_name(function: Any, number: int) -> str:
    """Its attribute `name`, or the name it was defined with; "event 2" if it has none."""
    own = getattr(function, "name", getattr(function, "__name__", "<lambda>"))
    return f"event {number}" if own == "<lambda>" else str(own)


def _value(function: Any, name: str, t: float, row: np.ndarray, n: int) -> float:
    given = function(float(t), row[:n].copy(), row[n : 2 * n].copy())
    value = returned(given, f"event {name!r}{location(function)}")
    if value.shape != ():
        raise ShapeError(
            f"event {name!r}{location(function)} returned shape {value.shape}, expected a number"
        )
    return float(value)


def _located(function: Any, name: str, t: np.ndarray, rows: np.ndarray, k: int, n: int) -> Event:
    """The zero between two rows, on the cubic through both states."""

    def state(s: float) -> np.ndarray:
        h = t[k + 1] - t[k]
        a, b = rows[k], rows[k + 1]
        q0, q1, v0, v1 = a[:n], b[:n], h * a[n : 2 * n], h * b[n : 2 * n]
        q = q0 + s * v0 + s * s * (3 * (q1 - q0) - 2 * v0 - v1) + s**3 * (2 * (q0 - q1) + v0 + v1)
        rate = v0 + 2 * s * (3 * (q1 - q0) - 2 * v0 - v1) + 3 * s * s * (2 * (q0 - q1) + v0 + v1)
        return np.concatenate([q, rate / h])

    low, high = 0.0, 1.0
    sign = _value(function, name, t[k], rows[k], n) > 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        at = t[k] + middle * (t[k + 1] - t[k])
        if (_value(function, name, at, state(middle), n) > 0.0) == sign:
            low = middle
        else:
            high = middle
    when = float(t[k] + high * (t[k + 1] - t[k]))
    there = state(high)
    return Event(when, name, there[:n], there[n:])
