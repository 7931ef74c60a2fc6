"""The C of the Functional Mock-up Interface around a model: FMI 3.0 and 2.0, co-simulation.

What stands before it must define VALUES, STATES, FIXED, SETTABLE, TOKEN and

    model_reset(m), model_begin(m), model_step(m, t, length) -> NULL or what went wrong

A value reference is an index into m->r: 0 is time, then FIXED parameters, inputs up to SETTABLE,
outputs. Types are declared here: no header of the standard is needed.
"""

MODEL = """typedef struct {
    double r[VALUES]; /* by value reference */
    double x[STATES];
    double begin; /* time of the start */
    double count; /* samples so far */
} model;
"""

SHARED = """typedef struct {
    model m;
    int running;
    LOGGER log;
    void *environment;
    char *name;
} unit;

enum { OK = 0, ERROR = 3 };

static unit *unit_new(const char *name, const char *token)
{
    unit *u;
    if (token == NULL || strcmp(token, TOKEN) != 0) return NULL;
    u = calloc(1, sizeof *u);
    if (u == NULL) return NULL;
    u->name = calloc(name == NULL ? 1 : strlen(name) + 1, 1);
    if (u->name == NULL) {
        free(u);
        return NULL;
    }
    if (name != NULL) strcpy(u->name, name);
    model_reset(&u->m);
    return u;
}

static void unit_free(unit *u)
{
    if (u == NULL) return;
    free(u->name);
    free(u);
}

static int unit_reset(unit *u)
{
    model_reset(&u->m);
    u->running = 0;
    return OK;
}

static int unit_start(unit *u, double t)
{
    u->m.begin = t;
    u->m.r[0] = t;
    return OK;
}

static int unit_get(const unit *u, const uint32_t *vr, size_t count, double *values)
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (vr[i] >= VALUES) return ERROR;
        values[i] = u->m.r[vr[i]];
    }
    return OK;
}

static int unit_get_integer(const unit *u, const uint32_t *vr, size_t count, int32_t *values)
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (vr[i] >= VALUES) return ERROR;
        values[i] = (int32_t)u->m.r[vr[i]];
    }
    return OK;
}

static int unit_set(unit *u, const uint32_t *vr, size_t count, const double *values)
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (vr[i] < 1 || vr[i] > SETTABLE) return ERROR;
        if (u->running && vr[i] <= FIXED) return ERROR; /* parameters are fixed by then */
        u->m.r[vr[i]] = values[i];
    }
    if (!u->running) model_begin(&u->m);
    return OK;
}

static int unit_step(unit *u, double t, double length)
{
    const char *wrong = model_step(&u->m, t, length);
    if (wrong != NULL) {
        if (u->log != NULL) LOG(u, wrong);
        return ERROR;
    }
    u->m.r[0] = t + length;
    return OK;
}

typedef struct {
    model m;
    int running;
} saved;

static int unit_save(const unit *u, void **state)
{
    saved *s = *state != NULL ? *state : calloc(1, sizeof *s);
    if (s == NULL) return ERROR;
    s->m = u->m;
    s->running = u->running;
    *state = s;
    return OK;
}

static int unit_restore(unit *u, const saved *s)
{
    if (s == NULL) return ERROR;
    u->m = s->m;
    u->running = s->running;
    return OK;
}

static int unit_release(void **state)
{
    if (state != NULL) {
        free(*state);
        *state = NULL;
    }
    return OK;
}

static int unit_write(const void *state, unsigned char *bytes, size_t size)
{
    if (state == NULL || size < sizeof(saved)) return ERROR;
    memcpy(bytes, state, sizeof(saved));
    return OK;
}

static int unit_read(const unsigned char *bytes, size_t size, void **state)
{
    saved *s;
    if (size != sizeof(saved)) return ERROR;
    s = *state != NULL ? *state : calloc(1, sizeof *s);
    if (s == NULL) return ERROR;
    memcpy(s, bytes, sizeof(saved));
    *state = s;
    return OK;
}
"""

EXPORT = """#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif
"""

VR = "const uint32_t *"

