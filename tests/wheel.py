"""The wheel as a user gets it: built, looked through, installed alone and used.

    python tests/wheel.py [--keep FOLDER]

An sdist is made of the files in Git, a wheel of the sdist; the wheel is installed into a fresh
environment with the core's dependencies and nothing else, where `core_check.py` runs. Needs an
index of packages, as pip does. Prints sizes and times.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "src/dynamis/"
EXTENSIONS = ("_fast", "_xla")
MOST = 700  # MiB of the core with its dependencies
FIRST = """
import time; begun = time.perf_counter()
import dynamis as dy
robot = dy.load("puma560")
robot.inverse_dynamics([0.1] * 6, [0.2] * 6, [0.3] * 6)
print(f"{time.perf_counter() - begun:.2f}")
"""


def main() -> int:
    """Build, look through, install, use."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="leave the sdist and the wheel in this folder")
    kept = parser.parse_args().keep
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        dist = kept.absolute() if kept else work / "dist"
        sdist, wheel = built(dist, work)
        looked_through(sdist, wheel)
        python = installed(wheel, work / "core")
        used(python, work)
    return 0


def built(dist: Path, work: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is made of it."""
    said = timed(
        "build", [sys.executable, "-m", "build", "--outdir", str(dist), str(exported(work))], work
    )
    (sdist,) = (x for x in dist.glob("*.tar.gz") if x.name in said)
    (wheel,) = (x for x in dist.glob("*.whl") if x.name in said)
    for path in (sdist, wheel):
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    return sdist, wheel


def tracked() -> list[str]:
    """Files of this checkout that Git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def exported(work: Path) -> Path:
    """A copy of those files: nothing that an earlier build left gets into the new one."""
    copy = work / "source"
    for name in tracked():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    return copy


def looked_through(sdist: Path, wheel: Path) -> None:
    """Every file of the package is in the sdist; in the wheel all but the C of the extensions."""
    wanted = {name for name in tracked() if name.startswith(PACKAGE)}
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert wanted <= packed, f"missing in the sdist: {sorted(wanted - packed)}"
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    sources = {f"{PACKAGE}{name}.c" for name in EXTENSIONS}
    wanted = {name.removeprefix("src/") for name in wanted - sources}
    assert wanted <= inside, f"missing in the wheel: {sorted(wanted - inside)}"
    own = {name for name in inside if not name.partition("/")[0].endswith(".dist-info")}
    libraries = {x for x in own - wanted if x.endswith((".so", ".pyd"))}
    assert {Path(x).name.partition(".")[0] for x in libraries} == {*EXTENSIONS}, libraries
    assert own == wanted | libraries, f"not of the package: {sorted(own - wanted - libraries)}"


def installed(wheel: Path, place: Path) -> Path:
    """The interpreter of a fresh environment with the wheel and what it depends on."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", str(wheel)]
    timed("install", pip, place)
    size = sum(x.stat().st_size for x in place.rglob("*") if not x.is_symlink() and x.is_file())
    print(f"environment: {size / 2**20:.0f} MiB ({size / 1e6:.0f} MB)")
    assert size < MOST * 2**20, f"the core takes {size / 2**20:.0f} MiB, at most {MOST} are allowed"
    return python


def used(python: Path, work: Path) -> None:
    """The first result with an empty cache and the second process, then every check."""
    for which in ("first result, empty cache", "first result, second process"):
        took = timed("", [str(python), "-c", FIRST], work).strip()
        print(f"{which}: {took} s")
    print(timed("use", [str(python), str(ROOT / "tests" / "core_check.py"), "--extension"], work))


def timed(what: str, command: list[str], work: Path) -> str:
    """Run a program in a folder of its own, with a cache of its own; what it printed."""
    unwanted = ("PYTHONPATH", "DYNAMIS_COMPILE", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    begun = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=work,
        env=kept | {"DYNAMIS_CACHE": str(work / "cache"), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    if what:
        print(f"{what}: {time.perf_counter() - begun:.0f} s", flush=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
