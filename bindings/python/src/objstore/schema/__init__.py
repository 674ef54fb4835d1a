"""Model classes in a store: how it gets them, and what it calls them."""
