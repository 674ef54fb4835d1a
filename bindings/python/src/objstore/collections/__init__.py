"""Lists, sets and dicts of managed objects, and lists and dicts inside of values of any type."""
