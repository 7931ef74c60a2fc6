"""The gallery: a page per numbered example and per notebook, with what it printed and drew.

`python docs/gallery.py [NAME ...]` runs them (all, or those named) and keeps their output in
docs/gallery/: NAME.txt and pictures for an example, NAME.json and pictures for a notebook, which
is stored with its outputs too. The pages themselves are made when the site is built, from the files
in examples/ and notebooks/. Pictures of arms (arm-NAME.png) are drawn by docs/pictures.py.
"""

import ast
import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "gallery"
LONGEST = 80  # lines of output that a page shows
FILM = 600_000  # bytes: larger films are left out


def examples(root: Path) -> list[Path]:
    """The numbered examples."""
    return sorted((root / "examples").glob("[0-9]*.py"))


def notebooks(root: Path) -> list[Path]:
    """The notebooks."""
    return sorted((root / "notebooks").glob("*.ipynb"))


def navigation(root: Path) -> list[dict[str, str]]:
    """Entries of the navigation."""
    found = [{title(path): f"gallery/{path.stem}.md"} for path in notebooks(root)]
    return found + [{title(path): f"gallery/{path.stem}.md"} for path in examples(root)]


def pages(root: Path) -> dict[str, str]:
    """Every page by its path, the index first."""
    made = {"gallery/index.md": index(root)}
    made |= {f"gallery/{path.stem}.md": example_page(path) for path in examples(root)}
    return made | {f"gallery/{path.stem}.md": notebook_page(path) for path in notebooks(root)}


def title(path: Path) -> str:
    """What the page is called."""
    if path.suffix == ".ipynb":
        first = "".join(cells(path)[0]["source"])
        return "Notebook: " + first.splitlines()[0].removeprefix("# ").lower()
    number, _, words = path.stem.partition("_")
    return f"{number} {words.replace('_', ' ')}"


def summary(path: Path) -> str:
    """What it is about, in a sentence."""
    if path.suffix == ".ipynb":
        return "".join(cells(path)[0]["source"]).splitlines()[2]
    return (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0]


def index(root: Path) -> str:
    """The list of all, with small pictures."""
    text = [
        "---\nhide:\n  - toc\n---",
        "# Gallery",
        "Arms of the catalogue, numbered examples, each a script of its own in `examples/`, and notebooks in `notebooks/`. All of them run with the tests.",
        "![Six arms of the catalogue in motion](../images/arms.gif)",
        "## Arms",
        'Each is `dy.load("NAME").plot(q)`: links are drawn from the DH table, URDF or closures alone. `run.animate("run.gif")` shows a run like this.',
        _arms(),
        "## Notebooks",
        _cards(notebooks(root)),
        "## Examples",
        _cards(examples(root)),
    ]
    return "\n\n".join(text) + "\n"


def _arms() -> str:
    """Pictures of arms by name."""
    found = sorted(KEPT.glob("arm-*.png"))
    names = [path.stem.removeprefix("arm-") for path in found]
    cards = [f"-   **{name}**\n\n    ![{name}](arm-{name}.png)" for name in names]
    return '<div class="grid cards" markdown>\n\n' + "\n\n".join(cards) + "\n\n</div>"


def _cards(paths: list[Path]) -> str:
    return '<div class="grid cards" markdown>\n\n' + "\n\n".join(map(_card, paths)) + "\n\n</div>"


def _card(path: Path) -> str:
    lines = [f"**[{title(path)}]({path.stem}.md)**", summary(path)]
    lines += [f"[![{path.stem}]({name})]({path.stem}.md)" for name in pictures(path.stem)[:1]]
    return "-   " + "\n\n    ".join(lines)


def pictures(stem: str) -> list[str]:
    """Names of the pictures kept for a page."""
    found = [p.name for p in KEPT.glob(f"{stem}*") if p.suffix in (".png", ".gif")]
    return sorted(found, key=lambda name: (not name.endswith(".png"), name))


