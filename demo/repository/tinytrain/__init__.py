"""A training library so small that it can be read while the demo runs."""

from tinytrain.model import Classifier
from tinytrain.trainer import Trainer

__all__ = ["Classifier", "Trainer"]
