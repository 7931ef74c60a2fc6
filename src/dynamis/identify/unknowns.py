"""Unknowns of an identification: base parameters of bodies and drives, and friction of joints.

The torque is tau = Y(q, qd, qdd) pick x: `pick` takes the unknowns x to full parameters, `group`
takes full parameters to the unknowns that they are seen as. The rows of a closed mechanism are
those of its drives, Z^T Y with Y that of the tree; friction of passive joints is unknown too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arguments import choice, one_of
from ..base.base_parameters import BaseParameters, base_parameters, sum_text
from ..base.groupings import lstsq, random_regressor, short
from ..errors import ModelError, OptionError, shown
from ..ik.driven import Motion, alike, assembly
from ..lazy import cached_property
from ..model.check.finding import Finding
from ..model.friction import Friction, sides
from ..model.link import Link
from ..model.memory import MOST
from ..model.model import NO_FORCES
from ..model.parameters import parameter_names, parameter_places
from ..model.places import Place
from ..model.quantity import resolve
from ..robot.closing import tree_of
from .friction.history import OF_BRISTLES, Bent, Elements, History
from .friction.models import BRISTLE_COLUMNS, Bristle, FrictionModel

if TYPE_CHECKING:
    from ..robot import Robot

# kinds of unknowns: "body", "rotor", those of friction (FrictionModel.columns), and these
RIGID = ("body", "rotor", "spring", "load law")
LAW_CONSTANTS = ("load law", "friction law")  # of laws of one's own: of either sign
MAYBE_HIDDEN = ("spring", *LAW_CONSTANTS)  # other unknowns may give the same torque
BESIDE_ROBOT = (  # no parameters of a robot: columns of their own
    *("root", "load", "thermal"),
    *BRISTLE_COLUMNS,
)
WITH_COLUMNS = (*BESIDE_ROBOT, "memory")  # columns that the regressor of a robot does not have
NOT_NEGATIVE = (  # friction feeds no power in
    *("viscous", "viscous-", "coulomb", "load", "memory"),
    *BRISTLE_COLUMNS,
)
PASSIVE_KINDS = (
    "viscous",
    "viscous-",
    "coulomb",
    "memory",
)  # friction that passive joints may have
PASSIVE_CHOICES = ("described", "all", "none")  # words for passive joints with friction

LEAST_VISCOUS = 1e-6  # N m s/rad: a viscous coefficient that a root can be a multiple of
DEPENDENT = 1e-8  # of a column: less is left of one that is a sum of others
UNIT_LOAD = 2.0**-10  # friction under load whose shape over velocity alone matters
LARGEST_LOAD = 0.3  # of the torque that a gear transmits: no gear loses more by friction


class Unknown(NamedTuple):
    """One unknown: its column of the regressor is Y @ `column`, its value `group` @ parameters."""

    name: str
    kind: str
    joint: int  # of friction, -1 for bodies, rotors, springs and loads
    column: np.ndarray  # (p,)
    group: np.ndarray  # (p,)


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
            load = UNIT_LOAD if _may_rub_under_load(link) else 0.0
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
        return _plain_friction(self.robot) | (rotor & (not self.rotors))

    @property
    def values(self) -> np.ndarray:
        """The unknowns of the robot as described; half the sum of a Coulomb pair is offset."""
        full = np.asarray(self.robot.parameters.values, dtype=float)
        x, by_name = self.group @ full, dict(zip(self.full_names, full, strict=True))
        for k in self.of_kind("offset"):
            joint = self.names[k].split(" ")[0].removesuffix("offset")
            x[k] += 0.5 * (by_name[f"{joint}coulomb+"] + by_name[f"{joint}coulomb-"])
        return x


def reference_temperatures(robot: "Robot") -> list[float]:
    """Reference temperature of every joint, deg C."""
    model = robot.model
    own = {str(x.joint_name): x.friction.reference_temperature for x in model.links}
    return [float(resolve(own[name], model.values)) for name in robot.joint_names]


def bristle_at(friction: FrictionModel, robot: "Robot", joint: str) -> Bristle:
    """The bristles of a joint by a friction model, else by the constants of its law."""
    if joint in friction.bristles:
        return friction.bristles[joint]
    link = next(x for x in robot.model.links if x.joint_name == joint)
    constants = link.friction.constants
    return Bristle(1.0, 0.0, float(constants["velocity"]), float(constants["stiffness"]), 0.0)


def _plain_friction(robot: "Robot") -> np.ndarray:
    """Which parameters are viscous and Coulomb friction and offsets of joints, (p,) bool."""
    every = parameter_places(robot.model)
    return np.array([place.is_friction and place.part != "laws" for place in every])


def _may_rub_under_load(link: Link) -> bool:
    """Whether a link's friction can grow with its load."""
    return link.mimic is None and link.friction.law != "lugre"


