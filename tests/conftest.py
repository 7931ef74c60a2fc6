"""Test settings, and the rule that nothing skips where skipping is forbidden."""

import gc
import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

SHARED = Path(__file__).parents[2] / "shared"

os.environ["DYNAMIS_PROGRESS"] = "off"  # what is said depends on the machine's speed
os.environ["DYNAMIS_COMPILE"] = "off"  # hundreds of random robots; see the fixture `compiled`

# what is imported stays: looking through it for garbage took a tenth of the time
gc.set_threshold(50_000, 20, 20)

settings.register_profile(
    "dynamis", derandomize=True, print_blob=True, deadline=None, max_examples=30
)
settings.register_profile("thorough", settings.get_profile("dynamis"), max_examples=1000)
settings.load_profile("dynamis")

# else what is drawn depends on the numbers in all modules that a worker has imported so far
providers.is_local_module_file = lambda path: False  # pyright: ignore[reportPrivateImportUsage]

LONGEST = (
    *("studio/test_robot.py", "/test_misuse.py", "realtime/test_cost.py", "ik/test_ik.py"),
    *(
        "realtime/test_laws_in_c.py",
        "realtime/test_closed_mechanisms.py",
        "study/test_executors.py",
    ),
    *("studio/test_equations.py", "studio/test_pose.py", "dynamics/test_closed_peers.py"),
    *("identify/test_closed.py", "identify/test_real_logs.py", "identify/test_verdict.py"),
    *("compile/test_compiled.py", "/test_examples.py", "/test_docs.py", "/test_notebooks.py"),
    *("demo/test_demo.py", "fuzz/test_oracle.py", "studio/test_simulate.py"),
)


PAGES = ("studio/test_robot.py", "studio/test_guard.py")  # in the quick tests too


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items):
    """What needs a browser is thorough. The files that take longest begin first."""
    for item in items:
        if "browser" in item.fixturenames and not item.path.as_posix().endswith(PAGES):
            item.add_marker(pytest.mark.thorough)
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONGEST))


def pytest_collection_finish():
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()  # libraries count what is left at the end


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.skipped and os.environ.get("DYNAMIS_FORBID_SKIP") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where skipping is forbidden: {report.longrepr}"


@pytest.fixture(scope="session")
def reference():
    """Published inputs and outputs, by file name."""

    def read(name: str):
        path = Path(__file__).parent / "reference" / f"{name}.json"
        return json.loads(path.read_text())

    return read


@pytest.fixture(scope="session")
def data():
    """The folder of logs and URDFs of real arms; absent on a fresh machine."""
    folder = SHARED / "data"
    if not folder.exists():
        pytest.skip(f"no recordings of real arms at {folder.name}/ beside the repository")
    return folder


@pytest.fixture(scope="session", autouse=True)
def object_code(tmp_path_factory):
    """Machine code is kept in a cache of this test run, that of all its workers."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if os.environ.get("PYTEST_XDIST_WORKER") else shared
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DYNAMIS_CACHE", str(shared / "object-code"))
        yield


# software WebGL, for the studio's 3-D scene, and no talk with the world
FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-compositing",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no Chromium here")
    with api.sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def compiled(object_code):
    """Machine code, in tests that ask for it and in the fixtures they share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DYNAMIS_COMPILE", "on")
        yield


@pytest.fixture(autouse=True)
def compiled_where_asked(request):
    """A test of the same file that does not ask for machine code runs without it."""
    with pytest.MonkeyPatch.context() as patch:
        asked = "compiled" in request.fixturenames
        patch.setenv("DYNAMIS_COMPILE", "on" if asked else "off")
        yield
