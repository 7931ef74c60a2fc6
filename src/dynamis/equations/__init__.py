"""Closed forms and step-by-step derivations: the algorithms evaluated on SymPy symbols."""

from ..lazy import package

package("sympy", "sympy", "writing equations", "equations")
