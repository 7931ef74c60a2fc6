"""Worker processes that read files under the oracle's limits; one that dies is replaced.

A fork server that has imported everything once starts the workers, so a new one costs
milliseconds. A file is known by its number: `make(number)` gives its bytes, in any process.
"""

import multiprocessing
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path

from .oracle import CPU, Verdict, Watch, judge, limit_process
from .readers import Reader

CHUNK = 2000  # files per worker process
SILENT = 60.0  # s without a word after which a worker is looked at
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.fuzz.warm"])

Make = Callable[[int], bytes]


def judged(
    reader: Reader, make: Make, numbers: Sequence[int], jobs: int = 1
) -> Iterator[tuple[int, Verdict]]:
    """(number, verdict) of every file, in any order."""
    todo = deque(numbers[k : k + CHUNK] for k in range(0, len(numbers), CHUNK))
    workers: list[Worker] = []
    try:
        while todo or workers:
            while todo and len(workers) < jobs:
                workers.append(Worker(reader, make, todo.popleft()))
            ready = wait([x.connection for x in workers], timeout=SILENT)
            for worker in [x for x in workers if x.connection in ready or x.stuck(not ready)]:
                yield from worker.said()
                if worker.over:
                    workers.remove(worker)
                    if worker.rest:
                        todo.appendleft(worker.rest)
    finally:
        for worker in workers:
            worker.end()


@dataclass(eq=False)
class Worker:
    """A process and the files that it has not yet judged."""

    reader: Reader
    make: Make
    rest: Sequence[int]

    def __post_init__(self) -> None:
        self.ready, self.over, self.slept = False, False, 0
        self.folder = tempfile.TemporaryDirectory(prefix="dynamis-fuzz-")
        self.connection, theirs = CONTEXT.Pipe(duplex=False)
        given = self.reader, self.make, self.rest, Path(self.folder.name).resolve(), theirs
        self.process = CONTEXT.Process(target=_work, args=given, daemon=True)
        self.process.start()
        theirs.close()

    def said(self) -> Iterator[tuple[int, Verdict]]:
        """Verdicts that have arrived; of the file that ended the process, its end."""
        self.slept = 0
        try:
            while self.connection.poll():
                verdict = self.connection.recv()
                if not self.ready:
                    self.ready = True
                    continue
                if isinstance(verdict, str):
                    raise RuntimeError(f"a worker failed by itself: {verdict}")
                number, self.rest = self.rest[0], self.rest[1:]
                yield number, verdict
        except EOFError:
            code = self.end(finished=True)
            if not self.ready:
                raise RuntimeError(f"a worker did not start: status {code}") from None
            if code != 0 and self.rest:
                number, self.rest = self.rest[0], self.rest[1:]
                yield number, _ended(code)

    def stuck(self, silent: bool) -> bool:
        """Killed if it waits for something without using the processor."""
        if not silent:
            return False
        state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        self.slept = self.slept + 1 if state in "SD" else 0
        if self.slept > 1:
            self.process.kill()
        return self.slept > 1

    def end(self, finished: bool = False) -> int | None:
        """The process's exit code, once it is gone."""
        self.over = True
        if self.connection.closed:
            return self.process.exitcode
        self.connection.close()
        if not finished:
            self.process.kill()
        self.process.join()
        self.folder.cleanup()
        return self.process.exitcode


def _ended(code: int | None) -> Verdict:
    if code == -signal.SIGPROF:
        return Verdict("slow", f"more than {CPU:g} s", CPU)
    if code is not None and code < 0:
        return Verdict("crash", signal.Signals(-code).name)
    return Verdict("exit", f"status {code}")


def _work(
    reader: Reader, make: Make, numbers: Sequence[int], folder: Path, connection: Connection
) -> None:
    """Judge the files one by one; after one that took much memory, leave the rest to another."""
    try:
        reader.warm_up()
        watch = Watch(folder)
        limit_process()
        connection.send("ready")
        for number in numbers:
            verdict = judge(reader, make(number), watch)
            connection.send(verdict)
            if verdict.kind == "memory":
                return
    except BaseException as error:
        with suppress(OSError):
            connection.send(f"{type(error).__name__}: {error}")
        raise
