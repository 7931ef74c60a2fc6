"""Features of a model that not every format or library can hold, by the words of warnings.

Those of drives, friction and limits are the fields of the model by their `schema`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from .drive import Drive
from .friction import Friction, coulomb_pair
from .link import Link
from .model import FORCES, GRAVITY, Model
from .schema import is_default, schema

Test = Callable[[Model], bool]
CLOSURES = "closures (what is given is the tree, its loops open)"
PASSIVE = "which joints have no drive"
HELD_BY_URDF = (
    *("joint limits", "velocity limits", "effort limits", "named frames", "joint and link names"),
)


def _any(name: str) -> Test:
    return lambda model: bool(getattr(model, name))


def _drives(test: Callable[[Drive], bool]) -> Test:
    return lambda model: any(test(x.drive) for x in model.links if x.drive is not None)


def _links(test: Callable[[Link], bool]) -> Test:
    return lambda model: any(test(x) for x in model.links)


def _changed(kind: type, names: Iterable[str]) -> Test:
    """Whether fields of a link, or of the friction or drives of links, are not as by default."""
    own = tuple(names)

    def test(link: Link) -> bool:
        part = {Link: link, Friction: link.friction, Drive: link.drive}[kind]
        return part is not None and not all(is_default(part, name) for name in own)

    return _links(test)


def rubs(x: Friction | Drive) -> bool:
    """Whether a joint or a motor has friction."""
    return x.viscous != 0.0 or any(x.coulomb)


def _asymmetric(x: Friction | Drive | None) -> bool:
    return x is not None and coulomb_pair(x.coulomb[0], "coulomb") != x.coulomb


# where a field that is not as by default says too little, or too much
TESTS: Mapping[str, Test] = {
    "gears": _drives(lambda d: d.gear != 1.0 and d.lead is None),
    "asymmetric Coulomb friction (its mean is taken)": _links(
        lambda x: _asymmetric(x.friction) or _asymmetric(x.drive)
    ),
    "viscous friction by direction (its mean is taken)": _links(
        lambda x: isinstance(x.friction.viscous, tuple)
    ),
    "friction by temperature": _links(lambda x: x.friction.temperature_slope != 0.0),
    "which friction is the joint's and which the motor's": _links(
        lambda x: rubs(x.friction) and x.drive is not None and rubs(x.drive)
    ),
}


def _fields() -> Iterator[tuple[str, Test]]:
    for kind in (Link, Drive, Friction):
        words: dict[str, list[str]] = {}
        for name, own in schema(kind).items():
            if kind is not Link or own.group == "limits":
                words.setdefault(own.feature, []).append(name)
        yield from ((x, TESTS.get(x) or _changed(kind, names)) for x, names in words.items())


FEATURES: Mapping[str, Test] = {
    "symbols (their values are taken)": lambda m: bool(m.symbols),
    "gravity": lambda m: tuple(m.gravity) != GRAVITY,
    **dict(_fields()),
    "full rotor kinetics (the reflected inertia is kept)": lambda m: m.rotors == "full",
    "payload apart from the link that carries it": lambda m: m.payload is not None,
    "springs": lambda m: any(spring.kind != "gas" for spring in m.springs),
    "gas springs": lambda m: any(spring.kind == "gas" for spring in m.springs),
    **{schema(Model)[x].feature: _any(x) for x in FORCES if x != "springs"},
    CLOSURES: lambda m: bool(m.closures),
    PASSIVE: _links(lambda x: x.passive),
    "named frames": lambda m: bool(m.frames),
    "configurations": lambda m: bool(m.configurations),
    "joint and link names": lambda m: any(
        (x.name, x.joint_name) != (f"link{i + 1}", f"joint{i + 1}") for i, x in enumerate(m.links)
    ),
    "description": lambda m: bool(m.description),
    "findings": lambda m: bool(m.findings),
}


def features(model: Model, held: Iterable[str]) -> list[str]:
    """Features that this model has, but for those `held`."""
    known = {*held}
    return [x for x, used in FEATURES.items() if x not in known and used(model)]
