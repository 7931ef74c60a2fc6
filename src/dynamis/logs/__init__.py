"""Logs of arms: reading, checking and writing them."""
