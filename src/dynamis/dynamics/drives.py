"""Motors and gears: reflected rotor inertia, and the torque behind the gears."""

from typing import Any

from ..model.chain import Chain, Motor
from ..spatial.functions import Functions, zero
from ..spatial.vectors import Scalars
from . import coupling
from .coupling import combined


def rotor_matrix(chain: Chain) -> list[list[Any]]:
    """Reflected rotor inertia as a constant tree matrix: sum over motors of row^T J row.

    With full rotor kinetics the rotors are bodies of the tree, and this is zero.
    """
    size = len(chain.joints)
    M: list[list[Any]] = [[0.0] * size for _ in range(size)]
    if chain.rotors:
        return M
    for motor in chain.motors:
        turned = [(i, r) for i, r in enumerate(motor.row) if not zero(r)]
        for i, ri in turned:
            for j, rj in turned:
                M[i][j] = M[i][j] + ri * rj * motor.inertia
    return M


def rotor_torque(chain: Chain, xdd: Scalars) -> list:
    """Torque of every tree joint that accelerates the reflected rotors."""
    return [combined(row, xdd, 0) for row in rotor_matrix(chain)]


def motor_rate(motor: Motor, rates: Scalars) -> Any:
    """u = row . rates, speed or acceleration in units of its joint; rotor bodies come last."""
    return combined(motor.row, rates[: len(motor.row)], 0)


def motor_torque(
    chain: Chain, load: Scalars, xd: Scalars, fn: Functions, rotor_load: Scalars | None = None
) -> list:
    """Gear input torque for a load on the joints: load / G, lossy in the direction of power.

    `rotor_load` is a load on the rotors themselves.

    A motor that drives gives load / (G eta); one driven back gets load eta / G; at rest the gear
    is taken as lossless. With a gear matrix the load is shared by G^-T (triangular coupling).
    """
    carried = shared(chain, list(load))
    result = []
    for i, motor in enumerate(chain.motors):
        ideal = carried[i] / motor.gear
        if rotor_load is not None:
            ideal = ideal + rotor_load[i]
        power = ideal * (motor.gear * motor_rate(motor, xd))
        result.append(ideal * input_factor(motor, power, fn))
    return result


def input_factor(motor: Motor, power: Any, fn: Functions) -> Any:
    """Torque into a gear over what a lossless one needs: 1 / eta driving, eta driven back.

    `power` is what goes through; only its sign counts, and at rest the gear is lossless.
    """
    driving = fn.sign(power)
    eta = motor.efficiency
    return fn.select(driving > 0.0, 1.0 / eta, fn.select(driving < 0.0, eta, 1.0))


def shared(chain: Chain, load: list) -> list:
    """Solve rows^T t = load by elimination: each motor's own joint has coefficient one."""
    size = len(chain.motors)
    A = [[chain.motors[j].row[i] for j in range(size)] + [load[i]] for i in range(size)]
    for k in range(size):
        for i in range(size):
            if i != k and not zero(A[i][k]):
                factor = A[i][k] / A[k][k]
                A[i] = [a - factor * b for a, b in zip(A[i], A[k], strict=True)]
    return [A[i][size] / A[i][i] for i in range(size)]


def lossy(chain: Chain) -> bool:
    """Whether any gear loses power."""
    return any(not (isinstance(m.efficiency, float) and m.efficiency == 1.0) for m in chain.motors)


def rows(chain: Chain) -> list[list[Any]]:
    """Speed of every motor, in units of its joint, per coordinate speed."""
    size = len(chain.joints)
    return [
        list(coupling.torques(chain, [*m.row, *([0.0] * (size - len(m.row)))]))
        for m in chain.motors
    ]


def shares(chain: Chain, tau: Scalars) -> list[Any]:
    """Share of each motor, in units of its joint, in the torques tau of the coordinates."""
    if chain.coupling is None:
        return shared(chain, list(tau))
    load: list[Any] = [0.0] * len(chain.motors)
    for c in range(chain.n):  # a coordinate's torque is the business of the motor of its own joint
        own = next(i for i, row in enumerate(chain.coupling) if row[c] == 1.0)
        load[own] = tau[c]
    return shared(chain, load)


def speeds(chain: Chain, qd: Scalars) -> list[Any]:
    """Speed of every motor in units of its joint."""
    return [coupling.combined(row, qd, 0) for row in rows(chain)]


def felt(chain: Chain, forces: Scalars) -> list[Any]:
    """Torques of the coordinates from contributions of the motors."""
    total: list[Any] = [0.0] * chain.n
    for row, force in zip(rows(chain), forces, strict=True):
        total = [t if zero(w) else t + w * force for t, w in zip(total, row, strict=True)]
    return total
