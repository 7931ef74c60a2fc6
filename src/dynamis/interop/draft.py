"""Drafts of robots that come from other libraries: links and joints, some fixed, as in a URDF."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..model.drive import Drive
from ..model.formats.urdf import plain_model
from ..model.formats.urdf_elements import Sketch, UrdfJoint, UrdfLink
from ..model.formats.urdf_write import free_name
from ..model.model import Model
from ..model.pose import pose
from ..spatial.frames import ORIGIN, Frame
from .rigid_tree import arrays

HUGE = 1e100  # a limit beyond this is none


@dataclass
class Draft:
    """Links and joints gathered one by one; names are made unique."""

    root: str = "base"
    links: dict[str, UrdfLink] = field(default_factory=dict)
    joints: list[UrdfJoint] = field(default_factory=list)
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)  # of links, by joint name

    def __post_init__(self) -> None:
        self.links[self.root] = UrdfLink(self.root)

    def link(self, wanted: str) -> str:
        """Add a link without mass; returns its name."""
        name = free_name(wanted, self.links)
        self.links[name] = UrdfLink(name)
        return name

    def weigh(self, name: str, mass: float, com: Any, inertia: Any, place: Frame = ORIGIN) -> None:
        """Give a link its body: inertia (3, 3) about the centre of mass, seen from `place`."""
        R, p = arrays(place)
        I = R @ np.asarray(inertia, dtype=float) @ R.T
        I = 0.5 * (I + I.T)
        six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[1, 2], I[0, 2])
        centre = tuple((R @ np.asarray(com, dtype=float) + p).tolist())
        self.links[name] = UrdfLink(name, float(mass), centre, tuple(map(float, six)))

    def joint(
        self,
        wanted: str,
        ends: tuple[str, str],
        place: Frame,
        kind: str = "fixed",
        axis: Any = (0.0, 0.0, 1.0),
        *,
        index: int | None = None,
        limit: Mapping[str, float] | None = None,
        mimic: tuple[str, float, float] | None = None,
        **changes: Any,
    ) -> str:
        """Add a joint between two links; `changes` are fields of the Link it becomes."""
        name = free_name(wanted, self.changes)
        here = pose(place, name)
        given: Any = {"xyz": here.xyz, "rpy": here.rpy, "axis": tuple(float(x) for x in axis)}
        given |= {"limit": dict(limit or {}), "mimic": mimic, "index": index}
        self.joints.append(UrdfJoint(name, *ends, kind, **given))
        self.changes[name] = changes
        return name

    def model(
        self, name: str, tip: str | None, lock: Mapping[str, float] | None = None, **fields: Any
    ) -> Model:
        """The model, fixed links merged and kept as named frames, joints in `lock` held."""
        found = plain_model(Sketch(name, self.links, tuple(self.joints)), name, tip, lock)
        links = tuple(replace(x, **self.changes[str(x.joint_name)]) for x in found.links)
        return replace(found, links=links, **fields)


def frame_of(R: Any, p: Any) -> Frame:
    """A frame of arrays."""
    rows = tuple(tuple(float(x) for x in row) for row in np.asarray(R, dtype=float))
    return Frame(rows, tuple(float(x) for x in np.asarray(p, dtype=float)))  # type: ignore[arg-type]


def reflected(armature: float, gear: float = 1.0, **rest: Any) -> Drive | None:
    """A drive whose rotor gives this inertia at the joint; None without a motor to speak of."""
    gear = float(gear) or 1.0
    drive = Drive(gear=gear, rotor_inertia=float(armature) / gear**2, **rest)
    return None if drive == Drive() else drive


def limits(low: float, high: float) -> dict[str, float]:
    """Limits of a joint, unless they are out of reach."""
    return {} if max(abs(low), abs(high)) > HUGE else {"lower": float(low), "upper": float(high)}
