from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.installation import Installation, install


@pytest.fixture(scope="session", autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests do not wait for what else is measured on this host."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGRESS_LOCKS", str(tmp_path_factory.mktemp("locks")))
        yield


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The built wheel, installed once for all tests that want it."""
    return install(tmp_path_factory.mktemp("installation"))
