"""What the core can do alone, what wheels are built, and one version everywhere."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

import dynamis
from dynamis import lazy
from dynamis.errors import MissingPackageError

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PYTHONS = ("cp311", "cp312", "cp313", "cp314")
WHEELS = {
    "linux": ("manylinux_x86_64", "manylinux_aarch64"),
    "macos": ("macosx_arm64",),
    "windows": ("win_amd64",),
}
EXTRAS = PROJECT["project"]["optional-dependencies"]


@pytest.mark.usefixtures("compiled")
def test_the_core_needs_no_extra_and_nothing_of_posix():
    """Every other package hidden, and what Windows lacks; each missing extra is named."""
    program = [sys.executable, "-X", "warn_default_encoding", "tests/core_check.py"]
    program += ["--without-extras", "--without-posix"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every extra that is missing is named" in done.stdout


@pytest.mark.parametrize("platform", WHEELS)
def test_wheels_are_built_for_these_platforms_and_pythons(platform):
    pytest.importorskip("cibuildwheel", reason="cibuildwheel is not installed")
    program = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers"]
    program += ["--platform", platform, "."]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True)
    expected = [f"{python}-{place}" for place in WHEELS[platform] for python in PYTHONS]
    assert sorted(done.stdout.split()) == sorted(expected)


def test_one_version_is_said_everywhere():
    version = PROJECT["project"]["version"]
    assert dynamis.__version__ == version
    headings = [
        line
        for line in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
        if line.startswith("## ")
    ]
    assert headings[0] == "## Unreleased" or headings[0].startswith(f"## {version} (")


def test_every_extra_is_in_the_documentation():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    assert [name for name in EXTRAS if f"`{name}`" not in page] == []


def test_errors_name_extras_that_exist():
    """Every `package(module, name, purpose, extra)` of the source."""
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "package":
                extra = node.args[3]
                named |= {extra.value} if isinstance(extra, ast.Constant) else set()
    assert named > {"equations", "plots", "studio"}
    assert named <= {*EXTRAS}


REQUIRES = [
    "numpy>=1.26",
    'matplotlib>=3.8; extra == "plots"',
    'pillow>=10; python_version < "3.99" and extra == "plots"',
    "dynamis[plots]; extra == 'studio'",
    'viser<1.2,>=1.1.1; extra == "studio"',
]
ADDRESS = "https://example.org/dynamis"
NOTES = {  # of pip, in direct_url.json, and the command that works there
    "nothing": (None, 'pip install "matplotlib>=3.8" "pillow>=10" "viser<1.2,>=1.1.1"'),
    "folder": ({"url": "HERE", "dir_info": {}}, 'pip install "PATH[studio]"'),
    "editable": (
        {"url": "HERE", "dir_info": {"editable": True}},
        'pip install -e "PATH[studio]"',
    ),
    "deleted file": (
        {"url": "HERE/dynamis-0.2.0.whl", "archive_info": {}},
        'pip install "matplotlib>=3.8" "pillow>=10" "viser<1.2,>=1.1.1"',
    ),
    "archive": (
        {"url": f"{ADDRESS}.zip", "archive_info": {}},
        f'pip install "dynamis[studio] @ {ADDRESS}.zip"',
    ),
    "repository": (
        {"url": ADDRESS, "vcs_info": {"vcs": "git", "commit_id": "1", "requested_revision": "v1"}},
        f'pip install "dynamis[studio] @ git+{ADDRESS}@v1"',
    ),
    "subfolder": (
        {"url": ADDRESS, "vcs_info": {"vcs": "git", "commit_id": "1"}, "subdirectory": "python"},
        f'pip install "dynamis[studio] @ git+{ADDRESS}#subdirectory=python"',
    ),
}


@pytest.mark.parametrize("name", NOTES)
def test_a_missing_extra_is_installed_from_where_the_package_came(name, tmp_path, monkeypatch):
    """It is on no registry: from its folder, file or address, else the extra's packages."""
    note, expected = NOTES[name]
    folder = tmp_path / "a copy"
    folder.mkdir()
    text = note and json.dumps(note).replace("HERE", folder.as_uri())
    found = SimpleNamespace(read_text=lambda name: text, requires=REQUIRES)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: found)
    assert lazy.install_command("studio") == expected.replace("PATH", str(folder))
    with pytest.raises(MissingPackageError) as caught:
        lazy.package("a_package_of_nobody", "nobody", "this", "studio")
    assert caught.value.hint == f"{lazy.install_command('studio')}   (or: pip install nobody)"


def test_what_runs_from_its_source_is_installed_from_there(monkeypatch):
    def unknown(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", unknown)
    assert lazy.install_command("plots") == f'pip install -e "{ROOT}[plots]"'


def test_no_message_says_to_install_the_package_from_a_registry():
    paths = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("templates/*.*")]
    named = [path for path in paths if "pip install" in path.read_text("utf-8", "replace")]
    said = [re.findall(r"pip install[^\n]*dynamis\[[^\n]*", x.read_text("utf-8")) for x in named]
    assert [x for x in said if x] == []


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
def test_names_are_printed_where_the_terminal_lacks_their_letters(options, tmp_path):
    """As on Windows, whose pipes have a code page: a name is escaped, and JSON stays JSON."""
    arm = dynamis.load("planar-2link")
    named = dynamis.Robot(replace(arm.model, name="рука \U0001f916"))
    named.save(tmp_path / "arm.toml")
    program = [sys.executable, "-m", "dynamis", "show", "arm.toml", *options]
    done = subprocess.run(
        program,
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        check=False,
    )
    said = done.stdout.decode("cp1252")
    assert done.returncode == 0, done.stderr
    assert "\\u0440" in said
    if options:
        assert json.loads(said)["name"] == named.name
