"""Joints of a log that carry the prefix of a driver or a namespace: fr3_joint1, /robot1/joint1."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import OptionError, worded

BOUNDARY = re.compile(r"(?<=[_/.:-])")  # a prefix ends with one of these signs
SIDES = ({"left", "l"}, {"right", "r"})


class Prefixed(NamedTuple):
    """Joints asked for as the log spells them, and the prefixes on either side."""

    names: tuple[str, ...]
    own: str
    theirs: str

    def what(self) -> str:
        """The guess in words."""
        pair = f"{self.theirs}* is taken for {self.own}*"
        return f"joints matched by the end of their names: {pair}"


def by_suffix(wanted: Sequence[str], labels: Sequence[str], where: str) -> Prefixed | None:
    """The joints of a log that are those asked for but for one prefix; None if there are none.

    The prefix is the same for all joints on either side; several that fit are refused.
    """
    if not wanted or {*wanted} <= {*labels}:
        return None
    for own in _prefixes(wanted):
        rest = [name[len(own) :] for name in wanted]
        ends = (x.removesuffix(rest[0]) for x in labels if x.endswith(rest[0]))
        fits = [x for x in dict.fromkeys(ends) if _is_prefix(x) and _may_stand_for(x, own)]
        fits = [x for x in fits if all(x + name in labels for name in rest)]
        if len(fits) > 1:
            found = worded(repr(x + rest[0]) for x in fits)
            raise OptionError(
                f"{where}: {wanted[0]!r} may be {found}: joints of {len(fits)} arms end so",
                f"joints={[fits[0] + name for name in rest]} takes the first",
            )
        if fits:
            return Prefixed(tuple(fits[0] + name for name in rest), own, fits[0])
    return None


def _prefixes(names: Sequence[str]) -> list[str]:
    """Prefixes that all names share and that leave a word of each, the shortest first."""
    parts = BOUNDARY.split(names[0])
    found = ["".join(parts[:k]) for k in range(len(parts))]
    return [
        x
        for x in found
        if all(name.startswith(x) and re.search("[A-Za-z]", name[len(x) :]) for name in names)
    ]


def _is_prefix(text: str) -> bool:
    return not text or bool(BOUNDARY.search(text[-1]))


def _may_stand_for(theirs: str, own: str) -> bool:
    """Whether prefixes may be of one arm: not of two sides, nor of two numbers of one word."""
    words, others = ({*re.split("[_/.:-]", x.lower())} - {""} for x in (theirs, own))
    sides = [{k for k, side in enumerate(SIDES) if side & x} for x in (words, others)]
    if all(sides) and sides[0] != sides[1]:
        return False
    counted = {re.sub(r"\d+$", "", x): x for x in words if x[-1].isdigit()}
    numbered = {re.sub(r"\d+$", "", x): x for x in others if x[-1].isdigit()}
    return all(counted[x] == numbered[x] for x in counted.keys() & numbered.keys())
