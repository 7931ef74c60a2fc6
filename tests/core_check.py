"""What a core installation can do, and what it says where an extra is missing.

    python tests/core_check.py [--without-extras] [--without-posix]

Run by the tests of a wheel in an environment that has the core alone. In one that has more,
`--without-extras` refuses to import it; `--without-posix` takes away what Windows does not have.
"""

import contextlib
import importlib
import importlib.metadata
import io
import os
import re
import signal
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
POSIX_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
POSIX_NAMES = {
    os: (
        *("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "WNOHANG", "chown", "fork", "geteuid"),
        *("getgid", "getuid", "killpg", "mkfifo", "nice", "register_at_fork", "setsid"),
        *("sched_getaffinity", "sysconf"),
    ),
    signal: ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "alarm", "setitimer"),
}


def core_packages() -> set[str]:
    """Names of the packages that the core needs, and of those that they need."""
    found, todo = set(), list(tomllib.loads(PROJECT.read_text("utf-8"))["project"]["dependencies"])
    while todo:
        wanted = todo.pop()
        name = _normal(re.match(r"[\w.-]+", wanted)[0])
        if "extra ==" in wanted or name in found:
            continue
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            todo += importlib.metadata.requires(name) or []
            found.add(name)
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class Without:
    """A finder that hides every module outside the core and the standard library."""

    def __init__(self) -> None:
        core = core_packages() | {"dynamis"}
        owners = importlib.metadata.packages_distributions()
        found = {m for m, names in owners.items() if core & {*map(_normal, names)}}
        self.known = found | {*sys.stdlib_module_names, "dynamis"}

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Nothing to say of what is known: the finders after this one look for it."""
        top = name.partition(".")[0]
        if top not in self.known and not top.startswith("_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def without_posix() -> None:
    """Take away what Windows does not have, once the packages of others are imported."""
    for name in ("numpy", "scipy.optimize", "casadi", "llvmlite.binding", "tyro", "rich.console"):
        importlib.import_module(name)
    for name in POSIX_MODULES:
        sys.modules[name] = None
    for module, names in POSIX_NAMES.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)


# what works


def every_arm_of_the_catalogue() -> None:
    import dynamis as dy
    from dynamis.model.catalogue import names

    for name in names():
        robot = dy.load(name)
        assert robot.n and repr(robot) and robot._repr_html_()


def compiled_dynamics() -> None:
    import numpy as np

    import dynamis as dy
    from dynamis.compile import arrays

    robot = dy.load("puma560")
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 500, robot.n))
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, rtol=1e-8, atol=1e-8)
    one = robot.inverse_dynamics(q[0], qd[0], qdd[0])
    assert np.array_equal(one, tau[0])
    if "--extension" in sys.argv:
        assert arrays.Fast is not None, "the C extension was not built"


def urdf_and_toml() -> None:
    import dynamis as dy

    robot = dy.load("planar-2link")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        for name in ("arm.toml", "arm.urdf"):
            robot.save(Path(folder) / name)
            assert dy.load(Path(folder) / name).n == robot.n


def inverse_kinematics() -> None:
    import dynamis as dy

    puma = dy.load("puma560")
    assert len(puma.ik(puma.fk([0, 0.7, 0.3, 0.2, 0.6, 0.1])).q) == 8


@cache
def a_log() -> "dynamis.Log":  # noqa: F821
    """Of an arm whose lengths are symbols, along an exciting motion."""
    import numpy as np

    import dynamis as dy

    amplitudes = np.array([[0.4, -0.2, 0.3], [0.3, 0.5, -0.1]])
    move = dy.trajectory.fourier(amplitudes, amplitudes[::-1], period=2.0)
    robot = dy.load("planar-rr")
    law = dy.control.ComputedTorque.from_bandwidth(robot, 20.0)
    return dy.Log.from_run(dy.simulate(robot, 4.0, controller=law, reference=move))


def identified(estimator: str) -> "dynamis.identify.Estimate":  # noqa: F821
    import dynamis as dy

    return dy.identify(dy.load("planar-rr"), a_log(), friction="none", estimator=estimator)


def simulation_and_identification() -> None:
    for estimator in ("ordinary", "weighted"):
        estimate = identified(estimator)
        assert estimate.validate(a_log()).relative_error_overall < 0.05, estimate
        assert str(estimate)


def exported_c() -> None:
    import dynamis as dy

    robot = dy.load("planar-2link")
    law = dy.control.ComputedTorque.from_bandwidth(robot, 20.0)
    with tempfile.TemporaryDirectory() as folder:
        assert robot.export("inverse_dynamics", target="c", directory=folder)
        assert dy.export_controller(robot, law, Path(folder) / "law", sample_time=0.005)


def study() -> None:
    varied = ("--mass", "0.1", "--samples", "20", "--duration", "0.05")
    done = command("study", "planar-2link", *varied)
    assert done.code == 0, done


def command_line() -> None:
    assert "usage: dynamis COMMAND" in command("--help").out
    for words in (("robots",), ("show", "scara"), ("cache",), ("completion", "bash")):
        assert command(*words).out
    assert command("check", "ur10e").code in (0, 1)
    assert command("equations", "--help").code == 0
    assert command("simulate", "pendulum3", "--duration", "0.05").code == 0


WORKS = (
    every_arm_of_the_catalogue, compiled_dynamics, urdf_and_toml, inverse_kinematics,
    simulation_and_identification, exported_c, study, command_line,
)  # fmt: skip


# what needs an extra


def needing_extras(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Extras, and what cannot be done without each."""
    import numpy as np

    import dynamis as dy

    robot = dy.load("planar-rr")
    run = dy.simulate(robot, 0.01)
    recorded = folder / "run.parquet"
    recorded.write_bytes(b"PAR1")
    yield "equations", robot.equations
    yield "equations", lambda: robot.base_parameters().expressions()
    yield "plots", lambda: robot.plot([0.0, 0.0])
    yield "plots", robot.plot_workspace
    yield "plots", run.plot
    yield "plots", lambda: run.animate(folder / "run.gif")
    yield "dataframes", run.to_pandas
    yield "dataframes", run.to_polars
    yield "identify", lambda: identified("feasible")
    yield "logs", lambda: dy.read_log(recorded)
    yield "trajectory", lambda: dy.trajectory.time_optimal(robot, np.array([[0, 0], [1, 1.0]]))
    yield "gym", lambda: importlib.import_module("dynamis.gym").ReachEnv(robot)
    yield "mujoco", lambda: dy.interop.from_mjcf("<mujoco/>")
    yield "peers", lambda: dy.interop.to_pinocchio(robot)
    yield "peers", lambda: dy.interop.to_rtb(robot)
    yield "peers", lambda: dy.interop.to_yourdfpy(robot)
    yield "jax", lambda: importlib.import_module("dynamis.jax")
    yield "torch", lambda: importlib.import_module("dynamis.torch")
    yield "ray", dy.ray_executor
    for extra, words in (
        ("equations", "equations planar-rr"),
        ("plots", f"simulate planar-rr --plot {folder / 'run.png'}"),
        ("plots", f"study planar-rr --mass 0.1 --report {folder / 'study.html'}"),
        ("studio", "studio"),
        ("all", "demo"),
    ):
        yield extra, lambda words=words: refused(*words.split())


