"""What a step computes in: the one place that turns ``fp32``, ``bf16`` or ``fp16`` into what torch is told.

Parameters, their gradients and the optimizer's state are float32 in all three; what differs is
the type of matrix products and of what is kept for the backward pass.

``fp32``  float32 throughout. Products stay at torch's own default, which on GPUs of today means true
          float32 and no TF32 (`torch.get_float32_matmul_precision` says ``highest``).
``bf16``  bfloat16; has the range of float32, so that gradients need no scaling.
``fp16``  float16; small gradients would vanish in it, so that the loss is scaled up before the backward
          pass and the gradients down after it (Micikevicius et al., 2018).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.distributed.fsdp import MixedPrecisionPolicy
from torch.optim import AdamW

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
"""Type of matrix products by name."""


@dataclass(frozen=True, kw_only=True)
class Precision:
    """A precision on a device."""

    dtype: torch.dtype
    """Of matrix products."""

    device: torch.device
    """Where they are computed."""

    @classmethod
    def on(cls, device: torch.device, name: str) -> Precision:
        """Look a precision up.

        Raises:
            NotImplementedError: The device cannot compute in it.
        """
        if name == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported(False):
            raise NotImplementedError(f"{torch.cuda.get_device_name(device)} does not compute in bfloat16")
        return cls(dtype=PRECISIONS[name], device=device)

    @property
    def mixed(self) -> bool:
        """Whether it is another one than that of the parameters."""
        return self.dtype is not torch.float32

    @property
    def scaled(self) -> bool:
        """Whether its range is too narrow for gradients."""
        return self.dtype is torch.float16

    def autocast(self) -> torch.autocast:
        """What a forward pass is entered with, for a model that does not cast by itself."""
        return torch.autocast(self.device.type, self.dtype, enabled=self.mixed)

    def sharding(self) -> MixedPrecisionPolicy:
        """What FSDP casts by itself: it gathers parameters in this type and reduces gradients in float32."""
        return MixedPrecisionPolicy(param_dtype=self.dtype, reduce_dtype=torch.float32)

    def scaler(self) -> GradScaler:
        """What scales the loss; does nothing where gradients need no scaling."""
        return GradScaler(self.device.type, enabled=self.scaled)

    def optimizer(self, parameters: Iterable[Tensor]) -> AdamW:
        """AdamW; fused where gradients are scaled.

        The other kinds ask the device in every step whether a gradient overflowed, and wait for it.
        """
        return AdamW(parameters, fused=self.scaled or None)
