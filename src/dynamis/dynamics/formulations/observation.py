"""The observation matrix of Rosillo et al. (2010) block by block, (12) to (23).

    tau = W Phi,  W = [W_l W_f],  W_l = D [A B],  B_ij = [B1_ij B2_ij]
    A_ij   = R A_i-1,j            A_jj   = wd^ + [w] w^            second moments   (3x6)
    eta_ij = R eta_i-1,j          eta_jj = [wd] + [w][w]                            (3x3)
    B1_ij  = R B1_i-1,j + [r] eta_ij,     B1_jj = -[a]             first moments    (3x3)
    B2_ij  = delta_ij R a,        B2_jj  = 0                       masses           (3x1)
    delta_ij = [r] R + R delta_i-1,j,     delta_j+1,j = [r]        arms             (3x3)

Row i and column j belong to links n + 1 - i and n + 1 - j, the last link first. Every block is in
the user's frame of its row's link, its moments about that link's point of reference: the origin of
the frame where the joint is there (modified DH, URDF), else the foot on the joint's axis of the
common normal that leads to the frame (standard DH); then the blocks of the diagonal gain the arm r
from there to the origin: B1_jj = -[a] + [r] eta_jj, B2_jj = [r] a. Misprints are corrected. A
prismatic joint takes the force instead: 0 for A, eta for B1, R a for B2, and D its direction too.
On a tree, row i - 1 is the next link on the way to link j.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...model.chain import Chain
from ...model.places import Place, places, value
from ...spatial.functions import Functions, zero
from ...spatial.inertia import NAMES, Inertia, linear, pseudo_inertia
from ...spatial.rotations import Matrix3, multiply, rotate, rotate_back, transpose
from ...spatial.vectors import ZERO, Scalars, Vector, add, cross, dot, inner
from .. import elements
from ..gibbs_appell import home
from ..instant import Instant
from ..kinematics import motions
from ..lagrange_euler import user_inertias
from ..newton_euler import LinkMotion, outward, turning

SECOND = slice(4, 10)  # of the ten parameters of a body
FIRST_AND_MASS = (1, 2, 3, 0)
Blocks = Mapping[tuple[int, int], Sequence[Vector]]  # columns, by link of the row and of the column


class Frames(NamedTuple):
    """Constants and motions of the blocks, by link, in the user's frames."""

    parents: tuple[int, ...]  # -1 is the base
    R: list[Matrix3]  # of the link's frame in the one before
    r: list[Vector]  # from the point of reference before to the link's, in the frame before
    home: list[Vector]  # from the link's point of reference to the origin of its frame
    z: list[Vector]  # of the joint, in the link's frame
    motion: list[LinkMotion]  # of the link's frame


@dataclass(frozen=True)
class ObservationMatrix:
    """W and Phi of tau = W Phi, and the blocks of W from the last link on."""

    A: Any  # (3n, 6n): second moments
    eta: Any  # (3n, 3n)
    B1: Any  # (3n, 3n): first moments
    delta: Any  # (3n, 3n): arms
    B2: Any  # (3n, n): masses
    a: Any  # (3n, n): accelerations of the origins, turned into the frame of the row
    D: Any  # (n, 3n): axes of the joints, rows in the order of q
    AB: Any  # (3n, 10n): [A B]; 0, eta and a in the rows of prismatic joints
    W_l: Any  # (n, 10n): links; rows of W in the order of q, as in (30)
    W_f: Any  # (n, f): friction, rotors, and what else the torque is linear in
    W: Any  # (n, 10n + f)
    Phi_l: Any
    Phi_f: Any
    Phi: Any
    G: Any  # (n,): Gibbs's function (1) of every link, from the last
    names: tuple[str, ...] = ()  # of the entries of Phi


