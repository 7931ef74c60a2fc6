"""Features of a robot that another library's model cannot hold: refused, or named in a warning."""

from collections.abc import Iterable
from dataclasses import replace

from ..errors import warn
from ..model.features import features
from ..model.geometry import USES
from ..model.model import Model
from ..robot import Robot
from .rigid_tree import COUPLED, NotRepresentableError

REMARKS = ("description", "findings")  # nothing is computed with them: not worth a warning


def warn_unsupported(
    robot: Robot, library: str, held: Iterable[str], more: Iterable[str] = ()
) -> None:
    """Warn of every feature this robot uses that is not among those `held`, and of `more`."""
    words = [*features(robot.model, (*held, *REMARKS)), *robot.model.own_laws, *more]
    _warn(f"{library} cannot hold all of {robot.name!r}", words)


def shapes(model: Model) -> list[str]:
    """Shapes that a format which could draw them is not given, in words."""
    uses = [use for use in USES if any(use in shape.use for shape in model.geometry)]
    return [f"its {use} geometry" for use in uses]


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
