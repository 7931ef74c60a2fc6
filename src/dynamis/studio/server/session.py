"""The session of a browser tab: a robot, a pose, and listeners to their changes.

viser calls back from a pool of threads; `Session.lock` makes the callbacks of one tab take turns.
"""

import json
import logging
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import templates
from ...dynamics.mobility import assemblies
from ...errors import ClosureError, DynamisError, ModelError, OptionError
from ...robot import Robot

if TYPE_CHECKING:
    from ...identify import Estimate, Log
    from ...simulation import Run

MOST_JOINTS = 40
Listener = Callable[[], None]
log = logging.getLogger("dynamis.studio")
LINKED = re.compile(r"https?|ftp|www|mailto|xmpp|@", re.IGNORECASE)  # what markdown makes links of
JOINER = "\u2060"  # a space of no width that nothing breaks at


MOST_RUNS = 8  # simulations kept for comparison; the oldest is dropped
LONGEST_NAME = 60  # characters, of a run


@dataclass(eq=False)
class NamedRun:
    """A simulation by name: the run, its controller, and what that followed."""

    name: str
    run: "Run"
    controller: Any = None
    reference: Any = None


@dataclass
class Results:
    """What the pages of a tab share; None where there is none yet, or none of this robot."""

    runs: list[NamedRun] = field(default_factory=list)
    last: int = 0  # number of the run that was made last; no other one gets it
    shown: NamedRun | None = None  # the one of them that is played and exported
    uploaded: Any = None  # the file of the log, or one whose columns are yet to be chosen
    log: "Log | None" = None
    estimate: "Estimate | None" = None

    run = property(lambda self: None if self.shown is None else self.shown.run)
    controller = property(lambda self: None if self.shown is None else self.shown.controller)
    reference = property(lambda self: None if self.shown is None else self.shown.reference)

    def keep(self, what: str, run: "Run", controller: Any = None, reference: Any = None) -> None:
        """One more simulation, by its number and `what` it is; it is then the one that is shown."""
        self.last += 1
        while any(x.name == f"{self.last}: {what}" for x in self.runs):  # a name given by hand
            self.last += 1
        self.shown = NamedRun(f"{self.last}: {what}", run, controller, reference)
        self.runs = [*self.runs, self.shown][-MOST_RUNS:]

    def rename(self, name: str) -> None:
        """Another name for the run that is shown; one that another run has is refused."""
        name = " ".join(name.split())[:LONGEST_NAME]
        if self.shown is None or name == self.shown.name:
            return
        if not name:
            raise OptionError("the name is empty, expected a text")
        if any(x.name == name for x in self.runs):
            raise OptionError(f"another run is called {name!r}", "choose another name")
        self.shown.name = name

    def copy(self) -> "Results":
        """The same results for another tab, which may rename its runs."""
        runs = {id(x): replace(x) for x in self.runs}
        return replace(self, runs=[*runs.values()], shown=runs.get(id(self.shown)))


@dataclass(frozen=True)
class Work:
    """What a tab holds, for another tab to continue: nothing in it belongs to the page."""

    loaded: Robot  # before its edits
    robot: Robot
    placed: np.ndarray
    results: Results
    settings: dict[str, Any]
    file: str = ""  # the name of the file that the robot came from


