"""Rates of studies beside their bare ensembles: `python -m tests.gpu.study_rates`.

On a GPU the bare rate is that of the kernel alone; on processors that of the compiled loop over
the same arms without draws, measures and summaries.
"""

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np

import dynamis as dy
from dynamis.simulation.assembly import Assembly
from dynamis.simulation.loop import CHUNK, advance, loop_of
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


def on_gpu(name, dtype, steps, samples):
    import cupy

    from dynamis.compile.gpu import DeviceCode

    launch, spans = DeviceCode.launch_with, []

    def watched(self, *arguments):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        launch(self, *arguments)
        end.record()
        end.synchronize()
        spans.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)

    run = case(name, steps, samples, device="cuda", dtype=dtype)
    run()
    wall, _ = best(run)
    DeviceCode.launch_with = watched
    run()
    DeviceCode.launch_with = launch
    total, kernel = samples * steps, sum(spans)
    rates = f"study {total / wall:.3g} steps/s ({wall:.3f} s), kernel alone {total / kernel:.3g}"
    print(f"{name} {dtype} {samples} x {steps}: {rates}, {kernel / wall:.1%}", flush=True)


def bare(study, threads):
    """Seconds of the loop over the same arms."""
    own, ensemble = study.case, study.case._ensemble(())
    settings = replace(ensemble.s, measures=None)
    assembly = Assembly(settings)
    draw = own.draw(0, study.samples)
    s = ensemble._started(draw, settings, threads)
    loop, steps = loop_of(assembly.tasks, s), s.steps + 1

    def run():
        x = assembly.start(s)
        for first in range(0, steps, CHUNK):
            advance(s, assembly, loop, x, first, min(CHUNK, steps - first), None, 1)

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
    most = cores()
    if "cpu" not in sys.argv:
        for dtype in ("float32", "float64"):
            on_gpu("ur10e", dtype, 7630, 1 << 17)
        on_gpu("ur10e", "float32", 2000, 1 << 19)
        on_gpu("puma560", "float32", 2000, 1 << 17)
    for name in ("ur10e", "puma560"):
        one = on_processors(name, 2000, 4096, 1)
        many = on_processors(name, 2000, 4096 * most, most)
        print(f"{name}: {most} cores give {most * one / many:.2f}x one")
        in_processes(name, 2000, 4096 * most, most)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
