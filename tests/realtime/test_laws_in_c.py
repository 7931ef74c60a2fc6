"""Every controller in C does what it does in Python: self-tests, compilers, a recorded loop."""

import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import dynamis as dy
from dynamis.export.c_function import PRECISIONS, literal
from dynamis.realtime import Law
from dynamis.realtime.c_text import (
    OFF,
    SIMULATED,
    SYNTHETIC,
    closed_loop,
    recorded,
    sample_rows,
    self_test,
    source,
)
from dynamis.realtime.export import FLAGS
from tests.simulation.test_elastic import two_links
from tests.thorough import thorough_but

from .laws_in_c import (
    CONTROLLERS,
    DT,
    REFERENCES,
    REPLAY,
    InPython,
    Library,
    control,
    law_of,
    passes,
    trajectory,
    write,
)

pytestmark = pytest.mark.usefixtures("gcc")

# every controller, both precisions, both kinds of functions


FORMS = [  # every arm, precision and kind of functions, each pair of them with every controller
    *(("planar-2link", "float64", "libm"), ("planar-2link", "float32", "own")),
    *(("stanford", "float64", "own"), ("stanford", "float32", "libm")),
]


@pytest.mark.parametrize(("name", "dtype", "trig"), thorough_but(FORMS[2:3], FORMS))
@pytest.mark.parametrize("kind", CONTROLLERS)
def test_every_controller_passes_its_self_test(tmp_path, kind, name, dtype, trig):
    level = "-O2" if name == "planar-2link" else "-O0"  # as exported; quicker to compile
    passes(write(law_of(name, kind), tmp_path, dtype, trig), level, libm=trig == "libm")


