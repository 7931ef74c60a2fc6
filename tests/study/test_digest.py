"""Digests of functions: other for whatever a function computes with, the same in every process."""

import os
import subprocess
import sys
import threading
from copy import copy
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis.digest import UnidentifiedError, digest_of
from dynamis.errors import OptionError
from dynamis.study import identity

from .small import BLOCK, evaluated, simulated

HERE = Path(__file__).parents[2]

# a measure for every way in which 1.5 reaches it; 2.5 in its place is another measure
MEASURES = {
    "a generator expression": "def measure(run): return sum(x > 1.5 for x in run)",
    "a list comprehension": "def measure(run): return [x for x in run if x > 1.5]",
    "a lambda within": "def measure(run): return max(run, key=lambda x: abs(x - 1.5))",
    "a lambda within a lambda": "measure = lambda run: (lambda: (lambda: run > 1.5)())()",
    "a function within": "def measure(run):\n    def inner(): return 1.5\n    return inner()",
    "a class within": "def measure(run):\n    class A:\n        limit = 1.5\n    return A.limit",
    "a global": "LIMIT = 1.5\ndef measure(run): return run > LIMIT",
    "a global of a generator": "LIMIT = 1.5\ndef measure(run): return any(x > LIMIT for x in run)",
    "a global of a global": "A = 1.5\ndef f(x): return x > A\ndef measure(run): return f(run)",
    "an array": "import numpy as np\nA = np.array([0.0, 1.5])\ndef measure(run): return run @ A",
    "a default": "def measure(run, limit=1.5): return run > limit",
    "a default by name": "def measure(run, *, limit=1.5): return run > limit",
    "a default of a function within": (
        "def measure(run):\n    def inner(limit=1.5): return limit\n    return inner()"
    ),
    "a closure": "def made(limit): return lambda run: run > limit\nmeasure = made(1.5)",
    "a class attribute": "class A:\n    limit = 1.5\ndef measure(run): return run > A.limit",
    "a method": (
        "class A:\n    def limit(self): return 1.5\ndef measure(run): return run > A().limit()"
    ),
    "a property": (
        "class A:\n    @property\n    def limit(self): return 1.5\n"
        "def measure(run): return run > A().limit"
    ),
    "a static method": (
        "class A:\n    @staticmethod\n    def limit(): return 1.5\n"
        "def measure(run): return run > A.limit()"
    ),
    "a class method": (
        "class A:\n    @classmethod\n    def limit(cls): return 1.5\n"
        "def measure(run): return run > A.limit()"
    ),
    "a base class": (
        "class A:\n    limit = 1.5\nclass B(A): pass\ndef measure(run): return run > B.limit"
    ),
    "a cached property": (
        "from functools import cached_property\nclass A:\n    @cached_property\n"
        "    def limit(self): return 1.5\ndef measure(run): return run > A().limit"
    ),
    "a method that is the measure": (
        "class A:\n    def __init__(self, limit): self.limit = limit\n"
        "    def f(self, run): return run > self.limit\nmeasure = A(1.5).f"
    ),
    "an object that is the measure": (
        "class A:\n    def f(self): return 1.5\n    def __call__(self, run): return self.f()\n"
        "measure = A()"
    ),
    "an object with slots": (
        "class A:\n    __slots__ = ('limit',)\nA.of = A()\nA.of.limit = 1.5\n"
        "def measure(run): return run > A.of.limit"
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n    limit: float\n"
        "a = A(1.5)\ndef measure(run): return run > a.limit"
    ),
    "a default of a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    limit: float = 1.5\n"
        "def measure(run): return run > A().limit"
    ),
    "a factory of a dataclass": (
        "from dataclasses import dataclass, field\n@dataclass\nclass A:\n"
        "    limits: list = field(default_factory=lambda: [1.5])\n"
        "def measure(run): return run > A().limits[0]"
    ),
    "a named tuple": (
        "from typing import NamedTuple\nclass A(NamedTuple):\n    limit: float = 1.5\n"
        "def measure(run): return run > A().limit"
    ),
    "an enumeration": (
        "from enum import Enum\nclass A(Enum):\n    LIMIT = 1.5\n"
        "def measure(run): return run > A.LIMIT.value"
    ),
    "a partial": (
        "from functools import partial\ndef f(limit, run): return run > limit\n"
        "measure = partial(f, 1.5)"
    ),
    "a partial of a name": (
        "from functools import partial\ndef f(run, limit): return run > limit\n"
        "measure = partial(f, limit=1.5)"
    ),
    "a lambda in a dictionary": (
        "TESTS = {'a': lambda run: run > 1.5}\ndef measure(run): return TESTS['a'](run)"
    ),
    "a list of tuples": "ROWS = [('a', (1.5,))]\ndef measure(run): return run > ROWS[0][1][0]",
    "a set": "SET = {'a', 'b', 1.5}\ndef measure(run): return run in SET",
    "a set of constants": "def measure(run): return run in {1.5, 'a', 'b'}",
    "a decorated function": (
        "from functools import wraps\ndef twice(f):\n    @wraps(f)\n"
        "    def g(*a): return 2 * f(*a)\n    return g\n"
        "@twice\ndef measure(run): return run > 1.5"
    ),
    "the decorator": (
        "def times(f):\n    def g(*a): return 1.5 * f(*a)\n    return g\n"
        "@times\ndef measure(run): return run"
    ),
    "a cached function": (
        "from functools import lru_cache\n@lru_cache\ndef f(): return 1.5\n"
        "def measure(run): return run > f()"
    ),
    "a vectorised function": (
        "import numpy as np\nmeasure = np.vectorize(lambda run: run > 1.5)"
    ),
    "an attribute of a function": "def measure(run): return measure.limit\nmeasure.limit = 1.5",
    "an attribute that is a global too": (
        "limit = 3\ndef measure(run): return measure.limit + limit\nmeasure.limit = 1.5"
    ),
    "a mask": (
        "import numpy as np\nA = np.ma.array([1, 2], mask=[1.5 > 2, 0])\n"
        "def measure(run): return A.sum()"
    ),
    "a random generator": (
        "import numpy as np\nR = np.random.default_rng(15)\nR.normal(1.5, size=int(1.5))\n"
        "def measure(run): return R.normal()"
    ),
    "a regular expression": (
        "import re\nP = re.compile('1.5')\ndef measure(run): return P.match(run)"
    ),
    "a robot": (
        "import dynamis as dy\nR = dy.load('planar-2link').with_payload(1.5)\n"
        "def measure(run): return R.gravity_torque(run)"
    ),
    "a robot's own friction law": (
        "from dataclasses import dataclass\nimport dynamis as dy\n@dataclass(frozen=True)\n"
        "class Law:\n    dry: float = 1.0\n    def torque(self, qd, direction, constants, fn):\n"
        "        return 1.5 * constants['dry'] * direction\n"
        "F = dy.Friction(law=Law())\ndef measure(run): return F"
    ),
    "an order": (  # the first that holds decides
        "TESTS = {'a': 1.5, 'b': 2.5}\ndef measure(run): return [k for k in TESTS]"
    ),
}  # fmt: skip
ORDERED = "TESTS = {'b': 2.5, 'a': 1.5}\ndef measure(run): return [k for k in TESTS]"

