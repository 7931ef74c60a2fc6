"""The Denavit-Hartenberg procedure as steps: from joint axes, a file of them or a robot."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arguments import checked, choice, is_list, is_whole, strict
from ..errors import ModelError, OptionError, did_you_mean, shown, warn
from ..files import checked_path
from ..model.dh.axes import axes_of
from ..model.dh.convert import ROW, construction, refuse_tree
from ..model.dh.procedure import (
    DH_CONVENTIONS,
    PARALLEL_ORIGINS,
    Choices,
    Construction,
    arm_size,
    check_convention,
    construct,
)
from ..model.formats.axes import JointAxes, axes_from_lines, holds_axes, is_typed, read_axes
from ..model.formats.tables import located
from ..model.model import Model
from ..model.pose import pose
from ..model.quantity import symbols_in
from ..robot import Robot, load
from ..spatial.frames import matrix
from ..spatial.vectors import subtract
from .letters import LETTERS, with_letters
from .parameters import DERIVING, dh_cells, row_texts
from .prose import LANGUAGES, Phrases, verbatim
from .telling import PLACING, Account, Cells, StepContent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..robot.keywords import PoseLike

# the topics of the steps as numbered by Torres-Torriti (14 steps), and by Barrientos et al. (16)
NUMBERINGS = {
    "dh": (
        "links", "joints", "axes", "base", "origins", "x", "y", "end", "theta", "d", "a", "alpha",
        "matrices", "product",
    ),
    "sixteen": (
        "links", "joints", "lines", "axes", "base", "origins", "x", "y", "end", "theta", "d", "a",
        "alpha", "matrices", "product", "meaning",
    ),
}  # fmt: skip
SUFFIXES = (".html", ".htm", ".tex", ".md", ".txt")
SMALLEST, LARGEST = 1e-9, 1e9  # metres
MOST_JOINTS = 100  # of an arm that is explained


@dataclass(frozen=True)
class DhStep:
    """One step: its number in the source, what is done and why, with the numbers of this arm.

    Formulas in `text`, `free` and `table` stand between $ signs, those in `formulas` without.
    """

    number: int
    topic: str
    title: str
    text: tuple[str, ...]  # paragraphs
    free: tuple[str, ...] = ()  # what could have been chosen otherwise, and why it was not
    formulas: tuple[str, ...] = ()
    table: Cells = ()
    items: tuple[Any, ...] = ()  # matrices

    @property
    def label(self) -> str:
        """DH1, DH2, ..."""
        return f"DH{self.number}"


@strict
@dataclass(frozen=True)
class DhSteps:
    """The steps of one arm, the robot they lead to, and how they were asked for."""

    robot: Robot
    construction: Construction
    steps: tuple[DhStep, ...]
    numbering: str
    language: str
    values: tuple[tuple[str, float], ...]  # of the letters for lengths
    cells: Cells  # the DH table with its header, formulas between $ signs
    row_texts: tuple[tuple[str, str, str, str], ...]  # theta, d, a, alpha of every row as LaTeX
    own: bool  # whether the choices are those of the robot's own table

    def __iter__(self) -> Iterator[DhStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, label: str) -> DhStep:
        found = next((x for x in self.steps if x.label == label), None)
        if found is None:
            hint = did_you_mean(label, [x.label for x in self.steps])
            raise OptionError(f"no step is called {shown(label)}", hint)
        return found

    @property
    def convention(self) -> str:
        """standard or modified"""
        return self.construction.convention

    @property
    def title(self) -> str:
        """The heading of the whole page."""
        say = Phrases(self.language)
        convention = say("page", self.convention)
        return say("page", "title", robot=verbatim(self.robot.name), convention=convention)

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """The steps as plain text."""
        from .render import text

        return text(self)

    def markdown(self) -> str:
        """The steps as Markdown with LaTeX formulas."""
        from .render import markdown

        return markdown(self)

    def latex(self) -> str:
        """The steps as the body of a LaTeX document."""
        from .render import latex

        return latex(self)

    @checked
    def plot(self, step: str) -> "Figure":
        """The drawing of a step, by its label such as "DH5"."""
        from .drawing import draw

        return draw(self, self[step])

    @checked
    def save(self, path: str | Path) -> None:
        """Write a page with drawings (.html), a LaTeX document with drawings beside it (.tex),
        Markdown (.md) or text (.txt)."""
        from .render import write_steps

        write_steps(self, checked_path(path, SUFFIXES, "steps"))

    def _repr_html_(self) -> str:
        from .render import fragment

        return fragment(self)


class _Source(NamedTuple):
    """Source of the steps: axes, or a model."""

    axes: JointAxes | None
    model: Model | None


@checked
def dh_steps(
    source: Any,
    convention: str | None = None,
    *,
    base: "PoseLike" = None,
    tool: "PoseLike" = None,
    flip: Iterable[int] = (),
    parallel: str = "previous",
    letters: str | None = None,
    numbering: str = "dh",
    language: str = "en",
) -> DhSteps:
    """The Denavit-Hartenberg procedure step by step, DH1 to DH14, on joint axes or a robot.

    `source` is a list of (joint, point, direction) in the reference frame at q = 0, lines of text
    such as "revolute 0 0 0.4  0 0 1", a file of such lines (.axes, .txt) or with [[axis]] (.toml),
    a robot, its name or its file. `convention` is "standard" or "modified"; by default a robot's
    own, else standard. A robot that has a table in this convention is explained by that table.

    Of axes, `base` and `tool` are poses in the reference frame; x of the frames in `flip` is turned
    round; between parallel axes the origin makes the d before it 0 (parallel="previous") or is next
    to the point given for the next joint ("joint").

    `letters` writes every length that is not 0 as a letter of its own: "numbered" (l1, l2, ...) or
    "by-place" (d1, a2, ...). `numbering` is "dh" (14 steps) or "sixteen"; `language` "en" or "es".
    """
    choice(parallel, "parallel", PARALLEL_ORIGINS)
    choice(numbering, "numbering", NUMBERINGS)
    choice(language, "language", LANGUAGES)
    if letters is not None:
        choice(letters, "letters", LETTERS)
    if convention is not None:
        check_convention(convention)
    axes, model = _source(source)
    choices = Choices(_flipped(flip), parallel)
    if model is not None:
        _refuse_choices(model, base, tool, choices)
        own = model.convention in DH_CONVENTIONS and convention in (None, model.convention)
        convention = convention or (model.convention if own else "standard")
        made, robot = _of_robot(model, convention)
    else:
        assert axes is not None
        own, convention = False, convention or "standard"
        made, robot = _of_axes(axes, convention, base, tool, choices)
    lettered = robot.model if letters is None else with_letters(robot.model, letters)
    account = Account(made, lettered, choices, own, _size(made), Phrases(language))
    return DhSteps(
        Robot(lettered), made, tuple(_steps(account, numbering)), numbering, language,
        _letters(lettered), dh_cells(account),
        tuple(row_texts(account, i + 1) for i in range(account.n)), own,
    )  # fmt: skip


def _size(made: Construction) -> float:
    """The largest distance from the first origin, in metres, of an arm that can be drawn."""
    points = [p for bar in made.bars for p in (bar.start, bar.end)]
    points += [made.tip.p, *(line.point for line in made.axes)]
    size = arm_size([subtract(p, made.frames[0].p) for p in points])
    if not SMALLEST <= size <= LARGEST or arm_size(points) > LARGEST:
        raise ModelError(
            f"the arm is {size:.3g} m large, expected {SMALLEST:g} to {LARGEST:g} m",
            "points of axes are in metres",
        )
    return size


def _letters(model: Model) -> tuple[tuple[str, float], ...]:
    """Symbols of the geometry with their values."""
    rows = [getattr(link, name) for link in model.links for name in ROW]
    known = symbols_in((*rows, model.base, model.tool))
    return tuple((name, model.values[name]) for name in known if name in model.values)


def _source(given: Any) -> _Source:
    """Axes or a model, of whatever was given."""
    if isinstance(given, Robot):
        return _Source(None, given.model)
    if isinstance(given, str) and is_typed(given):
        with located("axes"):
            return _Source(axes_from_lines(given), None)
    if isinstance(given, (str, Path)):
        path = Path(given)
        if "\0" not in str(given) and path.suffix and path.is_file() and holds_axes(path):
            return _Source(read_axes(path), None)
        return _Source(None, load(given).model)
    if not is_list(given):
        raise ModelError(
            f"source is {shown(given)}, expected joint axes, a robot, or the name or file of one",
            'such as dy.dh_steps([("revolute", (0, 0, 0), (0, 0, 1))])',
        )
    return _Source(JointAxes(tuple(axes_of(list(given)))), None)


def _flipped(flip: Any) -> frozenset[int]:
    listed: list[Any] = list(flip) if is_list(flip) else [None]
    if not all(is_whole(x) for x in listed):
        raise OptionError(f"flip is {shown(flip)}, expected numbers of frames such as (2, 3)")
    return frozenset(int(x) for x in listed)


def _refuse_choices(model: Model, base: Any, tool: Any, choices: Choices) -> None:
    """A robot has its own base, tool and choices; trees and closed mechanisms have no table."""
    if model.closures:
        raise ModelError(
            f"robot {model.name!r} has closures; a DH table holds a single open chain",
            "give the axes of one of its branches, or load the open arm",
        )
    refuse_tree(model)
    given = {"base": base is not None, "tool": tool is not None, "flip": bool(choices.flip)}
    given["parallel"] = choices.parallel != PARALLEL_ORIGINS[0]
    named = next((name for name, there in given.items() if there), None)
    if named is not None:
        raise OptionError(
            f"{named} was given for robot {model.name!r}, which has its own",
            f"leave {named} out, or give the joint axes instead of the robot",
        )


def _of_robot(model: Model, convention: str) -> tuple[Construction, Robot]:
    _check_count(len(model.links))
    made = construction(model, convention)
    if convention != model.convention and any(link.slides for link in model.links):
        return made, _bare_robot(model.name, made)  # its centres of mass have no place there
    return made, Robot(model).to_dh(convention)


def _bare_robot(name: str, made: Construction) -> Robot:
    """The robot of a table alone, without bodies."""
    rows, base, tool, _ = made.chain
    return Robot.from_dh(
        name, convention=made.convention, links=list(rows), base=matrix(base), tool=matrix(tool)
    )


def _of_axes(
    given: JointAxes, convention: str, base: Any, tool: Any, choices: Choices
) -> tuple[Construction, Robot]:
    _check_count(len(given.axes))
    wrong = next((k for k in choices.flip if not 0 < k < len(given.axes)), None)
    if wrong is not None:
        raise OptionError(
            f"flip has {wrong}, expected frames between axes, 1 to {len(given.axes) - 1}",
            "x of the first frame is that of base, x of the last that of tool",
        )
    start = given.base if base is None else pose(base, "base")
    end = given.tool if tool is None else pose(tool, "tool")
    made = construct(
        given.axes,
        convention,
        pose(start, "base").frame({}),
        None if end is None else end.frame({}),
        choices,
    )
    if made.chain.doubt:
        warn(f"{given.name!r}: {made.chain.doubt}")
    return made, _bare_robot(given.name, made)


def _check_count(n: int) -> None:
    if n > MOST_JOINTS:
        raise ModelError(f"{n} joints were given, expected at most {MOST_JOINTS}")


def _steps(account: Account, numbering: str) -> Iterator[DhStep]:
    topics = NUMBERINGS[numbering]
    both = {**PLACING, **DERIVING}
    for number, topic in enumerate(topics, 1):
        content: StepContent = both[topic](account)
        title = ("axes", "title_lines") if topic == "lines" else (topic, "title")
        yield DhStep(number, topic, account.say(*title), *content)
