"""A line between a plant and its controller that loses and delays packets."""

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np


class Channel:
    """Loses packets at random and gives the others late by a random part of `jitter`."""

    def __init__(self, loss: float, delay: float, jitter: float, seed: Any):
        self.loss, self.delay, self.jitter = loss, delay, jitter
        self.lost = 0
        self._rng = np.random.default_rng(seed)
        self._waiting: list[tuple[float, int, Any]] = []
        self._count = 0

    def put(self, t: float, packet: Any) -> None:
        """A packet goes in at time t."""
        chance, part = self._rng.random(2)
        if chance < self.loss:
            self.lost += 1
            return
        self._count += 1
        due = t + self.delay + self.jitter * part
        heapq.heappush(self._waiting, (due, self._count, packet))

    @property
    def due(self) -> float:
        """When the next one comes out."""
        return self._waiting[0][0] if self._waiting else np.inf

    def ready(self, t: float) -> Iterator[Any]:
        """What has come out until time t."""
        while self.due <= t:
            yield heapq.heappop(self._waiting)[2]
