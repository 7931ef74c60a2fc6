"""Controllers: discrete laws over any scalar, with their state and gains in plain sight."""

from typing import TYPE_CHECKING

from ..digest import keep_definitions
from ..errors import did_you_mean
from .board.board import Board
from .board.devices import AnalogInput, AnalogOutput, Encoder, Potentiometer, Resolver
from .computer import ControlLoop
from .controller import (
    Controller,
    Reference,
    Sample,
    SmoothReference,
    second_order,
    third_order,
)
from .elastic_joints import FlatnessFeedForward, MotorPD
from .joint_space import ComputedTorque, FeedForward, JointPID, PointToPoint
from .linearise import StateSpace, linearise
from .metrics import StepMetrics, TrackingMetrics, step_metrics, tracking_metrics
from .momentum_observer import MomentumObserver
from .notch import Notch
from .resonance import LoopMode, closed_loop_modes
from .sensors import Sensors
from .single_joint import SingleJoint
from .slotine_li import SlotineLi
from .state_feedback import StateFeedback
from .task_space import Impedance, TaskSpace

__all__ = [
    "AnalogInput",
    "AnalogOutput",
    "Board",
    "ComputedTorque",
    "ControlLoop",
    "Controller",
    "Encoder",
    "FeedForward",
    "FlatnessFeedForward",
    "Impedance",
    "JointPID",
    "LoopMode",
    "MomentumObserver",
    "MotorPD",
    "Notch",
    "PointToPoint",
    "Potentiometer",
    "Reference",
    "Resolver",
    "Sample",
    "SingleJoint",
    "SlotineLi",
    "SmoothReference",
    "StateFeedback",
    "StateSpace",
    "StepMetrics",
    "TaskSpace",
    "TrackingMetrics",
    "closed_loop_modes",
    "linearise",
    "second_order",
    "step_metrics",
    "third_order",
    "tracking_metrics",
]

keep_definitions(
    ComputedTorque, FeedForward, FlatnessFeedForward, Impedance, JointPID, MomentumObserver,
    MotorPD, Notch, PointToPoint, Sensors, SlotineLi, StateFeedback, TaskSpace,
)  # fmt: skip

_ELSEWHERE = {
    "PD": "JointPID",
    "PID": "JointPID",
    "InverseDynamics": "ComputedTorque",
    "CTC": "ComputedTorque",
    "GravityCompensation": "PointToPoint",
}


def __dir__() -> list[str]:
    """What completion shows."""
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]


if not TYPE_CHECKING:  # a type checker should still know what is missing

    def __getattr__(name: str) -> None:
        """Only called for what is not there."""
        hint = did_you_mean(_ELSEWHERE.get(name, name), __all__)
        raise AttributeError(f"dynamis.control has no {name!r}; {hint}")
