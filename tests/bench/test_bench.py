"""The bench measures what it says: figures, ratios, targets; speed itself is never a test."""

import json

import numpy as np
import pytest

import dynamis as dy
from dynamis.bench.closed import closed_figures
from dynamis.bench.contacts import contact_figures
from dynamis.bench.simulation import control_cycle, simulation_figures
from dynamis.bench.single import chain_of, slope, worst_difference
from dynamis.bench.table import BenchTable, Figure, growth_plot, readme_table, together


def test_ratio_and_target():
    faster = Figure("g", "w", "r", 1e-7, "peer", 4e-7, 3.0)
    assert faster.ratio == pytest.approx(4.0) and faster.reached is True
    assert Figure("g", "w", "r", 1e-7, "peer", 2e-7, 3.0).reached is False
    assert Figure("g", "w", "r", 0.2, target=0.3).reached is True
    assert Figure("g", "w", "r", 0.4, target=0.3).reached is False
    assert Figure("g", "w", "r", 0.4).reached is None


def test_timing_tells_slow_from_fast():
    fast, slow = together(lambda: None, lambda: sum(range(3000)), rounds=3, seconds=0.002)
    assert fast < slow


def test_worst_difference_sees_an_error():
    robot = dy.load("planar-rr")
    state = list(np.random.default_rng(0).normal(size=(3, 2)))
    tau = robot.inverse_dynamics(*state)
    assert worst_difference(robot, "inverse_dynamics", state, tau) < 1e-15
    assert worst_difference(robot, "inverse_dynamics", state, tau * (1 + 1e-6)) > 1e-7


def test_table_plot_and_json(tmp_path):
    peer = "Pinocchio"
    figures = [Figure("one call", n, "puma560", 2e-7, peer, 1e-6, 3.0, 2e-16)
               for n in ("inverse_dynamics", "forward_dynamics")]  # fmt: skip
    growth = {"inverse_dynamics": {2: 1e-7, 4: 2e-7, 8: 4e-7}}
    step = Figure("simulation", "RK4 step", "puma560", 1e-6, "MuJoCo RK4", 7e-6, 5.0, 3e-9)
    table = BenchTable("a processor", (*figures, step), growth, {"inverse_dynamics": 1.0})
    text = readme_table(table)
    assert "| RK4 step | 1000 ns | 7000 ns (MuJoCo RK4) | 7.0x | 3e-09 |" in text
    assert "| inverse dynamics, one call | 200 ns | 1000 ns | 5.0x | 2e-16 |" in text
    growth_plot(table, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 10_000
    table.save(tmp_path / "bench.json")
    assert json.loads((tmp_path / "bench.json").read_text())["figures"][0]["ratio"] == 5.0


@pytest.mark.thorough
def test_every_row_of_the_simulation_says_how_far_it_is_off(compiled, monkeypatch):
    monkeypatch.setattr("dynamis.bench.simulation.ARMS", 64)
    rows = list(simulation_figures(dy.load("puma560")))
    assert len(rows) == 6 and all(row.error is not None for row in rows)
    by_name = {row.what.partition(";")[0]: row for row in rows}
    assert by_name["one control cycle, computed torque with integral"].error < 1e-12
    assert by_name["RK4 step under computed torque"].error < 1e-8
    assert by_name["RK4 step with static friction"].error < 1e-4
    for row in rows[3:5]:
        assert float(row.what.rpartition(": ")[2]) == pytest.approx(1 / row.ours, rel=0.05)
        assert row.error < 1e-9


@pytest.mark.thorough
def test_four_contacts_beside_mujoco(compiled):
    """The arm rests exactly, while in MuJoCo, whose contacts give way, it creeps."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    rows = list(contact_figures(dy.load("puma560")))
    assert [row.what.split()[-1] for row in rows] == ["RK4", "Euler"]
    for row in rows:
        assert row.error is not None and row.error < 1e-13
        assert "4 contacts" in row.peer
        moved = float(row.peer.partition("moves ")[2].removesuffix(" rad"))
        assert 1e-13 < moved < 1e-3


def test_a_control_cycle_is_that_of_the_controller(compiled):
    robot, law = dy.load("planar-2link"), dy.control.ComputedTorque(100.0, 20.0, 50.0)
    cycle = control_cycle(robot, law)
    assert 0 < cycle.compiled < cycle.python and cycle.difference < 1e-12


def test_slope():
    assert slope({2: 1.0, 16: 4.0, 32: 8.0}) == pytest.approx(1.0)
    assert slope({2: 1.0, 16: 4.0, 32: 16.0}) == pytest.approx(2.0)
    assert chain_of(5).n == 5


def test_closed_mechanisms_agree_with_the_peers_they_are_timed_against(compiled, monkeypatch):
    monkeypatch.setattr("dynamis.bench.closed.NAMES", ())  # tests/dynamics has those
    rows = list(closed_figures(loops=(1, 2)))
    assert {row.robot for row in rows} >= {"four-bars-1", "four-bars-2"}
    assert {row.peer.split(" ")[0] for row in rows} == {"Pinocchio", "MuJoCo"}
    assert all(row.error < 1e-9 and row.target == 5.0 for row in rows)
