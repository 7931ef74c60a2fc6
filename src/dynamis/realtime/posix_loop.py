"""The POSIX loop of a controller: a C program that runs it against a plant over UDP.

    listen    a few packets say when measurements come; the cycle is set just behind them
    cycle     sleep until its time; newest measurement that came; step; send the torque
    end       after --cycles, on a signal, or when the safe state has run its course

One cycle without its measurement goes on with the last one; from the second in a row the law is
given NaN, so its torque is the safe one from there on, and the third latches it. A measurement that
came early, together with the one before, is not missed in its own cycle (or two cycles later).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..backends.c_function import PRECISIONS
from ..backends.c_names import comment
from .c_text import stem_of
from .loop_report import C_CLOCK, C_COUNTS, C_REPORT
from .udp import C_PACKETS, HOST, PORT

if TYPE_CHECKING:
    from .law import Law

HOLD = 1  # cycles without a measurement that the last one may stand in for
LISTEN = 200  # packets
AFTER = 0.1  # s in the safe state before the program ends, where nothing is ramped down

C_LINK = r"""
/* the newest of the measurements that are here; returns how many there were */
static int receive(int link, @STEM@_measurement *m, double *t, report *r)
{
    unsigned char data[IN + 1];
    int tries, found = 0, i;
    for (tries = 0; tries < 256; tries++) {
        const ssize_t got = recv(link, data, sizeof data, 0);
        uint64_t sequence;
        if (got < 0 && (errno == ECONNREFUSED || errno == EINTR)) continue;
        if (got < 0) break;
        if (got != IN || take(data, 4) != MAGIC || take(data + 4, 4) != MEASUREMENT) continue;
        sequence = take(data + 8, 8);
        if (r->received > 0 && sequence <= r->newest) {
            r->stale++;
            if (r->lost > 0) r->lost--;
            continue;
        }
        if (r->received > 0) r->lost += sequence - r->newest - 1;
        r->newest = sequence;
        r->received++;
        *t = take_number(data + 16);
        for (i = 0; i < JOINTS; i++) {
            m->q[i] = (@T@)take_number(data + HEAD + 8 * i);
            m->qd[i] = (@T@)take_number(data + HEAD + 8 * (JOINTS + i));
        }
        found++;
    }
    return found;
}

static void transmit(int link, double t, const @T@ torque[JOINTS], int status, report *r)
{
    unsigned char data[OUT];
    int i;
    put_head(data, TORQUE, r->sent++, t);
    for (i = 0; i < JOINTS; i++) put_number(data + HEAD + 8 * i, (double)torque[i]);
    put_number(data + HEAD + 8 * JOINTS, (double)status);
    if (send(link, data, OUT, 0) != OUT) r->unsent++;
}

static int linked(const options *o)
{
    struct sockaddr_in there;
    const int link = socket(AF_INET, SOCK_DGRAM, 0);
    memset(&there, 0, sizeof there);
    there.sin_family = AF_INET;
    there.sin_port = htons(o->port);
    if (link < 0 || inet_pton(AF_INET, o->host, &there.sin_addr) != 1) return -1;
    if (connect(link, (const struct sockaddr *)&there, sizeof there) != 0) return -1;
    if (fcntl(link, F_SETFL, O_NONBLOCK) != 0) return -1;
    return link;
}

