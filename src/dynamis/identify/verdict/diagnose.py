"""Diagnosis of logs and fits: findings, and refusal of data that give no model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DynamisError, counted, worded
from ...ik.driven import Motion, assembly
from ...logs.checks import faults, without_spikes
from ...logs.log import Log, interpolated
from ...logs.units import sign_option
from ...model.check.finding import Finding
from ...model.law import UserLaw
from ..information import Information, condition, scaled, triangle, weighted
from ..motion import late_velocities, resting
from ..processing import Processing, Samples
from ..unknowns import Unknowns
from .trials import DRIVES, TILTED, Tilt, relative_misfits, tilted_base
from .verdict import HOPELESS, LITTLE, Leftover, Verdict, verdict

if TYPE_CHECKING:
    from ...robot import Robot

SHORT = 50  # rows
LATE = 2e-3  # s: velocities that come later are worth a word
HALF = 0.5  # of the rows of a closed mechanism must close
POOR = 1e4  # condition number beyond which a motion does not excite the unknowns


class LogError(DynamisError, ValueError):
    """A log that cannot become a model: `findings` says all that is wrong, `verdict` the worst."""

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        findings: Sequence[Finding] = (),
        verdict: Verdict | None = None,
    ):
        self.findings = tuple(findings)
        self.verdict = verdict
        super().__init__(message, hint)


def reading_findings(logs: Sequence[Log], found: Sequence[Finding]) -> list[Finding]:
    """What reading the logs said, notes and what was found again left out."""
    again = {f.what for f in found}
    said = [f for log in logs for f in log.findings]
    return [f for f in said if f.level != "note" and f.what not in again]


def diagnose(robot: "Robot", logs: Sequence[Log]) -> list[Finding]:
    """What is dubious about logs before any fit."""
    found: list[Finding] = []
    names = robot.drive_names
    turns = [robot.joint_kinds[k] == "revolute" for k in robot.driven]
    for log in logs:
        where = log.name or "log"
        found += [*_length(log, where), *_stillness(robot, log, where), *_nothing(log, where)]
        found += [*faults(log, where, names, turns), *_lag(log, where), *_open(robot, log, where)]
        found += [f for f in log.findings if f.joints]  # what reading said of joints
    return found


def refuse(
    findings: Sequence[Finding], robot: "Robot", message: str, left: Leftover | None = None
) -> None:
    """Raise if a finding is an error."""
    worst = [f for f in findings if f.level == "error"]
    if worst:
        said = verdict(findings, robot.drive_names, left)
        lines = "\n".join(f"  {f.place}: {f.what}" for f in worst)
        hint = f"{worst[0].remedy}; force=True goes on"
        raise LogError(f"{message}:\n{lines}", hint, findings, said)


def _open(robot: "Robot", log: Log, where: str) -> Iterator[Finding]:
    """Rows of a closed mechanism whose loops cannot be closed, or are nearly singular."""
    bad = np.isnan(assembly(robot).positions(log.q)).any(axis=1)
    if not bad.any():
        return
    share, first = float(bad.mean()), float(log.t[np.argmax(bad)])
    what = (
        f"{100 * share:.2g} % of the rows, first at t = {first:.4g} s, do not close the loops or "
        "come near a configuration in which the drives decide nothing: they are left out"
    )
    remedy = (
        "check columns, signs and zeros of the drives, and that robot.home is in their assembly"
    )
    yield Finding("error" if share > HALF else "warning", where, what, remedy)


def _lag(log: Log, where: str) -> Iterator[Finding]:
    """Logged velocities that come late, as those of a filter do."""
    late = late_velocities([log])
    if late >= LATE:
        what = f"the logged velocities come {1e3 * late:.1f} ms after the positions"
        remedy = "nothing; they are moved, and differences of the positions are tried too"
        yield Finding("note", where, what, remedy)


def velocities_replaced(
    logs: Sequence[Log], asked: Processing, chosen: Sequence[Processing]
) -> Iterator[Finding]:
    """Logs whose velocities have so much noise that differences of positions took their place."""
    for log, how in zip(logs, chosen, strict=True):
        if asked.velocity is None and log.qd is not None and how.velocity == "difference":
            what = (
                "the logged velocities have more noise than differences of the filtered positions, "
                "which were used instead"
            )
            remedy = "nothing; processing=dy.Processing(velocity='log') uses the logged ones"
            yield Finding("note", log.name or "log", what, remedy)


def _length(log: Log, where: str) -> Iterator[Finding]:
    if len(log) < SHORT:
        what = f"{len(log)} rows in {log.duration:.3g} s, expected at least {SHORT}"
        yield Finding("error", where, what, "record a longer motion")


def _stillness(robot: "Robot", log: Log, where: str) -> Iterator[Finding]:
    still = [name for name, rests in zip(robot.drive_names, resting(log), strict=True) if rests]
    if len(still) == log.n:
        yield Finding("error", where, "no joint moves", "record a motion that excites the arm")
    elif still:
        what = f"joints {', '.join(still)} do not move"
        remedy = "parameters felt only through them stay unknown"
        yield Finding("warning", where, what, remedy, tuple(still))


def _nothing(log: Log, where: str) -> Iterator[Finding]:
    if not log.tau.any():
        yield Finding("error", where, "every torque is zero", "check the columns of the torques")


# what a fit says about its data: units, signs, order, delays, saturation, motions that show little

SATURATED = 0.06  # share of rows at the extreme torque; a sine has 0.02 there
PILE = 1e-3  # of the torque's range: how near the extreme
SLOW = 0.05  # of a joint's top speed: rows at rest may well have one torque
OUT_OF_SCALE = 8.0  # times the torque of the robot as described
FINE = 0.05  # relative error below which the order of the columns is not doubted
FEW = 300  # rows looked at for that
SINGULAR = 1e9  # condition number
FEW_MOVING = 0.1  # of the rows of the joint that moves most: a joint that hardly moves
FAINT = 1e-3  # of a direction's power: an unknown that hardly is in it
ENOUGH = 1.25  # independent rows per unknown


def unexplained(misfit: float) -> Iterator[Finding]:
    """Torques that no model explains."""
    if misfit > HOPELESS:
        what = f"no model of this robot explains the torques: {100 * misfit:.0f} % is left over"
        yield Finding("error", "fit", what, "check the robot, units, order and signs")


def not_told_apart(
    sought: Unknowns, info: Information, condition_number: float, seconds: float
) -> Iterator[Finding]:
    """Motions whose numbers would only look like a model, and joints that hardly take part."""
    if condition_number <= SINGULAR:
        return
    if still := _not_told_apart_within(sought, info):
        names = ", ".join(still)
        what = "too little motion to tell friction and rotor inertia apart"
        remedy = f"do not use these numbers of {names}, or record a longer motion: dy.excite"
        yield Finding("warning", "motion", what, remedy, still)
        return
    what = (
        f"this motion of {seconds:.3g} s cannot tell the unknowns apart "
        f"(condition {condition_number:.1e})"
    )
    remedy = "move every joint, longer and differently: dy.excite"
    yield Finding("error", "motion", what, remedy)


def _not_told_apart_within(sought: Unknowns, info: Information) -> tuple[str, ...]:
    """Joints whose own friction and rotors are all that the motion cannot tell apart.

    None where bodies are among it, or where these joints move for long.
    """
    R = info.stacked(np.ones(len(info.rows)))[:, :-1]
    felt = np.flatnonzero(np.linalg.norm(R, axis=0) > 0.0)
    _, values, directions = np.linalg.svd(scaled(R)[0][:, felt])
    size = np.zeros(len(felt))
    size[: len(values)] = values
    share = (directions[size * SINGULAR < size[0]] ** 2).sum(axis=0)
    joints = sought.robot.joint_names
    rotors = {f"rotor_inertia[{name}]": j for j, name in enumerate(joints)}
    own = {rotors.get(sought.names[k], sought.joints[k]) for k in felt[share > FAINT]}
    found = sorted(-1 if j is None else j for j in own)
    if found[0] < 0:
        return ()
    rows = [sought.row_of(j) for j in found]
    few = all(k is None or info.rows[k] < FEW_MOVING * info.rows.max() for k in rows)
    return tuple(joints[j] for j in found) if few else ()


def few_rows(rows: np.ndarray, correlated: np.ndarray, unknowns: int) -> Iterator[Finding]:
    """A motion so short that it hardly has more independent rows than there are unknowns."""
    count = float((rows / np.maximum(correlated, 1.0)).sum())
    if count < ENOUGH * unknowns:
        what = f"{unknowns} unknowns from {count:.0f} independent rows: the motion is too short"
        yield Finding("warning", "motion", what, "record a longer motion")


def not_exciting(
    unknowns: Unknowns, info: Information, x: np.ndarray, known: np.ndarray | None = None
) -> Iterator[Finding]:
    """What the motion leaves open, by name; what was known beforehand is not asked for."""
    R = info.stacked(np.ones(len(info.rows)))[:, :-1]
    lengths = np.linalg.norm(R, axis=0)
    asked = np.ones(len(lengths), dtype=bool) if known is None else np.isnan(known)
    small = asked & (lengths < 1e-9 * lengths.max())
    silent = [unknowns.names[k] for k in np.flatnonzero(small)]
    if silent:
        what = f"no trace of {counted(len(silent), 'unknown')}: {', '.join(silent[:4])}"
        yield Finding("warning", "motion", what, "move the joints they belong to")
    value, misfit = condition(R), info.misfit(x)
    if value > POOR:
        what = f"the condition number is {value:.3g}: unknowns cannot be told apart"
        yield Finding("warning", "motion", what, "design a motion with dy.excite")
    if misfit > 0.5:
        what = f"the model explains only {100 * (1 - misfit):.0f} % of the torque"
        remedy = "check the robot, the order of the columns and the signs"
        yield Finding("warning", "model", what, remedy)


def without_directions(count: int) -> Iterator[Finding]:
    """Directions of the unknowns that total least squares had to do without."""
    if count:
        what = (
            f"estimator 'total' left {counted(count, 'direction')} of the unknowns out: "
            "their errors decide"
        )
        remedy = "use estimator='weighted' or 'feasible', or a motion that excites more: dy.excite"
        yield Finding("warning", "estimator", what, remedy)


def far_from_consistent(
    info: Information, free: np.ndarray, bound: np.ndarray
) -> Iterator[Finding]:
    """Whether physically consistent arms explain the data much worse than any numbers would."""
    a, b = info.misfit(free), info.misfit(bound)
    if b >= 1.5 * a and b >= FINE:
        what = (
            f"physically consistent arms miss {100 * b:.1f} % of the torque, "
            f"any other numbers {100 * a:.1f} %"
        )
        remedy = "check signs, units and the robot; a strong prior does this too"
        yield Finding("warning", "model", what, remedy)


def saturation(robot: "Robot", logs: Sequence[Log]) -> Iterator[Finding]:
    """Torques that pile up at their extreme while the joint moves."""
    for log in map(without_spikes, logs):
        speed = np.abs(np.gradient(log.q, log.t, axis=0))
        moving = speed > SLOW * speed.max(axis=0)
        for j, name in enumerate(robot.drive_names):
            tau = log.tau[moving[:, j], j]
            if len(np.unique(tau)) < 20:
                continue
            for extreme in (tau.max(), tau.min()):
                share = float((np.abs(tau - extreme) < PILE * np.ptp(tau)).mean())
                if share > SATURATED:
                    where, percent = log.name or "log", f"{100 * share:.0f} %"
                    what = f"{percent} of its moving rows have the torque {extreme:.4g}: saturated"
                    remedy = "cut those rows off, or move slower"
                    yield Finding("error", where, what, remedy, (name,))


@dataclass(frozen=True, eq=False)
class Excerpt:
    """A few rows of motions, (N, n) each, low-passed alike; `weight` is 0 where one does not count.

    `series` holds the instants of the rows of every motion, and its whole time and torque.
    `deflection` (N, k) has the columns of friction with memory; None: all slips.
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    weight: np.ndarray
    temperature: np.ndarray | None
    series: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]
    deflection: np.ndarray | None = None

    def torque(self, delay: float = 0.0) -> np.ndarray:
        """The torque so many seconds later, (N, n)."""
        return np.concatenate([interpolated(at + delay, t, tau) for at, t, tau in self.series])

    def arranged(self, order: Any, signs: Any) -> "Excerpt":
        """With the motion of other joints, or of the opposite sign."""
        q, qd, qdd = (x[:, order] * signs for x in (self.q, self.qd, self.qdd))
        weight = self.weight[:, order]
        return replace(self, q=q, qd=qd, qdd=qdd, weight=weight, deflection=None)

    def part(self, first: int, last: int) -> "Excerpt":
        """Some of the rows."""
        names = ["q", "qd", "qdd", "weight"]
        names += [x for x in ("temperature", "deflection") if getattr(self, x) is not None]
        ends = np.cumsum([0, *(len(at) for at, *_ in self.series)])
        series = tuple(
            (at[max(0, first - a) : max(0, last - a)], t, tau)
            for a, (at, t, tau) in zip(ends, self.series, strict=False)
        )
        rows = {name: getattr(self, name)[first:last] for name in names}
        return replace(self, series=series, **rows)

    def turned(self, joint: int, angle: float) -> "Excerpt":
        """With a joint's position less an angle."""
        q = self.q.copy()
        q[:, joint] -= angle
        return replace(self, q=q)

    def closing(self, unknowns: Unknowns) -> tuple[Motion, np.ndarray]:
        """The motion of all joints, and the weights, 0 where a closed mechanism does not close."""
        found = unknowns.motion(self.q, self.qd, self.qdd)
        good: Any = np.isfinite(found.qdd).all(axis=1)
        if good.all() or not good.any():
            return found, self.weight * good[:, None]
        stand_in = np.where(good, np.arange(len(good)), np.argmax(good))
        return Motion(*(x[stand_in] for x in found)), self.weight * good[:, None]

    def columns(self, unknowns: Unknowns, tau: np.ndarray) -> np.ndarray:
        """[Y tau] of torques (N, n, k), rows that do not count zero, (N, n, m + n + k).

        Every joint has a rotor here: without one a large inertia would look like a delay.
        """
        (q, qd, qdd), weight = self.closing(unknowns)
        Y = unknowns.regressor(q, qd, qdd, self.temperature, self.deflection)
        tau = tau - np.asarray(unknowns.fixed_torque(q, qd))[..., None]
        rotors = self.qdd[..., None] * np.eye(self.q.shape[1])
        return np.concatenate([Y, rotors, tau], axis=-1) * weight[..., None]

    def misfits(self, unknowns: Unknowns, tau: np.ndarray) -> np.ndarray:
        """Relative error of every joint (n,) in the weighted fit of torques (N, n).

        Infinite for a closed mechanism that does not close in half of the rows.
        """
        weight = self.closing(unknowns)[1].any(axis=1)
        if weight.sum() < HALF * self.weight.any(axis=1).sum():
            return np.full(unknowns.rows, np.inf)
        info, x = self.fitted(unknowns, tau)
        return np.sqrt(info.residuals(x) / np.maximum(info.torques, 1e-300))

    def fitted(
        self, unknowns: Unknowns, tau: np.ndarray, rotors: bool = True
    ) -> tuple[Information, np.ndarray]:
        """The weighted fit of torques (N, n), with a rotor for every joint or without."""
        both = self.columns(unknowns, tau[..., None])
        if not rotors:
            both[..., len(unknowns) : -1] = 0.0
        both = both.transpose(1, 0, 2)
        info = Information(np.stack([triangle(x.copy()) for x in both]), np.full(len(both), FEW))
        return info, weighted(info, rounds=1).x


