"""One link with the joint that moves it, in the user's own frame."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..arguments import is_list, is_word
from ..errors import ModelError, OptionError, did_you_mean, shown
from ..spatial.functions import cos_sin
from ..spatial.inertia import Inertia, from_com, from_linear, symmetric_of
from ..spatial.vectors import Vector, scale
from .drive import Drive
from .friction import Friction
from .quantity import Expression, Scalar, quantities, quantity, resolve, strict

JOINTS = ("revolute", "prismatic")


@strict
@dataclass(frozen=True, kw_only=True)
class Link:
    """A link: where its joint sits, what it weighs, what resists and drives it.

    The joint is placed by d, a, alpha, theta, offset (either DH convention) or by parent, xyz,
    rpy, axis (URDF). The body is given by mass, centre of mass (`com`, or `com_factor` times the
    DH vector p_i) and `inertia` about the centre of mass, or by its ten `linear` parameters.
    """

    joint: str = "revolute"
    name: str | None = None
    joint_name: str | None = None
    # Denavit-Hartenberg
    d: Scalar = 0.0
    a: Scalar = 0.0
    alpha: Scalar = 0.0
    theta: Scalar = 0.0
    offset: Scalar = 0.0
    # URDF
    parent: str | None = None
    xyz: Any = None
    rpy: Any = None
    axis: Any = None
    mimic: tuple[str, Scalar, Scalar] | None = None  # leader joint, multiplier, offset
    # body
    mass: Scalar = 0.0
    com: Any = None
    com_factor: Scalar | None = None
    inertia: Any = None  # Ixx Iyy Izz Ixy Iyz Ixz about the centre of mass
    linear: Any = None
    # joint
    friction: Friction = Friction()
    drive: Drive | None = None
    limits: Any = None
    velocity_limit: Scalar | None = None
    effort_limit: Scalar | None = None

    def __post_init__(self) -> None:
        if not is_word(self.joint, JOINTS):
            raise OptionError(
                f"joint type {shown(self.joint)} does not exist, expected 'revolute' or "
                "'prismatic'",
                did_you_mean(self.joint, JOINTS),
            )
        for name in ("d", "a", "alpha", "theta", "offset", "mass"):
            self._set(name, quantity(getattr(self, name), name))
        for name in ("com_factor", "velocity_limit", "effort_limit"):
            if getattr(self, name) is not None:
                self._set(name, quantity(getattr(self, name), name))
        for name, count in (("com", 3), ("xyz", 3), ("rpy", 3), ("axis", 3), ("limits", 2)):
            if getattr(self, name) is not None:
                self._set(name, quantities(getattr(self, name), count, name))
        if self.mimic is not None:
            given = tuple(self.mimic) if is_list(self.mimic) else ()
            if len(given) != 3:
                raise ModelError(
                    f"mimic is {shown(self.mimic)}, expected (leader joint, multiplier, offset)"
                )
            leader, *numbers = given
            self._set("mimic", (leader, *quantities(numbers, 2, "mimic")))
        self._set_friction_and_drive()
        self._check_geometry()
        self._check_body()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _set_friction_and_drive(self) -> None:
        if not isinstance(self.friction, Friction):
            raise ModelError(f"friction is {shown(self.friction)}, expected dy.Friction(...)")
        if self.drive is not None and not isinstance(self.drive, Drive):
            raise ModelError(f"drive is {shown(self.drive)}, expected dy.Drive(...)")
        if self.drive is not None and self.drive.lead is not None and self.joint != "prismatic":
            name = f" {self.joint_name!r}" if self.joint_name else ""
            raise ModelError(
                f"{self.joint} joint{name} with drive.lead {self.drive.lead}: a screw moves a "
                "prismatic joint",
                "write motor turns per joint turn as gear",
            )

    def _check_geometry(self) -> None:
        if self.joint == "prismatic" and self.d != 0.0:
            raise ModelError(
                f"prismatic joint with d = {self.d}: there d is the variable",
                "write the constant shift as offset",
            )
        if self.joint == "revolute" and self.theta != 0.0:
            raise ModelError(
                f"revolute joint with theta = {self.theta}: there theta is the variable",
                "write the constant angle as offset",
            )
        if any(isinstance(x, Expression) for x in self.axis or ()):
            raise ModelError(f"axis is {[str(x) for x in self.axis]}, expected numbers")
        if self.axis is not None and not any(self.axis):
            raise ModelError("axis is (0, 0, 0), expected a direction")

    def _check_body(self) -> None:
        if isinstance(self.mass, float) and self.mass < 0:
            raise ModelError(f"mass is {self.mass}, expected >= 0")
        if self.linear is not None:
            if self.mass != 0.0 or any(
                x is not None for x in (self.com, self.com_factor, self.inertia)
            ):
                raise ModelError(
                    "linear was given together with mass, com, com_factor or inertia",
                    "give the body once: either the ten linear parameters or mass, com, inertia",
                )
            self._set("linear", quantities(self.linear, 10, "linear"))
            return
        if self.com is not None and self.com_factor is not None:
            raise ModelError("both com and com_factor were given, expected one of them")
        self._set("inertia", _inertia(self.inertia))

    def p(self, q: Any, values: Any, fn: Any) -> Vector:
        """p_i = (a, d sin alpha, d cos alpha): this frame's origin seen from the one before."""
        c, s = cos_sin(resolve(self.alpha, values, fn), fn)
        d = resolve(self.d, values, fn)
        if self.joint == "prismatic":
            d = resolve(self.offset, values, fn) + q
        return resolve(self.a, values, fn), d * s, d * c

    def body(self, values: Any, fn: Any) -> Inertia:
        """Inertia about the origin of the user's link frame (com_factor at joint value zero)."""
        if self.linear is not None:
            return from_linear([resolve(x, values, fn) for x in self.linear])
        m = resolve(self.mass, values, fn)
        Ixx, Iyy, Izz, Ixy, Iyz, Ixz = (resolve(x, values, fn) for x in self.inertia)
        if self.com_factor is not None:
            c = scale(resolve(self.com_factor, values, fn), self.p(0.0, values, fn))
        else:
            c = tuple(resolve(x, values, fn) for x in self.com or (0.0, 0.0, 0.0))
        return from_com(m, c, (Ixx, Ixy, Iyy, Ixz, Iyz, Izz))

    @property
    def slides(self) -> bool:
        """Whether the centre of mass moves in the link with q (com_factor, prismatic)."""
        return self.com_factor is not None and self.joint == "prismatic"

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols used anywhere in this link."""
        found: dict[str, None] = {}
        for value in _leaves(self):
            if isinstance(value, Expression):
                found.update(dict.fromkeys(value.symbols))
        return tuple(found)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (Link, Friction, Drive)):
        return [x for f in fields(value) for x in _leaves(getattr(value, f.name))]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [x for item in value for x in _leaves(item)]
    return [value]


def _inertia(value: Any) -> tuple[Scalar, ...]:
    """Six entries Ixx Iyy Izz Ixy Iyz Ixz from six, a diagonal of three, or a 3x3 matrix."""
    if value is None:
        return (0.0,) * 6
    if not is_list(value):
        raise ModelError(f"inertia is {shown(value)}, expected 6, 3 or 3x3 numbers")
    value = list(value)
    if len(value) == 3 and all(is_list(row) for row in value):
        rows = [quantities(row, 3, f"inertia[{i}]") for i, row in enumerate(value)]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            if rows[i][j] != rows[j][i]:
                raise ModelError(
                    f"inertia is not symmetric: entry [{i}][{j}] is {rows[i][j]}, "
                    f"[{j}][{i}] is {rows[j][i]}"
                )
        xx, xy, yy, xz, yz, zz = symmetric_of(tuple(rows))  # type: ignore[arg-type]
        return xx, yy, zz, xy, yz, xz
    if len(value) == 3:
        return (*quantities(value, 3, "inertia"), 0.0, 0.0, 0.0)
    if len(value) == 6:
        return quantities(value, 6, "inertia")
    raise ModelError(
        f"inertia has {len(value)} entries, expected 6 (Ixx Iyy Izz Ixy Iyz Ixz), "
        "3 (the diagonal) or a 3x3 matrix"
    )
