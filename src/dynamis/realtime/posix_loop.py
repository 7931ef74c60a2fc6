"""The POSIX loop of a controller: a C program that runs it against a plant over UDP.

    listen    a few packets say when measurements come; the cycle is set just behind them
    cycle     sleep until its time; newest measurement that came; step; send the torque
    end       after --cycles, on a signal, or when the safe state has run its course

A cycle either got a new measurement or it is silent. The first silent cycle (`--hold` of them) goes
on with the last measurement; from the second in a row the law is given NaN, so its torque is the
safe one until a measurement comes. The law's own `latch` says how many of those are final.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..backends.c_function import PRECISIONS
from ..backends.c_names import comment
from .c_text import stem_of
from .loop_options import C_OPTIONS
from .loop_report import C_CLOCK, C_COUNTS, C_REPORT
from .posix_link import C_LINK
from .udp import C_PACKETS, HOST, PORT

if TYPE_CHECKING:
    from .law import Law

HOLD = 1  # cycles without a measurement that the last one may stand in for
LISTEN = 200  # packets
AFTER = 0.1  # s in the safe state before the program ends, where nothing is ramped down

C_MAIN = r"""
/* every joint turns at 3 rad/s, from -3 to 3.28 rad and again */
static void made_up(double t, @STEM@_measurement *m)
{
    int i;
    for (i = 0; i < JOINTS; i++) {
        const double turns = (3.0 * t + (double)i) / 6.283185307179586;
        m->q[i] = (@T@)(6.283185307179586 * (turns - (double)(int64_t)turns) - 3.0);
        m->qd[i] = (@T@)3;
    }
}

static void tell(const char *what, uint64_t cycle, uint64_t silent)
{
    if (silent > 0) fprintf(stderr, "%s: cycle %" PRIu64 ", no measurement for %" PRIu64 " cycles\n", what, cycle, silent);
    else fprintf(stderr, "%s: cycle %" PRIu64 ", the sample is not plausible\n", what, cycle);
}

/* counts the safe torques, and tells where a spell of them begins and where they stay */
static void watch(controller *c, report *r)
{
    const int safe = c->status != @UP@_RUNNING;
    if (safe) r->safe_torques++;
    if (c->status == @UP@_BAD_SAMPLE) r->bad++;
    if (safe && !c->safe) {
        r->silent = c->silent;
        if (r->spells++ < LINES) tell("SAFE TORQUE", r->cycles, c->silent);
    }
    c->safe = safe;
    if (c->status == @UP@_SAFE && !r->safe) {
        r->safe = 1;
        r->safe_cycle = r->cycles;
        tell("SAFE", r->cycles, c->silent);
    }
}

static void one_cycle(int link, const options *o, double t, controller *c, report *r)
{
    double when = c->when;
    int64_t begun, ended;
    int came = 1;
    if (o->mode == PLANT) came = receive(link, &c->seen, &when, r);
    c->silent = came > 0 ? 0 : c->silent + 1;
    if (came == 0) r->missing++;
@GUESS@    c->when = when;
    c->measured = c->seen;
    if (o->mode == DRY) made_up(t, &c->measured);
    if (o->mode == DRY && r->cycles % 1000 == 0) @STEM@_init(&c->state, &c->measured); /* no windup */
    if (c->silent > o->hold)
        for (int i = 0; i < JOINTS; i++) c->measured.q[i] = c->measured.qd[i] = (@T@)NAN;
@WANTED@
    begun = now();
    c->status = @STEM@_step(&c->state, &c->measured, &c->wanted, c->torque);
    ended = now();
    note(&r->times[0], ended - begun);
    if (o->mode == PLANT) transmit(link, t, c->torque, c->status, r);
    watch(c, r);
}

static void run(int link, const options *o, int64_t first, controller *c, report *r)
{
    const int64_t period = (int64_t)(o->period * SECOND + 0.5);
    const uint64_t after = (uint64_t)(@AFTER@ / o->period + 1.0);
    int64_t due = first, tick = 0;
    while (!stopped && (o->cycles == 0 || r->cycles < o->cycles)) {
        int64_t woken, ended;
        if (r->safe && r->cycles - r->safe_cycle >= after) break;
        sleep_until(due);
        if (stopped) break;
        woken = now();
        note(&r->times[2], woken - due);
        if (o->mode != EMPTY) one_cycle(link, o, (double)tick * o->period, c, r);
        r->cycles++;
        ended = now();
        note(&r->times[1], ended - woken);
        due += period;
        tick++;
        if (ended >= due) {
            const int64_t lost = (ended - due) / period; /* time does not wait */
            r->overruns++;
            r->skipped += (uint64_t)lost;
            due += lost * period;
            tick += lost;
        }
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
    stopped = 1;
}

int main(int count, char **words)
{
    static report r;
    static controller c;
    options o = { "@HOST@", @PORT@, PLANT, 0, @LISTEN@, 0, @HOLD@, @PERIOD@, 10.0 };
    struct sigaction action;
    int64_t first;
    int link = -1;
    if (!understood(count, words, &o)) {
        const int asked = count > 1 && (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0);
        fputs(USAGE, asked ? stdout : stderr);
        return asked ? 0 : 2;
    }
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
    double period, wait;
} options;

typedef struct {
    @STEM@_state state;
    @STEM@_measurement seen, measured; /* what came last, what the law is given */
    @STEM@_reference wanted;
    @T@ torque[JOINTS];
    uint64_t silent; /* cycles in a row whose measurement did not come */
    int status, safe; /* what the law said, and whether it gave the safe torque */
    double when; /* the plant's time of what came last */
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
"""

INSIDE = "The reference is the trajectory inside, from its beginning at the first cycle."
STILL = "The reference is the place where the arm is at the first cycle: it holds still."


# a law that makes velocities from positions must not see the same position twice; packets that came
# together, or after a silence, are more or less than a cycle apart
GUESS = """    for (int i = 0; i < JOINTS; i++) {
        if (when > c->when) {
            const double moved = (double)(c->seen.q[i] - c->before[i]) * (o->period / (when - c->when));
            c->moved[i] = isfinite(moved) ? (@T@)moved : 0;
        }
        if (came > 0) c->before[i] = c->seen.q[i];
        else c->seen.q[i] = c->before[i] + (@T@)c->silent * c->moved[i];
    }
"""


def loop_source(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """The program `<stem>_loop.c`."""
    stem, T = stem_of(law), PRECISIONS[dtype].type
    inside = law.reference is not None
    words = {
        "STEM": stem,
        "UP": stem.upper(),
        "T": T,
        "N": str(law.n),
        "LISTEN": str(LISTEN),
        "HOLD": str(HOLD),
        "HOST": HOST,
        "PORT": str(PORT),
        "PERIOD": repr(float(law.sample_time)),
        "AFTER": repr(float(law.ramp if law.safe == "gravity" else AFTER)),
        "REFERENCE": INSIDE if inside else STILL,
        "WANTED": f"    c->wanted.t = ({T})t;" if inside else "",
        "GUESS": GUESS if law.velocity == "difference" else "",
        "FIRST": "    (void)m;" if inside else "    memcpy(wanted.q, m->q, sizeof wanted.q);",
    }
    parts = [C_TYPES, C_PACKETS, C_CLOCK, C_COUNTS, C_REPORT, C_FIRST, C_LINK]
    parts += [C_OPTIONS, C_MAIN]
    text = "".join(parts)
    for _ in range(2):  # some words hold others
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
    intro = "\n".join(["/*", *(f" * {comment(line)}".rstrip() for line in notes), " */"])
    return intro + text
