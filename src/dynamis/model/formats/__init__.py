"""Robots in files: TOML and URDF both ways, SDF read."""
