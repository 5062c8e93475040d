"""Arguments in, exit status out."""
