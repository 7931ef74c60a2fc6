"""The handlers called as XLA calls them, by an XLA that may be of another version, or a GPU's."""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

import numpy as np
import pytest

pytest.importorskip("jax", reason="jax is not installed")

from dynamis import _xla

F64, S64 = 12, 5
BUFFER, SCALAR, EXECUTE, METADATA = 1, 3, 3, 1
STREAM = 0x5EA


def struct(name: str, **fields):
    head = [("struct_size", c_size_t), ("extension", c_void_p)]
    return type(name, (Structure,), {"_fields_": head + list(fields.items())})


ErrorCreate = struct("ErrorCreate", message=c_char_p, code=c_int)
StreamGet = struct("StreamGet", ctx=c_void_p, stream=c_void_p)
Version = struct("Version", major=c_int, minor=c_int)
ERROR = ctypes.CFUNCTYPE(c_void_p, POINTER(ErrorCreate))
STREAM_GET = ctypes.CFUNCTYPE(c_void_p, POINTER(StreamGet))
Api = struct(
    "Api", version=Version, internal=c_void_p, error_create=ERROR, unused=c_void_p * 3,
    stream_get=STREAM_GET, further=c_void_p * 8,
)  # fmt: skip
Buffer = struct("Buffer", dtype=c_int, data=c_void_p, rank=c_int64, dims=POINTER(c_int64))
Values = struct("Values", size=c_int64, types=POINTER(c_int), values=POINTER(c_void_p))
Attributes = struct(
    "Attributes", size=c_int64, types=POINTER(c_int), names=POINTER(c_void_p),
    values=POINTER(c_void_p),
)  # fmt: skip
Frame = struct(
    "Frame", api=POINTER(Api), ctx=c_void_p, stage=c_int, arguments=Values, results=Values,
    attributes=Attributes,
)  # fmt: skip
HANDLER = ctypes.CFUNCTYPE(c_void_p, POINTER(Frame))
LAUNCH = ctypes.CFUNCTYPE(c_int, c_void_p, *[ctypes.c_uint] * 7, *[c_void_p] * 3)


class Text(Structure):
    _fields_ = [("text", c_char_p), ("length", c_size_t)]


class Scalar(Structure):
    _fields_ = [("dtype", c_int), ("value", c_void_p)]


class Metadata(Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("version", Version), ("traits", ctypes.c_uint32),
        ("state", c_int64),
    ]  # fmt: skip


class Asked(Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("type", c_int), ("next", c_void_p),
        ("metadata", POINTER(Metadata)),
    ]  # fmt: skip


def handler(name: str):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    return HANDLER(get(getattr(_xla, name), b"xla._CUSTOM_CALL_TARGET"))


class Call:
    """One call of a handler: arrays in and out, and the error it gave."""

    def __init__(self, number: int, inputs, outputs):
        self.errors, self.kept = [], []

        @ERROR
        def error(given):
            self.errors.append((given[0].code, given[0].message.decode()))
            return 1

        @STREAM_GET
        def stream(given):
            given[0].stream = STREAM

        self.api = Api(
            ctypes.sizeof(Api), None, Version(24, None, 0, 9), None, error, stream_get=stream
        )
        scalar = Scalar(S64, self.address(c_int64(number)))
        names, values = self.addresses([Text(b"id", 2)]), self.addresses([scalar])
        self.attributes = Attributes(48, None, 1, (c_int * 1)(SCALAR), names, values)
        self.frame = Frame(
            ctypes.sizeof(Frame), None, ctypes.pointer(self.api), 7, EXECUTE, self.buffers(inputs),
            self.buffers(outputs), self.attributes,
        )  # fmt: skip

    def address(self, what) -> int:
        self.kept.append(what)
        return ctypes.addressof(what)

    def addresses(self, items):
        return (c_void_p * len(items))(*map(self.address, items))

    def buffers(self, arrays):
        self.kept += arrays
        made = [
            Buffer(48, None, F64, a.ctypes.data, a.ndim, (c_int64 * a.ndim)(*a.shape))
            for a in arrays
        ]
        types = (c_int * len(made))(*[BUFFER] * len(made))
        return Values(40, None, len(made), types, self.addresses(made))

    def run(self, name: str = "cpu"):
        self.error = handler(name)(ctypes.byref(self.frame))
        return self


