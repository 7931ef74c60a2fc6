#define @UP@_JOINTS @N@
#define @UP@_STATES @STATES@
#define @UP@_SAMPLE_TIME @SAMPLE_TIME@

enum { @UP@_RUNNING = 0, @UP@_BAD_SAMPLE = 1, @UP@_SAFE = 2 };

/* what the law remembers; nobody else touches it */
typedef struct {
    @T@ x[@STATES@];
} @STEM@_state;

/* what the sensors say: positions and velocities, rad or m@IF DIFFERENCE@, velocities are not used@END@ */
typedef struct {
    @T@ q[@N@];
    @T@ qd[@N@];
} @STEM@_measurement;

/* @IF INSIDE@time, seconds: the trajectory is inside@ELSE@where the joints should be@END@ */
typedef struct {
@IF INSIDE@
    double t;
@ELSE@
    @T@ q[@N@];
    @T@ qd[@N@];
    @T@ qdd[@N@];
@IF SMOOTH@
    @T@ jerk[@N@];
    @T@ snap[@N@];
@END@
@END@
} @STEM@_reference;

/* once, with the first measurement; also the only way out of the safe state */
void @STEM@_init(@STEM@_state *state, const @STEM@_measurement *measurement);

/* once every @SAMPLE_TIME@ s; returns RUNNING, BAD_SAMPLE (this sample was not plausible: safe torque)
 * or SAFE (@LATCH@ in a row: safe torque until init) */
int @STEM@_step(@STEM@_state *state, const @STEM@_measurement *measurement,
    const @STEM@_reference *reference, @T@ torque[@N@]);
