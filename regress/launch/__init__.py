"""From a job to processes to outcomes; nothing here imports torch."""