def example_page(path: Path) -> str:
    """Docstring, code, output, pictures."""
    source = path.read_text()
    doc = ast.get_docstring(ast.parse(source)) or ""
    code = source.split('"""', 2)[2].strip()
    kept = KEPT / f"{path.stem}.txt"
    said = kept.read_text().rstrip() if kept.exists() else "(not run yet)"
    shown = "".join(f"![{name}]({name})\n\n" for name in pictures(path.stem))
    return (
        f'# {title(path)}\n\n{doc}\n\n{shown}```python title="examples/{path.name}"\n{code}\n```\n\n'
        f"## Output\n\nOf one run.\n\n```text\n{_short(said)}\n```\n"
    )


def _short(text: str) -> str:
    lines = text.splitlines()
    if len(lines) <= LONGEST:
        return text
    left = len(lines) - LONGEST
    half = LONGEST // 2
    return "\n".join([*lines[:half], f"... {left} more lines ...", *lines[-half:]])


def cells(path: Path) -> list[dict]:
    """Cells of a notebook."""
    return json.loads(path.read_text())["cells"]


def notebook_page(path: Path) -> str:
    """Words, code and what it gave."""
    kept = KEPT / f"{path.stem}.json"
    outputs = json.loads(kept.read_text()) if kept.exists() else {}
    parts = []
    for i, cell in enumerate(cells(path)):
        text = "".join(cell["source"]).rstrip()
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        found = outputs.get(str(i), {})
        if found.get("text"):
            parts.append(f"```text\n{_short(found['text'].rstrip())}\n```")
        parts += [f"![{name}]({name})" for name in found.get("pictures", ())]
    parts.insert(
        1, f"*This page is the notebook* `notebooks/{path.name}` *with the outputs of one run.*"
    )
    return "\n\n".join(parts) + "\n"


def run_example(path: Path) -> None:
    """Runs an example and keeps what it said and drew."""
    from shrink import shrink

    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, cwd=folder, check=True
        )
        (KEPT / f"{path.stem}.txt").write_text(done.stdout)
        for picture in sorted(Path(folder).glob(f"out/{path.stem}*")):
            if picture.suffix == ".png" or (
                picture.suffix == ".gif" and picture.stat().st_size < FILM
            ):
                shrink(picture, KEPT / picture.name)


def run_notebook(path: Path) -> None:
    """Runs a notebook and keeps the outputs of its cells, in the notebook and for its page."""
    import nbformat
    from nbclient import NotebookClient
    from shrink import shrink

    with tempfile.TemporaryDirectory() as folder:
        book = nbformat.read(path, as_version=4)
        NotebookClient(book, timeout=300, resources={"metadata": {"path": folder}}).execute()
        kept = {}
        for i, cell in enumerate(book.cells):
            if cell.cell_type != "code":
                continue
            text, names = "", []
            for output in cell.outputs:
                data = output.get("data", {})
                if "image/png" in data:
                    names.append(f"{path.stem}-{i}.png")
                    raw = Path(folder) / names[-1]
                    raw.write_bytes(base64.b64decode(data["image/png"]))
                    shrink(raw, KEPT / names[-1])
                    small = (KEPT / names[-1]).read_bytes()
                    data["image/png"] = base64.b64encode(small).decode()
                elif output.output_type == "stream" and output.name == "stdout":
                    text += output.text
                elif "text/plain" in data:
                    text += data["text/plain"] + "\n"
            cell.metadata.pop("execution", None)  # times of the run
            kept[str(i)] = {"text": text, "pictures": names}
        book.metadata.get("language_info", {}).pop("version", None)
        nbformat.write(book, path)
        (KEPT / f"{path.stem}.json").write_text(json.dumps(kept, indent=1) + "\n")


def main(names: list[str]) -> None:
    """Runs what is named, or everything."""
    KEPT.mkdir(exist_ok=True)
    for path in [*examples(ROOT), *notebooks(ROOT)]:
        if not names or path.stem in names:
            (run_example if path.suffix == ".py" else run_notebook)(path)
            print(path.stem, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
