from __future__ import annotations

from pathlib import Path

import pytest

from tests.flows.project import make_repository


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a project; the working folder of the test, with a cache of its own."""
    root = make_repository(tmp_path / "project")
    monkeypatch.setenv("REGRESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("REGRESS_LOCKS", str(tmp_path / "locks"))
    monkeypatch.chdir(root)
    return root
