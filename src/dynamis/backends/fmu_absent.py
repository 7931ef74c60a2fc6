"""Functions that FMI 3.0 and 2.0 want to find and a unit of ours does not do: they return ERROR.

Name -> types of the arguments after the unit.
"""

VR = "const uint32_t *"
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int64", "uint32", "uint64")
_TYPES3 = {
    "Float32": "float ", "Boolean": "bool ", "String": "const char *",
    **{name.replace("int", "Int").replace("uI", "UI"): f"{name}_t " for name in _INTEGERS},
}  # fmt: skip
_VRS = f"{VR}, size_t"
ABSENT3 = {
    **{f"Get{k}": f"{_VRS}, {t}*, size_t" for k, t in _TYPES3.items()},
    **{f"Set{k}": f"{_VRS}, const {t}*, size_t" for k, t in _TYPES3.items() if k != "String"},
    "SetString": f"{_VRS}, const char *const *, size_t",
    "SetInt32": f"{_VRS}, const int32_t *, size_t",
    "GetBinary": f"{_VRS}, size_t *, const uint8_t **, size_t",
    "SetBinary": f"{_VRS}, const size_t *, const uint8_t *const *, size_t",
    "GetClock": f"{_VRS}, bool *", "SetClock": f"{_VRS}, const bool *",
    "GetNumberOfVariableDependencies": "uint32_t, size_t *",
    "GetVariableDependencies": "uint32_t, size_t *, uint32_t *, size_t *, int *, size_t",
    "GetDirectionalDerivative": f"{_VRS}, {_VRS}, const double *, size_t, double *, size_t",
    "GetAdjointDerivative": f"{_VRS}, {_VRS}, const double *, size_t, double *, size_t",
    "EnterConfigurationMode": "", "ExitConfigurationMode": "", "EnterEventMode": "",
    "GetIntervalDecimal": f"{_VRS}, double *, int *",
    "GetIntervalFraction": f"{_VRS}, uint64_t *, uint64_t *, int *",
    "GetShiftDecimal": f"{_VRS}, double *",
    "GetShiftFraction": f"{_VRS}, uint64_t *, uint64_t *",
    "SetIntervalDecimal": f"{_VRS}, const double *",
    "SetIntervalFraction": f"{_VRS}, const uint64_t *, const uint64_t *",
    "SetShiftDecimal": f"{_VRS}, const double *",
    "SetShiftFraction": f"{_VRS}, const uint64_t *, const uint64_t *",
    "EvaluateDiscreteStates": "",
    "UpdateDiscreteStates": "bool *, bool *, bool *, bool *, bool *, double *",
    "EnterContinuousTimeMode": "", "CompletedIntegratorStep": "bool, bool *, bool *",
    "SetTime": "double", "SetContinuousStates": "const double *, size_t",
    "GetContinuousStateDerivatives": "double *, size_t",
    "GetEventIndicators": "double *, size_t", "GetContinuousStates": "double *, size_t",
    "GetNominalsOfContinuousStates": "double *, size_t",
    "GetNumberOfEventIndicators": "size_t *", "GetNumberOfContinuousStates": "size_t *",
    "EnterStepMode": "", "GetOutputDerivatives": f"{_VRS}, const int32_t *, double *, size_t",
    "ActivateModelPartition": "uint32_t, double",
}  # fmt: skip
ABSENT2 = {
    "GetBoolean": f"{_VRS}, int *", "SetBoolean": f"{_VRS}, const int *",
    "GetString": f"{_VRS}, const char **", "SetString": f"{_VRS}, const char *const *",
    "SetInteger": f"{_VRS}, const int *",
    "GetDirectionalDerivative": f"{_VRS}, {_VRS}, const double *, double *",
    "SetRealInputDerivatives": f"{_VRS}, const int *, const double *",
    "GetRealOutputDerivatives": f"{_VRS}, const int *, double *",
    "CancelStep": "", "GetStatus": "int, int *", "GetRealStatus": "int, double *",
    "GetIntegerStatus": "int, int *", "GetBooleanStatus": "int, int *",
    "GetStringStatus": "int, const char **",
}  # fmt: skip
