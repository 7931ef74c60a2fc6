"""Chains of fewer numbers and equal torques: inertias regrouped, frames moved along their axes.

Nothing here changes inverse dynamics; it changes how many operations it takes.

- A line mass on a revolute joint's own axis (m, m cz, Iyy = Ixx, Izz = 0) may as well belong to the
  link before; so may every second moment of a prismatic joint's link (Gautier and Khalil).
- A joint frame may sit anywhere along its own axis: it is put where placements have fewest entries.
- A last link that is left with nothing but Izz is a spinning rotor: its frame need not turn.
- On parallel axes angles add up: a link's angular velocity follows from what carries them all.
"""

from collections.abc import Collection
from dataclasses import replace

from ..model.chain import Body, Chain
from ..spatial.frames import Frame
from ..spatial.inertia import Inertia, from_linear, linear, moved, plus, rotated, transformed
from ..spatial.rotations import IDENTITY, rotate, rotate_back
from ..spatial.vectors import Vector, add

SPEED = ("slide", "regroup", "rotor")
OPERATIONS = (*SPEED, "parallel")  # one more sine and cosine for each parallel axis
NEGLIGIBLE = 1e-15  # a parameter this small next to the terms it is the sum of is a cancellation
ONES = ((1.0, 1.0, 1.0),) * 3


def reduced(chain: Chain, steps: tuple[str, ...] = SPEED, acting: Collection[str] = ()) -> Chain:
    """The chain that gives the same torques with fewer operations.

    Links on which something acts must turn: forces of the model, and those named in `acting`, a
    "wrench" on the tool or "link_forces".
    """
    shifts = _shifts(chain) if "slide" in steps else [0.0] * len(chain.joints)
    chain = slid(chain, shifts)
    if "regroup" in steps:
        arms = {j.parent for j in chain.joints if any(j.placement.p)}
        chain = regrouped(chain, by_moments=arms, shifts=shifts)
    joints, turned = [], {link for x in (*chain.forces, *chain.closures) for link, _ in x.ends}
    if "wrench" in acting:
        turned.add(chain.tip)
    if "link_forces" in acting:
        turned.update(range(chain.links))
    for i, joint in enumerate(chain.joints):
        still = "rotor" in steps and _is_rotor(chain, i) and i not in turned
        together = "parallel" in steps and not still and _is_parallel(chain, i)
        joints.append(joint._replace(turns=not still, parallel=together))
    return replace(chain, joints=tuple(joints))


def _is_rotor(chain: Chain, i: int) -> bool:
    """A last link with nothing left but Izz: turning it about its own axis changes nothing."""
    body = chain.bodies[i]
    m, h, (xx, xy, yy, xz, yz, _) = body.inertia
    leaf = not any(other.parent == i for other in chain.joints)
    plain = leaf and body.load is None and chain.joints[i].kind == "revolute"
    return plain and not any((m, *h, xx, xy, yy, xz, yz))


def _is_parallel(chain: Chain, i: int) -> bool:
    joint = chain.joints[i]
    if joint.parent < 0 or not joint.kind == chain.joints[joint.parent].kind == "revolute":
        return False
    return joint.placement.R == IDENTITY


def _shifts(chain: Chain) -> list[float]:
    """How far to slide each frame along its axis: only where that empties an entry for good."""
    result = []
    for i, joint in enumerate(chain.joints):
        R, p = joint.placement
        # the own motion of a prismatic joint already fills that entry
        along = 0.0 if joint.kind == "prismatic" else rotate_back(R, p)[2]
        beyond = [other.placement.p[2] for other in chain.joints if other.parent == i]
        gains = all(z != 0.0 for z in beyond) and chain.bodies[i].slide is None
        result.append(-along if gains else 0.0)
    return result


def regrouped(chain: Chain, by_moments: set[int], shifts: list[float]) -> Chain:
    """Every link without what its parent can carry for it.

    Links in `by_moments` are to be evaluated by second moments; they give up the integral of z^2,
    the others Iyy. `shifts`: how far the frames were slid before.
    """
    bodies = [body.inertia for body in chain.bodies]
    terms = [_terms(b.user, b.user_inertia, t) for b, t in zip(chain.bodies, shifts, strict=True)]
    fixed = [body.slide is not None or body.load is not None for body in chain.bodies]
    for i in range(len(bodies) - 1, -1, -1):
        kind, parent, placement = chain.joints[i][:3]
        if fixed[i] or (parent >= 0 and fixed[parent]):
            continue
        bodies[i], given = _split(kind, bodies[i], i in by_moments)
        terms[i], carried = _split(kind, terms[i], i in by_moments, sign=1.0)
        if parent >= 0:
            bodies[parent] = plus(bodies[parent], transformed(placement, given))
            terms[parent] = plus(terms[parent], _terms(placement, carried, shifts[parent]))
    new = [
        body._replace(inertia=_clean(inertia, sizes), moments=i in by_moments)
        for i, (body, inertia, sizes) in enumerate(zip(chain.bodies, bodies, terms, strict=True))
    ]
    return replace(chain, bodies=tuple(new))


