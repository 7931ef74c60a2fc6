"""How a link's numbers place its joint: one row per convention.

Every row answers two questions about a link: what lies between the frame before and the joint's
axis (`before`), and where the user's link frame sits once the joint has moved (`after`). The joint
itself always moves about or along z. Adding a convention is adding a row.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import OptionError, did_you_mean
from ..spatial.frames import Frame, about_x, compose, from_xyz_rpy, inverse, translation
from ..spatial.functions import Functions
from ..spatial.rotations import normalised, rotation_z_to
from .link import Link
from .quantity import resolve

Place = Callable[[Link, Mapping[str, Any], Functions], Frame]


class Convention(NamedTuple):
    """Where the joint axis and the link frame are, and which fields of a link say so."""

    before: Place
    after: Place
    fields: tuple[str, ...]


def _nothing(link: Link, values: Mapping[str, Any], fn: Functions) -> Frame:
    return Frame()


def _standard_after(link: Link, values: Mapping[str, Any], fn: Functions) -> Frame:
    """Tx(a) Rx(alpha)"""
    a, alpha = resolve(link.a, values, fn), resolve(link.alpha, values, fn)
    return compose(translation(x=a), about_x(alpha, fn))


def _modified_before(link: Link, values: Mapping[str, Any], fn: Functions) -> Frame:
    """Rx(alpha) Tx(a), of the link before in Craig's numbering"""
    a, alpha = resolve(link.a, values, fn), resolve(link.alpha, values, fn)
    return compose(about_x(alpha, fn), translation(x=a))


def axis_frame(link: Link) -> Frame:
    """The rotation that turns z into the URDF axis."""
    return Frame(rotation_z_to(normalised(link.axis or (0.0, 0.0, 1.0))))


def _urdf_before(link: Link, values: Mapping[str, Any], fn: Functions) -> Frame:
    xyz = tuple(resolve(x, values, fn) for x in link.xyz or (0.0, 0.0, 0.0))
    rpy = tuple(resolve(x, values, fn) for x in link.rpy or (0.0, 0.0, 0.0))
    return compose(from_xyz_rpy(xyz, rpy, fn), axis_frame(link))  # type: ignore[arg-type]


def _urdf_after(link: Link, values: Mapping[str, Any], fn: Functions) -> Frame:
    return inverse(axis_frame(link))


DH_FIELDS = ("d", "a", "alpha", "theta", "offset")

CONVENTIONS: Mapping[str, Convention] = {
    "standard": Convention(_nothing, _standard_after, DH_FIELDS),
    "modified": Convention(_modified_before, _nothing, DH_FIELDS),
    "urdf": Convention(_urdf_before, _urdf_after, ("parent", "xyz", "rpy", "axis", "offset")),
}


def convention_named(name: Any) -> Convention:
    """The row of a convention; unknown names are answered with those that exist."""
    if not isinstance(name, str) or name not in CONVENTIONS:
        raise OptionError(
            f"convention {name!r} does not exist, expected 'standard' (Denavit-Hartenberg), "
            "'modified' (Craig) or 'urdf'",
            did_you_mean(str(name), CONVENTIONS),
        )
    return CONVENTIONS[name]
