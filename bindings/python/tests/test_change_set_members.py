"""What change sets of all kinds have: a handler that follows the documented pattern works for each of them."""

import pytest

from objstore.observing.changes import Changes
from objstore.observing.commits import Commits
from objstore.observing.element_changes import ElementChanges
from objstore.observing.row_changes import TableChanges, ValueChanges
from objstore.observing.section_changes import SectionChanges
from objstore.projections.changes import ProjectedChanges

OBJECTS = {"deleted", "inserted", "modified", "modified_before", "moved"}
POSITIONS = {"deletions", "insertions", "modifications", "modifications_after", "moves"}
COUNTS = {"deletion_count", "insertion_count", "modification_count", "move_count"}
KEYS = {"deleted_keys", "inserted_keys"}
WRITTEN = {"written", "written_in_move"}
TABLES = {"changed", "changed_in_move", "table", "table_before"}
VALUES = {"values", "values_before"}

# What a kind has not of what others have, and why.
WITHOUT = {
    Changes: {
        "keys": KEYS | {"modified_keys"},  # of dicts and of sections
        "sections": {"section_deletions", "section_insertions"},
        "the objects of projections": {"base"},
        "columns, and what is asked of values": TABLES | VALUES,
    },
    ElementChanges: {
        "elements are no objects, and no properties of theirs are written": OBJECTS | WRITTEN | {"base"},
        "sections": {"section_deletions", "section_insertions"},
        "columns, and what is asked of values": TABLES | VALUES,
    },
    SectionChanges: {
        "a key that is modified is another section": {"modified_keys"},
        "the objects of projections": {"base"},
        "columns, and what is asked of values": TABLES | VALUES,
    },
    ProjectedChanges: {
        "keys: projections in sections or dicts cannot be observed": KEYS | {"modified_keys"},
        "sections": {"section_deletions", "section_insertions"},
        "columns, and what is asked of values": TABLES | VALUES,
    },
    Commits: {
        "what was committed is not told": OBJECTS | WRITTEN | POSITIONS | COUNTS | KEYS | {"modified_keys", "base"},
        "sections": {"section_deletions", "section_insertions"},
        "a store has no owner, and is no collection": {"is_owner_deleted", "is_cleared"},
        "columns, and what is asked of values": TABLES | VALUES,
    },
    TableChanges: {
        "columns have another value, properties are written": WRITTEN,
        "rows are known by objects, or by the keys of groups": KEYS | {"modified_keys"},
        "sections": {"section_deletions", "section_insertions"},
        "the objects of projections": {"base"},
        "rows, and what is asked of values": VALUES,
    },
    ValueChanges: {
        "values are no objects, and no properties of theirs are written": OBJECTS | WRITTEN | {"base"},
        "sections": {"section_deletions", "section_insertions"},
        "columns": TABLES,
    },
}


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("kind", WITHOUT)
def test_all_have_what_any_has(kind):
    everything = set().union(*map(public, WITHOUT))
    assert everything - public(kind) == set().union(*WITHOUT[kind].values())
