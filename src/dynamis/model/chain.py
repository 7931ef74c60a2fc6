"""The canonical chain: what every algorithm computes on.

Whatever the convention, a joint is a constant placement in its parent's joint frame followed by a
motion about or along z; its link's inertia is held in that frame. Scalars are whatever the caller
builds the chain with. Joints that mimic others and spinning rotors are joints of the same tree,
tied to the coordinates q by `coupling`: tree positions are coupling q + shift.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import ModelError
from ..spatial.frames import Frame, about_z, compose, translation
from ..spatial.functions import MATH, Functions
from ..spatial.inertia import Inertia, from_linear, plus, transformed, transformed_back
from ..spatial.rotations import normalised, rotation_z_to
from ..spatial.vectors import Vector
from .conventions import CONVENTIONS
from .drive import Drive
from .link import Link
from .model import Model
from .quantity import resolve


class Joint(NamedTuple):
    """One joint of the tree: its kind, the link it sits on, and where."""

    kind: str  # "revolute" or "prismatic"
    parent: int  # -1 is the base
    placement: Frame
    turns: bool = True  # False: a rotor whose frame need not follow it (see dynamics.reduce)
    parallel: bool = False  # same axis direction as the parent's joint: angles may be added


class Body(NamedTuple):
    """One link: inertia in its joint frame, and the user's frame seen from there."""

    inertia: Inertia
    slide: Any  # the body moves by slide * q along z (com_factor on a prismatic link); or None
    user: Frame
    user_inertia: Inertia
    load: Inertia | None = None  # what does not slide with it
    moments: bool = False  # its wrench is cheaper by second moments (see dynamics.reduce)


class Resistance(NamedTuple):
    """Friction of one joint: coefficients and the law that shapes them."""

    viscous: Any
    plus: Any
    minus: Any
    offset: Any
    law: str
    constants: Mapping[str, Any]


class Circuit(NamedTuple):
    """A DC motor's windings and amplifier; None where the model says nothing."""

    resistance: Any
    inductance: Any  # 0: the current follows at once
    torque_constant: Any
    voltage_limit: Any
    current_limit: Any
    bandwidth: Any  # of the current loop, rad/s


class Motor(NamedTuple):
    """A motor as its joint feels it.

    `row` gives the motor's speed in units of its own joint: u = row . qd, row[i] = 1. The inertia
    is reflected (G^2 J); viscous, plus and minus are the motor's own friction, kept apart only
    where the row couples several joints (else the joint's Resistance already holds them). `limits`
    is the motor's own torque, lowest and highest; a motor without circuit is a source of torque.
    """

    row: tuple[Any, ...]
    gear: Any
    inertia: Any
    viscous: Any
    plus: Any
    minus: Any
    efficiency: Any
    coupled: bool
    limits: tuple[Any, Any] | None = None
    circuit: Circuit | None = None


@dataclass(frozen=True)
class Chain:
    """Joints, bodies, friction and motors of one robot, over one kind of scalar."""

    joints: tuple[Joint, ...]
    bodies: tuple[Body, ...]
    resistances: tuple[Resistance, ...]  # one per joint of the model; rotors have none
    motors: tuple[Motor, ...]
    gravity: Vector
    base: Frame  # the user's base frame in the reference frame
    tip: int
    tool: Frame  # in the tip's joint frame
    coupling: tuple[tuple[Any, ...], ...] | None  # (tree, n); None is the identity
    shift: tuple[Any, ...]
    rotors: tuple[int, ...]  # tree index of each joint's rotor body; empty unless full kinetics

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.joints) if self.coupling is None else len(self.coupling[0])

    @property
    def links(self) -> int:
        """Number of links of the model (tree joints without the rotors)."""
        return len(self.resistances)

    def ancestors(self, i: int) -> list[int]:
        """i and every joint before it, tip to base."""
        path = []
        while i >= 0:
            path.append(i)
            i = self.joints[i].parent
        return path


