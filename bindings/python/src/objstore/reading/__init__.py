"""Views of a store, and what is read through them: values, lists of objects, rows."""
