"""Benchmarks: time compared with other engines in one run, with the error of every result."""

from .run import bench
from .table import BenchTable, Figure

__all__ = ["BenchTable", "Figure", "bench"]
