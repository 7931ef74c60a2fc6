"""Tests with PyTorch, on every device there is: `python -m pytest tests/gpu`."""

import pytest

try:
    import torch
except ImportError:
    collect_ignore_glob = ["test_torch*.py"]
    DEVICES = []
else:
    DEVICES = ["cpu", *(["cuda:0"] if torch.cuda.is_available() else [])]


@pytest.fixture(scope="module", params=DEVICES)
def device(request, compiled):
    """A device with compiled code, which robots' own methods run too."""
    return torch.device(request.param)
