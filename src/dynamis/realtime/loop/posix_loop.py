"""The POSIX loop of a controller: a C program that runs it against a plant over UDP.

    listen    a few packets say when measurements come; the cycle is set just behind them
    cycle     sleep until its time; newest measurement that came; step; send the torque
    end       after --cycles, on a signal, or when the safe state has run its course; an arm with
              safe="gravity" is let down first: bad references make the law ramp down

A cycle either got a new measurement or it is silent. The first silent cycle (`--hold` of them) goes
on with the last measurement; from the second in a row the law is given NaN, so its torque is the
safe one until a measurement comes. The law's own `latch` says how many of those are final. Cycles
that the loop itself missed count as silent ones, and a measurement that is too old is none. A law
that makes velocities from positions must not see a position twice: in silent cycles it is given
one that moves on as far as the arm did in a cycle, whatever time lay between two packets.
A bad reference, which lets the arm down, is one whose time or whose positions are NaN.
"""

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from ... import templates
from ...export.c_function import PRECISIONS, literal
from ...spatial.functions import MATH
from ..c_text import plain, words
from . import udp

if TYPE_CHECKING:
    from ...control.law import Law

HOLD = 1  # cycles without a measurement that the last one may stand in for
LISTEN = 200  # packets
AFTER = 0.1  # s in the safe state before the program ends, where nothing is ramped down
TOLERANCE = 0.05  # rad or m that the arm may be away from where the trajectory begins
MOST_CYCLES = 10**15

INSIDE = "The reference is the trajectory inside, from its beginning at the first cycle."
STILL = "The reference is the place where the arm is at the first cycle: it holds still."
LET_DOWN = (
    "At the end (SIGINT, SIGTERM, --cycles) the arm is let down: gravity compensation with "
    "damping, ramped down in {:.6g} s, then zero torque; a second signal ends at once."
)
DROPPED = "At the end (SIGINT, SIGTERM, --cycles) the torque is zero at once."


def beginning(law: "Law") -> list[float] | None:
    """Where the joints are when the trajectory inside begins; None without one."""
    return None if law.reference is None else [float(x) for x in law.reference.at(0.0, MATH)[0]]


def start_words(law: "Law") -> str:
    """What `dynamis plant --start` is to be given."""
    return ",".join(f"{x:.6g}" for x in beginning(law) or [0.0] * law.n)


def loop_source(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """The program `<stem>_loop.c`."""
    first = beginning(law)
    names = (plain(name).replace('"', "'").replace("@", "?") for name in law.robot.joint_names)
    return templates.filled(
        __package__,
        "posix_loop.c",
        **words(law, notes, dtype),
        **udp.words(law.n),
        LISTEN=LISTEN,
        HOLD=HOLD,
        PERIOD=repr(float(law.sample_time)),
        TOLERANCE=repr(TOLERANCE),
        RAMPING=law.safe == "gravity",
        STEPS=ceil(min(law.ramp / law.sample_time, MOST_CYCLES)) + 1,
        AFTER=repr(AFTER),
        REFERENCE=STILL if first is None else INSIDE,
        ENDING=LET_DOWN.format(law.ramp) if law.safe == "gravity" else DROPPED,
        BEGINNING=", ".join(literal(x, PRECISIONS["float64"]) for x in first or []),
        START=start_words(law),
        NAMES=", ".join(f'"{name}"' for name in names),
    )