# modules beside the measure: `other` is what changes
HELPERS = {
    "an attribute": {"m": "import other\ndef measure(run): return run > other.LIMIT"},
    "a name": {"m": "from other import LIMIT\ndef measure(run): return run > LIMIT"},
    "an import within": {"m": "def measure(run):\n    import other\n    return run > other.LIMIT"},
    "a name within": {"m": "def measure(run):\n    from other import LIMIT\n    return LIMIT"},
    "a relative import within": {
        "p/__init__": "", "m": "from p.a import measure", "p/other": "LIMIT = 1.5",
        "p/a": "def measure(run):\n    from .other import LIMIT\n    return run > LIMIT",
    },
    "another name of the module": {
        "m": "import other\ndef measure(run):\n    o = other\n    return run > o.LIMIT"
    },
    "whatever it holds": {
        "m": "import other\ndef measure(run): return run > getattr(other, 'LIM' + 'IT')"
    },
    "a module as a default": {
        "m": "import other\ndef measure(run, o=other): return run > o.LIMIT"
    },
    "a module in a list": {
        "m": "import other\nALL = [other]\ndef measure(run): return run > ALL[0].LIMIT"
    },
    "a module as a field": {
        "m": "import other\nclass A:\n    def __init__(self): self.o = other\n"
        "    def measure(self, run): return run > self.o.LIMIT\nmeasure = A().measure"
    },
    "a function": {
        "m": "import other\ndef measure(run): return other.f(run)",
        "other": "def f(run): return any(x > 1.5 for x in run)",
    },
    "a helper of a helper": {
        "m": "import helper\ndef measure(run): return helper.f(run)",
        "helper": "import other\ndef f(run): return run > other.LIMIT",
    },
    "a name of a helper of a helper": {
        "m": "import helper\ndef measure(run): return getattr(helper, 'f')(run)",
        "helper": "from other import LIMIT\ndef f(run): return run > LIMIT",
    },
    "a module of a package": {
        "p/__init__": "", "p/other": "LIMIT = 1.5",
        "m": "import p.other\ndef measure(run): return run > p.other.LIMIT",
    },
    "a class of a helper": {
        "m": "from other import A\ndef measure(run): return A(1.0).f(run)",
        "other": "class A:\n    def __init__(self, x): self.x = x\n    def f(self, r): return 1.5",
    },
    "modules that import each other": {
        "m": "import helper\ndef measure(run): return helper.f(run)",
        "helper": "import other\ndef f(run): return other.g(run)",
        "other": "import helper\ndef g(run): return run > 1.5 or helper.f(run)",
    },
}  # fmt: skip
DIGEST = "import m; from dynamis.digest import digest_of; print(digest_of(m.measure))"


