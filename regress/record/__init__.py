"""What was measured: frozen records and their versioned JSON. Standard library only."""
