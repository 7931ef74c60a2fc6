"""Blocks on any executor: tasks of about a second, tried again where a worker died.

Anything with `submit` that returns futures will do. The case travels once to every worker: a task
names it by a number, and a worker that does not have it says so.
"""

import os
import pickle
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from queue import SimpleQueue
from typing import Any, NamedTuple

from ..compile.service import cores
from ..errors import DynamisError, OptionError, shown
from ..lazy import cached_property
from .case import Case
from .summary import Summary

TASK = 1.0  # seconds of work of a task
TRIES = 3  # of one task
REMEMBERED = 4  # cases that a worker keeps
UNKNOWN = 64  # workers of an executor that does not say how many it has
WAITING = 16  # tasks per worker that may be done before an earlier one is
DIED = {  # what Dask and Ray raise where a worker was lost
    "KilledWorker", "CommClosedError", "FutureCancelledError", "WorkerCrashedError",
    "NodeDiedError", "OwnerDiedError", "ObjectLostError",
}  # fmt: skip
ON_A_GPU = 2**15  # samples of one launch
BESIDE = 2**14  # of one beside others of this process: a GPU runs several at a time
AT_A_GPU = 8  # threads: while some launches run, others are prepared and summed up
FUTURE = ("add_done_callback", "result", "cancel")  # methods of a future
IMPORTABLE = (
    "define laws and measures at the top of a module that the workers can import, not as lambdas "
    "or in a notebook; or use threads (executor=None), Dask or Ray, which send more"
)

_cases: "OrderedDict[str, Case]" = OrderedDict()  # of this process, by number


class Done(NamedTuple):
    """Result of a task: its first block, a summary of every block, and how long it took."""

    first: int
    summaries: Sequence[Summary]
    seconds: float


def remember(key: str, case: Case) -> Case:
    """Keep a case in this process; the one that is there, if it is."""
    own = _cases.setdefault(key, case)
    while len(_cases) > REMEMBERED:
        _cases.popitem(last=False)
    return own


def work(key: str, first: int, stop: int, threads: int | None, case: Any) -> Done | None:
    """Blocks first .. stop - 1; None where the case is needed and was not sent.

    The case comes as the engine's own pickler brought it, or as bytes of `pickle` in a pool.
    """
    own = _cases.get(key)
    if own is None:
        if case is None:
            return None
        own = remember(key, _unpickled(case) if isinstance(case, bytes) else case)
    begun = time.perf_counter()
    return Done(first, own.summaries(first, stop, threads), time.perf_counter() - begun)


def _unpickled(case: bytes) -> Case:
    try:
        return pickle.loads(case)
    except (AttributeError, ImportError) as error:
        raise OptionError(f"a worker cannot read the study: {error}", IMPORTABLE) from None


class BlockTask(NamedTuple):
    """Blocks first .. stop - 1, and how often they lost their worker."""

    first: int
    stop: int
    tries: int = 0
    with_case: bool = False
    alone: bool = False  # it runs while no other does


