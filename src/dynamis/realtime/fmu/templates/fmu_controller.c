@START@

static @SAMPLE@

#define SAMPLE_TIME @SAMPLE_TIME@

static void model_begin(model *m)
{
    (void)m;
}

static void model_reset(model *m)
{
    memset(m, 0, sizeof *m);
@IF CLOSED@
@HOME@
@END@
}

/* samples at whole multiples of the sample time, of which the step's start belongs to it */
static const char *model_step(model *m, double t, double length)
{
    const double end = t + length - m->begin;
    double next[@STATES@], now;
    if (!(end / SAMPLE_TIME - m->count <= MOST)) return "too many samples since the step before";
    for (now = m->count * SAMPLE_TIME; now < end - 1e-9 * SAMPLE_TIME; now = m->count * SAMPLE_TIME) {
        if (m->count < 1.0) law_start(m->r + @Q@, m->r + @QD@, m->x);
        law_sample(m->x, m->r + @Q@, m->r + @QD@, @IF INSIDE@&now@ELSE@m->r + @WANTED@@END@, m->r + @TAU@, next, m->r + @STATUS@);
        memcpy(m->x, next, sizeof next);
        m->count += 1.0;
    }
    return NULL;
}
