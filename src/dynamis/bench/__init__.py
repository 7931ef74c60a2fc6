"""Speed, measured: ratios against other engines in one run, with agreement beside every figure."""

from .run import bench
from .table import BenchTable, Figure

__all__ = ["BenchTable", "Figure", "bench"]
