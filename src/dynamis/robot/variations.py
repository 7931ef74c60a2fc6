"""Variations of a robot: its model with one thing changed and all else as it was.

Links, joints and springs are given by name or by number; what else refers to a link stays with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_list, is_whole, is_word, known_options, number
from ..compile import arrays
from ..dynamics import coupling
from ..errors import ModelError, OptionError, ShapeError, counted, did_you_mean, shown
from ..model.drive import Drive
from ..model.force import Force
from ..model.formats.urdf_kept import renamed_elements
from ..model.friction import Friction
from ..model.link import Link
from ..model.model import FORCES, Model
from ..model.parameters import Parameters, parameter_names, with_parameters
from ..model.quantity import resolve
from ..model.spring import Spring
from ..spatial.functions import MATH
from ..spatial.inertia import entries, to_com
from ..spatial.vectors import scale
from .closing import refuse_unclosed

if TYPE_CHECKING:
    from .calls import Calls

BODY = ("mass", "com", "com_factor", "inertia")


def number_of(model: Model, kind: str, given: Any, names: Sequence[str], count: int) -> int:
    """Place among `names` of what is given by name, or by one of its `count` numbers."""
    if is_whole(given) and 0 <= given < count:
        return int(given)
    if not is_word(given, names):
        what = f"robot {model.name!r} has no {kind} {shown(given)}"
        some = f", by name or by a number from 0 to {count - 1}" if count else ""
        hint = did_you_mean(given, names)
        fixed = next((x for x in model.frames if x.name == given), None) if kind == "link" else None
        if fixed is not None:
            hint = f"it is fixed to {fixed.link or model.base_name!r}, whose body it is part of"
        raise OptionError(f"{what}, expected one of its {kind}s{some}", hint)
    return names.index(given)


def _joint_number(model: Model, joint: Any) -> int:
    """Number of the link that a joint moves: by its name, or its entry of q."""
    moving = model.joint_names
    name = moving[int(joint)] if is_whole(joint) and 0 <= joint < model.n else joint
    every = model.tree_joint_names
    if not is_word(name, every):
        return number_of(model, "joint", joint, every, model.n)
    return every.index(name)


def _each_link(model: Model, changed: Callable[[int, Link], Link]) -> Model:
    links = [changed(i, link) for i, link in enumerate(model.links)]
    return replace(model, links=tuple(links))


def with_link(model: Model, link: Any, given: Mapping[str, Any]) -> Model:
    """The model with other fields of one link.

    What described the body before gives way: `linear` to mass, com and inertia, com to com_factor.
    A new name of the link or of its joint is also that by which all else refers to it; None is the
    one that its number gives. Configurations have the joints that do not mimic then.
    """
    names = model.link_names
    wanted = number_of(model, "link", link, names, len(names))
    old, number = model.links[wanted], wanted + 1
    found = _changed(old, given, model)
    usual = {"name": f"link{number}", "joint_name": f"joint{number}"}
    for key, name in usual.items():
        own = getattr(found, key)
        usual[key] = name if own is None else own
        if not isinstance(usual[key], str):
            raise ModelError(f"{key} is {shown(own)}, expected a name", "give text, or None")
    renamed = _renamed(model, old, found := replace(found, **usual))
    links = [found if i == wanted else x for i, x in enumerate(renamed.pop("links"))]
    if (found.mimic is None) != (old.mimic is None):
        renamed["configurations"] = _configurations(model, links)
    return replace(model, links=tuple(links), **renamed)


def with_constant_com(calls: "Calls", q: Any) -> Model:
    """The model whose centres of mass stay in their links where they are at q; None: q = 0."""
    model = calls.model
    given = np.zeros(model.n) if q is None else q
    at = arrays.finite(arrays.one_sample(given, "q", (model.n,), f"robot {model.name!r}"), "q")
    where = coupling.positions(calls.chain, at.tolist())

    def held(i: int, link: Link) -> Link:
        if not link.slides:
            return link
        p = link.p(where[i], model.values, MATH)
        com = scale(resolve(link.com_factor, model.values), p)
        return replace(link, com=tuple(map(float, com)), com_factor=None)

    return _each_link(model, held)


def _configurations(model: Model, links: Sequence[Link]) -> dict[str, tuple[float, ...]]:
    """Configurations of a model with entries of those of its joints that will move by themselves.

    A joint that mimicked another has the position that it had then.
    """
    found = {}
    for name, q in model.configurations.items():
        at = dict(zip(model.joint_names, resolve(q, model.values), strict=True))
        every = []
        for link in model.links:
            leader, *law = link.mimic or (link.joint_name, 1.0, 0.0)
            factor, offset = (resolve(x, model.values) for x in law)
            every.append(factor * at[str(leader)] + offset)
        rows = zip(links, every, strict=True)
        found[name] = tuple(x for link, x in rows if link.mimic is None)
    return found


def _renamed(model: Model, old: Link, new: Link) -> dict[str, Any]:
    """Fields of the model that refer to a link and its joint, with their new names."""
    link, joint = ({getattr(old, x): getattr(new, x)} for x in ("name", "joint_name"))
    links = []
    for x in model.links:
        mimic, drive = x.mimic, x.drive
        if mimic is not None:
            mimic = (joint.get(mimic[0], mimic[0]), *mimic[1:])
        if drive is not None and drive.rotor_link in link:
            drive = replace(drive, rotor_link=link[drive.rotor_link])
        links.append(replace(x, parent=link.get(x.parent, x.parent), mimic=mimic, drive=drive))
    between = [tuple(link.get(y, y) for y in x.between) for x in model.closures]
    return {
        "links": links,
        **{
            name: tuple(_renamed_force(x, link, joint) for x in getattr(model, name))
            for name in FORCES
        },
        "kept_elements": renamed_elements(model.kept_elements, link, joint),
        "geometry": tuple(replace(x, link=link.get(x.link, x.link)) for x in model.geometry),
        "tool_link": link.get(model.tool_link, model.tool_link),
        "frames": tuple(replace(x, link=link.get(x.link, x.link)) for x in model.frames),
        "closures": tuple(
            replace(x, between=y) for x, y in zip(model.closures, between, strict=True)
        ),
    }


def _renamed_force(force: Force, link: Mapping, joint: Mapping) -> Force:
    """A force on links and joints with other names."""
    named = {x: (link, getattr(force, x)) for x in force.ends}
    named |= {x: (joint, getattr(force, x)) for x in force.joints}
    new = {x: names.get(name, name) for x, (names, name) in named.items()}
    return replace(force, **new)


def _changed(link: Link, given: Mapping[str, Any], model: Model) -> Link:
    instead: dict[str, Any] = {}
    if given.get("linear") is not None:
        instead = dict.fromkeys(BODY) | {"mass": 0.0}
    elif link.linear is not None and not {*BODY}.isdisjoint(given):
        instead = {"linear": None, **_body(link, given, model)}
    other = {"com": "com_factor", "com_factor": "com"}
    instead |= {other[name]: None for name in other if given.get(name) is not None}
    return replace(link, **instead | dict(given))


def _body(link: Link, given: Mapping[str, Any], model: Model) -> dict[str, Any]:
    """Mass, com and inertia of a link that has linear parameters."""
    body = link.body(model.values, MATH)
    placed = "com" in given or "com_factor" in given
    if body.m == 0.0 and not (placed and {"mass", "inertia"} <= {*given}):
        raise ModelError(
            f"link {link.name!r} is given by linear parameters without mass: it has no centre of "
            "mass to keep",
            "give mass, com and inertia, or linear",
        )
    if body.m == 0.0:
        return {}
    mass, com, inertia = to_com(body)
    return {"mass": mass, "com": com, "inertia": entries(inertia)}


def with_limits(model: Model, joint: Any, **given: Any) -> Model:
    """The model with other limits of one joint; those that are `...` stay."""
    wanted = _joint_number(model, joint)
    new = {name: value for name, value in given.items() if value is not ...}
    return _each_link(model, lambda i, x: replace(x, **new) if i == wanted else x)


def with_drive(
    model: Model, joint: Any, drive: Drive | EllipsisType | None, given: Mapping[str, Any]
) -> Model:
    """The model with another drive of one joint, or with other fields of the drive it has."""
    wanted = _joint_number(model, joint)
    own = model.links[wanted].drive
    if drive is not ...:
        _refuse_both("drive", drive, given)
        own = drive
    elif given:
        own = _changed_drive(own or Drive(), given)
    return _each_link(model, lambda i, x: replace(x, drive=own) if i == wanted else x)


def _changed_drive(drive: Drive, given: Mapping[str, Any]) -> Drive:
    """The drive with other fields; a gear takes the place of a screw's lead, and the reverse."""
    own: dict[str, Any] = {x.name: getattr(drive, x.name) for x in fields(drive)}
    if given.get("lead") is not None:
        del own["gear"]
    elif "gear" in given:
        own["lead"] = None
    return Drive(**own | dict(given))


