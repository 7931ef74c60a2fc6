"""Descriptions that are code: xacro programs, and the modules of the package robot_descriptions.

Both run in a process of their own, and only where the caller asks for it by name.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from shutil import which
from typing import Any

from ...arguments import is_flag
from ...errors import FileError, did_you_mean, shown
from ...lazy import missing_package, package
from . import packages
from .packages import places
from .tables import read_bytes

PREFIX = "robot_descriptions:"
KEY = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
EXTRA = "descriptions"
LIST = "`python -m robot_descriptions list` names them all"
CLONED = re.compile(r"_clone_to_cache\(\s*[\"']([^\"']+)[\"']")
PATHS = ("URDF_PATH", "MJCF_PATH", "XACRO_PATH", "SDF_PATH")
MISSING = 90  # exit code of xacro's process if there is no folder of a package; it says its name
UNKNOWN = 91  # if the file does not ask for an argument; it says its name, then those it asks for
# xacro with our search for packages instead of ROS's
XACRO = f"""
import runpy, sys
from pathlib import Path
import xacro
from xacro import substitution_args
own = runpy.run_path(sys.argv.pop(1))
def find(name):
    folder = own["package_folder"](name, Path(sys.argv[1]))
    if folder is None:
        print(name, file=sys.stderr)
        raise SystemExit({MISSING})
    return str(folder)
substitution_args._eval_find = substitution_args._eval_dict["find"] = find
class Given(dict):
    asked = set()
    def __contains__(self, name):
        self.asked.add(name)
        return super().__contains__(name)
    def __getitem__(self, name):
        self.asked.add(name)
        return super().__getitem__(name)
process = xacro.process_doc
def process_doc(doc, mappings=None, **options):
    given = Given(mappings or {{}})
    process(doc, given, **options)
    unknown = sorted({{*(mappings or {{}})}} - Given.asked)
    if unknown:
        print(unknown[0], *sorted(Given.asked), file=sys.stderr)
        raise SystemExit({UNKNOWN})
xacro.process_doc = process_doc
xacro.main()
"""
FIND = """
import importlib, json, sys
module = importlib.import_module("robot_descriptions." + sys.argv[1])
found = {x: str(getattr(module, x)) for x in sys.argv[2:] if hasattr(module, x)}
found["XACRO_ARGS"] = {str(k): str(v) for k, v in getattr(module, "XACRO_ARGS", {}).items()}
print()
print(json.dumps(found))
"""


# xacro


def xacro_arguments(given: Any) -> dict[str, str] | None:
    """Arguments of a xacro program; None where it may not run."""
    if is_flag(given):
        return {} if given else None
    expected = "expected True, False or its arguments: {'ur_type': 'ur5e'}"
    if not isinstance(given, Mapping):
        raise FileError(f"run_xacro is {shown(given)}, {expected}")
    for key, value in given.items():
        if not (isinstance(key, str) and KEY.fullmatch(key)) or not isinstance(
            value, (str, bool, int, float)
        ):
            raise FileError(f"run_xacro has {shown(key)}: {shown(value)}, {expected}")
    texts = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in given.items()}
    return texts


def expanded(path: Path, arguments: Mapping[str, str] | None) -> bytes:
    """What a xacro program writes; it may read files and run Python, so only if asked."""
    if arguments is None:
        raise FileError(
            f"{path} is a xacro file: a program, which is not run unasked",
            "run `xacro in.xacro > out.urdf` and load that, or, if you trust the file, "
            "dy.load(path, run_xacro=True)",
        )
    read_bytes(path)  # a regular file of sensible size
    given = [f"{key}:={value}" for key, value in arguments.items()]
    done = _run([*_xacro(), str(path.absolute()), *given], cwd=path.absolute().parent)
    said = _last_lines(done.stderr)
    if done.returncode == MISSING:
        name = said.rpartition(" ")[2]
        raise FileError(
            f"{path}: $(find {name}): there is no folder of the package {name!r}",
            f"looked for a package.xml with this name, or a folder called so, in {places(path)}; "
            "put the package beside this one, or its parent folder into ROS_PACKAGE_PATH",
        )
    if done.returncode == UNKNOWN:
        name, *known = done.stderr.decode(errors="replace").strip().splitlines()[-1].split(" ")
        raise FileError(f"{path} asks for no argument {name!r}", did_you_mean(name, known))
    if done.returncode:
        raise FileError(f"{path}: xacro failed: {said}")
    return done.stdout


def _xacro() -> list[str]:
    """The command that runs xacro: the package of this Python, else the system's."""
    if importlib.util.find_spec("xacro") is not None:
        return [sys.executable, "-c", XACRO, packages.__file__]
    if command := which("xacro"):
        return [command]
    raise missing_package("xacro", "run_xacro", EXTRA)


# robot_descriptions


def description_file(name: str, download: bool) -> tuple[Path, dict[str, str]]:
    """The file of a description in the cache of robot_descriptions, and its xacro arguments.

    Only with `download` may that package reach the network, and so write to its cache.
    """
    purpose = f"{PREFIX}{name}"
    known = package("robot_descriptions", "robot_descriptions", purpose, EXTRA).DESCRIPTIONS
    if name not in known:
        hint = did_you_mean(name, known)
        hint = LIST if hint.startswith("known") else hint  # hundreds
        raise FileError(f"robot_descriptions has no {shown(name)}", hint)
    ask = f"dy.load({PREFIX + name!r}, download=True) lets robot_descriptions download it"
    missing = None if download else _missing(name)
    if missing is not None:
        raise FileError(f"{PREFIX}{name} is not in the cache: there is no {missing}", ask)
    environment = dict(os.environ)
    if not download:
        environment |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
    command = [sys.executable, "-c", FIND, name, *PATHS]
    done = _run(command, env=environment, quiet=not download)
    if done.returncode:
        words = _last_lines(done.stderr) or "see above"
        hint = "is there a connection to the internet?" if download else ask
        raise FileError(f"{PREFIX}{name} cannot be opened: {words}", hint)
    found = json.loads(done.stdout.splitlines()[-1])
    arguments = found.pop("XACRO_ARGS")
    for kind in PATHS:
        if kind in found:
            return Path(found[kind]), arguments
    raise FileError(f"{PREFIX}{name} has no URDF, MJCF, SDF or xacro file")


def _missing(name: str) -> Path | None:
    """A folder of the cache that the description needs and that is not there."""
    source = importlib.util.find_spec(f"robot_descriptions.{name}")
    if source is None or source.origin is None:
        return None
    table = import_module("robot_descriptions._repositories").REPOSITORIES
    default = "~/.cache/robot_descriptions"
    cache = Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", default)).expanduser()
    commit = os.environ.get("ROBOT_DESCRIPTION_COMMIT")
    for repository in CLONED.findall(Path(source.origin).read_text(encoding="utf-8")):
        folder = table[repository].cache_path
        path = cache / (f"{folder}-{commit}/{folder}" if commit else folder)
        if not path.is_dir():
            return path
    return None


def _run(command: list[str], quiet: bool = True, **more: Any) -> "subprocess.CompletedProcess":
    """A finished process; what it says is kept, or shown while it works."""
    said = subprocess.PIPE if quiet else None
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, check=False,
            **more,
        )  # fmt: skip
    except OSError as error:
        raise FileError(f"{command[0]} cannot be run: {error.strerror}") from None


def _last_lines(said: bytes | None) -> str:
    lines = (said or b"").decode("utf-8", "replace").strip().splitlines()
    return " ".join(line.strip() for line in lines[-3:])[:500]
