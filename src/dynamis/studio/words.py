"""Names of robots and joints where they may hold anything: in legends and as names of files."""

import re

LONGEST_STEM = 60


def label(text: str, longest: int = 24) -> str:
    """A name in a legend: no markup, not too long."""
    words = " ".join(str(text).split()).translate(dict.fromkeys(map(ord, "<>&"), "_"))
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def stem(text: str) -> str:
    """A file name without its ending, for any name of a robot."""
    kept = re.sub(r"[^A-Za-z0-9_-]+", "_", str(text)).strip("_-")[:LONGEST_STEM]
    return kept or "robot"
