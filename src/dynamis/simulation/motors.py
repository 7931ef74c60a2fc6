"""Simulated drives: torque limits, the electric circuit of a DC motor, gears that lose power.

Motors are treated in units of their own joint: torque times gear, speed over gear.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..dynamics.drives import felt, rows, shares, speeds
from ..dynamics.elements import friction
from ..errors import OptionError
from ..model.chain import Chain, Motor
from ..spatial.functions import Functions, zero
from ..spatial.vectors import Scalars, plus
from .tableau import MARGIN, Tableau

if TYPE_CHECKING:
    from ..robot import Robot


def inductive(chain: Chain) -> list[int]:
    """Motors whose current is a state."""
    return [i for i, m in enumerate(chain.motors) if m.circuit is not None and m.circuit.inductance]


def check_circuits(robot: "Robot", tableau: Tableau, dt: float) -> None:
    """Refuse a current that changes too fast for steps of dt, by name.

    A current loop decays at its bandwidth, at a voltage limit at R/L.
    """
    most = math.floor(10.0 * MARGIN * tableau.stability_limit) / 10.0  # a round one: it is told
    for i in inductive(robot.chain):
        circuit: Any = robot.chain.motors[i].circuit
        fast, what = float(circuit.bandwidth), "current_bandwidth"
        if circuit.voltage_limit is not None:
            fast, what = max((fast, what), (float(circuit.resistance / circuit.inductance), "R/L"))
        if fast * dt > most:
            slower = "" if what == "R/L" else f"current_bandwidth = {most / dt:g}, or "
            raise OptionError(
                f"the motor of {robot.model.links[i].joint_name!r} has {what} {fast:g} rad/s, "
                f"too fast for {tableau.name} in steps of dt = {dt:g} s",
                f'use dt = {0.9 * most / fast:.2g} s, or {slower}integrator="dormand-prince"',
            )


def limited(chain: Chain) -> bool:
    """Whether any motor is more than an ideal source of torque."""
    return any(m.limits is not None or m.circuit is not None for m in chain.motors)


def driven(
    chain: Chain, command: Scalars, qd: Scalars, current: Scalars, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """Torques that the motors give when `command` is asked for, and the current rates."""
    if not limited(chain):
        return list(command), []
    wanted, speed, given, rates = shares(chain, command), speeds(chain, qd), [], []
    states = iter(current)
    for motor, torque, u in zip(chain.motors, wanted, speed, strict=True):
        own = torque / motor.gear
        if motor.limits is not None:
            own = fn.max(motor.limits[0], fn.min(own, motor.limits[1]))
        if motor.circuit is not None:
            own, rate = _circuit(motor, own, u * motor.gear, states, fn)
            rates += rate
        given.append(own * motor.gear)
    return felt(chain, given), rates


def _circuit(motor: Motor, torque: Any, speed: Any, states: Any, fn: Functions) -> tuple[Any, list]:
    """Torque of a DC motor whose amplifier is asked for `torque`: v = R i + L di/dt + k w."""
    circuit: Any = motor.circuit
    k, R, L = circuit.torque_constant, circuit.resistance or 0.0, circuit.inductance or 0.0
    wanted = _within(torque / k, circuit.current_limit, fn)
    emf = k * speed
    if not L:
        if circuit.voltage_limit is not None and R:
            wanted = (_within(R * wanted + emf, circuit.voltage_limit, fn) - emf) / R
        return k * wanted, []
    i = next(states)
    voltage = R * i + emf + L * circuit.bandwidth * (wanted - i)
    rate = (_within(voltage, circuit.voltage_limit, fn) - R * i - emf) / L
    return k * i, [rate]


def _within(x: Any, limit: Any, fn: Functions) -> Any:
    return x if limit is None else fn.max(-limit, fn.min(x, limit))


def lossy_joints(chain: Chain) -> dict[int, int]:
    """Coordinate and motor of every gear that loses power and turns one joint only."""
    found = {}
    for k, (motor, row) in enumerate(zip(chain.motors, rows(chain), strict=True)):
        whole = isinstance(motor.efficiency, float) and motor.efficiency == 1.0
        turned = [c for c, w in enumerate(row) if not zero(w)]
        if not whole and len(turned) == 1:
            found[turned[0]] = k
    return found


def bands(chain: Chain, tau: Scalars, fn: Functions) -> dict[int, tuple[Any, Any]]:
    """What gears with losses hold beyond the friction of motor and joint, per coordinate.

    Of the torque T into a gear eta T arrives when the joint moves with it, T / eta when it moves
    against it; T is the motor's share less its own friction in that direction.
    """
    share, found = shares(chain, tau), {}
    for c, k in lossy_joints(chain).items():
        eta, (low, high) = chain.motors[k].efficiency, _own_limits(chain, k, fn)
        up, down = share[k] - high, share[k] - low
        most = up * (1.0 - fn.select(up > 0.0, eta, 1.0 / eta))
        least = down * (1.0 - fn.select(down > 0.0, 1.0 / eta, eta))
        found[c] = (least, most)
    return found


def _own_limits(chain: Chain, k: int, fn: Functions) -> tuple[Any, Any]:
    """Static friction of a motor itself, moving negative and positive."""
    motor = chain.motors[k]
    own = chain.resistances[k]._replace(plus=motor.plus, minus=motor.minus, own=None)
    return friction.static_limits(own, fn)


def at_rest_lossless(chain: Chain, qd: Scalars, loss: Scalars, fn: Functions) -> list[Any]:
    """Loss factors, 1 for motors at rest: there the gear's losses are bounds."""
    speed = speeds(chain, qd)
    return [fn.select(u == 0.0, 1.0, e) for u, e in zip(speed, loss, strict=True)]


