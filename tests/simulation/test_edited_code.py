"""A simulation runs the code it is given now, whatever was compiled before under the same name."""

import os
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from types import MethodType
from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile import cache
from dynamis.compile.service import RECENT, forget
from dynamis.control import Controller, JointPID, MomentumObserver
from tests.control.blocks import LAWS
from tests.simulation.arms import bar, pair

Q0, WANTED = np.array([0.3, 0.2]), [0.1, -0.1]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DYNAMIS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DYNAMIS_COMPILE", "on")


@pytest.fixture(scope="module")
def arm():
    return pair(bar(), bar())


def first_torque(arm, controller, **options):
    return dy.simulate(arm, 2e-3, q0=Q0, reference=WANTED, controller=controller, **options).tau[0]


FACTOR = {"kp": 1.0}


def law(sign=1.0):
    """A class of its own every time, always of the same name."""

    @dataclass(frozen=True)
    class Own(Controller):
        model: Any = None
        sample_time: float | None = None

        def gains(self, robot):
            return {"kp": [10.0] * robot.n}

        def step(self, arm, sample):
            rows = zip(sample.gains.kp, sample.e, strict=True)
            return [-sign * FACTOR["kp"] * k * x for k, x in rows], {}

    return Own()


def expected(factor):
    return -10.0 * factor * (Q0 - WANTED)


def test_a_class_defined_again_is_compiled_again(arm):
    for sign in (1.0, -1.0, 3.0, 1.0):
        np.testing.assert_allclose(first_torque(arm, law(sign)), expected(sign))


def test_what_a_law_reads_elsewhere_is_seen(arm, monkeypatch):
    own = law()
    np.testing.assert_allclose(first_torque(arm, own), expected(1.0))
    monkeypatch.setitem(FACTOR, "kp", 2.0)
    np.testing.assert_allclose(first_torque(arm, own), expected(2.0))


FILE = """
import sys
from dataclasses import dataclass, fields, replace
from typing import Any
import dynamis as dy
from dynamis.control import Controller

@dataclass(frozen=True)
class Mine(Controller):
    model: Any = None
    sample_time: Any = None

    def gains(self, robot):
        return {}

    def step(self, arm, sample):
        return [FACTOR * a for a in sample.q], {}

run = dy.simulate(dy.load("planar-rr"), 2e-3, q0=[0.3, 0.2], controller=Mine())
print(run.tau[0].tolist())
"""


