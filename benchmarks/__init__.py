"""The suite: one file per parallel strategy, and what they share."""
