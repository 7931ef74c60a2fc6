"""Functions of FMI 3.0 and 2.0 that a unit does: name -> (body, arguments); `u` is the unit."""

from .fmu_absent import VR

COMMON = {
    "Terminate": ("return OK;", ""),
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
        "if (event == NULL || stop == NULL || early == NULL || last == NULL) return ERROR;\n"
        "    *event = *stop = *early = false;\n    *last = u->m.r[0];\n"
        "    if (unit_step(u, t, length) != OK) return ERROR;\n"
        "    *last = t + length;\n    return OK;",
        "unit *u, double t, double length, bool unused, bool *event, bool *stop, bool *early, "
        "double *last",
    ),
    "GetFMUState": ("return unit_save(u, state);", "unit *u, void **state"),
    "SetFMUState": ("return unit_restore(u, state);", "unit *u, void *state"),
    "FreeFMUState": ("return unit_release(state);", "unit *u, void **state"),
    "SerializedFMUStateSize": (
        "return unit_size(size);", "unit *u, void *state, size_t *size"
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
    "EnterInitializationMode": ("return OK;", ""),
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
        "return unit_size(size);", "unit *u, void *state, size_t *size"
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
