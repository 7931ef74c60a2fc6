"""Changes of CSV: cells, columns, delimiters."""

from random import Random

from .plain import NUMBERS, WORDS, text_change

CELLS = (
    *NUMBERS,
    *WORDS,
    f'"{"x" * 140_000}"',
    '"',
    '"1',
    '1"',
    '"a,b"',
    '""',
    "1;2",
    "\t",
    "#",
    "1 000",
    "NA",
    "1e3e3",
)


def cell(text: str, rng: Random) -> str:
    """Cells changed, in the header or below."""
    rows = [row.split(",") for row in text.split("\n")]
    for _ in range(rng.choice((1, 1, 3, 30))):
        row = rng.choice(rows[: rng.choice((1, 2, len(rows)))])
        row[rng.randrange(len(row))] = rng.choice(CELLS)
    return "\n".join(map(",".join, rows))


def column(text: str, rng: Random) -> str:
    """Columns taken out, doubled, renamed, by the thousand."""
    rows = [row.split(",") for row in text.split("\n")]
    width = max(1, len(rows[0]))
    k, count = rng.randrange(width), rng.choice((1, 1, 2, 10, 500))
    choice = rng.randrange(3)
    for i, row in enumerate(rows):
        if choice == 0:
            del row[k : k + 1]
        elif i == 0 and choice == 1:
            row.extend(f"{x}{j}" for x in row[k : k + 1] for j in range(count))
        else:
            row.extend(row[k : k + 1] * count)
    return "\n".join(map(",".join, rows))


def delimiter(text: str, rng: Random) -> str:
    """Another sign between the cells, in all lines or some."""
    old, new = rng.choice(",;\t| "), rng.choice((",", ";", "\t", "|", " ", "  ", ", ", "\0", '","'))
    lines = text.split("\n")
    low, high = sorted((rng.randrange(len(lines) + 1), rng.randrange(len(lines) + 1)))
    if rng.random() < 0.5:
        low, high = 0, len(lines)
    lines[low:high] = [x.replace(old, new) for x in lines[low:high]]
    return "\n".join(lines)


NAMES = (
    *(
        "Time",
        "timestamp [ms]",
        "__time",
        "header.stamp.secs",
        "t",
        "actual_q_{}",
        "Axis {} Position [deg]",
    ),
    *(
        "MsrJntPos_{}",
        "J{}Trq",
        "position/{}",
        "{}_effort",
        "/a/j{}/velocity",
        "actual_current_{}",
        "Q{}",
    ),
    *(
        "target_q_{}",
        "Moment{}",
        "tau_J[{}]",
        "log({}).pos",
        "{}{}_speed",
        "q_{}_{}",
        "\u00e9_pos_{}",
    ),
)


def names(text: str, rng: Random) -> str:
    """The header as others write it: words that columns are guessed by, with numbers or without."""
    header, newline, rest = text.partition("\n")
    cells = header.split(",")
    for k in range(len(cells)):
        number = rng.choice((k, k // 2, k % 2, 1, "elbow", 99999, ""))
        cells[k] = rng.choice((cells[k], rng.choice(NAMES).replace("{}", str(number))))
    return ",".join(cells) + newline + rest


CSV = tuple(map(text_change, (cell, cell, cell, column, delimiter, names, names)))
