@INTRO@
#include "@STEM@.h"

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(__ASSOCIATIVE_MATH__) || defined(_M_FP_FAST)
#error NaN is told from numbers in here, and digits are counted on: no fast math
#endif

@IF LIBM@
#include <math.h>
@END@

@HELPERS@
@SAMPLE@

void @STEM@_init(@STEM@_state *state)
{
@BEGUN@
}

int @STEM@_step(@STEM@_state *state, const @STEM@_measurement *measurement,
    const @STEM@_reference *reference, @STEM@_output *output)
{
    double tick[1];
    double counts[@N@];
    double latched[@N@];
    double index[@N@];
    double analog[@N@];
    double codes[@N@];
    double volts[@N@];
    double told[4];
    double next[@STATES@];
@IF INSIDE@
@ELSE@
    double wanted[@NR@];
@END@
    tick[0] = (double)measurement->tick;
@READ@
@IF INSIDE@
@ELSE@
@WANTED@
@END@
    @STEM@_sample(state->x, tick, counts, latched, index, analog, @IF INSIDE@&reference->t@ELSE@wanted@END@,
        codes, volts, output->q, told, next);
@GIVEN@
@IF CODES@
    (void)volts;
@ELSE@
    (void)codes;
@END@
    output->phase = (int)told[1];
    output->fault = (int)told[2];
    output->joint = (int)told[3];
@KEPT@
    return (int)told[0];
}
