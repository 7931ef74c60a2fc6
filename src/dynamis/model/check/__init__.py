"""Preflight of a model: what its numbers alone give away."""
