"""Collections of links as questions: their objects, filtered, sorted and added up."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

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

    M = TypeVar("M", bound=Model)

T_co = TypeVar("T_co", covariant=True)


class Queried(Collection, Generic[T_co]):
    """A collection whose elements may be links: what can be asked about the objects that they lead to.

        kennel.dogs.where(Dog.age < 2).order_by(Dog.name)
        kennel.dogs.objects().sum(Dog.age)

    All of it is in the order that the elements have here until it is sorted, with an object as often as it is here, and
    without None. Live, like all results: each use looks at the elements that there are then. WrongType: the elements
    are no links."""

    __slots__ = ()

    def objects(self: "Queried[M | None]") -> "Results[M]":
        """The objects as results. NoSuchObject: the owner was deleted; if that happens later they are empty."""
        source, prop, element = self._source, self._prop, self._shape.element
        if element.kind != LINK:
            raise about(WrongType, prop, f"{prop.path} is {a(self._shape.type_name)}: it has no links to objects")
        query = queries.of_collection(self._view().handle, self._place, self._c)
        query.shown = f"the objects of {prop.path}"
        return source._results(source._leading(element.target), query)

    def where(self: "Queried[M | None]", *conditions: "Condition | int") -> "Results[M]":
        """Those that satisfy a condition, or several; see Results.where."""
        return self.objects().where(*conditions)

    def filter(self: "Queried[M | None]", text: str, *arguments: Any) -> "Results[M]":
        """The same from text; see Results.filter."""
        return self.objects().filter(text, *arguments)

    def order_by(self: "Queried[M | None]", *keys: object) -> "Results[M]":
        """In another order; see Results.order_by."""
        return self.objects().order_by(*keys)

    def distinct(self: "Queried[M | None]", *values: object) -> "Results[M]":
        """The first of those whose properties have the same values."""
        return self.objects().distinct(*values)

    def limit(self: "Queried[M | None]", count: int) -> "Results[M]":
        """The first ones, so many at most."""
        return self.objects().limit(count)

    def offset(self: "Queried[M | None]", count: int) -> "Results[M]":
        """Those behind the first ones, so many."""
        return self.objects().offset(count)

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
