"""Pages are self-contained, and nothing a model says reaches them unescaped."""

from dynamis.report.page import Page


def test_text_is_escaped(tmp_path):
    page = Page("<b>arm</b>", "a & b")
    page.section("<i>", "x < y")
    page.table(("<th>",), [("<script>alert(1)</script>",), (("2e-16", "good"),)])
    path = tmp_path / "p.html"
    page.save(path)
    text = path.read_text()
    assert "<script>" not in text and "&lt;script&gt;" in text
    assert "&lt;b&gt;arm" in text and '<td class="good">2e-16</td>' in text
    assert text.startswith("<!doctype html>") and "viewport" in text
