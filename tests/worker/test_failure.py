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
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
         "out_of_memory"),
        (RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"), "out_of_memory"),
        (RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported later"),
         "out_of_memory"),
        (torch.distributed.DistBackendError(
            "NCCL error in: NCCLUtils.hpp:275, unhandled cuda error, NCCL version 2.20.5\n"
            "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n"
            "Cuda failure 2 'out of memory'"
        ), "out_of_memory"),
        (torch.distributed.DistBackendError("NCCL error: Failed to CUDA calloc async 4194304 bytes"),
         "out_of_memory"),
        (torch.distributed.DistBackendError("NCCL error\nCuda failure 1 'invalid argument'"), "raised"),
        (NotImplementedError("fp16 needs a GPU"), "unsupported"),
        (RuntimeError("shapes differ"), "raised"),
        (ValueError("out of memory"), "raised"),
        (SystemExit(3), "raised"),
        (ValueError("can't allocate memory"), "raised"),
    ],
)  # fmt: skip
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