def observation(
    chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions
) -> ObservationMatrix:
    """Every block at one state of a tree without coupled joints, as nested lists."""
    f = user_frames(chain, x, xd, xdd, fn)
    A, eta, a = second_moments(f), first_forces(f), accelerations(f)
    B1, delta = first_moments(f, eta), arms(f)
    B2 = masses(f, delta)
    AB = _assembled(chain, A, (B1, B2), (eta, a))
    bodies = user_inertias(chain, x)
    first, own = last_first(f.R), _of_forces(chain)
    columns = elements.columns(Instant(chain, fn, x, xd, xdd), lambda e: e is not elements.BODIES)
    W_f = [[columns[place][k] for place in own] for k in range(len(f.R))]
    Phi_l, Phi_f = _links_first(bodies), [value(chain, place) for place in own]
    D = [[c for i in first for c in (f.z[k] if i == k else ZERO)] for k in range(len(f.R))]
    W_l = _times_axes(f, AB)
    return ObservationMatrix(
        A=dense(A, f, 6), eta=dense(eta, f, 3), B1=dense(B1, f, 3), delta=dense(delta, f, 3),
        B2=dense(B2, f, 1), a=dense(a, f, 1), D=D, AB=AB, W_l=W_l, W_f=W_f,
        W=[[*p, *q] for p, q in zip(W_l, W_f, strict=True)],
        Phi_l=Phi_l, Phi_f=Phi_f, Phi=[*Phi_l, *Phi_f],
        G=[gibbs(bodies[i], f.motion[i]) for i in first],
    )  # fmt: skip


def _assembled(
    chain: Chain, A: Blocks, moments: tuple[Blocks, Blocks], forces: tuple[Blocks, Blocks]
) -> list[list[Any]]:
    """[A B] with the forces in the rows of prismatic joints, (14) and (17)."""
    first = last_first(chain.joints)
    none = (ZERO,) * 6
    rows: list[list[Any]] = []
    for k in first:
        turns = chain.joints[k].kind == "revolute"
        h, m = moments if turns else forces
        columns = [c for i in first for c in (A.get((k, i), none) if turns else none)]
        for i in first:
            columns += [*h.get((k, i), none[:3]), *m.get((k, i), none[:1])]
        rows += [list(line) for line in zip(*columns, strict=True)]
    return rows


def _times_axes(f: Frames, AB: list[list[Any]]) -> list[list[Any]]:
    """D [A B], rows in the order of the joints."""
    found = []
    for k, z in enumerate(f.z):
        row = 3 * (len(f.z) - 1 - k)
        found.append([dot(z, column) for column in zip(*AB[row : row + 3], strict=True)])
    return found


def user_frames(chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions) -> Frames:
    """Rotations, arms, axes and motions of the links in the user's frames."""
    frames = motions(chain, x, fn)
    _, canonical = outward(chain, x, xd, xdd, fn)
    before = [None if j.parent < 0 else chain.bodies[j.parent].user for j in chain.joints]
    found = Frames(tuple(joint.parent for joint in chain.joints), [], [], [], [], [])
    for body, (R, p), parent, moving in zip(chain.bodies, frames, before, canonical, strict=True):
        user = body.user
        turned = multiply(R, user.R)
        found.R.append(turned if parent is None else multiply(transpose(parent.R), turned))
        found.r.append(p if parent is None else rotate_back(parent.R, p))
        found.home.append(rotate_back(user.R, user.p))
        found.z.append(transpose(transpose(user.R))[2])
        a = add(moving.a, rotate(moving.U, user.p))
        w, wd, a = (rotate_back(user.R, v) for v in (moving.w, moving.wd, a))
        found.motion.append(LinkMotion(w, wd, a, turning(w, wd)))
    return found


# blocks, by the links of row and column


def second_moments(f: Frames) -> dict[tuple[int, int], list[Vector]]:
    """A, (16)."""
    return _turned_down(f, [home(motion).A for motion in f.motion])


def first_forces(f: Frames) -> dict[tuple[int, int], list[Vector]]:
    """eta, (19): the force of a first moment."""
    return _turned_down(f, [list(transpose(turning(m.w, m.wd))) for m in f.motion])


def accelerations(f: Frames) -> dict[tuple[int, int], list[Vector]]:
    """R a: the force of a mass, which prismatic joints need."""
    return _turned_down(f, [[motion.a] for motion in f.motion])


def first_moments(f: Frames, eta: Blocks) -> dict[tuple[int, int], list[Vector]]:
    """B1, (20)."""
    found = {}
    for i, motion in enumerate(f.motion):
        x, y, z = motion.a
        columns: list[Vector] = [(0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)]
        if not all(map(zero, f.home[i])):
            columns = _with_arm(columns, f.home[i], eta[i, i])
        for k, last in _on_the_way(f, i):
            if last is not None:
                turned = [rotate(f.R[last], c) for c in columns]
                columns = _with_arm(turned, f.r[last], eta[k, i])
            found[k, i] = columns
    return found


