"""Elementary functions, each written once without a branch; LLVM and C print what is traced here.

A function is traced over numbers, their bits and conditions (`ElementaryRecorder`), from basic
operations that round the same everywhere: single calls, vector lanes and exported C have the same
bits.
Errors against mpmath stay below these units in the last place (tests/compile/test_elementary.py):

    sin, cos  exp  log  tanh  pow  atan2
    1.6       1.2  0.8  1.4   0.9  1.6    float64
    1.6       1.2  0.8  1.4   0.9  2.4    float32

at any angle, subnormal results included. NaN, infinities and signed zeros are those of C99's
Annex F. Coefficients: sine, cosine and tanh from Cephes (Moshier 1989), log, pow and atan from
FDLIBM (Sun Microsystems 1993), exp a Chebyshev fit.
"""

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from ..spatial.recorder import COMPARISONS, Recorded, Recorder, uses

LARGEST = 1e5  # an angle beyond is reduced with all the digits of 2/pi that it meets
LIMBS = 6  # half words of 2/pi that one angle meets
PI_REST = 1.2246467991473532e-16  # pi - math.pi
TWO_OVER_PI = int(  # 1280 bits behind the point
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d192"
    "1cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05"
    "980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f"
    "8d5d0856033046fc7b6babf0cfbc209af4361d",
    16,
)


