"""The code of a page: found, run in order, and its output put beside it.

`python docs/blocks.py docs/guides/*.md` runs every page in a folder of its own and writes what the
blocks print into the ```text blocks that follow them; tests compare the two. Pictures that the page
shows from pictures/PAGE/ are taken from the folder it ran in.

    ```python            runs, in one namespace per page
    ```shell             runs in bash, with this Python's programs first
    ```toml title="x"    is written to the file x
    ```text              is what the block before it printed; a line "..." stands for any lines
    ```text title="x"    the same of one run: not compared, as it differs between machines
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

PICTURES = Path(__file__).resolve().parent / "pictures"
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w+)(?P<options>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
TITLE = re.compile(r'title="([^"]+)"')
NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")


class Block(NamedTuple):
    """One fenced block: its kind, its text without indent, and where it stands in the page."""

    kind: str
    text: str
    title: str | None
    indent: str
    start: int
    end: int
    line: int


def blocks(page: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    found = []
    for match in FENCE.finditer(page):
        indent, options = match["indent"], match["options"]
        title = TITLE.search(options)
        text = "".join(
            line.removeprefix(indent) for line in match["text"].splitlines(keepends=True)
        )
        line = page.count("\n", 0, match.start()) + 2
        found.append(
            Block(
                match["kind"], text, title and title[1], indent,
                match.start("text"), match.end("text"), line,
            )
        )  # fmt: skip
    return found


def outputs(
    page: str, name: str = "page", space: dict[str, Any] | None = None
) -> list[tuple[Block, str]]:
    """Runs a page in the current folder: every ```text block with what was printed before it."""
    space = {} if space is None else space
    space["__name__"] = "__main__"
    said, pairs = "", []
    for block in blocks(page):
        if block.kind == "python":
            said = _python(block, space, name)
        elif block.kind == "shell":
            said = _shell(block)
        elif block.kind == "text":
            pairs.append((block, said))
        elif block.title:
            Path(block.title).write_text(block.text)
    return pairs


def _python(block: Block, space: dict[str, Any], name: str) -> str:
    """Runs a block; one with a title is a file of that name, which errors can quote."""
    text = "\n" * (block.line - 1) + block.text
    if block.title:
        name, text = block.title, block.text
        Path(name).write_text(text)
    code = compile(text, name, "exec")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(code, space)
    return said.getvalue()


def _shell(block: Block) -> str:
    here = str(Path(sys.executable).parent)
    env = os.environ | {
        "PATH": here + os.pathsep + os.environ["PATH"],
        "COLUMNS": "88",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        ["bash", "-euc", block.text], capture_output=True, text=True, env=env, check=False
    )
    if done.returncode:
        raise RuntimeError(f"line {block.line}: {block.text}{done.stdout}{done.stderr}")
    return done.stdout


def same(shown: str, said: str) -> bool:
    """Whether the output is the one shown: words alike, numbers to the last digit shown."""
    if "..." not in shown:
        return _alike(shown, said)
    parts = re.split(r"^ *\.\.\.$\n?", shown, flags=re.MULTILINE)
    lines, at = said.splitlines(), 0
    for i, part in enumerate(parts):
        size = len(part.splitlines())
        last = len(lines) - size
        places = [at] if i == 0 else [last] if i == len(parts) - 1 else range(at, last + 1)
        for place in places:
            if place >= at and _alike(part, "\n".join(lines[place : place + size])):
                at = place + size
                break
        else:
            return False
    return True


def _alike(shown: str, said: str) -> bool:
    words = ["".join(NUMBER.sub("#", text).split()) for text in (shown, said)]
    if words[0] != words[1]:
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(said), strict=True)
    return all(_close(a, b) for a, b in pairs)


def _close(a: str, b: str) -> bool:
    digits = a.partition("e")[0].partition(".")[2]
    power = int(a.partition("e")[2] or 0)
    unit = 10.0 ** (power - len(digits))
    return abs(float(a) - float(b)) <= max(1.01 * unit, 1e-6 * abs(float(a)))


def filled(page: str, name: str = "page") -> str:
    """The page with its outputs as they are; blocks with "..." stay as they stand."""
    for block, said in reversed(outputs(page, name)):
        if "..." not in block.text:
            lines = said.rstrip("\n").splitlines()
            text = "".join(f"{block.indent}{line}".rstrip() + "\n" for line in lines)
            page = page[: block.start] + text + page[block.end :]
        elif not same(block.text, said):
            print(f"{name}:{block.line}: shortened output no longer fits:\n{said}", file=sys.stderr)
    return page


def main(paths: list[str]) -> None:
    """Fills the pages."""
    from shrink import shrink

    for path in map(Path, paths):
        full = path.resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = filled(full.read_text(), path.name)
            for name in re.findall(rf"pictures/{path.stem}/([\w.-]+)", text):
                if Path(name).exists():
                    shrink(name, PICTURES / path.stem / name)
        full.write_text(text)
        print(f"{path}: {sum(b.kind == 'text' for b in blocks(text))} outputs")


if __name__ == "__main__":
    main(sys.argv[1:])
