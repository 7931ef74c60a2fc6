@INTRO@
#ifndef @UP@_BOARD_H
#define @UP@_BOARD_H

/* The board @BOARD@ in numbers, one per joint; the program has them inside. Initialisers of arrays:
 *     static const double scale[@N@] = @UP@_SCALE; */

/* position = ZERO + SCALE * count, rad or m */
#define @UP@_ZERO @ZERO@
#define @UP@_SCALE @SCALE@
/* of a motor turn, of a counter until it overflows; the farthest that it may go in a sample */
#define @UP@_COUNTS @COUNTS@
#define @UP@_MODULUS @MODULUS@
#define @UP@_FARTHEST @FARTHEST@
/* count of the index pulse within a turn, -1: there is none */
#define @UP@_INDEX @INDEX@
/* count = POT_BASE + POT_RATE * code, for codes from POT_LOWEST to POT_HIGHEST; zeros where there is no potentiometer */
#define @UP@_POT_BASE @POT_BASE@
#define @UP@_POT_RATE @POT_RATE@
#define @UP@_POT_LOWEST @POT_LOWEST@
#define @UP@_POT_HIGHEST @POT_HIGHEST@
/* volts = OUT_LOWEST + OUT_STEP * code, within OUT_MOST either way; torque = TORQUE_PER_VOLT * volts, N m or N */
#define @UP@_OUT_LOWEST @OUT_LOWEST@
#define @UP@_OUT_STEP @OUT_STEP@
#define @UP@_OUT_MOST @OUT_MOST@
#define @UP@_TORQUE_PER_VOLT @TORQUE_PER_VOLT@

#endif /* @UP@_BOARD_H */
