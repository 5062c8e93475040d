"""Wiring: each module is one use of the tool, read from top to bottom."""