def excerpt(motions: Sequence[Samples], unknowns: Unknowns | None = None) -> Excerpt:
    """Rows that count, evenly over all motions; filtered like both sides of the fit.

    With `unknowns` their friction with memory is followed; without, all of it slips.
    """
    total, parts, series = sum(len(m) for m in motions), [], []
    past = unknowns if unknowns is not None and len(unknowns.history.unknowns) else None
    bent: list[np.ndarray] = []
    for m in motions:
        moving = np.flatnonzero(m.weight.any(axis=1))
        most = max(2, min(len(moving), round(FEW * len(m) / total)))
        k = moving[np.linspace(0, len(moving) - 1, most).astype(int)] if len(moving) else moving
        own = (x[:, m.columns] for x in (m.q, m.qd, m.qdd))
        smooth = [m.low_passed(x) for x in (*own, m.tau)]
        warm = np.zeros_like(m.tau) if m.temperature is None else m.temperature
        parts.append([*(x[k] for x in smooth[:3]), m.weight[k], warm[k]])
        series.append((m.t[k], m.t, smooth[3]))
        if past is not None:
            bent.append(m.low_passed(m.deflection(past)[0])[k])
    q, qd, qdd, weight, warm = map(np.concatenate, zip(*parts, strict=True))
    known = any(m.temperature is not None for m in motions)
    warm = warm if known else None
    return Excerpt(q, qd, qdd, weight, warm, tuple(series), np.concatenate(bent) if bent else None)


