"""Elastic gears in MJCF: a rotor of its own in the world, a fixed tendon between it and the joint.

A rotor turns in motor radians, and the tendon is as long as the gear is deflected, th / gear - q:
its stiffness, damping and spring length are those of the gear at the joint. The spring has no force
within its range of lengths, which is the backlash, and hardens with the cube. Standing in the
world, a rotor feels no motion of the links, as in the equations of `dynamics.elastic`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ..model.chain import Elasticity, joint_friction
from ..model.drive import Drive
from ..model.features import FEATURES
from ..model.formats.urdf_write import free_name, spaced, writable
from ..model.quantity import resolve
from ..robot import Robot
from ..robot.closing import undriven
from ..robot.variations import link_side
from ..simulation.elastic.motor_start import deflections

Inertia = Callable[[int], float]  # of a joint
MASS = 1e-14  # kg of a rotor, whose own is that of the link which carries it
CENTRED = 1e-12  # kg m off the axis that are none
LIGHT = 1e-9  # of all its inertia that a rotor may have as a body which a link carries
AT_ELASTIC_JOINTS = ("gears", "which friction is the joint's and which the motor's")
IN_THE_GAP = "that gears do not damp within their backlash (MuJoCo's dampers do)"


# to MJCF


class Rotor(NamedTuple):
    """The motor of an elastic joint as a body: its joint there, and turns per unit of its own."""

    joint: str
    turns: float

    @property
    def moved(self) -> dict[str, str]:
        """What an actuator moves whose control is the torque at the elastic joint."""
        return {"joint": writable(self.joint), "gear": repr(1.0 / self.turns)}


def write_gears(root: Element, nodes: list[Element], robot: Robot) -> dict[str, Rotor]:
    """Move the motors of elastic joints to bodies of their own; these by the name of their joint.

    They come after every link, so that positions of links stand first in `qpos`.
    """
    chain, found = robot.chain, {}
    bodies, joints = ([x.get("name", "") for x in root.iter(k)] for k in ("body", "joint"))
    taken = [str(spring.name) for spring in robot.model.springs]
    tendons, world = Element("tendon"), next(root.iter("worldbody"))
    for gear in chain.elastic:
        i, drive = gear.joint, robot.model.links[gear.joint].drive or Drive()
        given = (drive.gear, drive.rotor_inertia, drive.viscous, *drive.coulomb)
        turns, inertia, viscous, plus, minus = map(float, resolve(given, robot.model.values))
        name, link = str(robot.model.links[i].joint_name), next(nodes[i].iter("joint"))
        own = joint_friction(chain.resistances[i], chain.motors[i])
        _set(link, armature=0.0, damping=own.mean_viscous, frictionloss=own.mean_coulomb)
        bodies.append(free_name(f"{name}_rotor", bodies))
        joints.append(free_name(f"{name}_motor", joints))
        taken.append(free_name(f"{name}_gear", taken))
        body = SubElement(world, "body", name=writable(bodies[-1]))
        rotor = SubElement(body, "joint", name=writable(joints[-1]), type="hinge", axis="0 0 1")
        _set(rotor, damping=viscous, frictionloss=0.5 * (plus - minus))
        if effort := link.attrib.pop("actuatorfrcrange", ""):
            rotor.set("actuatorfrcrange", spaced(float(x) / abs(turns) for x in effort.split()))
        moments = spaced((inertia, inertia, inertia))
        SubElement(body, "inertial", pos="0 0 0", mass=repr(MASS), diaginertia=moments)
        _tendon(tendons, gear, taken[-1], {joints[-1]: 1.0 / turns, name: -1.0})
        found[name] = Rotor(joints[-1], turns)
    root.extend([tendons] if len(tendons) else [])
    return found


def _set(element: Element, **given: Any) -> None:
    for key, value in given.items():
        element.set(key, repr(float(value)))


def _tendon(parent: Element, gear: Elasticity, name: str, coefficients: dict[str, float]) -> None:
    """Length th - q; a spring that hardens has three coefficients, which newer MuJoCo know."""
    hard, b = float(gear.hardening), float(gear.backlash)
    own = {"stiffness": spaced((gear.stiffness, 0.0, hard) if hard else (gear.stiffness,))}
    own |= {"damping": repr(float(gear.damping)), "springlength": spaced((-b, b) if b else (0.0,))}
    tendon = SubElement(parent, "fixed", {"name": writable(name), **own})
    for joint, coefficient in coefficients.items():
        SubElement(tendon, "joint", joint=writable(joint), coef=repr(coefficient))


def rotor_positions(robot: Robot, q: np.ndarray, rotors: dict[str, Rotor]) -> list[float]:
    """Where rotors stand at rest, as simulations begin: the gears carry the arm."""
    if not rotors:
        return []
    still = np.zeros_like(q)
    load = still if undriven(robot) else robot.inverse_dynamics(q, still, still)
    motors = q + deflections(robot, load)
    rows = [robot.joint_names.index(name) for name in rotors]
    return [x.turns * float(motors[k]) for x, k in zip(rotors.values(), rows, strict=True)]


def held_at_elastic_joints(robot: Robot) -> tuple[str, ...]:
    """Features that MJCF holds if none but elastic drives have them."""
    rigid = link_side(robot.model)
    return tuple(x for x in AT_ELASTIC_JOINTS if not FEATURES[x](rigid))


def differs(robot: Robot) -> Iterator[str]:
    """What MuJoCo does otherwise, in words."""
    if any(float(x.damping) for x in robot.chain.with_backlash):
        yield IN_THE_GAP


# from MuJoCo


class TendonGear(NamedTuple):
    """A tendon that is an elastic gear: the rotor's joint, and the fields of a Drive."""

    tendon: int
    motor: int
    gear: float
    stiffness: float
    hardening: float
    damping: float
    backlash: float


