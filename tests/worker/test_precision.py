from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from regress.worker.precision import Precisions


def test_products_forward_and_backward_are_seen_and_nothing_else() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    with Precisions() as seen:
        model(torch.ones(2, 4)).sum().backward()
        torch.ones(2, dtype=torch.float64) + 1
    assert seen.names == ("float32",)
    with Precisions() as seen, torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.ones(2, 4)).sum().backward()
    assert seen.names == ("bfloat16",)


def test_convolutions_and_attention_are_seen() -> None:
    with Precisions() as seen:
        torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2))
    assert seen.names == ("float32",)
    with Precisions() as seen:
        query = torch.ones(1, 1, 4, 8, dtype=torch.float64)
        torch.nn.functional.scaled_dot_product_attention(query, query, query)
    assert seen.names == ("float64",)


def test_without_a_product_there_is_none() -> None:
    with Precisions() as seen:
        torch.ones(3).sum()
    assert seen.names == ()
