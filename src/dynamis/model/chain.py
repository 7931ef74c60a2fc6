"""The canonical chain: what every algorithm computes on.

Whatever the convention, a joint is a constant placement in its parent's joint frame followed by a
motion about or along z; its link's inertia is held in that frame. Scalars are whatever the caller
builds the chain with. Joints that mimic others and spinning rotors are joints of the same tree,
tied to the coordinates q by `coupling`: tree positions are coupling q + shift.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..errors import ModelError
from ..lazy import once
from ..spatial.frames import Frame, about_z, compose, point, translation
from ..spatial.functions import MATH, Functions, zero
from ..spatial.inertia import Inertia, plus, transformed, transformed_back
from ..spatial.rotations import normalised, rotation_z_to
from ..spatial.tape import Tape
from ..spatial.vectors import ZERO, Scalars, Vector, Z, unit
from .closure import Closure
from .conventions import CONVENTIONS
from .drive import CIRCUIT, ELASTIC, Drive
from .force import Force
from .friction import Friction, sides
from .law import CONSTANTS, STATE, LawStates, UserLaw
from .link import Link
from .memory import Stretch
from .model import Model
from .places import Parts, put
from .quantity import Values, resolve
from .spring import ChainSpring

Kind = TypeVar("Kind")


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


class OwnLaw(NamedTuple):
    """A law of the user's own (see `UserLaw`): coefficients are the constants it is linear in.

    `state` holds the values of its states in a simulation; None: there is no motion in time.
    """

    tape: Tape
    energy: Tape | None
    linear: tuple[str, ...]
    coefficients: tuple[Any, ...]
    constants: Mapping[str, Any]  # the others
    states: LawStates | None = None
    state: tuple[Any, ...] | None = None

    @property
    def torque_tape(self) -> Tape:
        """The tape of its torque in a simulation."""
        return self.tape if self.states is None else self.states.torque

    def torque(self, fn: Functions, **given: Scalars) -> list[Any]:
        """Torque of the law; without a motion in time its states are steady."""
        if self.states is None or self.state is None:
            return self.run(self.tape, fn, **given)
        return self._in_state(self.states, self.states.torque, self.state, fn, given)

    def rate(self, fn: Functions, **given: Scalars) -> list[Any]:
        """d/dt of its states, which must be known."""
        if self.states is None or self.state is None:
            return []
        return self._in_state(self.states, self.states.rate, self.state, fn, given)

    def _in_state(
        self, states: LawStates, tape: Tape, values: Scalars, fn: Functions,
        given: Mapping[str, Scalars],
    ) -> list[Any]:  # fmt: skip
        own: Any = {STATE: dict(zip(states.names, values, strict=True))}
        return self.run(tape, fn, **given, **own)

    def run(self, tape: Tape, fn: Functions, **given: Scalars) -> list[Any]:
        """What a tape of it gives for arguments and its constants."""
        linear = dict(zip(self.linear, self.coefficients, strict=True))
        return tape.run({**given, CONSTANTS: {**self.constants, **linear}}, fn)

    def parts(self, fn: Functions, **given: Scalars) -> tuple[list[Any], list[list[Any]]]:
        """Torques that no coefficient multiplies, and those that each is multiplied by."""
        return self.tape.parts({**given, CONSTANTS: self.constants}, CONSTANTS, self.linear, fn)


class Thermal(NamedTuple):
    """Viscous friction over temperature, and how friction's power heats a joint (see Friction)."""

    slope: Any
    reference: Any
    heating: tuple[Any, Any]
    time: tuple[Any, Any]


class Resistance(NamedTuple):
    """Friction of one joint: coefficients and the law that shapes them, and one of one's own."""

    viscous: Any
    plus: Any
    minus: Any
    offset: Any
    law: str
    constants: Mapping[str, Any]
    own: OwnLaw | None = None
    viscous_minus: Any = None  # moving negative, where that differs
    load: Any = 0.0  # per torque that the joint transmits
    thermal: Thermal | None = None
    memory: tuple[Stretch, ...] = ()

    @property
    def mean_viscous(self) -> Any:
        """The mean of both directions, for whoever knows one number only."""
        if self.viscous_minus is None:
            return self.viscous
        return 0.5 * (self.viscous + self.viscous_minus)

    @property
    def mean_coulomb(self) -> Any:
        """The mean size of both directions."""
        return 0.5 * (self.plus - self.minus)


