"""Closed forms and derivations step by step, by running the same algorithms over SymPy symbols."""
