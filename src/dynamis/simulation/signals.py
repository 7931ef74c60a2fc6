"""What time brings: references, torques, forces and wrenches as functions of time."""

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile.arrays import Hint, finite, numbers
from ..control.controller import Reference, SmoothReference
from ..errors import OptionError, ShapeError, counted, shown
from ..robot.closing import drive_hint
from ..trajectory.trajectory import Trajectory
from ..user_code import location

if TYPE_CHECKING:
    from ..robot import Robot

EXPECTED = (
    "expected {numbers} numbers, a function of t that returns them, {each} per step "
    "({steps}, {sizes}), or one per arm of an ensemble ({arms}, 1, {sizes})"
)
ShapeHint = Callable[[tuple[int, ...]], str | None]
Signal = Callable[[np.ndarray], np.ndarray]  # times (K,) to rows (K, m)
Force = Callable[[np.ndarray, np.ndarray], np.ndarray]  # the same; and when their steps began


def signal(
    value: Any, name: str, core: tuple[int, ...], dt: float, hint: Hint | None = None
) -> Force:
    """A vector (or a matrix) that stays, a function of t, or one held for each step; as rows."""
    rows = _rows(value, name, core, dt, hint or (lambda name, shape: None))
    named = f"{name}{location(value)}" if callable(value) else name
    return lambda t, since: _finite(rows(t, since).reshape(len(t), -1), named, t)


def force_per_arm(value: Any, name: str, core: tuple[int, ...]) -> np.ndarray | None:
    """A force that stays but differs from arm to arm, (..., size); None where it is none.

    The axis before those of the force itself is that of the steps, of which there is one.
    """
    given = _array(value)
    axes = 0 if given is None else given.ndim - len(core) - 1
    if given is None or axes < 1 or given.shape[axes + 1 :] != core:
        return None
    if given.shape[axes] != 1:
        raise ShapeError(
            f"{name} has shape {given.shape}, {_expected(core)}",
            "what differs from arm to arm stays while it runs: one row of each arm, or "
            "sim.step(tau, steps) with other torques from time to time",
        )
    finite(given, name, OptionError)
    return given.reshape(*given.shape[:axes], math.prod(core))


def force_of_all_arms(value: Any, core: tuple[int, ...]) -> Any:
    """Rows for the steps of all arms, (1, steps, ...), without the first axis; else the value."""
    given = _array(value)
    if given is None or given.shape[2:] != core or len(given) != 1 or given.shape[1] == 1:
        return value
    return given[0]


def _array(value: Any) -> np.ndarray | None:
    """What is neither a function nor nothing, as an array; None if it is none."""
    if value is None or callable(value):
        return None
    try:
        return numbers(value, "", "")
    except ShapeError:
        return None  # `signal` says why


def _expected(core: tuple[int, ...], steps: Any = "steps", arms: Any = "arms") -> str:
    each = "one row" if len(core) == 1 else "one of them"
    product, sizes = (joint.join(map(str, core)) for joint in (" x ", ", "))
    return EXPECTED.format(numbers=product, each=each, steps=steps, arms=arms, sizes=sizes)


def _rows(value: Any, name: str, core: tuple[int, ...], dt: float, hint: Hint) -> Force:
    expected = _expected(core)
    if callable(value):
        accepts(value, name, "t")
        where = location(value)
        return lambda t, since: np.stack(
            [
                _vector(value(float(s)), f"{name}({s:g}){where}", core, hint=partial(hint, name))
                for s in t
            ]
        )
    try:
        rows = numbers(value, name, expected)
    except ShapeError:
        raise ShapeError(f"{name} is {shown(value)}, {expected}") from None
    if rows.shape == core:
        return lambda t, since: np.broadcast_to(rows, (len(t), *core))
    if rows.ndim != 1 + len(core) or rows.shape[1:] != core or not len(rows):
        raise ShapeError(f"{name} has shape {rows.shape}, {expected}", hint(name, rows.shape))

    def held(t: np.ndarray, since: np.ndarray) -> np.ndarray:
        return rows[np.clip(np.floor(since / dt + 1e-6).astype(int), 0, len(rows) - 1)]

    return held


def rows_fit(
    name: str, shape: tuple[int, ...], steps: int, longer: bool, arms: tuple[int, ...]
) -> None:
    """Refuse rows that are not one per step, or one more; more still if they go on `longer`.

    So are rows that may as well be one per arm, of as many `arms`.
    """
    fit = shape[0] in (steps, steps + 1) or (longer and shape[0] > steps)
    of_arms = shape[:1] == arms and shape[0] > 1
    if fit and not of_arms:
        return
    per_arm, per_step = f"np.asarray({name})[:, None]", f"np.asarray({name})[None]"
    if fit:
        raise ShapeError(
            f"{name} has shape {shape}, which is one per step and one per arm",
            f"for one per step: {per_step}; for one per arm: {per_arm}",
        )
    said = _expected(shape[1:], steps, *(arms if of_arms else ()))
    raise ShapeError(
        f"{name} has shape {shape}, {said}", f"for one per arm: {per_arm}" if of_arms else None
    )


