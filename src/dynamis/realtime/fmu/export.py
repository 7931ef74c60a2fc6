"""`dy.export_fmu`: an arm or a controller as a co-simulation unit of FMI 3.0 or 2.0."""

import hashlib
import io
import platform
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked, is_word, positive
from ...control.law import Law
from ...errors import DynamisError, OptionError, did_you_mean, shown
from ...files import write, write_folder
from ...simulation.simulator import Simulator
from .origin import FOLDER as RESOURCES
from .origin import arm_origin, law_origin
from .unit import Unit, arm_unit, build_description, description, law_unit

if TYPE_CHECKING:
    from ...robot import Robot

VERSIONS = ("3.0", "2.0")
DEFAULT_STEP = 1e-3  # s
FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden", "-s")
# (system, machine) -> folder of the binary in FMI 2.0 and 3.0, and its suffix
PLATFORMS = {
    ("Linux", "x86_64"): ("linux64", "x86_64-linux", ".so"),
    ("Linux", "aarch64"): ("linux64", "aarch64-linux", ".so"),
    ("Darwin", "x86_64"): ("darwin64", "x86_64-darwin", ".dylib"),
    ("Darwin", "arm64"): ("darwin64", "aarch64-darwin", ".dylib"),
}
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # of every file inside: the same input gives the same bytes


@checked
def export_fmu(
    what: "Robot | Law",
    path: str | Path,
    fmi: str = "3.0",
    dt: float | None = None,
    overwrite: bool = False,
    stops: bool = False,
) -> Path:
    """Write a co-simulation unit of a robot (tau to q, qd) or a `Law` (q, qd, reference to tau).

    The arm is that of `dy.simulate`, bit for bit: friction holds, drives have limits and losses,
    and with `stops` so have joints. It takes Runge-Kutta steps of at most `dt` (1 ms); the
    controller has its sample time. The
    unit holds its C source, the binary of this machine, made with the system's C compiler, and in
    resources/ the robot as TOML with a script that writes the unit again. A file that is no unit
    of dynamis is replaced only with `overwrite`.
    """
    if not is_word(fmi, VERSIONS):
        raise OptionError(
            f"fmi is {fmi!r}, expected one of {', '.join(VERSIONS)}",
            did_you_mean(fmi, VERSIONS),
        )
    target = Path(path)
    if target.suffix != ".fmu":
        raise OptionError(f"path is {str(path)!r}, expected a file name that ends in .fmu")
    unit = _unit(what, fmi, dt, stops)
    content = packed(unit, fmi)
    return write_folder(target.parent, {target.name: content}, overwrite)[0]


def _unit(what: Any, fmi: str, dt: Any, stops: bool) -> Unit:
    if isinstance(what, Law):
        if dt is not None:
            raise OptionError(f"dt is {dt!r}, but a controller has its sample time", "leave dt out")
        if stops:
            raise OptionError("stops is True, but a controller has none", "leave stops out")
        return law_unit(what, law_origin(what, fmi))
    if not hasattr(what, "_refuse_singular"):
        raise OptionError(
            f"{shown(what)} was given, expected a Robot or a Law",
            "use dy.load(...), or dynamis.realtime.Law(controller, robot, sample_time)",
        )
    step = DEFAULT_STEP if dt is None else dt
    step = positive(step, "dt", "seconds")
    what._refuse_singular(np.linspace(0.1, 1.0, what.n))
    plant = Simulator(what, step, stops=stops).assembly
    return arm_unit(what, plant, arm_origin(what, fmi, plant))


def packed(unit: Unit, fmi: str) -> bytes:
    """The zip file; its token is the fingerprint of the source and of what describes it.

    In resources/ lies what makes it again: robot, model, trajectory, a script.
    """
    draft = unit.source(fmi, "") + description(unit, fmi, "")
    token = hashlib.sha256(draft.encode()).hexdigest()
    source = unit.source(fmi, token)
    folder, suffix = _platform(fmi)
    files = {
        "modelDescription.xml": description(unit, fmi, token).encode(),
        f"sources/{unit.stem}.c": source.encode(),
        f"binaries/{folder}/{unit.stem}{suffix}": _compiled(unit.stem, source),
        **{f"{RESOURCES}/{name}": text.encode() for name, text in unit.origin.files.items()},
    }
    if fmi == "3.0":
        files["sources/buildDescription.xml"] = build_description(unit).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = "\n".join(unit.origin.notes[:2]).encode()
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()


def _platform(fmi: str) -> tuple[str, str]:
    here = (platform.system(), platform.machine())
    if here not in PLATFORMS:
        known = ", ".join(" ".join(p) for p in PLATFORMS)
        raise OptionError(f"no FMU can be built on {' '.join(here)}", f"use one of {known}")
    old, new, suffix = PLATFORMS[here]
    return (new if fmi == "3.0" else old), suffix


def _compiled(stem: str, source: str) -> bytes:
    """The shared library of the source."""
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        raise OptionError("an FMU needs a C compiler, and none was found", "install gcc or clang")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / f"{stem}.c", source)
        command = [compiler, *FLAGS, f"{stem}.c", "-o", "library", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DynamisError(f"the C compiler refused the FMU: {done.stderr.strip()[:500]}")
        return (Path(folder) / "library").read_bytes()
