"""Generated MATLAB functions, run in GNU Octave: the numbers of NumPy, and nothing injected."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import dynamis as dy
from dynamis.export.matlab_folder import LONGEST, literal, matlab_folder
from dynamis.realtime import Law
from dynamis.realtime.c_text import recorded, sample_rows

from ..every_op import every_op

ROUNDING = 1e-12  # of the largest entry: one evaluation in another order of operations
KERNELS = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "fk", "frames", "kinetic_energy"]


@pytest.fixture(scope="module")
def octave():
    name = shutil.which("octave-cli")
    if name is None:
        pytest.skip("GNU Octave is not installed (apt-get install octave)")

    def run(folder, code):
        command = [name, "--norc", "--no-history", "--quiet", "--eval", code]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    return run


def printed(folder, octave, call, size):
    """Entries of what a call returns, in Octave's order."""
    code, out, err = octave(folder, f"x = {call}; fprintf('%.17g\\n', x(:)); disp(size(x));")
    assert code == 0, err
    rows = out.splitlines()
    assert rows[-1].split() == [str(s) for s in size]
    return np.array(rows[:-1], dtype=float)


def column(values):
    return "[" + "; ".join(literal(float(v)) for v in values) + "]"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["puma560", "rppr"])
def test_the_self_test_passes(octave, tmp_path, name, dtype):
    files = dy.load(name).export(KERNELS, target="matlab", directory=tmp_path, dtype=dtype)
    assert {f.name for f in files} == {p.name for p in tmp_path.iterdir()}
    assert len(files) == len(KERNELS) + 2
    assert octave(tmp_path, f"{name}_test") == (0, "passed", "")


def test_the_self_test_can_fail(octave, tmp_path):
    dy.load("planar-rr").export("inverse_dynamics", target="matlab", directory=tmp_path)
    file = tmp_path / "planar_rr_inverse_dynamics.m"
    file.write_text(re.sub(r"tau\(1\) = (\w+);", r"tau(1) = \1 + 1e-6;", file.read_text()))
    code, out, err = octave(tmp_path, "planar_rr_test")
    assert code == 1 and "differs by 1e-06" in out and "FAILED" in err


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_op_in_octave(octave, tmp_path, dtype):
    # inputs lie in [-1, 1]: sqrt, log and pow of a negative number are NaN, never complex
    for name, text in matlab_folder("ops", {"every_op": every_op()}, ["ops"], dtype).items():
        (tmp_path / name).write_text(text)
    assert "NaN" in (tmp_path / "ops_test.m").read_text()
    assert octave(tmp_path, "ops_test") == (0, "passed", "")


@pytest.mark.parametrize("bad", [0, 1])
def test_nan_passes_through_min_and_max(octave, tmp_path, bad):
    program = every_op()
    for name, text in matlab_folder("ops", {"every_op": program}, [], "float64").items():
        (tmp_path / name).write_text(text)
    x = [0.3, 0.4, 0.5]
    x[bad] = np.nan
    from dynamis.compile.interpreter import interpret

    expected = interpret(program, [np.array(x)])[0]
    got = printed(tmp_path, octave, f"ops_every_op({column(x)})", (expected.size, 1))
    np.testing.assert_allclose(got, expected, rtol=ROUNDING)


def test_numbers_and_shapes_are_those_of_numpy(octave, tmp_path):
    robot = dy.load("puma560")
    robot.export(KERNELS, target="matlab", directory=tmp_path)
    q, qd, qdd = np.random.default_rng(3).normal(size=(3, 6))
    a, b, c = column(q), column(qd), column(qdd)
    T = robot.frames(q)
    for call, expected in (
        (f"puma560_inverse_dynamics({a}, {b}, {c})", robot.inverse_dynamics(q, qd, qdd)[:, None]),
        (f"puma560_inverse_dynamics({a}.', {b}, {c})", robot.inverse_dynamics(q, qd, qdd)[:, None]),
        (f"puma560_mass_matrix({a})", robot.mass_matrix(q)),
        (f"puma560_fk({a})", robot.fk(q)),
        (f"puma560_frames({a})", np.moveaxis(T, 0, 2)),
        (f"puma560_kinetic_energy({a}, {b})", np.reshape(robot.kinetic_energy(q, qd), (1, 1))),
    ):
        got = printed(tmp_path, octave, call, expected.shape)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(got, expected.ravel(order="F"), atol=ROUNDING * scale)


