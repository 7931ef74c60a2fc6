"""Agreement of the formulations with each other and with Pinocchio, MuJoCo, Robotics Toolbox."""

from ..lazy import public_dir
from .table import AgreementTable, Row, agreement

__all__ = ["AgreementTable", "Row", "agreement"]
__dir__ = public_dir(__name__)
