"""Links and spinning rotors: their inertia, their weight, and the wrenches they exert."""

from collections.abc import Callable, Mapping
from typing import Any

from ...model.chain import Chain
from ...model.places import Place
from ...spatial.frames import Frame
from ...spatial.functions import Functions
from ...spatial.inertia import linear, transformed
from ...spatial.rotations import rotate
from ...spatial.vectors import ZERO, Scalars, add, cross, dot, plus, scale, transposed
from .. import coupling
from ..coriolis import Rates, body_force, outward_two
from ..formulations.kane import kane
from ..gibbs_appell import INERTIAL, down, gibbs_appell, home, in_user_frames, row, unit_inertia
from ..instant import Instant
from ..kinematics import inertias
from ..lagrange_euler import lagrange_euler
from ..newton_euler import exerted_torque, newton_euler, newton_euler_base, outward
from .element import TREE, Element

# one row per name in `methods`
RECURSIONS: Mapping[str, Callable[..., list]] = {  # they carry wrenches and a moving base
    "newton-euler": newton_euler,
    "newton-euler-base": newton_euler_base,
}
CLOSED: Mapping[str, Callable[..., list]] = {
    "lagrange-euler": lagrange_euler,
    "gibbs-appell": gibbs_appell,
    "kane": kane,
}


class Bodies(Element):
    """M qdd + C qd + g of the bodies, and J^T of the wrenches that recursions carry."""

    over = TREE
    name = "inertia"

    def torque(self, at: Instant) -> Scalars:
        """By the formulation of `at.method`."""
        state = at.chain, at.x, at.xd, at.xdd, at.fn
        if at.method in RECURSIONS:
            return RECURSIONS[at.method](*state, at.wrench, at.base_motion, at.link_forces)
        tau = CLOSED[at.method](*state)
        if at.link_forces is not None:
            tau = plus(tau, exerted_torque(at.chain, at.x, at.fn, at.link_forces))
        return tau

    def columns(self, at: Instant) -> Mapping[Place, Scalars]:
        """Columns of an observation matrix: links, and rotors that are bodies."""
        c = at.chain
        if at.qd_ref is None:
            W = shared_observation_matrix(c, at.x, at.xd, at.xdd, at.fn, at.base_motion)
        else:
            rates = Rates(at.xd, coupling.rates(c, at.qd_ref), at.xdd)
            W = two_velocity_matrix(c, at.x, rates, at.fn)
        of_body = transposed(in_user_frames(c, W))
        found = {
            Place("bodies", i, k): of_body[INERTIAL * i + k]
            for i in range(c.links)
            for k in range(INERTIAL)
        }
        for i, rotor in enumerate(c.rotors):  # its inertia as the joint feels it
            own, square = of_body[INERTIAL * rotor :], c.motors[i].gear * c.motors[i].gear
            found[Place("motors", i, "inertia")] = [x / square for x in own[INERTIAL - 1]]
            if i in c.unbalance:
                found |= {Place("unbalance", i, k): own[1 + k] for k in range(2)}
        return found

    def energy(self, at: Instant) -> Any:
        """- sum g . (m p + R h), zero at the origin of the reference frame."""
        moment = ZERO
        for body, T in zip(inertias(at.chain, at.x), at.poses, strict=True):
            moment = add(moment, scale(body.m, T.p), rotate(T.R, body.h))
        return -dot(at.chain.gravity, moment)


BODIES = Bodies()


def shared_observation_matrix(
    chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions, base_motion: Any = None
) -> list[list[Any]]:
    """The observation matrix of `gibbs_appell`, with fewer operations.

    What a link could give to its parent (see `reduce`) has, on every joint before, the columns of
    the parent's parameters it would become: they are combined instead of carried down.
    """
    frames, links = outward(chain, x, xd, xdd, fn, base_motion)
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
