"""The equation of motion: M(q) qdd + C(q, qd) qd + g(q) + friction(qd) + spring + J^T wrench = tau.

Loads of one's own add to it like springs. The formulations give the rigid tree; rotors, friction
and coupling are added here, once. Friction that grows with the load comes last: it knows all the
rest.
"""

from typing import Any

from ..model.chain import Chain, joint_friction
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars, less, matrix_times, plus, transposed
from . import coupling, drives, elements, kinematics
from .elements import friction
from .elements.bodies import RECURSIONS
from .forward_dynamics import (
    MASS_MATRICES,
    accelerating_torque,
    articulated_body,
    conjugate_gradients,
    solve,
)
from .instant import Instant
from .newton_euler import Given, exerted_torque, newton_euler


def inverse_dynamics(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions,
    wrench: Given = None, base_motion: Given = None, link_forces: Given = None,
    temperature: Given = None, method: str = "newton-euler",
) -> Scalars:  # fmt: skip
    """tau of the whole robot, (n,); `link_forces` (f, n) of every link in its frame."""
    chain = friction.at_temperature(chain, temperature, fn)
    at = Instant(chain, fn, q, qd, qdd, wrench, base_motion, link_forces, method)
    result = elements.torque(at)
    if wrench is not None and method not in RECURSIONS:
        result = plus(result, wrench_torque(chain, q, wrench, fn))
    if friction.load_dependent(chain):
        more = friction.load_friction(chain, qd, _transmitted(chain, result, qd, fn), fn)
        result = plus(result, more)
    return result


def _transmitted(chain: Chain, tau: Scalars, qd: Scalars, fn: Functions) -> list:
    """Torques without the friction of an arm that transmits nothing."""
    return less(tau, friction.friction_torque(chain, qd, fn))


def wrench_torque(chain: Chain, q: Scalars, wrench: Scalars, fn: Functions) -> list:
    """J_tool^T wrench, (n,)."""
    J = kinematics.jacobian(chain, q, fn, frame="tool")
    return matrix_times(transposed(J), wrench)


def rigid_torque(chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions) -> Scalars:
    """M qdd + C qd + g of the links alone: no rotors, no friction."""
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    return coupling.torques(chain, newton_euler(chain, x, xd, coupling.rates(chain, qdd), fn))


def gravity_torque(chain: Chain, q: Scalars, fn: Functions) -> Scalars:
    """g(q), (n,)."""
    rest = [0.0] * chain.n
    return rigid_torque(chain, q, rest, rest, fn)


def mass_matrix(chain: Chain, q: Scalars, fn: Functions, method: str = "walker-orin-3") -> Scalars:
    """M(q) with the reflected rotors, (n, n)."""
    M = MASS_MATRICES[method](chain, coupling.positions(chain, q), fn)
    rotor = drives.rotor_matrix(chain)
    total = [plus(r, s) for r, s in zip(M, rotor, strict=True)]
    return coupling.matrix(chain, total)


def uncoupled(chain: Chain) -> bool:
    """Whether every coordinate is one joint with a motor of its own."""
    return chain.coupling is None and not any(motor.coupled for motor in chain.motors)


def forward_dynamics(
    chain: Chain, q: Scalars, qd: Scalars, tau: Scalars, fn: Functions,
    wrench: Given = None, link_forces: Given = None, temperature: Given = None,
    base_motion: Given = None, method: str = "walker-orin-3",
) -> Scalars:  # fmt: skip
    """qdd, (n,)."""
    chain = friction.at_temperature(chain, temperature, fn)
    chain, tau = friction.after_load_friction(chain, qd, tau, fn)
    if method == "articulated-body":
        net, at = tau, Instant(chain, fn, q, qd, qd)
        for effect in elements.FORCES:
            net = less(net, effect.torque(at)) if effect.acts(chain) else net
        if wrench is not None:
            net = less(net, wrench_torque(chain, q, wrench, fn))
        if link_forces is not None:
            net = less(net, exerted_torque(chain, q, fn, link_forces))
        rotor = drives.rotor_matrix(chain)
        inertia = [rotor[i][i] for i in range(chain.n)]
        return articulated_body(chain, q, qd, net, inertia, fn, base_motion)
    rest = [0.0] * chain.n
    bias = inverse_dynamics(chain, q, qd, rest, fn, wrench, base_motion, link_forces)
    b = less(tau, bias)
    if method == "walker-orin-4":
        return conjugate_gradients(lambda v: mass_times(chain, q, v, fn), b, fn)
    return solve(mass_matrix(chain, q, fn, method), b, fn)


