"""Assignments for nbgrader: its schema, what it takes out, and marks of what students write."""

import re

import nbformat
import pytest

import dynamis as dy
from dynamis.exercises.notebooks import variable
from dynamis.exercises.question import EXERCISES

STUB = "# YOUR CODE HERE\nraise NotImplementedError()"  # nbgrader's
# https://nbgrader.readthedocs.io/en/stable/contributor_guide/metadata.html, schema 3
KINDS = {
    "schema_version": int, "grade": bool, "solution": bool, "locked": bool, "task": bool,
    "grade_id": str, "points": (int, float),
}  # fmt: skip


def regions(source, name, stub=""):
    """A cell's source without its regions of a name, as nbgrader takes them out."""
    pattern = rf"^### BEGIN {name}\n.*?^### END {name}\n?"
    found = re.sub(pattern, f"{stub}\n" if stub else "", f"{source}\n", flags=re.M | re.DOTALL)
    return found.strip("\n")


def released(notebook):
    """What students get."""
    return [
        regions(regions(x.source, "SOLUTION", STUB), "HIDDEN TESTS")
        if x.cell_type == "code"
        else x.source
        for x in notebook.cells
    ]


def points(notebook, answers):
    """Points of a notebook in which students wrote `answers` (cell -> code) into the cells."""
    names, total, said = {}, 0, []
    for cell in notebook.cells:
        grading = cell.metadata.nbgrader
        code = (
            answers.get(grading.grade_id, regions(cell.source, "SOLUTION", STUB))
            if grading.solution
            else cell.source
        )
        try:
            if cell.cell_type == "code":
                exec(code, names)
        except (AssertionError, NotImplementedError) as error:
            said.append(str(error))
            continue
        total += grading.get("points", 0)
    return total, said


def made(*arguments, **options):
    found = nbformat.from_dict(dy.exercises.assignment(*arguments, **options))
    nbformat.validate(found)
    return found


@pytest.mark.parametrize("language", ["en", "es"])
def test_cells_follow_the_schema_of_nbgrader(language):
    notebook = made(7, language=language)
    assert notebook.nbformat == 4
    seen = set()
    for cell in notebook.cells:
        grading = cell.metadata.nbgrader
        assert set(KINDS) - {"points"} <= set(grading) <= set(KINDS)
        assert all(isinstance(x, KINDS[key]) for key, x in grading.items())
        assert grading.schema_version == 3 and grading.grade == ("points" in grading)
        assert re.fullmatch(r"[a-zA-Z0-9_\-]+", grading.grade_id) and grading.grade_id not in seen
        assert cell.cell_type == "code" or not (grading.grade or grading.solution)
        assert grading.locked != grading.solution
        seen.add(grading.grade_id)
    every = [dy.exercises.exercise(x, 7, language) for x in EXERCISES]
    assert sum(x.metadata.nbgrader.get("points", 0) for x in notebook.cells) == sum(
        len(one.names) for one in every
    )
    assert sum("attachments" in x for x in notebook.cells) == len(EXERCISES)


def test_solutions_get_all_points_and_stubs_none():
    notebook = made(2041)
    solved = {x.metadata.nbgrader.grade_id: x.source for x in notebook.cells}
    everything, said = points(notebook, solved)
    assert not said and everything == 98
    assert points(notebook, {})[0] == 0
    first = made(2041, [1, "gear"])
    text = "\n".join(released(first))
    assert "BEGIN" not in text and STUB in text
    for one in ("forward-kinematics", "gear"):
        for x in dy.exercises.exercise(one, 2041).answers:
            assert f"{x:.6g}" not in text


def test_mistakes_are_named_and_old_values_do_not_count():
    notebook = made(2041, [5, "inverse-dynamics", 2])
    right = dy.exercises.exercise(5, 2041).answers
    load = f"tau1, tau2 = {right[0] / 9.81 * 10}, {-right[1]}"
    q1, q2 = dy.exercises.exercise(2, 2041).answers
    total, said = points(notebook, {
        "answer-5": load, "answer-8": "tau1 = tau2 = None\n" + STUB,
        "answer-2": f"q1, q2 = {q1} + 6.283185307, {q2} * 180 / 3.14159265",
    })  # fmt: skip
    assert total == 1
    assert any("g = 10" in x for x in said) and any("sign" in x for x in said)
    assert any("degrees" in x for x in said) and "tau1: a number is expected" in said


def test_names_are_those_of_python():
    assert [variable(x) for x in ("tau_m", "lambda", "x'", "2a")] == [
        "tau_m",
        "lambda_",
        "x_",
        "x2a",
    ]


def test_the_file(tmp_path):
    path = dy.exercises.write_assignment(tmp_path / "ps1.ipynb", 3, ["gear"], "es")
    assert nbformat.read(path, 4) == made(3, ["gear"], language="es")
