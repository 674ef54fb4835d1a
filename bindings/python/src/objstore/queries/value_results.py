"""What is asked of lists, sets and dicts of plain values: their elements, filtered, sorted and added up."""

import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..collections.collection import BLOCK, return_room, room
from ..errors import Error, IndexOutOfRange, WrongType, about
from ..models import steps
from ..models.element import value
from ..models.expressions import Condition, Part, all_of
from ..objects import versions
from ..observing.row_changes import ValueChanges
from ..observing.row_streams import QueryToken, ValueStream
from ..reading import queries
from ..reading.queries import Query
from ..values import constants
from ..values.c_values import give_back, take
from ..values.constants import ANYTHING
from ..values.kinds import MIXED
from . import live_collections
from .aggregates import KINDS

if TYPE_CHECKING:
    from ..collections.queried import Queried
    from ..observing.tokens import Token
    from ..reading.found_values import FoundValues
    from ..reading.views import View
    from ..stores.lookup import Source
    from ..stores.open_store import OpenStore
    from .live_tables import LiveTable

T = TypeVar("T")
SHOWN = 20  # elements in a repr


class ValueResults(Generic[T]):
    """A question to a list, set or dict of plain values, and its answer: in the order of the list, ascending of a set,
    in the order of the keys of a dict, or that of order_by(). Live: each use looks at the elements that there are then.
    A loop continues over those that it began with. Of an object that was deleted there are none.

        for tag in dog.tags.where(value.starts_with("g")).order_by(value): …
        len(tags), tags[0], tags[-1], tags[10:20], "good" in tags, dog.rooms.where(value > 12).sum()
    """

    __slots__ = ("_collection", "_query")

    def __init__(self, collection: "Queried[Any]", query: Query) -> None:
        self._collection = collection
        self._query = query

    # Narrowing. What is behind limit(), say, is about those that it has left.

    def where(self, *conditions: "Condition | int") -> "ValueResults[T]":
        """Those that satisfy a condition, or several, where `value` is the element:

            .where(value > 3, value != 5)
            .where(value.starts_with("R") | (value == None))

        All that Results.where() has for properties."""
        if not conditions:
            return self
        return self._then(all_of(conditions))

    def filter(self, text: str, *arguments: Any) -> "ValueResults[T]":
        """The same from text, in which @self is the element: `.filter("@self > $0 SORT(@self DESC) LIMIT(3)", 2)`. See
        Results.filter."""
        if not isinstance(text, str):
            raise WrongType(f"a filter is a text such as '@self < $0', not {text!r}")
        mine, packed = self._collection, constants.arguments(arguments)
        view = mine._view()  # kept during the call
        query = queries.of_values_text(view.handle, mine._place, mine._c, text, packed)
        return ValueResults(mine, queries.then(self._query, query))

    def order_by(self, *keys: object) -> "ValueResults[T]":
        """In the order of the values, ascending, or `order_by(desc(value))`; of what is computed of them:
        `order_by(value.length)`. None comes first. Those that are equal stay in the order that they have here."""
        return self._then(steps.order_by(keys or (value,)))

    def distinct(self, *values: object) -> "ValueResults[T]":
        """Of equal ones the first; or of those of which something that is computed is equal."""
        return self._then(steps.distinct(values or (value,)))

    def limit(self, count: int) -> "ValueResults[T]":
        """The first ones, so many at most."""
        return self._then(steps.limit(count))

    def offset(self, count: int) -> "ValueResults[T]":
        """Those behind the first ones, so many."""
        return self._then(steps.offset(count))

    def _then(self, part: Part) -> "ValueResults[T]":
        mine = self._collection
        if part._properties:
            raise about(
                WrongType,
                mine._prop,
                f"'{part}' is about {part._properties[0].model_name}, and the elements of {mine._prop.path} are plain "
                "values: objstore.value is one of them",
            )
        view = mine._view()  # kept during the call
        query = queries.of_values(view.handle, mine._place, mine._c, part._nodes, part._texts)
        return ValueResults(mine, queries.then(self._query, query))

    # Versions

    @property
    def is_frozen(self) -> bool:
        """Do they permanently show one version?"""
        return self._collection.is_frozen

    def freeze(self) -> "ValueResults[T]":
        """The same as they are now, frozen; see List.freeze."""
        return ValueResults(self._collection.freeze(), self._query)

    # The values

    def _find(self) -> "tuple[View, FoundValues]":
        """What there is now, and the view that has to be kept while it is read."""
        view = self._collection._view()
        return view, view.find_values(self._query)

    def _range(self, found: "FoundValues", start: int, stop: int) -> list[Any]:
        return self._collection._found(found, start, stop)

    def places(self) -> list[Any]:
        """Where each of them is: its index in the list or in the order of the set, or its key in the dict."""
        _view, found = self._find()
        key, places_of = self._collection._shape.key, list[Any]()
        space = room()
        for start in range(0, found.count, BLOCK):
            count, places = found.read(start, BLOCK, None, space.keys.address if key else None)
            places_of += places[:count] if key is None else space.keys.get_all(key, count)
        return_room(space)
        return places_of

    def count(self) -> int:
        """How many there are."""
        return self._find()[1].count

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return self.count() > 0

    def __iter__(self) -> Iterator[T]:
        _view, found = self._find()
        return iter(self._range(found, 0, found.count))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        _view, found = self._find()
        if isinstance(index, slice):
            wanted = range(*index.indices(found.count))
            if not wanted:
                return []
            low, high = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
            return self._range(found, low, high + 1)[:: wanted.step]
        number = operator.index(index)
        at = number + found.count if number < 0 else number
        if not 0 <= at < found.count:
            prop = self._collection._prop
            raise about(IndexOutOfRange, prop, f"{prop.path}: index {number} of {found.count} found elements")
        one: T = self._range(found, at, at + 1)[0]
        return one

    def first(self) -> T | None:
        """The first one, or None."""
        _view, found = self._find()
        return next(iter(self._range(found, 0, min(1, found.count))), None)

    def __contains__(self, element: object) -> bool:
        return element in list(self)

    # Numbers

    def _aggregate(self, name: str) -> Any:
        mine = self._collection
        element = mine._shape.element
        if element.enum is not None:  # to the library it is an int
            raise about(WrongType, mine._prop, f"{mine._prop.path}: there is no {name} of {element.type_name}")
        _view, found = self._find()
        s = take()
        found.aggregate(KINDS[name], s.values.address)
        result = s.values.get(ANYTHING if element.kind == MIXED else element, mine._linked)
        give_back(s)
        return result

    def sum(self) -> Any:
        """Of numbers, None left out; 0 of nothing. OutOfRange: over 64 bits."""
        return self._aggregate("sum")

    def min(self) -> T | None:
        """The smallest value, None left out; None of nothing. A list or dict among mixed elements comes as a copy."""
        smallest: T | None = self._aggregate("min")
        return smallest

    def max(self) -> T | None:
        """The largest value, as min()."""
        largest: T | None = self._aggregate("max")
        return largest

    def avg(self) -> Any:
        """The average of numbers, None left out; None of nothing."""
        return self._aggregate("avg")

    # Observing

    def observe(
        self, handler: Callable[[ValueChanges], object], *, initial: bool = True, since: bytes | None = None
    ) -> "Token":
        """Calls handler(change) for what every commit changes in this list from now on, whichever thread or process
        makes it: inside store.deliver() and store.wait(), on the thread that calls them. A value that begins to satisfy
        the condition is an insertion, one that stops a deletion; one of a dict is a modification where its key has
        another. Where they stand in the collection is not told.

        `initial` and `since` are as those of Results.observe. When the owner is deleted, so are all of them
        (change.is_owner_deleted), and nothing more comes. Observing lasts as long as the token that is returned. Not
        inside a write (AlreadyInWrite), and not what is frozen (WrongView). NoSuchObject: the owner was deleted."""
        store, mine = self._collection._source._observed(), self._collection
        token = QueryToken(store, store._binding(mine._owner), handler, self._telling(store))
        token.observe_query(self._query, initial, since)
        return token

    def changes(self, *, initial: bool = True, since: bytes | None = None) -> ValueStream:
        """The same for asyncio: `async for change in person.tags.where(…).changes(): …`"""
        store, mine = self._collection._source._observed(), self._collection
        stream = ValueStream(store, store._binding(mine._owner), self._telling(store))
        stream._of_query(self._query, initial, since)
        return stream

    def live(self, *, rows: int = 20, interval: float = 0.1) -> "LiveTable[Any]":
        """The first `rows` of them as a table in a notebook that follows every commit, as of Results.live(): one
        column, of a dict behind that of the keys. It ends when the owner is deleted. NoSuchObject: that was so
        before."""
        return live_collections.table_of_values(self, rows, interval)

    def _telling(self, store: "OpenStore") -> Callable[[int], ValueChanges]:
        return partial(ValueChanges, store, self._collection)

    def _window(self, source: "Source", begin: int, end: int) -> tuple[list[Any], int]:
        """Those at some positions in a version, of a dict with their keys; and how many there are."""
        there: ValueResults[T] = ValueResults(versions.moved(self._collection, source), self._query)
        values = there[begin:end]
        return list(zip(there.places()[begin:end], values)) if self._collection._shape.key else values, len(there)

    # Showing

    def __copy__(self) -> "ValueResults[T]":
        return self  # never changes: only the answer does

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(f"these elements of {self._collection._prop.path} belong to a store: copy or pickle list(…)")

    def __repr__(self) -> str:
        path = self._collection._prop.path
        try:
            _view, found = self._find()
            first = self._range(found, 0, min(found.count, SHOWN))
        except Error as error:
            return f"<Elements of {path}: {error.message}>"
        more = f", … {found.count - len(first):,} more" if found.count > len(first) else ""
        return f"<Elements of {path}: [{', '.join(map(repr, first))}{more}]>"
