"""Random differential testing: the reference and a subject, asked the same, until they differ."""