class Real(NamedTuple):
    """A floating-point type and the coefficients of its functions, highest power first."""

    name: str  # in C and in LLVM
    suffix: str  # of intrinsics
    bits: int
    mantissa: int
    half_pi: tuple[float, float, float]  # the sum
    half_pi_exact: bool  # the first two times the k of any angle up to LARGEST are exact
    half_pi_upper: tuple[float, float]  # the first times an upper half is exact
    sine: tuple[float, ...]
    cosine: tuple[float, ...]
    exp: tuple[float, ...]  # (e^r - 1 - r) / r^2
    log: tuple[float, ...]  # (log((1 + s) / (1 - s)) - 2 s) / s^3
    tanh: tuple[tuple[float, ...], tuple[float, ...]]  # (tanh x - x) / x^3 = P / Q of x^2
    atan: tuple[float, ...]  # (x - atan x) / x^3
    power_log: tuple[float, ...]
    power_exp: tuple[float, ...]
    low: int  # bits that `upper` clears
    ln2: tuple[float, float]  # the first times any exponent is exact
    ln2_upper: tuple[float, float]  # here and below: the first times an upper half is exact
    two_over_3_ln2: tuple[float, float]
    log2_of_3_2: tuple[float, float]

    @property
    def bias(self) -> int:
        """Of the exponent."""
        return (1 << self.bits - self.mantissa - 2) - 1

    @property
    def magic(self) -> float:
        """Adding it rounds to the nearest integer, which then stands in the low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)

    def rounded(self, value: float) -> float:
        """A number as this type holds it."""
        return value if self.bits == 64 else struct.unpack("f", struct.pack("f", value))[0]

    def word(self, value: float) -> int:
        """The bits of a number."""
        number, integer = (">d", ">Q") if self.bits == 64 else (">f", ">I")
        return struct.unpack(integer, struct.pack(number, value))[0]


DOUBLE = Real(
    name="double",
    suffix="f64",
    bits=64,
    mantissa=52,
    half_pi=(1.5707963267923333, 2.5633441515839558e-12, 1.0562999066987428e-23),
    half_pi_exact=True,
    half_pi_upper=(1.5707963267341256, 6.077100506506192e-11),
    sine=(
        1.58962301576546568060e-10,
        -2.50507477628578072866e-8,
        2.75573136213857245213e-6,
        -1.98412698295895385996e-4,
        8.33333333332211858878e-3,
        -1.66666666666666307295e-1,
    ),
    cosine=(
        -1.13585365213876817300e-11,
        2.08757008419747316778e-9,
        -2.75573141792967388112e-7,
        2.48015872888517045348e-5,
        -1.38888888888730564116e-3,
        4.16666666666665929218e-2,
    ),
    exp=(
        2.5100472505694996e-08,
        2.7620201591031547e-07,
        2.7557268276905696e-06,
        2.4801521057868204e-05,
        0.00019841269863171557,
        0.0013888888917367081,
        0.008333333333330039,
        0.041666666666623824,
        0.16666666666666669,
        0.5,
    ),
    log=(
        1.479819860511658591e-01,
        1.531383769920937332e-01,
        1.818357216161805012e-01,
        2.222219843214978396e-01,
        2.857142874366239149e-01,
        3.999999999940941908e-01,
        6.666666666666735130e-01,
    ),
    tanh=(
        (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3),
        (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3),
    ),
    atan=(
        1.62858201153657823623e-02,
        -3.65315727442169155270e-02,
        4.97687799461593236017e-02,
        -5.83357013379057348645e-02,
        6.66107313738753120669e-02,
        -7.69187620504482999495e-02,
        9.09088713343650656196e-02,
        -1.11111104054623557880e-01,
        1.42857142725034663711e-01,
        -1.99999999998764832476e-01,
        3.33333333333329318027e-01,
    ),
    power_log=(
        2.06975017800338417784e-01,
        2.30660745775561754067e-01,
        2.72728123808534006489e-01,
        3.33333329818377432918e-01,
        4.28571428578550184252e-01,
        5.99999999999994648725e-01,
    ),
    power_exp=(
        4.13813679705723846039e-08,
        -1.65339022054652515390e-06,
        6.61375632143793436117e-05,
        -2.77777777770155933842e-03,
        1.66666666666666019037e-01,
    ),
    low=32,
    ln2=(6.93147180369123816490e-01, 1.90821492927058770002e-10),
    ln2_upper=(0.6931471824645996, -1.904654299957768e-09),
    two_over_3_ln2=(0.961796760559082, -6.663310642634338e-08),
    log2_of_3_2=(0.5849623680114746, 1.3270968157207873e-07),
)
SINGLE = Real(
    name="float",
    suffix="f32",
    bits=32,
    mantissa=23,
    half_pi=(1.5707963705062866, -4.371138828673793e-08, -1.7151245100059e-15),
    half_pi_exact=False,
    half_pi_upper=(1.5703125, 0.0004838267923332751),
    sine=(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
    cosine=(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
    exp=(
        0.00019891080463998843,
        0.0013933730715792083,
        0.008333310844647862,
        0.04166646419740569,
        0.16666666681704215,
        0.5,
    ),
    log=(0.24279078841, 0.28498786688, 0.40000972152, 0.66666662693),
    tanh=(
        (
            -5.70498872745e-3,
            2.06390887954e-2,
            -5.37397155531e-2,
            1.33314422036e-1,
            -3.33332819422e-1,
        ),
        (1.0,),
    ),
    atan=(
        6.1687607318e-02,
        -1.0648017377e-01,
        1.4253635705e-01,
        -1.9999158382e-01,
        3.3333328366e-01,
    ),
    power_log=(
        2.0697501302e-01,
        2.3066075146e-01,
        2.7272811532e-01,
        3.3333334327e-01,
        4.2857143283e-01,
        6.0000002384e-01,
    ),
    power_exp=(
        4.1381369442e-08,
        -1.6533901999e-06,
        6.6137559770e-05,
        -2.7777778450e-03,
        1.6666667163e-01,
    ),
    low=12,
    ln2=(6.9313812256e-01, 9.0580006145e-06),
    ln2_upper=(0.693115234375, 3.1946184945309415e-05),
    two_over_3_ln2=(0.9619140625, -0.00011736857402439509),
    log2_of_3_2=(0.5849609375, 1.5632211561814537e-06),
)
REALS = {"float64": DOUBLE, "float32": SINGLE}
KINDS = {  # of operations whose result is of another kind than their operands
    **dict.fromkeys((*COMPARISONS, "eq", "ne"), "mask"),
    "bits": "word",
    "number": "real",
}


class ElementaryStep(NamedTuple):
    """One operation; `kind` of the result is "real", "word" (its bits) or "mask" (a condition)."""

    op: str
    kind: str
    operands: tuple[int | float, ...]  # numbers of steps; the value itself of a constant

    @property
    def sources(self) -> tuple[int, ...]:
        """The steps that it computes with."""
        return () if self.op in ("argument", "constant") else self.operands  # type: ignore


class ElementaryFunction(NamedTuple):
    """A traced function: its first steps are its arguments."""

    name: str
    real: Real
    arity: int
    steps: tuple[ElementaryStep, ...]
    results: tuple[int, ...]


class Value(Recorded):
    """A step while a function is traced; words have the operators of bits too."""

    __slots__ = ("kind",)

    def __init__(self, code: "ElementaryRecorder", kind: str, index: int):
        super().__init__(code, index)
        self.kind = kind

    def __invert__(self) -> "Value":
        return self.operation("not", self)

    def __abs__(self) -> "Value":
        return self.operation("abs", self)

    def __and__(self, other: "Value | int") -> "Value":
        return self.operation("and", self, other)

    def __or__(self, other: "Value | int") -> "Value":
        return self.operation("or", self, other)

    def __xor__(self, other: "Value | int") -> "Value":
        return self.operation("xor", self, other)

    def __lshift__(self, other: "Value | int") -> "Value":
        return self.operation("shl", self, other)

    def __rshift__(self, other: int) -> "Value":
        return self.operation("shr", self, other)

    def equals(self, other: "Value | float") -> "Value":
        """Where both are the same number; of words too."""
        return self.operation("eq", self, other)

    def differs(self, other: "Value | float") -> "Value":
        """Where both are not the same number, or one is NaN."""
        return self.operation("ne", self, other)

    @property
    def bits(self) -> "Value":
        """The word of a number."""
        return self.operation("bits", self)

    @property
    def number(self) -> "Value":
        """The number whose word this is."""
        return self.operation("number", self)


class ElementaryRecorder(Recorder):
    """Steps of one function over one type."""

    def __init__(self, real: Real):
        super().__init__()
        self.real = real

    def record(self, name: str, *operands: "Value | float") -> Value:
        """An operation on values of one kind."""
        return self.step(name, KINDS.get(name) or _kind(operands), *operands)

    def step(self, op: str, kind: str, *operands: "Value | float") -> Value:
        """A step; plain numbers among its operands become constants of the kind of a value."""
        given = _kind(operands)
        values = (x if isinstance(x, Value) else self.constant(given, x) for x in operands)
        return self._made(ElementaryStep(op, kind, tuple(x.index for x in values)))

    def constant(self, kind: str, value: float) -> Value:
        """A number or a word."""
        exact = self.real.rounded(float(value)) if kind == "real" else value
        return self._made(ElementaryStep("constant", kind, (exact,)))

    def _made(self, step: ElementaryStep) -> Value:
        return Value(self, step.kind, self.index(step))

    def argument(self, k: int) -> Value:
        """Argument k."""
        return self._made(ElementaryStep("argument", "real", (k,)))

    def fma(self, a: Value, b: "Value | float", c: "Value | float", exact: bool = False) -> Value:
        """a b + c, rounded once; where a b is `exact`, fused or not: the bits are the same.

        Where it is not, and numbers are doubles, |a b| < |c| / 8: C counts on it (dy_fma).
        """
        return self.step("exact_fma" if exact else "fma", "real", a, b, c)

    def select(self, mask: Value, a: "Value | float", b: "Value | float") -> Value:
        """a where the condition holds, else b."""
        kind = next((x.kind for x in (a, b) if isinstance(x, Value)), "real")
        a, b = (x if isinstance(x, Value) else self.constant(kind, x) for x in (a, b))
        return self.step("select", kind, mask, a, b)

    def two_over_pi(self, index: Value) -> Value:
        """Half a word of 2/pi."""
        return self.step("two_over_pi", "word", index)

    def whole(self, word: Value) -> Value:
        """A word below 2^mantissa as a number."""
        start = 2.0**self.real.mantissa
        return (word | self.real.word(start)).number - start

    def signed(self, x: Value, like: Value) -> Value:
        """A number that is not negative, with the sign of another."""
        return (x.bits | (like.bits & (1 << self.real.bits - 1))).number

    def upper(self, x: Value) -> Value:
        """A number whose lower half is cut off: products of two are exact."""
        low = self.real.low
        return ((x.bits >> low) << low).number

    def polynomial(self, coefficients: Sequence[float], z: Value) -> Value:
        """Highest power first."""
        first, *others = coefficients
        value = self.constant("real", first)
        for a in others:
            value = value * z + a
        return value

    def paired(self, coefficients: Sequence[float], z: Value, zz: Value) -> Value:
        """The same with z^2 given, two powers at a time; the last product and sum are fused."""
        start = 2 - len(coefficients) % 2
        value = self.polynomial(coefficients[:start], z)
        *others, (a, b) = zip(coefficients[start::2], coefficients[start + 1 :: 2], strict=True)
        for c, d in others:
            value = value * zz + (z * c + d)
        return self.fma(value, zz, z * a + b)


def _kind(operands: Sequence[Value | float]) -> str:
    return next(x.kind for x in reversed(operands) if isinstance(x, Value))


# sine and cosine


def _cody_waite(c: ElementaryRecorder, x: Value) -> tuple[Value, Value]:
    """x - k pi/2, and a word that ends as k does; good up to LARGEST (Cody and Waite 1980)."""
    shifted = x * 0.6366197723675814 + c.real.magic
    minus = -(shifted - c.real.magic)
    first, second, third = c.real.half_pi
    for part in (first, second):
        x = c.fma(minus, part, x, c.real.half_pi_exact)
    return x + minus * third, shifted.bits


def _payne_hanek(c: ElementaryRecorder, x: Value) -> tuple[Value, Value]:
    """Those of any angle beyond LARGEST (Payne and Hanek 1983).

    x = m 2^e. Digits of 2/pi whose product with x is a multiple of 4 are skipped; the next LIMBS
    half words times the two of m, modulo overflow, give the angle as a fraction of a turn.
    """
    real, half = c.real, c.real.bits // 2
    word = x.bits
    exponent, m = word >> real.mantissa, word & ((1 << real.mantissa) - 1) | (1 << real.mantissa)
    start = exponent - first_exponent(real)
    limb, shift = start >> half.bit_length() - 1, start & (half - 1)
    ones = (1 << half) - 1
    factor = c.constant("word", 1) << shift
    moved = [c.two_over_pi(limb + k) * factor for k in range(LIMBS + 1)]
    window = [(a & ones) + (b >> half) for a, b in pairwise(moved)]
    digits = _product(window, (m & ones, m >> half), half)
    top = digits[0]
    quadrant = (top + (1 << half - 3)) >> half - 2
    offset = c.constant("word", 1 << half - 3)
    parts = [c.whole(top + offset - (quadrant << half - 2)) - float(1 << half - 3)]
    parts += [c.whole(limb) for limb in digits[1:4]]
    first, second, third, fourth = (
        part * 2.0 ** (2 - half * (k + 1)) for k, part in enumerate(parts)
    )
    high = first + second
    low = (second - (high - first)) + (third + fourth)
    high, low = high + low, low - ((high + low) - high)
    upper, (first, second) = c.upper(high), real.half_pi_upper
    r = upper * first + (upper * second + ((high - upper) + low) * (math.pi / 2))
    return r + (x - x), quadrant  # x - x: an infinite angle has no sine


def first_exponent(real: Real) -> int:
    """The exponent, with its bias, of an angle that meets 2/pi from the table's first bit on."""
    return real.bias + real.mantissa + 2 - real.bits


