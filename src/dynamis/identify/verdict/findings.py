"""Findings of an identification in the order of their importance, each note said once."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...model.check.finding import LEVELS, Finding

# causes first, then what they lead to; findings on a log itself stand where LOG does
LOG = "log"
ORDER = (
    *("robot handed over", "columns", "torques", "gravity", "description", LOG),
    *("fit", "motion", "model", "friction", "estimator"),
)
FIGURES = re.compile(r"\d[\d.]*(e[+-]?\d+)?")
SIGNAL = re.compile(r"(q|qd|tau|temperature)\d+\b")
NAMED = 4  # logs that a finding names


def by_importance(findings: Iterable[Finding]) -> list[Finding]:
    """Worst first; of one level causes before what they lead to, else in the order given."""

    def rank(finding: Finding) -> tuple[int, int]:
        kind = finding.where if finding.where in ORDER else LOG
        return LEVELS.index(finding.level), ORDER.index(kind)

    return sorted(findings, key=rank)


def said_once(findings: Sequence[Finding]) -> list[Finding]:
    """Findings that differ in figures, logs and joints alone as one, at the place of the first.

    Warnings on fits stay apart: each has figures of its own that matter.
    """
    together: dict[object, list[Finding]] = {}
    for finding in findings:
        apart = finding.level != "note" and finding.where in ORDER
        key = (
            finding if apart else (finding.level, _pattern(finding.what), _pattern(finding.remedy))
        )
        together.setdefault(key, []).append(finding)
    return [_as_one(alike) for alike in together.values()]


def _pattern(text: str) -> str:
    """The text without its figures and row lists."""
    text = FIGURES.sub("#", text)
    return re.sub(r"rows? #.*?(?=$|, with|: )", "rows", text)


def _as_one(alike: Sequence[Finding]) -> Finding:
    first = alike[0]
    if len(alike) == 1:
        return first
    joints = tuple(dict.fromkeys(name for f in alike for name in f.joints))
    places = list(dict.fromkeys(f.where for f in alike))
    more = f" and {len(places) - NAMED} more" if len(places) > NAMED else ""
    what, others = first.what, [f.what for f in alike[1:] if f.what != first.what]
    if others:
        signals = dict.fromkeys(x.group() for x in map(SIGNAL.match, others) if x)
        own = SIGNAL.match(first.what)
        named = [x for x in signals if own is None or x != own.group()]
        likewise = f"likewise {', '.join(named) if named else f'{len(others)} more'}"
        what = f"{what}; {likewise}"
    return replace(first, where=", ".join(places[:NAMED]) + more, what=what, joints=joints)
