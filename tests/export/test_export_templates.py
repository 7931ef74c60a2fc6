"""Template files: each is shipped and used, every line of it, and what comes out is read."""

import ast
import re
import shutil
import subprocess
import tomllib
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis import templates
from dynamis.export.c_branchless import CALLS, helpers
from dynamis.export.matlab_folder import matlab_folder

from ..control import boards
from ..every_op import every_op

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dynamis"
SHIPPED = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
KINDS = ("float64", "float32")
CC = ("cc", "-fsyntax-only", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
CXX = ("c++", "-fsyntax-only", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-xc++")


def in_package(package):
    """The template files of a package, by name."""
    return {p.name: p for p in sorted((SOURCE / package / "templates").iterdir())}


PACKAGES = ("export", "realtime", "realtime/fmu")
TEMPLATES = [path for package in PACKAGES for path in in_package(package).values()]


def said(path):
    return "/".join(path.relative_to(SOURCE).parts)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder that holds folders of everything that the package exports."""
    root, arm = tmp_path_factory.mktemp("exported"), dy.load("planar-2link")
    law = dy.control.ComputedTorque.from_bandwidth(arm, 8.0)
    move = dy.trajectory.quintic(np.zeros(2), np.ones(2), 0.6)
    swing = dy.trajectory.fourier(np.full((2, 2), 0.2), np.full((2, 2), 0.1), 2.0)
    bounds = {"limit": 50.0, "jump": 0.5, "latch": 1}
    for name, options in {
        "plain": {},
        "own": {"trig": "own", "velocity": "difference", "safe": "gravity", **bounds},
        "short": {"dtype": "float32", "reference": move},
        "periodic": {"dtype": "float32", "reference": swing, "trig": "own"},
        "inside": {"reference": move},
        "ros2": {"target": "ros2"},
        "ros2-own": {"target": "ros2", "trig": "own", "velocity": "difference", "safe": "gravity"},
        "ros2-inside": {"target": "ros2", "reference": move},
        "fmu3": {"target": "fmu", "fmi": "3.0"},
        "fmu2": {"target": "fmu", "fmi": "2.0", "reference": move},
    }.items():
        dy.export_controller(arm, law, root / name, **options)
    dy.export_controller(dy.load("five-bar"), law, root / "closed")
    bench, soft = boards.arm(), boards.arm(stiffness=2000.0, damping=2.0)
    flat = dy.control.FlatnessFeedForward.from_bandwidth(soft, 15.0)
    for name, robot, given, options in (
        ("codes", bench, boards.law(bench), {"trig": "own"}),
        ("volts", bench, boards.law(bench), {"outputs": "volts", "safe": "gravity"}),
        (
            "inside-codes",
            bench,
            boards.law(bench),
            {"outputs": "codes", "reference": boards.MOTION},
        ),
        ("smooth", soft, flat, {"trig": "own"}),
    ):
        options = {"inputs": "counts", "outputs": "codes", "board": boards.board(), **options}  # noqa: PLW2901
        dy.export_controller(robot, given, root / name, 0.005, **options)
    dy.export_controller(soft, flat, root / "smooth-law")
    kernels = ["mass_matrix", "inverse_dynamics"]
    for target in ("c", "matlab", "casadi"):
        arm.export(kernels, target=target, directory=root / target)
    dy.export_fmu(arm, root / "arm" / "arm.fmu")
    lossy = dy.Drive(gear=50.0, rotor_inertia=1e-4, efficiency=0.8)
    links = [dy.Link(a=0.4, mass=2.0, com=(-0.2, 0, 0), inertia=(0.1, 0.1, 0.1), drive=lossy)]
    dy.export_fmu(
        dy.Robot.from_dh("lossy", convention="standard", links=links), root / "lossy" / "lossy.fmu"
    )
    geared = arm.with_drive(0, gear=50.0, rotor_inertia=1e-4, stiffness=1e4, backlash=1e-3)
    dy.export_fmu(geared, root / "elastic" / "elastic.fmu")
    for unit in root.rglob("*.fmu"):
        with zipfile.ZipFile(unit) as archive:
            archive.extractall(unit.parent)
    (root / "ops").mkdir()
    for name, text in matlab_folder("ops", {"all": every_op()}, [], "float64").items():
        (root / "ops" / name).write_text(text)
    calls = " ".join(f"{name}(" for name in [*CALLS.values(), "dy_nan", "dy_inf", "dy_fma"])
    for kind in KINDS:
        own = re.sub("static inline", "static inline __attribute__((unused))", helpers(kind, calls))
        (root / "ops" / f"{kind}.c").write_text(f"#include <stdint.h>\n{own}")
    for folder in ("plain", "codes"):
        (header, *_) = sorted((root / folder).glob("*torque.h"))
        given = {"STEM": header.stem, "UP": header.stem.upper(), "COUNT": 3}
        cost = templates.filled("dynamis.realtime", "cost.c", COUNTS=folder == "codes", **given)
        (root / folder / "cost.c").write_text(cost)
    return root


@pytest.fixture(scope="module")
def lines(exported):
    """All lines of all text files."""
    binary = (".fmu", ".so", ".dylib")
    files = [p for p in exported.rglob("*") if p.is_file() and p.suffix not in binary]
    return {
        line.replace(" __attribute__((unused))", "")
        for p in files
        for line in p.read_text().splitlines()
    }


@pytest.mark.parametrize("path", TEMPLATES, ids=said)
def test_it_is_package_data_that_a_module_names(path):
    assert any(path.match(pattern) for pattern in SHIPPED["package-data"]["dynamis"])
    modules = (p.read_text() for p in path.parents[1].glob("*.py"))
    assert any(f'"{path.name}"' in text for text in modules)


@pytest.mark.parametrize("path", TEMPLATES, ids=said)
def test_every_line_stands_in_an_export(path, lines):
    everything = "\n".join(sorted(lines))
    chosen = re.compile(rf"@(?:{templates.CHOICE})@")
    for line in path.read_text().splitlines():
        for part in chosen.split(line):  # of a line with choices: each of its pieces
            words = [re.escape(x) for x in re.split(r"@[A-Z][A-Z0-9_]*@", part)]
            assert re.search(".*".join(words), everything), line


def test_no_mark_is_left(lines):
    assert [line for line in lines if templates.MARK.search(line)] == []


def test_compilers_read_the_c_and_the_cpp(exported):
    for command, suffix in ((CC, "c"), (CXX, "hpp")):
        if not shutil.which(command[0]):
            pytest.skip(f"no {command[0]}")
        found = sorted(exported.rglob(f"*.{suffix}"))
        assert found
        for path in found:
            done = subprocess.run([*command, path], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("folder", ["plain", "own", "c"])
def test_make_and_cmake_read_their_files(exported, tmp_path, folder):
    for command in (["make", "-n"], ["cmake", "-S", ".", "-B", tmp_path]):
        if not shutil.which(command[0]):
            pytest.skip(f"no {command[0]}")
        subprocess.run(command, cwd=exported / folder, check=True, capture_output=True)


def test_scripts_and_descriptions_are_read(exported):
    scripts, pages = sorted(exported.rglob("*.py")), sorted(exported.rglob("*.xml"))
    assert scripts and pages
    for path in scripts:
        ast.parse(path.read_text())
    for path in pages:
        ET.parse(path)


def test_values_are_put_in_as_they_are():
    """What looks like a mark in a value stays; what is not chosen needs no value."""
    fill = {"REMARKS": "@STEM@", "STEM": "arm", "LIBM": "", "LOOP": "", "FLAGS": "@END@"}
    text = templates.filled("dynamis.realtime", "Makefile", **fill)
    assert text.startswith("@STEM@\nCC ?= cc\nCFLAGS ?= @END@\n")
    assert "-o $@ arm.c arm_test.c\n" in text and "-lm" not in text
    assert "-lm" in templates.filled("dynamis.realtime", "Makefile", **fill | {"LIBM": True})
    with pytest.raises(KeyError):
        templates.filled("dynamis.realtime", "Makefile")
