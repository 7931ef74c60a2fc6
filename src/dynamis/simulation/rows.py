"""Rows: forces with bounds, as Coulomb friction and joint stops are, and the joints they hold.

With f the forces of rows J, M qdd = r - J^T f, a row at rest obeys

    J qdd + bias = 0 and low <= f <= high, or J qdd + bias > 0 and f = high, or < 0 and f = low

The rows are coupled through M, so this is one small boxed problem. It is solved by exchanging wrong
guesses: a row that holds beyond its bound slides, one that slides backwards holds. A guess that no
sweep changes is the solution, and for a positive definite J M^-1 J^T there is only one. Joints that
hold are masked in M; what other rows take follows from their complement J M^-1 J^T.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..dynamics import coupling
from ..dynamics.elements import friction
from ..dynamics.elements.loads import load_rates
from ..model.chain import Chain, OwnLaw, Resistance
from ..model.memory import Stretch
from ..spatial.functions import Functions, zero
from ..spatial.vectors import Scalars, inner, less, plus
from .inertia import ArmInertia, Constrained, independent_solve

SWEEPS = 4  # from the guess of the step before; what is still wrong then goes on in the next step
ELASTIC_SWEEPS = 5  # where joints and motors behind elastic gears hold
DENSE_SWEEPS = 16  # where rows over several joints are among them
RELEASES = 2  # of these the last only let go: no row ever holds more than it can


class Row(NamedTuple):
    """A force with bounds, and whether it may hold at all (1.0: J qd = 0)."""

    J: int | Scalars  # a joint, or numbers over all of them
    low: Any
    high: Any
    holds: Any
    bias: Any = 0.0  # Jd qd; of a joint there is none


def directions(
    inertia: ArmInertia | Constrained,
    r: Scalars,
    rows: Sequence[Row],
    guess: Scalars,
    fn: Functions,
    sweeps: int = SWEEPS,
) -> list[Any]:
    """-1, 0 or 1 for every row at rest: where it starts to move, 0 if it holds.

    `r` is the torque left for these forces and acceleration; `guess` the answer of the step before.
    Rows that do not hold are free, and so are joints without a row.
    """
    d = list(guess)
    sweeps = sweeps if all(isinstance(row.J, int) for row in rows) else DENSE_SWEEPS
    for sweep in range(sweeps):
        motion, forces = _solve(inertia, r, rows, d, fn)
        for k, row in enumerate(rows):
            f = forces[k]
            over = fn.select(f > row.high, 1.0, fn.select(f < row.low, -1.0, 0.0))
            kept = (
                d[k]
                if sweep >= sweeps - RELEASES
                else fn.select(d[k] * motion[k] < inertia.still, 0.0, d[k])
            )
            d[k] = fn.select(d[k] == 0.0, over, kept)
    return d


def _solve(
    inertia: ArmInertia | Constrained, r: Scalars, rows: Sequence[Row], d: Scalars, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """J qdd + bias of every row and its force, sliding in directions d, or holding where 0."""
    held: list[Any] = [None] * len(r)
    push, left, dense = list(r), list(r), []
    for row, di in zip(rows, d, strict=True):
        holds, bound = row.holds * (di == 0.0), _bound(row, di, fn)  # `and` is a product
        if isinstance(row.J, int):
            held[row.J] = holds
            push[row.J] = push[row.J] - bound
        else:
            dense.append(_Dense(row.J, row.bias, holds, bound))
    forces = _dense_forces(inertia, push, held, dense, fn)
    for row, f in zip(dense, forces, strict=True):
        pull = [a * f for a in row.J]
        push, left = less(push, pull), less(left, pull)
    qdd, force = inertia.solve(push, held, [0.0] * len(r), fn)
    taken, others = inertia.holding(left, push, qdd, force), iter(forces)
    pairs = [
        (qdd[row.J], taken[row.J])
        if isinstance(row.J, int)
        else (inner(row.J, qdd) + row.bias, next(others))
        for row in rows
    ]
    return [a for a, _ in pairs], [f for _, f in pairs]


class _Dense(NamedTuple):
    """A row over several joints: whether it holds, and its force if it slides."""

    J: Scalars
    bias: Any
    holds: Any
    bound: Any


def _dense_forces(
    inertia: ArmInertia | Constrained,
    push: Scalars,
    held: Scalars,
    rows: Sequence[_Dense],
    fn: Functions,
) -> list[Any]:
    """Forces of rows over several joints.

    J M^-1 J^T f = J x + bias of those that hold, x being the accelerations under the others.
    """
    if not rows:
        return []
    for row in rows:
        push = less(push, [a * row.bound for a in row.J])
    x, _ = inertia.solve(push, held, [0.0] * len(push), fn)
    responses = [inertia.response(row.J, held, fn) for row in rows]
    S: list[list[Any]] = [[0.0] * len(rows) for _ in rows]
    for i, row in enumerate(rows):
        for j, other in enumerate(rows[: i + 1]):
            both = row.holds if i == j else row.holds * other.holds
            S[i][j] = S[j][i] = fn.select(both, inner(row.J, responses[j]), float(i == j))
    wanted = [fn.select(row.holds, inner(row.J, x) + row.bias, 0.0) for row in rows]
    forces, _ = independent_solve(S, wanted, fn)
    return plus(forces, [row.bound for row in rows])


def _bound(row: Row, d: Any, fn: Functions) -> Any:
    """Force of a row at rest that starts to move in direction d."""
    edge = fn.select(d > 0.0, row.high, fn.select(d < 0.0, row.low, 0.0))
    return fn.select(row.holds > 0.0, edge, 0.0)


# Friction of the coordinates of a robot in motion and at rest.
#
# The friction of a joint that follows another (mimic) is felt by its leader; a motor that several
# joints share (coupled wrist) rubs at its own speed.

PASSES = 12  # over shared motors and the joints they turn
ROUNDING = 1e-6  # of a shared motor's friction: what counts as held by it alone
COUPLED_SPEED = 1e-3  # rad/s over which a shared motor's Coulomb friction changes sign while moving


class CoordinateFriction(NamedTuple):
    """Friction of one tree joint as its coordinate feels it: speed = factor qd[coordinate]."""

    tree: int
    coordinate: int
    factor: float
    resistance: Resistance


def coordinate_frictions(chain: Chain) -> list[CoordinateFriction]:
    """One per joint of the model."""
    found = []
    for i, resistance in enumerate(chain.resistances):
        if chain.coupling is None:
            found.append(CoordinateFriction(i, i, 1.0, resistance))
            continue
        row = chain.coupling[i]
        c = next((k for k, w in enumerate(row) if not zero(w)), 0)
        found.append(CoordinateFriction(i, c, row[c], resistance))
    return found


def sticking(element: CoordinateFriction) -> bool:
    """Whether this friction can hold a joint."""
    return friction.sticks(element.resistance)


def held(chain: Chain) -> set[int]:
    """Coordinates that friction can hold: their own, or that of a motor they share."""
    found = {e.coordinate for e in coordinate_frictions(chain) if sticking(e)}
    for i in shared_motors(chain):
        row = shared_row(chain, i)
        found |= {c for c, w in enumerate(row) if not zero(w)}
    return found


def bristles(chain: Chain) -> list[tuple[CoordinateFriction, Stretch | None]]:
    """Stretched things in the order of the state: bristles (None), elements of memory."""
    found: list[tuple[CoordinateFriction, Stretch | None]] = []
    for e in coordinate_frictions(chain):
        if e.resistance.law in friction.BRISTLE:
            found.append((e, None))
        found += [(e, x) for x in friction.stretching(e.resistance)]
    return found


def own_laws(chain: Chain) -> list[OwnLaw]:
    """Laws of the user's that have states, in the order of the state: of joints, then loads."""
    laws = [*(e.own for e in chain.resistances), *chain.loads]
    return [law for law in laws if law is not None and law.states is not None]


