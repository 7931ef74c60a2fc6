"""Changes of bytes and of text, whatever they mean."""

import re
from collections.abc import Callable
from functools import partial
from random import Random

MOST = 300_000  # bytes of a mutated file; usually it has a few thousand
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
WORD = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'|\b[A-Za-z_][A-Za-z0-9_-]*\b')
NUMBERS = (
    *("0", "-0.0", "1", "-1", "2", "1e308", "-1e308", "1.7976931348623157e308", "1e154", "1e-160"),
    *("5e-324", "1e-320", "1e400", "-1e400", "nan", "-nan", "inf", "-inf", "Infinity", "NaN"),
    *("2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "1" + "0" * 400),
    *(
        "18446744073709551617",
        "1" + "0" * 5000,
        "0." + "0" * 400 + "1",
        "1e99999999",
        "1e-99999999",
    ),
    *("0x7fffffff", "0b1", "0o17", "1_000", "1__0", "1e", "1.", ".5", "+5", "--5", "1,5", "1 2"),
    *("\u0661\u0662", "\uff11", "1\u00a0000", "true", "false", "1979-05-27T07:32:00Z", "07:32:00"),
    *(
        "1.7453292519943295",
        "6.283185307179586",
        "1e-7",
        "1e7",
        "99999999999",
        "3.0000000000000001",
    ),
)
WORDS = (
    *(
        "",
        " ",
        "a",
        "0",
        "\0",
        "\\",
        '"',
        "'",
        "\u202e",
        "\U0001f9be",
        "\ufeff",
        "\ud800",
        "\x1b[2J",
    ),
    *("../outside/mesh.stl", "../outside/robot.xml", "/etc/passwd", "file:///etc/passwd", "C:\\x"),
    *("package://a/b.stl", "http://127.0.0.1:9/x", "//server/x", "..", "~", "$HOME", "$(optenv X)"),
    *("__import__('os').system('true')", "${1+1}", "%s%n%x", "{0.__class__}", "; DROP", "<a>&b;"),
    *("pi/2", "90 deg", "pi/2 + 30 deg", "2**2**2**2**9", "9**9**9**9", "(" * 100, "-" * 190 + "1"),
    *("sin(" * 40 + "1" + ")" * 40, "1/0", "sqrt(-1)", "0**-1", "(-8)**(1/3)", "1e200*1e200", "x"),
    *("lambda: 0", "a.b", "a[0]", "pi", "deg", "1 if 1 else 2", "cos(q1", "m1*L1**2", "m1 = 2"),
    *(
        "nul",
        "link",
        "joint",
        "base",
        "world",
        "tool",
        "None",
        "true",
        "inf",
        "nan",
        "t",
        "q1",
        "tau",
    ),
)
BLOCK_COUNTS = (2, 3, 10, 100, 300)
DEPTHS = (2, 16, 17, 100, 500, 1200, 5000)
CODES = (
    *("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "latin-1", "cp1252"),
    *("cp037", "shift_jis", "gb18030", "iso2022_jp"),
)

Change = Callable[[bytes, Random], bytes]


# bytes


def flip(data: bytes, rng: Random) -> bytes:
    """Bits turned over."""
    given = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8)) if given else 0):
        given[rng.randrange(len(given))] ^= 1 << rng.randrange(8)
    return bytes(given)


def overwrite(data: bytes, rng: Random) -> bytes:
    """A span replaced: zeros, ones, noise, a whole number at its bounds."""
    a, b = _span(data, rng, 64)
    extreme = rng.choice((0, 1, 2**7 - 1, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1))
    filling = rng.choice((b"\0" * (b - a), b"\xff" * (b - a), rng.randbytes(b - a)))
    return data[:a] + rng.choice((filling, extreme.to_bytes(4, "little"))) + data[b:]


def cut(data: bytes, rng: Random) -> bytes:
    """A span taken out, or everything behind a place."""
    a, b = _span(data, rng, 400)
    return data[:a] if rng.random() < 0.3 else data[:a] + data[b:]


def repeat(data: bytes, rng: Random) -> bytes:
    """A span written several times."""
    a, b = _span(data, rng, 100)
    return data[:b] + data[a:b] * rng.choice((1, 2, 50, 1000)) + data[b:]


def insert(data: bytes, rng: Random) -> bytes:
    """Bytes no text has, or that another encoding means otherwise."""
    k = rng.randrange(len(data) + 1)
    odd = (
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\x85",
        b"\r",
        b"\x1a",
    )
    return data[:k] + rng.choice((*odd, b"\xe2\x80\xa8", rng.randbytes(8))) + data[k:]


def _span(data: bytes | str, rng: Random, longest: int) -> tuple[int, int]:
    a = rng.randrange(len(data) + 1)
    return a, min(len(data), a + rng.randrange(1, longest))


BYTES: tuple[Change, ...] = (flip, overwrite, cut, repeat, insert)


# text


def text_change(change: Callable[[str, Random], str]) -> Change:
    """A change of text as one of bytes."""
    return partial(_of_text, change)


def _of_text(change: Callable[[str, Random], str], data: bytes, rng: Random) -> bytes:
    text = change(data.decode("utf-8", "surrogateescape"), rng)
    return text.encode("utf-8", "surrogatepass" if rng.random() < 0.5 else "replace")


def number(text: str, rng: Random) -> str:
    """A number becomes an extreme one, or several do."""
    found = list(NUMBER.finditer(text))
    for match in sorted(
        rng.sample(found, min(len(found), rng.choice((1, 1, 1, 5)))), key=_from_the_end
    ):
        new = rng.choice(NUMBERS) if rng.random() < 0.8 else repr(rng.uniform(-1e3, 1e3))
        text = text[: match.start()] + new + text[match.end() :]
    return text


def word(text: str, rng: Random) -> str:
    """A word or quoted text becomes another one of the file, a nasty one, or a very long one."""
    found = list(WORD.finditer(text))
    if not found:
        return text + rng.choice(WORDS)
    match = rng.choice(found)
    old, other = match[0], rng.choice(found)[0]
    new = rng.choice((rng.choice(WORDS), rng.choice(WORDS), other.strip("\"'"), _long(old, rng)))
    quote = old[0] if old[0] in "\"'" else ""
    return text[: match.start()] + quote + new + quote + text[match.end() :]


def _long(old: str, rng: Random) -> str:
    unit = old.strip("\"'") or "x"
    return unit * min(rng.choice((10, 100, 1000, 20_000)), max(1, MOST // len(unit)))


def line(text: str, rng: Random) -> str:
    """Lines taken out, repeated, moved."""
    lines = text.split("\n")
    k = rng.randrange(len(lines))
    taken = lines[k : k + rng.choice((1, 1, 2, 6))]
    choice = rng.randrange(3)
    if choice == 0:
        del lines[k : k + len(taken)]
    elif choice == 1:
        lines[k:k] = taken * rng.choice((1, 2, 300))
    else:
        del lines[k : k + len(taken)]
        there = rng.randrange(len(lines) + 1)
        lines[there:there] = taken
    return "\n".join(lines)


def recode(data: bytes, rng: Random) -> bytes:
    """Another encoding, other line ends."""
    text = data.decode("utf-8", "replace")
    if rng.random() < 0.3:
        return text.replace("\n", rng.choice(("\r\n", "\r", "\x85", "\u2028", "\n\r"))).encode()
    return text.encode(rng.choice(CODES), "replace")


def _from_the_end(match: re.Match[str]) -> int:
    return -match.start()


TEXT: tuple[Change, ...] = (
    *map(text_change, (number, number, number, word, word, line)),
    recode,
)
