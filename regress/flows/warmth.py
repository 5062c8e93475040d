"""What sides find when they start: how many steps they warm up for, and what was compiled before."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from regress.flows.undertaking import Undertaking
from regress.record.run import Launch
from regress.spec.plan import Block
from regress.store.runset import RunSet


def known_warmups(block: Block, sides: Iterable[Iterable[Launch]]) -> tuple[tuple[str, int], ...]:
    """After how many steps each benchmark is known to be warm.

    That is what the first block told of it in which any side was measured; of several sides the larger
    number counts. So all later blocks warm up alike, also when an interrupted measurement goes on.

    Args:
        block: The one to be measured: only earlier ones tell.
        sides: Launches of each.
    """
    earlier = [launch for launches in sides for launch in launches if launch.block < block.index]
    found: dict[str, int] = {}
    first: dict[str, int] = {}
    for launch in sorted(earlier, key=lambda each: each.block):
        for measurement in launch.measurements:
            label, warmup = measurement.benchmark, measurement.warmup
            if warmup is not None and first.setdefault(label, launch.block) == launch.block:
                found[label] = max(warmup, found.get(label, 0))
    return tuple(sorted(found.items()))


@contextmanager
def kept_caches(undertaking: Undertaking, runs: RunSet, cache: Path) -> Iterator[Undertaking]:
    """The undertaking with a folder for what torch compiles, where its plan wants it kept across launches.

    The folder is the measurement's own and goes with its end. An interruption is none: whoever goes on
    finds what was compiled.

    Args:
        undertaking: What is measured.
        runs: Where it is kept; they name the folder.
        cache: Folder for what can be made again.
    """
    if undertaking.plan.caches != "warm":
        yield undertaking
        return
    (comparison,) = {writer.manifest.comparison for writer in runs.writers.values()}
    folder = cache / f"compiled-{comparison}"
    yield replace(undertaking, caches=folder)
    shutil.rmtree(folder, ignore_errors=True)