def chain(
    model: Model,
    values: Mapping[str, Any] | None = None,
    fn: Functions = MATH,
    parameters: Any = None,
) -> Chain:
    """The canonical chain of a model.

    `values` replaces the model's own values of symbols (by SymPy symbols, for instance);
    `parameters` replaces every linear parameter, in the order of `dynamis.model.parameters`.
    """
    values = model.values if values is None else values
    rule = CONVENTIONS[model.convention]
    after = [rule.after(link, values, fn) for link in model.links]
    base = model.base.frame(values, fn)
    joints, bodies = [], []
    for i, (link, parent) in enumerate(zip(model.links, model.parents, strict=True)):
        before = compose(base if parent < 0 else after[parent], rule.before(link, values, fn))
        joints.append(Joint(link.joint, parent, compose(before, _along_z(link, values, fn))))
        bodies.append(_body(link, after[i], values, fn))
    tip, tool = model.tip, compose(after[model.tip], model.tool.frame(values, fn))
    if model.payload is not None:
        bodies[tip] = _loaded(bodies[tip], tool, model.payload.body(values, fn))
    resistances = tuple(_resistance(model, i, values, fn) for i in range(len(model.links)))
    motors = tuple(_motor(model, i, values, fn) for i in range(len(model.links)))
    if parameters is not None:
        bodies, resistances, motors = _with_parameters(
            model, bodies, resistances, motors, list(parameters)
        )
    rotors = ()
    if model.rotors == "full":
        rotors = tuple(range(len(joints), 2 * len(joints)))
        for i in range(len(model.links)):
            joint, body = _rotor(model, i, joints, after, motors[i], values, fn)
            joints.append(joint)
            bodies.append(body)
    coupling, shift = _coupling(model, motors, bool(rotors), values, fn)
    return Chain(
        joints=tuple(joints),
        bodies=tuple(bodies),
        resistances=resistances,
        motors=motors,
        gravity=tuple(resolve(x, values, fn) for x in model.gravity),  # type: ignore[arg-type]
        base=base,
        tip=tip,
        tool=tool,
        coupling=coupling,
        shift=shift,
        rotors=rotors,
    )


def _along_z(link: Link, values: Mapping[str, Any], fn: Functions) -> Frame:
    """The constant part of the motion about and along the joint's own z."""
    offset = resolve(link.offset, values, fn)
    if link.joint == "revolute":
        return compose(translation(z=resolve(link.d, values, fn)), about_z(offset, fn))
    return compose(about_z(resolve(link.theta, values, fn), fn), translation(z=offset))


def _body(link: Link, user: Frame, values: Mapping[str, Any], fn: Functions) -> Body:
    own = link.body(values, fn)
    slide = resolve(link.com_factor, values, fn) if link.slides else None
    return Body(transformed(user, own), slide, user, own)


def _loaded(body: Body, tool: Frame, payload: Inertia) -> Body:
    load = transformed(tool, payload)
    if body.slide is not None:  # the load stays put while the link's own mass slides
        return body._replace(load=load)
    total = plus(body.inertia, load)
    return body._replace(inertia=total, user_inertia=transformed_back(body.user, total))


def _gear_row(model: Model, i: int, values: Mapping[str, Any], fn: Functions) -> tuple[Any, ...]:
    """Motor speed per joint speed, one entry per joint of the model."""
    if model.gear_matrix is not None:
        return tuple(resolve(x, values, fn) for x in model.gear_matrix[i])
    drive = model.links[i].drive
    gear = 1.0 if drive is None else resolve(drive.gear, values, fn)
    return tuple(gear if j == i else 0.0 for j in range(len(model.links)))


def _motor(model: Model, i: int, values: Mapping[str, Any], fn: Functions) -> Motor:
    drive = model.links[i].drive
    row = _gear_row(model, i, values, fn)
    gear = row[i]
    coupled = any(not _is_zero(x) for j, x in enumerate(row) if j != i)
    unit = tuple(1.0 if j == i else 0.0 for j in range(len(row)))
    if drive is None and not coupled:
        return Motor(unit, gear, 0.0, 0.0, 0.0, 0.0, 1.0, False)
    drive = drive or Drive()  # a gear matrix couples joints whether or not their motors are known
    if coupled and _is_zero(gear):
        raise ModelError(
            f"gear_matrix[{i}][{i}] is 0: motor {i + 1} must turn with its own joint "
            f"{model.links[i].joint_name!r}"
        )
    J, v = resolve(drive.rotor_inertia, values, fn), resolve(drive.viscous, values, fn)
    c_plus, c_minus = (resolve(x, values, fn) for x in drive.coulomb)
    size = gear * fn.sign(gear)
    return Motor(
        row=tuple(x / gear for x in row) if coupled else unit,
        gear=gear,
        inertia=gear * gear * J,
        viscous=gear * gear * v,
        plus=size * c_plus,
        minus=size * c_minus,
        efficiency=resolve(drive.efficiency, values, fn),
        coupled=coupled,
        limits=None
        if drive.limits is None
        else tuple(resolve(x, values, fn) for x in drive.limits),
        circuit=_circuit(drive, values, fn),
    )


def _circuit(drive: Drive, values: Mapping[str, Any], fn: Functions) -> Circuit | None:
    if drive.torque_constant is None:
        return None
    return Circuit(
        resistance=resolve(drive.resistance, values, fn),
        inductance=resolve(drive.inductance, values, fn),
        torque_constant=resolve(drive.torque_constant, values, fn),
        voltage_limit=resolve(drive.voltage_limit, values, fn),
        current_limit=resolve(drive.current_limit, values, fn),
        bandwidth=resolve(drive.current_bandwidth, values, fn),
    )


