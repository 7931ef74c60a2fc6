"""The league: every estimator on every data set, by its error on motions it has not seen."""

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from .. import templates
from ..arguments import checked, is_list, one_of, path_of
from ..compile.machine import host
from ..errors import DynamisError, OptionError
from ..files import write
from ..identify.estimate import Estimate, Validation, beside, validation
from ..identify.estimators import ESTIMATORS
from ..identify.friction.models import FRICTIONS, SLOW
from ..identify.identification import identify
from ..identify.processing import Processing, prepare
from ..identify.repeats import MOSTLY, repeated
from ..logs.log import Log
from ..progress import stage
from ..tables import markdown_table
from . import figaroh, sysid
from .datasets import Dataset, Split, found_in

DEAD_ZONE = SLOW * FRICTIONS["smooth"].speed  # as our fits leave out what nearly rests
# rows of other libraries: their fit, and the friction that they seek
OTHERS: Mapping[str, tuple[Callable[..., sysid.Fitted], str]] = {
    "mujoco": (sysid.fit, sysid.FRICTION),
    "figaroh": (partial(figaroh.fit, weighted=False), figaroh.FRICTION),
    "figaroh-weighted": (partial(figaroh.fit, weighted=True), figaroh.FRICTION),
}
ENTRANTS = (*ESTIMATORS, *OTHERS)
COLUMNS = (
    "data set", "estimator", "friction", "trained on", "tested on", "test error, %",
    "training error, %", "physical", "time, s", "note",
)  # fmt: skip


@dataclass(frozen=True)
class LeagueRow:
    """One estimator on one test motion; errors are |tau - predicted| / |tau|, torque as logged.

    `repeat` says whether the motion was in the training data already, `seconds` is the time of the
    fit. Without figures `note` is the reason.
    """

    dataset: str
    estimator: str
    friction: str
    trained_on: str
    tested_on: str
    test_error: float | None = None
    training_error: float | None = None
    physical: bool | None = None
    seconds: float | None = None
    note: str = ""
    repeat: bool | None = None

    def cells(self) -> tuple[str, ...]:
        """The row as texts, in the order of `COLUMNS`."""
        errors = (
            "" if x is None else f"{100 * x:.2f}" for x in (self.test_error, self.training_error)
        )
        physical = "" if self.physical is None else "yes" if self.physical else "no"
        seconds = "" if self.seconds is None else f"{self.seconds:.3g}"
        names = self.dataset, self.estimator, self.friction, self.trained_on
        test = self.tested_on + (", a repeat" if self.repeat else "")
        return (*names, test, *errors, physical, seconds, self.note)


@dataclass(frozen=True)
class League:
    """The rows of one run, and the machine it ran on."""

    rows: tuple[LeagueRow, ...]
    machine: str

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {"machine": self.machine, "rows": [asdict(row) for row in self.rows]}

    def markdown(self) -> str:
        """The table in Markdown."""
        return markdown_table([COLUMNS, *(row.cells() for row in self.rows)], cell=_plain_cell)

    def save(self, path: str | Path) -> Path:
        """Write the page of documentation: what the figures are, the table, how to add to it."""
        page = templates.filled(
            __package__, "league.md", MACHINE=self.machine, TABLE=self.markdown(),
            SAMPLES=sysid.ROWS, ITERATIONS=sysid.ITERATIONS, MOST=figaroh.ROWS,
        )  # fmt: skip
        return write(path, page)