def passive_joints(robot: "Robot", asked: str | Sequence[str]) -> tuple[str, ...]:
    """The passive joints whose friction is sought: by name, all, none, or those described so."""
    links = [link for link in robot.model.links if link.passive and link.mimic is None]
    names = tuple(str(link.joint_name) for link in links)
    if isinstance(asked, (list, tuple)):
        for name in asked:
            one_of(name, names, f"passive_friction: there is no passive joint {shown(name)}")
        return tuple(asked)
    choice(asked, "passive_friction", PASSIVE_CHOICES)
    if asked == "described":
        values = robot.model.values
        return tuple(str(link.joint_name) for link in links if _has_friction(link.friction, values))
    return names if asked == "all" else ()


def _has_friction(friction: Friction, values: Mapping[str, float]) -> bool:
    """Whether a joint is described with viscous or Coulomb friction, or a law of one's own."""
    coefficients = (*sides(friction.viscous), *friction.coulomb)
    return friction.own is not None or any(resolve(x, values) for x in coefficients)


# from a robot to its unknowns


def unknowns(
    robot: "Robot",
    friction: FrictionModel,
    rotors: bool | None = None,
    threads: int | None = None,
    passive: str | Sequence[str] = "described",
) -> Unknowns:
    """The unknowns of a robot; `rotors` None: where the model has drives.

    `passive` names the passive joints whose friction is unknown, or "described", "all", "none".
    """
    if rotors is None:
        rotors = any(link.drive is not None for link in robot.model.links)
    if robot.model.rotors == "full":
        raise OptionError(
            "rotors with full kinetics are not identified", 'use a model with rotors = "reflected"'
        )
    friction = friction.described_by(robot)
    sought = passive_joints(robot, passive)
    if friction.has_bristles:
        robot.model.refuse_closures("bristles of friction", "friction='memory'")
        if robot.model.gear_matrix is not None:
            raise OptionError(
                f"friction {friction.name!r} was given, but motors of {robot.name!r} are coupled: "
                "several joints would bend the same bristles",
                "friction='memory' has elements of its own for every joint",
            )
    if "load" in friction.columns:
        robot.model.refuse_closures("friction under load", "friction='smooth'")
    shaped = alike(robot, friction.applied(robot))
    base = _base_parameters(robot, rotors)
    parameters = _Parameters(parameter_names(shaped.model))
    bodies = [*_body_unknowns(shaped, base, parameters)]
    others = [
        *_force_unknowns(shaped, parameters),
        *_load_unknowns(shaped, parameters),
        *_friction_unknowns(shaped, friction, parameters, sought),
    ]
    if robot.model.closures:
        bodies, others = _friction_joined(shaped, bodies, others)
    others, described = _distinguishable(shaped, bodies, others)
    names, kinds, joints, columns, groups = zip(*bodies, *others, strict=True)
    model = base.robot.model
    where = dict(zip(parameter_names(model), parameter_places(model), strict=True))
    hidden = tuple(
        name
        for name in base.unidentifiable
        if not where[name].is_friction and (rotors or not where[name].is_rotor)
    )
    return Unknowns(
        robot=shaped, friction=friction, names=names, kinds=kinds, joints=joints,
        pick=np.array(columns).T, group=np.array(groups), without_effect=hidden, rotors=rotors,
        threads=threads, described=described,
    )  # fmt: skip


class _Parameters:
    """Full parameters by name: which there are, and unit vectors."""

    def __init__(self, names: Sequence[str]):
        self.names = tuple(names)
        self._index = {name: k for k, name in enumerate(self.names)}

    def __contains__(self, name: str) -> bool:
        return name in self._index

    def unit(self, *names: str) -> np.ndarray:
        """1 for each of these parameters, 0 for the others, (p,)."""
        found = np.zeros(len(self.names))
        found[[self._index[name] for name in names]] = 1.0
        return found


@lru_cache(maxsize=8)
def _base_parameters(robot: "Robot", rotors: bool) -> BaseParameters:
    """Base parameters of bodies and rotors, without springs and loads, with plain friction."""
    rigid = robot._with_model(**NO_FORCES)
    # a smooth law nearly hides its offset at speed
    plain = alike(robot, FrictionModel("plain").applied(rigid))
    left_out = _nothing_of_loops(plain) if robot.model.closures else None
    return base_parameters(plain, inertial_only=not rotors, left_out=left_out)