class Driver:
    """Sends blocks to an executor and gives back their summaries, in any order."""

    def __init__(self, case: Case, executor: Any, threads: int | None):
        self.case, self.key = case, uuid.uuid4().hex  # no worker answers for another study
        self.own: Executor | None = None
        self.on_gpu = case.options.get("device") is not None
        remember(self.key, case)
        if executor is None:
            workers = min(threads or cores(), max(1, case.blocks))
            if self.on_gpu:
                workers = AT_A_GPU
            executor = self.own = ThreadPoolExecutor(workers, thread_name_prefix="dynamis-study")
            self.threads = max(1, (threads or cores()) // (1 if self.on_gpu else workers))
        else:
            self.threads = threads or getattr(executor, "threads", 1)
        if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
            raise OptionError(
                f"executor is {shown(executor)}, expected one of concurrent.futures, Dask's "
                "client.get_executor(), or dy.ray_executor()"
            )
        self.executor = executor
        self.options = {} if _dask(executor) is None else {"pure": False}  # no answer of before
        self.workers = workers_of(executor)
        launch = ON_A_GPU if self.own is None else BESIDE
        self.size = max(1, launch // case.block) if self.on_gpu else 1  # blocks of a task
        self.left: list[range] = []  # the first blocks last
        self.again: deque[BlockTask] = deque()
        self.under_way: dict[int, tuple[Any, BlockTask]] = {}  # futures, by number
        self.finished: SimpleQueue[int] = SimpleQueue()
        self.given_up: OptionError | None = None

    def summaries(self, todo: Sequence[range]) -> Generator[tuple[int, Summary], None, None]:
        """(block, summary) of every block that is to be done."""
        self.left = list(reversed(todo))
        try:
            self._fill()
            while self.under_way:
                future, task = self.under_way.pop(self.finished.get())
                done = self._result(future, task)
                if done is not None:
                    self._resize(done.seconds / (task.stop - task.first))
                    yield from enumerate(done.summaries, task.first)
                self._fill()
            if self.given_up is not None:
                raise self.given_up
        finally:
            _cases.pop(self.key, None)
            for future, _ in self.under_way.values():
                future.cancel()
            if self.own is not None:  # what is running still is not waited for
                self.own.shutdown(wait=not self.under_way, cancel_futures=True)

    def _resize(self, per_block: float) -> None:
        """Blocks of a task: about a second, and enough tasks for all workers."""
        if not self.on_gpu:
            wanted = int(TASK / max(per_block, 1e-6))
            share = sum(map(len, self.left)) // (2 * self.workers)
            self.size = max(1, min(wanted, share))

    def _fill(self) -> None:
        """Two tasks for every worker: none waits for the next."""
        while len(self.under_way) < 2 * self.workers:
            if any(task.alone for _, task in self.under_way.values()):
                return
            if self.again:
                if self.again[0].alone and self.under_way:
                    return
                self._submit(self.again.popleft())
            elif self.left and self.given_up is None and not self._far_ahead():
                run = self.left.pop()
                if len(run) > self.size:
                    self.left.append(run[self.size :])
                self._submit(BlockTask(run.start, min(run.start + self.size, run.stop)))
            else:
                return

    def _far_ahead(self) -> bool:
        """Whether the next blocks would wait long for earlier ones: summaries add up in order."""
        earliest = min((task.first for _, task in self.under_way.values()), default=None)
        most = WAITING * self.workers * self.size
        return earliest is not None and self.left[-1].start - earliest > most

    def _submit(self, task: BlockTask) -> None:
        case = self._parcel if task.with_case or isinstance(self.executor, RayExecutor) else None
        call = (work, self.key, task.first, task.stop, self.threads, case)
        try:
            future = self.executor.submit(*call, **self.options)
        except BrokenExecutor as error:
            self._replace(error)
            self._submit(task)
            return
        except DynamisError:
            raise
        except Exception as error:
            if _cannot_travel(error):
                raise OptionError(f"the study cannot be sent: {error}", IMPORTABLE) from error
            raise OptionError(
                f"the executor takes no tasks: {error}", "is it open, and its cluster there?"
            ) from error
        if not all(callable(getattr(future, name, None)) for name in FUTURE):
            raise OptionError(
                f"submit of the executor returned {shown(future)}, expected a future as those of "
                f"concurrent.futures, with {', '.join(FUTURE)}"
            )
        number = task.first  # no two tasks under way begin with one block
        self.under_way[number] = future, task
        future.add_done_callback(lambda _: self.finished.put(number))

    @cached_property
    def _parcel(self) -> Any:
        """The case as it is sent: Dask and Ray have picklers of their own."""
        if not isinstance(self.executor, ProcessPoolExecutor):
            return self.case
        try:
            return pickle.dumps(self.case)
        except Exception as error:
            raise OptionError(f"the study cannot be sent: {error}", IMPORTABLE) from error

    def _result(self, future: Any, task: BlockTask) -> Done | None:
        """What a task gave; None where it is tried again."""
        try:
            done = future.result()
        except (Exception, CancelledError) as error:
            self._after(error, task)
            return None
        if done is None and not task.with_case:  # the worker does not have the case yet
            self.again.append(task._replace(with_case=True))
            return None
        if self._answers(done, task):
            return done
        raise OptionError(
            f"a future of the executor gave {shown(done)}, expected what the function that was "
            "submitted returns",
            "submit(function, *arguments) has to call function(*arguments) and keep its result",
        )

    def _answers(self, done: Any, task: BlockTask) -> bool:
        """Whether it is what a task gives."""
        if not isinstance(done, Done) or done.first != task.first:
            return False
        sizes = [self.case.span(block)[1] for block in range(task.first, task.stop)]
        return [x.samples for x in done.summaries if isinstance(x, Summary)] == sizes

    def _after(self, error: BaseException, task: BlockTask) -> None:
        """Try a task again if its worker died; any other error is the study's."""
        cause = getattr(error, "cause", error)  # Ray wraps what a task raises
        if isinstance(cause, DynamisError):
            raise cause
        if _cannot_travel(error):
            raise OptionError(f"the study cannot be sent: {error}", IMPORTABLE) from error
        if not isinstance(error, (BrokenExecutor, CancelledError)) and not _died(error, DIED):
            raise error
        if task.tries + 1 < TRIES:
            # pools and Dask do not say which of several tasks it was: they run one at a time
            alone = isinstance(error, BrokenExecutor) or _died(error, {"KilledWorker"})
            for block in range(task.first, task.stop):
                self.again.append(
                    BlockTask(block, block + 1, task.tries + 1, task.with_case, alone)
                )
            return
        if self.given_up is not None:
            raise self.given_up
        first, count = self.case.span(task.first)
        self.given_up = OptionError(
            f"samples {first} to {first + count - 1} lost their worker {TRIES} times: {error}",
            "what was done before is in the checkpoint, if one was given",
        )

    def _replace(self, error: BaseException) -> None:
        """A new pool like the one that broke."""
        broken = self.executor
        if not isinstance(broken, ProcessPoolExecutor):
            raise OptionError(
                f"the executor broke: {error}",
                "run the study again with a new one and the same checkpoint",
            ) from error
        options = {
            "mp_context": getattr(broken, "_mp_context", None),
            "initializer": getattr(broken, "_initializer", None),
            "initargs": getattr(broken, "_initargs", ()),
        }
        if self.own is broken:
            broken.shutdown(wait=False)
        self.executor = self.own = ProcessPoolExecutor(self.workers, **options)


def _cannot_travel(error: BaseException) -> bool:
    """Whether it is about pickling: the engines raise whatever the pickler did."""
    text = str(error).lower()
    return isinstance(error, (pickle.PicklingError, AttributeError, TypeError)) and (
        "pickle" in text or "serialize" in text
    )


def _died(error: BaseException, names: set[str]) -> bool:
    """Whether an error means that a worker was lost, by the names the engines give it."""
    return any(kind.__name__ in names for kind in type(error).__mro__)


def _dask(executor: Any) -> Any:
    """The client of Dask behind an executor, or that was given as one."""
    client = getattr(executor, "_client", executor)
    return client if callable(getattr(client, "nthreads", None)) else None


def workers_of(executor: Any) -> int:
    """How many tasks an executor runs at once, as far as it says."""
    client = _dask(executor)
    own = getattr(executor, "_max_workers", getattr(executor, "workers", None))
    if client is not None:
        own = sum(client.nthreads().values())
    return own if isinstance(own, int) and own > 0 else UNKNOWN


def _on_ray(key: str, first: int, stop: int, threads: int | None, refs: Sequence[Any]) -> Any:
    """`work` as a Ray task: a worker that does not have the case takes it from Ray's store."""
    import ray

    case = None if key in _cases else ray.get(refs[0])
    return work(key, first, stop, threads, case)


class RayExecutor:
    """`submit` as Ray tasks: Ray schedules them and sends what they need."""

    def __init__(self, ray: Any, threads: int, options: dict[str, Any]):
        self.threads = threads
        self._ray, self._task = ray, ray.remote(**options)(_on_ray)
        self._sent: dict[str, Any] = {}

    @property
    def workers(self) -> int:
        """Tasks the cluster runs at once."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1) // self.threads))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """A future of `work`; the case is put into Ray's store once."""
        assert function is work
        key, *rest, case = arguments
        if key not in self._sent:
            self._sent = {key: self._ray.put(case)}
        # within a list it is a reference: as an argument it would be read for every task
        ref = self._task.remote(key, *rest, [self._sent[key]])
        future = ref.future()
        future.add_done_callback(lambda done: done.cancelled() and self._ray.cancel(ref))
        return future


def ray_executor(threads: int = 1, **options: Any) -> RayExecutor:
    """The nodes of a Ray cluster as an executor of `dy.study`; `ray.init(...)` says which.

    `threads` cores each task; more options are those of `ray.remote` (num_gpus=1, resources=...).
    """
    from ..arguments import whole
    from ..lazy import package

    ray = package("ray", "ray", "running a study on Ray", "ray")
    whole(threads, "threads")
    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
    return RayExecutor(ray, threads, {"num_cpus": threads, "max_retries": 0, **options})
