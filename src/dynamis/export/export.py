"""Source code of a robot's kernels in a folder of their own."""

import hashlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import is_word, one_of
from ..compile.kernels import LIMIT, kernel_named
from ..compile.programs import program
from ..dynamics.mobility import known_assemblies
from ..errors import OptionError, shown
from ..files import write_folder
from ..model.formats.files import toml_text
from .c_folder import SAMPLES, folder
from .c_function import Programs, identifier, remarks
from .casadi_folder import casadi_folder
from .matlab_folder import matlab_folder
from .ptx_folder import ptx_folder

if TYPE_CHECKING:
    from ..model.chain import Chain
    from ..model.model import Model
    from ..robot import Robot

TARGETS: Mapping[str, Callable[..., dict[str, str]]] = {
    "c": folder,
    "matlab": matlab_folder,
    "casadi": casadi_folder,
    "ptx": ptx_folder,
}
TESTED = ("c", "matlab")  # with a self-test
UNIT = "fmu"  # the one target that is a binary: see realtime.fmu

REMARKS = {
    "c": ["No allocation, no static state, no library but the elementary functions of <math.h>."],
    "casadi": ["Columns in, matrices out: casadi.Function.load(file), or see the loader."],
    "ptx": [
        "PTX for NVIDIA GPUs since compute capability 7.0: cuModuleLoadData, cuLaunchKernel.",
        "IEEE 754 arithmetic, operation by operation: the bits of the processor.",
    ],
    "matlab": ["Vectors are columns. No toolbox is needed; GNU Octave runs it too."],
}
COARSE = (1e-4, 1e3)  # tolerance and condition of closures in single precision
LINK_FORCES = (
    "link_forces are such a wrench of every link, one after the other, in the link's own frame.",
)

BASE_MOTION = (
    "base_motion is the angular velocity, angular acceleration and linear acceleration of the base",
    "in the axes of the reference frame. Of an IMU at its origin, which feels f: (w, wd, f + g).",
)


def export(
    robot: "Robot",
    names: Sequence[str],
    target: str,
    directory: Path,
    dtype: str,
    optimise: str = "speed",
    overwrite: bool = False,
) -> list[Path]:
    """Write kernels for a target, all files or none."""
    if is_word(target, ("ros2",)):
        raise OptionError(
            "target 'ros2' is of controllers, not of functions",
            "use dy.export_controller(..., target='ros2') (dynamis export --controller ...)",
        )
    one_of(target, (*TARGETS, UNIT), f"target {shown(target)} does not exist")
    if not names:
        raise OptionError("no kernel was named", "name one, such as 'inverse_dynamics'")
    if target == UNIT:
        return [unit(robot, names, directory, dtype, overwrite)]
    kernels = [replace(kernel_named(name), optimise=optimise) for name in names]
    for kernel in kernels:
        if column := kernel.by_columns(robot.model):
            raise OptionError(
                f"{kernel.name!r} of {robot.n} joints is more than {LIMIT} operations",
                f"export its column: {column.name!r}",
            )
    if robot.model.closures:
        refuse_coarse(robot, dtype)
    elif any(kernel.solves for kernel in kernels):
        robot._refuse_singular(np.linspace(0.1, 1.0, robot.n))
    programs = {kernel.name: program(kernel, robot.model) for kernel in kernels}
    model = f"{identifier(robot.model.name)}_robot.toml"  # never the user's own file
    told = {"target": target, "dtype": dtype, "optimise": optimise}
    about = notes(robot, programs, model, told)
    more = {}
    if robot.model.closures and target in TESTED:
        more["samples"] = closed_samples(robot, programs)
    files = TARGETS[target](robot.model.name, programs, about, dtype, **more)
    return write_folder(directory, {**files, model: robot_file(robot.model, about)}, overwrite)


def refuse_coarse(robot: "Robot", dtype: str) -> None:
    """Refuse numbers too coarse to tell whether loops are closed."""
    (tolerance, condition), own = COARSE, robot.chain
    if dtype == "float32" and not (own.tolerance >= tolerance and own.condition <= condition):
        raise OptionError(
            f"robot {robot.name!r} has closure_tolerance {own.tolerance:g} and "
            f"closure_condition {own.condition:g}, which float32 does not resolve: "
            f"expected at least {tolerance:g} and at most {condition:g}",
            f"robot.with_closure_limits(tolerance={tolerance:g}, condition={condition:g})",
        )


