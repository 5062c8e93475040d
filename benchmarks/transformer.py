"""The model that the benchmarks train: a decoder-only transformer, and text for it to learn.

Letters at the end of a tensor's name are its dimensions::

    B  sequences of a batch on one rank     D  width of the model (dim)
    T  tokens of a sequence (seq_len)       H  heads
    V  vocabulary                           K  width of a head (dim / heads)
    F  width of the feed-forward layer (hidden)
"""

# ruff: noqa: N803, N806  capitals at the end of a name are dimensions

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """Shape of a decoder and of the batch that one rank trains it on."""

    dim: int
    """Width of the model, a multiple of ``heads``."""

    layers: int
    """Number of blocks."""

    heads: int
    """Attention heads of a block."""

    hidden: int
    """Width of the feed-forward layers."""

    vocab: int
    """Number of different tokens."""

    seq_len: int
    """Tokens of a sequence."""

    batch: int
    """Sequences that one rank trains on in a step."""

    @property
    def tokens(self) -> int:
        """Tokens that one rank trains on in a step."""
        return self.batch * self.seq_len


SIZES = {
    "tiny": DecoderConfig(dim=128, layers=2, heads=4, hidden=256, vocab=512, seq_len=64, batch=4),
    "small": DecoderConfig(dim=512, layers=8, heads=8, hidden=1536, vocab=8192, seq_len=512, batch=4),
    "1b": DecoderConfig(dim=2048, layers=16, heads=16, hidden=8192, vocab=32768, seq_len=2048, batch=2),
    "8b": DecoderConfig(dim=4096, layers=32, heads=32, hidden=12288, vocab=131072, seq_len=4096, batch=1),
}
"""``tiny`` trains on two CPU cores, ``small`` on any GPU; ``1b`` and ``8b`` hold that many parameters."""


class Attention(nn.Module):
    """Causal attention of every token to those before it."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query_key_value = nn.Linear(config.dim, 3 * config.dim, bias=False)
        self.output = nn.Linear(config.dim, config.dim, bias=False)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Mix the tokens of each sequence."""
        qkv_BTHK = self.query_key_value(x_BTD).unflatten(-1, (3 * self.heads, -1))
        q_BHTK, k_BHTK, v_BHTK = qkv_BTHK.transpose(1, 2).chunk(3, dim=1)
        mixed_BHTK = functional.scaled_dot_product_attention(q_BHTK, k_BHTK, v_BHTK, is_causal=True)
        output_BTD: Tensor = self.output(mixed_BHTK.transpose(1, 2).flatten(-2))
        return output_BTD


class FeedForward(nn.Module):
    """SwiGLU (Shazeer, 2020)."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.gate = nn.Linear(config.dim, config.hidden, bias=False)
        self.up = nn.Linear(config.dim, config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.dim, bias=False)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Transform each token by itself."""
        h_BTF = functional.silu(self.gate(x_BTD)) * self.up(x_BTD)
        output_BTD: Tensor = self.down(h_BTF)
        return output_BTD


class Block(nn.Module):
    """Attention and feed-forward, each normalised before and added after."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.dim)
        self.attention = Attention(config)
        self.feed_forward_norm = nn.RMSNorm(config.dim)
        self.feed_forward = FeedForward(config)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Refine each token."""
        attended_BTD: Tensor = x_BTD + self.attention(self.attention_norm(x_BTD))
        refined_BTD: Tensor = attended_BTD + self.feed_forward(self.feed_forward_norm(attended_BTD))
        return refined_BTD


class Decoder(nn.Module):
    """Tokens in, the loss of predicting the next ones out."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.token = nn.Embedding(config.vocab, config.dim)
        self.position = nn.Embedding(config.seq_len, config.dim)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.dim)
        self.output = nn.Linear(config.dim, config.vocab, bias=False)

    def forward(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        """Mean cross-entropy over all tokens, a scalar in float32."""
        x_BTD = self.token(tokens_BT) + self.position.weight
        for block in self.blocks:
            x_BTD = block(x_BTD)
        logits_BTV = self.output(self.norm(x_BTD))
        return functional.cross_entropy(logits_BTV.flatten(0, 1).float(), targets_BT.flatten())


def batches(config: DecoderConfig, *, seed: int, device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """Endless batches of tokens with their targets, both ``BT``; equal seeds give equal batches.

    A sequence counts upwards from a random token, so there is something to learn and the loss falls.
    """
    generator = torch.Generator().manual_seed(seed)
    offsets_T = torch.arange(config.seq_len + 1)
    while True:
        starts_B = torch.randint(config.vocab, (config.batch, 1), generator=generator)
        sequences = (starts_B + offsets_T) % config.vocab
        if device.type == "cuda":  # from memory that may be swapped out, the step would wait for the copy
            sequences = sequences.pin_memory()
        sequences = sequences.to(device, non_blocking=True)
        yield sequences[:, :-1], sequences[:, 1:]


def train_flops(config: DecoderConfig) -> int:
    """Floating-point operations of forward and backward of one rank's batch, unsharded.

    Counted operator by operator on the meta device, matrix products only, a multiplication and an
    addition being two. Attention is counted in full, not halved for being causal. That makes

        tokens · (6·N + 12·layers·dim·seq_len)

    with N the parameters that are factors of matrix products: those of the embeddings, which are
    looked up, and of the norms are left out (Kaplan et al., 2020; Chowdhery et al., 2022, appendix B).
    """
    with torch.device("meta"):
        model = Decoder(config)
        tokens_BT = torch.zeros(config.batch, config.seq_len, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model(tokens_BT, tokens_BT).backward()
    return int(counter.get_total_flops())
