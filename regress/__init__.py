"""Did distributed training get slower, by how much, how sure is that, and why?

Benchmark files use `benchmark`, `Context` and `TrainingStep`; analyses use `compare`,
`change_points` and `ChangePoint`. Each is imported on first use, so that importing `regress`
costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regress.stats.compare import compare as compare
    from regress.stats.series import ChangePoint as ChangePoint
    from regress.stats.series import change_points as change_points
    from regress.worker.workload import Context as Context
    from regress.worker.workload import TrainingStep as TrainingStep
    from regress.worker.workload import benchmark as benchmark

__version__ = "0.1.0"
__all__ = [
    "ChangePoint",
    "Context",
    "TrainingStep",
    "__version__",
    "benchmark",
    "change_points",
    "compare",
]

_HOME = {
    "ChangePoint": "regress.stats.series",
    "benchmark": "regress.worker.workload",
    "Context": "regress.worker.workload",
    "TrainingStep": "regress.worker.workload",
    "change_points": "regress.stats.series",
    "compare": "regress.stats.compare",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'regress' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
