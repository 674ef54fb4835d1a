"""Collections as questions: their objects, or their elements, filtered, sorted and added up."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from ..errors import InvalidArgument, WrongType, about
from ..messages import a
from ..reading import queries
from ..values.kinds import LINK, MAP
from .collection import Collection

if TYPE_CHECKING:
    from ..models.expressions import Condition
    from ..models.model import Model
    from ..observing.changes import Changes
    from ..observing.element_changes import ElementChanges
    from ..observing.streams import ChangeStream, ElementStream
    from ..observing.tokens import Token
    from ..queries.live_tables import LiveTable
    from ..queries.results import Results
    from ..queries.sections import Order, Sections
    from ..queries.tables import Groups, Table
    from ..queries.value_results import ValueResults
    from .dicts import Dict

    M = TypeVar("M", bound=Model)
    R_co = TypeVar("R_co", covariant=True)
    T = TypeVar("T")
    K = TypeVar("K")

T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V")


def _where(self: "Queried[Any]", *conditions: "Condition | int") -> "Results[Any] | ValueResults[Any]":
    """Those that satisfy a condition, or several; see Results.where, and ValueResults.where of plain values."""
    return self._asked().where(*conditions)


def _filter(self: "Queried[Any]", text: str, *arguments: Any) -> "Results[Any] | ValueResults[Any]":
    """The same from text; see Results.filter. A plain value is @self there."""
    return self._asked().filter(text, *arguments)


def _order_by(self: "Queried[Any]", *keys: object) -> "Results[Any] | ValueResults[Any]":
    """In another order; see Results.order_by. Plain values also without a key."""
    return self._asked().order_by(*keys)


def _distinct(self: "Queried[Any]", *values: object) -> "Results[Any] | ValueResults[Any]":
    """The first of those whose properties have the same values; of plain values the first of equal ones."""
    return self._asked().distinct(*values)


def _limit(self: "Queried[Any]", count: int) -> "Results[Any] | ValueResults[Any]":
    """The first ones, so many at most."""
    return self._asked().limit(count)


def _offset(self: "Queried[Any]", count: int) -> "Results[Any] | ValueResults[Any]":
    """Those behind the first ones, so many."""
    return self._asked().offset(count)


def _observe(
    self: "Queried[Any]", handler: Any, keys: Any = None, *, initial: bool = True, since: bytes | None = None
) -> Any:
    """Calls handler(change) for what every commit changes in the collection from now on, whichever thread or process
    makes it: inside store.deliver() and store.wait(), on the thread that calls them. Of lists and sets of objects a
    change tells of objects (Changes), as of objects(); else of elements, and keys of dicts (ElementChanges).

    keys     of objects: modifications of other properties are not reported
    initial  the first call, change.is_initial, is of the state at its delivery; what was committed before is in it
    since    a bookmark: as of Results.observe()

    Observing lasts as long as the token that is returned. Not inside a write (AlreadyInWrite), and not what is frozen
    (WrongView). NoSuchObject: the owner was deleted."""
    return self._source._observed()._observe_collection(self, handler, keys, initial, since)


def _changes(self: "Queried[Any]", keys: Any = None, *, initial: bool = True, since: bytes | None = None) -> Any:
    """The same for asyncio: `async for change in person.tags.changes(): …`"""
    return self._source._observed()._collection_changes(self, keys, initial, since)


def _live(self: "Queried[Any]", columns: Any = None, *, rows: int = 20, interval: float = 0.1, keys: Any = None) -> Any:
    """The first `rows` elements as a table in a notebook that follows every commit, as of Results.live(). Of objects
    `columns` are properties, by name or as Dog.name, or all; of other elements there is one. A dict has a column of
    keys before them. `keys`: of objects, which modifications count; None: those of the columns.

    It ends when the owner is deleted. NoSuchObject: that was so before."""
    return self._source._live_table(self, columns, rows, interval, keys)


if TYPE_CHECKING:
    # What these return depends on what the elements are. A checker decides that for the instance of a descriptor, not
    # for a `self` with a bound.

    class _Conditions(Protocol[R_co]):
        def __call__(self, *conditions: "Condition | int") -> R_co: ...

    class _Text(Protocol[R_co]):
        def __call__(self, text: str, *arguments: Any) -> R_co: ...

    class _Values(Protocol[R_co]):
        def __call__(self, *values: object) -> R_co: ...

    class _Count(Protocol[R_co]):
        def __call__(self, count: int) -> R_co: ...

    class _Observe(Protocol[R_co]):
        def __call__(
            self,
            handler: Callable[[R_co], object],
            keys: Iterable[object] | None = None,
            *,
            initial: bool = True,
            since: bytes | None = None,
        ) -> Token: ...

    class _Changes(Protocol[R_co]):
        def __call__(
            self, keys: Iterable[object] | None = None, *, initial: bool = True, since: bytes | None = None
        ) -> R_co: ...

    class _Live(Protocol[T]):
        def __call__(
            self,
            columns: Iterable[object] | None = None,
            *,
            rows: int = 20,
            interval: float = 0.1,
            keys: Iterable[object] | None = None,
        ) -> LiveTable[T]: ...

    class _OfObserve:
        @overload
        def __get__(self, collection: Dict[Any, Any], owner: object) -> _Observe[ElementChanges]: ...
        @overload
        def __get__(self, collection: "Queried[M | None]", owner: object) -> _Observe[Changes[M]]: ...
        @overload
        def __get__(self, collection: "Queried[V]", owner: object) -> _Observe[ElementChanges]: ...
        def __get__(self, collection: Any, owner: object) -> Any: ...

    class _OfChanges:
        @overload
        def __get__(self, collection: Dict[Any, Any], owner: object) -> _Changes[ElementStream]: ...
        @overload
        def __get__(self, collection: "Queried[M | None]", owner: object) -> _Changes[ChangeStream[M]]: ...
        @overload
        def __get__(self, collection: "Queried[V]", owner: object) -> _Changes[ElementStream]: ...
        def __get__(self, collection: Any, owner: object) -> Any: ...

    class _OfLive:
        @overload
        def __get__(self, collection: Dict[K, V], owner: object) -> _Live[tuple[K, V]]: ...
        @overload
        def __get__(self, collection: "Queried[M | None]", owner: object) -> _Live[M]: ...
        @overload
        def __get__(self, collection: "Queried[V]", owner: object) -> _Live[V]: ...
        def __get__(self, collection: Any, owner: object) -> Any: ...

    class _OfConditions:
        @overload
        def __get__(self, collection: "Queried[M | None]", owner: object) -> _Conditions[Results[M]]: ...
        @overload
        def __get__(self, collection: "Queried[V]", owner: object) -> _Conditions[ValueResults[V]]: ...
        def __get__(self, collection: Any, owner: object) -> Any: ...

    class _OfText:
        @overload
        def __get__(self, collection: "Queried[M | None]", owner: object) -> _Text[Results[M]]: ...
        @overload
        def __get__(self, collection: "Queried[V]", owner: object) -> _Text[ValueResults[V]]: ...
        def __get__(self, collection: Any, owner: object) -> Any: ...

    class _OfValues:
        @overload
        def __get__(self, collection: "Queried[M | None]", owner: object) -> _Values[Results[M]]: ...
        @overload
        def __get__(self, collection: "Queried[V]", owner: object) -> _Values[ValueResults[V]]: ...
        def __get__(self, collection: Any, owner: object) -> Any: ...

    class _OfCount:
        @overload
        def __get__(self, collection: "Queried[M | None]", owner: object) -> _Count[Results[M]]: ...
        @overload
        def __get__(self, collection: "Queried[V]", owner: object) -> _Count[ValueResults[V]]: ...
        def __get__(self, collection: Any, owner: object) -> Any: ...


class Queried(Collection, Generic[T_co]):
    """A collection: what can be asked about the objects that its elements lead to, or about the elements, where these
    are plain values.

        kennel.dogs.where(Dog.age < 2).order_by(Dog.name)
        kennel.dogs.objects().sum(Dog.age)
        dog.tags.where(value.starts_with("g")).order_by(value)
        dog.tags.elements().max()
        dog.tags.observe(lambda change: print(change.deletions, change.insertions))

    All of it is in the order that the elements have here until it is sorted, with an object as often as it is here, and
    without None of objects. Live, like all results: each use looks at the elements that there are then."""

    __slots__ = ()

    def objects(self: "Queried[M | None]") -> "Results[M]":
        """The objects as results. NoSuchObject: the owner was deleted; if that happens later they are empty."""
        source, prop, element = self._source, self._prop, self._shape.element
        if element.kind != LINK:
            raise about(WrongType, prop, f"{prop.path} is {a(self._shape.type_name)}: it has no links to objects")
        view = self._view()  # kept during the call
        query = queries.of_collection(view.handle, self._place, self._c)
        query.shown = f"the objects of {prop.path}"
        return source._results(source._leading(element.target), query)

    def elements(self: "Queried[V]") -> "ValueResults[V]":
        """The plain values as results. WrongType: they are objects. NoSuchObject: as of objects()."""
        view = self._view()  # kept during the call
        return self._source._value_results(self, queries.of_values(view.handle, self._place, self._c))

    def _asked(self) -> "Results[Any] | ValueResults[Any]":
        return self.objects() if self._shape.element.kind == LINK else self.elements()

    if TYPE_CHECKING:
        where = _OfConditions()
        filter = _OfText()
        order_by = distinct = _OfValues()
        limit = offset = _OfCount()
        observe = _OfObserve()
        changes = _OfChanges()
        live = _OfLive()
    else:
        where, filter, order_by, distinct, limit, offset = _where, _filter, _order_by, _distinct, _limit, _offset
        observe, changes, live = _observe, _changes, _live

    @property
    def _owner(self) -> type:
        """The class whose property it is."""
        assert self._prop.model is not None
        return self._prop.model

    @property
    def _shows_objects(self) -> bool:
        """Are its changes about objects?"""
        return self._shape.element.kind == LINK and self._shape.kind != MAP

    def _refuse_keys(self, keys: object) -> None:
        if keys is not None:
            raise about(
                InvalidArgument,
                self._prop,
                f"keys: {self._prop.path} is {a(self._shape.type_name)}, of which change sets do not tell properties",
            )

    def select(self: "Queried[M | None]", *values: object, **names: object) -> "Table":
        """A table of values of each object; see Results.select."""
        return self.objects().select(*values, **names)

    def group_by(self: "Queried[M | None]", *keys: object, **names: object) -> "Groups":
        """Groups of objects with equal values; see Results.group_by."""
        return self.objects().group_by(*keys, **names)

    def sections(
        self: "Queried[M | None]",
        key: "Any | Callable[[M], Any]",
        *arguments: Any,
        order: "Order | None" = None,
        first_letter: bool = False,
    ) -> "Sections[Any, M]":
        """The objects with equal keys together; see Results.sections."""
        return self.objects().sections(key, *arguments, order=order, first_letter=first_letter)