def _plain_cell(text: str) -> str:
    """Text that neither ends a cell nor is markup."""
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\|<>*_`[]" else c for c in flat)


@checked
def league(
    folders: Any, estimators: Sequence[str] | None = None, ignore_hashes: bool = False
) -> League:
    """Every estimator on every data set in some folders: the table of held-out errors.

    A data set is a file NAME.league.toml beside its logs (docs/league.md says what is in it), or a
    folder emps, lwr4, panda, tx40 or ur10e with the public logs of that arm. `estimators`: those of
    `dy.identify`, "mujoco" for MuJoCo's system identification, "figaroh" and "figaroh-weighted" for
    FIGAROH's; all unless given. What fails has
    the reason in its row, and the rest goes on: a data set, for one, whose definition gives the
    SHA-256 of its files and finds others, unless `ignore_hashes`.
    """
    given = [path_of(x, "folders") for x in (folders if is_list(folders) else [folders])]
    if not given:
        raise OptionError("folders is empty, expected folders with logs")
    wanted = ENTRANTS if estimators is None else tuple(estimators)
    if not wanted:
        raise OptionError("estimators is empty", f"known: {', '.join(ENTRANTS)}")
    for name in wanted:
        one_of(name, ENTRANTS, f"estimator {name!r} does not exist")
    sets, rows = found_in(given), []
    with stage("league", len(sets) * len(wanted)) as progress:
        for number, one in enumerate(sets):
            done = partial(_count, progress, number * len(wanted))
            rows += _rows(one, wanted, ignore_hashes, done)
    return League(tuple(rows), machine())


def machine() -> str:
    """The processor, how busy it was, and the versions, in words."""
    cores = os.cpu_count() or 1
    words = [f"{host().cpu}, {cores} cores"]
    if hasattr(os, "getloadavg"):  # not on Windows
        load = os.getloadavg()[1]
        busy = ", a busy machine: times are longer than on an idle one" if load > cores else ""
        words.append(f"load average {load:.1f}{busy}")
    return "; ".join([*words, f"Python {platform.python_version()}, NumPy {version('numpy')}"])


def _count(progress: Callable[[int], None], before: int, done: int) -> None:
    progress(before + done)


def _rows(
    one: Dataset, wanted: Sequence[str], ignore_hashes: bool, done: Callable[[int], None]
) -> Iterator[LeagueRow]:
    """The rows of one data set."""
    try:
        split = one.split(ignore_hashes)
    except DynamisError as error:
        yield LeagueRow(
            one.name, "all", one.friction, "", "", note=f"not read: {_reason(error, one)}"
        )
        return
    if any(name in ESTIMATORS for name in wanted):
        _compiled(one, split)
    repeats = [not repeated(log, split.train) <= MOSTLY for log in split.test]
    for k, name in enumerate(wanted):
        row = LeagueRow(one.name, name, one.friction, split.trained_on, "")
        try:
            figures = (_theirs if name in OTHERS else _ours)(one, split, name)
            pairs = zip(figures, repeats, strict=True)
            yield from (replace(row, **figure, repeat=again) for figure, again in pairs)
        except DynamisError as error:
            tests = ", ".join(log.name for log in split.test)
            yield replace(row, tested_on=tests, note=f"not run: {_reason(error, one)}")
        done(k + 1)


def _reason(error: DynamisError, one: Dataset) -> str:
    """Its first sentence, without paths of this machine."""
    said = error.message.replace(f"{one.folder}{os.sep}", "")
    return " ".join(said.split())


def _compiled(one: Dataset, split: Split) -> None:
    """Compile and import what the estimators use, so that no fit is charged for it.

    On shorter logs: with the very parameters of a later fit its robot would be in the memo too.
    """
    with suppress(ImportError):  # the estimators that need them say so
        import clarabel  # noqa: F401
        import cvxpy  # noqa: F401
    with suppress(DynamisError):  # the estimators say why
        shorter = tuple(log.split(0.9)[0] for log in split.train)
        _ours(one, replace(split, train=shorter), "weighted")


def _ours(one: Dataset, split: Split, estimator: str) -> list[dict[str, Any]]:
    begun = time.perf_counter()
    found = identify(
        split.robot, list(split.train), friction=one.friction, estimator=estimator,
        rotors=one.rotors, held_out=False,
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    common = {
        "friction": found.friction,
        "training_error": relative_error(found.training),
        "physical": found.is_physical,
        "seconds": seconds,
    }
    return [
        {"tested_on": log.name, "test_error": tested(found, log, split).relative_error_overall}
        | common
        for log in split.test
    ]


def _theirs(one: Dataset, split: Split, name: str) -> list[dict[str, Any]]:
    """The torque model of another library beside the logs, prepared and compared as for ours."""
    fit, friction = OTHERS[name]
    how = Processing(dead_zone=DEAD_ZONE)
    begun = time.perf_counter()
    prepared = [prepare(log, how) for log in split.train]
    motions = [samples for found, _ in prepared for samples in found]
    found = fit(split.robot, motions, bool(one.rotors))
    seconds = time.perf_counter() - begun

    def check(log: Log, cutoff: float | None = None) -> Validation:
        return beside(found.torque, split.robot, log, Processing(cutoff=cutoff))

    trained = [check(log, p.cutoff) for log, (_, p) in zip(split.train, prepared, strict=True)]
    common = {
        "friction": friction,
        "training_error": relative_error(trained),
        "physical": found.physical,
        "seconds": seconds,
    }
    if split.whole is None:
        tests = [check(log) for log in split.test]
    else:
        last = split.test[0]
        tests = [check(split.whole, prepared[0][1].cutoff).between(last.t[0], last.t[-1])]
    return [
        {"tested_on": log.name, "test_error": test.relative_error_overall, "note": found.note}
        | common
        for log, test in zip(split.test, tests, strict=True)
    ]


def tested(found: Estimate, log: Any, split: Split) -> Validation:
    """Measured beside predicted torque on a test motion; a last third as `dy.identify` does."""
    if split.whole is None:
        return found.validate(log)
    same = replace(found.elsewhere, cutoff=found.processing[0].cutoff)
    check = validation(found.unknowns, found.values, split.whole, same)
    return check.between(log.t[0], log.t[-1])


def relative_error(checks: Sequence[Validation]) -> float:
    """Of several motions together."""
    wrong, right = (
        float(np.sqrt(sum((getattr(x, part) ** 2).sum() for x in checks)))
        for part in ("residual", "measured")
    )
    return wrong / right if right else float("nan")
