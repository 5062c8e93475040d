"""What the measurements of the harness share."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a figure although pytest captures."""

    def say(figure: str) -> None:
        with capsys.disabled():
            print(f"\n{figure}")

    return say
