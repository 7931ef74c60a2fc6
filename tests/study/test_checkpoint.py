"""Checkpoints of a study: nothing lost, no other study taken for this one, nothing executed."""

import functools
import io
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import zipfile
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis.digest import digest_of
from dynamis.errors import DynamisError, FileError, OptionError
from dynamis.simulation.options import OF_A_STUDY, OPTIONS
from dynamis.study import checkpoint as files
from dynamis.study.identity import BY_CODE, NO_MATTER, identity_of
from dynamis.study.summary import added

from .small import BLOCK, SAMPLES, arm, evaluated, loads, same, simulated

HERE = Path(__file__).parents[2]


def python(code, *arguments, **options):
    """A script in a process of its own."""
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], text=True, capture_output=True,
        env={**os.environ, "PYTHONPATH": path}, check=False, **options,
    )  # fmt: skip


class Ending:
    """Ends the study at one sample, in one of several ways, if the file is there."""

    def __init__(self, marker, way):
        self.marker, self.way = marker, way

    def __call__(self, draw):
        if 5 * BLOCK + 9 in draw.index and self.marker.exists():
            self.marker.unlink()
            self.way()
        return loads(draw)


def interrupt():
    raise KeyboardInterrupt


def ending(tmp_path, way):
    marker = tmp_path / "marker"
    marker.touch()
    return Ending(marker, way)


# ended and resumed

KILLED = """
import os, signal, sys
import dynamis.study.study as module
from pathlib import Path
from tests.study.small import evaluated
module.OFTEN = module.SELDOM = 0.0
written = module.files.write
def write(folder, identity, done):
    written(folder, identity, done)
    if done.upto >= 4:
        os.kill(os.getpid(), signal.SIGKILL)
module.files.write = write
evaluated(checkpoint=Path(sys.argv[1]), threads=1)
"""


def test_a_study_that_is_killed_goes_on(tmp_path):
    ended = python(KILLED, tmp_path)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    study = evaluated(checkpoint=tmp_path, threads=2)
    assert 4 * BLOCK <= study.resumed < SAMPLES
    assert same(study, evaluated(threads=1))


@pytest.mark.thorough
def test_a_study_that_is_killed_goes_on_with_more_workers(tmp_path):
    assert python(KILLED, tmp_path).returncode == -signal.SIGKILL
    with ThreadPoolExecutor(4) as executor:
        study = evaluated(checkpoint=tmp_path, executor=executor)
    assert study.resumed and same(study, evaluated(threads=1))


def test_a_study_that_is_interrupted_goes_on(tmp_path):
    function = ending(tmp_path, interrupt)
    with pytest.raises(KeyboardInterrupt):
        evaluated(function, checkpoint=tmp_path / "kept", threads=1)
    study = evaluated(function, checkpoint=tmp_path / "kept", threads=1)
    assert 0 < study.resumed <= 5 * BLOCK
    assert same(study, evaluated(threads=1))


class Late(Executor):
    """Tasks at once, but for the first: it ends the study when the last is there."""

    def submit(self, function, key, first, stop, *rest):
        future = Future()
        if first == 0:
            self.held = future
            return future
        future.set_result(function(key, first, stop, *rest))
        if first == SAMPLES // BLOCK:
            self.held.set_exception(KeyboardInterrupt())
        return future


