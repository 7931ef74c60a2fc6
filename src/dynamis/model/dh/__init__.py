"""Denavit-Hartenberg tables: from joint axes, between conventions, as text."""
