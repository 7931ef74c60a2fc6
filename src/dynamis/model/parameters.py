"""The parameter vector: every number the torque is linear in, by name.

Ten per link in the user's frame about its origin (Pinocchio's order), then five per joint, then
what coupled motors, spinning rotors, viscous friction by direction, springs, loads and friction
laws of one's own add.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ModelError
from ..lazy import once
from ..spatial.inertia import NAMES, linear
from .chain import Chain, chain
from .drive import Drive
from .model import Model

JOINT_NAMES = ("rotor_inertia", "viscous", "coulomb+", "coulomb-", "offset")
MOTOR_NAMES = ("motor_viscous", "motor_coulomb+", "motor_coulomb-")
UNBALANCE_NAMES = ("unbalance_x", "unbalance_y")
VISCOUS_MINUS = "viscous-"  # moving negative; "viscous" is then that of moving positive


@dataclass(frozen=True)
class Parameters:
    """Names and values, in the order of the regressor's columns."""

    names: tuple[str, ...]
    values: Any

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Position of a name."""
        return self.names.index(name)


def parameter_names(model: Model) -> tuple[str, ...]:
    """Names of every parameter of a model."""
    return once(model, "parameter_names", lambda: _names(model))


def _names(model: Model) -> tuple[str, ...]:
    refuse_sliding(model)
    symbolic = chain_of(model)
    names = [f"{link}.{name}" for link in model.link_names for name in NAMES]
    names += [f"{joint}.{name}" for joint in model.tree_joint_names for name in JOINT_NAMES]
    for joint, motor in zip(model.tree_joint_names, symbolic.motors, strict=True):
        names += [f"{joint}.{name}" for name in MOTOR_NAMES] if motor.coupled else []
    for joint, link in zip(model.tree_joint_names, model.links, strict=True):
        if model.rotors == "full" and link.drive is not None and any(link.drive.unbalance):
            names += [f"{joint}.{name}" for name in UNBALANCE_NAMES]
    for joint, link in zip(model.tree_joint_names, model.links, strict=True):
        names += [f"{joint}.{VISCOUS_MINUS}"] if isinstance(link.friction.viscous, tuple) else []
    for spring in model.springs:
        names += [f"{spring.name}.{name}" for name in spring.coefficients]
    for law in model.loads:
        names += [f"{law.name}.{name}" for name in law.linear]
    for link in model.links:
        names += [f"{link.joint_name}.{name}" for name in link.friction.linear]
    return tuple(names)


def refuse_taken(model: Model) -> None:
    """A friction law's constant may not be called like a parameter its joint has already."""
    for link in model.links:
        taken = {*JOINT_NAMES, *MOTOR_NAMES, *UNBALANCE_NAMES} & {*link.friction.linear}
        if link.friction.own is not None and taken:
            name = min(taken)
            raise ModelError(
                f"friction law {link.friction.own.name!r} has a constant {name!r}, but "
                f"{link.joint_name}.{name} is a parameter of every robot",
                "rename the constant; viscous, coulomb and offset can be given beside the law",
            )


def chain_of(model: Model) -> Chain:
    """The chain with every symbol that has no value set to 1: good for structure only."""
    return chain(model, dict.fromkeys(model.symbols, 1.0) | dict(model.values))


def parameter_values(model: Model, c: Chain) -> list[Any]:
    """Values of every parameter, over the chain's scalars."""
    refuse_sliding(model)
    values = [x for body in c.bodies[: c.links] for x in linear(body.user_inertia)]
    for resistance, motor in zip(c.resistances, c.motors, strict=True):
        values += [motor.inertia, resistance.viscous, resistance.plus, resistance.minus]
        values.append(resistance.offset)
    for motor in c.motors:
        values += [motor.viscous, motor.plus, motor.minus] if motor.coupled else []
    for rotor, link in zip(c.rotors, model.links, strict=False):
        if link.drive is not None and any(link.drive.unbalance):
            values += list(c.bodies[rotor].inertia.h[:2])
    values += [r.viscous_minus for r in c.resistances if r.viscous_minus is not None]
    own = [r.own for r in c.resistances if r.own is not None]
    return [*values, *(x for part in (*c.springs, *c.loads, *own) for x in part.coefficients)]


def refuse_sliding(model: Model) -> None:
    """A centre of mass that moves in its link is no constant: there is nothing linear to name."""
    for link in model.links:
        if link.slides:
            raise ModelError(
                f"link {link.name!r} has com_factor on a prismatic joint: its centre of mass moves "
                "with q, so it has no constant parameters and no regressor",
                "give the link a constant com",
            )


def with_parameters(model: Model, values: Sequence[float]) -> Model:
    """The model with these parameters; a payload is absorbed by the link that carries it."""
    names = parameter_names(model)
    values = [float(x) for x in values]
    if len(values) != len(names):
        raise ModelError(f"{len(values)} parameters were given, expected {len(names)}")
    p = dict(zip(names, values, strict=True))
    c = chain_of(model)
    links = []
    for link, motor in zip(model.links, c.motors, strict=True):
        own = [p[f"{link.name}.{name}"] for name in NAMES]
        Ja, v, c_plus, c_minus, offset = (p[f"{link.joint_name}.{x}"] for x in JOINT_NAMES)
        drive = link.drive
        if drive is None and Ja != 0.0:
            drive = Drive()
        if drive is not None:
            G = motor.gear
            if G == 0.0 and Ja != 0.0:
                raise ModelError(
                    f"joint {link.joint_name!r} has gear 0: no rotor inertia can reach it"
                )
            changes: dict[str, Any] = {"rotor_inertia": Ja / (G * G) if G else 0.0}
            changes |= {"viscous": 0.0, "coulomb": (0.0, 0.0)}
            if motor.coupled:
                mv, mp, mm = (p[f"{link.joint_name}.{x}"] for x in MOTOR_NAMES)
                changes |= {"viscous": mv / (G * G), "coulomb": (mp / abs(G), mm / abs(G))}
            if f"{link.joint_name}.unbalance_x" in p:
                changes["unbalance"] = tuple(p[f"{link.joint_name}.{x}"] for x in UNBALANCE_NAMES)
            drive = replace(drive, **changes)
        backwards = p.get(f"{link.joint_name}.{VISCOUS_MINUS}")
        viscous = v if backwards is None else (v, backwards)
        friction = replace(link.friction, viscous=viscous, coulomb=(c_plus, c_minus), offset=offset)
        if friction.own is not None:
            constants = {x: p[f"{link.joint_name}.{x}"] for x in friction.linear}
            friction = replace(friction, law=friction.own.with_constants(constants))
        body = {"mass": 0.0, "com": None, "com_factor": None, "inertia": None, "linear": own}
        links.append(replace(link, **body, friction=friction, drive=drive))
    springs = [
        replace(spring, **{x: p[f"{spring.name}.{x}"] for x in spring.coefficients})
        for spring in model.springs
    ]
    loads = tuple(
        law.with_constants({x: p[f"{law.name}.{x}"] for x in law.linear}) for law in model.loads
    )
    changes: dict[str, Any] = {"links": tuple(links), "springs": tuple(springs), "loads": loads}
    return replace(model, payload=None, **changes)
