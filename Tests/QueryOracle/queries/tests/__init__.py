"""Tests of the oracle: what is easy to get wrong, and the documents' own examples."""
