from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from regress.flows.calibrate import calibrate
from regress.flows.compare import compare
from regress.flows.foresee import foresee
from regress.flows.listing import listing
from regress.flows.run import run
from tests.flows.conftest import project
from tests.flows.project import Fakes

__all__ = ["project"]

Installed = Callable[[Fakes], Fakes]
"""Has every command measure with these fakes, and hands them back."""


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Installed:
    def installed(fakes: Fakes) -> Fakes:
        for flow, place in (
            (compare, "regress.flows.compare.compare"),
            (foresee, "regress.flows.foresee.foresee"),
            (run, "regress.flows.run.run"),
            (calibrate, "regress.flows.calibrate.calibrate"),
            (listing, "regress.flows.listing.listing"),
        ):
            monkeypatch.setattr(place, partial(flow, machinery=fakes.machinery))
        return fakes

    return installed
