"""Free coordinates of a mechanism at one configuration: what all joints do when those move.

    qd = Z v,  qdd = Z a + Zd v,  torques of the free coordinates = Z^T (torques of the joints)

An open arm has Z = 1. With closures, J qd = 0 in the rows that count, and the joints parted into
independent (free) and dependent ones, J = (J_i, J_d):

    Z = (1, -J_d^-1 J_i)            Z^T h = h_i - J_i^T f,  J_d^T f = h_d, f the closures' forces

Systems with J_d are solved by J_d J_d^T = L D L^T, with one step of refinement. Where q does not
close, a given motion opens the loops, or a pivot shows rows closer to dependent than `condition`
allows, every result is NaN.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from ..lazy import cached_property
from ..model.chain import Chain, Mobility
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars, less, plus, transposed, unit
from .closed import (
    Gram,
    Rows,
    columns_of,
    constrained_mass,
    counting_rows,
    gram,
    keeps,
    least_motion,
    mobility,
    or_nan,
    sparse_inner,
    sparse_times,
    squared,
)
from .closures import closes, closure_error, closure_jacobian, closure_jacobian_dot
from .forward_dynamics import solve

LARGEST = 0.5  # rad or m: of a dependent joint in one of Newton's steps


class Coordinates(Protocol):
    """Free coordinates at one configuration, v their rates.

    Where results take a `motion`, qd, then qdd, then qd_ref, those of closed mechanisms are NaN
    unless it keeps the loops closed.
    """

    drives: Sequence[int]  # joints that have one

    @property
    def status(self) -> Any:
        """0: q closes and the loops are sound; 1: near a singular configuration; 2: it does not."""
        ...

    def free(self, values: Scalars) -> Scalars:
        """Values of the free coordinates among those of all joints."""
        ...

    def all_joints(self, values: Scalars) -> Scalars:
        """Values of the free coordinates as those of all joints, the others zero."""
        ...

    def rates(self, v: Scalars) -> Scalars:
        """Z v"""
        ...

    def drift(self, qd: Scalars, rates: Scalars) -> Scalars | None:
        """Zd v along qd, of rates = Z v; None where Z is constant."""
        ...

    def certain(self, values: Scalars, *motion: Scalars) -> Scalars:
        """The values, or NaN where there are none."""
        ...

    def torques(self, h: Scalars, *motion: Scalars) -> Scalars:
        """Z^T h"""
        ...

    def matrix(self, M: Rows) -> Rows:
        """Z^T M Z"""
        ...

    def per_coordinate(self, rows: Rows) -> Rows:
        """A Z: rows over all joints as rows over the free coordinates."""
        ...

    def coriolis(self, C: Rows, M: Rows, qd: Scalars) -> Rows:
        """Z^T (C Z + M Zd)"""
        ...

    def turned(self, h: Scalars, p: Scalars, qd: Scalars) -> Scalars:
        """Z^T h + Zd^T p along qd"""
        ...

    def held(
        self, h: Scalars, qd: Scalars, qdd: Scalars, preload: Any = None
    ) -> tuple[Scalars, Scalars | None]:
        """Torques of the drives, zero for passive joints, and what closures add to all joints."""
        ...

    def driven_rows(self, Y: Rows, *motion: Scalars) -> Rows:
        """Rows of torques of all joints as those of the drives, zero for passive joints."""
        ...

    def accelerations(self, M: Rows, b: Scalars, qd: Scalars) -> Scalars:
        """qdd of all joints from M qdd = b."""
        ...


class Free:
    """The coordinates of an open arm: every joint moves by itself."""

    status = 0.0

    def __init__(self, chain: Chain, fn: Functions):
        self.drives, self.fn = range(chain.n), fn

    def free(self, values: Scalars) -> Scalars:
        """All of them."""
        return values

    all_joints = rates = free

    def drift(self, qd: Scalars, rates: Scalars) -> None:
        """None: Z is constant."""
        return

    def certain(self, values: Scalars, *motion: Scalars) -> Scalars:
        """The values."""
        return values

    torques = driven_rows = certain

    def matrix(self, M: Rows) -> Rows:
        """M"""
        return M

    per_coordinate = matrix

    def coriolis(self, C: Rows, M: Rows, qd: Scalars) -> Rows:
        """C"""
        return C

    def turned(self, h: Scalars, p: Scalars, qd: Scalars) -> Scalars:
        """h"""
        return h

    def held(
        self, h: Scalars, qd: Scalars, qdd: Scalars, preload: Any = None
    ) -> tuple[Scalars, None]:
        """Every joint has a drive, and there are no closures."""
        return h, None

    def accelerations(self, M: Rows, b: Scalars, qd: Scalars) -> Scalars:
        """M^-1 b"""
        return solve(M, b, self.fn)


class Closed:
    """The coordinates of a mechanism whose joints closures tie together."""

    def __init__(self, chain: Chain, q: Scalars, fn: Functions):
        self.chain, self.q, self.fn = chain, q, fn
        self.mobility: Mobility = mobility(chain)
        self.drives = chain.driven

    def closing_step(self) -> list[Any]:
        """q after one of Newton's steps that closes the loops by the dependent joints.

        J_d dx = -e, each dx held to LARGEST; none where J_d is singular.
        """
        errors, fn = closure_error(self.chain, self.q, self.fn), self.fn
        right = [-errors[row] for row in self.mobility.rows]
        step = least_motion(self.dependent, self.gram, right)
        moved = list(self.q)
        for k, dx in zip(self.mobility.dependent, step, strict=True):
            held = fn.max(-LARGEST, fn.min(dx, LARGEST))
            moved[k] = moved[k] + fn.select(self.gram.sound > 0.0, held, 0.0)
        return moved

    # J and what follows from it

    @cached_property
    def J(self) -> Rows:
        """Rows that count of the Jacobian of the closures, over all joints."""
        return counting_rows(self.chain, closure_jacobian(self.chain, self.q, self.fn))

    @property
    def status(self) -> Any:
        """0: q closes and the loops are sound; 1: near a singular configuration; 2: it does not."""
        select = self.fn.select
        return select(self.closes > 0.0, select(self.gram.sound > 0.0, 0.0, 1.0), 2.0)

    @cached_property
    def dependent(self) -> Rows:
        """J_d"""
        return columns_of(self.J, self.mobility.dependent)

    @cached_property
    def independent(self) -> Rows:
        """J_i"""
        return columns_of(self.J, self.mobility.independent)

    @cached_property
    def gram(self) -> Gram:
        """The factors of J_d J_d^T."""
        G = squared(self.dependent)
        return gram(G, self.chain.condition, self.fn, self.mobility.sizes)

    @cached_property
    def Z(self) -> list[list[Any]]:
        """Rates of all joints per rate of each free coordinate, by columns, (dof, n)."""
        count = len(self.mobility.independent)
        columns = transposed(self.independent)
        return [
            self._merged(unit(j, count), [-x for x in self.solve_dependent(column)])
            for j, column in enumerate(columns)
        ]

    @cached_property
    def closes(self) -> Any:
        """Whether q closes the loops."""
        return closes(self.chain, self.q, self.fn)

    def jacobian_dot(self, qd: Scalars) -> Rows:
        """dJ/dt in the rows that count."""
        return counting_rows(self.chain, closure_jacobian_dot(self.chain, self.q, qd, self.fn))

    def forces(self, torques: Scalars) -> list[Any]:
        """f from J_d^T f = torques of the dependent joints."""
        columns = transposed(self.dependent)
        f = self.gram.solve(sparse_times(self.dependent, torques))
        left = less(torques, sparse_times(columns, f))
        return plus(f, self.gram.solve(sparse_times(self.dependent, left)))

    def solve_dependent(self, right: Scalars) -> list[Any]:
        """x from J_d x = right."""
        x = least_motion(self.dependent, self.gram, right)
        left = less(right, sparse_times(self.dependent, x))
        return plus(x, least_motion(self.dependent, self.gram, left))

    def _merged(self, independent: Scalars, dependent: Scalars) -> list[Any]:
        """A vector over all joints."""
        found: list[Any] = [0.0] * (len(independent) + len(dependent))
        for places, values in (
            (self.mobility.independent, independent),
            (self.mobility.dependent, dependent),
        ):
            for k, value in zip(places, values, strict=True):
                found[k] = value
        return found

    def good(self, *motion: Scalars) -> Any:
        """Whether q closes, the loops are sound, and qd, qdd, qd_ref keep them closed."""
        good = self.closes
        if motion:
            qd, *more = motion
            good = good * keeps(self.chain, self.J, qd, None, self.fn)
            if more:
                qdd, *reference = more
                for other in reference:
                    good = good * keeps(self.chain, self.J, other, None, self.fn)
                bias = sparse_times(self.jacobian_dot(qd), reference[0] if reference else qd)
                good = good * keeps(self.chain, self.J, qdd, bias, self.fn)
        return good * self.gram.sound

    # the protocol

    def free(self, values: Scalars) -> list[Any]:
        """Those of the independent joints."""
        return [values[k] for k in self.mobility.independent]

    def all_joints(self, values: Scalars) -> list[Any]:
        """Zero for dependent joints."""
        return self._merged(values, [0.0] * len(self.mobility.dependent))

    def rates(self, v: Scalars) -> list[Any]:
        """Dependent joints by J_d x = -J_i v."""
        right = sparse_times(self.independent, v)
        return self._merged(v, [-x for x in self.solve_dependent(right)])

    def drift(self, qd: Scalars, rates: Scalars) -> list[Any]:
        """J Z = 0 gives Zd = -J_d^-1 Jd Z in the dependent joints."""
        return self._drift(self.jacobian_dot(qd), rates)

    def _drift(self, Jd: Rows, rates: Scalars) -> list[Any]:
        still = [0.0] * len(self.mobility.independent)
        return self._merged(still, [-x for x in self.solve_dependent(sparse_times(Jd, rates))])

    def certain(self, values: Scalars, *motion: Scalars) -> list[Any]:
        """NaN unless `good`."""
        return or_nan(values, self.good(*motion), self.fn)

    def torques(self, h: Scalars, *motion: Scalars) -> list[Any]:
        """By the forces of the closures."""
        f = self.forces([h[k] for k in self.mobility.dependent])
        held = sparse_times(transposed(self.independent), f)
        return self.certain(less(self.free(h), held), *motion)

    def matrix(self, M: Rows) -> list[list[Any]]:
        """Symmetric."""
        Z = self.Z
        MZ = [sparse_times(M, z) for z in Z]
        R: list[list[Any]] = [[0.0] * len(Z) for _ in Z]
        for i in range(len(Z)):
            for j in range(i + 1):
                R[i][j] = R[j][i] = sparse_inner(Z[i], MZ[j])
        return [self.certain(row) for row in R]

    def per_coordinate(self, rows: Rows) -> list[list[Any]]:
        """Row by row."""
        return [self.certain([sparse_inner(row, z) for z in self.Z]) for row in rows]

    def coriolis(self, C: Rows, M: Rows, qd: Scalars) -> list[list[Any]]:
        """With Mdot - 2C skew."""
        Jd, Z = self.jacobian_dot(qd), self.Z
        columns = [plus(sparse_times(M, self._drift(Jd, z)), sparse_times(C, z)) for z in Z]
        return [self.certain([sparse_inner(z, column) for column in columns], qd) for z in Z]

    def turned(self, h: Scalars, p: Scalars, qd: Scalars) -> list[Any]:
        """Zd^T p is -Z^T Jd^T f with J_d^T f = p of the dependent joints."""
        f = self.forces([p[k] for k in self.mobility.dependent])
        held = sparse_times(transposed(self.jacobian_dot(qd)), f)
        return self.torques(less(h, held))

    def held(
        self, h: Scalars, qd: Scalars, qdd: Scalars, preload: Any = None
    ) -> tuple[list[Any], list[Any]]:
        """Torques of the drives, and J^T f of the closures."""
        tau, f = self.held_forces(h, qd, qdd, preload)
        return tau, sparse_times(transposed(self.J), f)

    def held_forces(
        self, h: Scalars, qd: Scalars, qdd: Scalars, preload: Any = None
    ) -> tuple[list[Any], list[Any]]:
        """Torques of the drives, and forces of the closures in the rows that count."""
        f, tau, sound = self.shared(h, preload)
        good = self.good(qd, qdd) * sound
        known = or_nan(tau, good, self.fn)
        tau = [known[k] if k in self.drives else t for k, t in enumerate(tau)]
        return tau, or_nan(f, good, self.fn)

    def shared(self, h: Scalars, preload: Any = None) -> tuple[list[Any], list[Any], Any]:
        """Forces of the closures and torques of the drives from those of the tree, if determined.

        More drives than degrees of freedom share the load with the least squares of their torques,
        or of their differences from `preload`.
        """
        sound: Any = 1.0
        if set(self.drives) == set(self.mobility.independent):
            f = self.forces([h[k] for k in self.mobility.dependent])
        else:
            f, sound = self._least_squares(h, preload)
        tau = less(h, sparse_times(transposed(self.J), f))
        return f, [tau[k] if k in self.drives else 0.0 for k in range(self.chain.n)], sound

    def _least_squares(self, h: Scalars, preload: Any) -> tuple[list[Any], Any]:
        """Closure forces of more drives than needed.

        J_p^T f = h_p, least |h_a - J_a^T f - preload|. With G = J J^T: f = G^-1 (J b - J_p m),
        (J_p^T G^-1 J_p) m = J_p^T G^-1 J b - h_p, where b is h less the preload of the drives.
        """
        n, condition = self.chain.n, self.chain.condition
        passive = [k for k in range(n) if k not in self.drives]
        wanted = preload if preload is not None else [0.0] * n
        b = [h[k] - wanted[k] if k in self.drives else h[k] for k in range(n)]
        G = gram(squared(self.J), condition, self.fn, self.mobility.sizes)
        f = G.solve(sparse_times(self.J, b))
        if not passive:
            return f, G.sound
        columns = transposed(columns_of(self.J, passive))  # of J_p
        solved = [G.solve(column) for column in columns]
        small = [[sparse_inner(a, s) for s in solved] for a in columns]
        H = gram(small, condition, self.fn)
        m = H.solve(less(sparse_times(columns, f), [h[k] for k in passive]))
        return less(f, sparse_times(transposed(solved), m)), G.sound * H.sound

    def driven_rows(self, Y: Rows, *motion: Scalars) -> list[list[Any]]:
        """Z^T Y; more drives than needed have tau_a = Z_a (Z_a^T Z_a)^-1 Z^T Y, Z_a their rows."""
        Z, good, columns = self.Z, self.good(*motion), transposed(Y)
        lowered = transposed([sparse_times(Z, column) for column in columns])  # Z^T Y
        rows = dict(zip(self.mobility.independent, lowered, strict=True))
        if set(self.drives) != set(rows):
            Za = columns_of(Z, self.drives)
            found = gram(squared(Za), self.chain.condition, self.fn)
            shares = [found.solve(column) for column in transposed(Za)]  # of Za (Za^T Za)^-1
            good, by_column = good * found.sound, transposed(lowered)
            each = zip(self.drives, shares, strict=True)
            rows = {k: [sparse_inner(share, column) for column in by_column] for k, share in each}
        nothing, size = [0.0] * len(columns), range(self.chain.n)
        return [or_nan(rows[k], good, self.fn) if k in self.drives else nothing for k in size]

    def accelerations(self, M: Rows, b: Scalars, qd: Scalars) -> list[Any]:
        """By J M^-1 J^T: M qdd = b + J^T f, J qdd + Jd qd = 0.

        That holds where the drives lose control, and takes fewer operations than Z^T M Z.
        """
        mass = constrained_mass(self.chain, M, self.J, self.fn)
        qdd = mass.accelerations(b, sparse_times(self.jacobian_dot(qd), qd))
        good = self.closes * keeps(self.chain, self.J, qd, None, self.fn) * mass.gram.sound
        return or_nan(qdd, good, self.fn)


def coordinates(chain: Chain, q: Scalars, fn: Functions) -> Free | Closed:
    """The free coordinates of a chain at q."""
    return Closed(chain, q, fn) if chain.closures else Free(chain, fn)
