"""What the POSIX loop of a controller counts and prints, in C: times as histograms, a table, JSON."""

C_CLOCK = r"""
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
"""

C_COUNTS = r"""
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
"""

C_REPORT = r"""
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
"""
