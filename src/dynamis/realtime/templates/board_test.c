@INTRO@
#include "@STEM@.h"

#include <stdio.h>

/* @HOW@; then faults, and a new start: tick, counts, latched, index, analog of every sample */
static const uint32_t read[@COUNT@][@WIDE@] = {
@READINGS@
};
/* references or times */
@WANTED@
/* codes, then status, phase, fault, joint */
static const int expected[@COUNT@][@TOLD@] = {
@EXPECTED@
};

int main(void)
{
    @STEM@_state state;
    @STEM@_measurement measurement;
    @STEM@_reference reference;
    @STEM@_output output;
@IF CODES@
@ELSE@
    static const double lowest[@N@] = {@LOWEST@};
    static const double steps[@N@] = {@STEPS@};
@END@
    int i, k, off, status, worst = 0;
    for (k = 0; k < @COUNT@; k++) {
        measurement.tick = read[k][0];
        for (i = 0; i < @N@; i++) {
            measurement.counts[i] = read[k][1 + i];
            measurement.latched[i] = read[k][1 + @N@ + i];
            measurement.index[i] = read[k][1 + @N2@ + i];
            measurement.analog[i] = read[k][1 + @N3@ + i];
        }
@IF INSIDE@
        reference.t = wanted[k][0];
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
        if (k == 0 || k == @RESTART@) @STEM@_init(&state);
        status = @STEM@_step(&state, &measurement, &reference, &output);
        if (status != expected[k][@N@] || output.phase != expected[k][@N@ + 1] || output.fault != expected[k][@N@ + 2]
            || output.joint != expected[k][@N@ + 3]) {
            printf("FAILED: sample %d has status %d, phase %d, fault %d, joint %d\n", k, status, output.phase,
                output.fault, output.joint);
            return 1;
        }
        for (i = 0; i < @N@; i++) {
@IF CODES@
            off = (int)output.codes[i] - expected[k][i];
@ELSE@
            off = (int)((output.volts[i] - lowest[i]) / steps[i] + 0.5) - expected[k][i];
@END@
            if (off < 0) off = -off;
            if (off > worst) worst = off;
        }
    }
    if (worst > @TOLERANCE@) {
        printf("FAILED: codes differ by up to %d\n", worst);
        return 1;
    }
    printf("passed: @COUNT@ samples, codes within %d\n", worst);
    return 0;
}
