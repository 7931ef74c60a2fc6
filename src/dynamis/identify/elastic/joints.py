"""Elastic joints of an arm from logs: their gears and motors; its links are identified after them.

With both sides the equation of every motor gives rotor, motor friction, stiffness, damping and gap.
With motors alone the links are simulated along them (`motor_side`). What is left of the torque
passes the gear: with the positions of the links it is the log of an arm without motors, which is
identified as any other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import is_word
from ...errors import OptionError, counted
from ...logs.log import Log
from ...model.check.finding import Finding
from ...model.drive import Drive
from ...progress import stage
from ..motion import on_even_grid
from .asked import AUTO, DRIVE, STILL, checked_elastic
from .deflection import DeflectionEstimate, identify_deflections
from .elastic_estimate import SHORTEST, SHOWN, ElasticEstimate, ElasticJoint, drives_of
from .kernels import convolved, kernels
from .motor_equation import (
    MotorFit,
    MotorRows,
    Stretch,
    cutoff_for,
    fitted,
    with_spread,
)
from .motor_side import MotorSide, motor_side

if TYPE_CHECKING:
    from ...robot import Robot

UNSURE = 0.2  # of a stiffness: an interval that reaches further says that it is not seen
LOOSE = 0.05  # of a stiffness: a rotor inertia that is described is then taken as it is
FOLLOWED = 0.8  # of the variance of deflections, by a free run of the links
EXPLAINED = 0.97  # of the torque of a motor: less is not its drive train
NOISY = 5.0  # times its noise: a deflection that is smaller is hardly measured
FEWEST = 200  # rows of a motor equation


def elastic_joints(
    robot: "Robot", logs: Sequence[Log], elastic: Any, sensor: bool = False
) -> ElasticEstimate:
    """Gears and motors of elastic joints; logs of one side are taken as those of the motors.

    `sensor`: deflections pass a low-pass of second order, found on the first log.
    """
    asked = checked_elastic(elastic, robot, logs)
    if logs[0].motor is None:
        if sensor:
            raise OptionError(
                "deflection_sensor was given, and the logs hold one side of the gears",
                "read_log(..., columns=dict(q=..., motor=...)) reads both",
            )
        return _from_motors(robot, logs, asked, is_word(elastic, (AUTO,)))
    deflections = identify_deflections(robot, logs[0], sensor=True) if sensor else None
    if deflections is not None:
        logs = [deflections.without_sensor(x) for x in logs]
    drives = drives_of(robot)
    joints, findings = [], list(_of_sensor(deflections))
    for name in asked:
        k = robot.drive_names.index(name)
        stretches = [x for log in logs for x in _stretches(log, k)]
        still = max((np.ptp(x.motor - x.link) for x in stretches), default=0.0) < STILL
        if still and is_word(elastic, (AUTO,)):
            continue
        joint, said = _joint(name, stretches, drives[name])
        findings += said
        joints += [] if joint is None else [joint]
    if not joints:
        what = "no joint was found elastic: it was identified as a rigid arm"
        findings.append(Finding("warning", DRIVE, what, "look at log.motor - log.q"))
    return ElasticEstimate(tuple(joints), tuple(findings), robot, deflections=deflections)


def _of_sensor(found: DeflectionEstimate | None) -> Iterator[Finding]:
    """Findings about a sensor of deflections, and joints that a free run does not follow."""
    if found is None:
        return
    yield Finding("note", DRIVE, found.sensor_said, "look at the data sheet of the sensor")
    for name, share in zip(found.training.joint_names, found.training.explained, strict=True):
        if not share > FOLLOWED:
            what = f"links along the motors explain {100 * share:.0f} % of its deflections only"
            remedy = "a log that begins at rest, stiffnesses and masses nearer to those of the arm"
            yield Finding("warning", DRIVE, what, remedy, (name,))


def _from_motors(
    robot: "Robot", logs: Sequence[Log], asked: Sequence[str], auto: bool
) -> ElasticEstimate:
    """Elastic joints from logs of the motors alone: of all those described with a stiffness."""
    drives = drives_of(robot)
    if auto:
        described = [x for x in asked if (own := drives[x]) and own.stiffness is not None]
        asked = described or asked
    findings = [
        Finding(
            "note",
            DRIVE,
            "the log has one side of the gears: its positions were taken as those of the motors",
            "columns=dict(q=..., motor=...) where links are measured too",
        )
    ]
    found = None
    with stage(f"identifying the drive trains of {robot.name}", expected=10.0) as told:
        while asked:
            found = motor_side(robot, logs, asked, told)
            unseen = [k for k in range(len(asked)) if not found.sees(k)]
            findings += [_not_seen(found, k) for k in unseen]
            if not unseen:
                break
            asked, found = [x for k, x in enumerate(asked) if k not in unseen], None
    if found is None:
        what = "no joint was found elastic: it was identified as a rigid arm"
        findings.append(Finding("warning", DRIVE, what, "excite it near its resonance"))
        return ElasticEstimate((), tuple(findings), robot)
    joints = [_of_motor(found, k) for k in range(len(asked))]
    for k in range(len(asked)):
        findings += _dubious_of_motor(found, k)
    return ElasticEstimate(tuple(joints), tuple(findings), robot, found)


def _of_motor(found: MotorSide, k: int) -> ElasticJoint:
    """One joint of a fit to logs of motors."""
    values, widths = found.named(k), found.named_widths(k)
    return ElasticJoint(
        name=found.names[k],
        **{x: values[x] for x in (*SHOWN, "delay")},
        zero=0.0,
        lag=0.0,
        explained=float(found.explained[k]),
        cutoff=found.prediction.cutoff,
        half_widths={x: widths[x] for x in (*SHOWN, "delay")},
    )


def _not_seen(found: MotorSide, k: int) -> Finding:
    """A joint of which logs of motors show no stiffness, and where it would show."""
    value, width = found.named(k)["stiffness"], found.named_widths(k)["stiffness"]
    what = f"no stiffness is seen from the motor: {value:.3g} +- {width:.2g}; {found.reach(k)}"
    remedy = (
        "it was taken as rigid: excite it further up, or name the elastic joints, elastic=[...]"
    )
    return Finding("warning", DRIVE, what, remedy, (found.names[k],))


def _dubious_of_motor(found: MotorSide, k: int) -> Iterator[Finding]:
    """Findings on what the excitation of a motor does not reach."""
    values, widths, where = found.named(k), found.named_widths(k), (found.names[k],)
    if found.explained[k] < EXPLAINED:
        what = f"links along its motor explain {100 * found.explained[k]:.1f} % of its torque only"
        remedy = "no constant of it is to be trusted: a longer motion, or describe its stiffness"
        yield Finding("warning", DRIVE, what, remedy, where)
    share = widths["stiffness"] / values["stiffness"]
    if share > UNSURE:
        what = f"stiffness {values['stiffness']:.4g} is known to {100 * share:.0f} % only; "
        remedy = "excite the joint up to the higher of these frequencies, with larger torques"
        yield Finding("warning", DRIVE, what + found.reach(k), remedy, where)
    elif found.band < found.frequencies(k)[0]:
        what = f"torques end below the vibration of the link: {found.reach(k)}"
        remedy = "rotor and link are told apart above it: excite the joint up to both frequencies"
        yield Finding("warning", DRIVE, what, remedy, where)
    if not values["backlash"] and found.flanks(k) < FLANK:
        what = "its gear is loaded to one side nearly all the time: a gap would not be seen"
        remedy = "record a motion in which its torque reverses"
        yield Finding("note", DRIVE, what, remedy, where)


def _stretches(log: Log, k: int) -> Iterator[Stretch]:
    for piece in log.pieces():
        if len(piece) >= SHORTEST and piece.motor is not None:
            even = on_even_grid(piece)
            assert even.motor is not None
            yield Stretch(even.step, even.motor[:, k], even.q[:, k], even.tau[:, k])


def _joint(
    name: str, stretches: Sequence[Stretch], drive: Drive | None
) -> tuple[ElasticJoint | None, list[Finding]]:
    """One joint; None with a finding where the logs do not show that it is elastic."""

    def said(what: str, remedy: str, level: str = "warning") -> Finding:
        return Finding(level, DRIVE, what, remedy, (name,))

    rows = MotorRows(stretches, cutoff_for(stretches)) if stretches else None
    if rows is None or rows.count < FEWEST:
        moved = counted(0 if rows is None else rows.count, "row")
        return None, [said(f"its motor moves in {moved} only", "record a motion of this joint")]
    fit = fitted(rows)
    widths, findings = with_spread(fit), []
    known = _described_inertia(drive)
    if known and not widths["stiffness"] < LOOSE * fit.linear[4]:
        rows = replace(rows, inertia=known)
        fit = fitted(rows)
        widths = with_spread(fit)
        what = (
            f"rotor inertia was taken as described, {known:.4g}: stiffness was not seen beside it"
        )
        findings.append(said(what, "excite the joint near its resonance, dy.excite(...)", "note"))
    stiffness, width = fit.linear[4], widths["stiffness"]
    if not (stiffness > 0.0 and width < stiffness):
        return None, [
            *findings,
            said(
                f"no stiffness is seen: {stiffness:.4g} +- {width:.2g}",
                "a rigid joint, or one whose motion bends it too little: it was taken as rigid",
                "note",
            ),
        ]
    return _found(name, fit, widths), [*findings, *_dubious(fit, widths, said)]


def _described_inertia(drive: Drive | None) -> float | None:
    """The reflected rotor inertia of a described drive; None where there is none."""
    if drive is None or not isinstance(drive.rotor_inertia, (int, float)):
        return None
    gear = drive.gear
    return float(drive.rotor_inertia) * float(gear) ** 2 if isinstance(gear, (int, float)) else None


def _found(name: str, fit: MotorFit, widths: Mapping[str, float]) -> ElasticJoint:
    values = fit.values
    del values["offset"]
    values["zero"] = fit.middle
    if "zero" not in fit.sought:
        widths = {**widths, "zero": widths["offset"] / values["stiffness"]}
    return ElasticJoint(
        name=name,
        **values,
        explained=fit.explained,
        cutoff=fit.rows.cutoff,
        half_widths={k: x for k, x in widths.items() if k != "offset"},
    )


def _dubious(fit: MotorFit, widths: Mapping[str, float], said: Any) -> Iterator[Finding]:
    """Findings on constants that the excitation does not reach or cannot tell apart."""
    values, rows = fit.values, fit.rows
    stiffness, gap = values["stiffness"], values["backlash"]
    if widths["stiffness"] > UNSURE * stiffness:
        reach = 100 * widths["stiffness"] / stiffness
        what = f"stiffness {stiffness:.4g} is known to {reach:.0f} % only"
        inertia = max(values["rotor_inertia"], 1e-300)
        beyond = np.sqrt(stiffness / inertia) / (2.0 * np.pi)
        yield said(
            what, f"excite the joint further up, towards {beyond:.3g} Hz, or describe its rotor"
        )
    d = rows.deflection(values["lag"]) - values["zero"] * bool(gap)
    noise = float(np.concatenate([_rough(x, rows.cutoff) for x in rows.stretches]).std())
    size = float(d.std())
    if size < NOISY * noise:
        what = f"its gear bends by {size:.2g} rad or m, and the encoders give {noise:.2g} of noise"
        yield said(what, "finer encoders, or larger torques")
    flanks = rows.flanks(np.array([gap, fit.middle, values["lag"], 0.0]))
    if not gap and flanks < FLANK:
        what = "its gear is loaded to one side nearly all the time: a gap would not be seen"
        yield said(what, "record a motion in which its torque reverses", "note")
    if values["lag"]:
        late = 1e3 * values["lag"]
        what = f"the link's encoder is {abs(late):.3g} ms {'late' if late > 0 else 'early'}"
        if "lag" not in fit.sought:
            what += " at least: without a gap that is not told apart from friction and damping"
        yield said(what, "look at how both encoders are sampled", "note")


FLANK = 0.02  # share of the rows


def _rough(x: Stretch, cutoff: float) -> np.ndarray:
    """Part of a deflection above the band, inside the stretch."""
    d, g = x.motor - x.link, kernels(x.step, min(2.0 * cutoff, 0.2 / x.step))[0]
    return (d - convolved(g, d))[len(g) : -len(g)]
