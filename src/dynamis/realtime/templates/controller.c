@INTRO@
#include "@STEM@.h"

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(__ASSOCIATIVE_MATH__) || defined(_M_FP_FAST)
#error NaN is told from numbers in here, and digits are counted on: no fast math
#endif

#include <stdint.h>
@IF LIBM@
#include <math.h>
@END@

@HELPERS@
@START@

@SAMPLE@

@IF SHORT_TIME@
/* NaN and absurd times stay NaN, times below zero are zero */
static float @STEM@_time(double t)
{
    union { double f; uint64_t u; } time, other;
    union { float f; uint32_t u; } shorter;
    uint64_t mask = (uint64_t)0 - (uint64_t)((t > 0.0) & (t < @LONGEST@));
    uint32_t absurd = (uint32_t)((t > -@LONGEST@) & (t < @LONGEST@)) - 1u;
    DY_HIDE(mask);
    DY_HIDE(absurd);
    time.f = t;
    time.u &= mask;
@IF ENDLESS@
    other.f = time.f / @PERIOD@ + 4503599627370496.0 - 4503599627370496.0;
    mask = (uint64_t)0 - (uint64_t)(other.f > time.f / @PERIOD@);
    DY_HIDE(mask);
    time.f -= @PERIOD@ * other.f; /* it repeats */
    other.f = @PERIOD@;
    other.u &= mask;
    time.f += other.f;
@ELSE@
    other.f = @END_TIME@; /* it rests there */
    mask = (uint64_t)0 - (uint64_t)(time.f > other.f);
    DY_HIDE(mask);
    time.u = (other.u & mask) | (time.u & ~mask);
@END@
    shorter.f = (float)time.f;
    shorter.u |= 0x7fc00000u & absurd;
    return shorter.f;
}

@END@
void @STEM@_init(@STEM@_state *state, const @STEM@_measurement *measurement)
{
    @STEM@_start(measurement->q, measurement->qd, state->x);
}

int @STEM@_step(@STEM@_state *state, const @STEM@_measurement *measurement,
    const @STEM@_reference *reference, @T@ torque[@N@])
{
    @T@ status[1];
    @T@ next[@STATES@];
@IF SHORT_TIME@
    float time[1];
    time[0] = @STEM@_time(reference->t);
@END@
@IF INSIDE@
@ELSE@
    @T@ wanted[@NR@];
@WANTED@
@END@
    @STEM@_sample(state->x, measurement->q, measurement->qd, @IF SHORT_TIME@time@ELSE@@IF INSIDE@&reference->t@ELSE@wanted@END@@END@, torque,
        next, status);
@KEPT@
    return (int)status[0];
}
