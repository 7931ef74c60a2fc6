"""The user's Robot: a model plus its kernels, compiled on first use."""

from .robot import Robot, load

__all__ = ["Robot", "load"]
