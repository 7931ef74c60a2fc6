"""The table of figures a README shows."""

from .table import BenchTable, Figure

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
    for name, title in SHOWN:
        figure = next((f for f in found.figures if _matches(f, name)), None)
        if figure is not None and figure.theirs is not None:
            lines.append(_row(title, figure))
    simulated = [f for f in found.figures if f.group == SIMULATED]
    lines += [_row(f.what, f, f" ({f.peer})") for f in simulated]
    others = [f for f in found.figures if f.what == "inverse_dynamics" and f.robot == "ur10e"]
    others += [
        f for f in found.figures if f.what == "inverse_dynamics" and f.peer.startswith("Rob")
    ]
    ratios = {f.peer: f"{f.ratio:.0f}x" for f in others if f.peer != "Pinocchio"}
    told = ", ".join(f"{peer} {ratio}" for peer, ratio in ratios.items())
    lines += ["", f"One inverse dynamics next to others: {told}. The error is the worst relative"]
    lines.append("difference from the same program in extended precision; of a simulation, the")
    lines.append("largest difference of q after one second (rad) from MuJoCo, a finer step or one")
    lines.append("arm alone; of a control cycle, that of the torque in Python.")
    return "\n".join(lines)


def _row(title: str, figure: Figure, peer: str = "") -> str:
    ours, theirs = (f"{(t or 0.0) * 1e9:.0f} ns" for t in (figure.ours, figure.theirs))
    error = f"{figure.error:.0e}" if figure.error else "0"
    return f"| {title} | {ours} | {theirs}{peer} | {figure.ratio:.1f}x | {error} |"


def _matches(figure: Figure, name: str) -> bool:
    ours = figure.what == name and figure.robot == "puma560"
    return ours and figure.peer.startswith("Pinocchio")
