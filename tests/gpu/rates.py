"""Rates of kernels and simulations on a GPU: `python -m tests.gpu.rates`.

Random inputs that lie on the device, the median of several launches by the driver's events.
JAX's vmap of the same algorithm stands beside where JAX is installed.
"""

import time

import cupy
import numpy as np

import dynamis as dy
from dynamis import control
from dynamis.compile.function import robot_function
from dynamis.compile.gpu import DeviceCode, driver
from dynamis.compile.kernels import KERNELS
from dynamis.spatial.functions import Functions
from tests.elastic_arms import elastic

SAMPLES = 1 << 24


def timed(action, repeats: int = 7) -> float:
    """Seconds of one run, the median."""
    action()
    found = []
    for _ in range(repeats):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        action()
        end.record()
        end.synchronize()
        found.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return float(np.median(found))


def kernel_rate(robot, name: str, dtype: str, fused: bool = False, count: int = SAMPLES):
    function = robot_function(robot, name)
    rng = cupy.random.default_rng(0)
    given = [(rng.random((count, *p.shape), dtype=dtype) - 0.5) * 4 for p in function.inputs]
    outs = [cupy.empty((count, *p.shape), dtype) for p in function.outputs]
    code = function.device_code(dtype, fused)
    places = [x.data.ptr for x in given], [p.size for p in function.inputs]
    seconds = timed(lambda: code.launch(0, 0, count, *places, [o.data.ptr for o in outs]))
    moved = sum(x.nbytes for x in (*given, *outs))
    return count / seconds, moved / seconds


def simulation_rate(robot, dtype: str, arms: int, steps: int, fused: bool = False, **options):
    """Steps of all arms per second, by the kernel alone."""
    q0 = np.random.default_rng(0).uniform(-0.5, 0.5, (arms, robot.n))
    found = []
    launch = DeviceCode.launch_with

    def watched(self, device, stream, *arguments):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(cupy.cuda.ExternalStream(stream))
        launch(self, device, stream, *arguments)
        end.record(cupy.cuda.ExternalStream(stream))
        end.synchronize()
        found.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)

    DeviceCode.launch_with = watched
    try:
        sim = dy.Simulator(robot, device="cuda", dtype=dtype, fused=fused, **options)
        for _ in range(4):
            sim.reset(q0)
            sim.run(steps * 1e-3, save_every=steps)
    finally:
        DeviceCode.launch_with = launch
    best = sorted(found)[-4:]  # the long launches; the others are the last instant
    return arms * steps / float(np.median(best))


def functions(xp, **others) -> Functions:
    """Elementary functions of a library."""
    names = ("sin", "cos", "sqrt", "exp", "tanh", "sign", "floor", "log")
    pairs = {"min": xp.minimum, "max": xp.maximum, "select": xp.where}
    return Functions(**{name: getattr(xp, name) for name in names}, **pairs | others)


def jax_rates(robot, name: str, dtype: str, count: int) -> float:
    """The same algorithm under jit and vmap."""
    import jax

    jax.config.update("jax_enable_x64", True)
    algorithm, c, fn = KERNELS[name].function(), robot.chain, functions(jax.numpy)
    one = lambda *x: jax.numpy.stack(algorithm(c, *(list(v) for v in x), fn=fn))  # noqa: E731
    many = jax.jit(jax.vmap(one))
    given = [jax.random.uniform(jax.random.key(k), (count, robot.n), dtype) for k in range(3)]
    many(*given).block_until_ready()
    found = []
    for _ in range(5):
        start = time.perf_counter()
        many(*given).block_until_ready()
        found.append(time.perf_counter() - start)
    return count / min(found)


def torch_rates(robot, name: str, dtype: str, count: int) -> float:
    """The same algorithm over columns of tensors, operation by operation."""
    import torch

    kind = getattr(torch, dtype)

    def select(condition, a, b):
        return torch.where(
            condition, *(torch.as_tensor(x, dtype=kind, device="cuda") for x in (a, b))
        )

    def both(function):
        return lambda a, b: function(
            *(torch.as_tensor(x, dtype=kind, device="cuda") for x in (a, b))
        )

    pair = {"min": both(torch.minimum), "max": both(torch.maximum)}
    algorithm, c, fn = (
        KERNELS[name].function(),
        robot.chain,
        functions(torch, select=select, **pair),
    )
    given = [torch.rand(robot.n, count, dtype=kind, device="cuda") for _ in range(3)]
    seconds = timed(
        lambda: (algorithm(c, *(list(v) for v in given), fn=fn), torch.cuda.synchronize()), 3
    )
    return count / seconds