def written(folder, files):
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """The measure of modules in a folder of their own; all of them are imported anew."""
    count = iter(range(100))

    def measure(files):
        folder = written(tmp_path / str(next(count)), files)
        for name in [*sys.modules]:
            if name in ("m", "p", "helper", "other") or name.startswith("p."):
                monkeypatch.delitem(sys.modules, name)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder))
            import m  # type: ignore[import-not-found]

            return digest_of(m.measure)

    return measure


@pytest.mark.parametrize("way", MEASURES)
def test_another_number_is_another_measure(imported, way):
    text = MEASURES[way]
    changed = ORDERED if way == "an order" else text.replace("1.5", "2.5")
    below = f"# a comment\n\n\n{text}\n\n\ndef another(run): return 3.5\n"
    first = imported({"m": text})
    assert first == imported({"m": text}) == imported({"m": below})
    assert first != imported({"m": changed})


@pytest.mark.parametrize("way", HELPERS)
def test_another_number_in_a_helper_is_another_measure(imported, way):
    files = {"other": "LIMIT = 1.5"} | HELPERS[way]
    first = imported(files)
    assert first == imported({k: f"# a comment\n{x}\n" for k, x in files.items()})
    assert first != imported({k: x.replace("1.5", "2.5") for k, x in files.items()})


@pytest.mark.parametrize(
    "way",
    ["an attribute", "another name of the module", "a module of a package", "whatever it holds",
     "a module as a default", "a module in a list", "a module as a field"],
)  # fmt: skip
def test_a_module_that_is_changed_while_it_is_there_is_another(imported, way):
    files = {"other": "LIMIT = 1.5"} | HELPERS[way]
    first, m = imported(files), sys.modules["m"]
    (sys.modules.get("p.other") or sys.modules["other"]).LIMIT = 2.5
    assert digest_of(m.measure) != first


