"""Numbers of a board on a robot: one channel per joint, everything in counts and codes."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...errors import ModelError, OptionError
from .board import Board
from .devices import AnalogInput, AnalogOutput, Potentiometer, Resolver

if TYPE_CHECKING:
    from ...robot import Robot

FASTEST = 100.0  # turns a second: what a motor is taken to reach, unless `jump` says
SLOWEST = 50.0  # and what it must be allowed to
SAFE = 0.45  # of a counter, in a sample
SPREAD = 6.0  # standard deviations that a reading may be off
SURE = 0.4  # of a motor turn: how far a start by potentiometer may be off
LEAST = 2  # counts


class Track(NamedTuple):
    """A potentiometer through its converter, in counts of the encoder: count = base + rate code."""

    base: float
    rate: float
    lowest: float  # codes that the wiper can give where it has contact
    highest: float
    noise: float  # counts: what a reading may be off


class Channel(NamedTuple):
    """One joint: position = zero + scale count; torque = per_volt volts."""

    zero: float
    scale: float  # joint per count
    counts: float  # of a motor turn
    modulus: float  # of the counter
    index: float | None
    absolute: bool  # within a turn
    farthest: float  # counts in a sample
    track: Track | None
    parked: float  # count where the joint is parked, without a potentiometer
    lowest: float  # volts of code 0 of the output
    step: float  # volts of a code
    codes: float  # the highest
    most: float  # volts that may be asked for, either way
    per_volt: float  # torque of the joint

    @property
    def apart(self) -> float:
        """Counts that potentiometer and encoder may differ by."""
        return 0.5 * self.counts + (0.0 if self.track is None else self.track.noise)

    @property
    def searched(self) -> bool:
        """Whether its index is searched at the start."""
        return self.index is not None and not self.absolute


def channels(
    board: Board, robot: "Robot", sample_time: float, jumps: list[float] | None = None
) -> tuple[Channel, ...]:
    """The channels of a board on a robot; `jumps`: the farthest a joint may go in a sample."""
    _refuse_other_arms(robot)
    n, found = robot.n, []
    rows = {
        name: board.of_joints(name, n)
        for name in ("encoders", "potentiometers", "inputs", "outputs", "parked")
    }
    for i, name in enumerate(robot.joint_names):
        motor, encoder = robot.chain.motors[i], rows["encoders"][i]
        output, potentiometer = rows["outputs"][i], rows["potentiometers"][i]
        circuit = motor.circuit
        amplifier = None if circuit is None else circuit.amplifier_gain
        if circuit is None or amplifier is None:
            word = "torque_constant" if circuit is None else "amplifier_gain"
            raise OptionError(
                f"the drive of joint {name!r} has no {word}: volts are torque by nothing",
                "dy.Drive(torque_constant=... (N m/A), amplifier_gain=... (A/V), gear=...)",
            )
        scale = encoder.direction * math.tau / (encoder.counts * motor.gear)
        absolute = isinstance(encoder, Resolver)
        modulus = float(encoder.counts if absolute else 2**encoder.bits)
        usual = FASTEST * sample_time * encoder.counts
        far = min(usual, SAFE * modulus) if jumps is None else jumps[i] / abs(scale)
        if not far < 0.5 * modulus or (jumps is None and far < SLOWEST / FASTEST * usual):
            raise OptionError(
                f"the counter of joint {name!r} wraps every {modulus:g} counts, and its motor may "
                f"turn {max(far, usual):.4g} in a sample: which way is lost",
                "sample faster, give a counter with more bits, or jump= (rad or m in a sample)",
            )
        most = min(_reach(output), math.inf if circuit.current_limit is None
                   else circuit.current_limit / amplifier)  # fmt: skip
        track = None
        if potentiometer is not None:
            track = _track(potentiometer, rows["inputs"][i], encoder.zero, scale)
        found.append(Channel(
            zero=encoder.zero,
            scale=scale,
            counts=float(encoder.counts),
            modulus=modulus,
            index=None if encoder.index is None else float(encoder.index),
            absolute=absolute,
            farthest=max(far, float(LEAST)),
            track=track,
            parked=0.0 if track is not None
            else math.floor((rows["parked"][i] - encoder.zero) / scale + 0.5),
            lowest=output.lowest,
            step=output.step,
            codes=float(2**output.bits - 1),
            most=most,
            per_volt=circuit.torque_constant * amplifier * motor.gear,
        ))  # fmt: skip
    return tuple(found)


def _refuse_other_arms(robot: "Robot") -> None:
    if robot.model.closures or len(robot.active) != robot.n:
        raise OptionError(
            f"robot {robot.name!r} has closures or joints without a drive: a board measures arms "
            "whose joints all have a motor of their own"
        )
    if any(motor.coupled for motor in robot.chain.motors) or len(robot.chain.motors) != robot.n:
        raise OptionError(
            f"robot {robot.name!r} has motors that turn several joints (gear_matrix or mimic): a "
            "board measures arms whose joints have a motor each"
        )


def _reach(output: AnalogOutput) -> float:
    """Volts that a converter reaches to both sides."""
    low, high = output.lowest, output.lowest + output.step * (2**output.bits - 1)
    reach = min(-low, high)
    if not reach > 0.0:
        raise ModelError(
            f"output.range {output.range} does not reach to both sides of 0 V: the arm could be "
            "driven one way only"
        )
    return reach


def _track(pot: Potentiometer, given: AnalogInput, zero: float, scale: float) -> Track:
    low, high = pot.range[0] + pot.dead_band, pot.range[1] - pot.dead_band
    ends = sorted((p - pot.range[0]) / pot.slope + pot.volts[0] for p in (low, high))
    off = SPREAD * pot.noise + given.step
    codes = [(volts - given.lowest) / given.step for volts in (ends[0] - off, ends[1] + off)]
    last = 2.0**given.bits - 1.0
    if ends[0] < given.lowest or ends[1] > given.lowest + last * given.step:
        raise ModelError(
            f"potentiometer.volts {pot.volts} leave the range of their converter, {given.range} V"
        )
    per_code = pot.slope * given.step
    first = pot.range[0] + (given.lowest - pot.volts[0]) * pot.slope
    return Track(
        base=(first - zero) / scale,
        rate=per_code / scale,
        lowest=codes[0],
        highest=codes[1],
        noise=abs(pot.slope / scale) * off,
    )


def refuse_coarse(rows: Sequence[Channel], samples: int, names: Sequence[str]) -> None:
    """Refuse potentiometers that cannot tell one turn of the motor from the next."""
    for c, name in zip(rows, names, strict=True):
        if c.track is None:
            continue
        off = c.track.noise / math.sqrt(samples) + abs(c.track.rate)
        if off > SURE * c.counts:
            raise OptionError(
                f"the potentiometer of joint {name!r} may be off by {off / c.counts:.2g} turns of "
                f"the motor, expected at most {SURE:g}: the index after it could be that of "
                "another turn",
                "give it less noise, a converter with more bits, or more samples",
            )
