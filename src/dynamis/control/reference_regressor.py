"""The regressor of adaptive control, friction included.

    Y a = M qdd_r + C(q, qd) qd_r + g + viscous V(qd_r) + coulomb tanh(qd_r / smoothing) + offset

The rigid part is that of `dynamis.dynamics.regressor` with two velocities, whose friction columns
are zero; friction is filled in here at the reference velocity, smoothed: the measured one would
bring its noise and a limit cycle.
"""

from collections.abc import Iterator
from typing import Any

from ..dynamics import coupling, friction
from ..dynamics.gibbs_appell import INERTIAL
from ..generic import Arm
from ..model.chain import Chain
from ..model.parameters import JOINT_NAMES, MOTOR_NAMES
from ..spatial.functions import Functions
from .controller import Measured, Scalars


def reference_regressor(
    arm: Arm, measured: Measured, qd_r: Scalars, qdd_r: Scalars, smoothing: Any
) -> list[list[Any]]:
    """Y, (n, p), columns as the parameters of the model."""
    chain = arm.chain
    Y = [list(row) for row in arm.regressor(measured.q, measured.qd, qdd_r, qd_r)]
    for column, tree in _friction_columns(chain, coupling.rates(chain, qd_r), smoothing, arm.fn):
        for row, value in zip(Y, coupling.torques(chain, tree), strict=True):
            row[column] = value
    return Y


def _friction_columns(
    chain: Chain, xr: Scalars, smoothing: Any, fn: Functions
) -> Iterator[tuple[int, list[Any]]]:
    """(column, its entries over the tree's joints) of every friction parameter."""
    column = INERTIAL * chain.links
    for i, resistance in enumerate(chain.resistances):
        V = friction.columns(resistance, xr[i], fn)[0]
        own = [float(k == i) for k in range(len(chain.joints))]
        for k, value in enumerate((V, *_sides(xr[i], smoothing, fn), 1.0), start=1):
            yield column + k, [entry * value if entry else 0.0 for entry in own]
        column += len(JOINT_NAMES)
    for motor in chain.motors:
        if not motor.coupled:
            continue
        u = sum(r * x for r, x in zip(motor.row, xr, strict=False))
        rest = [0.0] * (len(chain.joints) - chain.links)
        for k, value in enumerate((u, *_sides(u, smoothing, fn))):
            yield column + k, [r * value for r in motor.row] + rest
        column += len(MOTOR_NAMES)


def _sides(velocity: Any, smoothing: Any, fn: Functions) -> tuple[Any, Any]:
    """The two halves of tanh(velocity / smoothing)."""
    s = fn.tanh(velocity / smoothing)
    return fn.max(s, 0.0), fn.max(-s, 0.0)