def torque_size(robot: "Robot", rows: Excerpt, unknowns: Unknowns) -> Iterator[Finding]:
    """Torques that are far from what the robot as described needs, or of the opposite sign."""
    motion, weight = rows.closing(unknowns)
    good = weight.any(axis=1)
    try:
        needed = robot.inverse_dynamics(*(x[good] for x in motion))[:, unknowns.logged]
        own = dict(zip(robot.parameters.names, robot.parameters.values, strict=True))
    except DynamisError:
        return  # a symbol without a value: nothing to compare with
    tau = rows.torque()[good]
    a, b = np.linalg.norm(needed), np.linalg.norm(tau)
    if a < 1e-6 or b == 0.0 or not any(own[k] for k in own if k.endswith(".m")):
        return  # nothing described to compare with
    match = float((needed * tau).sum() / (a * b))
    if match < -0.5:
        what = "the torques have the opposite sign of what the robot as described needs"
        yield Finding("error", "torques", what, f"change their sign: {sign_option(['tau'])}")
    elif not 1.0 / OUT_OF_SCALE < b / a < OUT_OF_SCALE:
        what = f"the torques are {b / a:.3g} times what the robot as described needs"
        yield Finding("error", "torques", what, "check their unit, or the robot's masses")


def constants_kept(robot: "Robot", unknowns: Unknowns) -> Iterator[Finding]:
    """Constants of laws of one's own that are no parameters, by name."""
    laws: dict[tuple[str, str], list[str]] = {}
    for link in robot.model.links if unknowns.friction.law is None else ():
        if link.friction.own is not None and link.joint_name is not None:
            said = _kept_constants("friction law", link.friction.own)
            laws.setdefault(said, []).append(link.joint_name)
    for law in robot.model.loads:
        laws.setdefault(_kept_constants("load", law), [])
    for (what, why), joints in laws.items():
        if what:
            remedy = "give their values; constants that multiply the torque are sought"
            yield Finding(
                "note", "friction" if joints else "load", f"{what} {why}", remedy, tuple(joints)
            )


