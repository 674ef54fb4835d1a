"""Transactions, and what is done in them."""
