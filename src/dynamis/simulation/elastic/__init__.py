"""Elastic joints in motion: stiff gears, backlash, vibration next to the step, starts of motors."""