def two_over_pi(real: Real) -> list[int]:
    """Half words of 2/pi, as many as the largest number meets, after two of zeros."""
    half = real.bits // 2
    count = (2 * real.bias + 1 - first_exponent(real)) // half + LIMBS + 1
    return [TWO_OVER_PI >> 1280 - half * (k - 1) & (1 << half) - 1 for k in range(count)]


def _product(window: Sequence[Value], m: tuple[Value, Value], half: int) -> list[Value]:
    """`window` (highest first) times m (lowest first), of the window's length."""
    ones = (1 << half) - 1
    lowest = window[::-1]
    columns: list[list[Value]] = [[] for _ in range(len(lowest) + 2)]
    for i, factor in enumerate(m):
        for k, limb in enumerate(lowest[: len(lowest) - i]):
            part = limb * factor
            columns[k + i].append(part & ones)
            columns[k + i + 1].append(part >> half)
    found: list[Value] = []
    for k in range(len(lowest)):
        total = columns[k][0]
        for part in columns[k][1:]:
            total = total + part
        found.append(total & ones)
        columns[k + 1].append(total >> half)
    return found[::-1]


def _sine_and_cosine(
    c: ElementaryRecorder, x: Value, r: Value, quadrant: Value
) -> tuple[Value, Value]:
    """Of |x| = r + k pi/2, and with the sign of x at last: so -0.0 keeps its own."""
    z = r * r
    zz = z * z
    sine = c.fma(c.paired(c.real.sine, z, zz), r * z, r)
    cosine = c.fma(c.paired(c.real.cosine, z, zz), zz, c.fma(z, -0.5, 1.0, exact=True))
    even = (quadrant & 1).equals(0)
    top = c.real.bits - 2
    sign = 2 << top
    return (
        (c.select(even, sine, cosine).bits ^ ((quadrant << top ^ x.bits) & sign)).number,
        (c.select(even, cosine, sine).bits ^ ((quadrant + 1) << top & sign)).number,
    )


