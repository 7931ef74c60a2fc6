"""Elastic joints of an arm from logs of both sides: their gears and motors, then its links.

The equation of every motor gives rotor, motor friction, stiffness, damping and gap. What is left of
the torque passes the gear: with the positions of the links it is the log of an arm without motors,
which is identified as any other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked, is_word, one_of, strict
from ...errors import OptionError, counted, shown
from ...logs.log import OPTIONAL, Log
from ...model.check.finding import Finding
from ...model.drive import Drive
from ...tables import text_table
from ..motion import on_even_grid
from .motor_equation import (
    CURVED,
    MotorFit,
    MotorRows,
    Stretch,
    ahead,
    convolved,
    cutoff_for,
    fitted,
    kernels,
    with_spread,
)

if TYPE_CHECKING:
    from ...robot import Robot

AUTO = "auto"
STILL = 1e-7  # rad or m: a deflection that varies less is that of a rigid joint
UNSURE = 0.2  # of a stiffness: an interval that reaches further says that it is not seen
LOOSE = 0.05  # of a stiffness: a rotor inertia that is described is then taken as it is
NOISY = 5.0  # times its noise: a deflection that is smaller is hardly measured
FEWEST = 200  # rows of a motor equation
SHORTEST = 64  # samples of a stretch
SHOWN = ("stiffness", "damping", "backlash", "rotor_inertia", "viscous", "coulomb")
DRIVE = "drive trains"


@strict
@dataclass(frozen=True, eq=False, repr=False)
class ElasticJoint:
    """One elastic joint as identified, in units of the joint; `half_widths` are of 95 % intervals.

    `rotor_inertia`, `viscous` and `coulomb` are of the motor, reflected. `zero` is what its encoder
    shows more than that of the link when the gear is at rest (with a gap: in its middle), `lag` by
    how many seconds the link's encoder is late, `delay` by how many the torque is. `explained` is
    R^2 of the motor's torque, low-passed at `cutoff` Hz as the equation was.
    """

    name: str
    stiffness: float
    damping: float
    backlash: float
    rotor_inertia: float
    viscous: float
    coulomb: float
    zero: float
    lag: float
    delay: float
    explained: float
    cutoff: float
    half_widths: Mapping[str, float]

    @checked
    def interval(self, name: str) -> tuple[float, float]:
        """Lowest and highest of a constant with 95 % confidence, such as "stiffness"."""
        one_of(name, (*SHOWN, *CURVED), f"an elastic joint has no constant {shown(name)}")
        value, width = getattr(self, name), self.half_widths.get(name, 0.0)
        low = value - width
        return (max(low, 0.0) if name in SHOWN else low), value + width

    def drive(self, described: Drive | None) -> Drive:
        """The drive of the joint with what was found, in units of its motor."""
        drive = Drive() if described is None else described
        gear = abs(float(drive.gear))  # type: ignore[arg-type]
        return replace(
            drive,
            stiffness=self.stiffness,
            damping=max(self.damping, 0.0),
            backlash=self.backlash,
            hardening=0.0,
            rotor_inertia=max(self.rotor_inertia, 0.0) / gear**2,
            viscous=max(self.viscous, 0.0) / gear**2,
            coulomb=max(self.coulomb, 0.0) / gear,
        )

    def __repr__(self) -> str:
        low, high = self.interval("stiffness")
        gap = f", backlash {self.backlash:.4g}" if self.backlash else ""
        stiffness = f"stiffness {self.stiffness:.4g} [{low:.4g}, {high:.4g}]"
        return f"ElasticJoint({self.name!r}, {stiffness}{gap})"


@strict
@dataclass(frozen=True, eq=False, repr=False)
class ElasticEstimate:
    """Elastic joints that logs of both sides show, and what is dubious about them.

    `joints` in the arm's order; `elastic["joint2"]` is one of them. `described` is the arm as it
    was given.
    """

    joints: tuple[ElasticJoint, ...]
    findings: tuple[Finding, ...] = ()
    described: Any = None

    @checked
    def __getitem__(self, name: str) -> ElasticJoint:
        names = [x.name for x in self.joints]
        one_of(name, names, f"no elastic joint {shown(name)} was found")
        return self.joints[names.index(name)]

    def __iter__(self) -> Iterator[ElasticJoint]:
        return iter(self.joints)

    def __len__(self) -> int:
        return len(self.joints)

    @property
    def cutoff(self) -> float:
        """Cut-off (Hz) of the Gaussian low-pass that torques of the links pass; the highest."""
        return max(x.cutoff for x in self.joints)

    def links(self, robot: "Robot") -> "Robot":
        """The arm behind its elastic gears: without their drives."""
        for joint in self.joints:
            robot = robot.with_drive(joint.name, None)
        return robot

    def with_gears(self, links: "Robot") -> "Robot":
        """An arm of identified links with the gears and motors that were found."""
        drives = {} if self.described is None else _drives(self.described)
        for joint in self.joints:
            links = links.with_drive(joint.name, joint.drive(drives.get(joint.name)))
        return links

    def of_links(self, log: Log, names: Sequence[str]) -> tuple[Log, np.ndarray]:
        """The log of the links, and the torques (N, n) that rotors and friction of motors took.

        Positions, velocities and torques of all joints pass one Gaussian low-pass.
        """
        if not self.joints:
            return log, np.zeros_like(log.tau)
        if log.motor is None:
            raise OptionError(
                f"log {log.name!r} has no motor side, expected both sides of elastic joints",
                "read_log(..., columns=dict(q=..., motor=...))",
            )
        found = [x for piece in log.pieces() if (x := self._piece(piece, names)) is not None]
        if not found:
            raise OptionError(f"log {log.name!r} has no stretch of {SHORTEST} samples without gaps")
        arrays = {name: np.concatenate([x[name] for x in found]) for name in found[0]}
        taken = arrays.pop("taken")
        return replace(log, motor=None, motor_rate=None, **arrays), taken

    def _piece(self, log: Log, names: Sequence[str]) -> dict[str, np.ndarray] | None:
        """Arrays of the links over one stretch, and what the motors `taken`."""
        if len(log) < SHORTEST or log.motor is None:
            return None
        log = on_even_grid(log)
        own = {x.name: x for x in self.joints}
        given = {x: getattr(log, x) for x in OPTIONAL if not x.startswith("motor")}
        arrays = {name: np.array(x) for name, x in given.items() if x is not None}
        arrays |= {"q": np.array(log.q), "tau": np.array(log.tau)}
        taken = np.zeros_like(log.tau)
        for k, name in enumerate(names):
            joint = own.get(name)
            lag, delay = (0.0, 0.0) if joint is None else (joint.lag, joint.delay)
            for of_link in arrays.keys() & {"q", "qd", "qdd"}:
                x = ahead(arrays[of_link][:, k], lag / log.step)
                arrays[of_link][:, k] = convolved_ends(x, kernels(log.step, self.cutoff)[0])
            g = kernels(log.step, self.cutoff, delay)
            arrays["tau"][:, k] = convolved_ends(arrays["tau"][:, k], g[0])
            if joint is not None:
                taken[:, k] = self._taken(joint, log.motor[:, k], log.step)  # type: ignore[index]
        return {"t": log.t, **arrays, "tau": arrays["tau"] - taken, "taken": taken}

    def _taken(self, joint: ElasticJoint, motor: np.ndarray, step: float) -> np.ndarray:
        """Torque that a rotor and its friction take, (N,)."""
        g = kernels(step, self.cutoff)
        rate = convolved_ends(motor, g[1])
        sliding = convolved_ends(np.sign(rate), g[0])
        inertial = joint.rotor_inertia * convolved_ends(motor, g[2])
        return inertial + joint.viscous * rate + joint.coulomb * sliding

    @property
    def columns(self) -> tuple[str, ...]:
        """The constants that a table shows."""
        return SHOWN

    def table(self) -> list[tuple[str, ...]]:
        """Rows: joint, constants with their half widths."""
        rows = []
        for x in self.joints:
            pairs = ((getattr(x, name), x.half_widths.get(name, 0.0)) for name in SHOWN)
            rows.append((x.name, *(f"{value:.5g} +- {width:.2g}" for value, width in pairs)))
        return rows

    def __str__(self) -> str:
        head = ("joint", *(x.replace("_", " ") for x in self.columns))
        return text_table([head, *self.table()], right=len(head), rule=False)

    def __repr__(self) -> str:
        return f"ElasticEstimate({', '.join(map(repr, self.joints))})"


def convolved_ends(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """A signal through a kernel, continued at both ends, turned about its end points."""
    size = min(len(kernel), len(x) - 1)
    padded = np.pad(x, size, mode="reflect", reflect_type="odd")
    return convolved(kernel, padded)[size:-size]


def _drives(robot: "Robot") -> dict[str, Drive | None]:
    return {str(x.joint_name): x.drive for x in robot.model.links}


def checked_elastic(elastic: Any, robot: "Robot", logs: Sequence[Log]) -> tuple[str, ...]:
    """Names of the joints that may be elastic; errors where none can be found."""
    names = robot.drive_names
    if not is_word(elastic, (AUTO,)):
        if isinstance(elastic, (str, bytes)) or not isinstance(elastic, Sequence) or not elastic:
            raise OptionError(
                f"elastic is {shown(elastic)}, expected 'auto', a list of names of joints, or None"
            )
        for name in elastic:
            one_of(name, names, f"elastic: the robot has no joint {shown(name)}")
    robot.model.refuse_closures("identification of elastic joints")
    if robot.model.gear_matrix is not None:
        raise OptionError(
            f"robot {robot.name!r} has a gear_matrix: its motors turn several joints",
            "elastic joints are identified where every motor turns one joint",
        )
    one_sided = [log.name or "log" for log in logs if log.motor is None]
    if one_sided:
        raise OptionError(
            f"elastic={shown(elastic)} needs both sides of the gears, {one_sided[0]!r} has one",
            "read_log(..., columns=dict(q=..., motor=...)): positions of links and of motors",
        )
    asked = names if is_word(elastic, (AUTO,)) else elastic
    return tuple(x for x in names if x in asked)


def elastic_joints(robot: "Robot", logs: Sequence[Log], elastic: Any) -> ElasticEstimate:
    """Gears and motors of elastic joints from logs with both sides."""
    asked, drives = checked_elastic(elastic, robot, logs), _drives(robot)
    joints, findings = [], []
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
    return ElasticEstimate(tuple(joints), tuple(findings), robot)


def left_rigid(logs: Sequence[Log]) -> Iterator[Finding]:
    """A note on logs of both sides that are taken as those of a rigid arm."""
    bent = [np.ptp(x.motor - x.q) for x in logs if x.motor is not None]
    if max(bent, default=0.0) > STILL:
        what = "the log holds both sides of elastic joints: q was taken as that of a rigid arm"
        yield Finding("note", DRIVE, what, 'elastic="auto" identifies stiffness and backlash')


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
        rows = replace(rows, inertia=known, _filtered={}, _lagging={})
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
    offset = values.pop("offset")
    if not values["backlash"]:
        values["zero"] = -offset / values["stiffness"]
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
    flanks = rows.flanks(np.array([gap, fit.curved[1] or _middle(values), values["lag"], 0.0]))
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


def _middle(values: Mapping[str, float]) -> float:
    """The deflection at rest of a gear without a gap."""
    return -values["offset"] / values["stiffness"]


def _rough(x: Stretch, cutoff: float) -> np.ndarray:
    """Part of a deflection above the band, inside the stretch."""
    d, g = x.motor - x.link, kernels(x.step, min(2.0 * cutoff, 0.2 / x.step))[0]
    return (d - convolved(g, d))[len(g) : -len(g)]
