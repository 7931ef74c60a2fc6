"""What a commit computes, by name: kernels, simulations, exported C and identified models.

Only public names of dynamis are used (but in `programs`), so that the same file records an old
and a new commit.
A case is a function that gives arrays by name; `cases(data)` lists all of them.
"""

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import dynamis as dy

from .programs import programs

Case = Callable[[], dict[str, np.ndarray]]
FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-shared")
GAINS = (14.87, 13.26, 11.13, 10.62, 11.03, 11.47)  # N m per A, published for the UR10e
UR10E = {"t": "t", "q": "q", "qd": "qd", "current": "i"}
LWR4 = {"t": "times", "q": "positions", "qd": "velocities", "tau": "torques"}

CATALOGUE = (
    "pendulum3", "rppr", "elbow6", "planar-rr", "planar-rp", "cartesian-xy", "scara", "kr16",
    "kr16-p4", "sixr", "planar-2link", "puma560", "puma560-mdh", "polar-rp", "stanford", "panda",
    "ur10e",
)  # fmt: skip

control, trajectory = dy.control, dy.trajectory


def bits(values: object) -> np.ndarray:
    return np.asarray(values)


def text(value: str) -> np.ndarray:
    """Text as an array of bytes."""
    return np.frombuffer(value.encode(), np.uint8)


def attempted(function: Callable[[], object]) -> object:
    """A result, or the name of the error: both are behaviour."""
    try:
        return function()
    except dy.errors.DynamisError as error:
        return text(type(error).__name__)


# kernels


def kernels(name: str, dtype: str, count: int | None) -> dict[str, np.ndarray]:
    """Every method of one arm of the catalogue at random states, compiled."""
    robot = dy.load(name)
    rng = np.random.default_rng(7)
    shape = (robot.n,) if count is None else (count, robot.n)
    q, qd, qdd = (rng.uniform(-3, 3, shape).astype(dtype) for _ in range(3))
    wrench = rng.normal(size=6)
    calls = {
        "fk": lambda **o: robot.fk(q, **o),
        "frames": lambda **o: robot.frames(q, **o),
        "jacobian": lambda **o: robot.jacobian(q, **o),
        "jacobian-tool": lambda **o: robot.jacobian(q, frame="tool", **o),
        "jacobian_dot": lambda **o: robot.jacobian_dot(q, qd, **o),
        "inverse_dynamics": lambda **o: robot.inverse_dynamics(q, qd, qdd, **o),
        "inverse_dynamics-wrench": lambda **o: robot.inverse_dynamics(q, qd, qdd, wrench=wrench),
        "forward_dynamics": lambda **o: robot.forward_dynamics(q, qd, qdd, **o),
        "mass_matrix": lambda **o: robot.mass_matrix(q, **o),
        "coriolis_matrix": lambda **o: robot.coriolis_matrix(q, qd, **o),
        "gravity_torque": lambda **o: robot.gravity_torque(q, **o),
        "friction_torque": lambda **o: robot.friction_torque(qd, **o),
        "kinetic_energy": lambda **o: robot.kinetic_energy(q, qd, **o),
        "potential_energy": lambda **o: robot.potential_energy(q, **o),
        "momentum": lambda **o: robot.momentum(q, qd, **o),
        "motor_torque": lambda **o: robot.motor_torque(q, qd, qdd, **o),
        "regressor": lambda **o: robot.regressor(q, qd, qdd, **o),
        "regressor-ref": lambda **o: robot.regressor(q, qd, qdd, qd_ref=qdd, **o),
        "derivatives": lambda **o: robot.inverse_dynamics_derivatives(q, qd, qdd, **o),
        "forward_derivatives": lambda **o: robot.forward_dynamics_derivatives(q, qd, qdd, **o),
    }
    found = {}
    for call, function in calls.items():
        result = attempted(partial(function, dtype=dtype))
        rows = result if isinstance(result, tuple) else (result,)
        found |= {f"{call}.{i}": bits(row) for i, row in enumerate(rows)}
    return found


# simulations


def sticky() -> dy.Robot:
    """Two links with stiction, limits and motors that saturate."""
    friction = [dy.Friction(viscous=0.2, coulomb=(1.5, -1.2)), dy.Friction(coulomb=(0.6, -0.6))]
    drive = dy.Drive(gear=-40, rotor_inertia=1e-4, efficiency=0.8)
    links = [
        dy.Link(
            joint="revolute", d=0, a=0.5, alpha=0, mass=3.0, com=(-0.25, 0, 0),
            inertia=(0.001, 0.06, 0.06), friction=f, drive=drive, limits=(-2.0, 2.0),
        )
        for f in friction
    ]  # fmt: skip
    return dy.Robot.from_dh("sticky", convention="standard", gravity=(0, -9.81, 0), links=links)


