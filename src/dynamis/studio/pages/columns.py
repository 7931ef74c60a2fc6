"""Columns of a log chosen by hand: each quantity of each joint, and their units."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import OptionError
from ...logs.units import ACCELERATION, ANGLE, EFFORT, LENGTH, SPEED, TIME
from ...robot import Robot
from ..server.session import Session, show
from .chart import label as clean


class JointQuantity(NamedTuple):
    """A quantity of every joint: its name, whether a log needs it, and what columns call it."""

    title: str
    needed: bool
    words: str
    angular: tuple[str, ...]
    linear: tuple[str, ...]


FORCES = ("N", "mN", "kN", "lbf")  # of the units of effort
QUANTITIES: Mapping[str, JointQuantity] = {
    "q": JointQuantity(
        "Position", True, r"pos|angle|theta|\bq\b|^q(?!d)|encoder", tuple(ANGLE), tuple(LENGTH)
    ),
    "qd": JointQuantity(
        "Velocity", False, r"vel|speed|omega|^qd|^dq|qdot",
        tuple(x for x in SPEED if x.split("/")[0] in ANGLE or x == "rpm"),
        tuple(x for x in SPEED if x.split("/")[0] in LENGTH),
    ),
    "tau": JointQuantity(
        "Torque or force", True, r"tau|torq|effort|moment|force|load",
        tuple(x for x in EFFORT if x not in FORCES), FORCES,
    ),
}  # fmt: skip
STAMP = r"^t$|time|stamp|^sec|clock"
ACCELERATED = rf"acc|^qdd|ddq|{'|'.join(map(re.escape, ACCELERATION))}"
LEFT_OUT, AS_WRITTEN = "(none)", "as the file says, or SI"


@dataclass(frozen=True)
class FileColumns:
    """The columns of a file: how many numbers each has in a row, and the units it gives them."""

    widths: Mapping[str, int]
    units: Mapping[str, str] = field(default_factory=dict)

    def single(self) -> list[str]:
        """Columns of one number."""
        return [name for name, width in self.widths.items() if width == 1]

    def wide(self, count: int) -> list[str]:
        """Arrays with a column per joint."""
        return [name for name, width in self.widths.items() if width == count and count > 1]


def guessed(columns: FileColumns, joints: Sequence[str]) -> dict[str, list[str]]:
    """The columns that are probably meant: of the right words, and one per joint (or one array)."""
    found: dict[str, list[str]] = {}
    stamps = [x for x in columns.single() if re.search(STAMP, x, re.IGNORECASE)]
    found["t"] = stamps[:1]
    left = [x for x in columns.widths if x not in stamps]
    left = [x for x in left if not re.search(ACCELERATED, x, re.IGNORECASE)]
    for key in ("qd", "tau", "q"):  # what is called qd is not q
        named = [x for x in left if re.search(QUANTITIES[key].words, x, re.IGNORECASE)]
        whole = [x for x in named if x in columns.wide(len(joints))]
        single = sorted((x for x in named if x in columns.single()), key=_natural)
        found[key] = whole[:1] or (single if len(single) == len(joints) else [])
        left = [x for x in left if x not in named]
    return found


def _natural(name: str) -> list[Any]:
    """An order in which 10 comes after 9."""
    parts = re.split(r"(\d+)", name)
    return [int(x) if k % 2 else x for k, x in enumerate(parts)]


def mapping(
    columns: FileColumns,
    robot: Robot,
    chosen: Mapping[str, Sequence[str]],
    units: Mapping[str, str],
) -> dict[str, Any]:
    """What `read_log` is given: `columns`, `units` and `sample_time`.

    `chosen` has a column per joint, or one array, for t, q, qd and tau; `units` one for t, and
    per quantity one of angles ("q") and one of lengths ("q linear").
    """
    joints, given, scales = robot.drive_names, {}, {}
    slides = [robot.joint_kinds[robot.joint_names.index(x)] == "prismatic" for x in joints]
    stamps = [x for x in chosen.get("t", ()) if x != LEFT_OUT]
    given["t"] = stamps[0] if stamps else None
    if stamps and units.get("t", AS_WRITTEN) != AS_WRITTEN:
        scales["t"] = units["t"]
    for key, quantity in QUANTITIES.items():
        names = [x for x in chosen.get(key, ()) if x != LEFT_OUT]
        whole = len(names) == 1 and names[0] in columns.wide(len(joints))
        if not names and not quantity.needed:
            given[key] = None
            continue
        if not whole and len(names) != len(joints):
            lacking = len(joints) - len(names)
            raise OptionError(
                f"{quantity.title.lower()}: {lacking} of {len(joints)} joints have no column",
                "choose a column for each, or for none of them"
                if not quantity.needed
                else "choose a column for each",
            )
        given[key] = names[0] if whole else names
        wanted = [units.get(f"{key} linear" if slide else key, AS_WRITTEN) for slide in slides]
        if any(x != AS_WRITTEN for x in wanted):
            written = [
                columns.units.get(x, 1.0) for x in (names if not whole else [""] * len(joints))
            ]
            scales[key] = [
                w if x == AS_WRITTEN else x for x, w in zip(wanted, written, strict=True)
            ]
    return {"columns": given, "units": scales}


class ColumnsPanel:
    """Dropdowns for an uploaded log; `read(options)` gets what they say, for `read_log`.

    What was chosen for columns of these names is there again when they are offered again.
    """

    def __init__(self, session: Session, read: Callable[[dict[str, Any]], None]):
        self.session, self._read = session, read
        gui = session.client.gui
        self.folder = gui.add_folder("Columns of the log", visible=False)
        with self.folder:
            self.why = gui.add_markdown("")
            self.error = gui.add_markdown("", visible=False)
        self._made: list[Any] = []
        self._columns = FileColumns({})
        self._joints: tuple[str, ...] = ()
        self._kept: dict[Any, dict[str, Any]] = {}  # choices, by columns and joints
        self._chosen: dict[str, list[Any]] = {}
        self._units: dict[str, Any] = {}

    def hide(self) -> None:
        """No log to choose columns of."""
        self.folder.visible = False

    @property
    def value(self) -> dict[Any, dict[str, Any]]:
        """All choices so far, which another tab may continue with."""
        if self._made:
            self._kept[self._case()] = {name: x.value for name, x in self._fields().items()}
        return dict(self._kept)

    @value.setter
    def value(self, given: Mapping[Any, dict[str, Any]]) -> None:
        self._kept = dict(given)

    def _case(self) -> Any:
        """Key of the choices: columns, joints, and the fields that their kinds have."""
        return tuple(self._columns.widths.items()), self._joints, tuple(self._fields())

    def _fields(self) -> dict[str, Any]:
        """Everything to choose, by name."""
        columns = {f"{k} {i}": x for k, row in self._chosen.items() for i, x in enumerate(row)}
        units = {f"unit of {key}": x for key, x in self._units.items()}
        return {**columns, **units, "sample time": self.sample_time}

    def offer(self, columns: FileColumns) -> None:
        """Fields for the columns of a file: as last chosen, or as far as their names say."""
        with self.session.lock:
            kept = self.value
            for made in self._made:
                made.remove()
            self._made, self._chosen, self._units = [], {}, {}
            self._columns, robot = columns, self.session.robot
            self._joints = joints = tuple(robot.drive_names)
            guess = guessed(columns, joints)
            show(self.error, "")
            self.why.content = f"Which of the {len(columns.widths)} columns is which?"
            with self.folder:
                self._stamps(guess["t"])
                for key in QUANTITIES:
                    self._quantity(key, joints, guess[key], columns.wide(len(joints)))
                self._button()
            fields = self._fields()
            for name, chosen in kept.get(self._case(), {}).items():
                fields[name].value = chosen
            self.folder.visible = True

    def _add(self, made: Any) -> Any:
        self._made.append(made)
        return made

    def _stamps(self, guess: Sequence[str]) -> None:
        gui = self.session.client.gui
        options = (LEFT_OUT, *self._columns.single())
        first = guess[0] if guess else LEFT_OUT
        self._chosen["t"] = [self._add(gui.add_dropdown("Time", options, initial_value=first))]
        self._units["t"] = self._add(gui.add_dropdown("Unit of time", (AS_WRITTEN, *TIME)))
        self.sample_time = self._add(
            gui.add_number("Sample time (s)", 0.001, min=1e-6, step=1e-6, hint="without stamps")
        )

    def _quantity(
        self, key: str, joints: Sequence[str], guess: Sequence[str], wide: Sequence[str]
    ) -> None:
        gui, robot, quantity = self.session.client.gui, self.session.robot, QUANTITIES[key]
        kinds = {robot.joint_kinds[robot.joint_names.index(x)] for x in joints}
        single = self._columns.single()
        whole = bool(wide) and (len(guess) == 1 or len(single) < len(joints))
        options = (LEFT_OUT, *(wide if whole else single))
        places = ("all joints",) if whole else joints
        with self._add(gui.add_folder(quantity.title)):
            self._chosen[key] = [
                gui.add_dropdown(
                    f"{key} of {clean(joint)}",
                    options,
                    initial_value=guess[k] if k < len(guess) else LEFT_OUT,
                )
                for k, joint in enumerate(places)
            ]
            if "revolute" in kinds:
                units = (AS_WRITTEN, *quantity.angular)
                self._units[key] = gui.add_dropdown(f"Unit of {key}", units)
            if "prismatic" in kinds:
                units = (AS_WRITTEN, *quantity.linear)
                self._units[f"{key} linear"] = gui.add_dropdown(f"Unit of {key}, prismatic", units)

    def _button(self) -> None:
        button = self._add(self.session.client.gui.add_button("Read with these columns"))
        button.on_click(lambda _: self._asked())

    def _asked(self) -> None:
        with self.session.shown_at(self.error):
            chosen = {key: [x.value for x in fields] for key, fields in self._chosen.items()}
            units = {key: x.value for key, x in self._units.items()}
            options = mapping(self._columns, self.session.robot, chosen, units)
            if options["columns"]["t"] is None:
                options["sample_time"] = float(self.sample_time.value)
            self._read(options)