def tendon_gears(
    mujoco: Any, m: Any, ties: Mapping[int, tuple[int, float, float]], armature: Inertia
) -> dict[int, TendonGear]:
    """Tendons that are elastic gears, by the joint that they move; others are none.

    `ties` are joints that equalities tie to a leader, `armature` tells the inertia that a joint has
    beside its bodies, which one behind an elastic gear may not have.
    """
    found: dict[int, TendonGear] = {}
    links = set(range(m.njnt)) - ties.keys()
    motors = links - {leader for leader, *_ in ties.values()} - _closed(mujoco, m)
    for t in np.flatnonzero(m.tendon_stiffness > 0.0).tolist():
        rows = slice(int(m.tendon_adr[t]), int(m.tendon_adr[t] + m.tendon_num[t]))
        joints, coefficients = m.wrap_objid[rows].tolist(), m.wrap_prm[rows].tolist()
        fixed = (m.wrap_type[rows] == int(mujoco.mjtWrap.mjWRAP_JOINT)).all()
        if not fixed or len(joints) != 2 or not all(coefficients) or not _cubic(m, t):
            continue
        both = [(joints[k], joints[1 - k], coefficients[k], coefficients[1 - k]) for k in (0, 1)]
        driven = {int(x) for x in m.actuator_trnid[:, 0]}
        both.sort(key=lambda x: x[0] not in driven)  # of two wheels the one that is driven
        used = {x for own, gear in found.items() for x in (own, gear.motor)}
        for motor, link, own, other in both:
            free = motor in motors - used and link in links - used
            if free and _turns_alone(mujoco, m, motor, armature(motor)) and not armature(link):
                found[link] = _gear(m, t, motor, own, other)
                break
    return found


def _closed(mujoco: Any, m: Any) -> set[int]:
    """Joints of bodies that equalities hold."""
    rows = m.eq_objtype == int(mujoco.mjtObj.mjOBJ_BODY)
    bodies = {*m.eq_obj1id[rows].tolist(), *m.eq_obj2id[rows].tolist()}
    return {j for j in range(m.njnt) if int(m.jnt_bodyid[j]) in bodies}


def _gear(m: Any, t: int, motor: int, own: float, other: float) -> TendonGear:
    """own x + other q = -other (x / gear - q), gear = -other / own."""
    low, high = m.tendon_lengthspring[t]
    square, cubic = other * other, _poly(m, "tendon_stiffnesspoly", t)[1]
    stiff, damping = (float(x[t]) * square for x in (m.tendon_stiffness, m.tendon_damping))
    backlash = 0.5 * float(high - low) / abs(other)
    return TendonGear(
        t, motor, -other / own, stiff, float(cubic) * square * square, damping, backlash
    )


def _cubic(m: Any, t: int) -> bool:
    """Whether a tendon is spring and damper alone, linear but for a cube that hardens."""
    square, cube = _poly(m, "tendon_stiffnesspoly", t)
    others = (*_poly(m, "tendon_dampingpoly", t), m.tendon_frictionloss[t], m.tendon_armature[t])
    return square == 0.0 and cube >= 0.0 and m.tendon_damping[t] >= 0.0 and not any(others)


def _poly(m: Any, field: str, row: int) -> tuple[float, float]:
    """Coefficients of higher powers, in versions that have them."""
    rows = getattr(m, field, None)
    return (0.0, 0.0) if rows is None else tuple(map(float, rows[row]))  # type: ignore[return-value]


def _turns_alone(mujoco: Any, m: Any, j: int, armature: float) -> bool:
    """Whether a joint is that of a rotor: nothing acts on it but its motor, gear and friction."""
    b, k = int(m.jnt_bodyid[j]), int(m.jnt_dofadr[j])
    alone = m.body_jntnum[b] == 1 and b not in m.body_parentid and b not in m.site_bodyid
    hinge = int(m.jnt_type[j]) == int(mujoco.mjtJoint.mjJNT_HINGE)
    if not (alone and hinge) or m.jnt_stiffness[j] or any(_poly(m, "dof_dampingpoly", k)):
        return False
    arm = np.cross(m.jnt_axis[j], m.body_ipos[b] - m.jnt_pos[j])
    own = rotor_inertia(mujoco, m, j)
    still = m.body_weldid[m.body_parentid[b]] == 0 or own <= LIGHT * armature
    return still and own + armature > 0.0 and m.body_mass[b] * np.linalg.norm(arm) < CENTRED


def rotor_inertia(mujoco: Any, m: Any, j: int) -> float:
    """Inertia of a body about the axis of its joint, which its centre of mass is on."""
    b, R = int(m.jnt_bodyid[j]), np.zeros(9)
    mujoco.mju_quat2Mat(R, m.body_iquat[b])
    seen = R.reshape(3, 3).T @ m.jnt_axis[j]
    return float(seen**2 @ m.body_inertia[b])
