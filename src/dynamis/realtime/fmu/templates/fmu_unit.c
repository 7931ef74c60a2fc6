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
