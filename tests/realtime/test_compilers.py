"""Generated C with other tools than gcc and make: CMake with ctest, and clang."""

import shutil
import subprocess

import numpy as np
import pytest

import dynamis as dy

STRICT = ["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Wconversion", "-Werror",
          "-pedantic"]  # fmt: skip
KERNELS = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "fk", "jacobian"]
pytestmark = pytest.mark.usefixtures("compiled")  # the run of a self-test
FORMS = [("float64", "libm"), ("float32", "own")]


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")


def controller(folder, dtype="float64", trig="own"):
    """A folder with a controller of a small arm, a trajectory inside."""
    arm = dy.load("pendulum3")
    law = dy.control.ComputedTorque.from_bandwidth(arm, 10.0, integral=True, limit=100.0)
    move = dy.trajectory.quintic(np.zeros(3), 0.3 * np.ones(3), duration=1.0)
    dy.export_controller(arm, law, folder, reference=move, safe="gravity", dtype=dtype, trig=trig)
    return folder


def kernels(folder, dtype="float64"):
    """A folder with kernels of a small arm."""
    dy.load("pendulum3").export(KERNELS, target="c", directory=folder, dtype=dtype)
    return folder


def ran(*words, cwd=None):
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def built_by_cmake(folder, cc):
    """Configured, built without a warning, tested."""
    build = folder / "build"
    ran("cmake", "-S", folder, "-B", build, f"-DCMAKE_C_COMPILER={cc}", "-DCMAKE_C_FLAGS=-Werror")
    ran("cmake", "--build", build)
    said = ran("ctest", "--output-on-failure", cwd=build)
    assert "100% tests passed" in said
    return build


@pytest.mark.thorough
@pytest.mark.parametrize("trig, cc", [("own", "clang"), ("libm", "gcc")])
def test_cmake_builds_a_controller(tmp_path, trig, cc):
    need("cmake", "ctest", "make", cc)
    build = built_by_cmake(controller(tmp_path, trig=trig), cc)
    (loop,) = build.glob("*_loop")
    assert "usage" in ran(loop, "--help")


@pytest.mark.thorough
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_cmake_builds_kernels(tmp_path, cc):
    need("cmake", "ctest", "make", cc)
    built_by_cmake(kernels(tmp_path), cc)


def test_ctest_can_fail(tmp_path):
    need("cmake", "ctest", "make", "gcc")
    for path in kernels(tmp_path).glob("*_test.c"):
        path.write_text(path.read_text().replace("return wrong != 0;", "return wrong == 0;"))
    with pytest.raises(AssertionError, match="0% tests passed"):
        built_by_cmake(tmp_path, "gcc")


@pytest.mark.parametrize(("dtype", "trig"), FORMS)
def test_clang_builds_a_controller(tmp_path, dtype, trig):
    need("clang")
    (test,) = controller(tmp_path, dtype, trig).glob("*_test.c")
    stem = test.name.removesuffix("_test.c")
    libm = ["-lm"] if trig == "libm" else []
    ran("clang", *STRICT, f"{stem}.c", test.name, "-o", "test", *libm, cwd=tmp_path)
    assert "passed" in ran(tmp_path / "test")
    ran("clang", *STRICT, f"{stem}.c", f"{stem}_loop.c", "-o", "loop", *libm, cwd=tmp_path)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_clang_builds_kernels(tmp_path, dtype):
    need("clang")
    (test,) = kernels(tmp_path, dtype).glob("*_test.c")
    source = test.name.replace("_test.c", ".c")
    ran("clang", *STRICT, source, test.name, "-o", "test", "-lm", cwd=tmp_path)
    assert "passed" in ran(tmp_path / "test")
