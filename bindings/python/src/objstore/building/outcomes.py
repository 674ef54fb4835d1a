"""What a write does with an object that exists already, and what became of objects."""

from typing import Literal, NamedTuple

from ..errors import InvalidArgument

Policy = Literal["error", "modified", "all"] | bool  # True is "all", False "error"
POLICIES = {"error": 0, "modified": 1, "all": 2}
UNCHANGED, CHANGED, CREATED = 0, 1, 2  # objstore_outcome


class Counts(NamedTuple):
    """What became of many objects."""

    created: int
    changed: int
    unchanged: int


def counts_of(outcomes: list[int]) -> Counts:
    return Counts(outcomes.count(CREATED), outcomes.count(CHANGED), outcomes.count(UNCHANGED))


def policy_number(update: Policy) -> int:
    try:
        if isinstance(update, bool):
            return POLICIES["all" if update else "error"]
        return POLICIES[update]
    except (KeyError, TypeError):
        raise InvalidArgument(f"update is 'error', 'modified' or 'all', not {update!r}") from None
