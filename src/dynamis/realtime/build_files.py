"""What stands beside the C of a controller: build files and a page on how to wire it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .c_text import plain

if TYPE_CHECKING:
    from .law import Law

FLAGS = "-std=c99 -O2 -ffp-contract=off -Wall -Wextra -Wconversion -Werror -pedantic"


def makefile(stem: str, trig: str, notes: Sequence[str]) -> str:
    """make test, make loop."""
    libm = "" if trig == "own" else " -lm"
    return (
        f"{_hashes(notes)}"
        "CC ?= cc\n"
        f"CFLAGS ?= {FLAGS}\n\n"
        "all: test loop\n\n"
        f"test: {stem}_test\n\t./{stem}_test\n\n"
        f"loop: {stem}_loop\n\n"
        f"{stem}_test: {stem}.c {stem}_test.c {stem}.h\n"
        f"\t$(CC) $(CFLAGS) -o $@ {stem}.c {stem}_test.c{libm}\n\n"
        f"{stem}_loop: {stem}.c {stem}_loop.c {stem}.h\n"
        f"\t$(CC) $(CFLAGS) -o $@ {stem}.c {stem}_loop.c{libm}\n\n"
        f"clean:\n\trm -f {stem}_test {stem}_loop\n\n.PHONY: all test loop clean\n"
    )


def cmake(stem: str, trig: str, notes: Sequence[str]) -> str:
    """The same for CMake."""
    libm = "" if trig == "own" else f"if(UNIX)\n  target_link_libraries({stem} PUBLIC m)\nendif()\n"
    return (
        f"{_hashes(notes)}"
        "cmake_minimum_required(VERSION 3.10)\n"
        f"project({stem} C)\n"
        "set(CMAKE_C_STANDARD 99)\n"
        "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
        'if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")\n'
        "  add_compile_options(-O2 -ffp-contract=off -Wall -Wextra -pedantic)\nendif()\n"
        f"add_library({stem} STATIC {stem}.c)\n"
        f"target_include_directories({stem} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\n"
        f"{libm}"
        "enable_testing()\n"
        f"add_executable({stem}_test {stem}_test.c)\n"
        f"target_link_libraries({stem}_test PRIVATE {stem})\n"
        f"add_test(NAME self_test COMMAND {stem}_test)\n"
        "if(UNIX)\n"
        f"  add_executable({stem}_loop {stem}_loop.c)\n"
        f"  target_link_libraries({stem}_loop PRIVATE {stem})\n"
        "endif()\n"
    )


def readme(law: "Law", stem: str, dtype: str, trig: str, notes: Sequence[str]) -> str:
    """How to wire it to an arm."""
    joints = "\n".join(
        f"| {i} | `{name}` |" for i, name in enumerate(_escaped(law.robot.joint_names))
    )
    safe = {
        "zero": "zero torque: the arm falls unless brakes or gears hold it",
        "gravity": f"gravity compensation with damping, ramped down in {law.ramp:g} s",
    }[law.safe]
    origin = "\n".join(f"    {plain(line)}".rstrip() for line in notes)
    return f"""# {stem}

C99, {"single" if dtype == "float32" else "double"} precision, one call every {1e3 * law.sample_time:g} ms.

    make test    # replays recorded samples and compares torques
    make loop    # a POSIX loop that talks to a plant over UDP: ./{stem}_loop --help

| index | joint |
|---|---|
{joints}

To wire it to an arm, write three things around it: read positions{" and velocities" if law.velocity == "measured" else ""} (rad or m, in
the order above, the model's zeros and signs) into `{stem}_measurement`; call `{stem}_init` once with the first
of them, `{stem}_step` every {1e3 * law.sample_time:g} ms; send `torque` (N m or N, joint side) to the drives.

- `step` returns RUNNING (0), BAD_SAMPLE (1) or SAFE (2). A sample with NaN or with a number beyond 1e6 in it is bad:
  its torque is the safe one, and nothing of it is remembered. Two bad samples in a row latch SAFE until `init`.
- Safe torque: {safe}.
- A reference that jumps is followed as hard as the gains{" and the torque limits" if law.limit is not None else ""} say; it is not smoothed.
- {"Time below zero is zero; beyond its end the trajectory is what it is in Python: it rests, or goes on." if law.reference is not None else "The reference comes with every sample."}
- State, measurement, reference and torque belong to the caller; several controllers may run at once.

Before it meets an arm: `dynamis plant` simulates the arm in another process and speaks the same protocol as `{stem}_loop`.
{"Sine, cosine, exp and tanh are inside: nothing is linked and every cycle does the same work." if trig == "own" else "Links <math.h> for its elementary functions."}

Where it comes from:

{origin}
"""


def _escaped(names: tuple[str, ...]) -> list[str]:
    return ["".join(c if c.isalnum() or c in "_-. " else "?" for c in name) for name in names]


def _hashes(notes: Sequence[str]) -> str:
    return "".join(f"# {plain(line)}".rstrip() + "\n" for line in notes) + "\n"
