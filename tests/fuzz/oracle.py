"""What reading a file may do: give a result or raise a DynamisError, and nothing else.

No other exception, no crash, no file opened outside the file's own folder, nothing written, nothing
executed, at most 2 s of CPU time and 500 MB. The operating system enforces the limits of a worker
process; an audit hook and inotify see what is opened and run.
"""

import ctypes
import gc
import os
import resource
import signal
import struct
import sys
import sysconfig
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from dynamis.errors import DynamisError

from .readers import Reader

CPU = 2.0  # s of one file, all threads together
MEMORY = 500_000_000  # bytes that one file may add to the process
GUARD = 3 * MEMORY  # address space at first: what lies above is a MemoryError, no machine suffers
ALLOWED = "accepted", "refused"
SOURCES = tuple(  # where Python and its packages import from
    {str(Path(sysconfig.get_paths()[x]).resolve()) for x in ("stdlib", "purelib", "platlib")}
    | {str(Path(x).resolve()) for x in sys.path if x and Path(x).is_dir()}
)
REFUSED = (  # audit events: programs, the network, files removed or moved, code in data
    *("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "pty."),
    *("socket.", "urllib.", "webbrowser.", "shutil.", "os.remove", "os.rename", "os.mkdir"),
    *("os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate", "pickle.", "tempfile."),
)


class Verdict(NamedTuple):
    """`kind` is accepted, refused, or what went wrong; `detail` says where."""

    kind: str
    detail: str = ""
    cpu: float = 0.0
    memory: int = 0

    @property
    def fine(self) -> bool:
        """Whether the law holds."""
        return self.kind in ALLOWED

    @property
    def signature(self) -> tuple[str, str]:
        """The same for two files that show the same fault."""
        return self.kind, self.detail.partition(": ")[0]


class Watch:
    """A worker's own folders: input/ holds the file, cwd/ and outside/ must not be touched."""

    def __init__(self, folder: Path):
        self.folder, self.seen, self.armed = folder, [], False
        self.input = folder / "input"
        for name in ("input", "cwd", "outside"):
            (folder / name).mkdir()
        for name in ("mesh.stl", "mesh.obj", "robot.xml", "data.csv"):
            (folder / "outside" / name).write_text("0")
        os.chdir(folder / "cwd")
        self.inotify = _inotify(folder / "cwd", folder / "outside")
        gc.freeze()  # what other tests left is not collected while a file is read
        sys.addaudithook(self._audit)

    def _audit(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        said = None
        if event == "open":
            said = self._opened(*given)
        elif event == "exec" and not _of_a_package(getattr(given[0], "co_filename", "")):
            code = given[0]
            said = f"executed code: {getattr(code, 'co_filename', code)!r:.80}"
        elif event.startswith(REFUSED):
            said = f"{event} {given!r:.80}"
        if said:
            self.seen.append(said)
            raise PermissionError(said)

    def _opened(self, path: Any, mode: str | None, flags: int) -> str | None:
        if isinstance(path, int):
            return None
        name = os.path.realpath(os.fsdecode(path))
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        if writes or (mode and set(mode) & set("wax+")):
            return f"wrote {name[-80:]}"
        inside = name.startswith((f"{self.input}{os.sep}", "/proc/self/"))
        return None if inside or _of_a_package(name) else f"opened {name[-80:]}"

    def touched(self) -> list[str]:
        """What was done that may not be, since the last call; C libraries included."""
        seen, self.seen = self.seen, []
        return seen + _events(self.inotify)


def _of_a_package(name: str) -> bool:
    code = name.endswith((".py", ".pyc", ".so", ".pth")) or name.startswith("<frozen")
    return name.startswith((*SOURCES, "<frozen")) and code


def _inotify(*folders: Path) -> int | None:
    """A descriptor that hears of every touch of these folders; None where there is no such thing"""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    for folder in folders:
        libc.inotify_add_watch(descriptor, os.fsencode(folder), 0xFFF & ~0x10)  # all but closing
    return descriptor


def _events(descriptor: int | None) -> list[str]:
    if descriptor is None:
        return []
    found = []
    while True:
        try:
            data = os.read(descriptor, 65536)
        except BlockingIOError:
            return found
        while data:
            size = struct.unpack_from("iIII", data)[3]
            name = data[16 : 16 + size].rstrip(b"\0").decode()
            found += [f"touched {name}"] if name else []
            data = data[16 + size :]


def limit_process() -> None:
    """Address space; CPU time is set anew for every file."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _allow(GUARD)


def _allow(more: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (_pages(0) + more, hard))


def judge(reader: Reader, data: bytes, watch: Watch, hard: bool = True) -> Verdict:
    """What reading these bytes does. With `hard` SIGPROF ends the process after 2 s of CPU time."""
    path = watch.input / f"file{reader.suffix}"
    path.write_bytes(data)
    verdict = _judge(reader, path, watch, hard)
    if verdict.kind != "starved":
        return verdict
    _allow(_free() // 2)  # asked for much at once and took the answer: does it ever use that much?
    verdict = _judge(reader, path, watch, hard)
    _allow(GUARD)
    return verdict._replace(kind="refused") if verdict.kind == "starved" else verdict


def _judge(reader: Reader, path: Path, watch: Watch, hard: bool) -> Verdict:
    before, peak, start = _pages(1), _peak(), time.process_time()
    if hard:
        signal.setitimer(signal.ITIMER_PROF, CPU)
    watch.armed = True
    kind, detail = _outcome(reader, path)
    watch.armed = False
    if hard:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    cpu = time.process_time() - start
    memory = max(0, _peak() - before) if _peak() > peak else 0
    if touched := watch.touched():
        kind, detail = "touched", touched[0]
    elif cpu > CPU:
        kind, detail = "slow", f"{cpu:.1f} s"
    elif memory > MEMORY:
        kind, detail = "memory", f"{memory / 1e6:.0f} MB"
    return Verdict(kind, detail, cpu, memory)


def _outcome(reader: Reader, path: Path) -> tuple[str, str]:
    try:
        repr(reader.read(path))
    except DynamisError as error:
        if _chained(error, MemoryError):
            return "starved", f"caught at {_place(error)}"
        return "refused", str(error)[:200]
    except MemoryError as error:
        return "memory", _place(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return type(error).__name__, f"{_place(error)}: {error!s:.120}"
    return "accepted", ""


def _chained(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Whether such an exception lies behind this one; `from None` does not hide it."""
    while error is not None and not isinstance(error, kind):
        error = error.__context__
    return error is not None


def _place(error: BaseException) -> str:
    """The last line of our own code that it went through."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [x for x in frames if "dynamis" in Path(x[0].co_filename).parts]
    code, line = (own or frames)[-1]
    return f"{'/'.join(Path(code.co_filename).parts[-2:])} line {line} in {code.co_name}"


def _pages(column: int) -> int:
    """Bytes of address space (0) or of memory (1) of this process."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[column]) * resource.getpagesize()


def _free() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * resource.getpagesize()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
