"""Questions about trajectories, motors and the control of a joint."""

from math import atan, exp, nan, pi, sqrt

from ...control.single_joint import SingleJoint
from ...trajectory.polynomial import trapezoid as trapezoid_motion
from .draw import Answers, NumberDraw


def trapezoid(draw: NumberDraw) -> Answers:
    """Ramp, distance of a ramp and duration of a motion with trapezoidal velocity."""
    D, v, a = draw("D", 1.2, 3.0, 0.1), draw("v", 0.5, 1.5, 0.1), draw("a", 2.0, 5.0, 0.5)
    move = trapezoid_motion([0.0], [D], velocity=v, acceleration=a)
    ramp = move.times[1]
    draw.mistake("no_ramps", [nan, nan, D / v])
    draw.mistake("ramps_added", [nan, nan, D / v + 2.0 * v / a])
    draw.mistake("half", [nan, v**2 / a, nan])
    return [float(ramp), float(move(ramp).q[0]), float(move.duration)]


def motor_speed(draw: NumberDraw) -> Answers:
    """Speed, torque and power of a motor behind a gear with losses."""
    w, tau = draw.degrees("qd", 60, 240), draw("tau", 20.0, 80.0, 5.0)
    N, eta = draw("N", 50.0, 160.0, 10.0), draw("eta", 70.0, 90.0, 5.0) / 100.0
    n = 30.0 / pi * N * w
    draw.mistake("lossless", [nan, tau / N, tau * w])
    draw.mistake("upside_down", [nan, tau * eta / N, tau * w * eta])
    draw.mistake("joint_side", [n / N, tau / eta, nan])
    return [n, tau / (N * eta), tau * w / eta]


def _swing(joint: SingleJoint) -> Answers:
    """Natural frequency, damping ratio, overshoot (%) and time of the peak."""
    pole = joint.poles[0]
    w, z = float(abs(pole)), -float(pole.real / abs(pole))
    root = sqrt(1.0 - z * z)
    return [w, z, 100.0 * exp(-pi * z / root), pi / (w * root)]


def step_response(draw: NumberDraw) -> Answers:
    """Step response of a joint with position and velocity feedback."""
    J, B = draw("J", 0.5, 2.0, 0.1), draw("B", 0.3, 1.0, 0.1)
    kp, z = draw("kp", 40.0, 200.0, 10.0), draw("z", 0.3, 0.7, 0.05)
    draw.hide("z")
    kd = draw.given("kd", 2.0 * z * sqrt(kp * J) - B, 1)
    right = _swing(SingleJoint(J, B, kp=kp, kd=kd))
    w, z = right[:2]
    draw.mistake("friction", [nan, *_swing(SingleJoint(J, 0.0, kp=kp, kd=kd))[1:]])
    draw.mistake("undamped", [nan, nan, nan, pi / w])
    draw.mistake("double_ratio", [nan, 2.0 * z, nan, nan])
    draw.mistake("no_root", [nan, nan, 100.0 * exp(-pi * z), nan])
    return right


def phase_margin(draw: NumberDraw) -> Answers:
    """Crossover, phase margin and the delay that a joint under kp bears."""
    J, B, kp = draw("J", 0.2, 2.0, 0.1), draw("B", 1.0, 5.0, 0.5), draw("kp", 20.0, 100.0, 5.0)
    # (J w^2)^2 + (B w)^2 = kp^2
    w = sqrt((sqrt(B**4 + 4.0 * (J * kp) ** 2) - B**2) / (2.0 * J**2))
    margin = pi / 2.0 - atan(J * w / B)
    degrees = margin * 180.0 / pi
    draw.mistake("phase", [nan, degrees - 180.0, nan])
    draw.mistake("lag", [nan, 90.0 - degrees, 1e3 * (pi / 2.0 - margin) / w])
    draw.mistake("in_degrees", [nan, nan, 1e3 * degrees / w])
    draw.mistake("corner", [B / J, 45.0, nan])
    return [w, degrees, 1e3 * margin / w]


def pid_limit(draw: NumberDraw) -> Answers:
    """The integral gain at which a joint begins to swing, and its frequency."""
    J, B = draw("J", 0.2, 2.0, 0.1), draw("B", 0.5, 2.0, 0.1)
    kp, kd = draw("kp", 50.0, 200.0, 10.0), draw("kd", 2.0, 10.0, 0.5)
    draw.mistake("friction", [kd * kp / J, nan])
    draw.mistake("inertia", [(B + kd) * kp, nan])
    joint = SingleJoint(J, B, kp=kp, kd=kd)
    swinging = SingleJoint(J, B, kp=kp, kd=kd, ki=joint.ki_limit).poles
    return [joint.ki_limit, max(float(x.imag) for x in swinging.tolist())]