HOSTILE = "x'); system('touch owned'); %{\n}\nend\nsystem('touch owned')\n...\\"


def test_hostile_names_cannot_inject(octave, tmp_path):
    links = [dy.Link(name=HOSTILE, joint_name=HOSTILE + "j", mass=1.0, a=1.0)]
    robot = dy.Robot.from_dh(HOSTILE, convention="standard", links=links)
    for file in robot.export("inverse_dynamics", target="matlab", directory=tmp_path):
        if file.suffix == ".toml":
            continue
        assert re.fullmatch(r"[a-z][a-z0-9_]*\.m", file.name)
        code = [line.partition("%")[0] for line in file.read_text().splitlines()]
        assert "system(" not in "".join(code)
    test = next(tmp_path.glob("*_test.m")).stem
    assert octave(tmp_path, test) == (0, "passed", "")
    assert not (tmp_path / "owned").exists()


def test_names_are_as_long_as_matlab_reads(tmp_path):
    links = [dy.Link(mass=1.0, a=1.0)]
    robot = dy.Robot.from_dh("r" * 200, convention="standard", links=links)
    names = ["inverse_dynamics_derivatives:column", "fk"]
    for file in robot.export(names, target="matlab", directory=tmp_path):
        assert len(file.stem) <= LONGEST
        if file.suffix == ".m" and not file.stem.endswith("_test"):
            assert re.search(rf"= {file.stem}\(", file.read_text().splitlines()[0])


def test_the_same_input_gives_the_same_bytes(tmp_path):
    robot = dy.load("stanford")
    for name in ("a", "b"):
        robot.export(KERNELS, target="matlab", directory=tmp_path / name)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


# controllers


def rows_of(name, values):
    """A matrix with a sample a row."""
    lines = "; ".join(" ".join(literal(float(x)) for x in row) for row in values)
    return f"{name} = [{lines}];\n"


@pytest.mark.parametrize("inside", [False, True])
def test_a_controller_in_octave(octave, tmp_path, inside):
    robot = dy.load("stanford")
    plan = dy.trajectory.quintic([0.4] * 6, np.linspace(0.5, 0.8, 6), 0.1) if inside else None
    inner = dy.control.ComputedTorque.from_bandwidth(robot, 8.0, integral=True)
    law = Law(inner, robot, 0.005, plan, limit=60.0, velocity="difference")
    files = dy.export_controller(
        robot, inner, tmp_path, reference=plan, limit=60.0, velocity="difference", target="matlab"
    )
    stem = "stanford_computedtorque"
    assert {f"{stem}_init.m", f"{stem}_step.m", f"{stem}_test.m"} <= {f.name for f in files}
    assert octave(tmp_path, f"{stem}_test") == (0, "passed", "")
    q, qd, wanted, _ = sample_rows(law, 30)
    given = "w(k, 1)" if inside else "reshape(w(k, :), 6, 3).'"
    code = rows_of("q", q) + rows_of("qd", qd) + rows_of("w", wanted)
    code += f"""x = {stem}_init(q(1, :), qd(1, :));
for k = 1:30
    [tau, x, status] = {stem}_step(x, q(k, :), qd(k, :), {given});
    fprintf('%.17g\\n', tau, status);
end
[tau, x, status] = {stem}_step(x, NaN(6, 1), qd(1, :), {given});
fprintf('%.17g\\n', tau, status);
"""
    (tmp_path / "replay.m").write_text(code)
    done, out, err = octave(tmp_path, "replay")
    assert done == 0, err
    got = np.array(out.split(), float).reshape(31, 7)
    expected = recorded(law, q, qd, wanted)
    most = np.abs(expected).max(0)
    assert (np.abs(got[:30, :6] - expected).max(0) <= ROUNDING * most).all()
    assert (got[:30, 6] == 0).all()
    assert (got[30] == [0, 0, 0, 0, 0, 0, 1]).all()  # a bad sample: the safe torque
