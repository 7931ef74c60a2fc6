"""A real browser in front of a real studio, driven as a person would: a click, a look, another.

Nothing here is over at a time of the clock. A look fails at once when page, browser or studio are
no longer there; what does not come is given up after so many frames of the page, which take as long
as the machine needs for them.
"""

import itertools
from contextlib import suppress

import pytest

WIDE, NARROW = {"width": 720, "height": 450}, {"width": 390, "height": 844}
OPENING = 60  # looks at a dropdown that was clicked
GLANCE = 20_000  # ms for one click at what may be drawn anew meanwhile; others follow
PAUSE = 50  # ms between two looks
LOOKS, DRAWN = 1200, 200  # and frames, after which what is awaited will not come
# nobody looks: ten frames a second are enough for a page to go on, and they are counted
COUNT = """
const soon = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = draw => setTimeout(() => soon(draw), 100);
window.cancelAnimationFrame = number => clearTimeout(number);
const count = () => {
    window.frames_drawn = (window.frames_drawn || 0) + 1;
    requestAnimationFrame(count);
};
count();
"""


@pytest.fixture(scope="module")
def studio(compiled):
    """A studio of the PUMA 560 at a free port."""
    pytest.importorskip("viser", reason="viser is not installed")
    from dynamis.studio import Studio

    made = Studio("puma560", port=0)
    scene = made.server.scene  # light that software computes for seconds before the first frame
    scene.configure_environment_map(hdri=None)
    scene.configure_default_lights(cast_shadow=False)
    yield made
    made.stop()


class Tab:
    """A page of the studio: `page` is Playwright's, `session` the tab's own state in Python."""

    def __init__(self, browser, studio, size=WIDE, **options):
        known = set(studio.sessions)
        self.studio, self.errors, self.session = studio, [], None
        self.page = browser.new_page(viewport=size, **options)
        self.page.set_default_timeout(0)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("crash", lambda _: self.errors.append("the page crashed"))
        self.page.add_init_script(COUNT)
        self.page.goto(studio.address)
        self.sees(self.page.get_by_role("tab").first)
        (self.number,) = set(studio.sessions) - known
        self.session = studio.sessions[self.number]

    def look(self):
        """A moment for the page; what is dead does not come to life by waiting."""
        assert self.studio.guard._thread.is_alive(), "the studio is gone"
        assert self.session is None or not self.session.closed.is_set(), "the tab lost its session"
        self.page.wait_for_timeout(PAUSE)
        assert self.errors == []

    def until(self, true, what="it did not happen"):
        """Look until something holds."""
        begun = None
        for k in itertools.count(1):
            if true():
                return
            self.look()
            if k % 100 == 0:
                drawn = self.page.evaluate("window.frames_drawn || 0")
                begun = drawn if begun is None else begun
                assert k < LOOKS or drawn - begun < DRAWN, what

    def sees(self, locator):
        """Look until something is to be seen."""
        self.until(locator.is_visible, f"there is no {locator}")

    def says(self, text):
        """Look until the page shows a text."""
        self.sees(self.page.get_by_text(text).first)

    def open(self, title):
        """Show the tab of that name."""
        self.click(self.page.get_by_role("tab", name=title))

    def click(self, locator):
        """Click on what is to be seen."""
        self.sees(locator)
        locator.click()

    def press(self, name):
        """Click a button."""
        self.click(self.page.get_by_role("button", name=name, exact=True))

    def field(self, label):
        """The box to type in (the last one, of a slider) beside a label."""
        beside = f"//label[normalize-space()='{label}']/ancestor::div[1]/following-sibling::*"
        return self.page.locator(f"xpath={beside}//input[not(@type='hidden')]").last

    def type(self, label, text):
        """Fill a field in."""
        self.sees(self.field(label))
        self.field(label).fill(text)
        self.field(label).press("Enter")

    def choose(self, label, option, done=None):
        """Pick from a dropdown; again where the page was drawn anew meanwhile.

        `done` tells that it was picked where the dropdown does not keep what was picked.
        """
        import playwright.sync_api

        offered = self.page.get_by_role("option", name=option, exact=True).first
        self.sees(self.field(label))

        def chosen():
            if done() if done else self.field(label).input_value() == option:
                return True
            self.field(label).click()
            for _ in range(OPENING):
                if offered.is_visible():
                    with suppress(playwright.sync_api.TimeoutError):  # it went: open it again
                        offered.click(timeout=GLANCE)
                    break
                self.look()
            return False

        self.until(chosen, f"{option!r} could not be chosen for {label!r}")

    def upload(self, name, content):
        """Give a file to the upload button in sight."""
        file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        self.page.locator("input[type=file]").first.set_input_files(file)

    def close(self):
        self.page.close()


def handle(tab, label):
    """The field of that label as Python has it."""
    fields = tab.session.client.gui._gui_input_handle_from_uuid.values()
    return next(field for field in fields if getattr(field, "label", None) == label)


@pytest.fixture
def tab(browser, studio):
    """One tab, its panel at the side."""
    made = Tab(browser, studio)
    yield made
    made.close()
