"""The verdict on an identification: good, doubtful, not seen or not usable, of joints and of all.

A fit gives a first verdict: its findings, and joints of whose torque too much is left over. What
it misses of torques it is compared with (fitted, held out, of other logs) makes it worse, not
better.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...arguments import choice, strict, text
from ...errors import OptionError, shown
from ...logs.checks import without_spikes
from ...logs.log import Log
from ...model.check.finding import Finding
from ...tables import html_table, text_table
from ..information import Information
from ..motion import HIGHEST, lowpass, on_even_grid
from ..processing import Processing
from ..unknowns import Unknowns
from .error_split import ErrorSplit, of_joint, percent

GOOD, DOUBTFUL, NOT_SEEN, NOT_USABLE = VERDICTS = ("good", "doubtful", "not seen", "not usable")
OF = {"note": GOOD, "warning": DOUBTFUL, "error": NOT_USABLE}  # levels of findings
HALF = 0.5  # of a torque missed: three quarters of its power are shown, less is not seen
QUARTER = 0.25  # of a torque missed by the model while joints move: worth a doubt
MOVING = 0.1  # of the rows: a joint that moves in fewer is not judged by them
MUCH = 0.15  # of a joint's torque left over: less is not questioned
LITTLE = 0.01  # of the largest joint's torque: less says nothing about a small joint
STICTION = 0.5  # of the Coulomb torque: at low speed friction does not repeat better than that
HOPELESS = 0.6  # of the torque left over: no model, noise or not
VALIDATE = "validate it on a motion of another kind"
HEAD = ("", "verdict", "reason", "what to do")


@strict
@dataclass(frozen=True)
class Verdict:
    """How far to trust an estimate: `level`, the reason in one sentence, what to do.

    `level` is "good", "doubtful", "not seen" (noise and friction at rest could make up the torque,
    or half of it is missed) or "not usable"; `joints` holds a Verdict for every joint by name.
    """

    level: str
    reason: str
    remedy: str = ""
    joints: Mapping[str, "Verdict"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        choice(self.level, "level", VERDICTS)
        text(self.reason, "reason")
        text(self.remedy, "remedy")
        if not isinstance(self.joints, Mapping) or not all(
            isinstance(x, Verdict) for x in self.joints.values()
        ):
            raise OptionError(f"joints is {shown(self.joints)}, expected Verdicts by joint name")

    def cells(self) -> list[tuple[str, str, str, str]]:
        """Rows of a table: all and every joint; verdict, reason, remedy."""
        rows = {"all": self, **self.joints}
        return [(name, x.level, x.reason, x.remedy) for name, x in rows.items()]

    def __str__(self) -> str:
        rows = [(name, level, reason) for name, level, reason, _ in (HEAD, *self.cells())]
        return text_table(rows, rule=False) + (f"\nhint: {self.remedy}" if self.remedy else "")

    def _repr_html_(self) -> str:
        return html_table([HEAD, *self.cells()])


@dataclass(frozen=True, eq=False)
class Leftover:
    """Root mean squares of the fitted rows of every joint, (n,): torque, residual, what is allowed.

    Allowed is what noise and static friction (stiction) can explain.
    """

    torque: np.ndarray
    residual: np.ndarray
    allowed: np.ndarray

    @property
    def explained_by_noise(self) -> np.ndarray:
        """Joints all of whose torque noise and stiction can explain, (n,) bool."""
        own = np.sqrt(np.maximum(self.allowed**2 - (LITTLE * self.torque.max()) ** 2, 0.0))
        return own >= self.torque

    @property
    def share(self) -> np.ndarray:
        """Of every joint's torque, (n,)."""
        return self.residual / np.maximum(self.torque, 1e-300)

    def of(self, j: int) -> str:
        """The sentence on a joint."""
        size = max(float(self.torque[j]), 1e-300)
        parts = self.residual[j] / size, min(self.allowed[j] / size, 1.0)
        left, allowed = (f"{100 * x:.1f} %" for x in parts)
        return f"{left} of its torque is left over, noise and stiction can explain {allowed}"

    @property
    def overall(self) -> float:
        """Of the torque of all joints."""
        return float(np.linalg.norm(self.residual) / max(np.linalg.norm(self.torque), 1e-300))


