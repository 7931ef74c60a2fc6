"""Dynamics of closed mechanisms: M qdd + h = tau + J^T f, with J qdd + Jd qd = 0.

q holds every joint of the tree, M and h are those of the tree, f the forces of the closures in the
rows that count. With the coordinates parted into independent and dependent ones, J = (J_i, J_d),

    qd = Z qd_i,  Z = (1, -J_d^-1 J_i)            passive joints follow the drives
    f from J_d^T f = (M qdd + h)_d,  tau = Z^T (M qdd + h)           inverse dynamics
    (J M^-1 J^T) f = -(J M^-1 (tau - h) + Jd qd)                     forward dynamics
    Z^T M Z,  Z^T (M Zd + C Z),  Z^T g                               over the independent ones
    tau = Z^T Y parameters, Y that of the tree                       regressor

Systems with J_d are solved by J_d J_d^T = L D L^T, which needs no pivoting, with one step of
refinement. Where q does not close, qd opens the loops, or a pivot shows the rows closer to
dependent than `condition` allows, every result is NaN.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import ClosureError
from ..model.chain import Chain, Mobility
from ..spatial.functions import Functions, zero
from ..spatial.vectors import Scalars, less, plus, transposed, unit
from . import coriolis, equation, friction, kinematics
from . import regressor as tree
from .closures import closure_error, closure_jacobian, closure_jacobian_dot
from .forward_dynamics import factor, pivots_from_tip, substitute

Rows = Sequence[Scalars]


def mobility(chain: Chain) -> Mobility:
    """The chain's mobility; a mechanism that cannot move or close is refused."""
    found = chain.mobility
    if found is None or found.reason:
        raise ClosureError("the mechanism cannot be computed: " + (found.reason if found else ""))
    return found


# products over any scalar, zeros left out


def sparse_inner(a: Scalars, b: Scalars) -> Any:
    """a . b"""
    terms = [x * y for x, y in zip(a, b, strict=True) if not (zero(x) or zero(y))]
    return sum(terms[1:], terms[0]) if terms else 0.0


def sparse_times(A: Rows, x: Scalars) -> list[Any]:
    """A x"""
    return [sparse_inner(row, x) for row in A]


def _columns(A: Rows, places: Sequence[int]) -> list[list[Any]]:
    return [[row[k] for k in places] for row in A]


class Gram(NamedTuple):
    """A wide or square matrix A by the factors of A W A^T, W given with it."""

    L: Rows
    D: Scalars
    diagonal: Scalars  # of A W A^T
    sound: Any  # whether its rows are as independent as `condition` asks for

    def solve(self, b: Scalars) -> list[Any]:
        """(A W A^T)^-1 b"""
        return substitute(self.L, self.D, b)


def _gram(G: Rows, condition: float, fn: Functions, sizes: Scalars = ()) -> Gram:
    """The factors of G; a pivot next to its diagonal entry is a squared sine between rows.

    Next to the usual square of a row, of `sizes`, it shows rows that become nothing.
    """
    L, D = factor(G, fn)
    least, sound = 1.0 / (condition * condition), 1.0
    for j, d in enumerate(D):
        sound = sound * (d > least * G[j][j])
    for d, size in zip(D, sizes, strict=bool(sizes)):
        sound = sound * (d > least * size)
    return Gram(L, D, [G[j][j] for j in range(len(G))], sound)


def _lasting(J: Rows, chain: Chain) -> Any:
    """Whether no row of J has become nothing."""
    least, good = 1.0 / (chain.condition * chain.condition), 1.0
    for row, size in zip(J, mobility(chain).sizes, strict=True):
        good = good * (sparse_inner(row, row) > least * size)
    return good


def _squared(A: Rows) -> list[list[Any]]:
    """A A^T"""
    size = range(len(A))
    G: list[list[Any]] = [[0.0] * len(A) for _ in size]
    for i in size:
        for j in range(i + 1):
            G[i][j] = G[j][i] = sparse_inner(A[i], A[j])
    return G


