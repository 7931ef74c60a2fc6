typedef void (*LOGGER)(void *, int, const char *, const char *);
#define LOG(u, text) (u)->log((u)->environment, ERROR, "logStatusError", (text))

@UNIT@
EXPORT const char *fmi3GetVersion(void);
EXPORT const char *fmi3GetVersion(void)
{
    return "3.0";
}


EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *path, bool visible, bool logging, bool events, bool early, const uint32_t *vr, size_t count, void *environment, LOGGER log, void (*update)(void));
EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *path, bool visible, bool logging, bool events, bool early, const uint32_t *vr, size_t count, void *environment, LOGGER log, void (*update)(void))
{
    unit *u = unit_new(name, token);
    (void)path;
    (void)visible;
    (void)logging;
    (void)events;
    (void)early;
    (void)vr;
    (void)count;
    (void)update;
    if (u == NULL) return NULL;
    u->log = log;
    u->environment = environment;
    return u;
}

EXPORT void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *path, bool visible, bool logging, void *environment, LOGGER log);
EXPORT void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *path, bool visible, bool logging, void *environment, LOGGER log)
{
    (void)name;
    (void)token;
    (void)path;
    (void)visible;
    (void)logging;
    (void)environment;
    (void)log;
    return NULL;
}

EXPORT void *fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *path, bool visible, bool logging, void *environment, LOGGER log, void (*update)(void), void (*lock)(void), void (*unlock)(void));
EXPORT void *fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *path, bool visible, bool logging, void *environment, LOGGER log, void (*update)(void), void (*lock)(void), void (*unlock)(void))
{
    (void)name;
    (void)token;
    (void)path;
    (void)visible;
    (void)logging;
    (void)environment;
    (void)log;
    (void)update;
    (void)lock;
    (void)unlock;
    return NULL;
}

EXPORT void fmi3FreeInstance(unit *u);
EXPORT void fmi3FreeInstance(unit *u)
{
    unit_free(u);
}

EXPORT int fmi3Terminate(unit *u);
EXPORT int fmi3Terminate(unit *u)
{
    if (u == NULL) return ERROR;
    return OK;
}

EXPORT int fmi3Reset(unit *u);
EXPORT int fmi3Reset(unit *u)
{
    if (u == NULL) return ERROR;
    return unit_reset(u);
}

EXPORT int fmi3ExitInitializationMode(unit *u);
EXPORT int fmi3ExitInitializationMode(unit *u)
{
    if (u == NULL) return ERROR;
    u->running = 1;
    return OK;
}

EXPORT int fmi3SetDebugLogging(unit *u, bool on, size_t count, const char *const *categories);
EXPORT int fmi3SetDebugLogging(unit *u, bool on, size_t count, const char *const *categories)
{
    (void)on;
    (void)count;
    (void)categories;
    if (u == NULL) return ERROR;
    return OK;
}

EXPORT int fmi3EnterInitializationMode(unit *u, bool known, double tolerance, double t, bool ends, double end);
EXPORT int fmi3EnterInitializationMode(unit *u, bool known, double tolerance, double t, bool ends, double end)
{
    (void)known;
    (void)tolerance;
    (void)ends;
    (void)end;
    if (u == NULL) return ERROR;
    return unit_start(u, t);
}

EXPORT int fmi3GetFloat64(unit *u, const uint32_t *vr, size_t count, double *x, size_t size);
EXPORT int fmi3GetFloat64(unit *u, const uint32_t *vr, size_t count, double *x, size_t size)
{
    if (u == NULL) return ERROR;
    return size == count ? unit_get(u, vr, count, x) : ERROR;
}

EXPORT int fmi3SetFloat64(unit *u, const uint32_t *vr, size_t count, const double *x, size_t size);
EXPORT int fmi3SetFloat64(unit *u, const uint32_t *vr, size_t count, const double *x, size_t size)
{
    if (u == NULL) return ERROR;
    return size == count ? unit_set(u, vr, count, x) : ERROR;
}

