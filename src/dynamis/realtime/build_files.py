"""What stands beside the C of a controller: build files and a page on how to wire it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .c_text import plain, tolerance
from .posix_loop import HOLD
from .udp import BAD, BYE, HEAD, LISTENING, MAGIC, MEASUREMENT, PORT, RUNNING, SAFE, TORQUE

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
        "gravity": f"gravity compensation at the last known position, ramped down in {law.ramp:g} s; damped while\n"
        "  velocities are measured (only the reference is bad), not where they are not. Zero before any position was seen",
    }[law.safe]
    begin = (
        ""
        if law.reference is None
        else " --start " + ",".join(f"{x:.9g}" for x in law.reference(0.0).q)
    )
    bounded = (
        "No torque limit was given (`limit`): the law may ask for more than drives or arm can take."
    )
    if law.limit is not None:
        bounded = f"Torques stay within {', '.join(f'{x:g}' for x in law.limits)}."
    leaps = "A position may leap (`jump` was not given): a glitch of an encoder is answered with torque."
    if law.jumps is not None:
        leaps = f"A position farther from the last good one than {', '.join(f'{x:g}' for x in law.jumps)} per sample is bad."
    origin = "\n".join(f"    {plain(line)}".rstrip() for line in notes)
    made = law.velocity == "difference"
    return f"""# {stem}

C99, {"single" if dtype == "float32" else "double"} precision, one call every {1e3 * law.sample_time:g} ms.

    make test    # replays samples and compares torques: within {tolerance(law, dtype):g} of each joint's largest
    make loop    # a POSIX loop that talks to a plant over UDP: ./{stem}_loop --help

| index | joint |
|---|---|
{joints}

To wire it to an arm, write three things around it: read positions{"" if made else " and velocities"} (rad or m, in
the order above, the model's zeros and signs) into `{stem}_measurement`; call `{stem}_init` once with the first
of them, `{stem}_step` every {1e3 * law.sample_time:g} ms; send `torque` (N m or N, joint side) to the drives.
`{stem}.hpp` is the same as a C++17 class.

- `step` returns RUNNING (0), BAD_SAMPLE (1) or SAFE (2). A sample is bad when a number in it{" (velocities are not looked at)" if made else ""} is NaN or
  beyond 1e6, or when the law itself computes such a torque: its torque is the safe one.
- {_latch(law.latch)}
- Of a bad sample the integrals and estimates of the law learn nothing. Where only the reference is bad, position and
  velocity are good and are remembered; where a position{"" if made else " or velocity"} is bad, none of the sample's are.
- Safe torque: {safe}.
- {bounded}
- {leaps} Angles must be continuous: an encoder that wraps at a turn is unwrapped before.
- `init` takes what is not plausible in its first sample for zero, and runs all the same{"; the first velocity is the wanted one, then differences" if made else ""}. Wait
  for a good sample before it.
- A reference that jumps is followed as hard as the gains{" and the torque limits" if law.limit is not None else ""} say; it is not smoothed.
- {"Time (always double) below zero is zero; beyond its end the trajectory rests, or goes on if it is periodic." if law.reference is not None else "The reference comes with every sample."}
- State, measurement, reference and torque belong to the caller; several controllers may run at once.

## Compiling it

`-std=c99`. Never `-ffast-math`, `-ffinite-math-only` or `-funsafe-math-optimizations`, with which NaN passes for a number
and sums change: the source refuses what it can see of them, the self-test the rest. `-ffp-contract=off` gives the digits of the self-test; without it the compiler may fuse
multiplications and additions, and the last digit differs. On 32-bit x86 add `-msse2 -mfpmath=sse`.
{"Sine, cosine, exp and tanh are inside: nothing is linked and every cycle does the same work." if trig == "own" else "Links <math.h> (`-lm`) for its elementary functions."}

## Before it meets an arm

`dynamis plant` simulates the arm in another process. In two terminals:

    dynamis plant {stem}_robot.toml --rate {1.0 / law.sample_time:.12g} --port {PORT}{begin}
    ./{stem}_loop --port {PORT} --cycles {max(1, round(10.0 / law.sample_time))}

A cycle without a new measurement is silent, and so is one that the loop itself missed because it woke late; a measurement older
than hold + 1 cycles counts as none (`--oldest`). The first `--hold N` silent cycles in a row ({HOLD} unless given) go on with the
last measurement{", extrapolated" if made else ""}; further ones are bad samples, of which {law.latch} in a row are final (exit code 1).
{"It refuses to begin where a joint is far from where the trajectory begins (`--start-tolerance`). " if law.reference is not None else ""}{"At its end, and on SIGINT or SIGTERM, it lets the arm down by the ramp of the safe torque; a second signal ends it at once." if law.safe == "gravity" else "At its end, and on SIGINT or SIGTERM, the torque is zero at once."}
Packets are
little endian, one per datagram:

| byte | type | what |
|---|---|---|
| 0 | u32 | 0x{MAGIC:08x}, "DYN1" |
| 4 | u32 | {MEASUREMENT}: measurement, plant to controller; {TORQUE}: torque, controller to plant |
| 8 | u64 | sequence: one more for every packet made |
| 16 | f64 | t, seconds since the sender started; of a torque: the time its reference is for |
| {HEAD.size} | {2 * law.n} f64 | of a measurement: {law.n} positions, {law.n} velocities; {HEAD.size + 16 * law.n} bytes in all |
| {HEAD.size} | {law.n + 1} f64 | of a torque packet: {law.n} torques, the status; {HEAD.size + 8 * law.n + 8} bytes in all |

Status: {LISTENING:g} listening (this torque must not act), {RUNNING:g} running, {BAD:g} bad sample, {SAFE:g} safe, {BYE:g} good-bye (zero torque;
nothing comes after it). The plant answers to whoever sent it a torque packet last.

## Where it comes from

{origin}
"""


def _latch(latch: int) -> str:
    if latch == 1:
        return "One bad sample latches SAFE (`latch` = 1): only `init` leaves it."
    return (
        f"{latch} bad samples in a row (`latch`) latch SAFE: only `init` leaves it. After fewer, a "
        "good one runs again."
    )


def _escaped(names: tuple[str, ...]) -> list[str]:
    return ["".join(c if c.isalnum() or c in "_-. " else "?" for c in name) for name in names]


def _hashes(notes: Sequence[str]) -> str:
    return "".join(f"# {plain(line)}".rstrip() + "\n" for line in notes) + "\n"
