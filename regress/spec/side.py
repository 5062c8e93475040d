"""The grammar of a side: what BASE and HEAD may be.

::

    REV            a git revision                                    git:REV
    REV@ENV        that revision in a configured environment         env:REV@ENV
    @ENV           the shipped suite in that environment             env:ENV
    WORKTREE       the working tree with its uncommitted changes     WORKTREE:
    WORKTREE@ENV   that in a configured environment                  WORKTREE:@ENV
    baseline       the blessed run of the suite and this platform    baseline:
    RUN            a stored run, by its identity                     run:RUN
    PATH           a stored run's folder, or one of its launches     file:PATH

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

WORKTREE = "WORKTREE"
"""The working tree as it lies, uncommitted changes included."""

BASELINE = "baseline"
"""The blessed run of a suite and a platform."""

_PREFIXED = re.compile(rf"(git|env|run|file|{BASELINE}|{WORKTREE}):(.*)")
_FOREIGN = re.compile(r"[a-z][a-z0-9_-]*:.+|.+\.csv")


class UnknownRevision(RequestError):
    """A side that could only be a revision, and git knows none of that name."""


@dataclass(frozen=True, kw_only=True)
class CodeSide:
    """A side to be measured."""

    rev: str | None
    """A revision that git knows; ``None`` measures the shipped suite, without git, or the
    working tree."""

    worktree: bool = False
    """Whether the working tree is measured, with what is not committed."""

    environment: str | None
    """A configured environment; ``None`` is the one that runs regress."""

    @property
    def text(self) -> str:
        """As it can be typed."""
        code = WORKTREE if self.worktree else self.rev or ""
        return f"{code}{f'@{self.environment}' if self.environment else ''}"


@dataclass(frozen=True, kw_only=True)
class BaselineSide:
    """The blessed run of the suite and of this platform."""

    text: str = BASELINE
    """As it can be typed."""


@dataclass(frozen=True, kw_only=True)
class StoredSide:
    """A side that was measured: exactly one of the two is given."""

    run: str | None = None
    """Identity of a run in the store."""

    path: str | None = None
    """Folder of a run, or a launch file in it."""

    @property
    def text(self) -> str:
        """As it can be typed."""
        return self.run or self.path or ""


Side = CodeSide | BaselineSide | StoredSide


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the words of a side are looked up in."""

    is_revision: Callable[[str], bool]
    """Whether git knows a commit by that text; never asked about a text that git would take
    for an option."""

    environments: Collection[str]
    """Names of the configured environments."""

    run_exists: Callable[[str], bool]
    """Whether the store holds a run of that identity."""

    path_exists: Callable[[str], bool]
    """Whether a path is the folder of a run, or a launch file in one."""


def parse_side(text: str, known: Surroundings) -> Side:
    """Read a side, as the user wrote it.

    Raises:
        RequestError: It means nothing, or two things, or what is not supported yet.
    """
    if not text:
        raise RequestError("a side is empty; name a revision, a stored run or its folder")
    if not text.isprintable():
        raise RequestError(f"{text!r:.80} holds control characters; no side is called that")
    if prefixed := _PREFIXED.fullmatch(text):
        return _forced(prefixed[1], prefixed[2], known)
    _refuse_option(text)
    readings = _readings(text, known)
    if not readings:
        raise _unknown(text, known)
    if len(readings) > 1:
        raise RequestError(f"{text!r} can mean {' or '.join(readings)}; write the one that is meant")
    return next(iter(readings.values()))


def _readings(text: str, known: Surroundings) -> dict[str, Side]:
    """All that a text without prefix can mean, each by the text that forces it."""
    code, at, environment = text.rpartition("@")
    split = bool(at) and environment in known.environments
    readings: dict[str, Side] = {}
    if known.is_revision(text):
        readings[f"git:{text}"] = CodeSide(rev=text, environment=None)
    elif split and (not code or known.is_revision(code)):
        readings[f"env:{text}"] = CodeSide(rev=code or None, environment=environment)
    if text == WORKTREE or (split and code == WORKTREE):
        readings[text.replace(WORKTREE, f"{WORKTREE}:", 1)] = CodeSide(
            rev=None, worktree=True, environment=environment if split else None
        )
    if text == BASELINE:
        readings[f"{BASELINE}:"] = BaselineSide()
    if RUN_ID.fullmatch(text) and known.run_exists(text):
        readings[f"run:{text}"] = StoredSide(run=text)
    if known.path_exists(text):
        readings[f"file:{text}"] = StoredSide(path=text)
    return readings


def _forced(prefix: str, rest: str, known: Surroundings) -> Side:
    match prefix:
        case "git":
            return CodeSide(rev=_revision(rest, known), environment=None)
        case "env":
            rev, _, environment = rest.rpartition("@")
            _refuse_unknown_environment(environment, known)
            return CodeSide(rev=_revision(rev, known) if rev else None, environment=environment)
        case "run":
            if not RUN_ID.fullmatch(rest) or not known.run_exists(rest):
                raise RequestError(f"no stored run {rest!r:.80}; `regress list` names those there are")
            return StoredSide(run=rest)
        case "file":
            if not known.path_exists(rest):
                raise RequestError(f"{rest!r:.80} is neither the folder of a run nor a launch file in one")
            return StoredSide(path=rest)
        case "baseline":
            if rest:
                raise RequestError(
                    f"{rest!r:.80} after {BASELINE}: means nothing; "
                    f"write {BASELINE}:, and name the suite with --suite"
                )
            return BaselineSide()
        case _:
            environment = rest.removeprefix("@")
            if rest and not rest.startswith("@"):
                raise RequestError(
                    f"{rest!r:.80} after {WORKTREE}: means nothing; write {WORKTREE}:@ENVIRONMENT"
                )
            if rest:
                _refuse_unknown_environment(environment, known)
            return CodeSide(rev=None, worktree=True, environment=environment or None)


def _revision(rev: str, known: Surroundings) -> str:
    _refuse_option(rev)
    if not rev or not known.is_revision(rev):
        raise UnknownRevision(f"unknown revision {rev!r:.80}")
    return rev


def _refuse_option(text: str) -> None:
    if text.startswith("-"):
        raise RequestError(f"{text!r:.80} starts with '-'; no side is called that")


def _refuse_unknown_environment(environment: str, known: Surroundings) -> None:
    if environment not in known.environments:
        raise _unknown_environment(environment, known)


def _unknown(text: str, known: Surroundings) -> RequestError:
    code, at, environment = text.rpartition("@")
    if at and environment in known.environments:
        if code == BASELINE:
            return RequestError(f"{text!r:.80}: a baseline is measured where head is; write {BASELINE!r}")
        return UnknownRevision(f"unknown revision {code!r:.80} in {text!r:.80}")
    named = not code or code == WORKTREE or known.is_revision(code)
    if at and named and not environment.startswith("{"):  # git's own HEAD@{1}
        return _unknown_environment(environment, known)
    if _FOREIGN.fullmatch(text):
        return RequestError(
            f"{text!r:.80}: files of other tools (FORMAT:PATH, CSV) are not supported yet; "
            "name a revision or a stored run"
        )
    return UnknownRevision(
        f"{text!r:.80} is no git revision, no stored run and no path of one (`regress list` names the runs)"
    )


def _unknown_environment(environment: str, known: Surroundings) -> RequestError:
    return RequestError(
        f"unknown environment {environment!r:.80}{alternatives(environment, known.environments)} "
        "(configs/project.yaml names them)"
    )
