"""What a flow measures with: how benchmarks are read, and what launches them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from regress.flows.measure import Undertaking
from regress.launch.catalogs import read_catalogs
from regress.launch.launcher import Code, Launcher
from regress.launch.local import LocalLauncher
from regress.spec.benchmark import Catalog


def local_launcher(undertaking: Undertaking, cache: Path) -> Launcher:
    """The launcher of this host."""
    return LocalLauncher(cache=cache, device=undertaking.catalogs[-1].device)


@dataclass(frozen=True, kw_only=True)
class Machinery:
    """The two places where a flow leaves this process; tests put fakes there."""

    catalogs: Callable[[Sequence[Code], Path], Sequence[Catalog]] = read_catalogs
    """Reads the catalog of each side; the folder is the cache."""

    launcher: Callable[[Undertaking, Path], Launcher] = local_launcher
    """Makes the launcher of an undertaking; the folder is the cache."""


THIS_HOST = Machinery()
"""Real processes on this host."""