EXPORT int fmi3GetInt32(unit *u, const uint32_t *vr, size_t count, int32_t *x, size_t size);
EXPORT int fmi3GetInt32(unit *u, const uint32_t *vr, size_t count, int32_t *x, size_t size)
{
    if (u == NULL) return ERROR;
    return size == count ? unit_get_integer(u, vr, count, x) : ERROR;
}

EXPORT int fmi3DoStep(unit *u, double t, double length, bool unused, bool *event, bool *stop, bool *early, double *last);
EXPORT int fmi3DoStep(unit *u, double t, double length, bool unused, bool *event, bool *stop, bool *early, double *last)
{
    (void)unused;
    if (u == NULL) return ERROR;
    if (event == NULL || stop == NULL || early == NULL || last == NULL) return ERROR;
    *event = *stop = *early = false;
    *last = u->m.r[0];
    if (unit_step(u, t, length) != OK) return ERROR;
    *last = t + length;
    return OK;
}

EXPORT int fmi3GetFMUState(unit *u, void **state);
EXPORT int fmi3GetFMUState(unit *u, void **state)
{
    if (u == NULL) return ERROR;
    return unit_save(u, state);
}

EXPORT int fmi3SetFMUState(unit *u, void *state);
EXPORT int fmi3SetFMUState(unit *u, void *state)
{
    if (u == NULL) return ERROR;
    return unit_restore(u, state);
}

EXPORT int fmi3FreeFMUState(unit *u, void **state);
EXPORT int fmi3FreeFMUState(unit *u, void **state)
{
    if (u == NULL) return ERROR;
    return unit_release(state);
}

EXPORT int fmi3SerializedFMUStateSize(unit *u, void *state, size_t *size);
EXPORT int fmi3SerializedFMUStateSize(unit *u, void *state, size_t *size)
{
    (void)state;
    if (u == NULL) return ERROR;
    return unit_size(size);
}

EXPORT int fmi3SerializeFMUState(unit *u, void *state, unsigned char *bytes, size_t size);
EXPORT int fmi3SerializeFMUState(unit *u, void *state, unsigned char *bytes, size_t size)
{
    if (u == NULL) return ERROR;
    return unit_write(state, bytes, size);
}

EXPORT int fmi3DeserializeFMUState(unit *u, const unsigned char *bytes, size_t size, void **state);
EXPORT int fmi3DeserializeFMUState(unit *u, const unsigned char *bytes, size_t size, void **state)
{
    if (u == NULL) return ERROR;
    return unit_read(bytes, size, state);
}

