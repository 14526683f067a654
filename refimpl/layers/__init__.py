"""Small real layers to build models from."""
