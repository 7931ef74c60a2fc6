"""Quantities of a run that can be drawn, with their units: as they were, desired, measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_flag, is_list, one_of
from ..dynamics.elastic import coordinate
from ..errors import OptionError, shown
from ..robot import Robot

if TYPE_CHECKING:
    from ..simulation.run import Run as RunLike

QUANTITIES = {  # title, unit of a revolute joint, unit of a prismatic joint
    "q": ("position", "rad", "m"),
    "qd": ("velocity", "rad/s", "m/s"),
    "tau": ("torque", "N m", "N"),
    "error": ("position error", "rad", "m"),
    "energy": ("energy", "J", "J"),
    # of elastic joints
    "deflection": ("deflection", "rad", "m"),
    "motor": ("motor position", "rad", "m"),
    "motor_rate": ("motor velocity", "rad/s", "m/s"),
    "transmitted": ("transmitted torque", "N m", "N"),
}
USUAL = ("q", "qd", "tau", "error", "energy")
USUAL_ELASTIC = ("q", "qd", "deflection", "tau", "error", "energy")
OF_ELASTIC = ("deflection", "motor", "motor_rate", "transmitted")
MOTOR_SIDE = {"q": "motor", "qd": "motor_rate"}


@dataclass(frozen=True)
class RunSeries:
    """One quantity of all joints over time, and what was desired of it."""

    name: str
    values: np.ndarray  # (N, n), or (..., N, n) of an ensemble
    desired: np.ndarray | None = None  # the same
    measured: tuple[np.ndarray, np.ndarray] | None = None  # times (K,), what sensors gave (K, n)
    motor: np.ndarray | None = None  # (N, n) on the motor side, NaN of rigid joints

    def has(self, joints: Sequence[int]) -> bool:
        """Whether there is anything of these joints: torques and errors are of drives only."""
        known = np.isfinite(self.values)
        return bool(known[..., list(joints)].any()) or not known.any()

    def title(self, kinds: set[str]) -> str:
        """What it is called for these kinds of joints."""
        name = QUANTITIES[self.name][0]
        if "prismatic" in kinds:
            return name.replace("torque", "force" if len(kinds) == 1 else "torque or force")
        return name

    def unit(self, kind: str) -> str:
        """Its unit for a kind of joint."""
        return QUANTITIES[self.name][1 if kind == "revolute" else 2]


def asked(what: Any, robot: Robot) -> tuple[str, ...]:
    """The names of quantities that were asked for, checked; None: those that are usual."""
    if what is None:
        return USUAL_ELASTIC if robot.chain.elastic else USUAL
    names = (what,) if isinstance(what, str) else tuple(what)
    expected = f"expected some of {', '.join(QUANTITIES)}"
    for name in names:
        one_of(name, QUANTITIES, f"what has {shown(name)}, {expected}")
    if not names:
        raise OptionError(f"what is empty, {expected}")
    return tuple(dict.fromkeys(names))


def series_of(run: "RunLike", names: tuple[str, ...]) -> list[RunSeries]:
    """What the run has of these quantities, energy left aside."""
    found = []
    for name in names:
        values = getattr(run, name, None)
        if name == "energy" or values is None:
            continue
        wanted = getattr(run.reference, name, None) if name in ("q", "qd") else None
        desired = None if wanted is None else _of_all(run, wanted)
        actual = _of_all(run, values)
        if name == "tau":  # of passive joints there is none to show
            actual = np.where(np.isin(range(run.robot.n), run.robot.active), actual, np.nan)
        if name in OF_ELASTIC:
            actual = _of_elastic(run.robot, actual)
        if name in OF_ELASTIC and not run.robot.chain.elastic:
            continue
        motor = _motor_side(run, name)
        found.append(RunSeries(name, actual, desired, _measured(run, name), motor))
    return found


def _of_elastic(robot: Robot, values: np.ndarray) -> np.ndarray:
    """Values of elastic joints; NaN of rigid ones."""
    chain = robot.chain
    return np.where(
        np.isin(range(robot.n), [coordinate(chain, x) for x in chain.elastic]), values, np.nan
    )


def gaps(robot: Robot) -> dict[int, float]:
    """Backlash to either side by joint."""
    chain = robot.chain
    return {coordinate(chain, x): float(x.backlash) for x in chain.with_backlash}


def _motor_side(run: "RunLike", name: str) -> np.ndarray | None:
    """The motor side of a quantity of a single run with elastic joints."""
    if name not in MOTOR_SIDE or np.ndim(run.q) != 2 or not run.robot.chain.elastic:
        return None
    return _of_elastic(run.robot, np.asarray(getattr(run, MOTOR_SIDE[name])))


def _of_all(run: "RunLike", values: Any) -> np.ndarray:
    """Values of all joints from those of the drives of a closed mechanism: NaN for passive ones."""
    given = np.asarray(values)
    if given.shape[-1] == run.robot.n:
        return given
    found = np.full((*given.shape[:-1], run.robot.n), np.nan)
    found[..., list(run.robot.driven)] = given
    return found


def _measured(run: "RunLike", name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """What the sensors of a single run gave of a quantity, where that is not what it was."""
    log = getattr(run, "measured", None)
    if log is None or name not in ("q", "qd", "tau") or np.ndim(run.q) != 2:
        return None
    values, rows = np.asarray(getattr(log, name)), np.searchsorted(run.t, log.t)
    for side in (name, MOTOR_SIDE.get(name, name)):
        actual = np.asarray(getattr(run, side, getattr(run, name)))
        if np.array_equal(values, actual[rows][:, list(run.robot.driven)]):
            return None
    return np.asarray(log.t), _of_all(run, values)


def joint_indices(robot: Robot, joints: Any, names: Sequence[str] = ()) -> list[int]:
    """Indices of joints given by name or number; None is all, of closed loops the drives.

    `names` are those of the joints, where they are not those of q.
    """
    names = names or robot.joint_names
    if joints is None:
        return list(robot.driven) or list(range(robot.n))
    given = list(joints) if is_list(joints) else [joints]
    found = []
    for joint in given:
        if isinstance(joint, str):
            one_of(joint, names, f"joints has {joint!r}, which {robot.name!r} has not")
            found.append(names.index(joint))
        elif (
            isinstance(joint, (int, np.integer)) and not is_flag(joint) and 0 <= joint < len(names)
        ):
            found.append(int(joint))
        else:
            raise OptionError(
                f"joints has {shown(joint)}, expected names or numbers from 0 to {len(names) - 1}",
                "known: " + ", ".join(names),
            )
    if not found:
        raise OptionError("joints is empty, expected names or numbers, or None")
    return list(dict.fromkeys(found))
