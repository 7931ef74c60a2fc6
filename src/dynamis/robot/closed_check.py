"""Preflight of closed mechanisms: how they move, by which drives, and where they close."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..dynamics.mobility import immobile, known_assemblies
from ..errors import counted, worded
from ..model.check.finding import Finding, listed
from ..model.closure import KINDS
from .closing import undriven
from .placing import closure_frames, joint_frames, plane_of

if TYPE_CHECKING:
    from . import Robot

BOUNDED = 400  # starts within the joint limits, for an assembly that keeps them
HELD = 1e-6  # rate at which a condition opens, per rate of a motion that it does not hold


class Tried(NamedTuple):
    """Configurations at which a robot is looked at: the first ones have names."""

    names: tuple[str, ...]
    q: np.ndarray

    def where(self, bad: np.ndarray) -> str:
        """In which of them, as a finding says it."""
        names = [repr(name) for name, wrong in zip(self.names, bad, strict=False) if wrong]
        if names:
            return "in configuration " + ", ".join(names)
        return f"in {100 * bad.mean():.0f} % of the configurations tried"


def check_closed(robot: "Robot", tried: Tried) -> tuple[list[Finding], Tried]:
    """Findings about the loops, and the configurations tried as they close."""
    from ..ik.assemble import CLOSED, nearest

    named, anywhere = np.split(tried.q, [len(tried.names)])
    findings, good = _configurations(robot, named)
    q, left = nearest(robot, anywhere)
    q = q[left <= CLOSED]
    findings += _limits(robot, q)
    if not len(q):
        q = np.array(known_assemblies(robot.chain, robot.model))
    q = q[robot.closure_status(q) == 0.0]
    names = tuple(name for name, fits in zip(tried.names, good, strict=True) if fits)
    closed = Tried(names, np.concatenate([named[good], q]))
    findings += _drives(robot)
    if len(closed.q):
        findings += [_mobility(robot, closed.q[-1]), *_immobile(robot, closed.q)]
    return findings, closed


def _configurations(robot: "Robot", q: np.ndarray) -> tuple[list[Finding], np.ndarray]:
    """Named positions that do not close, or at which the drives do not decide; the others."""
    from ..ik.assemble import CLOSED, nearest

    found = []
    status = np.reshape(robot.closure_status(q), len(q))
    for name, position, now in zip(robot.configurations, q, status, strict=True):
        where = f"configuration {name!r}"
        if now == 2.0:
            error = np.abs(robot.closure_error(position))
            row, bound = robot.closure_rows[int(np.argmax(error))], robot.chain.tolerance
            what = f"does not close: {row} is open by {error.max():.3g} m or rad, at most {bound:g}"
            (near,), (left,) = nearest(robot, position[None])
            remedy = "give one that closes, as robot.assemble(q_active) finds them"
            if left <= CLOSED:
                remedy = f"robot.project finds {listed(near)} near it; write all its digits"
            found.append(Finding("error", where, what, remedy))
        elif now == 1.0:
            what = "is near a singular configuration: the drives do not decide the other joints"
            remedy = "the dynamics of the drives refuses there; give another one to start from"
            found.append(Finding("warning", where, what, remedy))
    return found, status == 0.0


def _limits(robot: "Robot", q: np.ndarray) -> list[Finding]:
    """Joint limits that no assembly keeps; q are assemblies anywhere."""
    from ..ik.assemble import CLOSED, nearest
    from ..ik.geometry import JointSpace, outside

    limits = robot.limits
    if not np.isfinite(limits).any() or (limits[:, 0] > limits[:, 1]).any():
        return []
    beyond = outside(JointSpace.of(robot, 1.0).into_limits(q, limits), limits)
    if not beyond.any(axis=1).all():
        return []
    low, high = np.clip(limits, -np.pi, np.pi).T
    starts = np.random.default_rng(1).uniform(low, high, (BOUNDED, robot.n))
    _, left = nearest(robot, starts, bounds=limits)
    if (left <= CLOSED).any():
        return []
    limited = [k for k in range(robot.n) if np.isfinite(limits[k]).any()]
    blamed = [k for k in limited if len(q) and beyond[:, k].all()] or limited
    names = worded(repr(robot.joint_names[k]) for k in blamed)
    what = "no assembly of the closures was found within the limits"
    remedy = (
        "correct the limits, or the zeros of the joints; robot.assemble(q_active) has no limits"
    )
    return [Finding("error", f"joint{'s' * (len(blamed) > 1)} {names}", what, remedy)]


def _mobility(robot: "Robot", q: np.ndarray) -> Finding:
    """Degrees of freedom as joints and conditions are counted, and as their rank has them."""
    rows, mobility = robot.closure_rows, robot.chain.mobility
    assert mobility is not None
    frames = robot.frames(q)
    kinds = tuple(link.joint for link in robot.model.links)
    normal = plane_of(joint_frames(robot, frames)[:, :3, 2], kinds)
    what = f"{counted(robot.dof, 'degree')} of freedom wherever it was looked at; "
    what += f"counted (Gruebler, Kutzbach): {robot.n} joints less {len(rows)} conditions"
    what += f" = {robot.n - len(rows)}"
    if normal is not None:
        held = planar_conditions(robot, frames, normal)
        what += f" in space, less {held} = {robot.n - held} in its plane"
    implied = [name for r, name in enumerate(rows) if r not in mobility.rows]
    remedy = "nothing to do: every condition counts"
    if implied:
        what += f"; {worded(implied)} follow{'s' * (len(implied) == 1)} from the others"
        remedy = (
            "right if it is meant: conditions that follow from others carry no force here; a kind "
            "that holds less (ball instead of pin) does without"
        )
    return Finding("note", "mobility", what, remedy)


def planar_conditions(robot: "Robot", frames: np.ndarray, normal: np.ndarray) -> int:
    """Conditions of the closures in the plane across a normal: what each holds of two positions
    and an angle.
    """
    total = 0
    across = np.eye(3) - np.outer(normal, normal)
    pairs = closure_frames(robot, frames)[..., :3, :3]
    for closure, (A, B) in zip(robot.model.closures, pairs, strict=True):
        kind = KINDS[closure.kind]
        if closure.kind == "rod":
            total += 1
            continue
        total += int(np.linalg.matrix_rank(across @ A[:, list(kind.along)], tol=HELD))
        turning = np.cross(normal, B, axisb=0, axisc=0)  # of the second frame's axes
        rates = [sum(s * (A[:, i] @ turning[:, j]) for s, i, j in turn) for turn in kind.turns]
        total += int(any(abs(rate) > HELD for rate in rates))
    return total


def _drives(robot: "Robot") -> list[Finding]:
    """Drives next to degrees of freedom: too few, too many, or in the wrong places."""
    free = [repr(name) for name in undriven(robot)]
    spare = [repr(robot.joint_names[k]) for k in robot.active if k not in robot.independent]
    count = counted(len(robot.active), "drive")
    freedom = f"{counted(robot.dof, 'degree')} of freedom"
    if free and spare:
        what = f"{count} for {freedom}, but they do not decide the passive joints anywhere: "
        what += f"{worded(free)} still move{'s' * (len(free) == 1)} with all of them held, and "
        what += f"{worded(spare)} cannot move on {'its' if len(spare) == 1 else 'their'} own"
        remedy = f"drive {worded(free)} instead of {worded(spare)}"
        return [Finding("error", "drives", what, remedy)]
    if free:
        what = f"{count} for {freedom}: {worded(free)} move{'s' * (len(free) == 1)} freely"
        remedy = "drive it too (passive = false); else only forward dynamics is defined"
        return [Finding("warning", "drives", what, remedy)]
    if spare:
        what = f"{count} for {freedom}: redundant actuation, {worded(spare)} more than needed"
        remedy = (
            "inverse_dynamics shares the load by least squares, preload= says otherwise; a joint "
            "without a motor is passive = true"
        )
        return [Finding("note", "drives", what, remedy)]
    return []


def _immobile(robot: "Robot", q: np.ndarray) -> list[Finding]:
    """Joints that the closures hold still in every configuration."""
    mobility = robot.chain.mobility
    assert mobility is not None
    still = set(range(robot.n))
    for x in q[-8:]:
        if not still:
            return []
        still &= set(immobile(robot.chain, mobility, x.tolist()))
    found = []
    for k in sorted(still):
        what = "cannot move: the closures hold it still everywhere"
        remedy = "take the joint out, or choose a closure that holds less"
        level = "warning" if k in robot.active else "note"
        found.append(Finding(level, f"joint {robot.joint_names[k]!r}", what, remedy))
    return found
