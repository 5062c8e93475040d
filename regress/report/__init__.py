"""Verdicts to text: pure, no network."""
