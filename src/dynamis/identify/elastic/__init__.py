"""Elastic joints from logs: motors and gears by their equation, links by free runs."""
