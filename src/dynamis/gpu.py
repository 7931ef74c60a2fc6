"""GPUs of this machine: `dy.gpu.devices()`."""

from .compile.gpu import Device, Devices, devices

__all__ = ["Device", "Devices", "devices"]
