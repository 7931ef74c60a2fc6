"""Options of a simulation: every signature and every front end has them as they are defined."""

import inspect
import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import DynamisError, KeywordError, OptionError
from dynamis.simulation.options import (
    GYM,
    OF_A_RUN,
    OF_A_SIMULATOR,
    OF_A_STUDY,
    OPTIONS,
    PLANT,
    SIMULATE_COMMAND,
    STUDIO,
    STUDY_COMMAND,
    Options,
    offered,
)

ROOT = Path(__file__).resolve().parents[2]
KNOWN = inspect.signature(Options).parameters
UNITS = {"", "s", "rad, m", "rad/s, m/s", "N m, N", "N, N m", "SI"}
OFFERS = (SIMULATE_COMMAND, STUDY_COMMAND, PLANT, GYM, STUDIO)


def test_simulate_has_them_all():
    """Names, order, kinds, defaults and annotations."""
    robot, *others = inspect.signature(dy.simulate).parameters.values()
    assert robot.name == "robot"
    assert others == list(KNOWN.values())


def test_a_simulator_has_those_that_are_not_of_a_run():
    robot, *others = inspect.signature(dy.Simulator).parameters.values()
    assert robot.name == "robot"
    assert others == [KNOWN[name] for name in OF_A_SIMULATOR]
    assert {*OF_A_SIMULATOR, *OF_A_RUN} == {*OPTIONS}


def test_a_study_has_them_with_the_same_defaults():
    found = inspect.signature(dy.study).parameters
    assert not any(x.kind in (x.VAR_KEYWORD, x.VAR_POSITIONAL) for x in found.values())
    for name in OF_A_STUDY:
        assert (found[name].default, found[name].annotation) == (
            KNOWN[name].default,
            KNOWN[name].annotation,
        )
    assert not {"events", "parameters"} & {*found}


def test_a_run_of_a_simulator_has_the_same_defaults():
    run, reset = (inspect.signature(x).parameters for x in (dy.Simulator.run, dy.Simulator.reset))
    for name in ("save_every", "check_step"):
        assert run[name].default == OPTIONS[name].default
    for name in ("q0", "qd0"):
        assert reset[name].default is OPTIONS[name].default


@pytest.mark.parametrize("name", OPTIONS)
def test_each_is_described(name):
    one = OPTIONS[name]
    assert one.help.endswith(".") and len(one.help) < 90
    assert one.unit in UNITS
    assert one.checked(one.default) == (one.default if name != "dtype" else "float64")


@pytest.mark.parametrize("name", [name for name, x in OPTIONS.items() if x.check is not None])
def test_each_check_names_its_option(name):
    with pytest.raises(OptionError, match=name.rstrip("s")) as alone:
        OPTIONS[name].checked(object())
    with pytest.raises(OptionError) as together:
        Options(**{name: object()})
    shorten = [str(x.value).partition("<")[0] for x in (alone, together)]
    assert shorten[0] == shorten[1]


def test_values_are_kept_as_they_are_used():
    made = Options(dt=np.float32(0.5), stops=np.True_, save_every=np.int64(3), events=_falls)
    assert (type(made.dt), made.stops, type(made.save_every)) == (float, True, int)
    assert made.events == (_falls,) and made.dtype == "float64"
    with pytest.raises(FrozenInstanceError):
        made.dt = 1.0  # type: ignore[misc]
    with pytest.raises(OptionError, match="dt is -1"):
        replace(made, dt=-1.0)


def _falls(t, q, qd):
    return qd[0]


def test_front_ends_offer_options_by_name():
    for names in OFFERS:
        assert {*names} <= {*OPTIONS}
    assert offered({"stops": True}, ("stops", "delay")) == {"stops": True, "delay": 0.0}
    with pytest.raises(OptionError, match="'stop'"):
        offered({"stop": True}, PLANT)


