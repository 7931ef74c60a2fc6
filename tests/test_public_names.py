"""Names that the documentation, examples, notebooks and the command line have taught people."""

import inspect
import pydoc
import subprocess
import sys
from contextlib import suppress
from importlib import import_module

import pytest

import dynamis as dy
from dynamis.lazy import install_command
from dynamis.robot.calls import FastMethod
from tests.misuse import modules
from tests.thorough import thorough_but

NAMES = [
    "dynamis.Drive",
    "dynamis.Friction",
    "dynamis.Link",
    "dynamis.Log",
    "dynamis.PayloadObserver",
    "dynamis.Processing",
    "dynamis.Robot",
    "dynamis.Run",
    "dynamis.Scatter",
    "dynamis.Sensors",
    "dynamis.Simulator",
    "dynamis.calibrate",
    "dynamis.calibration.Calibration.tool_uncertainty",
    "dynamis.calibration.Plane",
    "dynamis.calibration.read_observations",
    "dynamis.calibration_postures",
    "dynamis.calibration.Points",
    "dynamis.calibration.Poses",
    "dynamis.calibration.Sockets",
    "dynamis.calibration.Touch",
    "dynamis.compile",
    "dynamis.dh_steps",
    "dynamis.excite",
    "dynamis.exercises.assignment",
    "dynamis.exercises.exercise",
    "dynamis.exercises.quiz",
    "dynamis.exercises.write_assignment",
    "dynamis.exercises.write_quiz",
    "dynamis.exercises.class_marks",
    "dynamis.exercises.sheet",
    "dynamis.exercises.write_class",
    "dynamis.export_controller",
    "dynamis.export_fmu",
    "dynamis.export_observer",
    "dynamis.identify",
    "dynamis.identify_drive_gains",
    "dynamis.identify_payload",
    "dynamis.inertia_of_mesh",
    "dynamis.load",
    "dynamis.load_world",
    "dynamis.ray_executor",
    "dynamis.read_log",
    "dynamis.read_logs",
    "dynamis.save_world",
    "dynamis.simulate",
    "dynamis.study",
    "dynamis.agree.agreement",
    "dynamis.bench.league.league",
    "dynamis.bench.simulation.control_cycle",
    "dynamis.cli.COMMANDS",
    "dynamis.cli.main",
    "dynamis.control.ComputedTorque.from_bandwidth",
    "dynamis.control.ControlLoop",
    "dynamis.control.Controller",
    "dynamis.control.FeedForward",
    "dynamis.control.Impedance",
    "dynamis.control.JointPID.from_bandwidth",
    "dynamis.control.MomentumObserver",
    "dynamis.control.PointToPoint.from_bandwidth",
    "dynamis.control.SingleJoint",
    "dynamis.control.SlotineLi",
    "dynamis.control.TaskSpace",
    "dynamis.control.linearise",
    "dynamis.control.second_order",
    "dynamis.control.step_metrics",
    "dynamis.control.third_order",
    "dynamis.control.tracking_metrics",
    "dynamis.dynamics.equation.mass_matrix",
    "dynamis.dynamics.gibbs_appell.observation_matrix",
    "dynamis.dynamics.kinematics.frames",
    "dynamis.dynamics.lagrange_euler.LagrangeEuler",
    "dynamis.dynamics.newton_euler.newton_euler",
    "dynamis.errors.DynamisError",
    "dynamis.errors.DynamisWarning",
    "dynamis.errors.SingularError",
    "dynamis.files.write",
    "dynamis.gym.NAME",
    "dynamis.gym.ReachEnv",
    "dynamis.identify.Estimate",
    "dynamis.identify.Estimate.sample",
    "dynamis.identify.Posterior",
    "dynamis.identify.FRICTIONS",
    "dynamis.identify.LogError",
    "dynamis.identify.Validation",
    "dynamis.identify.Verdict",
    "dynamis.gpu.devices",
    "dynamis.interop.from_mjcf",
    "dynamis.interop.from_mujoco",
    "dynamis.interop.from_pinocchio",
    "dynamis.interop.from_rtb",
    "dynamis.interop.from_yourdfpy",
    "dynamis.interop.to_mjcf",
    "dynamis.interop.to_pinocchio",
    "dynamis.interop.to_rtb",
    "dynamis.interop.to_yourdfpy",
    "dynamis.jax.evaluate",
    "dynamis.jax.fk",
    "dynamis.jax.forward_dynamics",
    "dynamis.jax.gravity_torque",
    "dynamis.jax.inverse_dynamics",
    "dynamis.jax.jacobian",
    "dynamis.jax.mass_matrix",
    "dynamis.jax.regressor",
    "dynamis.jax.step",
    "dynamis.model.catalogue",
    "dynamis.model.chain.chain",
    "dynamis.model.model.Model",
    "dynamis.model.model.Payload",
    "dynamis.plots.figure.save",
    "dynamis.plots.plot_study",
    "dynamis.realtime.Law",
    "dynamis.realtime.controller_cost",
    "dynamis.realtime.cost.controller_cost",
    "dynamis.realtime.reference_file.read_reference",
    "dynamis.realtime.run_plant",
    "dynamis.rtb.DHRobot",
    "dynamis.rtb.rne",
    "dynamis.spatial.functions.MATH",
    "dynamis.spatial.inertia.linear",
    "dynamis.spatial.rotations.rotation_x",
    "dynamis.studio.Studio",
    "dynamis.study.Draw",
    "dynamis.study.Sensitivity",
    "dynamis.study.Study.distribution",
    "dynamis.study.Study.plot",
    "dynamis.study.Study.quantiles",
    "dynamis.study.Study.replay",
    "dynamis.study.Study.report",
    "dynamis.study.Study.worst",
    "dynamis.trajectory.cubic",
    "dynamis.trajectory.fourier",
    "dynamis.trajectory.from_file",
    "dynamis.trajectory.from_function",
    "dynamis.trajectory.line",
    "dynamis.trajectory.quintic",
    "dynamis.trajectory.septic",
    "dynamis.trajectory.sine",
    "dynamis.trajectory.time_optimal",
    "dynamis.trajectory.trapezoid",
    "dynamis.trajectory.via",
    "dynamis.transforms.rotx",
    "dynamis.transforms.translation",
]
CALLABLE = (
    "compile",
    "excite",
    "identify",
    "study",
)  # folders that are functions of the same name too


