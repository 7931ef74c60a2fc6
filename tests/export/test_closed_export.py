"""Kernels of closed mechanisms in C, C++, MATLAB, CasADi and PTX: values, and NaN where open."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from dynamis.errors import OptionError
from tests.thorough import thorough_but

from ..closed_mechanisms import five_bar, motions, random_loops, states_near
from .test_export import FLAGS, build_and_run, cc

__all__ = ["cc"]  # the fixture
R = "revolute"
KERNELS = {  # arguments
    "inverse_dynamics": ("q", "qd", "qdd"),
    "inverse_dynamics:wrench": ("q", "qd", "qdd", "wrench"),
    "forward_dynamics": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "regressor": ("q", "qd", "qdd"),
    "coriolis_matrix": ("q", "qd"),
    "gravity_torque": ("q",),
    "joint_rates": ("q", "v"),
    "joint_accelerations": ("q", "qd", "a"),
    "closure_error": ("q",),
    "closure_jacobian": ("q",),
    "closure_status": ("q",),
    "drive_jacobian": ("q",),
    "constraint_forces": ("q", "qd", "qdd"),
    "joint_reactions": ("q", "qd", "qdd"),
    "closure_reactions": ("q", "qd", "qdd"),
    "inverse_dynamics_derivatives": ("q", "qd", "qdd"),
    "forward_dynamics_derivatives": ("q", "qd", "tau"),
    "inverse_dynamics_derivatives:wrench": ("q", "qd", "qdd", "wrench"),
    "forward_dynamics_derivatives:wrench": ("q", "qd", "tau", "wrench"),
}
ALWAYS = ("closure_error", "closure_jacobian", "closure_status")  # numbers where q is open, too
SPATIAL = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "joint_rates", "closure_status")


def spatial():
    return random_loops([R] * 6, [-1, 0, 1, -1, 3, 4], [("pin", 2, 5)], 4)


def values(robot):
    """Four states that close."""
    home = "home" in robot.configurations
    q, qd, qdd, v, a = states_near(robot, 4, condition=300.0) if home else motions(robot, 4)
    rng = np.random.default_rng(2)
    return {
        "q": q, "qd": qd, "qdd": qdd, "v": v, "a": a, "tau": rng.normal(size=q.shape),
        "wrench": rng.normal(size=(len(q), 6)),
    }  # fmt: skip


def asked(robot, name, given):
    """What Python says: the results one after the other, flat."""
    method, *words = name.split(":")
    rows = [given[x] for x in KERNELS[name]]
    plain, more = rows[: len(rows) - len(words)], rows[len(rows) - len(words) :]
    found = getattr(robot, method)(*plain, **dict(zip(words, more, strict=True)))
    parts = found if isinstance(found, tuple) else (found,)
    return [np.reshape(x, (len(given["q"]), -1)) for x in parts]


def in_c(library, stem, name, given, sizes):
    """What the C function writes."""
    function = getattr(library, f"{stem}_{name.replace(':', '_')}")
    double = ctypes.POINTER(ctypes.c_double)
    found = [np.zeros((len(given["q"]), size)) for size in sizes]
    for k in range(len(given["q"])):
        rows = [np.ascontiguousarray(given[x][k]) for x in KERNELS[name]]
        function(*(x.ctypes.data_as(double) for x in (*rows, *(y[k] for y in found))))
    return found


@pytest.mark.parametrize("make", thorough_but([five_bar], [five_bar, spatial]))
def test_c_has_the_values_of_python_and_nan_where_loops_are_open(cc, tmp_path, make):
    robot = make()
    names = list(KERNELS) if make is five_bar else list(SPATIAL)
    robot.export(names, directory=tmp_path)
    assert build_and_run(cc, tmp_path).stdout.strip() == "passed"
    stem = "five" if make is five_bar else "random"
    command = [*cc, *FLAGS, "-ffp-contract=off", "-shared", "-fPIC", f"{stem}.c", "-lm"]
    subprocess.run([*command, "-o", "arm.so"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "arm.so"))
    given = values(robot)
    opened = {**given, "q": given["q"] + 0.05}
    for name in names:
        expected = asked(robot, name, given)
        sizes = [x.shape[1] for x in expected]
        for a, b in zip(in_c(library, stem, name, given, sizes), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11 * max(1.0, np.abs(b).max()))
        found = in_c(library, stem, name, opened, sizes)
        if name in ALWAYS:
            assert all(np.isfinite(x).all() for x in found)
        elif name.startswith("inverse_dynamics") and "derivatives" not in name:
            (tau,) = found
            assert np.isnan(tau[:, list(robot.active)]).all()
        elif name == "regressor":
            assert np.isnan(found[0].reshape(len(opened["q"]), robot.n, -1)[:, robot.active]).all()
        elif name == "constraint_forces":
            assert np.isnan(found[0][:, list(robot.chain.mobility.rows)]).all()
        else:
            assert all(np.isnan(x).all() for x in found), name
    (status,) = in_c(library, stem, "closure_status", opened, [1])
    assert (status == 2.0).all()


def test_the_self_test_holds_a_state_that_is_open(cc, tmp_path):
    five_bar().export(["mass_matrix", "closure_status"], directory=tmp_path)
    text = (tmp_path / "five_test.c").read_text()
    assert "NAN" in text
    header = (tmp_path / "five.h").read_text()
    for words in ("results are NaN", "closure_status(q) is 0", "Drives: joint1, joint3"):
        assert words in header
    source = tmp_path / "five.c"
    source.write_text(source.read_text().replace("NAN", "1.0"))
    assert build_and_run(cc, tmp_path).returncode == 1


def test_single_precision_needs_limits_it_resolves(cc, tmp_path):
    robot = five_bar()
    names = ["inverse_dynamics", "forward_dynamics", "closure_status"]
    with pytest.raises(OptionError, match="which float32 does not resolve"):
        robot.export(names, directory=tmp_path, dtype="float32")
    coarse = robot.with_closure_limits(tolerance=1e-4, condition=1e3)
    coarse.export(names, directory=tmp_path, dtype="float32")
    assert build_and_run(cc, tmp_path).stdout.strip() == "passed"


def test_octave_passes_its_own_test(tmp_path):
    if not shutil.which("octave-cli"):
        pytest.skip("needs GNU Octave")
    five_bar().export(list(SPATIAL), target="matlab", directory=tmp_path)
    command = ["octave-cli", "--no-gui", "--quiet", "five_test.m"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "passed"


@pytest.mark.thorough
def test_casadi_has_the_values_of_python(tmp_path):
    import casadi as ca

    robot = five_bar()
    given = values(robot)
    robot.export(list(KERNELS), target="casadi", directory=tmp_path)
    for name, arguments in KERNELS.items():
        stem = f"five_{name.replace(':', '_')}"
        for made in (robot.casadi(name), ca.Function.load(str(tmp_path / f"{stem}.casadi"))):
            found = made(*(given[x][0] for x in arguments))
            found = found if isinstance(found, tuple) else (found,)
            for a, b in zip(found, asked(robot, name, given), strict=True):
                got = np.array(a).ravel()
                np.testing.assert_allclose(got, b[0], rtol=1e-10, atol=1e-11 * (1.0 + abs(b).max()))
    open_ = robot.casadi("mass_matrix")(given["q"][0] + 0.05)
    assert np.isnan(np.array(open_)).all()


def test_ptx_is_written_without_a_gpu(tmp_path):
    files = five_bar().export(list(SPATIAL), target="ptx", directory=tmp_path)
    texts = [f.read_text() for f in files if f.suffix == ".ptx"]
    assert len(texts) == len(SPATIAL) and all("results are NaN" in text for text in texts)
