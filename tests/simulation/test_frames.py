"""Runs as tables of pandas and polars."""

import sys

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import MissingPackageError

WAYS = ("pandas", "polars")


def table(run, way):
    pytest.importorskip(way)
    return getattr(run, f"to_{way}")()


def a_run(**options):
    arm = dy.load("planar-rr")
    return dy.simulate(arm, 0.02, q0=[0.1, 0.2], qd0=[0.3, -0.4], **options)


@pytest.mark.parametrize("way", WAYS)
def test_a_run_is_read_back_as_a_log(way):
    run = a_run()
    frame = table(run, way)
    kinds = ("q", "qd", "tau", "friction")
    assert list(frame.columns) == ["t", *(f"{k}{i}" for k in kinds for i in (1, 2))]
    log = dy.read_log(frame)
    for name in ("t", "q", "qd", "tau"):
        np.testing.assert_array_equal(getattr(log, name), getattr(run, name))


@pytest.mark.parametrize("way", WAYS)
def test_errors_are_there_with_a_reference(way):
    law = dy.control.PointToPoint(10.0, 5.0)
    run = a_run(controller=law, reference=[0.0, 0.0])
    frame = table(run, way)
    assert list(frame.columns)[-2:] == ["error1", "error2"]
    np.testing.assert_array_equal(np.asarray(frame["error2"]), run.q[:, 1])


@pytest.mark.parametrize("way", WAYS)
def test_members_of_an_ensemble_are_told_apart(way):
    q0 = np.arange(12.0).reshape(2, 3, 2)
    run = dy.simulate(dy.load("planar-rr"), 0.002, q0=q0)
    frame = table(run, way)
    size = len(run.t)
    assert list(frame.columns)[:3] == ["member1", "member2", "t"] and len(frame) == 6 * size
    one, two, t, q2 = (np.asarray(frame[x]) for x in ("member1", "member2", "t", "q2"))
    mine = (one == 1) & (two == 2)
    np.testing.assert_array_equal(q2[mine], run.q[1, 2, :, 1])
    np.testing.assert_array_equal(t[mine], run.t)
    flat = table(dy.simulate(dy.load("planar-rr"), 0.002, q0=q0[0]), way)
    assert flat.columns[0] == "member"


@pytest.mark.parametrize("way", WAYS)
def test_a_missing_package_is_named(way, monkeypatch):
    monkeypatch.setitem(sys.modules, way, None)
    with pytest.raises(MissingPackageError, match=f"pip install {way}"):
        getattr(a_run(), f"to_{way}")()
