"""Arms of the catalogue with elastic joints."""

import dynamis as dy


def elastic(robot: dy.Robot, stiffness: float = 1e4, damping: float = 2.0) -> dy.Robot:
    """The robot with elastic drives; joints without one get a rotor of 0.1 kg m^2."""
    for i, link in enumerate(robot.model.links):
        rotor = {} if link.drive else {"rotor_inertia": 0.1}
        robot = robot.with_drive(i, **rotor, stiffness=stiffness, damping=damping)
    return robot