def _kept_constants(kind: str, law: UserLaw) -> tuple[str, str]:
    """What of a law keeps its value, and why; nothing, if all are sought."""
    kept = [name for name, _ in law.constants if name not in law.linear]
    if not kept:
        return "", ""
    what = f"of {kind} {law.name!r} {worded(map(repr, kept))} stay as described:"
    if law.states is None:
        return what, "the torque is not linear in them"
    states = worded(map(repr, law.states.names))
    why = "the torque is not linear in them, or the rate takes them; the fit has the states"
    return what, f"{why} ({states}) where `steady` puts them"


def laws_replaced(robot: "Robot", unknowns: Unknowns) -> Iterator[Finding]:
    """Friction laws of one's own that gave way to a friction model."""
    own = [x.friction.own.name for x in robot.model.links if x.friction.own is not None]
    if own and unknowns.friction.law is not None:
        what = f"friction {unknowns.friction.name!r} replaces the friction law {own[0]!r}"
        remedy = "friction='described' identifies the constants of the law itself"
        yield Finding("warning", "friction", what, remedy)


LIKELIER = 4.0  # times the product of the joints' misfits: another reading explains the log
LESS = 0.5  # of the misfit of a joint is left with it, of at least one
CLEARLY = 1.5  # times as likely as other columns or zeros: then gravity is what is wrong
ANGLES = np.radians(np.arange(-150.0, 180.1, 30.0))  # zeros of a joint that are tried


