"""One instant of a motion: a chain, its coordinates and their rates, and what acts on it."""

from dataclasses import dataclass
from typing import Any

from ..lazy import cached_property
from ..model.chain import Chain
from ..spatial.frames import Frame
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars
from . import coupling
from .kinematics import poses


@dataclass(frozen=True)
class Instant:
    """q, qd, qdd of the coordinates; x, xd, xdd of the joints of the tree."""

    chain: Chain
    fn: Functions
    q: Scalars
    qd: Scalars
    qdd: Scalars
    wrench: Any = None  # (f, n) that the tool exerts on the world
    base_motion: Any = None
    link_forces: Any = None  # (f, n) that every link exerts
    method: str = "newton-euler"  # of the bodies
    qd_ref: Any = None  # C(q, qd) qd_ref instead of C(q, qd) qd, and no friction

    @cached_property
    def x(self) -> Scalars:
        """Positions of the joints of the tree."""
        return coupling.positions(self.chain, self.q)

    @cached_property
    def xd(self) -> Scalars:
        """Velocities of the joints of the tree."""
        return coupling.rates(self.chain, self.qd)

    @cached_property
    def xdd(self) -> Scalars:
        """Accelerations of the joints of the tree."""
        return coupling.rates(self.chain, self.qdd)

    @cached_property
    def poses(self) -> list[Frame]:
        """Frames of the joints in the reference frame."""
        return poses(self.chain, self.x, self.fn)


def at_rest(chain: Chain, fn: Functions, q: Scalars) -> Instant:
    """The instant of an arm that stands still."""
    still = [0.0] * chain.n
    return Instant(chain, fn, q, still, still)
