from __future__ import annotations

import json
from collections.abc import Callable

import pytest

pytest.importorskip("torch")

import torch

from regress.worker.recorder import last_collectives


def entry(group: str, number: int, *, p2p: bool = False) -> dict[str, object]:
    return {"process_group": [group, "some words"], "collective_seq_id": number, "is_p2p": p2p}


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have torch's recorder say something."""

    def record(text: str) -> None:
        monkeypatch.setattr(
            torch._C._distributed_c10d, "_dump_fr_trace_json", lambda *_: text.encode(), raising=False
        )

    return record


def test_the_last_collective_of_each_group_whatever_came_last(record: Callable[[str], None]) -> None:
    entries = [entry("0", 1), entry("0", 3), entry("1", 2), entry("0", 2), entry("1", 9, p2p=True)]
    record(json.dumps({"version": "2.10", "entries": entries}))

    assert last_collectives() == {"0": 3, "1": 2}


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"entries": [{"is_p2p": false}]}', '{"entries": [3]}'])
def test_a_recorder_that_speaks_otherwise_says_nothing(record: Callable[[str], None], text: str) -> None:
    record(text)

    assert last_collectives() == {}


def test_a_torch_without_a_recorder_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch._C._distributed_c10d, "_dump_fr_trace_json", raising=False)

    assert last_collectives() == {}
