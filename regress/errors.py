"""Everything `regress` raises on purpose.

::

    RegressError              exit status 3: the question could not be answered
    ├── RequestError          exit status 2: the request is wrong (arguments, configuration)
    │   └── SpecError         several problems of one configuration file, each with its line
    ├── StatsError            numbers that no test can be made of
    ├── RecordError           text that is no record of ours, or of another version
    ├── StoreError            a stored file that cannot be read or written
    └── LaunchError           the machinery failed: no server, no process, no socket

A benchmark that crashes, hangs or runs out of memory is no exception but an
`Outcome`: it is a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class RegressError(Exception):
    """The question could not be answered; the text says what to do."""

    exit_status = 3


class RequestError(RegressError):
    """The request is wrong: one line saying what, where and what to do."""

    exit_status = 2


class StatsError(RegressError):
    """Numbers that no test can be made of."""


class RecordError(RegressError):
    """Text that is no record of ours, is damaged, or has another version."""


class StoreError(RegressError):
    """A stored file that cannot be read or written."""


class LaunchError(RegressError):
    """The machinery failed, not the benchmark."""


class Problem(NamedTuple):
    """One wrong place in a configuration file."""

    where: str
    """File and line, for example ``configs/commit.yaml:12``."""

    message: str
    """What is wrong, with the wrong value and the allowed ones."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class SpecError(RequestError):
    """All problems of one configuration file, in the order of its lines."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