def other_reading(
    robot: "Robot", unknowns: Unknowns, rows: Excerpt, gravity: float, tilt: Tilt | None = None
) -> Iterator[Finding]:
    """Whether columns changed places or signs, or a joint its zero: then the log fits far better.

    Or the base was tilted (`tilt` is the fit under the gravity that explains most), or a spring
    holds a joint.

    Readings are compared by their likelihood, the residuals of every joint normal with a deviation
    of its own: by the product of the joints' misfits, none counted below what is little next to the
    arm's largest torque. `gravity` is by how much it differs from the description.
    """
    tau, joints = rows.torque(), robot.drive_names
    now, sizes = rows.misfits(unknowns, tau), np.linalg.norm(tau * rows.weight, axis=0)
    least = LITTLE * sizes.max() / np.maximum(sizes, 1e-300)

    def fine(misfits: np.ndarray) -> bool:
        return bool((misfits**2 - least**2).max() < FINE**2)

    if fine(now) and gravity < SIMILAR:
        return

    def gain(then: np.ndarray, least: Any = least) -> float:
        """How many times smaller the product of the misfits is."""
        return float(np.prod(np.maximum(now, least) / np.maximum(then, np.maximum(least, 1e-9))))

    def far_better(then: np.ndarray) -> bool:
        return gain(then) > LIKELIER and bool((then < LESS * now).any())

    said = f"differs by {100 * gravity:.0f} % from the description"
    tried = [
        (x.misfits(unknowns, t), change, who)
        for x, t, change, who in arrangements(rows, tau, joints)
    ]
    arranged, change, who = max(tried, key=lambda x: gain(x[0]))
    turned, joint, angle = now, 0, 0.0
    if not (far_better(arranged) and fine(arranged)):  # else nothing is left to explain
        turned, joint, angle = _other_zero(robot, unknowns, rows, tau)
    differs = gravity > SIMILAR and gain(turned, 0.0) > LIKELIER
    others = max(gain(arranged), gain(turned))
    tilted = tilt is not None and tilt.angle > TILTED and far_better(tilt.misfits)
    if tilt is not None and tilted and gain(tilt.misfits) > CLEARLY * others:
        yield tilted_base(tilt, _fall(now, tilt.misfits, joints))
        return
    sprung, holder = _with_springs(robot, unknowns, rows, tau)
    if far_better(sprung) and gain(sprung) > CLEARLY * others:
        what = f"a spring or a counterbalance on it is tried: {_fall(now, sprung, joints)}"
        remedy = f"robot.with_spring(dy.Spring(kind='torsion', joint='{joints[holder]}'))"
        yield Finding("warning", "gravity", what, remedy, (joints[holder],))
        return
    if gain(turned) >= gain(arranged) and (far_better(turned) or differs):
        what = f"it seems to read {np.degrees(angle):.0f} degrees too much: "
        what += _fall(now, turned, joints)
        what += f", and gravity as found {said}" if gravity > SIMILAR else ""
        remedy = "check its zero: read_log(..., offset=...) adds to the positions"
        yield Finding("warning", "gravity", what, remedy, (joints[joint],))
    elif far_better(arranged):
        what = f"with {change} {_fall(now, arranged, joints)}"
        yield Finding("error", "columns", what, repair(change, who, joints), who)
    elif gravity > DIFFERENT:
        remedy = "check the zeros of the joints, the base's orientation and the robot's masses"
        yield Finding("warning", "gravity", f"gravity as found {said}", remedy)
    elif gravity > SIMILAR:
        remedy = "check the zeros of the joints, if the robot's masses are known"
        yield Finding("note", "gravity", f"gravity as found {said}", remedy)


