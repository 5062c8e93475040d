"""What the harness itself costs: ``python -m pytest benchmarks/harness``. No workloads."""
