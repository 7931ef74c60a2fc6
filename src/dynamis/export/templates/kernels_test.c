@INTRO@
#include "@STEM@.h"

#include <math.h>
#include <stdio.h>

static int differs(const char *name, const @T@ *got, const @T@ *expected, int size)
{
    double worst = 0.0, largest = 1e-3;
    int i;
    for (i = 0; i < size; i++) {
        const double error = fabs((double)got[i] - (double)expected[i]);
        if (isnan(got[i]) && isnan(expected[i])) continue;
        if (!(error <= worst)) worst = error;
        if (fabs((double)expected[i]) > largest) largest = fabs((double)expected[i]);
    }
    if (worst <= @TOLERANCE@ * largest) return 0;
    printf("%s differs by %g\n", name, worst);
    return 1;
}

@TABLES@
int main(void)
{
    int wrong = 0, i;
@CALLS@
    printf(wrong ? "FAILED\n" : "passed\n");
    return wrong != 0;
}
