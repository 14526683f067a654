"""Modules: definition by annotation, one traversal, the whole trait."""
