"""The page as a whole: ticks of charts, the open page after a reload, accessibility."""

import pytest

from ..accessibility import serious_findings
from .conftest import NARROW, Tab

SIZE = {"width": 1280, "height": 800}
CHARTS = "Object.values(window.__viserTestpoints?.uplots ?? {}).map((x) => x.chart)"
# a width and data that come in one go, as they do when a run is played in a panel just shown
SHRINK = f"{CHARTS}.forEach((u) => u.setSize({{width: 0, height: u.height}}))"
GROW = f"{CHARTS}.forEach((u) => {{ u.setSize({{width: 341, height: u.height}}); u.redraw(); }})"
TICKS = f"{CHARTS}.map((u) => u.axes[0]._found[0])"
TOPS = """[...new Set([...document.querySelectorAll("[role=tab]")].map(
    (x) => x.getBoundingClientRect().top))]"""
RELOAD = "setTimeout(() => location.reload(), 0)"
# viser's own: labels that are not tied to their fields, their grey, its unnamed sliders and buttons
OF_VISER = ("aria-input-field-name", "button-name", "color-contrast", "label")


@pytest.fixture
def large(browser, studio):
    made = Tab(browser, studio, SIZE)
    yield made
    made.close()


@pytest.mark.thorough
def test_charts_keep_their_ticks_and_a_reload_its_page(large, studio):
    large.until(lambda: len(large.page.evaluate(TOPS)) == 1, "the titles are not in one line")
    large.open("Simulate")
    large.press("Run")
    large.until(lambda: large.session.bench.run is not None)
    large.says("N m of joint")
    large.until(lambda: large.page.evaluate(f"{CHARTS}.length > 0"))
    charts = large.page.locator(".uplot-container")
    bottoms = [x.bounding_box() for x in charts.all()]
    assert max(box["y"] + box["height"] for box in bottoms) < SIZE["height"]
    large.page.evaluate(SHRINK)
    large.page.evaluate(GROW)
    large.until(lambda: all(x > 0 for x in large.page.evaluate(TICKS)), "the ticks are lost")
    number, large.session = large.number, None
    large.page.evaluate(RELOAD)
    large.until(lambda: max(studio.sessions, default=number) > number)
    again = large.page.get_by_role("tab", name="Simulate", selected=True)
    large.sees(again)


@pytest.mark.thorough
def test_no_serious_finding_of_ours(large):
    for title in ("Robot", "Pose", "Simulate", "Equations", "Identify", "Export"):
        large.open(title)
        large.sees(large.page.get_by_role("tab", name=title, selected=True))
        assert serious_findings(large.page, but=OF_VISER) == [], title


@pytest.mark.parametrize("size", [SIZE, NARROW], ids=["wide", "narrow"])
def test_an_end_of_the_server_is_said_in_words(browser, studio, size):
    from dynamis.studio import Studio

    served = Studio("planar-rr", port=0, token=False)
    tab = Tab(browser, served, size)
    note, first = tab.page.locator("#dynamis-alive"), tab.session
    tab.session, tab.studio = None, studio  # which stays while the other one ends
    tab.until(lambda: tab.page.evaluate("window.dynamisAlive !== undefined"))
    assert not note.is_visible()
    served.stop()
    tab.until(lambda: note.is_visible() and "The studio does not answer" in note.inner_text())
    assert serious_findings(tab.page, but=OF_VISER) == []
    again = Studio("planar-rr", port=served.guard.port, token=False)  # the page comes back
    tab.page.bring_to_front()
    tab.until(lambda: again.sessions and not note.is_visible())
    again.stop()
    tab.until(note.is_visible)
    secret = Studio("planar-rr", port=served.guard.port)  # another one, with a token
    tab.until(lambda: "The studio was started again" in note.inner_text())
    secret.stop()
    assert first.closed.is_set() and tab.errors == []
    tab.close()
