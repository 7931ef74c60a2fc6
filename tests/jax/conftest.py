"""Double precision in JAX, and what the tests of this folder share."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")


@pytest.fixture(autouse=True)
def precision(request):
    """JAX's default, single precision, unless a test asks for double."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", "x64" in request.fixturenames)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def x64(precision):
    """Double precision."""


@pytest.fixture
def compilations():
    """Grows by one entry with every program that XLA compiles."""
    found: list[str] = []

    def heard(event: str, seconds: float, **_) -> None:
        if event.endswith("backend_compile_duration"):
            found.append(event)

    jax.monitoring.register_event_duration_secs_listener(heard)
    yield found
    jax.monitoring.unregister_event_duration_listener(heard)


@pytest.fixture
def rng():
    return np.random.default_rng(17)
