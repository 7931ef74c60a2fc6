"""Generated C: compiles without a warning, tests itself, and cannot be injected."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import dynamis as dy
from dynamis.export.c_folder import folder
from dynamis.export.c_function import comment, identifier

from ..dynamics.test_load_friction import rubbing
from ..dynamics.test_temperature import thermal
from ..every_op import every_op
from ..random_robots import states

FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-pedantic"]


@pytest.fixture(scope="module")
def cc():
    """The system's C compiler, else zig's."""
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    pytest.importorskip("ziglang", reason="no C compiler and no ziglang package")
    return [sys.executable, "-m", "ziglang", "cc"]


def build_and_run(cc, path, *flags):
    sources = sorted(str(f) for f in path.glob("*.c"))
    subprocess.run([*cc, *FLAGS, *flags, *sources, "-lm", "-o", str(path / "t")], check=True)
    return subprocess.run([str(path / "t")], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["puma560", "rppr", "stanford"])
def test_export_compiles_and_passes(cc, tmp_path, name, dtype):
    kernels = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "fk", "jacobian"]
    files = dy.load(name).export(kernels, target="c", directory=tmp_path, dtype=dtype)
    assert {f.name for f in files} == {p.name for p in tmp_path.iterdir()}
    assert sum("int main(" in f.read_text() for f in tmp_path.glob("*.c")) == 1
    done = build_and_run(cc, tmp_path, *(["-O2"] if name == "rppr" else []))
    assert done.stdout.strip() == "passed" and done.returncode == 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_friction_under_load_and_by_temperature_is_exported(cc, tmp_path, dtype):
    arm = thermal(rubbing(dy.load("puma560"), load=0.1), viscous=(2.0, 5.0), load=0.1)
    kernels = ["inverse_dynamics", "forward_dynamics", "inverse_dynamics:temperature"]
    arm.export([*kernels, "load_friction"], directory=tmp_path, dtype=dtype)
    assert build_and_run(cc, tmp_path).stdout.strip() == "passed"


def test_a_function_of_casadi_takes_a_wrench():
    robot, wrench = dy.load("rppr"), np.arange(6.0)
    q, qd, x = states(robot)
    found = robot.casadi("forward_dynamics", wrench=True)(q, qd, x, wrench)
    np.testing.assert_allclose(found, robot.forward_dynamics(q, qd, x, wrench=wrench)[:, None])
    both = robot.casadi("inverse_dynamics:link_forces", wrench=True)
    assert both.name_in() == ["q", "qd", "qdd", "wrench", "link_forces"]
    with pytest.raises(dy.errors.OptionError, match="kernel 'fk' got q, wrench, expected q"):
        robot.casadi("fk", wrench=True)


@pytest.mark.parametrize("target", ["c", "matlab", "casadi"])
def test_forces_on_links_are_exported(cc, tmp_path, target):
    kernels = ["inverse_dynamics:link_forces", "forward_dynamics:wrench:link_forces"]
    kernels += ["joint_reactions", "joint_reactions:wrench"]
    kernels += ["inverse_dynamics:base_motion", "forward_dynamics:wrench:base_motion"]
    robot = dy.load("rppr")
    files = robot.export(kernels, target=target, directory=tmp_path)
    assert any("link_forces are such a wrench of every link" in f.read_text() for f in files)
    assert any("base_motion is the angular velocity" in f.read_text() for f in files)
    if target == "c":
        assert build_and_run(cc, tmp_path).stdout.strip() == "passed"
    q, qd, x = states(robot)
    forces = np.arange(24.0).reshape(4, 6)
    tau = robot.casadi("inverse_dynamics:link_forces")(q, qd, x, forces.ravel())
    expected = robot.inverse_dynamics(q, qd, x, link_forces=forces)
    np.testing.assert_allclose(np.ravel(tau), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_op_in_c(cc, tmp_path, dtype):
    for name, text in folder("ops", {"every_op": every_op()}, ["every operation"], dtype).items():
        (tmp_path / name).write_text(text)
    # random inputs lie in [-1, 1]: sqrt, log and pow of a negative number are NaN on both sides
    assert "NAN" in (tmp_path / "ops_test.c").read_text()
    done = build_and_run(cc, tmp_path)
    assert done.stdout.strip() == "passed", done.stdout


def test_the_self_test_can_fail(cc, tmp_path):
    dy.load("planar-rr").export("inverse_dynamics", directory=tmp_path)
    source = tmp_path / "planar_rr.c"
    text = source.read_text()
    source.write_text(re.sub(r"tau_out\[0\] = (\w+);", r"tau_out[0] = \1 + 1e-6;", text))
    done = build_and_run(cc, tmp_path)
    assert done.returncode == 1 and "FAILED" in done.stdout and "differs by 1e-06" in done.stdout


def test_make_builds_it(cc, tmp_path):
    if not shutil.which("make") or cc != ["cc"]:
        pytest.skip("needs make and cc")
    dy.load("planar-rr").export(["inverse_dynamics", "fk"], directory=tmp_path)
    done = subprocess.run(["make"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "passed" in done.stdout


@pytest.mark.parametrize("way", ["speed", "operations", "nothing"])
def test_operation_count_can_be_counted_in_the_code(tmp_path, way):
    robot = dy.load("puma560")
    robot.export("inverse_dynamics", directory=tmp_path, optimise=way)
    code = (tmp_path / "puma560.c").read_text().split("{", 1)[1]
    lines = [line.split("=", 1)[1] for line in code.splitlines() if "const double v" in line]
    plain = [re.sub(r"e[-+]\d+|\(-[\d.]+\)", "", line) for line in lines]
    cost = robot.cost("inverse_dynamics", optimise=way)
    assert sum(" * " in line for line in plain) == cost.mul
    assert sum(" + " in line or " - " in line for line in plain) == cost.add
    assert sum("sin(" in line or "cos(" in line for line in plain) == cost.trig


def test_the_same_input_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        dy.load("puma560").export("inverse_dynamics", directory=tmp_path / name)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


HOSTILE = '*/ int main(void){return system("rm -rf /");} /*"\n#include <evil>\\\n??/'


def test_hostile_names_cannot_inject(cc, tmp_path):
    links = [dy.Link(name=HOSTILE, joint_name=HOSTILE + "j", mass=1.0, a=1.0)]
    robot = dy.Robot.from_dh(HOSTILE, convention="standard", links=links)
    robot.export("inverse_dynamics", directory=tmp_path)
    for file in tmp_path.iterdir():
        assert re.fullmatch(r"[A-Za-z0-9_.]+", file.name)
    text = "".join(f.read_text() for f in tmp_path.glob("*.[ch]"))
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    assert code.count("main(") == 1
    assert "evil>" not in code and "system(" not in code
    assert build_and_run(cc, tmp_path).stdout.strip() == "passed"


def test_identifiers():
    assert identifier("puma560-mdh") == "puma560_mdh"
    assert identifier("2 link") == "robot_2_link"
    assert identifier("double") == "double_"
    assert identifier("日本") == "robot"
    assert len(identifier("x" * 500)) <= 41
    assert "*/" not in comment("a */ b") and "\n" not in comment("a\nb")


def test_bad_exports(tmp_path):
    robot = dy.load("planar-rr")
    with pytest.raises(dy.errors.OptionError, match="target 'cpp' does not exist"):
        robot.export("inverse_dynamics", target="cpp", directory=tmp_path)
    with pytest.raises(dy.errors.OptionError, match="did you mean 'inverse_dynamics'"):
        robot.export("inverse_dynamic", directory=tmp_path)
    with pytest.raises(dy.errors.OptionError, match="no kernel was named"):
        robot.export([], directory=tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(dy.errors.FileError, match="cannot write"):
        robot.export("inverse_dynamics", directory=blocked / "below")
    assert list(tmp_path.iterdir()) == [blocked]
