#include <stdio.h>
#include "@STEM@.h"
int main(int argc, char **argv)
{
    static @STEM@_state state;
    static @STEM@_measurement measurement;
    static @STEM@_reference reference;
@IF COUNTS@
    static @STEM@_output output;
@ELSE@
    static double torque[@UP@_JOINTS];
@END@
    FILE *file = fopen(argv[argc - 1], "rb");
    int k;
    for (k = 0; k < @COUNT@; k++) {
        if (fread(&measurement, sizeof measurement, 1, file) != 1) return 1;
        if (fread(&reference, sizeof reference, 1, file) != 1) return 1;
@IF COUNTS@
        if (k % 4 == 0) @STEM@_init(&state);
        @STEM@_step(&state, &measurement, &reference, &output);
@ELSE@
        if (k % 4 == 0) @STEM@_init(&state, &measurement);
        @STEM@_step(&state, &measurement, &reference, (void *)torque);
@END@
    }
    return 0;
}
