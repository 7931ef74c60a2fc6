"""The table of what each library holds is what the conversions say aloud."""

from pathlib import Path

from dynamis.interop import mjcf, pinocchio, robotics_toolbox, yourdfpy
from dynamis.model.features import FEATURES

PAGE = Path(__file__).parents[2] / "docs" / "interoperation.md"


def test_the_table_is_so():
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.endswith((" yes |", " no |"))
    ]
    held = (
        {*pinocchio.HELD, pinocchio.ASYMMETRIC},
        set(robotics_toolbox.HELD),
        set(mjcf.HELD),
        set(yourdfpy.HELD),
    )
    assert [row[0] for row in rows] == list(FEATURES)
    for name, *cells in rows:
        assert cells == ["yes" if name in library else "no" for library in held], name
    assert all(library <= set(FEATURES) for library in held)