TURNED = {  # what is of the other sign -> quantities of the log that turn it around
    "the sign of the torque": ("tau",),
    "the sign of the motion": ("q", "qd", "qdd"),
    "the axis": ("q", "qd", "qdd", "tau"),
}


def repair(change: str, who: Sequence[str], joints: Sequence[str]) -> str:
    """What to do about columns that fit better changed; signs by the option of `read_log`."""
    for words, quantities in TURNED.items():
        if change.startswith(words):
            option = sign_option(quantities, joints.index(who[0]), len(joints))
            return f"check the sign: {option} turns it around"
    return "check their order and signs"


def _fall(now: np.ndarray, then: np.ndarray, joints: Sequence[str]) -> str:
    """What becomes of the error: of all joints where it falls, else of the joint that gains most.

    What is likelier by the product of the errors may have a larger mean square.
    """
    a, b = (100 * float(np.sqrt(np.mean(x**2))) for x in (now, then))
    if b < a:
        return f"the error falls from {a:.0f} to {b:.0f} %"
    j = int(np.argmin(then / np.maximum(now, 1e-300)))
    a, b = 100 * float(now[j]), 100 * float(then[j])
    return f"the error of {joints[j]} falls from {a:.0f} to {b:.0f} %"


def arrangements(
    rows: Excerpt, tau: np.ndarray, joints: Sequence[str]
) -> Iterator[tuple[Excerpt, np.ndarray, str, tuple[str, ...]]]:
    """Rows and torques with columns in other places or of other signs: what changed, of whom."""
    n = len(joints)
    for i, j in combinations(range(n), 2):
        order = np.arange(n)
        order[[i, j]] = j, i
        who, other = (joints[i], joints[j]), rows.arranged(order, 1.0)
        pair = " and ".join(who)
        yield rows, tau[:, order], f"the torques of {pair} swapped", who
        yield other, tau, f"the positions of {pair} swapped", who
        yield other, tau[:, order], f"all columns of {pair} swapped", who
    for i, name in enumerate(joints):
        signs = np.where(np.arange(n) == i, -1.0, 1.0)
        other = rows.arranged(np.arange(n), signs)
        turned, who = tau * signs, (name,)
        yield rows, turned, f"the sign of the torque of {name} changed", who
        yield other, tau, f"the sign of the motion of {name} changed", who
        yield other, turned, f"the axis of {name} reversed", who


def _with_springs(
    robot: "Robot", unknowns: Unknowns, rows: Excerpt, tau: np.ndarray
) -> tuple[np.ndarray, int]:
    """Misfits (n,) with a torsion spring on the joint where it explains most, and that joint."""
    both = rows.columns(unknowns, tau[..., None])
    found = [(rows.misfits(unknowns, tau), 0)]
    for j, k in enumerate(robot.driven):
        if robot.joint_kinds[k] == "revolute":
            spring = np.zeros((*tau.shape, 1))
            spring[:, j, 0] = rows.q[:, j] * rows.weight[:, j]
            A = np.concatenate([both[..., :-1], spring], axis=-1)
            found.append((relative_misfits(A, both[..., -1])[0], j))
    return min(found, key=lambda x: float(np.log(x[0] + 1e-9).sum()))


