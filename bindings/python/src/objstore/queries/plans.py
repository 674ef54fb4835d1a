"""How results find their objects: which index, inverse or scan, and what that costs."""

import ctypes
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..arguments import switch
from ..native import ffi
from ..native.failures import check
from ..reading.views import asked

if TYPE_CHECKING:
    from .results import Results

_explain = ffi.bind("objstore_query_explain")
_buffer_free = ffi.bind("objstore_buffer_free")

RUN, JSON = 0x1, 0x2  # OBJSTORE_EXPLAIN_…


@dataclass(frozen=True)
class Plan:
    """What results.explain() returns; its str(), which is its text, are lines for people.

    access    "all", "scan" (each object is looked at), "index" (a comparison is looked up, also of inverses), "links"
              (what links to the objects that another condition finds), "range" (a part of an index, in its order),
              "order" (the first ones in the order of an index), or
              "collection" (what a list, set or dict has links to, in its order)
    by        the comparisons that are looked up, or the index; None: nothing is
    estimate  how many objects the access finds, a bound where there are alternatives; None: nobody has counted
    filter    what is asked of each of these
    steps     what comes then, such as "SORT(age DESC)"
    found     how many there were, with run=True, in so many microseconds. Of a scan, in how many leaves it looked, and
              how many it could leave out
    rows      how many rows the table has, of a text with GROUP or SELECT, with run=True
    threads   how many have scanned, the one that asked included, with run=True; None: no others
    """

    query: str | None  # as query_text() has it; None: it has no text
    class_name: str
    objects: int  # that the class has,
    leaves: int  # in pieces of up to 4,096
    access: str
    by: str | None = None
    estimate: int | None = None
    filter: str | None = None
    steps: tuple[str, ...] = ()
    found: int | None = None
    microseconds: int | None = None
    leaves_read: int | None = None
    leaves_skipped: int | None = None
    rows: int | None = None
    threads: int | None = None
    text: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return self.text


def plan(results: "Results[Any]", run: bool) -> Plan:
    runs = RUN * switch("run", run)
    view = results._source._reader()  # kept during the calls: another thread may move on meanwhile
    query = results._asked(view)
    told = json.loads(_written(query, view.handle, JSON | runs))
    text = _written(query, view.handle, 0).rstrip("\n")  # it is asked once
    found = told.get("found", {})
    if found:
        rows = f", {_counted(found['rows'], 'row', 'rows')}" if "rows" in found else ""
        text += f"\nfound: {_counted(found['objects'], 'object', 'objects')}{rows} in {found['microseconds']} µs"
    if "leavesRead" in found:
        text += f", {_counted(found['leavesRead'], 'leaf', 'leaves')} read, {found['leavesSkipped']} skipped"
    if "threads" in found:
        text += f", threads: {found['threads']}"
    return Plan(
        told.get("query"),
        told["class"],
        told["objects"],
        told["leaves"],
        told["access"],
        told.get("by"),
        told.get("estimate"),
        told.get("filter"),
        tuple(told["steps"]),
        found.get("objects"),
        found.get("microseconds"),
        found.get("leavesRead"),
        found.get("leavesSkipped"),
        found.get("rows"),
        found.get("threads"),
        text,
    )


def _counted(count: int, noun: str, nouns: str) -> str:
    return f"{count} {noun if count == 1 else nouns}"


def _written(query: Any, view: int, flags: int) -> str:
    buffer, text = ffi.Buffer(), ffi.Text()
    try:
        check(asked(query, _explain, query.cell, view, flags, ctypes.byref(buffer), ctypes.byref(text)))
        return ffi.string(text)
    finally:
        _buffer_free(ctypes.byref(buffer))
