"""Studies on executors: threads, processes, Dask and Ray give the same bits, and lose nothing."""

import multiprocessing
import os
import pickle
import random
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace

import pytest

import dynamis as dy
from dynamis.digest import digest_of
from dynamis.errors import DeviceError, OptionError
from dynamis.study import workers

from .small import (
    BLOCK,
    SAMPLES,
    Deadly,
    Picky,
    evaluated,
    loads,
    machine_code,
    same,
    simulated,
    torque_of_light_arms,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("compiled"),  # as in the workers
]


def processes(count, kind="forkserver"):
    context = multiprocessing.get_context(kind)
    context.set_forkserver_preload(["tests.study.small"])
    return ProcessPoolExecutor(count, mp_context=context, initializer=machine_code)


@pytest.fixture(scope="module")
def alone(compiled):
    """What one thread of one process gives."""
    return simulated(threads=1)


@pytest.fixture(scope="module")
def dask(compiled):
    """A client of two worker processes."""
    distributed = pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


NODE = {"num_cpus": 1, "object_store_memory": 10**8, "resources": {"spare": 1}}


@pytest.fixture(scope="module")
def ray_cluster(compiled):
    """Two nodes on this machine."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("RAY_health_check_initial_delay_ms", "500")  # whether a node is there:
        patch.setenv("RAY_health_check_period_ms", "500")  # asked often, with time to answer
        head = {"num_cpus": 1, "object_store_memory": 10**8, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.add_node(**NODE)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        yield cluster
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture
def ray(ray_cluster):
    return dy.ray_executor()


# seconds until a worker that ended is replaced, and half a minute until a cluster of Ray is there
DASK, RAY = (pytest.param(x, marks=pytest.mark.thorough) for x in ("dask", "ray"))


@pytest.fixture(params=["threads", "processes", DASK, RAY])
def engine(request):
    """One executor of every kind."""
    if request.param == "dask":
        yield request.getfixturevalue("dask").get_executor()
    elif request.param == "ray":
        yield request.getfixturevalue("ray")
    else:
        made = ThreadPoolExecutor(2) if request.param == "threads" else processes(2)
        with made:
            yield made


@pytest.fixture(params=["processes", DASK, RAY])
def elsewhere(request):
    """One executor of every kind whose workers are processes."""
    if request.param == "dask":
        yield request.getfixturevalue("dask").get_executor()
    elif request.param == "ray":
        yield request.getfixturevalue("ray")
    else:
        with processes(2) as made:
            yield made


# equal bits


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_give_the_same_bits(alone, threads):
    assert same(simulated(threads=threads), alone)


FORKS = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dynamis.digest import digest_of
from tests.study.small import simulated
for count in (1, 3):
    with ProcessPoolExecutor(count, multiprocessing.get_context("fork")) as executor:
        print(digest_of(simulated(executor=executor).summary.arrays))
"""


