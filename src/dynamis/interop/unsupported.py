"""Features of a robot that another library's model cannot hold: refused, or named in a warning."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..errors import warn
from ..model.drive import CIRCUIT, Drive
from ..model.formats.urdf_kept import words_of
from ..model.friction import Friction, coulomb_pair
from ..model.link import Link
from ..model.model import Model
from ..robot import Robot
from .rigid_tree import COUPLED, NotRepresentableError


def _drives(test: Callable[[Drive], bool]) -> Callable[[Model], bool]:
    return lambda model: any(test(x.drive) for x in model.links if x.drive is not None)


def _links(test: Callable[[Link], bool]) -> Callable[[Model], bool]:
    return lambda model: any(test(x) for x in model.links)


REMARKS = ("description", "findings")  # nothing is computed with them: not worth a warning
CLOSURES = "closures (what is given is the tree, its loops open)"
PASSIVE = "which joints have no drive"
# what a model may hold, in the words of the warning -> whether this one does
FEATURES: Mapping[str, Callable[[Model], bool]] = {
    "symbols (their values are taken)": lambda m: bool(m.symbols),
    "gravity": lambda m: tuple(m.gravity) != (0.0, 0.0, -9.81),
    "joint limits": _links(lambda x: x.limits is not None),
    "velocity limits": _links(lambda x: x.velocity_limit is not None),
    "effort limits": _links(lambda x: x.effort_limit is not None),
    "rotor inertia": _drives(lambda d: d.rotor_inertia != 0.0),
    "gear ratios": _drives(lambda d: d.gear != 1.0),
    "asymmetric Coulomb friction (its mean is taken)": _links(
        lambda x: any(_asymmetric(f.coulomb) for f in (x.friction, x.drive) if f is not None)
    ),
    "friction laws other than Coulomb's": _links(lambda x: x.friction.law != "coulomb"),
    "viscous friction by direction (its mean is taken)": _links(
        lambda x: isinstance(x.friction.viscous, tuple)
    ),
    "friction under load": _links(lambda x: x.friction.load != 0.0),
    "friction by temperature": _links(lambda x: x.friction.temperature_slope != 0.0),
    "friction offsets": _links(lambda x: x.friction.offset != 0.0),
    "which friction is the joint's and which the motor's": _links(
        lambda x: _rubs(x.friction) and x.drive is not None and _rubs(x.drive)
    ),
    "gear efficiency": _drives(lambda d: d.efficiency != 1.0),
    "motor torque limits": _drives(lambda d: d.limits is not None),
    "motor circuits": _drives(lambda d: any(getattr(d, x) != getattr(Drive(), x) for x in CIRCUIT)),
    "full rotor kinetics (the reflected inertia is kept)": lambda m: m.rotors == "full",
    "payload apart from the link that carries it": lambda m: m.payload is not None,
    "springs": lambda m: any(spring.kind != "gas" for spring in m.springs),
    "gas springs": lambda m: any(spring.kind == "gas" for spring in m.springs),
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


def _rubs(x: Friction | Drive) -> bool:
    return x.viscous != 0.0 or any(x.coulomb)


def _asymmetric(pair: tuple) -> bool:
    return coulomb_pair(pair[0], "coulomb") != pair


def warn_unsupported(
    robot: Robot, library: str, held: Iterable[str], more: Iterable[str] = ()
) -> None:
    """Warn of every feature this robot uses that is not among those `held`, and of `more`."""
    known = {*held, *REMARKS}
    words = [x for x, used in FEATURES.items() if x not in known and used(robot.model)]
    words += robot.model.own_laws
    _warn(f"{library} cannot hold all of {robot.name!r}", [*words, *more])


def shapes(model: Model) -> list[str]:
    """Shapes of a URDF that a format which could draw them is not given, in words."""
    words = words_of(model.kept_elements)
    return [f"{x} of its URDF" for x in words if x in ("<visual>", "<collision>")]


def warn_left_out(library: str, name: str, words: Iterable[str]) -> None:
    """Warn of what of another library's robot we have no place for."""
    _warn(f"not everything of {name!r} in {library} fits a Robot", dict.fromkeys(words))


def _warn(text: str, words: Iterable[str]) -> None:
    if named := ", ".join(words):
        warn(f"{text}: left out: {named}")


def plain(robot: Robot, library: str, mimics: bool = False) -> Robot:
    """The robot with reflected rotors; masses that slide and, unless `mimics`, ties are refused."""
    model = robot.model
    tied = next((x for x in model.links if x.mimic is not None), None)
    if tied is not None and not mimics:
        raise NotRepresentableError(
            f"not representable: joint {tied.joint_name!r} mimics another, and a model of "
            f"{library} made here has none that do",
            "lock it when loading: dy.load(path, lock={...}); to_yourdfpy and to_mjcf keep it",
        )
    refuse_sliding(model)
    if any(motor.coupled for motor in robot.chain.motors):
        raise NotRepresentableError(COUPLED)
    return robot if model.rotors == "reflected" else Robot(replace(model, rotors="reflected"))


def refuse_sliding(model: Model) -> None:
    """A centre of mass that moves with q has no place in a rigid link."""
    slide = next((x for x in model.links if x.slides), None)
    if slide is not None:
        raise NotRepresentableError(
            f"not representable: the centre of mass of link {slide.name!r} moves with q "
            "(com_factor on a prismatic joint)",
            "give the link a constant com",
        )
