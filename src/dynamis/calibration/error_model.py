"""The arm as built: small errors of every joint's placement, and how they move the tool.

With P_i the nominal placement of joint i behind the one before it and M_i its motion,

    T(q) = P_1 E_1 M_1(q_1 + c_1) ... P_n E_n M_n(q_n + c_n) T_tool E_tool
    E_i = Trans(x, y, z) Rot_x(a) Rot_y(b) Rot_z(zero)

Six numbers a joint and six of the tool are complete for any chain; which of them the observations
tell apart is found later (`identifiable`). c_i are corrections that depend on the posture: a
deflection by gravity, harmonics of an encoder, an error of the gear ratio.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compile.arrays import NUMPY
from ..dynamics import coupling
from ..dynamics.kinematics import poses
from ..lazy import cached_property
from ..model.chain import Chain, Joint
from ..spatial.frames import Frame, compose, translation
from ..spatial.rotations import multiply, rotation_x, rotation_y, rotation_z
from ..spatial.vectors import subtract

if TYPE_CHECKING:
    from ..robot import Robot

LENGTHS = ("x", "y", "z")
ANGLES = ("about_x", "about_y", "about_z")
ERRORS = (*LENGTHS, *ANGLES)  # of a placement, in the order in which they are applied
TOOL = -2  # in place of a joint's number: the tool's own placement
EXPANSION = 3e-5  # 1/K: prior of thermal growth; aluminium 2.3e-5
UNLOADED = 1e-2  # of the largest torque: what gravity does not load does not deflect
HARMONICS = ("sine", "cosine")


class Parameter(NamedTuple):
    """One unknown of the arm: its kind, the joint it is of, its unit and what is expected of it."""

    name: str
    kind: str  # zero, length, angle, compliance, gear, sine, cosine, expansion
    place: int  # tree index of a placement's joint or TOOL; entry of q of a correction; -1
    component: int  # of ERRORS; -1
    unit: str
    tolerance: float  # standard deviation of the prior about the nominal value


class Postures(NamedTuple):
    """Joint positions (N, n) with what deflects and warms the arm there."""

    q: np.ndarray
    torque: np.ndarray | None = None  # (N, n), that holds the arm against gravity
    warmth: np.ndarray | None = None  # (N,), K above the reference


@dataclass(frozen=True, eq=False)
class Motion:
    """Pose of a body at N postures, and how every parameter moves it.

    `V` and `W` (P, N, 3) are the velocity of its origin and its angular velocity per unit of every
    parameter, in the reference frame: a point p + R o of it moves by V + W x R o.
    """

    R: np.ndarray  # (N, 3, 3)
    p: np.ndarray  # (N, 3)
    V: np.ndarray
    W: np.ndarray

    def point(self, offset: np.ndarray) -> np.ndarray:
        """A point of the body in the reference frame, (N, 3)."""
        return self.p + self.R @ offset

    def columns(self, offset: np.ndarray) -> np.ndarray:
        """Derivatives of such a point by every parameter, (P, N, 3)."""
        return self.V + np.cross(self.W, self.R @ offset)


class Tolerances(NamedTuple):
    """Standard deviations expected of the errors of an arm as delivered."""

    length: float = 1e-3  # m
    angle: float = 5e-3  # rad


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """The unknowns of an arm, in the order in which they are preferred, and its motion by them."""

    robot: "Robot"
    tolerances: Tolerances = Tolerances()
    compliance: bool = False
    harmonics: bool = False
    gear: bool = False
    expansion: bool = False
    largest: Any = None  # torque of every joint, for the prior of its compliance

    @property
    def chain(self) -> Chain:
        """The nominal chain."""
        return self.robot.chain

    @cached_property
    def path(self) -> tuple[int, ...]:
        """Joints from the base to the tool."""
        return tuple(reversed(self.chain.ancestors(self.chain.tip)))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every candidate: joint zeros, lengths, angles, then what was asked for."""
        found: list[Parameter] = []
        for kind in ("zero", "length", "angle"):
            for i in self.path:
                name = self.robot.model.tree_joint_names[i]
                each = _errors(i, name, self.chain.joints[i].kind, self.tolerances)
                found += [x for x in each if x.kind == kind]
            each = _errors(TOOL, "tool", "", self.tolerances)
            found += [x for x in each if x.kind == kind]
        return (*found, *self._corrections())

    def _corrections(self) -> list[Parameter]:
        """Deflections before gears and harmonics: what is alike is explained by the first."""
        found = []
        largest = np.zeros(self.robot.n) if self.largest is None else np.asarray(self.largest)
        angle, length = self.tolerances.angle, self.tolerances.length
        moving = [k for k in range(self.robot.n) if self._carries(k)]
        units = {"revolute": ("rad", angle, "N m"), "prismatic": ("m", length, "N")}
        for k in moving if self.compliance else ():
            name, (unit, size, effort) = self.robot.joint_names[k], units[self._kind(k)]
            most = float(largest[k])
            if most > UNLOADED * float(largest.max()):
                found.append(Parameter(
                    f"{name}.compliance", "compliance", k, -1, f"{unit}/({effort})", size / most
                ))  # fmt: skip
        for k in moving if self.gear else ():
            found.append(
                Parameter(f"{self.robot.joint_names[k]}.gear", "gear", k, -1, "-", angle / np.pi)
            )
        for k in moving if self.harmonics else ():
            if self._kind(k) == "revolute":
                found += [
                    Parameter(f"{self.robot.joint_names[k]}.{x}", x, k, -1, "rad", 0.5 * angle)
                    for x in HARMONICS
                ]
        if self.expansion:
            found.append(Parameter("expansion", "expansion", -1, -1, "1/K", EXPANSION))
        return found

    def _kind(self, k: int) -> str:
        return self.robot.joint_kinds[k]

    def _carries(self, k: int) -> bool:
        """True if a coordinate moves a joint before the tool."""
        K = self.chain.coupling
        return any((i == k) if K is None else K[i][k] != 0.0 for i in self.path)

    @property
    def priors(self) -> np.ndarray:
        """Standard deviations of the parameters' priors, (P,)."""
        return np.array([x.tolerance for x in self.parameters])

    def of_kind(self, *kinds: str) -> np.ndarray:
        """Which parameters are of these kinds, (P,) bool."""
        return np.array([x.kind in kinds for x in self.parameters], dtype=bool)

    def errors(self, values: np.ndarray) -> dict[int, np.ndarray]:
        """The six errors of every joint's placement, and of the tool's."""
        found = {i: np.zeros(6) for i in (*self.path, TOOL)}
        for x, value in zip(self.parameters, values, strict=True):
            if x.component >= 0:
                found[x.place][x.component] = value
        return found

    def placement(self, i: int, error: np.ndarray) -> Frame:
        """P_i E_i"""
        return compose(self.chain.joints[i].placement, error_frame(error))

    def corrections(self, values: np.ndarray, at: Postures) -> np.ndarray:
        """Corrections added to the measured joint positions, (N, n)."""
        found = np.zeros_like(at.q)
        for x, value in zip(self.parameters, values, strict=True):
            if x.component < 0 and x.place >= 0 and value:
                found[:, x.place] += value * _shape(x, at)
        return found

    def _placed(self, values: np.ndarray, at: Postures) -> Chain:
        """The chain with errors; where it is warm its lengths depend on the posture."""
        errors, growth = self.errors(values), self._growth(values, at)
        joints: list[Joint] = list(self.chain.joints)
        for i in self.path:
            joint = joints[i]
            R, p = joint.placement
            if growth is not None:
                p = tuple(a + growth * b for a, b in zip(p, self._length(i), strict=True))
            placement = compose(Frame(R, p), error_frame(errors[i]))  # type: ignore[arg-type]
            joints[i] = joint._replace(placement=placement)
        R, p = self.chain.tool
        if growth is not None:
            p = tuple(a + growth * a for a in p)
        tool = compose(Frame(R, p), error_frame(errors[TOOL]))  # type: ignore[arg-type]
        return replace(self.chain, joints=tuple(joints), tool=tool)

    def _length(self, i: int) -> tuple[float, ...]:
        """Offset of a joint that grows with temperature: without the place of the base."""
        if i == TOOL:
            return self.chain.tool.p
        joint = self.chain.joints[i]
        p = joint.placement.p
        return p if joint.parent >= 0 else subtract(p, self.chain.base.p)

    def _growth(self, values: np.ndarray, at: Postures) -> np.ndarray | None:
        if not self.expansion or at.warmth is None:
            return None
        return float(values[-1]) * at.warmth

    def motion(
        self, values: np.ndarray, at: Postures, link: int | None = None, columns: bool = True
    ) -> Motion:
        """Motion of the tool, or of a link's own frame (-1: the reference frame), by parameters."""
        count = len(at.q)
        if link == -1:
            nothing = np.zeros((len(self.parameters) if columns else 0, count, 3))
            return Motion(np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3)), nothing, nothing)
        found = self._placed(values, at)
        q = at.q + self.corrections(values, at)
        x = coupling.positions(found, list(q.T))
        each = [_stacked(T, count) for T in poses(found, x, NUMPY)]
        end, place = (found.tip, found.tool) if link is None else (link, found.bodies[link].user)
        R, p = each[end]
        offset = np.stack([np.broadcast_to(x, count) for x in place.p], axis=1)
        p = p + np.einsum("nij,nj->ni", R, offset)
        R = R @ np.array(place.R)
        if not columns:
            nothing = np.zeros((0, count, 3))
            return Motion(R, p, nothing, nothing)
        return Motion(R, p, *self._columns(values, at, each, p, set(found.ancestors(end)), q, link))

    def _columns(
        self, values: np.ndarray, at: Postures, each: list, p: np.ndarray, moves: set[int],
        q: np.ndarray, link: int | None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """V and W of every parameter."""
        count = len(p)
        V = np.zeros((len(self.parameters), count, 3))
        W = np.zeros_like(V)
        errors, growth = self.errors(values), self._growth(values, at)
        ends = [TOOL] if link is None else []
        axes = {
            i: self._axes(i, errors[i], each, growth, count)
            for i in [*(i for i in self.path if i in moves), *ends]
        }
        for k, x in enumerate(self.parameters):
            if x.component >= 0 and x.place not in axes:
                continue
            if x.component >= 0:
                directions, origin = axes[x.place]
                V[k], W[k] = _velocity(x.component >= 3, directions[x.component], p - origin)
            elif x.place >= 0:
                V[k], W[k] = self._moved_by(x, at, each, p, moves)
        if self.expansion and at.warmth is not None:
            V[-1] = self._grown(at, each, p, moves, link)
        return V, W

    def _axes(
        self, i: int, error: np.ndarray, each: list, growth: np.ndarray | None, count: int
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Directions of the six errors of a placement, (N, 3) each, and where they turn it."""
        own = self.chain.tip if i == TOOL else self.chain.joints[i].parent
        place = self.chain.tool if i == TOOL else self.chain.joints[i].placement
        parent, o = (np.eye(3), np.zeros(3)) if own < 0 else each[own]
        A = parent @ np.array(place.R)
        origin = o + parent @ np.array(place.p) + A @ error[:3]
        if growth is not None:
            origin = origin + growth[:, None] * (parent @ np.array(self._length(i)))
        B = A @ np.array(rotation_x(float(error[3])))
        C = B @ np.array(rotation_y(float(error[4])))
        A, B, C = (np.broadcast_to(x, (count, 3, 3)) for x in (A, B, C))
        return [A[..., 0], A[..., 1], A[..., 2], B[..., 0], C[..., 1], C[..., 2]], origin

    def _moved_by(
        self, x: Parameter, at: Postures, each: list, p: np.ndarray, moves: set[int]
    ) -> tuple[Any, Any]:
        """A correction of a coordinate moves every joint that it is coupled to."""
        V = np.zeros_like(p)
        W = np.zeros_like(p)
        K, shape = self.chain.coupling, _shape(x, at)[:, None]
        for i in moves:
            weight = float(i == x.place) if K is None else float(K[i][x.place])
            if weight:
                R, o = each[i]
                v, w = _velocity(self.chain.joints[i].kind == "revolute", R[..., 2], p - o)
                V, W = V + weight * shape * v, W + weight * shape * w
        return V, W

    def _grown(
        self, at: Postures, each: list, p: np.ndarray, moves: set[int], link: int | None
    ) -> np.ndarray:
        """Velocity per unit of expansion."""
        found = np.zeros_like(p)
        for i in moves:
            joint = self.chain.joints[i]
            parent = np.eye(3) if joint.parent < 0 else each[joint.parent][0]
            found = found + parent @ np.array(self._length(i))
        if link is None:
            found = found + each[self.chain.tip][0] @ np.array(self.chain.tool.p)
        return found * np.asarray(at.warmth)[:, None]


def _errors(i: int, name: str, joint: str, size: Tolerances) -> list[Parameter]:
    """The six errors of one placement, the zero of a kind of joint among them."""
    own = {"revolute": 5, "prismatic": 2}.get(joint)
    found = []
    for c, word in enumerate(ERRORS):
        kind, unit, sd = ("length", "m", size.length) if c < 3 else ("angle", "rad", size.angle)
        end = "zero" if c == own else word
        found.append(Parameter(f"{name}.{end}", "zero" if c == own else kind, i, c, unit, sd))
    return found


def error_frame(e: np.ndarray) -> Frame:
    """Trans(x, y, z) Rot_x(a) Rot_y(b) Rot_z(zero)"""
    x, y, z, a, b, c = map(float, e)
    R = multiply(multiply(rotation_x(a), rotation_y(b)), rotation_z(c))
    return Frame(R, translation(x, y, z).p)


def _shape(x: Parameter, at: Postures) -> np.ndarray:
    """Factor of a parameter in its correction, (N,)."""
    q = at.q[:, x.place]
    if x.kind == "compliance":
        torque = np.zeros_like(at.q) if at.torque is None else at.torque
        return -torque[:, x.place]
    return {"gear": q, "sine": np.sin(q), "cosine": np.cos(q)}[x.kind]


def _velocity(turns: bool, axis: np.ndarray, arm: np.ndarray) -> tuple[Any, Any]:
    return (np.cross(axis, arm), axis) if turns else (axis, 0.0)


def _stacked(T: Frame, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (N, 3, 3) and origins (N, 3) of a frame whose scalars are arrays."""
    R, p = np.empty((count, 3, 3)), np.empty((count, 3))
    for i in range(3):
        p[:, i] = T.p[i]
        for j in range(3):
            R[:, i, j] = T.R[i][j]
    return R, p
