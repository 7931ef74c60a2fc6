"""Unknowns of an identification: base parameters of bodies and drives, and friction of joints.

The torque is tau = Y(q, qd, qdd) pick x: `pick` takes the unknowns x to full parameters, `group`
takes full parameters to the unknowns that they are seen as. The rows of a closed mechanism are
those of its drives, Z^T Y with Y that of the tree; friction of passive joints is unknown too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError
from ...ik.driven import Motion, assembly
from ...lazy import cached_property
from ...model.check.finding import Finding
from ...model.friction import Friction
from ...model.link import Link
from ...model.parameters import parameter_names, parameter_places
from ...model.places import Place
from ...robot.closing import tree_of
from ..friction.history import OF_BRISTLES, Bent, Elements, History
from ..friction.models import Bristle, FrictionModel
from .kinds import (
    BESIDE_ROBOT,
    LEAST_VISCOUS,
    RIGID,
    UNIT_LOAD,
    bristle_at,
    may_rub_under_load,
    plain_friction,
    reference_temperatures,
)

if TYPE_CHECKING:
    from ...robot import Robot


@dataclass(frozen=True, eq=False)
class Unknowns:
    """The unknowns of one robot with one friction model.

    `pick` (p, m): the regressor's columns that belong to the unknowns, Y @ pick; `group` (m, p):
    the unknowns as sums of full parameters, x = group @ full. Unknowns of a kind in BESIDE_ROBOT
    have columns of their own; friction under load needs the rigid torque, of the unknowns `rigid`.
    `threads` evaluate the regressor. `described` are constants of springs and laws that no motion
    tells from other unknowns: they keep their values.
    """

    robot: "Robot"  # with the friction law applied
    friction: FrictionModel
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    joints: tuple[int, ...]  # the joint of friction, -1 for bodies, rotors, springs and loads
    pick: np.ndarray
    group: np.ndarray
    without_effect: tuple[str, ...]  # parameters that no torque shows
    rotors: bool
    threads: int | None = None
    rigid: np.ndarray | None = None
    described: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def logged(self) -> list[int]:
        """The joint of every row of the regressor."""
        return list(self.robot.driven)

    def row_of(self, joint: int) -> int | None:
        """The row of a joint; None of a passive one."""
        return self.logged.index(joint) if joint in self.logged else None

    @property
    def rows(self) -> int:
        """Rows of the regressor, one for each joint that logs have."""
        return len(self.logged)

    def motion(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Motion:
        """The motion of all joints from that of the logged ones, (N, n); NaN: it does not close."""
        return assembly(self.robot).motion(q, qd, qdd)

    @cached_property
    def _tree(self) -> "Robot":
        """The robot without its closures."""
        return tree_of(self.robot)

    def _of_drives(self, q: np.ndarray, torques: np.ndarray) -> np.ndarray:
        """Torques of drives that do the work of those of all joints (N, n, ...): Z^T torques."""
        return assembly(self.robot).lowered(q, torques)

    def of_kind(self, *kinds: str) -> np.ndarray:
        """Indices of the unknowns of some kinds."""
        return np.flatnonzero(np.isin(self.kinds, kinds))

    @cached_property
    def full_names(self) -> tuple[str, ...]:
        """Names of the full parameter vector."""
        return parameter_names(self.robot.model)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Places of the full parameter vector."""
        return parameter_places(self.robot.model)

    @cached_property
    def _picked(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column of Y of every unknown; the unknowns that subtract another column, and which."""
        differences = np.flatnonzero(self.pick.min(axis=0) < 0.0)
        return self.pick.argmax(axis=0), differences, self.pick.argmin(axis=0)[differences]

    @cached_property
    def elements(self) -> Elements:
        """The elements with memory."""
        rows = [self._element(int(k)) for k in self.of_kind("memory")]
        unknowns, joints = (np.array([row[i] for row in rows], dtype=int) for i in (0, 1))
        return Elements(unknowns, joints, np.array([row[2] for row in rows], dtype=float))

    @cached_property
    def history(self) -> History:
        """Columns of friction that depend on the past."""
        return History(self.elements, self._bent)

    @cached_property
    def _bent(self) -> Bent:
        """The bristles of the joints that have some."""
        names = self.robot.joint_names
        bent = sorted({self.joints[k] for k in self.of_kind("bristle_stiffness")})
        points = tuple(bristle_at(self.friction, self.robot, names[joint]) for joint in bent)
        rows = [
            (int(k), self.joints[k], OF_BRISTLES.index(self.kinds[k]), bent.index(self.joints[k]))
            for k in self.of_kind(*OF_BRISTLES)
            if self.joints[k] in bent
        ]
        unknowns, joints, slope, of = np.array(rows, dtype=int).reshape(-1, 4).T
        return Bent(unknowns, joints, slope, of, np.array(bent, dtype=int), points)

    def _element(self, k: int) -> tuple[int, int, float]:
        """An unknown weight, its joint and its radius."""
        place = self.places[int(self.pick[:, k].argmax())]
        memory = self.robot.model.links[place.index].friction.memory
        assert memory is not None
        return k, self.joints[k], float(memory.radii[place.field])  # type: ignore[arg-type]

    def regressor(
        self,
        q: np.ndarray,
        qd: np.ndarray,
        qdd: np.ndarray,
        temperature: np.ndarray | None = None,
        deflection: np.ndarray | None = None,
    ) -> np.ndarray:
        """Columns of the unknowns at a motion of all joints, (N, rows, m).

        `temperature` (N, rows) is that of the logged joints, deg C; None: at their reference.
        `deflection` (N, k) has the columns of `history`; None: all that has memory slips.
        """
        return self._of_drives(q, self.tree_regressor(q, qd, qdd, temperature, deflection))

    def tree_regressor(
        self,
        q: np.ndarray,
        qd: np.ndarray,
        qdd: np.ndarray,
        temperature: np.ndarray | None = None,
        deflection: np.ndarray | None = None,
    ) -> np.ndarray:
        """Columns of the unknowns in the rows of all joints, without closures, (N, n, m)."""
        Y = self._tree.regressor(q, qd, qdd, threads=self.threads)
        added, differences, subtracted = self._picked
        columns = Y[..., added]
        columns[..., differences] -= Y[..., subtracted]
        past, beside = self.history, self.of_kind(*BESIDE_ROBOT)
        columns[..., beside] = 0.0
        if deflection is None:
            deflection = past.slipping(np.asarray(qd, dtype=float))
        columns[:, past.joints, past.unknowns] = deflection
        beside = np.setdiff1d(beside, past.unknowns)
        if len(beside):
            q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
            load = None
            if self.rigid is not None and len(self.of_kind("load")):
                rigid = self.of_kind(*RIGID)
                torque = columns[..., rigid] @ self.rigid[rigid]
                load = self.load_friction(q, qd, torque)
            for k in map(int, beside):
                columns[:, self.joints[k], k] = self._beside(k, qd, temperature, load)
        return columns

    def _beside(
        self, k: int, qd: np.ndarray, temperature: np.ndarray | None, load: np.ndarray | None
    ) -> np.ndarray | float:
        """The column of an unknown that no robot has, in the row of its joint, (N,)."""
        joint, kind = self.joints[k], self.kinds[k]
        v, row = qd[:, joint], self.row_of(joint)
        if kind == "root":  # |qd|^(1/3) with the sign of qd, smooth about rest
            return v / np.cbrt(v * v + self.friction.speed**2)
        if kind == "load":
            return 0.0 if load is None else load[:, joint]
        if temperature is None or row is None:  # at the reference
            return 0.0
        return (temperature[:, row] - self.references[joint]) * v

    def load_friction(self, q: np.ndarray, qd: np.ndarray, rigid: np.ndarray) -> np.ndarray:
        """The size of the rigid torque, shaped over velocity, (N, n)."""
        torque = np.abs(rigid + self._fixed_rigid_torque(q, qd))
        return self._loaded.load_shares(qd) / UNIT_LOAD * torque

    def friction_columns(
        self,
        qd: np.ndarray,
        temperature: np.ndarray | None,
        load: np.ndarray | None,
        deflection: np.ndarray | None = None,
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        """(unknown, joint, column (N,)) of friction, where it is not zero; without closures.

        As `tree_regressor` has them, but far sooner; `load` (N, n) is that of `load_friction`.
        """
        torque = self._tree.kernel("friction_torque", parameters="argument")
        past = self.history
        if deflection is None:
            deflection = past.slipping(qd)
        for k, joint, column in zip(past.unknowns, past.joints, deflection.T, strict=True):
            yield int(k), int(joint), column
        rigid = self.of_kind(*RIGID)
        for k in map(int, np.setdiff1d(np.arange(len(self)), [*rigid, *past.unknowns])):
            if self.kinds[k] in BESIDE_ROBOT:
                column = self._beside(k, qd, temperature, load)
                yield k, self.joints[k], np.broadcast_to(column, len(qd))
                continue
            found = torque(qd, self.pick[:, k])
            for joint in np.flatnonzero(found.any(axis=0)):
                yield k, int(joint), found[:, joint].copy()

    def torque(
        self, x: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, kinds: Sequence[str]
    ) -> np.ndarray:
        """Torque of the unknowns of some kinds, parameters of robots, in the rows of all joints."""
        kernel = self._tree.kernel("inverse_dynamics", parameters="argument")
        some = np.isin(self.kinds, kinds)
        return kernel(q, qd, qdd, self.pick[:, some] @ x[some])

    def fixed_torque(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray | float:
        """Torque of laws and springs that no unknown multiplies, (N, rows); 0.0: there are none."""
        if not (self.robot.model.own_laws or self.described):
            return 0.0
        torque = self._tree.kernel("inverse_dynamics", parameters="argument")
        found = torque(q, qd, np.zeros_like(q), self.kept)
        return self._of_drives(q, found[..., None])[..., 0]

    @cached_property
    def kept(self) -> np.ndarray:
        """The full parameter vector with nothing but what stays as described."""
        described = np.isin(self.full_names, self.described)
        return np.where(described, self.robot.parameters.values, 0.0)

    def _fixed_rigid_torque(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray | float:
        """The part of `fixed_torque` that joints transmit: without friction."""
        if not (self.robot.model.loads or self.described):
            return 0.0
        friction = self.robot.kernel("friction_torque", parameters="argument")
        return self.fixed_torque(q, qd) - friction(qd, self.kept)

    @cached_property
    def references(self) -> list[float]:
        """Reference temperature of every joint, deg C."""
        return reference_temperatures(self.robot)

    @cached_property
    def _loaded(self) -> "Robot":
        """The robot with UNIT_LOAD of friction under load, for its shape over velocity."""
        model = self.robot.model
        links = []
        for link in model.links:
            load = UNIT_LOAD if may_rub_under_load(link) else 0.0
            links.append(replace(link, drive=None, friction=replace(link.friction, load=load)))
        return self.robot._with_model(links=tuple(links), gear_matrix=None)

    def full(self, x: np.ndarray) -> np.ndarray:
        """A full parameter vector with these unknowns, nearest to the robot's own values."""
        own = np.array(self.robot.parameters.values, dtype=float)
        own[self.taken_as_zero] = 0.0
        change = np.linalg.lstsq(self.group, x - self.group @ own, rcond=None)[0]
        return own + change

    def as_robot(
        self, full: np.ndarray, x: np.ndarray, findings: tuple[Finding, ...] = ()
    ) -> "Robot":
        """The robot with full parameters, and the unknowns x beside them in its friction."""
        try:
            robot = self.robot.with_parameters(full)
        except ModelError as error:  # bodies may be anything, springs may not
            raise ModelError(
                f"this estimate is no robot: {error}",
                "the log does not show the spring, or the robot is described with one it lacks; "
                "estimator='feasible' keeps its coefficients at 0 or above",
            ) from error
        if findings != robot.model.findings:  # those of the robot as described are about that one
            robot = robot._with_model(findings=findings)
        if not len(self.of_kind(*BESIDE_ROBOT)):
            return robot
        names = robot.model.joint_names
        links = [
            self._with_friction(link, names.index(link.joint_name), x, full)
            if link.joint_name in names
            else link
            for link in robot.model.links
        ]
        return robot._with_model(links=tuple(links))

    def _with_friction(self, link: Link, joint: int, x: np.ndarray, full: np.ndarray) -> Link:
        """A link with the root, the slope by temperature and the load of its joint among x.

        Root and slope are ratios of the viscous friction of joint and motor together.
        """
        root, slope, load = (self._of_joint(kind, joint, x) for kind in ("root", "thermal", "load"))
        friction = link.friction
        if root is not None or slope is not None:
            viscous = float(full[self.full_names.index(f"{link.joint_name}.viscous")])
            if abs(viscous) <= LEAST_VISCOUS:
                more = LEAST_VISCOUS - viscous
                friction = replace(friction, viscous=friction.viscous + more)  # type: ignore[operator]
                viscous = LEAST_VISCOUS
            if root is not None:
                constants = {**friction.constants, "ratio": root / viscous}
                friction = replace(friction, constants=constants)
            if slope is not None and viscous > 0.0:
                friction = replace(friction, temperature_slope=slope / viscous)
        if "bristle_stiffness" in self.kinds and link.friction.law == "lugre":
            friction = self._with_bristles(friction, joint, x)
        if load is not None and load > 0.0:
            drive = link.drive and replace(link.drive, efficiency=1.0)  # found, not assumed
            return replace(link, friction=replace(friction, load=load), drive=drive)
        return replace(link, friction=friction)

    def _with_bristles(self, friction: Friction, joint: int, x: np.ndarray) -> Friction:
        """Friction with the bristles of its joint among x; of none that hold it has no effect."""
        if joint not in self._bent.joints_of:
            return friction
        point = self.bristle(joint, x)
        return replace(friction, constants=point.constants)

    def bristle(self, joint: int, x: np.ndarray) -> Bristle:
        """The bristles of a joint among x; what is not there stays as it is linearised."""
        point = self._bent.points[int(np.flatnonzero(self._bent.joints_of == joint)[0])]
        values = (self._of_joint(kind, joint, x) for kind in OF_BRISTLES)
        names = ("coulomb", "stribeck", "stiffness", "damping", "velocity")
        found = {n: max(v, 0.0) for n, v in zip(names, values, strict=True) if v is not None}
        for name in ("stiffness", "velocity"):
            if not found.get(name, 0.0) > 0.0:
                found[name] = getattr(point, name)
        return point._replace(**found)

    def linearised_at(self, x: np.ndarray) -> "Unknowns":
        """The same with bristles linearised at x, where Y x is their torque."""
        if not len(self._bent.points):
            return self
        names = self.robot.joint_names
        points = {names[j]: self.bristle(int(j), x) for j in self._bent.joints_of}
        return replace(self, friction=replace(self.friction, bristles=points))

    def _of_joint(self, kind: str, joint: int, x: np.ndarray) -> float | None:
        """The unknown of a kind that a joint has; None: it has none."""
        found = [k for k in self.of_kind(kind) if self.joints[k] == joint]
        return float(x[found[-1]]) if found else None

    @cached_property
    def taken_as_zero(self) -> np.ndarray:
        """Parameters of joints that count as zero unless unknowns give them, (p,) bool."""
        rotor = np.array([place.is_rotor for place in self.places])
        return plain_friction(self.robot) | (rotor & (not self.rotors))

    @property
    def values(self) -> np.ndarray:
        """The unknowns of the robot as described; half the sum of a Coulomb pair is offset."""
        full = np.asarray(self.robot.parameters.values, dtype=float)
        x, by_name = self.group @ full, dict(zip(self.full_names, full, strict=True))
        for k in self.of_kind("offset"):
            joint = self.names[k].split(" ")[0].removesuffix("offset")
            x[k] += 0.5 * (by_name[f"{joint}coulomb+"] + by_name[f"{joint}coulomb-"])
        return x
