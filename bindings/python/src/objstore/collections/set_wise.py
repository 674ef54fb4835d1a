"""Changes of many objects in one step: those of results, or those that a list, set or dict has links to.

Values are one call of the library, whatever the number of objects; contents of collections are one for each object.
"""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..building import graphs
from ..building.assembly import Assembly
from ..building.descriptions import describes
from ..building.graphs import held
from ..building.outcomes import POLICIES
from ..errors import Embedded, WrongType, about
from ..messages import a
from ..objects.model_types import property_named
from ..values import kinds
from ..values.kinds import LINK
from . import filling
from .collection import Collection
from .queried import Queried, T_co

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..queries.results import Results
    from ..schema.bindings import Binding
    from ..writing.transaction import Transaction


def update(results: "Results[Any]", values: dict[str, Any]) -> int:
    """Sets properties of all objects, or of none; how many there are."""
    transaction: Transaction = results._source._writing()
    change = _Change(results._binding, values)
    evaluation = results._evaluate()[1]
    return change.make(
        transaction,
        lambda properties, row: transaction.set_results(evaluation.handle, change.binding, properties, row),
        evaluation.distinct,
    )


def increment(results: "Results[Any]", deltas: dict[str, Any]) -> int:
    """Adds to properties of all objects, or of none; how many there are."""
    transaction: Transaction = results._source._writing()
    binding = results._binding
    properties = [property_named(binding.model, name) for name in deltas]
    converted = [prop.convert(delta) for prop, delta in zip(properties, deltas.values())]
    view, evaluation = results._evaluate()
    with transaction.savepoint() if len(properties) > 1 else nullcontext():
        for prop, delta in zip(properties, converted):
            transaction.increment_results(evaluation.handle, binding, prop, delta)
    # What is in a list twice was changed once.
    return evaluation.count if results._asked(view).is_ascending else len(evaluation.distinct())


def update_linked(collection: "Collection", values: dict[str, Any]) -> int:
    """Sets properties of all objects that a collection has links to, or of none; how many there are."""
    transaction, binding = _links(collection)
    change = _Change(binding, values)
    return change.make(
        transaction,
        lambda properties, row: transaction.set_objects(collection._c, binding, properties, row),
        lambda: {obj._o_key for obj in collection._all() if obj is not None},
    )


def delete_linked(collection: "Collection") -> int:
    transaction, _ = _links(collection)
    return transaction.delete_objects(collection._c)


def _links(collection: "Collection") -> "tuple[Transaction, Binding]":
    transaction, prop, shape = collection._writing(), collection._prop, collection._shape
    if shape.element.kind != LINK:
        raise about(WrongType, prop, f"{prop.path} is {a(shape.type_name)}: it has no links to objects")
    return transaction, collection._source._leading(shape.element.target)


class LinkCollection(Queried[T_co]):
    """A collection whose elements may be links: what is done with all the objects that they lead to."""

    __slots__ = ()

    def update_objects(self, /, **values: Any) -> int:
        """Sets properties of all objects among the elements, or of none, in one step; how many there are, each counted
        once. WrongType: the elements are no links."""
        return update_linked(self, values)

    def delete_objects(self) -> int:
        """Deletes all objects among the elements, in one step; how many there were. A list or set is empty then, in a
        dict the keys stay, with None. WrongType: the elements are no links."""
        return delete_linked(self)


class _Change:
    """The same new values for many objects of a class, converted before the first one is written."""

    def __init__(self, binding: "Binding", values: dict[str, Any]) -> None:
        self.binding = binding
        given = [(property_named(binding.model, name), value) for name, value in values.items()]
        self.described = [(prop, value) for prop, value in given if describes(prop, value)]
        pairs = [(prop, prop.convert(value)) for prop, value in given if not describes(prop, value)]
        for prop, value in pairs:
            if prop.embeds and any(obj is not None for obj in held(prop, value)):
                raise about(
                    Embedded,
                    prop,
                    f"{prop.path}: an embedded object has one parent, and so cannot be given to several: set each "
                    "one's",
                )
        self.row = [pair for pair in pairs if pair[0].shape is None]
        self.contents = [pair for pair in pairs if pair[0].shape is not None]

    def make(
        self,
        transaction: "Transaction",
        set_row: "Callable[[list[Property], list[Any]], int]",
        keys: "Callable[[], Iterable[int]]",
    ) -> int:
        one_by_one = self.contents or self.described
        with transaction.savepoint() if one_by_one else nullcontext():
            listed = list(keys()) if one_by_one else []
            for prop, value in self.described:  # each gets its own
                for key in listed:
                    Assembly(transaction, POLICIES["all"]).set(self.binding, key, prop, value)
            for prop, content in self.contents:
                for key in listed:
                    filling.update(transaction, self.binding, key, prop, content)
            with graphs.added(transaction, self._led()):
                return set_row([prop for prop, _ in self.row], [value for _, value in self.row])

    def _led(self) -> "list[Any]":
        """What single values lead to."""
        led = [value for prop, value in self.row if prop.target is not None]
        return led + [obj for prop, value in self.row if prop.kind == kinds.MIXED for obj in kinds.objects_in(value)]
