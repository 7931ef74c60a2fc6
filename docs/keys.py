"""The page of the keys of a robot's file, from the fields of the model."""

from dataclasses import MISSING as MISSING_TYPE

from dynamis.model.closure import Closure
from dynamis.model.drive import Drive
from dynamis.model.friction import CONSTANTS, LAWS, Friction
from dynamis.model.geometry import Geometry
from dynamis.model.link import Link
from dynamis.model.memory import Memory
from dynamis.model.model import Model, Payload
from dynamis.model.quantity import quantity_text
from dynamis.model.schema import About, schema
from dynamis.model.spring import Spring

HEAD = """# Keys of a file

Every key of a `.toml` file, which is also a keyword of the class; [models](models.md) shows each in a file. Units in braces are those of the joint:
{position} is rad or m, {velocity} rad/s or m/s, {torque} N m or N, {viscous} N m s/rad or N s/m, {stiffness} N m/rad or N/m, {gear} turns per turn or rad/m.
"""
TABLES = {
    "The file": Model,
    "[[link]]": Link,
    "[link.friction]": Friction,
    "memory of friction": Memory,
    "[link.drive]": Drive,
    "payload": Payload,
    "[[spring]]": Spring,
    "[[closure]]": Closure,
    "[[geometry]]": Geometry,
}


MISSING = "**must be there**"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, kind in TABLES.items():
        keys = [(own.key, own, default(kind, name)) for name, own in schema(kind).items()]
        if kind is Friction:
            keys += [(name, own, constant(name)) for name, own in CONSTANTS.items()]
        head = "| key | unit | meaning | default | bounds |\n|---|---|---|---|---|\n"
        rows = "\n".join(line(*key) for key in keys if key[0] is not None)
        parts.append(f"## {title}\n\n{head}{rows}\n")
    return "\n".join(parts)


def line(key: str, own: About, default: str) -> str:
    """One key."""
    bounded = own.least is not None or own.above is not None
    return f"| `{key}` | {own.unit} | {own.meaning} | {default} | {own.bound if bounded else ''} |"


def default(kind: type, name: str) -> str:
    """What a field is where it is left out."""
    field = kind.__dataclass_fields__[name]
    if field.default is MISSING_TYPE:
        return MISSING if field.default_factory is MISSING_TYPE else ""
    shown = quantity_text(field.default) if field.default not in (None, "", ()) else ""
    return f"`{shown}`" if isinstance(field.default, (str, float, tuple)) and shown else ""


def constant(name: str) -> str:
    """The defaults of a constant, law by law."""
    return ", ".join(f"{law} `{own[name]:g}`" for law, own in LAWS.items() if name in own)
