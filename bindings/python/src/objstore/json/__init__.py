"""Objects as JSON text and as dicts, and objects of JSON text."""
