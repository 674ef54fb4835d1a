"""How live.py shows what it follows: as a table that stands still on a terminal, as lines anywhere else."""

import sys
import time
from dataclasses import dataclass
from typing import Protocol

MARKED = 1.2  # seconds that a mark stays on a terminal
COLOURS = {"+": "bold green", "↑": "bold cyan", "↓": "yellow", "*": "bold", "": ""}


@dataclass(slots=True)
class Row:
    """A city of the table, and what happened to it last."""

    key: int
    name: str
    country: str
    population: int
    mark: str = ""  # + came, ↑ ↓ moved, * was changed
    marked_at: float = 0.0

    def mark_since(self, moment: float) -> str:
        return self.mark if self.marked_at > moment else ""


class Screen(Protocol):
    """Where tables are shown, `with` it around all of them."""

    is_live: bool  # a table stands in the place of the one before it, and may be drawn as often as one likes

    def __enter__(self) -> "Screen": ...
    def __exit__(self, *_: object) -> None: ...
    def show(self, title: str, rows: list[Row], status: list[str]) -> None: ...


class Lines:
    """One table below the other, for files and pipes. Marked is what happened since the one before."""

    is_live = False

    def __init__(self) -> None:
        self._shown_at = 0.0

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None: ...

    def show(self, title: str, rows: list[Row], status: list[str]) -> None:
        print(f"{title}: {', '.join(status)}" if self._shown_at == 0 else ", ".join(status))
        for place, row in enumerate(rows, 1):
            mark = row.mark_since(self._shown_at)
            print(f"{place:4} {mark:1} {row.name:28} {row.country:2} {row.population:14,}")
        sys.stdout.flush()
        self._shown_at = time.monotonic()


class Terminal:
    """A table that is drawn over the one before it."""

    is_live = True

    def __init__(self) -> None:
        from rich.live import Live  # there is a table without it, below

        self._live = Live(auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> "Terminal":
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)

    def show(self, title: str, rows: list[Row], status: list[str]) -> None:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        # Names come from the data: texts, not rich's markup.
        table = Table(title=Text(title), caption=Text("\n".join(status)), box=box.SIMPLE_HEAD, width=76)
        table.add_column("", justify="right", width=4)
        table.add_column("", width=1)
        table.add_column("city", ratio=1, no_wrap=True)
        table.add_column("country", width=7)
        table.add_column("population", justify="right", width=14)
        now = time.monotonic()
        for place, row in enumerate(rows, 1):
            mark = row.mark_since(now - MARKED)
            texts = str(place), mark, row.name, row.country, f"{row.population:,}"
            table.add_row(*map(Text, texts), style=COLOURS[mark])
        self._live.update(table, refresh=True)


def screen() -> Screen:
    if not sys.stdout.isatty():
        return Lines()
    try:
        return Terminal()
    except ModuleNotFoundError as error:
        print(f"live.py: without a table that stands still: {error.name} is not installed", file=sys.stderr)
        return Lines()
