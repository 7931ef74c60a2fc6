"""Identification: from logs of an arm to a physically consistent model of it."""

from typing import TYPE_CHECKING

from ..lazy import callable_package, later

if TYPE_CHECKING:
    from ..excite.excitation import Excitation
    from ..excite.excite import excite
    from ..logs.log import Log
    from ..logs.read import read_log
    from .drive_gains import DriveGains, identify_drive_gains
    from .estimate import Estimate
    from .estimators import ESTIMATORS
    from .frictions import FRICTIONS, FrictionModel
    from .identification import identify
    from .payload import PayloadEstimate, identify_payload
    from .processing import Processing
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

__getattr__ = later(
    __name__,
    {
        "DriveGains": "drive_gains",
        "ESTIMATORS": "estimators",
        "Estimate": "estimate",
        "Excitation": ".excite.excitation",
        "FRICTIONS": "frictions",
        "FrictionModel": "frictions",
        "Log": ".logs.log",
        "PayloadEstimate": "payload",
        "Processing": "processing",
        "Validation": "validation",
        "excite": ".excite.excite",
        "identify": "identification",
        "identify_drive_gains": "drive_gains",
        "identify_payload": "payload",
        "read_log": ".logs.read",
    },
)

callable_package(__name__, "identification", "identify")
