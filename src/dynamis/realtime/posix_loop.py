"""The POSIX loop of a controller: a C program that runs it against a plant over UDP.

    listen    a few packets say when measurements come; the cycle is set just behind them
    cycle     sleep until its time; newest measurement that came; step; send the torque
    end       after --cycles, on a signal, or when the safe state has run its course; an arm with
              safe="gravity" is let down first: bad references make the law ramp down

A cycle either got a new measurement or it is silent. The first silent cycle (`--hold` of them) goes
on with the last measurement; from the second in a row the law is given NaN, so its torque is the
safe one until a measurement comes. The law's own `latch` says how many of those are final. Cycles
that the loop itself missed count as silent ones, and a measurement that is too old is none.
"""

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from ..backends.c_function import PRECISIONS, literal
from ..backends.c_names import comment
from ..spatial.functions import MATH
from .c_text import plain, stem_of
from .loop_options import C_OPTIONS
from .loop_report import C_CLOCK, C_COUNTS, C_REPORT
from .posix_link import C_LINK
from .udp import C_PACKETS, HOST, PORT

if TYPE_CHECKING:
    from .law import Law

HOLD = 1  # cycles without a measurement that the last one may stand in for
LISTEN = 200  # packets
AFTER = 0.1  # s in the safe state before the program ends, where nothing is ramped down
TOLERANCE = 0.05  # rad or m that the arm may be away from where the trajectory begins
MOST_CYCLES = 10**15

