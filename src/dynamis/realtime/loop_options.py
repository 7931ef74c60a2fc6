"""The options of the POSIX loop of a controller, in C."""

C_OPTIONS = r"""
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
"""
