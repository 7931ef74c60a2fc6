"""Changes of TOML: sections, keys, values, arithmetic."""

import json
import re
from random import Random

from ..readers import seeds
from .plain import BLOCK_COUNTS, DEPTHS, NUMBERS, WORDS, text_change

SECTION = re.compile(r"(?m)^(?=\[)")
KEYS = (
    *("schema", "name", "convention", "gravity", "base", "tool", "tool_link", "payload", "rotors"),
    *(
        "gear_matrix",
        "values",
        "configurations",
        "link",
        "frame",
        "joint",
        "d",
        "a",
        "alpha",
        "theta",
    ),
    *("offset", "mass", "com", "com_factor", "inertia", "friction", "drive", "limits", "mimic"),
    *("parent", "axis", "xyz", "rpy", "linear", "velocity_limit", "effort_limit", "joint_name"),
)


def section(text: str, rng: Random) -> str:
    """Sections taken out, repeated, moved, renamed, mixed with another file's."""
    parts = SECTION.split(text)
    k = rng.randrange(len(parts))
    choice = rng.randrange(5)
    if choice == 0:
        del parts[k]
    elif choice == 1:
        parts[k:k] = [parts[k]] * rng.choice(BLOCK_COUNTS)
    elif choice == 2:
        rng.shuffle(parts)
    elif choice == 3:
        parts[k] = re.sub(r"[A-Za-z]+", lambda _: rng.choice(KEYS), parts[k], count=1)
    else:
        other = rng.choice(seeds("toml")).decode("utf-8", "replace")
        parts.insert(k, rng.choice(SECTION.split(other)))
    return "".join(parts)


def value(text: str, rng: Random) -> str:
    """A key gets a value of another kind, or another key its value."""
    found = list(re.finditer(r"(?m)^([\w.\"-]+) *= *(.*)$", text))
    if not found:
        return text
    match = rng.choice(found)
    if rng.random() < 0.3:
        return f"{text[: match.start(1)]}{rng.choice(KEYS)}{text[match.end(1) :]}"
    return text[: match.start(2)] + _value(rng, match[2]) + text[match.end(2) :]


def _value(rng: Random, old: str) -> str:
    depth = rng.choice(DEPTHS)
    return rng.choice(
        (
            *(
                "true",
                "[]",
                "{}",
                '""',
                "[[]]",
                "''",
                '"""x"""',
                '"""\\""""',
                "1979-05-27",
                "[1, 'a']",
            ),
            *("[" * depth + "]" * depth, "{a=" * depth + "1" + "}" * depth, f"[{old}, {old}]"),
            *(
                f"{{ {rng.choice(KEYS)} = {old} }}",
                json.dumps(rng.choice(WORDS)),
                rng.choice(NUMBERS),
            ),
            *(f"{old}\n{rng.choice(KEYS)} = {old}", f'"{expression(rng)}"', f'"{expression(rng)}"'),
            *("[" + ", ".join([old] * rng.choice((2, 3, 6, 10, 2000))) + "]", f'"{old}'),
        )
    )


def expression(rng: Random, depth: int = 0) -> str:
    """Arithmetic as a file may write it, rightly or not."""
    if depth > 4 or rng.random() < 0.3:
        return rng.choice((*NUMBERS[:20], "pi", "m1", "L1", "q1", "x", "deg", "1"))
    a, b = expression(rng, depth + 1), expression(rng, depth + 1)
    form = rng.choice(
        ("{}+{}", "{}-{}", "{}*{}", "{}/{}", "{}**{}", "({}) {}", "sin({})", "sqrt({})")
    )
    return rng.choice(
        (form.format(a, b), form.format(a, b), f"-{a}", f"({a})", f"{a} deg", f"{a}°")
    )


def key(text: str, rng: Random) -> str:
    """Keys of many parts, quoted keys, headers that repeat or contradict."""
    depth = rng.choice(DEPTHS)
    name = rng.choice(
        (".".join("a" * depth), " . ".join(["link"] * depth), json.dumps(rng.choice(WORDS)))
    )
    new = rng.choice(
        (f"[{name}]", f"[[{name}]]", f"{name} = 1", f"x = {{ {name} = 1 }}", f"{name}")
    )
    hidden = rng.choice(("", "", '"""\\"""" # ', "x = '''", 's = "\\\\"\n', "# "))
    k = rng.choice([0, *(match.end() for match in re.finditer("\n", text))])
    return text[:k] + hidden + new + "\n" + text[k:]


TOML = tuple(map(text_change, (section, section, value, value, key)))
