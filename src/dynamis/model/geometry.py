"""Shapes of links and of the base: what can be drawn of them, and what they can run into.

    sphere    radius, about the origin of its placement
    capsule   all points within a radius of the segment from `from` to `to`
    box       size along x, y and z, about the origin
    cylinder  radius and length along z, about the origin
    mesh      a file of triangles, times `scale`; hull: its convex hull

A placement (xyz, rpy) is in the frame of a link, of a named frame or of the base.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..arguments import choice, is_list, strict
from ..errors import ModelError, shown
from ..spatial.frames import Frame, compose, from_xyz_rpy, point
from ..spatial.geometry import Solid, box, capsule, sphere
from .pose import pose
from .quantity import Scalar, Values, quantity_text, resolve, settle
from .schema import About, refuse_other_fields, settle_fields

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from .model import Model

KINDS: Mapping[str, tuple[str, ...]] = {  # the fields each kind must have
    "sphere": ("radius",),
    "capsule": ("from_", "to", "radius"),
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "hull": ("file",),
    "mesh": ("file",),
}
OPTIONAL: Mapping[str, tuple[str, ...]] = {"hull": ("scale",), "mesh": ("scale",)}
COMMON = ("kind", "name", "link", "xyz", "rpy", "use", "friction", "restitution", "source")
USES = ("collision", "visual")
SOLIDS = ("sphere", "capsule", "box")  # whose distances are computed here


class Source:
    """Where a shape was read: the folder that `file` is seen from, and its element of a URDF.

    `colour` are three bytes; of a `closed` source, an upload, no file is opened.
    """

    __slots__ = ("closed", "colour", "element", "folder")

    def __init__(
        self,
        folder: Path | None = None,
        element: "Element | None" = None,
        colour: tuple[int, int, int] | None = None,
        closed: bool = False,
    ) -> None:
        self.folder, self.element, self.colour, self.closed = folder, element, colour, closed


@strict
@dataclass(frozen=True, kw_only=True, repr=False)
class Geometry:
    """A shape of a link or of the base.

    dy.Geometry(kind="capsule", link="link3", from_=(0, 0, 0), to=(0, 0, 0.4), radius=0.06)

    Kinds: sphere (`radius`), capsule (`from_`, `to`, `radius`), box (`size`), cylinder (`radius`,
    `length` along z), mesh and hull (`file`, `scale`). `link` names a link, a named frame or the
    base (default); `xyz` and `rpy` place the shape there. `use` says what it is for: "collision",
    "visual" or both. In a robot's file `from_` is written `from`. With `friction` or `restitution`
    a contact has the geometric mean of both frictions and the larger restitution, else those of
    what stands there.
    """

    kind: Annotated[str, About("sphere, capsule, box, cylinder, hull or mesh")] = ""
    name: Annotated[str | None, About("geometry1, geometry2, ...")] = None
    link: Annotated[str | None, About("link or named frame; the base")] = None
    xyz: Annotated[Any, About("placement: origin in that frame", "m", 3)] = (0.0, 0.0, 0.0)
    rpy: Annotated[Any, About("placement: roll, pitch, yaw", "rad", 3)] = (0.0, 0.0, 0.0)
    from_: Annotated[Any, About("capsule: one end", "m", 3, key="from", label="from")] = None
    to: Annotated[Any, About("capsule: the other end", "m", 3)] = None
    radius: Annotated[Scalar | None, About("sphere, capsule, cylinder", "m", above=0.0)] = None
    length: Annotated[Scalar | None, About("cylinder: along z", "m", above=0.0)] = None
    size: Annotated[Any, About("box: along x, y, z", "m", 3, above=0.0)] = None
    file: Annotated[str | None, About("mesh, hull: of triangles")] = None
    scale: Annotated[Any, About("mesh, hull: of its coordinates", "-", 3)] = (1.0, 1.0, 1.0)
    use: Annotated[Any, About("collision, visual, or both")] = USES
    friction: Annotated[
        Scalar | None, About("Coulomb friction of its surface; the obstacle's", "-", least=0.0)
    ] = None
    restitution: Annotated[
        Scalar | None,
        About("speed after an impact, of that before; the obstacle's", "-", least=0.0),
    ] = None
    source: Annotated[Source | None, About("where it was read", key=None)] = field(
        default=None, compare=False
    )

    def __post_init__(self) -> None:
        choice(self.kind, "geometry.kind", KINDS)
        own = (*KINDS[self.kind], *OPTIONAL.get(self.kind, ()))
        refuse_other_fields(self, "geometry", (*COMMON, *own))
        for name in KINDS[self.kind]:
            if getattr(self, name) is None:
                raise ModelError(
                    f"geometry.{name.rstrip('_')} is missing, which kind {self.kind!r} needs; it "
                    f"has {', '.join(x.rstrip('_') for x in own)}"
                )
        uses = (self.use,) if isinstance(self.use, str) else self.use
        if not is_list(uses) or not len(uses):
            raise ModelError(f"geometry.use is {shown(self.use)}, expected {' or '.join(USES)}")
        for use in uses:
            choice(use, "geometry.use", USES)
        settle(self, use=tuple(x for x in USES if x in uses))
        for name in ("name", "link", "file"):
            given = getattr(self, name)
            if given is not None and (not isinstance(given, str) or not given):
                raise ModelError(f"geometry.{name} is {shown(given)}, expected a non-empty text")
        settle_fields(self, "geometry.")

    def __repr__(self) -> str:
        own = {
            name: getattr(self, name)
            for name, x in self.__dataclass_fields__.items()
            if x.compare and (name == "kind" or getattr(self, name) != x.default)
        }
        return f"Geometry({', '.join(f'{name}={value!r}' for name, value in own.items())})"

    def placement(self, values: Values) -> Frame:
        """Where the shape is in the frame that carries it."""
        return from_xyz_rpy(resolve(self.xyz, values), resolve(self.rpy, values))


def moved_shape(shape: Geometry, T: Frame) -> Geometry:
    """A shape, of numbers alone, seen from the frame that T takes its own to."""
    place = pose(compose(T, shape.placement({})), "geometry")
    return replace(shape, xyz=place.xyz, rpy=place.rpy)


def solid_of(shape: Geometry, values: Values, T: Frame) -> Solid:
    """A sphere, capsule or box seen from the frame that T takes its carrier's to."""
    at = compose(T, shape.placement(values))
    own = {name: resolve(getattr(shape, name), values) for name in KINDS[shape.kind]}
    if shape.kind == "box":
        return box(at, own["size"])
    if shape.kind == "sphere":
        return sphere(at.p, own["radius"])
    return capsule(point(at, own["from_"]), point(at, own["to"]), own["radius"])


GEOMETRY_COLUMNS = ("geometry", "of", "placement", "shape", "use")


def geometry_row(shape: Geometry, base: str) -> tuple[str, str, str, str, str]:
    """For a table: name and kind, what carries it, where, its sizes, what it is for."""
    turned = any(isinstance(x, str) or x != 0.0 for x in shape.rpy)
    place = quantity_text(shape.xyz) + (f" rpy {quantity_text(shape.rpy)}" if turned else "")
    words = [f"{name.rstrip('_')} {shown_size(getattr(shape, name))}" for name in KINDS[shape.kind]]
    named = f"{shape.name} ({shape.kind})"
    return named, shape.link or base, place, ", ".join(words), ", ".join(shape.use)


def shown_size(value: Any) -> str:
    """A size, or the name of a file, as text."""
    return value if isinstance(value, str) else quantity_text(value)


def carrier(model: "Model", link: str | None) -> tuple[int, Frame]:
    """The link (-1: the base) that carries a named frame or itself, and the frame's place on it."""
    for frame in model.frames:
        if frame.name == link:
            return model.link_index(frame.link), frame.pose.frame(model.values)
    return model.link_index(link), Frame()
