from __future__ import annotations

from collections.abc import Iterator

import pytest

from regress.launch.local import LocalLauncher


@pytest.fixture(scope="package")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalLauncher]:
    """One launcher with a warm server for all tests that leave it alive."""
    pytest.importorskip("torch")
    with LocalLauncher(cache=tmp_path_factory.mktemp("cache")) as launcher:
        yield launcher
