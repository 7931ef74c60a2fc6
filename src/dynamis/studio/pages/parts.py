"""Editors of the Robot page: links, springs and closures, every number with its unit.

A table lists the fields of a part of the model; what a field is given goes to the model's own
dataclasses, which refuse what is wrong. Nothing changes until the whole robot is accepted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...errors import ModelError, shown
from ...model.closure import CLOSURE_COLUMNS, Closure, closure_texts
from ...model.closure import KINDS as CLOSURES
from ...model.drive import ELASTIC, Drive
from ...model.friction import CONSTANTS, LAWS, Friction
from ...model.link import Link
from ...model.memory import Memory
from ...model.model import Model
from ...model.pose import Pose
from ...model.schema import UNITS, schema
from ...model.spring import COMMON, SPRING_COLUMNS, Spring, spring_row
from ...model.spring import KINDS as SPRINGS
from ...model.spring import LAWS as GASES
from ...robot import Robot
from ..server.jobs import Soon, by_hand
from ..server.session import Session, plain, show
from .chart import markdown_table, typed

REST = 0.35  # s without a key before the text counts


class TextField:
    """A text field: `change` gets the text, and raises if it is wrong.

    Its error is shown below it.
    """

    def __init__(self, session: Session, label: str, change: Callable[[str], None]):
        gui = session.client.gui
        self._session, self._change = session, change
        self._busy, self._text = False, ""  # what was shown, or taken, last
        self.input = gui.add_text(label, "")
        self.error = gui.add_markdown("", visible=False)
        self._soon = Soon(session, self._apply, REST, restart=True)
        by_hand(self.input, self._soon.ask)

    def _apply(self) -> None:
        with self._session.shown_at(self.error):
            self._busy, self._text = True, self.input.value
            try:
                self._change(self._text)
            finally:
                self._busy = False

    def set(self, text: str, label: str, disabled: bool = False, *, another: bool = False) -> None:
        """Show a text, unless it is being typed; of `another` thing in any case."""
        self.input.label, self.input.disabled = label, disabled
        if another:
            self._soon.cancel()
        typing = self._soon.pending or self.input.value != self._text  # its event is on its way
        if another or not (self._busy or typing):
            self.input.value = self._text = text
            show(self.error, "")

    def visible(self, shown: bool) -> None:
        """Show or hide it."""
        self.input.visible = shown
        self.error.visible = shown and bool(self.error.content)


# the fields of a part, as a table

Given = Callable[[Any, Model], bool]


def _always(part: Any, model: Model) -> bool:
    return True


def _value(part: Any, key: str) -> Any:
    """The value at "friction.constants.velocity" or "frames.0.xyz" of a part."""
    for name in key.split("."):
        if isinstance(part, tuple):
            part = part[int(name)]
        else:
            part = part[name] if isinstance(part, Mapping) else getattr(part, name)
    return part


def _with(part: Any, key: str, value: Any) -> Any:
    """The part with another value there."""
    name, _, rest = key.partition(".")
    if rest:
        value = _with(_value(part, name), rest, value)
    if isinstance(part, tuple):
        return tuple(value if k == int(name) else x for k, x in enumerate(part))
    return {**part, name: value} if isinstance(part, Mapping) else replace(part, **{name: value})


def _written(value: Any, angle: bool) -> str:
    """A value as one would type it."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(typed(x, angle) for x in value)
    return value if isinstance(value, str) else typed(value, angle)


def split(text: str) -> list[str]:
    """The numbers of a text, with commas or without."""
    return [x.strip() for x in text.split("," if "," in text else None)]


def kept(texts: list[str], values: Any, angle: bool = False) -> list[Any]:
    """What was typed; the value itself where the text is still the one that was shown for it."""
    if not isinstance(values, tuple) or len(values) != len(texts):
        return [*texts]
    pairs = zip(texts, values, strict=True)
    return [value if text == typed(value, angle) else text for text, value in pairs]


ZEROS = "0, 0, 0"


