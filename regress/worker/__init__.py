"""Inside a side's environment: the only place that runs torch (Python 3.10+, standard library and torch)."""
