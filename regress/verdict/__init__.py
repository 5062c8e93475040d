"""One metric, then the suite: from launch values to verdicts."""
