"""Open stores and frozen versions of them."""
