"""What change sets of all kinds have: a handler that follows the documented pattern works for each of them."""

import pytest

from objstore.observing.changes import Changes
from objstore.observing.commits import Commits
from objstore.observing.element_changes import ElementChanges
from objstore.observing.section_changes import SectionChanges
from objstore.projections.changes import ProjectedChanges

OBJECTS = {"deleted", "inserted", "modified", "modified_before", "moved", "written", "written_in_move"}
POSITIONS = {"deletions", "insertions", "modifications", "modifications_after", "moves"}
COUNTS = {"deletion_count", "insertion_count", "modification_count", "move_count"}
KEYS = {"deleted_keys", "inserted_keys"}

# What a kind has not of what others have, and why.
WITHOUT = {
    Changes: {
        "keys": KEYS | {"modified_keys"},  # of dicts and of sections
        "sections": {"section_deletions", "section_insertions"},
        "the objects of projections": {"base"},
    },
    ElementChanges: {
        "elements are no objects, and no properties of theirs are written": OBJECTS | {"base"},
        "sections": {"section_deletions", "section_insertions"},
    },
    SectionChanges: {
        "a key that is modified is another section": {"modified_keys"},
        "the objects of projections": {"base"},
    },
    ProjectedChanges: {
        "keys: projections in sections or dicts cannot be observed": KEYS | {"modified_keys"},
        "sections": {"section_deletions", "section_insertions"},
    },
    Commits: {
        "what was committed is not told": OBJECTS | POSITIONS | COUNTS | KEYS | {"modified_keys", "base"},
        "sections": {"section_deletions", "section_insertions"},
        "a store has no owner, and is no collection": {"is_owner_deleted", "is_cleared"},
    },
}


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("kind", WITHOUT)
def test_all_have_what_any_has(kind):
    everything = set().union(*map(public, WITHOUT))
    assert everything - public(kind) == set().union(*WITHOUT[kind].values())