def _refuse_both(kind: str, whole: Any, given: Mapping[str, Any]) -> None:
    if given:
        words = f"{kind} {shown(whole)} and {', '.join(given)}"
        raise OptionError(f"got {words}, expected one of the two: a {kind}, or fields of one")


def with_spring(
    model: Model, spring: Any, new: Spring | EllipsisType | None, given: Mapping[str, Any]
) -> Model:
    """The model with another spring, one more, or one less."""
    springs, names = list(model.springs), [str(x.name) for x in model.springs]
    if isinstance(spring, Spring):
        if new is not ... or given:
            raise OptionError("got a spring and changes of one, expected the spring alone")
        if spring.name not in names:
            return replace(model, springs=(*springs, spring))
        springs[names.index(str(spring.name))] = spring
        return replace(model, springs=tuple(springs))
    k = number_of(model, "spring", spring, names, len(names))
    if new is not ...:
        _refuse_both("spring", new, given)
    if new is None:
        del springs[k]
    elif new is ...:
        springs[k] = replace(springs[k], **given)
    elif not isinstance(new, Spring):
        raise ModelError(f"new is {shown(new)}, expected dy.Spring(...), or None to take it away")
    else:
        springs[k] = replace(new, name=new.name or names[k])
    return replace(model, springs=tuple(springs))


