"""Control laws as C, compiled for tests, and the same laws in Python."""

import ctypes
import subprocess
from functools import cache

import numpy as np

import dynamis as dy
from dynamis.realtime import Law
from dynamis.realtime.c_text import header, sample_rows, self_test, source, stem_of
from dynamis.realtime.export import FLAGS
from dynamis.spatial.functions import MATH

DT = 0.005
REPLAY = {"float64": 1e-12, "float32": 1e-4}  # of the largest torque of the joint
NAN, INF = float("nan"), float("inf")
ARM = dy.load("planar-2link")
control, trajectory = dy.control, dy.trajectory

CONTROLLERS = {
    "pid": lambda r: control.JointPID.from_bandwidth(r, 8.0, integral=True, gravity=True, limit=50),
    "point": lambda r: control.PointToPoint.from_bandwidth(r, 8.0, friction="measured"),
    "torque": lambda r: control.ComputedTorque.from_bandwidth(r, 8.0, integral=True, limit=80.0),
    "forward": lambda r: control.FeedForward.from_bandwidth(r, 8.0),
    "adaptive": lambda r: control.SlotineLi.from_bandwidth(r, 8.0, 0.1),
    "task": lambda r: control.TaskSpace.from_bandwidth(r, 8.0),
    "motor": lambda r: control.MotorPD.from_bandwidth(r, 8.0, limit=80.0),
    "flatness": lambda r: control.FlatnessFeedForward.from_bandwidth(r, 8.0),
    "states": lambda r: control.StateFeedback.from_bandwidth(r, 8.0, DT),
    "notch": lambda r: control.Notch(control.JointPID.from_bandwidth(r, 8.0), 20.0, limit=80.0),
    "impedance": lambda r: control.Impedance(stiffness=100.0, damping=20.0),
}
REFERENCES = {
    "outside": lambda n: None,
    "quintic": lambda n: trajectory.quintic([0.1] * n, np.linspace(0.2, 0.8, n), 0.6),
    "via": lambda n: trajectory.via(
        np.outer([0.1, 0.5, 0.2], np.linspace(0.5, 1, n)), [0, 0.3, 0.7]
    ),
    "fourier": lambda n: trajectory.fourier(np.full((n, 2), 0.2), np.full((n, 2), 0.1), 2.0),
    "trapezoid": lambda n: trajectory.trapezoid([0.1] * n, np.linspace(0.2, 0.8, n), 0.9),
}


@cache
def law_of(name, kind, **options):
    """A law of an arm of the catalogue, traced and simulated once for all its forms."""
    robot = dy.load(name)
    return Law(CONTROLLERS[kind](robot), robot, DT, **options)


@cache
def _samples(law):
    return sample_rows(law, 50)


def write(law, folder, dtype="float64", trig="own", *, tested=True):
    """Header, source and self-test in a folder; the path without suffix."""
    stem, notes = stem_of(law), ["a test"]
    (folder / f"{stem}.h").write_text(header(law, notes, dtype))
    (folder / f"{stem}.c").write_text(source(law, notes, dtype, trig))
    if tested:
        (folder / f"{stem}_test.c").write_text(self_test(law, notes, dtype, _samples(law)))
    return folder / stem


def passes(path, *flags, libm=True):
    """What the self-test says; without flags, unoptimised: several times as quick to compile."""
    flags = flags or ("-O0",)
    command = ["gcc", *FLAGS.split(), *flags, f"{path}.c", f"{path}_test.c", "-o", f"{path}_test"]
    subprocess.run([*command, *(["-lm"] if libm else [])], check=True)
    done = subprocess.run([f"{path}_test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("passed"), done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def kernel_in_c(robot, name, folder):
    """An exported kernel that gives one vector, compiled: called with arrays of samples."""
    (header,) = (f for f in robot.export(name, directory=folder) if f.suffix == ".h")
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    command = ["gcc", "-O0", "-ffp-contract=off", *warnings, "-fPIC", "-shared"]
    library = folder / "kernel.so"
    files = [str(header.with_suffix(".c")), "-lm", "-o", str(library)]
    subprocess.run([*command, *files], check=True)
    function = getattr(ctypes.CDLL(str(library)), f"{header.stem}_{name}")

    def call(size, *given):
        out = np.empty((len(given[0]), size))
        for rows in zip(*map(np.ascontiguousarray, given), out, strict=True):
            function(*(ctypes.c_void_p(row.ctypes.data) for row in rows))
        return out

    return call


class Library:
    """The compiled law, called from here."""

    def __init__(self, law, folder, dtype="float64", trig="own"):
        path = write(law, folder, dtype, trig, tested=False)
        shared = f"{path}.so"
        flags = [*FLAGS.split(), "-O0", "-fPIC", "-shared"]
        subprocess.run(["gcc", *flags, f"{path}.c", "-o", shared, "-lm"], check=True)
        self.kind, self.stem, self.loaded = np.dtype(dtype), path.name, ctypes.CDLL(shared)
        self.n, self.state = law.n, np.zeros(law.states, self.kind)

    def _pointer(self, *rows):
        with np.errstate(over="ignore"):
            flat = np.concatenate([np.atleast_1d(np.asarray(r, self.kind)) for r in rows])
        return flat, ctypes.c_void_p(flat.ctypes.data)

    def start(self, q, qd):
        _kept, measured = self._pointer(q, qd)
        init = getattr(self.loaded, f"{self.stem}_init")
        init(ctypes.c_void_p(self.state.ctypes.data), measured)

    def step(self, q, qd, wanted):
        _a, measured = self._pointer(q, qd)
        times = np.array(wanted, float) if np.size(wanted) == 1 else None  # always double
        _b, reference = self._pointer(*wanted) if times is None else (times, times.ctypes.data)
        reference = ctypes.c_void_p(reference) if isinstance(reference, int) else reference
        torque = np.full(self.n, np.nan, self.kind)
        step = getattr(self.loaded, f"{self.stem}_step")
        state, out = (ctypes.c_void_p(x.ctypes.data) for x in (self.state, torque))
        return torque, step(state, measured, reference, out)


class InPython:
    """The law itself, with the same calls."""

    def __init__(self, law):
        self.law, self.n, self.kind = law, law.n, np.dtype(float)

    def start(self, q, qd):
        self.state = self.law.start(list(map(float, q)), list(map(float, qd)), MATH)

    def step(self, q, qd, wanted):
        q, qd, *rows = ([float(x) for x in np.atleast_1d(r)] for r in (q, qd, *wanted))
        given = rows if self.law.reference is None else rows[0][0]
        torque, self.state, status = self.law.step(self.state, q, qd, given, MATH)
        return np.array(torque), int(status)
