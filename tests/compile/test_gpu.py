"""Code for GPUs without one: PTX and its structure, and its IR run by threads of the processor."""

import ctypes
import re
import threading
from dataclasses import replace

import llvmlite.binding as llvm
import numpy as np
import pytest

import dynamis as dy
from dynamis import control
from dynamis.compile.arrays import run
from dynamis.compile.function import kernel_function
from dynamis.compile.gpu import ptx_of
from dynamis.compile.kernels import KERNELS
from dynamis.compile.llvm_gpu import layout, module
from dynamis.compile.llvm_gpu_loop import THREADS, LoopTask, loop_kernel
from dynamis.compile.machine import Loaded, object_code, ptx_code
from dynamis.errors import DeviceError, OptionError
from dynamis.simulation import tasks
from dynamis.simulation.device import DeviceLoop
from dynamis.simulation.settings import changed
from tests.simulation.own_states import Aging, Maxwell
from tests.thorough import thorough_but

from ..closed_mechanisms import five_bar, motions

COUNT = 70  # a whole block of 64 threads and a part of the next


class Grid:
    """The threads of a GPU as threads of this process: numbers of blocks and threads, barriers."""

    def __init__(self):
        self.here, self.barrier = threading.local(), None
        number, nothing = ctypes.CFUNCTYPE(ctypes.c_int32), ctypes.CFUNCTYPE(None)
        self.kept = {
            "block_number": number(lambda: self.here.block),
            "thread_number": number(lambda: self.here.thread),
            "barrier": nothing(lambda: self.barrier.wait() and None),
        }
        for name, function in self.kept.items():
            llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)

    def launch(self, ir: str, arguments, threads: int, count: int) -> None:
        for special, name in {
            "llvm.nvvm.read.ptx.sreg.ctaid.x": "block_number",
            "llvm.nvvm.read.ptx.sreg.tid.x": "thread_number",
            "llvm.nvvm.barrier0": "barrier",
        }.items():
            ir = ir.replace(special, name)
        ir = re.sub(r" ?addrspace\(\d\)", "", ir).replace("ptx_kernel ", "")
        ir = re.sub(r'"nvvm.\w+"="\d+"', "", ir)
        loaded = Loaded(object_code(ir, 10**6))
        kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(arguments))(
            loaded.address("kernel")
        )
        waits = "@barrier()" in ir.split("define", 1)[1]

        def one(block: int, thread: int) -> None:
            self.here.block, self.here.thread = block, thread
            kernel(*arguments)

        for block in range(-(-count // threads)):
            if not waits:
                for thread in range(threads):
                    one(block, thread)
                continue
            self.barrier = threading.Barrier(threads)
            workers = [threading.Thread(target=one, args=(block, k)) for k in range(threads)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()


@pytest.fixture(scope="module")
def grid():
    return Grid()


def places(function, arrays, outs) -> list[int]:
    pairs = [(a.ctypes.data, p.size) for a, p in zip(arrays, function.inputs, strict=True)]
    return [COUNT, *(x for pair in pairs for x in pair), *(o.ctypes.data for o in outs)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "name",
    thorough_but(
        ["inverse_dynamics", "regressor"],
        ["inverse_dynamics", "forward_dynamics", "mass_matrix", "regressor"],
    ),
)
def test_threads_have_the_bits_of_the_batch(compiled, grid, name, dtype):
    rng = np.random.default_rng(0)
    function = kernel_function(KERNELS[name], dy.load("scara").model)
    given = [rng.uniform(-2, 2, (COUNT, *p.shape)) for p in function.inputs]
    given[0][5:9] *= 1e6
    given[0][9, 0], given[-1][10, -1] = np.nan, np.inf
    given = [x.astype(dtype) for x in given]
    expected = run(function.code(dtype), given, [p.name for p in function.inputs])
    outs = [np.full((COUNT, *p.shape), -7.0, dtype) for p in function.outputs]
    ir = module(function.program(), dtype, fused=False)
    threads = layout(function.program(), dtype).threads
    grid.launch(ir, places(function, given, outs), threads, COUNT)
    np.testing.assert_array_equal(outs[0], expected)


@pytest.mark.parametrize(
    "name",
    thorough_but(
        ["forward_dynamics", "closure_status"],
        ["inverse_dynamics", "forward_dynamics", "mass_matrix", "joint_rates", "closure_status"],
    ),
)
def test_threads_of_closed_mechanisms_have_the_bits_of_the_batch(compiled, grid, name):
    """Samples that do not close are NaN there too."""
    robot = five_bar()
    q, qd, qdd, v, _ = motions(robot, COUNT)
    values = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd, "qd_active": v}
    q[5:9] += 0.1
    function = kernel_function(KERNELS[name], robot.model)
    given = [values[p.name] for p in function.inputs]
    expected = run(function.code("float64"), given, [p.name for p in function.inputs])
    outs = [np.full((COUNT, *p.shape), -7.0) for p in function.outputs]
    threads = layout(function.program(), "float64").threads
    ir = module(function.program(), "float64", fused=False)
    grid.launch(ir, places(function, given, outs), threads, COUNT)
    np.testing.assert_array_equal(outs[0], expected)
    bad = np.isnan(outs[0]).reshape(COUNT, -1).any(axis=1)
    bad = outs[0] == 2.0 if name == "closure_status" else bad
    assert np.flatnonzero(bad).tolist() == [5, 6, 7, 8]


@pytest.mark.parametrize("options", [
    {},
    {"controller": control.JointPID(kp=50.0, ki=5.0, kd=10.0), "reference": np.zeros(3),
     "sample_time": 3e-3, "delay": 1e-3},
    {"torque": np.arange(9.0).reshape(3, 1, 3)},
    {"laws": (Aging(dry=0.5), Maxwell(joint=2))},
], ids=["free", "sampled", "torque of every arm", "own laws with states"])  # fmt: skip
@pytest.mark.parametrize("inline", [tasks.INLINE, 0], ids=["whole", "in parts"])
def test_the_loop_of_a_simulation_has_the_bits_of_the_processor(
    compiled, grid, options, inline, monkeypatch
):
    monkeypatch.setattr(tasks, "INLINE", inline)
    robot, arms, steps, every = dy.load("scara"), 3, 25, 4
    if not inline:  # code of its own
        first, *others = robot.model.links
        robot = dy.Robot(replace(robot.model, links=(replace(first, mass=1.25), *others)))
    options = dict(options)
    if laws := options.pop("laws", ()):
        robot = robot.with_link(2, friction=dy.Friction(law=laws[0])).with_load(laws[1])
    start = np.random.default_rng(1).uniform(-0.5, 0.5, (arms, robot.n))
    expected = dy.simulate(robot, steps * 1e-3, q0=start, save_every=every, **options)
    sim = dy.Simulator(robot, **options)
    sim.reset(start)
    m, x = sim.assembly, sim._x.copy()
    kept = m.slots.slices["direction"].stop
    listed = [LoopTask(t.program(), t.period, t.phase) for t in m.tasks]
    assert len(listed[-1].program.parts) == (1 if inline else 5)
    ir = loop_kernel(listed, "float64", m.slots.integrated, kept, fused=False)
    assert (f"task{len(listed) - 1}_4" in ptx_code(ir)) == (not inline)
    rows = np.zeros((arms, -(-steps // every), kept))
    arguments = [arms, 0, steps, every, x.ctypes.data, rows.ctypes.data, rows[0].size]
    signals, constants = m.signals(sim._s, 0, steps), m.constants(sim._s)
    for a, b in zip(signals, constants, strict=True):
        arguments += [a.ctypes.data, 0, b.ctypes.data, b.shape[1] if b.ndim == 2 else 0]
    grid.launch(ir, arguments, THREADS, arms)
    for name in ("q", "qd", "tau", "friction"):
        found, wanted = m.slots.part(rows, name), getattr(expected, name)[:, : rows.shape[1]]
        np.testing.assert_array_equal(found, wanted)
    sim.step(steps=steps)
    np.testing.assert_array_equal(m.slots.part(x, "q"), sim.q)
    np.testing.assert_array_equal(m.slots.part(x, "tau"), sim.tau)


def test_strict_ptx_rounds_every_operation():
    function = kernel_function(KERNELS["inverse_dynamics"], dy.load("puma560").model)
    strict, fused = (ptx_of(function.program(), "float64", f) for f in (False, True))
    for text in (strict, fused):
        assert ".version 6.3" in text
        assert ".target sm_70" in text
        assert len(re.findall(r"\.visible \.entry", text)) == 1
        assert ".maxntid 128" in text
        assert len(re.findall(r"kernel_param_\d+\b[,\n]", text)) == 8
        assert not re.search(r"\.extern|__nv_|\.ftz|\.approx", text)
    assert not re.search(r"\b(add|sub|mul)\.f64", strict)  # without .rn the assembler may fuse
    assert fused.count("fma.rn.f64") > strict.count("fma.rn.f64") + 100
    single = ptx_of(function.program(), "float32", False)
    assert not re.search(r"\b(add|sub|mul)\.f32|\.f64", single)


def test_long_results_go_through_shared_memory():
    function = kernel_function(KERNELS["mass_matrix"], dy.load("puma560").model)
    text = ptx_of(function.program(), "float64", False)
    assert re.search(r"\.shared .*tile", text)
    assert text.count("bar.sync") == 2  # rows of 36 numbers are one tile
    assert ".maxntid 64" in text


def test_the_state_of_a_simulated_arm_stays_in_registers():
    sim = dy.Simulator(dy.load("planar-2link"))
    listed = [LoopTask(t.program(), t.period, t.phase) for t in sim.assembly.tasks]
    text = ptx_code(loop_kernel(listed, "float64", 4, 10, fused=False))
    assert ".local" not in text
    assert "div.s64" not in text.split("$L__BB", 2)[2]  # none within the loop


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_code_of_a_loop_knows_its_dtype(dtype):
    sim = dy.Simulator(dy.load("planar-2link"), dtype=dtype)
    code = DeviceLoop(sim.assembly.tasks, changed(sim._given, device=0))._code(4, 10)
    assert code.dtype == dtype
    assert (".f32" in code.ptx) == (dtype == "float32")
    again = DeviceLoop(sim.assembly.tasks, changed(sim._given, device=0))._code(4, 10)
    assert again is code


def test_export_needs_no_gpu(tmp_path):
    robot = dy.load("planar-2link")
    robot = dy.Robot.from_dh(
        "evil */ name", convention="standard", links=robot.model.links, gravity=(0, -9.81, 0)
    )
    paths = robot.export("inverse_dynamics", target="ptx", directory=tmp_path, dtype="float32")
    (ptx,) = [p for p in paths if p.suffix == ".ptx"]
    text = ptx.read_text()
    assert text.startswith("// evil")
    assert ".visible .entry evil_name_inverse_dynamics(" in text
    assert "const float *qdd, int64_t qdd_stride, float *tau)" in text


def test_without_a_gpu_the_reason_is_said():
    found = dy.gpu.devices()
    if found:
        pytest.skip("there is a GPU")
    assert found.reason
    assert found.reason in repr(found)
    with pytest.raises(DeviceError, match="no GPU here"):
        dy.simulate(dy.load("planar-2link"), 0.1, device="cuda")
    with pytest.raises(OptionError, match="'cuda'"):
        dy.simulate(dy.load("planar-2link"), 0.1, device="gpu")


def test_options_for_arrays_on_a_gpu_are_refused_for_others():
    with pytest.raises(OptionError, match="fused"):
        dy.load("planar-2link").gravity_torque([0.0, 0.0], fused=True)
    with pytest.raises(OptionError, match="fused"):
        dy.simulate(dy.load("planar-2link"), 0.1, fused=True)


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_float32_simulation(request, mode):
    if mode == "compiled":
        request.getfixturevalue("compiled")
    robot = dy.load("planar-2link")
    start = np.random.default_rng(2).uniform(-0.5, 0.5, (3, 2))
    single = dy.simulate(robot, 0.0515, q0=start, dtype="float32", save_every=5)
    double = dy.simulate(robot, 0.0515, q0=start, save_every=5)
    assert single.q.dtype == single.tau.dtype == np.float32
    np.testing.assert_allclose(single.q, double.q, atol=1e-5)
    assert not np.array_equal(single.q, double.q)
    with pytest.raises(OptionError, match="float64 only"):
        dy.simulate(robot, 0.1, integrator="dormand-prince", dtype="float32")