CONTROLLERS = {
    "joint-pid": control.JointPID(60.0, 20.0, 9.0, gravity=True, limit=90.0),
    "point-to-point": control.PointToPoint(25.0, 10.0, friction="measured"),
    "computed-torque": control.ComputedTorque(25.0, 10.0, 100.0, limit=500.0),
    "feed-forward": control.FeedForward(50.0, 8.0),
    "slotine-li": control.SlotineLi(8.0, 5.0, 0.3),
    "task-space": control.TaskSpace(25.0, 10.0),
    "impedance": control.Impedance(300.0, damping=40.0),
}


def simulated(robot: Callable[[], dy.Robot], duration: float = 0.3, **given) -> dict:
    arm = robot()
    n = arm.n
    options = {"q0": np.linspace(0.3, 0.9, n), **given}
    if isinstance(options.get("reference"), str):
        options["reference"] = trajectory.quintic(options["q0"], options["q0"] + 0.4, duration)
    run = dy.simulate(arm, duration, **options)
    return {"t": run.t, "q": run.q, "qd": run.qd, "tau": run.tau}


def simulations() -> Iterator[tuple[str, Case]]:
    puma, panda = partial(dy.load, "puma560"), partial(dy.load, "panda")
    for name, law in CONTROLLERS.items():
        given = {"controller": law, "reference": "quintic"}
        yield f"controller {name}", partial(simulated, puma, **given)
        yield f"sampled {name}", partial(
            simulated, sticky if name not in ("task-space", "impedance") else panda,
            sample_time=0.005, delay=0.002, **given,
        )  # fmt: skip
    sensors = {
        "ideal": dy.Sensors(),
        "encoder": dy.Sensors(encoder=2 * np.pi / 4096, velocity="difference"),
        "filter": dy.Sensors(encoder=1e-4, velocity="difference", velocity_filter=50.0),
        "noise": dy.Sensors(position_noise=1e-4, torque_noise=0.1, velocity="difference", seed=3),
    }
    for name, given in sensors.items():
        law = control.JointPID(60.0, 20.0, 9.0, limit=90.0)
        yield (
            f"sensors {name}",
            partial(
                simulated,
                sticky,
                controller=law,
                reference="quintic",
                sensors=given,
                sample_time=0.005,
            ),
        )
    for name in ("rk4", "heun", "euler", "semi-implicit-euler", "dormand-prince"):
        yield f"integrator {name}", partial(simulated, sticky, integrator=name)
    yield "stops", partial(simulated, sticky, 1.0, stops=True, restitution=0.5, qd0=[4.0, -3.0])
    yield "no drives", partial(simulated, sticky, drives=False)
    yield "torque", partial(simulated, puma, torque=[5.0, -30.0, 10.0, 1.0, 1.0, 0.5])
    yield "wrench", partial(simulated, puma, wrench=[1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    yield "observer", partial(
        simulated, sticky, controller=CONTROLLERS["joint-pid"], reference="quintic",
        observer=control.MomentumObserver(50.0),
    )  # fmt: skip
    starts = np.random.default_rng(2).uniform(-1, 1, (37, 2))
    yield "ensemble", partial(simulated, sticky, q0=starts, save_every=10)
    yield "catalogue pendulum", partial(simulated, partial(dy.load, "pendulum3"), 1.0)
    yield "tree of the catalogue", partial(simulated, partial(dy.load, "stanford"), 0.3)


# exported C

NOTES = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def program_text(source: Path) -> str:
    """C without comments: they carry versions and hashes."""
    return NOTES.sub("", source.read_text())


def exported_kernels(name: str) -> dict[str, np.ndarray]:
    """Text and results of exported kernels."""
    robot = dy.load(name)
    with tempfile.TemporaryDirectory() as folder:
        robot.export(["inverse_dynamics", "forward_dynamics", "mass_matrix"], "c", folder)
        sources = sorted(p for p in Path(folder).rglob("*.c") if "test" not in p.name)
        return {p.name: text(program_text(p)) for p in sources}


def exported_law(name: str) -> dict[str, np.ndarray]:
    """Text of an exported control law, and its torques along a made-up motion."""
    robot, law = dy.load("planar-2link"), CONTROLLERS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        dy.export_controller(robot, law, path, 0.005, trig="own", velocity="difference", jump=0.5)
        sources = [p for p in sorted(path.rglob("*.c")) if not re.search("test|loop|main", p.name)]
        found = {p.name: text(program_text(p)) for p in sources}
        found["torque"] = replayed(sources, path, robot.n)
        return found


def replayed(sources: list[Path], folder: Path, n: int) -> np.ndarray:
    """Torques of the compiled law over 200 samples."""
    header = next(p for p in folder.rglob("*.h") if re.search(r"_init\s*\(", p.read_text()))
    stem = re.search(r"(\w+)_init\s*\(", header.read_text())[1]  # type: ignore[index]
    shared = folder / "law.so"
    command = ["cc", *FLAGS, f"-I{header.parent}", *map(str, sources), "-o", str(shared), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    library = ctypes.CDLL(str(shared))
    state, tau, rows = np.zeros(4096), np.zeros(n), []
    address = lambda a: ctypes.c_void_p(a.ctypes.data)  # noqa: E731
    wave = lambda k: 0.4 + 0.2 * np.sin(0.02 * k + np.arange(n))  # noqa: E731
    measured = np.concatenate([wave(0), np.zeros(n)])
    getattr(library, f"{stem}_init")(address(state), address(measured))
    for k in range(200):
        measured = np.concatenate([wave(k), np.zeros(n)])
        wanted = np.concatenate([wave(k + 3), np.zeros(2 * n)])
        step = getattr(library, f"{stem}_step")
        step(address(state), address(measured), address(wanted), address(tau))
        rows.append(tau.copy())
    return np.array(rows)


# identification


def identified(arm: dy.Robot, log: dy.Log, **given) -> dict[str, np.ndarray]:
    estimate = dy.identify(arm, log, **given)
    return {
        "values": bits(estimate.values),
        "residual": bits(estimate.training[0].relative_error),
    }


def identifications(data: Path) -> Iterator[tuple[str, Case]]:
    def panda(estimator: str) -> dict:
        log = dy.read_log(data / "panda" / "excitation.npz")
        return identified(dy.load("panda"), log, estimator=estimator)

    def lwr4(estimator: str) -> dict:
        log = dy.read_log(data / "lwr4" / "measurements_1.npz", columns=LWR4)
        return identified(dy.load(data / "lwr4" / "lwr4.urdf"), log, estimator=estimator)

    def ur10e(friction: str) -> dict:
        rows = (634, 3510)
        log = dy.read_log(
            data / "ur10e" / "excitation_30s.npz", columns=UR10E, drive_gains=GAINS, rows=rows
        )
        arm = dy.load(data / "ur10e" / "ur10e.urdf")
        return identified(arm, log, friction=friction, estimator="weighted", rotors=True)

    for estimator in ("ordinary", "weighted", "robust", "feasible"):
        yield f"panda {estimator}", partial(panda, estimator)
    for estimator in ("weighted", "feasible"):
        yield f"lwr4 {estimator}", partial(lwr4, estimator)
    for friction in ("smooth", "loaded"):
        yield f"ur10e {friction}", partial(ur10e, friction)


# other results that must stay


def poses(name: str) -> dict[str, np.ndarray]:
    robot = dy.load(name)
    found = robot.ik(robot.fk(np.linspace(0.2, 0.7, robot.n)))
    return {"q": bits(found.q), "base": bits(robot.base_parameters().values)}


def cases(data: Path | None) -> Iterator[tuple[str, Case]]:
    """Every case by name; the part before the slash names the group."""
    for name in CATALOGUE:
        for dtype in ("float64", "float32"):
            for count in (None, 33):
                case = partial(kernels, name, dtype, count)
                yield f"kernels/{name} {dtype} {count or 'one'}", case
        yield f"exports/{name}", partial(attempted_case, partial(exported_kernels, name))
        yield f"poses/{name}", partial(attempted_case, partial(poses, name))
    for name, case in simulations():
        yield f"simulations/{name}", case
    for name in CONTROLLERS:
        yield f"exports/law {name}", partial(exported_law, name)
    for name, case in programs():
        yield f"programs/{name}", case
    if data is not None:
        for name, case in identifications(data):
            yield f"identification/{name}", case


def attempted_case(case: Case) -> dict[str, np.ndarray]:
    found = attempted(case)
    return found if isinstance(found, dict) else {"error": bits(found)}