PUMA = {  # the forms in turn: every controller has all of them above
    "pid": ("float64", "own"), "point": ("float32", "libm"), "torque": ("float64", "own"),
    "forward": ("float32", "libm"), "task": ("float64", "own"), "impedance": ("float32", "libm"),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("kind", PUMA)
def test_every_controller_of_a_puma(tmp_path, kind):
    passes(write(law_of("puma560", kind), tmp_path, *PUMA[kind]))


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_optimisation_level(tmp_path, dtype, level):
    law = law_of("pendulum3", "torque", safe="gravity", safe_damping=1.0, limit=90)
    passes(write(law, tmp_path, dtype), level, libm=False)


@cache
def inside_law(inside, **velocity):
    robot = dy.load("pendulum3")
    return Law(CONTROLLERS["torque"](robot), robot, DT, REFERENCES[inside](robot.n), **velocity)


@pytest.mark.parametrize("inside", thorough_but(["quintic"], REFERENCES))
@pytest.mark.parametrize(
    "velocity, trig", [({}, "own"), ({"velocity": "difference", "velocity_filter": 20.0}, "libm")]
)
def test_references_and_velocities(tmp_path, inside, velocity, trig):
    passes(write(inside_law(inside, **velocity), tmp_path, "float64", trig))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_law_with_a_square_root(tmp_path, dtype):
    robot = dy.load("planar-2link")
    law = Law(control.Impedance(stiffness=100.0), robot, DT)  # of the damping ratio
    assert "dy_sqrt(" in source(law, [], dtype, "own")
    passes(write(law, tmp_path, dtype), libm=False)
    assert "dy_sqrt(" not in source(law, [], dtype, "libm")


@cache
def sanitized():
    robot = dy.load("pendulum3")
    return Law(CONTROLLERS["torque"](robot), robot, DT, REFERENCES["quintic"](3), safe="gravity")


@pytest.mark.parametrize("sanitizer", ["undefined", "address"])
@pytest.mark.parametrize("trig", thorough_but(["own"], ["own", "libm"]))
def test_sanitizers_say_nothing(tmp_path, sanitizer, trig):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    flags = ["-O0", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-g"]
    tried = subprocess.run(
        ["gcc", *flags, str(tmp_path / "a.c"), "-o", str(tmp_path / "a")],
        capture_output=True, check=False,
    )  # fmt: skip
    if tried.returncode:
        pytest.skip(f"gcc here has no {sanitizer} sanitizer")
    extra = ["-fsanitize=float-cast-overflow"] if sanitizer == "undefined" else []
    path = write(sanitized(), tmp_path, "float64", trig)
    text = (tmp_path / f"{path.name}_test.c").read_text()
    hostile = text.replace("positions[k][i];", "k % 7 == 6 ? 1e300 / positions[k][i] : 0.0;")
    hostile = hostile.replace("status != statuses[k]", "status < 0 * statuses[k]")
    hostile = re.sub(
        r"(?s)printf\(\"FAILED: torques.*?return 1;", 'printf("passed anyway");', hostile
    )
    passes(path, *flags, *extra)
    (tmp_path / f"{path.name}_test.c").write_text(hostile)
    assert "passed" in passes(path, *flags, *extra)


def test_cppcheck_says_nothing(tmp_path):
    if not shutil.which("cppcheck"):
        pytest.skip("no cppcheck")
    for trig in ("own", "libm"):
        path = write(law_of("planar-2link", "torque"), tmp_path, "float64", trig)
        done = subprocess.run(
            ["cppcheck", "--enable=warning,performance,portability", "--error-exitcode=1",
             "--std=c99", "--quiet", f"{path}.c", f"{path}_test.c"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0 and done.stderr == ""


def test_the_self_test_can_fail(tmp_path):
    path = write(law_of("planar-2link", "torque"), tmp_path)
    file = tmp_path / f"{path.name}.c"
    file.write_text(
        re.sub(r"torque_out\[1\] = (\w+);", r"torque_out[1] = \1 + 1e-4;", file.read_text())
    )
    with pytest.raises(AssertionError, match="FAILED: torques differ by"):
        passes(path)


GUARDED = {  # every option in numbers that stand nowhere else
    "velocity": "difference", "velocity_filter": 37.0, "limit": 943.0, "safe": "gravity",
    "safe_damping": 0.029, "ramp": 0.7, "latch": 3, "jump": 0.053,
}  # fmt: skip
WRONG = {  # what stands in the step, and instead
    "velocity difference": (DT, "0.0051"),
    "velocity filter": (np.exp(-2 * np.pi * 37.0 * DT), "0.3"),
    "limit": (943.0, "944.0"),
    "jump": (0.053, "0.53"),
    "latch": (3.0, "4.0"),
    "ramp": (DT / 0.7, "0.008"),
    "safe damping": (0.029, "0.03"),
}


@pytest.mark.parametrize("inside", [None, "quintic"])
def test_what_surrounds_the_controller_is_in_the_self_test(tmp_path, inside):
    """Another number in the C anywhere, and it fails: limits, latch, jump, safe torque too."""
    robot = dy.load("planar-2link")
    plan = None if inside is None else REFERENCES[inside](2)
    controller = control.ComputedTorque.from_bandwidth(robot, 8.0, integral=True)
    path = write(Law(controller, robot, DT, plan, **GUARDED), tmp_path)
    passes(path)
    file = tmp_path / f"{path.name}.c"
    text = file.read_text()
    for what, (right, wrong) in WRONG.items():
        number = re.escape(literal(right, PRECISIONS["float64"]))
        changed, count = re.subn(rf"(?<![\w.]){number}(?![\w.])", wrong, text)
        assert count, what
        file.write_text(changed)
        with pytest.raises(AssertionError, match="FAILED"):
            passes(path)
            pytest.fail(f"{what}: {wrong} instead of {right} was not noticed")


# what the self-test replays


@pytest.mark.parametrize("kind", thorough_but(["torque", "adaptive"], CONTROLLERS))
def test_samples_are_those_of_a_simulated_loop(kind):
    law = law_of("stanford" if kind != "impedance" else "planar-2link", kind)
    samples, torques = closed_loop(law, 40)
    mine = recorded(law, *samples[:3])
    assert np.abs(mine - torques).max() <= 1e-10 * np.abs(torques).max()
    rows = sample_rows(law, 40)
    assert rows.how == SIMULATED and SIMULATED in self_test(law, [], "float64", rows)
    for exact, rounded in zip(samples[:3], rows[:3], strict=True):
        assert np.abs(exact - rounded).max() <= 2**-21
        assert (rounded == rounded.astype(np.float32)).all()


def test_samples_follow_the_trajectory_inside():
    robot = dy.load("planar-2link")
    plan = REFERENCES["quintic"](2)
    law = Law(control.ComputedTorque.from_bandwidth(robot, 20.0), robot, 0.002, plan)
    samples = sample_rows(law)
    assert samples.how == SIMULATED and samples.wanted.shape == (200, 1)
    assert np.abs(samples.q - plan(samples.wanted[:, 0]).q).max() < 0.02


def test_a_law_of_an_elastic_arm_sees_its_motors(tmp_path):
    """The self-test replays what encoders on the motors show, not where the links are."""
    robot = two_links(2e3, 0.5, backlash=2e-3)
    law = Law(control.JointPID(kp=400.0, kd=20.0, ki=5.0), robot, DT)
    samples, torques = closed_loop(law, 40)
    assert samples.how == SIMULATED
    mine = recorded(law, *samples[:3])
    assert np.abs(mine - torques).max() <= 1e-10 * np.abs(torques).max()
    start = samples.wanted[0, :2] + OFF  # of the links
    rest = dy.simulate(robot, DT, q0=start, check_step=False)
    np.testing.assert_allclose(samples.q[0], rest.motor[0], atol=1e-12)
    assert np.abs(rest.deflection[0]).max() > 1e-3
    passes(write(law, tmp_path))


def test_an_arm_that_cannot_be_simulated_is_tested_on_a_made_up_motion(tmp_path):
    links = [dy.Link(mass=1.0, a=1.0), dy.Link(mass=0.0, a=0.1)]  # the second has no inertia
    robot = dy.Robot.from_dh("one", convention="standard", links=links)
    law = Law(control.JointPID(kp=10.0, kd=1.0), robot, DT)
    assert sample_rows(law).how == SYNTHETIC
    path = write(law, tmp_path)
    assert SYNTHETIC in (tmp_path / f"{path.name}_test.c").read_text()
    passes(path)


def test_fast_math_is_refused(tmp_path):
    path = write(law_of("planar-2link", "torque"), tmp_path, trig="libm", tested=False)
    for flag in ("-ffast-math", "-ffinite-math-only", "-funsafe-math-optimizations"):
        command = ["gcc", *FLAGS.split(), flag, "-c", f"{path}.c", "-o", f"{path}.o"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode != 0 and "no fast math" in done.stderr


# a recorded loop, replayed


@pytest.fixture(scope="module")
def loop():
    """10 s of a PUMA 560 under computed torque with integral: the law, measurements, references."""
    robot = dy.load("puma560")
    controller = control.ComputedTorque.from_bandwidth(robot, 10.0, integral=True, limit=150.0)
    law = Law(controller, robot, DT)
    plan = trajectory.fourier(np.full((6, 2), 0.3), np.full((6, 2), -0.2), 5.0)
    rng = np.random.default_rng(2)
    wanted = plan(DT * np.arange(2000))
    q, qd = wanted.q[0] + 0.02, wanted.qd[0] * 0
    seen = InPython(law)
    places, speeds, torques = [], [], []
    for k in range(2000):
        place, speed = q + rng.normal(size=6) * 1e-5, qd + rng.normal(size=6) * 1e-4
        if k == 0:
            seen.start(place, speed)
        tau, status = seen.step(place, speed, (wanted.q[k], wanted.qd[k], wanted.qdd[k]))
        assert status == 0
        places.append(place)
        speeds.append(speed)
        torques.append(tau)
        qd = qd + DT * robot.forward_dynamics(q, qd, tau)
        q = q + DT * qd
    assert np.abs(q - wanted.q[-1]).max() < 0.05  # it does control
    rows = np.concatenate([wanted.q, wanted.qd, wanted.qdd], axis=1)
    return law, np.array(places), np.array(speeds), rows, np.array(torques)


@pytest.mark.parametrize("trig", thorough_but(["own"], ["own", "libm"]))
@pytest.mark.parametrize("dtype", thorough_but(["float64"], ["float64", "float32"]))
def test_replay_of_a_recorded_loop(tmp_path, loop, dtype, trig):
    law, q, qd, rows, torques = loop
    assert (recorded(law, q, qd, rows) == torques).all()
    compiled = Library(law, tmp_path, dtype, trig)
    compiled.start(q[0], qd[0])
    got = []
    for place, speed, wanted in zip(q, qd, rows, strict=True):
        tau, status = compiled.step(place, speed, (wanted,))
        assert status == 0
        got.append(tau)
    worst = np.abs(np.array(got, float) - torques).max(0) / np.abs(torques).max(0)
    assert worst.max() < REPLAY[dtype]
