typedef void (*LOGGER)(void *, const char *, int, const char *, const char *, ...);
#define LOG(u, text) (u)->log((u)->environment, (u)->name, ERROR, "logStatusError", "%s", (text))

@UNIT@
typedef struct {
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


EXPORT void *fmi2Instantiate(const char *name, int type, const char *token, const char *path, const callbacks *calls, int visible, int logging);
EXPORT void *fmi2Instantiate(const char *name, int type, const char *token, const char *path, const callbacks *calls, int visible, int logging)
{
    unit *u = type == 1 ? unit_new(name, token) : NULL; /* co-simulation */
    (void)path;
    (void)visible;
    (void)logging;
    if (u == NULL) return NULL;
    if (calls != NULL) {
        u->log = calls->logger;
        u->environment = calls->environment;
    }
    return u;
}

EXPORT void fmi2FreeInstance(unit *u);
EXPORT void fmi2FreeInstance(unit *u)
{
    unit_free(u);
}

EXPORT int fmi2Terminate(unit *u);
EXPORT int fmi2Terminate(unit *u)
{
    if (u == NULL) return ERROR;
    return OK;
}

EXPORT int fmi2Reset(unit *u);
EXPORT int fmi2Reset(unit *u)
{
    if (u == NULL) return ERROR;
    return unit_reset(u);
}

EXPORT int fmi2ExitInitializationMode(unit *u);
EXPORT int fmi2ExitInitializationMode(unit *u)
{
    if (u == NULL) return ERROR;
    u->running = 1;
    return OK;
}

EXPORT int fmi2SetDebugLogging(unit *u, int on, size_t count, const char *const *categories);
EXPORT int fmi2SetDebugLogging(unit *u, int on, size_t count, const char *const *categories)
{
    (void)on;
    (void)count;
    (void)categories;
    if (u == NULL) return ERROR;
    return OK;
}

EXPORT int fmi2SetupExperiment(unit *u, int known, double tolerance, double t, int ends, double end);
EXPORT int fmi2SetupExperiment(unit *u, int known, double tolerance, double t, int ends, double end)
{
    (void)known;
    (void)tolerance;
    (void)ends;
    (void)end;
    if (u == NULL) return ERROR;
    return unit_start(u, t);
}

EXPORT int fmi2EnterInitializationMode(unit *u);
EXPORT int fmi2EnterInitializationMode(unit *u)
{
    if (u == NULL) return ERROR;
    return OK;
}

EXPORT int fmi2GetReal(unit *u, const uint32_t *vr, size_t count, double *x);
EXPORT int fmi2GetReal(unit *u, const uint32_t *vr, size_t count, double *x)
{
    if (u == NULL) return ERROR;
    return unit_get(u, vr, count, x);
}

EXPORT int fmi2SetReal(unit *u, const uint32_t *vr, size_t count, const double *x);
EXPORT int fmi2SetReal(unit *u, const uint32_t *vr, size_t count, const double *x)
{
    if (u == NULL) return ERROR;
    return unit_set(u, vr, count, x);
}

EXPORT int fmi2GetInteger(unit *u, const uint32_t *vr, size_t count, int32_t *x);
EXPORT int fmi2GetInteger(unit *u, const uint32_t *vr, size_t count, int32_t *x)
{
    if (u == NULL) return ERROR;
    return unit_get_integer(u, vr, count, x);
}

EXPORT int fmi2DoStep(unit *u, double t, double length, int unused);
EXPORT int fmi2DoStep(unit *u, double t, double length, int unused)
{
    (void)unused;
    if (u == NULL) return ERROR;
    return unit_step(u, t, length);
}

EXPORT int fmi2GetFMUstate(unit *u, void **state);
EXPORT int fmi2GetFMUstate(unit *u, void **state)
{
    if (u == NULL) return ERROR;
    return unit_save(u, state);
}

EXPORT int fmi2SetFMUstate(unit *u, void *state);
EXPORT int fmi2SetFMUstate(unit *u, void *state)
{
    if (u == NULL) return ERROR;
    return unit_restore(u, state);
}

EXPORT int fmi2FreeFMUstate(unit *u, void **state);
EXPORT int fmi2FreeFMUstate(unit *u, void **state)
{
    if (u == NULL) return ERROR;
    return unit_release(state);
}

EXPORT int fmi2SerializedFMUstateSize(unit *u, void *state, size_t *size);
EXPORT int fmi2SerializedFMUstateSize(unit *u, void *state, size_t *size)
{
    (void)state;
    if (u == NULL) return ERROR;
    return unit_size(size);
}

EXPORT int fmi2SerializeFMUstate(unit *u, void *state, char *bytes, size_t size);
EXPORT int fmi2SerializeFMUstate(unit *u, void *state, char *bytes, size_t size)
{
    if (u == NULL) return ERROR;
    return unit_write(state, (unsigned char *)bytes, size);
}

EXPORT int fmi2DeSerializeFMUstate(unit *u, const char *bytes, size_t size, void **state);
EXPORT int fmi2DeSerializeFMUstate(unit *u, const char *bytes, size_t size, void **state)
{
    if (u == NULL) return ERROR;
    return unit_read((const unsigned char *)bytes, size, state);
}

EXPORT int fmi2GetBoolean(unit *u, const uint32_t *a1, size_t a2, int *a3);
EXPORT int fmi2GetBoolean(unit *u, const uint32_t *a1, size_t a2, int *a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi2SetBoolean(unit *u, const uint32_t *a1, size_t a2, const int *a3);
EXPORT int fmi2SetBoolean(unit *u, const uint32_t *a1, size_t a2, const int *a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi2GetString(unit *u, const uint32_t *a1, size_t a2, const char **a3);
EXPORT int fmi2GetString(unit *u, const uint32_t *a1, size_t a2, const char **a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi2SetString(unit *u, const uint32_t *a1, size_t a2, const char *const *a3);
EXPORT int fmi2SetString(unit *u, const uint32_t *a1, size_t a2, const char *const *a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi2SetInteger(unit *u, const uint32_t *a1, size_t a2, const int *a3);
EXPORT int fmi2SetInteger(unit *u, const uint32_t *a1, size_t a2, const int *a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi2GetDirectionalDerivative(unit *u, const uint32_t *a1, size_t a2, const uint32_t *a3, size_t a4, const double *a5, double *a6);
EXPORT int fmi2GetDirectionalDerivative(unit *u, const uint32_t *a1, size_t a2, const uint32_t *a3, size_t a4, const double *a5, double *a6)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    (void)a5;
    (void)a6;
    return ERROR;
}

EXPORT int fmi2SetRealInputDerivatives(unit *u, const uint32_t *a1, size_t a2, const int *a3, const double *a4);
EXPORT int fmi2SetRealInputDerivatives(unit *u, const uint32_t *a1, size_t a2, const int *a3, const double *a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi2GetRealOutputDerivatives(unit *u, const uint32_t *a1, size_t a2, const int *a3, double *a4);
EXPORT int fmi2GetRealOutputDerivatives(unit *u, const uint32_t *a1, size_t a2, const int *a3, double *a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi2CancelStep(unit *u);
EXPORT int fmi2CancelStep(unit *u)
{
    (void)u;
    return ERROR;
}

EXPORT int fmi2GetStatus(unit *u, int a1, int *a2);
EXPORT int fmi2GetStatus(unit *u, int a1, int *a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}

EXPORT int fmi2GetRealStatus(unit *u, int a1, double *a2);
EXPORT int fmi2GetRealStatus(unit *u, int a1, double *a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}

EXPORT int fmi2GetIntegerStatus(unit *u, int a1, int *a2);
EXPORT int fmi2GetIntegerStatus(unit *u, int a1, int *a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}

EXPORT int fmi2GetBooleanStatus(unit *u, int a1, int *a2);
EXPORT int fmi2GetBooleanStatus(unit *u, int a1, int *a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}

EXPORT int fmi2GetStringStatus(unit *u, int a1, const char **a2);
EXPORT int fmi2GetStringStatus(unit *u, int a1, const char **a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}
