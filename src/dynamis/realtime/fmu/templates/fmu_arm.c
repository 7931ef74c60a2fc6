static @PLANT@

static void model_begin(model *m)
{
    int i;
    memset(m->x, 0, sizeof m->x);
    for (i = 0; i < @N2@; i++) m->x[i] = m->r[@Q@ + i] = m->r[1 + i];
    for (i = 0; i < @N@; i++) m->x[@DIRECTION@ + i] = (double)((m->x[@N@ + i] > 0.0) - (m->x[@N@ + i] < 0.0));
@IF LOSSES@
    for (i = 0; i < @LOSSES@; i++) m->x[@LOSS@ + i] = 1.0;
@END@
}

static void model_reset(model *m)
{
    memset(m, 0, sizeof *m);
    m->r[@H@] = @DT@;
@IF CLOSED@
@HOME@
@END@
}

/* steps of one length, none longer than h; the torques are held */
static const char *model_step(model *m, double t, double length)
{
    const double steps = fmax(1.0, ceil(length / m->r[@H@] - 1e-9));
    const double h = length / steps;
    double x[STATES], next[STATES], k;
    int i;
    if (t > m->r[0] + SLACK(t)) return "time was left out since the step before";
    if (!(m->r[@H@] > 0.0)) return "h is not a step above zero";
    if (!(steps <= MOST)) return "the step holds too many steps of h";
    memcpy(x, m->x, sizeof x);
@IF CLOSED@
@COMMANDS@
@ELSE@
    memcpy(x + @COMMAND@, m->r + @TAU@, @N@ * sizeof *x);
@END@
    for (k = 0.0; k < steps; k += 1.0) {
        plant_step(x, m->r, &h, next);
        memcpy(x, next, sizeof x);
    }
    for (i = 0; i < STATES; i++) {
        if (!isfinite(x[i])) return "the state is no longer finite: smaller steps, or smaller torques";
    }
    memcpy(m->x, x, sizeof x);
    memcpy(m->r + @Q@, x, @N2@ * sizeof *x);
    return NULL;
}
