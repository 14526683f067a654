"""Records: what a module saves and loads."""
