"""Changes of lines of joint axes: words, lines, separators."""

from random import Random

from .plain import BLOCK_COUNTS, NUMBERS, WORDS, text_change

STARTS = ("revolute", "prismatic", "R", "P", "base", "tool", "name", "hinge", "#", ";", "")
CELLS = (*NUMBERS, *WORDS, "pi/2", "90deg", "sqrt(2)", "1/0", "L1", "(1", "2**9**9", "0,5")


def word(text: str, rng: Random) -> str:
    """Words of a line changed, taken out or added."""
    lines = [line.split(" ") for line in text.split("\n")]
    for _ in range(rng.choice((1, 1, 3, 30))):
        line = rng.choice(lines)
        k = rng.randrange(len(line))
        line[k : k + rng.choice((0, 1, 1, 2))] = [rng.choice(CELLS if k else STARTS)]
    return "\n".join(map(" ".join, lines))


def line(text: str, rng: Random) -> str:
    """Lines taken out, repeated, moved, joined."""
    lines = text.split("\n")
    k, choice = rng.randrange(len(lines)), rng.randrange(4)
    if choice == 0:
        del lines[k]
    elif choice == 1:
        lines[k:k] = [lines[k]] * rng.choice(BLOCK_COUNTS)
    elif choice == 2:
        rng.shuffle(lines)
    return rng.choice(("\n", "\n", ";", "\r\n", "\r", " ; ", "\x0b")).join(lines)


AXES = (text_change(word), text_change(line))
