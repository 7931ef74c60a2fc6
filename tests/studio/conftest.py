"""A real browser in front of a real studio."""

import shutil

import pytest

# software WebGL, and no talk with the world
FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
SLOW = 60_000  # ms: a busy machine draws in software


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    pytest.importorskip("viser", reason="viser is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no Chromium here")
    with api.sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def studio(compiled):
    """A studio of the PUMA 560 at a free port."""
    from dynamis.studio import Studio

    made = Studio("puma560", port=0)
    yield made
    made.stop()


class Tab:
    """A page of the studio: `page` is Playwright's, `session` the tab's own state in Python."""

    def __init__(self, browser, studio, size=WIDE):
        known = set(studio.sessions)
        self.page = browser.new_page(viewport=size)
        self.page.set_default_timeout(SLOW)
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(studio.address)
        self.page.get_by_role("tab").first.wait_for()
        (self.number,) = set(studio.sessions) - known
        self.session = studio.sessions[self.number]

    def open(self, title):
        """Show the tab of that name."""
        self.page.get_by_role("tab", name=title).click()

    def field(self, label):
        """The box to type in (the last one, of a slider) beside a label."""
        beside = f"//label[normalize-space()='{label}']/ancestor::div[1]/following-sibling::*"
        return self.page.locator(f"xpath={beside}//input[not(@type='hidden')]").last

    def type(self, label, text):
        """Fill a field in."""
        self.field(label).fill(text)
        self.field(label).press("Enter")

    def choose(self, label, option):
        """Pick from a dropdown; again where the page was drawn anew meanwhile."""
        for _ in range(5):
            self.field(label).dispatch_event("click")
            self.page.get_by_role("option", name=option, exact=True).first.dispatch_event("click")
            for _ in range(60):
                if self.field(label).input_value() == option:
                    return
                self.page.wait_for_timeout(50)
        raise AssertionError(f"{option!r} could not be chosen for {label!r}")

    def press(self, name):
        """Click a button, without the many frames that a real click waits for."""
        self.page.get_by_role("button", name=name, exact=True).dispatch_event("click")

    def upload(self, name, content):
        """Give a file to the upload button in sight."""
        file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        self.page.locator("input[type=file]").first.set_input_files(file)

    def says(self, text):
        """Wait until the page shows a text."""
        self.page.get_by_text(text).first.wait_for()

    def until(self, true, seconds=60.0):
        """Wait until something holds."""
        import time

        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, "it did not happen"
            self.page.wait_for_timeout(50)

    def close(self):
        self.page.close()


@pytest.fixture
def tab(browser, studio):
    """One tab at 1280 x 800."""
    made = Tab(browser, studio)
    yield made
    made.close()
