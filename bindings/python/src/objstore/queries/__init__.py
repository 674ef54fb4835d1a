"""Queries: filters, results, and numbers and arrays of results."""