def leftover(info: Information, unknowns: Unknowns, x: np.ndarray, noise: np.ndarray) -> Leftover:
    """What a fit leaves of the torque; `noise` (n,) is that of the torque as fitted.

    At low speed friction is anywhere up to its Coulomb torque: residuals of that order, and those
    that are small next to the arm's largest torques, say nothing.
    """
    rows, coulomb = np.maximum(info.rows, 1), coulomb_torques(unknowns, x)
    torque, residual = (np.sqrt(s / rows) for s in (info.torques, info.residuals(x)))
    allowed = np.sqrt(noise**2 + (STICTION * coulomb) ** 2 + (LITTLE * torque.max()) ** 2)
    return Leftover(torque, residual, allowed)


def coulomb_torques(unknowns: Unknowns, x: np.ndarray) -> np.ndarray:
    """Coulomb torque of every logged joint, (n,), with that of elements with memory."""
    coulomb = np.zeros(unknowns.rows)
    for k in unknowns.of_kind("coulomb", "memory"):
        if (row := unknowns.row_of(unknowns.joints[k])) is not None:
            coulomb[row] += abs(x[k])
    return coulomb


def noise_as_fitted(logs: Sequence[Log], processing: Sequence[Processing]) -> np.ndarray:
    """Noise of the torque that passes the filter of the fit, RMS (n,): white, from above its band.

    What no filtered motion reaches is noise: |tau - low-passed|, times the share of its band.
    """
    found = []
    for log, how in zip(logs, processing, strict=True):
        even = on_even_grid(without_spikes(log))
        cut, half = float(how.cutoff or 0.0), 0.5 * even.rate
        if cut < HIGHEST * even.rate:
            above = even.tau - lowpass(even.tau, cut, even.rate)
            found.append(above.std(axis=0) * np.sqrt(cut / (half - cut)))
    return np.max(found, axis=0) if found else np.zeros(logs[0].n)


def poor_joints(left: Leftover, joints: Sequence[str], friction: bool = True) -> Iterator[Finding]:
    """Joints whose torque the model does not explain, beyond what noise and friction allow.

    `friction`: whether another friction model can be chosen.
    """
    for j, name in enumerate(joints):
        more = left.share[j] > MUCH and left.residual[j] > left.allowed[j]
        nothing = left.share[j] > HOPELESS and left.residual[j] > LITTLE * left.torque.max()
        if more or nothing:
            remedy = f"look at the columns of {name} and at its friction"
            remedy += ": friction='auto'" if friction else ""
            yield Finding("warning", "fit", left.of(j), remedy, (name,))


def better_with_rotors(
    left: Leftover, then: Leftover, which: Sequence[int], joints: Sequence[str]
) -> Iterator[Finding]:
    """Joints whose torque rotor inertias would explain; `then` is what a fit with them leaves."""
    for j in which:
        now, less = (f"{100 * x.share[j]:.1f} %" for x in (left, then))
        what = f"{now} of its torque is left over, with rotor inertias {less} would be"
        remedy = "rotors=True identifies rotor inertias, which the model does not have"
        yield Finding("warning", "fit", what, remedy, (joints[j],))


def verdict(
    findings: Sequence[Finding], joints: Sequence[str], left: Leftover | None = None
) -> Verdict:
    """The verdict of findings, worst first; without a fit no joint is good."""
    ranked = sorted(f for f in findings if f.level != "note")
    unseen = Verdict(DOUBTFUL, "not fitted: the log was refused")
    each = {}
    for j, name in enumerate(joints):
        own = [f for f in ranked if name in (f.joints or (name,) * (f.level == "error"))]
        each[name] = unseen if left is None else _by_leftover(left, j)
        if own:
            each[name] = worse(each[name], _of(own[0]))
    if ranked:
        worst, named = _of(ranked[0]), [name for name in joints if name in ranked[0].joints]
        alike = sum(f.level == ranked[0].level for f in ranked) - 1
        said = f"{' and '.join(named)}: " if 0 < len(named) < len(joints) else ""
        said += worst.reason + (f" (and {alike} more)" if alike else "")
        return replace(worst, reason=said, joints=each)
    if left is None:
        return replace(unseen, joints=each)
    reason = f"{100 * left.overall:.1f} % of the torque is left over"
    return Verdict(GOOD, reason, VALIDATE, each)


def worse(a: Verdict, b: Verdict) -> Verdict:
    """The worse of two verdicts, of equal ones the second."""
    return max(b, a, key=lambda x: VERDICTS.index(x.level))


def _by_leftover(left: Leftover, j: int) -> Verdict:
    """A joint by what the fit leaves: good, or not seen."""
    if left.explained_by_noise[j]:
        what = "noise and stiction could explain all of its torque"
        return Verdict(NOT_SEEN, what, f"{SHOW_IT}, or measure its torque with less noise")
    if left.share[j] > HALF:
        return Verdict(NOT_SEEN, left.of(j), SHOW_IT)
    return Verdict(GOOD, left.of(j))


