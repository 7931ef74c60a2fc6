"""A drawing in space of every step: axes, common normals, frames as they get placed."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..equations.render.formula import plain
from ..plots.figure import INK, Picture
from ..plots.labels import JOINT, LETTERS, TOOL, WORDS, Label, Labels, together
from ..plots.scene import View, add_axes, prepare
from ..plots.skeleton import STYLES
from ..spatial.frames import matrix
from .notation import Names, equation
from .parameters import measured
from .prose import Phrases, to_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .steps import DhStep, DhSteps

SIZE = (6.2, 5.2)  # inches
TRIAD, BEYOND, RING = 0.17, 0.2, 0.1  # axes of frames, ends of lines, arcs; by the extent
NEAR = 0.012  # points that share a label, by the extent
STICK, LINE, NORMAL, FOOT = "#c3cad2", "#6b7682", "#0f766e", "#be185d"
SHIFT, TURN = "#b8651b", "#7c3aed"  # distances d, angles
HEAD = 0.038  # of an arrow, by the extent
ARC = 40  # points of a full turn
WIDE = 9  # characters of a value that is still written into a drawing


def draw(steps: "DhSteps", step: "DhStep") -> "Figure":
    """The drawing of one step."""
    return Sketch(steps).figure(step)


class Sketch:
    """The parts of the drawings of one arm, in metres in the reference frame."""

    def __init__(self, steps: "DhSteps"):
        self.steps, self.made = steps, steps.construction
        self.names = Names(self.made.convention)
        self.frames = np.array([matrix(T) for T in self.made.frames])
        self.tip = np.array(matrix(self.made.tip))
        self.starts = np.array([bar.start for bar in self.made.bars])
        self.ends = np.array([bar.end for bar in self.made.bars])
        points = self.points
        self.extent = float(np.max(np.ptp(points, axis=0))) or 1.0
        self.view = View(np.eye(3), np.eye(3)[2])
        self.marks: list[Label] = []
        self.lines: list[np.ndarray] = []

    @property
    def points(self) -> np.ndarray:
        """Everything that must be seen."""
        origins = self.frames[:, :3, 3]
        return np.concatenate([self.starts, self.ends, origins, self.tip[None, :3, 3]])

    def figure(self, step: "DhStep") -> "Figure":
        """The drawing of a step."""
        figure = Picture(figsize=SIZE)
        self.axes = add_axes(figure, self.view)
        bounds = self.view.bounds(self.points, self.extent)
        prepare(self.axes, self.view, bounds)
        self.marks, self.lines = [], []
        for layer in LAYERS[step.topic]:
            layer(self)
        along = np.concatenate([self.path[:-1, None], self.path[1:, None]], axis=1)
        share = np.linspace(0.0, 1.0, 20)[:, None, None]
        covered = (along[:, 0] * (1 - share) + along[:, 1] * share).reshape(-1, 3)
        Labels(self.axes, self.view, self.marks, np.array([*self.lines, along[0]]), covered)
        title = f"{step.label}. {to_text(step.title)}"
        figure.suptitle(title, color=INK, fontsize=11)
        return figure

    @property
    def path(self) -> np.ndarray:
        """The broken line of axes and common normals, from frame 0 to the tool, (K, 3)."""
        pairs = np.stack([self.starts, self.ends], axis=1).reshape(-1, 3)
        base = self.frames[:1, :3, 3]
        return np.concatenate([base, pairs, self.frames[-1:, :3, 3], self.tip[None, :3, 3]])

    # -- strokes --------------------------------------------------------------------------------

    def stroke(self, points: Any, colour: str, width: float = 1.5, **look: Any) -> None:
        """A broken line."""
        self.axes.plot(*np.asarray(points, dtype=float).T, color=colour, linewidth=width, **look)

    def dots(self, points: Any, colour: str, size: float = 5.0, marker: str = "o") -> None:
        """Points."""
        look = {"linestyle": "none", "marker": marker, "markersize": size}
        self.axes.plot(*np.atleast_2d(points).T, color=colour, **look)

    def mark(self, text: str, point: Any, colour: str = INK, back: Any = None) -> None:
        """A name at a point; a formula if it has $."""
        size = LETTERS if "$" in text else WORDS
        self.marks.append(Label(text, colour, size, np.asarray(point), back))

    def arm(self) -> None:
        """The broken line from base to tool."""
        self.stroke(self.path, STICK, 5.0, solid_capstyle="round", solid_joinstyle="round")

    def line_ends(self, joint: int) -> np.ndarray:
        """The piece of a joint's axis that is drawn, (2, 3)."""
        line = self.made.lines[joint - 1]
        u = np.array(line.direction)
        near = np.stack([self.ends[joint - 1], self.starts[joint]])
        if not self.names.standard:
            near = np.concatenate([near, self.frames[joint : joint + 1, :3, 3]])
        along = (near - near[0]) @ u
        margin = BEYOND * self.extent
        return near[0] + np.array([[along.min() - margin], [along.max() + margin]]) * u

    def axis_lines(self) -> None:
        """Axes of all joints as broken lines."""
        for joint in range(1, len(self.made.lines) + 1):
            ends = self.line_ends(joint)
            self.stroke(ends, LINE, 1.0, linestyle=(0, (6, 2, 1, 2)))
            self.lines.append(ends)

    def joints(self) -> None:
        """Joints, round those that turn, square those that slide, by number."""
        texts = []
        for joint, line in enumerate(self.made.lines, 1):
            turns = line.kind == "revolute"
            at = self.joint_point(joint)
            self.dots(at, JOINT if turns else SHIFT, 9.0, "o" if turns else "s")
            texts.append((str(joint), at))
        for group in together(np.array([p for _, p in texts]), NEAR * self.extent):
            said = ", ".join(texts[k][0] for k in group)
            self.mark(said, texts[group[0]][1], JOINT)

    def joint_point(self, joint: int) -> np.ndarray:
        """Where a joint is drawn: the middle of its piece of axis."""
        ends = self.line_ends(joint)
        return ends.mean(axis=0)

    def link_names(self) -> None:
        """Numbers of the links at their common normals."""
        say = Phrases(self.steps.language)
        spots = [self.joint_point(1) * 0.5 + self.frames[0, :3, 3] * 0.5]
        for k in range(1, len(self.made.lines)):
            spots.append(0.5 * (self.joint_point(k) + self.joint_point(k + 1)))
        spots.append(0.5 * (self.joint_point(len(self.made.lines)) + self.tip[:3, 3]))
        word = say("cells", "link")
        for group in together(np.array(spots), NEAR * self.extent):
            self.mark(f"{word} {', '.join(map(str, group))}", spots[group[0]], INK)

    def z_arrows(self) -> None:
        """An arrow z at the upper end of every axis."""
        found = []
        for joint in range(1, len(self.made.lines) + 1):
            ends = self.line_ends(joint)
            u = np.array(self.made.lines[joint - 1].direction)
            tip = ends[1]
            back = tip - TRIAD * self.extent * u
            self.arrow(back, tip, STYLES["z axes"].colour)
            found.append((self.names.carrier(joint), tip, back))
        self._named("z", found)

    def _named(self, letter: str, found: list[tuple[int, np.ndarray, np.ndarray]]) -> None:
        """Names of arrows (number, tip, tail); those in one place share one."""
        if not found:
            return
        both = np.array([np.concatenate([tip, back]) for _, tip, back in found])
        for group in together(both, NEAR * self.extent):
            text = r",\,".join(f"{letter}_{{{found[k][0]}}}" for k in group)
            _, tip, back = found[group[0]]
            self.mark(f"${text}$", tip, STYLES[f"{letter} axes"].colour, back)

    def arrow(self, start: np.ndarray, end: np.ndarray, colour: str, width: float = 2.2) -> None:
        """A straight arrow."""
        long = max(float(np.linalg.norm(end - start)), 1e-12)
        head = min(0.4, HEAD * self.extent / long)
        self.axes.quiver(
            *start, *(end - start), color=colour, linewidth=width, arrow_length_ratio=head
        )
        self.lines.append(np.stack([start, end]))

    def triads(self, letters: str, numbers: Iterable[int]) -> None:
        """Axes of frames by their letters."""
        numbers = list(numbers)
        for letter in letters:
            column, found = "xyz".index(letter), []
            for k in numbers:
                T = self.frames[k]
                start = T[:3, 3]
                end = start + TRIAD * self.extent * T[:3, column]
                self.arrow(start, end, STYLES[f"{letter} axes"].colour)
                found.append((k, end, start))
            self._named(letter, found)

    def base_frame(self) -> None:
        """Frame 0."""
        self.triads("xyz", [0])

    def normals(self) -> None:
        """Common normals with their feet."""
        for k in range(1, len(self.made.lines)):
            ends = np.stack([self.starts[k], self.ends[k]])
            if np.linalg.norm(ends[1] - ends[0]) > NEAR * self.extent:
                self.stroke(ends, NORMAL, 3.0)
            self.dots(ends, FOOT, 5.0)

    def origins(self) -> None:
        """Origins between axes, by name."""
        count = len(self.made.lines)
        points = self.frames[:count, :3, 3]
        for group in together(points, NEAR * self.extent):
            text = r",\,".join(f"O_{{{k}}}" for k in group)
            self.dots(points[group[0]], FOOT, 5.0)
            self.mark(f"${text}$", points[group[0]], FOOT)

    def x_arrows(self) -> None:
        """x of the frames between axes."""
        self.triads("x", range(len(self.made.lines)))

    def every_x(self) -> None:
        """x of all frames."""
        self.triads("x", range(len(self.frames)))

    def placed_frames(self) -> None:
        """All frames but the last."""
        self.triads("xyz", range(len(self.made.lines)))

    def last_frame(self) -> None:
        """Frame n in front of the others, and the tool."""
        count = len(self.made.lines)
        self.triads("xyz", [count])
        self.tool()

    def tool(self) -> None:
        """The tool's point."""
        self.dots(self.tip[:3, 3], TOOL, 7.0, "D")
        self.mark(Phrases(self.steps.language)("cells", "tool"), self.tip[:3, 3], TOOL)

    def all_frames(self) -> None:
        """x and z of all frames."""
        self.triads("xz", range(len(self.frames)))

    # -- parameters -----------------------------------------------------------------------------

    def value(self, joint: int, column: int, letter: str, index: int) -> str:
        """theta_1 = q_1, or theta_1 alone where the value is long."""
        text = self.steps.row_texts[joint - 1][column]
        name = f"{letter}_{{{index}}}"
        return f"${name}$" if len(plain(text)) > WIDE else f"${equation(name, text)}$"

    def thetas(self) -> None:
        """Arcs about z from x before to x after; a joint that turns has an open ring."""
        marks = []
        for joint, line in enumerate(self.made.lines, 1):
            at, z = self.starts[joint], np.array(line.direction)
            angle = measured(self.made, joint).values[0]
            x = self.frames[joint - 1][:3, 0]
            turns = line.kind == "revolute"
            if turns and abs(angle) < 1e-9:
                self.arc(at, z, x, 1.7 * np.pi)
            elif abs(angle) > 1e-9:
                self.arc(at, z, x, angle)
            marks.append((self.value(joint, 0, r"\theta", joint), at + self.beside(x)))
        self._texts(marks, TURN)

    def beside(self, direction: np.ndarray) -> np.ndarray:
        """From the middle of an arc to where its name is: beside its start."""
        return 1.3 * RING * self.extent * direction

    def arc(self, at: np.ndarray, axis: np.ndarray, from_: np.ndarray, angle: float) -> None:
        """An arc with an arrow at its end."""
        radius = RING * self.extent
        t = np.linspace(0.0, angle, max(6, int(ARC * abs(angle) / (2 * np.pi))))[:, None]
        other = np.cross(axis, from_)
        points = at + radius * (np.cos(t) * from_ + np.sin(t) * other)
        self.stroke(points, TURN, 1.8)
        self.axes.quiver(
            *points[-2], *(points[-1] - points[-2]), color=TURN, linewidth=1.8,
            arrow_length_ratio=1.5,
        )  # fmt: skip

    def alphas(self) -> None:
        """Arcs about x from z before to z after."""
        marks = []
        for joint in range(1, len(self.made.lines) + 1):
            own = self.names.bar_row(joint)
            found = measured(self.made, joint)
            x, z = self.frames[own][:3, 0], self.frames[joint - 1][:3, 2]
            at, angle = np.array(found.a[1]), found.values[3]
            if abs(angle) > 1e-9:
                self.arc(at, x, z, angle)
                marks.append((self.value(joint, 3, r"\alpha", own), at + self.beside(z)))
        self._texts(marks, TURN)

    def distances(self) -> None:
        """d along every z."""
        self._lengths(1, "d", SHIFT)

    def lengths(self) -> None:
        """a along every x."""
        self._lengths(2, "a", NORMAL)

    def _lengths(self, column: int, letter: str, colour: str) -> None:
        marks = []
        for joint in range(1, len(self.made.lines) + 1):
            found = measured(self.made, joint)
            ends = np.array(found.d if letter == "d" else found.a)
            long = np.linalg.norm(ends[1] - ends[0]) > NEAR * self.extent
            slides = letter == "d" and self.made.lines[joint - 1].kind == "prismatic"
            if not long and not slides:
                continue
            self.stroke(ends, colour, 4.0, solid_capstyle="butt")
            index = joint if letter == "d" else self.names.bar_row(joint)
            marks.append((self.value(joint, column, letter, index), ends.mean(axis=0)))
        self._texts(marks, colour)

    def _texts(self, marks: list[tuple[str, np.ndarray]], colour: str) -> None:
        """Texts at points; those in one place below one another."""
        if not marks:
            return
        points = np.array([point for _, point in marks])
        for group in together(points, NEAR * self.extent):
            self.mark("\n".join(marks[k][0] for k in group), points[group[0]], colour)

    def whole(self) -> None:
        """From the base to the tool at once."""
        start, end = self.frames[0, :3, 3], self.frames[-1, :3, 3]
        if np.linalg.norm(end - start) > NEAR * self.extent:
            self.arrow(start, end, FOOT, 2.6)
            self.mark("$T$", 0.5 * (start + end), FOOT)


S = Sketch
LAYERS: dict[str, tuple[Callable[[Sketch], None], ...]] = {
    "links": (S.arm, S.link_names, S.tool),
    "joints": (S.arm, S.axis_lines, S.joints),
    "lines": (S.arm, S.axis_lines, S.joints),
    "axes": (S.arm, S.axis_lines, S.z_arrows),
    "base": (S.arm, S.axis_lines, S.base_frame),
    "origins": (S.axis_lines, S.normals, S.origins),
    "x": (S.axis_lines, S.normals, S.x_arrows),
    "y": (S.arm, S.placed_frames),
    "end": (S.arm, S.axis_lines, S.last_frame),
    "theta": (S.axis_lines, S.every_x, S.thetas),
    "d": (S.arm, S.all_frames, S.distances),
    "a": (S.arm, S.all_frames, S.lengths),
    "alpha": (S.arm, S.axis_lines, S.z_arrows, S.alphas),
    "matrices": (S.arm, S.all_frames, S.tool),
    "product": (S.arm, S.base_frame, S.last_frame, S.whole),
    "meaning": (S.arm, S.base_frame, S.last_frame, S.whole),
}
