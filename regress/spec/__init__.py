"""What to measure and in which order; the only reader of YAML."""
