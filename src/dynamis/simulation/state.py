"""The state of an arm in motion: its parts, what acts on it, and a move along its rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..spatial.vectors import Scalars, inner
from .tableau import Tableau


@dataclass(frozen=True)
class PlantState:
    """The state of an arm and its control computer: lists of scalars.

    What is integrated belongs to the instant a step begins, the others act during the step.
    """

    q: Scalars
    qd: Scalars
    motor: Scalars  # behind elastic gears, in units of their joints
    motor_rate: Scalars
    bristle: Scalars  # deflections of friction
    current: Scalars  # of motors with a circuit
    warmth: Scalars  # K, two rises of every joint whose friction feels temperature
    law_state: Scalars  # of laws of the user's own: of joints, then loads
    tau: Scalars
    friction: Scalars  # of joints and stops
    contact_force: Scalars  # on the arm at every point, three in the reference frame
    contact_mode: Scalars  # 0 open, 1 slides, 2 sticks
    contact_target: Scalars  # accelerations that would bring points to rest within the step
    contact_impulse: Scalars  # of what was met in the step, as the forces
    contact_residual: Scalars  # of their solution, m/s
    contact_paradox: Scalars  # 1 where a point slides so that pressing lifts nothing (Painleve)
    direction: Scalars  # in which friction slides; 0 holds
    motor_friction: Scalars
    motor_direction: Scalars
    flank: Scalars  # of teeth with backlash: 1 or -1 where they touch, 0 within the gap
    command: Scalars  # torques the drives are asked for
    loss: Scalars  # factor of every gear: its efficiency driving, 1 / efficiency driven back
    impulse: Scalars  # integral of tau since the last sample, for an observer
    computer: Mapping[str, list[Any]]
    measures: Mapping[str, list[Any]] = field(default_factory=dict)  # accumulators


INTEGRATED = ("q", "qd", "motor", "motor_rate", "bristle", "current", "warmth", "law_state")
PARTS = ("computer", "measures")  # with names of their own
CONTACT_VECTORS = ("contact_force", "contact_target", "contact_impulse")  # three of every point


@dataclass(frozen=True)
class Acting:
    """What is known beforehand at one instant: forces of the drives, on the joints, on tool and
    links, and the motion of the base.

    They are called as the options of `dy.simulate`; `link_forces` is a row per link.
    """

    torque: Scalars | None = None
    external: Scalars | None = None
    wrench: Scalars | None = None
    link_forces: Scalars | None = None
    base_motion: Scalars | None = None


class ImplicitSums(NamedTuple):
    """sum g_ij k_j of a stage i of an implicit step over motor less joint of every elastic gear.

    Of positions with what the velocities of the stage add, j up to i; of velocities below i.
    """

    positions: Scalars
    velocities: Scalars | None  # None: zeros


class Beginning(NamedTuple):
    """What is known of a step before its stages: the state with what acts during it.

    Without losses of gears, which change it, also the rates of the first stage; of a closed
    mechanism the squared sines between the rows of J.
    """

    state: PlantState
    rates: dict[str, list[Any]] | None = None
    sines: list[Any] | None = None


def end_of_stages(start: PlantState, end: PlantState, tableau: Tableau, h: Any) -> PlantState:
    """Where stages lead that end at `end`: a semi-implicit step moves with its last velocities."""
    if not tableau.semi_implicit:
        return end
    q, motor = (
        [a + h * v for a, v in zip(*pair, strict=True)]
        for pair in ((start.q, end.qd), (start.motor, end.motor_rate))
    )
    return replace(end, q=q, motor=motor)


POSITIONS = {"q": "qd", "motor": "motor_rate"}  # with their velocities


def moved(
    start: PlantState, rates: Sequence[dict], weights: Scalars, h: Any, tableau: Tableau
) -> PlantState:
    """start + h sum weights rates."""
    new = {name: list(getattr(start, name)) for name in INTEGRATED}
    for name, values in new.items():
        if tableau.G and name in POSITIONS:
            continue
        for i in range(len(values)):
            terms = [w * k[name][i] for w, k in zip(weights, rates, strict=True) if w != 0.0]
            if terms:
                values[i] = values[i] + h * sum(terms[1:], terms[0])
    if tableau.G and rates:
        new |= _positions(start, rates, weights, h, tableau)
    return replace(start, **new)


def _positions(
    start: PlantState, rates: Sequence[dict], weights: Scalars, h: Any, tableau: Tableau
) -> dict[str, list[Any]]:
    """Positions of an implicit step, from rates of velocities alone."""
    whole, own = sum(weights), tableau.position_weights(tuple(weights))
    found = {}
    for name, rate in POSITIONS.items():
        sums = [inner(own, column) for column in zip(*(r[rate] for r in rates), strict=True)]
        rows = zip(getattr(start, name), getattr(start, rate), sums, strict=True)
        found[name] = [p + h * (whole * v + h * s) for p, v, s in rows]
    return found
