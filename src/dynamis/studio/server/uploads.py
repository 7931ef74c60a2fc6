"""Uploaded files: limited in size, and never written to disk.

viser gathers whatever a tab sends. `Uploads` stands before its handlers and refuses a file by the
size it declares, and whatever then sends more than it declared.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...errors import FileError, counted
from ...model.formats.files import READERS, model_from_toml, model_from_xml
from ...model.formats.tables import LARGEST
from ...model.geometry import Geometry, Source
from ...robot import Robot

MOST_AT_ONCE = 4  # files of one tab on their way
OTHERS = 64_000_000  # bytes where a button has no limit of its own
SHOWN = 60  # characters of a file's name


class Uploads:
    """The uploads of one tab."""

    def __init__(self, client: Any, say: Callable[[str], None]):
        from viser import _messages

        self._gui, self._say = client.gui, say
        self._messages = _messages
        self._limits: dict[str, tuple[int, Callable[[str], None]]] = {}
        link = client.gui._websock_interface
        for kind, old, new in (
            (_messages.FileTransferStartUpload, self._gui._handle_file_transfer_start, self._start),
            (_messages.FileTransferPart, self._gui._handle_file_transfer_part, self._part),
        ):
            link.unregister_handler(kind, old)
            link.register_handler(kind, new)

    def limit(self, button: Any, most: int, refused: Callable[[str], None]) -> None:
        """Take at most `most` bytes at a button; `refused` gets the reason."""
        self._limits[button._impl.uuid] = most, refused

    def _start(self, number: int, message: Any) -> None:
        most, refused = self._limits.get(message.source_component_uuid, (OTHERS, self._say))
        going = self._gui._current_file_upload_states
        if message.size_bytes > most or message.part_count > message.size_bytes:
            size = f"{message.size_bytes / 1e6:.1f} MB"
            self._drop(message)
            refused(
                f"{shown_name(message.filename)} has {size}, expected at most {most / 1e6:g} MB"
            )
        elif len(going) >= MOST_AT_ONCE:
            self._drop(message)
            refused(f"{counted(len(going), 'file')} are on their way: wait for them")
        else:
            self._gui._handle_file_transfer_start(number, message)

    def _part(self, number: int, message: Any) -> None:
        state = self._gui._current_file_upload_states.get(message.transfer_uuid)
        if state is not None and (
            state["transferred_bytes"] + len(message.content) > state["total_bytes"]
        ):
            self._gui._current_file_upload_states.pop(message.transfer_uuid, None)
            return
        self._gui._handle_file_transfer_part(number, message)

    def _drop(self, message: Any) -> None:
        """Free the button, which waits for its file, and take its progress off the page."""
        link, size = self._gui._websock_interface, message.size_bytes
        ids = {k: getattr(message, k) for k in ("source_component_uuid", "transfer_uuid")}
        link.queue_message(
            self._messages.FileTransferPartAck(**ids, transferred_bytes=size, total_bytes=size)
        )
        progress = f"upload-{message.transfer_uuid}"
        link.queue_message(self._messages.RemoveNotificationMessage(progress))


def uploaded_robot(filename: str, data: bytes) -> Robot:
    """The robot in a file that was uploaded; its name only says what it is, never where."""
    name = shown_name(filename)
    suffix = name.rpartition(".")[2].lower()
    if suffix == "xacro":
        raise FileError(
            f"{name} is a xacro file: a program, which is never run from an upload",
            "run `xacro in.xacro > out.urdf` first",
        )
    if f".{suffix}" not in READERS:
        raise FileError(f"{name} ends in {suffix[:10]!r}, expected one of {', '.join(READERS)}")
    if not data.strip():
        raise FileError(f"{name} is empty, expected a robot")
    if len(data) > LARGEST:
        raise FileError(f"{name} has {len(data)} bytes, expected at most {LARGEST}")
    if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):  # else: UTF-16
        raise FileError(f"{name} is not text, expected a TOML, URDF, SDF or MJCF file")
    read = model_from_toml if suffix == "toml" else model_from_xml
    model = read(data, name)
    return Robot(replace(model, geometry=tuple(map(_closed, model.geometry))))


def _closed(shape: Geometry) -> Geometry:
    """A shape whose file, on the computer of the one who uploads, is not looked for on this one."""
    own = shape.source or Source()
    source = Source(own.folder, own.element, own.colour, closed=True)
    return shape if shape.file is None else replace(shape, source=source)


def shown_name(filename: str) -> str:
    """The last part of a file's name, without what cannot be printed, not too long."""
    last = filename.replace("\\", "/").rpartition("/")[2]
    clean = "".join(c for c in last if c.isprintable()) or "the file"
    return clean if len(clean) <= SHOWN else "…" + clean[1 - SHOWN :]
