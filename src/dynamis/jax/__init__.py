"""A robot's functions in JAX: under jit, grad, jvp, vmap and scan, from the package's own code.

    import dynamis.jax as dj
    tau = dj.inverse_dynamics(robot, q, qd, qdd)

Shapes, signs and units are those of the methods of Robot; leading axes broadcast. `parameters` are
like `robot.parameters.values`, one vector or one per sample, and can be differentiated too. The
precision is that of the arrays: float32, unless `jax_enable_x64` is set.
"""

from ..lazy import package, public_dir

package("jax", "jax", "dynamis.jax", "jax")

from .functions import (  # noqa: E402
    evaluate,
    fk,
    forward_dynamics,
    gravity_torque,
    inverse_dynamics,
    jacobian,
    mass_matrix,
    regressor,
    step,
)

__all__ = [
    "evaluate",
    "fk",
    "forward_dynamics",
    "gravity_torque",
    "inverse_dynamics",
    "jacobian",
    "mass_matrix",
    "regressor",
    "step",
]
__dir__ = public_dir(__name__)