# the loops at one instant


class LoopJacobians(NamedTuple):
    """J over all coordinates, over the dependent ones, and over the independent ones."""

    mobility: Mobility
    J: Rows
    dependent: Rows
    independent: Rows
    gram: Gram

    def forces(self, torques: Scalars) -> list[Any]:
        """f from J_d^T f = torques of the dependent coordinates."""
        columns = transposed(self.dependent)
        f = self.gram.solve(sparse_times(self.dependent, torques))
        left = less(torques, sparse_times(columns, f))
        return plus(f, self.gram.solve(sparse_times(self.dependent, left)))

    def rates(self, right: Scalars) -> list[Any]:
        """x from J_d x = right."""
        columns = transposed(self.dependent)
        x = sparse_times(columns, self.gram.solve(right))
        left = less(right, sparse_times(self.dependent, x))
        return plus(x, sparse_times(columns, self.gram.solve(left)))

    def merged(self, independent: Scalars, dependent: Scalars) -> list[Any]:
        """A vector over all coordinates."""
        found: list[Any] = [0.0] * (len(independent) + len(dependent))
        for places, values in (
            (self.mobility.independent, independent),
            (self.mobility.dependent, dependent),
        ):
            for k, value in zip(places, values, strict=True):
                found[k] = value
        return found

    def along(self, independent: Scalars) -> list[Any]:
        """Z v: rates of all coordinates from the independent ones."""
        return self.merged(
            independent, [-x for x in self.rates(sparse_times(self.independent, independent))]
        )

    def turning(self, Jd: Rows, rates: Scalars) -> list[Any]:
        """Zd v from rates = Z v: J Z = 0 gives Zd = -J_d^-1 Jd Z in the dependent coordinates."""
        still = [0.0] * len(self.mobility.independent)
        return self.merged(still, [-x for x in self.rates(sparse_times(Jd, rates))])

    @property
    def Z(self) -> list[list[Any]]:
        """Rates of all coordinates per rate of each independent one, by columns, (dof, n)."""
        count = len(self.mobility.independent)
        found = []
        for j, column in enumerate(transposed(self.independent)):
            found.append(self.merged(unit(j, count), [-x for x in self.rates(column)]))
        return found


def loops(chain: Chain, q: Scalars, fn: Functions) -> LoopJacobians:
    """The loops at q."""
    found = mobility(chain)
    J = counting_rows(chain, closure_jacobian(chain, q, fn))
    dependent, independent = _columns(J, found.dependent), _columns(J, found.independent)
    gram = _gram(_squared(dependent), chain.condition, fn, found.sizes)
    return LoopJacobians(found, J, dependent, independent, gram)


def closes(chain: Chain, q: Scalars, fn: Functions) -> Any:
    """Whether every closure is closed at q."""
    good: Any = 1.0
    for e in closure_error(chain, q, fn):
        good = good * (e <= chain.tolerance) * (e >= -chain.tolerance)
    return good


def _keeps(chain: Chain, J: Rows, rates: Scalars, more: Scalars | None, fn: Functions) -> Any:
    """Whether J rates + more is nothing next to its terms: the loops stay closed."""
    good: Any = 1.0
    for k, row in enumerate(J):
        total, terms = (0.0, 1.0) if more is None else (more[k], 1.0 + fn.max(more[k], -more[k]))
        for a, b in zip(row, rates, strict=True):
            if not (zero(a) or zero(b)):
                part = a * b
                total, terms = total + part, terms + fn.max(part, -part)
        bound = chain.tolerance * terms
        good = good * (total <= bound) * (total >= -bound)
    return good


def or_nan(values: Scalars, good: Any, fn: Functions) -> list[Any]:
    """The values, or NaN: by a factor, so that slopes are NaN too, and a term for zeros."""
    factor, term = (fn.select(good > 0.0, x, math.nan) for x in (1.0, 0.0))
    return [term if zero(x) else factor * x + term for x in values]


