"""The grammar of a side: what BASE and HEAD may be.

::

    REV          a git revision                                git:REV
    REV@ENV      that revision in a configured environment     env:REV@ENV
    @ENV         the shipped suite in that environment         env:ENV
    RUN          a stored run, by its identity                 run:RUN
    FOLDER       a stored run, by its folder                   file:FOLDER

A prefix forces its reading. An existing revision wins over a split at the last ``@``, so
that ``HEAD@{1}`` and a tag ``pkg@1.2`` mean what they mean to git.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from regress.errors import RequestError
from regress.record.run import RUN_ID
from regress.spec.benchmark import alternatives

_PREFIXED = re.compile(r"(git|env|run|file):(.*)")
_FOREIGN = re.compile(r"[a-z][a-z0-9_-]*:.+")
_LATER = ("baseline", "WORKTREE")


class UnknownRevision(RequestError):
    """A side that could only be a revision, and git knows none of that name."""


@dataclass(frozen=True, kw_only=True)
class RevisionSide:
    """A side to be measured."""

    rev: str | None
    """A revision that git knows; ``None`` measures the shipped suite, without git."""

    environment: str | None
    """A configured environment; ``None`` is the one that runs regress."""

    @property
    def text(self) -> str:
        """As it can be typed."""
        return f"{self.rev or ''}{f'@{self.environment}' if self.environment else ''}"


@dataclass(frozen=True, kw_only=True)
class StoredSide:
    """A side that was measured: exactly one of the two is given."""

    run: str | None = None
    """Identity of a run in the store."""

    folder: str | None = None
    """Folder of a run."""


Side = RevisionSide | StoredSide


def parse_side(
    text: str,
    *,
    is_revision: Callable[[str], bool],
    environments: Collection[str],
    run_exists: Callable[[str], bool],
    folder_exists: Callable[[str], bool],
) -> Side:
    """Read a side.

    Args:
        text: As the user wrote it.
        is_revision: Whether git knows a commit by that text; never asked about a text that
            git would take for an option.
        environments: Names of the configured environments.
        run_exists: Whether the store holds a run of that identity.
        folder_exists: Whether a path is the folder of a run.

    Raises:
        RequestError: It means nothing, or two things, or what is not supported yet.
    """
    if not text:
        raise RequestError("a side is empty; name a revision, a stored run or its folder")
    if not text.isprintable():
        raise RequestError(f"{text!r:.80} holds control characters; no side is called that")
    if prefixed := _PREFIXED.fullmatch(text):
        return _forced(prefixed[1], prefixed[2], is_revision, environments, run_exists, folder_exists)
    _refuse_option(text)
    _refuse_unsupported(text)
    rev, at, environment = text.rpartition("@")
    readings: dict[str, Side] = {}
    if is_revision(text):
        readings[f"git:{text}"] = RevisionSide(rev=text, environment=None)
    elif at and environment in environments and (not rev or is_revision(rev)):
        readings[f"env:{text}"] = RevisionSide(rev=rev or None, environment=environment)
    if RUN_ID.fullmatch(text) and run_exists(text):
        readings[f"run:{text}"] = StoredSide(run=text)
    if folder_exists(text):
        readings[f"file:{text}"] = StoredSide(folder=text)
    if not readings:
        raise _unknown(text, is_revision, environments)
    if len(readings) > 1:
        raise RequestError(f"{text!r} can mean {' or '.join(readings)}; write the one that is meant")
    return next(iter(readings.values()))


def _forced(
    prefix: str,
    rest: str,
    is_revision: Callable[[str], bool],
    environments: Collection[str],
    run_exists: Callable[[str], bool],
    folder_exists: Callable[[str], bool],
) -> Side:
    if prefix == "git":
        return RevisionSide(rev=_revision(rest, is_revision), environment=None)
    if prefix == "env":
        rev, _, environment = rest.rpartition("@")
        if environment not in environments:
            raise _unknown_environment(environment, environments)
        return RevisionSide(rev=_revision(rev, is_revision) if rev else None, environment=environment)
    if prefix == "run":
        if not RUN_ID.fullmatch(rest) or not run_exists(rest):
            raise RequestError(f"no stored run {rest!r:.80}")
        return StoredSide(run=rest)
    if not folder_exists(rest):
        raise RequestError(f"{rest!r:.80} is not the folder of a run")
    return StoredSide(folder=rest)


def _revision(rev: str, is_revision: Callable[[str], bool]) -> str:
    _refuse_option(rev)
    if not rev or not is_revision(rev):
        raise UnknownRevision(f"unknown revision {rev!r:.80}")
    return rev


def _refuse_option(text: str) -> None:
    if text.startswith("-"):
        raise RequestError(f"{text!r:.80} starts with '-'; no side is called that")


def _refuse_unsupported(text: str) -> None:
    for word in _LATER:
        if text == word or text.startswith((f"{word}@", f"{word}:")):
            raise RequestError(
                f"{word!r} is not supported yet; name a revision or a stored run "
                f"(git:{word} is a branch of that name)"
            )


def _unknown(text: str, is_revision: Callable[[str], bool], environments: Collection[str]) -> RequestError:
    rev, at, environment = text.rpartition("@")
    if at and environment in environments:
        return UnknownRevision(f"unknown revision {rev!r:.80} in {text!r:.80}")
    if at and (not rev or is_revision(rev)) and not environment.startswith("{"):  # git's own HEAD@{1}
        return _unknown_environment(environment, environments)
    if _FOREIGN.fullmatch(text):
        return RequestError(
            f"{text!r:.80}: FORMAT:PATH is not supported yet; name a revision or a stored run"
        )
    return UnknownRevision(f"{text!r:.80} is no git revision, no stored run and no folder of one")


def _unknown_environment(environment: str, environments: Collection[str]) -> RequestError:
    return RequestError(
        f"unknown environment {environment!r:.80}{alternatives(environment, environments)} "
        "(configs/project.yaml names them)"
    )