def own_states(chain: Chain) -> int:
    """Number of states of laws of the user's."""
    return sum(len(law.states.names) for law in own_laws(chain) if law.states is not None)


def with_own_states(chain: Chain, values: Scalars) -> Chain:
    """The chain whose laws of the user's are in these states."""
    left = iter(values)

    def placed(law: OwnLaw | None) -> Any:
        if law is None or law.states is None:
            return law
        return law._replace(state=tuple(next(left) for _ in law.states.names))

    resistances = tuple(r._replace(own=placed(r.own)) for r in chain.resistances)
    return replace(chain, resistances=resistances, loads=tuple(map(placed, chain.loads)))


def own_rates(chain: Chain, q: Scalars, qd: Scalars, d: Scalars, fn: Functions) -> list[Any]:
    """d/dt of the states of laws of the user's, of joints that slide in directions d."""
    found: list[Any] = []
    for e in coordinate_frictions(chain):
        if e.resistance.own is not None and e.resistance.own.states is not None:
            u = e.factor * qd[e.coordinate]
            direction = _side(e, d, fn) if sticking(e) else fn.sign(u)
            found += friction.own_rates(e.resistance.own, u, direction, fn)
    for load in chain.loads:
        found += load_rates(chain, load, q, qd, fn)
    return found


def _side(e: CoordinateFriction, d: Scalars, fn: Functions) -> Any:
    """The direction of a joint whose coordinate slides in directions d."""
    return (1.0 if _positive(e.factor) else fn.sign(e.factor)) * d[e.coordinate]


def own_limits(chain: Chain, fn: Functions) -> list[tuple[Any, Any] | None]:
    """Bounds of the holding friction of every coordinate itself; None: it has none."""
    boxes: list[tuple[Any, Any] | None] = [None] * chain.n
    for e in coordinate_frictions(chain):
        if not sticking(e):
            continue
        low, high = (e.factor * x for x in friction.static_limits(e.resistance, fn))
        low, high = fn.min(low, high), fn.max(low, high)
        before = boxes[e.coordinate] or (0.0, 0.0)
        boxes[e.coordinate] = (before[0] + low, before[1] + high)
    return boxes