# function -> (body, arguments): `u` is the unit
COMMON = {
    "Terminate": ("return u != NULL ? OK : ERROR;", ""),
    "Reset": ("return unit_reset(u);", ""),
    "ExitInitializationMode": ("u->running = 1; return OK;", ""),
}

FMI3 = {
    **COMMON,
    "SetDebugLogging": (
        "return OK;", "unit *u, bool on, size_t count, const char *const *categories"
    ),
    "EnterInitializationMode": (
        "return unit_start(u, t);",
        "unit *u, bool known, double tolerance, double t, bool ends, double end",
    ),
    "GetFloat64": (
        "return size == count ? unit_get(u, vr, count, x) : ERROR;",
        f"unit *u, {VR}vr, size_t count, double *x, size_t size",
    ),
    "SetFloat64": (
        "return size == count ? unit_set(u, vr, count, x) : ERROR;",
        f"unit *u, {VR}vr, size_t count, const double *x, size_t size",
    ),
    "GetInt32": (
        "return size == count ? unit_get_integer(u, vr, count, x) : ERROR;",
        f"unit *u, {VR}vr, size_t count, int32_t *x, size_t size",
    ),
    "DoStep": (
        "*event = *stop = *early = false; *last = u->m.r[0];\n"
        "    if (unit_step(u, t, length) != OK) return ERROR;\n"
        "    *last = t + length;\n    return OK;",
        "unit *u, double t, double length, bool unused, bool *event, bool *stop, bool *early, "
        "double *last",
    ),
    "GetFMUState": ("return unit_save(u, state);", "unit *u, void **state"),
    "SetFMUState": ("return unit_restore(u, state);", "unit *u, void *state"),
    "FreeFMUState": ("return unit_release(state);", "unit *u, void **state"),
    "SerializedFMUStateSize": (
        "*size = sizeof(saved); return OK;", "unit *u, void *state, size_t *size"
    ),
    "SerializeFMUState": (
        "return unit_write(state, bytes, size);",
        "unit *u, void *state, unsigned char *bytes, size_t size",
    ),
    "DeserializeFMUState": (
        "return unit_read(bytes, size, state);",
        "unit *u, const unsigned char *bytes, size_t size, void **state",
    ),
}  # fmt: skip

FMI2 = {
    **COMMON,
    "SetDebugLogging": (
        "return OK;", "unit *u, int on, size_t count, const char *const *categories"
    ),
    "SetupExperiment": (
        "return unit_start(u, t);",
        "unit *u, int known, double tolerance, double t, int ends, double end",
    ),
    "EnterInitializationMode": ("return u != NULL ? OK : ERROR;", ""),
    "GetReal": ("return unit_get(u, vr, count, x);", f"unit *u, {VR}vr, size_t count, double *x"),
    "SetReal": (
        "return unit_set(u, vr, count, x);", f"unit *u, {VR}vr, size_t count, const double *x"
    ),
    "GetInteger": (
        "return unit_get_integer(u, vr, count, x);",
        f"unit *u, {VR}vr, size_t count, int32_t *x",
    ),
    "DoStep": (
        "return unit_step(u, t, length);", "unit *u, double t, double length, int unused"
    ),
    "GetFMUstate": ("return unit_save(u, state);", "unit *u, void **state"),
    "SetFMUstate": ("return unit_restore(u, state);", "unit *u, void *state"),
    "FreeFMUstate": ("return unit_release(state);", "unit *u, void **state"),
    "SerializedFMUstateSize": (
        "*size = sizeof(saved); return OK;", "unit *u, void *state, size_t *size"
    ),
    "SerializeFMUstate": (
        "return unit_write(state, (unsigned char *)bytes, size);",
        "unit *u, void *state, char *bytes, size_t size",
    ),
    "DeSerializeFMUstate": (
        "return unit_read((const unsigned char *)bytes, size, state);",
        "unit *u, const char *bytes, size_t size, void **state",
    ),
}  # fmt: skip

# what the standard wants to find and this unit does not do: types of the arguments
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

HEAD = {
    "3.0": """typedef void (*LOGGER)(void *, int, const char *, const char *);
#define LOG(u, text) (u)->log((u)->environment, ERROR, "logStatusError", (text))
""",
    "2.0": """typedef void (*LOGGER)(void *, const char *, int, const char *, const char *, ...);
#define LOG(u, text) (u)->log((u)->environment, (u)->name, ERROR, "logStatusError", "%s", (text))
""",
}