def with_friction(model: Model, viscous: Any, coulomb: Any, more: Mapping[str, Any]) -> Model:
    """The model with other friction in its joints, each as one for all or as a list."""
    each = {}
    given = [_each_joint(model, viscous, "viscous"), _each_joint(model, coulomb, "coulomb")]
    for joint, b, c in zip(model.joint_names, *given, strict=True):
        each[joint] = Friction(viscous=b, coulomb=c, **more)
    return _each_link(model, lambda _, link: replace(link, friction=each[link.leader]))


def _each_joint(model: Model, value: Any, name: str) -> list[Any]:
    """A value of every joint, from one for all or a list."""
    if not is_list(value):
        return [value] * model.n
    each = list(value)
    if len(each) != model.n:
        what = f"{name} has {len(each)} entries, expected one number, or {model.n}: "
        raise ShapeError(what + ", ".join(model.joint_names))
    return each


def at_temperature(calls: "Calls", temperature: Any) -> Model:
    """The model with friction of joints at rest at these temperatures, one or one per joint."""
    model = calls.model
    given = arrays.numbers(temperature, "temperature", "expected deg C")
    if given.shape not in ((), (model.n,)) or not np.isfinite(given).all():
        what = f"temperature is {shown(temperature)}, expected a number of deg C"
        raise OptionError(what, f"or one for each of the {counted(model.n, 'joint')}")
    each = dict(zip(model.joint_names, np.broadcast_to(given, (model.n,)).tolist(), strict=True))

    def warm(i: int, link: Link) -> Link:
        old, drive = link.friction, link.drive
        new = old.at_temperature(each[link.leader])
        if drive is not None and old.temperature_slope and not calls.chain.motors[i].coupled:
            factor = old.temperature_slope / new.temperature_slope  # type: ignore[operator]
            drive = replace(drive, viscous=drive.viscous * factor)
        return replace(link, friction=new, drive=drive)

    return _each_link(model, warm)


def with_vector(model: Model, own: Parameters[np.ndarray], values: Any) -> Model:
    """The model with another parameter vector, or with some of its `own` values changed by name."""
    names = parameter_names(model)
    if isinstance(values, Mapping):
        values = _renewed(own, values)
    what = f"the parameters of {model.name!r}"
    vector = arrays.as_batch(values, "values", (len(names),), what)
    if vector.ndim != 1:
        raise ModelError(f"values has shape {vector.shape}, expected ({len(names)},)")
    if not np.isfinite(vector).all():
        first = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ModelError(
            f"values[{first}] ({names[first]}) is {vector[first]}, expected finite numbers"
        )
    return with_parameters(model, vector.tolist())


def _renewed(own: Parameters[np.ndarray], values: Mapping[str, Any]) -> np.ndarray:
    """The parameter vector with some values changed, by name."""
    found = np.array(own.values, dtype=float)
    for name, value in values.items():
        wanted = number(value, f"values[{shown(name)}]")
        both = [f"{name}{sign}" for sign in "+-"]
        if {*both} <= {*own.names}:  # joint1.coulomb, alike in both directions
            found[[own.index(one) for one in both]] = wanted, -wanted
        else:
            found[own.index(name)] = wanted
    return found


def with_values(model: Model, values: Mapping[str, float]) -> Model:
    """The model with these values for some of its symbols."""
    known_options(values, model.symbols, f"robot {model.name!r} has no symbol")
    return replace(model, values={**model.values, **values})


def with_home(calls: "Calls", q: Any) -> Model:
    """The model of a closed mechanism with q as its first configuration, "home"."""
    model, what = calls.model, f"robot {calls.model.name!r}"
    if not model.closures:
        raise OptionError(f"{what} has no closures: its home is q = 0", "give q0= where it starts")
    (place,) = calls.arrays({"q": q})
    arrays.finite(arrays.one_sample(place, "q", (model.n,), what), "q")
    refuse_unclosed(calls, place[None], np.zeros((1, model.n)))
    rest = {k: v for k, v in model.configurations.items() if k != "home"}
    return replace(model, configurations={"home": tuple(place.tolist()), **rest})


def with_closure_limits(model: Model, **given: Any) -> Model:
    """The model with other limits of what counts as closed; those that are None stay."""
    return replace(model, **{f"closure_{k}": v for k, v in given.items() if v is not None})


def without_closures(model: Model) -> Model:
    """The tree of a closed mechanism, every joint driven."""
    return replace(_each_link(model, lambda _, x: replace(x, passive=False)), closures=())


def link_side(model: Model) -> Model:
    """Without the motors of elastic joints, whose torques are then those of the gears."""

    def changed(_: int, link: Link) -> Link:
        if link.drive is None or link.drive.stiffness is None:
            return link
        return replace(link, drive=None, friction=replace(link.friction, load=0.0))

    return _each_link(model, changed)
