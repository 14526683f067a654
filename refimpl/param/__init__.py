"""Parameters: ids, lazy values, groups, and what traverses them."""