def _opposite(plus: Any, minus: Any) -> bool:
    """Whether a pair is (c, -c), which one number stands for."""
    return isinstance(plus, float) and minus == -plus


class PartField(NamedTuple):
    """A field: where it is in the part, its label with the unit, and how many numbers it has.

    `many` also splits a text without a comma; without it one number is left as it is. An empty
    text is None where that is allowed. `options` make it a dropdown, `get` and `put` (part, text,
    model) stand for what is not simply a value.
    """

    key: str
    label: str
    many: bool = False
    angle: bool = False
    when: Given = _always
    optional: bool = False
    options: Callable[[Model], Sequence[str]] | None = None
    get: Callable[[Any, Model], str] | None = None
    put: Callable[[Any, str, Model], Any] | None = None

    def text(self, part: Any, model: Model) -> str:
        """What the field shows."""
        if self.get is not None:
            return self.get(part, model)
        value = _value(part, self.key)
        if value is None and self.many and not self.optional:
            return ZEROS
        if isinstance(value, tuple) and not self.many and _opposite(*value):
            return _written(value[0], self.angle)
        return _written(value, self.angle)

    def edited(self, part: Any, text: str, model: Model) -> Any:
        """The part with what was typed."""
        if self.put is not None:
            return self.put(part, text, model)
        value: Any = text.strip()
        if (not value and self.optional) or (value == ZEROS and _value(part, self.key) is None):
            value = None
        elif self.options is None and (self.many or "," in value):
            value = kept(split(value), _value(part, self.key), self.angle)
        elif self.options is None and value == self.text(part, model):
            return part
        return _with(part, self.key, value)


def schema_fields(
    kind: type,
    special: Mapping[str, Mapping[str, Any]],
    path: str = "",
    word: str = "",
    **more: Any,
) -> Iterator[PartField]:
    """Fields of a class of the model by its schema: those with numbers, and the `special` ones."""
    defaults = kind.__dataclass_fields__
    for name, own in schema(kind).items():
        if own.key is None or not (own.unit or name in special):
            continue
        label = _raised(own.heading).replace("deg C", "°C")
        given: dict[str, Any] = {
            "many": own.count > 1,
            "angle": own.unit in ("rad", "{position}"),
            "optional": bool(own.unit) and defaults[name].default is None,
        }
        given |= more | dict(special.get(name, {}))
        yield PartField(f"{path}{name}", f"{word}{label}", **given)


def units_of(part: Any) -> Mapping[str, str]:
    """Units of a link's joint, or of the way of a spring."""
    turns = part.joint != "prismatic" if isinstance(part, Link) else part.kind == "torsion"
    units = UNITS["revolute" if turns else "prismatic"]
    return {kind: _raised(unit) for kind, unit in units.items()}


def _raised(text: str) -> str:
    return text.replace("^2", "²").replace("^3", "³")


# geometry, body, friction, drive and limits of a link


def _dh(part: Any, model: Model) -> bool:
    return model.convention != "urdf"


def _urdf(part: Any, model: Model) -> bool:
    return model.convention == "urdf"


def _turns(part: Link, model: Model) -> bool:
    return _dh(part, model) and part.joint == "revolute"


def _slides(part: Link, model: Model) -> bool:
    return _dh(part, model) and part.joint == "prismatic"


def _apart(part: Link, model: Model) -> bool:
    return part.linear is None


def _has_drive(part: Link, model: Model) -> bool:
    return part.drive is not None


def _spins(part: Link, model: Model) -> bool:
    return part.drive is not None and model.rotors == "full"


def _bodies(model: Model) -> tuple[str, ...]:
    return model.base_name, *model.link_names


def _has_constant(name: str, part: Link, model: Model) -> bool:
    return name in part.friction.constants


def _half(first: int) -> dict[str, Any]:
    """Three of the six entries of an inertia."""

    def get(part: Link, model: Model) -> str:
        return _written(part.inertia[first : first + 3], False)

    def put(part: Link, text: str, model: Model) -> Link:
        own = part.inertia
        values = kept(split(text), own[first : first + 3])
        return replace(part, inertia=[*own[:first], *values, *own[first + 3 :]])

    return {"get": get, "put": put, "when": _apart}


