"""Compilers, and loops that several files of tests run."""

import shutil

import numpy as np
import pytest

import dynamis as dy

from .loops import LASTS, LATCH, MOVE, SLOW, built


@pytest.fixture(scope="session")
def cc():
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return name
    pytest.skip("no C compiler")


@pytest.fixture(scope="session")
def still(cc, tmp_path_factory):
    """A loop that keeps a small arm where it is, slowly."""
    arm = dy.load("planar-rr")
    law = dy.control.ComputedTorque.from_bandwidth(arm, 5.0)
    return built(cc, tmp_path_factory.mktemp("still"), law, arm, SLOW)


@pytest.fixture(scope="session")
def puma(cc, tmp_path_factory):
    """A loop that moves the PUMA 560 at 1 kHz."""
    arm = dy.load("puma560")
    law = dy.control.ComputedTorque.from_bandwidth(arm, 20.0, integral=True)
    motion = dy.trajectory.quintic(np.zeros(6), np.array(MOVE), LASTS)
    folder = tmp_path_factory.mktemp("puma")
    return built(cc, folder, law, arm, 1e-3, reference=motion, latch=LATCH)


@pytest.fixture(scope="session")
def telling(cc, tmp_path_factory):
    """A loop whose torque is minus the measured position, and that never latches."""
    law, arm = dy.control.JointPID(1.0), dy.load("planar-rr")
    return built(cc, tmp_path_factory.mktemp("telling"), law, arm, SLOW, latch=100_000)


@pytest.fixture(scope="session")
def braking(cc, tmp_path_factory):
    """A loop whose torque is minus the velocity that it makes from positions, over SLOW."""
    law, arm = dy.control.JointPID(0.0, 0.0, SLOW), dy.load("planar-rr")
    folder = tmp_path_factory.mktemp("braking")
    return built(cc, folder, law, arm, SLOW, velocity="difference", latch=100_000)


@pytest.fixture(scope="session")
def gcc():
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
