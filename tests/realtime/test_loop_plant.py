"""A loop against the simulated arm, over UDP: in lock step with it, and as a process beside it."""

import json
import os
import socket
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

import dynamis as dy
from dynamis.realtime.loop.plant import PlantRun, PlantServer, tracking_table

from .loops import FLAGS, LASTS, LATCH, MOVE, TRACKING

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
BEGINNING = 1000.0  # s: what the loop's clock shows then


class LockStep:
    """The clock of a loop and a plant: it waits for both, however long a machine takes for them."""

    def __init__(self, program, *words):
        self.time, self.sent = 0.0, 0
        ours, theirs = socket.socketpair()
        self.line = ours.makefile("rwb", buffering=0)
        ours.close()
        with theirs:
            self.loop = subprocess.Popen(
                [str(program), *map(str, words)],
                stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        self._hear()

    def _hear(self):
        """Until when the loop sleeps, and whether a packet wakes it; forever if it has ended."""
        asked = self.line.read(16)
        until, packet = struct.unpack("2q", asked) if asked else (2**62, 0)
        self.wakes, self.listens = 1e-9 * until - BEGINNING, bool(packet)
        self.until, self.ended = until, not asked

    def _wake(self, nanoseconds):
        self.line.write(struct.pack("q", nanoseconds))
        self._hear()

    def now(self):
        return self.time

    def wait(self, server, seconds):
        """Let time pass for the plant; the loop has its cycles meanwhile."""
        if self.listens and server.found.sent > self.sent:
            self.sent = server.found.sent
            self._wake(round(1e9 * (BEGINNING + self.time)))
        elif self.wakes <= self.time + seconds:
            self.time = max(self.time, self.wakes)
            self.sent = server.found.sent
            self._wake(self.until)
        else:
            self.time += seconds
        if self.ended:
            server.stop()

    def end(self):
        """Without the plant: what the loop counted and said."""
        while not self.ended:
            self._wake(self.until)
        self.line.close()
        out, err = self.loop.communicate()
        return json.loads(out), err


@pytest.fixture(scope="module")
def stepped(cc, puma):
    """The PUMA's loop with a clock that does not run by itself."""
    folder = puma.parent
    (loop,) = folder.glob("*_loop.c")
    (law,) = (f for f in folder.glob("*.c") if not f.name.endswith(("_test.c", "_loop.c")))
    source, program = folder / "simulated.h", folder / "simulated"
    source.write_text(SIMULATED.replace("@LOOP@", loop.name))
    command = [cc, *FLAGS, "-x", "c", source, law, "-lm", "-o", program]
    subprocess.run(command, check=True)
    return program


def follow(program, cycles, duration=np.inf, **line):
    """A plant, and what the loop that moved its arm counted and said."""
    server = PlantServer(dy.load("puma560"), 0, **line)
    server.clock = LockStep(program, "--port", server.port, "--cycles", cycles, "--json")
    server.run(duration)
    return (server.found, server.clock.loop, *server.clock.end())


def test_the_puma_follows_over_a_lossy_line(stepped, compiled, tmp_path):
    log, motion = tmp_path / "run.csv", dy.trajectory.quintic(np.zeros(6), np.array(MOVE), LASTS)
    plant, loop, found, err = follow(stepped, 3000, loss=0.01, jitter=0.001)
    plant.save(log)
    assert loop.returncode == 0, err
    assert not found["safe"] and found["lost"] > 0 and found["skipped"] == plant.overruns == 0
    assert plant.lost_torques > 0 and plant.lost >= found["lost"]
    assert err.count("SAFE TORQUE: cycle") == min(found["spells"], 20)
    tracked = tracking_table(PlantRun.read(log), motion)
    assert tracked.steps > 2900 and tracked.running > 0.99, tracked
    assert tracked.rms.max() < TRACKING, tracked


def test_a_plant_that_ends_is_answered_by_the_safe_torque_and_the_safe_state(stepped, compiled):
    _, loop, found, err = follow(stepped, 20000, duration=1.0)
    assert loop.returncode == 1 and found["safe"] and found["skipped"] == 0
    assert err.splitlines()[-1].startswith("SAFE: cycle")
    assert f"no measurement for {LATCH + 1} cycles" in err
    assert found["silent_until_safe_torque"] == 2 and found["safe_torques"] > LATCH
    assert found["cycles"] < 1100


def test_a_killed_plant_ends_it_in_the_safe_state(puma):
    """By the clock of the machine, with the command `dynamis plant`."""
    command = [sys.executable, "-m", "dynamis", "plant", "puma560", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    for patience in (0.5, 5.0, 50.0):  # a busy machine begins late
        compiling = {**os.environ, "DYNAMIS_COMPILE": "on"}  # a step in Python takes 3 ms
        with subprocess.Popen(command, **pipes, env=compiling) as plant:
            assert plant.stderr is not None
            port = plant.stderr.readline().split()[-1]
            words = ["--port", port, "--cycles", "200000", "--json"]
            with subprocess.Popen([str(puma), *words], **pipes) as loop:
                time.sleep(patience)
                plant.kill()
                out, err = loop.communicate()
        if "no plant" not in err:
            break
    found = json.loads(out)
    assert loop.returncode == 1 and found["safe"] and found["cycles"] < 200000
    assert err.splitlines()[-1].startswith("SAFE: cycle")
    assert found["safe_torques"] > LATCH
