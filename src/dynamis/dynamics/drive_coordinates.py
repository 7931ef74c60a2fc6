"""A closed mechanism in the coordinates of its drives, as a control computer sees it.

Encoders tell the drives; the other joints follow from where they were by a fixed number of Newton
steps, J_d dx = -e, each held to a largest step and left out where the loops are singular:

    q = (drives, x),  qd = Z qd_i,  qdd = Z qdd_i + Zd qd_i,  tau = Z^T (torques of the tree)

What does not close then, or is near a singular configuration, is NaN. So is what nears one so fast
that it would be passed within a few samples: the drives do not tell on which side of it the other
joints are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import OptionError, counted
from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars, less, plus, transposed
from . import closed, friction
from .closures import closure_error, closure_jacobian_dot

STEPS = 3  # from the sample before: drives that moved by 0.01 rad leave 1e-16
FARTHER = 6  # from the measured configuration to that of the reference
APPROACHES = 12  # from home to where the drives are at first
LARGEST = 0.5  # rad or m: of a Newton step
SINGULAR = 1e3  # condition of the loops beyond which a control computer does not trust them
NARROW = 0.1  # squared sine between rows of the loops, below which a singular place is near
FALL = 0.75**2  # share of it left after a sample: it would be gone in four


def controlled(chain: Chain) -> Chain:
    """The chain with the bound on its loops that a control computer has; others are refused."""
    found = closed.mobility(chain)
    if not set(found.independent) <= set(chain.active):
        raise OptionError(
            f"the mechanism has {counted(len(found.independent), 'degree')} of freedom that its "
            f"{counted(len(chain.active), 'drive')} cannot decide: a controller cannot know "
            "where it is",
            "use dy.control.JointPID without gravity, or give more joints a drive",
        )
    return replace(chain, condition=min(chain.condition, SINGULAR))


@dataclass(frozen=True)
class Configuration:
    """A chain (of `controlled`) where its drives are: q of all joints, and the loops there.

    `good` if they close and are sound; `lost` if they close and near a singular configuration.
    """

    chain: Chain
    q: list[Any]
    loops: closed.LoopJacobians
    good: Any
    lost: Any
    fn: Functions

    def rates(self, qd: Scalars) -> list[Any]:
        """Of all joints from those of the drives."""
        return self.loops.along(self.decisive(qd))

    def accelerations(self, rates: Scalars, qdd: Scalars) -> list[Any]:
        """Of all joints from their rates and the accelerations of the drives."""
        return plus(self.loops.along(self.decisive(qdd)), self.turning(rates, rates))

    def turning(self, rates: Scalars, moved: Scalars) -> list[Any]:
        """Zd v along `rates`, of moved = Z v."""
        Jd = closed.counting_rows(
            self.chain, closure_jacobian_dot(self.chain, self.q, rates, self.fn)
        )
        return self.loops.turning(Jd, moved)

    def lowered(self, torques: Scalars) -> list[Any]:
        """Torques of the drives that carry torques of all joints of the tree."""
        _, tau, sound = closed.held_torques(self.chain, self.loops, torques, None, self.fn)
        return closed.or_nan([tau[k] for k in self.chain.active], self.good * sound, self.fn)

    def per_drive(self, rows: Sequence[Scalars]) -> list[list[Any]]:
        """A Z: rows over all joints as rows over the drives, which must be independent."""
        Z, places = self.loops.Z, self.loops.mobility.independent
        columns = [Z[places.index(k)] for k in self.chain.active]
        return [self.certain([closed.sparse_inner(row, z) for z in columns]) for row in rows]

    def lowered_rows(self, rows: Sequence[Scalars]) -> list[list[Any]]:
        """Z^T A: columns of torques of all joints as columns of torques of the drives."""
        columns = transposed(rows)
        if len(self.chain.active) == len(self.loops.mobility.independent):
            return transposed(self.per_drive(columns))
        return transposed([self.lowered(column) for column in columns])

    def spread(self, values: Scalars) -> list[Any]:
        """Values of the drives as those of all joints, the others zero."""
        found: list[Any] = [0.0] * self.chain.n
        for k, value in zip(self.chain.active, values, strict=True):
            found[k] = value
        return found

    def certain(self, values: Scalars) -> list[Any]:
        """Values that hold here, or NaN."""
        return closed.or_nan(values, self.good, self.fn)

    def momentum_turned(self, rates: Scalars, momentum: Scalars, turned: Scalars) -> list[Any]:
        """C^T qd of the drives from M qd and C^T qd of the tree: Z^T C^T qd + Zd^T M qd.

        Zd^T p is -Z^T Jd^T f with J_d^T f = p of the dependent joints.
        """
        Jd = closed.counting_rows(
            self.chain, closure_jacobian_dot(self.chain, self.q, rates, self.fn)
        )
        f = self.loops.forces([momentum[k] for k in self.loops.mobility.dependent])
        held = closed.sparse_times(transposed(Jd), f)
        return self.lowered(less(turned, held))

    def decisive(self, values: Scalars) -> list[Any]:
        """Those of the independent joints among values of the drives."""
        places = {k: i for i, k in enumerate(self.chain.active)}
        return [values[places[k]] for k in self.loops.mobility.independent]


def configuration(
    chain: Chain, q: Sequence[Any], fn: Functions, before: closed.LoopJacobians | None = None
) -> Configuration:
    """That of all joints at q; `before` are the loops of the sample before."""
    found = closed.loops(chain, q, fn)
    closes, fine = closed.closes(chain, q, fn), 1.0 * found.gram.sound
    if before is not None:
        now = _margin(found, fn)
        nearing = (now < NARROW) * (now < FALL * _margin(before, fn))
        fine = fn.select(nearing, 0.0, fine)
    return Configuration(chain, list(q), found, closes * fine, closes * (fine == 0.0), fn)


def _margin(found: closed.LoopJacobians, fn: Functions) -> Any:
    """How far the loops are from singular, 1 at best: the least squared sine between rows.

    A row that is smaller than usual counts as a smaller sine.
    """
    least: Any = 1.0
    for row, d, size in zip(found.dependent, found.gram.D, found.mobility.sizes, strict=True):
        least = fn.min(least, d / fn.max(closed.sparse_inner(row, row), size))
    return least


def followed(
    chain: Chain, drives: Scalars, near: Scalars, fn: Functions, steps: int = STEPS,
    sampled: bool = False,
) -> Configuration:  # fmt: skip
    """The drives where they are, the other joints by Newton steps from where they were.

    `sampled`: they were there at the sample before.
    """
    q = _placed(chain, drives, near)
    before = closed.loops(chain, q, fn) if sampled else None
    for _ in range(steps):
        q = newton_step(chain, q, fn)
    return configuration(chain, q, fn, before)


def approached(chain: Chain, drives: Scalars, home: Scalars, fn: Functions) -> list[Any]:
    """All joints on the way from a configuration that closes to near where the drives are."""
    q = list(home)
    for k in range(1, APPROACHES):
        q = approach(chain, q, drives, k / APPROACHES, home, fn)
    return q


def approach(
    chain: Chain, q: Scalars, drives: Scalars, share: Any, home: Scalars, fn: Functions
) -> list[Any]:
    """All joints with the drives a share of the way from home to where they are."""
    start = (home[k] for k in chain.active)
    part = [a + share * (b - a) for a, b in zip(start, drives, strict=True)]
    return newton_step(chain, _placed(chain, part, q), fn)


def _placed(chain: Chain, drives: Scalars, q: Scalars) -> list[Any]:
    """q with the independent joints where their drives are."""
    places, moved = {k: i for i, k in enumerate(chain.active)}, list(q)
    for k in closed.mobility(chain).independent:
        moved[k] = drives[places[k]]
    return moved


def newton_step(chain: Chain, q: Scalars, fn: Functions) -> list[Any]:
    """One step that closes the loops by the dependent joints."""
    found, errors = closed.loops(chain, q, fn), closure_error(chain, q, fn)
    right = [-errors[row] for row in found.mobility.rows]
    columns = transposed(found.dependent)
    step = closed.sparse_times(columns, found.gram.solve(right))
    moved = list(q)
    for k, dx in zip(found.mobility.dependent, step, strict=True):
        guarded = fn.max(-LARGEST, fn.min(dx, LARGEST))
        moved[k] = moved[k] + fn.select(found.gram.sound > 0.0, guarded, 0.0)
    return moved


def drive_load_friction(
    here: Configuration, qd: Scalars, carried: Scalars, fn: Functions
) -> list[Any]:
    """What friction under load adds to the torques of the drives that transmit `carried`."""
    more = friction.load_friction(here.chain, here.rates(qd), here.spread(carried), fn)
    return [more[k] for k in here.chain.active]
