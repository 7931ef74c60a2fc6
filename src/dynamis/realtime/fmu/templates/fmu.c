@INTRO@
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN "@TOKEN@"
#define VALUES @VALUES@
#define STATES @STATES@
#define FIXED @FIXED@
#define SETTABLE @SETTABLE@
#define INTEGER @INTEGER@

typedef struct {
    double r[VALUES]; /* by value reference */
    double x[STATES];
    double begin; /* time of the start */
    double count; /* samples so far */
} model;

#define SLACK(t) (1e-9 * (1.0 + fabs(t))) /* how far two sums of the same steps may differ, s */
#define MOST 1e7 /* steps or samples in one communication step */

@MODEL@
@IF FMI3@
typedef void (*LOGGER)(void *, int, const char *, const char *);
#define LOG(u, text) (u)->log((u)->environment, ERROR, "logStatusError", (text))
@ELSE@
typedef void (*LOGGER)(void *, const char *, int, const char *, const char *, ...);
#define LOG(u, text) (u)->log((u)->environment, (u)->name, ERROR, "logStatusError", "%s", (text))
@END@

typedef struct {
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
    model_begin(&u->m);
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
    model_begin(&u->m);
    u->running = 0;
    return OK;
}

static int unit_start(unit *u, double t)
{
    if (!isfinite(t)) return ERROR;
    u->m.begin = t;
    u->m.r[0] = t;
    return OK;
}

static int unit_get(const unit *u, const uint32_t *vr, size_t count, double *values)
{
    size_t i;
    if (count > 0 && (vr == NULL || values == NULL)) return ERROR;
    for (i = 0; i < count; i++) {
        if (vr[i] >= VALUES || (INTEGER != 0 && vr[i] == INTEGER)) return ERROR;
        values[i] = u->m.r[vr[i]];
    }
    return OK;
}

static int unit_get_integer(const unit *u, const uint32_t *vr, size_t count, int32_t *values)
{
    size_t i;
    if (count > 0 && (vr == NULL || values == NULL)) return ERROR;
    for (i = 0; i < count; i++) {
        if (INTEGER == 0 || vr[i] != INTEGER) return ERROR;
        values[i] = (int32_t)u->m.r[vr[i]];
    }
    return OK;
}

