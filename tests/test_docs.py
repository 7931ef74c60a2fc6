"""The documentation: every block runs and prints what is shown, and the site builds strictly."""

import ast
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis.model import schema
from dynamis.model.formats import tables
from dynamis.model.friction import LAWS
from dynamis.model.model import Payload

from .accessibility import serious_findings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ELSEWHERE = {"torch"}  # guides that tests/gpu runs
GUIDES = [*sorted((DOCS / "guides").glob("*.md")), *sorted((DOCS / "es").glob("*.md"))]
TRANSLATED = DOCS / "es" / "teaching.md"
INSTALL = DOCS / "es" / "install.md"  # commands for other machines
GUIDES = [path for path in GUIDES if path.stem not in ELSEWHERE]
GUIDES = [path for path in GUIDES if path != INSTALL]
NEEDED = {"make -s": ("cc", "make"), "octave-cli": ("octave-cli",), "export_fmu": ("cc",)}
READ = ("", "concepts/closed-loops/", "gallery/", "coming-from/", "studio/", "es/teaching/")
LARGEST = 160_000  # bytes of a picture in the repository, but that of the front page
FEWEST = 200  # characters that a page says
CUT = """[...document.querySelectorAll('.language-text pre > code')].some(
    code => code.offsetParent && code.scrollWidth > code.clientWidth + 1)"""
REFERENCE = {
    "robot": (
        *("free_body", "inverse_dynamics", "mass_matrix", "ik", "from_dh", "with_payload"),
        "export",
    ),
    "models": ("Link", "Friction", "Drive"),
    "trajectory": ("quintic", "trapezoid", "fourier", "line", "time_optimal"),
    "simulate": ("simulate", "Run", "Sensors", "animate"),
    "control": ("JointPID", "ComputedTorque", "Impedance", "linearise", "from_bandwidth"),
    "identify": ("excite", "read_log", "identify", "Estimate", "validate", "Processing"),
    "export": ("export_controller", "export_fmu"),
    "interop": ("to_pinocchio", "from_rtb", "to_mjcf", "from_yourdfpy"),
    "exercises": (
        "exercise",
        "sheet",
        "check",
        "working",
        "write_class",
        "class_marks",
        "write_quiz",
        "register",
    ),
    "jax": ("inverse_dynamics", "regressor", "step", "evaluate"),
    "studio": ("Studio",),
    "torch": ("inverse_dynamics", "step", "regressor"),
    "errors": ("DynamisError", "SingularError", "ShapeError"),
    "transforms": ("rotx", "to_rpy", "dh_inverse"),
    "command-line": ("identify", "plant", "equations", "--validate"),
}


