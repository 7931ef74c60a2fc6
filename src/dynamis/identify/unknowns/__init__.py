"""Unknowns of an identification: their columns of the torque, and the robots that they make."""

from .kinds import (
    BESIDE_ROBOT,
    LARGEST_LOAD,
    LAW_CONSTANTS,
    LEAST_VISCOUS,
    NOT_NEGATIVE,
    RIGID,
    passive_joints,
    reference_temperatures,
)
from .of_robot import unknowns
from .unknown_set import Unknowns

__all__ = [
    "BESIDE_ROBOT", "LARGEST_LOAD", "LAW_CONSTANTS", "LEAST_VISCOUS", "NOT_NEGATIVE", "RIGID",
    "Unknowns", "passive_joints", "reference_temperatures", "unknowns",
]  # fmt: skip