def near_sincos(c: ElementaryRecorder, x: Value) -> tuple[Value, Value]:
    """Sine and cosine up to LARGEST."""
    return _sine_and_cosine(c, x, *_cody_waite(c, abs(x)))


def sincos(c: ElementaryRecorder, x: Value) -> tuple[Value, Value]:
    """Sine and cosine of any angle."""
    far = abs(x) > LARGEST
    near, distant = _cody_waite(c, abs(x)), _payne_hanek(c, c.select(far, abs(x), 2 * LARGEST))
    r, quadrant = (c.select(far, b, a) for a, b in zip(near, distant, strict=True))
    return _sine_and_cosine(c, x, r, quadrant)


# exponentials and logarithms


def _exponential(c: ElementaryRecorder, x: Value) -> tuple[Value, Value]:
    """e^x = m 2^k: m, and a word that ends as k does."""
    real = c.real
    shifted = x * math.log2(math.e) + real.magic
    k = shifted - real.magic
    r = (x - k * real.ln2[0]) - k * real.ln2[1]
    return (r * r * c.polynomial(real.exp, r) + r) + 1.0, shifted.bits


def _scaled(c: ElementaryRecorder, m: Value, k: Value) -> Value:
    """m 2^k in two factors, so that a result below the normal numbers is rounded once."""
    half = k >> 1
    for part in (half, k - half):
        m = m * ((part + c.real.bias) << c.real.mantissa).number
    return m