static int unit_set(unit *u, const uint32_t *vr, size_t count, const double *values)
{
    size_t i;
    if (count > 0 && (vr == NULL || values == NULL)) return ERROR;
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
    const char *wrong;
    if (!isfinite(t) || !isfinite(length) || length < 0.0) {
        wrong = "time is not a number or runs back";
    } else if (t < u->m.r[0] - SLACK(t)) {
        wrong = "time runs back: set an earlier state first";
    } else {
        wrong = model_step(&u->m, t, length);
    }
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
    saved *s;
    if (state == NULL) return ERROR;
    s = *state != NULL ? *state : calloc(1, sizeof *s);
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

static int unit_size(size_t *size)
{
    if (size == NULL) return ERROR;
    *size = sizeof(saved);
    return OK;
}

static int unit_write(const void *state, unsigned char *bytes, size_t size)
{
    if (state == NULL || bytes == NULL || size < sizeof(saved)) return ERROR;
    memcpy(bytes, state, sizeof(saved));
    return OK;
}

static int unit_read(const unsigned char *bytes, size_t size, void **state)
{
    saved *s;
    if (state == NULL || bytes == NULL || size != sizeof(saved)) return ERROR;
    s = *state != NULL ? *state : calloc(1, sizeof *s);
    if (s == NULL) return ERROR;
    memcpy(s, bytes, sizeof(saved));
    *state = s;
    return OK;
}

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif
#if defined(__GNUC__) /* much of what the standard hands over is of no use to a unit */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

/* a function's declaration and the head of its definition; one that a unit does not do */
#define FUNCTION(T, name, ...) \
    EXPORT T name(__VA_ARGS__); \
    EXPORT T name(__VA_ARGS__)
#define REFUSED(name, ...) \
    FUNCTION(int, name, __VA_ARGS__) { return ERROR; }

FUNCTION(const char *, @FMI@GetVersion, void)
{
    return "@VERSION@";
}

@IF FMI3@
FUNCTION(void *, fmi3InstantiateCoSimulation, const char *name, const char *token, const char *path, bool visible, bool logging, bool events, bool early, const uint32_t *vr, size_t count, void *environment, LOGGER log, void (*update)(void))
{
    unit *u = unit_new(name, token);
    if (u == NULL) return NULL;
    u->log = log;
    u->environment = environment;
    return u;
}

FUNCTION(void *, fmi3InstantiateModelExchange, const char *name, const char *token, const char *path, bool visible, bool logging, void *environment, LOGGER log)
{
    return NULL;
}

FUNCTION(void *, fmi3InstantiateScheduledExecution, const char *name, const char *token, const char *path, bool visible, bool logging, void *environment, LOGGER log, void (*update)(void), void (*lock)(void), void (*unlock)(void))
{
    return NULL;
}

FUNCTION(int, fmi3EnterInitializationMode, unit *u, bool known, double tolerance, double t, bool ends, double end)
{
    return u == NULL ? ERROR : unit_start(u, t);
}

FUNCTION(int, fmi3DoStep, unit *u, double t, double length, bool unused, bool *event, bool *stop, bool *early, double *last)
{
    if (u == NULL || event == NULL || stop == NULL || early == NULL || last == NULL) return ERROR;
    *event = *stop = *early = false;
    *last = u->m.r[0];
    if (unit_step(u, t, length) != OK) return ERROR;
    *last = t + length;
    return OK;
}
@ELSE@
FUNCTION(const char *, fmi2GetTypesPlatform, void)
{
    return "default";
}

typedef struct {
    LOGGER logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} callbacks;

FUNCTION(void *, fmi2Instantiate, const char *name, int type, const char *token, const char *path, const callbacks *calls, int visible, int logging)
{
    unit *u = type == 1 ? unit_new(name, token) : NULL; /* co-simulation */
    if (u == NULL) return NULL;
    if (calls != NULL) {
        u->log = calls->logger;
        u->environment = calls->environment;
    }
    return u;
}

FUNCTION(int, fmi2SetupExperiment, unit *u, int known, double tolerance, double t, int ends, double end)
{
    return u == NULL ? ERROR : unit_start(u, t);
}

FUNCTION(int, fmi2EnterInitializationMode, unit *u)
{
    return u == NULL ? ERROR : OK;
}

FUNCTION(int, fmi2DoStep, unit *u, double t, double length, int unused)
{
    return u == NULL ? ERROR : unit_step(u, t, length);
}
@END@

FUNCTION(void, @FMI@FreeInstance, unit *u)
{
    unit_free(u);
}

FUNCTION(int, @FMI@SetDebugLogging, unit *u, @BOOLEAN@ on, size_t count, const char *const *categories)
{
    return u == NULL ? ERROR : OK;
}

FUNCTION(int, @FMI@ExitInitializationMode, unit *u)
{
    if (u == NULL) return ERROR;
    u->running = 1;
    return OK;
}

FUNCTION(int, @FMI@Terminate, unit *u)
{
    return u == NULL ? ERROR : OK;
}

FUNCTION(int, @FMI@Reset, unit *u)
{
    return u == NULL ? ERROR : unit_reset(u);
}

FUNCTION(int, @FMI@Get@REAL@, unit *u, const uint32_t *vr, size_t count, double *x@SIZE@)
{
    return u == NULL@OR_SIZE@ ? ERROR : unit_get(u, vr, count, x);
}

FUNCTION(int, @FMI@Set@REAL@, unit *u, const uint32_t *vr, size_t count, const double *x@SIZE@)
{
    return u == NULL@OR_SIZE@ ? ERROR : unit_set(u, vr, count, x);
}

FUNCTION(int, @FMI@Get@WHOLE@, unit *u, const uint32_t *vr, size_t count, int32_t *x@SIZE@)
{
    return u == NULL@OR_SIZE@ ? ERROR : unit_get_integer(u, vr, count, x);
}

FUNCTION(int, @FMI@Get@STATE@, unit *u, void **state)
{
    return u == NULL ? ERROR : unit_save(u, state);
}

FUNCTION(int, @FMI@Set@STATE@, unit *u, void *state)
{
    return u == NULL ? ERROR : unit_restore(u, state);
}

FUNCTION(int, @FMI@Free@STATE@, unit *u, void **state)
{
    return u == NULL ? ERROR : unit_release(state);
}

FUNCTION(int, @FMI@Serialized@STATE@Size, unit *u, void *state, size_t *size)
{
    return u == NULL ? ERROR : unit_size(size);
}

FUNCTION(int, @FMI@Serialize@STATE@, unit *u, void *state, @BYTE@ *bytes, size_t size)
{
    return u == NULL ? ERROR : unit_write(state, (unsigned char *)bytes, size);
}

FUNCTION(int, @FMI@@READ@@STATE@, unit *u, const @BYTE@ *bytes, size_t size, void **state)
{
    return u == NULL ? ERROR : unit_read((const unsigned char *)bytes, size, state);
}

/* variables of kinds that a unit has none of, and whole numbers to be set */
#define NO_GET(name, T) REFUSED(name, unit *u, const uint32_t *vr, size_t count, T *x@SIZE@)
#define NO_SET(name, T) NO_GET(name, const T)
NO_GET(@FMI@GetBoolean, @BOOLEAN@)
NO_SET(@FMI@SetBoolean, @BOOLEAN@)
NO_GET(@FMI@GetString, const char *)
NO_SET(@FMI@SetString, char *const)
NO_SET(@FMI@Set@WHOLE@, int32_t)
@IF FMI3@
NO_GET(fmi3GetFloat32, float)
NO_SET(fmi3SetFloat32, float)
NO_GET(fmi3GetInt8, int8_t)
NO_SET(fmi3SetInt8, int8_t)
NO_GET(fmi3GetUInt8, uint8_t)
NO_SET(fmi3SetUInt8, uint8_t)
NO_GET(fmi3GetInt16, int16_t)
NO_SET(fmi3SetInt16, int16_t)
NO_GET(fmi3GetUInt16, uint16_t)
NO_SET(fmi3SetUInt16, uint16_t)
NO_GET(fmi3GetUInt32, uint32_t)
NO_SET(fmi3SetUInt32, uint32_t)
NO_GET(fmi3GetInt64, int64_t)
NO_SET(fmi3SetInt64, int64_t)
NO_GET(fmi3GetUInt64, uint64_t)
NO_SET(fmi3SetUInt64, uint64_t)
REFUSED(fmi3GetBinary, unit *u, const uint32_t *vr, size_t count, size_t *sizes, const uint8_t **x, size_t size)
REFUSED(fmi3SetBinary, unit *u, const uint32_t *vr, size_t count, const size_t *sizes, const uint8_t *const *x, size_t size)
REFUSED(fmi3GetClock, unit *u, const uint32_t *vr, size_t count, bool *x)
REFUSED(fmi3SetClock, unit *u, const uint32_t *vr, size_t count, const bool *x)
REFUSED(fmi3GetNumberOfVariableDependencies, unit *u, uint32_t vr, size_t *count)
REFUSED(fmi3GetVariableDependencies, unit *u, uint32_t vr, size_t *from, uint32_t *on, size_t *at, int *kinds, size_t count)
REFUSED(fmi3GetDirectionalDerivative, unit *u, const uint32_t *of, size_t ofs, const uint32_t *by, size_t bys, const double *seed, size_t seeds, double *x, size_t size)
REFUSED(fmi3GetAdjointDerivative, unit *u, const uint32_t *of, size_t ofs, const uint32_t *by, size_t bys, const double *seed, size_t seeds, double *x, size_t size)
REFUSED(fmi3EnterConfigurationMode, unit *u)
REFUSED(fmi3ExitConfigurationMode, unit *u)
REFUSED(fmi3EnterEventMode, unit *u)
REFUSED(fmi3GetIntervalDecimal, unit *u, const uint32_t *vr, size_t count, double *x, int *kinds)
REFUSED(fmi3GetIntervalFraction, unit *u, const uint32_t *vr, size_t count, uint64_t *x, uint64_t *y, int *kinds)
REFUSED(fmi3GetShiftDecimal, unit *u, const uint32_t *vr, size_t count, double *x)
REFUSED(fmi3GetShiftFraction, unit *u, const uint32_t *vr, size_t count, uint64_t *x, uint64_t *y)
REFUSED(fmi3SetIntervalDecimal, unit *u, const uint32_t *vr, size_t count, const double *x)
REFUSED(fmi3SetIntervalFraction, unit *u, const uint32_t *vr, size_t count, const uint64_t *x, const uint64_t *y)
REFUSED(fmi3SetShiftDecimal, unit *u, const uint32_t *vr, size_t count, const double *x)
REFUSED(fmi3SetShiftFraction, unit *u, const uint32_t *vr, size_t count, const uint64_t *x, const uint64_t *y)
REFUSED(fmi3EvaluateDiscreteStates, unit *u)
REFUSED(fmi3UpdateDiscreteStates, unit *u, bool *update, bool *stop, bool *nominals, bool *values, bool *defined, double *t)
REFUSED(fmi3EnterContinuousTimeMode, unit *u)
REFUSED(fmi3CompletedIntegratorStep, unit *u, bool unused, bool *event, bool *stop)
REFUSED(fmi3SetTime, unit *u, double t)
REFUSED(fmi3SetContinuousStates, unit *u, const double *x, size_t count)
REFUSED(fmi3GetContinuousStateDerivatives, unit *u, double *x, size_t count)
REFUSED(fmi3GetEventIndicators, unit *u, double *x, size_t count)
REFUSED(fmi3GetContinuousStates, unit *u, double *x, size_t count)
REFUSED(fmi3GetNominalsOfContinuousStates, unit *u, double *x, size_t count)
REFUSED(fmi3GetNumberOfEventIndicators, unit *u, size_t *count)
REFUSED(fmi3GetNumberOfContinuousStates, unit *u, size_t *count)
REFUSED(fmi3EnterStepMode, unit *u)
REFUSED(fmi3GetOutputDerivatives, unit *u, const uint32_t *vr, size_t count, const int32_t *orders, double *x, size_t size)
REFUSED(fmi3ActivateModelPartition, unit *u, uint32_t clock, double t)
@ELSE@
REFUSED(fmi2GetDirectionalDerivative, unit *u, const uint32_t *of, size_t ofs, const uint32_t *by, size_t bys, const double *seed, double *x)
REFUSED(fmi2SetRealInputDerivatives, unit *u, const uint32_t *vr, size_t count, const int *orders, const double *x)
REFUSED(fmi2GetRealOutputDerivatives, unit *u, const uint32_t *vr, size_t count, const int *orders, double *x)
REFUSED(fmi2CancelStep, unit *u)
REFUSED(fmi2GetStatus, unit *u, int kind, int *status)
REFUSED(fmi2GetRealStatus, unit *u, int kind, double *x)
REFUSED(fmi2GetIntegerStatus, unit *u, int kind, int *x)
REFUSED(fmi2GetBooleanStatus, unit *u, int kind, int *x)
REFUSED(fmi2GetStringStatus, unit *u, int kind, const char **x)
@END@
