@INTRO@
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
#define RAMPS @IF RAMPING@1@ELSE@0@END@ /* whether its safe torque is ramped down */
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

#define MAGIC @MAGIC@u
#define MEASUREMENT @MEASUREMENT@u
#define TORQUE @TORQUE@u
#define HEAD @HEAD@
#define LISTENING (@LISTENING@)
#define BYE @BYE@

static void put(unsigned char *at, uint64_t value, int bytes)
{
    int i;
    for (i = 0; i < bytes; i++) at[i] = (unsigned char)((value >> (8 * i)) & 0xffu);
}

static uint64_t take(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    int i;
    for (i = 0; i < bytes; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void put_number(unsigned char *at, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    put(at, bits, 8);
}

static double take_number(const unsigned char *at)
{
    const uint64_t bits = take(at, 8);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void put_head(unsigned char *at, uint32_t kind, uint64_t sequence, double t)
{
    put(at, MAGIC, 4);
    put(at + 4, kind, 4);
    put(at + 8, sequence, 8);
    put_number(at + 16, t);
}

#define SECOND 1000000000
#define FINE 64 /* bins per doubling: quantiles to 1.6 % */
#define BINS (40 * FINE)

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + (int64_t)t.tv_nsec;
}

/* or until a signal */
static void sleep_until(int64_t when)
{
    const int before = stopped;
    struct timespec t;
    t.tv_sec = (time_t)(when / SECOND);
    t.tv_nsec = (long)(when % SECOND);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR && stopped == before) { }
}

/* durations in ns, and how often each came */
typedef struct {
    uint32_t count[BINS];
    uint64_t all;
    int64_t sum, most;
} histogram;

static void note(histogram *h, int64_t ns)
{
    uint64_t left = ns > 0 ? (uint64_t)ns : 0u;
    unsigned int doublings = 0, bin;
    while (left >= 2u * FINE) {
        left >>= 1;
        doublings++;
    }
    bin = doublings * FINE + (unsigned int)left;
    h->count[bin < BINS ? bin : BINS - 1]++;
    h->all++;
    h->sum += ns > 0 ? ns : 0;
    if (ns > h->most) h->most = ns;
}

/* where a bin ends, ns */
static double edge(unsigned int bin)
{
    unsigned int doublings = bin < 2 * FINE ? 0 : bin / FINE - 1;
    double ns = (double)(bin - doublings * FINE + 1);
    while (doublings-- > 0) ns *= 2.0;
    return ns;
}

static double mean(const histogram *h)
{
    return h->all > 0 ? 1e-3 * (double)h->sum / (double)h->all : 0.0;
}

static double most(const histogram *h) { return 1e-3 * (double)h->most; }

/* us that so many of all stay below */
static double quantile(const histogram *h, double part)
{
    double seen = 0.0;
    unsigned int bin;
    for (bin = 0; bin < BINS; bin++) {
        seen += (double)h->count[bin];
        if (seen >= part * (double)h->all) break;
    }
    return 1e-3 * edge(bin) < most(h) ? 1e-3 * edge(bin) : most(h);
}

typedef struct {
    histogram times[3]; /* step, cycle, latency */
    uint64_t cycles, overruns, skipped;
    uint64_t received, newest, lost, stale, sent, unsent;
    uint64_t bad_packets, old; /* that are none of the plant's; cycles whose newest was too old */
    uint64_t missing, bad, safe_torques, spells, safe_cycle;
    uint64_t ending_cycle, ramped; /* where letting the arm down began, and its cycles */
    uint64_t silent; /* cycles when the first safe torque of the last spell was sent */
    int safe, fifo, locked;
} report;

static const char *const NAMES[3] = { "step", "cycle", "latency" };

static void print_bins(const histogram *h)
{
    uint64_t count = 0;
    unsigned int bin;
    int first = 1;
    for (bin = 0; bin < BINS; bin++) {
        count += h->count[bin];
        if ((bin + 1) % FINE == 0 && bin + 1 != FINE) {
            if (count > 0) printf("%s[%.9g, %" PRIu64 "]", first ? "" : ", ", 1e-3 * edge(bin), count);
            first = first && count == 0;
            count = 0;
        }
    }
}

static void print_json(const options *o, const report *r)
{
    int i;
    printf("{\n  \"controller\": \"@STEM@\",\n  \"mode\": \"%s\",\n", MODES[o->mode]);
    printf("  \"period\": %.9g,\n  \"cycles\": %" PRIu64 ",\n", o->period, r->cycles);
    printf("  \"fifo\": %s,\n  \"locked\": %s,\n", r->fifo ? "true" : "false", r->locked ? "true" : "false");
    for (i = 0; i < 3; i++) {
        const histogram *h = &r->times[i];
        printf("  \"%s_us\": {\"mean\": %.3f, \"p99.9\": %.3f, \"max\": %.3f, \"below\": [",
            NAMES[i], mean(h), quantile(h, 0.999), most(h));
        print_bins(h);
        printf("]},\n");
    }
    printf("  \"overruns\": %" PRIu64 ",\n  \"skipped\": %" PRIu64 ",\n", r->overruns, r->skipped);
    printf("  \"received\": %" PRIu64 ",\n  \"lost\": %" PRIu64 ",\n", r->received, r->lost);
    printf("  \"stale\": %" PRIu64 ",\n  \"unsent\": %" PRIu64 ",\n", r->stale, r->unsent);
    printf("  \"bad_packets\": %" PRIu64 ",\n  \"old\": %" PRIu64 ",\n", r->bad_packets, r->old);
    printf("  \"ramped\": %" PRIu64 ",\n", r->ramped);
    printf("  \"missing\": %" PRIu64 ",\n  \"bad\": %" PRIu64 ",\n", r->missing, r->bad);
    printf("  \"safe_torques\": %" PRIu64 ",\n  \"spells\": %" PRIu64 ",\n", r->safe_torques, r->spells);
    printf("  \"safe\": %s,\n  \"safe_cycle\": %" PRIu64 ",\n", r->safe ? "true" : "false", r->safe_cycle);
    printf("  \"silent_until_safe_torque\": %" PRIu64 "\n}\n", r->silent);
}

static void print_table(const options *o, const report *r)
{
    int i;
    printf("@STEM@: %" PRIu64 " cycles of %.6g ms (%s)%s%s\n\n", r->cycles, 1e3 * o->period,
        MODES[o->mode], r->fifo ? ", SCHED_FIFO" : "", r->locked ? ", memory locked" : "");
    printf("%-12s %10s %10s %10s   us\n", "", "mean", "99.9 %", "max");
    for (i = 0; i < 3; i++) {
        const histogram *h = &r->times[i];
        if (h->all > 0)
            printf("%-12s %10.2f %10.2f %10.2f\n", NAMES[i], mean(h), quantile(h, 0.999), most(h));
    }
    for (i = 0; i < 3; i++) {
        if (r->times[i].all == 0) continue;
        printf("\n%s: [below us, cycles] ", NAMES[i]);
        print_bins(&r->times[i]);
    }
    printf("\n\noverruns     %10" PRIu64 "   (%" PRIu64 " cycles skipped)\n", r->overruns, r->skipped);
    if (o->mode != PLANT) return;
    printf("received     %10" PRIu64 "   (%" PRIu64 " lost, %" PRIu64 " out of order)\n", r->received, r->lost, r->stale);
    printf("too old      %10" PRIu64 "   cycles whose newest measurement was\n", r->old);
    printf("no packets   %10" PRIu64 "   that came, or packets without a time\n", r->bad_packets);
    printf("silent       %10" PRIu64 "   cycles without a new measurement\n", r->missing);
    printf("safe torque  %10" PRIu64 "   cycles, in %" PRIu64 " spells\n", r->safe_torques, r->spells);
    if (r->spells > 0) printf("             %10" PRIu64 "   silent cycles until the last spell's first one\n", r->silent);
    if (r->ramped > 0) printf("let down     %10" PRIu64 "   cycles at the end\n", r->ramped);
    if (r->safe)
        printf("SAFE         %10" PRIu64 "   (cycle) and it stayed safe\n", r->safe_cycle);
    else
        printf("safe state            never\n");
}

/* what is wanted before the first cycle */
static @STEM@_reference start_reference(const @STEM@_measurement *m)
{
    @STEM@_reference wanted;
    memset(&wanted, 0, sizeof wanted);
@IF INSIDE@
    (void)m;
@ELSE@
    memcpy(wanted.q, m->q, sizeof wanted.q);
@END@
    return wanted;
}

/* whether the arm is where the trajectory begins; says where it should be if not */
static int begins_there(const @STEM@_measurement *m, const options *o)
{
@IF INSIDE@
    static const double beginning[JOINTS] = { @BEGINNING@ };
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
    return 1;
@ELSE@
    (void)m;
    (void)o;
    return 1;
@END@
}

#define LATEST 1e9 /* s of the plant's clock: more is no time */
#define DRIFT 5e-4 /* seconds per second that clocks may go apart */

/* the plant's time of a measurement; below zero if these bytes are none */
static double time_of(const unsigned char *data, ssize_t bytes)
{
    double when;
    if (bytes != IN || take(data, 4) != MAGIC || take(data + 4, 4) != MEASUREMENT) return -1.0;
    when = take_number(data + 16);
    return when >= 0.0 && when <= LATEST ? when : -1.0;
}

/* the newest of the measurements that are here and the plant's time of it; returns how many there were */
static int receive(int link, @STEM@_measurement *m, double *t, report *r)
{
    unsigned char data[IN + 1];
    int tries, found = 0, i;
    for (tries = 0; tries < 100000; tries++) {
        const ssize_t got = recv(link, data, sizeof data, 0);
        uint64_t sequence;
        double when;
        if (got < 0 && (errno == ECONNREFUSED || errno == EINTR)) continue;
        if (got < 0) break;
        when = time_of(data, got);
        if (when < 0.0) {
            r->bad_packets++;
            continue;
        }
        sequence = take(data + 8, 8);
        if (r->received > 0 && sequence <= r->newest) {
            r->stale++;
            if (r->lost > 0) r->lost--;
            continue;
        }
        if (r->received > 0) r->lost += sequence - r->newest - 1;
        r->newest = sequence;
        r->received++;
        *t = when;
        for (i = 0; i < JOINTS; i++) {
            m->q[i] = (@T@)take_number(data + HEAD + 8 * i);
            m->qd[i] = (@T@)take_number(data + HEAD + 8 * (JOINTS + i));
        }
        found++;
    }
    return found;
}

/* Whether a measurement is young enough, by what its arrival is behind its own time. The quickest
 * of late counts as no delay; it is forgotten slowly, for the plant's clock may go slower. */
static int young(int64_t behind, int64_t *quickest, const options *o)
{
    *quickest += (int64_t)(o->period * SECOND * DRIFT) + 1;
    if (behind < *quickest) *quickest = behind;
    return (double)(behind - *quickest) <= o->oldest * SECOND;
}

/* whether there is a new measurement that is young enough, which is then the one seen last */
static int received_now(int link, const options *o, double *when, controller *c, report *r)
{
    @STEM@_measurement m = c->seen;
    double t = 0.0;
    if (receive(link, &m, &t, r) == 0) return 0;
    if (!young(now() - (int64_t)(t * SECOND), &c->offset, o)) {
        r->old++;
        return 0;
    }
    c->seen = m;
    *when = t;
    return 1;
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
static int64_t listened(int link, const options *o, controller *c, report *r)
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
        if (now() > end) return 0;
        if (now() > hello) {
            transmit(link, 0.0, none, LISTENING, r);
            hello = now() + SECOND / 20;
        }
        p.revents = 0;
        if (poll(&p, 1, 50) > 0 && receive(link, &c->seen, &c->when, r))
            offsets[heard++] = now() - (int64_t)(c->when * SECOND);
    }
    if (heard < o->listen) return 0;
    qsort(offsets, (size_t)heard, sizeof offsets[0], later);
    c->offset = offsets[0];
    first = offsets[heard - 2] + period / 16;
    first += period * ((now() - first) / period + 2);
    r->received = 0;
    r->lost = r->stale = r->unsent = r->bad_packets = 0;
    return first;
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
        else if (strcmp(word, "--wait") == 0 && number <= 1e9) o->wait = number;
        else if (strcmp(word, "--oldest") == 0 && number <= 1e9) o->oldest = number;
        else if (strcmp(word, "--start-tolerance") == 0) o->tolerance = number;
        else if (strcmp(word, "--period") == 0 && number >= 1e-6 && number <= 1e3) o->period = number;
        else return 0;
    }
    return 1;
}

