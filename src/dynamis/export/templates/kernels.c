@INTRO@
#include "@STEM@.h"

#include <math.h>

@FUNCTIONS@
