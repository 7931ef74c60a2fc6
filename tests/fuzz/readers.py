"""Everything that reads a file from elsewhere: the table the fuzzers and the corpus run over."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import dynamis as dy
import dynamis.interop
from dynamis.bench.datasets import dataset
from dynamis.errors import did_you_mean
from dynamis.model.dh.procedure import DH_CONVENTIONS, construct
from dynamis.model.formats.axes import read_axes
from dynamis.model.pose import pose
from dynamis.robot.bodies.meshes import read_triangles
from dynamis.robot.bodies.simple import around_points

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Reader:
    """A reader: what its files end in, and the call that reads one."""

    name: str
    suffix: str
    read: Callable[[Path], Any]

    def corpus(self) -> list[Path]:
        """Files kept under version control: seeds (valid-*) and findings."""
        return sorted((CORPUS / self.name).glob(f"*{self.suffix}"))

    def valid(self) -> list[Path]:
        """The seeds alone."""
        return [path for path in self.corpus() if path.name.startswith("valid-")]

    def warm_up(self) -> None:
        """Read every seed once, so that nothing is imported while a file is judged."""
        did_you_mean("a", ("b",))  # errors import what finds the nearest name
        for path in self.valid():
            self.read(path)


def points(path: Path) -> Any:
    """A motion by the times of its file; of one without times, within a limit."""
    timed = any(word in path.read_bytes()[:40].lower() for word in (b"t,", b"t [", b"time"))
    return dy.trajectory.from_file(path, **({} if timed else {"velocity": 1.0}))


def sockets(path: Path) -> Any:
    """Postures of sockets, by place."""
    return dy.calibration.read_observations(path, "sockets")


def joint_axes(path: Path) -> Any:
    """Axes of a file, and what the Denavit-Hartenberg procedure makes of them."""
    found = read_axes(path)
    base, tool = (pose(x, "pose").frame({}) for x in (found.base, found.tool))
    return [construct(found.axes, x, base, tool).chain for x in DH_CONVENTIONS]


def mesh(path: Path) -> Any:
    """A mesh as a body and as simple shapes around it."""
    around_points(read_triangles(path).reshape(-1, 3))
    return dy.inertia_of_mesh(path, density=1000.0)


READERS = {
    row.name: row
    for row in (
        Reader("toml", ".toml", dy.load),
        Reader("urdf", ".urdf", dy.load),
        Reader("sdf", ".sdf", dy.load),
        Reader("mjcf", ".xml", dynamis.interop.from_mjcf),
        Reader("csv", ".csv", dy.read_log),
        Reader("points", ".csv", points),
        Reader("npz", ".npz", dy.read_log),
        Reader("observations", ".csv", dy.calibration.read_observations),
        Reader("sockets", ".csv", sockets),
        Reader("mat", ".mat", dy.read_log),
        Reader("parquet", ".parquet", dy.read_log),
        Reader("mcap", ".mcap", dy.read_log),
        Reader("db3", ".db3", dy.read_log),
        Reader("bag", ".bag", dy.read_log),
        Reader("league", ".league.toml", dataset),
        Reader("axes", ".axes", joint_axes),
        Reader("axes_toml", ".toml", joint_axes),
        Reader("board", ".toml", dy.control.Board.load),
        Reader("world", ".toml", dy.load_world),
        Reader("stl", ".stl", mesh),
        Reader("obj", ".obj", mesh),
    )
}


@cache
def seeds(reader: str) -> list[bytes]:
    """What mutation starts from; findings are not among them, so that a new one changes nothing."""
    return [path.read_bytes() for path in READERS[reader].valid()]
