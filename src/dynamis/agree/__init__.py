"""Agreement of the formulations with each other and with Pinocchio, MuJoCo, Robotics Toolbox."""

from .table import AgreementTable, Row, agreement

__all__ = ["AgreementTable", "Row", "agreement"]
