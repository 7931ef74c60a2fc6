"""A control computer's board: which devices measure and drive each joint, and how it starts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from ...arguments import checked, choice, is_list, known_options, path_of, strict, text, whole
from ...errors import FileError, ModelError, counted, shown
from ...files import write
from ...model.formats.files import decoded, parsed_toml, toml_lines
from ...model.formats.tables import located, read_bytes
from ...model.quantity import quantities, settle
from ...model.schema import About, changed_fields
from .devices import AnalogInput, AnalogOutput, Encoder, Potentiometer, Resolver, check_numbers

SCHEMA = 1
MOST_SAMPLES = 10_000
MOST_SLIP = 2**20
MOST_JOINTS = 1000
PER_JOINT: Mapping[str, Mapping[str, type]] = {  # fields of a board, and what files call them
    "encoders": {"encoder": Encoder, "resolver": Resolver},
    "potentiometers": {"potentiometer": Potentiometer},
    "inputs": {"input": AnalogInput},
    "outputs": {"output": AnalogOutput},
}
WORDS = {word: (name, kind) for name, row in PER_JOINT.items() for word, kind in row.items()}
START = ("samples", "search_speed", "approach_speed", "stray", "slip")


@strict
@dataclass(frozen=True, kw_only=True)
class Board:
    """Counters and converters between an arm and its control computer: of each one, or one a joint.

    The start: potentiometers, read `samples` times, tell the motor turn (without them the joints
    are `parked` where that says); then every motor turns at `search_speed` until its index has
    come; then the arm goes to its reference at up to `approach_speed`. A motor that is more than
    `stray` turns from where it searches is a fault: something drives or counts the wrong way. After
    the search an index that comes more than `slip` counts from its place is one.
    """

    encoders: Annotated[Any, About("Encoder or Resolver")]
    potentiometers: Annotated[Any, About("Potentiometer, or None: it is parked")]
    inputs: Annotated[Any, About("AnalogInput")] = AnalogInput()
    outputs: Annotated[Any, About("AnalogOutput")] = AnalogOutput()
    parked: Annotated[Any, About("where the joints are at the start", "{position}", 0)] = None
    samples: Annotated[int, About("of the potentiometers at the start", "1", 0)] = 16
    search_speed: Annotated[float, About("of the motors to the index", "turn/s", above=0.0)] = 1.0
    approach_speed: Annotated[float, About("to the reference", "turn/s", above=0.0)] = 5.0
    stray: Annotated[float, About("of a motor that searches", "turn", above=0.0)] = 3.0
    slip: Annotated[int, About("that an index may be off", "count", 0)] = 2
    name: Annotated[str, About("of the board")] = "board"

    def __post_init__(self) -> None:
        for name, kinds in PER_JOINT.items():
            settle(self, **{name: _devices(getattr(self, name), name, (*kinds.values(),))})
        check_numbers(self, "board.")
        text(self.name, "board.name")
        if self.parked is not None:
            places = tuple(self.parked) if is_list(self.parked) else ()
            settle(self, parked=quantities(self.parked, len(places), "board.parked"))
            check_numbers(self, "board.")
        if (self.potentiometers is None) == (self.parked is None):
            raise ModelError(
                "a board needs either potentiometers or the positions where its joints are parked",
                "give potentiometers=..., or parked=[...] (rad or m, one per joint)",
            )
        whole(self.samples, "board.samples", 1, MOST_SAMPLES)
        whole(self.slip, "board.slip", 0, MOST_SLIP)

    @checked
    def of_joints(self, name: str, n: int) -> tuple[Any, ...]:
        """Devices of n joints by the name of the field; None where there are none."""
        choice(name, "name", (*PER_JOINT, "parked"))
        n = whole(n, "n", most=MOST_JOINTS)
        given = getattr(self, name)
        if given is None:
            return (None,) * n
        if len(given) == 1 and name != "parked":
            return given * n
        if len(given) != n:
            raise ModelError(
                f"board.{name} has {counted(len(given), 'entry')}, the arm {counted(n, 'joint')}",
                "give one for all joints, or one per joint",
            )
        return given

    # files

    @classmethod
    @checked
    def load(cls, path: str | Path) -> "Board":
        """A board from its TOML file."""
        where = path_of(path)
        with located(str(where)):
            return board_from_table(parsed_toml(decoded(read_bytes(where))))

    @property
    def toml(self) -> str:
        """It as the text of a file; reading it back gives an equal board."""
        rows: list[dict[str, Any]] = []
        blocks = [toml_lines({"schema": SCHEMA, "name": self.name})]
        start = {x: getattr(self, x) for x in START if x in changed_fields(self)}
        if start:
            blocks.append("[start]\n" + toml_lines(start))
        for name, kinds in PER_JOINT.items():
            words = {kind: word for word, kind in kinds.items()}
            devices = getattr(self, name) or ()
            if len(devices) == 1:
                blocks.append(f"[{words[type(devices[0])]}]\n" + toml_lines(_table(devices[0])))
                continue
            for k, device in enumerate(devices):
                _row(rows, k)[words[type(device)]] = _table(device)
        for k, place in enumerate(self.parked or ()):
            _row(rows, k)["parked"] = place
        blocks += ["[[joint]]\n" + toml_lines(row) for row in rows]
        return "\n".join(blocks)

    @checked
    def save(self, path: str | Path) -> None:
        """Write it as a TOML file."""
        write(path_of(path), self.toml)


def board_from_table(table: Mapping[str, Any]) -> Board:
    """A board from the table of its file."""
    known_options(table, ("schema", "name", "start", "joint", *WORDS), "unknown key")
    if table.get("schema") != SCHEMA:
        raise FileError(f"schema is {shown(table.get('schema'))}, expected {SCHEMA}")
    start, rows = table.get("start", {}), table.get("joint", [])
    if not isinstance(start, Mapping) or not is_list(rows):
        raise FileError("expected a table [start] and rows [[joint]]")
    known_options(start, START, "unknown key of [start]")
    given: dict[str, Any] = {**start, "name": table.get("name", "board")}
    for word, (name, kind) in WORDS.items():
        if word in table:
            given[name] = _device(table[word], kind, f"[{word}]")
    for k, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise FileError(f"joint {k} is {shown(row)}, expected a table")
        known_options(row, ("parked", *WORDS), f"unknown key of joint {k}:")
        for word, value in row.items():
            name, kind = WORDS.get(word, ("parked", None))
            one = value if kind is None else _device(value, kind, f"{word} of joint {k}")
            before = given.setdefault(name, [])
            if not isinstance(before, list) or len(before) != k - 1:
                raise FileError(
                    f"{word} of joint {k} is one too many, or one before it is missing",
                    f"write [{word}] once for all joints, or {word} = {{...}} in every [[joint]]",
                )
            before.append(one)
    if "encoders" not in given:
        raise FileError(
            "has no encoders", "write [encoder] or [resolver], or one in every [[joint]]"
        )
    return Board(**{"potentiometers": None, **given})


def _device(value: Any, kind: type, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise FileError(f"{where} is {shown(value)}, expected a table")
    known_options(value, [x.name for x in fields(kind)], f"unknown key of {where}:")
    try:
        return kind(**{k: _read(v) for k, v in value.items()})
    except TypeError:
        missing = [x.name for x in fields(kind) if x.name not in value]
        raise FileError(f"{where} has no {missing[0]}") from None


def _table(device: Any) -> dict[str, Any]:
    """What a device has besides defaults, and what has none."""
    first = fields(device)[0].name
    names = [first, *(x for x in changed_fields(device) if x != first)]
    found = {x: getattr(device, x) for x in names}
    return {k: _written(v) for k, v in found.items()}


def _read(value: Any) -> Any:
    """A value of a file: lists are pairs; `false` says that there is none."""
    return None if value is False else tuple(value) if isinstance(value, list) else value


def _written(value: Any) -> Any:
    return False if value is None else list(value) if isinstance(value, tuple) else value


def _row(rows: list[dict[str, Any]], k: int) -> dict[str, Any]:
    while len(rows) <= k:
        rows.append({})
    return rows[k]


def _devices(value: Any, name: str, kinds: tuple[type, ...]) -> tuple[Any, ...] | None:
    if value is None and name == "potentiometers":
        return None
    given: tuple[Any, ...] = tuple(value) if value is not None and is_list(value) else ()
    given = (value,) if isinstance(value, kinds) else given
    wrong = next((x for x in given if not isinstance(x, kinds)), None)
    if not given or wrong is not None:
        names = " or ".join(kind.__name__ for kind in kinds)
        what = shown(value if wrong is None else wrong)
        raise ModelError(f"board.{name} is {what}, expected {names}, one or one per joint")
    return given
