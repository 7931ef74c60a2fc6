"""The Export page: what is downloaded is the robot, its code and its results."""

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from tests.thorough import thorough_but

from .conftest import Tab


@pytest.fixture(scope="module")
def page(browser, studio):
    made = Tab(browser, studio)
    made.open("Export")
    yield made
    made.close()


def saved(tab, button):
    """The name and the content of what a button gives."""
    with tab.page.expect_download() as waiting:
        tab.press(button)
    found = waiting.value
    return found.suggested_filename, found.path().read_bytes()


@pytest.mark.parametrize("kind", thorough_but(["TOML"], ["TOML", "URDF"]))
def test_the_robot_comes_back(page, kind, tmp_path):
    name, content = saved(page, f"Robot as {kind}")
    assert name == f"puma560.{kind.lower()}"
    (tmp_path / name).write_bytes(content)
    again, q = dy.load(tmp_path / name), np.full(6, 0.3)
    if kind == "TOML":
        assert again == page.session.robot
    assert np.allclose(
        again.inverse_dynamics(q, q, q), page.session.robot.inverse_dynamics(q, q, q)
    )


def test_names_of_files_are_safe(page):
    robot = page.session.robot
    page.session.change_robot(
        dy.Robot(replace(robot.model, name="../<b>evil</b>\\x")), keep_pose=True
    )
    name, _ = saved(page, "Robot as TOML")
    assert name == "b_evil_b_x.toml"
    page.session.change_robot(robot, keep_pose=True)


@pytest.mark.parametrize(
    ("target", "file"),
    [("C", "puma560_c/puma560.c"), ("MATLAB, Octave", "puma560_matlab/inverse_dynamics.m")],
)
def test_code_comes_as_an_archive(page, target, file):
    page.choose("Target", target)
    page.choose("Functions", "inverse dynamics")
    name, content = saved(page, "Functions (.zip)")
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert name == f"{file.split('/')[0]}.zip"
    assert all(x.startswith(file.split("/")[0]) for x in names)
    assert any(x.endswith(file.rsplit(".", 1)[1]) for x in names)


@pytest.mark.thorough
def test_run_and_controller_need_a_run_first(page, tmp_path):
    for button, why in (("Shown run (.csv)", "No run: run a simulation"),
                        ("Identification (.html)", "No identified model"),
                        ("Controller (.zip)", "No controller: run a move")):  # fmt: skip
        assert page.page.get_by_role("button", name=button, exact=True).is_disabled()
        page.says(why)
    page.open("Simulate")
    page.choose("What", "Move to a target")
    page.type("Duration (s)", "1")
    page.press("Run")
    page.until(lambda: page.session.bench.run is not None)
    page.open("Export")
    page.choose("Target", "C")
    name, content = saved(page, "Controller (.zip)")
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert name == "puma560_controller_c.zip"
    assert any(x.endswith(".c") for x in names) and any(x.endswith("Makefile") for x in names)
    page.session.bench.rename("first: 1 s")
    name, content = saved(page, "Shown run (.csv)")
    assert name == "puma560_first_1_s.csv"
    (tmp_path / name).write_bytes(content)
    log = dy.read_log(tmp_path / name)
    assert np.allclose(log.q, page.session.bench.run.q)
    assert page.errors == []
