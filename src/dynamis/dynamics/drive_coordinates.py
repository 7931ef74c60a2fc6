"""A closed mechanism in the coordinates of its drives, as a control computer sees it.

Encoders tell the drives; the other joints follow from where they were by a fixed number of Newton
steps, J_d dx = -e, each held to a largest step and left out where the loops are singular:

    q = (drives, x),  qd = Z qd_i,  qdd = Z qdd_i + Zd qd_i,  tau = Z^T (torques of the tree)

What does not close then, or is near a singular configuration, is NaN. So is what nears one so fast
that it would be passed within a few samples: the drives do not tell on which side of it the other
joints are.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import OptionError, counted
from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars, plus
from .closed import Rows, mobility, or_nan, sparse_inner
from .closures import closure_error
from .coordinates import Closed

STEPS = 3  # from the sample before: drives that moved by 0.01 rad leave 1e-16
FARTHER = 6  # from the measured configuration to that of the reference
APPROACHES = 12  # from home to where the drives are at first
SINGULAR = 1e3  # condition of the loops beyond which a control computer does not trust them
NARROW = 0.1  # squared sine between rows of the loops, below which a singular place is near
FALL = 0.75**2  # share of it left after a sample: it would be gone in four


def controlled(chain: Chain) -> Chain:
    """The chain with the bound on its loops that a control computer has; others are refused."""
    found = mobility(chain)
    if not set(found.independent) <= set(chain.driven):
        raise OptionError(
            f"the mechanism has {counted(len(found.independent), 'degree')} of freedom that its "
            f"{counted(len(chain.driven), 'drive')} cannot decide: a controller cannot know "
            "where it is",
            "use dy.control.JointPID without gravity, or give more joints a drive",
        )
    return replace(chain, condition=min(chain.condition, SINGULAR))


class Placed(Closed):
    """The coordinates of a chain (of `controlled`) placed by its drives.

    Rates and torques are those of the drives. `sound` if the loops close and are far enough from a
    singular configuration; `lost` if they close and near one.
    """

    def __init__(self, chain: Chain, q: Sequence[Any], fn: Functions, before: Closed | None = None):
        super().__init__(chain, list(q), fn)
        fine = 1.0 * self.gram.sound
        if before is not None:
            now = _margin(self, fn)
            nearing = (now < NARROW) * (now < FALL * _margin(before, fn))
            fine = fn.select(nearing, 0.0, fine)
        self.sound, self.lost = self.closes * fine, self.closes * (fine == 0.0)

    @property
    def on(self) -> "Placed":
        """The coordinates themselves."""
        return self

    def good(self, *motion: Scalars) -> Any:
        """Whether it is sound: every motion follows from the drives."""
        return self.sound

    def joint_rates(self, qd: Scalars) -> list[Any]:
        """Rates of all joints from those of the drives."""
        return self.rates(self.of_independent(qd))

    def joint_accelerations(
        self, qdd: Scalars, rates: Scalars, moved: Scalars | None = None
    ) -> list[Any]:
        """Accelerations of all joints, from rates of all joints and accelerations of the drives.

        With `moved` = Z v: Z vd + Zd v along the rates.
        """
        drift = self.drift(rates, rates if moved is None else moved)
        return plus(self.rates(self.of_independent(qdd)), drift)

    def of_independent(self, values: Scalars) -> list[Any]:
        """Values of the independent joints among values of the drives."""
        places = {k: i for i, k in enumerate(self.drives)}
        return [values[places[k]] for k in self.mobility.independent]

    def of_drives(self, values: Scalars) -> list[Any]:
        """Values of the drives among values of all joints."""
        return [values[k] for k in self.drives]

    def all_from_drives(self, values: Scalars) -> list[Any]:
        """Values of the drives as those of all joints, the others zero."""
        found: list[Any] = [0.0] * self.chain.n
        for k, value in zip(self.drives, values, strict=True):
            found[k] = value
        return found

    def torques(self, h: Scalars, *motion: Scalars) -> list[Any]:
        """Torques of the drives that carry torques of all joints of the tree."""
        _, tau, sound = self.shared(h)
        return or_nan(self.of_drives(tau), self.sound * sound, self.fn)

    carried = torques

    def per_drive(self, rows: Rows) -> list[list[Any]]:
        """A Z: rows over all joints as rows over the drives, which must be independent."""
        Z, places = self.Z, self.mobility.independent
        columns = [Z[places.index(k)] for k in self.drives]
        return [self.certain([sparse_inner(row, z) for z in columns]) for row in rows]

    def per_drive_dot(self, rows: Rows, before: Rows, rates: Scalars) -> Rows:
        """The rate of `before` per drive, `rows` being that of `before` over all joints.

        (J Z)' = Jd Z + J Zd, by rows: Z^T of a row of Jd, and Zd^T of one of J.
        """
        return [self.turned(a, b, rates) for a, b in zip(rows, before, strict=True)]

    def torque_columns(self, columns: Rows) -> Rows:
        """Columns of torques of all joints, each as torques of the drives."""
        if len(self.drives) == len(self.mobility.independent):
            return self.per_drive(columns)
        return [self.torques(column) for column in columns]


def _margin(found: Closed, fn: Functions) -> Any:
    """How far the loops are from singular, 1 at best: the least squared sine between rows.

    A row that is smaller than usual counts as a smaller sine.
    """
    least: Any = 1.0
    for row, d, size in zip(found.dependent, found.gram.D, found.mobility.sizes, strict=True):
        least = fn.min(least, d / fn.max(sparse_inner(row, row), size))
    return least


def followed(
    chain: Chain, drives: Scalars, near: Scalars, fn: Functions, steps: int = STEPS,
    sampled: bool = False,
) -> Placed:  # fmt: skip
    """The drives where they are, the other joints by Newton steps from where they were.

    `sampled`: they were there at the sample before.
    """
    q = _placed(chain, drives, near)
    before = Closed(chain, q, fn) if sampled else None
    for _ in range(steps):
        q = Closed(chain, q, fn).closing_step()
    return Placed(chain, q, fn, before)


def closing_step(
    chain: Chain, q: Scalars, qd_active: Scalars, fn: Functions
) -> tuple[list[Any], list[Any], list[Any], Any]:
    """q after one of Newton's steps of the dependent joints; at q, qd = Z qd_i, e and status."""
    on = Closed(chain, q, fn)
    return on.closing_step(), on.rates(qd_active), closure_error(chain, q, fn), on.status


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
    start = (home[k] for k in chain.driven)
    part = [a + share * (b - a) for a, b in zip(start, drives, strict=True)]
    return Closed(chain, _placed(chain, part, q), fn).closing_step()


def _placed(chain: Chain, drives: Scalars, q: Scalars) -> list[Any]:
    """q with the independent joints where their drives are."""
    places, moved = {k: i for i, k in enumerate(chain.driven)}, list(q)
    for k in mobility(chain).independent:
        moved[k] = drives[places[k]]
    return moved
