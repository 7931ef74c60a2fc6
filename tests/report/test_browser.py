"""Charts in a browser: values under the pointer and by the keys, zoom."""

import numpy as np
import pytest

from dynamis.report.chart import ChartSeries, Panel, chart
from dynamis.report.page import Page


@pytest.fixture
def tab(browser, tmp_path):
    """A page with one chart: torque of 50 t from 0 to 10 s."""
    t = np.linspace(0.0, 10.0, 201)
    page = Page("charts")
    series = [ChartSeries("torque", t, 50.0 * t)]
    page.chart(chart("joint1", "time, s", Panel(series, "N m")), series)
    page.save(tmp_path / "page.html")
    made = browser.new_page(viewport={"width": 800, "height": 600})
    made.goto((tmp_path / "page.html").as_uri())
    yield made
    made.close()


def at(tab, share):
    box = tab.locator(".plot").bounding_box()
    return box["x"] + share * box["width"], box["y"] + 0.5 * box["height"]


def ticks(tab):
    return [float(x) for x in tab.locator(".plot .x").all_text_contents()]


def test_values_under_the_pointer(tab):
    out = tab.locator(".chart output")
    assert not out.is_visible()
    tab.mouse.move(*at(tab, 0.4))
    words = out.text_content().split()
    assert words[0] == "time" and words[2] == "s" and words[-2:] == ["N", "m"]
    assert float(words[1]) == pytest.approx(4.0, abs=0.05)
    assert float(words[words.index("torque") + 1]) == pytest.approx(200.0, abs=3.0)


def test_zoom_by_dragging_and_back(tab):
    before = ticks(tab)
    tab.mouse.move(*at(tab, 0.2))
    tab.mouse.down()
    tab.mouse.move(*at(tab, 0.4))
    tab.mouse.up()
    zoomed = ticks(tab)
    assert before[0] == 0 and before[-1] == 10
    assert min(zoomed) >= 1.95 and max(zoomed) <= 4.05 and len(zoomed) >= 3
    tab.mouse.dblclick(*at(tab, 0.5))
    assert ticks(tab) == before


def test_values_by_the_keys(tab):
    tab.locator(".plot").focus()
    tab.keyboard.press("Home")
    assert "time 0 s" in tab.locator(".chart output").text_content()
    tab.keyboard.press("PageUp")
    assert "time 1 s" in tab.locator(".chart output").text_content()
    tab.keyboard.press("Escape")
    assert not tab.locator(".chart output").is_visible()
