"""The growth of the time of a call with the number of joints, as a picture."""

from pathlib import Path

from ..files import whole
from .table import BenchTable


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
