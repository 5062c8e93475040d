"""Pure functions on floats: no files, no flags, no records."""
