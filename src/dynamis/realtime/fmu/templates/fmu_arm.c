static @FORWARD_DYNAMICS@

static void runge_kutta(double x[@N2@], const double tau[@N@], double h)
{
    const double place[4] = {0.0, 0.5, 0.5, 1.0};
    double k[4][@N2@], y[@N2@];
    int i, s;
    for (s = 0; s < 4; s++) {
        for (i = 0; i < @N2@; i++) y[i] = s == 0 ? x[i] : x[i] + place[s] * h * k[s - 1][i];
        for (i = 0; i < @N@; i++) k[s][i] = y[@N@ + i];
        forward_dynamics(y, y + @N@, tau, k[s] + @N@);
    }
    for (i = 0; i < @N2@; i++) {
        x[i] += h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
    }
}

static void model_begin(model *m)
{
    int i;
    for (i = 0; i < @N2@; i++) m->r[@Q@ + i] = m->r[1 + i];
}

static void model_reset(model *m)
{
    memset(m, 0, sizeof *m);
    m->r[@H@] = @DT@;
}

static const char *model_step(model *m, double t, double length)
{
    const double steps = fmax(1.0, ceil(length / m->r[@H@] - 1e-9));
    double x[@N2@], k;
    int i;
    if (t > m->r[0] + SLACK(t)) return "time was left out since the step before";
    if (!(m->r[@H@] > 0.0)) return "h is not a step above zero";
    if (!(steps <= MOST)) return "the step holds too many steps of h";
    memcpy(x, m->r + @Q@, sizeof x);
    for (k = 0.0; k < steps; k += 1.0) runge_kutta(x, m->r + @TAU@, length / steps);
    for (i = 0; i < @N2@; i++) {
        if (!isfinite(x[i])) return "the state is no longer finite: smaller steps, or smaller torques";
    }
    memcpy(m->r + @Q@, x, sizeof x);
    return NULL;
}
