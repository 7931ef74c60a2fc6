"""Vectors, rotations, frames and inertias over any scalar: floats, arrays, symbols, traces."""
