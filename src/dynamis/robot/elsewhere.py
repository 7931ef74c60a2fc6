"""What other libraries call our methods, for the reader of their code."""

from ..errors import did_you_mean

TOOLBOX = {
    "rne": "inverse_dynamics",
    "accel": "forward_dynamics",
    "inertia": "mass_matrix",
    "coriolis": "coriolis_matrix",
    "gravload": "gravity_torque",
    "friction": "friction_torque",
    "fkine": "fk",
    "fkine_all": "frames",
    "jacob0": "jacobian",
    "jacobe": "jacobian(q, frame='tool')",
    "ikine": "ik",
    "ikine_LM": "ik",
    "fdyn": "dy.simulate(robot, ...)",
}
OTHERS = {
    "rnea": "inverse_dynamics",
    "aba": "forward_dynamics",
    "crba": "mass_matrix",
    "forward_kinematics": "fk",
    "inverse_kinematics": "ik",
    "M": "mass_matrix",
    "C": "coriolis_matrix",
    "G": "gravity_torque",
    "g": "gravity_torque",
    "simulate": "dy.simulate(robot, ...)",
    "identify": "dy.identify(robot, log)",
    "excite": "dy.excite(robot)",
}


def no_attribute(name: str, known: list[str]) -> AttributeError:
    """What to say of a name that a Robot does not have."""
    ours = (TOOLBOX | OTHERS).get(name)
    if ours is None:
        close = did_you_mean(name, known)
        return AttributeError(
            f"Robot has no {name!r}; {close if close.startswith('did') else 'see help(dy.Robot)'}"
        )
    course = f" (from dynamis.rtb import {name} for course code)" if name in TOOLBOX else ""
    return AttributeError(f"Robot has no {name!r}; dynamis calls it {ours}{course}")
