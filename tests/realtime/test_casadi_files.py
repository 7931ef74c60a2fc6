"""CasADi function files: load back, agree with NumPy, can be differentiated."""

import re
import runpy

import casadi as ca
import numpy as np
import pytest

import dynamis as dy
from dynamis.compile.interpreter import interpret
from dynamis.compile.ops import OPS
from dynamis.errors import OptionError
from dynamis.export.casadi_folder import function
from dynamis.realtime import Law
from dynamis.realtime.c_text import recorded, sample_rows

from ..every_op import every_op

ROUNDING = 1e-12
KERNELS = ["inverse_dynamics", "mass_matrix", "frames", "kinetic_energy"]


def test_files_load_and_agree(tmp_path):
    robot = dy.load("puma560")
    files = robot.export(KERNELS, target="casadi", directory=tmp_path)
    assert {f.name for f in files} == {p.name for p in tmp_path.iterdir()}
    loaded = runpy.run_path(str(tmp_path / "puma560_load.py"))["FUNCTIONS"]
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 6))
    for name, arguments, expected in (
        ("inverse_dynamics", (q, qd, qdd), robot.inverse_dynamics(q, qd, qdd)[:, None]),
        ("mass_matrix", (q,), robot.mass_matrix(q)),
        ("frames", (q,), robot.frames(q).reshape(-1, 4)),
        ("kinetic_energy", (q, qd), np.reshape(robot.kinetic_energy(q, qd), (1, 1))),
    ):
        got = np.array(loaded[f"puma560_{name}"](*arguments))
        scale = np.abs(expected).max()
        np.testing.assert_allclose(got, expected, atol=ROUNDING * scale)


def test_a_loaded_function_can_be_differentiated(tmp_path):
    robot = dy.load("planar-rr")
    robot.export("inverse_dynamics", target="casadi", directory=tmp_path)
    f = ca.Function.load(str(tmp_path / "planar_rr_inverse_dynamics.casadi"))
    x = ca.SX.sym("x", 2)
    q, qd = np.array([0.3, 0.4]), np.array([0.1, 0.2])
    M = ca.Function("M", [x], [ca.jacobian(f(q, qd, x), x)])(np.zeros(2))
    np.testing.assert_allclose(np.array(M), robot.mass_matrix(q), atol=ROUNDING)


def test_every_op_in_casadi():
    program = every_op()
    f = function(program, "every_op")
    for x in ([0.3, 0.7, 0.9], [-0.3, -0.7, 0.2], [0.5, 0.5, 0.0]):
        expected = interpret(program, [np.array(x)])[0]
        got = np.array(f(x)).ravel()
        for name, a, b in zip(OPS, got, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=ROUNDING, err_msg=name)


def test_the_same_input_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        dy.load("planar-rr").export(KERNELS, target="casadi", directory=tmp_path / name)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_hostile_names_and_single_precision(tmp_path):
    hostile = '"""\nimport os; os.system("x")\n#'
    links = [dy.Link(name=hostile, joint_name=hostile, mass=1.0, a=1.0)]
    robot = dy.Robot.from_dh(hostile, convention="standard", links=links)
    files = robot.export("gravity_torque", target="casadi", directory=tmp_path)
    loader = next(f for f in files if f.suffix == ".py")
    code = [line.partition("#")[0] for line in loader.read_text().splitlines()]
    assert "os.system" not in "".join(code)
    assert len(runpy.run_path(str(loader))["FUNCTIONS"]) == 1
    with pytest.raises(OptionError, match="CasADi computes in float64"):
        robot.export("fk", target="casadi", directory=tmp_path, dtype="float32")


def test_the_loader_says_where_the_functions_come_from(tmp_path):
    files = dy.load("planar-rr").export(KERNELS, target="casadi", directory=tmp_path)
    text = next(f for f in files if f.suffix == ".py").read_text()
    assert f"dynamis {dy.__version__}" in text and re.search("Model [0-9a-f]{16}", text)
    for name in KERNELS:
        assert re.search(f"Program {name} [0-9a-f]{{16}}", text)
    assert "--target casadi --dtype float64 --optimise speed" in text


@pytest.mark.parametrize("inside", [False, True])
def test_a_controller_in_casadi(tmp_path, inside):
    robot = dy.load("stanford")
    plan = dy.trajectory.quintic([0.4] * 6, np.linspace(0.5, 0.8, 6), 0.1) if inside else None
    inner = dy.control.ComputedTorque.from_bandwidth(robot, 8.0, integral=True)
    law = Law(inner, robot, 0.005, plan, limit=60.0)
    dy.export_controller(robot, inner, tmp_path, reference=plan, limit=60.0, target="casadi")
    stem = "stanford_computedtorque"
    loaded = runpy.run_path(str(tmp_path / f"{stem}_load.py"))["FUNCTIONS"]
    init, step = loaded[f"{stem}_init"], loaded[f"{stem}_step"]
    q, qd, wanted, _ = sample_rows(law, 30)
    x, got = init(q[0], qd[0]), []
    for place, speed, row in zip(q, qd, wanted, strict=True):
        tau, x, status = step(x, place, speed, row)
        assert float(status) == 0.0
        got.append(np.array(tau).ravel())
    expected = recorded(law, q, qd, wanted)
    most = np.abs(expected).max(0)
    assert (np.abs(got - expected).max(0) <= ROUNDING * most).all()
    tau, x, status = step(x, np.full(6, np.nan), qd[0], wanted[0])
    assert float(status) == 1.0 and (np.array(tau) == 0.0).all()
    assert np.isfinite(np.array(x)).all()
