"""The regressor Y: tau = Y(q, qd, qdd) parameters, columns as `model.parameters` names them.

What a law of one's own gives without its linear constants is left out.
"""

from typing import Any

from ..model.chain import Chain
from ..spatial.frames import Frame
from ..spatial.functions import Functions, zero
from ..spatial.inertia import linear, transformed
from ..spatial.rotations import rotate
from ..spatial.vectors import Scalars, add, cross, transposed
from . import coupling, friction
from .coriolis import Rates, body_force, outward_two
from .drives import motor_rate
from .gibbs_appell import INERTIAL, down, home, in_user_frames, row, unit_inertia
from .loads import load_columns
from .newton_euler import Given, outward
from .springs import spring_columns


def regressor(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions, qd_ref: Given = None
) -> list[list[Any]]:
    """Y, (n, p). With qd_ref: columns of M qdd + C(q, qd) qd_ref + g; friction's are zero."""
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    xdd = coupling.rates(chain, qdd)
    if qd_ref is None:
        W = shared_observation_matrix(chain, x, xd, xdd, fn)
    else:
        rates = Rates(xd, coupling.rates(chain, qd_ref), xdd)
        W = two_velocity_matrix(chain, x, rates, fn)
    W = in_user_frames(chain, W)
    links = [row[: INERTIAL * chain.links] for row in W]
    columns = transposed(links)
    columns += _joint_columns(chain, W, xd, xdd, fn, share=float(qd_ref is None))
    for spring in spring_columns(chain, x, xd, fn):
        columns += spring
    lowered = [coupling.torques(chain, c) for c in columns]
    lowered += load_columns(chain, q, qd, fn)
    for c in friction.own_columns(chain, xd, fn, share=float(qd_ref is None)):
        lowered.append(coupling.torques(chain, c))
    return transposed(lowered)


def shared_observation_matrix(
    chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions
) -> list[list[Any]]:
    """The observation matrix of `gibbs_appell`, with fewer operations.

    What a link could give to its parent (see `reduce`) has, on every joint before, the columns of
    the parent's parameters it would become: they are combined instead of carried down.
    """
    frames, links = outward(chain, x, xd, xdd, fn)
    size = len(chain.joints)
    W: list[list[Any]] = [[0.0] * (INERTIAL * size) for _ in range(size)]
    for i, motion in enumerate(links):
        columns, joint = home(motion), chain.joints[i]
        given = _given_away(joint.kind, joint.placement)
        for k in chain.ancestors(i):
            own = list(row(chain.joints[k].kind, columns))
            if k != i:
                start = INERTIAL * joint.parent
                parent = W[k][start : start + INERTIAL]
                for entry, weights, less in given:
                    own[entry] = coupling.combined(weights, parent) - (own[less] if less else 0.0)
            W[k][INERTIAL * i : INERTIAL * (i + 1)] = own
            columns = down(columns, *frames[k])
    return W


def _given_away(kind: str, placement: Frame) -> list[tuple[int, tuple[Any, ...], int | None]]:
    """Entries that follow from the parent's: (entry, weights, entry to subtract).

    A revolute link's m, m cz and Ixx + Iyy; every second moment of a prismatic link.
    """
    if kind == "prismatic":
        return [(k, _seen(placement, (k,)), None) for k in range(4, INERTIAL)]
    return [
        (0, _seen(placement, (0,)), None),
        (3, _seen(placement, (3,)), None),
        (6, _seen(placement, (4, 6)), 4),
    ]


def _seen(placement: Frame, entries: tuple[int, ...]) -> tuple[Any, ...]:
    """Unit parameters as the parent's parameters."""
    return linear(transformed(placement, unit_inertia(*entries)))


def two_velocity_matrix(chain: Chain, x: Scalars, rates: Rates, fn: Functions) -> list[list[Any]]:
    """Inertial columns of M qdd + C(q, qd) qd_ref + g over the tree, canonical frames."""
    frames, links = outward_two(chain, x, rates, fn)
    size = len(chain.joints)
    W: list[list[Any]] = [[0.0] * (INERTIAL * size) for _ in range(size)]
    for i, link in enumerate(links):
        wrenches = [body_force(unit_inertia(k), link) for k in range(INERTIAL)]
        for k in chain.ancestors(i):
            revolute = chain.joints[k].kind == "revolute"
            row = [n[2] if revolute else f[2] for f, n in wrenches]
            W[k][INERTIAL * i : INERTIAL * (i + 1)] = row
            R, p = frames[k]
            turned = [(rotate(R, f), rotate(R, n)) for f, n in wrenches]
            wrenches = [(f, add(n, cross(p, f))) for f, n in turned]
    return W


def _joint_columns(
    chain: Chain, W: list[list[Any]], xd: Scalars, xdd: Scalars, fn: Functions, share: float
) -> list[list[Any]]:
    """Rotor, friction, offset of every joint; coupled motors; unbalanced rotors; viscous-.

    `share` of the friction acts: all of it, or none.
    """
    size = len(chain.joints)
    columns: list[list[Any]] = []
    backwards: list[list[Any]] = []
    for i, resistance in enumerate(chain.resistances):
        columns.append(_rotor_column(chain, W, i, xdd))
        own = [
            [share * value if k == i else 0.0 for k in range(size)]
            for value in friction.columns(resistance, xd[i], fn)
        ]
        columns += own[:4]
        backwards += own[4:]
    for i, motor in enumerate(chain.motors):
        if motor.coupled:
            for value in friction.motor_columns(chain, i, xd, fn):
                own = [share * r * value for r in motor.row]
                columns.append(own + [0.0] * (size - chain.links))
    for rotor in chain.rotors:
        if not all(zero(h) for h in chain.bodies[rotor].inertia.h):
            columns += [[row[INERTIAL * rotor + k] for row in W] for k in (1, 2)]
    return columns + backwards


def _rotor_column(chain: Chain, W: list[list[Any]], i: int, xdd: Scalars) -> list[Any]:
    """d tau / d (reflected rotor inertia) of motor i."""
    motor = chain.motors[i]
    if chain.rotors:
        spin = INERTIAL * chain.rotors[i] + INERTIAL - 1
        square = motor.gear * motor.gear
        return [row[spin] / square for row in W]
    u = motor_rate(motor, xdd)
    rest = [0.0] * (len(chain.joints) - chain.links)
    return [r * u for r in motor.row] + rest