@pytest.mark.parametrize("name", NAMES)
def test_the_name_is_there(name):
    words = name.split(".")
    for k in range(len(words), 0, -1):
        with suppress(ModuleNotFoundError):
            found = import_module(".".join(words[:k]))
            break
    for word in words[k:]:
        found = getattr(found, word)
    assert found is not None


ORDERS = ["", "import dynamis.{}", "import dynamis.logs.log", "import dynamis.identify.estimate"]


@pytest.mark.parametrize("first", thorough_but([ORDERS[1]], ORDERS))
def test_folders_that_are_functions_can_be_called_whatever_came_first(first):
    code = [first.format(name) for name in CALLABLE]
    code += ["import inspect", "import dynamis as dy"]
    code += [f"assert 'robot' in inspect.signature(dy.{name}).parameters" for name in CALLABLE]
    code += ["from dynamis.identify import identify", "assert callable(identify)"]
    code += ["sine = dy.compile(dy.load('pendulum3'), lambda arm, q: [arm.sin(q[0])])"]
    code += ["assert sine([0.0, 0.0, 0.0])[0] == 0.0"]
    subprocess.run([sys.executable, "-c", "\n".join(code)], check=True)


def test_without_pytorch_it_says_so():
    code = "import sys; sys.modules['torch'] = None; import dynamis.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingPackageError" in done.stderr and install_command("torch") in done.stderr


APART = {"LogError", "Posterior"}  # of dynamis.identify, beside its __all__


@pytest.mark.parametrize("robot", [dy.load("planar-2link"), dy.Robot], ids=["instance", "class"])
def test_help_of_a_kernel_shows_its_signature(robot):
    kernels = [name for name, x in vars(dy.Robot).items() if isinstance(x, FastMethod)]
    assert len(kernels) > 25
    for name in kernels:
        call = getattr(robot, name)
        own = inspect.signature(call)
        assert {"out", "threads", "dtype"} < {*own.parameters} and "options" not in own.parameters
        assert ("self" in own.parameters) == (robot is dy.Robot)
        said = pydoc.plain(pydoc.render_doc(call))
        assert f"{name}{own}" in said and call.__doc__.splitlines()[0] in said
    own = inspect.signature(robot.inverse_dynamics).parameters
    assert own["method"].default == "newton-euler" and own["wrench"].default is None


def test_dir_lists_what_there_is():
    assert set(dy.__all__) <= set(dir(dy))
    for module in (dy, dy.control, dy.trajectory, dy.interop, import_module("dynamis.realtime")):
        listed = [name for name in dir(module) if not name.startswith("__")]
        assert listed and not {"later", "TYPE_CHECKING", "import_module"} & {*listed}
        assert {*module.__all__} - {"__version__"} <= {*listed}
        for name in listed:
            assert getattr(module, name) is not None
    assert {*map(id, modules().values())} > {*map(id, (dy.transforms, dy.rtb, dy.errors))}
    for module in modules().values():
        shown = {x for x in dir(module) if not x.startswith("__")}
        public = getattr(module, "__all__", None)
        if public is None:  # of a folder that is a function too
            assert not any(inspect.ismodule(getattr(module, x)) for x in shown), module
        else:
            assert {*public} - {"__version__"} <= shown <= {*public, *APART}, module
    fresh = "import dynamis as dy; assert {'simulate', 'control', 'study'} <= {*dir(dy)}"
    subprocess.run([sys.executable, "-c", fresh], check=True)


@pytest.mark.parametrize("name", ["gym", "jax", "torch"])
def test_what_needs_a_package_of_others_is_named(name):
    assert f"`dynamis.{name}`" in str(dy.__doc__)
    with pytest.raises(AttributeError, match=f"write `import dynamis.{name}`"):
        dy.__getattr__(name)


def test_a_misspelt_name_is_answered_with_the_one_that_was_meant():
    with pytest.raises(AttributeError, match="no attribute 'simulatee': did you mean 'simulate'"):
        dy.simulatee  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'zzz'$"):
        dy.zzz  # noqa: B018
    assert not hasattr(dy, "__wrapped__")
