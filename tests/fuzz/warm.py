"""What the fork server imports once for all workers; it reads nothing, so it starts no threads."""

from contextlib import suppress
from importlib import import_module

from . import mutations, oracle, readers  # noqa: F401

for name in (
    *("mujoco", "pyarrow.parquet", "mcap.reader", "mcap.writer"),
    *("lz4.frame", "backports.zstd", "rosbags.typesys.stores.ros2_humble", "rosbags.rosbag1"),
):
    with suppress(ImportError):
        import_module(name)