def _law(part: Link, text: str, model: Model) -> Link:
    """Another law with its own constants; the coefficients stay."""
    if part.friction.own is not None or text not in LAWS:
        return part
    return replace(part, friction=replace(part.friction, law=text, constants={}))


def _law_name(part: Link, model: Model) -> str:
    return OWN if part.friction.own is not None else str(part.friction.law)


def _memory_text(part: Link, model: Model) -> str:
    memory = part.friction.memory
    return "" if memory is None else memory.text


def _memory(part: Link, text: str, model: Model) -> Link:
    """Elements as WEIGHT at RADIUS, with commas between."""
    if text == _memory_text(part, model):
        return part
    pairs = [x.split(" at ") for x in text.split(",") if x.strip()]
    if any(len(pair) != 2 for pair in pairs):
        raise ModelError(f"memory is {shown(text)}, expected elements such as 0.5 at 0.001")
    weights, radii = ([x[k].strip() for x in pairs] for k in (0, 1))
    memory = Memory(radii, weights) if pairs else None
    return replace(part, friction=replace(part.friction, memory=memory))


def _drive(part: Link, text: str, model: Model) -> Link:
    return replace(part, drive=None if text == NONE else part.drive or Drive())


def _lead(part: Link, text: str, model: Model) -> Link:
    """A lead stands for the gear."""
    given: dict[str, Any] = {x.name: getattr(part.drive, x.name) for x in fields(Drive)}
    if text.strip():
        given |= {"lead": text, "gear": None}
    else:
        given["lead"] = None
    return replace(part, drive=Drive(**given))


def _screw(part: Link, model: Model) -> bool:
    return part.drive is not None and part.joint == "prismatic"


def _geared(part: Link, model: Model) -> bool:
    return part.drive is not None and part.drive.lead is None


def _elastic(part: Link, model: Model) -> bool:
    return part.drive is not None and part.drive.stiffness is not None


def _stiffness(part: Link, text: str, model: Model) -> Link:
    """A joint without stiffness is rigid: it has no damping, hardening and backlash either."""
    if text.strip():
        return _with(part, "drive.stiffness", text)
    rigid = dict.fromkeys(ELASTIC, 0.0)
    return replace(part, drive=part.drive and replace(part.drive, stiffness=None, **rigid))


NONE, MOTOR, OWN = "none", "motor and gear", "own law"
PLACED = {"when": _urdf, "optional": False}
SPINS = {"when": _spins}
GEOMETRY: Mapping[str, Mapping[str, Any]] = {
    **{key: {"when": _dh} for key in ("a", "alpha", "offset")},
    **{"d": {"when": _turns}, "theta": {"when": _slides}, "axis": {"when": _urdf}},
    **{"xyz": PLACED, "rpy": PLACED},
}
BODY: Mapping[str, Mapping[str, Any]] = {
    "mass": {"when": _apart},
    "com": {"when": lambda x, _: _apart(x, _) and x.com_factor is None, "optional": False},
    "com_factor": {"when": lambda x, _: x.com_factor is not None},
    "linear": {"when": lambda x, _: x.linear is not None, "many": True},
}
FRICTION: Mapping[str, Mapping[str, Any]] = {"memory": {"get": _memory_text, "put": _memory}}
DRIVE: Mapping[str, Mapping[str, Any]] = {
    "gear": {"when": _geared},
    "lead": {"when": _screw, "put": _lead},
    "stiffness": {"put": _stiffness},
    **{key: {"when": _elastic} for key in ELASTIC},
    **dict.fromkeys(("rotor_axis", "rotor_position", "unbalance"), SPINS),
    "rotor_link": SPINS | {"options": lambda m: ("", *_bodies(m)), "optional": True},
}


