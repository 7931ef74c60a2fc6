"""A trajectory as a file of numbers that gives the same trajectory back, to the last digit."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from ..trajectory.fourier import Fourier, Sine
from ..trajectory.polynomial import Hermite
from ..trajectory.shaped import Shaped
from ..trajectory.trajectory import Along, Trajectory

ARGUMENTS = {  # what the constructors take, which is what the objects keep under the same names
    Sine: ("center", "amplitude", "frequency", "phase", "duration"),
    Fourier: ("a", "b", "period", "q0", "harmonics"),
}


def reference_text(trajectory: Trajectory, notes: Sequence[str] = ()) -> str | None:
    """JSON of a trajectory of `dy.trajectory`, with its notes; None for any other."""
    table = _table(trajectory)
    if table is None:
        return None
    told = {"generated": list(notes)} if notes else {}  # nobody reads it back
    return json.dumps({**told, **table}) + "\n"


def read_reference(path: str | Path) -> Trajectory:
    """The trajectory of such a file."""
    try:
        return _made(json.loads(Path(path).read_text(encoding="ascii")))
    except OSError as error:
        raise FileError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FileError(f"{path}: not a trajectory of dynamis ({error})") from None


def _table(trajectory: Trajectory) -> dict[str, Any] | None:
    kind = type(trajectory)
    if isinstance(trajectory, Along) and kind is Along:
        parts = {"path": _table(trajectory.path), "timing": _table(trajectory.timing)}
        return None if None in parts.values() else {"kind": "Along", **parts}
    if isinstance(trajectory, Shaped) and kind is Shaped:
        inside = _table(trajectory.trajectory)
        given = {"times": trajectory.times, "shares": trajectory.shares}
        return None if inside is None else {"kind": "Shaped", "trajectory": inside, **given}
    if isinstance(trajectory, Hermite) and kind is Hermite:
        return {"kind": "Hermite", "times": trajectory.times, "scaled": trajectory._table.tolist()}
    if kind not in ARGUMENTS:
        return None
    given = {name: np.asarray(getattr(trajectory, name)).tolist() for name in ARGUMENTS[kind]}
    return {"kind": kind.__name__, **given}


def _made(table: dict[str, Any]) -> Trajectory:
    kind = table["kind"]
    if kind == "Along":
        return Along(_made(table["path"]), _made(table["timing"]))
    if kind == "Shaped":
        shaped = Shaped(_made(table["trajectory"]), table["times"], table["shares"])
        shaped.shares = tuple(table["shares"])  # dividing by their sum again would cost a digit
        return shaped
    if kind == "Hermite":
        made = Hermite(table["times"], table["scaled"])
        made._table = np.array(table["scaled"], dtype=float)  # dividing again would cost a digit
        made._rows = made._table.tolist()
        return made
    for known, names in ARGUMENTS.items():
        if kind == known.__name__:
            return known(*(table[name] for name in names))
    raise ValueError(f"kind {kind!r}")
