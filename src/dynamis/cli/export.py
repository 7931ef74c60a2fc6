"""`dynamis export`: kernels, or a controller, as source code with a self-test."""

from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from ..errors import OptionError
from ..robot import Robot, load
from .arguments import NO_CONTROLLER, ControlOptions, Json, Numbers, RobotName, RunXacro, listed
from .printing import data, data_json

KernelNames = Annotated[
    Positional[tuple[str, ...]], arg(metavar="[FUNCTION ...]", help_behavior_hint="")
]


def run(
    robot: RobotName, kernels: KernelNames = (), *,
    directory: Path = Path("out"), target: str = "c", dtype: str = "float64",
    optimise: Literal["speed", "operations", "nothing"] | None = None, overwrite: bool = False,
    control: ControlOptions = NO_CONTROLLER, reference: Path | None = None,
    velocity: Literal["measured", "difference"] | None = None,
    safe: Literal["zero", "gravity"] | None = None, safe_damping: Numbers = None,
    trig: Literal["libm", "own"] | None = None, run_xacro: RunXacro = False, json: Json = False,
) -> int:  # fmt: skip
    """Write functions of a robot, or a controller, as source code into a folder.

    The folder has build files and a self-test. The robot is saved there as .toml; the first lines
    of every file say how to regenerate it. Your own controllers are exported from Python with
    dy.export_controller, robots as URDF with robot.save("arm.urdf").

    For example:

      dynamis export puma560 inverse_dynamics forward_dynamics --directory puma_c
      make -C puma_c
      dynamis export arm.urdf fk jacobian --dtype float32
      dynamis export ur5e --target fmu
      dynamis export scara --controller computed-torque --kp 400 --kd 40 --sample-time 0.001
      dynamis export arm.toml --controller pid --bandwidth 20 --torque-limit 80 --target ros2

    Args:
        kernels: Functions to export: inverse_dynamics (default), forward_dynamics, mass_matrix,
            coriolis_matrix, gravity_torque, friction_torque, fk, jacobian, regressor, ..; an FMU
            is the whole arm (forward_dynamics).
        directory: Folder to write to; created if it does not exist.
        target: "c" (C99 and a C++ header), "matlab", "casadi", "ptx" (functions for NVIDIA GPUs),
            "fmu" (for Simulink and other FMI tools) or "ros2" (controllers).
        dtype: "float64" or "float32".
        optimise: Functions with the shortest time (speed, default), with the fewest operations, or
            as they are derived (nothing).
        overwrite: Replace files that dynamis did not write, such as your own Makefile.
        reference: Motion inside the controller, a .csv as in dynamis simulate (default: the
            reference is an argument of every step).
        velocity: Velocities of the controller: measured (default), or difference of positions.
        safe: Torque after a bad measurement: zero (default) or gravity compensation.
        safe_damping: Damping beside it, N m s/rad (prismatic: N s/m), one number or one per joint
            (0: the arm swings while it is let down), or auto (default): by the mass matrix, all
            joints at one rate.
        trig: Sine and cosine of the controller: libm (default), or own code of constant time.
    """
    arm = load(robot, run_xacro=run_xacro)
    asked = {"reference": reference, "velocity": velocity, "safe": safe, "trig": trig}
    if safe_damping == "auto":
        asked["safe_damping"] = safe_damping
    elif safe_damping is not None:
        found = listed(safe_damping, 'one number, one per joint, or "auto"', "--safe-damping")
        asked["safe_damping"] = found if len(found) > 1 else found[0]
    asked = {name: value for name, value in asked.items() if value is not None}
    told = {"target": target, "directory": directory, "dtype": dtype, "overwrite": overwrite}
    law = control.law(arm, arm.home)
    if law is None:
        if asked:
            name = next(iter(asked)).replace("_", "-")
            raise OptionError(f"--{name} is an option of controllers", "give --controller too")
        usual = "forward_dynamics" if target == "fmu" else "inverse_dynamics"
        files = arm.export(kernels or usual, optimise=optimise or "speed", **told)
    else:
        if control.sample_time is not None:
            asked["sample_time"] = control.sample_time
        files = _controller(arm, law, kernels, optimise, asked | told)
    if json:
        data_json(files)
    else:
        data("\n".join(str(f) for f in files))
    return 0


def _controller(
    arm: Robot, law: Any, kernels: tuple[str, ...], optimise: str | None, options: dict[str, Any]
) -> list[Path]:
    """The files of a controller; what is for functions only is refused."""
    from ..realtime.export import export_controller
    from ..trajectory import from_file

    if kernels:
        raise OptionError(
            f"--controller was given with the function {kernels[0]!r}", "export them one by one"
        )
    if optimise is not None:
        raise OptionError("--optimise is an option of functions", "leave it or --controller out")
    if "reference" in options:
        options = options | {"reference": from_file(options["reference"], arm)}
    return export_controller(arm, law, options.pop("directory"), **options)