def losses(
    chain: Chain, tau: Scalars, qd: Scalars, qdd: Scalars, direction: Scalars, fn: Functions
) -> list[Any]:
    """Factor of every gear for the coming step: eta when it drives, 1/eta when driven back.

    The direction of power is that of accelerations qdd under the losses of the step before: where
    it turns round no power flows, so that both agree. A joint at rest moves in its `direction`.
    """
    found = []
    through = _through(chain, tau, qd, direction, fn)
    alone = {k: c for c, k in lossy_joints(chain).items()}
    moving = zip(chain.motors, through, speeds(chain, qd), speeds(chain, qdd), strict=True)
    for k, (motor, T, u, ud) in enumerate(moving):
        power = (T - motor.inertia * ud) * u
        if k in alone:
            power = fn.select(u == 0.0, T * direction[alone[k]], power)
        eta = motor.efficiency
        found.append(fn.select(power > 0.0, eta, fn.select(power < 0.0, 1.0 / eta, 1.0)))
    return found


def lossy_matrix(chain: Chain, M: Sequence[Scalars], loss: Scalars) -> list[list[Any]]:
    """M with the rotors as the joints feel them through the gears: J becomes loss J."""
    new = [list(row) for row in M]
    for motor, row, factor in zip(chain.motors, rows(chain), loss, strict=True):
        for i, wi in enumerate(row):
            for j, wj in enumerate(row):
                if not (zero(wi) or zero(wj) or zero(motor.inertia)):
                    new[i][j] = new[i][j] + (factor - 1.0) * wi * wj * motor.inertia
    return new


def lossy_torque(
    chain: Chain,
    rest: Scalars,
    tau: Scalars,
    x: Any,
    fn: Functions,
) -> list[Any]:
    """Torque left, when what goes through a gear arrives times its loss factor."""
    through, loss = _through(chain, tau, x.qd, x.direction, fn), x.loss
    extra = felt(chain, [(factor - 1.0) * T for factor, T in zip(loss, through, strict=True)])
    return plus(rest, extra)


def _through(
    chain: Chain, tau: Scalars, qd: Scalars, direction: Scalars, fn: Functions
) -> list[Any]:
    """Torque into every gear in units of its joint, rotor acceleration aside."""
    found = []
    alone = {k: c for c, k in lossy_joints(chain).items()}
    for i, (share, u) in enumerate(zip(shares(chain, tau), speeds(chain, qd), strict=True)):
        motor, own = chain.motors[i], chain.resistances[i]
        slides = direction[alone[i]] if i in alone and own.law in friction.STICKS else None
        V, P, N = friction.SHAPES[own.law](u, own.constants, fn, slides)
        found.append(share - motor.viscous * V - motor.plus * P - motor.minus * N)
    return found