def test_a_module_that_an_enclosing_function_imports_counts(imported):
    text = """
def made(limit):
    import other
    other.LIMIT = limit
    return lambda run: run > other.LIMIT
measure = made(1.5)"""
    first, m = imported({"m": text, "other": "LIMIT = 0.0"}), sys.modules["m"]
    assert digest_of(m.made(1.5)) == first != digest_of(m.made(2.5))


def test_digests_are_the_same_in_other_processes(tmp_path):
    """Whatever order sets have there; the modules lie elsewhere, and one was read as byte code."""
    every = {f"a{k}": text for k, text in enumerate(MEASURES.values())}
    names = ", ".join(every)
    together = f"import {names}\ndef measure(run): return [x.measure(run) for x in ({names})]"
    found = set()
    for seed in ("1", "2", "2"):
        folder = written(tmp_path / seed, {**every, "m": together})
        path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        ended = subprocess.run(
            [sys.executable, "-c", DIGEST], text=True, capture_output=True, check=False,
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed,
                 "PYTHONDONTWRITEBYTECODE": ""},
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        found.add(ended.stdout)
    assert len(found) == 1


def test_circles_and_depth():
    ring = []
    ring.append(ring)
    deep = 1.5
    for _ in range(10**5):
        deep = [deep]
    around = {"deep": deep, "ring": ring}
    other = {"deep": [deep], "ring": ring}
    assert digest_of(lambda: around) != digest_of(lambda: other)

    def twice(n):
        return n if n < 2 else twice(n - 1) + 1.5

    class Node:
        def __init__(self):
            self.near = set()

    one, two = Node(), Node()
    one.near.add(two)
    two.near.add(one)
    assert digest_of((twice, one)) == digest_of((twice, two))


@lru_cache
def remembered(x):
    return x


def test_results_that_are_kept_have_no_part():
    robot = dy.load("planar-2link")

    def measure(run):
        return robot.gravity_torque(run), remembered(1.0)

    before = digest_of(measure)
    measure([0.1, 0.2])
    assert digest_of(measure) == before


LOCK, FILE = threading.Lock(), sys.stderr
UNSEEN = {
    "LOCK": lambda draw: LOCK,
    "FILE": lambda draw: print("x", file=FILE),
    "os.environ": lambda draw: float(os.environ["LIMIT"]),
    "os.getenv": lambda draw: float(os.getenv("LIMIT", "1")),
    "builtins.open": lambda draw: open("limit").read(),  # noqa: PTH123, SIM115
    "read_text": lambda draw: Path("limit").read_text(),
    "numpy.load": lambda draw: np.load("limit.npy"),
    "builtins.eval": lambda draw: eval("LOCK"),
    "ufunc": np.frompyfunc(lambda x: x, 1, 1),
}


@pytest.mark.parametrize("what", UNSEEN)
def test_what_cannot_be_seen_is_named(what):
    with pytest.raises(UnidentifiedError, match=what):
        digest_of(UNSEEN[what])


# checkpoints


def over(draw):
    """How many factors lie above a limit that the environment holds."""
    return (draw.factors > float(os.environ.get("DYNAMIS_TEST_LIMIT", "1"))).sum(axis=1)


def test_a_checkpoint_needs_a_version_where_changes_cannot_be_seen(tmp_path, monkeypatch):
    with pytest.raises(OptionError, match=r"whether 'over' changes .* os\.environ\n.*over.version"):
        evaluated(over, 3 * BLOCK, checkpoint=tmp_path)
    assert evaluated(over, 3 * BLOCK).resumed == 0
    monkeypatch.setattr(over, "version", "1", raising=False)
    assert evaluated(over, 3 * BLOCK, checkpoint=tmp_path).resumed == 0
    assert evaluated(over, 3 * BLOCK, checkpoint=tmp_path).resumed == 3 * BLOCK
    assert evaluated(partial(over), BLOCK, checkpoint=tmp_path / "partial").resumed == 0
    monkeypatch.setattr(over, "version", "2")
    with pytest.raises(OptionError, match=r"differs in functions\n"):
        evaluated(over, 3 * BLOCK, checkpoint=tmp_path)


