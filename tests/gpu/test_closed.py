"""Closed mechanisms on a GPU: the bits of the processor, kernels and ensembles."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile.arrays import run
from dynamis.compile.function import kernel_function
from dynamis.compile.kernels import KERNELS

from .test_kernels import COUNT, on_gpu, same_bits

pytestmark = pytest.mark.usefixtures("compiled")
ROWS = {row.name: row for given in KERNELS.values() for row in given.rows()}
CLOSED = [n for n, row in ROWS.items() if row.serves(closed=True) and not row.internal]


def samples(robot, count):
    """Configurations that close, and rates and accelerations of drives, about home."""
    rng = np.random.default_rng(4)
    size = np.where([kind == "revolute" for kind in robot.joint_kinds], 0.1, 0.02)
    q = robot.project(robot.home + rng.uniform(-1, 1, (count, robot.n)) * size)
    qd = robot.joint_rates(q, rng.normal(size=(count, robot.dof)))
    qdd = robot.joint_accelerations(q, qd, rng.normal(size=(count, robot.dof)))
    return {"q": q, "qd": qd, "qdd": qdd}, rng


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CLOSED)
def test_every_kernel_of_the_five_bar(name, dtype):
    compared(dy.load("five-bar"), name, dtype)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
@pytest.mark.parametrize("robot", ["delta", "3-rps", "palletizer", "gough-stewart"])
def test_mechanisms(robot, name):
    compared(dy.load(robot), name, "float64")


def compared(robot, name, dtype):
    function = kernel_function(ROWS[name], robot.model)
    known, rng = samples(robot, COUNT)
    given = []
    for port in function.inputs:
        values = known.get(port.name)
        if values is None:
            values = rng.normal(size=(COUNT, *port.shape))
        given.append(np.ascontiguousarray(values, dtype).reshape(COUNT, *port.shape))
    expected = run(function.code(dtype), given, [p.name for p in function.inputs])
    expected = expected if isinstance(expected, tuple) else (expected,)
    for a, b in zip(on_gpu(function, given, dtype), expected, strict=True):
        same_bits(a, np.asarray(b))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("robot", ["five-bar", "delta", "3-rps"])
def test_ensembles(robot, dtype):
    robot = dy.load(robot)
    known, _ = samples(robot, 37)
    given = {"q0": known["q"], "save_every": 20, "dtype": dtype, "project": True}
    same_ensembles(robot, given)


def test_ensembles_of_drives_with_memory():
    memory = dy.Memory((1e-3, 1e-2), (0.4, 0.6))
    robot = dy.load("five-bar")
    for k in robot.active:
        robot = robot.with_link(k, friction=dy.Friction(viscous=0.3, coulomb=0.2, memory=memory))
    given = {"q0": samples(robot, 37)[0]["q"], "save_every": 20, "project": True}
    same_ensembles(robot, given)


def same_ensembles(robot, given):
    a = dy.simulate(robot, 0.2, device="cuda", **given)
    b = dy.simulate(robot, 0.2, **given)
    for name in ("q", "qd", "tau"):
        x, y = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        assert np.array_equal(x, y, equal_nan=True), (name, np.nanmax(np.abs(x - y)))
