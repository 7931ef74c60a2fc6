"""Sine and cosine in LLVM, without branches: the same bits in scalar and in vector code.

Quadrant by adding a large number that rounds x 2/pi to an integer, a Cody-Waite reduction in three
parts with fma (the first part is exact for |x| up to LARGEST), the Cephes minimax polynomials.
"""

import struct
from typing import NamedTuple

LARGEST = 1e5  # beyond it the caller asks libm


class Real(NamedTuple):
    """A floating-point type and the constants of its sine and cosine."""

    name: str  # in IR
    suffix: str  # of intrinsics
    bits: int
    magic: float  # 1.5 * 2^(mantissa bits)
    half_pi: tuple[float, float, float]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


def _float32(x: float) -> float:
    return struct.unpack("f", struct.pack("f", x))[0]


# pi/2 in three pieces of full precision
DOUBLE = Real(
    "double",
    "f64",
    64,
    6755399441055744.0,
    (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    (
        1.58962301576546568060e-10,
        -2.50507477628578072866e-8,
        2.75573136213857245213e-6,
        -1.98412698295895385996e-4,
        8.33333333332211858878e-3,
        -1.66666666666666307295e-1,
    ),
    (
        -1.13585365213876817300e-11,
        2.08757008419747316778e-9,
        -2.75573141792967388112e-7,
        2.48015872888517045348e-5,
        -1.38888888888730564116e-3,
        4.16666666666665929218e-2,
    ),
)
SINGLE = Real(
    "float",
    "f32",
    32,
    12582912.0,
    (
        _float32(1.5707963705062866),
        _float32(-4.371138828673793e-08),
        _float32(-1.7151245100059e-15),
    ),
    tuple(map(_float32, (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1))),
    tuple(map(_float32, (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2))),
)
REALS = {"float64": DOUBLE, "float32": SINGLE}


def number(value: float) -> str:
    """A constant in IR: the bits of a double, whatever the type."""
    return "0x" + struct.pack(">d", value).hex().upper()


def typed(real: Real, width: int) -> str:
    """The IR type of a value: a scalar, or a vector of `width` samples."""
    return real.name if width == 1 else f"<{width} x {real.name}>"


def constant(real: Real, width: int, value: float) -> str:
    """A constant of that type."""
    scalar = number(_float32(value) if real is SINGLE else value)
    return scalar if width == 1 else f"splat ({real.name} {scalar})"


def intrinsic(real: Real, width: int, name: str) -> str:
    """The mangled name of an intrinsic for that type."""
    return f"@llvm.{name}.{real.suffix if width == 1 else f'v{width}{real.suffix}'}"


def sincos(real: Real, width: int) -> str:
    """IR of @sincos_W: {sin x, cos x} for |x| <= LARGEST; NaN stays NaN."""
    T = typed(real, width)
    I = f"i{real.bits}" if width == 1 else f"<{width} x i{real.bits}>"
    B = "i1" if width == 1 else f"<{width} x i1>"
    fma = intrinsic(real, width, "fma")

    def c(value: float) -> str:
        return constant(real, width, value)

    def integer(value: int) -> str:
        return str(value) if width == 1 else f"splat (i{real.bits} {value})"

    lines = [
        f"define internal {{{T}, {T}}} @sincos_{width}({T} %x) alwaysinline {{",
        f"  %scaled = fmul {T} %x, {c(0.6366197723675814)}",
        f"  %shifted = fadd {T} %scaled, {c(real.magic)}",
        f"  %k = fsub {T} %shifted, {c(real.magic)}",
        f"  %minus = fneg {T} %k",
        f"  %bits = bitcast {T} %shifted to {I}",
    ]
    r = "%x"
    for i, piece in enumerate(real.half_pi):
        lines.append(f"  %r{i} = call {T} {fma}({T} %minus, {T} {c(piece)}, {T} {r})")
        r = f"%r{i}"
    lines.append(f"  %z = fmul {T} {r}, {r}")
    for name, coefficients in (("s", real.sine), ("c", real.cosine)):
        value = c(coefficients[0])
        for i, a in enumerate(coefficients[1:]):
            lines.append(f"  %{name}{i} = call {T} {fma}({T} {value}, {T} %z, {T} {c(a)})")
            value = f"%{name}{i}"
    last_s, last_c = len(real.sine) - 2, len(real.cosine) - 2
    lines += [
        f"  %rz = fmul {T} {r}, %z",
        f"  %sine = call {T} {fma}({T} %s{last_s}, {T} %rz, {T} {r})",
        f"  %head = call {T} {fma}({T} %z, {T} {c(-0.5)}, {T} {c(1.0)})",
        f"  %zz = fmul {T} %z, %z",
        f"  %cosine = call {T} {fma}({T} %c{last_c}, {T} %zz, {T} %head)",
        f"  %odd = and {I} %bits, {integer(1)}",
        f"  %swap = icmp ne {I} %odd, {integer(0)}",
        f"  %s_plain = select {B} %swap, {T} %cosine, {T} %sine",
        f"  %c_plain = select {B} %swap, {T} %sine, {T} %cosine",
        f"  %high = and {I} %bits, {integer(2)}",
        f"  %s_sign = shl {I} %high, {integer(real.bits - 2)}",
        f"  %next = add {I} %bits, {integer(1)}",
        f"  %c_high = and {I} %next, {integer(2)}",
        f"  %c_sign = shl {I} %c_high, {integer(real.bits - 2)}",
        f"  %s_bits = bitcast {T} %s_plain to {I}",
        f"  %c_bits = bitcast {T} %c_plain to {I}",
        f"  %s_signed = xor {I} %s_bits, %s_sign",
        f"  %c_signed = xor {I} %c_bits, %c_sign",
        f"  %s = bitcast {I} %s_signed to {T}",
        f"  %c = bitcast {I} %c_signed to {T}",
        f"  %both = insertvalue {{{T}, {T}}} poison, {T} %s, 0",
        f"  %pair = insertvalue {{{T}, {T}}} %both, {T} %c, 1",
        f"  ret {{{T}, {T}}} %pair",
        "}",
    ]
    return "\n".join(lines)
