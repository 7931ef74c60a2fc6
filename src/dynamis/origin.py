"""Where generated code comes from: the fingerprint of its model."""

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model.chain import Chain


def model_hash(chain: "Chain") -> str:
    """64 hexadecimal digits that change with every number of the model."""
    return hashlib.sha256(repr(chain).encode()).hexdigest()
