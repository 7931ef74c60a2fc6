"""What every block of control checks about the options it was given."""

from typing import TYPE_CHECKING, Any

from ..arguments import a_robot, check_fields, positive
from ..errors import ShapeError

if TYPE_CHECKING:
    from ..robot import Robot


def check_block(block: Any) -> None:
    """The fields of a block held to their annotations, its sample time above zero."""
    check_fields(block)
    if block.sample_time is not None:
        positive(block.sample_time, "sample_time", "seconds")


def model_of(block: Any, robot: "Robot") -> "Robot":
    """The robot a block computes with: its own model, as long as the robot it drives."""
    model = a_robot(robot) if block.model is None else block.model
    if model.n != robot.n:
        raise ShapeError(
            f"the model {model.name!r} of {type(block).__name__} has {model.n} joints, expected "
            f"{robot.n} as robot {robot.name!r} has"
        )
    return model
