"""Objects built of values that describe them, or of other objects: one call of the library for each."""
