"""Sampled gains on an elastic arm: whether the closed loop rings or grows at a resonance.

The arm is linear about rest at q, as `linearise` has it, teeth in contact; the law is its gains
there, u = -K y - D y', held for a sample of length h, y being what its encoders see: motors, or
links. A mode of the loop with eigenvalue z in a sample has s = ln(z) / h,

    frequency |Im s| / 2 pi,    damping ratio -Re s / |s|
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked
from ..dynamics.elastic import coordinate
from ..dynamics.elements import friction
from ..errors import DynamisError, OptionError, shown, warn
from ..lazy import once
from ..model.check.finding import Finding
from .controller import Controller, Gain, one_position
from .law import Law
from .linearise import linearise
from .sensors import Sensors
from .stability import LawMemory, SampledArm, closed_loop, gains_at, memory_at

if TYPE_CHECKING:
    from ..robot import Robot

RINGS = 0.05  # damping ratio below which a mode is said to ring
STEADY = -1e-6  # damping ratio below which a mode grows; between is rounding
BENDS = 0.5  # share of a mode that is deflection, from which on the gears ring, not the arm
LIGHT = 2.0  # times its velocity that a sample may take from a motor alone
FACTORS = 0.9 ** np.arange(1, 45)  # of gains that are tried, down to a hundredth
FASTEST_MODE = 3.0  # rad per sample: faster ones are those of filters
USUAL = 1e-3  # s: a sample time where none is given
HELD = 0.5  # of the lowest resonance with motors held, up to which a rigid bandwidth suits
UNSURE = (0.8, 1.2)  # of the stiffness that a law knows: what it must bear
SHORTER = (0.5, 0.2, 0.1)  # of the sample time that are tried


class NamedArm(NamedTuple):
    """An elastic arm over one sample, and the names of its states in that order."""

    arm: SampledArm
    states: tuple[str, ...]

    def positions(self, vectors: np.ndarray, joints: Sequence[int]) -> np.ndarray:
        """Positions of links and of motors of these joints in modes in columns, (2, n, modes)."""
        links = [self.states.index(f"q{k + 1}") for k in joints]
        motors = [
            self.states.index(x) if (x := f"motor{k + 1}") in self.states else link
            for k, link in zip(joints, links, strict=True)
        ]
        return np.stack([vectors[links], vectors[motors]])


class Mode(NamedTuple):
    """The mode of a closed loop that grows fastest, else that with the least damping."""

    drive: int
    frequency: float  # Hz
    damping: float  # ratio; negative: it grows


class LoopMode(NamedTuple):
    """An oscillation of a closed loop."""

    frequency: float  # Hz, damped
    damping: float  # ratio; negative: it grows


class ClosedLoopMode(NamedTuple):
    """A mode of gains and elastic joints that rings or grows, in numbers and in words."""

    joint: str
    frequency: float  # Hz
    damping: float  # ratio; negative: it grows
    what: str
    remedy: str

    @property
    def grows(self) -> bool:
        """Whether it is unstable."""
        return self.damping < STEADY

    def growth(self, duration: float) -> float:
        """How many times as large it becomes in so many seconds."""
        return _growth(self.frequency, self.damping, duration)

    @property
    def text(self) -> str:
        """Joint, what happens, and what to do."""
        return f"joint {self.joint!r}: {self.what}; {self.remedy}"

    @property
    def finding(self) -> Finding:
        """It as a finding: an error where it grows."""
        level = "error" if self.grows else "warning"
        return Finding(level, f"joint {self.joint!r}", self.what, self.remedy)


@dataclass(frozen=True)
class ElasticLoop:
    """A sampled law on an elastic arm at rest at q (n,), seen through sensors, with a delay (s)."""

    law: "Law"
    robot: "Robot"
    q: np.ndarray
    delay: float = 0.0
    sensors: "Sensors | None" = None

    @property
    def side(self) -> str:
        """The side that the encoders are on."""
        return "motor" if self.sensors is None else self.sensors.side

    def mode(self) -> ClosedLoopMode | None:
        """The worst mode that rings or grows; None where none does, or nothing is known of it."""
        robot = self.robot
        if not robot.chain.elastic or sorted(robot.driven) != sorted(robot.independent):
            return None
        try:
            arm, (K, D, memory) = self._arm(self.side), self._law()
        except DynamisError:  # no linear model there, a law that needs more than a state at rest
            return None
        found = self._worst(K, D, arm, memory=memory)
        if found is None or found.damping > RINGS:
            return None
        if memory is not None:
            remedy = "lower its bandwidth, or give the gear more damping"
            what = self._of_law(found)
            name = robot.drive_names[found.drive]
            return ClosedLoopMode(name, found.frequency, found.damping, what, remedy)
        return ClosedLoopMode(
            robot.drive_names[found.drive],
            found.frequency,
            found.damping,
            self._what(found, K, D),
            self._remedy(found, K, D, arm),
        )

    def modes(self) -> list["LoopMode"]:
        """Every oscillation of the loop, lowest frequency first."""
        arm, (K, D, memory) = self._arm(self.side), self._law()
        _, s = self._eigenvalues(K, D, arm, 1.0, memory)
        s = s[(s.imag > 1e-9 * np.abs(s)) & (np.abs(s) < FASTEST_MODE / self.law.sample_time)]
        found = [LoopMode(float(x.imag / math.tau), float(-x.real / abs(x))) for x in s]
        return sorted(found)

    def _law(self) -> tuple[np.ndarray, np.ndarray, LawMemory | None]:
        """Gains of the law at rest, and its memory if they do not say all."""
        drives = self.q[list(self.robot.driven)]
        if self.law.controller.dynamic:
            return memory_at(self.law, drives)
        return *gains_at(self.law, drives), None

    def _eigenvalues(
        self, K: np.ndarray, D: np.ndarray, arm: NamedArm, shorter: float, memory: LawMemory | None
    ) -> tuple[np.ndarray, Any]:
        """Eigenvectors of a sample of the loop in columns, and s = ln(z) / h of each."""
        h = shorter * self.law.sample_time
        A = closed_loop(K, D, arm.arm, h, *self._velocity(h), memory)
        if not np.isfinite(A).all():
            raise OptionError("the torque of the law at rest is not finite")
        values, vectors = np.linalg.eig(A)
        found: Any = np.log(np.where(np.abs(values) > 0.0, values, 1e-300).astype(complex)) / h
        return vectors, found

    def _arm(self, side: str, shorter: float = 1.0) -> NamedArm:
        return sampled_arm(self.robot, self.q, shorter * self.law.sample_time, self.delay, side)

    def _worst(
        self, K: np.ndarray, D: np.ndarray, arm: NamedArm, shorter: float = 1.0,
        memory: LawMemory | None = None,
    ) -> Mode | None:  # fmt: skip
        """The mode that grows fastest; else the least damped of those that bend the gears."""
        try:
            vectors, s = self._eigenvalues(K, D, arm, shorter, memory)
        except OptionError:
            return None
        zeta = -s.real / np.maximum(np.abs(s), 1e-300)
        sides = arm.positions(vectors, self.robot.driven)
        most = np.maximum(np.abs(sides).max(axis=(0, 1)), 1e-300)
        share = np.abs(sides[1] - sides[0]).max(axis=0) / most
        turning = s.imag > 1e-9 * np.abs(s)
        considered = turning & ((share > BENDS) | (zeta < STEADY))
        if not considered.any():
            return None
        grows = considered & (zeta < STEADY)
        order = np.where(grows, -s.real, np.inf) if grows.any() else np.where(considered, zeta, 2.0)
        k = int(np.argmin(order))
        drive = int(np.argmax(np.abs(sides[:, :, k]).max(axis=0)))
        return Mode(drive, float(s[k].imag / math.tau), float(zeta[k]))

    def _velocity(self, h: float) -> tuple[bool, float]:
        """Whether velocities are differences of positions, and the pole of their filter."""
        law, sensors, cutoff = self.law, self.sensors, None
        differs = law.velocity == "difference"
        if differs:
            cutoff = law.velocity_filter
        elif sensors is not None and sensors.velocity == "difference":
            differs, cutoff = True, sensors.velocity_filter
        return differs, 0.0 if cutoff is None else math.exp(-math.tau * cutoff * h)

    # in words

    def _what(self, mode: Mode, K: np.ndarray, D: np.ndarray) -> str:
        h, k = self.law.sample_time, mode.drive
        times = float(D[k, k]) * h / self._rotor(k)
        at_once = self.side == "motor" and not self.delay and not self._velocity(h)[0]
        if mode.damping < STEADY and at_once and times > LIGHT:
            unit = "kg m^2" if self._revolute(k) else "kg"
            return (
                f"every {h:g} s the controller takes {times:.3g} times the velocity of its motor "
                f"away (at most {LIGHT:g} times is stable), and an oscillation grows: behind an "
                f"elastic gear the rotor alone counts, {self._rotor(k):.3g} {unit} at the joint"
            )
        gains = f"position gain {self._stiffness(K[k, k], k)}, "
        gains += f"velocity gain {self._rate(D[k, k], k)}"
        if mode.damping < STEADY:
            times = _growth(mode.frequency, mode.damping, 1.0 / mode.frequency)
            does = f"grows {times:.3g} times a period"
        else:
            does = f"rings with a damping ratio of {max(mode.damping, 0.0):.2g}"
        return (
            f"an oscillation of its elastic gear at {mode.frequency:.3g} Hz {does} under the gains "
            f"({gains}), sampled every {h:g} s from the {self.side} side"
        )

    def _of_law(self, mode: Mode) -> str:
        """A mode of a law with a filter or an observer."""
        does = f"rings with a damping ratio of {max(mode.damping, 0.0):.2g}"
        if mode.damping < STEADY:
            times = _growth(mode.frequency, mode.damping, 1.0 / mode.frequency)
            does = f"grows {times:.3g} times a period"
        return (
            f"an oscillation of its elastic gear at {mode.frequency:.3g} Hz {does} under "
            f"{type(self.law.controller).__name__}, sampled every {self.law.sample_time:g} s from "
            f"the {self.side} side"
        )

    def _stiffness(self, gain: float, drive: int) -> str:
        return f"{gain:.3g} {'N m/rad' if self._revolute(drive) else 'N/m'}"

    def _rate(self, gain: float, drive: int) -> str:
        return f"{gain:.3g} {'N m s/rad' if self._revolute(drive) else 'N s/m'}"

    def _revolute(self, drive: int) -> bool:
        return self.robot.joint_kinds[self.robot.driven[drive]] == "revolute"

    def _rotor(self, drive: int) -> float:
        """Inertia of a motor behind an elastic gear, at the joint; of a rigid one, endless."""
        chain, joint = self.robot.chain, self.robot.driven[drive]
        gears = (x for x in chain.elastic if coordinate(chain, x) == joint)
        return next((float(chain.motors[x.joint].inertia) for x in gears), math.inf)

    def _remedy(self, mode: Mode, K: np.ndarray, D: np.ndarray, arm: NamedArm) -> str:
        """The least change after which nothing rings, or at least nothing grows."""
        for least in (RINGS, 0.0) if mode.damping < STEADY else (RINGS,):
            if said := self._change(mode, K, D, arm, least):
                return said
        if mode.damping < STEADY:
            return "lower the gains, or give the gear more damping"
        return "move more slowly than the oscillation, or give the gear more damping"

    def _change(self, mode: Mode, K: np.ndarray, D: np.ndarray, arm: NamedArm, least: float) -> str:
        """The first change of sensors, gains or samples with so much damping, in words; or ""."""

        def does(found: Mode | None) -> bool:
            return found is None or found.damping > least

        if self.side == "link":
            at_motor = replace(self, sensors=None)
            if does(at_motor._worst(K, D, self._arm("motor"))):
                return 'put the encoders on the motors, Sensors(side="motor"), or lower the gains'
        for lower in _lower(K, D, mode.drive):
            if does(self._worst(lower.K, lower.D, arm)):
                return self._lowered(mode.drive, lower)
        for shorter in SHORTER if not self.delay else ():
            if does(self._worst(K, D, self._arm(self.side, shorter), shorter)):
                return f"use sample_time={shorter * self.law.sample_time:g}"
        return ""

    def _lowered(self, drive: int, lower: "LowerGains") -> str:
        """Lower gains in words."""
        whose = "every joint" if lower.every else f"joint {self.robot.drive_names[drive]!r}"
        many = lower.every or " and " in lower.which
        said = f"lower the {lower.which} of {whose} to {lower.factor:.2g} times what "
        said += "they are" if many else "it is"
        if lower.which == "velocity gain" and not lower.every:
            said += f", {self._rate(lower.D[drive, drive], drive)}"
        return said


class LowerGains(NamedTuple):
    """Gains of which some are lower by a factor."""

    factor: float
    which: str
    every: bool  # of every joint, not of one
    K: np.ndarray
    D: np.ndarray


def _lower(K: np.ndarray, D: np.ndarray, drive: int) -> Iterator[LowerGains]:
    """Lower gains, the least change first."""
    for factor in map(float, FACTORS):
        for every in (False, True):
            scale = np.full((len(K), 1), factor if every else 1.0)
            scale[drive] = factor
            yield LowerGains(factor, "velocity gain", every, K, scale * D)
            yield LowerGains(factor, "position gain", every, scale * K, D)
            yield LowerGains(factor, "position and velocity gains", every, scale * K, scale * D)


@checked
def closed_loop_modes(
    robot: "Robot",
    controller: Controller,
    q: Any = None,
    sample_time: float | None = None,
    delay: float = 0.0,
    sensors: "Sensors | None" = None,
) -> list[LoopMode]:
    """(frequency in Hz, damping ratio) of every oscillation of a sampled loop about rest at q.

    Lowest first. For `dy.trajectory.zvd`: a reference shaped with the lowest ones leaves the arm at
    rest. `sample_time` is that of the controller (1 ms unless it has one), `delay` in seconds.
    """
    law = Law(controller, robot, sample_time or controller.sample_time or USUAL)
    if sensors is not None and not isinstance(sensors, Sensors):
        raise OptionError(f"sensors is {shown(sensors)}, expected dy.Sensors(...)")
    if not 0.0 <= delay <= law.sample_time:
        raise OptionError(f"delay is {delay:g} s, expected 0 to a sample, {law.sample_time:g} s")
    if sorted(robot.driven) != sorted(robot.independent):
        raise OptionError(
            f"the drives of robot {robot.name!r} are not its coordinates, whose modes these are"
        )
    return ElasticLoop(law, robot, one_position(robot, q), delay, sensors).modes()


def warn_of_bandwidth(robot: "Robot", law: Controller, bandwidth: Gain) -> None:
    """Say which resonance limits the bandwidth of a law for the rigid arm, and to what."""
    q = one_position(robot)
    try:
        found = robot.resonances(q)
        loop = ElasticLoop(Law(law, robot, law.sample_time or USUAL), robot, q)
        mode = loop.mode()
    except DynamisError:  # nothing is known of it there
        return
    if mode is not None and mode.grows:
        warn(f"bandwidth {_numbers(bandwidth)} rad/s: {mode.text}")
        return
    lowest = float(found.locked[0])
    most, asked = HELD * math.tau * lowest, float(np.max(bandwidth))
    if asked <= most or law.knows_gears:
        return
    joint = robot.joint_names[int(np.argmax(np.abs(found.locked_modes[0])))]
    warn(
        f"bandwidth {_numbers(bandwidth)} rad/s: with motors that hold still joint {joint!r} "
        f"swings at {lowest:.3g} Hz ({math.tau * lowest:.3g} rad/s) on its elastic gear, and the "
        f"gains do not damp that; up to {most:.2g} rad/s, half of it, the arm moves rigidly, "
        "beyond take dy.control.StateFeedback, FlatnessFeedForward, or dy.trajectory.zvd"
    )


def warn_of_stiffness(robot: "Robot", law: Controller, q: np.ndarray, bandwidth: Gain) -> None:
    """Say that a law becomes unstable where elastic gears differ a little from those it knows."""
    known = law if law.model is not None else replace(law, model=robot)  # type: ignore[type-var]
    for share in UNSURE if robot.chain.elastic else ():
        real: Any = robot
        for gear in robot.chain.elastic:
            joint = robot.model.links[gear.joint].joint_name
            real = real.with_drive(joint, stiffness=share * gear.stiffness)
        mode = ElasticLoop(Law(known, real, law.sample_time or USUAL), real, q).mode()
        if mode is not None and mode.grows:
            warn(
                f"bandwidth {_numbers(bandwidth)} rad/s: with gears {share:g} times as stiff as "
                f"those of the model an oscillation of joint {mode.joint!r} at "
                f"{mode.frequency:.3g} Hz grows; give another bandwidth or observer, or be sure of "
                "the stiffness"
            )
            return


def _numbers(values: Gain) -> str:
    return ", ".join(f"{x:g}" for x in np.ravel(values))


def sampled_arm(
    robot: "Robot", q: np.ndarray, h: float, delay: float = 0.0, side: str = "motor"
) -> NamedArm:
    """The arm over one sample about rest at q: what encoders on a side see of its drives first.

    Teeth of gears with backlash are in contact, friction slides: its springs hold small motions
    only, and no law may rely on them.
    """
    whole = linearise(_sliding(_without_gaps(robot)), q)
    first = [f"{side}{k + 1}" if side == "motor" else f"q{k + 1}" for k in robot.driven]
    seen = [
        whole.states.index(x if x in whole.states else f"q{k + 1}")
        for x, k in zip(first, robot.driven, strict=True)
    ]
    order = [*seen, *(k + len(whole.states) // 2 for k in seen)]
    order += [k for k in range(len(whole.states)) if k not in order]
    inputs = [whole.inputs.index(f"tau{k + 1}") for k in robot.driven]
    step, rest = whole.discrete(h), h - delay
    after = whole.discrete(rest) if rest > 0.0 else None
    B = np.zeros(step.B.shape) if after is None else after.B
    before = step.B - B  # exact: what the input of the whole sample does, less that of its end
    arm = SampledArm(
        step.A[np.ix_(order, order)], B[np.ix_(order, inputs)], before[np.ix_(order, inputs)]
    )
    return NamedArm(arm, tuple(whole.states[k] for k in order))


def _growth(frequency: float, damping: float, duration: float) -> float:
    """How many times as large an oscillation becomes: exp(-zeta |s| t), |Im s| = 2 pi f."""
    rate = math.tau * frequency / math.sqrt(max(1.0 - damping * damping, 1e-12))
    return math.exp(min(-damping * rate * duration, 700.0))


def _sliding(robot: "Robot") -> "Robot":
    """The robot whose friction slides at once."""

    def made() -> "Robot":
        links = []
        for link in robot.model.links:
            bristles = link.friction.law == "lugre"
            law = {"law": "coulomb", "constants": {}} if bristles else {}
            links.append(replace(link, friction=replace(link.friction, memory=None, **law)))
        return type(robot)(replace(robot.model, links=tuple(links)))

    remembers = any(any(friction.presliding(r)) for r in robot.chain.resistances)
    return once(robot, "without memory", made) if remembers else robot


def _without_gaps(robot: "Robot") -> "Robot":
    """The robot with its teeth in contact."""

    def made() -> "Robot":
        found: Any = robot
        for gear in robot.chain.with_backlash:
            found = found.with_drive(robot.model.links[gear.joint].joint_name, backlash=0.0)
        return found

    return once(robot, "without gaps", made) if robot.chain.with_backlash else robot
