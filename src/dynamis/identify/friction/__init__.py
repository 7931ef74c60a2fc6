"""Friction models of an identification: laws to try, friction with memory, hysteresis."""