class Session:
    """One tab. `robot` is the arm as shown (its gravity and payload included), `q` its pose.

    `loaded` is the robot before its edits. `placed` is the pose last set by hand, which a run
    starts from and an edit returns to. `kept` says whether the last change of robot was an edit of
    the one before.
    `key` names the tab's work to its page, which asks for it after a reload.
    """

    def __init__(self, client: Any, robot: Robot):
        self.client = client
        self.lock = threading.RLock()
        self.robot = robot
        self.q = self.placed = start_pose(robot)
        self.loaded = robot
        self.file = ""  # its name, where the robot came from one
        self.key = secrets.token_urlsafe(16)
        self.kept = False
        self.touched = False  # whether there is work to lose
        self.bench = Results()
        self._settings: dict[str, Any] = {}
        self.view: Any = None
        self.uploads: Any = None
        self.closed = threading.Event()
        self._listeners: dict[str, list[Listener]] = {
            name: [] for name in ("robot", "pose", "results", "bench", "close")
        }
        # `on_robot(listener)` is told of another robot, before `on_pose` of its pose; `on_results`
        # of results that another tab had, `on_bench` of any change of results
        self.on_robot, self.on_pose, self.on_results, self.on_bench, self.on_close = (
            listeners.append for listeners in self._listeners.values()
        )

    def change_robot(self, robot: Robot, keep_pose: bool = False) -> None:
        """Another arm; with `keep_pose` it is an edit of this one: the pose stays.

        An arm that cannot be drawn raises, and nothing has changed.
        """
        with self.lock:
            keep = keep_pose and robot.n == self.robot.n
            q = near_pose(robot, self.placed) if keep else start_pose(robot)
            drawable(robot, q)
            self.robot, self.q, self.placed, self.kept = robot, q, q, keep
            self.touched = True
            if not keep:
                self.loaded = robot
            self._tell("robot")
            self._tell("pose")

    def change_pose(self, q: Any, playing: bool = False) -> None:
        """Move the arm; `playing` shows a pose of a run."""
        with self.lock:
            given = np.array(q, float)
            if given.shape == (self.robot.n,) and np.isfinite(given).all():
                self.q = given
                if not playing:
                    self.placed, self.touched = given, True
                self._tell("pose")

    def results_changed(self) -> None:
        """A page made results, or dropped them."""
        self._tell("bench")

    def _tell(self, of: str) -> None:
        for listener in self._listeners[of]:
            if self.closed.is_set():
                return
            try:
                listener()
            except Exception:  # one page's trouble is not the next one's
                log.exception("a page did not follow")

    def close(self) -> None:
        """The tab is gone: whatever plays must end."""
        self.closed.set()
        for listener in self._listeners["close"]:
            listener()

    def remember(self, page: str, **fields: Any) -> None:
        """Keep what is set in these fields with the work of the tab."""
        self._settings |= {f"{page}.{name}": field for name, field in fields.items()}

    def work(self) -> Work:
        """What there is to continue in another tab."""
        with self.lock:
            settings = {name: field.value for name, field in self._settings.items()}
            results = self.bench.copy()
            return Work(self.loaded, self.robot, self.placed, results, settings, self.file)

    def adopt(self, work: Work) -> None:
        """Continue the work of another tab: its robot with its edits, pose, fields and results."""
        with self.lock:
            self.file = work.file
            if work.loaded is not self.robot:
                self.change_robot(work.loaded)
            if work.robot is not self.robot:
                self.change_robot(work.robot, keep_pose=True)
            self.change_pose(work.placed)
            for name, value in work.settings.items():
                known = self._settings.get(name)
                if known is not None and value in getattr(known, "options", (value,)):
                    known.value = value
            vars(self.bench).update(vars(work.results.copy()))
            self._tell("results")

    def run_script(self, name: str, **values: str) -> None:
        """Run a template of JavaScript in the page; its values are texts within quotes."""
        if not self.closed.is_set():
            from viser import _messages

            given = {key: json.dumps(value)[1:-1] for key, value in values.items()}
            script = templates.filled(__package__, name, **given)
            link = self.client.gui._websock_interface
            link.queue_message(_messages.RunJavascriptMessage(script))

    def say(self, title: str, text: str, colour: str = "blue") -> None:
        """A note in the corner of the page."""
        self.client.add_notification(title=title, body=text, color=colour, auto_close_seconds=6.0)

    @contextmanager
    def shown_at(self, place: Any) -> Iterator[None]:
        """Errors of the block appear at `place` (a markdown beside the field), and end there."""
        with self.lock:
            try:
                yield
            except DynamisError as error:
                show(place, shown_error(str(error)))
                self.run_script("error.js")
            else:
                show(place, "")


def show(place: Any, markdown: str) -> None:
    """Another text at a markdown; an empty one hides it."""
    place.content, place.visible = markdown, bool(markdown)


def shown_error(text: str) -> str:
    """An error as markdown in which nothing of the text is markup."""
    lines = [plain(line) for line in text.splitlines() if line.strip()]
    return "**Not possible.** " + "  \n".join(lines)


def plain(text: str) -> str:
    """Text as markdown that shows it as it is; addresses do not become links."""
    apart = LINKED.sub(lambda found: found[0] + JOINER, text)
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>~$&:" else c for c in apart)


def drawable(robot: Robot, q: np.ndarray) -> None:
    """Refuse robots with too many joints, symbols without values, or frames that are not finite."""
    if (count := len(robot.model.links)) > MOST_JOINTS:
        raise ModelError(f"has {count} joints, the studio shows at most {MOST_JOINTS}")
    if not np.isfinite(robot.frames(q)).all():
        raise ModelError(f"robot {robot.name!r} has frames that are not finite")


def start_pose(robot: Robot) -> np.ndarray:
    """A pose to begin with: "ready" where the robot names one, else zero or the nearest limit.

    Of a closed mechanism: a configuration that closes, or any assembly.
    """
    if robot.model.closures:
        return _closed_pose(robot)
    for name in ("ready", "home"):
        if name in robot.configurations:
            return np.array(robot.configurations[name], float)
    low, high = np.asarray(robot.limits, float).reshape(robot.n, 2).T
    return np.clip(0.0, np.minimum(low, high), np.maximum(low, high))


def near_pose(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The pose of a robot that was edited: as it was, closed where it has closures."""
    try:
        return robot.project(q)
    except ClosureError:
        return start_pose(robot)


def _closed_pose(robot: Robot) -> np.ndarray:
    named = robot.configurations
    first = [named[name] for name in ("ready", "home") if name in named]
    for q in (*first, *named.values()):
        if robot.closure_status(q) == 0.0:
            return np.array(q, float)
    found, _ = assemblies(robot.chain, robot.model.configurations.values())
    regular = [q for q in found if robot.closure_status(q) == 0.0]
    return np.array((regular or found)[0])