RIGID = len(Reference._fields)  # parts of a reference that laws of rigid arms compute with


def reference_signal(value: Any, robot: "Robot", q0: np.ndarray, parts: int = RIGID) -> Signal:
    """Rows (q_d, qd_d, qdd_d) of the drives: of a trajectory, of a place, or of a function of t.

    With five `parts` jerk and snap follow.
    """
    rows = _wanted(value, robot, q0, parts)
    own = callable(value) and not isinstance(value, Trajectory)
    named = f"reference{location(value)}" if own else "reference"
    return lambda t: _finite(rows(t), named, t)


def _wanted(value: Any, robot: "Robot", q0: np.ndarray, parts: int) -> Signal:
    n, hint = len(robot.driven), partial(drive_hint, robot, "reference")
    if isinstance(value, Trajectory):
        if value.n != n:
            said = f"the reference moves {counted(value.n, 'joint')}, robot {robot.name!r} has {n}"
            raise ShapeError(said, hint((value.n,)))
        if parts > RIGID:
            value.derivatives_at(0.0)  # refused by name where it has no jerk and snap
            return _remembered(lambda t: np.concatenate(value.derivatives(t), axis=-1))
        return _remembered(lambda t: np.concatenate(value(t), axis=-1))
    if callable(value):
        accepts(value, "reference", "t")
        where = location(value)
        names = SmoothReference._fields[:parts]
        return lambda t: np.stack(
            [_row(value(float(s)), names, n, f"({s:g}){where}", hint) for s in t]
        )
    place = _place(q0 if value is None else value, n, hint)
    row = np.concatenate([place, np.zeros((parts - 1) * n)])
    return lambda t: np.broadcast_to(row, (len(t), parts * n))


def _remembered(rows: Signal) -> Signal:
    """Rows that are made once for the control computer and for the record of the run."""
    last = [(b"", np.zeros(0))]  # times and rows in one: threads may ask at once

    def made(t: np.ndarray) -> np.ndarray:
        times, found = last[0]
        asked = t.tobytes()
        if asked != times:
            found = rows(t)
            last[0] = asked, found
        return found

    return made


def accepts(function: Callable[..., Any], name: str, arguments: str) -> None:
    """Refuse a function that cannot be called with these arguments, named with commas."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some builtins keep it to themselves
        return
    try:
        signature.bind(*arguments.split(","))
    except TypeError as error:
        raise OptionError(
            f"{name} takes {signature}, expected a function({arguments}): {error}"
        ) from None


def returned(value: Any, what: str) -> np.ndarray:
    """What a user's function returned, as numbers."""
    try:
        return numbers(value, what, "expected numbers")
    except ShapeError:
        raise OptionError(f"{what} returned {shown(value)}, expected numbers") from None


def _finite(rows: np.ndarray, name: str, t: np.ndarray) -> np.ndarray:
    """The rows, if all of their numbers are finite."""
    good = np.isfinite(rows)
    if not good.all():
        k, i = np.argwhere(~good)[0]
        raise OptionError(
            f"{name} holds {rows[k, i]} at t = {t[k]:g} s, expected finite numbers",
        )
    return rows


def _place(value: Any, n: int, hint: ShapeHint) -> np.ndarray:
    expected = (
        f"a trajectory, {counted(n, 'position')}, or a function of t that returns (q, qd, qdd)"
    )
    try:
        place = numbers(value, "reference", f"expected {expected}")
    except ShapeError:
        raise OptionError(f"reference is {shown(value)}, expected {expected}") from None
    if place.shape != (n,):
        raise ShapeError(
            f"reference has shape {place.shape}, expected {expected}", hint(place.shape)
        )
    return place


def _row(value: Any, names: tuple[str, ...], n: int, where: str, hint: ShapeHint) -> np.ndarray:
    if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != len(names):
        expected = ", ".join(names)
        raise OptionError(
            f"reference{where} returned {shown(value)}, expected ({expected})",
            f"end it with: return {expected}, each with one number per joint",
        )
    pairs = zip(names, value, strict=True)
    return np.concatenate([_vector(v, f"reference{where}", (n,), x, hint) for x, v in pairs])


def _vector(
    value: Any,
    name: str,
    core: tuple[int, ...],
    part: str = "",
    hint: ShapeHint = lambda shape: None,
) -> np.ndarray:
    row = returned(value, name)
    if row.shape != core:
        what = f"{part} of shape" if part else "shape"
        raise ShapeError(f"{name} returned {what} {row.shape}, expected {core}", hint(row.shape))
    return row
