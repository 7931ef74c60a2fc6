"""What a process keeps and what its children find: code, memory, threads, locks."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile import arrays, service
from dynamis.compile.kernels import KERNELS


@pytest.fixture(autouse=True)
def machine_code(compiled):
    """All of this is about compiled code."""


def run(script: str) -> str:
    environment = {**os.environ, "DYNAMIS_CACHE": "off", "DYNAMIS_COMPILE": "on"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


FORKS = """
import faulthandler, os, threading
import numpy as np, dynamis as dy

base, q = dy.load("planar-rr"), np.array([0.1, 0.2])
options = {"duration": 2e-3, "integrator": "dormand-prince", "sensors": dy.Sensors()}


def work():
    for k in range(3):
        robot = base.with_payload(1.0 + k)
        robot.inverse_dynamics_derivatives(q, q, q)
        dy.simulate(robot, **options)


thread = threading.Thread(target=work)
thread.start()
while thread.is_alive():
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(300, exit=True)  # one that would wait forever
        base.gravity_torque(q)
        dy.simulate(base, 2e-3)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    thread.join(0.05)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_of_a_process_that_compiles_can_compile():
    run(FORKS)


MEMORY = """
import gc
import dynamis as dy

base = dy.load("planar-rr")


def grown(count, first):
    for k in range(first, first + count):
        base.with_payload(1.0 + 1e-3 * k).gravity_torque([0.1, 0.2])
    gc.collect()
    with open("/proc/self/statm") as file:
        return 4096 * int(file.read().split()[1])


before = grown(20, 0)
print((grown(60, 20) - before) / 60)
"""


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_robots_that_are_dropped_give_their_memory_back():
    assert float(run(MEMORY)) < 40e3  # bytes; a compiler that is not given back takes 100e3


def test_code_lives_as_long_as_its_robots_and_a_little_longer():
    base, before = dy.load("planar-rr"), list(service._codes.held.values())
    for k in range(service.RECENT + 10):
        base.with_payload(2.0 + 1e-3 * k).potential_energy([0.1, 0.2])
    gc.collect()
    held = [c for c in service._codes.held.values() if c not in before]
    assert len(held) <= service.RECENT
    robot = base.with_payload(3.0)
    energy = robot.potential_energy([0.1, 0.2])
    service.forget()
    assert robot.potential_energy([0.1, 0.2]) == energy


def test_equal_robots_share_their_code():
    one, other = (dy.load("planar-rr") for _ in range(2))
    kernel = KERNELS["gravity_torque"]
    assert one._calls.code(kernel, "float64") is other._calls.code(kernel, "float64")


def test_one_pool_of_threads_for_every_count():
    robot = dy.load("puma560")
    q = np.random.default_rng(0).normal(size=(999, 6))
    expected = robot.gravity_torque(q, threads=1)
    for threads in (2, 3, 5, 17, 1000):
        assert np.array_equal(robot.gravity_torque(q, threads=threads), expected)
    own = [t for t in threading.enumerate() if t.name.startswith("dynamis")]
    assert len(own) <= service.most_threads()


def test_an_ensemble_is_the_same_by_any_number_of_threads():
    robot = dy.load("planar-rr")
    q0 = np.random.default_rng(1).normal(size=(300, 2))
    runs = [dy.simulate(robot, 0.02, q0=q0, threads=threads).q for threads in (1, 2, 7)]
    assert np.array_equal(runs[0], runs[1]) and np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("extension", [True, False])
def test_bound_methods_pickle(monkeypatch, extension):
    if not extension:
        monkeypatch.setattr(arrays, "Fast", None)
    elif arrays.Fast is None:
        pytest.fail("the C extension is not built")
    robot = dy.load("planar-rr")
    q = np.array([0.1, 0.2])
    for called in (False, True):
        method = robot.mass_matrix
        again = [pickle.loads(pickle.dumps(method, k)) for k in range(pickle.HIGHEST_PROTOCOL + 1)]
        again += [copy.copy(method), copy.deepcopy(method)]
        if called:
            assert all(np.array_equal(m(q), method(q)) for m in again)
        assert all(m.__name__ == "mass_matrix" for m in again)


def test_bound_methods_go_to_other_processes():
    robot = dy.load("planar-rr")
    states = [np.array([0.1, 0.2]), np.array([0.3, -0.4])]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as workers:
        found = list(workers.map(robot.gravity_torque, states))
    assert np.array_equal(found, [robot.gravity_torque(q) for q in states])


def test_work_shared_out_within_shared_work_ends():
    """Threads of the pool do not wait for one another."""
    found = service.map_shared(
        lambda k: sum(service.map_shared(lambda j: j * k, range(5), 4)), range(200), 4
    )
    assert found == [10 * k for k in range(200)]


def test_shared_work_that_fails_is_over_when_it_is_told():
    done = []

    def work(k):
        if k == 3:
            raise ValueError("three")
        done.append(k)

    with pytest.raises(ValueError, match="three"):
        service.map_shared(work, range(40), 4)
    told = len(done)
    service.map_shared(lambda k: None, range(100), 4)  # as many threads as before have been here
    assert len(done) == told


def test_nobody_waits_for_helpers_that_have_not_begun():
    """Where all other threads are held up, the caller does the work alone."""
    held, free = threading.Barrier(service.most_threads() + 1), threading.Event()

    def hold():
        held.wait()
        free.wait()

    workers = service.pool(os.getpid())
    jobs = [workers.submit(hold) for _ in range(service.most_threads())]
    held.wait()
    try:
        found = []
        caller = threading.Thread(
            target=lambda: found.extend(
                service.map_shared(lambda k: threading.get_ident(), range(9), 2)
            ),
            daemon=True,
        )
        caller.start()
        caller.join(60.0)
        assert found == [caller.ident] * 9
    finally:
        free.set()
    assert all(job.result() is None for job in jobs)