EXPORT int fmi3GetFloat32(unit *u, const uint32_t *a1, size_t a2, float *a3, size_t a4);
EXPORT int fmi3GetFloat32(unit *u, const uint32_t *a1, size_t a2, float *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetBoolean(unit *u, const uint32_t *a1, size_t a2, bool *a3, size_t a4);
EXPORT int fmi3GetBoolean(unit *u, const uint32_t *a1, size_t a2, bool *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetString(unit *u, const uint32_t *a1, size_t a2, const char **a3, size_t a4);
EXPORT int fmi3GetString(unit *u, const uint32_t *a1, size_t a2, const char **a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetInt8(unit *u, const uint32_t *a1, size_t a2, int8_t *a3, size_t a4);
EXPORT int fmi3GetInt8(unit *u, const uint32_t *a1, size_t a2, int8_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetUInt8(unit *u, const uint32_t *a1, size_t a2, uint8_t *a3, size_t a4);
EXPORT int fmi3GetUInt8(unit *u, const uint32_t *a1, size_t a2, uint8_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetInt16(unit *u, const uint32_t *a1, size_t a2, int16_t *a3, size_t a4);
EXPORT int fmi3GetInt16(unit *u, const uint32_t *a1, size_t a2, int16_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetUInt16(unit *u, const uint32_t *a1, size_t a2, uint16_t *a3, size_t a4);
EXPORT int fmi3GetUInt16(unit *u, const uint32_t *a1, size_t a2, uint16_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetInt64(unit *u, const uint32_t *a1, size_t a2, int64_t *a3, size_t a4);
EXPORT int fmi3GetInt64(unit *u, const uint32_t *a1, size_t a2, int64_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetUInt32(unit *u, const uint32_t *a1, size_t a2, uint32_t *a3, size_t a4);
EXPORT int fmi3GetUInt32(unit *u, const uint32_t *a1, size_t a2, uint32_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetUInt64(unit *u, const uint32_t *a1, size_t a2, uint64_t *a3, size_t a4);
EXPORT int fmi3GetUInt64(unit *u, const uint32_t *a1, size_t a2, uint64_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetFloat32(unit *u, const uint32_t *a1, size_t a2, const float *a3, size_t a4);
EXPORT int fmi3SetFloat32(unit *u, const uint32_t *a1, size_t a2, const float *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetBoolean(unit *u, const uint32_t *a1, size_t a2, const bool *a3, size_t a4);
EXPORT int fmi3SetBoolean(unit *u, const uint32_t *a1, size_t a2, const bool *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetInt8(unit *u, const uint32_t *a1, size_t a2, const int8_t *a3, size_t a4);
EXPORT int fmi3SetInt8(unit *u, const uint32_t *a1, size_t a2, const int8_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetUInt8(unit *u, const uint32_t *a1, size_t a2, const uint8_t *a3, size_t a4);
EXPORT int fmi3SetUInt8(unit *u, const uint32_t *a1, size_t a2, const uint8_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetInt16(unit *u, const uint32_t *a1, size_t a2, const int16_t *a3, size_t a4);
EXPORT int fmi3SetInt16(unit *u, const uint32_t *a1, size_t a2, const int16_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetUInt16(unit *u, const uint32_t *a1, size_t a2, const uint16_t *a3, size_t a4);
EXPORT int fmi3SetUInt16(unit *u, const uint32_t *a1, size_t a2, const uint16_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetInt64(unit *u, const uint32_t *a1, size_t a2, const int64_t *a3, size_t a4);
EXPORT int fmi3SetInt64(unit *u, const uint32_t *a1, size_t a2, const int64_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetUInt32(unit *u, const uint32_t *a1, size_t a2, const uint32_t *a3, size_t a4);
EXPORT int fmi3SetUInt32(unit *u, const uint32_t *a1, size_t a2, const uint32_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetUInt64(unit *u, const uint32_t *a1, size_t a2, const uint64_t *a3, size_t a4);
EXPORT int fmi3SetUInt64(unit *u, const uint32_t *a1, size_t a2, const uint64_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetString(unit *u, const uint32_t *a1, size_t a2, const char *const *a3, size_t a4);
EXPORT int fmi3SetString(unit *u, const uint32_t *a1, size_t a2, const char *const *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetInt32(unit *u, const uint32_t *a1, size_t a2, const int32_t *a3, size_t a4);
EXPORT int fmi3SetInt32(unit *u, const uint32_t *a1, size_t a2, const int32_t *a3, size_t a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetBinary(unit *u, const uint32_t *a1, size_t a2, size_t *a3, const uint8_t **a4, size_t a5);
EXPORT int fmi3GetBinary(unit *u, const uint32_t *a1, size_t a2, size_t *a3, const uint8_t **a4, size_t a5)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    (void)a5;
    return ERROR;
}

EXPORT int fmi3SetBinary(unit *u, const uint32_t *a1, size_t a2, const size_t *a3, const uint8_t *const *a4, size_t a5);
EXPORT int fmi3SetBinary(unit *u, const uint32_t *a1, size_t a2, const size_t *a3, const uint8_t *const *a4, size_t a5)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    (void)a5;
    return ERROR;
}

EXPORT int fmi3GetClock(unit *u, const uint32_t *a1, size_t a2, bool *a3);
EXPORT int fmi3GetClock(unit *u, const uint32_t *a1, size_t a2, bool *a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi3SetClock(unit *u, const uint32_t *a1, size_t a2, const bool *a3);
EXPORT int fmi3SetClock(unit *u, const uint32_t *a1, size_t a2, const bool *a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi3GetNumberOfVariableDependencies(unit *u, uint32_t a1, size_t *a2);
EXPORT int fmi3GetNumberOfVariableDependencies(unit *u, uint32_t a1, size_t *a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}

EXPORT int fmi3GetVariableDependencies(unit *u, uint32_t a1, size_t *a2, uint32_t *a3, size_t *a4, int *a5, size_t a6);
EXPORT int fmi3GetVariableDependencies(unit *u, uint32_t a1, size_t *a2, uint32_t *a3, size_t *a4, int *a5, size_t a6)
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

EXPORT int fmi3GetDirectionalDerivative(unit *u, const uint32_t *a1, size_t a2, const uint32_t *a3, size_t a4, const double *a5, size_t a6, double *a7, size_t a8);
EXPORT int fmi3GetDirectionalDerivative(unit *u, const uint32_t *a1, size_t a2, const uint32_t *a3, size_t a4, const double *a5, size_t a6, double *a7, size_t a8)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    (void)a5;
    (void)a6;
    (void)a7;
    (void)a8;
    return ERROR;
}

EXPORT int fmi3GetAdjointDerivative(unit *u, const uint32_t *a1, size_t a2, const uint32_t *a3, size_t a4, const double *a5, size_t a6, double *a7, size_t a8);
EXPORT int fmi3GetAdjointDerivative(unit *u, const uint32_t *a1, size_t a2, const uint32_t *a3, size_t a4, const double *a5, size_t a6, double *a7, size_t a8)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    (void)a5;
    (void)a6;
    (void)a7;
    (void)a8;
    return ERROR;
}

EXPORT int fmi3EnterConfigurationMode(unit *u);
EXPORT int fmi3EnterConfigurationMode(unit *u)
{
    (void)u;
    return ERROR;
}

EXPORT int fmi3ExitConfigurationMode(unit *u);
EXPORT int fmi3ExitConfigurationMode(unit *u)
{
    (void)u;
    return ERROR;
}

EXPORT int fmi3EnterEventMode(unit *u);
EXPORT int fmi3EnterEventMode(unit *u)
{
    (void)u;
    return ERROR;
}

EXPORT int fmi3GetIntervalDecimal(unit *u, const uint32_t *a1, size_t a2, double *a3, int *a4);
EXPORT int fmi3GetIntervalDecimal(unit *u, const uint32_t *a1, size_t a2, double *a3, int *a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3GetIntervalFraction(unit *u, const uint32_t *a1, size_t a2, uint64_t *a3, uint64_t *a4, int *a5);
EXPORT int fmi3GetIntervalFraction(unit *u, const uint32_t *a1, size_t a2, uint64_t *a3, uint64_t *a4, int *a5)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    (void)a5;
    return ERROR;
}

EXPORT int fmi3GetShiftDecimal(unit *u, const uint32_t *a1, size_t a2, double *a3);
EXPORT int fmi3GetShiftDecimal(unit *u, const uint32_t *a1, size_t a2, double *a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi3GetShiftFraction(unit *u, const uint32_t *a1, size_t a2, uint64_t *a3, uint64_t *a4);
EXPORT int fmi3GetShiftFraction(unit *u, const uint32_t *a1, size_t a2, uint64_t *a3, uint64_t *a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetIntervalDecimal(unit *u, const uint32_t *a1, size_t a2, const double *a3);
EXPORT int fmi3SetIntervalDecimal(unit *u, const uint32_t *a1, size_t a2, const double *a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi3SetIntervalFraction(unit *u, const uint32_t *a1, size_t a2, const uint64_t *a3, const uint64_t *a4);
EXPORT int fmi3SetIntervalFraction(unit *u, const uint32_t *a1, size_t a2, const uint64_t *a3, const uint64_t *a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3SetShiftDecimal(unit *u, const uint32_t *a1, size_t a2, const double *a3);
EXPORT int fmi3SetShiftDecimal(unit *u, const uint32_t *a1, size_t a2, const double *a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi3SetShiftFraction(unit *u, const uint32_t *a1, size_t a2, const uint64_t *a3, const uint64_t *a4);
EXPORT int fmi3SetShiftFraction(unit *u, const uint32_t *a1, size_t a2, const uint64_t *a3, const uint64_t *a4)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    return ERROR;
}

EXPORT int fmi3EvaluateDiscreteStates(unit *u);
EXPORT int fmi3EvaluateDiscreteStates(unit *u)
{
    (void)u;
    return ERROR;
}

EXPORT int fmi3UpdateDiscreteStates(unit *u, bool *a1, bool *a2, bool *a3, bool *a4, bool *a5, double *a6);
EXPORT int fmi3UpdateDiscreteStates(unit *u, bool *a1, bool *a2, bool *a3, bool *a4, bool *a5, double *a6)
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

EXPORT int fmi3EnterContinuousTimeMode(unit *u);
EXPORT int fmi3EnterContinuousTimeMode(unit *u)
{
    (void)u;
    return ERROR;
}

EXPORT int fmi3CompletedIntegratorStep(unit *u, bool a1, bool *a2, bool *a3);
EXPORT int fmi3CompletedIntegratorStep(unit *u, bool a1, bool *a2, bool *a3)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    return ERROR;
}

EXPORT int fmi3SetTime(unit *u, double a1);
EXPORT int fmi3SetTime(unit *u, double a1)
{
    (void)u;
    (void)a1;
    return ERROR;
}

EXPORT int fmi3SetContinuousStates(unit *u, const double *a1, size_t a2);
EXPORT int fmi3SetContinuousStates(unit *u, const double *a1, size_t a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}

EXPORT int fmi3GetContinuousStateDerivatives(unit *u, double *a1, size_t a2);
EXPORT int fmi3GetContinuousStateDerivatives(unit *u, double *a1, size_t a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}

EXPORT int fmi3GetEventIndicators(unit *u, double *a1, size_t a2);
EXPORT int fmi3GetEventIndicators(unit *u, double *a1, size_t a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}

EXPORT int fmi3GetContinuousStates(unit *u, double *a1, size_t a2);
EXPORT int fmi3GetContinuousStates(unit *u, double *a1, size_t a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}

EXPORT int fmi3GetNominalsOfContinuousStates(unit *u, double *a1, size_t a2);
EXPORT int fmi3GetNominalsOfContinuousStates(unit *u, double *a1, size_t a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}

EXPORT int fmi3GetNumberOfEventIndicators(unit *u, size_t *a1);
EXPORT int fmi3GetNumberOfEventIndicators(unit *u, size_t *a1)
{
    (void)u;
    (void)a1;
    return ERROR;
}

EXPORT int fmi3GetNumberOfContinuousStates(unit *u, size_t *a1);
EXPORT int fmi3GetNumberOfContinuousStates(unit *u, size_t *a1)
{
    (void)u;
    (void)a1;
    return ERROR;
}

EXPORT int fmi3EnterStepMode(unit *u);
EXPORT int fmi3EnterStepMode(unit *u)
{
    (void)u;
    return ERROR;
}

EXPORT int fmi3GetOutputDerivatives(unit *u, const uint32_t *a1, size_t a2, const int32_t *a3, double *a4, size_t a5);
EXPORT int fmi3GetOutputDerivatives(unit *u, const uint32_t *a1, size_t a2, const int32_t *a3, double *a4, size_t a5)
{
    (void)u;
    (void)a1;
    (void)a2;
    (void)a3;
    (void)a4;
    (void)a5;
    return ERROR;
}

EXPORT int fmi3ActivateModelPartition(unit *u, uint32_t a1, double a2);
EXPORT int fmi3ActivateModelPartition(unit *u, uint32_t a1, double a2)
{
    (void)u;
    (void)a1;
    (void)a2;
    return ERROR;
}