def _nothing_of_loops(robot: "Robot") -> np.ndarray:
    """Parameters that base parameters of a closed mechanism leave out, (p,) bool.

    Friction, which may look like gravity, and links without mass beside others that have some:
    those that part the joints of a ball or a universal joint are no bodies.
    """
    places = parameter_places(robot.model)
    known = zip(places, robot.parameters.values, strict=True)
    heavy = {p.index for p, x in known if p.part == "bodies" and x}
    empty = {i for i in range(len(robot.model.links)) if heavy and i not in heavy}
    return np.array([p.is_friction or (p.part == "bodies" and p.index in empty) for p in places])


def _body_unknowns(
    robot: "Robot", base: BaseParameters, parameters: _Parameters
) -> Iterator[Unknown]:
    """Base parameters of bodies and rotors; friction has unknowns of its own."""
    names, friction = parameters.names, _plain_friction(robot)
    for name, k, group in zip(base.names, base.columns, base.matrix, strict=True):
        if not friction[k]:
            kind = "rotor" if parameter_places(robot.model)[k].is_rotor else "body"
            whole = np.pad(group, (0, len(names) - len(group)))  # springs and laws come last
            column = parameters.unit(names[k])
            yield Unknown(name, kind, -1, column, np.where(friction, 0.0, whole))


def _force_unknowns(robot: "Robot", parameters: _Parameters) -> Iterator[Unknown]:
    """Coefficients of springs and the like; a torsion spring's preload is a joint's offset."""
    offsets = {f"{x.name}.preload" for x in robot.model.springs if x.kind == "torsion"}
    for force in robot.model.forces:
        for name in (f"{force.name}.{x}" for x in force.coefficients):
            if name not in offsets:
                unit = parameters.unit(name)
                yield Unknown(name, type(force).__name__.lower(), -1, unit, unit)


def _load_unknowns(robot: "Robot", parameters: _Parameters) -> Iterator[Unknown]:
    """Linear constants of loads of one's own."""
    for law in robot.model.loads:
        for constant in law.linear:
            unit = parameters.unit(name := f"{law.name}.{constant}")
            yield Unknown(name, "load law", -1, unit, unit)


def _friction_unknowns(
    robot: "Robot", friction: FrictionModel, parameters: _Parameters, sought: Sequence[str]
) -> Iterator[Unknown]:
    """Friction of every joint and of coupled motors, of passive joints those `sought`."""
    for name in robot.model.tree_joint_names:
        if name not in robot.joint_names:
            continue  # a joint that follows another rubs as part of its leader
        joint = robot.joint_names.index(name)
        link = robot.model.links[robot.model.tree_joint_names.index(name)]
        if link.passive and name not in sought:
            continue
        for constant in link.friction.linear:
            unit = parameters.unit(own := f"{name}.{constant}")
            yield Unknown(own, "friction law", joint, unit, unit)
        kinds = _friction_kinds(link, friction)
        yield from _coefficients(robot, name, joint, kinds, parameters)


def _friction_kinds(link: Link, friction: FrictionModel) -> list[str]:
    """Kinds of a friction model that a link has."""
    own, left_out = link.friction, ()
    if own.own is not None and not own.viscous and not any(own.coulomb):
        left_out = ("viscous", "coulomb")  # a law of one's own says what friction is
    if own.law != "lugre":
        left_out = (*left_out, *BRISTLE_COLUMNS)
    kinds = [kind for kind in friction.columns if kind not in left_out]
    return [kind for kind in kinds if kind in PASSIVE_KINDS] if link.passive else kinds


def _coefficients(
    robot: "Robot", joint_name: str, joint: int, kinds: Sequence[str], parameters: _Parameters
) -> Iterator[Unknown]:
    """Friction of one joint by kinds, and that of its motor where motors are coupled.

    A motor rubs by the law of its joint, with the ratio of its root to viscous friction: where
    both rub by themselves no root is sought, which no robot could have.
    """
    if f"{joint_name}.motor_viscous" in parameters:
        kinds = [kind for kind in kinds if kind != "root"]
    for start in (f"{joint_name}.", f"{joint_name}.motor_"):
        for kind in kinds:
            name = f"{start}{kind}"
            if kind in BESIDE_ROBOT:
                if start == f"{joint_name}.":
                    nothing = parameters.unit()
                    yield Unknown(name, kind, joint, nothing, nothing)
            elif kind == "memory":
                for own in (f"{name}{k + 1}" for k in range(MOST)):
                    if own in parameters:
                        unit = parameters.unit(own)
                        yield Unknown(own, kind, joint, unit, unit)
            elif kind == "coulomb" and f"{name}+" in parameters:
                column = parameters.unit(f"{name}+") - parameters.unit(f"{name}-")
                yield Unknown(name, kind, joint, column, 0.5 * column)
            elif kind != "coulomb" and name in parameters:
                preloads = [
                    f"{spring.name}.preload"
                    for spring in (robot.model.springs if kind == "offset" else ())
                    if (spring.kind, spring.joint) == ("torsion", joint_name)
                ]
                column, group = parameters.unit(name), parameters.unit(name, *preloads)
                yield Unknown(name, kind, joint, column, group)


