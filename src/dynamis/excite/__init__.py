"""Exciting motions: designed to be as informative as possible about the parameters of an arm."""

from ..lazy import callable_package

callable_package(__name__, "design", "excite")
