"""Drawings of the questions, labelled with the names of their quantities."""

from collections.abc import Mapping

from . import graphs, planar, space
from .drawing import Drawing, Pen

__all__ = ["DRAWINGS", "Drawing", "Pen"]

DRAWINGS: Mapping[str, Drawing] = {
    "forward-kinematics": planar.forward_kinematics(),
    "inverse-kinematics": planar.inverse_kinematics(),
    "tool-velocity": planar.tool_velocity(),
    "statics": planar.statics(),
    "gravity-torques": planar.gravity_torques(),
    "mass-matrix": planar.two_bars(False, weight=False),
    "coriolis": planar.two_bars(False, weight=False, rates=True),
    "inverse-dynamics": planar.two_bars(True, weight=True, torques=True),
    "release": planar.two_bars(True, weight=True),
    "polar": planar.polar_arm(),
    "pendulum": planar.pendulum(),
    "gear": planar.gear(),
    "pd-design": graphs.loop("kp", True),
    "quintic-peaks": graphs.quintic_peaks(),
    "moment-from-torques": planar.moment_from_torques(),
    "dh-frames": space.dh_frames(),
    "dh-matrix": space.dh_matrix(),
    "rotation-order": space.rotation_order(),
    "euler-zyz": space.euler_zyz(),
    "axis-angle": space.axis_angle(),
    "camera": space.camera(),
    "inverse-transform": space.inverse_transform(),
    "singularity": space.singularity(),
    "workspace": planar.workspace(),
    "wrist-center": space.wrist_center(),
    "spherical-inverse": space.spherical_inverse(),
    "cylindrical-velocity": space.cylindrical_velocity(),
    "composite-link": planar.composite_link(),
    "newton-euler": space.newton_euler(),
    "walker-orin": planar.two_bars(True, weight=True, torques=True),
    "lift": space.lift(),
    "trapezoid": graphs.trapezoid(),
    "motor-speed": planar.motor_speed(),
    "step-response": graphs.step_response(),
    "phase-margin": graphs.phase_margin(),
    "pid-limit": graphs.loop("kp + kd s + ki/s", False),
}
