"""What live tables show, as HTML: the first rows of a list, or of sections below their keys.

change set ─► rows out, rows in, rows anew ─► what is missing at the end is read in the version after it
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..models.display import heading

if TYPE_CHECKING:
    from ..stores.lookup import Source
    from .sections import Sections


T = TypeVar("T")
Columns = list[tuple[str, Callable[[T], str]]]  # their names, and what makes the HTML of a cell
Window = Callable[["Source", int, int], tuple[list[T], int]]


class Listing(Generic[T]):
    """The first rows of a list. Of a change only what stands in these is looked at."""

    def __init__(self, columns: Columns[T], window: Window[T], made: "Callable[[Any], T] | None" = None) -> None:
        """`window`: what stands from one position up to another, and how many there are, in a version. `made`: of an
        object of a change set; None: change sets have no objects, and elements are read where they stand."""
        self.columns = columns
        self.length = 0  # how many rows at most
        self.count = 0  # how many there are
        self._window = window
        self._made = made
        self._rows: list[str] = []

    @property
    def shown(self) -> int:
        """How many rows there are to be seen."""
        return len(self._rows)

    def state(self) -> object:
        """Equal as long as the same is shown."""
        return self._rows.copy(), self.count

    def html(self) -> str:
        return "".join(self._rows)

    def look(self, source: "Source") -> None:
        """Everything anew."""
        self._clear()
        self._fill(source)

    def follow(self, change: Any) -> None:
        if change.is_owner_deleted:  # there is no version after it that could be asked
            self._clear()
        elif change.is_initial or change.is_lost:
            self.look(self._after(change))
        else:
            self._apply(change)
            self._fill(self._after(change))

    def _after(self, change: Any) -> Any:
        """What the window is one of, after a change."""
        return change.after

    def _apply(self, change: Any) -> None:
        for place in reversed(change.deletions):
            rows, at = self._at(place)
            if at < len(rows):
                del rows[at]
        self._regroup(change)
        come, changed = self._told(change)
        for place, each in zip(change.insertions, come):
            rows, at = self._at(place)
            if at <= len(rows) and at < self.length:  # what is between is found by _fill
                rows.insert(at, self._row(each))
        for place, each in zip(change.modifications_after, changed):
            rows, at = self._at(place)
            if at < len(rows):
                rows[at] = self._row(each)

    def _told(self, change: Any) -> tuple[Iterable[T], Iterable[T]]:
        """What stands at the insertions and at the modifications, in their order, as far as it can be shown."""
        made = self._made
        if made is None:
            after = self._after(change)
            return self._read(after, change.insertions), self._read(after, change.modifications_after)
        moved, come = {after: obj for (_, after), obj in zip(change.moves, change.moved)}, iter(change.inserted)
        return (
            (made(moved[place] if place in moved else next(come)) for place in change.insertions),
            map(made, change.modified),
        )

    def _read(self, source: "Source", positions: list[int]) -> Iterator[T]:
        """What stands at ascending positions, those together that follow each other."""
        at = 0
        while at < len(positions) and positions[at] < self.length:
            begin = end = positions[at]
            while at < len(positions) and positions[at] == end < self.length:
                at, end = at + 1, end + 1
            yield from self._window(source, begin, end)[0]

    def _row(self, each: T) -> str:
        return "<tr>" + "".join(f"<td>{cell(each)}</td>" for _, cell in self.columns) + "</tr>"

    # Where rows are

    def _clear(self) -> None:
        self._rows, self.count = [], 0

    def _at(self, place: Any) -> tuple[list[str], int]:
        """The rows that a place is in, and where."""
        return self._rows, place

    def _regroup(self, change: Any) -> None:
        """Between what goes and what comes."""

    def _fill(self, source: "Source") -> None:
        """As many as are to be shown: those that are there are right, and the first."""
        rows = self._rows
        del rows[self.length :]
        more, self.count = self._window(source, len(rows), self.length)
        rows += [self._row(each) for each in more]


class RowListing(Listing[T]):
    """The first rows of what change sets have themselves."""

    def __init__(self, columns: Columns[T], window: Any, after: Callable[[Any], Any]) -> None:
        """`window`: also one of what `after` gives of a change set."""
        super().__init__(columns, window)
        self._of = after

    def _after(self, change: Any) -> Any:
        return self._of(change)


class SectionListing(Listing[T]):
    """The first objects of results in sections, those of each below its key."""

    def __init__(
        self, columns: Columns[T], sections: "Callable[[Source], Sections[Any, Any]]", made: "Callable[[Any], T]"
    ) -> None:
        super().__init__(columns, lambda *_: ([], 0), made)
        self._sections = sections
        self._objects: Callable[[Any], T] = made
        self._groups: list[tuple[str, list[str]]] = []  # the first sections: heading and first rows of each

    @property
    def shown(self) -> int:
        return sum(len(rows) for _, rows in self._groups)

    def state(self) -> object:
        return [(head, rows.copy()) for head, rows in self._groups], self.count

    def html(self) -> str:
        return "".join(head + "".join(rows) for head, rows in self._groups)

    def _clear(self) -> None:
        self._groups, self.count = [], 0

    def _at(self, place: tuple[int, int]) -> tuple[list[str], int]:
        section, at = place
        return (self._groups[section][1], at) if section < len(self._groups) else ([], self.length)

    def _regroup(self, change: Any) -> None:
        groups = self._groups
        for at in reversed(change.section_deletions):
            if at < len(groups):
                del groups[at]
        for at in change.section_insertions:
            if at > len(groups):
                break  # what is between is found by _fill
            groups.insert(at, ("", []))

    def _fill(self, source: "Source") -> None:
        sections = self._sections(source)
        room, groups = self.length, self._groups
        self._groups = []
        for at in range(len(sections)):
            if room == 0:
                break
            section, rows = sections[at], groups[at][1] if at < len(groups) else []
            del rows[room:]
            rows += [self._row(self._objects(each)) for each in section[len(rows) : room]]
            head = f'<tr><th colspan="{max(1, len(self.columns))}">{heading(section.key)}</th></tr>'
            self._groups.append((head, rows))
            room -= len(rows)
        self.count = len(sections._results)


def windows(find: "Callable[[Source], Any]") -> Window[Any]:
    """The windows of results that `find` makes of a version."""

    def window(source: "Source", begin: int, end: int) -> tuple[list[Any], int]:
        found = find(source)
        return found[begin:end], len(found)

    return window


def same(obj: Any) -> Any:
    return obj
