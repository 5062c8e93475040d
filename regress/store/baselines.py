"""Baselines in a folder that git keeps: ``baselines/<suite>/<platform>.json`` of the project.

Unlike all else that is stored a baseline is replaced, by the next one that is blessed: git has
those before it. A file is written aside and renamed, so that of two writers one wins whole.
"""

from __future__ import annotations

import os
from pathlib import Path

from regress.errors import RecordError, StoreError
from regress.record.baseline import Baseline, decode_baseline, encode_baseline, place_of
from regress.record.platform import Platform
from regress.record.run import SUITE_NAME
from regress.store import files


def baseline_file(root: Path, suite: str, platform: Platform) -> Path:
    """Where the baseline of a suite and a platform lies, or would lie.

    Raises:
        StoreError: The suite's name cannot name a folder.
    """
    if not SUITE_NAME.fullmatch(suite):
        raise StoreError(f"{suite!r:.80} cannot name the folder of a suite")
    return root / place_of(suite, platform)


def write_baseline(root: Path, baseline: Baseline) -> Path:
    """Keep a baseline in place of the one before it.

    Returns:
        Its file.

    Raises:
        StoreError: It cannot be written; the one before it is whole.
    """
    file = baseline_file(root, baseline.suite, baseline.platform)
    files.replace(file, encode_baseline(baseline))
    return file


def read_baseline(file: Path) -> Baseline:
    """Read a baseline.

    Raises:
        StoreError: It cannot be read, was damaged, or belongs to another place.
    """
    try:
        baseline = decode_baseline(file.read_bytes())
    except OSError as error:
        raise StoreError(f"{file}: cannot be read: {error.strerror}") from None
    except RecordError as error:
        raise _unfit(file, str(error)) from None
    if file != baseline_file(file.parent.parent.parent, baseline.suite, baseline.platform):
        raise _unfit(file, f"it is that of suite {baseline.suite!r:.80} on {baseline.platform.key!r:.80}")
    return baseline


def find(root: Path, suite: str, platform: Platform) -> Baseline | None:
    """The baseline of a suite and a platform; ``None`` where there is none.

    Raises:
        StoreError: It cannot be read, or is that of another platform with the same short name.
    """
    file = baseline_file(root, suite, platform)
    if not os.path.lexists(file):
        return None
    baseline = read_baseline(file)
    if baseline.platform.fingerprint != platform.fingerprint:
        raise _unfit(file, "it is that of other hardware with the same short name")
    return baseline


def list_baselines(root: Path, suite: str | None = None) -> tuple[Path, ...]:
    """The files of all baselines, or of one suite's, by name."""
    if suite is not None and not SUITE_NAME.fullmatch(suite):
        return ()
    found = (root / "baselines").glob(f"{suite or '*'}/*.json")
    return tuple(sorted(file for file in found if not file.name.startswith(".")))


def _unfit(file: Path, why: str) -> StoreError:
    return StoreError(f"{file}: {why}; restore it with git, or delete it and bless a run again")
