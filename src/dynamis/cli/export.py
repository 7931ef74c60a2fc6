"""`dynamis export`: kernels as source code with a self-test."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..robot import load
from .arguments import Json, RobotName
from .printing import data, data_json

KernelNames = Annotated[Positional[tuple[str, ...]], arg(metavar="KERNEL")]


def run(
    robot: RobotName, kernels: KernelNames = ("inverse_dynamics",), *,
    directory: Path = Path("out"), target: str = "c", dtype: str = "float64",
    optimise: str = "speed", overwrite: bool = False, json: Json = False,
) -> int:  # fmt: skip
    """Write kernels of a robot as source code into a folder.

    The folder has build files and a self-test. The robot is saved there as .toml; the first lines
    of every file say how to regenerate it. Controllers are exported from Python with
    dy.export_controller, robots as URDF with robot.save("arm.urdf").

    For example:

      dynamis export puma560 inverse_dynamics forward_dynamics --directory puma_c
      make -C puma_c
      dynamis export arm.urdf fk jacobian --dtype float32

    Args:
        kernels: Kernels to export, such as inverse_dynamics, mass_matrix, fk.
        directory: Folder to write to; created if it does not exist.
        target: "c" (C99 and a C++ header), "matlab", "casadi", "ptx" (NVIDIA GPUs) or "fmu".
        dtype: "float64" or "float32".
        optimise: "speed", "operations" or "nothing".
        overwrite: Replace files that dynamis did not write, such as your own Makefile.
    """
    files = load(robot).export(
        kernels, target=target, directory=directory, dtype=dtype, optimise=optimise,
        overwrite=overwrite,
    )  # fmt: skip
    if json:
        data_json([str(f) for f in files])
    else:
        data("\n".join(str(f) for f in files))
    return 0
