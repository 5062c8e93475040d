"""What sides find when they start: how many steps they warm up for, and what was compiled before."""

from __future__ import annotations

from collections.abc import Iterable

from regress.record.run import Launch
from regress.spec.plan import Block


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
