"""The unknowns: base parameters of the bodies and drives, and friction of every joint.

The torque is tau = Y(q, qd, qdd) S x + known, with S from the unknowns x to the full parameters.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.base_parameters import base_parameters
from ..errors import OptionError
from ..lazy import cached_property
from ..model.check.finding import Finding
from ..model.drive import Drive
from ..model.friction import Friction
from ..model.parameters import JOINT_NAMES, parameter_names
from .frictions import FrictionModel

if TYPE_CHECKING:
    from ..robot import Robot

INERTIAL = 10
TINY = 1e-6  # N m s/rad: a viscous coefficient to hang a root on


RIGID = ("body", "rotor")
OWN = ("root", "load")  # kinds that are no parameter of a robot
SPURIOUS = 0.3  # of the load: no gear rubs more


@dataclass(frozen=True, eq=False)
class Unknowns:
    """The unknowns of one robot with one friction model.

    `pick` (p, m): the regressor's columns that belong to the unknowns, Y @ pick; `group` (m, p):
    the unknowns as sums of full parameters, x = group @ full. Unknowns of kind "root" and "load"
    have columns of their own; the latter need the rigid torque, of the unknowns in `rigid`.
    """

    robot: "Robot"  # with the friction law applied
    friction: FrictionModel
    names: tuple[str, ...]
    kinds: tuple[str, ...]  # "body", "rotor", "viscous", "root", "coulomb", "offset", "load"
    joints: tuple[int, ...]  # the joint of friction, -1 for bodies and rotors
    pick: np.ndarray
    group: np.ndarray
    without_effect: tuple[str, ...]  # parameters that no torque shows
    rotors: bool
    rigid: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.names)

    def of_kind(self, *kinds: str) -> np.ndarray:
        """Indices of the unknowns of some kinds."""
        return np.flatnonzero(np.isin(self.kinds, kinds))

    def loaded(self, x: np.ndarray) -> "Unknowns":
        """The unknowns with the rigid torque of these values behind the loads."""
        return replace(self, rigid=x)

    @cached_property
    def full_names(self) -> tuple[str, ...]:
        """Names of the full parameter vector."""
        return parameter_names(self.robot.model)

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First column of every unknown, the one subtracted from it, and which have one."""
        first = self.pick.argmax(axis=0)
        second = np.where(self.pick.min(axis=0) < 0.0, self.pick.argmin(axis=0), 0)
        return first, second, np.flatnonzero(self.pick.min(axis=0) < 0.0)

    def regressor(self, q: Any, qd: Any, qdd: Any, threads: int | None = None) -> np.ndarray:
        """Columns of the unknowns, (N, n, m)."""
        Y = self.robot.regressor(q, qd, qdd, threads=threads)
        first, second, both = self._columns
        Z = Y[..., first]
        Z[..., both] -= Y[..., second[both]]
        own = self.of_kind(*OWN)
        if len(own):
            Z[..., own] = 0.0
            self._own_columns(Z, np.asarray(qd, dtype=float))
        return Z

    def _own_columns(self, Z: np.ndarray, qd: np.ndarray) -> None:
        speed = self.friction.speed
        for k in self.of_kind("root"):
            v = qd[:, self.joints[k]]
            Z[:, self.joints[k], k] = v / np.cbrt(v * v + speed * speed)
        loads = self.of_kind("load")
        if len(loads) and self.rigid is not None:
            bodies = self.of_kind(*RIGID)
            torque = np.abs(Z[..., bodies] @ self.rigid[bodies])
            for k in loads:
                j = self.joints[k]
                Z[:, j, k] = np.tanh(qd[:, j] / speed) * torque[:, j]

    def full(self, x: np.ndarray) -> np.ndarray:
        """A full parameter vector with these unknowns, nearest to the robot's own values."""
        own = np.array(self.robot.parameters.values, dtype=float)
        own[self._cleared] = 0.0
        change = np.linalg.lstsq(self.group, x - self.group @ own, rcond=None)[0]
        return own + change

    def as_robot(
        self, full: np.ndarray, x: np.ndarray, findings: tuple[Finding, ...] = ()
    ) -> "Robot":
        """The robot with these parameters; roots in its friction law, loads in its drives."""
        robot = self.robot.with_parameters(full)
        if findings != robot.model.findings:  # those of the robot as described are about that one
            robot = type(robot)(replace(robot.model, findings=findings))
        roots = {self.joints[k]: x[k] for k in self.of_kind("root")}
        loads = {self.joints[k]: x[k] for k in self.of_kind("load")}
        if not roots and not loads:
            return robot
        links, names = list(robot.model.links), robot.model.joint_names
        for i, link in enumerate(links):
            j = names.index(link.joint_name) if link.joint_name in names else -1
            if j in roots:
                links[i] = replace(links[i], friction=_rooted(links[i].friction, float(roots[j])))
            if j in loads and loads[j] > 0.0:
                drive = links[i].drive or Drive()
                links[i] = replace(
                    links[i], drive=replace(drive, efficiency=1.0 / (1.0 + loads[j]))
                )
        return type(robot)(replace(robot.model, links=tuple(links)))

    @cached_property
    def _cleared(self) -> np.ndarray:
        """Joint parameters that are not among the unknowns and count as zero."""
        friction = np.array([_is_friction(name) for name in self.full_names])
        rotor = np.array([name.endswith(".rotor_inertia") for name in self.full_names])
        return friction | (rotor & (not self.rotors))

    @property
    def values(self) -> np.ndarray:
        """The unknowns of the robot as described; half the sum of a Coulomb pair is offset."""
        full = np.asarray(self.robot.parameters.values, dtype=float)
        x, place = self.group @ full, {name: k for k, name in enumerate(self.full_names)}
        for k in self.of_kind("offset"):
            joint = self.names[k].removesuffix("offset")
            x[k] += 0.5 * (full[place[f"{joint}coulomb+"]] + full[place[f"{joint}coulomb-"]])
        return x


