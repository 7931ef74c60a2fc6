"""`dy.export_controller`: a controller and the model it needs as C99 in a folder of its own."""

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.impedance import Impedance
from ..errors import FileError, OptionError, did_you_mean
from ..evaluate import checked_dtype
from ..export import written
from ..trajectory.trajectory import Trajectory
from .build_files import cmake, makefile, readme
from .c_text import TRIGS, header, plain, self_test, source, stem_of
from .law import Law
from .posix_loop import loop_source

if TYPE_CHECKING:
    from ..robot import Robot

TARGETS = ("c", "fmu")
SPAN = 0.3  # rad or m: how far the motion of the self-test goes


def export_controller(
    controller: Any,
    robot: "Robot",
    directory: str | Path,
    sample_time: float = 0.005,
    *,
    reference: Trajectory | None = None,
    velocity: str = "measured",
    velocity_filter: float | None = None,
    limit: Any = None,
    safe: str = "zero",
    safe_damping: Any = 0.0,
    ramp: float = 1.0,
    dtype: Any = None,
    trig: str = "libm",
    target: str = "c",
) -> list[Path]:
    """Write a controller as C99: one `init`, one `step(state, measurement, reference, torque)`.

    No allocation, no globals, no recursion, no loops or branches that depend on data. `trig` "own"
    brings sine and cosine along, so that nothing is linked and every cycle does the same work.
    `reference` puts a trajectory inside; `velocity` "difference" makes velocities from positions;
    `limit` clips torques; `safe` ("zero", or "gravity" with `safe_damping`, ramped down in `ramp`
    seconds) is what comes out when a sample is not plausible. `target` "fmu" writes an FMI 3.0
    co-simulation unit instead.
    """
    if target not in TARGETS:
        raise OptionError(
            f"target is {target!r}, expected 'c' or 'fmu'", did_you_mean(str(target), TARGETS)
        )
    if trig not in TRIGS:
        raise OptionError(
            f"trig is {trig!r}, expected 'libm' or 'own'", did_you_mean(str(trig), TRIGS)
        )
    kind = checked_dtype(dtype).name
    law = Law(
        controller, robot, sample_time, reference, velocity, velocity_filter, limit, safe,
        safe_damping, ramp,
    )  # fmt: skip
    _refuse_single(law, kind)
    if target == "fmu":
        from .fmu import export_fmu

        Path(directory).mkdir(parents=True, exist_ok=True)
        return [export_fmu(law, Path(directory) / f"{stem_of(law)}.fmu")]
    stem, notes = stem_of(law), notes_of(law, kind, trig)
    files = {
        f"{stem}.h": header(law, notes, kind),
        f"{stem}.c": source(law, notes, kind, trig),
        f"{stem}_test.c": self_test(law, notes, kind, sample_rows(law)),
        f"{stem}_loop.c": loop_source(law, notes, kind),
        "Makefile": makefile(stem, trig, notes),
        "CMakeLists.txt": cmake(stem, trig, notes),
        "README.md": readme(law, stem, kind, trig, notes),
    }
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [written(folder / name, text) for name, text in files.items()]
    except OSError as error:
        raise FileError(f"cannot write to {str(folder)!r}: {error.strerror}") from None


def _refuse_single(law: Law, dtype: str) -> None:
    """A damping that follows the operational inertia loses its digits near singular poses."""
    ratio = isinstance(law.controller, Impedance) and law.controller.damping_ratio is not None
    if ratio and dtype == "float32":
        raise OptionError(
            "Impedance with damping_ratio is not accurate in float32",
            "use dtype='float64', or give damping itself",
        )


def sample_rows(law: Law, count: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and references of a smooth motion near its reference."""
    n, t = law.n, law.sample_time * np.arange(count)
    phase = np.arange(1, n + 1)
    w = 2.0 * np.pi * 0.5
    angle = w * t[:, None] + phase
    q, qd, qdd = SPAN * np.sin(angle), SPAN * w * np.cos(angle), -SPAN * w * w * np.sin(angle)
    off, rate = 0.01 * np.sin(3 * angle), 0.03 * w * np.cos(3 * angle)
    wanted = np.concatenate([q, qd, qdd], axis=1)
    if law.reference is not None:
        state = law.reference(t)
        q, qd, wanted = state.q, state.qd, t[:, None]
    return q + off, qd + rate, wanted


def notes_of(law: Law, dtype: str, trig: str) -> list[str]:
    """What a reader of the generated code must know: where it comes from, how to make it again."""
    from .. import __version__

    chain = (law.controller.model or law.robot).chain
    model = hashlib.sha256(repr(chain).encode()).hexdigest()
    program = law.program()
    options = {
        "sample_time": law.sample_time, "reference": law.reference, "velocity": law.velocity,
        "velocity_filter": law.velocity_filter, "limit": law.limit, "safe": law.safe,
        "safe_damping": law.safe_damping, "ramp": law.ramp, "dtype": dtype, "trig": trig,
    }  # fmt: skip
    fields = {f.name: getattr(law.controller, f.name) for f in dataclasses.fields(law.controller)}  # type: ignore[arg-type]
    controller = f"dy.control.{type(law.controller).__name__}({_spelt(fields)})"
    joints = ", ".join(f"{i}: {name}" for i, name in enumerate(law.robot.joint_names))
    gains = [f"{name} = {[float(f'{x:.6g}') for x in row]}" for name, row in law.gains.items()]
    lines = [
        f"{type(law.controller).__name__} of {law.robot.name}: generated by dynamis {__version__}.",
        f"Again: dy.export_controller({controller}, {_word(law.robot)}, directory, "
        f"{_spelt(options)})",
        f"Model {model[:16]}, program {program.hash[:16]}: {program.cost}.",
        "",
        "SI units, radians. Vectors follow the joints:",
        joints,
        *gains,
        "No allocation, no globals, no recursion, no branches; "
        + ("nothing linked." if trig == "own" else "elementary functions of <math.h>."),
    ]
    return [plain(line) for line in lines]


def _spelt(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_word(value)}" for name, value in options.items())


def _word(value: Any) -> str:
    """An argument as it is written, in one line: every digit of arrays, robots by name."""
    if isinstance(value, Trajectory):
        return f"<{type(value).__name__} of {value.n} joints, {value.duration:.17g} s>"
    if isinstance(value, (np.ndarray, np.generic)):
        return repr(value.tolist())
    return f"<robot {value.name!r}>" if hasattr(value, "joint_names") else repr(value)