def _clamped(c: ElementaryRecorder, x: Value, low: float, high: float) -> Value:
    """NaN stays."""
    return c.select(x < low, low, c.select(x > high, high, x))


def exp(c: ElementaryRecorder, x: Value) -> Value:
    """e^x."""
    last = (c.real.bias + 2) * math.log(2)
    first = (c.real.bias + c.real.mantissa + 4) * math.log(2)
    return _scaled(c, *_exponential(c, _clamped(c, x, -first, last)))


def tanh(c: ElementaryRecorder, x: Value) -> Value:
    """x + x^3 P(x^2) / Q(x^2) where it is small, else 1 - 2 / (e^2x + 1): one division for both."""
    a = abs(x)
    m, k = _exponential(c, c.select(a > 20.0, 20.0, a) * 2.0)
    e = m * ((k + c.real.bias) << c.real.mantissa).number
    z, small = a * a, a < 0.625
    p, q = c.real.tanh
    above = c.select(small, a * z * c.polynomial(p, z), -2.0)
    below = c.select(small, c.polynomial(q, z), e + 1.0)
    return c.signed(c.select(small, a, 1.0) + above / below, x)


def log(c: ElementaryRecorder, x: Value) -> Value:
    """x = 2^k (1 + f), s = f / (2 + f), log x = k ln 2 + f - f^2 / 2 + s (f^2 / 2 + s^2 P(s^2))."""
    real = c.real
    subnormal, up = x < real.tiny, real.mantissa + 2
    word = c.select(subnormal, x * 2.0**up, x).bits
    root = real.word(math.sqrt(0.5))
    shifted = word + (real.word(1.0) - root)
    k = c.whole(shifted >> real.mantissa) - c.select(subnormal, real.bias + up, real.bias)
    f = ((shifted & ((1 << real.mantissa) - 1)) + root).number - 1.0
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    value = k * real.ln2[0] - (
        (half - (s * (half + z * c.polynomial(real.log, z)) + k * real.ln2[1])) - f
    )
    last = c.select(x.equals(0.0), -math.inf, c.select(x > 0.0, x, math.nan))
    return c.select((x > 0.0) & (x < math.inf), value, last)


