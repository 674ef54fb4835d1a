"""Model classes: their properties, links and indexes, and their objects."""
