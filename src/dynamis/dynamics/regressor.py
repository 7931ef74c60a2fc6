"""The regressor Y: tau = Y(q, qd, qdd) parameters, columns as `model.parameters` names them.

What a law of one's own gives without its linear constants is left out.
"""

from typing import Any

from ..model.chain import Chain
from ..model.places import places
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars, transposed
from . import elements
from .instant import Instant
from .newton_euler import Given


def regressor(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions, qd_ref: Given = None,
    base_motion: Given = None,
) -> list[list[Any]]:  # fmt: skip
    """Y, (n, p). With qd_ref: columns of M qdd + C(q, qd) qd_ref + g; friction's are zero."""
    found = elements.columns(Instant(chain, fn, q, qd, qdd, base_motion=base_motion, qd_ref=qd_ref))
    return transposed([found[place] for place in places(chain)])
