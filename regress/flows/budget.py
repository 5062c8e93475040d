"""What a budget buys."""

from __future__ import annotations

from collections.abc import Sequence

from regress.flows.earlier import block_s, earlier_runs
from regress.flows.machinery import Site
from regress.record.run import Run
from regress.spec.benchmark import Catalog
from regress.spec.suite import LoadedSuite
from regress.verdict.noise import host_of

MOST = 100
"""Tested blocks that a time is translated into at most."""

ALONE = 2
"""What a block alone takes, in blocks of resident sides: there one side runs after the other."""


def within_budget(site: Site, loaded: LoadedSuite, catalog: Catalog) -> LoadedSuite:
    """The suite with as many tested blocks as the budget allows for.

    A time allows for what fits by the last comparison here; without one, for as many as the suite
    says, and measuring ends when the time is over.

    Raises:
        StoreError: The store cannot be read.
    """
    means, blocks = site.means, loaded.suite.blocks
    count = means.most_blocks
    if means.budget_s is not None:
        each_s = block_s(runs_here(site, loaded.name, catalog))
        if each_s:
            resident = catalog.device == "cpu" or means.resident
            others = blocks.alone * (ALONE if resident else 1)
            count = min(MOST, max(1, int(means.budget_s / each_s) - others))
    return loaded if count is None else loaded.at_most(count)


def runs_here(site: Site, suite: str, catalog: Catalog) -> Sequence[Run]:
    """Earlier runs of a suite on this platform, oldest first.

    Raises:
        StoreError: The store cannot be read.
    """
    runs = earlier_runs(site.workplace.project.store, suite, site.progress.say)
    return [run for run in runs if host_of(run) == catalog.platform.key]
