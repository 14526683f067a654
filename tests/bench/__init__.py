"""Speed and memory, side by side with a peer or with the physical limit, in one run."""
