"""Rates of studies beside their bare ensembles: `python -m tests.gpu.study_rates`.

With `gpu` or `cpu` only those of the GPU or of the processors. Bare on a GPU: all arms in one
launch of the study's kernel, by the driver's events, what it needs lying there already. Bare on
processors: the compiled loop over the same arms without draws, measures and summaries. Of a study
on a GPU it is said where the time goes; `sizes` tries launches of several sizes by several threads.
"""

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

import dynamis as dy
from dynamis.simulation.assembly import Assembly
from dynamis.simulation.loop import CHUNK, Simulation, loop_of
from dynamis.study import workers
from dynamis.study.workers import cores

MEASURES = ("peak_torque", "peak_velocity")


def case(name, steps, samples, **more):
    robot = dy.load(name)
    vary = dy.Scatter(robot, mass=0.05, com=0.005, payload=(0.0, 3.0), q0=0.3, consistent=False)
    return lambda: dy.study(
        robot, steps * 1e-3, vary=vary, samples=samples, measure=MEASURES, drives=False, **more
    )


def best(action, repeats=3):
    found = []
    for _ in range(repeats):
        begun = time.perf_counter()
        result = action()
        found.append(time.perf_counter() - begun)
    return min(found), result


# a GPU


@contextmanager
def replaced(places):
    """Attributes of modules and classes that are others for a while: (owner, name, make)."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
    for owner, name, make in places:
        setattr(owner, name, make(getattr(owner, name)))
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


class Watch:
    """Seconds by what they were spent on, over all threads; what ran on the GPU, and when."""

    def __init__(self):
        from dynamis.compile import gpu
        from dynamis.simulation import device
        from dynamis.study import case as cases
        from dynamis.study import ensemble as ensembles
        from dynamis.study import study as studies

        self.gpu, self.spent, self.events, self.open = gpu, [], [], {}
        self.places = [
            (cases.Case, "draw", self.timed("drawing")),
            (Assembly, "start", self.timed("states and parameters")),
            (Assembly, "constants", self.timed("states and parameters")),
            (Assembly, "signals_of", self.timed("signals")),
            (gpu.Lane, "send", self.sending),
            (gpu.Lane, "fetch", self.timed("asking for copies")),
            (gpu.Lane, "wait", self.waiting),
            (gpu.DeviceCode, "launch_with", self.launching),
            (device.DeviceLoop, "_code", self.timed("kernel found")),
            (ensembles.Ensemble, "_results", self.timed("results")),
            (cases, "summed", self.timed("summing up")),
            (studies, "added", self.timed("adding summaries")),
        ]

    def timed(self, what):
        def make(function):
            def call(*arguments, **named):
                begun = time.perf_counter()
                try:
                    return function(*arguments, **named)
                finally:
                    self.spent.append((what, time.perf_counter() - begun))

            return call

        return make

    def mark(self, stream):
        event = self.gpu.call("cuEventCreate", 0)
        self.gpu.call("cuEventRecord", event, stream)
        return event

    def sending(self, function):
        timed = self.timed("asking for copies")(function)

        def send(lane, name, array, stream):
            if id(lane) not in self.open:
                self.open[id(lane)] = [self.mark(stream)]
            return timed(lane, name, array, stream)

        return send

    def launching(self, function):
        def launch(code, device, stream, count, arguments):
            with self.gpu.lane(device) as lane:
                marks = self.open.setdefault(id(lane), [self.mark(stream)])
                marks.append(self.mark(stream))
                function(code, device, stream, count, arguments)
                marks.append(self.mark(stream))

        return launch

    def waiting(self, function):
        timed = self.timed("waiting for the GPU")(function)

        def wait(lane, stream):
            marks = self.open.pop(id(lane), None)
            if marks is not None:
                marks.append(self.mark(stream))
            timed(lane, stream)
            if marks is not None:
                self.events.append(marks)

        return wait

    def seconds(self, start, end):
        return self.gpu.call("cuEventElapsedTime", start, end) / 1e3

    @contextmanager
    def on(self):
        """Within it, everything is watched."""
        with self.gpu.lane(0) as lane, replaced(self.places):
            self.first = self.mark(lane.stream)
            self.gpu.call("cuStreamSynchronize", lane.stream)
            self.begun = time.perf_counter()
            yield
            self.ended = time.perf_counter()

    def kernels(self):
        """Seconds from the beginning to that of every kernel and to its end."""
        return sorted(
            (self.seconds(self.first, m[1]), self.seconds(self.first, m[2])) for m in self.events
        )

    def said(self):
        wall = self.ended - self.begun
        found = {}
        for what, seconds in self.spent:
            found[what] = found.get(what, 0.0) + seconds
        listed = ", ".join(f"{what} {seconds:.3f}" for what, seconds in found.items())
        print(f"  watched {wall:.3f} s; seconds of all threads: {listed}")
        spans, busy, upto = self.kernels(), 0.0, 0.0
        for a, b in spans:
            busy, upto = busy + max(0.0, b - max(a, upto)), max(upto, b)
        sums = [sum(self.seconds(m[k], m[k + 1]) for m in self.events) for k in range(3)]
        print(f"  on the GPU: {len(spans)} launches, {sums[0]:.3f} s uploads, {sums[1]:.3f} s "
              f"kernels, {sums[2]:.3f} s downloads, added up; first kernel at {spans[0][0]:.3f} s, "
              f"last over at {upto:.3f} s, {busy:.3f} s with a kernel", flush=True)  # fmt: skip
        print("  kernels from-to (ms):", " ".join(f"{1e3 * a:.0f}-{1e3 * b:.0f}"
              for a, b in spans[:40]), flush=True)  # fmt: skip


def bare_on_gpu(study, samples):
    """Seconds of the study's kernel over its first samples, in one launch."""
    ensemble = study.case.ensemble(())
    m, draw = ensemble.assembly, study.case.draw(0, samples, cores())
    s = ensemble.started(draw, ensemble.s, None)
    loop, x, steps, found = ensemble._loop(s), m.start(s), s.steps + 1, []
    for _ in range(4):
        watch = Watch()
        with watch.on():
            Simulation(s, m, x.copy()).advance(loop, 0, steps)
        found.append(sum(b - a for a, b in watch.kernels()))
    return min(found)


