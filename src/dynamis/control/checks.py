"""What every block of control checks about the options it was given."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, ShapeError, did_you_mean

if TYPE_CHECKING:
    from ..robot import Robot


def check_choice(value: Any, name: str, known: Sequence[str]) -> None:
    """One of a few words."""
    if value not in known:
        words = ", ".join(repr(word) for word in known)
        raise OptionError(f"{name} is {value!r}, expected {words}", did_you_mean(value, known))


def check_block(model: Any, sample_time: Any) -> None:
    """The two fields every block has."""
    if model is not None and not hasattr(model, "model"):
        raise OptionError(f"model is {model!r}, expected a Robot or None", "use dy.load(...)")
    if sample_time is None:
        return
    if isinstance(sample_time, bool) or not isinstance(sample_time, (int, float)):
        raise OptionError(f"sample_time is {sample_time!r}, expected seconds or None")
    if not 0.0 < sample_time < float("inf"):
        raise OptionError(f"sample_time is {sample_time!r}, expected seconds above 0")


def model_of(block: Any, robot: "Robot") -> "Robot":
    """The robot a block computes with: its own model, as long as the robot it drives."""
    model = robot if block.model is None else block.model
    if model.n != robot.n:
        raise ShapeError(
            f"the model {model.name!r} of {type(block).__name__} has {model.n} joints, expected "
            f"{robot.n} as robot {robot.name!r} has"
        )
    return model
