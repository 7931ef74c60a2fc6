static @PLANT@
@IF MOTORS@

@IF LOADED@
static @STATIC@

@END@
static @DEFLECTION@

static const int elastic[@MOTORS@] = {@JOINTS@}; /* joints behind elastic gears */

/* motor less joint position, in units of the joint, of gears that carry the arm at rest at q0 */
static void at_rest(const model *m, double d[@MOTORS@])
{
    double load[@N@] = {0.0};
@IF LOADED@
    static const double still[@N@] = {0.0};
    static_torque(m->r + 1, still, still, load);
@END@
    deflection(load, d);
}
@IF PLAY@

/* whether no teeth start farther apart than backlash and load explain */
static int within_play(const model *m)
{
    static const double play[@MOTORS@] = {@GAPS@};
    double d[@MOTORS@];
    int i;
    at_rest(m, d);
    for (i = 0; i < @MOTORS@; i++) {
        const double most = fmax(play[i], fabs(d[i])) * (1.0 + @TIGHT@) + @TIGHT@;
        if (play[i] > 0.0 && fabs(m->x[@AT_MOTOR@ + i] - m->x[elastic[i]]) > most) return 0;
    }
    return 1;
}
@END@

/* of rigid joints motors move with them */
static void show_motors(model *m)
{
    int i;
    memcpy(m->r + @MOTOR@, m->x, @N@ * sizeof *m->x);
    memcpy(m->r + @MOTOR_RATE@, m->x + @N@, @N@ * sizeof *m->x);
    for (i = 0; i < @MOTORS@; i++) {
        m->r[@MOTOR@ + elastic[i]] = m->x[@AT_MOTOR@ + i];
        m->r[@MOTOR_RATE@ + elastic[i]] = m->x[@AT_RATE@ + i];
    }
}
@END@

static void model_begin(model *m)
{
    int i;
@IF MOTORS@
    double d[@MOTORS@];
@END@
    memset(m->x, 0, sizeof m->x);
    for (i = 0; i < @N2@; i++) m->x[i] = m->r[@Q@ + i] = m->r[1 + i];
    for (i = 0; i < @N@; i++) m->x[@DIRECTION@ + i] = (double)((m->x[@N@ + i] > 0.0) - (m->x[@N@ + i] < 0.0));
@IF LOSSES@
    for (i = 0; i < @LOSSES@; i++) m->x[@LOSS@ + i] = 1.0;
@END@
@IF MOTORS@
    at_rest(m, d);
    for (i = 0; i < @MOTORS@; i++) {
        const double rate = m->x[@N@ + elastic[i]] + m->r[@RATE_OFFSET@ + i];
        m->x[@AT_MOTOR@ + i] = m->x[elastic[i]] + d[i] + m->r[@OFFSET@ + i];
        m->x[@AT_RATE@ + i] = rate;
        m->x[@AT_DIRECTION@ + i] = (double)((rate > 0.0) - (rate < 0.0));
    }
    show_motors(m);
    m->count = 0.0;
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
@IF MOTORS@
    if (!(m->r[@H@] <= @DT@ * (1.0 + 1e-9))) return "h is longer than the step that was chosen for the elastic joints";
@IF PLAY@
    if (m->count == 0.0 && !within_play(m)) return "a motor starts farther from its joint than backlash and load allow";
@END@
@END@
    memcpy(x, m->x, sizeof x);
@IF PASSIVE@
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
@IF MOTORS@
    show_motors(m);
    m->count += steps;
@END@
    return NULL;
}
