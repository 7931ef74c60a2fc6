"""The C++ header over the generated C: strict warnings, NumPy's numbers, no reserved words."""

import shutil
import subprocess

import numpy as np
import pytest

import dynamis as dy
from dynamis.export.c_function import PRECISIONS, literal
from dynamis.realtime import Law
from dynamis.realtime.c_text import recorded, sample_rows

WARNINGS = ["-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
ROUNDING = {"float64": 1e-12, "float32": 1e-4}  # of the largest entry


@pytest.fixture(scope="module")
def compilers():
    found = [next((c for c in k if shutil.which(c)), None) for k in (("cc", "gcc"), ("c++", "g++"))]
    if None in found:
        pytest.skip("no C++ compiler (apt-get install g++)")
    return found


def printed(compilers, folder, stem, main):
    """Numbers that a program over the header prints."""
    cc, cxx = compilers
    (folder / "main.cpp").write_text(f'#include "{stem}.hpp"\n#include <cstdio>\n{main}')
    commands = [
        [cc, "-std=c99", *WARNINGS, "-c", f"{stem}.c", "-o", "c.o"],
        [cxx, "-std=c++17", *WARNINGS, "-fno-exceptions", "-c", "main.cpp", "-o", "main.o"],
        [cxx, "c.o", "main.o", "-lm", "-o", "t"],
    ]
    for command in commands:
        subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([str(folder / "t")], capture_output=True, text=True, check=True)
    return np.array(done.stdout.split(), dtype=float)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_are_those_of_numpy(compilers, tmp_path, dtype):
    robot = dy.load("puma560")
    names = ["inverse_dynamics", "mass_matrix", "inverse_dynamics_derivatives"]
    robot.export(names, directory=tmp_path, dtype=dtype)
    q, qd, qdd = np.random.default_rng(4).uniform(-1, 1, (3, 6)).astype(dtype).astype(float)
    T = PRECISIONS[dtype]

    def array(name, row):
        values = ", ".join(literal(float(x), T) for x in row)
        return f"    const std::array<{T.type}, 6> {name}{{{values}}};\n"

    show = '    for (const auto x : {}) std::printf("%.17g\\n", static_cast<double>(x));\n'
    space = "dynamis::puma560"
    main = "int main() {\n" + array("q", q) + array("qd", qd) + array("qdd", qdd)
    main += show.format(f"{space}::inverse_dynamics(q, qd, qdd)")
    main += show.format(f"{space}::mass_matrix(q)")
    main += f"    const auto d = {space}::inverse_dynamics_derivatives(q, qd, qdd);\n"
    main += (
        show.format("d.dtau_dq") + show.format("d.dtau_dqd") + show.format("d.dtau_dqdd") + "}\n"
    )
    got = printed(compilers, tmp_path, "puma560", main)
    derivatives = robot.kernel("inverse_dynamics_derivatives")(q, qd, qdd)
    parts = [robot.inverse_dynamics(q, qd, qdd), robot.mass_matrix(q), *derivatives]
    expected = np.concatenate([np.ravel(p) for p in parts])
    np.testing.assert_allclose(got, expected, atol=ROUNDING[dtype] * np.abs(expected).max())


@pytest.mark.parametrize(
    "name", ["std", "class", "namespace", "printf", "errno", "*/ }; #error\n", "dynamis"]
)
def test_any_name_compiles(compilers, tmp_path, name):
    links = [dy.Link(name=name, joint_name=name, mass=1.0, a=1.0)]
    robot = dy.Robot.from_dh(name, convention="standard", links=links)
    files = robot.export(["gravity_torque", "fk"], directory=tmp_path)
    stem = next(f.stem for f in files if f.suffix == ".hpp")
    from dynamis.export.c_folder import namespace

    main = f"""int main() {{
    const auto g = dynamis::{namespace(stem)}::gravity_torque({{0.3}});
    std::printf("%.17g\\n", g[0]);
}}
"""
    got = printed(compilers, tmp_path, stem, main)
    np.testing.assert_allclose(got, robot.gravity_torque([0.3]), rtol=1e-12)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_controller_is_a_class(compilers, tmp_path, dtype, inside):
    robot = dy.load("planar-2link")
    plan = dy.trajectory.sine(0.1, [0.3, 0.2], 0.7) if inside else None
    inner = dy.control.ComputedTorque.from_bandwidth(robot, 8.0, integral=True)
    dy.export_controller(robot, inner, tmp_path, reference=plan, dtype=dtype)
    law, T = Law(inner, robot, 0.005, plan), PRECISIONS[dtype]
    rows = [np.asarray(r, dtype).astype(float) for r in sample_rows(law, 4)[:3]]

    def text(values):
        return "{" + ", ".join(literal(float(x), T) for x in values) + "}"

    space, calls = "dynamis::planar_2link_computedtorque", ""
    for q, qd, wanted in zip(*rows, strict=True):
        given = literal(wanted[0], T) if inside else ", ".join(map(text, wanted.reshape(3, 2)))
        calls += f"    if (law.step({text(q)}, {text(qd)}, {given}, torque) != 0) return 1;\n"
        calls += (
            '    for (const auto x : torque) std::printf("%.17g\\n", static_cast<double>(x));\n'
        )
    main = f"""int main() {{
    {space}::controller law({text(rows[0][0])}, {text(rows[1][0])});
    {space}::controller::vector torque{{}};
{calls}    return law.joints == 2 ? 0 : 1;
}}
"""
    got = printed(compilers, tmp_path, "planar_2link_computedtorque", main).reshape(4, 2)
    expected = recorded(law, *rows)
    assert np.abs(got - expected).max() <= ROUNDING[dtype] * np.abs(expected).max()
