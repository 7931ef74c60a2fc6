"""The questions: how the numbers of each are drawn, and what the engine answers.

A question is a function of a `NumberDraw` that names its numbers and returns the answers; its words
are in templates/exercises.LANGUAGE.toml under its name. Algorithms run over floats: nothing is
compiled.
"""

from collections.abc import Callable, Mapping

from . import frames, motion, planar, spatial
from .draw import Answers, NumberDraw

QUESTIONS: Mapping[str, Callable[[NumberDraw], Answers]] = {  # in the order of their numbers
    made.__name__.replace("_", "-"): made
    for made in (
        planar.forward_kinematics, planar.inverse_kinematics, planar.tool_velocity, planar.statics,
        planar.gravity_torques, planar.mass_matrix, planar.coriolis, planar.inverse_dynamics,
        planar.release, planar.polar, planar.pendulum, planar.gear, planar.pd_design,
        planar.quintic_peaks, planar.moment_from_torques,
        frames.dh_frames, frames.dh_matrix, frames.rotation_order, frames.euler_zyz,
        frames.axis_angle, frames.camera, frames.inverse_transform,
        spatial.singularity, spatial.workspace, spatial.wrist_center, spatial.spherical_inverse,
        spatial.cylindrical_velocity, spatial.composite_link, spatial.newton_euler,
        spatial.walker_orin, spatial.lift,
        motion.trapezoid, motion.motor_speed, motion.step_response, motion.phase_margin,
        motion.pid_limit,
    )
}  # fmt: skip