# unknowns that give the same torques


def _distinguishable(
    robot: "Robot", bodies: Sequence[Unknown], others: Sequence[Unknown]
) -> tuple[list[Unknown], tuple[str, ...]]:
    """`others` without springs and laws whose columns are sums of other columns; names of these.

    A linear spring about a fixed axis has a sine in it, like gravity; a damper at a joint is
    viscous friction.
    """
    doubtful = [unknown for unknown in others if unknown.kind in MAYBE_HIDDEN]
    if not doubtful:
        return [*others], ()
    Y = _stacked_regressor(robot)
    certain = [
        unknown.column
        for unknown in (*bodies, *others)
        if unknown.kind not in (*MAYBE_HIDDEN, *WITH_COLUMNS)
    ]
    A, described = Y @ np.array(certain).T, []
    for unknown in doubtful:
        column = Y @ unknown.column
        if _as_sum(A, column) is None:
            A = np.column_stack([A, column])
        else:
            described.append(unknown.name)
    return [unknown for unknown in others if unknown.name not in described], tuple(described)


def _friction_joined(
    robot: "Robot", bodies: Sequence[Unknown], others: Sequence[Unknown]
) -> tuple[list[Unknown], list[Unknown]]:
    """The unknowns of a closed mechanism; friction that others give too is counted with them.

    Joints may turn alike: in a parallelogram the friction of two is one number. Drives come first.
    """
    Y = _stacked_regressor(robot)
    driven = [robot.joint_names.index(name) for name in robot.drive_names]
    order = sorted(range(len(others)), key=lambda k: others[k].joint not in (-1, *driven))
    kept, A = [*bodies], Y @ np.array([unknown.column for unknown in bodies]).T
    places = []  # (place among `others`, place in `kept`)
    for k in order:
        column = Y @ others[k].column
        if others[k].kind == "memory" and (same := _moving_alike(Y, others[k], kept)) is not None:
            kept[same] = _with_share(kept[same], 1.0, others[k])
            continue
        shares = _as_sum(A, column)
        if shares is None or others[k].kind in (*MAYBE_HIDDEN, *WITH_COLUMNS):
            places.append((k, len(kept)))
            kept.append(others[k])
            column = 0.0 * column if others[k].kind == "memory" else column
            A = np.column_stack([A, column])
            continue
        shares = short(np.where(np.abs(shares) > DEPENDENT, shares, 0.0), DEPENDENT)
        for j in np.flatnonzero(shares):
            kept[j] = _with_share(kept[j], float(shares[j]), others[k])
    return kept[: len(bodies)], [kept[place] for _, place in sorted(places)]


def _moving_alike(Y: np.ndarray, element: Unknown, kept: Sequence[Unknown]) -> int | None:
    """The place of an element with memory, of the same radius, whose joint turns as far."""
    column, number = Y @ element.column, element.name.rpartition("memory")[2]
    for place, other in enumerate(kept):
        alike = other.kind == "memory" and other.name.rpartition("memory")[2] == number
        if alike and np.allclose(Y @ other.column, column, rtol=0.0, atol=DEPENDENT):
            return place
    return None


def _with_share(unknown: Unknown, share: float, other: Unknown) -> Unknown:
    """An unknown that stands for itself and a share of another."""
    text = sum_text([(share, other.name)])
    name = unknown.name + (f" - {text[1:]}" if text.startswith("-") else f" + {text}")
    return unknown._replace(name=name, group=unknown.group + share * other.group)


def _stacked_regressor(robot: "Robot") -> np.ndarray:
    """Y at random states, one below the other, (rows, p); without states beyond a gas spring."""
    Y = random_regressor(robot)
    return Y[np.isfinite(Y).all(axis=(1, 2))].reshape(-1, Y.shape[-1])


def _as_sum(A: np.ndarray, column: np.ndarray) -> np.ndarray | None:
    """Shares of the columns of A whose sum is this column; None: it is no such sum."""
    shares = lstsq(A, column, DEPENDENT)
    left = np.linalg.norm(column - A @ shares)
    return shares if left <= DEPENDENT * np.linalg.norm(column) else None
