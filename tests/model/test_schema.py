"""Every field of the model by its schema: in files, tables, editors and lists of features."""

import warnings
from dataclasses import replace
from typing import Any

import pytest

import dynamis as dy
from dynamis.errors import DynamisWarning, ModelError
from dynamis.model.closure import Closure
from dynamis.model.drive import Drive
from dynamis.model.features import FEATURES, features
from dynamis.model.formats.files import model_from_toml, toml_text
from dynamis.model.formats.urdf import model_from_urdf, urdf_text
from dynamis.model.friction import CONSTANTS, LAWS, Friction
from dynamis.model.link import Link
from dynamis.model.model import Model, Payload
from dynamis.model.schema import UNITS, schema
from dynamis.model.spring import Spring
from dynamis.robot.html import joint_parts

KINDS = (Model, Link, Friction, Drive, Payload, Spring, Closure)
PARTS = {"friction": Friction, "drive": Drive}
FIELDS = [
    (part, name) for part, kind in PARTS.items() for name, own in schema(kind).items() if own.key
]
ELASTIC = {"stiffness": 100.0, "rotor_inertia": 1e-4}
BESIDE: dict[str, dict[str, Any]] = {
    "voltage_limit": {"torque_constant": 0.1, "resistance": 2.0},
    "stiffness": {"rotor_inertia": 1e-4},
    "damping": ELASTIC,
    "hardening": ELASTIC,
    "backlash": ELASTIC,
}
TEXTS = {"law": "stribeck", "rotor_link": "link1", "memory": dy.Memory((0.01, 0.1), (0.5, 2.0))}


def value(name: str, count: int) -> Any:
    """Numbers within the bounds of every field, and not its default."""
    if name in TEXTS:
        return TEXTS[name]
    return 0.25 if count < 2 else tuple(0.25 + 0.125 * k for k in range(count))


def arm(part: str, name: str, given: Any) -> Model:
    """A joint whose friction or drive gives one field."""
    own = PARTS[part](**{name: given}, **BESIDE.get(name, {}))
    joint = "prismatic" if name == "lead" else "revolute"
    links = (dy.Link(joint=joint, mass=1.0, **{part: own}),)
    rotors = "full" if schema(PARTS[part])[name].group == "rotor" else "reflected"
    return Model(name="one", convention="standard", links=links, rotors=rotors)


def made(part: str, name: str) -> Model:
    return arm(part, name, value(name, schema(PARTS[part])[name].count))


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_says_what_it_is(kind):
    for name, own in schema(kind).items():
        assert own.meaning and own.label and "_" not in own.label, name
        assert own.unit_of("revolute") == own.unit.format(**UNITS["revolute"])


@pytest.mark.parametrize(("part", "name"), FIELDS)
def test_a_field_is_in_files_tables_editors_and_lists(part, name):
    from dynamis.studio.pages.parts import LINK

    model, own = made(part, name), schema(PARTS[part])[name]
    assert (
        getattr(getattr(model.links[0], part), name)
        != PARTS[part].__dataclass_fields__[name].default
    )
    assert model_from_toml(toml_text(model)) == model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DynamisWarning)
        assert model_from_urdf(urdf_text(model).encode()) == model
    heads = [head for cells in joint_parts(model).values() for head in cells[0]]
    assert any(head.startswith(own.label) for head in heads)
    row = next(x for rows in LINK.values() for x in rows if x.key == f"{part}.{name}")
    link = model.links[0]
    assert row.when(link, model) or name == "gear"
    assert row.edited(link, row.text(link, model), model) == link
    assert own.feature in FEATURES
    usual = {"gear", "viscous", "coulomb", "reference_temperature", "heating", "heating_time"}
    assert name in usual or own.feature in features(model, ())


@pytest.mark.parametrize(
    ("part", "name"), [x for x in FIELDS if schema(PARTS[x[0]])[x[1]].above is not None]
)
def test_what_is_out_of_bounds_is_refused(part, name):
    own = schema(PARTS[part])[name]
    given = -1.0 if own.count == 1 else (-1.0,) * own.count
    with pytest.raises(ModelError, match=rf"{part}\.{name} is -1.0, expected above 0"):
        arm(part, name, given)


@pytest.mark.parametrize(("law", "name"), [(x, y) for x, own in LAWS.items() for y in own])
def test_a_constant_of_a_law_is_in_files_tables_and_editors(law, name):
    from dynamis.studio.pages.parts import LINK

    own = CONSTANTS[name]
    given = {name: 2.5}
    model = Model(
        name="x", convention="standard", links=(dy.Link(friction=Friction(law=law, **given)),)
    )
    assert model_from_toml(toml_text(model)) == model
    (cells,) = joint_parts(model).values()
    column = next(k for k, head in enumerate(cells[0]) if head.startswith(own.label))
    assert cells[1][column] == "2.5"
    assert any(row.key == f"friction.constants.{name}" for row in LINK["Friction"])
    if own.least is not None or own.above is not None:
        with pytest.raises(ModelError, match=own.bound):
            replace(model.links[0].friction, constants={name: -1.0})