def _other_zero(
    robot: "Robot", unknowns: Unknowns, rows: Excerpt, tau: np.ndarray
) -> tuple[np.ndarray, int, float]:
    """Misfits (n,) with the zero of one revolute joint changed so that they are least."""

    def score(joint: int, angle: float) -> float:
        return float(np.log(rows.turned(joint, angle).misfits(unknowns, tau) + 1e-9).sum())

    kinds = [robot.joint_kinds[k] for k in robot.driven]
    turning = [j for j, kind in enumerate(kinds) if kind == "revolute"]
    if not turning:
        return np.ones(len(kinds)), 0, 0.0
    _, j, angle = min((score(j, a), j, a) for j in turning for a in ANGLES if abs(a) > 1e-6)
    for step in np.radians((10.0, 5.0)):
        near = angle + step * np.array([-1.0, 0.0, 1.0])
        a, b, c = (score(j, x) for x in near)
        bend = a - 2.0 * b + c
        angle = (
            angle + step * float(np.clip(0.5 * (a - c) / bend, -1.0, 1.0)) if bend > 0 else angle
        )
    return rows.turned(j, angle).misfits(unknowns, tau), j, angle


def missing_rotors(unknowns: Unknowns, rows: Excerpt) -> list[int]:
    """Joints whose torque a rotor inertia, which the model lacks, explains far better.

    Compared by likelihood as in `other_reading`; what is little next to the arm's largest torque
    says nothing.
    """
    fits = [rows.fitted(unknowns, rows.torque(), rotors) for rotors in (False, True)]
    now, then = (np.sqrt(info.residuals(x)) for info, x in fits)
    info, x = fits[1]
    gain = np.prod(np.maximum(now, 1e-300) / np.maximum(then, 1e-300))
    found = (x[len(unknowns) :] > 0.0) & (then < LESS * now)
    found &= now > LITTLE * np.sqrt(info.torques.max())
    return [int(j) for j in np.flatnonzero(found)] if gain > LIKELIER else []


SURELY = 5.0  # standard deviations of that power


def driving_friction(
    unknowns: Unknowns, x: np.ndarray, covariance: np.ndarray, rows: Excerpt
) -> Iterator[Finding]:
    """Joints whose friction, fitted without constraints, feeds power in: a torque's wrong sign."""
    columns = unknowns.of_kind("viscous", "viscous-", "root", "coulomb", "memory")
    columns = np.array([k for k in columns if unknowns.joints[k] in unknowns.logged], dtype=int)
    if not len(columns):
        return
    tau, qd = rows.torque() * rows.weight, np.zeros((len(rows.q), unknowns.robot.n))
    qd[:, unknowns.logged] = rows.qd
    Y = unknowns.tree_regressor(0.0 * qd, qd, 0.0 * qd)[:, unknowns.logged][..., columns]
    Y = Y * rows.weight[..., None]
    gain = np.einsum("kja,kj->ja", Y, rows.qd)  # power of the joints by coefficient
    power = gain @ x[columns]
    variance = np.einsum("ja,ab,jb->j", gain, covariance[np.ix_(columns, columns)], gain)
    size = np.linalg.norm(tau, axis=0) * np.linalg.norm(rows.qd * rows.weight, axis=0)
    least = np.maximum(DRIVES * size, SURELY * np.sqrt(np.maximum(variance, 0.0)))
    for j in np.flatnonzero(power < -least):
        what = "its friction would drive it: the torque has the sign of the opposite motion"
        name = unknowns.robot.drive_names[j]
        option = sign_option(["tau"], int(j), len(power))
        yield Finding("error", "torques", what, f"change the sign of its torque: {option}", (name,))


WORSE = 1.1  # times the misfits' product: a sign that explains a log worse


def worse_with_other_signs(unknowns: Unknowns, rows: Excerpt) -> list[bool]:
    """Whether the log is explained worse with the torque of the other sign, joint by joint."""
    tau = rows.torque()
    now = rows.misfits(unknowns, tau)
    found = []
    for j in range(tau.shape[1]):
        then = rows.misfits(unknowns, tau * np.where(np.arange(tau.shape[1]) == j, -1.0, 1.0))
        found.append(bool(np.prod(then / np.maximum(now, 1e-300)) > WORSE))
    return found


