"""Two commits on one machine: python -m tests.yardstick.compare OLD [--new COMMIT] [--data FOLDER]

Each commit is checked out into a temporary folder, its C extension built, and `cases.py` of this
working tree run on it. Arrays must be equal bit for bit; identified values to 1e-9 of their norm.
Without --new the working tree is compared. Differences named in CHANGED, with their reasons, are
listed but do not count.
"""

import argparse
import fnmatch
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
TOLERANCE = {"identification": 1e-9, "poses": 1e-12}  # through LAPACK and solvers; else bits
CHANGED: dict[str, str] = {  # pattern of "case:array" -> why it is not the same any more
    "exports/law *": "own functions of exported C have the bits of the compiled kernels",
    "simulations/controller slotine-li:*": "tanh is the package's own, to the last digit or two",
    "identification/* feasible:*": "the same, through a semidefinite program of tolerance 1e-7",
    "simulations/sensors noise:*": "noise is counted by sample, arm and joint",
    "simulations/controller *:*": "the step is that of the exported law: rounding of its sums",
}


def record(out: Path, data: Path | None, only: str) -> None:
    """Run the cases with the dynamis that is importable here."""
    from tests.yardstick.cases import cases

    found: dict[str, np.ndarray] = {}
    for name, case in cases(data):
        if fnmatch.fnmatch(name, only):
            found |= {f"{name}:{key}": value for key, value in case().items()}
            print(f"\r{len(found):6d} arrays, {name:60.60s}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    np.savez(out, **found)  # type: ignore[arg-type]


def tree_of(commit: str | None, folder: Path) -> Path:
    """A checkout with its extension built; the working tree itself without a commit."""
    if commit is None:
        return ROOT
    subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, folder], check=True)
    subprocess.run(["git", "checkout", "--quiet", commit], cwd=folder, check=True)
    source = folder / "src" / "dynamis" / "_fast.c"
    built = source.with_suffix(sysconfig.get_config_var("EXT_SUFFIX"))
    headers = [f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
    subprocess.run(["cc", "-O3", "-fPIC", "-shared", *headers, source, "-o", built], check=True)
    return folder


def recorded(tree: Path, out: Path, data: Path | None, only: str) -> dict[str, np.ndarray]:
    """The arrays of one tree."""
    paths = os.pathsep.join((str(tree / "src"), str(ROOT)))
    environment = os.environ | {
        "PYTHONPATH": paths, "DYNAMIS_COMPILE": "on", "OMP_NUM_THREADS": "1",
        "DYNAMIS_CACHE": str(out.parent / f"{out.stem}-cache"),
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.yardstick.compare", "--record", str(out)]
    command += ["--only", only, *(["--data", str(data)] if data else [])]
    subprocess.run(command, cwd=out.parent, env=environment, check=True)
    with np.load(out) as file:
        return {key: file[key] for key in file.files}


def difference(name: str, old: np.ndarray | None, new: np.ndarray | None) -> str | None:
    """What tells two results apart, if anything does."""
    if old is None or new is None:
        return "only in the new commit" if old is None else "only in the old commit"
    if old.shape != new.shape or old.dtype != new.dtype:
        return f"{old.dtype}{old.shape} became {new.dtype}{new.shape}"
    if old.tobytes() == new.tobytes():
        return None
    if old.dtype.kind != "f":
        return "another text"
    with np.errstate(all="ignore"):
        gap, size = np.nanmax(np.abs(new - old), initial=0.0), np.nanmax(np.abs(old), initial=0.0)
    nans = not np.array_equal(np.isnan(old), np.isnan(new))
    allowed = TOLERANCE.get(name.split("/", maxsplit=1)[0], 0.0)
    if not nans and allowed and gap <= allowed * size:
        return None
    return f"differs by {gap:.2g} of {size:.2g}" + (", NaN elsewhere" if nans else "")


def compare(old: dict[str, np.ndarray], new: dict[str, np.ndarray]) -> int:
    """Print a line per difference; the number of those without a reason."""
    unexplained = 0
    for name in sorted(old.keys() | new.keys()):
        found = difference(name, old.get(name), new.get(name))
        if found is None:
            continue
        reason = next((why for p, why in CHANGED.items() if fnmatch.fnmatch(name, p)), None)
        unexplained += reason is None
        print(f"{name}: {found}" + (f" ({reason})" if reason else ""))
    print(f"{len(old.keys() & new.keys())} arrays compared, {unexplained} differ without a reason")
    return unexplained


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", nargs="?", default="HEAD")
    parser.add_argument("--new", help="commit; default: the working tree")
    parser.add_argument("--data", type=Path, help="folder of logs of real arms")
    parser.add_argument("--only", default="*", help="cases whose name matches, such as 'kernels/*'")
    parser.add_argument("--record", type=Path, help="write the arrays of this process and stop")
    given = parser.parse_args()
    data = given.data.resolve() if given.data else None
    if given.record:
        record(given.record, data, given.only)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for side, commit in (("old", given.old), ("new", given.new)):
            print(f"{side}: {commit or 'working tree'}", file=sys.stderr)
            tree = tree_of(commit, Path(folder) / side)
            results.append(recorded(tree, Path(folder) / f"{side}.npz", data, given.only))
        return int(compare(*results) > 0)


if __name__ == "__main__":
    sys.exit(main())
