@INTRO@
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN "@TOKEN@"
#define VALUES @VALUES@
#define STATES @STATES@
#define FIXED @FIXED@
#define SETTABLE @SETTABLE@
#define INTEGER @INTEGER@

typedef struct {
    double r[VALUES]; /* by value reference */
    double x[STATES];
    double begin; /* time of the start */
    double count; /* samples so far */
} model;

#define SLACK(t) (1e-9 * (1.0 + fabs(t))) /* how far two sums of the same steps may differ, s */
#define MOST 1e7 /* steps or samples in one communication step */

@MODEL@
@INTERFACE@