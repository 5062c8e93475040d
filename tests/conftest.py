from __future__ import annotations

import pytest

from tests.installation import Installation, install


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The built wheel, installed once for all tests that want it."""
    return install(tmp_path_factory.mktemp("installation"))
