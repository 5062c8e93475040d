from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from regress.worker.server import preload


def test_a_module_that_touches_a_device_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.delenv("PYTORCH_NVML_BASED_CUDA_CHECK", raising=False)
    (tmp_path / "harmless.py").write_text("import os\nLOOKS = os.environ['PYTORCH_NVML_BASED_CUDA_CHECK']\n")
    (tmp_path / "greedy.py").write_text("import torch\ntorch.cuda.is_initialized = lambda: True\n")

    preload(["harmless", "module_that_is_not_there"])
    assert sys.modules["harmless"].LOOKS == "1"  # looking for a device is none of touching it
    with pytest.raises(SystemExit, match=r"^importing greedy touches a CUDA device"):
        preload(["harmless", "greedy"])