def _link_fields(group: str, special: Mapping[str, Mapping[str, Any]]) -> list[PartField]:
    own = schema(Link)
    return [x for x in schema_fields(Link, special) if own[x.key].group == group]


LINK: Mapping[str, Sequence[PartField]] = {
    "Geometry": _link_fields("geometry", GEOMETRY),
    "Mass and inertia": [
        *(x for x in _link_fields("body", BODY) if x.key != "inertia"),
        PartField("inertia", "Ixx, Iyy, Izz (kg m²)", **_half(0)),
        PartField("inertia", "Ixy, Iyz, Ixz (kg m²)", **_half(3)),
    ],
    "Friction": [
        PartField("friction.law", "law", options=lambda _: (*LAWS, OWN), get=_law_name, put=_law),
        *schema_fields(Friction, FRICTION, "friction."),
        *(
            PartField(f"friction.constants.{name}", own.heading, when=partial(_has_constant, name))
            for name, own in CONSTANTS.items()
        ),
    ],
    "Drive": [
        PartField(
            "drive", "drive", options=lambda _: (NONE, MOTOR), put=_drive,
            get=lambda x, _: NONE if x.drive is None else MOTOR,
        ),
        *schema_fields(Drive, DRIVE, "drive.", when=_has_drive),
    ],
    "Limits": _link_fields("limits", {}),
}  # fmt: skip


# springs and closures


def _kind_is(*kinds: str) -> Given:
    return lambda part, model: part.kind in kinds


def _has_field(name: str, part: Spring, model: Model) -> bool:
    """Whether a spring of its kind, and with its law of gas, has a field."""
    if part.kind == "gas" and name in ("rest_length", "force", "gas_length", "exponent"):
        return part.law != "table"
    if name in ("lengths", "forces"):
        return part.kind == "gas" and part.law == "table"
    return name in (*COMMON, *SPRINGS[part.kind])


def _end(key: str, part: Any, model: Model) -> str:
    return _value(part, key) or model.base_name


def _attached(key: str, part: Any, text: str, model: Model) -> Any:
    return _with(part, key, None if text == model.base_name else text)


def new_spring(kind: str, model: Model, **given: Any) -> Spring:
    """A spring of that kind, from the base to the last link or at the first joint."""
    usual: dict[str, Any] = {"to": model.link_names[-1]}
    if kind == "torsion":
        usual = {"joint": model.tree_joint_names[0]}
    if kind == "gas":
        usual["gas_length"] = 0.2
    return Spring(kind=kind, **usual | given)


def _spring_kind(part: Spring, text: str, model: Model) -> Spring:
    return part if text == part.kind else new_spring(text, model, name=part.name)


def _gas_law(part: Spring, text: str, model: Model) -> Spring:
    if text == part.law:
        return part
    given: dict[str, Any] = {
        name: getattr(part, name)
        for name in ("name", "damping", "from_", "from_point", "to", "to_point")
    }
    if text == "table":
        given |= {"lengths": (0.1, 0.5), "forces": (0.0, 100.0)}
    else:
        given["gas_length"] = 0.2 if part.gas_length is None else part.gas_length
    return Spring(kind="gas", law=text, **given)


def _closure_kind(part: Closure, text: str, model: Model) -> Closure:
    length = (part.length or 0.5) if text == "rod" else None
    return replace(part, kind=text, length=length)


ENDS = {
    name: {"options": _bodies, "get": partial(_end, name), "put": partial(_attached, name)}
    for name in ("from_", "to")
}
SPRING_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "kind": {"options": lambda _: tuple(SPRINGS), "put": _spring_kind},
    **ENDS,
    "joint": {"options": lambda model: model.tree_joint_names},
    "law": {"options": lambda _: GASES, "put": _gas_law},
    "gas_length": {"optional": False},
    **{key: {"many": True, "optional": False} for key in ("lengths", "forces")},
}
SPRING = [
    row._replace(when=partial(_has_field, row.key)) for row in schema_fields(Spring, SPRING_FIELDS)
]
CLOSURE = [
    PartField("kind", "kind", options=lambda _: tuple(CLOSURES), put=_closure_kind),
    *(
        row
        for k, word in enumerate(("first ", "second "))
        for row in (
            PartField(f"between.{k}", f"{word}link", options=_bodies),
            *schema_fields(Pose, {}, f"frames.{k}.", word),
        )
    ),
    *schema_fields(Closure, {}, when=_kind_is("rod")),
]


