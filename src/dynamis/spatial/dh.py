"""The matrix A of one DH row and its inverse, in both conventions (document 001, DH13)."""

from typing import Any

from .frames import Frame
from .functions import MATH, Functions, cos_sin


def dh_frame(
    convention: str, theta: Any, d: Any, a: Any, alpha: Any, fn: Functions = MATH
) -> Frame:
    """Standard: Rz(theta) Tz(d) Tx(a) Rx(alpha). Modified: Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
    ct, st = cos_sin(theta, fn)
    ca, sa = cos_sin(alpha, fn)
    if convention == "standard":
        R = (ct, -ca * st, sa * st), (st, ca * ct, -sa * ct), (0.0, sa, ca)
        return Frame(R, (a * ct, a * st, d))
    R = (ct, -st, 0.0), (ca * st, ca * ct, -sa), (sa * st, sa * ct, ca)
    return Frame(R, (a, -sa * d, ca * d))


def dh_inverse(
    convention: str, theta: Any, d: Any, a: Any, alpha: Any, fn: Functions = MATH
) -> Frame:
    """A^-1 written out, row by row."""
    ct, st = cos_sin(theta, fn)
    ca, sa = cos_sin(alpha, fn)
    if convention == "standard":
        R = (ct, st, 0.0), (-ca * st, ca * ct, sa), (sa * st, -sa * ct, ca)
        return Frame(R, (-a, -d * sa, -d * ca))
    R = (ct, ca * st, sa * st), (-st, ca * ct, sa * ct), (0.0, -sa, ca)
    return Frame(R, (-a * ct, a * st, -d))