# kinematics


def joint_rates(chain: Chain, q: Scalars, qd_active: Scalars, fn: Functions) -> list[Any]:
    """qd of all joints from those of the independent ones, (n,)."""
    found = loops(chain, q, fn)
    return or_nan(found.along(qd_active), closes(chain, q, fn) * found.gram.sound, fn)


def joint_accelerations(
    chain: Chain, q: Scalars, qd: Scalars, qdd_active: Scalars, fn: Functions
) -> list[Any]:
    """qdd of all joints from those of the independent ones, (n,)."""
    found = loops(chain, q, fn)
    Jd = counting_rows(chain, closure_jacobian_dot(chain, q, qd, fn))
    qdd = plus(found.along(qdd_active), found.turning(Jd, qd))
    good = closes(chain, q, fn) * _keeps(chain, found.J, qd, None, fn) * found.gram.sound
    return or_nan(qdd, good, fn)


def led(
    chain: Chain, q: Scalars, qd_active: Scalars, qdd_active: Scalars, fn: Functions,
    found: LoopJacobians | None = None,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """qd and qdd of all joints from those of the independent ones, where q closes, (n,) each."""
    found = loops(chain, q, fn) if found is None else found
    qd = found.along(qd_active)
    Jd = counting_rows(chain, closure_jacobian_dot(chain, q, qd, fn))
    return qd, plus(found.along(qdd_active), found.turning(Jd, qd))


def _bias(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> list[Any]:
    """Jd qd in the rows that count."""
    return sparse_times(counting_rows(chain, closure_jacobian_dot(chain, q, qd, fn)), qd)


def drive_jacobian(
    chain: Chain, q: Scalars, fn: Functions, frame: str = "base", **place: Any
) -> list[list[Any]]:
    """J Z: (v, w) of the tool per rate of each independent joint, linear first, (6, dof)."""
    found = loops(chain, q, fn)
    J, Z = kinematics.jacobian(chain, q, fn, frame, **place), found.Z
    good = closes(chain, q, fn) * found.gram.sound
    return [or_nan([sparse_inner(row, z) for z in Z], good, fn) for row in J]


def closure_status(chain: Chain, q: Scalars, fn: Functions) -> Any:
    """0: q closes and the loops are sound; 1: near a singular configuration; 2: it does not."""
    sound = loops(chain, q, fn).gram.sound
    return fn.select(closes(chain, q, fn) > 0.0, fn.select(sound > 0.0, 0.0, 1.0), 2.0)


# dynamics


def inverse_dynamics(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions,
    preload: Scalars | None = None, **given: Any,
) -> list[Any]:  # fmt: skip
    """Torques of the drives that give the motion, zero for passive joints, (n,).

    More drives than degrees of freedom share the load with the least squares of their torques, or
    of their differences from `preload`.
    """
    return _driven(chain, q, qd, qdd, fn, preload, given)[0]


def constraint_forces(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions,
    preload: Scalars | None = None, **given: Any,
) -> list[Any]:  # fmt: skip
    """Forces and moments of the closures, which the first link exerts on the second, (rows,).

    In the first frame's axes, the moment of a universal closure about x of the first frame cross y
    of the second; conditions that others imply carry nothing. The joints of the tree feel the
    torques of the drives and J^T f.
    """
    f = _driven(chain, q, qd, qdd, fn, preload, given)[1]
    found: list[Any] = [0.0] * len(closure_error(chain, q, fn))
    for row, value in zip(mobility(chain).rows, f, strict=True):
        found[row] = value
    return found


def _driven(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions,
    preload: Scalars | None, given: Any,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """Torques of the drives, and forces of the closures."""
    found = loops(chain, q, fn)
    plain = friction.without_load_friction(chain)
    h = equation.inverse_dynamics(plain, q, qd, qdd, fn, **given)
    good = closes(chain, q, fn) * _keeps(chain, found.J, qd, None, fn)
    good = good * _keeps(chain, found.J, qdd, _bias(chain, q, qd, fn), fn) * found.gram.sound
    f, tau, sound = held_torques(chain, found, h, preload, fn)
    good = good * sound
    if friction.load_dependent(chain):
        warm = friction.at_temperature(chain, given.get("temperature"), fn)
        tau = plus(tau, _rubbing(warm, qd, tau, fn))
    known = or_nan(tau, good, fn)
    tau = [known[k] if k in chain.active else t for k, t in enumerate(tau)]
    return tau, or_nan(f, good, fn)


def held_torques(
    chain: Chain, found: LoopJacobians, h: Scalars, preload: Scalars | None, fn: Functions
) -> tuple[list[Any], list[Any], Any]:
    """Forces of the closures and torques of the drives from those of the tree, if determined."""
    sound: Any = 1.0
    if set(chain.active) == set(found.mobility.independent):
        f = found.forces([h[k] for k in found.mobility.dependent])
    else:
        f, sound = _shared(chain, found, h, preload, fn)
    tau = less(h, sparse_times(transposed(found.J), f))
    return f, [tau[k] if k in chain.active else 0.0 for k in range(chain.n)], sound


class LoopTerms(NamedTuple):
    """The closures at one state, in the rows that count: qd = Z qd_i, qdd = Z qdd_i + gamma."""

    J: Any  # (rows, n)
    bias: Any  # Jd qd
    Z: Any  # (n, dof)
    gamma: Any  # Zd qd_i
    f: Any  # forces of the closures


def loop_terms(
    chain: Chain, q: Scalars, qd: Scalars, torques: Scalars, fn: Functions
) -> tuple[LoopTerms, list[Any]]:
    """The closures of a motion that takes these torques of the tree, and those of the drives."""
    found = loops(chain, q, fn)
    Jd = counting_rows(chain, closure_jacobian_dot(chain, q, qd, fn))
    f, tau, _ = held_torques(chain, found, torques, None, fn)
    Z = transposed(found.Z)
    return LoopTerms(found.J, sparse_times(Jd, qd), Z, found.turning(Jd, qd), f), tau


def _shared(
    chain: Chain, found: LoopJacobians, h: Scalars, preload: Scalars | None, fn: Functions
) -> tuple[list[Any], Any]:
    """Closure forces of more drives than needed: J_p^T f = h_p, least |h_a - J_a^T f - preload|.

    With G = J J^T: f = G^-1 (J b - J_p m), (J_p^T G^-1 J_p) m = J_p^T G^-1 J b - h_p, where b is h
    less the preload of the drives.
    """
    passive = [k for k in range(chain.n) if k not in chain.active]
    wanted = preload if preload is not None else [0.0] * chain.n
    b = [h[k] - wanted[k] if k in chain.active else h[k] for k in range(chain.n)]
    G = _gram(_squared(found.J), chain.condition, fn, found.mobility.sizes)
    f = G.solve(sparse_times(found.J, b))
    if not passive:
        return f, G.sound
    columns = transposed(_columns(found.J, passive))  # of J_p
    solved = [G.solve(column) for column in columns]
    small = [[sparse_inner(a, s) for s in solved] for a in columns]
    H = _gram(small, chain.condition, fn)
    m = H.solve(less(sparse_times(columns, f), [h[k] for k in passive]))
    return less(f, sparse_times(transposed(solved), m)), G.sound * H.sound


def _rubbing(chain: Chain, qd: Scalars, tau: Scalars, fn: Functions) -> list[Any]:
    """Friction under load of drives that would give tau without it, zero for passive joints."""
    carried = less(tau, friction.friction_torque(chain, qd, fn))
    more = friction.load_friction(chain, qd, carried, fn)
    return [x if k in chain.active else 0.0 for k, x in enumerate(more)]


def load_friction(chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions) -> list[Any]:
    """What friction under load adds to the torques of the drives, (n,)."""
    plain = friction.without_load_friction(chain)
    return _rubbing(chain, qd, _driven(plain, q, qd, qdd, fn, None, {})[0], fn)


def motor_torque(chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions) -> list[Any]:
    """Torque of the motor of every drive, behind its gear, zero for passive joints, (n,)."""
    plain = friction.without_load_friction(chain)
    tau, f = _driven(plain, q, qd, qdd, fn, None, {})
    J = counting_rows(chain, closure_jacobian(chain, q, fn))
    held = less(_rubbing(chain, qd, tau, fn), sparse_times(transposed(J), f))
    found = equation.motor_torque(plain, q, qd, qdd, fn, held)
    return [found[k] if k in chain.active else 0.0 for k in range(chain.n)]


def regressor(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions,
    qd_ref: Scalars | None = None,
) -> list[list[Any]]:  # fmt: skip
    """Z^T Y in the rows of the drives, zero for passive joints, (n, p).

    More drives than degrees of freedom have tau_a = Z_a (Z_a^T Z_a)^-1 Z^T Y, Z_a being their rows
    of Z. With qd_ref, which keeps the loops closed: columns of M qdd + C(q, qd) qd_ref + g, where
    qdd = d/dt qd_ref along qd, J qdd + Jd qd_ref = 0.
    """
    found = loops(chain, q, fn)
    Jd = counting_rows(chain, closure_jacobian_dot(chain, q, qd, fn))
    along = qd if qd_ref is None else qd_ref
    good = closes(chain, q, fn) * _keeps(chain, found.J, qd, None, fn) * found.gram.sound
    if qd_ref is not None:
        good = good * _keeps(chain, found.J, qd_ref, None, fn)
    good = good * _keeps(chain, found.J, qdd, sparse_times(Jd, along), fn)
    Z = found.Z
    columns = transposed(tree.regressor(chain, q, qd, qdd, fn, qd_ref))
    lowered = transposed([sparse_times(Z, column) for column in columns])  # Z^T Y
    rows = dict(zip(found.mobility.independent, lowered, strict=True))
    if set(chain.active) != set(rows):
        Za = _columns(Z, chain.active)
        gram = _gram(_squared(Za), chain.condition, fn)
        shares = [gram.solve(column) for column in transposed(Za)]  # of Za (Za^T Za)^-1
        good, by_column = good * gram.sound, transposed(lowered)
        each = zip(chain.active, shares, strict=True)
        rows = {k: [sparse_inner(share, column) for column in by_column] for k, share in each}
    nothing = [0.0] * len(columns)
    return [or_nan(rows[k], good, fn) if k in chain.active else nothing for k in range(chain.n)]


def mass_matrix(chain: Chain, q: Scalars, fn: Functions) -> list[list[Any]]:
    """Z^T M Z, (dof, dof)."""
    found = loops(chain, q, fn)
    return _reduced(found, equation.mass_matrix(chain, q, fn), closes(chain, q, fn), fn)


def _reduced(found: LoopJacobians, M: Rows, good: Any, fn: Functions) -> list[list[Any]]:
    Z = found.Z
    MZ = [sparse_times(M, z) for z in Z]
    R: list[list[Any]] = [[0.0] * len(Z) for _ in Z]
    for i in range(len(Z)):
        for j in range(i + 1):
            R[i][j] = R[j][i] = sparse_inner(Z[i], MZ[j])
    return [or_nan(row, good * found.gram.sound, fn) for row in R]


def gravity_torque(chain: Chain, q: Scalars, fn: Functions) -> list[Any]:
    """Z^T g, (dof,)."""
    found = loops(chain, q, fn)
    return _lowered(chain, q, found, equation.gravity_torque(chain, q, fn), fn)


def _lowered(
    chain: Chain, q: Scalars, found: LoopJacobians, h: Scalars, fn: Functions
) -> list[Any]:
    """Z^T h by the forces of the closures."""
    f = found.forces([h[k] for k in found.mobility.dependent])
    held = sparse_times(transposed(found.independent), f)
    own = [h[k] for k in found.mobility.independent]
    return or_nan(less(own, held), closes(chain, q, fn) * found.gram.sound, fn)


def mass_times(chain: Chain, q: Scalars, seed: Scalars, fn: Functions) -> list[Any]:
    """Z^T M Z seed, (dof,)."""
    found = loops(chain, q, fn)
    rates = found.along(seed)
    return _lowered(chain, q, found, equation.mass_times(chain, q, rates, fn), fn)


def coriolis_matrix(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> list[list[Any]]:
    """Z^T (M Zd + C Z), with Mdot - 2C skew, (dof, dof); qd that opens the loops gives NaN."""
    found = loops(chain, q, fn)
    M, C = equation.mass_matrix(chain, q, fn), coriolis.coriolis_matrix(chain, q, qd, fn)
    Jd, columns = counting_rows(chain, closure_jacobian_dot(chain, q, qd, fn)), []
    for z in found.Z:
        columns.append(plus(sparse_times(M, found.turning(Jd, z)), sparse_times(C, z)))
    good = closes(chain, q, fn) * _keeps(chain, found.J, qd, None, fn) * found.gram.sound
    return [or_nan([sparse_inner(z, column) for column in columns], good, fn) for z in found.Z]


def coriolis_times(
    chain: Chain, q: Scalars, qd: Scalars, seed: Scalars, fn: Functions
) -> list[Any]:
    """Z^T (M Zd + C Z) seed, (dof,)."""
    found = loops(chain, q, fn)
    z = found.along(seed)
    zd = found.turning(counting_rows(chain, closure_jacobian_dot(chain, q, qd, fn)), z)
    inertial = equation.mass_times(chain, q, zd, fn)
    total = plus(inertial, coriolis.coriolis_times(chain, q, qd, z, fn))
    good = _keeps(chain, found.J, qd, None, fn)
    return or_nan(_lowered(chain, q, found, total, fn), good, fn)


def generalised_torque(
    chain: Chain, q: Scalars, qd_active: Scalars, qdd_active: Scalars, fn: Functions,
    tau: Scalars | None = None, wrench: Scalars | None = None,
) -> list[Any]:  # fmt: skip
    """Z^T (M qdd + h) as a function of the independent rates and accelerations, (dof,).

    With `tau`, what it lacks to give these accelerations: Z^T (M qdd + h - tau). Without, friction
    under load is that of drives which are the independent joints.
    """
    found = loops(chain, q, fn)
    qd, qdd = led(chain, q, qd_active, qdd_active, fn, found)
    plain = friction.without_load_friction(chain)
    h = equation.inverse_dynamics(plain, q, qd, qdd, fn, wrench)
    if tau is not None:
        if friction.load_dependent(chain):
            tau = less(tau, friction.driven_load_friction(chain, qd, tau, fn))
        return _lowered(chain, q, found, less(h, tau), fn)
    total = _lowered(chain, q, found, h, fn)
    if friction.load_dependent(chain):
        drives = found.mobility.independent
        more = _rubbing(chain, qd, found.merged(total, [0.0] * len(found.mobility.dependent)), fn)
        total = plus(total, [more[k] for k in drives])
    return total


def counting_rows(chain: Chain, J: Rows) -> Rows:
    """The rows that count."""
    return [J[r] for r in mobility(chain).rows]


def pivots(chain: Chain, q: Scalars, fn: Functions) -> list[Any]:
    """Pivots of the mass matrix, last first, (dof,)."""
    return pivots_from_tip(mass_matrix(chain, q, fn), fn)


class Mass(NamedTuple):
    """The constrained mass matrix: M = L D L^T tip first, and J M^-1 J^T of the closures.

    Where links without inertia make M singular, it stands for M + J^T J, which moves alike.
    """

    L: Rows
    D: Scalars
    J: Rows
    gram: Gram

    def solve(self, b: Scalars) -> list[Any]:
        """M^-1 b"""
        return substitute(self.L, self.D, b[::-1])[::-1]

    def accelerations(self, b: Scalars, bias: Scalars) -> list[Any]:
        """qdd from M qdd = b + J^T f, J qdd + bias = 0."""
        columns = transposed(self.J)
        against = self.gram.solve(plus(sparse_times(self.J, self.solve(b)), bias))
        qdd = self.solve(less(b, sparse_times(columns, against)))
        left = self.gram.solve(plus(sparse_times(self.J, qdd), bias))  # what rounding left open
        return less(qdd, self.solve(sparse_times(columns, left)))


def constrained_mass(chain: Chain, M: Rows, J: Rows, fn: Functions) -> Mass:
    """M and J at one instant, factored."""
    if mobility(chain).augmented:
        columns = transposed(J)
        M = [
            [m + sparse_inner(a, b) for m, b in zip(row, columns, strict=True)]
            for row, a in zip(M, columns, strict=True)
        ]
    L, D = factor([row[::-1] for row in M[::-1]], fn)
    reciprocal = [1.0 / d for d in D]
    halves = [_forward(L, row[::-1]) for row in J]  # L^-1 J^T
    size = range(len(J))
    S: list[list[Any]] = [[0.0] * len(J) for _ in size]
    for i in size:
        scaled = [0.0 if zero(y) else y * d for y, d in zip(halves[i], reciprocal, strict=True)]
        for j in range(i + 1):
            S[i][j] = S[j][i] = sparse_inner(scaled, halves[j])
    gram = _gram(S, chain.condition, fn)
    return Mass(L, D, J, gram._replace(sound=gram.sound * _lasting(J, chain)))


def sines(chain: Chain, mass: Mass) -> list[Any]:
    """Squared sines between every row of J and those before it, less where a row becomes nothing.

    In the sense of M^-1; all of them 1 for rows at right angles that are as long as usual.
    """
    squares = zip(mass.J, mobility(chain).sizes, strict=True)
    lengths = [sparse_inner(row, row) / size for row, size in squares]
    pivots = zip(mass.gram.D, mass.gram.diagonal, lengths, strict=True)
    return [d / whole * length for d, whole, length in pivots]


def _forward(L: Rows, b: Scalars) -> list[Any]:
    """L^-1 b, zeros left out."""
    y = list(b)
    for i in range(len(y)):
        for k in range(i):
            if not (zero(L[i][k]) or zero(y[k])):
                y[i] = y[i] - L[i][k] * y[k]
    return y


def forward_dynamics(
    chain: Chain, q: Scalars, qd: Scalars, tau: Scalars, fn: Functions,
    wrench: Any = None, link_forces: Any = None, temperature: Any = None,
) -> list[Any]:  # fmt: skip
    """qdd of all joints, (n,); torques of passive joints act too, where they are given."""
    chain = friction.at_temperature(chain, temperature, fn)
    chain, tau = friction.after_load_friction(chain, qd, tau, fn)
    rest = [0.0] * chain.n
    h = equation.inverse_dynamics(chain, q, qd, rest, fn, wrench, link_forces=link_forces)
    J = counting_rows(chain, closure_jacobian(chain, q, fn))
    mass = constrained_mass(chain, equation.mass_matrix(chain, q, fn), J, fn)
    bias = _bias(chain, q, qd, fn)
    qdd = mass.accelerations(less(tau, h), bias)
    good = closes(chain, q, fn) * _keeps(chain, J, qd, None, fn) * mass.gram.sound
    return or_nan(qdd, good, fn)
