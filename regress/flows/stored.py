"""Stored runs, and the policy that they are judged by."""

from __future__ import annotations

from dataclasses import replace

from regress.errors import RequestError
from regress.flows.workplace import Workplace
from regress.record.run import Run
from regress.spec.policy import Policy
from regress.spec.side import StoredSide
from regress.store.runs import find_run, launch_file, read_run


def stored_run(workplace: Workplace, text: str) -> Run:
    """Read a stored run, named as a side.

    Raises:
        RequestError: It names no stored run.
        StoreError: It cannot be read.
    """
    return read_stored(workplace, workplace.stored(text))


def read_stored(workplace: Workplace, side: StoredSide) -> Run:
    """Read a stored run, or one launch of it.

    Raises:
        StoreError: It cannot be read.
    """
    if side.path is None:
        return read_run(find_run(workplace.project.store, side.run or ""))
    path = workplace.folder / side.path
    if path.is_dir():
        return read_run(path)
    run = read_run(path.parent)
    return replace(run, launches=tuple(each for each in run.launches if launch_file(each) == path.name))


def policy_of(workplace: Workplace, base: Run, head: Run, suite: str | None) -> Policy:
    """The policy of a suite, else of the one that both runs are of.

    Raises:
        RequestError: The runs are of two suites, or there is no such suite.
    """
    if base.manifest.suite != head.manifest.suite:
        raise RequestError(
            f"run {base.manifest.run} is of suite {base.manifest.suite!r:.80}, and run "
            f"{head.manifest.run} of {head.manifest.suite!r:.80}; compare runs of one suite"
        )
    return workplace.suite(suite or head.manifest.suite).suite.policy
