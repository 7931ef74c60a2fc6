"""Every erratum is decided by the engine, and the page says so."""

from pathlib import Path

import pytest

from docs import errata

PAGE = Path(__file__).parents[1] / "docs" / "errata" / "index.md"
ENTRIES = [
    pytest.param(entry, id=f"{number}-{entry.where}")
    for number, (_, entries) in errata.DOCUMENTS.items()
    for entry in entries
]
KNOWN = {  # at least so many slips are known of each document
    "Práctica 3": 10, "Torres-Torriti 2011": 1, "Six-joint coursework": 10,
    "Rosillo et al. 2010": 2, "Lagrange-Euler notes": 5,
}  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES)
def test_check_decides(entry):
    assert entry.check().decides


@pytest.mark.parametrize("number", errata.DOCUMENTS)
def test_no_known_slip_is_missing(number):
    assert len(errata.DOCUMENTS[number][1]) >= KNOWN[number]


def test_page_is_up_to_date():
    """Else: python -m docs.errata docs/errata/index.md"""
    assert PAGE.read_text(encoding="utf-8") == errata.page()


def test_page_is_written(tmp_path, capsys):
    errata.main([str(tmp_path / "errata.md")])
    errata.main([])
    assert (tmp_path / "errata.md").read_text() == capsys.readouterr().out
    assert capsys.readouterr().out.count("$$") % 2 == 0


def test_the_package_ships_none_of_it():
    source = Path(__file__).parents[1] / "src"
    assert not [p for p in source.rglob("*.py") if "errata" in p.name + p.read_text()]