static const char USAGE[] =
    "usage: @STEM@_loop [options]\n\n"
    "  --host ADDRESS       IPv4 address of the plant (@HOST@)\n"
    "  --port PORT          its port (@PORT@)\n"
    "  --cycles N           end after so many; 0: on SIGINT or SIGTERM (0)\n"
    "  --period S           seconds of a cycle (@PERIOD@, which the gains are for)\n"
    "  --hold N             cycles without a measurement that the last one stands in for (@HOLD@)\n"
    "  --oldest S           seconds of age at which a measurement counts as none (hold + 1 cycles)\n"
    "  --start-tolerance X  rad or m that the arm may be away from where the trajectory begins (@TOLERANCE@)\n"
    "  --listen N           packets to hear before the first cycle, which is set behind them (@LISTEN@)\n"
    "  --wait S             seconds to wait for the plant (10)\n"
    "  --empty              cycles that do nothing: what the machine's own scheduling does\n"
    "  --dry                no plant: step on made-up measurements, to time it\n"
    "  --json               print JSON\n\n"
    "@REFERENCE@\n"
    "@ENDING@\n"
    "Cycles that the loop itself misses count as cycles without a measurement.\n"
    "Exit code 0: fine, 1: ended in the safe state, 2: wrong options, no plant, or an arm\n"
    "that is not where the trajectory begins.\n";

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
@IF INSIDE@
    c->wanted.t = c->ending ? (double)NAN : t;
@ELSE@
    (void)t;
    for (int i = 0; c->ending && i < JOINTS; i++) c->wanted.q[i] = (@T@)NAN;
@END@
    c->status = @STEM@_step(&c->state, &c->measured, &c->wanted, c->torque);
}

/* a silent cycle: what the law is given instead of a measurement */
static void stand_in(const options *o, controller *c)
{
    int i;
@IF DIFFERENCE@
    for (i = 0; i < JOINTS; i++) c->seen.q[i] = c->before[i] + (@T@)c->silent * c->moved[i];
@END@
    c->measured = c->seen;
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
@IF DIFFERENCE@
    for (int i = 0; came && i < JOINTS; i++) {
        if (when > c->when) {
            const double moved = (double)(c->seen.q[i] - c->before[i]) * (o->period / (when - c->when));
            c->moved[i] = isfinite(moved) ? (@T@)moved : 0;
        }
        c->before[i] = c->seen.q[i];
    }
@END@
    c->when = when;
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
    const uint64_t after = @IF RAMPING@UINT64_C(@STEPS@)@ELSE@(uint64_t)(@AFTER@ / o->period + 1.0)@END@;
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
