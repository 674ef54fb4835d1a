"""Why this version of the engine does not answer: the reason in its message."""

from __future__ import annotations

import re

NO_SUCH_CLASS = 6
NO_SUCH_PROPERTY = 7
INVALID_QUERY = 21
# Statuses that a query may be refused with: INVALID_ARGUMENT, NO_SUCH_CLASS, NO_SUCH_PROPERTY, WRONG_TYPE,
# OUT_OF_RANGE, NO_PRIMARY_KEY, INVALID_QUERY.
REFUSALS = frozenset({1, 6, 7, 9, 15, 16, 21})
MARK = "this version does not evaluate "


def reason(message: str) -> str:
    """The part of the message that says what is not evaluated, without the names of the case."""
    _, found, rest = message.partition(MARK)
    return re.sub(r"\s+", " ", rest) if found else message
