"""Derivations step by step."""
