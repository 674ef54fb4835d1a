"""The scenarios A66 and A91 to A98 of the specification."""

from __future__ import annotations

from typing import Any

import pytest

from queries.data import Database
from queries.tests.build import database, double, keys, link, number, table

ITEMS = [
    ("Write tests", False, "Alex", 5, 125),
    ("Run tests", False, "Ali", 9, 10),
    ("Bluehawk Tests", False, None, 10, 55),
    ("Create a ticket", True, "Nick", 2, 8),
    ("Schedule a meeting", True, "Chris", 9, 10),
    ("Get coffee", False, "Dachary", 11, 3),
    ("Assign me to a project", False, "Nick", 2, 0),
]
PROJECTS: list[tuple[str, list[int], Any]] = [
    ("New Project", [0, 1, 2], None),
    ("Project with High Quota", [3, 4, 5], 12),
    ("Another project", [5], None),
]


def projects_and_items(projects: list[tuple[str, list[int], Any]]) -> Database:
    """The fixture QF."""
    return database(
        Item=table(
            [
                "name: string#",
                "isComplete: bool",
                "assignee: string?",
                "priority: int",
                "progressMinutes: int",
                "projects: backlinks Project.items",
            ],
            [
                {
                    "name": name,
                    "isComplete": done,
                    "assignee": who,
                    "priority": number(priority),
                    "progressMinutes": number(minutes),
                }
                for name, done, who, priority, minutes in ITEMS
            ],
        ),
        Project=table(
            ["name: string", "items: link list Item", "quota: int?"],
            [
                {
                    "name": name,
                    "items": [link("Item", key) for key in items],
                    "quota": None if quota is None else number(quota),
                }
                for name, items, quota in projects
            ],
        ),
    )


@pytest.mark.parametrize(
    "class_name,text,count",
    [
        ("Item", "priority > 5", 4),
        ("Item", "progressMinutes > 120", 1),
        ("Item", "assignee == nil", 1),
        ("Item", "progressMinutes BETWEEN {30,60}", 1),
        ("Item", "progressMinutes IN {10,20,30,40,50,60}", 2),
        ("Item", "assignee=='Ali' AND isComplete==true", 0),
        ("Project", "NONE items.isComplete == true", 2),
        ("Project", "ANY items.priority == 10", 1),
        ("Project", "ALL items.isComplete == true", 0),
        ("Project", "ANY items.assignee IN {'Alex','Ali'}", 1),
        ("Project", "NONE items.assignee IN {'Alex','Ali'}", 2),
        ("Item", "@links.Project.items.quota > 10", 3),
        ("Item", "projects.quota > 10", 3),
        ("Item", "projects.@count > 1", 1),
        ("Item", "@links.Project.items.@count == 0", 1),
        ("Item", "@links.@count == 0", 1),
        ("Item", "2 * priority > 6", 5),
        ("Item", "priority >= 2 * (2 - 1) + 2", 5),
        ("Item", "progressMinutes * priority == 90", 2),
        ("Item", "name TEXT 'write'", 1),
        ("Item", "name TEXT 'write -tests'", 0),
        ("Item", "name TEXT 'wri*'", 1),
    ],
)
def test_items_and_projects(class_name: str, text: str, count: int) -> None:
    """A91, A92, A93 and A95."""
    assert len(keys(projects_and_items(PROJECTS), class_name, text)) == count


def test_subqueries() -> None:
    """A94."""
    data = projects_and_items([*PROJECTS, ("Project with Quota", [3, 4, 0], 2)])
    incomplete = "SUBQUERY(items,$item,$item.isComplete==false AND $item.assignee=='Alex').@count > 0"
    assert keys(data, "Project", incomplete + " AND name != 'Project with Quota'") == [0]
    assert keys(data, "Project", "SUBQUERY(items, $item, $item.isComplete == true).@count >= quota") == [3]


@pytest.mark.parametrize(
    "text,count",
    [
        ("ANY dict.@keys=='foo'", 1),
        ("dict['foo']=='bar'", 1),
        ("dict.@count>1", 1),
        ("ANY dict.@type=='string'", 2),
        ("ALL dict.@type=='bool'", 1),
        ("NONE dict.@type=='double'", 2),
        ("dict.@type=='string'", 2),
    ],
)
def test_maps(text: str, count: int) -> None:
    """A96."""
    rows = [{"foo": "bar"}, {"isTrue": False}, {"baz": "Biz", "num": double(1.0)}]
    data = database(Thing=table(["dict: mixed? dictionary"], [{"dict": {"$dictionary": row}} for row in rows]))
    assert len(keys(data, "Thing", text)) == count


@pytest.mark.parametrize(
    "text,count",
    [
        ("eventLog[*].priority=='high'", 2),
        ("eventLog[*].type[FIRST]=='maintenance'", 1),
        ("eventLog[*].type[*]=={'maintenance','work_order'}", 0),
        ("eventLog[*].type.@type=='list'", 2),
    ],
)
def test_nested(text: str, count: int) -> None:
    """A97."""

    def event(priority: str, *kinds: str) -> Any:
        return {"$dictionary": {"priority": priority, "type": list(kinds)}}

    logs = [
        [event("high", "work_order", "maintenance"), event("low", "maintenance")],
        [event("high", "hardware", "repair")],
    ]
    data = database(Team=table(["eventLog: mixed?"], [{"eventLog": log} for log in logs]))
    assert len(keys(data, "Team", text)) == count


@pytest.mark.parametrize(
    "shape,count",
    [
        ("geoCircle([-122.6, 47.8], 0.0069614)", 1),
        ("geoCircle([-121.9, 47.3], 0.0043633)", 0),
        ("geoBox([-122.7, 47.3], [-122.1, 48.1])", 1),
        ("geoBox([-122.4, 47.5], [-121.8, 47.9])", 2),
        (
            "geoPolygon({[-122.8, 48.0], [-121.8, 48.2], [-121.6, 47.6], [-122.0, 47.0], [-122.6, 47.2], "
            "[-122.8, 48.0]})",
            2,
        ),
    ],
)
def test_places(shape: str, count: int) -> None:
    """A98."""

    def company(longitude: float, latitude: float) -> Any:
        point = {"type": "Point", "coordinates": [double(longitude), double(latitude)]}
        return {"location": {"$embedded": {"table": "Place", "value": point}}}

    data = database(
        Company=table(["location: link? Place"], [company(-122.35, 47.68), company(-121.85, 47.9)]),
        Place=table(["type: string", "coordinates: double list"], [], embedded=True),
    )
    assert len(keys(data, "Company", f"location GEOWITHIN {shape}")) == count
    assert keys(data, "Company", "location GEOWITHIN $0", shape) == keys(data, "Company", f"location GEOWITHIN {shape}")


def test_sorts() -> None:
    """A66."""
    tasks = [
        ("go grocery shopping", 10),
        ("throw out the trash", 4),
        ("wash and dry the laundry", 2),
        ("fold the laundry", 2),
    ]
    data = database(
        Task=table(
            ["name: string", "priority: int"],
            [{"name": name, "priority": number(priority)} for name, priority in tasks],
        )
    )
    assert keys(data, "Task", "TRUEPREDICATE SORT(name ASC)") == [3, 0, 1, 2]
    assert keys(data, "Task", "TRUEPREDICATE SORT(name DESC)") == [2, 1, 0, 3]
    assert keys(data, "Task", "TRUEPREDICATE SORT(priority DESC, name ASC)") == [0, 1, 3, 2]
