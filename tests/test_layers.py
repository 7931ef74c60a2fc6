"""The folder list is the pipeline: modules import only from layers before their own."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "dynamis"
LAYER = {
    "errors": 0, "packages": 0, "later": 0, "callable_package": 0, "spatial": 0, "cached": 0,
    "templates": 0, "files": 0, "arguments": 0, "model": 1, "dynamics": 2, "trace": 3,
    "backends": 4, "evaluate": 5, "kernels": 5, "programs": 5, "derivatives": 5, "compiled": 5,
    "columns": 5, "symbolic": 5, "origin": 5, "export": 5, "generic": 5, "robot": 5, "ik": 5,
    "preflight": 5, "transforms": 5, "base": 6, "equations": 6, "plots": 6, "trajectory": 7,
    "simulate": 7, "control": 7, "identify": 7, "realtime": 7, "interop": 7, "rtb": 7, "gym": 7,
    "agree": 7, "bench": 7, "report": 8, "demo": 8, "cli": 8, "studio": 8, "__init__": 9,
    "__main__": 9,
}  # fmt: skip
ALLOWED = {  # layers below one's own that a layer may not see either
    "trace": {"errors", "cached", "spatial", "trace"},
    "backends": {"errors", "templates", "spatial", "trace", "backends"},
    "spatial": {"spatial"},
}
FOREIGN = {"numpy", "scipy", "sympy", "casadi", "llvmlite"}
PURE = ("spatial", "model", "dynamics")
FILES = sorted(SOURCE.rglob("*.py"))


def layer_of(path: Path) -> str:
    part = path.relative_to(SOURCE).parts[0]
    return part.removesuffix(".py")


def imports(path: Path):
    """(module, is_local) of every import at module level, `if TYPE_CHECKING` left out."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            yield from ((a.name, False) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0:
                yield node.module, False
                continue
            base = path.relative_to(SOURCE).parts[:-1]
            base = base[: len(base) - (node.level - 1)]
            names = [node.module] if node.module else [a.name for a in node.names]
            for name in names:
                yield ".".join((*base, name)), True


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    own = layer_of(path)
    assert own in LAYER, f"{own} is not in the list of layers"
    for module, local in imports(path):
        if not local:
            continue
        other = module.split(".")[0] or "__init__"
        if other in ("__init__", "__version__"):
            continue
        assert LAYER[other] <= LAYER[own], f"{own} imports {other}, which comes after it"
        if own in ALLOWED:
            assert other in ALLOWED[own], f"{own} may not import {other}"


@pytest.mark.parametrize("path", [p for p in FILES if layer_of(p) in PURE], ids=lambda p: p.name)
def test_mathematics_knows_no_arrays(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = {a.name.split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = {(node.module or "").split(".")[0]}
        else:
            continue
        assert not names & FOREIGN
