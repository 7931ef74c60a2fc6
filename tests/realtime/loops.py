"""Loops compiled for tests, and plants that answer them, or do not."""

import contextlib
import json
import math
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from typing import NamedTuple

import pytest

from dynamis.realtime.export import export_controller
from dynamis.realtime.loop import udp

FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
SLOW = 0.04  # s: a cycle that any machine keeps
LATCH = 50  # bad samples of the puma's loop until it stays safe
MOVE, LASTS = [0.5, -0.4, 0.6, 0.2, 0.3, 0.1], 2.0
# e = qd * delay: the measurement is up to two cycles old when its torque is made, which takes up to
# one more; qd is 0.33 rad/s in the mean square, so 1 mrad
TRACKING = 1e-3
AGELESS = ("--oldest", 1000)  # for plants whose time is a count of answers
BEGINNING = (0.3, -0.2)  # of the small arm's trajectory


def built(cc, folder, law, arm, sample_time=0.005, *flags, **options):
    """The loop of a controller, compiled."""
    with pytest.MonkeyPatch.context() as patch:  # the run that its self-test replays
        patch.setenv("DYNAMIS_COMPILE", "on")
        export_controller(arm, law, folder, sample_time, **options)
    sources = [str(f) for f in sorted(folder.glob("*.c")) if not f.name.endswith("_test.c")]
    command = [cc, *FLAGS, *flags, *sources, "-lm", "-o", str(folder / "loop")]
    subprocess.run(command, check=True)
    return folder / "loop"


def ran(program, *words):
    return subprocess.run(
        [str(program), *map(str, words)], capture_output=True, text=True, check=False
    )


# time passes only while the loop sleeps or waits for a packet, and as the test says
SIMULATED = r"""
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static int64_t simulated = INT64_C(1000000000000);

static void pass(int64_t until, int64_t packet)
{
    const int64_t asked[2] = { until, packet };
    if (write(0, asked, sizeof asked) != sizeof asked) _exit(9);
    if (read(0, &simulated, sizeof simulated) != sizeof simulated) _exit(9);
}

static int simulated_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    t->tv_sec = (time_t)(simulated / 1000000000);
    t->tv_nsec = (long)(simulated % 1000000000);
    return 0;
}

static int simulated_nanosleep(clockid_t clock, int flags, const struct timespec *t,
                               struct timespec *left)
{
    const int64_t until = (int64_t)t->tv_sec * 1000000000 + (int64_t)t->tv_nsec;
    (void)clock, (void)flags, (void)left;
    if (until > simulated) pass(until, 0);
    return 0;
}

static int simulated_poll(struct pollfd *p, nfds_t n, int milliseconds)
{
    const int found = poll(p, n, 0);
    if (found != 0) return found;
    pass(simulated + (int64_t)milliseconds * 1000000, 1);
    return poll(p, n, 0);
}

#define clock_gettime simulated_gettime
#define clock_nanosleep simulated_nanosleep
#define poll simulated_poll
#include "@LOOP@"
"""
EPOCH = 1000.0  # s: what a stepped loop's clock shows at first


class SteppedLoop:
    """A loop whose time is given to it: a busy machine makes it no later.

    It sleeps `until` a time (ns), or, if it `listens`, until a packet has come; `wake` lets it go
    on to where it sleeps again, or has `ended`.
    """

    def __init__(self, program, *words):
        ours, theirs = socket.socketpair()
        self.line, self.now = ours.makefile("rwb", buffering=0), 0.0
        ours.close()
        with theirs:
            self.process = subprocess.Popen(
                [str(simulated(program)), *map(str, words)], stdin=theirs.fileno(),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        self._hear()

    def _hear(self):
        asked = self.line.read(16)
        self.until, listens = struct.unpack("2q", asked) if asked else (2**62, 0)
        self.listens, self.ended = bool(listens), not asked
        self.wakes = 1e-9 * self.until - EPOCH

    def wake(self, now=None):
        """At a time of ours, or when it asked for."""
        self.now = self.wakes if now is None else now
        given = self.until if now is None else round(1e9 * (EPOCH + now))
        self.line.write(struct.pack("q", given))
        self._hear()

    def told(self):
        """Its end, with what it said."""
        while not self.ended:
            self.wake()
        self.line.close()
        out, err = self.process.communicate()
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, out, err)


def simulated(program):
    """The program of a loop with a clock that does not run by itself."""
    folder, made = program.parent, program.with_name("simulated")
    if not made.exists():
        cc = next(x for x in ("cc", "gcc", "clang") if shutil.which(x))
        (loop,) = folder.glob("*_loop.c")
        (law,) = (f for f in folder.glob("*.c") if not f.name.endswith(("_test.c", "_loop.c")))
        source = folder / "simulated.h"
        source.write_text(SIMULATED.replace("@LOOP@", loop.name))
        subprocess.run([cc, *FLAGS, "-x", "c", source, law, "-lm", "-o", made], check=True)
    return made


class Heard(NamedTuple):
    """A torque packet, and when it came."""

    at: float
    t: float
    torque: tuple[float, ...]
    status: float


