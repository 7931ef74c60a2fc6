"""Exported controllers: the C does what the Python law does, and nothing bad comes out of it."""

import ast
import ctypes
import re
import shutil
import subprocess
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.realtime import Law
from dynamis.realtime.build_files import FLAGS
from dynamis.realtime.c_text import header, recorded, self_test, source, stem_of
from dynamis.realtime.samples import SIMULATED, SYNTHETIC, closed_loop, sample_rows
from dynamis.spatial.functions import MATH

DT = 0.005
REPLAY = {"float64": 1e-12, "float32": 1e-4}  # of the largest torque of the joint
NAN, INF = float("nan"), float("inf")
ARM = dy.load("planar-2link")
control, trajectory = dy.control, dy.trajectory

CONTROLLERS = {
    "pid": lambda r: control.JointPID.from_bandwidth(r, 8.0, integral=True, gravity=True, limit=50),
    "point": lambda r: control.PointToPoint.from_bandwidth(8.0, friction="measured"),
    "torque": lambda r: control.ComputedTorque.from_bandwidth(8.0, integral=True, limit=80.0),
    "forward": lambda r: control.FeedForward.from_bandwidth(r, 8.0),
    "adaptive": lambda r: control.SlotineLi.from_bandwidth(r, 8.0, 0.1),
    "task": lambda r: control.TaskSpace.from_bandwidth(8.0),
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


@pytest.fixture(scope="session", autouse=True)
def gcc():
    if not shutil.which("gcc"):
        pytest.skip("no gcc")


def write(law, folder, dtype="float64", trig="own"):
    """Header, source and self-test in a folder; the path without suffix."""
    stem, notes = stem_of(law), ["a test"]
    (folder / f"{stem}.h").write_text(header(law, notes, dtype))
    (folder / f"{stem}.c").write_text(source(law, notes, dtype, trig))
    (folder / f"{stem}_test.c").write_text(self_test(law, notes, dtype, sample_rows(law, 50)))
    return folder / stem


def passes(path, *flags, libm=True):
    """What the self-test says."""
    command = ["gcc", *FLAGS.split(), *flags, f"{path}.c", f"{path}_test.c", "-o", f"{path}_test"]
    subprocess.run([*command, *(["-lm"] if libm else [])], check=True)
    done = subprocess.run([f"{path}_test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("passed"), done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


class Library:
    """The compiled law, called from here."""

    def __init__(self, law, folder, dtype="float64", trig="own"):
        path = write(law, folder, dtype, trig)
        shared = f"{path}.so"
        flags = [*FLAGS.split(), "-fPIC", "-shared"]
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


# every controller, both precisions, both kinds of functions


@pytest.mark.parametrize("trig", ["own", "libm"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["planar-2link", "stanford"])
@pytest.mark.parametrize("kind", CONTROLLERS)
def test_every_controller_passes_its_self_test(tmp_path, kind, name, dtype, trig):
    robot = dy.load(name)
    path = write(Law(CONTROLLERS[kind](robot), robot, DT), tmp_path, dtype, trig)
    passes(path, libm=trig == "libm")


@pytest.mark.parametrize("form", [("float64", "own"), ("float32", "libm")], ids=" ".join)
@pytest.mark.parametrize("kind", [k for k in CONTROLLERS if k != "adaptive"])
def test_every_controller_of_a_puma(tmp_path, kind, form):
    robot = dy.load("puma560")
    passes(write(Law(CONTROLLERS[kind](robot), robot, DT), tmp_path, *form))


@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_optimisation_level(tmp_path, dtype, level):
    robot = dy.load("puma560")
    law = Law(CONTROLLERS["torque"](robot), robot, DT, safe="gravity", safe_damping=1.0, limit=90)
    passes(write(law, tmp_path, dtype), level, libm=False)


@pytest.mark.parametrize("trig", ["own", "libm"])
@pytest.mark.parametrize("inside", REFERENCES)
@pytest.mark.parametrize("velocity", [{}, {"velocity": "difference", "velocity_filter": 20.0}])
def test_references_and_velocities(tmp_path, inside, velocity, trig):
    robot = dy.load("pendulum3")
    law = Law(CONTROLLERS["torque"](robot), robot, DT, REFERENCES[inside](robot.n), **velocity)
    passes(write(law, tmp_path, "float64", trig))


def test_what_has_no_own_form_is_refused():
    robot = dy.load("planar-2link")
    law = Law(control.Impedance(stiffness=100.0), robot, DT)  # damping ratio: a square root
    with pytest.raises(OptionError, match=r"sqrt.*no form of our own\n.*libm"):
        source(law, [], "float64", "own")
    assert "sqrt(" in source(law, [], "float64", "libm")


@pytest.mark.parametrize("sanitizer", ["undefined", "address"])
@pytest.mark.parametrize("trig", ["own", "libm"])
def test_sanitizers_say_nothing(tmp_path, sanitizer, trig):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    flags = [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-g"]
    tried = subprocess.run(
        ["gcc", *flags, str(tmp_path / "a.c"), "-o", str(tmp_path / "a")],
        capture_output=True, check=False,
    )  # fmt: skip
    if tried.returncode:
        pytest.skip(f"gcc here has no {sanitizer} sanitizer")
    extra = ["-fsanitize=float-cast-overflow"] if sanitizer == "undefined" else []
    robot = dy.load("puma560")
    law = Law(CONTROLLERS["torque"](robot), robot, DT, REFERENCES["quintic"](6), safe="gravity")
    path = write(law, tmp_path, "float64", trig)
    text = (tmp_path / f"{path.name}_test.c").read_text()
    hostile = text.replace("positions[k][i];", "k % 7 == 6 ? 1e300 / positions[k][i] : 0.0;")
    hostile = re.sub(
        r"(?s)if \((\w+_step\(.*?\)) != \w+\) \{.*?return 1;\n        \}", r"\1;", hostile
    )
    hostile = re.sub(
        r"(?s)printf\(\"FAILED: torques.*?return 1;", 'printf("passed anyway");', hostile
    )
    passes(path, *flags, *extra)
    (tmp_path / f"{path.name}_test.c").write_text(hostile)
    assert "passed" in passes(path, *flags, *extra)


def test_cppcheck_says_nothing(tmp_path):
    if not shutil.which("cppcheck"):
        pytest.skip("no cppcheck")
    robot = dy.load("planar-2link")
    for trig in ("own", "libm"):
        path = write(Law(CONTROLLERS["torque"](robot), robot, DT), tmp_path, "float64", trig)
        done = subprocess.run(
            ["cppcheck", "--enable=warning,performance,portability", "--error-exitcode=1",
             "--std=c99", "--quiet", f"{path}.c", f"{path}_test.c"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0 and done.stderr == ""


def test_the_self_test_can_fail(tmp_path):
    robot = dy.load("planar-2link")
    path = write(Law(CONTROLLERS["torque"](robot), robot, DT), tmp_path)
    file = tmp_path / f"{path.name}.c"
    file.write_text(
        re.sub(r"torque_out\[1\] = (\w+);", r"torque_out[1] = \1 + 1e-4;", file.read_text())
    )
    with pytest.raises(AssertionError, match="FAILED: torques differ by"):
        passes(path)


# what the self-test replays


@pytest.mark.parametrize("kind", CONTROLLERS)
def test_samples_are_those_of_a_simulated_loop(kind):
    robot = dy.load("stanford" if kind != "impedance" else "planar-2link")
    law = Law(CONTROLLERS[kind](robot), robot, DT)
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
    law = Law(control.ComputedTorque.from_bandwidth(20.0), robot, 0.002, plan)
    samples = sample_rows(law)
    assert samples.how == SIMULATED and samples.wanted.shape == (200, 1)
    assert np.abs(samples.q - plan(samples.wanted[:, 0]).q).max() < 0.02


def test_an_arm_that_cannot_be_simulated_is_tested_on_a_made_up_motion(tmp_path):
    links = [dy.Link(mass=1.0, a=1.0), dy.Link(mass=0.0, a=0.1)]  # the second has no inertia
    robot = dy.Robot.from_dh("one", convention="standard", links=links)
    law = Law(control.JointPID(kp=10.0, kd=1.0), robot, DT)
    assert sample_rows(law).how == SYNTHETIC
    path = write(law, tmp_path)
    assert SYNTHETIC in (tmp_path / f"{path.name}_test.c").read_text()
    passes(path)


def test_fast_math_is_refused(tmp_path):
    robot = dy.load("planar-2link")
    path = write(Law(CONTROLLERS["torque"](robot), robot, DT), tmp_path, trig="libm")
    for flag in ("-ffast-math", "-ffinite-math-only"):
        command = ["gcc", *FLAGS.split(), flag, "-c", f"{path}.c", "-o", f"{path}.o"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode != 0 and "no fast math" in done.stderr


# a recorded loop, replayed


@pytest.fixture(scope="module")
def loop():
    """10 s of a PUMA 560 under computed torque with integral: the law, measurements, references."""
    robot = dy.load("puma560")
    law = Law(control.ComputedTorque.from_bandwidth(10.0, integral=True, limit=150.0), robot, DT)
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


@pytest.mark.parametrize("trig", ["own", "libm"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
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


# what is not a number


LIMIT = 7.0


def guarded(**options):
    robot = dy.load("planar-2link")
    law = control.ComputedTorque.from_bandwidth(8.0, integral=True)
    return Law(law, robot, DT, limit=LIMIT, safe="gravity", safe_damping=2.0, ramp=0.1, **options)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The guarded law in Python and compiled in every form, with a name each."""
    law = guarded()
    forms = [(d, t) for d in ("float64", "float32") for t in ("own", "libm")]
    found = {f"{d} {t}": Library(law, tmp_path_factory.mktemp("c"), d, t) for d, t in forms}
    return {"python": InPython(law), **found}


REST, GOOD = ([0.1, 0.2], [0.0, 0.0]), ([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])


@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e9, -1e9, 1e6])
@pytest.mark.parametrize("where", ["q", "qd", "reference"])
def test_two_bad_samples_latch_and_a_start_leaves(both, bad, where):
    for law in both.values():
        measured = ([0.1, bad], [0.0, 0.0]) if where == "q" else REST
        measured = ([0.1, 0.2], [bad, 0.0]) if where == "qd" else measured
        wanted = ([0.1, 0.2], [0.0, bad], [0.0, 0.0]) if where == "reference" else GOOD
        law.start(*REST)
        states = [law.step(*REST, GOOD)[1], law.step(*measured, wanted)[1]]
        states += [law.step(*REST, GOOD)[1], law.step(*measured, wanted)[1]]
        assert states == [0, 1, 0, 1]
        assert law.step(*measured, wanted)[1] == 2
        assert law.step(*REST, GOOD)[1] == 2  # good again, but latched
        law.start(*REST)
        assert law.step(*REST, GOOD)[1] == 0


def test_the_safe_torque_is_gravity_and_fades(both):
    robot = dy.load("planar-2link")
    weight = np.clip(robot.gravity_torque([0.1, 0.2]), -LIMIT, LIMIT)
    for law in both.values():
        law.start(*REST)
        taus = [law.step([NAN, NAN], [0.0, 0.0], GOOD)[0] for _ in range(30)]
        assert np.allclose(taus[0], weight, rtol=1e-5)
        assert (np.abs(taus[-1]) == 0.0).all()


@pytest.mark.parametrize("trig", ["own", "libm"])
def test_a_law_that_fails_inside_gives_the_safe_torque(tmp_path, trig):
    robot = dy.load("planar-2link")
    plane = [bool(np.abs(row).any()) for row in robot.jacobian([0.3, 0.4])[:3]] + [False] * 3
    inner = control.TaskSpace.from_bandwidth(8.0, task=plane, singular_damping=0.0)
    law = Law(inner, robot, DT)
    for one in (InPython(law), Library(law, tmp_path, "float64", trig)):
        stretched = [0.0, 0.0]  # no inverse of the Jacobian here
        one.start(*REST)
        assert one.step(*REST, GOOD)[1] == 0
        tau, status = one.step(stretched, [0.0, 0.0], GOOD)
        assert status == 1 and (tau == 0.0).all()


def test_a_bad_start_is_a_start_at_zero(both):
    for law in both.values():
        law.start([NAN, 1e9], [INF, NAN])
        tau, status = law.step(*REST, GOOD)
        assert status == 0 and np.isfinite(tau).all()


def test_a_reference_jump_is_followed_within_the_limit(both):
    for law in both.values():
        law.start(*REST)
        tau, status = law.step(*REST, ([9e5, -9e5], [0.0, 0.0], [0.0, 0.0]))
        assert status in (0, 1) and (np.abs(tau) <= LIMIT).all()


def test_time_is_held_between_the_ends(tmp_path):
    robot = dy.load("planar-2link")
    law = Law(CONTROLLERS["torque"](robot), robot, DT, REFERENCES["quintic"](2))
    for one in (InPython(law), Library(law, tmp_path)):
        found = []
        for t in (-5.0, 0.0, 0.6, 60.0):
            one.start(*REST)
            tau, status = one.step(*REST, (t,))
            assert status == 0
            found.append(tau)
        assert (found[0] == found[1]).all() and (found[2] == found[3]).all()
        assert (found[0] != found[2]).any()
        one.start(*REST)
        assert one.step(*REST, (NAN,))[1] == 1


def test_velocities_that_are_not_used_change_nothing(tmp_path):
    robot = dy.load("planar-2link")
    law = Law(CONTROLLERS["torque"](robot), robot, DT, velocity="difference", velocity_filter=30.0)
    one, found = Library(law, tmp_path), []
    for junk in (0.0, NAN, 123.0):
        one.start(REST[0], [junk, junk])
        steps = [one.step([0.1 + 0.001 * k, 0.2], [junk, junk], GOOD) for k in range(5)]
        assert [status for _, status in steps] == [0] * 5
        found.append([tau for tau, _ in steps])
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


PATTERNS = st.integers(0, 2**64 - 1).map(lambda b: float(np.uint64(b).view(np.float64)))
GARBAGE = st.one_of(
    PATTERNS, st.floats(), st.floats(-3, 3), st.sampled_from([5e-324, 1e-310, 1e-40, 1e308, -0.0])
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(st.lists(GARBAGE, min_size=10, max_size=10), min_size=1, max_size=5))
def test_garbage_never_comes_out(both, rows):
    for law in both.values():
        law.start(rows[0][:2], rows[0][2:4])
        with np.errstate(over="ignore", invalid="ignore"):
            steps = [law.step(r[:2], r[2:4], (r[4:6], r[6:8], r[8:])) for r in rows]
        for tau, status in steps:
            assert status in (0, 1, 2)
            assert (np.abs(tau) <= LIMIT).all()  # false for NaN


# files


def test_exporting_twice_gives_the_same_bytes(tmp_path):
    robot = dy.load("planar-2link")
    for folder in ("a", "b"):
        law = CONTROLLERS["torque"](robot)
        dy.export_controller(law, dy.load("planar-2link"), tmp_path / folder, trig="own")
    files = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert len(files) == 10
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_every_file_says_where_it_comes_from(tmp_path):
    robot = dy.load("planar-2link")
    files = dy.export_controller(
        control.ComputedTorque(kp=64.0, kd=np.array([16.0, 1 / 3])), robot, tmp_path, 0.002,
        limit=[5.0, 0.1 + 0.2], velocity="difference", velocity_filter=40.0, dtype="float32",
    )  # fmt: skip
    for file in files:
        if file.suffix == ".toml":  # the robot itself, as it is saved
            continue
        text = file.read_text()
        assert f"dynamis {dy.__version__}" in text, file.name
        assert "Again: python regenerate.py" in text, file.name
        assert "1e+300" not in text, file.name
        assert re.search(r"Model [0-9a-f]{16}, robot [0-9a-f]{16}, program [0-9a-f]{16}", text), (
            file.name
        )
        assert "Controller: ComputedTorque(kp=64.0" in text, file.name
        words = ["sample_time=0.002", "limit=[5.0, 0.30000000000000004]", "ramp=1.0"]
        words += ["velocity_filter=40.0", "dtype='float32'", "0.3333333333333333"]
        for option in words:
            assert option in text, (file.name, option)


def test_another_model_has_another_hash(tmp_path):
    def model(mass):
        links = [dy.Link(mass=mass, a=1.0)]
        robot = dy.Robot.from_dh("one", convention="standard", links=links)
        folder = tmp_path / str(mass)
        dy.export_controller(control.JointPID(kp=1.0), robot, folder)
        return re.search("Model ([0-9a-f]+)", (folder / "README.md").read_text())[1]

    assert model(1.0) != model(1.0 + 1e-12)


HOSTILE = [
    '*/ int main(void){return system("rm -rf /");} /*"\n#include <evil>\\\n??/',
    "*\\ int evil(void); /\\* x",
    "???/ ????/ ??/\\",
    "日本 ロボット \u202e é $(shell evil) ${evil} #[[ ]] %s %n",
    "a\r\nb\0c\x1b[0m `evil` | <b>",
    "x" * 500,
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_cannot_inject(tmp_path, name):
    links = [dy.Link(name=name, joint_name=name + "j", mass=1.0, a=1.0)]
    robot = dy.Robot.from_dh(name, convention="standard", links=links)
    files = dy.export_controller(control.JointPID(kp=1.0), robot, tmp_path, trig="own")
    for file in files:
        assert re.fullmatch(r"[A-Za-z0-9_.]+", file.name)
    for file in files:
        if file.suffix not in (".c", ".h", ".hpp"):
            continue
        text = file.read_text()
        assert text.isascii() and "??" not in text
        head = text[: text.index("*/")]
        assert head.count("/*") == 1 and "\\" not in head
        assert not re.search(r"\b(evil|system)\b", text[len(head) :])
    for file in tmp_path.glob("*[Mm]ake*"):
        for line in file.read_text().splitlines():
            assert line.startswith("#") or not re.search(r"\bevil\b", line)
            assert not (line.startswith("#") and line.endswith("\\"))
    script = (tmp_path / "regenerate.py").read_text()
    assert script.isascii()
    for node in ast.walk(ast.parse(script)):
        for word in (v for v in vars(node).values() if isinstance(v, str)):
            safe = re.fullmatch(r"[a-z0-9_]+_robot\.toml", word)
            assert safe or not re.search(r"evil|system", word)
    stem = next(f for f in files if f.suffix == ".h").with_suffix("")
    passes(stem, libm=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_time": 0}, "sample_time is 0, expected seconds above 0"),
        ({"sample_time": INF}, "sample_time is inf"),
        ({"sample_time": "fast"}, "sample_time is 'fast'"),
        ({"ramp": NAN}, "ramp is nan"),
        ({"safe": "zeros"}, "safe is 'zeros'"),
        ({"velocity": "guess"}, "velocity is 'guess'"),
        ({"velocity_filter": 5.0}, "velocity is 'measured'"),
        ({"velocity_filter": -5.0, "velocity": "difference"}, "velocity_filter is -5.0"),
        ({"limit": NAN}, "limit is nan"),
        ({"safe_damping": -1.0}, "safe_damping is -1.0"),
        ({"trig": "mine"}, "trig is 'mine'"),
        ({"sample_time": 0.01}, "the controller's own is 0.005"),
        ({"latch": 0}, "latch is 0"),
        ({"target": "matla"}, "target is 'matla'"),
        ({"target": "fmu", "dtype": "float32"}, "the variables of an FMU are float64"),
        ({"target": "fmu", "trig": "own"}, "trig is 'own', but target 'fmu'"),
        ({"target": "fmu", "fmi": "1.0"}, "fmi is '1.0'"),
        ({"target": "casadi", "dtype": "float32"}, "CasADi computes in float64"),
        ({"target": "matlab", "trig": "own"}, "trig is 'own', but target 'matlab'"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, message):
    robot = dy.load("planar-2link")
    controller = control.JointPID(kp=1.0, sample_time=0.005)
    with pytest.raises(dy.errors.DynamisError, match=re.escape(message)):
        dy.export_controller(controller, robot, tmp_path / "none", **options)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_infinite_limits_and_numpy_numbers(tmp_path, dtype):
    robot = dy.load("planar-2link")
    controller = control.ComputedTorque(kp=np.float64(9.0), kd=6.0, limit=INF)
    law = Law(controller, robot, np.float64(0.005), limit=INF, ramp=1)
    passes(write(law, tmp_path, dtype, "own"), libm=False)


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        (control.JointPID(kp=INF), "kp is inf, expected finite numbers"),
        (control.ComputedTorque(kp=1.0, kd=[1.0, INF]), "kd is [1.0, inf]"),
        (control.MomentumObserver(gain=10.0), "estimates external torques and commands none"),
        (control.SingleJoint(inertia=1.0), "analyses one joint on paper"),
        (3.0, "controller is 3.0"),
    ],
)
def test_what_is_no_controller_of_an_arm_is_refused(tmp_path, controller, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        dy.export_controller(controller, dy.load("planar-2link"), tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("target", ["c", "fmu", "matlab"])
def test_a_folder_that_cannot_be(tmp_path, target):
    (tmp_path / "file").write_text("")
    with pytest.raises(dy.errors.FileError, match="cannot write"):
        dy.export_controller(
            control.JointPID(kp=1.0),
            dy.load("planar-2link"),
            tmp_path / "file" / "x",
            target=target,
        )


@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_a_unit_of_either_standard(tmp_path, fmi):
    (file,) = dy.export_controller(
        control.JointPID(kp=1.0), dy.load("planar-2link"), tmp_path, target="fmu", fmi=fmi
    )
    text = zipfile.ZipFile(file).read("modelDescription.xml").decode()
    assert f'fmiVersion="{fmi}"' in text


def test_unlimited_gains_say_none(tmp_path):
    robot = dy.load("planar-2link")
    dy.export_controller(control.ComputedTorque(1.0, 1.0, limit=[5.0, INF]), robot, tmp_path)
    assert "limit = [5.0, none]" in (tmp_path / "README.md").read_text()
    dy.export_controller(control.ComputedTorque(1.0, 1.0), robot, tmp_path)
    assert "limit = none" in (tmp_path / "README.md").read_text()


def test_the_page_tells_the_protocol(tmp_path):
    robot = dy.load("planar-2link")
    dy.export_controller(control.JointPID(kp=1.0), robot, tmp_path, 0.002, latch=7)
    text = (tmp_path / "README.md").read_text()
    plant = "dynamis plant planar_2link_jointpid_robot.toml --rate 500 --port 5600"
    for words in (plant, "--hold", "7 bad samples in a row", "0x314e5944", "56 bytes in all"):
        assert words in text
    head = (tmp_path / "planar_2link_jointpid.h").read_text()
    assert "SAFE (7 in a row" in head


def test_real_time_is_at_hand():
    from dynamis import realtime

    for name in realtime.__all__:
        assert callable(getattr(realtime, name)), name
    assert realtime.Law is Law
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = realtime.nothing


# long runs in single precision


@pytest.mark.parametrize(
    "motion",
    [
        dy.trajectory.sine([0.0, 0.0], [0.3, 0.2], [0.5, 0.75]),
        dy.trajectory.fourier([[0.1], [0.2]], [[0.2], [0.0]], 4.0),
        dy.trajectory.quintic([0.0, 0.0], [0.5, -0.5], 3.0),
    ],
    ids=["sine", "fourier", "quintic"],
)
def test_time_keeps_its_digits_in_single_precision(motion, tmp_path):
    """Torques of a day's run are those of the law in double."""
    law = Law(dy.control.FeedForward(100.0, 20.0), ARM, 0.001, reference=motion)
    one, whole = Library(law, tmp_path, "float32"), InPython(law)
    rest = np.array([0.1, 0.2]), np.zeros(2)
    one.start(*rest), whole.start(*rest)
    scale = np.abs([whole.step(*rest, (t,))[0] for t in np.linspace(0, 5, 50)]).max()
    for t in (0.0, 2.9, 10.123, 1e3 + 0.1, 86_400.777, 1e6 + 0.25, 3e7 + 1 / 3):
        tau, status = one.step(*rest, (t,))
        assert status == 0
        assert np.abs(tau - whole.step(*rest, (t,))[0]).max() < 2e-5 * scale, t
    for t in (NAN, np.inf, -np.inf, 1e13):
        assert one.step(*rest, (t,))[1] == whole.step(*rest, (t,))[1] == 1
        one.start(*rest), whole.start(*rest)
    assert (one.step(*rest, (-5.0,))[0] == one.step(*rest, (0.0,))[0]).all()


def test_a_motion_that_never_repeats_is_refused_in_single_precision(tmp_path):
    motion = dy.trajectory.sine([0.0, 0.0], [0.3, 0.2], [1.0, 2**0.5])
    with pytest.raises(OptionError, match="time loses its digits"):
        write(Law(dy.control.JointPID(1.0), ARM, 0.001, reference=motion), tmp_path, "float32")
    write(Law(dy.control.JointPID(1.0), ARM, 0.001, reference=motion), tmp_path, "float64")


def test_long_names_keep_the_controllers_apart(tmp_path):
    import dataclasses

    long = dy.Robot(dataclasses.replace(ARM.model, name="r" * 60))
    stems = {
        write(Law(law, long, 0.001), tmp_path).name
        for law in (dy.control.JointPID(1.0), dy.control.PointToPoint(1.0, 1.0))
    }
    assert len(stems) == 2 and all(len(stem) <= 40 for stem in stems)


@pytest.mark.parametrize("flag", ["-ffast-math", "-funsafe-math-optimizations -fno-trapping-math"])
def test_sums_may_not_be_reordered(flag, tmp_path):
    path = write(Law(dy.control.JointPID(1.0), ARM, 0.001), tmp_path)
    done = subprocess.run(
        ["gcc", "-std=c99", "-O2", *flag.split(), "-c", f"{path}.c", "-o", f"{path}.o"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0 and "no fast math" in done.stderr