SHOW_IT = "record a motion in which this joint is faster and carries more, and look at its columns"


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a model misses of the torques of a motion, and in words which.

    `refitted`: the model is not the one handed over, which was fitted on this motion too; then a
    large error says that the motion shows too little, no more, and it counts as far as it is sure:
    the part is short, a little of it may be hard to predict by chance.
    """

    where: str
    split: ErrorSplit
    refitted: bool = False

    @property
    def model_squares(self) -> np.ndarray:
        """Sums of squares that the model misses, as far as they count, (n,)."""
        return self.split.sure_model_squares if self.refitted else self.split.model_squares

    @property
    def model(self) -> float:
        """The part of the error that the model leaves, as far as it counts."""
        return self.split.sure_model if self.refitted else self.split.model


def compared(
    found: Verdict, checks: Sequence[Comparison], quoted: Comparison, coulomb: np.ndarray
) -> Verdict:
    """The verdict once the errors of comparisons count too; `quoted` gives the figure.

    `coulomb` (n,) is the Coulomb torque of every joint: what friction at rest may well be.
    """
    each = {}
    for j, (name, own) in enumerate(found.joints.items()):
        seen = [_joint_missed(check, j, float(coulomb[j])) for check in checks]
        worst = max(seen, key=lambda x: VERDICTS.index(x.level))
        if VERDICTS.index(worst.level) <= VERDICTS.index(own.level):
            worst = own
        each[name] = worst if worst.level != GOOD else Verdict(GOOD, of_joint(quoted.split, j))
    whole = [_missed(check) for check in checks]
    whole += [_of_joint(name, x) for name, x in each.items() if x.level in (DOUBTFUL, NOT_USABLE)]
    worst = max(whole, key=lambda x: VERDICTS.index(x.level))
    if VERDICTS.index(worst.level) <= VERDICTS.index(found.level):
        worst = found
    if worst.level == GOOD:
        split = quoted.split
        reason = f"{percent(split.error)} of the torque is missed: {split.said}"
        worst = Verdict(GOOD, reason, found.remedy)
    unseen = [name for name, x in each.items() if x.level == NOT_SEEN]
    if unseen and len(unseen) == len(each):
        worst = worse(worst, _of_joint(*next(iter(each.items()))))
    elif unseen and worst.level in (GOOD, DOUBTFUL):
        worst = replace(worst, reason=f"{worst.reason}; not seen: {', '.join(unseen)}")
    return replace(worst, joints=each)


def _joint_missed(check: Comparison, j: int, coulomb: float) -> Verdict:
    """A joint by what a comparison misses of its torque."""
    split = check.split
    torque, residual, *_ = split.sizes[j]
    model = float(np.sqrt(check.model_squares[j] / max(1, split.rows)))
    largest = float(split.sizes[:, 0].max())
    said = f"{of_joint(split, j)}, on {check.where}"
    if split.moving[j] < MOVING * split.rows or torque == 0.0:
        return Verdict(GOOD, said)
    if not check.refitted and model > max(torque, coulomb, LITTLE * largest):
        return Verdict(NOT_USABLE, f"{said}: more than without a prediction", SHOW_IT)
    if residual > HALF * torque:
        return Verdict(NOT_SEEN, said, SHOW_IT)
    if model > max(QUARTER * torque, STICTION * coulomb, LITTLE * largest):
        return Verdict(DOUBTFUL, said, f"{SHOW_IT}; look at its friction")
    return Verdict(GOOD, said)


def _missed(check: Comparison) -> Verdict:
    """The whole by what a comparison misses of all torques."""
    split = check.split
    said = f"{percent(split.error)} of the torque is missed on {check.where}: {split.said}"
    remedy = "look at the joint with the largest error, its columns, and the robot"
    if split.model > HALF and not check.refitted:
        return Verdict(NOT_USABLE, said, remedy)
    if split.error > HALF:
        return Verdict(NOT_SEEN, said, SHOW_IT)
    if check.model > QUARTER:
        return Verdict(DOUBTFUL, said, remedy)
    return Verdict(GOOD, said)


def _of_joint(name: str, own: Verdict) -> Verdict:
    """The verdict on a joint as one on all."""
    return replace(own, reason=f"{name}: {own.reason}")


def validated(found: Verdict) -> Verdict:
    """The verdict once there is a validation on another motion: without the hint to make one."""
    return replace(found, remedy="") if found.remedy == VALIDATE else found


def _of(finding: Finding) -> Verdict:
    return Verdict(OF[finding.level], finding.what, finding.remedy)