C_MAIN = r"""
/* every joint goes from -3 to 3 rad and back at 3 rad/s */
static void made_up(double t, @STEM@_measurement *m)
{
    int i;
    for (i = 0; i < JOINTS; i++) {
        const double turns = (3.0 * t + (double)i) / 12.0;
        const double way = 12.0 * (turns - (double)(int64_t)turns);
        m->q[i] = (@T@)(way < 6.0 ? way - 3.0 : 9.0 - way);
        m->qd[i] = (@T@)(way < 6.0 ? 3 : -3);
    }
}

static void tell(const char *what, uint64_t cycle, const controller *c)
{
    fprintf(stderr, "%s: cycle %" PRIu64 ", ", what, cycle);
    if (c->silent == 0) fputs("the sample is not plausible\n", stderr);
    else fprintf(stderr, "no measurement for %" PRIu64 " cycles", c->silent);
    if (c->silent > 0 && c->lost > 0) fprintf(stderr, ", %" PRId64 " of them the loop itself missed", c->lost);
    if (c->silent > 0) fputs("\n", stderr);
}

/* counts the safe torques, and tells where a spell of them begins and where they stay */
static void watch(controller *c, report *r)
{
    const int safe = c->status != @UP@_RUNNING;
    if (c->ending) { /* it was asked for */
        r->ramped++;
        return;
    }
    if (safe) r->safe_torques++;
    if (c->status == @UP@_BAD_SAMPLE) r->bad++;
    if (safe && !c->safe) {
        r->silent = c->silent;
        if (r->spells++ < LINES) tell("SAFE TORQUE", r->cycles, c);
    }
    c->safe = safe;
    if (c->status == @UP@_SAFE && !r->safe) {
        r->safe = 1;
        r->safe_cycle = r->cycles;
        tell("SAFE", r->cycles, c);
    }
}

/* one sample of the law; at the end its reference is bad, so that it lets the arm down */
static void step(double t, controller *c)
{
@WANTED@
    c->status = @STEM@_step(&c->state, &c->measured, &c->wanted, c->torque);
}

/* a silent cycle: what the law is given instead of a measurement */
static void stand_in(const options *o, controller *c)
{
    int i;
@GUESS@    c->measured = c->seen;
    if (c->silent > o->hold)
        for (i = 0; i < JOINTS; i++) c->measured.q[i] = c->measured.qd[i] = (@T@)NAN;
}

/* Cycles that the loop itself missed are silent ones: the law steps as in those, nothing is sent.
 * LATCH bad samples decide; more of them would only shorten the ramp. */
static void catch_up(const options *o, int64_t tick, controller *c)
{
    int64_t i, bad = 0;
    for (i = 0; i < c->lost && bad < LATCH; i++) {
        c->silent++;
        if (c->silent > o->hold) bad++;
        stand_in(o, c);
        step((double)(tick - c->lost + i) * o->period, c);
    }
    c->silent += (uint64_t)(c->lost - i);
}

static void one_cycle(int link, const options *o, int64_t tick, controller *c, report *r)
{
    const double t = (double)tick * o->period;
    double when = c->when;
    int64_t begun, ended;
    int came = 1, stalled = 0;
    if (o->mode == PLANT) {
        catch_up(o, tick, c);
        stalled = c->lost > 0 && c->silent > o->hold; /* a safe torque, whatever has come */
        came = received_now(link, o, &when, c, r);
        if (!came) r->missing++;
    }
@LEARN@    c->when = when;
    c->silent = came && !stalled ? 0 : c->silent + 1;
    c->measured = c->seen;
    if (c->silent > 0) stand_in(o, c);
    if (o->mode == DRY) made_up((double)r->cycles * o->period, &c->measured);
    if (o->mode == DRY && r->cycles % 1000 == 0) @STEM@_init(&c->state, &c->measured); /* no windup */
    begun = now();
    step(t, c);
    ended = now();
    note(&r->times[0], ended - begun);
    if (o->mode == PLANT) transmit(link, t, c->torque, c->status, r);
    watch(c, r);
}

/* whether there is nothing more to do; an arm that is to be let down slowly takes a while */
static int over(const options *o, controller *c, report *r)
{
    const uint64_t after = @AFTER@;
    const int asked = stopped > 0 || (o->cycles > 0 && r->cycles >= o->cycles);
    if (stopped > 1 || (asked && (!RAMPS || o->mode != PLANT))) return 1;
    if (asked && !c->ending) {
        c->ending = 1;
        r->ending_cycle = r->cycles;
        fprintf(stderr, "ENDING: cycle %" PRIu64 ", letting the arm down; a second signal ends at once\n", r->cycles);
    }
    if (!r->safe && !c->ending) return 0;
    return r->cycles - (r->safe ? r->safe_cycle : r->ending_cycle) >= after;
}

static void run(int link, const options *o, int64_t first, controller *c, report *r)
{
    const int64_t period = (int64_t)(o->period * SECOND + 0.5);
    int64_t due = first, tick = 0;
    int late = 0;
    while (!over(o, c, r)) {
        int64_t woken, ended;
        sleep_until(due);
        woken = now();
        if (woken < due) continue; /* a signal */
        note(&r->times[2], woken - due);
        c->lost = (woken - due) / period; /* time does not wait */
        if (c->lost > 0 && !late) r->overruns++;
        r->skipped += (uint64_t)c->lost;
        due += c->lost * period;
        tick += c->lost;
        if (o->mode != EMPTY) one_cycle(link, o, tick, c, r);
        r->cycles++;
        ended = now();
        note(&r->times[1], ended - woken);
        due += period;
        tick++;
        late = ended >= due;
        if (late) r->overruns++;
    }
    if (o->mode == PLANT) { /* whoever holds the last command must not hold ours */
        const @T@ none[JOINTS] = {0};
        transmit(link, (double)tick * o->period, none, BYE, r);
    }
}

static void prepare(report *r)
{
    struct sched_param priority;
    memset(&priority, 0, sizeof priority);
    priority.sched_priority = sched_get_priority_max(SCHED_FIFO) - 10;
    r->fifo = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
    if (!r->fifo) fprintf(stderr, "note: no SCHED_FIFO (%s): the ordinary scheduler decides\n", strerror(errno));
    r->locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    if (!r->locked) fprintf(stderr, "note: memory is not locked (%s)\n", strerror(errno));
}

static void stop(int number)
{
    (void)number;
    if (stopped < 2) stopped = stopped + 1;
}

int main(int count, char **words)
{
    static report r;
    static controller c;
    options o = { "@HOST@", @PORT@, PLANT, 0, @LISTEN@, 0, @HOLD@, @PERIOD@, 10.0, -1.0, @TOLERANCE@ };
    struct sigaction action;
    int64_t first;
    int link = -1;
    if (!understood(count, words, &o)) {
        const int asked = count > 1 && (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0);
        fputs(USAGE, asked ? stdout : stderr);
        return asked ? 0 : 2;
    }
    if (o.mode == PLANT && fabs(o.period - @PERIOD@) > 1e-9 * @PERIOD@)
        fprintf(stderr, "warning: cycles of %.9g s, but gains, filters and velocities are for %.9g s\n", o.period, @PERIOD@);
    if (o.oldest < 0.0) o.oldest = ((double)o.hold + 1.0) * o.period;
    memset(&action, 0, sizeof action);
    action.sa_handler = stop;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    prepare(&r);
    first = now() + SECOND / 100;
    if (o.mode == PLANT) {
        link = linked(&o);
        first = link < 0 ? 0 : listened(link, &o, &c, &r);
        if (first == 0) {
            fprintf(stderr, "error: no plant at %s port %u\n", o.host, (unsigned int)o.port);
            return 2;
        }
        if (!begins_there(&c.seen, &o)) return 2;
    }
    c.wanted = start_reference(&c.seen);
    @STEM@_init(&c.state, &c.seen);
    memcpy(c.before, c.seen.q, sizeof c.before);
    run(link, &o, first, &c, &r);
    (o.json ? print_json : print_table)(&o, &r);
    if (link >= 0) close(link);
    return r.safe ? 1 : 0;
}
"""

