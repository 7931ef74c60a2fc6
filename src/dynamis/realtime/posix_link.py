"""The link of the POSIX loop to its plant, in C: packets in and out, and listening before the first cycle."""

C_LINK = r"""
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
"""