def module(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


blocks = module("blocks")


def identified(space):
    estimate, check = space["estimate"], space["check"]
    assert estimate.is_physical and check.relative_error_overall < 0.1
    assert check.relative_error_overall < 0.3 * space["before"]


def controller(space):
    assert space["error"].shape[1] == 3  # how closely a live loop follows is the machine's matter
    assert space["run"].metrics.max.max() < 5e-3


def parallelogram_arm(space):
    """Weights and springs within a tenth, and an error on the other log that is noise."""
    found, truth = space["found"], space["truth"]
    for name, value in truth.items():
        known = next(x for x in found if name in x)
        assert abs(found[known] - value) < 0.1 * value, name
    assert (space["check"].rms < 1.3 * space["NOISE"]).all()
    assert space["estimate"].verdict.level == "good"


SPACES = {
    "identified-model": identified,
    "controller-in-c": controller,
    "parallelogram-arm": parallelogram_arm,
}


LONG = {  # guides of many seconds; what they use has tests of its own
    *("controller-in-c", "gpu", "how-sure-am-i", "identified-model", "jax", "parallel-robot"),
    *("parallelogram-arm", "elastic-joints", "elastic-control", "bending-links", "lab-computer"),
    *("kinematics", "dh-steps", "practica-3", "course", "joint-forces"),
    *("casadi", "gymnasium", "own-controller", "own-friction", "ros2", "simulink", "teaching"),
}


def guide(path):
    marks = [pytest.mark.thorough] if path.stem in LONG else []
    return pytest.param(path, marks=marks, id=f"{path.parent.name}-{path.stem}")


@pytest.mark.parametrize("path", [guide(path) for path in GUIDES])
def test_guide_prints_what_it_shows(path, compiled, tmp_path, monkeypatch):
    page = path.read_text()
    for sign, programs in NEEDED.items():
        missing = [x for x in programs if sign in page and not shutil.which(x)]
        if missing:
            pytest.skip(f"the guide needs {' and '.join(missing)}")
    monkeypatch.chdir(tmp_path)
    space = {}
    with np.printoptions():  # some guides change them
        pairs = blocks.outputs(page, path.name, space)
    assert len(pairs) >= 5
    for block, said in pairs:
        assert said.strip(), f"{path.name}:{block.line}: nothing was printed"
        if block.title is None:
            assert blocks.same(block.text, said), f"{path.name}:{block.line}:\n{said}"
    run_inline(page, space)
    SPACES.get(path.stem, len)(space)


def run_inline(page, space):
    """Run the calls of `print` that stand in a page's sentences, behind all of its blocks."""
    for line in re.findall(r"`(print\([^`]+\))`", page):
        exec(line, space)


@pytest.mark.parametrize("path", [DOCS / "guides" / "teaching.md", TRANSLATED])
def test_the_ten_steps_of_exercise_10(path, compiled):
    page = path.read_text()
    part, space = page[page.index("### 10. ") : page.index("### 11. ")], {"dy": dy}
    ((block, said),) = blocks.outputs(part, path.name, space)
    assert blocks.same(block.text, said)
    assert "print(steps)" in part
    run_inline(part, space)


def test_front_page_runs(compiled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    blocks.outputs((DOCS / "index.md").read_text(), "index.md", space)
    assert len(space["ways"].q) == 8 and (tmp_path / "run.png").exists()


def keys(table, at=""):
    """Every key of a TOML file with the table it stands in."""
    for key, value in table.items():
        yield at, key
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                yield from keys(part, key)


def test_reference_shows_every_key_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    blocks.outputs((DOCS / "reference" / "models.md").read_text(), "models.md", space)
    files = sorted(tmp_path.glob("*.toml"))
    assert len(files) == 6
    shown = set()
    for file in files:
        own = {"Hose": space["Hose"], "Grease": space["Grease"]} if file.stem == "laws" else None
        robot = dy.load(file, laws=own)
        assert not [f for f in robot.check() if f.level != "note"]
        motion = [robot.home, *np.zeros((2, robot.n))]
        if not robot.model.closures:
            motion = np.full((3, robot.n), 0.1)
        assert np.isfinite(robot.inverse_dynamics(*motion)).all()
        shown |= set(keys(tomllib.loads(file.read_text())))
    constants = {name for law in LAWS.values() for name in law}
    known = {"": tables.MODEL_KEYS, "link": schema.keys(dy.Link), "drive": schema.keys(dy.Drive),
             "friction": (*schema.keys(dy.Friction), *constants), "payload": schema.keys(Payload),
             "mimic": tables.MIMIC_KEYS, "frame": tables.FRAME_KEYS,
             "load": tables.LOAD_KEYS, "spring": schema.keys(dy.Spring),
             "closure": {*schema.keys(dy.Closure)} - {"length"},
             "geometry": schema.keys(dy.Geometry),
             "base": ("xyz", "rpy"), "finding": tables.FINDING_KEYS}  # fmt: skip
    assert {(at, key) for at, names in known.items() for key in names} <= shown


@pytest.mark.parametrize(
    "shown, said, alike",
    [
        ("a 1.25\n", "a   1.25\n", True),
        ("a 1.25\n", "a 1.26\n", True),  # the last digit
        ("a 1.25\n", "a 1.28\n", False),
        ("a 1e-09\n", "a 3e-09\n", False),
        ("a\n", "b\n", False),
        ("a\n...\nz\n", "a\nb\nc\nz\n", True),
        ("a\n...\nz\n", "a\nb\nc\n", False),
        ("[0. 1.]\n", "[0.  1. 2.]\n", False),
    ],
)
def test_outputs_are_compared(shown, said, alike):
    assert blocks.same(shown, said) is alike


def test_exercises():
    page = (DOCS / "guides" / "teaching.md").read_text()
    assert page.count('??? success "Answer"') == page.count("\n### ") >= 12
    index = (DOCS / "index.md").read_text()
    assert page.count("\n### ") == 20 and "Twenty exercises" in index


class Wordless(ast.NodeTransformer):
    """Code without its texts."""

    def visit_Constant(self, node):
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_Call(self, node):
        self.generic_visit(node)
        told = isinstance(node.func, ast.Attribute) and node.func.attr == "translated"
        return node.func.value if told else node


def test_exercises_in_spanish_are_the_english_ones():
    """The same code but for its texts, and the same numbers printed."""
    pages = [path.read_text() for path in (DOCS / "guides" / "teaching.md", TRANSLATED)]
    assert pages[0].count('"Answer"') == pages[1].count('"Respuesta"') == 20
    code, said = [], []
    for page in pages:
        found = blocks.blocks(page)
        source = [b.text for b in found if b.kind == "python"]
        own = next(k for k, text in enumerate(source) if "set_printoptions" in text)
        code.append([ast.dump(Wordless().visit(ast.parse(text))) for text in source[own:]])
        said.append([blocks.NUMBER.findall(b.text) for b in found if b.kind == "text"])
    assert code[0] == code[1] and len(code[0]) == 21
    assert said[0] == said[1] and len(said[0]) == 28


@pytest.mark.parametrize("folder", ["guides", "es"])
def test_the_course_uses_every_exercise(folder):
    """Short and larger ones, each in one week, and as many weeks as it says."""
    page = (DOCS / folder / "course.md").read_text()
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE)
    assert [int(week) for week, _ in rows] == list(range(1, 15))
    assert len(re.findall(r"^## \d+\. ", page, re.MULTILINE)) == 14
    found = {"short": [], "larger": []}
    for part in "; ".join(text for _, text in rows).split("; "):
        kind = "short" if part.startswith(("short", "breve")) else "larger"
        numbers = [int(x) for x in re.findall(r"\d+", part)]
        if " to " in part or " a " in part:
            numbers = range(numbers[0], numbers[1] + 1)
        found[kind] += numbers
    short = [k + 1 for k in range(36)]
    assert sorted(found["short"]) == short and sorted(found["larger"]) == list(range(1, 21))


SOME = range(4, 8)  # joints; more take most of a minute


@pytest.mark.parametrize("sizes", [SOME, pytest.param(None, marks=pytest.mark.thorough)])
def test_growth_of_operations_is_as_counted(sizes):
    operations = module("operations")
    page = (DOCS / "operations.md").read_text()
    rows = page.partition(operations.GROWTH)[2].splitlines()
    assert len(rows) == len(operations.SIZES)
    assert operations.growth(sizes or operations.SIZES) == rows[: len(sizes or rows)]


def test_blocks_of_the_observation_matrix_are_as_counted():
    """The table, and its formulas on other numbers of joints than they were fitted to."""
    operations = module("operations")
    page = (DOCS / "operations.md").read_text()
    rows = page.partition(operations.BLOCKS)[2].partition("\n\n")[0].splitlines()
    assert operations.block_rows() == rows and len(rows) == 6
    few = [operations.block_counts(n) for n in operations.FITTED]
    for n in (4, 9):
        for name, counted in operations.block_counts(n).items():
            for kind, count in counted.items():
                a, b, c = operations.quadratic([x[name][kind] for x in few])
                assert a * n**2 + b * n + c == pytest.approx(count)


def test_gallery_is_complete():
    gallery = module("gallery")
    for path in gallery.examples(ROOT):
        kept = DOCS / "gallery" / f"{path.stem}.txt"
        assert kept.exists(), f"run `python docs/gallery.py {path.stem}`"
    for path in gallery.notebooks(ROOT):
        assert (DOCS / "gallery" / f"{path.stem}.json").exists()


def test_pictures_are_small():
    pictures = [p for f in ("gallery", "pictures") for p in (DOCS / f).rglob("*") if p.is_file()]
    assert len(pictures) > 20
    assert not [p.name for p in pictures if p.stat().st_size > LARGEST]


def test_no_page_tells_where_it_was_written():
    texts = [p for p in DOCS.rglob("*") if p.suffix in (".md", ".txt", ".json", ".py")]
    texts += [ROOT / "README.es.md", *(ROOT / "notebooks").glob("*.ipynb")]
    for path in texts:
        found = re.search(r"/(?:tmp|work|root|home)/\w+", path.read_text())
        assert not found, f"{path}: {found[0]}"


def headings(text):
    return re.findall(r"^#+ ", text, re.MULTILINE)


def test_spanish_readme_keeps_up():
    english, spanish = ((ROOT / f"README{x}.md").read_text() for x in ("", ".es"))
    assert headings(english) == headings(spanish)
    table = re.compile(r"\d+ ns")
    assert table.findall(english) == table.findall(spanish)
    links = re.compile(r"\]\((docs/[^)]+)\)")
    missing = {x for x in links.findall(english) if "/es/" not in x} - set(links.findall(spanish))
    translated = {
        f"docs/guides/{name}.md"
        for name in ("first-arm", "teaching", "course", "dh-steps", "kinematics")
    }
    assert missing <= translated | {"docs/install.md#for-a-class"}  # in Spanish pages of their own


def test_installation_for_a_class_is_the_same_in_spanish():
    english = (
        (DOCS / "install.md").read_text().partition("## For a class\n")[2].partition("\n## ")[0]
    )
    spanish = INSTALL.read_text()
    for block in blocks.blocks(english):
        lines = block.text.replace("--seed 2041\n", "--seed 2041 --language es\n")
        assert f"```{block.kind}\n{lines}```" in spanish, block.text
    sizes = re.compile(r"\d+ MiB")
    assert set(sizes.findall(english)) == set(sizes.findall(spanish)) and sizes.findall(english)


def test_readme_counts_the_catalogue():
    real, textbook, closed = map(
        int, re.findall(r"^## .*\((\d+)\)$", module("catalogue").page(), re.M)
    )
    english, spanish = ((ROOT / f"README{x}.md").read_text() for x in ("", ".es"))
    assert f"{real + textbook} arms ({real} of them real" in english
    assert f"and {closed} parallel robots" in english
    assert f"{real + textbook} brazos ({real} de ellos reales" in spanish
    assert f"y {closed} robots paralelos" in spanish


def code_of(page):
    """The calls of a page's Python blocks: names and words taken away."""
    code = "".join(b.text for b in blocks.blocks(page) if b.kind == "python")
    return set(re.findall(r"(?:dy|\w+)\.(\w+)\(", code))


def test_spanish_guide_keeps_up():
    english, spanish = (code_of((DOCS / f / "first-arm.md").read_text()) for f in ("guides", "es"))
    left_out = english - spanish
    assert left_out <= {"split", "round"}, left_out


class Page(HTMLParser):
    """What a page loads, and what it says."""

    def __init__(self, html):
        super().__init__()
        self.loads, self.words, self.quiet = [], [], 0
        self.maths = html.count("<math")
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.loads.append(names.get("src") or "")
        if tag == "link" and names.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(names.get("href") or "")
        self.quiet += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.quiet -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.quiet:
            self.words.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install '.[docs]'")
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site and says nothing."""

    def log_message(self, *_):
        pass


def article(html):
    """The part of a page that is its own."""
    return html[html.index("<article") : html.index("</article>")]


@pytest.mark.thorough
def test_site(site):
    pages = sorted(p for p in site.rglob("*.html") if p.name != "404.html")
    assert len(pages) > 40
    for path in pages:
        where, html = path.relative_to(site), path.read_text()
        whole, own = Page(html), Page(article(html))
        outside = [x for x in whole.loads if re.match(r"(?:https?:)?//", x)]
        assert not outside, f"{where} loads {outside}"
        assert len(" ".join(own.words).split()) > 30, f"{where} is empty"
        assert len("".join(own.words)) > FEWEST, f"{where} says too little"
        assert "arithmatex" not in html, f"{where} has a formula that was not drawn"
        language = "es" if where.parts[0] == "es" else "en"
        assert f'<html lang="{language}"' in html, f"{where} is not marked as {language}"
    assert "language-text" in (site / "es" / "teaching" / "index.html").read_text()  # wrapped
    for path in site.rglob("*.css"):
        outside = re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)\s]+", path.read_text())
        assert not outside, f"{path.name} loads {outside}"


@pytest.mark.thorough
def test_site_can_be_read_by_everyone(site, browser):
    folder = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), folder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for size in ((1280, 800), (390, 844)):
            tab = browser.new_page(viewport={"width": size[0], "height": size[1]})
            for page in READ:
                tab.goto(f"http://127.0.0.1:{server.server_port}/{page}")
                across = tab.evaluate("document.documentElement.scrollWidth")
                assert across <= size[0], f"{page} is {across} pixels wide"
                if size[0] > 1000:
                    assert not tab.evaluate(CUT), f"{page} cuts lines of text blocks"
                assert not serious_findings(tab), page
            tab.close()
        server.shutdown()


@pytest.mark.thorough
def test_reference_pages_are_full(site):
    for page, names in REFERENCE.items():
        html = (site / "reference" / page / "index.html").read_text()
        text = " ".join(Page(article(html)).words)
        for name in names:
            assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text), f"{name} is not on {page}"


def test_reference_knows_every_public_name():
    index = (DOCS / "reference" / "index.md").read_text()
    for name in set(dy.__all__) - {"__version__"}:
        assert re.search(rf"`dy\.{name}`", index), f"dy.{name} is not in the reference"


@pytest.mark.thorough
def test_formulas_are_drawn(site):
    for page, least in {"concepts/derivations": 60, "errata": 80, "guides/teaching": 10}.items():
        html = (site / page / "index.html").read_text()
        assert Page(html).maths >= least
        for left in ("\\frac", "\\begin", "$$", "\\dot"):
            assert left not in article(html), f"{page} shows {left}"


def test_every_formula_is_well_formed():
    from xml.etree import ElementTree

    formulas = module("formulas")
    sources = "\n\n".join(p.read_text() for p in DOCS.rglob("*.md"))
    code = r"^( *)(```|~~~).*?^\1\2|`[^`\n]+`"
    sources = re.sub(code, "", sources, flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"\$\$(.+?)\$\$", sources, re.DOTALL)
    assert len(found) > 100
    within = re.findall(r"(?<![\\$])\$(?=\S)([^$\n]+?)(?<=\S)\$(?!\$)", sources)
    assert len(within) > 100
    found += within
    for latex in found:
        drawn = formulas.formula(latex)
        ElementTree.fromstring(f"<math>{drawn}</math>")
        words = "".join(ElementTree.fromstring(f"<math>{drawn}</math>").itertext())
        assert "\\" not in words, f"{latex}: {words}"
        known = re.findall(r"<mo[^>]*>([A-Za-z]{2,})</mo>", drawn)
        assert not known, f"{latex}: {known} are not commands that are drawn"
