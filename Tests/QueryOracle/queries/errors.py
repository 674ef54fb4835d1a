"""The one error a query can end with."""

from __future__ import annotations


class QueryError(Exception):
    """A query that cannot be run: where it is wrong, what was expected there and what was found."""

    def __init__(self, position: int, expected: str, found: str) -> None:
        super().__init__(f"at {position}: expected {expected}, found {found}")
        self.position = position
        self.expected = expected
        self.found = found
