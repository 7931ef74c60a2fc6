"""Tensors as arguments: one device, one precision, the shapes of a robot."""

from collections.abc import Sequence
from typing import Any

from ..errors import ShapeError, shown
from .operator import DTYPES, common, torch

Shapes = Sequence[tuple[int, ...]]
WHOLE = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)


def tensors(names: Sequence[str], cores: Shapes, given: Sequence[Any]) -> list[Any]:
    """Arguments as tensors of one device and precision whose last axes are `cores`."""
    found = list(given) if _one_kind(given) else _promoted(names, given)
    whole, core, alike = found[0].shape, cores[0], True
    for x, other in zip(found, cores, strict=True):
        alike = alike and x.shape == whole and other == core
    if alike and whole[len(whole) - len(core) :] == core:
        return found  # most calls
    leading = []
    for name, core, x in zip(names, cores, found, strict=True):
        shape = x.shape
        axes = len(shape) - len(core)
        if axes < 0 or not shape[axes:] == core:  # noqa: SIM201  PyTorch 2.11 traces no other
            expected = ", ".join(["...", *map(str, core)])
            raise ShapeError(f"{name} has shape {tuple(shape)}, expected ({expected})")
        leading.append(shape[:axes])
    _refuse_unequal(names, leading)
    return found


def _one_kind(given: Sequence[Any]) -> bool:
    first = given[0]
    if not isinstance(first, torch.Tensor) or first.dtype not in DTYPES:
        return False
    dtype, device = first.dtype, first.device
    for x in given:
        if not (
            isinstance(x, torch.Tensor)
            and x.dtype is dtype
            and x.device == device
            and x.layout is torch.strided
        ):
            return False
    return True


def _promoted(names: Sequence[str], given: Sequence[Any]) -> list[Any]:
    """Numbers, lists and tensors of several kinds as tensors of one.

    Tensors of floats decide the precision; the default does where there are none.
    """
    own = [isinstance(x, torch.Tensor) for x in given]
    places: dict[Any, str] = {}
    for name, x in zip(names, given, strict=True):
        if isinstance(x, torch.Tensor):
            places.setdefault(x.device, name)
    if len(places) > 1:
        where = ", ".join(f"{name} is on {device}" for device, name in places.items())
        raise ShapeError(f"tensors are on several devices ({where})", "move them with .to(device)")
    device = next(iter(places), None)
    pairs = zip(names, given, own, strict=True)
    found = [x if is_own else _tensor(x, name) for name, x, is_own in pairs]
    for name, x in zip(names, found, strict=True):
        if x.dtype not in DTYPES and x.dtype not in WHOLE:
            raise ShapeError(
                f"{name} holds {x.dtype}, expected torch.float64 or torch.float32",
                "convert it with .double() or .float()",
            )
        if x.layout is not torch.strided:
            raise ShapeError(f"{name} is {x.layout}, expected a dense tensor")
    deciding = [x.dtype for x, is_own in zip(found, own, strict=True) if is_own]
    floats = [kind for kind in deciding if kind in DTYPES]
    dtype = torch.get_default_dtype() if not floats else floats[0]
    for kind in floats:
        dtype = torch.promote_types(dtype, kind)
    if dtype not in DTYPES:
        raise ShapeError(f"the default dtype is {dtype}, expected torch.float64 or torch.float32")
    return [x.to(device=device, dtype=dtype) for x in found]


def _tensor(value: Any, name: str) -> Any:
    try:
        return torch.tensor(value)  # a copy: arrays that may not be written to are no tensors
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise ShapeError(
            f"{name} is {shown(value)}, expected a tensor of numbers ({error})"
        ) from None


def _refuse_unequal(names: Sequence[str], leading: Sequence[Any]) -> None:
    """Leading axes that do not broadcast are refused by the names of their arguments."""
    try:
        common(leading)
    except RuntimeError:
        pairs = zip(names, leading, strict=True)
        listed = ", ".join(f"{name}: {tuple(shape)}" for name, shape in pairs)
        raise ShapeError(
            f"leading axes do not broadcast ({listed}), expected equal sizes or 1"
        ) from None


def destinations(out: Any, shapes: Shapes, like: Any) -> list[Any]:
    """The caller's own tensors for results, checked."""
    given = [out] if len(shapes) == 1 else out
    if not isinstance(given, (list, tuple)) or len(given) != len(shapes):
        raise ShapeError(f"out is {type(out).__name__}, expected {len(shapes)} tensors")
    for x, shape in zip(given, shapes, strict=True):
        if not isinstance(x, torch.Tensor) or tuple(x.shape) != shape:
            what = tuple(x.shape) if isinstance(x, torch.Tensor) else type(x).__name__
            raise ShapeError(f"out is {what}, expected a tensor of shape {shape}")
        if (x.dtype, x.device) != (like.dtype, like.device):
            raise ShapeError(
                f"out holds {x.dtype} on {x.device}, expected {like.dtype} on {like.device}"
            )
        if x.requires_grad:
            raise ShapeError("out requires a gradient, expected a tensor that does not")
    return list(given)
