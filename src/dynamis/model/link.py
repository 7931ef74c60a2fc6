"""One link with the joint that moves it, in the user's own frame."""

import re
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from ..arguments import flag, is_list, one_of, strict
from ..errors import ModelError, counted, shown
from ..spatial.functions import MATH, Functions, cos_sin
from ..spatial.inertia import Inertia, entries, from_com, from_entries, from_linear, symmetric_of
from ..spatial.vectors import ZERO, Vector, scale
from .drive import Drive
from .friction import Friction
from .quantity import Expression, Scalar, Values, check_direction, quantities, resolve, settle
from .schema import About, settle_fields

JOINTS = ("revolute", "prismatic")
Dh = partial(About, group="geometry")
Body = partial(About, group="body")
Limit = partial(About, group="limits")
VARIABLE = re.compile(r"(q|qd|qdd)([1-9][0-9]*)")  # names of joint variables in equations


@strict
@dataclass(frozen=True, kw_only=True)
class Link:
    """A link: where its joint sits, what it weighs, what resists and drives it.

    The joint is placed by d, a, alpha, theta, offset (either DH convention) or by parent, xyz,
    rpy, axis (URDF). The body is given by mass, centre of mass (`com`, or `com_factor` times the
    DH vector p_i) and `inertia` about the centre of mass, or by its ten `linear` parameters.
    """

    joint: Annotated[str, About("revolute or prismatic")] = "revolute"
    name: Annotated[str | None, About("link1, link2, ...")] = None
    joint_name: Annotated[str | None, About("joint1, joint2, ...")] = None
    # Denavit-Hartenberg
    d: Annotated[Scalar, Dh("along z", "m")] = 0.0
    a: Annotated[Scalar, Dh("along x", "m")] = 0.0
    alpha: Annotated[Scalar, Dh("about x", "rad")] = 0.0
    theta: Annotated[Scalar, Dh("about z, of a prismatic joint", "rad")] = 0.0
    offset: Annotated[Scalar, Dh("added to q", "{position}")] = 0.0
    # URDF
    parent: Annotated[str | None, About("link that carries the joint; the base")] = None
    xyz: Annotated[Any, Dh("of the joint in the parent's frame", "m", 3)] = None
    rpy: Annotated[Any, Dh("of the joint in the parent's frame", "rad", 3)] = None
    axis: Annotated[Any, Dh("of the joint in its own frame; z", "-", 3)] = None
    mimic: Annotated[
        tuple[str, Scalar, Scalar] | None,
        About("q = multiplier (q of the leader) + offset", group="mimic"),
    ] = None
    # body
    mass: Annotated[Scalar, Body("of the link", "kg", least=0.0)] = 0.0
    com: Annotated[Any, Body("centre of mass in the link's frame", "m", 3)] = None
    com_factor: Annotated[Scalar | None, Body("instead of com: times the DH vector", "-")] = None
    inertia: Annotated[
        Any, Body("Ixx Iyy Izz Ixy Iyz Ixz about com; or the first three, or 3x3", "kg m^2", 0)
    ] = None
    linear: Annotated[
        Any,
        Body("instead: m, m c, Ixx Ixy Iyy Ixz Iyz Izz about the origin", "SI", 0),
    ] = None
    # joint
    friction: Annotated[Friction, About("on the joint's side")] = Friction()
    drive: Annotated[Drive | None, About("on the motor's side")] = None
    limits: Annotated[Any, Limit("lowest, highest q", "{position}", 2, feature="joint limits")] = (
        None
    )
    velocity_limit: Annotated[
        Scalar | None, Limit("either way", "{velocity}", feature="velocity limits")
    ] = None
    effort_limit: Annotated[
        Scalar | None,
        Limit("either way", "{torque}", label="torque limit", feature="effort limits"),
    ] = None
    passive: Annotated[
        bool,
        About("no drive: moved by closures", group="passive"),
    ] = False

    def __post_init__(self) -> None:
        what = f"joint type {shown(self.joint)} does not exist"
        one_of(self.joint, JOINTS, f"{what}, expected 'revolute' or 'prismatic'")
        settle_fields(self, "")
        settle(self, passive=flag(self.passive, "passive"))
        if self.mimic is not None:
            given = tuple(self.mimic) if is_list(self.mimic) else ()
            if len(given) != 3:
                raise ModelError(
                    f"mimic is {shown(self.mimic)}, expected (leader joint, multiplier, offset)"
                )
            settle(self, mimic=(given[0], *quantities(given[1:], 2, "mimic")))
        self._check_friction_and_drive()
        self._check_geometry()
        self._check_body()

    def _check_friction_and_drive(self) -> None:
        if self.passive and (self.drive is not None or self.mimic is not None):
            other = "a drive" if self.drive is not None else f"mimic {self.mimic}"
            raise ModelError(
                f"joint {self.joint_name!r} is passive and has {other}",
                "a passive joint is moved by closures alone: take one of the two out",
            )
        if not isinstance(self.friction, Friction):
            raise ModelError(f"friction is {shown(self.friction)}, expected dy.Friction(...)")
        if self.drive is not None and not isinstance(self.drive, Drive):
            raise ModelError(f"drive is {shown(self.drive)}, expected dy.Drive(...)")
        name = f" {self.joint_name!r}" if isinstance(self.joint_name, str) else ""
        if self.friction.load != 0.0 and self.mimic is not None:
            raise ModelError(
                f"joint{name} has friction.load and mimics {self.mimic[0]!r}: what it transmits is "
                "part of what its leader does",
                "give friction.load at the leader",
            )
        if self.friction.load != 0.0 and self.drive and self.drive.efficiency != 1.0:
            raise ModelError(
                f"joint{name} has friction.load {self.friction.load} and drive.efficiency "
                f"{self.drive.efficiency}: both are the gear's losses under load",
                "give one of them",
            )
        if self.drive is not None and self.drive.lead is not None and self.joint != "prismatic":
            raise ModelError(
                f"{self.joint} joint{name} with drive.lead {self.drive.lead}: a screw moves a "
                "prismatic joint",
                "write motor turns per joint turn as gear",
            )

    def _check_geometry(self) -> None:
        if self.joint == "prismatic" and self.d != 0.0:
            raise ModelError(
                f"prismatic joint with d = {self.d}: there d is the variable",
                _implied("d", self.d, "shift"),
            )
        if self.joint == "revolute" and self.theta != 0.0:
            raise ModelError(
                f"revolute joint with theta = {self.theta}: there theta is the variable",
                _implied("theta", self.theta, "angle"),
            )
        check_direction(self.axis, "axis")

    def _check_body(self) -> None:
        if self.linear is not None:
            others = (self.com, self.com_factor, self.inertia)
            if self.mass != 0.0 or any(x is not None for x in others):
                raise ModelError(
                    "linear was given together with mass, com, com_factor or inertia",
                    "give the body once: either the ten linear parameters or mass, com, inertia",
                )
            settle(self, linear=quantities(self.linear, 10, "linear"))
            return
        if self.com is not None and self.com_factor is not None:
            raise ModelError("both com and com_factor were given, expected one of them")
        settle(self, inertia=inertia_entries(self.inertia))

    def p(self, q: Any, values: Values, fn: Functions) -> Vector:
        """p_i = (a, d sin alpha, d cos alpha): this frame's origin seen from the one before."""
        c, s = cos_sin(resolve(self.alpha, values, fn), fn)
        d = resolve(self.d, values, fn)
        if self.joint == "prismatic":
            d = resolve(self.offset, values, fn) + q
        return resolve(self.a, values, fn), d * s, d * c

    def body(self, values: Values, fn: Functions) -> Inertia:
        """Inertia about the origin of the user's link frame."""
        if self.linear is not None:
            return from_linear(resolve(self.linear, values, fn))
        inertia = from_entries(resolve(self.inertia, values, fn))
        return from_com(resolve(self.mass, values, fn), self.centre(values, fn), inertia)

    def centre(self, values: Values, fn: Functions = MATH) -> Vector:
        """Centre of mass in the user's link frame (com_factor at joint value zero)."""
        if self.com_factor is not None:
            return scale(resolve(self.com_factor, values, fn), self.p(0.0, values, fn))
        return resolve(self.com or ZERO, values, fn)

    @property
    def leader(self) -> str:
        """The joint that moves this link: its own, or the one that it mimics."""
        return str(self.mimic[0] if self.mimic else self.joint_name)

    @property
    def slides(self) -> bool:
        """Whether the centre of mass moves in the link with q (com_factor, prismatic)."""
        return self.com_factor is not None and self.joint == "prismatic"


def _implied(name: str, given: Scalar, constant: str) -> str:
    """What to write instead of the variable of a joint, or of a constant in its place."""
    shift = f"write the constant {constant} as offset"
    if not isinstance(given, Expression):
        return shift
    if given.symbols != (given.text,):
        return f"the variable is implied: {shift}"
    variable = given.text if VARIABLE.fullmatch(given.text) else "the variable, named q1, q2, ..,"
    return f"leave {name} out: {variable} is implied"


def inertia_entries(value: Any) -> tuple[Scalar, ...]:
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
        return entries(symmetric_of(tuple(rows)))  # type: ignore[arg-type]
    if len(value) == 3:
        return (*quantities(value, 3, "inertia"), 0.0, 0.0, 0.0)
    if len(value) == 6:
        return quantities(value, 6, "inertia")
    raise ModelError(
        f"inertia has {counted(len(value), 'entry')}, expected 6 (Ixx Iyy Izz Ixy Iyz Ixz), "
        "3 (the diagonal) or a 3x3 matrix"
    )