@pytest.fixture
def launches():
    """Launches of a kernel that gives twice its first argument plus its second."""
    found = []

    def launch(kernel, gx, gy, gz, bx, by, bz, memory, stream, parameters, extra):
        found.append((kernel, (gx, gy, gz), (bx, by, bz), memory, stream, extra))
        slots = ctypes.cast(parameters, POINTER(POINTER(c_int64)))
        count, a, a_step, b, b_step, out = (slots[k][0] for k in range(6))
        a, b, out = (ctypes.cast(x, POINTER(c_double)) for x in (a, b, out))
        for k in range(count):
            for i in range(2):
                out[2 * k + i] = 2 * a[a_step * k + i] + b[b_step * k]
        return 0 if count < 100 else 719

    found.append(LAUNCH(launch))
    return found


def test_a_kernel_is_launched_with_samples_strides_and_stream(launches):
    address = ctypes.cast(launches[0], c_void_p).value
    _xla.register_cuda(77, True, (2, 1), (2,), address, 99, 4)
    a, b, out = np.arange(18.0).reshape(9, 2), np.array([0.5]), np.zeros((9, 2))
    call = Call(77, [a, b], [out]).run("cuda")
    assert call.error is None and not call.errors
    assert launches[1:] == [(99, (3, 1, 1), (4, 1, 1), 0, STREAM, None)]
    assert np.array_equal(out, 2 * a + 0.5)
    each = np.arange(9.0)
    Call(77, [a[:1], each], [out]).run("cuda")
    assert np.array_equal(out, 2 * a[0] + each[:, None])
    none = np.zeros((0, 2))
    assert Call(77, [none, b], [none]).run("cuda").error is None
    assert len(launches) == 3


def test_what_cuda_refuses_is_said(launches):
    address = ctypes.cast(launches[0], c_void_p).value
    _xla.register_cuda(78, True, (2, 1), (2,), address, 99, 64)
    a, b = np.zeros((100, 2)), np.zeros(1)
    call = Call(78, [a, b], [np.zeros((100, 2))]).run("cuda")
    assert call.errors == [(13, "cuLaunchKernel of a function of dynamis gave error 719")]
    call = Call(78, [a, b], [np.zeros((99, 2))]).run("cuda")
    assert call.errors[0][0] == 3 and len(launches) == 2
    assert "not known in this process on CUDA" in Call(79, [a, b], [a]).run("cuda").errors[0][1]
    assert "not known in this process:" in Call(78, [a, b], [a]).run("cpu").errors[0][1]


def change(path: str, value: int):
    def changed(call: Call) -> None:
        *owners, last = path.split(".")
        owner = call.frame if owners[0] == "frame" else call.api
        for name in owners[1:]:
            owner = getattr(owner, name)
        setattr(owner, last, value)

    return changed


STRANGE = {
    "a major version": change("api.version.major", 1),
    "a larger version": change("api.version.struct_size", 32),
    "a short api": change("api.struct_size", 80),
    "a short frame": change("frame.struct_size", 120),
    "larger arguments": change("frame.arguments.struct_size", 48),
    "larger results": change("frame.results.struct_size", 48),
    "short attributes": change("frame.attributes.struct_size", 40),
}


@pytest.mark.parametrize("name", ["cpu", "cuda"])
@pytest.mark.parametrize("what", STRANGE)
def test_another_interface_is_refused(what, name):
    call = Call(80, [np.zeros(2)], [np.zeros(2)])
    STRANGE[what](call)
    call.run(name)
    assert [code for code, _ in call.errors] == [9]
    assert "does not know this interface of XLA" in call.errors[0][1]


def test_short_buffers_and_other_stages():
    _xla.register(81, True, (2,), (2,), 8, 100)  # no code: it must not be called
    call = Call(81, [np.zeros(2)], [np.zeros(2)])
    ctypes.cast(call.frame.arguments.values[0], POINTER(Buffer))[0].struct_size = 40
    assert call.run().errors[0][0] == 3
    call = Call(81, [np.zeros(2)], [np.zeros(2)])
    call.frame.stage = EXECUTE - 1
    assert call.run().error is None and not call.errors


@pytest.mark.parametrize("with_api", [True, False])
def test_the_version_is_answered(with_api):
    call = Call(82, [], [])
    metadata = Metadata(48, Version(), 7, 5)
    asked = Asked(32, METADATA, None, ctypes.pointer(metadata))
    call.frame.extension = ctypes.addressof(asked)
    if not with_api:
        call.frame.api = None
    assert call.run().error is None
    version = metadata.version
    assert (version.struct_size, version.major, version.minor) == (24, 0, 9 if with_api else 1)
    assert metadata.traits == 0 and metadata.state == 5
