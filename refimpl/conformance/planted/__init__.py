"""Bugs on purpose: the reference with one rule broken, to see whether the cases of that rule notice."""