def test_an_edited_file_is_run_as_it_is_now(tmp_path):
    script, found = tmp_path / "mine.py", []
    for factor in (1.0, -2.0):
        script.write_text(FILE.replace("FACTOR", str(factor)))
        command = [sys.executable, str(script)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
        found.append(np.array(done.stdout.strip("[]\n").split(","), dtype=float))
    np.testing.assert_allclose(found[1], -2.0 * found[0])


def twice(kind):
    """A subclass that asks for twice the torque and passes for its parent by name."""

    def step(self, *arguments):
        tau, after = kind.step(self, *arguments)
        return [2.0 * x for x in tau], after

    own = type(kind.__name__, (kind,), {"step": step})
    own.__module__, own.__qualname__ = kind.__module__, kind.__qualname__
    return own


def test_a_subclass_of_a_law_is_not_the_law(arm):
    plain = first_torque(arm, JointPID(5.0, 0.0, 1.0))
    np.testing.assert_allclose(first_torque(arm, twice(JointPID)(5.0, 0.0, 1.0)), 2.0 * plain)
    np.testing.assert_allclose(first_torque(arm, JointPID(5.0, 0.0, 1.0)), plain)


def test_a_law_that_was_given_another_step_is_not_the_law(arm, monkeypatch):
    own, step = JointPID(5.0, 0.0, 1.0), twice(JointPID).step
    plain = first_torque(arm, own)
    with monkeypatch.context() as patch:
        original = JointPID.step
        patch.setattr(JointPID, "step", lambda *a: ([9.0, 9.0], original(*a)[1]))
        np.testing.assert_allclose(first_torque(arm, own), [9.0, 9.0])
    np.testing.assert_allclose(first_torque(arm, own), plain)
    object.__setattr__(own, "step", MethodType(step, own))
    np.testing.assert_allclose(first_torque(arm, own), 2.0 * plain)


def test_sensors_and_observers_of_ones_own_are_compiled_as_they_are(arm):
    class Doubled(dy.Sensors):
        def read(self, *arguments):
            found = super().read(*arguments)
            return {**found, "measured_q": [2.0 * a for a in found["measured_q"]]}

    pid = JointPID(5.0, 0.0, 0.0)
    plain = first_torque(arm, pid, sensors=dy.Sensors())
    np.testing.assert_allclose(plain, -5.0 * (Q0 - WANTED))
    doubled = first_torque(arm, pid, sensors=Doubled())
    np.testing.assert_allclose(doubled, -5.0 * (2.0 * Q0 - WANTED))

    class Constant(MomentumObserver):
        def step(self, arm, sample):
            _, after = super().step(arm, sample)
            return [7.0] * arm.n, after

    options = {"duration": 5e-3, "q0": Q0, "external": [1.0, 0.0]}
    seen = dy.simulate(arm, **options, observer=MomentumObserver(50.0)).observed
    assert seen is not None and not np.any(seen == 7.0)
    seen = dy.simulate(arm, **options, observer=Constant(50.0)).observed
    assert seen is not None and np.all(seen[1:] == 7.0)


HIT = """
import sys, dynamis as dy
from dynamis.control import ComputedTorque
run = dy.simulate(dy.load("planar-rr"), 2e-3, q0=[0.3, 0.2], controller=ComputedTorque(25.0, 10.0))
print("casadi" in sys.modules)
"""


def test_a_law_of_the_package_is_not_traced_again():
    found = [
        subprocess.run([sys.executable, "-c", HIT], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [f.stdout.strip() for f in found] == ["True", "False"]


def computer_of(arm, controller):
    return dy.Simulator(arm, controller=controller, reference=[0.1] * arm.n).assembly.computer_task


@pytest.mark.parametrize("name", LAWS)
def test_gains_change_neither_the_key_nor_the_program(name):
    arm, law = dy.load("planar-2link"), LAWS[name]
    values = {f.name: getattr(law, f.name) for f in fields(law)}
    numbers = {k: 1.5 * v for k, v in values.items() if type(v) is float}
    assert numbers
    one, other = computer_of(arm, law), computer_of(arm, replace(law, **numbers))
    assert one.key is not None and one.key == other.key
    assert one.program().text == other.program().text


def test_a_compiled_function_is_stored_and_found_by_its_program(arm):
    def made(factor):
        return dy.compile(arm, lambda arm, q: [factor * x for x in arm.gravity_torque(q)])

    one = made(1.0)(Q0)
    assert len(cache.entries()) == 1
    np.testing.assert_allclose(made(-2.0)(Q0), -2.0 * one)
    assert len(cache.entries()) == 2
    forget()
    np.testing.assert_array_equal(made(1.0)(Q0), one)
    assert len(cache.entries()) == 2


def test_a_simulation_compiles_no_kernel_beside_its_own(arm):
    dy.simulate(arm, 2e-3, q0=Q0)
    before = len(cache.entries())
    dy.simulate(arm.with_payload(1.0), 2e-3, q0=Q0)
    assert len(cache.entries()) == before + 1


def test_a_simulation_that_comes_again_links_nothing(arm):
    """Its code is still there: the cache on disk may be gone."""
    first = dy.simulate(arm, 2e-3, q0=Q0, controller=JointPID(5.0, 0.0, 1.0))
    cache.clear()
    again = dy.simulate(arm, 2e-3, q0=Q0, controller=JointPID(5.0, 0.0, 1.0))
    assert np.array_equal(first.q, again.q) and cache.entries() == []


def test_code_that_comes_often_does_not_drive_out_other_code(arm):
    def run(**options):
        return dy.Simulator(arm, **options).run(2e-3)

    run(controller=JointPID(5.0, 0.0, 1.0))
    for _ in range(RECENT):
        run()
    cache.clear()
    run(controller=JointPID(6.0, 0.0, 1.0))
    assert cache.entries() == []
