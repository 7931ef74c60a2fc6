"""What calls of dynamis.torch cost: overhead, rates and memory, on every device there is.

    python tests/gpu/torch_bench.py [--robot puma560] [--batch N] [--dtype float64]

Overhead is a call on a batch of 8 less the kernel inside it. Rates are of evaluations per second,
of inverse dynamics and of its backward pass in the state.
"""

import argparse
import time
from statistics import median

import numpy as np
import torch

import dynamis as dy
import dynamis.torch as dt
from dynamis.compile.function import robot_function

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
BATCH = {"cpu": 10_000, "cuda": 1_000_000}
SMALL, CALLS, ROUNDS, REPEATS = 8, 50, 60, 20


def call_time(call, device) -> float:
    """Seconds of one call, the best of many rounds: what other programs take is not its cost."""
    for _ in range(CALLS):
        call()
    best = float("inf")
    for _ in range(ROUNDS):
        synchronise(device)
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        synchronise(device)
        best = min(best, (time.perf_counter() - start) / CALLS)
    return best


def synchronise(device) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def work_time(work, device) -> float:
    """Seconds of work on a large batch, by the device's own clock."""
    work()
    times = []
    for _ in range(REPEATS):
        if device == "cuda":
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            work()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) * 1e-3)
        else:
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    return median(times)


def kernel_time(robot, dtype: str) -> float:
    """Seconds of the machine code alone on a batch of 8."""
    code = robot_function(robot, "inverse_dynamics").code(dtype)
    given, out = np.random.rand(3, SMALL, robot.n).astype(dtype), np.empty((SMALL, robot.n), dtype)
    one = call_time(lambda: code.run(given, [0] * 3, [out[:1]], 1, 1), "cpu")
    many = call_time(lambda: code.run(given, [robot.n] * 3, [out], SMALL, 1), "cpu")
    return max(many - one, 0.0)


def overhead(robot, device: str, dtype: str) -> None:
    given = torch.rand(3, SMALL, robot.n, device=device, dtype=getattr(torch, dtype)).unbind()
    wanting = [x.clone().requires_grad_() for x in given]
    seed = torch.ones_like(given[0])
    a, b, c = wanting
    calls = {
        "forward": lambda: dt.inverse_dynamics(robot, *given),
        "forward, recorded": lambda: dt.inverse_dynamics(robot, *wanting),
        "forward and backward": lambda: torch.autograd.grad(
            dt.inverse_dynamics(robot, *wanting), wanting, seed
        ),
        "step": lambda: dt.step(robot, *given),
        "(PyTorch: a + b)": lambda: given[0] + given[1],
        "(PyTorch: a b + c, forward and backward)": lambda: torch.autograd.grad(
            a * b + c, wanting, seed
        ),
    }
    kernel = kernel_time(robot, dtype) if device == "cpu" else 0.0
    print(f"  batch of {SMALL}, kernel {kernel * 1e6:.2f} us")
    for name, call in calls.items():
        print(f"    {name:42} {call_time(call, device) * 1e6:8.2f} us")


def rates(robot, device: str, dtype: str, batch: int) -> None:
    given = torch.rand(3, batch, robot.n, device=device, dtype=getattr(torch, dtype)).unbind()
    wanting = [x.clone().requires_grad_() for x in given]
    own = torch.tensor(robot.parameters.values, device=device, dtype=getattr(torch, dtype))
    own.requires_grad_()
    seed = torch.ones_like(given[0])
    torque = dt.inverse_dynamics(robot, *wanting)
    shared = dt.inverse_dynamics(robot, *given, parameters=own)

    def of(torque, arguments):
        return lambda: torch.autograd.grad(torque, arguments, seed, retain_graph=True)

    forward = work_time(lambda: dt.inverse_dynamics(robot, *given), device)
    works = {
        "forward": forward,
        "backward in the state": work_time(of(torque, wanting), device),
        "backward in shared parameters": work_time(of(shared, [own]), device),
    }
    print(f"  batch of {batch}")
    for name, seconds in works.items():
        ratio = seconds / forward
        print(f"    {name:32} {seconds * 1e3:9.3f} ms {batch / seconds:10.3g} /s {ratio:6.2f} x")
    if device == "cuda":
        del torque, shared
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        dt.inverse_dynamics(robot, *wanting).sum().backward()
        print(
            f"    peak memory of both {(torch.cuda.max_memory_allocated() - before) / 1e6:.1f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--robot", default="puma560")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--dtype", nargs="+", default=["float64", "float32"])
    given = parser.parse_args()
    robot = dy.load(given.robot)
    for device in DEVICES:
        name = torch.cuda.get_device_name() if device == "cuda" else "processor"
        for dtype in given.dtype:
            print(f"{robot.name}, inverse dynamics, {name}, {dtype}, PyTorch {torch.__version__}")
            overhead(robot, device, dtype)
            rates(robot, device, dtype, given.batch or BATCH[device])


if __name__ == "__main__":
    main()
