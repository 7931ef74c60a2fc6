"""Inverse kinematics: every distinct way for the arm to put its tool at a target."""
