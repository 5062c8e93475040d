from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch

from benchmarks.transformer import SIZES, Decoder, DecoderConfig, batches, train_flops

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
TINY = SIZES["tiny"]


def meta_decoder(size: str) -> Decoder:
    with torch.device("meta"):
        return Decoder(SIZES[size])


def parameter_count(model: Decoder) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("size", SIZES)
def test_counted_flops_are_those_of_the_formula(size: str) -> None:
    config = SIZES[size]
    factors = sum(
        parameter.numel()
        for name, parameter in meta_decoder(size).named_parameters()
        if parameter.dim() == 2 and name not in ("token.weight", "position.weight")
    )
    attention = 12 * config.layers * config.dim * config.seq_len
    assert train_flops(config) == config.batch * config.seq_len * (6 * factors + attention)


@pytest.mark.parametrize(("size", "billions"), [("1b", 1), ("8b", 8)])
def test_sizes_hold_what_their_names_say(size: str, billions: int) -> None:
    assert parameter_count(meta_decoder(size)) == pytest.approx(billions * 1e9, rel=0.25)


@pytest.mark.parametrize("config", SIZES.values(), ids=SIZES)
def test_heads_share_the_width_evenly(config: DecoderConfig) -> None:
    assert config.dim % config.heads == 0


def test_targets_are_the_next_tokens() -> None:
    tokens, targets = next(batches(TINY, seed=0, device=CPU))
    assert tokens.shape == targets.shape == (TINY.batch, TINY.seq_len)
    assert torch.equal(tokens[:, 1:], targets[:, :-1])
    assert torch.equal((tokens + 1) % TINY.vocab, targets)


def test_batches_are_fixed_by_their_seed() -> None:
    first, again, other = (batches(TINY, seed=seed, device=CPU) for seed in (0, 0, 1))
    tokens = next(first)[0]
    assert torch.equal(tokens, next(again)[0])
    assert not torch.equal(tokens, next(other)[0])
    assert not torch.equal(tokens, next(first)[0])


def test_an_untrained_decoder_guesses() -> None:
    torch.manual_seed(0)
    loss = Decoder(TINY)(*next(batches(TINY, seed=0, device=CPU)))
    assert loss.item() == pytest.approx(math.log(TINY.vocab), rel=0.1)


def test_no_token_sees_a_later_one() -> None:
    torch.manual_seed(0)
    block = Decoder(TINY).blocks[0]
    x = torch.randn(1, TINY.seq_len, TINY.dim, requires_grad=True)
    block(x)[0, 10].sum().backward()
    assert x.grad is not None
    touched = x.grad[0].abs().sum(-1) > 0
    assert touched.tolist() == [position <= 10 for position in range(TINY.seq_len)]