class PartFields:
    """The fields of one part: `part()` gives it, or None; `change` takes the edited one."""

    def __init__(
        self,
        session: Session,
        rows: Sequence[PartField],
        part: Callable[[], Any],
        change: Callable[[Any], None],
    ):
        self.session, self.rows, self._part, self._change = session, rows, part, change
        gui = session.client.gui
        self.error = gui.add_markdown("", visible=False)
        self.fields: list[Any] = []
        for row in rows:
            if row.options is None:
                self.fields.append(TextField(session, row.label, partial(self._edit, row)))
                continue
            field = gui.add_dropdown(row.label, ("",))
            by_hand(field, partial(self._pick, row, field))
            self.fields.append(field)

    def show(self, another: bool) -> None:
        """Follow the model; `another` part takes the place of what is being typed."""
        part, model = self._part(), self.session.robot.model
        units = {} if part is None else units_of(part)
        for row, field in zip(self.rows, self.fields, strict=True):
            shown = part is not None and row.when(part, model)
            if row.options is None:
                field.visible(shown)
                if shown:
                    label = _unbroken(row.label.format(**units))
                    field.set(row.text(part, model), label, another=another)
                continue
            field.visible = shown
            if shown:
                options = tuple(row.options(model))
                if tuple(field.options) != options:
                    field.options = options
                field.value = row.text(part, model)

    def _edit(self, row: PartField, text: str) -> None:
        part = self._part()
        edited = row.edited(part, text, self.session.robot.model)
        if edited != part:
            self._change(edited)

    def _pick(self, row: PartField, field: Any) -> None:
        with self.session.shown_at(self.error):
            self._edit(row, field.value)
        with self.session.lock:
            self.show(another=False)  # what was refused is not chosen


def _unbroken(label: str) -> str:
    """A label that does not break inside its unit."""
    name, bracket, unit = label.partition("(")
    return name + bracket + unit.replace(" ", "\N{NO-BREAK SPACE}")


HOW = "Numbers, or text such as pi/2, 90 deg or a symbol that has a value."


