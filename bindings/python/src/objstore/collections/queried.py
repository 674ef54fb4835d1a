"""Collections as questions: their objects, or their elements, filtered, sorted and added up."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..errors import WrongType, about
from ..messages import a
from ..reading import queries
from ..values.kinds import LINK
from .collection import Collection

if TYPE_CHECKING:
    from ..models.expressions import Condition
    from ..models.model import Model
    from ..queries.results import Results
    from ..queries.sections import Order, Sections
    from ..queries.tables import Groups, Table
    from ..queries.value_results import ValueResults

    M = TypeVar("M", bound=Model)

T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V")


class Queried(Collection, Generic[T_co]):
    """A collection: what can be asked about the objects that its elements lead to, or about the elements, where these
    are plain values.

        kennel.dogs.where(Dog.age < 2).order_by(Dog.name)
        kennel.dogs.objects().sum(Dog.age)
        dog.tags.where(value.starts_with("g")).order_by(value)
        dog.tags.elements().max()

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
        from ..queries.value_results import ValueResults

        view = self._view()  # kept during the call
        return ValueResults(self, queries.of_values(view.handle, self._place, self._c))

    def _asked(self) -> "Results[Any] | ValueResults[Any]":
        return self.objects() if self._shape.element.kind == LINK else self.elements()

    @overload
    def where(  # type: ignore[overload-overlap]
        self: "Queried[M | None]", *conditions: "Condition | int"
    ) -> "Results[M]": ...
    @overload
    def where(self: "Queried[V]", *conditions: "Condition | int") -> "ValueResults[V]": ...
    def where(self, *conditions: "Condition | int") -> Any:
        """Those that satisfy a condition, or several; see Results.where, and ValueResults.where of plain values."""
        return self._asked().where(*conditions)

    @overload
    def filter(  # type: ignore[overload-overlap]
        self: "Queried[M | None]", text: str, *arguments: Any
    ) -> "Results[M]": ...
    @overload
    def filter(self: "Queried[V]", text: str, *arguments: Any) -> "ValueResults[V]": ...
    def filter(self, text: str, *arguments: Any) -> Any:
        """The same from text; see Results.filter. A plain value is @self there."""
        return self._asked().filter(text, *arguments)

    @overload
    def order_by(self: "Queried[M | None]", *keys: object) -> "Results[M]": ...  # type: ignore[overload-overlap]
    @overload
    def order_by(self: "Queried[V]", *keys: object) -> "ValueResults[V]": ...
    def order_by(self, *keys: object) -> Any:
        """In another order; see Results.order_by. Plain values also without a key."""
        return self._asked().order_by(*keys)

    @overload
    def distinct(self: "Queried[M | None]", *values: object) -> "Results[M]": ...  # type: ignore[overload-overlap]
    @overload
    def distinct(self: "Queried[V]", *values: object) -> "ValueResults[V]": ...
    def distinct(self, *values: object) -> Any:
        """The first of those whose properties have the same values; of plain values the first of equal ones."""
        return self._asked().distinct(*values)

    @overload
    def limit(self: "Queried[M | None]", count: int) -> "Results[M]": ...  # type: ignore[overload-overlap]
    @overload
    def limit(self: "Queried[V]", count: int) -> "ValueResults[V]": ...
    def limit(self, count: int) -> Any:
        """The first ones, so many at most."""
        return self._asked().limit(count)

    @overload
    def offset(self: "Queried[M | None]", count: int) -> "Results[M]": ...  # type: ignore[overload-overlap]
    @overload
    def offset(self: "Queried[V]", count: int) -> "ValueResults[V]": ...
    def offset(self, count: int) -> Any:
        """Those behind the first ones, so many."""
        return self._asked().offset(count)

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
