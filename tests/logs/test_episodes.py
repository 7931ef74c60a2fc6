"""Data sets of LeRobot: files, folders, several episodes, names of joints."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dynamis.errors import FileError, OptionError
from dynamis.logs.read import read_log

from .test_read_log import T, arrays, same, two_links

MOTORS = ["shoulder", "elbow"]


def data_set(folder, episodes=1, effort=True, names=MOTORS, file="episode_000000", **more):
    """Columns as LeRobot writes them: lists of float32 of fixed size, stamps of each episode."""
    data = {k: np.tile(x, (episodes, 1)) for k, x in arrays().items() if k != "t"}

    def lists(x):
        flat = pa.array(x.astype(np.float32).reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, x.shape[1])

    columns = {"observation.state": lists(data["q"]), "action": lists(data["q"] + 0.1)}
    if effort:
        columns["observation.velocity"] = lists(data["qd"])
        columns["observation.effort"] = lists(data["tau"])
    columns["timestamp"] = np.tile(T, episodes).astype(np.float32)
    columns["frame_index"] = np.tile(np.arange(len(T)), episodes)
    columns["episode_index"] = np.repeat(np.arange(episodes), len(T))
    path = folder / "data" / "chunk-000" / f"{file}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    features = {"observation.state": {"dtype": "float32", "shape": [2], "names": names}} | more
    (folder / "meta").mkdir(exist_ok=True)
    (folder / "meta" / "info.json").write_text(json.dumps({"features": features, "fps": 100}))
    return path


def test_an_episode_and_its_folder(tmp_path):
    path = data_set(tmp_path / "arm")
    for source in (path, tmp_path / "arm"):
        log = read_log(source)
        assert log.name == source.stem
        same(log, arrays(), atol=1e-6)
    turned = read_log(path, robot=two_links("elbow", "shoulder"))
    same(turned, {"q": log.q[:, ::-1], "tau": log.tau[:, ::-1]})


@pytest.mark.parametrize(
    "names",
    [[MOTORS], {"motors": MOTORS}, {"axes": [MOTORS]}, ["shoulder.pos", "elbow.pos"]],
)
def test_names_as_versions_of_lerobot_write_them(tmp_path, names):
    path = data_set(tmp_path, names=names)
    same(read_log(path, joints=["elbow"]), {"q": arrays()["q"][:, 1:]}, atol=1e-6)


@pytest.mark.parametrize("names", [None, [], ["a", 3], ["a.x", "a.x"], {"a": {}}, 5, [[]]])
def test_names_that_are_none(tmp_path, names):
    path = data_set(tmp_path, names=names)
    same(read_log(path), {"q": arrays()["q"]}, atol=1e-6)
    with pytest.raises(OptionError, match="carry none"):
        read_log(path, joints=["elbow", "shoulder"])


def test_efforts_in_another_order_of_joints(tmp_path):
    path = data_set(tmp_path, **{"observation.effort": {"names": MOTORS[::-1]}})
    with pytest.raises(FileError, match=r"names the joints of observation\.state shoulder, elbow"):
        read_log(path)
    path = data_set(tmp_path, **{"observation.effort": {"names": ["shoulder.nm", "elbow.nm"]}})
    assert read_log(path).n == 2


def test_without_torques(tmp_path):
    path = data_set(tmp_path, effort=False)
    with pytest.raises(OptionError, match=r"no 'observation\.effort'.* for tau; it has: observ.*, "
                       r"action.*\nhint: columns=dict\(tau=\.\.\.\) says which"):  # fmt: skip
        read_log(path)
    same(read_log(path, {"tau": "action"}), {"tau": arrays()["q"] + 0.1}, atol=1e-6)


def test_several_episodes_in_one_file(tmp_path):
    path = data_set(tmp_path, episodes=3, file="file-000")
    with pytest.raises(OptionError, match=r"holds 3 motions: episode 0 \(rows 0 to 199\), episode 1"
                       r".*\nhint: rows=\(0, 200\) reads episode 0"):  # fmt: skip
        read_log(path)
    with pytest.raises(OptionError, match=r"holds 2 motions: episode 1 \(rows 200 to 399\)"):
        read_log(path, rows=(210, None))
    same(read_log(path, rows=(200, 400)), {"q": arrays()["q"]}, atol=1e-6)
    same(read_log(path, rows=(450, None)), {"q": arrays()["q"][50:]}, atol=1e-6)


def test_several_files(tmp_path):
    for k in range(3):
        data_set(tmp_path, file=f"episode_{k:06d}")
    with pytest.raises(OptionError, match=r"holds 3 files: data/chunk-000/episode_000000\.parquet"):
        read_log(tmp_path)
    (tmp_path / "empty" / "meta").mkdir(parents=True)
    (tmp_path / "empty" / "data").mkdir()
    (tmp_path / "empty" / "meta" / "info.json").write_text("{}")
    with pytest.raises(FileError, match=r"no data/\*/\*\.parquet"):
        read_log(tmp_path / "empty")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\udc80"])
def test_damaged_information(tmp_path, text):
    path = data_set(tmp_path)
    (tmp_path / "meta" / "info.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FileError, match=r"info\.json of its data set cannot be read"):
        read_log(path)
    (tmp_path / "meta" / "info.json").write_text("[1, 2]")
    assert read_log(path).n == 2


def test_other_parquet_files_are_as_before(tmp_path):
    path = tmp_path / "run.parquet"
    pq.write_table(pa.table({"timestamp": T, "q1": T, "tau1": T, "episode_index": T}), path)
    log = read_log(path)
    assert log.n == 1 and np.array_equal(log.t, T)
    assert [x.what for x in log.findings] == ["columns guessed by their names: t='timestamp'"]
