"""Immutable files: written aside, renamed, checksummed, never changed afterwards."""
