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

from ..arguments import a_robot, is_word, positive, whole
from ..compile.arrays import numbers
from ..errors import OptionError, ShapeError, did_you_mean, shown
from ..lazy import cached_property
from ..spatial.functions import MATH, Functions
from ..trajectory.trajectory import Trajectory
from .computer import arm_of
from .controller import (
    Controller,
    Reference,
    Sample,
    Step,
    Values,
    begun,
    check_signatures,
    per_joint,
    stepped,
)

if TYPE_CHECKING:
    from ..compile.program import Program
    from ..robot import Robot

SAFE = ("zero", "gravity")
VELOCITIES = ("measured", "difference")
LATCH = 2  # bad samples in a row after which only a new start helps
PLAUSIBLE = 1e6  # rad, m, per second: beyond, or NaN, a sample is bad
LONGEST = 1e12  # s: beyond, a time is bad
MOST_LATCH = 1_000_000
NOTHING, NO_SPEED = -1.0, -0.5  # instead of a count of samples unseen: no position yet, no rate yet
NO_LIMIT = 1e300
RUNNING, BAD, LATCHED = 0.0, 1.0, 2.0  # status


@dataclass(frozen=True, eq=False)
class Law:
    """A controller of a robot at one sample time, ready to leave Python.

    `reference` is a trajectory to follow inside, or None: then it comes with every sample.
    `velocity` "difference" makes velocities from positions, low-passed at `velocity_filter` Hz.
    `limit` clips torques. `safe`: "zero" torque, or "gravity": gravity compensation with damping
    `safe_damping`, ramped down in `ramp` seconds. `latch` bad samples in a row make it stay.
    """

    controller: Controller
    robot: "Robot"
    sample_time: float
    reference: Trajectory | None = None
    velocity: str = "measured"
    velocity_filter: float | None = None
    limit: Any = None
    safe: str = "zero"
    safe_damping: Any = 0.0
    ramp: float = 1.0
    latch: int = LATCH
    jump: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.controller, Controller):
            raise OptionError(f"controller is {shown(self.controller)}, expected one of dy.control")
        check_signatures(self.controller)
        a_robot(self.robot)
        if self.reference is not None and not isinstance(self.reference, Trajectory):
            raise OptionError(
                f"reference is {shown(self.reference)}, expected a trajectory or None",
                "without one, the reference comes with every sample",
            )
        for name in ("sample_time", "ramp"):
            object.__setattr__(self, name, positive(getattr(self, name), name, "seconds"))
        object.__setattr__(self, "latch", whole(self.latch, "latch", most=MOST_LATCH))
        damping = numbers(self.safe_damping, "safe_damping", "expected one number or one per joint")
        if is_word(self.safe, ("zero",)) and (damping != 0.0).any():
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
        for name, known in (("safe", SAFE), ("velocity", VELOCITIES)):
            if not is_word(getattr(self, name), known):
                raise OptionError(
                    f"{name} is {getattr(self, name)!r}, expected one of {', '.join(known)}",
                    did_you_mean(getattr(self, name), known),
                )
        if self.reference is not None and self.reference.n != self.robot.n:
            raise ShapeError(
                f"the reference moves {self.reference.n} joints, robot {self.robot.name!r} has "
                f"{self.robot.n}"
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
            tightest = self.limits
            if self.controller.limit is not None:  # type: ignore[attr-defined]
                own = per_joint(self.controller.limit, "limit", self.robot)  # type: ignore[attr-defined]
                tightest = [min(pair) for pair in zip(own, tightest, strict=True)]
            object.__setattr__(self, "controller", replace(self.controller, limit=tightest))  # type: ignore[type-var]
        _ = self.gains, self.limits, self.jumps  # refuse wrong numbers now
        if not all(isfinite(x) for x in self.damping):
            raise OptionError(f"safe_damping is {self.safe_damping!r}, expected finite numbers")

    @property
    def n(self) -> int:
        """Joints."""
        return self.robot.n

    @cached_property
    def gains(self) -> dict[str, list[float]]:
        """Numbers of the controller, by name."""
        found = self.controller.gains(self.robot)
        return {k: [min(max(x, -NO_LIMIT), NO_LIMIT) for x in v] for k, v in found.items()}

    @cached_property
    def limits(self) -> list[float]:
        """Largest torque of every joint."""
        given = NO_LIMIT if self.limit is None else self.limit
        found = per_joint(given, "limit", self.robot)
        if not all(x > 0.0 for x in found):
            raise OptionError(f"limit is {self.limit!r}, expected torques above 0")
        return [min(x, NO_LIMIT) for x in found]

    @cached_property
    def jumps(self) -> list[float] | None:
        """Farthest that a joint can go in one sample time; None if anything may be."""
        if self.jump is None:
            return None
        found = per_joint(self.jump, "jump", self.robot)
        if not all(x > 0.0 for x in found):
            raise OptionError(f"jump is {self.jump!r}, expected rad or m above 0")
        return found

    @cached_property
    def damping(self) -> list[float]:
        """Damping of every joint in the safe state."""
        return per_joint(self.safe_damping, "safe_damping", self.robot)

    # state

    @cached_property
    def slots(self) -> dict[str, int]:
        """Names and sizes of the state."""
        rest = [0.0] * self.n
        return {k: len(v) for k, v in self._start(rest, rest, MATH).items()}

    @property
    def states(self) -> int:
        """Numbers of the state."""
        return sum(self.slots.values())

    def _start(self, q: Sequence[Any], qd: Sequence[Any], fn: Functions) -> dict[str, list[Any]]:
        sample = Sample(0.0, q, qd, SimpleNamespace(**self.gains))
        first = begun(self.controller, arm_of(self.controller.model or self.robot, fn), sample)
        own = {"last_q": list(q), "speed": list(qd), "bad": [0.0 * q[0]], "unseen": [0.0 * q[0]]}
        return {**own, **{f"law.{k}": v for k, v in first.items()}}

    def _named(self, state: Sequence[Any]) -> dict[str, list[Any]]:
        """The state by name."""
        found, start = {}, 0
        for name, size in self.slots.items():
            found[name] = list(state[start : start + size])
            start += size
        return found

    def start(self, q: Sequence[Any], qd: Sequence[Any], fn: Functions) -> list[Any]:
        """The state before the first sample; implausible numbers count as zero."""
        fine: Any = 1.0
        for v in q:
            fine = fine * _good(v, fn)
        q, qd = ([fn.select(_good(v, fn) > 0.0, v, 0.0) for v in x] for x in (q, qd))
        if self.velocity == "difference":  # nobody need fill them in
            qd = [0.0] * self.n
        first = self._start(q, qd, fn)
        rate = 0.0 if self.velocity == "measured" else NO_SPEED
        first["unseen"] = [fn.select(fine > 0.0, rate, NOTHING)]
        return [v for row in first.values() for v in row]

    # one sample

    def step(
        self, state: Sequence[Any], q: Sequence[Any], qd: Sequence[Any], wanted: Any, fn: Functions
    ) -> tuple[list[Any], list[Any], Any]:
        """(torque, state, status); `wanted`: t with a trajectory inside, else q_d, qd_d, qdd_d."""
        x, dt = self._named(state), self.sample_time
        reference, fine = self._wanted(wanted, fn)
        seen: Any = 1.0
        for v in (*q, *(qd if self.velocity == "measured" else ())):
            seen = seen * _good(v, fn)
        seen = seen * self._near(x, q, fn)
        place = [fn.select(seen > 0.0, a, b) for a, b in zip(q, x["last_q"], strict=True)]
        speed = self._speed(x, place, qd, reference.qd, seen, fn)
        good = seen * fine * (x["bad"][0] < float(self.latch))
        arm = arm_of(self.controller.model or self.robot, fn)
        gains = SimpleNamespace(**self.gains)
        own = {k.removeprefix("law."): v for k, v in x.items() if k.startswith("law.")}
        sample = Sample(0.0, place, speed, gains, SimpleNamespace(**own), reference, dt)
        tau, after = stepped(self.controller, arm, sample)
        for v in tau:  # whatever went wrong inside; what is merely large is clipped
            good = good * _good(v, fn, PLAUSIBLE if self.limit is None else NO_LIMIT)
        safe = self._safe(x, place, speed, seen, arm, fn)
        torque = []
        clipped: Any = 0.0
        for wished, other, most in zip(tau, safe, self.limits, strict=True):
            one = fn.select(good > 0.0, wished, fn.select(_good(other, fn) > 0.0, other, 0.0))
            torque.append(fn.max(-most, fn.min(one, most)))
            clipped = fn.max(clipped, 1.0 * (wished > most) + 1.0 * (wished < -most))
        learns = good * (clipped == 0.0) if self.limit is not None else good
        bad = fn.select(good > 0.0, 0.0, x["bad"][0] + 1.0)
        kept = [fn.select(seen > 0.0, a, b) for a, b in zip(speed, x["speed"], strict=True)]
        longer = fn.select(x["unseen"][0] < 0.0, x["unseen"][0], x["unseen"][0] + 1.0)
        unseen = fn.select(seen > 0.0, 0.0, longer)
        new = {"last_q": place, "speed": kept, "bad": [bad], "unseen": [unseen]}
        new |= {
            f"law.{k}": [fn.select(learns > 0.0, a, b) for a, b in zip(v, own[k], strict=True)]
            for k, v in after.items()
        }
        status = fn.select(bad >= float(self.latch), LATCHED, fn.select(bad > 0.0, BAD, RUNNING))
        return torque, [v for name in self.slots for v in new[name]], status

    def _wanted(self, wanted: Any, fn: Functions) -> tuple[Reference, Any]:
        """The reference with implausible numbers as zero, and whether there were none."""
        if self.reference is not None:
            fine = _good(wanted, fn, LONGEST)
            t = fn.max(0.0, fn.select(fine > 0.0, wanted, 0.0))
            return Reference(*self.reference.at(t, fn)), fine
        fine = 1.0
        for row in wanted:
            for v in row:
                fine = fine * _good(v, fn)
        rows = [[fn.select(_good(v, fn) > 0.0, v, 0.0) for v in row] for row in wanted]
        return Reference(*rows), fine

    def _near(self, x: Mapping[str, list], q: Sequence[Any], fn: Functions) -> Any:
        """1 where every joint can have come from where it was seen last; else 0."""
        near: Any = 1.0
        if self.jumps is None:
            return near
        unknown = 1.0 * (x["unseen"][0] <= NOTHING)
        since = fn.max(1.0, 1.0 + x["unseen"][0])
        for a, b, most in zip(q, x["last_q"], self.jumps, strict=True):
            off = a - b
            near = near * fn.max(unknown, 1.0 * (off <= most * since) * (off >= -most * since))
        return near

    def _speed(
        self,
        x: Mapping[str, list],
        place: Sequence[Any],
        qd: Sequence[Any],
        wanted: Sequence[Any],
        seen: Any,
        fn: Functions,
    ) -> list[Any]:
        if self.velocity == "measured":
            return [fn.select(seen > 0.0, v, 0.0) for v in qd]
        known = x["unseen"][0] >= 0.0  # else there was no position before: what is wanted stands in
        since = self.sample_time * fn.max(1.0, 1.0 + x["unseen"][0])
        rate = [(a - b) / since for a, b in zip(place, x["last_q"], strict=True)]
        if self.velocity_filter is not None:
            pole = float(np.exp(-2.0 * pi * self.velocity_filter * self.sample_time))
            rate = [pole * old + (1.0 - pole) * v for old, v in zip(x["speed"], rate, strict=True)]
        rate = [fn.select(known, v, w) for v, w in zip(rate, wanted, strict=True)]
        return [fn.select(seen > 0.0, v, 0.0) for v in rate]

    def _safe(self, x: Mapping, q: Any, qd: Any, seen: Any, arm: Any, fn: Functions) -> list[Any]:
        """Torque while something is wrong; nothing where no position was ever seen."""
        if self.safe == "zero":
            return [0.0] * self.n
        left = fn.max(0.0, 1.0 - x["bad"][0] * (self.sample_time / self.ramp))
        left = fn.select(fn.max(seen, 1.0 * (x["unseen"][0] > NOTHING)) > 0.0, left, 0.0)
        g = arm.gravity_torque(q)
        return [left * (a - d * v) for a, d, v in zip(g, self.damping, qd, strict=True)]

    # programs

    def program(self) -> "Program":
        """One sample as a straight line of operations."""
        return self._program

    @cached_property
    def _program(self) -> "Program":
        from ..compile.optimise import share_reciprocals
        from ..compile.program import Port
        from ..compile.tracer import trace

        n = self.n
        ports = [Port("state", (self.states,)), Port("q", (n,)), Port("qd", (n,))]
        ports.append(Port("t", (1,)) if self.reference is not None else Port("reference", (3, n)))
        results = [Port("torque", (n,)), Port("next", (self.states,)), Port("status", (1,))]

        def function(state: Any, q: Any, qd: Any, wanted: Any, fn: Functions) -> Any:
            given = wanted[0] if self.reference is not None else wanted
            torque, after, status = self.step(state, q, qd, given, fn)
            return torque, after, [status]

        return share_reciprocals(trace("step", function, ports, results))

    def start_program(self) -> "Program":
        """The start as a straight line of operations."""
        from ..compile.program import Port
        from ..compile.tracer import trace

        ports = [Port("q", (self.n,)), Port("qd", (self.n,))]
        return trace("init", self.start, ports, [Port("state", (self.states,))])


@dataclass(frozen=True)
class SimulatedLaw(Controller):
    """A law in a simulation: its own step, the operations that are exported, safe state included.

    Its state has the names of the law's; `status` is that of the last sample.
    """

    law: Law
    model: "Robot | None" = None
    sample_time: float | None = None

    @property
    def needs_reference(self) -> bool:  # type: ignore[override]
        """Unless a trajectory is inside."""
        return self.law.reference is None

    @property
    def key(self) -> None:
        """What decides its code is the program alone."""
        return

    def gains(self, robot: "Robot") -> Values:
        """None that could change without the code: they are numbers in it."""
        if robot.n != self.law.n:
            raise ShapeError(
                f"the law drives {self.law.n} joints, robot {robot.name!r} has {robot.n}"
            )
        return {}

    def start(self, arm: Any, sample: Sample) -> Values:
        """As `init` of the exported code."""
        values = self.law.start(sample.q, sample.qd, arm.fn)
        return {**self.law._named(values), "status": [0.0 * values[0]]}

    def step(self, arm: Any, sample: Sample) -> Step:
        """As `step` of the exported code."""
        state = [v for name in self.law.slots for v in getattr(sample.state, name)]
        wanted = sample.t if self.law.reference is not None else sample.reference
        torque, after, status = self.law.step(state, sample.q, sample.qd, wanted, arm.fn)
        return torque, {**self.law._named(after), "status": [status]}


def _good(x: Any, fn: Functions, most: float = PLAUSIBLE) -> Any:
    """1 for a plausible number, 0 for NaN and what is absurd."""
    return 1.0 * (x > -most) * (x < most)