def alone(rate, name: str, dtype: str, seconds: float = 60.0) -> float:
    """A rate of another library, in a process of its own: some compile for minutes."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply_async(other_rate, (rate.__name__, name, dtype)).get(seconds)


def other_rate(rate: str, name: str, dtype: str) -> float:
    """By names, for another process."""
    return globals()[rate](dy.load("puma560"), name, dtype, 1 << 20)


def main() -> None:
    print(dy.gpu.devices())
    puma = dy.load("puma560")
    start = time.perf_counter()
    driver()
    cupy.zeros(1)
    print(f"driver started in {time.perf_counter() - start:.2f} s")
    q = cupy.random.default_rng(1).random((1000, 6))
    start = time.perf_counter()
    puma.inverse_dynamics(q, q, q)
    cupy.cuda.Device().synchronize()
    print(f"first call of inverse dynamics {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    for _ in range(1000):
        puma.inverse_dynamics(q, q, q)
    cupy.cuda.Device().synchronize()
    print(f"one call of 1000 samples {(time.perf_counter() - start) * 1e3:.1f} us")
    print(f"{'PUMA 560':32}{'float64':>22}{'float32':>22}{'fused float64':>18}")
    names = ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "regressor",
             "mass_matrix", "fk", "jacobian")  # fmt: skip
    for name in names:
        count = SAMPLES // 16 if name == "regressor" else SAMPLES
        cells = [kernel_rate(puma, name, *how, count=count)
                 for how in (("float64",), ("float32",), ("float64", True))]  # fmt: skip
        text = "".join(f"{r / 1e9:12.2f}e9 {b / 1e12:5.2f}TB/s" for r, b in cells)
        print(f"{name:30}{text}", flush=True)
    for name in ("inverse_dynamics", "forward_dynamics"):
        for label, rate in (
            ("JAX, vmap", jax_rates),
            ("PyTorch, operation by operation", torch_rates),
        ):
            cells = []
            for dtype in ("float64", "float32"):
                try:
                    cells.append(f"{alone(rate, name, dtype) / 1e9:12.3f}e9/s")
                except Exception as error:
                    cells.append(f"  {type(error).__name__}: {error}"[:80])
            print(f"  {name} by {label:36}{''.join(cells)}", flush=True)
    simulations()


def simulations() -> None:
    """Rates of simulations, rigid and elastic."""
    puma, ur = dy.load("puma560"), dy.load("ur10e")
    memory = dy.Memory((1e-3, 1e-2), (0.3, 0.5))  # two elements a joint
    hysteretic = puma.with_friction(viscous=0.1, coulomb=0.5, memory=memory)
    both = elastic(puma).with_friction(viscous=0.1, coulomb=0.5)  # that of the motors stays theirs
    for label, robot, options in (
        ("UR10e, RK4", ur, {}),
        ("PUMA 560, static friction, RK4", puma, {}),
        ("UR10e, computed torque", ur, {
            "controller": control.ComputedTorque(kp=100.0, kd=20.0), "reference": np.zeros(6)}),
        ("PUMA 560, computed torque", puma, {
            "controller": control.ComputedTorque(kp=100.0, kd=20.0), "reference": np.zeros(6)}),
        ("PUMA 560, friction with memory", hysteretic, {}),
        ("UR10e, elastic joints", elastic(ur), {}),
        ("PUMA 560, elastic, friction of both sides", both, {}),
    ):  # fmt: skip
        line = f"{label:44}"
        for dtype, fused in (("float64", False), ("float64", True), ("float32", False),
                             ("float32", True)):  # fmt: skip
            rate = simulation_rate(robot, dtype, 1 << 18, 500, fused, **options)
            line += f"  {dtype}{' fused' if fused else ''} {rate / 1e9:.2f}e9/s"
        print(line, flush=True)


if __name__ == "__main__":
    main()
