"""The unknowns: base parameters of the bodies and drives, and friction of every joint.

The torque is tau = Y(q, qd, qdd) pick x, with `pick` from the unknowns x to full parameters;
`group` takes full parameters to the unknowns they are seen as. The rows of a closed mechanism are
those of its drives, Z^T Y with Y that of the tree; what passive joints rub is unknown too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import choice, one_of
from ..base.base_parameters import base_parameters, sum_text
from ..base.groupings import random_regressor, short
from ..errors import ModelError, OptionError, shown
from ..ik.driven import Motion, alike, assembly
from ..lazy import cached_property, once
from ..model.check.finding import Finding
from ..model.closure import refuse_closures
from ..model.friction import Friction, sides
from ..model.parameters import JOINT_NAMES, MOTOR_NAMES, VISCOUS_MINUS, parameter_names
from ..model.quantity import resolve
from .frictions import FrictionModel

if TYPE_CHECKING:
    from ..robot import Robot

TINY = 1e-6  # N m s/rad: a viscous coefficient to hang a root on
RIGID = ("body", "rotor", "spring", "load law")
LAWS = ("load law", "friction law")  # constants of laws of one's own: of either sign
DOUBTFUL = ("spring", *LAWS)  # kinds that other unknowns may hide altogether
OWN = ("root", "load", "thermal")  # kinds that are no parameter of a robot
SAME = 1e-8  # of a column: less is left of one that is a sum of others
LITTLE = 2.0**-10  # friction under load whose shape alone matters
SPURIOUS = 0.3  # of the load: no gear rubs more


PASSIVE = ("viscous", "viscous-", "coulomb")  # friction that joints without a drive may have
ASKED = ("described", "all", "none")  # passive joints with friction


@dataclass(frozen=True, eq=False)
class Unknowns:
    """The unknowns of one robot with one friction model.

    `pick` (p, m): the regressor's columns that belong to the unknowns, Y @ pick; `group` (m, p):
    the unknowns as sums of full parameters, x = group @ full. Unknowns of kind "root" and "load"
    have columns of their own; the latter need the rigid torque, of the unknowns in `rigid`.
    `threads` evaluate the regressor. `described` are constants of springs and laws that no motion
    tells from other unknowns: they keep their values.
    """

    robot: "Robot"  # with the friction law applied
    friction: FrictionModel
    names: tuple[str, ...]
    kinds: tuple[str, ...]  # body, rotor, spring, viscous, root, coulomb, offset, load, or of LAWS
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

    def motion(self, q: Any, qd: Any, qdd: Any) -> Motion:
        """Of all joints, from that of those that logs have, (N, n); NaN where it does not close."""
        if not self.robot.model.closures:
            return Motion(q, qd, qdd)
        return assembly(self.robot).motion(q, qd, qdd)

    @cached_property
    def _tree(self) -> "Robot":
        """The robot without its closures."""
        return tree_of(self.robot)

    def _lowered(self, q: np.ndarray, torques: np.ndarray) -> np.ndarray:
        """Z^T of torques of all joints (N, n, ...): those of the drives that do the same work."""
        if not self.robot.model.closures:
            return torques
        return assembly(self.robot).lowered(q, torques)

    def of_kind(self, *kinds: str) -> np.ndarray:
        """Indices of the unknowns of some kinds."""
        return np.flatnonzero(np.isin(self.kinds, kinds))

    @cached_property
    def full_names(self) -> tuple[str, ...]:
        """Names of the full parameter vector."""
        return parameter_names(self.robot.model)

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First column of every unknown; which subtract another, and those others."""
        both = np.flatnonzero(self.pick.min(axis=0) < 0.0)
        return self.pick.argmax(axis=0), both, self.pick.argmin(axis=0)[both]

    def regressor(self, q: Any, qd: Any, qdd: Any, temperature: Any = None) -> np.ndarray:
        """Columns of the unknowns at a motion of all joints, (N, rows, m)."""
        return self._lowered(q, self.tree_regressor(q, qd, qdd, temperature))

    def tree_regressor(self, q: Any, qd: Any, qdd: Any, temperature: Any = None) -> np.ndarray:
        """Columns of the unknowns in the rows of all joints, without closures, (N, n, m)."""
        Y = self._tree.regressor(q, qd, qdd, threads=self.threads)
        first, both, second = self._columns
        Z = Y[..., first]
        Z[..., both] -= Y[..., second]
        own = self.of_kind(*OWN)
        if len(own):
            Z[..., own] = 0.0
            place, speed = (np.asarray(x, dtype=float) for x in (q, qd))
            self._own_columns(Z, place, speed, temperature)
        return Z

    def rest(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray | float:
        """Torque of laws and springs that no unknown multiplies, (N, rows); 0.0: there are none."""
        if not (self.robot.model.own_laws or self.described):
            return 0.0
        torque = self._tree.kernel("inverse_dynamics", parameters="argument")
        found = torque(q, qd, np.zeros_like(q), self.kept)
        return self._lowered(q, found[..., None])[..., 0]

    @cached_property
    def kept(self) -> np.ndarray:
        """The full parameter vector with nothing but what stays as described."""
        kept = np.isin(self.full_names, self.described)
        return np.where(kept, self.robot.parameters.values, 0.0)

    def _rigid_rest(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray | float:
        """The part of `rest` that joints transmit: without friction."""
        model = self.robot.model
        if not (model.loads or self.described):
            return 0.0
        friction = self.robot.kernel("friction_torque", parameters="argument")
        return self.rest(q, qd) - friction(qd, self.kept)

    def _own_columns(self, Z: np.ndarray, q: np.ndarray, qd: np.ndarray, temperature: Any) -> None:
        speed = self.friction.speed
        for k in self.of_kind("thermal"):
            j = self.joints[k]
            row = self.row_of(j)
            if temperature is not None and row is not None:  # else at the reference
                Z[:, j, k] = (temperature[:, row] - self.references[j]) * qd[:, j]
        for k in self.of_kind("root"):
            v = qd[:, self.joints[k]]
            Z[:, self.joints[k], k] = v / np.cbrt(v * v + speed * speed)
        loads = self.of_kind("load")
        if len(loads) and self.rigid is not None:
            bodies = self.of_kind(*RIGID)
            torque = np.abs(Z[..., bodies] @ self.rigid[bodies] + self._rigid_rest(q, qd))
            column = self._loaded.load_shares(qd) / LITTLE * torque
            for k in loads:
                Z[:, self.joints[k], k] = column[:, self.joints[k]]

    @cached_property
    def references(self) -> list[float]:
        """Reference temperature of every joint, deg C."""
        return reference_temperatures(self.robot)

    @cached_property
    def _loaded(self) -> "Robot":
        """The robot with a little friction under load, for its shape over velocity."""
        model = self.robot.model
        links = [
            replace(link, friction=replace(link.friction, load=0.0 if _cannot(link) else LITTLE))
            for link in (replace(x, drive=None) for x in model.links)
        ]
        return type(self.robot)(replace(model, links=tuple(links), gear_matrix=None))

    def full(self, x: np.ndarray) -> np.ndarray:
        """A full parameter vector with these unknowns, nearest to the robot's own values."""
        own = np.array(self.robot.parameters.values, dtype=float)
        own[self._cleared] = 0.0
        change = np.linalg.lstsq(self.group, x - self.group @ own, rcond=None)[0]
        return own + change

    def as_robot(
        self, full: np.ndarray, x: np.ndarray, findings: tuple[Finding, ...] = ()
    ) -> "Robot":
        """The robot with these parameters, roots and loads in its friction."""
        try:
            robot = self.robot.with_parameters(full)
        except ModelError as error:  # bodies may be anything, springs may not
            raise ModelError(
                f"this estimate is no robot: {error}",
                "the log does not show the spring, or the robot is described with one it lacks; "
                "estimator='feasible' keeps its coefficients at 0 or above",
            ) from error
        if findings != robot.model.findings:  # those of the robot as described are about that one
            robot = type(robot)(replace(robot.model, findings=findings))
        roots = {self.joints[k]: x[k] for k in self.of_kind("root")}
        loads = {self.joints[k]: x[k] for k in self.of_kind("load")}
        slopes = {self.joints[k]: x[k] for k in self.of_kind("thermal")}
        if not (roots or loads or slopes):
            return robot
        links, names = list(robot.model.links), robot.model.joint_names
        for i, link in enumerate(links):
            j = names.index(link.joint_name) if link.joint_name in names else -1
            if j in roots:
                links[i] = replace(links[i], friction=_rooted(links[i].friction, float(roots[j])))
            if j in slopes and (viscous := float(links[i].friction.viscous)) > 0.0:
                slope = float(slopes[j]) / viscous
                friction = replace(links[i].friction, temperature_slope=slope)
                links[i] = replace(links[i], friction=friction)
            if j in loads and loads[j] > 0.0:
                friction = replace(links[i].friction, load=float(loads[j]))
                drive = link.drive and replace(link.drive, efficiency=1.0)  # found, not assumed
                links[i] = replace(links[i], friction=friction, drive=drive)
        return type(robot)(replace(robot.model, links=tuple(links)))

    @cached_property
    def _cleared(self) -> np.ndarray:
        """Joint parameters that are not among the unknowns and count as zero."""
        friction = _friction_among(self.robot, self.full_names)
        rotor = np.array([name.endswith(".rotor_inertia") for name in self.full_names])
        return friction | (rotor & (not self.rotors))

    @property
    def values(self) -> np.ndarray:
        """The unknowns of the robot as described; half the sum of a Coulomb pair is offset."""
        full = np.asarray(self.robot.parameters.values, dtype=float)
        x, place = self.group @ full, {name: k for k, name in enumerate(self.full_names)}
        for k in self.of_kind("offset"):
            joint = self.names[k].split(" ")[0].removesuffix("offset")
            x[k] += 0.5 * (full[place[f"{joint}coulomb+"]] + full[place[f"{joint}coulomb-"]])
        return x


def tree_of(robot: "Robot") -> "Robot":
    """The robot without its closures."""
    return once(robot, "tree", robot.without_closures) if robot.model.closures else robot


def reference_temperatures(robot: "Robot") -> list[float]:
    """Reference temperature of every joint, deg C."""
    model = robot.model
    own = {str(x.joint_name): x.friction.reference_temperature for x in model.links}
    return [float(resolve(own[name], model.values)) for name in robot.joint_names]


def _rooted(friction: Friction, root: float) -> Friction:
    """viscous qd + root |qd|^(1/3) as a law: the root is a ratio of the viscous coefficient."""
    viscous = friction.viscous if abs(friction.viscous) > TINY else TINY
    return replace(
        friction, viscous=viscous, constants={**friction.constants, "ratio": root / viscous}
    )


def _friction_among(robot: "Robot", names: tuple[str, ...]) -> np.ndarray:
    """Which parameters are viscous and Coulomb friction and offsets of joints, (p,) bool."""
    laws = tuple(f"{law.name}." for law in robot.model.loads)
    return np.array([_is_friction(x) and not x.startswith(laws) for x in names])


def _cannot(link: Any) -> bool:
    """Whether a link's friction cannot grow with its load."""
    return link.mimic is not None or link.friction.law == "lugre"


def _is_friction(name: str) -> bool:
    ends = (*JOINT_NAMES[1:], VISCOUS_MINUS, *MOTOR_NAMES)
    return any(name.endswith(f".{end}") for end in ends)


def unknowns(
    robot: "Robot",
    friction: FrictionModel,
    rotors: bool | None = None,
    threads: int | None = None,
    passive: Any = "described",
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
    rubbing = passive_joints(robot, passive)
    if "load" in friction.columns:
        refuse_closures(robot.model.closures, "friction under load", "friction='smooth'")
    shaped = alike(robot, friction.applied(robot))
    full = parameter_names(shaped.model)
    unit, rubs = np.eye(len(full)), _friction_among(shaped, full)
    rigid = type(robot)(replace(robot.model, springs=(), loads=()))
    # a smooth law nearly hides its offset at speed
    plain = alike(robot, FrictionModel("plain").applied(rigid))
    alone = not robot.model.closures  # else friction may look like gravity
    bare = base_parameters(plain, inertial_only=not rotors, friction=alone)
    rows: list[tuple[Any, ...]] = []
    for name, c, group in zip(bare.names, bare.columns, bare.matrix, strict=True):
        if not rubs[c]:
            kind = "rotor" if full[c].endswith(".rotor_inertia") else "body"
            whole = np.pad(group, (0, len(full) - len(group)))  # springs and laws come last
            rows.append((name, kind, -1, unit[c], np.where(rubs, 0.0, whole)))
    others = [*_spring_unknowns(shaped, full), *_load_unknowns(shaped, full)]
    others += _joint_unknowns(shaped, friction, full, rubbing)
    if robot.model.closures:
        rows, others = _friction_joined(shaped, rows, others)
    others, described = _told_apart(shaped, rows, others)
    names, kinds, joints, columns, groups = zip(*rows, *others, strict=True)
    hidden = tuple(
        n for n in bare.unidentifiable if not _is_friction(n) and (rotors or "rotor" not in n)
    )
    pick, group = np.array(columns).T, np.array(groups)
    found = Unknowns(shaped, friction, names, kinds, joints, pick, group, hidden, rotors, threads)
    return replace(found, described=described)


def _told_apart(
    robot: "Robot", rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]]
) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    """The unknowns without those of springs and laws whose columns are sums of others; and these.

    A linear spring about a fixed axis has a sine in it, like gravity; a damper at a joint is
    viscous friction.
    """
    doubtful = [row for row in others if row[1] in DOUBTFUL]
    if not doubtful:
        return others, ()
    Y = random_regressor(robot)
    Y = Y[np.isfinite(Y).all(axis=(1, 2))].reshape(-1, Y.shape[-1])  # no gas left: NaN
    known = [row[3] for row in (*rows, *others) if row[1] not in DOUBTFUL and row[1] not in OWN]
    A, described = Y @ np.array(known).T, []
    for name, _, _, column, _ in doubtful:
        own = Y @ column
        unit = A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        left = own - unit @ np.linalg.lstsq(unit, own, rcond=SAME)[0]
        if np.linalg.norm(left) <= SAME * np.linalg.norm(own):
            described.append(name)
        else:
            A = np.column_stack([A, own])
    return [row for row in others if row[0] not in described], tuple(described)


def passive_joints(robot: "Robot", asked: Any) -> tuple[str, ...]:
    """The passive joints whose friction is sought: by name, all, none, or those described so."""
    links = [x for x in robot.model.links if x.passive and x.mimic is None]
    names = tuple(str(x.joint_name) for x in links)
    if isinstance(asked, (list, tuple)):
        for name in asked:
            one_of(name, names, f"passive_friction: there is no passive joint {shown(name)}")
        return tuple(asked)
    choice(asked, "passive_friction", ASKED)
    if asked == "described":
        rubs = [x for x in links if _rubs(x.friction, robot.model.values)]
        return tuple(str(x.joint_name) for x in rubs)
    return names if asked == "all" else ()


def _rubs(friction: Friction, values: Any) -> bool:
    numbers = (*sides(friction.viscous), *friction.coulomb)
    return friction.own is not None or any(resolve(x, values) for x in numbers)


def _friction_joined(
    robot: "Robot", rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The unknowns of a closed mechanism; friction that others give too is counted with them.

    Joints may turn alike: in a parallelogram the friction of two is one number. Drives come first.
    """
    Y = random_regressor(robot)
    Y = Y[np.isfinite(Y).all(axis=(1, 2))].reshape(-1, Y.shape[-1])
    driven = [robot.joint_names.index(x) for x in robot.drive_names]
    order = sorted(range(len(others)), key=lambda k: others[k][2] not in (-1, *driven))
    kept, A = [*map(list, rows)], Y @ np.array([row[3] for row in rows]).T
    places = []
    for k in order:
        name, kind, _, column, group = others[k]
        own = Y @ column
        size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        shares = np.linalg.lstsq(A / size, own, rcond=SAME)[0] / size
        left = np.linalg.norm(own - A @ shares)
        if kind in (*DOUBTFUL, *OWN) or left > SAME * np.linalg.norm(own):
            places.append((k, len(kept)))
            kept.append(list(others[k]))
            A = np.column_stack([A, own])
            continue
        shares = short(np.where(np.abs(shares) > SAME, shares, 0.0), SAME)
        for j in np.flatnonzero(shares):
            sign = sum_text([(shares[j], name)])
            kept[j][0] += f" - {sign[1:]}" if sign.startswith("-") else f" + {sign}"
            kept[j][4] = kept[j][4] + shares[j] * group
    bodies, places = kept[: len(rows)], sorted(places)
    return [tuple(x) for x in bodies], [tuple(kept[at]) for _, at in places]


def _spring_unknowns(robot: "Robot", names: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """(name, kind, joint, column, group) of springs; a torsion spring's preload is an offset."""
    place, unit = {name: k for k, name in enumerate(names)}, np.eye(len(names))
    for spring in robot.model.springs:
        for name in spring.coefficients:
            if (spring.kind, name) != ("torsion", "preload"):
                k = place[f"{spring.name}.{name}"]
                yield names[k], "spring", -1, unit[k], unit[k]


def _load_unknowns(robot: "Robot", names: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """(name, kind, joint, column, group) of the linear constants of loads of one's own."""
    place, unit = {name: k for k, name in enumerate(names)}, np.eye(len(names))
    for law in robot.model.loads:
        for constant in law.linear:
            k = place[f"{law.name}.{constant}"]
            yield names[k], "load law", -1, unit[k], unit[k]


def _joint_unknowns(
    robot: "Robot", friction: FrictionModel, names: tuple[str, ...], rubbing: tuple[str, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """(name, kind, joint, column, group) of the friction of every joint and of coupled motors.

    Of the passive joints those in `rubbing`.
    """
    place, unit = {name: k for k, name in enumerate(names)}, np.eye(len(names))
    for joint in robot.model.tree_joint_names:
        if joint not in robot.joint_names:
            continue  # a joint that follows another rubs as part of its leader
        j = robot.joint_names.index(joint)
        link = robot.model.links[robot.model.tree_joint_names.index(joint)]
        own, wanted = link.friction, friction.columns
        if link.passive and joint not in rubbing:
            continue
        if link.passive:
            wanted = tuple(kind for kind in wanted if kind in PASSIVE)
        for constant in own.linear:
            k = place[f"{joint}.{constant}"]
            yield names[k], "friction law", j, unit[k], unit[k]
        unasked = ()  # a law of one's own says what friction is, unless there is other beside it
        if own.own is not None and not own.viscous and not any(own.coulomb):
            unasked = ("viscous", "coulomb")
        for start in (f"{joint}.", f"{joint}.motor_"):
            for kind in wanted:
                name = f"{start}{kind}"
                if kind in unasked:
                    continue
                if kind in OWN:
                    if start == f"{joint}.":
                        yield name, kind, j, 0.0 * unit[0], 0.0 * unit[0]
                elif kind == "coulomb" and f"{name}+" in place:
                    column = unit[place[f"{name}+"]] - unit[place[f"{name}-"]]
                    yield name, kind, j, column, 0.5 * column
                elif kind != "coulomb" and name in place:
                    group = unit[place[name]].copy()
                    for spring in robot.model.springs if kind == "offset" else ():
                        if (spring.kind, spring.joint) == ("torsion", joint):
                            group[place[f"{spring.name}.preload"]] = 1.0
                    yield name, kind, j, unit[place[name]], group