# powers


def _binary_logarithm(c: ElementaryRecorder, x: Value) -> tuple[Value, Value]:
    """log2 of a positive number in two parts, the first an upper half.

    x = 2^k m with m near 1 or near 3/2, s = (m - b) / (m + b), log2 x = k + log2 b + 2 s (3 + s^2 +
    s^4 P(s^2)) / (3 ln 2): s and the bracket in two parts each.
    """
    real = c.real
    subnormal, up = x < real.tiny, real.mantissa + 1
    word = c.select(subnormal, x * 2.0**up, x).bits
    k = c.whole(word >> real.mantissa) - c.select(subnormal, real.bias + up, real.bias)
    m = ((word & ((1 << real.mantissa) - 1)) | real.word(1.0)).number
    above = m > math.sqrt(3)
    k = k + c.select(above, 1.0, 0.0)
    m = c.select(above, m * 0.5, m)
    middle = m > math.sqrt(1.5)
    b = c.select(middle, 1.5, 1.0)
    u, v = m - b, 1.0 / (m + b)
    s = u * v
    s_high, sum_high = c.upper(s), c.upper(m + b)
    s_low = v * ((u - s_high * sum_high) - s_high * (m - (sum_high - b)))
    z = s * s
    r = z * z * c.polynomial(real.power_log, z) + s_low * (s_high + s)
    z_high = s_high * s_high
    three = c.upper(z_high + 3.0 + r)
    three_low = r - ((three - 3.0) - z_high)
    u, v = s_high * three, s_low * three + three_low * s
    p_high = c.upper(u + v)
    p_low = v - (p_high - u)
    factor, factor_low = real.two_over_3_ln2
    base = c.select(middle, real.log2_of_3_2[0], 0.0)
    base_low = c.select(middle, real.log2_of_3_2[1], 0.0)
    high = p_high * factor
    low = p_high * factor_low + p_low * (factor + factor_low) + base_low
    first = c.upper(((high + low) + base) + k)
    return first, low - (((first - k) - base) - high)


def _power_of_two(c: ElementaryRecorder, high: Value, low: Value) -> Value:
    """2^(high + low), as exp does but with the rest of the reduction."""
    real = c.real
    shifted = (high + low) + real.magic
    high = high - (shifted - real.magic)
    t = c.upper(low + high)
    ln2, ln2_low = real.ln2_upper
    u, v = t * ln2, (low - (t - high)) * math.log(2) + t * ln2_low
    z = u + v
    rest = v - (z - u)
    zz = z * z
    t = z - zz * c.polynomial(real.power_exp, zz)
    r = (z * t) / (t - 2.0) - (rest + z * rest)
    return _scaled(c, 1.0 - (r - z), shifted.bits)