class Answering:
    """A plant that answers every torque with one measurement, or with as many as it is told to.

    The number of a measurement is its position, so that a torque tells which one it was made of.
    No clock is involved: a machine that stops the plant makes silent cycles, but no wrong answers.
    A context is a plant that answers by itself; `answer` does it by hand, at a time.
    """

    def __init__(self, answers, spoiled=(), speed=1.0):
        self.answers, self.spoiled, self.speed = answers, spoiled, speed
        self.heard, self.sent, self.hellos, self.done = [], 0, 0, False
        self.now = self.sent_at = 0.0
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind((udp.HOST, 0))
        self.link.settimeout(0.05)
        self.port = self.link.getsockname()[1]
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self.port

    def __exit__(self, *_):
        self.done = True  # what is on its way is still heard
        self.thread.join()
        self.link.close()

    def run(self):
        while True:
            try:
                packet = self.link.recvfrom(2048)
            except TimeoutError:
                if self.done:
                    return
                continue
            self.now = time.monotonic()
            self.hear(*packet)

    def answer(self, now):
        """Everything that is there."""
        self.link.setblocking(False)
        self.now = now
        with contextlib.suppress(BlockingIOError):
            while True:
                self.hear(*self.link.recvfrom(2048))

    def hear(self, data, peer):
        packet = udp.torque_of(data, 2)
        assert packet is not None, "a torque that is no number"
        *torque, status = packet.values
        if status == udp.LISTENING:  # the arm stands still
            self.hellos += 1
            self.send(self.hellos - 1000, 0.0, peer)
            return
        self.heard.append(Heard(self.now, packet.t, tuple(torque), status))
        k = len(self.heard)
        for _ in range(self.answers.get(k, 1)):
            self.sent = max(self.sent + 1, k)
            place = math.nan if k in self.spoiled else self.speed * self.sent
            self.send(self.sent, place, peer)

    def send(self, number, place, peer):
        t = SLOW * (number + 1000)
        data = udp.measurement(number + 1000, t, [place, 0.0], [0.0, 0.0])
        with contextlib.suppress(ConnectionError):  # the loop has ended
            self.link.sendto(data, peer)
        self.sent_at = self.now


def answered(program, answers, *words, spoiled=(), cycles=40, speed=1.0):
    """What a loop says, counts and sends, in lock step with a plant."""
    plant = Answering(answers, spoiled, speed)
    with plant.link:
        given = ("--port", plant.port, "--listen", 3, *AGELESS, *words)
        loop = SteppedLoop(program, "--cycles", cycles, "--json", *given)
        while not loop.ended:
            plant.answer(loop.now)
            loop.wake()
        plant.answer(loop.now)
    told = loop.told()
    found = json.loads(told.stdout)
    assert found["overruns"] == found["skipped"] == 0
    assert plant.heard[-1].status == udp.BYE
    return told, found, plant.heard[:-1], plant


def silent_from(k, until=1000):
    return dict.fromkeys(range(k, until), 0)


def statuses(heard):
    return [one.status for one in heard]


class Clocked:
    """A plant that measures by its own clock, at rest until a torque acts, then at a steady speed.

    `lag` makes it say where the arm was, and when, so many seconds ago.
    """

    def __init__(self, speed=0.0, rest=(0.0, 0.0), every=SLOW / 8):
        self.speed, self.rest, self.every, self.lag = speed, rest, every, 0.0
        self.heard, self.done, self.begun = [], False, time.monotonic() - 10.0
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind((udp.HOST, 0))
        self.port = self.link.getsockname()[1]
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        time.sleep(0.1)  # what is on its way
        self.done = True
        self.thread.join()
        self.link.close()

    def clock(self):
        return time.monotonic() - self.begun

    def run(self):
        peer, k, due = None, 0, time.monotonic()
        while not self.done:
            due = max(due + self.every, time.monotonic())
            self.link.settimeout(max(1e-4, due - time.monotonic()))
            with contextlib.suppress(TimeoutError, ConnectionError):
                while time.monotonic() < due:
                    data, peer = self.link.recvfrom(2048)
                    packet = udp.torque_of(data, 2)
                    assert packet is not None, "a torque that is no number"
                    *torque, status = packet.values
                    if status != udp.LISTENING:
                        self.heard.append(Heard(self.clock(), packet.t, tuple(torque), status))
                    self.link.settimeout(max(1e-4, due - time.monotonic()))
            if peer is not None:
                t, k = self.clock() - self.lag, k + 1
                place = self.rest[0] + (self.speed * t if self.heard else 0.0)
                with contextlib.suppress(OSError):
                    self.link.sendto(udp.measurement(k, t, [place, self.rest[1]], [0.0, 0.0]), peer)

    def wait(self, count):
        """Until so many torques came."""
        while len(self.heard) < count:
            assert self.thread.is_alive(), "nobody listens"
            time.sleep(0.005)


def begun(program, plant, *words):
    words = ("--port", plant.port, "--listen", 5, "--json", *words)
    return subprocess.Popen(
        [str(program), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(loop):
    out, err = loop.communicate()
    return json.loads(out), err


def stop_for(loop, seconds, plant):
    """Stops a loop for a while; returns how many torques came before."""
    loop.send_signal(signal.SIGSTOP)
    time.sleep(seconds / 2)
    before = len(plant.heard)
    time.sleep(seconds / 2)
    loop.send_signal(signal.SIGCONT)
    return before