MAKE = {
    "3.0": """EXPORT const char *fmi3GetVersion(void);
EXPORT const char *fmi3GetVersion(void)
{
    return "3.0";
}

""",
    "2.0": """typedef struct {
    LOGGER logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} callbacks;

EXPORT const char *fmi2GetVersion(void);
EXPORT const char *fmi2GetVersion(void)
{
    return "2.0";
}

EXPORT const char *fmi2GetTypesPlatform(void);
EXPORT const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

""",
}
_NAMES = "const char *name, const char *token, const char *path"
CREATE = {
    "3.0": {
        "fmi3InstantiateCoSimulation": (
            "unit *u = unit_new(name, token);\n"
            "    if (u == NULL) return NULL;\n"
            "    u->log = log;\n    u->environment = environment;\n    return u;",
            f"{_NAMES}, bool visible, bool logging, bool events, bool early, {VR}vr, size_t count, "
            "void *environment, LOGGER log, void (*update)(void)",
        ),
        "fmi3InstantiateModelExchange": (
            "return NULL;",
            f"{_NAMES}, bool visible, bool logging, void *environment, LOGGER log",
        ),
        "fmi3InstantiateScheduledExecution": (
            "return NULL;",
            f"{_NAMES}, bool visible, bool logging, void *environment, LOGGER log, "
            "void (*update)(void), void (*lock)(void), void (*unlock)(void)",
        ),
    },
    "2.0": {
        "fmi2Instantiate": (
            "unit *u = type == 1 ? unit_new(name, token) : NULL; /* co-simulation */\n"
            "    if (u == NULL) return NULL;\n"
            "    if (calls != NULL) {\n        u->log = calls->logger;\n"
            "        u->environment = calls->environment;\n    }\n    return u;",
            "const char *name, int type, const char *token, const char *path, "
            "const callbacks *calls, int visible, int logging",
        ),
    },
}


def interface(fmi: str) -> str:
    """All functions of the standard, around `model_step`."""
    prefix = f"fmi{fmi[0]}"
    done, absent = (FMI3, ABSENT3) if fmi == "3.0" else (FMI2, ABSENT2)
    parts = [HEAD[fmi], SHARED, EXPORT, MAKE[fmi]]
    for name, (body, arguments) in CREATE[fmi].items():
        parts.append(_function("void *", name, arguments, body))
    parts.append(_function("void ", f"{prefix}FreeInstance", "unit *u", "unit_free(u);"))
    for name, (body, arguments) in done.items():
        parts.append(_function("int ", f"{prefix}{name}", arguments or "unit *u", body))
    for name, types in absent.items():
        listed = ["unit *u", *(t for t in types.split(", ") if t)]
        named = [t if k == 0 else f"{t} a{k}".replace("* a", "*a") for k, t in enumerate(listed)]
        parts.append(_function("int ", f"{prefix}{name}", ", ".join(named), "return ERROR;"))
    return "\n".join(parts)


def _function(result: str, name: str, arguments: str, body: str) -> str:
    """A function that says which of its arguments it does not use."""
    names = [_name(a) for a in arguments.split(", ")]
    words = set(body.replace("(", " ").replace(")", " ").replace("*", " ").replace("-", " ")
                .replace(";", " ").replace(",", " ").split())  # fmt: skip
    unused = "".join(f"    (void){n};\n" for n in names if n not in words)
    head = f"EXPORT {result}{name}({arguments})"
    lines = body.replace("; return", ";\n    return")
    return f"{head};\n{head}\n{{\n{_ordered(unused, lines)}}}\n"


def _ordered(unused: str, body: str) -> str:
    """Declarations first, as C of any age wants them."""
    first, _, rest = body.partition("\n")
    if first.startswith("unit *u ="):
        return f"    {first}\n{unused}{rest}\n"
    return f"{unused}    {body}\n"


def _name(argument: str) -> str:
    if "(*" in argument:
        return argument.partition("(*")[2].partition(")")[0]
    return argument.replace("*", " ").split()[-1]
