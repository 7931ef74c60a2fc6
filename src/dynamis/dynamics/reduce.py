"""The same torques from fewer numbers: a chain with its inertias regrouped and its frames slid.

Nothing here changes inverse dynamics; it changes how many operations it takes.

- A line mass on a revolute joint's own axis (m, m cz, Iyy = Ixx, Izz = 0) may as well belong to the
  link before; so may every second moment of a prismatic joint's link (Gautier and Khalil).
- A joint frame may sit anywhere along its own axis: it is put where placements have fewest entries.
- A last link that is left with nothing but Izz is a spinning rotor: its frame need not turn.
- On parallel axes angles add up: a link's angular velocity follows from what carries them all.
"""

from dataclasses import replace

from ..model.chain import Body, Chain
from ..spatial.frames import Frame
from ..spatial.inertia import Inertia, moved, plus, transformed
from ..spatial.rotations import rotate
from ..spatial.vectors import add

SPEED = ("slide", "regroup", "rotor")
OPERATIONS = (*SPEED, "parallel")  # one more sine and cosine for each parallel axis
NEGLIGIBLE = 1e-15  # a sum of parameters this small next to its terms is a cancellation


def reduced(chain: Chain, steps: tuple[str, ...] = SPEED, held: bool = False) -> Chain:
    """The chain that gives the same torques with fewer operations.

    `held`: something acts on the tool, so the last link must turn.
    """
    if "slide" in steps:
        chain = slid(chain, _shifts(chain))
    if "regroup" in steps:
        arms = {j.parent for j in chain.joints if not _is_zero(*j.placement.p)}
        chain = regrouped(chain, by_moments=arms)
    joints = []
    for i, joint in enumerate(chain.joints):
        still = "rotor" in steps and _is_rotor(chain, i) and not (held and i == chain.tip)
        together = "parallel" in steps and not still and _is_parallel(chain, i)
        joints.append(joint._replace(turns=not still, parallel=together))
    return replace(chain, joints=tuple(joints))


def _is_zero(*numbers: float) -> bool:
    return all(x == 0.0 for x in numbers)


def _is_rotor(chain: Chain, i: int) -> bool:
    """A last link with nothing left but Izz: turning it about its own axis changes nothing."""
    body = chain.bodies[i]
    m, h, (xx, xy, yy, xz, yz, _) = body.inertia
    leaf = not any(other.parent == i for other in chain.joints)
    plain = leaf and body.load is None and chain.joints[i].kind == "revolute"
    return plain and _is_zero(m, *h, xx, xy, yy, xz, yz)


def _is_parallel(chain: Chain, i: int) -> bool:
    joint = chain.joints[i]
    if joint.parent < 0 or not joint.kind == chain.joints[joint.parent].kind == "revolute":
        return False
    return joint.placement.R == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def _shifts(chain: Chain) -> list[float]:
    """How far to slide each frame along its axis: only where that empties an entry for good."""
    result = []
    for i, joint in enumerate(chain.joints):
        R, p = joint.placement
        along = R[0][2] * p[0] + R[1][2] * p[1] + R[2][2] * p[2]
        if joint.kind == "prismatic":
            along = 0.0  # its own motion already fills that entry
        beyond = [other.placement.p[2] for other in chain.joints if other.parent == i]
        gains = all(z != 0.0 for z in beyond) and chain.bodies[i].slide is None
        result.append(-along if gains else 0.0)
    return result


def regrouped(chain: Chain, by_moments: set[int]) -> Chain:
    """Every link without what its parent can carry for it.

    Links in `by_moments` are to be evaluated by second moments; they give up the integral of z^2,
    the others Iyy.
    """
    bodies = [body.inertia for body in chain.bodies]
    sizes = [_size(b) for b in bodies]
    fixed = [body.slide is not None or body.load is not None for body in chain.bodies]
    for i in range(len(bodies) - 1, -1, -1):
        joint = chain.joints[i]
        if fixed[i] or (joint.parent >= 0 and fixed[joint.parent]):
            continue
        bodies[i], given = _split(joint.kind, bodies[i], i in by_moments)
        if joint.parent >= 0:
            carried = plus(bodies[joint.parent], transformed(joint.placement, given))
            bodies[joint.parent] = carried
            sizes[joint.parent] = max(sizes[joint.parent], _size(carried))
    new = [
        body._replace(inertia=_clean(inertia, size), moments=i in by_moments)
        for i, (body, inertia, size) in enumerate(zip(chain.bodies, bodies, sizes, strict=True))
    ]
    return replace(chain, bodies=tuple(new))


def _split(kind: str, body: Inertia, by_moments: bool) -> tuple[Inertia, Inertia]:
    """(what must stay, what the parent can carry)"""
    m, (hx, hy, hz), (xx, xy, yy, xz, yz, zz) = body
    if kind == "prismatic":
        return Inertia(m, body.h), Inertia(0.0, (0.0, 0.0, 0.0), body.I)
    line = 0.5 * (xx + yy - zz) if by_moments else yy
    kept = Inertia(0.0, (hx, hy, 0.0), (xx - line, xy, yy - line, xz, yz, zz))
    return kept, Inertia(m, (0.0, 0.0, hz), (line, 0.0, line, 0.0, 0.0, 0.0))


def _size(body: Inertia) -> float:
    return max(abs(x) for x in (body.m, *body.h, *body.I))


def _clean(body: Inertia, size: float) -> Inertia:
    def tidy(x: float) -> float:
        return 0.0 if abs(x) <= NEGLIGIBLE * size else x

    return Inertia(tidy(body.m), tuple(map(tidy, body.h)), tuple(map(tidy, body.I)))


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
                x, y, z = other.placement.p
                joints[k] = other._replace(placement=Frame(other.placement.R, (x, y, z - t)))
        bodies[i] = _moved(bodies[i], -t)
    tool = chain.tool
    if shifts[chain.tip] != 0.0:
        x, y, z = tool.p
        tool = Frame(tool.R, (x, y, z - shifts[chain.tip]))
    return replace(chain, joints=tuple(joints), bodies=tuple(bodies), tool=tool)


def _moved(body: Body, t: float) -> Body:
    x, y, z = body.user.p
    load = None if body.load is None else moved(body.load, (0.0, 0.0, t))
    return body._replace(
        inertia=moved(body.inertia, (0.0, 0.0, t)),
        load=load,
        user=Frame(body.user.R, (x, y, z + t)),
    )
