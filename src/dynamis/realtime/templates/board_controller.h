#include <stdint.h>

#define @UP@_JOINTS @N@
#define @UP@_STATES @STATES@
#define @UP@_SAMPLE_TIME @SAMPLE_TIME@

enum { @UP@_RUNNING = 0, @UP@_BAD_SAMPLE = 1, @UP@_SAFE = 2, @UP@_STARTING = 3 };
enum { @PHASES@ };
enum {
@FAULTS@
};

/* what the program remembers; nobody else touches it */
typedef struct {
    double x[@STATES@];
} @STEM@_state;

/* what the board shows: the number of the sample (one more every @SAMPLE_TIME@ s, it may overflow), counters, the count
 * that the last index pulse kept, 1 where a pulse came since the sample before (else 0), codes of the potentiometers */
typedef struct {
    uint32_t tick;
    uint32_t counts[@N@];
    uint32_t latched[@N@];
    uint32_t index[@N@];
    uint32_t analog[@N@];
} @STEM@_measurement;

/* @IF INSIDE@time, seconds: the trajectory is inside@ELSE@where the joints should be: looked at once the index pulses have come@END@ */
typedef struct {
@IF INSIDE@
    double t;
@ELSE@
    double q[@N@];
    double qd[@N@];
    double qdd[@N@];
@IF SMOOTH@
    double jerk[@N@];
    double snap[@N@];
@END@
@END@
} @STEM@_reference;

/* what goes to the D/A converters, and what is known: positions (rad or m), phase of the start, fault and its joint
 * (-1: of none) */
typedef struct {
@IF CODES@
    uint32_t codes[@N@];
@ELSE@
    double volts[@N@];
@END@
    double q[@N@];
    int phase;
    int fault;
    int joint;
} @STEM@_output;

/* once, before the first sample: the arm may be anywhere; also the only way out of the safe state */
void @STEM@_init(@STEM@_state *state);

/* once every @SAMPLE_TIME@ s; returns STARTING until the arm is on its reference, then RUNNING; BAD_SAMPLE (safe
 * torque) or SAFE (@LATCH@ bad samples in a row, or a fault that no later sample mends: safe torque until init) */
int @STEM@_step(@STEM@_state *state, const @STEM@_measurement *measurement,
    const @STEM@_reference *reference, @STEM@_output *output);