def arms(f: Frames) -> dict[tuple[int, int], list[Vector]]:
    """delta, (22): skew matrices of the arm to link i's origin, for vectors of the frame before."""
    found = {}
    for i in range(len(f.R)):
        columns: list[Vector] = []
        between: Matrix3 | None = None  # from the frame before link i to that of the row
        for k, last in _on_the_way(f, i):
            if last is None:
                continue
            if last == i:
                arm = (
                    f.r[i] if all(map(zero, f.home[i])) else add(f.r[i], rotate(f.R[i], f.home[i]))
                )
                x, y, z = arm
                columns = [(0.0, z, -y), (-z, 0.0, x), (y, -x, 0.0)]
            else:
                R = f.R[last]
                between = R if between is None else multiply(R, between)
                turned = [rotate(R, c) for c in columns]
                columns = _with_arm(turned, f.r[last], transpose(between))
            found[k, i] = columns
    return found


def masses(f: Frames, delta: Blocks) -> dict[tuple[int, int], list[Vector]]:
    """B2, (23)."""
    found = {}
    for i, motion in enumerate(f.motion):
        at_home = all(map(zero, f.home[i]))
        found[i, i] = [ZERO if at_home else cross(f.home[i], motion.a)]
        turned = rotate(f.R[i], motion.a)
        for k, last in _on_the_way(f, i):
            if last is not None:
                found[k, i] = [rotate(transpose(tuple(delta[k, i])), turned)]  # type: ignore[arg-type]
    return found


def gibbs(body: Inertia, motion: LinkMotion) -> Any:
    """1/2 of the square of the acceleration of every point over the mass: 1/2 tr(B J B^T)."""
    J = pseudo_inertia(body)
    rows = [(*turn, a) for turn, a in zip(motion.U, motion.a, strict=True)]
    return 0.5 * sum((inner(b, [inner(row, b) for row in J]) for b in rows), 0.0)


def parameter_order(chain: Chain) -> list[Place]:
    """Places of the entries of Phi: (8), then (11)."""
    first = last_first(chain.joints)
    second = [Place("bodies", i, k) for i in first for k in range(len(NAMES))[SECOND]]
    rest = [Place("bodies", i, k) for i in first for k in FIRST_AND_MASS]
    return [*second, *rest, *_of_forces(chain)]


def _of_forces(chain: Chain) -> list[Place]:
    """Places of Phi_f: joint by joint from the last, then springs and loads."""
    every = [place for place in places(chain) if place.part != "bodies"]
    return sorted(every, key=lambda place: (place.part in ("forces", "loads"), -place.index))


def last_first(links: Sequence[Any]) -> range:
    """Numbers of the links from the last."""
    return range(len(links) - 1, -1, -1)


def dense(blocks: Blocks, f: Frames, width: int) -> list[list[Any]]:
    """Blocks as one matrix, the last link first; zero where a joint does not move a link."""
    first, none = last_first(f.R), (ZERO,) * width
    rows = []
    for k in first:
        columns = [c for i in first for c in blocks.get((k, i), none)]
        rows += [list(line) for line in zip(*columns, strict=True)]
    return rows


def _links_first(bodies: Sequence[Inertia]) -> list[Any]:
    """Phi_l, (8): inertias of the links, then first moment and mass of each, from the last."""
    values = [linear(body) for body in reversed(bodies)]
    return [x for v in values for x in v[SECOND]] + [v[k] for v in values for k in FIRST_AND_MASS]


def _on_the_way(f: Frames, i: int) -> list[tuple[int, int | None]]:
    """Links from link i down to the base, each with the one it was reached from."""
    found, k, last = [], i, None
    while k >= 0:
        found.append((k, last))
        k, last = f.parents[k], k
    return found


def _turned_down(
    f: Frames, at_home: Sequence[Sequence[Vector]]
) -> dict[tuple[int, int], list[Vector]]:
    """Columns of every link, turned into the frames before it."""
    found = {}
    for i, own in enumerate(at_home):
        columns = list(own)
        for k, last in _on_the_way(f, i):
            if last is not None:
                columns = [rotate(f.R[last], c) for c in columns]
            found[k, i] = columns
    return found


def _with_arm(columns: Sequence[Vector], r: Vector, forces: Sequence[Vector]) -> list[Vector]:
    """Moments and, at an arm r, forces."""
    return [add(c, cross(r, e)) for c, e in zip(columns, forces, strict=True)]
