"""What one cycle of an exported controller costs: operations, instructions, jumps, stack, code.

Instructions are counted by callgrind, one call of `step` at a time, over ordinary and hostile
samples; jumps, stack and code are read from what the compiler made. Tools that are not installed
leave their column empty.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import templates
from ..arguments import checked, choice, text
from ..compile.arrays import checked_dtype
from ..control.board.program import BoardLaw
from ..control.controller import Controller
from ..control.law import Law
from ..errors import FileError, OptionError
from ..tables import markdown_table
from . import board_text
from .c_text import TRIGS, header, source, stem_of

if TYPE_CHECKING:
    from ..robot import Robot

FLAGS = ("-std=c99", "-O2", "-ffp-contract=off")
HARD = ("-mthumb", "-mfloat-abi=hard")
TARGETS = {  # compiler prefix, flags
    "x86-64": ("", ()),
    "Cortex-M4": ("arm-none-eabi-", ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", *HARD)),
    "Cortex-M7": ("arm-none-eabi-", ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", *HARD)),
}
JUMP = {  # a jump that looks at the flags or at a register
    "": re.compile(r"^(j(?!mp)\w+|loop\w*)$"),
    "arm-none-eabi-": re.compile(
        r"^(cbn?z|b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)(\.[nw])?)$"
    ),
}
COMPILERS = ("gcc", "clang")  # of this machine
SOFT = "__aeabi_"  # what an ARM without doubles in hardware calls
MEANING = {  # gcc takes sine and cosine of the same angle together
    "sincos": "sincos (gcc merges sin and cos)",
    "sincosf": "sincosf (gcc merges sinf and cosf)",
}
SAMPLES = 24  # of every kind
SEED = 7


class Compiled(NamedTuple):
    """The step on one target: what the compiler made of it."""

    target: str
    jumps: int  # conditional ones inside the step and what it calls of its own
    stack: int  # bytes
    code: int  # bytes of init and step and their constants
    linked: tuple[str, ...]  # functions it calls

    @property
    def links(self) -> str:
        """Those functions in words."""
        words = [MEANING.get(f, f) for f in self.linked if not f.startswith(SOFT)]
        words += ["software floating point"] * (len(words) < len(self.linked))
        return ", ".join(words) or "nothing"


@dataclass(frozen=True)
class ControllerCost:
    """What one cycle costs; `instructions` are those of every measured call, () if not measured."""

    name: str
    operations: str
    instructions: tuple[int, ...]
    compiled: tuple[Compiled, ...]

    @property
    def worst(self) -> int | None:
        """Most instructions of one call."""
        return max(self.instructions, default=None)

    @property
    def constant(self) -> bool | None:
        """Whether every call took the same number of instructions."""
        return len(set(self.instructions)) == 1 if self.instructions else None

    def markdown(self) -> str:
        """The table, one row per target."""
        titles = ("target", "instructions per step", "conditional jumps", "stack, bytes")
        rows: list[Any] = [(*titles, "code, bytes", "links")]
        for row in self.compiled:
            count = self.counted if row.target == "x86-64" else "-"
            rows.append((row.target, count, row.jumps, row.stack, row.code, row.links))
        return f"{self.name}: {self.operations}\n\n{markdown_table(rows)}"

    @property
    def counted(self) -> str:
        """Instructions of a step in words."""
        calls = len(self.instructions)
        if not calls:
            return "no valgrind"
        if self.constant:
            return f"{self.worst}, the same in {calls} calls"
        return f"{min(self.instructions)} to {self.worst} in {calls} calls"


@checked
def controller_cost(
    exported: Law | BoardLaw | Controller | str | Path | None = None,
    robot: "Robot | None" = None,
    sample_time: float = 0.005,
    *,
    dtype: str = "float64",
    trig: str = "own",
    flags: Sequence[str] = FLAGS,
    compiler: str = "gcc",
) -> ControllerCost:
    """Cost of a controller on its robot, of a `Law` or `BoardLaw`, or of an exported folder.

    A folder has its own dtype and trig; a Law its robot and sample time, and more options. Needs
    gcc (or clang, as `compiler`) and objdump; valgrind counts instructions; arm-none-eabi-gcc adds
    Cortex-M4 and M7.
    """
    dtype = checked_dtype(dtype).name
    choice(trig, "trig", TRIGS)
    choice(compiler, "compiler", COMPILERS)
    flags = [text(flag, "flags") for flag in flags]
    exported = _asked(exported, robot, sample_time)
    for tool in (compiler, "objdump", "nm", "size"):
        if shutil.which(tool) is None:
            raise OptionError(f"the cost of a controller is measured with {tool}, not found here")
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        if isinstance(exported, BoardLaw):
            folder, stem = work, stem_of(exported.law)
            notes = [f"{type(exported.law.controller).__name__}: {exported.program().cost}."]
            made = board_text.header(exported, notes, "codes")
            (work / f"{stem}.h").write_text(made, "utf-8")
            made = board_text.source(exported, notes, trig, "codes")
            (work / f"{stem}.c").write_text(made, "utf-8")
        elif isinstance(exported, Law):
            folder, stem = work, stem_of(exported)
            notes = [f"{type(exported.controller).__name__}: {exported.program().cost}."]
            (work / f"{stem}.h").write_text(header(exported, notes, dtype), "utf-8")
            (work / f"{stem}.c").write_text(source(exported, notes, dtype, trig), "utf-8")
        else:
            folder, stem = exported, _stem(exported)
        head = (folder / f"{stem}.h").read_text("utf-8")
        found = re.search(r"\d+ x, \d+ \+.* other", head)
        rows = [
            _compiled(folder / f"{stem}.c", work, name, compiler, flags)
            for name, (prefix, _) in TARGETS.items()
            if not prefix or shutil.which(f"{prefix}gcc")
        ]
        counts = ()
        if shutil.which("valgrind"):
            counts = _counts(folder, stem, head, work, compiler, flags)
        return ControllerCost(stem, found[0] if found else "", counts, tuple(rows))


def _asked(given: Any, robot: Any, sample_time: float) -> Law | BoardLaw | Path:
    if isinstance(given, Controller):
        if robot is None:
            raise OptionError(
                f"{type(given).__name__} was given without the robot that it controls",
                "controller_cost(controller, robot, sample_time)",
            )
        return Law(given, robot, sample_time)
    if not isinstance(given, (Law, BoardLaw, str, Path)):
        what = "nothing" if given is None else repr(given)
        raise OptionError(
            f"{what} was given, expected a controller of dy.control with its robot, a Law, or a "
            "folder that dy.export_controller wrote",
            "controller_cost(controller, robot, sample_time)",
        )
    if robot is not None:
        what = "folder" if isinstance(given, (str, Path)) else type(given).__name__
        raise OptionError(f"robot is {robot!r}, but a {what} has its own", "leave robot out")
    return Path(given) if isinstance(given, (str, Path)) else given


def _stem(folder: Path) -> str:
    named = [h.stem for h in folder.glob("*.h") if (folder / f"{h.stem}.c").exists()]
    if len(named) != 1:
        raise FileError(
            f"{str(folder)!r} holds {len(named)} controllers, expected one header with its source",
            "give a folder that dy.export_controller wrote",
        )
    return named[0]


# what the compiler made


def _compiled(path: Path, work: Path, target: str, compiler: str, flags: Sequence[str]) -> Compiled:
    prefix, machine = TARGETS[target]
    item, cc = work / f"{target}.o", f"{prefix}gcc" if prefix else compiler
    if prefix:  # -mfma and its like are of this machine
        flags = [flag for flag in flags if not flag.startswith("-m")]
    _run([cc, *flags, *machine, "-fstack-usage", "-c", str(path), "-o", str(item)])
    start = [f"{path.stem}_{x}" for x in ("init", "start", "start_approach", "start_near")]
    listing = _run([f"{prefix}objdump", "-d", "--no-show-raw-insn", str(item)])
    undefined = _run([f"{prefix}nm", "-u", str(item)]).split()
    sizes = _run([f"{prefix}size", str(item)]).splitlines()[1].split()
    usage = [line.split("\t") for line in item.with_suffix(".su").read_text("utf-8").splitlines()]
    stack = {row[0].rsplit(":", 1)[-1]: int(row[1]) for row in usage}
    return Compiled(
        target,
        sum(bool(JUMP[prefix].match(word)) for word in _instructions(listing, start)),
        sum(size for name, size in stack.items() if name.split(".")[0] not in start),
        int(sizes[0]) + int(sizes[1]),
        tuple(sorted(name for name in undefined if name != "U")),
    )


def _instructions(listing: str, without: Sequence[str]) -> list[str]:
    """Mnemonics of the functions of a disassembly, but for some."""
    inside, words = False, []
    for line in listing.splitlines():
        title = re.match(r"[0-9a-f]+ <([^>]+)>:$", line)
        if title:
            inside = title[1].split(".")[0] not in without
        elif inside and (word := re.match(r"\s+[0-9a-f]+:\s+(\S+)", line)):
            words.append(word[1])
    return words


# instructions of every call


def hostile_samples(width: int, dtype: str, count: int = SAMPLES) -> np.ndarray:
    """Rows of numbers for a step: ordinary, large, saturating, tiny, not finite, random bits."""
    rng = np.random.default_rng(SEED)
    kind = np.dtype(dtype)
    plain = rng.uniform(-2.0, 2.0, (count, width))
    some = rng.random((count, width)) < 0.2
    odd = rng.choice([np.nan, np.inf, -np.inf, -0.0, 1e9, 1e300], (count, width))
    tiny = rng.choice([np.finfo(kind).smallest_subnormal, -np.finfo(kind).tiny / 3], plain.shape)
    with np.errstate(over="ignore"):
        rows = [plain, 4e5 * plain, plain * 10.0 ** rng.integers(-6, 6, plain.shape)]
        rows = [r.astype(kind) for r in (*rows, tiny, 0.0 * plain, np.where(some, odd, plain))]
    bits = rng.integers(0, 256, (count, width * kind.itemsize), dtype=np.uint8)
    return np.concatenate([*rows, bits.view(kind)])


def _hostile_counts(width: int, count: int) -> np.ndarray:
    """Readings of counters and converters: near each other, then anything."""
    rng = np.random.default_rng(SEED)
    near = rng.integers(0, 4096, (count, width)) + np.arange(count)[:, None]
    far = rng.integers(0, 2**32, (count, width), dtype=np.uint64)
    return np.where(np.arange(count)[:, None] % 8 < 5, near, far).astype(np.uint32)


def _counts(
    folder: Path, stem: str, text: str, work: Path, compiler: str, flags: Sequence[str]
) -> tuple[int, ...]:
    """Instructions of every call of step over hostile samples."""
    dtype = "float32" if re.search(r"^    float ", text, re.M) else "float64"
    found = re.search(r"_JOINTS (\d+)", text)
    if found is None:
        raise FileError(f"{stem}.h does not say its joints", "export the controller again")
    n = int(found[1])
    rows = 5 if " snap[" in text else 3  # of the reference
    kind = "float64" if " double t;" in text else dtype  # time may have more digits than the rest
    counts = " uint32_t tick;" in text
    wanted = hostile_samples(1 if " t;" in text else rows * n, kind)
    parts = [_hostile_counts(1 + 4 * n, len(wanted)) if counts else hostile_samples(2 * n, dtype)]
    parts.append(wanted)
    rows = [b"".join(part.tobytes() for part in row) for row in zip(*parts, strict=True)]
    (work / "samples.bin").write_bytes(b"".join(rows))
    given = {"STEM": stem, "UP": stem.upper(), "COUNT": len(rows), "COUNTS": counts}
    (work / "drive.c").write_text(templates.filled(__package__, "cost.c", **given), "utf-8")
    program, files = work / "drive", [work / "drive.c", work / "x86-64.o"]  # of `_compiled`
    _run([compiler, *flags, f"-I{folder}", *map(str, files), "-lm", "-o", str(program)])
    _run([
        "valgrind", "--tool=callgrind", f"--toggle-collect={stem}_step",
        f"--dump-after={stem}_step", f"--callgrind-out-file={work / 'calls'}",
        str(program), str(work / "samples.bin"),
    ])  # fmt: skip
    dumps = [work / f"calls.{k + 1}" for k in range(len(rows))]
    totals = [re.search(r"^(?:totals|summary): (\d+)", d.read_text("utf-8"), re.M) for d in dumps]
    return tuple(int(t[1]) for t in totals if t is not None)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise OptionError(f"{command[0]} failed: {last}")
    return done.stdout
