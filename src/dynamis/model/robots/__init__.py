"""The catalogue: one TOML file per robot."""