C_TYPES = r"""
#define _POSIX_C_SOURCE 200809L

#include "@STEM@.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define JOINTS @N@
#define MOST 10000 /* packets to listen to */
#define LINES 20 /* of safe torques told */
#define LATCH @LATCH@ /* bad samples in a row after which the law stays safe */
#define RAMPS @RAMPS@ /* whether its safe torque is ramped down */
#define IN (HEAD + 16 * JOINTS)
#define OUT (HEAD + 8 * JOINTS + 8)

static volatile sig_atomic_t stopped = 0;

enum { PLANT = 0, DRY = 1, EMPTY = 2 };
static const char *const MODES[3] = { "plant", "dry", "empty" };

typedef struct {
    const char *host;
    uint16_t port;
    int mode, json, listen;
    uint64_t cycles, hold;
    double period, wait, oldest, tolerance;
} options;

typedef struct {
    @STEM@_state state;
    @STEM@_measurement seen, measured; /* what came last, what the law is given */
    @STEM@_reference wanted;
    @T@ torque[JOINTS];
    uint64_t silent; /* cycles in a row whose measurement did not come */
    int64_t lost; /* cycles missed by the loop itself just before this one */
    int status, safe; /* what the law said, and whether it gave the safe torque */
    int ending; /* the arm is being let down */
    double when; /* the plant's time of what came last */
    int64_t offset; /* our time less the plant's, ns, of what came quickest of late */
    @T@ before[JOINTS], moved[JOINTS]; /* where the arm was then, and how far it goes in a cycle */
} controller;
"""

C_FIRST = r"""
/* what is wanted before the first cycle */
static @STEM@_reference start_reference(const @STEM@_measurement *m)
{
    @STEM@_reference wanted;
    memset(&wanted, 0, sizeof wanted);
@FIRST@
    return wanted;
}

/* whether the arm is where the trajectory begins; says where it should be if not */
static int begins_there(const @STEM@_measurement *m, const options *o)
{
@BEGINS@
}
"""

# a trajectory that begins elsewhere is a reference that leaps
C_BEGINS = r"""    static const double beginning[JOINTS] = { @BEGINNING@ };
    static const char *const names[JOINTS] = { @NAMES@ };
    int i;
    for (i = 0; i < JOINTS; i++) {
        const double place = (double)m->q[i];
        if (fabs(place - beginning[i]) <= o->tolerance) continue;
        fprintf(stderr, "error: joint '%s' is at %.6g, the trajectory begins at %.6g (rad or m)\n",
            names[i], place, beginning[i]);
        fputs("move the arm there first (a simulated one: start the plant with --start @START@), "
            "or allow for it with --start-tolerance\n", stderr);
        return 0;
    }
    return 1;"""

