"""Where motors behind elastic gears start: as given, or where the gears carry the arm at rest."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...compile.arrays import NUMPY, as_batch, finite
from ...dynamics.elastic import coordinate
from ...dynamics.elements.gears import static_deflection
from ...errors import OptionError
from ...model.chain import Elasticity
from ...robot.closing import undriven
from ...spatial.functions import Functions, zero

if TYPE_CHECKING:
    from ...robot import Robot
    from ..settings import Settings

SLACK = 1e-9  # rad or m: two positions this close are one


def motor_start(s: "Settings") -> tuple[np.ndarray, np.ndarray]:
    """Positions and rates of all motors at the start, in units of their joints, (count, n)."""
    load = static_torque(s)
    position = s.start.q0 + deflections(s.robot, load) if s.start.motor0 is None else s.start.motor0
    rate = s.start.qd0 if s.start.motor_rate0 is None else s.start.motor_rate0
    if s.start.motor0 is not None:
        _refuse_outside(s, position, load)
    _refuse_apart(s, "motor0", position, s.start.q0)
    _refuse_apart(s, "motor_rate0", rate, s.start.qd0)
    return position, rate


def given_motors(robot: "Robot", value: Any, name: str, shape: tuple[int, ...]) -> Any:
    """Positions or rates of motors that were given, for every arm, (count, n); None: none were."""
    if value is None:
        return None
    if not robot.chain.elastic:
        raise OptionError(
            f"{name} is given, but no drive of robot {robot.name!r} is elastic",
            "leave it out: motors of rigid joints move with them",
        )
    rows = as_batch(value, name, (robot.n,), f"robot {robot.name!r}")
    finite(rows, name, OptionError)
    try:
        return np.broadcast_to(rows, (*shape, robot.n)).reshape(-1, robot.n).copy()
    except ValueError:
        every = f" or {(*shape, robot.n)}" if shape else ""
        what = f"{name} has shape {rows.shape}, expected {(robot.n,)}{every}"
        raise OptionError(what) from None


def static_torque(s: "Settings") -> np.ndarray:
    """Torques of the drives that hold the arms at rest at q0, (count, n)."""
    robot, q = s.robot, s.start.q0
    still = np.zeros_like(q)
    if undriven(robot) or not len(q):
        return still
    if s.start.parameters is None:
        return robot.inverse_dynamics(q, still, still)
    values = s.start.parameters
    if s.varied is not None:
        values = np.tile(robot.parameters.values, (len(q), 1))
        values[:, list(s.varied)] = s.start.parameters
    return robot.kernel("inverse_dynamics", parameters="argument")(q, still, still, values)


def deflections(robot: "Robot", load: np.ndarray) -> np.ndarray:
    """d = th - q of gears that transmit a load, (..., n); 0 of rigid joints."""
    found = np.zeros_like(load)
    for gear in robot.chain.elastic:
        i = coordinate(robot.chain, gear)
        found[..., i] = deflection_under(gear, load[..., i], NUMPY)
    return found


def deflection_under(gear: Elasticity, load: Any, fn: Functions) -> Any:
    """d of a gear that transmits a load, its teeth in contact on that side."""
    found = static_deflection(gear, load, fn)
    return found if zero(gear.backlash) else found + gear.backlash * fn.sign(load)


def _elastic_joints(robot: "Robot") -> list[int]:
    return [coordinate(robot.chain, gear) for gear in robot.chain.elastic]


def _refuse_apart(s: "Settings", name: str, motors: np.ndarray, joints: np.ndarray) -> None:
    """Refuse motors that are elsewhere than their rigid joints."""
    apart = np.abs(motors - joints) > SLACK
    apart[:, _elastic_joints(s.robot)] = False
    if apart.any():
        arm, i = np.argwhere(apart)[0]
        raise OptionError(
            f"{name} of joint {s.robot.joint_names[i]!r} is {motors[arm, i]:g}, the joint itself "
            f"{joints[arm, i]:g}: its drive is rigid, so that both are the same"
        )


def _refuse_outside(s: "Settings", motors: np.ndarray, load: np.ndarray) -> None:
    """Refuse teeth that start farther apart than backlash and load explain."""
    for gear in s.robot.chain.elastic:
        if not float(gear.backlash):
            continue
        i = coordinate(s.robot.chain, gear)
        d = np.abs(motors[:, i] - s.start.q0[:, i])
        most = np.maximum(float(gear.backlash), np.abs(deflection_under(gear, load[:, i], NUMPY)))
        beyond = d > most * (1.0 + SLACK) + SLACK
        if beyond.any():
            arm = int(np.argmax(beyond))
            raise OptionError(
                f"motor0 of joint {s.robot.joint_names[i]!r} is {d[arm]:g} from the joint, beyond "
                f"its backlash of {float(gear.backlash):g} to either side",
                f"start it within {most[arm]:g} of the joint, or leave motor0 out",
            )