def limits(chain: Chain, fn: Functions) -> list[tuple[Any, Any] | None]:
    """Bounds of what must be held of every coordinate; None: friction never holds it."""
    boxes = own_limits(chain, fn)
    for i in shared_motors(chain):  # what such a motor leaves over must be next to nothing
        for c, w in enumerate(shared_row(chain, i)):
            if not zero(w):
                slack = ROUNDING * (chain.motors[i].plus - chain.motors[i].minus)
                low, high = boxes[c] or (0.0, 0.0)
                boxes[c] = (low - slack, high + slack)
    return boxes


def always(
    chain: Chain, qd: Scalars, z: Scalars, h: Any, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """Friction that acts in any direction (offsets, smooth laws, bristles); and the rates of z."""
    tau: list[Any] = [0.0] * chain.n
    rates, k = [], 0
    for e in coordinate_frictions(chain):
        r, u = e.resistance, e.factor * qd[e.coordinate]
        if r.law in friction.BRISTLE:
            own, rate = friction.lugre(r, u, z[k], h, fn)
            rates.append(rate)
            own, k = own + r.offset, k + 1
        elif sticking(e):
            own = r.offset
        else:
            own = friction.torque(r, u, fn)
        for element in friction.stretching(r):
            z_k = friction.stretched(z[k], element, fn)
            own = own + element.weight / element.radius * z_k
            rates.append(u)
            k += 1
        tau[e.coordinate] = tau[e.coordinate] + e.factor * own
    return plus(tau, _shared_motors(chain, qd, fn)), rates


def sliding(chain: Chain, qd: Scalars, d: Scalars, fn: Functions) -> list[Any]:
    """Friction of the joints that can hold, sliding in directions d."""
    tau: list[Any] = [0.0] * chain.n
    for e in coordinate_frictions(chain):
        if sticking(e):
            own = friction.sliding(e.resistance, e.factor * qd[e.coordinate], _side(e, d, fn), fn)
            tau[e.coordinate] = tau[e.coordinate] + e.factor * own
    return tau


def under_load(
    chain: Chain, slide: Scalars, left: Scalars, qd: Scalars, d: Scalars, fn: Functions
) -> list[Any]:
    """Sliding friction with what the load adds, of torques `left` by friction of any direction."""
    tau = list(slide)
    for c, r in friction.load_dependent(chain):
        share = friction.load_share(r, qd[c], fn, d[c] if r.law in friction.STICKS else None)
        tau[c] = tau[c] + friction.taken(left[c] - slide[c], share, fn)
    return tau


def shared_motors(chain: Chain) -> list[int]:
    """Motors whose friction several joints feel."""
    return [
        i
        for i, m in enumerate(chain.motors)
        if m.coupled and not all(zero(x) for x in (m.plus, m.minus))
    ]


def shared_row(chain: Chain, i: int) -> list[Any]:
    """A motor's speed per coordinate speed."""
    row = [*chain.motors[i].row, *([0.0] * (len(chain.joints) - len(chain.motors[i].row)))]
    return list(coupling.torques(chain, row))


def _shared_motors(chain: Chain, qd: Scalars, fn: Functions) -> list[Any]:
    """Viscous friction of shared motors, and their Coulomb friction while they turn."""
    tau: list[Any] = [0.0] * chain.n
    for i, motor in enumerate(chain.motors):
        if not motor.coupled:
            continue
        row = shared_row(chain, i)
        u = inner(row, qd)
        s = fn.tanh(u / COUPLED_SPEED)
        own = motor.viscous * u + motor.plus * fn.max(s, 0.0) + motor.minus * fn.max(-s, 0.0)
        tau = [t + w * own for t, w in zip(tau, row, strict=True)]
    return tau


def shared_hold(chain: Chain, r: Scalars, fn: Functions) -> list[Any]:
    """What shared motors at rest take, within their limits, of torques r that must be held.

    What a joint's own friction can hold it does: passes over both leave as little as possible.
    """
    rows = [(shared_row(chain, i), chain.motors[i]) for i in shared_motors(chain)]
    boxes = [box or (0.0, 0.0) for box in own_limits(chain, fn)]
    forces: list[Any] = [0.0] * len(rows)
    for _ in range(PASSES):
        for k, (row, motor) in enumerate(rows):
            left = _less(
                r,
                [(w, f) for m, ((w, _), f) in enumerate(zip(rows, forces, strict=True)) if m != k],
            )
            over = _less(left, [(row, forces[k])])
            own = [fn.max(low, fn.min(x, high)) for x, (low, high) in zip(over, boxes, strict=True)]
            wanted = sum(w * (x - f) for w, x, f in zip(row, left, own, strict=True))
            forces[k] = fn.max(motor.minus, fn.min(wanted / sum(w * w for w in row), motor.plus))
    nothing: list[Any] = [0.0] * chain.n
    taken = _less(nothing, [(row, force) for (row, _), force in zip(rows, forces, strict=True)])
    return [-t for t in taken]


def _less(values: Scalars, pushes: Sequence[tuple[Scalars, Any]]) -> list[Any]:
    """values - sum row force"""
    left = list(values)
    for row, force in pushes:
        left = [x - w * force for x, w in zip(left, row, strict=True)]
    return left


def _positive(x: Any) -> bool:
    return isinstance(x, float) and x > 0
