"""From a robot to its unknowns: bodies, drives, springs and loads, friction joint by joint."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...base.base_parameters import BaseParameters, base_parameters, sum_text
from ...base.groupings import lstsq, random_regressor, short
from ...errors import OptionError
from ...ik.driven import alike
from ...model.link import Link
from ...model.memory import MOST
from ...model.model import NO_FORCES
from ...model.parameters import parameter_names, parameter_places
from ..friction.models import BRISTLE_COLUMNS, FrictionModel
from .kinds import (
    BESIDE_ROBOT,
    DEPENDENT,
    MAYBE_HIDDEN,
    PASSIVE_KINDS,
    WITH_COLUMNS,
    Unknown,
    passive_joints,
    plain_friction,
)
from .unknown_set import Unknowns

if TYPE_CHECKING:
    from ...robot import Robot


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
    names, friction = parameters.names, plain_friction(robot)
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
