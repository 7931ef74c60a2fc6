"""The folder list is the pipeline: a module imports only from folders that come before its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "dynamis"
ORDER = (
    "_fast", "_xla", "errors", "arguments", "files", "templates", "markup", "tables", "lazy",
    "progress", "spatial", "user_code", "digest", "model", "dynamics", "compile", "gpu", "export",
    "robot", "transforms", "ik", "equations.scalars", "base", "equations", "trajectory", "control",
    "simulation", "jax", "torch", "logs", "identify", "excite", "calibration", "study", "plots",
    "frame_assignment", "realtime", "interop", "rtb", "gym", "exercises", "agree", "bench",
    "report", "demo", "cli", "studio", "__init__", "__main__",
)  # fmt: skip
NUMBER = {name: number for number, name in enumerate(ORDER)}
MOST_FILES = 24  # in one folder
# imports inside functions that point upward: methods of a robot, a log or a run that hand over to
# a later folder, each by the module that has the method and the folder it hands over to
SUGAR = {
    ("arguments", "robot"),
    ("calibration.calibration", "report"),
    ("cli.studio", "studio"),
    ("compile.libraries", "jax"),
    ("export.export", "realtime"),
    ("excite.excitation", "plots"),
    ("identify.estimate", "plots"),
    ("identify.estimate", "report"),
    ("simulation.contact.history", "plots"),
    ("simulation.run", "plots"),
    ("study.study", "plots"),
    ("study.study", "report"),
    ("model.chain", "dynamics"),
    ("model.dh.convert", "dynamics"),
    ("model.formats.files", "interop"),
    ("robot.closed_check", "ik"),
    ("robot.distance", "plots"),
    ("robot.free_body", "plots"),
    ("robot.joint_reactions", "plots"),
    ("robot.joint_reactions", "report"),
    ("robot.robot", "base"),
    ("robot.robot", "equations"),
    ("robot.robot", "ik"),
    ("robot.robot", "plots"),
    ("trajectory.file", "logs"),
}
ALLOWED = {  # folders before one's own that a folder may not see either
    "spatial": {"spatial"},
    "dynamics": {"errors", "spatial", "model", "dynamics", "lazy"},
}
NO_ROBOTS = (  # modules of `compile` that know functions and programs only
    "ops", "program", "builder", "tracer", "interpreter", "optimise", "cache", "machine",
    "elementary", "llvm_body", "llvm_functions", "llvm_gpu", "llvm_gpu_loop", "llvm_loop",
    "llvm_module",
)  # fmt: skip
FOREIGN = {"numpy", "scipy", "sympy", "casadi", "llvmlite"}
PURE = ("spatial", "model", "dynamics")
FILES = sorted(SOURCE.rglob("*.py"))


def folder_of(parts: tuple[str, ...]) -> str:
    """The entry of ORDER that a module or a name in it belongs to."""
    for k in range(len(parts), 0, -1):
        if ".".join(parts[:k]) in NUMBER:
            return ".".join(parts[:k])
    raise AssertionError(f"{'.'.join(parts)} is in no folder of ORDER")


def own_parts(path: Path) -> tuple[str, ...]:
    return path.relative_to(SOURCE).with_suffix("").parts


def targets(path: Path, node: ast.ImportFrom) -> Iterator[str]:
    """The folders that one relative import reaches."""
    base = own_parts(path)[:-1]
    base = base[: len(base) - (node.level - 1)]
    module = tuple(node.module.split(".")) if node.module else ()
    for name in node.names:
        if name.name != "__version__":
            yield folder_of((*base, *module, name.name))


def for_types(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def relative_imports(nodes: list[ast.stmt]) -> Iterator[ast.ImportFrom]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    own = folder_of(own_parts(path))
    for node in relative_imports(ast.parse(path.read_text()).body):
        for other in targets(path, node):
            assert other == own or NUMBER[other] < NUMBER[own], f"{own} imports {other}"
            assert other in ALLOWED.get(own, ORDER), f"{own} may not import {other}"


@pytest.mark.parametrize("name", NO_ROBOTS)
def test_the_compiler_knows_no_robots(name):
    path = SOURCE / "compile" / f"{name}.py"
    for node in relative_imports(ast.parse(path.read_text()).body):
        assert not {"model", "dynamics"} & set(targets(path, node))


def test_upward_imports_inside_functions_are_the_listed_ones():
    found = set()
    for path in FILES:
        own = folder_of(own_parts(path))
        body = [x for x in ast.parse(path.read_text()).body if not for_types(x)]
        inner = [y for x in body if not isinstance(x, ast.ImportFrom) for y in ast.walk(x)]
        for node in relative_imports(inner):
            for other in targets(path, node):
                if NUMBER[other] > NUMBER[own]:
                    found.add((".".join(own_parts(path)), other))
    assert sorted(found - SUGAR) == []
    assert sorted(SUGAR - found) == []


def test_folders_can_be_looked_over():
    folders = {path.parent for path in FILES}
    counts = {str(f.relative_to(SOURCE)): len(list(f.glob("*.py"))) for f in folders}
    assert max(counts.values()) <= MOST_FILES, counts


@pytest.mark.parametrize(
    "path", [p for p in FILES if own_parts(p)[0] in PURE], ids=lambda p: p.name
)
def test_mathematics_knows_no_arrays(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = {a.name.split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = {(node.module or "").split(".")[0]}
        else:
            continue
        assert not names & FOREIGN


def _assigned(node: ast.stmt) -> list[str]:
    """Names that a statement of a module defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return [x.id for target in targets for x in ast.walk(target) if isinstance(x, ast.Name)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_name_of_a_module_is_given_twice(path):
    names = [name for node in ast.parse(path.read_text()).body for name in _assigned(node)]
    assert sorted({name for name in names if names.count(name) > 1}) == []
