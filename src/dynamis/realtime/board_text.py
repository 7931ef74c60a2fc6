"""The C of a law behind a board: header, source, tables, self-test, README; options about it."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .. import templates
from ..arguments import choice
from ..compile.service import compiling
from ..control.board.board import Board
from ..control.board.program import BoardLaw
from ..control.board.readings import FAULTS, INPUTS
from ..control.board.startup import PHASES
from ..errors import OptionError, shown
from ..export import c_branchless
from ..export.c_folder import c_header
from ..export.c_function import PRECISIONS, array, identifier, literal
from ..spatial.functions import MATH
from . import c_text
from .board_samples import replay, samples

DOUBLE = PRECISIONS["float64"]
SIGNALS = {"radians": ("torque",), "counts": ("volts", "codes")}  # inputs, outputs with them


def board_of(inputs: Any, outputs: Any, board: Any, target: str, dtype: str) -> Board | None:
    """The board between an arm and counts; None where positions come in and torques go out."""
    choice(inputs, "inputs", SIGNALS)
    choice(outputs, "outputs", [x for row in SIGNALS.values() for x in row])
    if outputs not in SIGNALS[inputs]:
        raise OptionError(
            f"inputs is {inputs!r} and outputs {outputs!r}, expected outputs "
            f"{' or '.join(map(repr, SIGNALS[inputs]))} with it",
            'inputs="counts", outputs="volts" (or "codes"), board=dy.control.Board(...)',
        )
    if inputs == "radians":
        if board is not None:
            raise OptionError(
                f"board is {shown(board)}, but positions come in and torques go out",
                'give inputs="counts", outputs="volts" (or "codes") too',
            )
        return None
    if target != "c" or dtype != "float64":
        raise OptionError(
            f"target is {target!r} and dtype {dtype}: counts are read in C and in double precision",
            "leave target and dtype out",
        )
    if isinstance(board, (str, PathLike)):
        return Board.load(Path(board))
    if not isinstance(board, Board):
        raise OptionError(
            f"board is {shown(board)}, expected dy.control.Board(...) or its TOML file",
            "it says what counters and converters there are",
        )
    return board


def words(law: BoardLaw, notes: Sequence[str], outputs: str) -> dict[str, Any]:
    """What the templates have in common."""
    up = c_text.stem_of(law.law).upper()
    rows = (f"    {up}_FAULT_{identifier(x.name).upper()} = {k}" for k, x in enumerate(FAULTS))
    return {
        **c_text.words(law.law, notes, "float64"),
        "STATES": law.states,
        "CODES": outputs == "codes",
        "PHASES": ", ".join(f"{up}_PHASE_{x.upper()} = {k}" for k, x in enumerate(PHASES)),
        "FAULTS": ",\n".join(rows),
    }


def files(
    law: BoardLaw, notes: Sequence[str], trig: str, outputs: str, builds: Mapping[str, str]
) -> dict[str, str]:
    """File name -> text."""
    stem, common = c_text.stem_of(law.law), words(law, notes, outputs)
    return {
        f"{stem}.h": header(law, notes, outputs),
        f"{stem}.c": source(law, notes, trig, outputs),
        f"{stem}_board.h": tables(law, common),
        f"{stem}_board.toml": "".join(f"# {x}\n" for x in notes) + law.board.toml,
        f"{stem}_test.c": self_test(law, common, trig),
        **builds,
        "README.md": _readme(law, common, trig, notes),
    }


def header(law: BoardLaw, notes: Sequence[str], outputs: str) -> str:
    """Types and functions."""
    body = templates.filled(__package__, "board_controller.h", **words(law, notes, outputs))
    return c_header(c_text.stem_of(law.law), notes, body)


def source(law: BoardLaw, notes: Sequence[str], trig: str, outputs: str) -> str:
    """The program itself."""
    common, n = words(law, notes, outputs), law.n
    name = f"{common['STEM']}_sample"
    body = "static " + c_branchless.function(law.program(), name, "float64", trig == "own")
    begun = [v for row in law.begun(law.inner.gains, MATH).values() for v in row]
    read = [f"    {x}[{i}] = (double)measurement->{x}[{i}];" for x in INPUTS[1:] for i in range(n)]
    given = [f"    output->volts[{i}] = volts[{i}];" for i in range(n)]
    if outputs == "codes":
        given = [f"    output->codes[{i}] = (uint32_t)codes[{i}];" for i in range(n)]
    return templates.filled(
        __package__,
        "board_controller.c",
        **common,
        LIBM=trig == "libm",
        HELPERS=c_branchless.helpers("float64", body),
        SAMPLE=body,
        BEGUN="\n".join(f"    state->x[{k}] = {literal(v, DOUBLE)};" for k, v in enumerate(begun)),
        READ="\n".join(read),
        WANTED=c_text.wanted_text(law.law),
        GIVEN="\n".join(given),
        KEPT="\n".join(f"    state->x[{k}] = next[{k}];" for k in range(law.states)),
    )


def tables(law: BoardLaw, common: dict[str, Any]) -> str:
    """A header with the numbers of the board."""
    c = law.channels

    def row(values: Any) -> str:
        return "{" + ", ".join(literal(float(v), DOUBLE) for v in values) + "}"

    tracks = [x.track for x in c]
    pots = {f"POT_{k.upper()}": row(0.0 if t is None else getattr(t, k) for t in tracks)
            for k in ("base", "rate", "lowest", "highest")}  # fmt: skip
    own = {k.upper(): row(getattr(x, k) for x in c)
           for k in ("zero", "scale", "counts", "modulus", "farthest")}  # fmt: skip
    return templates.filled(
        __package__,
        "board_tables.h",
        **common,
        **own,
        **pots,
        BOARD=c_text.plain(law.board.name),
        INDEX=row(x.index if x.searched else -1 for x in c),
        OUT_LOWEST=row(x.lowest for x in c),
        OUT_STEP=row(x.step for x in c),
        OUT_MOST=row(x.most for x in c),
        TORQUE_PER_VOLT=row(x.per_volt for x in c),
    )


def _readme(law: BoardLaw, common: dict[str, Any], trig: str, notes: Sequence[str]) -> str:
    own = law.law
    meanings = "\n".join(
        f"| {k} | {x.name}: {x.meaning} | {x.follows} |" for k, x in enumerate(FAULTS) if k
    )
    return templates.filled(
        __package__,
        "board_README.md",
        **common,
        JOINTS=c_text.joint_rows(own),
        OWN=trig == "own",
        TOLERANCE=0 if _exact(trig) else 1,
        MILLISECONDS=f"{1e3 * own.sample_time:g}",
        SAMPLES=law.board.samples,
        MEANINGS=meanings,
        GRAVITY=own.safe == "gravity",
        RAMP=f"{own.ramp:g}",
        DAMPED=c_text.damped(own),
        LIMITS=", ".join(f"{x:g}" for x in law.inner.limits),
        ORIGIN="\n".join(f"    {c_text.plain(line)}".rstrip() for line in notes),
    )


# the self-test


def _exact(trig: str) -> bool:
    """Whether codes are the same in every bit as those that were recorded."""
    return trig == "own" and compiling()


def self_test(law: BoardLaw, common: dict[str, Any], trig: str) -> str:
    """A program that replays a start, then faults, and compares codes, status, phase and fault."""
    rows = samples(law)
    codes, told = replay(law, rows.readings, rows.wanted, [0, rows.restart])
    listed = np.concatenate([codes, told], axis=1).astype(int)
    return templates.filled(
        __package__,
        "board_test.c",
        **common,
        COUNT=len(listed),
        WIDE=1 + 4 * law.n,
        TOLD=law.n + 4,
        HOW=rows.how,
        RESTART=rows.restart,
        READINGS=_whole(rows.readings, "u"),
        WANTED=array("wanted", rows.wanted, DOUBLE),
        EXPECTED=_whole(listed),
        LOWEST=", ".join(literal(c.lowest, DOUBLE) for c in law.channels),
        STEPS=", ".join(literal(c.step, DOUBLE) for c in law.channels),
        TOLERANCE=0 if _exact(trig) else 1,
    )


def _whole(rows: np.ndarray, suffix: str = "") -> str:
    lines = (", ".join(f"{int(x)}{suffix}" for x in row) for row in rows)
    return ",\n".join(f"    {{{line}}}" for line in lines)
