"""Base parameters: the fewest combinations of parameters that the torques depend on."""

from .base_parameters import BaseParameters, base_parameters

__all__ = ["BaseParameters", "base_parameters"]