def closed_samples(robot: "Robot", programs: Programs) -> dict[str, list[np.ndarray]]:
    """Arguments of the self-test: states that close, and at last one that does not."""
    rng = np.random.default_rng(1)
    found = np.array(known_assemblies(robot.chain, robot.model))
    sound = found[robot.closure_status(found) == 0.0]
    q = np.resize(sound if len(sound) else found, (SAMPLES, robot.n))
    v, a = rng.uniform(-1, 1, size=(2, SAMPLES, robot.dof))
    tau = rng.uniform(-1, 1, size=(SAMPLES, robot.n))
    given = {"q": q, "qd_active": v, "qdd_active": a, "seed": a, "tau": tau}
    given["qd"] = robot.joint_rates(q, v) if len(sound) else 0.0 * q
    given["qdd"] = robot.joint_accelerations(q, given["qd"], a) if len(sound) else 0.0 * q
    q[-1] += 0.3
    return {
        key: [
            given[port.name] if port.name in given else rng.uniform(-1, 1, (SAMPLES, *port.shape))
            for port in program.inputs
        ]
        for key, program in programs.items()
    }


def closed_notes(robot: "Robot") -> list[str]:
    """What holds of the kernels of a closed mechanism."""
    names = robot.joint_names
    return [
        "A closed mechanism: q holds every joint and closes the loops, qd and qdd keep them so.",
        f"Where they do not (within {robot.chain.tolerance:g} m or rad), or near a "
        "singular configuration,",
        "results are NaN; closure_status(q) is 0 where all is well, 1 near a singular one, 2 open.",
        f"Drives: {', '.join(names[k] for k in robot.active)}; tau of the others is 0.",
        f"M, C, g and derivatives are over {', '.join(names[k] for k in robot.independent)}.",
    ]


def unit(
    robot: "Robot", names: Sequence[str], directory: Path, dtype: str, overwrite: bool
) -> Path:
    """The arm as a co-simulation unit."""
    from ..realtime.fmu.export import export_fmu

    if list(names) != ["forward_dynamics"] or dtype != "float64":
        raise OptionError(
            f"target 'fmu' got {', '.join(map(str, names))} in {dtype}, expected "
            "'forward_dynamics' in float64",
            "dy.export_fmu has further options, and makes units of controllers",
        )
    path = directory / f"{identifier(robot.model.name)}.fmu"
    return export_fmu(robot, path, overwrite=overwrite)


def notes(
    robot: "Robot",
    programs: Programs,
    model: str,
    options: Mapping[str, str],
) -> list[str]:
    """What a reader of the generated code must know; `model` is the file that holds the robot."""
    from .. import __version__

    words = ["dynamis", "export", model, *programs]
    words += [word for name, value in options.items() for word in (f"--{name}", value)]
    return [
        f"{robot.model.name}: generated by dynamis {__version__}.",
        f"Again: {shlex.join([*words, '--directory', '.'])}",
        f"Model {model_hash(robot.chain)[:16]}.",
        *(f"Program {key} {program.hash[:16]}." for key, program in programs.items()),
        "",
        *vectors_of(robot.joint_names),
        f"Gravity (free fall) {tuple(float(g) for g in robot.chain.gravity)}.",
        "tau = M qdd + C qd + g + friction(qd) + J^T wrench; a wrench is what the tool",
        "exerts on the world, three forces then three moments, in the tool frame.",
        *(LINK_FORCES if any("link_forces" in key for key in programs) else ()),
        *(BASE_MOTION if any("base_motion" in key for key in programs) else ()),
        *(closed_notes(robot) if robot.model.closures else ()),
        *REMARKS.get(options["target"], ()),
    ]


def vectors_of(joints: Sequence[str], first: int = 0) -> list[str]:
    """Units and order of everything that has a number per joint."""
    listed = ", ".join(f"{i}: {name}" for i, name in enumerate(joints, first))
    return ["SI units, radians. Vectors follow the joints:", listed]


def robot_file(model: "Model", notes: Sequence[str]) -> str:
    """A model as TOML under its notes."""
    return f"{remarks(notes)}\n{toml_text(model)}"


def model_hash(chain: "Chain") -> str:
    """64 hexadecimal digits that change with every number of the model."""
    gears = repr(chain.elastic) if chain.elastic else ""  # which the text of a chain leaves out
    return hashlib.sha256((repr(chain) + gears).encode()).hexdigest()
