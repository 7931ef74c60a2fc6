"""Why the loops of a closed mechanism ended its run: the steps after the last row, once more."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compile.arrays import NUMPY
from ..assembly import Assembly
from ..plant import Plant
from ..settings import Settings, shorter_steps
from ..state import PlantState
from .loops import FALL, LoopFigures, most_departure

if TYPE_CHECKING:
    from ...robot import Robot

STEPS = 300  # that are taken once more: those between two rows, if they are no more
NEAR_SINGULAR = 30.0  # condition number of the loops
LOST = "a step was too long for the loops, or the closures lose rank there"
BEYOND = "the closures lose rank, beyond it the motion is not determined"
MARGIN = 0.01  # of the departure allowed, for the step that is proposed


def lost_hint(robot: "Robot") -> str:
    """What a closed mechanism lost its loops by, where that was not looked into; "" of an arm."""
    return f" ({LOST})" if robot.model.closures else ""


def why_lost(s: Settings, m: Assembly, row: np.ndarray, t: float, member: int = 0) -> str:
    """Reason why the loops were lost after a state at t, of one member."""
    own = None if s.start.parameters is None else list(s.start.parameters[member])
    plant = m.plant if m.parametrised is None else m.parametrised(own)
    near = _singular(s, row[: s.n].astype(float))
    if s.tableau.adaptive:  # its steps hold a tolerance
        return f": {BEYOND}{near}" if near else f": {LOST}"
    with np.errstate(all="ignore"):
        for figures, q in _steps(s, m, plant, row, t, member):
            if not figures.sound(plant.chain, plant.order):
                return ": " + _reason(s, plant, figures, q, _singular(s, q) or near)
    return f": {LOST}{near}"


def _steps(s: Settings, m: Assembly, plant: Plant, row: np.ndarray, t: float, member: int) -> Any:
    """Figures of the steps from a row on under the torques that acted then, and q before each."""

    def part(name: str) -> list[Any]:
        return list(row[m.slots.slices[name]].astype(float))

    tau, none = part("tau"), [0.0] * s.n
    x = PlantState(
        q=part("q"), qd=part("qd"), motor=part("motor"), motor_rate=part("motor_rate"),
        bristle=part("bristle"), current=[], warmth=part("warmth"),
        law_state=part("law_state"), tau=tau, friction=none,
        direction=part("direction"), motor_friction=part("motor_friction"),
        motor_direction=part("motor_direction"), flank=part("flank"), command=tau, loss=[],
        impulse=[], computer={}, contact_force=[], contact_mode=[], contact_target=[],
        contact_impulse=[], contact_residual=[], contact_paradox=[],
    )  # fmt: skip
    plant = replace(plant, drives=False)  # the torques are known
    constants = np.atleast_2d(m.plant_constants(s, s.dt))
    constants = constants[member if len(constants) > 1 else 0]
    for _ in range(min(s.span.save_every, STEPS)):
        nodes = [
            replace(m.inputs.acting(m.forces_at(t + c * s.dt, t), constants), torque=None)
            for c in s.tableau.nodes
        ]
        start, end = plant.stages(x, nodes, s.dt, s.tableau, NUMPY)
        q, qd = plant.in_state(start, NUMPY).end_of_step(start, end, s.dt, NUMPY)
        yield plant.loop_figures(start, end, q, NUMPY), np.array(q[: s.n], dtype=float)
        x, t = plant.sides.parted(replace(end, q=q, qd=qd)), t + s.dt


def _reason(s: Settings, plant: Plant, figures: LoopFigures, q: np.ndarray, near: str) -> str:
    """Fault of a step that led to q, and what to do about it; `near` says where it is singular."""
    tolerance = plant.chain.tolerance
    if near and not figures.fall < FALL:
        return f"{BEYOND}{near}"
    ratio, most = float(np.sqrt(figures.departure)), most_departure(plant.order)
    if ratio > most:
        shorter = s.dt * (MARGIN * most / ratio) ** (1.0 / (plant.order + 1))
        return (
            f"steps of {s.dt:g} s are too long for the loops, {ratio:.1%} of the velocity after "
            f"one opens them, at most {most:.1%}{near}; use {shorter_steps(s, shorter)}"
        )
    if figures.opening > tolerance:
        error = np.abs(s.robot.closure_error(q))
        where = s.robot.closure_rows[int(np.argmax(error))]
        return (
            f"{where} is open by {error.max():.2g} m or rad after a step of {s.dt:g} s, at most "
            f"{tolerance:g}{near}; use {shorter_steps(s, 0.1 * s.dt)}"
        )
    if near:
        return f"the closures lose rank{near}"
    if figures.fall >= FALL:
        return f"the closures lose rank within a step of {s.dt:g} s"
    return f"steps of {s.dt:g} s are too long for the loops; use {shorter_steps(s, 0.1 * s.dt)}"


def _singular(s: Settings, q: np.ndarray) -> str:
    """Words for loops near a singular configuration at q; "" if they are not."""
    if not np.isfinite(q).all():
        return ""
    J = s.robot.closure_jacobian(q)[list(s.robot.chain.mobility.rows)]  # type: ignore[union-attr]
    condition = np.linalg.cond(J)
    if not condition > NEAR_SINGULAR:
        return ""
    return f", near a singular configuration (condition number {condition:.2g})"
