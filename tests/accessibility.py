"""What axe-core finds in a page that keeps a person with a screen reader or a keyboard out."""

import pytest

SERIOUS = ("serious", "critical")


def serious_findings(tab, but=()):
    """Rule, number of elements and the first of them; `but` are rules left out."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    found = axe.Axe().run(tab).response["violations"]
    return [
        (rule["id"], len(rule["nodes"]), rule["nodes"][0]["html"][:200])
        for rule in found
        if rule["impact"] in SERIOUS and rule["id"] not in but
    ]