def on_gpu(name, dtype, steps, samples, sizes=False):
    run = case(name, steps, samples, device="cuda", dtype=dtype)
    first, _ = best(run, 1)
    wall, study = best(run, 5)
    alone, total = bare_on_gpu(study, samples), samples * steps
    print(f"{name} {dtype} {samples} x {steps}: study {total / wall:.3g} steps/s ({wall:.3f} s, "
          f"{first:.1f} s the first time), bare {total / alone:.3g} ({alone:.3f} s), "
          f"{alone / wall:.1%}", flush=True)  # fmt: skip
    watch = Watch()
    with watch.on():
        run()
    watch.said()
    if sizes:
        for k in range(13, min(samples.bit_length(), 18)):
            seconds = bare_on_gpu(study, 1 << k)
            rate = steps * (1 << k) / seconds
            print(f"  one launch of {1 << k}: {rate:.3g} steps/s ({seconds:.3f} s)", flush=True)
        for launch in (1 << 13, 1 << 14, 1 << 15):
            for threads in (4, 8, 12):
                places = [(workers, "BESIDE", lambda _, x=launch: x)]
                places += [(workers, "AT_A_GPU", lambda _, x=threads: x)]
                with replaced(places):
                    wall, _ = best(run)
                print(f"  {threads} threads, launches of {launch}: {total / wall:.3g} steps/s "
                      f"({wall:.3f} s), {alone / wall:.1%}", flush=True)  # fmt: skip


# processors


def bare(study, threads):
    """Seconds of the loop over the same arms."""
    own, ensemble = study.case, study.case.ensemble(())
    settings = replace(ensemble.s, measures=None)
    assembly = Assembly(settings)
    draw = own.draw(0, study.samples)
    s = ensemble.started(draw, settings, threads)
    loop, steps = loop_of(assembly.tasks, s), s.steps + 1

    def run():
        x = assembly.start(s)
        for first in range(0, steps, CHUNK):
            Simulation(s, assembly, x).advance(loop, first, min(CHUNK, steps - first))

    run()
    return best(run)[0]


def on_processors(name, steps, samples, threads):
    run = case(name, steps, samples, threads=threads)
    run()
    wall, study = best(run)
    alone = bare(study, threads)
    total = samples * steps
    print(f"{name} {samples} x {steps}, {threads} threads: study {total / wall:.3g} steps/s, bare "
          f"{total / alone:.3g}, {alone / wall:.1%}", flush=True)  # fmt: skip
    return wall


def in_processes(name, steps, samples, count):
    with ProcessPoolExecutor(count) as executor:
        run = case(name, steps, samples, executor=executor)
        run()
        wall, _ = best(run)
    print(f"{name} {samples} x {steps}, {count} processes: {samples * steps / wall:.3g} steps/s",
          flush=True)  # fmt: skip
    return wall


def main():
    asked, most = sys.argv[1:], cores()
    if "cpu" not in asked:
        on_gpu("ur10e", "float32", 7630, 1 << 17, "sizes" in asked)
        on_gpu("ur10e", "float32", 2000, 1 << 19, "sizes" in asked)
        on_gpu("puma560", "float32", 2000, 1 << 17)
        on_gpu("ur10e", "float64", 7630, 1 << 17)
    if "gpu" in asked:
        return
    for name in ("ur10e", "puma560"):
        one = on_processors(name, 2000, 4096, 1)
        many = on_processors(name, 2000, 4096 * most, most)
        print(f"{name}: {most} cores give {most * one / many:.2f}x one")
        in_processes(name, 2000, 4096 * most, most)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