def _resistance(model: Model, i: int, values: Mapping[str, Any], fn: Functions) -> Resistance:
    friction = model.links[i].friction
    v = resolve(friction.viscous, values, fn)
    c_plus, c_minus = (resolve(x, values, fn) for x in friction.coulomb)
    motor = _motor(model, i, values, fn)
    if not motor.coupled:
        v, c_plus, c_minus = v + motor.viscous, c_plus + motor.plus, c_minus + motor.minus
    constants = {k: resolve(x, values, fn) for k, x in friction.constants.items()}
    offset = resolve(friction.offset, values, fn)
    return Resistance(v, c_plus, c_minus, offset, friction.law, constants)


def _with_parameters(
    model: Model, bodies: list, resistances: tuple, motors: tuple, p: list
) -> tuple:
    size = len(model.links)
    new_bodies = []
    for i, body in enumerate(bodies):
        own = from_linear(p[10 * i : 10 * i + 10])
        new_bodies.append(
            body._replace(inertia=transformed(body.user, own), user_inertia=own, slide=None)
        )
    rest = iter(p[10 * size :])
    new_resistances, new_motors = [], []
    for resistance, motor in zip(resistances, motors, strict=True):
        new_motors.append(motor._replace(inertia=next(rest)))
        v, c_plus, c_minus, offset = (next(rest) for _ in range(4))
        new_resistances.append(
            resistance._replace(viscous=v, plus=c_plus, minus=c_minus, offset=offset)
        )
    for i, motor in enumerate(new_motors):
        if motor.coupled:
            v, c_plus, c_minus = (next(rest) for _ in range(3))
            new_motors[i] = motor._replace(viscous=v, plus=c_plus, minus=c_minus)
    return new_bodies, tuple(new_resistances), tuple(new_motors)


def _rotor(
    model: Model,
    i: int,
    joints: list[Joint],
    after: list[Frame],
    motor: Motor,
    values: Mapping[str, Any],
    fn: Functions,
) -> tuple[Joint, Body]:
    """The rotor of joint i as a body of its own, spinning on the link that carries the motor."""
    drive, joint = model.links[i].drive, joints[i]
    mount, placement = joint.parent, joint.placement
    if drive is not None and drive.rotor_link is not None:
        if drive.rotor_link not in (*model.link_names, model.base_name):
            raise ModelError(f"drive.rotor_link {drive.rotor_link!r} is not a link")
        names = (*model.link_names, model.base_name)
        at = names.index(drive.rotor_link)
        mount = -1 if at == len(model.links) else at
        placement = model.base.frame(values, fn) if mount < 0 else after[mount]
    if drive is not None and (drive.rotor_axis or drive.rotor_position):
        frame = model.base.frame(values, fn) if mount < 0 else after[mount]
        turn = rotation_z_to(normalised(drive.rotor_axis or (0.0, 0.0, 1.0)))
        position = tuple(resolve(x, values, fn) for x in drive.rotor_position or (0.0, 0.0, 0.0))
        placement = compose(frame, Frame(turn, position))  # type: ignore[arg-type]
    ex, ey = (0.0, 0.0) if drive is None else (resolve(x, values, fn) for x in drive.unbalance)
    spin = 0.0 if _is_zero(motor.gear) else motor.inertia / (motor.gear * motor.gear)
    inertia = Inertia(0.0, (ex, ey, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, spin))
    return Joint("revolute", mount, placement), Body(inertia, None, Frame(), inertia)


def _coupling(
    model: Model, motors: tuple, rotors: bool, values: Mapping[str, Any], fn: Functions
) -> tuple[tuple[tuple[Any, ...], ...] | None, tuple[Any, ...]]:
    """Tree positions from coordinates: identity, then what mimics, then what spins."""
    mimics = [link.mimic for link in model.links]
    if not rotors and not any(mimics):
        return None, (0.0,) * len(model.links)
    column = {name: k for k, name in enumerate(model.joint_names)}
    rows, shift = [], []
    for link, mimic in zip(model.links, mimics, strict=True):
        name, factor, start = mimic or (link.joint_name, 1.0, 0.0)
        factor, start = resolve(factor, values, fn), resolve(start, values, fn)
        rows.append(tuple(factor if k == column[str(name)] else 0.0 for k in range(model.n)))
        shift.append(start)
    if rotors:
        size = len(model.links)
        for motor in motors:
            gears = [motor.gear * x for x in motor.row]
            rows.append(
                tuple(sum(gears[j] * rows[j][k] for j in range(size)) for k in range(model.n))
            )
            shift.append(sum(gears[j] * shift[j] for j in range(size)))
    return tuple(rows), tuple(shift)


def _is_zero(x: Any) -> bool:
    return isinstance(x, (int, float)) and x == 0
