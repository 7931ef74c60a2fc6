"""Templates: every file is used, parses in its own language, and ships with the package."""

import ast
import re
import shutil
import subprocess
import tomllib
from fnmatch import fnmatch
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamis import templates

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dynamis"
FILES = sorted(p for p in SOURCE.rglob("templates/*") if p.is_file())
VOID = {"meta", "link", "br", "hr", "img", "input"}  # elements without an end
PAIRS = {")": "(", "]": "[", "}": "{"}


def of(suffix):
    found = [p for p in FILES if p.suffix == suffix]
    return pytest.mark.parametrize("path", found, ids=lambda p: str(p.relative_to(SOURCE)))


def folder(path):
    """The folder of the package whose template it is."""
    return path.parents[1]


@cache
def nodes():
    """(folder, node) of every string and every call of all code."""
    return [
        (module.parent, node)
        for module in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Constant, ast.Call))
    ]


def words():
    """(folder, text) of every string in the code."""
    for where, node in nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield where, node.value


def asked():
    """(folder, pattern) of every template that a call names: * stands for what it fills in."""
    for where, node in nodes():
        match node:
            case ast.Call(
                ast.Attribute(ast.Name("templates"), "text" | "filled"), [_, ast.Constant(name), *_]
            ):
                yield where, name
            case ast.Call(
                ast.Attribute(ast.Name("templates"), "text" | "filled"),
                [_, ast.JoinedStr(parts), *_],
            ):
                filled = [x.value if isinstance(x, ast.Constant) else "*" for x in parts]
                yield where, "".join(filled)


class Nesting(HTMLParser):
    """Elements that are open, in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> ends what is not open"


def test_every_template_is_used():
    known, patterns = set(words()), set(asked())
    for path in FILES:
        where, name = folder(path), path.name
        by_name = (where, name) in known
        assert by_name or any(w == where and fnmatch(name, p) for w, p in patterns), path


def test_every_template_asked_for_is_there():
    patterns = set(asked())
    assert len(patterns) >= 10
    for where, pattern in patterns:
        assert any(folder(p) == where and fnmatch(p.name, pattern) for p in FILES), pattern


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_wheel_ships_it(path):
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    globs = table["tool"]["setuptools"]["package-data"]
    shipped = [
        fnmatch(path.relative_to(base).as_posix(), glob)
        for package, patterns in globs.items()
        if path.is_relative_to(base := SOURCE.parent.joinpath(*package.split(".")))
        for glob in patterns
    ]
    assert any(shipped)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_read_as_it_stands(path):
    package = ".".join(("dynamis", *folder(path).relative_to(SOURCE).parts))
    read = templates.text(package, path.name)
    assert read.encode() == path.read_bytes()
    assert read.rstrip("\n") and "\r" not in read
    assert templates.text(package, path.name) is read


@of(".css")
def test_style_sheets_parse(path):
    text = re.sub(r"/\*.*?\*/|\"[^\"\n]*\"", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    opened = []
    for letter in text:
        if letter in "([{":
            opened.append(letter)
        elif letter in PAIRS:
            assert opened and opened.pop() == PAIRS[letter]
    assert not opened
    for block in re.findall(r"{([^{}]*)}", text):
        for line in filter(str.strip, block.split(";")):
            assert re.fullmatch(r"\s*[\w-]+\s*:\s*[^:]+", line), f"{line!r} is no declaration"


@of(".js")
def test_scripts_parse(path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    done = subprocess.run([node, "--check", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@of(".html")
def test_pages_parse(path):
    text = path.read_text(encoding="utf-8")
    page = Nesting(text)
    assert not page.open
    if text.startswith("<!doctype"):  # the others are parts of pages
        assert {"html", "head", "meta", "title", "style", "body"} <= page.seen


VALUES = st.text(st.sampled_from("@AB_{}%\\$<&\n"), max_size=12) | st.just("@TITLE@")


@settings(deadline=None)
@given(title=VALUES, style=VALUES, body=VALUES)
def test_values_go_in_as_they_are(title, style, body):
    values = {"TITLE": title, "STYLE": style, "BODY": body}
    text = templates.filled("dynamis.report", "page.html", **values)
    rest = templates.text("dynamis.report", "page.html")
    for name, value in values.items():
        before, rest = rest.split(f"@{name}@")
        assert text.startswith(before + value)
        text = text.removeprefix(before + value)
    assert text == rest


def test_a_place_without_a_value():
    with pytest.raises(KeyError, match="BODY"):
        templates.filled("dynamis.plots", "animation.html", TITLE="", STYLE="")