INSIDE = "The reference is the trajectory inside, from its beginning at the first cycle."
STILL = "The reference is the place where the arm is at the first cycle: it holds still."
LET_DOWN = (
    "At the end (SIGINT, SIGTERM, --cycles) the arm is let down: gravity compensation with "
    "damping, ramped down in {:.6g} s, then zero torque; a second signal ends at once."
)
DROPPED = "At the end (SIGINT, SIGTERM, --cycles) the torque is zero at once."


# a law that makes velocities from positions must not see the same position twice; packets that came
# together, or after a silence, are more or less than a cycle apart
LEARN = """    for (int i = 0; came && i < JOINTS; i++) {
        if (when > c->when) {
            const double moved = (double)(c->seen.q[i] - c->before[i]) * (o->period / (when - c->when));
            c->moved[i] = isfinite(moved) ? (@T@)moved : 0;
        }
        c->before[i] = c->seen.q[i];
    }
"""
GUESS = """    for (i = 0; i < JOINTS; i++) c->seen.q[i] = c->before[i] + (@T@)c->silent * c->moved[i];
"""
# what makes a reference bad: its time, or where the joints should be
TIME = "    c->wanted.t = c->ending ? (double)NAN : t;"
PLACE = """    (void)t;
    for (int i = 0; c->ending && i < JOINTS; i++) c->wanted.q[i] = (@T@)NAN;"""


def beginning(law: "Law") -> list[float] | None:
    """Where the joints are when the trajectory inside begins; None without one."""
    return None if law.reference is None else [float(x) for x in law.reference.at(0.0, MATH)[0]]


def start_words(law: "Law") -> str:
    """What `dynamis plant --start` is to be given."""
    return ",".join(f"{x:.6g}" for x in beginning(law) or [0.0] * law.n)


def loop_source(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """The program `<stem>_loop.c`."""
    stem, T = stem_of(law), PRECISIONS[dtype].type
    first = beginning(law)
    inside, ramps = first is not None, law.safe == "gravity"
    steps = ceil(min(law.ramp / law.sample_time, MOST_CYCLES)) + 1
    names = (plain(name).replace('"', "'").replace("@", "?") for name in law.robot.joint_names)
    words = {
        "STEM": stem,
        "UP": stem.upper(),
        "N": str(law.n),
        "LISTEN": str(LISTEN),
        "HOLD": str(HOLD),
        "LATCH": str(law.latch),
        "HOST": HOST,
        "PORT": str(PORT),
        "PERIOD": repr(float(law.sample_time)),
        "TOLERANCE": repr(TOLERANCE),
        "RAMPS": str(int(ramps)),
        "AFTER": f"UINT64_C({steps})" if ramps else f"(uint64_t)({AFTER!r} / o->period + 1.0)",
        "REFERENCE": INSIDE if inside else STILL,
        "ENDING": LET_DOWN.format(law.ramp) if ramps else DROPPED,
        "WANTED": TIME if inside else PLACE,
        "LEARN": LEARN if law.velocity == "difference" else "",
        "GUESS": GUESS if law.velocity == "difference" else "",
        "FIRST": "    (void)m;" if inside else "    memcpy(wanted.q, m->q, sizeof wanted.q);",
        "BEGINS": C_BEGINS if inside else "    (void)m;\n    (void)o;\n    return 1;",
        "T": T,
        "BEGINNING": ", ".join(literal(x, PRECISIONS["float64"]) for x in first or []),
        "START": start_words(law),
        "NAMES": ", ".join(f'"{name}"' for name in names),
    }
    parts = [C_TYPES, C_PACKETS, C_CLOCK, C_COUNTS, C_REPORT, C_FIRST, C_LINK]
    parts += [C_OPTIONS, C_MAIN]
    text = "".join(parts)
    for _ in range(2):  # some words hold others
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
    intro = "\n".join(["/*", *(f" * {comment(line)}".rstrip() for line in notes), " */"])
    return intro + text
