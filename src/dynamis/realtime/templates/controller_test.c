@INTRO@
#include "@STEM@.h"

#include <math.h>
#include <stdio.h>

/* @HOW@, @LOOP@ samples; then leaps, bad samples, and a new start: torques and status of the law in Python */
@POSITIONS@
@VELOCITIES@
@WANTED@
@TORQUES@
static const int statuses[@COUNT@] = {@STATUSES@};
/* largest torques of the @LOOP@ samples */
static const double scales[@N@] = {@SCALES@};

static double size(double x)
{
    return x < 0.0 ? -x : x;
}

int main(void)
{
    @STEM@_state state;
    @STEM@_measurement measurement;
    @STEM@_reference reference;
    @T@ torque[@N@];
    double worst = 0.0;
    int i, k, status;
    for (k = 0; k < @COUNT@; k++) {
        for (i = 0; i < @N@; i++) {
            measurement.q[i] = positions[k][i];
            measurement.qd[i] = velocities[k][i];
        }
@IF INSIDE@
        reference.t = (double)wanted[k][0];
@ELSE@
        for (i = 0; i < @N@; i++) {
            reference.q[i] = wanted[k][i];
            reference.qd[i] = wanted[k][@N@ + i];
            reference.qdd[i] = wanted[k][@N2@ + i];
@IF SMOOTH@
            reference.jerk[i] = wanted[k][@N3@ + i];
            reference.snap[i] = wanted[k][@N4@ + i];
@END@
        }
@END@
        if (k == 0 || k == @RESTART@) @STEM@_init(&state, &measurement);
        status = @STEM@_step(&state, &measurement, &reference, torque);
        if (status != statuses[k]) {
            printf("FAILED: status %d at sample %d, expected %d\n", status, k, statuses[k]);
            return 1;
        }
        for (i = 0; i < @N@; i++) {
            const double error = size((double)torque[i] - (double)torques[k][i]);
            const double whole = size((double)torques[k][i]);
            const double share = error / (whole > scales[i] ? whole : scales[i]);
            if (worst == worst && !(share <= worst)) worst = share; /* NaN stays */
        }
    }
    if (!(worst <= @TOLERANCE@)) {
        printf("FAILED: torques differ by %g of the largest\n", worst);
        return 1;
    }
    printf("passed: @COUNT@ samples, torques within %.2e of each joint's largest\n", worst);
    return 0;
}
