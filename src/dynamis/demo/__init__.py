"""The demonstration: one arm from its DH table to a controller in C."""

from ..lazy import package

for _name in ("sympy", "matplotlib"):
    package(_name, _name, "the demonstration", "all")