def test_later_blocks_are_kept_too(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        evaluated(checkpoint=tmp_path, executor=Late())
    study = evaluated(checkpoint=tmp_path)
    assert study.resumed == 9 * BLOCK
    assert same(study, evaluated(threads=1))


def test_a_study_that_is_done_is_read(tmp_path):
    study = simulated(3 * BLOCK, checkpoint=tmp_path)
    again = simulated(3 * BLOCK, checkpoint=tmp_path)
    assert (study.resumed, again.resumed) == (0, 3 * BLOCK)
    assert same(study, again)


# other studies

OTHERS = {
    "samples": {"samples": 3 * BLOCK + 1},
    "seed": {"seed": 1},
    "controller, reference or forces": {"controller": dy.control.ComputedTorque(100.0, 21.0)},
    "options": {"dt": 5e-4},
    "measures": {"measure": "peak_torque"},
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    simulated(3 * BLOCK, checkpoint=folder)
    return folder


@pytest.mark.parametrize("what", OTHERS)
def test_another_study_is_refused_by_name(kept, what):
    before = (kept / files.NAME).read_bytes()
    with pytest.raises(OptionError, match=f"of another study: it differs in .*{what}"):
        simulated(**({"samples": 3 * BLOCK} | OTHERS[what]), checkpoint=kept)
    assert (kept / files.NAME).read_bytes() == before


OTHER = {
    "dt": 5e-4, "integrator": "heun", "sample_time": 2e-3, "delay": 1e-3, "dtype": "float32",
}  # fmt: skip


@pytest.mark.parametrize("name", [x for x in OF_A_STUDY if x not in (*BY_CODE, *NO_MATTER)])
def test_every_option_decides_a_study(name):
    """Whatever it does to these arms: an option that is added counts by itself."""
    bar = dy.load("five-bar").with_limits(0, (-3.0, 3.0))
    law = dy.control.JointPID(1.0, 0.0, 0.1, sample_time=1e-3 if name == "delay" else None)
    case = dy.study(
        bar, 4e-3, controller=law, reference=bar.home[list(bar.driven)], samples=2, progress=False,
        vary=dy.Scatter(bar, mass=0.01), measure="peak_torque", check_step=False,
    ).case  # fmt: skip
    usual = OPTIONS[name].default
    changed = OTHER.get(name, not usual if isinstance(usual, bool) else 0.5)
    other = replace(case, options=case.options | {name: changed})
    assert identity_of(case) == identity_of(replace(case))
    first, second = identity_of(case), identity_of(other)
    assert first["options"] != second["options"]


def test_another_robot_is_refused(kept):
    heavy = arm().with_payload(1.0)
    with pytest.raises(OptionError, match="another study: it differs in robot"):
        simulated(3 * BLOCK, robot=heavy, checkpoint=kept)


def test_other_differences_between_arms_are_refused(kept):
    vary = dy.Scatter(arm(), mass=0.05, com=0.005, payload=(0, 4), joint_offset=0.01)
    with pytest.raises(OptionError, match="another study: it differs in vary"):
        simulated(3 * BLOCK, vary=vary, checkpoint=kept)


def closure(gain):
    def law(t, q, qd):
        return [-gain * a - b for a, b in zip(q, qd, strict=True)]

    return law


def test_another_number_in_a_closure_is_refused(tmp_path):
    simulated(3, controller=closure(3.0), measure="peak_torque", checkpoint=tmp_path)
    again = simulated(3, controller=closure(3.0), measure="peak_torque", checkpoint=tmp_path)
    assert again.resumed == 3
    with pytest.raises(OptionError, match="differs in functions, results of functions"):
        simulated(3, controller=closure(4.0), measure="peak_torque", checkpoint=tmp_path)


def rare(limit):
    return lambda run: float(run.q[0, 0] > limit)


def test_code_that_changes_nothing_yet_is_refused(tmp_path):
    simulated(3, measure=rare(1.0), checkpoint=tmp_path)
    with pytest.raises(OptionError, match=r"differs in functions\n"):
        simulated(3, measure=rare(2.0), checkpoint=tmp_path)


class Callable:
    def __init__(self, number):
        self.number = number

    def __call__(self, draw):
        return self.number


def defaults(draw, gain=1.0):
    return gain


def doubled(draw, gain=2.0):
    return gain


DIFFERENT = [
    *(
        closure(1.0),
        closure(2.0),
        rare(1.0),
        rare(2.0),
        defaults,
        doubled,
        Callable(1),
        Callable(2),
    ),
    *(functools.partial(defaults, gain=3.0), functools.partial(defaults, gain=4.0)),
    *(Callable(1).__call__, lambda draw: 1.0, lambda draw: 2.0, lambda draw: loads(draw)["mass"]),
    *(lambda draw: [x + 2 for x in draw], lambda draw: [x + 1 for x in draw], np.sum, len),
]


def test_functions_have_digests_of_their_own():
    assert len({digest_of(function) for function in DIFFERENT}) == len(DIFFERENT)
    assert digest_of(closure(1.0)) == digest_of(closure(1.0))
    assert digest_of(Callable(1)) == digest_of(Callable(1))


def test_where_something_lies_in_memory_has_no_part_in_a_digest():
    kept = [object(), object()]
    assert digest_of(closure(kept[0])) == digest_of(closure(kept[1]))


def test_what_an_object_keeps_of_its_results_has_no_part_in_a_digest():
    move = dy.trajectory.quintic([0.0, 0.0], [0.1, 0.2], 1.0)
    before = digest_of(closure(move))
    move(0.5)
    assert digest_of(closure(move)) == before
    assert digest_of(closure(dy.trajectory.quintic([0.0, 0.0], [0.1, 0.3], 1.0))) != before


# damaged and hostile files


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A checkpoint of a study that is half done, with gaps, and what the whole gives."""
    folder = tmp_path_factory.mktemp("interrupted")
    study = evaluated(threads=1)
    parts = study.case.summaries(0, study.case.blocks, 1)
    done = files.Progress(4, added(parts[:4]), {6: parts[6], 9: parts[9]})
    files.write(folder, identity_of(study.case), done)
    return folder, study


def copied(folder, target):
    shutil.copytree(folder, target)
    return target


def test_gaps_are_filled(tmp_path, interrupted):
    folder, study = interrupted
    again = evaluated(checkpoint=copied(folder, tmp_path / "copy"))
    assert again.resumed == 6 * BLOCK
    assert same(again, study)


def members(folder):
    with zipfile.ZipFile(folder / files.NAME) as file:
        return {name: file.read(name) for name in file.namelist()}


def rewritten(target, parts):
    target.mkdir(exist_ok=True)
    with zipfile.ZipFile(target / files.NAME, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), **options)
    return file.getvalue()


def mutations(data, count, seed=0):
    """The file with a byte changed, cut off, or with a part taken out or doubled."""
    chance = random.Random(seed)
    for _ in range(count):
        at, length = chance.randrange(len(data)), chance.randrange(1, 400)
        yield chance.choice(
            [
                data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :],
                data[:at],
                data[:at] + data[at + length :],
                data[:at] + data[at : at + length] + data[at:],
                data[:at] + chance.randbytes(length) + data[at + length :],
            ]
        )


def test_no_damage_goes_unnoticed(tmp_path, interrupted):
    folder, study = interrupted
    data = (folder / files.NAME).read_bytes()
    refused = 0
    for k, damaged in enumerate(mutations(data, 60)):
        own = tmp_path / str(k)
        own.mkdir()
        (own / files.NAME).write_bytes(damaged)
        try:
            assert same(evaluated(checkpoint=own), study)
        except DynamisError as error:
            assert "damaged" in str(error) or "another study" in str(error)
            refused += 1
    assert refused > 40


def test_numbers_that_were_changed_are_refused(tmp_path, interrupted):
    for name in ("total:mass/lowest", "9:mass/counts", "upto"):
        changed = arrays_of(interrupted[0])[name] + 1
        rewritten(tmp_path, members(interrupted[0]) | {f"{name}.npy": npy(changed)})
        with pytest.raises(FileError, match="its digest is another"):
            evaluated(checkpoint=tmp_path)


class Evil:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_nothing_in_a_file_is_executed(tmp_path, monkeypatch, interrupted):
    monkeypatch.chdir(tmp_path)
    parts = members(interrupted[0])
    evil = pickle.dumps(Evil())
    for name in ("upto.npy", "identity.npy", "seal.npy", "total:samples.npy"):
        for hostile in (npy(np.array([Evil()], dtype=object), allow_pickle=True), evil):
            rewritten(tmp_path / "hostile", parts | {name: hostile})
            with pytest.raises(FileError, match="damaged or no checkpoint"):
                evaluated(checkpoint=tmp_path / "hostile")
    (tmp_path / "hostile" / files.NAME).write_bytes(evil)
    with pytest.raises(FileError, match="damaged or no checkpoint"):
        evaluated(checkpoint=tmp_path / "hostile")
    assert not (tmp_path / "executed").exists()


def sealed(parts):
    """Arrays by name as members of a file whose digest is right."""
    arrays = {name: np.asarray(x) for name, x in parts.items()}
    return {f"{k}.npy": npy(v) for k, v in {**arrays, "seal": files._seal(arrays)}.items()}


def arrays_of(folder):
    with np.load(folder / files.NAME) as file:
        return {name: file[name] for name in file.files if name != "seal"}


FORGED = {
    "upto": [np.array(99), np.array(-1), np.array(0), np.array([1, 2]), np.array("x")],
    "total:samples": [np.array(1), np.array([1.0, 2.0]), None],
    "total:failed": [np.array(-1), np.array(10**6)],
    "total:reasons": [np.array(["a"] * 2), np.zeros(3)],
    "total:mass/lowest": [np.zeros(1), np.zeros((2, 2)), None],
    "total:total/total": [np.zeros(2), np.zeros(1, dtype=np.float32)],
    "total:mass/worst": [np.zeros((3, 500, 2)), np.zeros(2)],
    "total:mass/bins": [np.zeros(3, dtype=np.int64), np.zeros((3, 3), dtype=np.int64)],
    "identity": [np.array("[]"), np.array("{"), np.array(3.0), None],
    "77:samples": [np.array(1)],
    "total:more": [np.array(1)],
    "x:samples": [np.array(1)],
    "9:samples": [np.array(3), None],
}


@pytest.mark.parametrize("name", FORGED)
def test_arrays_that_no_study_wrote_are_refused(tmp_path, interrupted, name):
    for array in FORGED[name]:
        arrays = arrays_of(interrupted[0])
        there = arrays.pop(name, None) is not None
        assert there or array is not None
        rewritten(tmp_path, sealed(arrays | ({} if array is None else {name: array})))
        with pytest.raises(DynamisError, match=r"damaged or no checkpoint|another study"):
            evaluated(checkpoint=tmp_path)


def test_what_was_sealed_here_is_read(tmp_path, interrupted):
    folder, study = interrupted
    rewritten(tmp_path, sealed(arrays_of(folder)))
    assert same(evaluated(checkpoint=tmp_path), study)


def test_sizes_that_cannot_be_are_refused(tmp_path, interrupted):
    parts = members(interrupted[0])
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**14,)}
    )
    rewritten(tmp_path, parts | {"total:mass/lowest.npy": header.getvalue()})
    with pytest.raises(FileError, match="damaged or no checkpoint"):
        evaluated(checkpoint=tmp_path)
    with zipfile.ZipFile(tmp_path / files.NAME, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("upto.npy", npy(np.zeros(10**7)))
    with pytest.raises(FileError, match=r"80000128 bytes in a smaller file"):
        evaluated(checkpoint=tmp_path)


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot use the folder"):
        evaluated(checkpoint=tmp_path / "file")
    with pytest.raises(FileError, match="cannot use the folder"):
        evaluated(checkpoint=tmp_path / "file" / "below")
    (tmp_path / "folder" / files.NAME).mkdir(parents=True)
    with pytest.raises(FileError, match="not a file"):
        evaluated(checkpoint=tmp_path / "folder")
    with pytest.raises(FileError, match="checkpoint is 3"):
        evaluated(checkpoint=3)


# a disk that is full

FULL = """
import resource, sys
import dynamis.study.study as module
from pathlib import Path
from tests.study.small import evaluated
module.OFTEN = module.SELDOM = 0.0
written = module.files.write
def write(folder, identity, done):
    if done.upto >= 4:  # no file may grow from here on
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    written(folder, identity, done)
module.files.write = write
evaluated(checkpoint=Path(sys.argv[1]), threads=1)
"""


@pytest.mark.thorough
def test_a_disk_that_is_full_says_so_and_what_was_written_stays(tmp_path):
    ended = python(FULL, tmp_path)
    assert "FileError: cannot write" in ended.stderr.splitlines()[-1], ended.stderr
    assert "File too large" in ended.stderr.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == [files.NAME]
    study = evaluated(checkpoint=tmp_path)
    assert 0 < study.resumed < 4 * BLOCK
    assert same(study, evaluated(threads=1))
