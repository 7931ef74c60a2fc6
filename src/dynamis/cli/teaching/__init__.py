"""Commands for teaching."""
