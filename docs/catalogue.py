"""The page of the catalogue, from the robots themselves."""

from dynamis.model import catalogue
from dynamis.model.chain import chain
from dynamis.model.formats.files import load_model

TEACHING = (
    *("pendulum3", "rppr", "elbow6", "planar-rr", "planar-rp", "cartesian-xy", "scara", "sixr"),
    *("planar-2link", "polar-rp", "kr16-p4"),
)
HEAD = """# Catalogue

`dy.load("ur5e")` loads one, `dynamis show ur5e` prints it, `dynamis check ur5e` what is odd about it. Numbers are those of the source that the
description names; what is invented or left open is said there. The mass is that of the moving links.
"""
GROUPS = {
    "Real arms": "Where masses are not published the arm is geometry: kinematics work, torques are zero and forward dynamics is refused. The ABB IRB 6400 is not among them: no two public sources with its lengths were found.",
    "Arms of textbooks and courses": "",
    "Closed mechanisms": "Guide: [a parallel robot](../guides/parallel-robot.md).",
}


def group(name: str) -> str:
    """The part of the page that a robot belongs to."""
    if load_model(name).closures:
        return "Closed mechanisms"
    return "Arms of textbooks and courses" if name in TEACHING else "Real arms"


def row(name: str) -> str:
    """A robot's line of the table."""
    model = load_model(name)
    joints = "".join(link.joint[0].upper() for link in model.links)
    mass = sum(body.inertia.m for body in chain(model).bodies)
    weight = f"{mass:.3g} kg" if mass else "-"
    return f"| `{name}` | {' '.join(model.description.split())} | {joints} | {weight} |"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    names = catalogue.names()
    for title, words in GROUPS.items():
        mine = [name for name in names if group(name) == title]
        rows = "\n".join(map(row, mine))
        table = f"| name | what it is | joints | mass |\n|---|---|---|---|\n{rows}\n"
        parts.append(f"## {title} ({len(mine)})\n\n{words}\n\n{table}")
    return "\n".join(parts)
