"""Causes that are tried before they are named: tilted bases, springs, filters, described masses.

A wrong reading of a log often looks like another one: an arm on a wall like exchanged columns, a
gravity that is not there like friction that drives a joint. Each cause is carried out on the log,
and what it explains decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...errors import DynamisError
from ...model.check.finding import Finding
from ..unknowns import RIGID, Unknowns

if TYPE_CHECKING:
    from .diagnose import Excerpt

G = 9.81  # m/s^2
ROWS = 150  # that a tilt is tried on
STEPS = (0.4, 0.2, 0.1, 0.05, 0.025)  # rad, of the search for a direction
AS_DESCRIBED = 0.1  # of the misfits' product per rad: what shows no direction leaves it described
TILTED = np.radians(5.0)  # a base that is tilted less is described well enough
DRIVES = 0.05  # of the size of torque times speed: friction that feeds in more has a wrong sign
MOST_JOINTS = 0.8  # of the joints are driven: time or all signs are wrong
SEVERAL = 3.0  # times the Coulomb friction: an offset that large is no friction
CERTAIN = 5.0  # standard deviations of an offset
CARRIES = 0.2  # of a joint's torque is gravity: it carries
HELPS = 0.8  # of what is left over remains at most with a spring
FASTEST = 0.03  # rad/s or m/s: within which friction changes its sign here


def relative_misfits(
    A: np.ndarray, tau: np.ndarray, rounds: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Relative error of every joint (n,) of A (N, n, m) x = tau (N, n), joints weighted; and x."""
    sizes = np.maximum(np.linalg.norm(tau, axis=0), 1e-300)
    used = np.abs(A).max(axis=(0, 1)) > 1e-12
    B, weights, x = A[..., used], 1.0 / sizes, np.zeros(used.sum())
    scale = np.maximum(np.linalg.norm(B.reshape(-1, B.shape[-1]), axis=0), 1e-300)
    for _ in range(rounds):
        rows = (B / scale * weights[:, None]).reshape(-1, B.shape[-1])
        x = np.linalg.lstsq(rows, (tau * weights).ravel(), rcond=1e-9)[0] / scale
        left = np.linalg.norm(tau - B @ x, axis=0)
        weights = 1.0 / np.maximum(left, 1e-6 * sizes)
    full = np.zeros(A.shape[-1])
    full[used] = x
    return left / sizes, full


@dataclass(frozen=True, eq=False)
class Tilt:
    """A direction of gravity: how well it explains a log, and how far from the described one."""

    gravity: np.ndarray  # m/s^2
    angle: float  # rad
    misfits: np.ndarray  # (n,)
    power: np.ndarray  # (n,), that friction takes, next to the size of torque times speed


