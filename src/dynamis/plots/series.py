"""The quantities of a run that can be drawn, with their units."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import is_flag, is_list, is_word
from ..errors import OptionError, did_you_mean, shown
from ..robot import Robot
from .run_like import RunLike

QUANTITIES = {  # title, unit of a revolute joint, unit of a prismatic joint
    "q": ("position", "rad", "m"),
    "qd": ("velocity", "rad/s", "m/s"),
    "tau": ("torque", "N m", "N"),
    "error": ("position error", "rad", "m"),
    "energy": ("energy", "J", "J"),
}
ENERGIES = ("kinetic", "potential", "total")


@dataclass(frozen=True)
class Series:
    """One quantity of all joints over time, and what was desired of it."""

    name: str
    values: np.ndarray  # (N, n), or (..., N, n) of an ensemble
    desired: np.ndarray | None = None  # the same
    measured: tuple[np.ndarray, np.ndarray] | None = None  # times (K,), what sensors gave (K, n)

    def title(self, kinds: set[str]) -> str:
        """What it is called for these kinds of joints."""
        if self.name == "tau" and "prismatic" in kinds:
            return "force" if len(kinds) == 1 else "torque or force"
        return QUANTITIES[self.name][0]

    def unit(self, kind: str) -> str:
        """Its unit for a kind of joint."""
        return QUANTITIES[self.name][1 if kind == "revolute" else 2]


def asked(what: Any) -> tuple[str, ...]:
    """The names of quantities that were asked for, checked."""
    names = (what,) if isinstance(what, str) else tuple(what)
    wrong = [name for name in names if not is_word(name, QUANTITIES)]
    if wrong:
        raise OptionError(
            f"what has {shown(wrong[0])}, expected some of {', '.join(QUANTITIES)}",
            did_you_mean(wrong[0], QUANTITIES),
        )
    if not names:
        raise OptionError(f"what is empty, expected some of {', '.join(QUANTITIES)}")
    return tuple(dict.fromkeys(names))


def series_of(run: RunLike, names: tuple[str, ...]) -> list[Series]:
    """What the run has of these quantities, energy left aside."""
    found = []
    for name in names:
        values = getattr(run, name, None)
        if name == "energy" or values is None:
            continue
        wanted = getattr(run.reference, name, None) if name in ("q", "qd") else None
        desired = None if wanted is None else np.asarray(wanted)
        found.append(Series(name, np.asarray(values), desired, _measured(run, name)))
    return found


def _measured(run: RunLike, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """What the sensors of a single run gave of a quantity, where that is not what it was."""
    log = getattr(run, "measured", None)
    if log is None or name not in ("q", "qd", "tau") or np.ndim(run.q) != 2:
        return None
    values, actual = np.asarray(getattr(log, name)), np.asarray(getattr(run, name))
    rows = np.searchsorted(run.t, log.t)
    return None if np.array_equal(values, actual[rows]) else (np.asarray(log.t), values)


def joint_kinds(robot: Robot) -> list[str]:
    """ "revolute" or "prismatic" for every entry of q."""
    return [link.joint for link in robot.model.links if link.mimic is None]


def joint_indices(robot: Robot, joints: Any) -> list[int]:
    """Indices of joints given by name or number; None is all of them."""
    if joints is None:
        return list(range(robot.n))
    given = list(joints) if is_list(joints) else [joints]
    found = []
    for joint in given:
        if isinstance(joint, str):
            if joint not in robot.joint_names:
                raise OptionError(
                    f"joints has {joint!r}, which {robot.name!r} has not",
                    did_you_mean(joint, robot.joint_names),
                )
            found.append(robot.joint_names.index(joint))
        elif isinstance(joint, (int, np.integer)) and not is_flag(joint) and 0 <= joint < robot.n:
            found.append(int(joint))
        else:
            raise OptionError(
                f"joints has {shown(joint)}, expected names or numbers from 0 to {robot.n - 1}",
                "known: " + ", ".join(robot.joint_names),
            )
    if not found:
        raise OptionError("joints is empty, expected names or numbers, or None for all")
    return list(dict.fromkeys(found))
