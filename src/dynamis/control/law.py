"""A whole control law as one program: what the control computer does every sample time.

    torque, state, status = step(state, q, qd, reference or t)

Velocities may come from differences of positions, references from a trajectory inside. What is not
a plausible number never reaches the torque: such a sample gives the safe torque. After fewer than
`latch` of them in a row a good one runs again; `latch` in a row stay safe until a new start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, pi
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import a_robot, choice, is_word, one_of, positive, strict, whole
from ..compile.service import Key, traced
from ..errors import OptionError, ShapeError, counted, shown
from ..lazy import cached_property
from ..robot.arm import Arm, arm_of
from ..robot.closing import drive_hint
from ..spatial.functions import MATH, Functions
from ..spatial.vectors import slices
from ..trajectory.trajectory import Trajectory
from .controller import (
    NO_LIMIT,
    Controller,
    Gain,
    Reference,
    Sample,
    Values,
    above_zero,
    approach,
    begun,
    check_signatures,
    code_key,
    drives_at,
    drives_at_first,
    finite_gains,
    per_joint,
    reference_of,
    refuse_passive,
    stepped,
    text_of,
)
from .damping import brake_rate, fastest_stop, places, steady_damping
from .sensors import difference

if TYPE_CHECKING:
    from ..compile.program import Program
    from ..robot import Robot

SAFE = ("zero", "gravity")
AUTO = "auto"  # damping of the safe state by the arm's mass matrix
ROUNDING = 1e-9  # of a ramp that is over
VELOCITIES = ("measured", "difference")
LATCH = 2  # bad samples in a row after which only a new start helps
PLAUSIBLE = 1e6  # rad, m, per second: beyond, or NaN, a sample is bad
LARGEST_TORQUE = 1e9  # N m or N: a controller without a limit that gives more has gone wrong
LONGEST = 1e12  # s: beyond, a time is bad
MOST_LATCH = 1_000_000
MOST_DAMPING = 1.0  # times the velocity that one sample may take away: from 2 on it grows
NOTHING, NO_SPEED = -1.0, -0.5  # instead of a count of samples unseen: no position yet, no rate yet
RUNNING, BAD, LATCHED = 0.0, 1.0, 2.0  # status
# hints for functions of Python, which cannot leave it
AS_CLASS = (
    "a function(t, q, qd) runs in Python only: write it as a class with step(self, arm, sample), "
    "derived from dy.control.Controller"
)
AS_TABLE = (
    "a function runs in Python only: dy.trajectory.from_function(function, duration) makes a "
    "table of it, which code can hold"
)
DERIVATIVES = (2, 4)  # of the reference that a controller may ask for
NO_REFERENCE = "without one, the reference comes with every sample"


class UnknownTime:
    """The time of a sample where nobody tells it: whatever is computed with it is refused."""

    def _refuse(self, *others: Any) -> Any:
        raise OptionError(
            "the controller computes with sample.t, but the law is not told the time",
            "give reference=, a trajectory inside: then t comes with every sample",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __rtruediv__ = __pow__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = __float__ = _refuse


UNKNOWN = UnknownTime()


@strict
@dataclass(frozen=True, eq=False)
class Law:
    """A controller of a robot at one sample time, ready to leave Python.

    `reference` is a trajectory to follow inside, or None: then it comes with every sample.
    `velocity` "difference" makes velocities from positions, low-passed at `velocity_filter` Hz.
    `limit` clips torques. `safe`: "zero" torque, or "gravity": gravity compensation that is ramped
    down in `ramp` seconds, with damping meanwhile; then zero. `safe_damping`: one number, one per
    joint, or "auto": k M(q) qd, k from the sample time. `latch` bad samples in a row make it stay.
    A position farther than `jump` from the one before is a bad sample.
    """

    controller: Controller
    robot: "Robot"
    sample_time: float
    reference: Trajectory | None = None
    velocity: str = "measured"
    velocity_filter: float | None = None
    limit: Gain | None = None
    safe: str = "zero"
    safe_damping: Gain | str = AUTO
    ramp: float = 1.0
    latch: int = LATCH
    jump: Gain | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.controller, Controller):
            raise OptionError(
                f"controller is {shown(self.controller)}, expected one of dy.control",
                AS_CLASS if callable(self.controller) else None,
            )
        check_signatures(self.controller)
        a_robot(self.robot)
        if self.reference is not None and not isinstance(self.reference, Trajectory):
            raise OptionError(
                f"reference is {shown(self.reference)}, expected a trajectory or None",
                AS_TABLE if callable(self.reference) else NO_REFERENCE,
            )
        if self.controller.derivatives not in DERIVATIVES:
            raise OptionError(
                f"derivatives of {type(self.controller).__name__} is "
                f"{shown(self.controller.derivatives)}, expected 2, or 4 for jerk and snap"
            )
        if self.reference is not None and self.rows > len(Reference._fields):
            self.reference.derivatives_at(0.0)  # refused by name where it has no jerk and snap
        for name in ("sample_time", "ramp"):
            object.__setattr__(self, name, positive(getattr(self, name), name, "seconds"))
        object.__setattr__(self, "latch", whole(self.latch, "latch", most=MOST_LATCH))
        if is_word(self.safe, ("zero",)) and any(self.damping):
            raise OptionError(
                f"safe_damping is {shown(self.safe_damping)}, but the safe torque is zero",
                'give safe="gravity" too, or leave it out',
            )
        own = self.controller.sample_time
        if own is not None and own != self.sample_time:
            raise OptionError(
                f"sample_time is {self.sample_time!r}, the controller's own is {own!r}",
                "give both the same, or leave the controller's out",
            )
        object.__setattr__(self, "controller", self.controller.sampled(self.sample_time))
        choice(self.safe, "safe", SAFE)
        choice(self.velocity, "velocity", VELOCITIES)
        if self.reference is not None and self.reference.n != self.n:
            raise ShapeError(
                f"the reference moves {counted(self.reference.n, 'joint')}, robot "
                f"{self.robot.name!r} has {self.n}",
                drive_hint(self.robot, "reference", (self.reference.n,)),
            )
        if self.velocity_filter is not None:
            if self.velocity != "difference":
                raise OptionError(
                    "velocity_filter filters differences of positions, velocity is 'measured'",
                    'give velocity="difference" too',
                )
            hertz = positive(self.velocity_filter, "velocity_filter", "Hz")
            object.__setattr__(self, "velocity_filter", hertz)
        if self.limit is not None and hasattr(self.controller, "limit"):
            # a law that knows the limit stops its integral there
            tightest, own = self.limits, self.own_limits
            if own is not None:
                tightest = [min(pair) for pair in zip(own, tightest, strict=True)]
            object.__setattr__(self, "controller", replace(self.controller, limit=tightest))  # type: ignore[type-var]
        _ = self.gains, self.limits, self.jumps, self.brake  # refuse wrong numbers now
        if not all(isfinite(x) for x in self.damping):
            raise OptionError(f"safe_damping is {self.safe_damping!r}, expected finite numbers")
        if any(self.damping):
            self._refuse_unstable_damping()
        if self.passive:
            refuse_passive(self.robot, np.array(self._probe()), type(self.controller).__name__)

    @cached_property
    def passive(self) -> frozenset[int]:
        """Joints of an arm that it sees but nothing drives: they get no torque."""
        active = {*self.robot.active}
        return frozenset(i for i, joint in enumerate(self.robot.driven) if joint not in active)

    def _probe(self) -> Sequence[Any]:
        """Torques of the controller somewhere off its reference."""
        q, qd, gains = [0.4] * self.n, [0.7] * self.n, SimpleNamespace(**self.gains)
        arm = arm_of(self.model, MATH, computer=True)
        wanted = reference_of([qd, q, q, q, q][: self.rows])
        first = Sample(0.1, q, qd, gains, reference=wanted, dt=self.sample_time)
        state = SimpleNamespace(**begun(self.controller, arm, first))
        return stepped(self.controller, arm, first._replace(state=state))[0]

    def _refuse_unstable_damping(self) -> None:
        rate, joint = fastest_stop(self.robot, self.damping, places(self.robot))
        if rate * self.sample_time > MOST_DAMPING:
            steady = steady_damping(self.robot, self.sample_time)
            raise OptionError(
                f"safe_damping is {self.safe_damping!r}: every {self.sample_time:g} s it takes "
                f"{rate * self.sample_time:.3g} times the velocity of joint "
                f"{self.robot.drive_names[joint]!r} away, which shakes the arm instead of stopping "
                f"it; expected at most {MOST_DAMPING:g} times",
                f'safe_damping="auto" damps by the mass matrix, as much as every pose bears; in '
                f"numbers {steady} take at most half of any velocity: joints of little inertia "
                "allow little damping, more with a shorter sample_time or the inertia of their "
                "rotors",
            )

    @property
    def n(self) -> int:
        """Joints that it drives."""
        return len(self.robot.driven)

    @property
    def rows(self) -> int:
        """Of a reference: position, velocity and acceleration, or with jerk and snap."""
        return 1 + self.controller.derivatives

    def _resting(self, q: Sequence[float]) -> Any:
        """What `step` takes as wanted for rest at q: the time zero with a trajectory inside."""
        still = [0.0] * self.n
        return 0.0 if self.reference is not None else [list(q), *[still] * (self.rows - 1)]

    @property
    def model(self) -> "Robot":
        """The robot it computes with."""
        return self.controller.model or self.robot

    @property
    def finds_joints(self) -> bool:
        """Whether all joints of a closed mechanism are found at every sample."""
        uses = self.controller.needs_model or self.safe == "gravity"
        return bool(self.model.model.closures) and uses

    @cached_property
    def gains(self) -> dict[str, list[float]]:
        """Numbers of the controller, by name; only limits may be infinite."""
        found = finite_gains(self.controller, self.robot, "controller")
        return {k: [min(max(x, -NO_LIMIT), NO_LIMIT) for x in v] for k, v in found.items()}

    @cached_property
    def limits(self) -> list[float]:
        """Largest torque of every joint."""
        given = NO_LIMIT if self.limit is None else self.limit
        return [min(x, NO_LIMIT) for x in above_zero(given, "limit", self.robot, "torques")]

    @property
    def own_limits(self) -> list[float] | None:
        """Largest torques that the controller itself knows, None if it knows none."""
        own = getattr(self.controller, "limit", None)
        return None if own is None else per_joint(own, "limit", self.robot)

    @cached_property
    def jumps(self) -> list[float] | None:
        """Farthest that a joint can go in one sample time; None if anything may be."""
        if self.jump is None:
            return None
        return above_zero(self.jump, "jump", self.robot, "rad or m")

    @cached_property
    def damping(self) -> list[float]:
        """Damping of every joint in the safe state, if given in numbers."""
        given = self.safe_damping
        if not isinstance(given, str):
            return per_joint(given, "safe_damping", self.robot)
        one_of(given, (AUTO,), f"safe_damping is {given!r}, expected numbers or {AUTO!r}")
        return [0.0] * self.n

    @cached_property
    def brake(self) -> float:
        """k of the damping torque k M(q) qd in the safe state, 1/s; 0 unless it is "auto"."""
        if self.safe == "zero" or not isinstance(self.safe_damping, str):
            return 0.0
        return brake_rate(self.model, self.sample_time, self.velocity_filter)

    @cached_property
    def key(self) -> Key | None:
        """What decides the code besides the sizes of the gains; None if only tracing it tells."""
        code = code_key(self.controller)
        if self.reference is not None or code is None:
            return None
        timed = self.velocity != "measured" or self.safe != "zero"
        own = (
            self.velocity, self.velocity_filter, self.limit is None or self.limits, self.safe,
            self.damping, self.brake, self.ramp, self.latch, self.jumps, sorted(self.passive),
            self.sample_time if timed else None,
        )  # fmt: skip
        if self.finds_joints:  # the task of a mechanism depends on where it is at home
            own = (*own, {name: q.tolist() for name, q in self.model.configurations.items()})
        return code, text_of(self.model), repr(own)

    # state: `computer.*` is the law's own, `controller.*` that of the controller

    @cached_property
    def slots(self) -> dict[str, int]:
        """Names and sizes of the state."""
        rest = [0.0] * self.n
        return {k: len(v) for k, v in self.begun(rest, rest, self.gains, MATH).items()}

    @property
    def states(self) -> int:
        """How many numbers the state has."""
        return sum(self.slots.values())

    def _named(self, state: Sequence[Any]) -> dict[str, list[Any]]:
        """Parts of the state by name, from the state as one list."""
        return {name: list(state[place]) for name, place in slices(self.slots).items()}

    def begun(
        self, q: Sequence[Any], qd: Sequence[Any], gains: Values, fn: Functions,
        joints: Sequence[Any] | None = None,
    ) -> dict[str, list[Any]]:  # fmt: skip
        """The state before the first sample, by name; implausible numbers count as zero.

        `joints`: those of a closed mechanism on its way from home, where they were found before.
        """
        fine: Any = 1.0
        for v in q:
            fine = fine * _good(v)
        q, qd = ([fn.select(_good(v) > 0.0, v, 0.0) for v in x] for x in (q, qd))
        if self.velocity == "difference":  # nobody need fill them in
            qd = [0.0] * self.n
        first = Sample(0.0, q, qd, SimpleNamespace(**gains))
        arm, found = arm_of(self.model, fn, computer=True), {}
        if self.finds_joints:
            arm = drives_at_first(self.model, q, fn, joints)
            found = {f"computer.{k}": v for k, v in arm.memory.items()}
        own = begun(self.controller, arm, first)
        rate = 0.0 if self.velocity == "measured" else NO_SPEED
        return {
            "computer.last_q": list(q),
            "computer.speed": list(qd),
            "computer.bad": [0.0 * q[0]],
            "computer.unseen": [fn.select(fine > 0.0, rate, NOTHING)],
            **found,
            **{f"controller.{k}": v for k, v in own.items()},
        }

    def start(
        self, q: Sequence[Any], qd: Sequence[Any], fn: Functions,
        joints: Sequence[Any] | None = None,
    ) -> list[Any]:  # fmt: skip
        """The state before the first sample as one list: `init` of the exported code."""
        return [v for row in self.begun(q, qd, self.gains, fn, joints).values() for v in row]

    # one sample

    def step(
        self, state: Sequence[Any], q: Sequence[Any], qd: Sequence[Any], wanted: Any, fn: Functions
    ) -> tuple[list[Any], list[Any], Any]:
        """(torque, state, status); `wanted`: t with a trajectory inside, else q_d, qd_d, qdd_d
        (and jerk and snap, if the controller asks for them).

        `step` of the exported code.
        """
        t, reference = (wanted, None) if self.reference is not None else (UNKNOWN, wanted)
        given = self._named(state), t, q, qd, reference, self.gains, self.sample_time
        torque, after, status = self.stepped(*given, fn)
        return torque, [v for name in self.slots for v in after[name]], status

    def stepped(
        self,
        x: Mapping[str, list[Any]],
        t: Any,
        q: Sequence[Any],
        qd: Sequence[Any],
        wanted: Any,
        gains: Values,
        dt: Any,
        fn: Functions,
    ) -> tuple[list[Any], dict[str, list[Any]], Any]:
        """(torque, state by name, status) of one sample; `wanted` is not looked at if t decides.

        Nothing branches: what went wrong is a factor of 0 in `good`, and every torque is computed.
        """
        reference, fine = self._wanted(t, wanted, fn)
        seen, place, speed = self._measured(x, q, qd, reference.qd, fn)
        good = seen * fine * (x["computer.bad"][0] < float(self.latch))
        arm, found = self._model_at(x, place, fn)
        own = {k: x[k] for k in x if k.startswith("controller.")}
        before = SimpleNamespace(**{k.removeprefix("controller."): v for k, v in own.items()})
        sample = Sample(t, place, speed, SimpleNamespace(**gains), before, reference, dt)
        tau, after = stepped(self.controller, arm, sample)
        for v in tau:  # whatever went wrong inside; what is merely large is clipped
            good = good * _good(v, LARGEST_TORQUE if self.limit is None else NO_LIMIT)
        for i in sorted(self.passive):  # nothing drives it: a torque there is a mistake of the law
            good = good * (tau[i] == 0.0)
        safe = self._safe(x, place, speed, seen, arm, fn)
        torque, clipped = self._limited(tau, safe, good, fn)
        # an integral or an adaptation stays as it was while its torque does not act as computed
        learns = good * (clipped == 0.0) if self.limit is not None else good
        new = {**self._remembered(x, place, speed, seen, good, fn), **found}
        for k, old in own.items():
            pairs = zip(after[k.removeprefix("controller.")], old, strict=True)
            new[k] = [fn.select(learns > 0.0, a, b) for a, b in pairs]
        bad = new["computer.bad"][0]
        status = fn.select(bad >= float(self.latch), LATCHED, fn.select(bad > 0.0, BAD, RUNNING))
        return torque, new, status

    def _measured(
        self, x: Mapping[str, list[Any]], q: Sequence[Any], qd: Sequence[Any],
        wanted: Sequence[Any], fn: Functions,
    ) -> tuple[Any, list[Any], list[Any]]:  # fmt: skip
        """Whether a sample is plausible; positions, the last plausible ones if not; velocities."""
        seen: Any = 1.0
        for v in (*q, *(qd if self.velocity == "measured" else ())):
            seen = seen * _good(v)
        seen = seen * self._near(x, q, fn)
        place = [fn.select(seen > 0.0, a, b) for a, b in zip(q, x["computer.last_q"], strict=True)]
        return seen, place, self._speed(x, place, qd, wanted, seen, fn)

    def _model_at(
        self, x: Mapping[str, list[Any]], place: Sequence[Any], fn: Functions
    ) -> tuple[Arm, dict[str, list[Any]]]:
        """The model the controller computes with, and the joints found of a closed mechanism."""
        if not self.finds_joints:
            return arm_of(self.model, fn, computer=True), {}
        arm = drives_at(self.model, x["computer.joints"], place, fn)
        return arm, {f"computer.{k}": v for k, v in arm.memory.items()}

    def _limited(
        self, tau: Sequence[Any], safe: Sequence[Any], good: Any, fn: Functions
    ) -> tuple[list[Any], Any]:
        """Torques of the controller, or the safe ones, within limits; 1 if any was beyond them."""
        torque = []
        clipped: Any = 0.0
        for wished, other, most in zip(tau, safe, self.limits, strict=True):
            one = fn.select(good > 0.0, wished, fn.select(_good(other) > 0.0, other, 0.0))
            one = fn.max(-most, fn.min(one, most))
            torque.append(0.0 if len(torque) in self.passive else one)
            clipped = fn.max(clipped, 1.0 * (wished > most) + 1.0 * (wished < -most))
        return torque, clipped

    def _remembered(
        self, x: Mapping[str, list[Any]], place: list[Any], speed: Sequence[Any], seen: Any,
        good: Any, fn: Functions,
    ) -> dict[str, list[Any]]:  # fmt: skip
        """The law's own state after a sample: the last plausible reading, bad samples in a row."""
        unseen = x["computer.unseen"][0]
        bad = fn.select(good > 0.0, 0.0, x["computer.bad"][0] + 1.0)
        kept = [
            fn.select(seen > 0.0, a, b) for a, b in zip(speed, x["computer.speed"], strict=True)
        ]
        longer = fn.select(unseen < 0.0, unseen, unseen + 1.0)
        return {
            "computer.last_q": place,
            "computer.speed": kept,
            "computer.bad": [bad],
            "computer.unseen": [fn.select(seen > 0.0, 0.0, longer)],
        }

    def _wanted(self, t: Any, wanted: Any, fn: Functions) -> tuple[Any, Any]:
        """The reference with implausible numbers as zero, and whether there were none."""
        if self.reference is not None:
            fine = _good(t, LONGEST)
            t = fn.max(0.0, fn.select(fine > 0.0, t, 0.0))
            smooth = self.rows > len(Reference._fields)
            motion = self.reference.derivatives_at if smooth else self.reference.at
            return reference_of(motion(t, fn)), fine
        fine = 1.0
        for row in wanted:
            for v in row:
                fine = fine * _good(v)
        rows = [[fn.select(_good(v) > 0.0, v, 0.0) for v in row] for row in wanted]
        return reference_of(rows), fine

    def _near(self, x: Mapping[str, list[Any]], q: Sequence[Any], fn: Functions) -> Any:
        """1 where every joint can have come from where it was seen last; else 0."""
        near: Any = 1.0
        if self.jumps is None:
            return near
        unknown = 1.0 * (x["computer.unseen"][0] <= NOTHING)
        since = fn.max(1.0, 1.0 + x["computer.unseen"][0])
        for a, b, most in zip(q, x["computer.last_q"], self.jumps, strict=True):
            off = a - b
            near = near * fn.max(unknown, 1.0 * (off <= most * since) * (off >= -most * since))
        return near

    def _speed(
        self,
        x: Mapping[str, list[Any]],
        place: Sequence[Any],
        qd: Sequence[Any],
        wanted: Sequence[Any],
        seen: Any,
        fn: Functions,
    ) -> list[Any]:
        """Velocities of this sample: as measured, or from positions; zero where it is bad."""
        if self.velocity == "measured":
            return [fn.select(seen > 0.0, v, 0.0) for v in qd]
        # else there was no position before: what is wanted stands in
        known = x["computer.unseen"][0] >= 0.0
        since = self.sample_time * fn.max(1.0, 1.0 + x["computer.unseen"][0])
        pole = None
        if self.velocity_filter is not None:
            pole = float(np.exp(-2.0 * pi * self.velocity_filter * self.sample_time))
        rate = difference(place, x["computer.last_q"], since, x["computer.speed"], pole)
        rate = [fn.select(known, v, w) for v, w in zip(rate, wanted, strict=True)]
        return [fn.select(seen > 0.0, v, 0.0) for v in rate]

    def _safe(
        self,
        x: Mapping[str, list[Any]],
        q: Sequence[Any],
        qd: Sequence[Any],
        seen: Any,
        arm: Arm,
        fn: Functions,
    ) -> list[Any]:
        """Torque while something is wrong; nothing where no position was ever seen.

        Gravity compensation fades, the damping stays until it is gone: the arm sinks meanwhile.
        """
        if self.safe == "zero":
            return [0.0] * self.n
        left = fn.max(0.0, 1.0 - x["computer.bad"][0] * (self.sample_time / self.ramp))
        left = fn.select(fn.max(seen, 1.0 * (x["computer.unseen"][0] > NOTHING)) > 0.0, left, 0.0)
        g = arm.static_torque(q)
        if self.brake:
            braking = [self.brake * v for v in arm.mass_times(q, qd)]
        else:
            braking = [d * v for d, v in zip(self.damping, qd, strict=True)]
        on = 1.0 * (left > ROUNDING)
        rows = [left * a - on * b for a, b in zip(g, braking, strict=True)]
        own = self.own_limits
        if self.limit is not None or own is None:
            return rows
        return [fn.max(-most, fn.min(one, most)) for one, most in zip(rows, own, strict=True)]

    # programs

    def program(self) -> "Program":
        """One sample as a straight line of operations."""
        return self._program

    @cached_property
    def _program(self) -> "Program":
        n, size = self.n, self.states
        given = {"state": (size,), "q": (n,), "qd": (n,)}
        given |= {"reference": (self.rows, n)} if self.reference is None else {"t": (1,)}

        def function(state: Any, q: Any, qd: Any, wanted: Any, fn: Functions) -> Any:
            now = wanted[0] if self.reference is not None else wanted
            torque, after, status = self.step(state, q, qd, now, fn)
            return torque, after, [status]

        return traced("step", function, given, {"torque": (n,), "next": (size,), "status": (1,)})

    def start_program(self) -> "Program":
        """The start as a straight line of operations."""
        return self._started_program({})

    def _near_program(self) -> "Program":
        """The start with joints of a closed mechanism on their way from home as an argument."""
        return self._started_program({"joints": (self.model.n,)})

    def _started_program(self, more: Mapping[str, tuple[int, ...]]) -> "Program":
        given = {"q": (self.n,), "qd": (self.n,), **more}

        def function(q: Any, qd: Any, *rest: Any) -> Any:
            *joints, fn = rest
            return [self.start(q, qd, fn, *joints)]

        return traced("init", function, given, {"state": (self.states,)}, lean=False)

    def _approach_program(self) -> "Program":
        """One step of the joints of a closed mechanism on their way from home."""
        joints = (self.model.n,)
        given = {"joints": joints, "q": (self.n,), "share": (1,)}

        def function(before: Any, q: Any, share: Any, fn: Functions) -> Any:
            return [approach(self.model, before, q, share[0], fn)]

        return traced("approach", function, given, {"next": joints}, lean=False)


def _good(x: Any, most: float = PLAUSIBLE) -> Any:
    """1 for a plausible number, 0 for NaN and what is absurd."""
    return 1.0 * (abs(x) < most)