def mass_times(chain: Chain, q: Scalars, v: Scalars, fn: Functions) -> list:
    """M v without M.

    Subtracting gravity afterwards would drown the small v of the last steps in its rounding.
    """
    x, xdd = coupling.positions(chain, q), coupling.rates(chain, v)
    links = accelerating_torque(chain, x, xdd, fn)
    return list(coupling.torques(chain, plus(links, drives.rotor_torque(chain, xdd))))


def motor_torque(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions,
    load: Scalars | None = None,
) -> list:  # fmt: skip
    """Torque of every motor: its rotor, its own friction, and the joint's load through the gear.

    `load` is what closures and friction under load add to the loads of the joints. What the motion
    of its carrier does to a rotor that is a body of the tree counts as load: it is that of 1 / G of
    its own rate.
    """
    at = Instant(chain, fn, q, qd, qdd)
    xd, xdd = at.xd, at.xdd
    # every joint is a coordinate: those that mimic others were refused
    tree = elements.tree_torque(at, elements.without_rotors)
    joint_side = [
        t + friction.torque(joint_friction(r, m), rate, fn)
        for t, r, m, rate in zip(tree, chain.resistances, chain.motors, xd, strict=False)
    ]
    if load is not None:
        joint_side = plus(joint_side, load)
    rotors = [m.inertia * drives.motor_rate(m, xdd) / m.gear for m in chain.motors]
    carried = less(tree[chain.links :], rotors) if chain.rotors else None
    geared = drives.motor_torque(chain, joint_side, xd, fn, carried)
    return [
        geared[i] + rotor + friction.motor_friction(chain, i, xd, fn) / motor.gear
        for i, (motor, rotor) in enumerate(zip(chain.motors, rotors, strict=True))
    ]


def gear_losses(chain: Chain, tau: Scalars, qd: Scalars, qdd: Scalars, fn: Functions) -> list:
    """Torque that drives must add to tau, of a motion without losses, for those of their gears.

    What goes through a gear is the motor's share less its own friction and what accelerates its
    rotor about its axis, as in `motor_torque`.
    """
    through = _through_gears(chain, tau, qd, qdd, fn)
    return drives.felt(chain, [T * (factor - 1.0) for T, factor in through])


def driven_gear_losses(chain: Chain, tau: Scalars, qd: Scalars, fn: Functions) -> list:
    """Torque that gears take away of what drives exert, tau, rotors at a steady speed."""
    through = _through_gears(chain, tau, qd, [0.0] * chain.n, fn)
    return drives.felt(chain, [T * (1.0 - 1.0 / factor) for T, factor in through])


def _through_gears(
    chain: Chain, tau: Scalars, qd: Scalars, qdd: Scalars, fn: Functions
) -> list[tuple[Any, Any]]:
    """Torque through every gear in units of its joint, and how much more a lossy one needs."""
    u, ud, xd = drives.speeds(chain, qd), drives.speeds(chain, qdd), coupling.rates(chain, qd)
    found = []
    for i, (motor, share) in enumerate(zip(chain.motors, drives.shares(chain, tau), strict=True)):
        through = share - motor.inertia * ud[i] - friction.motor_friction(chain, i, xd, fn)
        found.append((through, drives.input_factor(motor, through * u[i], fn)))
    return found
