"""What logs show of elastic joints: their constants with intervals, and the log of the links."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked, one_of, strict
from ...errors import OptionError, shown
from ...logs.log import OPTIONAL, Log
from ...model.check.finding import Finding
from ...model.drive import Drive
from ...tables import text_table
from ..motion import on_even_grid
from .asked import check_both_sides
from .kernels import ahead, convolved_ends, kernels
from .motor_equation import CURVED

if TYPE_CHECKING:
    from ...robot import Robot
    from .deflection import DeflectionEstimate
    from .motor_side import MotorSide

SHORTEST = 64  # samples of a stretch
HARDENING = "hardening"
SHOWN = ("stiffness", "damping", "backlash", "rotor_inertia", "viscous", "coulomb")


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
    hardening: float = 0.0

    @checked
    def interval(self, name: str) -> tuple[float, float]:
        """Lowest and highest of a constant with 95 % confidence, such as "stiffness"."""
        one_of(
            name, (*SHOWN, *CURVED, HARDENING), f"an elastic joint has no constant {shown(name)}"
        )
        value, width = getattr(self, name), self.half_widths.get(name, 0.0)
        low = value - width
        return (max(low, 0.0) if name in (*SHOWN, HARDENING) else low), value + width

    def drive(self, described: Drive | None) -> Drive:
        """The drive of the joint with what was found, in units of its motor."""
        drive = Drive() if described is None else described
        gear = abs(float(drive.gear))  # type: ignore[arg-type]
        return replace(
            drive,
            stiffness=self.stiffness,
            damping=max(self.damping, 0.0),
            backlash=self.backlash,
            hardening=self.hardening,
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
    """Elastic joints that logs show, and what is dubious about them.

    `joints` in the arm's order; `elastic["joint2"]` is one of them. `described` is the arm as it
    was given. `motor_side` is what logs of motors alone gave: links along the motors of any log.
    `deflections` is what was found of a sensor that low-passes them, and of links and gears by it.
    """

    joints: tuple[ElasticJoint, ...]
    findings: tuple[Finding, ...] = ()
    described: Any = None
    motor_side: "MotorSide | None" = None
    deflections: "DeflectionEstimate | None" = None

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
        drives = {} if self.described is None else drives_of(self.described)
        for joint in self.joints:
            links = links.with_drive(joint.name, joint.drive(drives.get(joint.name)))
        return links

    def of_links(
        self, log: Log, names: Sequence[str], ends: bool = False
    ) -> tuple[Log, np.ndarray]:
        """The log of the links, and the torques (N, n) that rotors and friction of motors took.

        Positions, velocities and torques of all joints pass one Gaussian low-pass. Rows at both
        ends of a stretch, of which it knows half, are left out but for `ends`.
        """
        if not self.joints:
            return log, np.zeros_like(log.tau)
        if log.motor is None and self.motor_side is not None:
            log = self.motor_side.both_sides(log)
        check_both_sides(log)
        if self.deflections is not None:
            log = self.deflections.without_sensor(log)
        pieces = [self._piece(piece, names) for piece in log.pieces()]
        reach = 0 if ends else len(kernels(log.step, self.cutoff)[0]) // 2
        found = [
            {name: rows[reach : len(rows) - reach] for name, rows in x.items()}
            for x in pieces
            if x is not None and len(x["t"]) >= SHORTEST + 2 * reach
        ]
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
        return (*SHOWN, HARDENING) if any(x.hardening for x in self.joints) else SHOWN

    def table(self) -> list[tuple[str, ...]]:
        """Rows: joint, constants with their half widths."""
        rows = []
        for x in self.joints:
            pairs = ((getattr(x, name), x.half_widths.get(name, 0.0)) for name in self.columns)
            rows.append((x.name, *(f"{value:.5g} +- {width:.2g}" for value, width in pairs)))
        return rows

    def __str__(self) -> str:
        head = ("joint", *(x.replace("_", " ") for x in self.columns))
        return text_table([head, *self.table()], right=len(head), rule=False)

    def __repr__(self) -> str:
        return f"ElasticEstimate({', '.join(map(repr, self.joints))})"


def drives_of(robot: "Robot") -> dict[str, Drive | None]:
    """Drives by the name of their joint."""
    return {str(x.joint_name): x.drive for x in robot.model.links}