def power(c: ElementaryRecorder, x: Value, y: Value) -> Value:
    """x^y = 2^(y log2 |x|), with the sign of x where y is odd."""
    real = c.real
    a, size = abs(x), abs(y)
    first, rest = _binary_logarithm(c, a)
    y = c.select(size > 2.0**64, c.signed(c.constant("real", 2.0**64), y), y)
    upper = c.upper(y)
    low, high = (y - upper) * first + y * rest, upper * first
    total = low + high
    most, least = float(real.bias + 2), -float(real.bias + real.mantissa + 4)
    over, under = total > most, total < least
    high = c.select(over, most, c.select(under, least, high))
    value = _power_of_two(c, high, c.select(over | under, 0.0, low))
    step, half = 2.0**real.mantissa, size * 0.5
    large = size > step
    whole = large | ((size + step) - step).equals(size)
    odd = whole & (size < 2 * step) & ((half + step) - step).differs(half)
    grows = (c.select(a > 1.0, 1.0, 0.0)).equals(c.select(y > 0.0, 1.0, 0.0))
    endless = size.equals(math.inf) & a.differs(1.0)
    ends = a.equals(0.0) | a.equals(math.inf) | endless
    value = c.select(ends, c.select(grows, math.inf, 0.0), value)  # 0^y, inf^y, x^inf
    negative = (x.bits >> real.bits - 1).equals(1)
    value = c.select(negative & odd, -value, value)  # an odd power keeps the sign
    # a fractional power of a negative base
    value = c.select((x < 0.0) & (x > -math.inf) & ~whole, math.nan, value)
    value = c.select(x.equals(x) & y.equals(y), value, x + y)
    return c.select(x.equals(1.0) | y.equals(0.0), 1.0, value)  # 1^y = x^0 = 1, NaN too (Annex F)


# the angle of a point


def atan2(c: ElementaryRecorder, y: Value, x: Value) -> Value:
    """The angle in the first eighth, folded at tan(pi/8), then turned and mirrored into place."""
    real = c.real
    a, b = abs(x), abs(y)
    steep = b > a
    long, short = c.select(steep, b, a), c.select(steep, a, b)
    endless = long.equals(math.inf)
    short = c.select(endless, c.select(short.equals(math.inf), 1.0, 0.0), short)
    long = c.select(endless, 1.0, long)
    edge, fine = 2.0 ** (real.bias - 4), real.mantissa - 2
    scale = c.select(
        long > edge, 1 / 16, c.select(long < 1 / edge, 2.0 ** (real.mantissa + 8), 1.0)
    )
    long, short = long * scale, short * scale
    folded = short > long * math.tan(math.pi / 8)
    below = c.select(folded, short + long, long)
    t = c.select(folded, short - long, short) / c.select(below.equals(0.0), 1.0, below)
    z = t * t
    angle = t - t * (z * c.polynomial(real.atan, z))
    back = (x.bits >> real.bits - 1).equals(1)
    # pi/4 if folded; pi/2 minus that if steep; pi minus that if back
    turned = c.select(steep, -angle, angle)
    turned = c.select(back, -turned, turned)
    eighths = c.select(folded, 1.0, 0.0)
    eighths = c.select(steep, 2.0 - eighths, eighths)
    eighths = c.select(back, 4.0 - eighths, eighths)
    short_pi = round(math.pi / 4 * 2.0**fine) / 2.0**fine  # times a small number it is exact
    total = eighths * short_pi + (eighths * (math.pi / 4 - short_pi + PI_REST / 4) + turned)
    return c.select(x.equals(x) & y.equals(y), c.signed(abs(total), y), x + y)


FUNCTIONS: dict[str, tuple[int, Callable[..., Value | tuple[Value, ...]]]] = {
    "near_sincos": (1, near_sincos),
    "sincos": (1, sincos),
    "exp": (1, exp),
    "log": (1, log),
    "tanh": (1, tanh),
    "pow": (2, power),
    "atan2": (2, atan2),
}


@cache
def traced(name: str, real: Real) -> ElementaryFunction:
    """The steps of a function over a type, those that its results need."""
    arity, function = FUNCTIONS[name]
    code = ElementaryRecorder(real)
    results = function(code, *(code.argument(k) for k in range(arity)))
    ends = [v.index for v in (results if isinstance(results, tuple) else (results,))]
    needed = uses([*range(arity), *ends], lambda k: code.steps[k].sources)
    number = {k: i for i, k in enumerate(needed)}
    kept = []
    for k in needed:
        step = code.steps[k]
        renumbered = tuple(number[a] for a in step.sources)
        kept.append(step._replace(operands=renumbered) if renumbered else step)
    return ElementaryFunction(name, real, arity, tuple(kept), tuple(number[k] for k in ends))
