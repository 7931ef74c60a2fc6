"""Loops of closed mechanisms in motion: closed after each step, and why they were lost."""