def _rooted(friction: Friction, root: float) -> Friction:
    """viscous qd + root |qd|^(1/3) as a law: the root is a ratio of the viscous coefficient."""
    viscous = friction.viscous if abs(friction.viscous) > TINY else TINY
    return replace(
        friction, viscous=viscous, constants={**friction.constants, "ratio": root / viscous}
    )


def _is_friction(name: str) -> bool:
    ends = (*JOINT_NAMES[1:], "motor_viscous", "motor_coulomb+", "motor_coulomb-")
    return any(name.endswith(f".{end}") for end in ends)


def unknowns(robot: "Robot", friction: FrictionModel, rotors: bool | None = None) -> Unknowns:
    """The unknowns of a robot; `rotors` None: where the model has drives."""
    if rotors is None:
        rotors = any(link.drive is not None for link in robot.model.links)
    if robot.model.rotors == "full":
        raise OptionError(
            "rotors with full kinetics are not identified", 'use a model with rotors = "reflected"'
        )
    shaped = friction.applied(robot)
    names_all = parameter_names(shaped.model)
    plain = FrictionModel("plain").applied(robot)  # a smooth law nearly hides its offset at speed
    bare = base_parameters(plain, inertial_only=not rotors)
    base = [(k, c) for k, c in enumerate(bare.columns) if not _is_friction(names_all[c])]
    columns, groups, names, kinds, joints = [], [], [], [], []
    for k, c in base:
        columns.append(_unit(c, len(names_all)))
        groups.append(_without_friction(bare.matrix[k], names_all))
        names.append(bare.names[k])
        kinds.append("rotor" if names_all[c].endswith(".rotor_inertia") else "body")
        joints.append(-1)
    for name, kind, joint, column, group in _joint_unknowns(shaped, friction, names_all):
        names.append(name)
        kinds.append(kind)
        joints.append(joint)
        columns.append(column)
        groups.append(group)
    lost = tuple(
        n for n in bare.unidentifiable if not _is_friction(n) and (rotors or "rotor" not in n)
    )
    return Unknowns(
        shaped,
        friction,
        tuple(names),
        tuple(kinds),
        tuple(joints),
        np.array(columns).T, np.array(groups), lost, rotors,
    )  # fmt: skip


def _unit(c: int, size: int) -> np.ndarray:
    row = np.zeros(size)
    row[c] = 1.0
    return row


def _without_friction(row: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    keep = np.array([not _is_friction(n) for n in names])
    return np.where(keep, row, 0.0)


def _joint_unknowns(robot: "Robot", friction: FrictionModel, names: tuple[str, ...]) -> Any:
    """(name, kind, joint, column, group) of the friction of every joint and of coupled motors."""
    place = {name: k for k, name in enumerate(names)}
    size, nothing = len(names), np.zeros(len(names))
    for joint in robot.model.tree_joint_names:
        if joint not in robot.joint_names:
            continue  # a joint that follows another rubs as part of its leader
        j = robot.joint_names.index(joint)
        for start in (f"{joint}.", f"{joint}.motor_"):
            for kind in friction.columns:
                if kind in OWN:
                    if j >= 0 and start == f"{joint}.":
                        yield f"{start}{kind}", kind, j, nothing, nothing
                elif kind == "coulomb" and f"{start}coulomb+" in place:
                    plus, minus = place[f"{start}coulomb+"], place[f"{start}coulomb-"]
                    column = _unit(plus, size) - _unit(minus, size)
                    yield f"{start}coulomb", kind, j, column, 0.5 * column
                elif kind != "coulomb" and f"{start}{kind}" in place:
                    unit = _unit(place[f"{start}{kind}"], size)
                    yield f"{start}{kind}", kind, j, unit, unit
