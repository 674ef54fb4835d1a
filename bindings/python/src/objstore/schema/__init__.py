"""Model classes in a store: how it is told of them, and what it calls them."""
