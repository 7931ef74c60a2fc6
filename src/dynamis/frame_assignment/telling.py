"""Steps that place the frames, with reasons: numbering, axes, origins, x, y, last frame.

Everything is read off the `Construction` of `model/dh`; nothing is computed again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..model.dh.procedure import NEXT_TO_JOINT, Choices, Construction
from ..model.dh.table import variable_text
from ..model.model import Model
from ..model.pose import Pose
from ..model.quantity import Expression
from ..spatial.frames import Frame
from ..spatial.rotations import transpose
from ..spatial.vectors import Vector, dot, subtract
from . import notation
from .notation import Names, vector
from .prose import Phrases, verbatim

Cells = tuple[tuple[str, ...], ...]
STILL = 1e-9  # of the size of the arm: how far a point that is the same may be


class StepContent(NamedTuple):
    """One step: paragraphs and free choices (formulas between $), formulas, table, matrices."""

    text: tuple[str, ...]
    free: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()
    table: Cells = ()
    items: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Account:
    """All that the steps of one arm are told from; `own` if it had a table in this convention."""

    made: Construction
    model: Model  # of the DH robot, with its letters
    choices: Choices
    own: bool
    size: float
    say: Phrases

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.made.lines)

    @property
    def names(self) -> Names:
        """Names of axes and frames."""
        return Names(self.made.convention)

    def rule(self, part: str, **values: Any) -> str:
        """The rule of a step in this convention."""
        modified = "rule_modified" in self.say.parts[part] and not self.names.standard
        return self.say(part, "rule_modified" if modified else "rule", **values)

    def at(self, point: Vector) -> str:
        """A point in the reference frame."""
        return f"${vector(point, self.size)}$"

    def cells(self, *words: str, **values: Any) -> tuple[str, ...]:
        """A header."""
        return tuple(self.say("cells", word, **values) for word in words)

    def kind(self, joint: int) -> str:
        """revolute or prismatic"""
        return self.say("page", self.made.lines[joint - 1].kind)

    def coordinate(self, joint: int) -> str:
        """q_1, or what a joint that follows another makes of its coordinate."""
        text = variable_text(self.model, self.model.links[joint - 1])
        return notation.expression(Expression(text))

    def pair(self, k: int) -> dict[str, str]:
        """The axes on both sides of bar k, by name."""
        return {"i": str(k), "za": self.names.z(k), "zb": self.names.z(k + 1)}


def links(a: Account) -> StepContent:
    """DH1: number the links."""
    rows = [("$0$", verbatim(a.model.base_name), a.say("cells", "fixed"))]
    rows += [(f"${i}$", verbatim(str(link.name)), "") for i, link in enumerate(a.model.links, 1)]
    table = ((*a.cells("link", "name"), ""), *rows)
    return StepContent((a.rule("links", n=a.n),), table=table)


def joints(a: Account) -> StepContent:
    """DH2: number the joints."""
    rows, text = [], [a.rule("joints")]
    for i, link in enumerate(a.model.links, 1):
        name = verbatim(str(link.joint_name))
        rows.append((f"${i}$", name, a.kind(i), f"${i}$", f"${a.coordinate(i)}$"))
        if link.mimic:
            text.append(a.say("joints", "mimic", joint=i, q=a.coordinate(i)))
    header = (
        *a.cells("joint", "name", "kind"),
        f"{a.say('cells', 'moves')} ({a.say('cells', 'link')})",
        a.say("cells", "coordinate"),
    )
    return StepContent(tuple(text), table=(header, *rows))


def lines(a: Account) -> StepContent:
    """Find the axis of every joint, as it was given."""
    rows = [
        (f"${i}$", a.kind(i), a.at(x.point), f"${vector(x.direction)}$")
        for i, x in enumerate(a.made.axes, 1)
    ]
    header = a.cells("joint", "kind", "point", "direction")
    return StepContent((a.say("axes", "rule_lines"),), table=(header, *rows))


def axes(a: Account) -> StepContent:
    """DH3: an axis z along every joint."""
    rows, free = [], [a.say("axes", "sense")]
    for i, (given, line) in enumerate(zip(a.made.axes, a.made.lines, strict=True), 1):
        z = f"${a.names.z(i)}$"
        rows.append((z, f"${i}$", a.kind(i), a.at(line.point), f"${vector(line.direction)}$"))
        aside = subtract(given.foot(line.point), line.point)
        if max(map(abs, aside)) > STILL * a.size:
            free.append(a.say("axes", "moved", z=z, point=a.at(line.point)))
    header = a.cells("axis", "joint", "kind", "point", "direction")
    return StepContent((a.rule("axes"),), tuple(free), table=(header, *rows))


def base(a: Account) -> StepContent:
    """DH4: frame 0."""
    T, modified = a.made.frames[0], not a.names.standard
    if a.made.keeps_base:
        said = a.say("base", "kept_table" if a.own else "kept")
    else:
        why = a.say("base", "why_modified" if modified else "why")
        x = f"${vector(transpose(T.R)[0])}$"
        said = a.say("base", "moved", why=why, origin=a.at(T.p), x=x)
    free = a.say("base", "free_modified" if modified else "free")
    return StepContent((a.rule("base"), said), (free,), table=frame_table(a, [(0, T)]))


def frame_table(a: Account, frames: list[tuple[Any, Frame]]) -> Cells:
    """Origins and axes of frames."""
    rows = []
    for name, T in frames:
        x, y, z = (f"${vector(v)}$" for v in transpose(T.R))
        shown = f"${name}$" if isinstance(name, int) else str(name)
        rows.append((shown, a.at(T.p), x, y, z))
    return ((*a.cells("frame", "origin"), "$x$", "$y$", "$z$"), *rows)


def origins(a: Account) -> StepContent:
    """DH5: origins on the common normals; the case of every pair of axes."""
    text, free, rows = [a.rule("origins")], [], []
    for k in range(1, a.n):
        bar, origin = a.made.bars[k], a.at(a.made.frames[k].p)
        ends = {"start": a.at(bar.start), "end": a.at(bar.end), "origin": origin}
        length = f"${notation.number(abs(bar.a))}$"
        text.append(a.say("origins", bar.case, **a.pair(k), **ends, length=length))
        if bar.case in ("parallel", "coincident"):
            free.append(_free_origin(a, k))
        pair, case = a.pair(k), a.say("cases", bar.case)
        angle = f"${notation.angle(abs(bar.alpha))}$"
        row = (f"${pair['za']}$, ${pair['zb']}$", case, length, angle, ends["start"], ends["end"])
        rows.append((*row, f"$O_{{{k}}}$"))
    if not rows:
        return StepContent((*text, a.say("origins", "none")))
    header = (
        *a.cells("axes", "case", "distance", "twist"),
        a.say("cells", "leaves"),
        a.say("cells", "meets"),
        a.say("cells", "origin"),
    )
    return StepContent(tuple(text), tuple(free), table=(header, *rows))


def _free_origin(a: Account, k: int) -> str:
    """Reason for the place between parallel axes."""
    key = "free_previous"
    if a.own:
        key = "free_table"
    elif a.choices.parallel == NEXT_TO_JOINT:
        key = "free_joint"
    row = a.model.links[k - 1]
    value = notation.length(row.d)
    if row.joint == "prismatic":
        value = notation.plus(a.coordinate(k), row.offset, notation.length(row.offset))
    return a.say("origins", key, i=k, d=f"d_{{{k}}}", value=value, joint=k + 1)


def x_axes(a: Account) -> StepContent:
    """DH6: x along the common normals."""
    text, free = [a.rule("x")], []
    for k in range(1, a.n):
        bar, pair = a.made.bars[k], a.pair(k)
        x = f"${vector(bar.x)}$"
        if bar.case in ("skew", "parallel"):
            text.append(a.say("x", "against" if bar.a < 0.0 else "along", **pair, x=x))
            if bar.a < 0.0:
                free.append(a.say("x", "opposite", **pair, why=_why_sense(a, k)))
        else:
            text.append(a.say("x", bar.case, **pair, x=x))
            key = "free_sign" if bar.case == "intersecting" else "free_any"
            free.append(f"{a.say('x', key, **pair, x=x)} {_why_sense(a, k)}")
    if a.n == 1:
        text.append(a.say("x", "none"))
    return StepContent(tuple(text), tuple(free), formulas=_x_formulas(a))


def _x_formulas(a: Account) -> tuple[str, ...]:
    if a.n == 1:
        return ()
    pair = r"z_{i-1} \times z_{i}" if a.names.standard else r"z_{i} \times z_{i+1}"
    return (rf"x_{{i}} = \pm \frac{{{pair}}}{{|{pair}|}}",)


def _why_sense(a: Account, k: int) -> str:
    """Reason for the sense of x of frame k."""
    if a.own:
        return a.say("x", "from_table")
    if k in a.choices.flip:
        return a.say("x", "flipped")
    if k == 1 and not a.made.keeps_base:
        return a.say("x", "first")
    before, own = a.made.bars[k - 1].x, a.made.bars[k].x
    same = a.made.bars[k].case == "coincident" and dot(before, own) > 0.0
    return a.say("x", "like" if same else "nearest", before=k - 1)


def y_axes(a: Account) -> StepContent:
    """DH7: y completes the frames."""
    last = a.n if a.n > 1 else 1
    table = frame_table(a, list(enumerate(a.made.frames[:last])))
    return StepContent((a.rule("y"),), formulas=(r"y_{i} = z_{i} \times x_{i}",), table=table)


def end(a: Account) -> StepContent:
    """DH8: the last frame, and the tool."""
    n, T, names = a.n, a.made.frames[-1], a.names
    text = [a.rule("end")]
    if is_nothing(a.model.tool):
        text.append(a.say("end", "reached", n=n))
        free = a.say("end", "free_tool")
    else:
        modified = not names.standard
        key = "why_table" if a.own else "why_modified" if modified else "why"
        why = a.say("end", key, k=n if modified else n - 1)
        xyz, rpy = pose_texts(a.model.tool)
        rest = {"origin": a.at(T.p), "xyz": f"${xyz}$", "rpy": rpy}
        text.append(a.say("end", "rest", n=n, why=why, **rest))
        free = a.say("end", "free_modified" if modified else "free", n=n, k=n - 1)
    if a.model.tip != n - 1:
        text.append(a.say("end", "carried", link=a.model.tip + 1))
    table = frame_table(a, [(n, T), (a.say("cells", "tool"), a.made.tip)])
    return StepContent(tuple(text), (free,), table=table)


def is_nothing(place: Pose) -> bool:
    """True if a transform is the identity."""
    return not any(isinstance(x, Expression) or x != 0.0 for x in (*place.xyz, *place.rpy))


def pose_texts(place: Pose) -> tuple[str, str]:
    """Translation and angles as LaTeX."""
    xyz, rpy = map(notation.length, place.xyz), map(notation.angle, place.rpy)
    return f"({', '.join(xyz)})", f"({', '.join(rpy)})"


PLACING: dict[str, Callable[[Account], StepContent]] = {
    "links": links, "joints": joints, "lines": lines, "axes": axes, "base": base,
    "origins": origins, "x": x_axes, "y": y_axes, "end": end,
}  # fmt: skip
