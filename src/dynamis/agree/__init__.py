"""Agreement: our methods against each other, and against Pinocchio, MuJoCo, Robotics Toolbox."""

from .table import AgreementTable, Row, agreement

__all__ = ["AgreementTable", "Row", "agreement"]
