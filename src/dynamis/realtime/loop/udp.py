"""Packets between a controller and a plant: what they hold.

Little endian, one packet per datagram:

    bytes  type  what
    0      u32   MAGIC
    4      u32   kind: 1 measurement (plant to controller), 2 torque (controller to plant)
    8      u64   sequence: one more for every packet made; a gap is a loss
    16     f64   t, seconds since the sender started; of a torque: what the reference is for
    24     f64   n positions, then n velocities; or n torques, then the status

Status: -1 listening (this torque must not act), 0 running, 1 bad sample, 2 safe, 3 good-bye (zero
torque, nothing comes after it).
The plant answers to whoever sent it a torque packet last.
"""

import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

MAGIC = 0x314E5944  # "DYN1"
MEASUREMENT, TORQUE = 1, 2
LISTENING, RUNNING, BAD, SAFE, BYE = -1.0, 0.0, 1.0, 2.0, 3.0
HOST = "127.0.0.1"
PORT = 5600
HEAD = struct.Struct("<IIQd")


class Packet(NamedTuple):
    """One packet; `values` is everything behind t."""

    kind: int
    sequence: int
    t: float
    values: tuple[float, ...]


def packed(kind: int, sequence: int, t: float, *values: float) -> bytes:
    """The bytes of a packet."""
    return HEAD.pack(MAGIC, kind, sequence, t) + struct.pack(f"<{len(values)}d", *values)


def unpacked(data: bytes, kind: int, count: int) -> Packet | None:
    """The packet of a kind with `count` values, or None where these bytes are not one."""
    if len(data) != HEAD.size + 8 * count:
        return None
    magic, given, sequence, t = HEAD.unpack_from(data)
    if magic != MAGIC or given != kind:
        return None
    return Packet(given, sequence, t, struct.unpack_from(f"<{count}d", data, HEAD.size))


def measurement(sequence: int, t: float, q: Sequence[float], qd: Sequence[float]) -> bytes:
    """Where the joints are."""
    return packed(MEASUREMENT, sequence, t, *q, *qd)


def torque(sequence: int, t: float, tau: Sequence[float], status: float) -> bytes:
    """What the drives should do."""
    return packed(TORQUE, sequence, t, *tau, status)


def torque_of(data: bytes, n: int) -> Packet | None:
    """A torque packet whose numbers are all finite, or None."""
    found = unpacked(data, TORQUE, n + 1)
    good = found is not None and all(map(math.isfinite, (found.t, *found.values)))
    return found if good else None


def words(n: int) -> dict[str, Any]:
    """What templates say of the packets of n joints."""
    status = {"LISTENING": LISTENING, "RUNNING": RUNNING, "BAD": BAD, "SAFE": SAFE, "BYE": BYE}
    sizes = {"HEAD": HEAD.size, "IN": HEAD.size + 16 * n, "OUT": HEAD.size + 8 * n + 8}
    return {
        **{name: f"{value:g}" for name, value in status.items()},
        **sizes,
        "N_AND_STATUS": n + 1,
        **{"MAGIC": f"0x{MAGIC:08x}", "MEASUREMENT": MEASUREMENT, "TORQUE": TORQUE},
        **{"HOST": HOST, "PORT": PORT},
    }
