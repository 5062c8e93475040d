"""How a flow tells what it is doing."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told what runs and how far it is."""

    def say(self, text: str) -> None:
        """Something short is being done that has no measure: ``reading the benchmarks``."""

    def at(self, done: float, what: str) -> None:
        """Measuring: ``done`` is the share of all blocks, ``what`` the block, side and benchmark."""


class Silence:
    """Tells nobody."""

    def say(self, text: str) -> None:
        """See `Progress`."""

    def at(self, done: float, what: str) -> None:
        """See `Progress`."""
