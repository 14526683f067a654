"""Small real layers to build models from, under the names and with the initial values of burn-nn."""