def _split(kind: str, body: Inertia, by_moments: bool, sign: float = -1.0) -> tuple:
    """(what must stay, what the parent can carry); with `sign` 1 terms add up."""
    m, (hx, hy, hz), (xx, xy, yy, xz, yz, zz) = body
    if kind == "prismatic":
        return Inertia(m, body.h), Inertia(0.0, (0.0, 0.0, 0.0), body.I)
    line = 0.5 * (xx + yy + sign * zz) if by_moments else yy
    kept = Inertia(0.0, (hx, hy, 0.0), (xx + sign * line, xy, yy + sign * line, xz, yz, zz))
    return kept, Inertia(m, (0.0, 0.0, hz), (line, 0.0, line, 0.0, 0.0, 0.0))


def _terms(T: Frame, body: Inertia, shift: float) -> Inertia:
    """How large the terms are that sum up to each parameter of `transformed(T, body)`.

    Each has a unit of its own, so each is judged by its own terms. A rotation other than by right
    angles is rounded, and mixes what it turns; `shift` went along z before it came out in T.
    """
    x, y, z = (abs(c) for c in T.p)
    exact = all(abs(c) in (0.0, 1.0) for row in T.R for c in row)
    R = tuple(tuple(abs(c) for c in row) for row in T.R) if exact else ONES
    p = (x, y, z + abs(shift)) if exact else (x + y + z + abs(shift),) * 3
    turned = rotated(from_linear([abs(c) for c in linear(body)]), R)  # type: ignore[arg-type]
    m, h, (xx, xy, yy, xz, yz, zz) = moved(turned, p)
    _, kxy, _, kxz, kyz, _ = turned.I  # what `moved` takes from these is here to be added
    return Inertia(m, h, (xx, 2.0 * kxy - xy, yy, 2.0 * kxz - xz, 2.0 * kyz - yz, zz))


def _clean(body: Inertia, terms: Inertia) -> Inertia:
    """The body with what is but a cancellation of its terms made zero."""
    pairs = zip(linear(body), linear(terms), strict=True)
    return from_linear([0.0 if abs(x) <= NEGLIGIBLE * size else x for x, size in pairs])


def slid(chain: Chain, shifts: list[float]) -> Chain:
    """Each joint frame moved by a shift along its own axis."""
    joints, bodies = list(chain.joints), list(chain.bodies)
    for i, t in enumerate(shifts):
        if t == 0.0:
            continue
        R, p = joints[i].placement
        joints[i] = joints[i]._replace(placement=Frame(R, add(p, rotate(R, (0.0, 0.0, t)))))
        for k, other in enumerate(joints):
            if other.parent == i:
                place = Frame(other.placement.R, _slid(other.placement.p, t))
                joints[k] = other._replace(placement=place)
        bodies[i] = _moved(bodies[i], -t)
    tool = chain.tool
    if shifts[chain.tip] != 0.0:
        tool = Frame(tool.R, _slid(tool.p, shifts[chain.tip]))
    forces = tuple(
        x._replace(ends=tuple((i, _slid(p, shifts[i]) if i >= 0 else p) for i, p in x.ends))
        for x in chain.forces
    )
    closures = tuple(
        closure._replace(
            ends=tuple(
                (i, Frame(T.R, _slid(T.p, shifts[i])) if i >= 0 else T) for i, T in closure.ends
            )
        )
        for closure in chain.closures
    )
    moved = {"joints": tuple(joints), "bodies": tuple(bodies), "forces": forces}
    return replace(chain, tool=tool, closures=closures, **moved)


def _slid(p: Vector, t: float) -> Vector:
    return p[0], p[1], p[2] - t


def _moved(body: Body, t: float) -> Body:
    load = None if body.load is None else moved(body.load, (0.0, 0.0, t))
    return body._replace(
        inertia=moved(body.inertia, (0.0, 0.0, t)),
        load=load,
        user=Frame(body.user.R, _slid(body.user.p, -t)),
    )
