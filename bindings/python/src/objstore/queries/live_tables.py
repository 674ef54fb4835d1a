"""Tables in notebooks that move: `results.live()`.

    change set ─► rows that it touches (live_rows) ─► update_display(…, display_id=…) in the cell's output

IPython is not imported: a notebook has it already.
"""

import asyncio
import html
import itertools
import os
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..arguments import seconds
from ..errors import InvalidArgument, OutOfRange
from ..messages import shown
from ..native.handles import ClosingBlock
from .live_rows import Listing

if TYPE_CHECKING:
    from ..observing.streams import AnyStream


T = TypeVar("T")
MOST_ROWS = 10_000
_numbers = itertools.count(1)
_tables: "weakref.WeakSet[LiveTable[Any]]" = weakref.WeakSet()
_tasks: set[asyncio.Task[None]] = set()  # which asyncio itself refers to weakly


class LiveTable(ClosingBlock, Generic[T]):
    """The first rows of something as a table that follows every commit: `results.live()`, `person.dogs.live()`, as the
    last line of a notebook's cell. In the notebook's loop the output changes by itself, between cells and while one
    awaits; elsewhere update() looks. Many commits come as one change.

    It ends with close(), with the store, with the object whose list it shows, when it is garbage, and when its cell is
    run again (in notebooks that say which cell it is: JupyterLab, Notebook 7, VS Code). What it shows then stays."""

    def __init__(
        self,
        caption: str,
        content: Listing[T],
        begin: "Callable[[], AnyStream[Any]]",
        rows: int,
        interval: float,
    ) -> None:
        """`caption` says what it shows; `begin` makes the stream of its changes."""
        self._ending, self._is_inside = None, False
        if isinstance(rows, bool) or not isinstance(rows, int):
            raise InvalidArgument(f"rows is a number of rows, not {shown(rows)} (a live table of {caption})")
        if not 1 <= rows <= MOST_ROWS:
            raise OutOfRange(f"rows is {rows}: 1 to {MOST_ROWS:,} (a live table of {caption})")
        self._caption = caption
        self._content = content
        content.length = rows
        self._interval = seconds("interval", interval, ever=False) or 0.0
        stream = self._stream = begin()
        self._store = stream._store
        stream._token.set_interval(self._interval)
        self._is_closed = False
        self._task: asyncio.Task[None] | None = None
        self._display: str | None = None  # the id of its output
        self._cell: tuple[object, object] | None = None  # the cell, and which run of it
        content.look(self._store)
        _tables.add(self)

    @property
    def is_closed(self) -> bool:
        """Does it follow no longer?"""
        return self._is_closed or self._store.is_closed

    def close(self) -> None:
        """Follows no longer; what it shows stays. Closing twice is allowed."""
        self._end()
        self._stream.close()

    def update(self) -> bool:
        """Calls the handlers of the store that are due, as store.refresh() does, and shows what has changed; was there
        anything? In a notebook's loop that happens by itself."""
        if self._is_closed:
            return False
        if self._store.is_closed:
            self.close()
            return False
        token, has_changed = self._stream._token, False
        token.set_interval(0)
        try:
            self._store.refresh()  # type: ignore[attr-defined]
        finally:
            if not token.is_closed:
                token.set_interval(self._interval)
        while (change := self._stream._take()) is not None:
            has_changed |= self._shows(change)
        return has_changed

    # What is shown

    def _shows(self, change: Any) -> bool:
        """Shows what has changed; is it anything that is shown?"""
        before = self._content.state()
        self._content.follow(change)
        has_changed = before != self._content.state()
        if change.is_owner_deleted:  # nothing more comes
            self.close()
        elif has_changed:
            self._publish()
        return has_changed

    def _repr_html_(self) -> str:
        content = self._content
        head = "".join(f"<th>{html.escape(name)}</th>" for name, _ in content.columns)
        more = content.count - content.shown
        foot = f"<p>and {more:,} more</p>" if more > 0 else ""
        state = " (closed)" if self._is_closed else ""
        return (
            f"<table><caption>{html.escape(self._caption)}{state}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{content.html()}</tbody></table>{foot}"
        )

    def __repr__(self) -> str:
        state, content = ", closed" if self._is_closed else "", self._content
        return f"<live table of {self._caption}, {content.shown:,} of {content.count:,} rows{state}>"

    # In a notebook

    def _ipython_display_(self) -> None:
        """By IPython, for the last line of a cell, and by display(table)."""
        ipython: Any = sys.modules["IPython"]
        if self._display is None:
            self._display = f"objstore-{os.getpid()}-{next(_numbers)}"
        self._cell = _current_cell(ipython.get_ipython())
        if self._cell is not None:
            for other in list(_tables):
                if other._cell is not None and other._cell[0] == self._cell[0] and other._cell[1] != self._cell[1]:
                    other.close()  # the output that it was in is gone
        ipython.display.display(self._data(), raw=True, display_id=self._display)
        self._follow()

    def _data(self) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}

    def _publish(self) -> None:
        if self._display is not None:
            display: Any = sys.modules["IPython"].display
            display.update_display(self._data(), raw=True, display_id=self._display)

    def _follow(self) -> None:
        """From here on in the running loop, if there is one."""
        if self._is_closed or self._task is not None:
            return
        loop = asyncio._get_running_loop()
        if loop is None:
            return
        stream = self._stream
        table = weakref.ref(self, lambda _: stream.close())
        task = self._task = loop.create_task(_run(stream, table))
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)

    def _end(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._publish()


async def _run(stream: "AnyStream[Any]", reference: "weakref.ref[LiveTable[Any]]") -> None:
    """Keeps the table only while it works on it."""
    try:
        async for change in stream:
            table = reference()
            if table is None:
                return
            table._shows(change)
            del table
    finally:
        table = reference()
        if table is not None:
            table.close()


def _current_cell(shell: Any) -> tuple[object, object] | None:
    """The cell that runs, and which run of it; None: that is not said."""
    parent = getattr(shell, "get_parent", None)
    message = parent() if callable(parent) else None
    if not isinstance(message, dict):
        return None
    cell = (message.get("metadata") or {}).get("cellId")
    return None if cell is None else (cell, (message.get("header") or {}).get("msg_id"))
