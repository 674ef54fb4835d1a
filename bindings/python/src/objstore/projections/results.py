"""Results whose objects are projections."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..models.display import value_cell
from ..observing.tokens import Token
from ..queries.live_rows import Listing, windows
from ..queries.live_tables import LiveTable
from ..queries.plans import Plan
from ..queries.results import Results
from .changes import ProjectedChanges, ProjectedStream, telling
from .projection import Projection, fields_of
from .steps import observed

if TYPE_CHECKING:
    from ..models.expressions import Condition
    from ..stores.lookup import Source
    from .projection import Projected

P = TypeVar("P", bound=Projection[Any])


class ProjectedResults(Generic[P]):
    """The objects of a class as projections: `store.objects(PersonView)`. As live as Results, `results.base`, of which
    they are made. Conditions, orders and texts are about the properties of the class, by their names there.

        for view in store.objects(PersonView).where(Person.age > 3).order_by(Person.first_name): …
        len(views), views[0], views[-1], views[10:20], view in views
    """

    __slots__ = ("_projection", "base")

    def __init__(self, projection: type[P], base: Results[Any]) -> None:
        self._projection = projection
        self.base = base  # the objects themselves

    def where(self, *conditions: "Condition | int") -> "ProjectedResults[P]":
        """As Results.where(): `.where(Person.first_name == "Jason")`."""
        return ProjectedResults(self._projection, self.base.where(*conditions))

    def filter(self, text: str, *arguments: Any) -> "ProjectedResults[P]":
        return ProjectedResults(self._projection, self.base.filter(text, *arguments))

    def order_by(self, *keys: object) -> "ProjectedResults[P]":
        return ProjectedResults(self._projection, self.base.order_by(*keys))

    def distinct(self, *values: object) -> "ProjectedResults[P]":
        return ProjectedResults(self._projection, self.base.distinct(*values))

    def limit(self, count: int) -> "ProjectedResults[P]":
        return ProjectedResults(self._projection, self.base.limit(count))

    def offset(self, count: int) -> "ProjectedResults[P]":
        return ProjectedResults(self._projection, self.base.offset(count))

    def query_text(self) -> str:
        return self.base.query_text()

    def explain(self, *, run: bool = False) -> Plan:
        return self.base.explain(run=run)

    @property
    def is_frozen(self) -> bool:
        return self.base.is_frozen

    def freeze(self) -> "ProjectedResults[P]":
        return ProjectedResults(self._projection, self.base.freeze())

    def thaw(self) -> "ProjectedResults[P]":
        return ProjectedResults(self._projection, self.base.thaw())

    # The list

    def count(self) -> int:
        return self.base.count()

    def __len__(self) -> int:
        return self.base.count()

    def __bool__(self) -> bool:
        return bool(self.base)

    def __iter__(self) -> Iterator[P]:
        return map(self._projection, self.base)

    @overload
    def __getitem__(self, index: int) -> P: ...
    @overload
    def __getitem__(self, index: slice) -> list[P]: ...
    def __getitem__(self, index: int | slice) -> "P | list[P]":
        found = self.base[index]
        return list(map(self._projection, found)) if isinstance(found, list) else self._projection(found)

    def first(self) -> P | None:
        """The first one, or None."""
        found = self.base.first()
        return None if found is None else self._projection(found)

    def index(self, view: P) -> int:
        """Where a projection's object is. ValueError: it is none of them."""
        return self.base.index(view.base if isinstance(view, Projection) else view)

    def __contains__(self, view: object) -> bool:
        return type(view) is self._projection and view.base in self.base

    # Observing

    def observe(
        self,
        handler: "Callable[[ProjectedChanges[P]], object]",
        keys: "Iterable[object] | None" = None,
        *,
        initial: bool = True,
        since: bytes | None = None,
    ) -> Token:
        """Calls handler(change) for what every commit changes in this list: as Results.observe(). Modifications of
        what is not projected are not told; `keys`: only those of these properties of the projection, by name or as
        PersonView.first_name."""
        fields = fields_of(self._projection, keys)
        told = telling(self._projection, fields, handler)
        return self.base.observe(told, observed(prop.steps for prop in fields), initial=initial, since=since)

    def changes(
        self, keys: "Iterable[object] | None" = None, *, initial: bool = True, since: bytes | None = None
    ) -> ProjectedStream[P]:
        """The same for asyncio: `async for change in results.changes(): …`"""
        fields = fields_of(self._projection, keys)
        stream = self.base.changes(observed(prop.steps for prop in fields), initial=initial, since=since)
        return ProjectedStream(stream, self._projection, fields)

    def live(
        self, columns: "Iterable[object] | None" = None, *, rows: int = 20, interval: float = 0.1
    ) -> "LiveTable[P]":
        """As Results.live(), with the properties of the projection."""
        fields = fields_of(self._projection, columns)
        return LiveTable(
            self._projection.__name__ + self.base._shown(),
            Listing([(prop.name, partial(_cell, prop=prop)) for prop in fields], windows(self._of), self._projection),
            partial(self.base.changes, observed(prop.steps for prop in fields)),
            rows,
            interval,
        )

    def _of(self, source: "Source") -> "ProjectedResults[P]":
        return ProjectedResults(self._projection, self.base._of(source))

    def __repr__(self) -> str:
        return f"<{self._projection.__name__} of {self.base!r}>"


def _cell(view: Projection[Any], prop: "Projected") -> str:
    return value_cell(prop.value(view.base))
