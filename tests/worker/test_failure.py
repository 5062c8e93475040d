from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from regress.record.outcome import OutcomeKind
from regress.worker.failure import Diverged, kind_of, line_of


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Diverged("the loss is nan"), "diverged"),
        (MemoryError(), "out_of_memory"),
        (torch.cuda.OutOfMemoryError("CUDA out of memory"), "out_of_memory"),
        (RuntimeError("shapes differ"), "raised"),
        (SystemExit(3), "raised"),
        (ValueError("can't allocate memory"), "raised"),
    ],
)
def test_kinds(error: BaseException, kind: OutcomeKind) -> None:
    assert kind_of(error) == kind


def test_an_allocation_that_fails_on_the_cpu() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(10**15)
    assert kind_of(caught.value) == "out_of_memory"


def test_one_line() -> None:
    assert line_of(ValueError("first\nsecond")) == "ValueError: first"
    assert line_of(MemoryError()) == "MemoryError"
    assert line_of(KeyError("a")) == "KeyError: 'a'"
    assert len(line_of(ValueError("x" * 5000))) < 1100
    noted = ValueError("boom")
    noted.add_note("noted")
    assert line_of(noted) == "ValueError: boom"
