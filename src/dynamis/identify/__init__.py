"""Identification: from logs of an arm to a physically consistent model of it."""

from typing import TYPE_CHECKING

from ..lazy import callable_package, later

if TYPE_CHECKING:
    from ..excite.design import excite
    from ..excite.excitation import Excitation
    from ..logs.folder import read_logs
    from ..logs.log import Log
    from ..logs.read import read_log
    from .drive_gains import DriveGains, identify_drive_gains
    from .estimate import Estimate, Validation, torque_along
    from .estimators import ESTIMATORS
    from .friction.models import FRICTIONS, FrictionModel
    from .identification import identify
    from .payload import PayloadEstimate, identify_payload
    from .payload_observer import PayloadObserver, PayloadTrack
    from .posterior import Posterior as Posterior
    from .processing import Processing
    from .verdict.diagnose import LogError as LogError
    from .verdict.error_split import ErrorSplit
    from .verdict.verdict import Verdict

__all__ = [
    "ESTIMATORS", "FRICTIONS", "DriveGains", "ErrorSplit", "Estimate", "Excitation",
    "FrictionModel", "Log", "PayloadEstimate", "PayloadObserver", "PayloadTrack", "Processing",
    "Validation", "Verdict", "excite", "identify", "identify_drive_gains", "identify_payload",
    "read_log", "read_logs", "torque_along",
]  # fmt: skip

__getattr__ = later(
    __name__,
    {
        **dict.fromkeys(("DriveGains", "identify_drive_gains"), "drive_gains"),
        **dict.fromkeys(("Estimate", "Validation", "torque_along"), "estimate"),
        "ErrorSplit": "verdict.error_split",
        **dict.fromkeys(("FRICTIONS", "FrictionModel"), "friction.models"),
        **dict.fromkeys(("PayloadEstimate", "identify_payload"), "payload"),
        **dict.fromkeys(("PayloadObserver", "PayloadTrack"), "payload_observer"),
        **{"ESTIMATORS": "estimators", "Processing": "processing", "identify": "identification"},
        **{"LogError": "verdict.diagnose", "Posterior": "posterior", "Verdict": "verdict.verdict"},
        **{"Excitation": ".excite.excitation", "excite": ".excite.design"},
        **{"Log": ".logs.log", "read_log": ".logs.read", "read_logs": ".logs.folder"},
    },
)

callable_package(__name__, "identification", "identify")