class Tilts:
    """Fits of a log under gravity from other directions; the regressor is linear in gravity."""

    def __init__(self, unknowns: Unknowns, rows: "Excerpt"):
        robot = unknowns.robot
        keep = np.flatnonzero(rows.weight.any(axis=1))
        keep = keep[:: max(1, len(keep) // ROWS)]
        self.weight = rows.weight[keep]
        q, qd, qdd = (x[keep] for x in (rows.q, rows.qd, rows.qdd))
        self.tau, self.qd = rows.torque()[keep] * self.weight, qd * self.weight
        body = np.array([place.part == "bodies" for place in unknowns.places])
        rest = np.zeros_like(q)
        self.inertial = robot.with_gravity((0, 0, 0)).regressor(q, qd, qdd)[..., body]
        self.by_axis = [
            robot.with_gravity(tuple(axis)).regressor(q, rest, rest)[..., body]
            for axis in np.eye(3)
        ]
        columns = [k for k, kind in enumerate(unknowns.kinds) if kind not in RIGID]
        friction = unknowns.tree_regressor(rest, qd, rest)[..., columns]
        rotors = qdd[..., None] * np.eye(q.shape[1])
        self.beside = np.concatenate([rotors, friction], axis=-1)
        self.friction = len(columns)
        self.described = np.array([float(x) for x in robot.model.gravity], dtype=float)

    def tried(self, gravity: np.ndarray) -> Tilt:
        """The fit under one gravity."""
        bodies = self.inertial + sum(g * Y for g, Y in zip(gravity, self.by_axis, strict=True))
        A = np.concatenate([bodies, self.beside], axis=-1) * self.weight[..., None]
        misfits, x = relative_misfits(A, self.tau)
        rub = A[..., -self.friction :] @ x[-self.friction :] if self.friction else 0.0 * self.tau
        size = np.linalg.norm(self.tau, axis=0) * np.linalg.norm(self.qd, axis=0)
        power = (rub * self.qd).sum(axis=0) / np.maximum(size, 1e-300)
        return Tilt(gravity, self._angle(gravity), misfits, power)

    def _angle(self, gravity: np.ndarray) -> float:
        a, b = self.described, gravity
        lengths = max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-300)
        return float(np.arccos(np.clip(a @ b / lengths, -1.0, 1.0)))

    def best(self) -> Tilt:
        """The fit under the direction that explains most."""
        size = float(np.linalg.norm(self.described)) or G

        def score(tilt: Tilt) -> float:
            return float(np.log(tilt.misfits + 1e-9).sum()) + AS_DESCRIBED * tilt.angle

        grid = [np.array(x, dtype=float) for x in product((-1, 0, 1), repeat=3) if any(x)]
        now = self.tried(self.described)
        found = min([now, *(self.tried(size * x / np.linalg.norm(x)) for x in grid)], key=score)
        for step in STEPS:
            down = found.gravity / np.linalg.norm(found.gravity)
            across = np.linalg.svd(down[None])[2][1:]
            near = [down + s * step * x for x in across for s in (-1.0, 1.0)]
            tilts = [self.tried(size * x / np.linalg.norm(x)) for x in near]
            found = min([found, *tilts], key=score)
        return found


def best_tilt(unknowns: Unknowns, rows: "Excerpt") -> Tilt | None:
    """The fit under the gravity that explains most; None of closed or symbolic mechanisms."""
    if unknowns.robot.model.closures or unknowns.robot.n != rows.q.shape[1]:
        return None
    try:
        return Tilts(unknowns, rows).best()
    except (DynamisError, TypeError, ValueError):  # gravity or a size is a symbol
        return None


def tilted_base(tilt: Tilt, fall: str) -> Finding:
    """Gravity that comes from elsewhere; `fall` says what becomes of the error."""
    said = ", ".join(f"{x:.3g}" for x in tilt.gravity)
    what = (
        f"gravity seems to be ({said}) m/s^2, {np.degrees(tilt.angle):.0f} degrees from the "
        f"described one, as on a tilted base: {fall}"
    )
    return Finding("error", "gravity", what, "describe the base: robot.with_gravity(...)")


# friction that would drive a joint


def confirmed_driving(
    driving: Sequence[Finding],
    joints: Sequence[str],
    tilt: Tilt | None,
    worse_with_sign: Sequence[bool],
    at_cutoffs: Mapping[float, Sequence[Finding]],
) -> Iterator[Finding]:
    """Friction that would drive a joint, once gravity, signs and the filter are excluded.

    `tilt` is the fit under the gravity that explains most, `worse_with_sign` (n,) whether a torque
    of the other sign explains the log worse, `at_cutoffs` who is driven at other cut-offs (Hz).
    """
    if len(driving) > max(1.0, MOST_JOINTS * len(joints)):
        what = (
            "the friction of its joints would drive them: time runs backwards, or all torques (or "
            "all positions) have the opposite sign"
        )
        names = tuple(name for finding in driving for name in finding.joints)
        remedy = "check the order of the rows and the signs of the torques"
        yield Finding("error", "torques", what, remedy, names)
        return
    for finding in driving:
        (name,) = finding.joints
        j = joints.index(name)
        calm = [f for f, x in at_cutoffs.items() if not any(name in y.joints for y in x)]
        why = ""
        if calm:
            why = f"not with a cut-off of {calm[0]:.3g} Hz"
        elif tilt is not None and tilt.angle > TILTED and tilt.power[j] > -DRIVES:
            why = f"not under a gravity turned by {np.degrees(tilt.angle):.0f} degrees"
        elif worse_with_sign[j]:
            why = "but a torque of the other sign explains the log worse"
        if why:
            what = f"its friction would drive it, {why}"
            remedy = "look at the cut-off, at gravity and at the columns; friction='auto'"
            yield replace(finding, level="warning", what=what, remedy=remedy)
        else:
            yield finding


# springs


def offsets_of_springs(
    unknowns: Unknowns, x: np.ndarray, deviations: np.ndarray, gravity: np.ndarray
) -> Iterator[tuple[int, float, float]]:
    """Rows of turning joints whose offset is many times their Coulomb friction; both (N m).

    `gravity` (n,) is the share of gravity in every joint's torque.
    """
    robot = unknowns.robot
    for k in unknowns.of_kind("offset"):
        joint = unknowns.joints[k]
        row = unknowns.row_of(joint)
        turns = robot.joint_kinds[joint] == "revolute"
        if row is None or not turns or gravity[row] < CARRIES:
            continue
        own = [i for i in unknowns.of_kind("coulomb") if unknowns.joints[i] == joint]
        coulomb = float(sum(abs(x[i]) for i in own))
        if abs(x[k]) > max(SEVERAL * coulomb, CERTAIN * deviations[k]):
            yield row, float(x[k]), coulomb


def spring_asked(
    name: str, offset: float, coulomb: float, before: float, after: float, stiffness: float | None
) -> Finding:
    """The question of a spring, and what trying one gave; shares of the joint's torque."""
    what = f"its constant torque of {offset:.3g} N m is "
    what += f"{abs(offset) / coulomb:.2g} times its Coulomb friction" if coulomb else "not friction"
    what += ": a spring or a counterbalance? "
    remedy = f"dy.Spring(kind='torsion', joint='{name}') with robot.with_spring, if there is one"
    if stiffness is None:
        what += "a torsion spring cannot be told from gravity in this motion"
        return Finding("note", "fit", what, remedy, (name,))
    now, then = (f"{100 * share:.1f} %" for share in (before, after))
    tried = f"with a torsion spring of {stiffness:.3g} N m/rad"
    if after < HELPS * before:
        what += f"{tried} {then} of its torque is left over instead of {now}"
        return Finding("warning", "fit", what, remedy, (name,))
    what += f"{tried} {then} of its torque is left over, without {now}: it explains little"
    remedy = "check the zero of the torque sensor, and whether a weight or a cylinder balances it"
    return Finding("note", "fit", what, remedy, (name,))
