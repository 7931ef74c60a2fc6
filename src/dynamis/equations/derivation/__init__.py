"""Derivations step by step, one formulation per file."""