DELAYS = np.arange(-0.1, 0.1001, 0.005)  # s, of the torque against the motion, that are tried
DELAYED = 0.015  # s, and a step of the log: less is not questioned
ALIKE = 0.4  # of the delay: that of either half differs by less
GAIN = 0.95  # of the misfit is left at most once a real delay is taken into account


def torque_delay(unknowns: Unknowns, rows: Excerpt) -> tuple[float, float]:
    """Seconds by which the torque follows the motion, and the misfit with it next to without."""
    n = unknowns.rows
    both = rows.columns(unknowns, np.stack([rows.torque(d) for d in DELAYS], axis=-1))
    Y, B = both[..., : -len(DELAYS)], both[..., -len(DELAYS) :]
    zero = int(np.argmin(np.abs(DELAYS)))
    sizes = np.maximum(np.linalg.norm(B[..., zero], axis=0), 1e-300)

    def left(sizes: np.ndarray) -> np.ndarray:
        """Sums of squares of every joint's residual by delay, (n, D)."""
        A, b = ((x / sizes[:, None]).reshape(-1, x.shape[-1]) for x in (Y, B))
        Q = np.linalg.qr(A)[0]
        r = b - Q @ (Q.T @ b)
        return (r * r).reshape(-1, n, r.shape[-1]).sum(axis=0)

    weights = sizes * np.sqrt(np.maximum(left(sizes)[:, zero], 1e-12))  # as in a weighted fit
    total = left(weights).sum(axis=0)
    k = int(np.argmin(total))
    if not 0 < k < len(DELAYS) - 1:  # this late or later
        return float(DELAYS[k]), float(np.sqrt(total[k] / max(total[zero], 1e-300)))
    a, b, c = total[k - 1 : k + 2]
    delay = float(DELAYS[k] + 0.5 * (a - c) / (a - 2.0 * b + c) * (DELAYS[1] - DELAYS[0]))
    return delay, float(np.sqrt(b / max(total[zero], 1e-300)))


def late_torque(unknowns: Unknowns, rows: Excerpt, step: float) -> Iterator[Finding]:
    """A torque that follows the motion late, or comes before it: by as much in both halves."""
    delay, left = torque_delay(unknowns, rows)
    if abs(delay) < DELAYED or abs(delay) < step or left > GAIN:
        return
    half, end = len(rows.q) // 2, len(rows.q)
    halves = [torque_delay(unknowns, rows.part(*k))[0] for k in ((0, half), (half, end))]
    if np.abs(np.array(halves) - delay).max() < ALIKE * abs(delay):
        late = "late" if delay > 0.0 else "early"
        least = "at least " if abs(delay) > 0.99 * DELAYS[-1] else ""
        what = f"the torque comes {least}{1e3 * abs(delay):.0f} ms {late} against the positions"
        remedy = "processing=dy.Processing(torque_delay='estimate') takes that into account"
        yield Finding("warning", "torques", what, remedy)


SIMILAR, DIFFERENT = 0.25, 0.5  # of gravity: a description is surely not, and is, another one
HEAVY = 0.1  # of the torque: less gravity says nothing


def gravity_shares(unknowns: Unknowns, x: np.ndarray, rows: Excerpt) -> np.ndarray:
    """Gravity as found next to the torque of every joint, (n,)."""
    (q, *_), weight = rows.closing(unknowns)
    body, rest = unknowns.of_kind("body"), np.zeros_like(q)
    found = unknowns.regressor(q, rest, rest)[..., body] @ x[body]
    sizes = np.linalg.norm(rows.torque() * weight, axis=0)
    return np.linalg.norm(found * weight, axis=0) / np.maximum(sizes, 1e-300)


def gravity_difference(robot: "Robot", unknowns: Unknowns, x: np.ndarray, rows: Excerpt) -> float:
    """What is left of gravity as found without gravity as described, of it; 0 if not known.

    Masses that are all wrong by one factor make no difference.
    """
    (q, *_), weight = rows.closing(unknowns)
    good = weight.any(axis=1)
    try:
        described = robot.gravity_torque(q[good])
    except DynamisError:
        return 0.0  # a symbol without a value
    body, rest = unknowns.of_kind("body"), np.zeros_like(q[good])
    found = unknowns.regressor(q[good], rest, rest)[..., body] @ x[body]
    size = float(np.linalg.norm(found))
    if size < HEAVY * np.linalg.norm(rows.torque()[good]) or not described.any():
        return 0.0
    factor = max(0.0, float((found * described).sum() / (described**2).sum()))
    return float(np.linalg.norm(found - factor * described)) / size
