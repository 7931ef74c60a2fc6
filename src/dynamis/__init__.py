"""dynamis: from a robot arm's description to its equations, numbers, model and controller."""

from . import errors, transforms
from .generic import compile_function as compile
from .model.drive import Drive
from .model.friction import Friction
from .model.link import Link
from .robot import Robot, load

__version__ = "0.1.0"

__all__ = [
    "Drive",
    "Friction",
    "Link",
    "Robot",
    "__version__",
    "compile",
    "errors",
    "load",
    "transforms",
]
