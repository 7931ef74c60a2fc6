"""Motors of elastic joints in a co-simulation unit: where they start, and where they are.

    motor = q0 + d(q0) + motor_offset0,    motor_rate = qd0 + motor_rate_offset0

d is the deflection of the gears that carry the arm at rest, computed in the unit: a tool that sets
q0 alone, as most do, has its motors in static equilibrium there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...compile.service import traced
from ...dynamics.elastic import coordinate
from ...export import c_branchless
from ...export.c_function import PRECISIONS, literal
from ...robot.closing import undriven
from ...simulation.assembly import Assembly
from ...simulation.elastic.motor_start import SLACK, deflection_under
from ...simulation.elastic.stiff_gears import ElasticGear
from ...spatial.functions import Functions, zero

if TYPE_CHECKING:
    from ...robot import Robot
    from .export import Variables

DOUBLE = PRECISIONS["float64"]


class Pair(NamedTuple):
    """Value references of the first position and the first rate; 0 where there are none."""

    position: int = 0
    rate: int = 0


def start_variables(v: "Variables", robot: "Robot", gears: Sequence[ElasticGear]) -> Pair:
    """Parameters of every elastic joint: how far from equilibrium its motor starts."""
    if not gears:
        return Pair()
    joints, more = [x.joint for x in gears], {"by_joint": True, "variability": "fixed"}
    about = "motor position at the start less that of static equilibrium at q0"
    position = v.add("motor_offset0", robot, 0, about, "parameter", joints, 0.0, **more)
    about = "motor velocity at the start less qd0"
    rate = v.add("motor_rate_offset0", robot, 1, about, "parameter", joints, 0.0, **more)
    return Pair(position, rate)


def output_variables(v: "Variables", robot: "Robot", gears: Sequence[ElasticGear]) -> Pair:
    """Positions and velocities of all motors in units of their joints."""
    if not gears:
        return Pair()
    every = range(robot.n)
    position = v.add("motor", robot, 0, "motor position / gear", "output", every)
    return Pair(position, v.add("motor_rate", robot, 1, "motor velocity / gear", "output", every))


def about(gears: Sequence[ElasticGear]) -> str:
    """Words on the gears for the description of a unit."""
    if not gears:
        return ""
    play = any(not zero(x.gear.backlash) for x in gears)
    return f"elastic gears{' with backlash' if play else ''}, "


def code(robot: "Robot", plant: Assembly, start: Pair, seen: Pair) -> dict[str, Any]:
    """Values of the template of an arm that belong to its motors."""
    gears, at = plant.plant.gears, plant.slots.slices
    found: dict[str, Any] = {"MOTORS": len(gears), "PLAY": bool(plant.plant.hard)}
    if not gears:
        return found
    program = robot.program("inverse_dynamics") if not undriven(robot) else None
    load = program and c_branchless.function(program, "static_torque", "float64")
    rest = c_branchless.function(_deflection(robot), "deflection", "float64")
    most = [float(x.gear.backlash) for x in gears]
    return found | {
        "LOADED": load is not None,
        "STATIC": load,
        "DEFLECTION": rest,
        "JOINTS": ", ".join(str(x.joint) for x in gears),
        "GAPS": ", ".join(literal(x, DOUBLE) for x in most),
        "TIGHT": literal(SLACK, DOUBLE),
        "OFFSET": start.position,
        "RATE_OFFSET": start.rate,
        "MOTOR": seen.position,
        "MOTOR_RATE": seen.rate,
        "AT_MOTOR": at["motor"].start,
        "AT_RATE": at["motor_rate"].start,
        "AT_DIRECTION": at["motor_direction"].start,
    }


def _deflection(robot: "Robot") -> Any:
    """The program of the deflections d of all elastic gears under torques of all joints."""
    chain = robot.chain

    def function(load: Any, fn: Functions) -> list[Any]:
        return [deflection_under(x, load[coordinate(chain, x)], fn) for x in chain.elastic]

    shapes = {"load": (robot.n,)}, {"d": (len(chain.elastic),)}
    return traced("deflection", function, *shapes, lean=False)