def test_a_function_without_a_name_is_to_be_given_one(tmp_path):
    said = r"with def, and give it a version.*: measure\.version = "
    with pytest.raises(OptionError, match=said):
        evaluated(lambda draw: over(draw) + 0, BLOCK, checkpoint=tmp_path)


LIMIT = 2.5


def rare(draw):
    """How many factors of an arm lie above the limit; none of the first eight arms has one."""
    return [float(sum(x > LIMIT for x in row)) for row in draw.factors]


def test_a_limit_within_a_generator_decides_a_share(tmp_path, monkeypatch):
    """The first samples say nothing about either limit."""
    shares = []
    for limit in (2.5, 3.5):
        monkeypatch.setattr(sys.modules[__name__], "LIMIT", limit)
        study = evaluated(rare, 20 * BLOCK, checkpoint=tmp_path / str(limit))
        assert max(rare(study.case.draw(0, 8))) == 0.0
        shares.append(study.mean("rare").item())
    assert shares[0] > shares[1]
    with pytest.raises(OptionError, match=r"differs in functions\n"):
        evaluated(rare, 20 * BLOCK, checkpoint=tmp_path / "2.5")


@dataclass(frozen=True)
class Own(dy.control.Controller):
    """A law of one's own whose gain is a global."""

    def step(self, arm, sample):
        return [-LIMIT * x for x in sample.e], {}


def test_the_helpers_of_a_controller_decide(tmp_path, monkeypatch):
    simulated(3, controller=Own(), checkpoint=tmp_path)
    assert simulated(3, controller=Own(), checkpoint=tmp_path).resumed == 3
    monkeypatch.setattr(sys.modules[__name__], "LIMIT", 3.5)
    with pytest.raises(OptionError, match="differs in controller, reference or forces"):
        simulated(3, controller=Own(), checkpoint=tmp_path)


def test_every_row_of_a_force_decides(tmp_path, monkeypatch):
    monkeypatch.setattr(identity, "ROWS", 2)
    options = {"controller": None, "reference": None, "measure": "peak_velocity"}
    torque = np.zeros((7, 2))
    simulated(3, **options, torque=torque, checkpoint=tmp_path)
    assert simulated(3, **options, torque=torque, checkpoint=tmp_path).resumed == 3
    torque[-1] = 1.0
    with pytest.raises(OptionError, match="differs in controller, reference or forces"):
        simulated(3, **options, torque=torque, checkpoint=tmp_path)


def test_alternatives_that_are_drawn_late_decide_too(tmp_path):
    """One that no sample of the first block has."""
    robot = dy.load("planar-2link")
    moves = [dy.trajectory.quintic([0, 0], [0.1, 0.01 * k], duration=0.01) for k in range(90)]

    def run():
        return simulated(BLOCK, vary=dy.Scatter(robot, reference=moves), checkpoint=tmp_path)

    chosen = run().case.draw(0, BLOCK).chosen["reference"].tolist()
    late = next(k for k in range(90) if k not in chosen)
    moves[late] = dy.trajectory.quintic([0, 0], [0.3, 0.3], duration=0.01)
    with pytest.raises(OptionError, match="differs in vary"):
        run()


class Copied:
    """A class that no object of was copied yet."""


def test_a_copy_of_an_object_does_not_change_its_class():
    def measure(run):
        return Copied

    before = digest_of(measure)
    copy(Copied())  # Python leaves a note in the class
    assert digest_of(measure) == before