COMMANDS = {"simulate": SIMULATE_COMMAND, "study": STUDY_COMMAND, "plant": PLANT}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_their_flags_with_help_and_default(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for one in (OPTIONS[name] for name in COMMANDS[command]):
        usual = "" if one.default in (None, False) else f" (default: {one.default})"
        flag = f"--{one.name.replace('_', '-')}"
        assert flag in said
        assert one.help + usual in said


@pytest.mark.parametrize("name", sorted({*SIMULATE_COMMAND, *STUDY_COMMAND}))
def test_a_command_checks_them_as_python_does(name, capsys):
    if OPTIONS[name].kind is bool:
        return  # a flag is there or not
    bad = "-1" if OPTIONS[name].kind is float else "wrong"
    command = ["simulate"] if name in SIMULATE_COMMAND else ["study", "--mass", "0.05"]
    robot = dy.load("planar-2link")
    with pytest.raises(DynamisError) as refused:
        dy.simulate(robot, 0.1, **{name: -1.0 if bad == "-1" else bad})
    words = [*command, "planar-2link", "--duration", "0.1", f"--{name}", bad]
    assert main(words) != 0
    assert refused.value.message in capsys.readouterr().err


def test_a_flag_takes_no_value(capsys):
    for word in ("--stops=maybe", "--stops=True"):
        assert main(["simulate", "planar-2link", word]) == 2
        said = capsys.readouterr().err
        assert "expected no value" in said and "write --stops alone" in said


@pytest.mark.parametrize("call", [dy.simulate, dy.Simulator, dy.study])
def test_an_arm_without_closures_has_nothing_to_project(call):
    with pytest.raises(OptionError, match="has no closures: project does nothing"):
        call(dy.load("planar-2link"), 1e-3, project=True)


def _plant(**options):
    from dynamis.realtime.loop.plant import PlantServer

    server = PlantServer(dy.load("planar-2link"), 0, **options)
    server.link.close()
    return server.arm


def _environment(**options):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    from dynamis.gym import ReachEnv

    return ReachEnv("planar-2link", **options)._sim


@pytest.mark.parametrize(
    ("made", "names"), [(_plant, PLANT), (_environment, GYM)], ids=["plant", "gym"]
)
def test_plants_and_environments_pass_them_on(made, names):
    """Those they offer, with the default and the check of `Options`; no others."""
    for one in (OPTIONS[name] for name in names):
        assert getattr(made()._given.options, one.name) == one.default
        other = not one.default if one.kind is bool else 0.5
        assert getattr(made(**{one.name: other})._given.options, one.name) == other
        with pytest.raises(OptionError) as alone:
            one.checked("much")
        with pytest.raises(OptionError) as passed:
            made(**{one.name: "much"})
        assert str(passed.value) == str(alone.value)
    with pytest.raises(KeywordError, match="'integrator'"):
        made(integrator="rk4")
    with pytest.raises(KeywordError, match=f"did you mean '{names[0]}'"):
        made(**{names[0] + "s": 1})


# a language server

TYPOS = {
    "dy.simulate(robot, 1.0, tourque=[0.0] * 6)": "tourque",
    "dy.simulate(robot, 1.0, chek_step=False)": "chek_step",
    "dy.Simulator(robot, tourque=[0.0] * 6)": "tourque",
    "dy.Simulator(robot, duration=1.0)": "duration",
    "dy.study(robot, 1.0, sampels=3)": "sampels",
    "dy.study(robot, 1.0, integratr='rk4')": "integratr",
    "dy.study(robot, 1.0, events=())": "events",
}
RIGHT = (
    "dy.simulate(robot, 1.0, 1e-3, torque=[0.0] * 6, stops=True, check_step=False)",
    "dy.Simulator(robot, 1e-3, None, 'rk4', torque=[0.0] * 6, delay=0.0)",
    "dy.study(robot, 1.0, samples=3, integrator='rk4', stops=True, dtype='float32')",
)


def test_a_language_server_sees_the_keywords(tmp_path):
    """pyright names every misspelt keyword of a user's script, and nothing else."""
    pytest.importorskip("pyright", reason="pyright is not installed")
    script = tmp_path / "user.py"
    lines = ["import dynamis as dy", "robot = dy.load('puma560')", *RIGHT, *TYPOS]
    script.write_text("\n".join(lines) + "\n")
    settings = {"extraPaths": [str(ROOT / "src")], "typeCheckingMode": "basic"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    command += ["--project", str(tmp_path)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    said = json.loads(ran.stdout)["generalDiagnostics"]
    errors = {x["range"]["start"]["line"]: x["message"] for x in said if x["severity"] == "error"}
    first = 2 + len(RIGHT)
    assert errors == {
        first + k: f'No parameter named "{name}"' for k, name in enumerate(TYPOS.values())
    }