def test_processes_that_fork_give_the_same_bits(alone):
    here = Path(__file__).parents[2]
    path = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
    found = subprocess.run(  # in a process of its own: one with threads of Ray's must not fork
        [sys.executable, "-c", FORKS], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert found.stdout.split() == 2 * [digest_of(alone.summary.arrays)]


@pytest.mark.parametrize(("count", "kind"), [(3, "forkserver"), (2, "spawn")])
def test_processes_that_begin_anew_give_the_same_bits(alone, count, kind):
    with processes(count, kind) as executor:
        assert same(simulated(executor=executor), alone)


@pytest.mark.thorough
def test_dask_gives_the_same_bits(alone, dask):
    assert same(simulated(executor=dask.get_executor()), alone)


@pytest.mark.thorough
def test_a_client_of_dask_is_an_executor_too(alone, dask):
    assert same(simulated(executor=dask), alone)


@pytest.mark.thorough
def test_ray_gives_the_same_bits(alone, ray):
    assert ray.workers == 2
    assert same(simulated(executor=ray), alone)


class Disorder(Executor):
    """The blocks of a study in any order: only `submit`, and no number of workers.

    The block `deadly` ends it like a pool that breaks: every task that was under way is lost.
    """

    def __init__(self, seed=0, deadly=None):
        self.waiting, self.random, self.deadly = [], random.Random(seed), deadly
        self.submitted, self.order, self.breaks = 0, [], []

    def submit(self, function, *arguments):
        self.submitted += 1
        self.waiting.append((Future(), function, arguments))
        future = self.waiting[-1][0]
        if self.submitted >= SAMPLES // BLOCK + 1:
            tasks, self.waiting = self.waiting, []
            self.random.shuffle(tasks)
            threading.Thread(target=self.run, args=(tasks,)).start()
        return future

    def run(self, tasks):
        while tasks:
            future, function, arguments = tasks.pop()
            self.order.append(arguments[1])
            if arguments[1] == self.deadly:
                self.breaks.append(1 + len(tasks))
                while tasks:
                    tasks.pop()[0].set_exception(BrokenProcessPool("a process ended"))
                future.set_exception(BrokenProcessPool("a process ended"))
            else:
                future.set_result(function(*arguments))


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_blocks_does_not_matter(seed):
    executor = Disorder(seed)
    assert same(evaluated(Picky(), executor=executor), evaluated(Picky(), threads=1))
    assert executor.order != sorted(executor.order)


# workers that die


class Broken(Executor):
    """Gives what it should not; it counts, so that a study which asks for ever is seen."""

    def __init__(self, answer):
        self.answer, self.asked = answer, 0

    def submit(self, function, *arguments):
        self.asked += 1
        assert self.asked < 1000, "asked for ever"
        return self.answer(lambda: function(*arguments))


def future_of(value):
    future = Future()
    future.set_result(value)
    return future


def failed(error):
    future = Future()
    future.set_exception(error)
    return future


def refuse(work):
    raise RuntimeError("closed for today")


NO_FUTURE, NO_RESULT = "submit of the executor returned", "a future of the executor gave"
BROKEN = {
    "None": (lambda work: None, f"{NO_FUTURE} None, expected a future"),
    "the value itself": (lambda work: work(), f"{NO_FUTURE} Done.*expected a future"),
    "half a future": (lambda work: SimpleNamespace(result=work), f"{NO_FUTURE} namespace"),
    "a future of None": (lambda work: future_of(None), f"{NO_RESULT} None, expected what"),
    "a future of a number": (lambda work: future_of(3.0), rf"{NO_RESULT} 3\.0, expected what"),
    "a future of the work": (future_of, f"{NO_RESULT} <function"),
    "no summaries": (lambda work: future_of(work()._replace(summaries=[])), f"{NO_RESULT} Done"),
    "no summary": (lambda work: future_of(workers.Done(0, [None], 0.1)), f"{NO_RESULT} Done"),
    "the same for every block": (
        lambda work, kept=[]: future_of(kept[0] if kept else kept.append(work()) or kept[0]),
        f"{NO_RESULT} Done",
    ),
    "no tasks": (refuse, "takes no tasks: closed for today"),
    "an error": (lambda work: failed(OptionError("of its own")), "of its own"),
    "a lost worker": (lambda work: failed(BrokenProcessPool("gone")), "lost their worker 3 times"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_an_executor_that_gives_something_else_is_refused(what):
    answer, says = BROKEN[what]
    with pytest.raises(OptionError, match=says):
        evaluated(executor=Broken(answer))


class Endless(Executor):
    """Two workers that never end a task."""

    _max_workers, first = 2, None

    def submit(self, function, key, first, *rest):
        self.first = first
        return Future()


def test_a_task_that_may_have_ended_a_pool_runs_alone():
    driver = workers.Driver(evaluated(samples=3).case, Endless(), None)
    driver.under_way = {7: (Future(), workers.BlockTask(7, 8))}
    driver.left = [range(8, 11)]
    driver._after(BrokenProcessPool("a process ended"), workers.BlockTask(3, 5))
    driver._fill()
    assert list(driver.under_way) == [7]
    driver.under_way.clear()
    driver._fill()
    assert list(driver.under_way) == [3]
    driver.under_way.clear()
    driver._fill()
    assert list(driver.under_way) == [4]
    driver.under_way.clear()
    driver._fill()
    assert list(driver.under_way) == [8, 9, 10]


@pytest.mark.parametrize("seed", range(3))
def test_tasks_lost_together_are_tried_one_at_a_time(tmp_path, seed):
    executor = Disorder(seed, deadly=3)
    with pytest.raises(OptionError, match="samples 192 to 255 lost their worker 3 times"):
        evaluated(executor=executor, checkpoint=tmp_path)
    assert len(executor.breaks) == 3
    study = evaluated(checkpoint=tmp_path)
    assert study.resumed == SAMPLES - BLOCK
    assert same(study, evaluated(threads=1))


def folder(tmp_path):
    made = tmp_path / "deaths"
    made.mkdir()
    return made


def test_a_worker_that_is_killed_changes_nothing(tmp_path, elsewhere):
    deaths = folder(tmp_path)
    study = evaluated(Deadly(deaths), executor=elsewhere)
    assert len(list(deaths.iterdir())) == 1
    assert same(study, evaluated(threads=1))


def test_blocks_that_kill_every_worker_are_named(tmp_path, elsewhere):
    deaths, checkpoint = folder(tmp_path), tmp_path / "checkpoint"
    with pytest.raises(OptionError, match=r"samples 192 to 255 lost their worker 3 times"):
        evaluated(Deadly(deaths, 99), executor=elsewhere, checkpoint=checkpoint)
    assert len(list(deaths.iterdir())) == 3
    for k in range(96):
        (deaths / f"{k}").touch()
    study = evaluated(Deadly(deaths, 99), checkpoint=checkpoint)
    assert study.resumed >= 3 * BLOCK
    assert same(study, evaluated(threads=1))


@pytest.mark.thorough
def test_a_node_that_is_killed_changes_nothing(tmp_path, ray_cluster):
    ray_cluster.add_node(**NODE)
    ray_cluster.wait_for_nodes()
    deaths = folder(tmp_path)
    executor = dy.ray_executor(resources={"spare": 1})  # not on the node of this process
    study = evaluated(Deadly(deaths, parent=True), executor=executor)
    assert len(list(deaths.iterdir())) == 1
    assert same(study, evaluated(threads=1))


# samples and studies that fail


def test_samples_that_raise_are_named_everywhere(engine):
    study = evaluated(Picky(), executor=engine)
    assert study.failed.samples.tolist() == list(range(77, SAMPLES, 100))
    assert set(study.failed.reasons) == {"ValueError: ends in 77"}
    assert same(study, evaluated(Picky(), threads=1))
    with pytest.raises(ValueError, match="ends in 77"):
        Picky()(study.draw(277))


@pytest.mark.thorough
def test_a_measure_that_raises_is_replayable_everywhere(engine):
    measure = (torque_of_light_arms, "peak_torque")
    study = simulated(3 * BLOCK, measure=measure, executor=engine)
    assert 0 < study.failed.count < 3 * BLOCK
    assert set(study.failed.reasons) == {"torque_of_light_arms: ArithmeticError: too heavy"}
    with pytest.raises(ArithmeticError):
        torque_of_light_arms(study.replay(int(study.failed.samples[0])))
    assert same(study, simulated(3 * BLOCK, measure=measure, threads=1))


def test_an_error_of_the_package_arrives_as_it_is(elsewhere):
    with pytest.raises(DeviceError, match="device is 'cuda:99'") as error:
        simulated(device="cuda:99", executor=elsewhere)
    assert type(error.value) is DeviceError
    assert pickle.loads(pickle.dumps(OptionError("what", "hint"))).hint == "hint"


def used(executor):
    """Its workers are there before the study is: a fork brings nothing with it."""
    if isinstance(executor, ProcessPoolExecutor):
        list(executor.map(abs, range(4)))
    return executor


def test_what_pickle_cannot_send_says_so():
    with processes(2) as executor, pytest.raises(OptionError, match="cannot be sent") as e:
        evaluated(lambda draw: draw.parameters, executor=used(executor))
    assert "top of a module" in e.value.hint


def test_what_a_worker_cannot_import_says_so(monkeypatch):
    import tests.study.small as module

    with processes(1) as executor:
        used(executor)
        monkeypatch.setattr(module, "Later", type("Later", (Picky,), {}), raising=False)
        module.Later.__module__, module.Later.__qualname__ = module.__name__, "Later"
        with pytest.raises(OptionError, match=r"a worker cannot read the study: .*Later") as e:
            evaluated(module.Later(), executor=executor)
    assert "can import" in e.value.hint


@pytest.fixture(params=["dask", RAY])
def pickling(request):
    """Executors that send what pickle cannot."""
    made = request.getfixturevalue(request.param)
    return made if request.param == "ray" else made.get_executor()


def test_dask_and_ray_send_functions_without_a_name(pickling):
    factor = 2.0
    expected = evaluated(lambda draw: factor * loads(draw)["total"], threads=1)
    study = evaluated(lambda draw: factor * loads(draw)["total"], executor=pickling)
    assert same(study, expected)


def test_what_no_pickler_sends_says_so(pickling):
    lock = threading.Lock()
    with pytest.raises(OptionError, match="cannot be sent"):
        evaluated(lambda draw: lock and loads(draw), executor=pickling)


@pytest.mark.parametrize("given", ["threads", 2, ProcessPoolExecutor, os, lambda: None])
def test_what_is_no_executor_is_refused(given):
    with pytest.raises(OptionError, match=r"executor is .*expected one of concurrent.futures"):
        evaluated(executor=given)


def test_an_executor_that_is_closed_says_so():
    with ThreadPoolExecutor(1) as executor:
        pass
    with pytest.raises(OptionError, match="takes no tasks: cannot schedule new futures"):
        evaluated(executor=executor)


def test_a_pool_that_broke_before_is_replaced(tmp_path):
    with processes(2) as executor:
        evaluated(Deadly(folder(tmp_path)), executor=executor)
        assert same(evaluated(executor=executor), evaluated(threads=1))


def test_a_pool_whose_processes_never_begin_is_given_up():
    context = multiprocessing.get_context("forkserver")
    executor = ProcessPoolExecutor(1, context, initializer=os._exit, initargs=(3,))
    with executor, pytest.raises(OptionError, match="lost their worker 3 times"):
        evaluated(executor=executor)


# what travels


def test_the_case_travels_once_to_a_worker(monkeypatch):
    sent = []
    submit = ProcessPoolExecutor.submit

    def counted(self, function, *arguments, **options):
        sent.append(len(pickle.dumps(arguments)))
        return submit(self, function, *arguments, **options)

    with processes(2) as executor:
        used(executor)
        monkeypatch.setattr(ProcessPoolExecutor, "submit", counted)
        study = evaluated(executor=executor, samples=100 * BLOCK)
    case = len(pickle.dumps(study.case))
    with_case = [size for size in sent if size > case]
    assert 2 <= len(with_case) <= 8  # two workers, at most four tasks under way before each has it
    assert max(size for size in sent if size not in with_case) < 120


def test_workers_of_executors():
    with ThreadPoolExecutor(3) as threads, processes(5) as pool:
        assert [workers.workers_of(x) for x in (threads, pool)] == [3, 5]
    assert workers.workers_of(Disorder(0)) == workers.UNKNOWN


def test_a_worker_keeps_few_cases():
    before = dict(workers._cases)
    for _ in range(2 * workers.REMEMBERED):
        evaluated(samples=3)
    assert dict(workers._cases) == before
    for k in range(2 * workers.REMEMBERED):
        workers.remember(f"test {k}", None)
    assert len(workers._cases) == workers.REMEMBERED
    workers._cases.clear()


# memory


@pytest.mark.thorough
def test_no_more_is_kept_than_a_few_blocks(monkeypatch):
    """Twice the blocks of the same size: the summaries of all would be megabytes more."""
    monkeypatch.setattr(workers, "TASK", 0.0)  # a block each

    def peak(blocks):
        tracemalloc.start()
        try:
            study = evaluated(samples=blocks * 4096, threads=1)
            assert study.case.blocks == blocks
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(64)  # what is made once
    first, twice = peak(64), peak(128)
    assert twice < 1.05 * first + 5e5


def test_no_block_is_done_long_before_an_earlier_one():
    executor = Endless()
    driver = workers.Driver(evaluated(samples=100 * BLOCK).case, executor, None)
    most = workers.WAITING * 2
    for first, follows in ((most - 1, True), (most + 1, False)):
        driver.left, driver.under_way = (
            [range(first, 100)],
            {0: (Future(), workers.BlockTask(0, 1))},
        )
        executor.first = None
        driver._fill()
        assert (executor.first is not None) == follows