class Circuit(NamedTuple):
    """A DC motor's windings and amplifier; None where the model says nothing."""

    resistance: Any
    inductance: Any  # 0: the current follows at once
    torque_constant: Any
    voltage_limit: Any
    current_limit: Any
    bandwidth: Any  # of the current loop, rad/s
    amplifier_gain: Any = None  # A/V


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


def joint_friction(resistance: Resistance, motor: Motor) -> Resistance:
    """Friction of the joint itself: all that it feels less what is its motor's own."""
    if motor.coupled:
        return resistance
    own = {x: getattr(resistance, x) - getattr(motor, x) for x in ("viscous", "plus", "minus")}
    if resistance.viscous_minus is not None:
        own["viscous_minus"] = resistance.viscous_minus - motor.viscous
    return resistance._replace(**own)


class Elasticity(NamedTuple):
    """The elastic gear of a joint; d is the motor's position, in units of the joint, less its own.

    It transmits stiffness d + hardening d^3 + damping d', nothing within the backlash. `motor` is
    the tree index of a motor that moves by itself (see dynamics.elastic); -1: with its joint.
    `rest` is d of a gear without load, whose backlash is none then.
    """

    joint: int
    motor: int
    stiffness: Any
    damping: Any
    hardening: Any
    backlash: Any
    rest: Any = 0.0


class ChainClosure(NamedTuple):
    """Two frames held together: (tree index or -1, frame there), and the length of a rod."""

    kind: str
    ends: tuple[tuple[int, Frame], tuple[int, Frame]]
    length: Any = None


