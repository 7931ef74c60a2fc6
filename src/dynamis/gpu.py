"""GPUs of this machine: `dy.gpu.devices()`."""

from .compile.gpu import Device, Devices, devices
from .lazy import public_dir

__all__ = ["Device", "Devices", "devices"]
__dir__ = public_dir(__name__)
