"""Blocks on any executor: tasks of about a second, tried again where a worker died.

The case travels once to every worker: a task names it by its digest, and a worker that does not
have it says so. Anything with `submit` that returns futures will do.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from typing import Any, NamedTuple

from ..errors import DynamisError, OptionError, shown
from .case import Case
from .summary import Summary

TASK = 1.0  # seconds of work of a task
TRIES = 3  # of one task
REMEMBERED = 4  # cases that a worker keeps
UNKNOWN = 64  # tasks under way on an executor that does not say how many workers it has
DIED = {  # what Dask and Ray raise where a worker was lost
    "KilledWorker", "CommClosedError", "FutureCancelledError", "WorkerCrashedError",
    "NodeDiedError", "OwnerDiedError", "ObjectLostError",
}  # fmt: skip
ON_A_GPU = 2**16  # samples of one launch

_cases: "OrderedDict[str, Case]" = OrderedDict()  # of this process, by digest


class Done(NamedTuple):
    """What a task gives: a summary of every block, and how long it took."""

    first: int
    summaries: Sequence[Summary]
    seconds: float


def remember(digest: str, case: Case) -> None:
    """Keep a case in this process."""
    _cases[digest] = case
    while len(_cases) > REMEMBERED:
        _cases.popitem(last=False)


def work(digest: str, first: int, stop: int, threads: int | None, case: Case | None) -> Done | None:
    """Blocks first .. stop - 1; None where the case is needed and was not sent."""
    own = _cases.get(digest)
    if own is None:
        if case is None:
            return None
        remember(digest, case)
        own = case
    begun = time.perf_counter()
    summaries = own.summaries(first, stop, threads)
    return Done(first, summaries, time.perf_counter() - begun)


class Task(NamedTuple):
    """Blocks first .. stop - 1, and how often they were tried."""

    first: int
    stop: int
    tries: int = 0
    with_case: bool = False


def cores() -> int:
    """Cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class Driver:
    """Sends blocks to an executor and gives back their summaries, in any order."""

    def __init__(self, case: Case, digest: str, executor: Any, threads: int | None):
        self.case, self.digest = case, digest
        self.own: Executor | None = None
        self.on_gpu = case.options.get("device") is not None
        remember(digest, case)
        if executor is None:
            workers = min(threads or cores(), max(1, case.blocks))
            if self.on_gpu:
                workers = 2  # one prepares while the other computes
            executor = self.own = ThreadPoolExecutor(workers, thread_name_prefix="dynamis-study")
            self.threads = max(1, (threads or cores()) // (1 if self.on_gpu else workers))
        else:
            self.threads = threads or getattr(executor, "threads", 1)
        if not callable(getattr(executor, "submit", None)):
            raise OptionError(
                f"executor is {shown(executor)}, expected one of concurrent.futures, Dask's "
                "client.get_executor(), or dy.ray_executor()"
            )
        self.executor = executor
        self.workers = workers_of(executor)

    def summaries(self, todo: Sequence[int]) -> Iterator[tuple[int, Summary]]:
        """(block, summary) of every block that is to be done."""
        left, under_way = list(reversed(runs_of(todo))), dict[Future, Task]()
        again: list[Task] = []
        size, per_block = 1, 0.0
        try:
            while left or again or under_way:
                while (left or again) and len(under_way) < 2 * self.workers:
                    task = again.pop() if again else self._next(left, size)
                    under_way[self._submit(task)] = task
                finished, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in finished:
                    task = under_way.pop(future)
                    try:
                        done = future.result()
                    except (DynamisError, KeyboardInterrupt):
                        raise
                    except BaseException as error:
                        again += self._after(error, task, under_way)
                        continue
                    if done is None:  # the worker does not have the case yet
                        again.append(task._replace(with_case=True))
                        continue
                    blocks = task.stop - task.first
                    per_block = done.seconds / blocks
                    size = self._size(per_block, left)
                    for k, summary in enumerate(done.summaries):
                        yield task.first + k, summary
        finally:
            for future in under_way:
                future.cancel()
            if self.own is not None:
                self.own.shutdown(wait=True, cancel_futures=True)

    def _size(self, per_block: float, left: Sequence[range]) -> int:
        """Blocks of a task: about a second, and enough tasks for all workers."""
        wanted = max(1, int(TASK / max(per_block, 1e-6)))
        share = sum(len(run) for run in left) // (2 * self.workers)
        return max(1, min(wanted, share))

    def _next(self, left: list[range], size: int) -> Task:
        run = left.pop()
        if self.on_gpu:
            size = max(1, ON_A_GPU // self.case.block)
        if len(run) > size:
            left.append(run[size:])
        return Task(run.start, min(run.start + size, run.stop))

    def _submit(self, task: Task) -> Future:
        case = self.case if task.with_case else None
        try:
            return self.executor.submit(
                work, self.digest, task.first, task.stop, self.threads, case
            )
        except BrokenExecutor as error:
            self._replace(error)
            return self._submit(task)

    def _after(self, error: BaseException, task: Task, under_way: dict[Future, Task]) -> list[Task]:
        """Tasks to try again after one failed."""
        if _cannot_travel(error):
            raise OptionError(
                f"the study cannot be sent to workers: {error}",
                "define laws and measures at the top of a module, not as lambdas; or use threads "
                "(executor=None), Dask or Ray, which send more",
            ) from error
        if not isinstance(error, (BrokenExecutor, CancelledError)) and not _died(error):
            raise error
        if task.tries + 1 >= TRIES:
            first, _ = self.case.span(task.first)
            last, count = self.case.span(task.stop - 1)
            raise OptionError(
                f"samples {first} to {last + count - 1} lost their worker {TRIES} times: {error}",
                "what was done before is in the checkpoint, if one was given",
            ) from error
        lost = [task._replace(tries=task.tries + 1)]
        if isinstance(error, BrokenExecutor):  # a pool that lost a process loses all its tasks
            for other in list(under_way):
                lost.append(under_way.pop(other)._replace(with_case=True))
            self._replace(error)
        return lost

    def _replace(self, error: BaseException) -> None:
        """A new pool like the one that broke."""
        broken = self.executor
        if not isinstance(broken, ProcessPoolExecutor):
            raise OptionError(
                f"the executor broke: {error}", "run the study again with a new one and the same "
                "checkpoint",
            ) from error  # fmt: skip
        options = {
            "mp_context": getattr(broken, "_mp_context", None),
            "initializer": getattr(broken, "_initializer", None),
            "initargs": getattr(broken, "_initargs", ()),
        }
        if self.own is broken:
            broken.shutdown(wait=False)
        self.executor = self.own = ProcessPoolExecutor(self.workers, **options)


def _cannot_travel(error: BaseException) -> bool:
    text = str(error).lower()
    kinds = {"PicklingError", "AttributeError", "TypeError"}
    return type(error).__name__ in kinds and "pickle" in text


def _died(error: BaseException) -> bool:
    """Whether an error means that a worker was lost, by the names the engines give it."""
    return any(kind.__name__ in DIED for kind in type(error).__mro__)


def workers_of(executor: Any) -> int:
    """How many tasks an executor runs at once, as far as it says."""
    own = getattr(executor, "_max_workers", None)
    if own is None and hasattr(executor, "workers"):
        own = executor.workers
    client = getattr(executor, "_client", None)  # Dask
    if own is None and client is not None and callable(getattr(client, "nthreads", None)):
        own = sum(client.nthreads().values())
    return int(own) if isinstance(own, int) and own > 0 else UNKNOWN


def runs_of(blocks: Sequence[int]) -> list[range]:
    """Numbers in order as runs without gaps."""
    found: list[range] = []
    for block in blocks:
        if found and found[-1].stop == block:
            found[-1] = range(found[-1].start, block + 1)
        else:
            found.append(range(block, block + 1))
    return found


class RayExecutor:
    """`submit` as Ray tasks: Ray schedules them, sends what they need and tries them again."""

    def __init__(self, ray: Any, threads: int, options: dict[str, Any]):
        self.threads = threads
        self._ray, self._task = ray, ray.remote(**options)(work)
        self._sent: dict[str, Any] = {}

    @property
    def workers(self) -> int:
        """Tasks the cluster runs at once."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1) // self.threads))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """A future of `work`; the case is put into Ray's store once."""
        assert function is work
        digest, *rest, case = arguments
        if case is not None:
            if digest not in self._sent:
                self._sent = {digest: self._ray.put(case)}
            case = self._sent[digest]
        return self._task.remote(digest, *rest, case).future()


def ray_executor(threads: int = 1, **options: Any) -> RayExecutor:
    """The nodes of a Ray cluster as an executor of `dy.study`; `ray.init(...)` says which.

    `threads` cores each task; more options are those of `ray.remote` (num_gpus=1, resources=...).
    """
    from ..arguments import whole
    from ..lazy import package

    ray = package("ray", "ray", "running a study on Ray", "ray")
    whole(threads, "threads")
    if not ray.is_initialized():
        ray.init(address=os.environ.get("RAY_ADDRESS"), log_to_driver=False)
    return RayExecutor(ray, threads, {"num_cpus": threads, "max_retries": TRIES, **options})