class Mobility(NamedTuple):
    """How a closed mechanism moves: what of its closures counts, and which coordinates decide.

    `rows` are conditions that are independent of each other and imply the others; the rates of the
    `dependent` coordinates follow from those of the `independent` ones: the drives, where these
    are as many as the mechanism has degrees of freedom. `sizes` are the usual squares of the rows
    of J. `augmented`: the mass matrix of the tree alone is singular. `tolerance` is what closed
    means for a mechanism of this size, m or rad. `reason` says why there is nothing to compute.
    """

    rows: tuple[int, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    sizes: tuple[float, ...] = ()
    augmented: bool = False
    tolerance: float = 1e-6
    reason: str = ""


@dataclass(frozen=True)
class Chain:
    """Joints, bodies, friction, motors and forces of one robot, over one kind of scalar."""

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
    forces: tuple[Any, ...] = ()  # with data of their own, in the order of the model
    loads: tuple[OwnLaw, ...] = ()
    closures: tuple[ChainClosure, ...] = ()
    driven: tuple[int, ...] = ()  # coordinates that controllers see: all, or the drives of loops
    tolerance: float = 0.0  # of the closures, m or rad
    condition: float = 0.0  # of the loops that is computed with, at most
    mobility: Mobility | None = None
    elastic: tuple[Elasticity, ...] = field(default=(), repr=False)  # no kernel depends on it
    frames_before: bool = False  # frame of a joint: that of the link before it (standard DH), or
    # that of the link it moves

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.joints) if self.coupling is None else len(self.coupling[0])

    @property
    def link_coordinates(self) -> int:
        """Number of coordinates but those of motors that move by themselves, which are last."""
        return self.n - sum(x.motor >= 0 for x in self.elastic)

    @property
    def with_backlash(self) -> list[Elasticity]:
        """Elastic gears whose teeth have backlash."""
        return [x for x in self.elastic if not zero(x.backlash)]

    @property
    def links(self) -> int:
        """Number of links of the model (tree joints without the rotors)."""
        return len(self.resistances)

    @property
    def springs(self) -> tuple[ChainSpring, ...]:
        """Those of the forces that are springs."""
        return self.forces_of(ChainSpring)

    def forces_of(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """Forces of one kind."""
        return tuple(x for x in self.forces if isinstance(x, kind))

    @property
    def unbalance(self) -> dict[int, tuple[Any, Any]]:
        """Static unbalance of the rotors that are bodies and have one, by joint."""
        found = ((i, self.bodies[k].inertia.h) for i, k in enumerate(self.rotors))
        return {i: (h[0], h[1]) for i, h in found if not all(zero(x) for x in h)}

    def ancestors(self, i: int) -> list[int]:
        """i and every joint before it, tip to base."""
        path = []
        while i >= 0:
            path.append(i)
            i = self.joints[i].parent
        return path


def chain(
    model: Model, values: Values | None = None, fn: Functions = MATH, parameters: Any = None,
    mobility: bool = True,
) -> Chain:  # fmt: skip
    """The canonical chain of a model.

    `values` replaces the model's own values of symbols (by SymPy symbols, for instance);
    `parameters` replaces every linear parameter, in the order of `dynamis.model.parameters`.
    Without `mobility` that of a closed mechanism is not looked for.
    """
    values = model.values if values is None else values
    rule = CONVENTIONS[model.convention]
    after = [rule.after(link, values, fn) for link in model.links]
    base = model.base.frame(values, fn)
    joints, bodies = [], []
    for link, parent, user in zip(model.links, model.parents, after, strict=True):
        before = compose(base if parent < 0 else after[parent], rule.before(link, values, fn))
        joints.append(Joint(link.joint, parent, compose(before, _along_z(link, values, fn))))
        slide = resolve(link.com_factor, values, fn) if link.slides else None
        own = link.body(values, fn)
        bodies.append(Body(transformed(user, own), slide, user, own))
    tip, tool = model.tip, compose(after[model.tip], model.tool.frame(values, fn))
    if model.payload is not None:
        bodies[tip] = _loaded(bodies[tip], tool, model.payload.body(values, fn))
    motors = [_motor(model, i, values, fn) for i in range(len(model.links))]
    resistances = [
        _resistance(link.friction, motor, values, fn)
        for link, motor in zip(model.links, motors, strict=True)
    ]
    forces = [_force(model, force, after, base, values, fn) for force in model.forces]
    loads = [_own(law) for law in model.loads]
    unbalance = {i: resolve(model.drive(i).unbalance, values, fn) for i in model.unbalanced}
    if parameters is not None:
        parts = Parts(bodies, resistances, motors, unbalance, forces, loads)
        _set_parameters(parts, list(parameters))
    rotors = ()
    if model.rotors == "full":
        rotors = tuple(range(len(joints), 2 * len(joints)))
        mounts = [*after, base]  # -1 is the base
        for i, motor in enumerate(motors):
            off = unbalance.get(i, (0.0, 0.0))
            joint, body = _rotor(model, i, joints[i], mounts, motor, off, values, fn)
            joints.append(joint)
            bodies.append(body)
    coupling, shift = _coupling(model, motors, bool(rotors), values, fn)
    around = resolve(model.gravity, values, fn), base, tip, tool, coupling, shift, rotors
    own = tuple(joints), tuple(bodies), tuple(resistances), tuple(motors)
    more: dict[str, Any] = {"driven": model.driven, "elastic": _elastic(model, values, fn)}
    more["frames_before"] = rule.frames_before
    found = Chain(*own, *around, tuple(forces), tuple(loads), **more)
    if not model.closures:
        return found
    from ..dynamics.mobility import model_mobility  # which computes with chains

    moves = once(model, "mobility", lambda: model_mobility(model)) if mobility else None
    return replace(
        found,
        closures=tuple(_closure(model, x, after, base, values, fn) for x in model.closures),
        tolerance=model.closure_tolerance or (moves or Mobility((), (), ())).tolerance,
        condition=model.closure_condition,
        mobility=moves,
    )


def _along_z(link: Link, values: Values, fn: Functions) -> Frame:
    """The constant part of the motion about and along the joint's own z."""
    d, theta, offset = resolve((link.d, link.theta, link.offset), values, fn)
    if link.joint == "revolute":
        return compose(translation(z=d), about_z(offset, fn))
    return compose(about_z(theta, fn), translation(z=offset))


def _loaded(body: Body, tool: Frame, payload: Inertia) -> Body:
    load = transformed(tool, payload)
    if body.slide is not None:  # the load stays put while the link's own mass slides
        return body._replace(load=load)
    total = plus(body.inertia, load)
    return body._replace(inertia=total, user_inertia=transformed_back(body.user, total))


def _gear_row(model: Model, i: int, values: Values, fn: Functions) -> tuple[Any, ...]:
    """Motor speed per joint speed, one entry per joint of the model."""
    if model.gear_matrix is not None:
        return resolve(model.gear_matrix[i], values, fn)
    drive = model.links[i].drive
    gear = 1.0 if drive is None else resolve(drive.gear, values, fn)
    return tuple(gear if j == i else 0.0 for j in range(len(model.links)))


def _motor(model: Model, i: int, values: Values, fn: Functions) -> Motor:
    drive = model.links[i].drive
    row = _gear_row(model, i, values, fn)
    gear = row[i]
    coupled = any(not zero(x) for j, x in enumerate(row) if j != i)
    own = tuple(unit(i, len(row)))
    if drive is None and not coupled:
        return Motor(own, gear, 0.0, 0.0, 0.0, 0.0, 1.0, False)
    drive = drive or Drive()  # a gear matrix couples joints whether or not their motors are known
    if coupled and zero(gear):
        raise ModelError(
            f"gear_matrix[{i}][{i}] is 0: motor {i + 1} must turn with its own joint "
            f"{model.links[i].joint_name!r}"
        )
    given = drive.rotor_inertia, drive.viscous, *drive.coulomb
    J, v, c_plus, c_minus = resolve(given, values, fn)
    size = gear * fn.sign(gear)
    circuit = Circuit(*(resolve(getattr(drive, name), values, fn) for name in CIRCUIT))
    return Motor(
        row=tuple(x / gear for x in row) if coupled else own,
        gear=gear,
        inertia=gear * gear * J,
        viscous=gear * gear * v,
        plus=size * c_plus,
        minus=size * c_minus,
        efficiency=resolve(drive.efficiency, values, fn),
        coupled=coupled,
        limits=resolve(drive.limits, values, fn),
        circuit=None if drive.torque_constant is None else circuit,
    )


def _elastic(model: Model, values: Values, fn: Functions) -> tuple[Elasticity, ...]:
    """The elastic gears of a model."""
    found = []
    for i, link in enumerate(model.links):
        if link.drive is not None and link.drive.stiffness is not None:
            given = (link.drive.stiffness, *(getattr(link.drive, x) for x in ELASTIC))
            found.append(Elasticity(i, -1, *resolve(given, values, fn)))
    return tuple(found)


def _resistance(friction: Friction, motor: Motor, values: Values, fn: Functions) -> Resistance:
    sided = isinstance(friction.viscous, tuple)
    v, v_minus = resolve(sides(friction.viscous), values, fn)
    c_plus, c_minus = resolve(friction.coulomb, values, fn)
    if not motor.coupled:
        v, c_plus, c_minus = v + motor.viscous, c_plus + motor.plus, c_minus + motor.minus
        v_minus = v_minus + motor.viscous
    constants = {k: resolve(x, values, fn) for k, x in friction.constants.items()}
    offset = resolve(friction.offset, values, fn)
    law, own = friction.law, None
    if friction.own is not None:
        law, constants, own = Friction.law, {}, _own(friction.own)
    load = resolve(friction.load, values, fn)
    shaped = v, c_plus, c_minus, offset, law, constants
    thermal = None
    if not zero(friction.temperature_slope):
        names = ("temperature_slope", "reference_temperature", "heating", "heating_time")
        thermal = Thermal(*(resolve(getattr(friction, x), values, fn) for x in names))
    memory: tuple[Stretch, ...] = ()
    if friction.memory is not None:
        given = resolve((friction.memory.radii, friction.memory.weights), values, fn)
        memory = tuple(Stretch(*pair) for pair in zip(*given, strict=True))
    return Resistance(*shaped, own, v_minus if sided else None, load, thermal, memory)


def _own(law: UserLaw) -> OwnLaw:
    constants = dict(law.constants)
    coefficients, rest = tuple(constants.pop(name) for name in law.linear), constants
    return OwnLaw(law.tape, law.energy, law.linear, coefficients, rest, law.states)


def _force(
    model: Model, force: Force, after: list[Frame], base: Frame, values: Values, fn: Functions
) -> Any:
    """A force with its points in joint frames."""
    ends = []
    for name, place in force.ends.items():
        link = model.link_index(getattr(force, name))
        frame = base if link < 0 else after[link]
        ends.append((link, point(frame, resolve(getattr(force, place), values, fn))))
    joints = [model.tree_joint_names.index(getattr(force, name)) for name in force.joints]
    number = partial(resolve, values=values, fn=fn)
    return force._on_chain(tuple(ends), joints[0] if joints else -1, number)


def _closure(
    model: Model, closure: Closure, after: list[Frame], base: Frame, values: Values, fn: Functions
) -> ChainClosure:
    """A closure with its frames in joint frames."""
    ends = []
    for name, place in zip(closure.between, closure.frames, strict=True):
        link = model.link_index(name)
        ends.append((link, compose(base if link < 0 else after[link], place.frame(values, fn))))
    return ChainClosure(closure.kind, (ends[0], ends[1]), resolve(closure.length, values, fn))


def _set_parameters(parts: Parts, values: Sequence[Any]) -> None:
    """Put every parameter in its place; a motor keeps its share of the friction of its joint."""
    before, motors = list(parts.resistances), parts.motors
    put(parts, values)
    for i, (motor, old, new) in enumerate(zip(motors, before, parts.resistances, strict=True)):
        motors[i] = motor if motor.coupled else motor._replace(**_motor_friction(motor, old, new))


def _motor_friction(motor: Motor, old: Resistance, new: Resistance) -> dict[str, Any]:
    """The motor's own part of a friction that changes: it keeps its share of the total."""
    totals = {
        "viscous": (old.mean_viscous, new.mean_viscous),
        "plus": (old.plus, new.plus),
        "minus": (old.minus, new.minus),
    }
    return {name: _share(getattr(motor, name), *pair) for name, pair in totals.items()}


def _share(part: Any, old: Any, new: Any) -> Any:
    """part new / old; a part of a total of zero stays as it is."""
    if zero(part) or zero(old):
        return part
    return new if zero(part - old) else part * (new / old)


def _rotor(
    model: Model,
    i: int,
    joint: Joint,
    mounts: list[Frame],
    motor: Motor,
    unbalance: tuple[Any, Any],
    values: Values,
    fn: Functions,
) -> tuple[Joint, Body]:
    """The rotor of joint i as a body of its own, spinning on the link that carries the motor."""
    drive, mount, placement = model.drive(i), joint.parent, joint.placement
    if drive.rotor_link is not None:
        names = (*model.link_names, model.base_name)
        if drive.rotor_link not in names:
            raise ModelError(f"drive.rotor_link {drive.rotor_link!r} is not a link")
        at = names.index(drive.rotor_link)
        mount = -1 if at == len(model.links) else at
        placement = mounts[mount]
    if drive.rotor_axis or drive.rotor_position:
        turn = rotation_z_to(normalised(drive.rotor_axis or Z))
        position = resolve(drive.rotor_position or ZERO, values, fn)
        placement = compose(mounts[mount], Frame(turn, position))
    ex, ey = unbalance
    spin = 0.0 if zero(motor.gear) else motor.inertia / (motor.gear * motor.gear)
    inertia = Inertia(0.0, (ex, ey, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, spin))
    return Joint("revolute", mount, placement), Body(inertia, None, Frame(), inertia)


def _coupling(
    model: Model, motors: list[Motor], rotors: bool, values: Values, fn: Functions
) -> tuple[tuple[tuple[Any, ...], ...] | None, tuple[Any, ...]]:
    """Tree positions from coordinates: identity, then what mimics, then what spins."""
    size = range(len(model.links))
    if not rotors and not any(link.mimic for link in model.links):
        return None, (0.0,) * len(size)
    column = {name: k for k, name in enumerate(model.joint_names)}
    rows, shift = [], []
    for link in model.links:
        name, *rest = link.mimic or (link.joint_name, 1.0, 0.0)
        factor, start = resolve(tuple(rest), values, fn)
        rows.append(tuple(factor if k == column[str(name)] else 0.0 for k in range(model.n)))
        shift.append(start)
    for motor in motors if rotors else ():
        gears = [motor.gear * x for x in motor.row]
        rows.append(tuple(sum(gears[j] * rows[j][k] for j in size) for k in range(model.n)))
        shift.append(sum(gears[j] * shift[j] for j in size))
    return tuple(rows), tuple(shift)
