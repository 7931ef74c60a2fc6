"""Tests on a GPU, and with PyTorch on every device there is.

`python -m pytest tests/gpu`, or in several processes at once `python -m tests.gpu`.
"""

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


def pytest_addoption(parser):
    parser.addoption("--part", default="0/1", help="k/n: every n-th test from the k-th on")


def pytest_collection_modifyitems(config, items):
    k, n = map(int, config.getoption("--part").split("/"))
    here = [i for i in items if "tests/gpu" in i.path.as_posix()]
    chosen = set(here[k::n])
    items[:] = [i for i in items if i in chosen or i not in set(here)]
