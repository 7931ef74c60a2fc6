"""Kinematics derived: frames, Jacobians, singularities, statics, inverse kinematics by hand."""
