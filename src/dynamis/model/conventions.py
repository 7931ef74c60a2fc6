"""How a link's numbers place its joint: one row per convention.

Every row answers two questions about a link: what lies between the frame before and the joint's
axis (`before`), and where the user's link frame sits once the joint has moved (`after`). The joint
itself always moves about or along z. Adding a convention is adding a row.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..arguments import one_of
from ..spatial.frames import Frame, about_x, compose, from_xyz_rpy, inverse, translation
from ..spatial.functions import Functions
from ..spatial.rotations import normalised, rotation_z_to
from ..spatial.vectors import ZERO, Z
from .link import Link
from .quantity import Values, resolve

Place = Callable[[Link, Values, Functions], Frame]


class Convention(NamedTuple):
    """Where the joint axis and the link frame are, and which fields of a link say so."""

    before: Place
    after: Place
    fields: tuple[str, ...]
    frames_before: bool = False  # z of the frame before is the joint's axis


def _standard_after(link: Link, values: Values, fn: Functions) -> Frame:
    """Tx(a) Rx(alpha)"""
    a, alpha = resolve((link.a, link.alpha), values, fn)
    return compose(translation(x=a), about_x(alpha, fn))


def _modified_before(link: Link, values: Values, fn: Functions) -> Frame:
    """Rx(alpha) Tx(a), of the link before in Craig's numbering"""
    a, alpha = resolve((link.a, link.alpha), values, fn)
    return compose(about_x(alpha, fn), translation(x=a))


def axis_frame(link: Link) -> Frame:
    """The rotation that turns z into the URDF axis."""
    return Frame(rotation_z_to(normalised(link.axis or Z)))


def _urdf_before(link: Link, values: Values, fn: Functions) -> Frame:
    xyz, rpy = resolve((link.xyz or ZERO, link.rpy or ZERO), values, fn)
    return compose(from_xyz_rpy(xyz, rpy, fn), axis_frame(link))


def _nothing(*_: Any) -> Frame:
    return Frame()


DH_FIELDS = ("d", "a", "alpha", "theta", "offset")

CONVENTIONS: Mapping[str, Convention] = {
    "standard": Convention(_nothing, _standard_after, DH_FIELDS, frames_before=True),
    "modified": Convention(_modified_before, _nothing, DH_FIELDS),
    "urdf": Convention(
        _urdf_before,
        lambda link, *_: inverse(axis_frame(link)),
        ("parent", "xyz", "rpy", "axis", "offset"),
    ),
}


def convention_named(name: Any) -> Convention:
    """The row of a convention; unknown names are answered with those that exist."""
    expected = "'standard' (Denavit-Hartenberg), 'modified' (Craig) or 'urdf'"
    one_of(name, CONVENTIONS, f"convention {name!r} does not exist, expected {expected}")
    return CONVENTIONS[name]
