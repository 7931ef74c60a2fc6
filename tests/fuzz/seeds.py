"""The seeds that are no text: `python -m tests.fuzz.seeds` writes them again."""

import json
import shutil
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from .grammar.npz import npy
from .readers import CORPUS

T = np.arange(20) * 0.01
Q = np.stack([np.sin(T), np.cos(T)], axis=1)


def archive(name: str, compression: int, **arrays: np.ndarray) -> None:
    with zipfile.ZipFile(CORPUS / "npz" / f"valid-{name}.npz", "w", compression) as file:
        for key, array in arrays.items():
            info = zipfile.ZipInfo(f"{key}.npy")
            info.compress_type = compression
            file.writestr(info, npy(array))


def matlab(name: str, packed: bool, **variables: object) -> None:
    from scipy.io import savemat

    path = CORPUS / "mat" / f"valid-{name}.mat"
    savemat(path, variables, do_compression=packed)
    raw = path.read_bytes()  # the text in front holds the time
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(116) + raw[116:])


def parquet(name: str, **columns: object) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), CORPUS / "parquet" / f"valid-{name}.parquet")


def mcap(name: str, messages: list[dict]) -> None:
    from mcap.writer import CompressionType, Writer

    with (CORPUS / "mcap" / f"valid-{name}.mcap").open("wb") as file:
        writer = Writer(file, compression=CompressionType.NONE)
        writer.start()
        channel = writer.register_channel("/joint_states", "json", 0)
        for k, said in enumerate(messages):
            writer.add_message(channel, 10_000_000 * k, json.dumps(said).encode(), 0)
        writer.finish()


def bag(name: str, kind: str, **packed: str) -> None:
    """Joint states of a bag, with efforts in a topic of their own where it is not packed."""
    from tests.logs.test_bags import LOGGED, NUMBERS, STATE, numbers, states, store, write

    types = store(kind)
    fields = ("q", "qd", "tau") if packed else ("q",)
    given = [(t, numbers(kind, types, Q[k])) for k, t in enumerate(LOGGED[:20])]
    topics = {"/joint_states": (STATE, states(kind, fields=fields)[:20])}
    topics |= {} if packed else {"/effort": (NUMBERS, given)}
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / f"run.{kind}", topics, types, **packed)
        (CORPUS / kind).mkdir(exist_ok=True)
        shutil.copy(path, CORPUS / kind / f"valid-{name}.{kind}")


if __name__ == "__main__":
    archive("rows", zipfile.ZIP_DEFLATED, t=T, q=Q, qd=Q[:, ::-1].copy(), tau=2 * Q)
    archive("columns", zipfile.ZIP_STORED, t=T.astype(np.float32), q1=Q[:, 0], tau1=Q[:, 1])
    moments = (T * 1e9).astype("int64").astype("datetime64[ns]")
    archive("moments", zipfile.ZIP_DEFLATED, t=moments, q=np.asfortranarray(Q), tau=Q.astype(">f4"))
    matlab("rows", True, t=T, q=Q, tau=2 * Q.astype(np.float32), note="a run", ok=True)
    matlab("struct", False, t=T, q=Q, tau=np.ones((20, 2)), arm={"name": "x", "gear": {"ratio": 5}})
    fields = [("Pos", object), ("meas", object)]
    joint = np.array([[(Q[:, k], {"Trq": T + k}) for k in range(2)]], dtype=fields)
    matlab("structs", True, Time=T, joint=joint)
    columns = {"q1": Q[:, 0], "q2": Q[:, 1], "tau1": Q[:, 1], "tau2": Q[:, 0]}
    parquet("columns", t=T, **columns)
    parquet("lists", t=moments, q=list(Q), tau=list(Q.astype(np.float32)))
    states = [
        {
            "header": {"stamp": {"sec": 1, "nanosec": 10_000_000 * k}},
            "name": ["a", "b"],
            "position": list(q),
            "velocity": [0.1, -0.1],
            "effort": [1.0, None],
        }
        for k, q in enumerate(Q[:8].round(4).tolist())
    ]
    states = [x | {"effort": [1.0, 2.0]} if k else x for k, x in enumerate(states)]
    mcap("stamped", states)
    mcap("bare", [{"position": x["position"], "effort": [1, 2]} for x in states])
    for kind, packed in (("mcap", "ZSTD"), ("bag", "LZ4")):
        bag("effort", kind)
        bag("packed", kind, packed=packed)
    bag("effort", "db3")
