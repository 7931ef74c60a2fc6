"""dynamis: from a robot arm's description to its equations, numbers, model and controller.

    import dynamis as dy
    robot = dy.load("puma560")                  # or a .toml, .urdf, .sdf or MJCF file
    tau = robot.inverse_dynamics(q, qd, qdd)    # one sample or many

Besides the names below, for those who have these packages: `dynamis.jax` and `dynamis.torch` (the
robot's functions with derivatives) and `dynamis.gym` (environments for Gymnasium), each imported by
its name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import closest
from .lazy import LOCK
from .model.closure import Closure
from .model.drive import Drive
from .model.friction import Friction
from .model.geometry import Geometry
from .model.link import Link
from .model.memory import Memory
from .model.spring import Spring
from .model.world import Box, Capsule, Plane, Sphere
from .robot import Robot, load

if TYPE_CHECKING:
    from . import calibration, control, errors, exercises, gpu, interop, rtb, trajectory, transforms
    from .calibration.calibrate import calibrate
    from .calibration.postures import calibration_postures
    from .frame_assignment.steps import dh_steps
    from .identify import (
        Log,
        PayloadObserver,
        Processing,
        excite,
        identify,
        identify_drive_gains,
        identify_payload,
        read_log,
        read_logs,
        torque_along,
    )
    from .model.formats.worlds import load_world, save_world
    from .realtime.export import export_controller, export_observer
    from .realtime.fmu.export import export_fmu
    from .robot.bodies.mesh_inertia import inertia_of_mesh
    from .robot.user_function import compile_function as compile
    from .simulation import Run, Sensors, Simulator, simulate
    from .study.scatter import Scatter
    from .study.study import study
    from .study.workers import ray_executor

__version__ = "0.2.0"

__all__ = [
    "Box",
    "Capsule",
    "Closure",
    "Drive",
    "Friction",
    "Geometry",
    "Link",
    "Log",
    "Memory",
    "PayloadObserver",
    "Plane",
    "Processing",
    "Robot",
    "Run",
    "Scatter",
    "Sensors",
    "Simulator",
    "Sphere",
    "Spring",
    "__version__",
    "calibrate",
    "calibration",
    "calibration_postures",
    "compile",
    "control",
    "dh_steps",
    "errors",
    "excite",
    "exercises",
    "export_controller",
    "export_fmu",
    "export_observer",
    "gpu",
    "identify",
    "identify_drive_gains",
    "identify_payload",
    "inertia_of_mesh",
    "interop",
    "load",
    "load_world",
    "ray_executor",
    "read_log",
    "read_logs",
    "rtb",
    "save_world",
    "simulate",
    "study",
    "torque_along",
    "trajectory",
    "transforms",
]

_LATER = {
    "Log": ("logs.log", "Log"),
    "PayloadObserver": ("identify.payload_observer", "PayloadObserver"),
    "Processing": ("identify.processing", "Processing"),
    "Run": ("simulation.run", "Run"),
    "Scatter": ("study.scatter", "Scatter"),
    "Sensors": ("control.sensors", "Sensors"),
    "Simulator": ("simulation.simulator", "Simulator"),
    "calibrate": ("calibration.calibrate", "calibrate"),
    "calibration": ("calibration", None),
    "calibration_postures": ("calibration.postures", "calibration_postures"),
    "control": ("control", None),
    "dh_steps": ("frame_assignment.steps", "dh_steps"),
    "excite": ("excite.design", "excite"),
    "exercises": ("exercises", None),
    "export_controller": ("realtime.export", "export_controller"),
    "export_fmu": ("realtime.fmu.export", "export_fmu"),
    "export_observer": ("realtime.export", "export_observer"),
    "gpu": ("gpu", None),
    "identify": ("identify.identification", "identify"),
    "identify_drive_gains": ("identify.drive_gains", "identify_drive_gains"),
    "identify_payload": ("identify.payload", "identify_payload"),
    "inertia_of_mesh": ("robot.bodies.mesh_inertia", "inertia_of_mesh"),
    "interop": ("interop", None),
    "load_world": ("model.formats.worlds", "load_world"),
    "ray_executor": ("study.workers", "ray_executor"),
    "read_log": ("logs.read", "read_log"),
    "read_logs": ("logs.folder", "read_logs"),
    "rtb": ("rtb", None),
    "save_world": ("model.formats.worlds", "save_world"),
    "simulate": ("simulation.simulator", "simulate"),
    "study": ("study.study", "study"),
    "torque_along": ("identify.estimate", "torque_along"),
    "trajectory": ("trajectory", None),
    "transforms": ("transforms", None),
}
_BY_IMPORT = ("gym", "jax", "torch")  # they need a package of others, which `dir` must not import


def __getattr__(name: str) -> Any:
    """Names that are imported when first used."""
    if name not in _LATER:
        close = closest(name, (*__all__, *_BY_IMPORT))
        hint = f": did you mean {close!r}?" if close else ""
        if name in _BY_IMPORT:
            hint = f": write `import dynamis.{name}`"
        raise AttributeError(f"module 'dynamis' has no attribute {name!r}{hint}")
    module, attribute = _LATER[name]
    with LOCK:
        found = import_module(f".{module}", __name__)
    value = found if attribute is None else getattr(found, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, those that are imported when first used included."""
    return sorted({*__all__, "__doc__", "__file__", "__name__", "__path__"})
