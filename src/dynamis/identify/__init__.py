"""Identification: from logs of an arm to a physically consistent model of it."""

from ..callable_package import callable_package
from .drive_gains import DriveGains, identify_drive_gains
from .estimate import Estimate
from .estimators import ESTIMATORS
from .excitation import Excitation
from .excite import excite
from .frictions import FRICTIONS, FrictionModel
from .identify import identify
from .log import Log
from .payload import PayloadEstimate, identify_payload
from .processing import Processing
from .read import read_log
from .validation import Validation

__all__ = [
    "ESTIMATORS",
    "FRICTIONS",
    "DriveGains",
    "Estimate",
    "Excitation",
    "FrictionModel",
    "Log",
    "PayloadEstimate",
    "Processing",
    "Validation",
    "excite",
    "identify",
    "identify_drive_gains",
    "identify_payload",
    "read_log",
]

callable_package(__name__, identify)
