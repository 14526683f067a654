"""All subjects that can run here, beside each other: `make matrix`."""
