"""Every path that a launch touches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class LaunchPaths:
    """The scratch folder of one side's launch."""

    folder: Path
    """Exists, and is this launch's own."""

    @property
    def rendezvous(self) -> Path:
        """Where ranks find each other; made by torch."""
        return self.folder / "rendezvous"

    @property
    def work(self) -> Path:
        """Working directory of all ranks: what a benchmark writes lands here."""
        return self.folder / "work"

    @property
    def caches(self) -> Path:
        """What torch compiles in this launch, where nothing is kept for the next one."""
        return self.folder / "caches"

    def log(self, rank: int) -> Path:
        """Standard output and standard error of a rank."""
        return self.folder / f"rank{rank}.log"

    def stacks(self, rank: int) -> Path:
        """Stacks of a rank's threads, on demand."""
        return self.folder / f"rank{rank}.stacks"

    def collectives(self, rank: int) -> Path:
        """How far a rank came with the collectives of each process group, on demand."""
        return self.folder / f"rank{rank}.collectives"

    def heartbeat(self, rank: int) -> Path:
        """A number that grows whenever a step ends on a rank, 8 bytes."""
        return self.folder / f"rank{rank}.beat"

    def series(self, label: str, rank: int) -> Path:
        """What a rank measured of a benchmark."""
        return self.folder / f"{file_name(label)}.rank{rank}.json"


def file_name(label: str) -> str:
    """A benchmark's label as a file name."""
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", label)
