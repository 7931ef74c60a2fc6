@INTRO@
#include "@STEM@.h"

#include <stdio.h>

/* @HOW@, @COUNT@ samples; torques of the law in Python */
@POSITIONS@
@VELOCITIES@
@WANTED@
@TORQUES@
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
    double off[@N@] = {0.0}, most[@N@] = {0.0}, largest = 1e-3, worst = 0.0;
    int i, k;
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
        }
@END@
        if (k == 0) @STEM@_init(&state, &measurement);
        if (@STEM@_step(&state, &measurement, &reference, torque) != @UP@_RUNNING) {
            printf("FAILED: not running at sample %d\n", k);
            return 1;
        }
        for (i = 0; i < @N@; i++) {
            const double error = size((double)torque[i] - (double)torques[k][i]);
            const double whole = size((double)torques[k][i]);
            if (!(error <= off[i])) off[i] = error;
            if (whole > most[i]) most[i] = whole;
            if (whole > largest) largest = whole;
        }
    }
    for (i = 0; i < @N@; i++) { /* a joint that hardly works is measured by the arm */
        const double scale = most[i] > @SMALLEST@ * largest ? most[i] : @SMALLEST@ * largest;
        if (!(off[i] / scale <= worst)) worst = off[i] / scale;
    }
    if (!(worst <= @TOLERANCE@)) {
        printf("FAILED: torques differ by %g of the largest\n", worst);
        return 1;
    }
    printf("passed: @COUNT@ samples, torques within %.2e of each joint's largest\n", worst);
    return 0;
}
