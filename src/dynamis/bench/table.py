"""Figures of a bench run and the table they make."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..files import whole, write

# timing on noisy machines: the best of several rounds, both sides taken in turns


def _round(call: Callable[[], Any], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def calls_for(call: Callable[[], Any], seconds: float) -> int:
    """How many calls fill about that time."""
    call()
    return max(1, min(200_000, int(seconds / max(_round(call, 1), 1e-8))))


def together(*calls: Callable[[], Any], rounds: int = 7, seconds: float = 0.02) -> list[float]:
    """Best time of each call, in seconds, measured round-robin so that noise hits all alike."""
    numbers = [calls_for(call, seconds) for call in calls]
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for k, (call, number) in enumerate(zip(calls, numbers, strict=True)):
            best[k] = min(best[k], _round(call, number))
    return best


@dataclass(frozen=True)
class Figure:
    """One measurement: our time beside a peer's (or a limit), and how far the answers differ."""

    group: str
    what: str
    robot: str
    ours: float  # seconds
    peer: str = ""
    theirs: float | None = None  # seconds
    target: float | None = None  # the ratio to reach, or the seconds not to exceed if no peer
    error: float | None = None  # worst relative difference from long double; each group says

    @property
    def ratio(self) -> float | None:
        """How many times faster we are."""
        return None if self.theirs is None else self.theirs / self.ours

    @property
    def reached(self) -> bool | None:
        """Whether the target was met; None if there is none."""
        if self.target is None:
            return None
        return self.ours <= self.target if self.ratio is None else self.ratio >= self.target


def timed(
    group: str,
    what: str,
    robot: str,
    *calls: Callable[[], Any],
    peer: str = "",
    target: float | None = None,
    error: float | None = None,
    each: int = 1,
    rounds: int = 7,
) -> Figure:
    """The figure of our call, and perhaps a peer's, that does something `each` so many times."""
    ours, *theirs = (t / each for t in together(*calls, rounds=rounds))
    return Figure(group, what, robot, ours, peer, theirs[0] if theirs else None, target, error)


@dataclass(frozen=True)
class BenchTable:
    """Every figure of one run, and the machine it ran on."""

    machine: str
    figures: tuple[Figure, ...]
    growth: dict[str, dict[int, float]]  # kernel -> number of joints -> seconds a call
    slopes: dict[str, float]  # exponent of the growth between the longest chains

    def as_dict(self) -> dict:
        """Everything, for JSON."""
        rows = [asdict(f) | {"ratio": f.ratio, "reached": f.reached} for f in self.figures]
        growth = {name: {str(n): t for n, t in g.items()} for name, g in self.growth.items()}
        return {**vars(self), "figures": rows, "growth": growth}

    def save(self, path: str | Path) -> None:
        """Write as JSON."""
        write(path, json.dumps(self.as_dict(), indent=1) + "\n")


# the table of figures a README shows

SHOWN = (
    ("inverse_dynamics", "inverse dynamics, one call"),
    ("forward_dynamics", "forward dynamics, one call"),
    ("inverse_dynamics_derivatives", "all derivatives of inverse dynamics"),
    ("regressor", "regressor"),
    ("inverse_dynamics x 4096, one thread", "inverse dynamics, batch of 4096, one thread, each"),
)
SIMULATED = "simulation"


def readme_table(found: BenchTable) -> str:
    """Our times and the best-known peers', for the PUMA 560."""
    lines = [
        f"PUMA 560, float64, called from Python, one run on one core ({found.machine}):",
        "",
        "| quantity | dynamis | Pinocchio, or as named | ratio | error |",
        "|---|---|---|---|---|",
    ]
    ours = [f for f in found.figures if f.robot == "puma560" and f.peer.startswith("Pinocchio")]
    for name, title in SHOWN:
        lines += [_row(title, f) for f in ours if f.what == name][:1]
    simulated = [f for f in found.figures if f.group == SIMULATED]
    lines += [_row(f.what, f, f" ({f.peer})") for f in simulated]
    single = [f for f in found.figures if f.what == "inverse_dynamics" and f.peer != "Pinocchio"]
    others = [f for f in single if f.robot == "ur10e"]
    others += [f for f in single if f.peer.startswith("Rob")]
    ratios = {f.peer: f"{f.ratio:.0f}x" for f in others}
    named = ", ".join(f"{peer} {ratio}" for peer, ratio in ratios.items())
    lines += [
        "",
        f"One inverse dynamics, times faster than: {named}. The error is the worst relative",
        "difference from the same program in extended precision; of a simulation, the",
        "largest difference of q after one second (rad) from MuJoCo, a finer step or one",
        "arm alone; of a control cycle, that of the torque in Python.",
    ]
    return "\n".join(lines)


def _row(title: str, figure: Figure, peer: str = "") -> str:
    ours, theirs = (f"{(t or 0.0) * 1e9:.0f} ns" for t in (figure.ours, figure.theirs))
    error = f"{figure.error:.0e}" if figure.error else "0"
    return f"| {title} | {ours} | {theirs}{peer} | {figure.ratio:.1f}x | {error} |"


# the growth of the time of a call with the number of joints, as a picture


def growth_plot(found: BenchTable, path: Path) -> None:
    """Time of one call over the number of joints, with lines of slope one."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for name, times in found.growth.items():
        joints = sorted(times)
        micros = [times[n] * 1e6 for n in joints]
        label = f"{name.replace('_', ' ')}, exponent {found.slopes[name]:.2f} at the end"
        (line,) = axes.loglog(joints, micros, "o-", label=label)
        last = micros[-1] / joints[-1]
        axes.loglog(joints, [last * n for n in joints], ":", color=line.get_color(), lw=1)
    axes.set(xlabel="revolute joints", ylabel="one call, us", title=found.machine)
    axes.set_xticks(joints, [str(n) for n in joints])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    with whole(path) as partial:
        figure.savefig(partial, dpi=120)
    plt.close(figure)
