"""Files in other forms: quantised, and in time those of other frameworks."""
