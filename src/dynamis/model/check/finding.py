"""Findings of a check, and the numbers of a model it looks at."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import DynamisError, worded
from ...spatial.functions import MATH
from ...spatial.inertia import Inertia
from ...spatial.vectors import Vector
from ...tables import MOST, html_table, rest
from ..quantity import resolve

if TYPE_CHECKING:
    from ..link import Link
    from ..model import Model

LEVELS = ("error", "warning", "note")
HEAD = ("level", "where", "what is wrong", "what to do")

LONGEST = 20.0  # m; a longer link is more likely given in millimetres
ROUNDING = 1e-6  # relative; what is violated by less was rounded


@dataclass(frozen=True)
class Finding:
    """One thing worth a look: how bad, where, what it is, what to do. Errors sort first.

    `joints` are those of a log, by name, that it is about.
    """

    level: str
    where: str
    what: str
    remedy: str
    joints: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where, with the joints."""
        return ", ".join([self.where, *([" and ".join(self.joints)] if self.joints else [])])

    def __lt__(self, other: "Finding") -> bool:
        return LEVELS.index(self.level) < LEVELS.index(other.level)

    def __str__(self) -> str:
        return f"{self.level}: {self.place}: {self.what}\nhint: {self.remedy}"


class Findings(list[Finding]):
    """Findings of a check, worst first: a list that a shell and a notebook show as text."""

    def __repr__(self) -> str:
        if not self:
            return "no findings"
        levels = [finding.level for finding in self]
        counts = [(levels.count(x), x) for x in LEVELS if x in levels]
        head = ", ".join(f"{n} {level}{'s' * (n > 1)}" for n, level in counts)
        return "\n".join([f"{head}:", *map(str, self[:MOST]), *rest(len(self))])

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{self!r}</p>"
        rows = [(finding.level, finding.place, finding.what, finding.remedy) for finding in self]
        return html_table((HEAD, *rows), style="text-align:left")


class Numbers:
    """A model with its symbols replaced by their values; None where there is no value."""

    def __init__(self, model: "Model"):
        self.model = model
        self.missing = tuple(x for x in model.symbols if x not in model.values)
        self.reach = sum(self.length(link) for link in model.links)
        self.reach += math.hypot(*self.vector(model.tool.xyz))

    def of(self, value: Any) -> float | None:
        """The number behind a quantity."""
        if value is None:
            return None
        try:
            return float(resolve(value, self.model.values))
        except DynamisError:
            return None

    def all(self, values: Any) -> tuple[float, ...] | None:
        """The numbers behind several quantities, if every one has a value."""
        found = [self.of(x) for x in values or ()]
        return None if not found or None in found else tuple(found)  # type: ignore[return-value]

    def vector(self, values: Any) -> Vector:
        """Three numbers, zero where there is no value."""
        x, y, z = (self.of(v) or 0.0 for v in values or (0.0, 0.0, 0.0))
        return x, y, z

    def length(self, link: "Link") -> float:
        """How far a link can put the next joint from its own; a slide without limits: anywhere."""
        a, d, offset = (self.of(x) or 0.0 for x in (link.a, link.d, link.offset))
        fixed = math.hypot(*self.vector(link.xyz), a, d)
        if link.joint == "revolute":
            return fixed
        return fixed + max(abs(offset + x) for x in self.all(link.limits) or (math.inf,))

    def extent(self, index: int) -> float:
        """How far a link stretches, to either side of its frame."""
        parents, links = self.model.parents, self.model.links
        near = [self.length(x) for i, x in enumerate(links) if i == index or parents[i] == index]
        tool = self.vector(self.model.tool.xyz) if index == self.model.tip else (0.0,)
        return max(*near, math.hypot(*tool))

    def is_helper(self, index: int) -> bool:
        """Whether a URDF's link only joins two joints of one place: a body with several joints."""
        links, parents = self.model.links, self.model.parents
        here = [x for x, parent in zip(links, parents, strict=True) if parent == index]
        return self.model.convention == "urdf" and any(not any(self.vector(x.xyz)) for x in here)

    def turns(self, index: int) -> bool:
        """Whether a link ever rotates, so that its inertia matters."""
        while index >= 0:
            if self.model.links[index].joint == "revolute":
                return True
            index = self.model.parents[index]
        return False

    def body(self, thing: Any) -> Inertia | None:
        """Inertia of a link or payload about its frame's origin."""
        try:
            return thing.body(self.model.values, MATH)
        except DynamisError:
            return None


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Worst first; notes on links, and notes and warnings on joints, that say the same as one."""
    together: dict[Finding, list[str]] = {}
    for finding in findings:
        kind, _, name = finding.where.partition(" ")
        alike = finding.level in {"link": ("note",), "joint": ("note", "warning")}.get(kind, ())
        key = replace(finding, where=kind) if alike else finding
        together.setdefault(key, []).append(name)
    return sorted(_named(key, names) for key, names in together.items())


def _named(finding: Finding, names: list[str]) -> Finding:
    if finding.where not in ("link", "joint"):
        return finding
    if len(names) == 1:
        return replace(finding, where=f"{finding.where} {names[0]}")
    what = re.sub("^has ", "have ", finding.what)
    return replace(finding, where=f"{finding.where}s {worded(names)}", what=what)


def listed(values: Any) -> str:
    """Numbers as a finding shows them."""
    return "(" + ", ".join(f"{v:.4g}" for v in values) + ")"
