"""Goldens: what people read is kept as text and compared letter by letter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDENS = Path(__file__).parent / "goldens"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="Write what is printed now as what is expected."
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden of that name; only ``--update-goldens`` writes one."""

    def check(name: str, text: str) -> None:
        path = GOLDENS / name
        if request.config.getoption("--update-goldens", default=False):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not path.exists():
            pytest.fail(f"no golden {name}: look at the text, then run pytest with --update-goldens\n{text}")
        assert text == path.read_text(encoding="utf-8")

    return check
