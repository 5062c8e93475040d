"""What a flow measures with: how benchmarks are read, and what launches them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regress.flows.progress import Progress
from regress.flows.undertaking import Means, Undertaking
from regress.flows.workplace import MeasuredSide, Workplace
from regress.launch.catalogs import read_catalogs
from regress.launch.launcher import Code, Launcher
from regress.launch.local import LocalLauncher
from regress.launch.torchrun import TorchrunLauncher
from regress.spec.benchmark import Catalog

LAUNCHERS: Mapping[str, Callable[..., Launcher]] = {"local": LocalLauncher, "torchrun": TorchrunLauncher}
"""By the name that users know them by."""


def launcher_of(undertaking: Undertaking, cache: Path) -> Launcher:
    """The launcher that an undertaking asks for."""
    make = LAUNCHERS[undertaking.means.launcher]
    own, first = sys.executable, undertaking.sides[0].code.python
    return make(
        cache=cache,
        device=undertaking.catalogs[-1].device,
        pin=undertaking.pin_ranks,
        canary=(own, first) if undertaking.canary else (),
    )


@dataclass(frozen=True, kw_only=True)
class Machinery:
    """The two places where a flow leaves this process; tests put fakes there."""

    catalogs: Callable[[Sequence[Code], Path], Sequence[Catalog]] = read_catalogs
    """Reads the catalog of each side; the folder is the cache."""

    launcher: Callable[[Undertaking, Path], Launcher] = launcher_of
    """Makes the launcher of an undertaking; the folder is the cache."""


THIS_HOST = Machinery()
"""Real processes on this host."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where and how a flow measures."""

    workplace: Workplace
    """Where the command was typed."""

    means: Means
    """How to measure."""

    progress: Progress
    """Told how far it is."""

    machinery: Machinery
    """What measures."""

    def catalogs(self, *sides: MeasuredSide) -> tuple[Catalog, ...]:
        """Read the benchmarks of each side.

        Raises:
            LaunchError: An interpreter cannot be started, lacks torch, or does not answer.
        """
        self.progress.say("reading the benchmarks")
        return tuple(self.machinery.catalogs([side.code for side in sides], self.workplace.cache))