static int later(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Waits for the plant and hears some of its packets: the first measurement, and the time of the
 * first cycle. Cycles begin just behind the second latest arrival: a stall is no rule. 0 if none. */
static int64_t listened(int link, const options *o, @STEM@_measurement *m, report *r)
{
    static int64_t offsets[MOST];
    const @T@ none[JOINTS] = { 0 };
    const int64_t end = now() + (int64_t)(o->wait * SECOND), period = (int64_t)(o->period * SECOND + 0.5);
    int64_t hello = 0, first;
    struct pollfd p;
    int heard = 0;
    p.fd = link;
    p.events = POLLIN;
    while (heard < o->listen && !stopped) {
        double t = 0.0;
        if (now() > end) return 0;
        if (now() > hello) {
            transmit(link, 0.0, none, -1, r);
            hello = now() + SECOND / 20;
        }
        p.revents = 0;
        if (poll(&p, 1, 50) > 0 && receive(link, m, &t, r)) offsets[heard++] = now() - (int64_t)(t * SECOND);
    }
    if (heard < o->listen) return 0;
    qsort(offsets, (size_t)heard, sizeof offsets[0], later);
    first = offsets[heard - 2] + period / 16;
    first += period * ((now() - first) / period + 2);
    r->received = 0;
    r->lost = r->stale = r->unsent = 0;
    return first;
}
"""

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

static void one_cycle(int link, const options *o, double t, controller *c, report *r)
{
    double sent = 0.0;
    int64_t begun, ended;
    int came = 1;
    if (o->mode == PLANT) came = receive(link, &c->seen, &sent, r);
@GUESS@    c->measured = c->seen;
    if (o->mode == DRY) made_up(t, &c->measured);
    if (o->mode == DRY && r->cycles % 1000 == 0) @STEM@_init(&c->state, &c->measured); /* no windup */
    if (came > 0) {
        if (came > 1 && c->silent == 0) c->spare = AHEAD; /* this cycle's and, early, the next one's */
        else if (c->spare > 0) c->spare--;
        c->silent = 0;
    } else if (c->spare > 0) {
        c->spare = 0;
    } else {
        c->silent++;
        r->missing++;
    }
    if (c->silent > o->hold)
        for (int i = 0; i < JOINTS; i++) c->measured.q[i] = c->measured.qd[i] = (@T@)NAN;
@WANTED@
    begun = now();
    c->status = @STEM@_step(&c->state, &c->measured, &c->wanted, c->torque);
    ended = now();
    note(&r->times[0], ended - begun);
    if (o->mode == PLANT) transmit(link, t, c->torque, c->status, r);
    if (c->status == @UP@_BAD_SAMPLE) {
        r->bad++;
        r->silent = c->silent;
    }
    if (c->status == @UP@_SAFE && !r->safe) {
        r->safe = 1;
        r->safe_cycle = r->cycles;
        fprintf(stderr, "SAFE: cycle %" PRIu64 ", no measurement for %" PRIu64 " cycles, safe torque since silent cycle %"
            PRIu64 "\n", r->cycles, c->silent, r->silent);
    }
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
        transmit(link, (double)tick * o->period, none, @UP@_SAFE, r);
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

static int understood(int count, char **words, options *o)
{
    int i;
    for (i = 1; i < count; i++) {
        const char *word = words[i], *value = i + 1 < count ? words[i + 1] : NULL;
        char *end = NULL;
        double number;
        if (strcmp(word, "--json") == 0) { o->json = 1; continue; }
        if (strcmp(word, "--empty") == 0) { o->mode = EMPTY; continue; }
        if (strcmp(word, "--dry") == 0) { o->mode = DRY; continue; }
        if (value == NULL) return 0;
        i++;
        if (strcmp(word, "--host") == 0) { o->host = value; continue; }
        number = strtod(value, &end);
        if (end == value || *end != '\0' || !(number >= 0.0) || !(number < 1e15)) return 0;
        if (strcmp(word, "--port") == 0 && number >= 1.0 && number <= 65535.0) o->port = (uint16_t)number;
        else if (strcmp(word, "--cycles") == 0) o->cycles = (uint64_t)number;
        else if (strcmp(word, "--hold") == 0) o->hold = (uint64_t)number;
        else if (strcmp(word, "--listen") == 0 && number >= 2.0 && number <= MOST) o->listen = (int)number;
        else if (strcmp(word, "--wait") == 0) o->wait = number;
        else if (strcmp(word, "--period") == 0 && number >= 1e-6 && number <= 1e3) o->period = number;
        else return 0;
    }
    return 1;
}

static const char USAGE[] =
    "usage: @STEM@_loop [options]\n\n"
    "  --host ADDRESS  IPv4 address of the plant (@HOST@)\n"
    "  --port PORT     its port (@PORT@)\n"
    "  --cycles N      end after so many; 0: on SIGINT or SIGTERM (0)\n"
    "  --period S      seconds of a cycle (@PERIOD@, which the gains are for)\n"
    "  --hold N        cycles without a measurement that the last one stands in for (@HOLD@)\n"
    "  --listen N      packets to hear before the first cycle, which is set behind them (@LISTEN@)\n"
    "  --wait S        seconds to wait for the plant (10)\n"
    "  --empty         cycles that do nothing: what the machine's own scheduling does\n"
    "  --dry           no plant: step on made-up measurements, to time it\n"
    "  --json          print JSON\n\n"
    "@REFERENCE@\n"
    "Exit code 0: fine, 1: ended in the safe state, 2: wrong options or no plant.\n";

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
        first = link < 0 ? 0 : listened(link, &o, &c.seen, &r);
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
#define AHEAD 3
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
    int spare; /* cycles left in which one without a measurement is made up for by an early one */
    int status;
    @T@ before[JOINTS], moved[JOINTS]; /* where the arm was a cycle ago, and how far it went */
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


# a law that makes velocities from positions must not see the same position twice
GUESS = """    for (int i = 0; i < JOINTS; i++) {
        if (came == 0) c->seen.q[i] = (@T@)(c->before[i] + c->moved[i]);
        c->moved[i] = (@T@)(c->seen.q[i] - c->before[i]);
        c->before[i] = c->seen.q[i];
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
    parts = [C_TYPES, C_PACKETS, C_CLOCK, C_COUNTS, C_REPORT, C_FIRST, C_LINK, C_MAIN]
    text = "".join(parts)
    for _ in range(2):  # some words hold others
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
    intro = "\n".join(["/*", *(f" * {comment(line)}".rstrip() for line in notes), " */"])
    return intro + text