class LinkEditor:
    """One link at a time: where its joint sits, its body, friction, drive and limits."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self.link = gui.add_dropdown("Link", tuple(session.robot.link_names))
        self.findings = gui.add_markdown("", visible=False)
        gui.add_markdown(HOW)
        self.groups = []
        for title, rows in LINK.items():
            with gui.add_folder(title, expand_by_default=title == "Geometry"):
                self.groups.append(PartFields(session, rows, self.chosen, self._change))
        self.link.on_update(lambda _: self._show(another=True))
        self._found: Sequence[Any] = ()
        session.on_robot(self.show)
        self.show()

    def show(self) -> None:
        """Follow the robot."""
        names = self.session.robot.model.link_names
        if tuple(self.link.options) != tuple(names):
            self.link.options = names
        self._show(another=not self.session.kept)

    def check(self, found: Sequence[Any]) -> None:
        """Findings of the model check: those of this link are shown above its fields."""
        self._found = found
        link = self.chosen()
        own = [x for x in found if any(f"'{n}'" in x.place for n in (link.name, link.joint_name))]
        show(self.findings, "\n".join(f"- **{x.level}**: {plain(x.what)}" for x in own))

    def chosen(self) -> Link:
        """The link whose fields are shown."""
        links = self.session.robot.model.links
        return next((x for x in links if x.name == self.link.value), links[0])

    def _show(self, another: bool) -> None:
        with self.session.lock:
            for group in self.groups:
                group.show(another)
            self.check(self._found)

    def _change(self, edited: Link) -> None:
        model = self.session.robot.model
        links = tuple(edited if x.name == edited.name else x for x in model.links)
        self.session.change_robot(Robot(replace(model, links=links)), keep_pose=True)


class ListEditor:
    """The springs or the closures of a robot: a table, one of them in fields, more and fewer."""

    def __init__(
        self, session: Session, key: str, rows: Sequence[PartField], made: Callable[[], Any]
    ):
        self.session, self.key, self._made = session, key, made
        gui = session.client.gui
        self.table = gui.add_markdown("", visible=False)
        self.choice = gui.add_dropdown(key.removesuffix("s").capitalize(), ("",), visible=False)
        self.error = gui.add_markdown("", visible=False)
        self.rows = PartFields(session, rows, self._chosen, self._change)
        self.add = gui.add_button(f"Add a {key.removesuffix('s')}", icon="plus")
        self.drop = gui.add_button(f"Remove this {key.removesuffix('s')}", icon="trash")
        self.choice.on_update(lambda _: self._show(another=True))
        self.add.on_click(lambda _: self._add())
        self.drop.on_click(lambda _: self._drop())
        session.on_robot(self.show)
        self.show()

    def show(self) -> None:
        """Follow the robot."""
        model = self.session.robot.model
        parts = self._parts()
        show(self.table, springs_text(model) if self.key == "springs" else loops_text(model))
        names = tuple(str(x.name) for x in parts) or ("",)
        if tuple(self.choice.options) != names:
            self.choice.options = names
        self.choice.visible = self.drop.visible = bool(parts)
        show(self.error, "")
        self._show(another=not self.session.kept)

    def _parts(self) -> tuple[Any, ...]:
        return getattr(self.session.robot.model, self.key)

    def _chosen(self) -> Any:
        parts = self._parts()
        return next((x for x in parts if x.name == self.choice.value), parts[0] if parts else None)

    def _show(self, another: bool) -> None:
        with self.session.lock:
            self.rows.show(another)

    def _change(self, edited: Any) -> None:
        self._replace([edited if x.name == edited.name else x for x in self._parts()])

    def _replace(self, parts: Sequence[Any]) -> None:
        model = replace(self.session.robot.model, **{self.key: tuple(parts)})
        self.session.change_robot(Robot(model), keep_pose=True)

    def _add(self) -> None:
        with self.session.shown_at(self.error):
            self._replace([*self._parts(), self._made()])
            self.choice.value = str(self._parts()[-1].name)

    def _drop(self) -> None:
        with self.session.shown_at(self.error):
            gone = self._chosen()
            self._replace([x for x in self._parts() if x is not gone])


def closure_here(robot: Robot, q: np.ndarray) -> Closure:
    """A rod from the base to the last link, as long as it is at this pose: it holds least."""
    frames = robot.frames(q)
    place = np.linalg.solve(frames[0], frames[-1][:, 3])[:3]
    foot = np.array([0.1, 0.0, 0.0]) if np.linalg.norm(place) < 0.05 else np.zeros(3)
    ends = ({"xyz": tuple(map(float, foot))}, None)
    between = robot.model.base_name, robot.model.link_names[-1]
    length = float(np.linalg.norm(place - foot))
    return Closure(kind="rod", between=between, frames=ends, length=length)


def loops_text(model: Model) -> str:
    """The joints and closures of a closed mechanism."""
    closures = closure_texts(model)
    if not closures:
        return ""
    joints = [
        (str(x.joint_name), x.joint, x.parent or model.base_name, _driven(x)) for x in model.links
    ]
    tables = ((("joint", "kind", "on", ""), joints), (CLOSURE_COLUMNS, closures))
    return "\n\n".join(markdown_table(head, rows) for head, rows in tables)


def springs_text(model: Model) -> str:
    """The springs of a robot."""
    rows = [spring_row(spring, model.base_name) for spring in model.springs]
    return markdown_table(SPRING_COLUMNS, rows) if rows else ""


def _driven(link: Link) -> str:
    return "passive" if link.passive else "drive"
