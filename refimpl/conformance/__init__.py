"""Cases, subjects, and the run that compares them."""
