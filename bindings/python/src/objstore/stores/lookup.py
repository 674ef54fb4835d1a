"""Objects by key, by unique index or of a class: what an open store and a frozen version of one have in common."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..arguments import switch
from ..errors import InvalidArgument, NoSuchIndex, WrongType
from ..models.model import Model
from ..native.callbacks import hand_on
from ..objects import state
from ..objects.model_types import property_named
from ..projections.projection import Projection, ProjectionMeta, model_of
from ..projections.results import ProjectedResults
from ..queries import live_collections
from ..queries.live_tables import LiveTable
from ..queries.results import Backlinks, Results
from ..queries.value_results import ValueResults
from ..reading import index_ranges
from ..reading.index_ranges import AFTER_FROM, BEFORE_TO
from ..reading.queries import Query
from ..reading.views import Block, Epoch, View
from ..schema import redefinition
from ..schema.bindings import Binding
from ..values import kinds
from . import references

if TYPE_CHECKING:
    from ..collections.mixed import Nested
    from ..collections.queried import Queried
    from ..models.properties import Property
    from .frozen import Frozen
    from .open_store import OpenStore
    from .references import Reference


T = TypeVar("T")
M = TypeVar("M", bound=Model)
P = TypeVar("P", bound=Projection[Any])


class Source:
    """Reading: get() and objects(), which Store and Frozen share."""

    is_frozen = False

    def __init__(self, bindings: dict[type, Binding]) -> None:
        self._bindings = bindings  # replaced where classes come, never changed

    @property
    def _live(self) -> "OpenStore":
        """The store: this one, or the one that it is a version of."""
        raise NotImplementedError

    @property
    def models(self) -> Mapping[str, type[Any]]:
        """The model classes of the store, by their names: those that it was opened with, or, without any, those that
        the file has:

            with objstore.open("kennel.objstore") as store:
                Dog = store.models["Dog"]
                for dog in store.objects(Dog).where(Dog.age > 3):
                    print(dog.name)

        The attributes of those have the names that the file has; where Python cannot have one, something like it:
        `class_`; see `vars(Dog)`."""
        return MappingProxyType({model.__name__: model for model in self._bindings})

    def get(self, model: type[M], key: Any) -> M | None:
        """The object with this primary key, or None. Where the key is of several properties, a tuple of their values in
        their order: store.get(Reading, ("north", 7))."""
        binding = self._bindings.get(model) or self._binding(model)
        view = self._reader()
        if len(binding.key) > 1:
            if not isinstance(key, tuple) or len(key) != len(binding.key):
                names = ", ".join(p.name for p in binding.key)
                raise WrongType(
                    f"the primary key of {model.__name__} is ({names}), not {key!r}", class_name=model.__name__
                )
            values = [p.convert(value) for p, value in zip(binding.key, key)]
            found = view.find_by(binding.index_id(view.handle, binding.key), binding.key, values)
        else:
            if type(key) is not binding.key_type:
                key = kinds.convert(binding.primary_key, key)
            found = view.find(binding, key)
        if found is None:
            return None
        made: M = object.__new__(model)
        # One of its own, so that reading it need not look for a newer version; in a write there is none.
        made._o_block = self._unread(binding) if view.is_write else state.view_block(view, self, binding)
        made._o_key = found
        made._o_row = 0
        return made

    def find_by(self, model: type[M], /, **values: Any) -> M | None:
        """The object that has these values in a unique index, or in a unique property, or None:
        `store.find_by(Person, last="Gray", first="Ada")`. None belongs to no object, except for a primary key: it finds
        nothing. NoSuchIndex: no unique index is of exactly these properties."""
        binding = self._binding(model)
        values = {property_named(model, name).name: value for name, value in values.items()}
        properties = self._unique(binding, values)
        converted = [None if values[p.name] is None else p.convert(values[p.name]) for p in properties]
        view = self._reader()
        found = view.find_by(binding.index_id(view.handle, properties), properties, converted)
        if found is None:
            return None
        made: M = state.make(model, state.view_block(view, self, binding), found)
        return made

    def _unique(self, binding: Binding, names: Iterable[str]) -> "tuple[Property, ...]":
        """The properties of a unique index, in its order; NoSuchIndex."""
        model = binding.model
        properties = tuple(property_named(model, name) for name in names)
        if len(properties) == 1:
            return properties
        wanted = {prop.name for prop in properties}
        order = next((i.properties for i in binding.unique if set(i.properties) == wanted), None)
        if order is None:
            raise NoSuchIndex(
                f"no unique index of {model.__name__} is of exactly ({', '.join(p.name for p in properties)})",
                class_name=model.__name__,
            )
        return tuple(property_named(model, name) for name in order)

    def objects_in(
        self,
        model: type[M],
        index: Sequence[str],
        *,
        from_: Sequence[Any] = (),
        to: Sequence[Any] = (),
        including_from: bool = True,
        including_to: bool = True,
    ) -> Results[M]:
        """Objects in the order of an index, which is named by its properties: from those whose values begin with
        `from_` to those whose values begin with `to`, each as many as one likes; none: from the first, to the last.

            store.objects_in(Person, ["last", "first"], from_=["Gray"], to=["Gray"])            # by their first names
            store.objects_in(Person, ["last", "first"], from_=["Gray", "A"], to=["Gray", "M"])

        Without `including_from` those whose values begin with `from_` are left out, without `including_to` those of
        `to`. NoSuchIndex: no index is of these properties in this order."""
        binding = self._binding(model)
        properties = tuple(property_named(model, name) for name in index)
        for name, given in (("from_", from_), ("to", to)):
            if isinstance(given, (str, bytes)) or len(given) > len(properties):
                raise InvalidArgument(f"{name} is a list of up to {len(properties)} values, not {given!r}")
        first, last = (
            tuple(None if v is None else p.convert(v) for p, v in zip(properties, given)) for given in (from_, to)
        )
        flags = AFTER_FROM * (not switch("including_from", including_from)) | BEFORE_TO * (
            not switch("including_to", including_to)
        )
        view = self._reader()  # kept during the calls
        index_id = binding.index_id(view.handle, properties)
        return Results(self, binding, index_ranges.query(view.handle, index_id, properties, first, last, flags))

    @overload
    def objects(self, model: type[M]) -> Results[M]: ...
    @overload
    def objects(self, model: type[P]) -> ProjectedResults[P]: ...
    def objects(self, model: Any) -> Any:
        """All objects of a class, in the order of their creation; or of the class of a projection, each shown by
        one."""
        if isinstance(model, ProjectionMeta):
            return ProjectedResults(model, Results(self, self._binding(model_of(model))))
        return Results(self, self._binding(model))

    def resolve(self, reference: "Reference[T]") -> T | None:
        """What a reference refers to, as it is here; None: that was deleted. It may have been made through another
        handle of the file; WrongStore: of another file."""
        if not isinstance(reference, references.Reference):
            raise InvalidArgument(f"a Reference is wanted, not {reference!r}")
        return reference._in(self)

    # For objects and results

    def _backlinks(self, binding: Binding, link: "Property", obj: Any) -> Backlinks[Any]:
        """The objects of a class whose link leads to an object."""
        return Backlinks(self, binding, link, obj)

    def _results(self, binding: Binding, query: Query) -> Results[Any]:
        """What a query finds of a class."""
        return Results(self, binding, query)

    def _value_results(self, collection: "Queried[Any]", query: Query) -> ValueResults[Any]:
        """What a query finds in a list, set or dict of plain values."""
        return ValueResults(collection, query)

    def _live_table(
        self, seen: "Queried[Any]", columns: "Iterable[object] | None", rows: int, interval: float, keys: Any
    ) -> LiveTable[Any]:
        return live_collections.table(seen, columns, rows, interval, keys)

    def _live_nested(self, seen: "Nested", rows: int, interval: float) -> LiveTable[Any]:
        return live_collections.nested_table(seen, rows, interval)

    def _binding(self, model: type) -> Binding:
        try:
            return self._bindings[model]
        except KeyError as error:
            hand_on(error)
        return redefinition.bind(self, model)

    def _leading(self, target: type) -> Binding:
        """The same of a class that links lead to: of one that was defined again for another store it is that of this
        one."""
        return self._bindings.get(target) or redefinition.there(self, target) or self._binding(target)

    def _of_class(self, class_id: int) -> Binding | None:
        """By its number in the store: of classes that were defined again the newest."""
        return next((b for b in reversed(self._bindings.values()) if b.class_id == class_id), None)

    def _unread(self, binding: Binding) -> Block:
        """A block for objects that nothing is known of yet; each gets one of its own when it is read."""
        return Block(Epoch(False), self, [], None, False)

    def _reader(self) -> View:
        """The view to read through now."""
        raise NotImplementedError

    def _any_view(self) -> View:
        """One to make queries in: it need not be the newest."""
        return self._reader()

    def _view_for(self, epoch: Epoch) -> View:
        """The same for a block of that epoch: if that is good, without looking for something newer."""
        raise NotImplementedError

    def _lasting(self) -> "Frozen":
        """What it shows now, for as long as it is needed; Closed if it shows nothing any more."""
        raise NotImplementedError

    def _observed(self) -> "OpenStore":
        """The store whose changes are meant; WrongView, AlreadyInWrite: observing is not possible here."""
        raise NotImplementedError

    def _writing(self, prop: "Property | None" = None) -> Any:
        """The caller's open transaction; NotInWrite if there is none."""
        raise state.not_in_write(
            "writing" if prop is None else f"setting {prop.path}",
            None if prop is None else prop.model_name,
            None if prop is None else prop.name,
        )