# running it


class Result(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def command(*words: str) -> Result:
    """One command, in this process."""
    from dynamis.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
    return Result(code, out.getvalue(), err.getvalue())


def refused(*words: str) -> None:
    """A command that must fail for want of a package."""
    from dynamis.errors import MissingPackageError

    code, _, said = command(*words)
    if code == 2 and "which is not installed" in said:
        raise MissingPackageError(said)


def main() -> int:
    """Every check in turn; 1 if one fails."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [x for x in sys.path if Path(x).resolve() != here]  # its folders are no packages
    if "--without-extras" in sys.argv:
        sys.meta_path.insert(0, Without())
    if "--without-posix" in sys.argv:
        without_posix()
    if sys.flags.warn_default_encoding:
        warnings.filterwarnings("error", category=EncodingWarning, module="dynamis")
    from dynamis.errors import MissingPackageError
    from dynamis.lazy import install_command

    begun, failed = time.perf_counter(), []
    for check in WORKS:
        start = time.perf_counter()
        check()
        print(f"{check.__name__.replace('_', ' ')}: {time.perf_counter() - start:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        for extra, use in needing_extras(Path(folder)):
            try:
                use()
            except MissingPackageError as error:
                said = str(error)
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            else:
                said = "no error"
            if install_command(extra) not in said:
                failed.append(f"{extra}: {said}")
    print("\n".join(failed) or "every extra that is missing is named")
    print(f"{time.perf_counter() - begun:.1f} s")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
