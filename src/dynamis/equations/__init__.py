"""Closed forms and step-by-step derivations: the algorithms evaluated on SymPy symbols."""
