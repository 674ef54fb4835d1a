"""Observers: change sets, and how they reach the functions that are called with them."""
