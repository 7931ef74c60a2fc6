"""What stands beside the C of a controller: build files and a page on how to wire it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import templates
from ..backends.c_names import remarks
from . import udp
from .c_text import plain, tolerance, words
from .posix_loop import HOLD

if TYPE_CHECKING:
    from .law import Law

FLAGS = "-std=c99 -O2 -ffp-contract=off -Wall -Wextra -Wconversion -Werror -pedantic"


def build_files(stem: str, trig: str, notes: Sequence[str]) -> dict[str, str]:
    """File name -> text: make test, make loop, and the same for CMake."""
    given = {"REMARKS": remarks(notes), "STEM": stem, "LIBM": trig != "own", "FLAGS": FLAGS}
    names = ("Makefile", "CMakeLists.txt")
    return {name: templates.filled(__package__, name, **given) for name in names}


def readme(law: "Law", dtype: str, trig: str, notes: Sequence[str]) -> str:
    """How to wire it to an arm."""
    joints = enumerate(_escaped(law.robot.joint_names))
    return templates.filled(
        __package__,
        "README.md",
        **words(law, notes, dtype),
        **udp.words(law.n),
        JOINTS="\n".join(f"| {i} | `{name}` |" for i, name in joints),
        SINGLE=dtype == "float32",
        OWN=trig == "own",
        TOLERANCE=f"{tolerance(law, dtype):g}",
        MILLISECONDS=f"{1e3 * law.sample_time:g}",
        RATE=f"{1.0 / law.sample_time:.12g}",
        CYCLES=max(1, round(10.0 / law.sample_time)),
        LATCHES_AT_ONCE=law.latch == 1,
        GRAVITY=law.safe == "gravity",
        RAMP=f"{law.ramp:g}",
        LIMITED=law.limit is not None,
        LIMITS=", ".join(f"{x:g}" for x in law.limits),
        JUMPS=", ".join(f"{x:g}" for x in law.jumps or ()),
        BEGINNING=_beginning(law),
        HOLD=HOLD,
        ORIGIN="\n".join(f"    {plain(line)}".rstrip() for line in notes),
    )


def _beginning(law: "Law") -> str:
    return "" if law.reference is None else ",".join(f"{x:.9g}" for x in law.reference(0.0).q)


def _escaped(names: tuple[str, ...]) -> list[str]:
    return ["".join(c if c.isalnum() or c in "_-. " else "?" for c in name) for name in names]
