"""XLA's side: structs as its headers have them, and calls that must not reach memory."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynamis as dy
import dynamis.jax as dj
from dynamis import _xla
from dynamis.compile.function import robot_function
from dynamis.jax.primitive import TARGET, registered, value
from dynamis.lazy import install_command

SOURCE = Path(dj.__file__).parents[1] / "_xla.c"
HEADER = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
BASE = "InternalExtension" if "InternalExtension;" in HEADER.read_text() else "Extension_Base"
STRUCTS = {  # ours: XLA's, and its fields
    "Extension": (BASE, "struct_size type next"),
    "Version": ("Api_Version", "struct_size major_version minor_version"),
    "Metadata": ("Metadata", "struct_size version:api_version traits"),
    "MetadataExtension": ("Metadata_Extension", "base:extension_base metadata"),
    "ErrorCreate": ("Error_Create_Args", "struct_size message code:errc"),
    "ErrorDestroy": ("Error_Destroy_Args", "struct_size error"),
    "StreamGet": ("Stream_Get_Args", "struct_size ctx stream"),
    "Schedule": ("ThreadPool_Schedule_Args", "struct_size ctx task data"),
    "ThreadCount": ("ThreadPool_NumThreads_Args", "struct_size ctx threads:num_threads"),
    "Api": ("Api", "struct_size version:api_version error_create:XLA_FFI_Error_Create "
            "error_destroy:XLA_FFI_Error_Destroy stream_get:XLA_FFI_Stream_Get "
            "schedule:XLA_FFI_ThreadPool_Schedule thread_count:XLA_FFI_ThreadPool_NumThreads"),
    "Buffer": ("Buffer", "struct_size dtype data rank dims"),
    "Text": ("ByteSpan", "text:ptr length:len"),
    "Scalar": ("Scalar", "dtype value"),
    "Attributes": ("Attrs", "struct_size size types names values:attrs"),
    "Frame": ("CallFrame", "struct_size extension:extension_start api ctx stage arguments:args "
              "results:rets attributes:attrs"),
}  # fmt: skip
VALUES = ("Args", "args"), ("Rets", "rets")
CONSTANTS = {
    "METADATA": "Extension_Metadata", "BUFFER": "ArgType_BUFFER", "SCALAR": "AttrType_SCALAR",
    "EXECUTE": "ExecutionStage_EXECUTE", "S64": "DataType_S64", "F32": "DataType_F32",
    "F64": "DataType_F64", "INVALID": "Error_Code_INVALID_ARGUMENT",
    "MISSING": "Error_Code_NOT_FOUND", "FAILED": "Error_Code_FAILED_PRECONDITION",
    "INTERNAL": "Error_Code_INTERNAL",
}  # fmt: skip


def test_structs_are_those_of_the_headers(tmp_path):
    compilers = [x for x in ("cc", "gcc", "clang") if shutil.which(x)]
    if not compilers:
        pytest.importorskip("ziglang", reason="no C compiler and no ziglang package")
    cc = compilers[:1] or [sys.executable, "-m", "ziglang", "cc"]
    lines = ['#include "xla/ffi/api/c_api.h"', f'#include "{SOURCE}"']
    pairs = [(ours, *theirs) for ours, theirs in STRUCTS.items()]
    pairs += [("Values", name, f"struct_size size types values:{last}") for name, last in VALUES]
    for ours, theirs, fields in pairs:
        for field in fields.split():
            own, _, name = field.partition(":")
            other = f"XLA_FFI_{theirs}, {name or own}"
            lines += [f'_Static_assert(offsetof({ours}, {own}) == offsetof({other}), "{field}");']
            other = f"((XLA_FFI_{theirs} *)0)->{name or own}"
            if field != "version:api_version":
                same = f"sizeof(((({ours} *)0)->{own})) == sizeof({other})"
                lines += [f'_Static_assert({same}, "size of {field}");']
    for ours, theirs in CONSTANTS.items():
        lines += [f'_Static_assert((int){ours} == (int)XLA_FFI_{theirs}, "{ours}");']
    (tmp_path / "layout.c").write_text("\n".join(lines) + "\n")
    include = Path(jax.ffi.include_dir()), sysconfig.get_paths()["include"]
    flags = [f"-I{folder}" for folder in include]
    command = [*cc, "-std=c11", "-fsyntax-only", *flags, "layout.c"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def number(compiled):
    arm = dy.load("scara")
    return registered(value(robot_function(arm, "gravity_torque", True)), "float32", "cpu")


SINGLE, DOUBLE = jnp.float32, jnp.float64
Q, P = ((3,), SINGLE), ((45,), SINGLE)
OUT = ((3,), SINGLE)
HOSTILE = {
    "argument of another size": ([((4,), SINGLE), P], [OUT]),
    "part of a sample": ([((5, 2), SINGLE), P], [((5, 3), SINGLE)]),
    "too few samples": ([((4, 3), SINGLE), P], [((5, 3), SINGLE)]),
    "too few results": ([((5, 3), SINGLE), P], [((4, 3), SINGLE)]),
    "many arguments for one result": ([((5, 3), SINGLE), P], [OUT]),
    "samples for none": ([((5, 3), SINGLE), P], [((0, 3), SINGLE)]),
    "result of another size": ([Q, P], [((2,), SINGLE)]),
    "whole numbers": ([((3,), jnp.int32), P], [OUT]),
    "half precision": ([((3,), jnp.float16), P], [OUT]),
    "double precision": ([((3,), DOUBLE), ((45,), DOUBLE)], [((3,), DOUBLE)]),
    "double result": ([Q, P], [((3,), DOUBLE)]),
    "an argument too few": ([Q], [OUT]),
    "an argument too many": ([Q, P, P], [OUT]),
    "no result": ([Q, P], []),
    "a result too many": ([Q, P], [OUT, OUT]),
}


def called(arguments, outputs, **attributes):
    shapes = [jax.ShapeDtypeStruct(*x) for x in outputs]
    call = jax.ffi.ffi_call(TARGET, shapes, has_side_effect=True)
    given = [jnp.ones(*x) for x in arguments]
    found = jax.jit(lambda *x: call(*x, **attributes))(*given)
    return jax.block_until_ready(found)


@pytest.mark.parametrize("what", HOSTILE)
def test_buffers_that_do_not_fit_are_refused(what, number, x64):
    with pytest.raises(Exception, match="a function of dynamis") as found:
        called(*HOSTILE[what], id=np.int64(number))
    assert "INVALID_ARGUMENT" in str(found.value)


@pytest.mark.parametrize(
    "attributes", [{}, {"id": np.int32(1)}, {"id": "1"}, {"di": np.int64(1)}], ids=str
)
def test_a_call_without_a_number_is_refused(attributes, number):
    with pytest.raises(Exception, match="without its attribute id"):
        called([Q, P], [OUT], **attributes)


def test_what_fits_is_computed(number):
    (one,) = called([Q, P], [OUT], id=np.int64(number))
    (many,) = called([((2, 2, 3), SINGLE), P], [((2, 2, 3), SINGLE)], id=np.int64(number))
    assert np.array_equal(many, np.broadcast_to(one, (2, 2, 3)))
    (none,) = called([((0, 3), SINGLE), P], [((0, 3), SINGLE)], id=np.int64(number))
    assert none.shape == (0, 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_that_threads_share_are_the_same(compiled, x64, dtype):
    arm, rng = dy.load("polar-rp"), np.random.default_rng(0)
    values = arm.parameters.values.astype(dtype)
    most = robot_function(arm, "step", True).code(dtype).largest
    f = jax.jit(lambda q, p: dj.step(arm, q, q, q, 1e-3, p)[1])
    for count in (most, 2 * most + 1, 9 * most + 63):
        q = rng.normal(size=(count, 2)).astype(dtype)
        found = np.asarray(f(q, values))
        alone = [f(q[k : k + most], values) for k in range(0, count, most)]
        assert np.array_equal(found, np.concatenate(alone))


def test_a_number_means_one_function():
    _xla.register(1, True, (3,), (2,), 8, 100)
    _xla.register(1, True, (3,), (2,), 8, 100)
    with pytest.raises(ValueError, match="another function"):
        _xla.register(1, False, (3,), (2,), 8, 100)
    with pytest.raises(ValueError, match="another function"):
        _xla.register(1, True, (3,), (1,), 8, 100)
    for sizes in ((0,), (-1,), (1,) * 65):
        with pytest.raises(ValueError):
            _xla.register(2, True, sizes, (1,), 8, 100)
    with pytest.raises(ValueError):
        _xla.register(2, True, (1,), (1,), 0, 100)
    with pytest.raises(ValueError):
        _xla.register_cuda(2, True, (1,), (1,), 8, 0, 64)


# other processes

PROGRAM = """
import hashlib
import jax, jax.numpy as jnp
import dynamis as dy, dynamis.jax as dj
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name))
f = jax.jit(lambda q: dj.fk(dy.load("scara"), q))
print(hashlib.sha256(f.lower(jnp.ones(3)).as_text().encode()).hexdigest())
print(f(jnp.ones(3)).tolist())
print("/jax/compilation_cache/cache_hits" in hits)
"""


def other_process(code: str, **environment: str) -> str:
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", **environment}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
def test_programs_that_jax_keeps_on_disk_run_in_other_processes(compiled, tmp_path):
    kept = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    *first, found = other_process(PROGRAM, **kept).splitlines()
    *second, found_again = other_process(PROGRAM, **kept).splitlines()
    assert second == first
    assert (found, found_again) == ("False", "True")
    assert first[1] == str(dj.fk(dy.load("scara"), jnp.ones(3)).tolist())


def test_a_number_from_elsewhere_is_said_to_be_unknown():
    with pytest.raises(Exception, match="is not known in this process") as found:
        called([Q, P], [OUT], id=np.int64(12345))
    assert "NOT_FOUND" in str(found.value) and "0000000000003039" in str(found.value)


@pytest.mark.parametrize(
    ("module", "words"), [("jax", install_command("jax")), ("dynamis._xla", "C compiler")]
)
def test_what_is_not_installed_is_said(module, words):
    code = f"""
import sys
sys.modules[{module!r}] = None
from dynamis.errors import MissingPackageError
try:
    import dynamis.jax
except MissingPackageError as error:
    print(error)
"""
    assert words in other_process(code)
