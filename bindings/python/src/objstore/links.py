"""Links: properties that lead to another object, and their inverses.

    Dog.owner: "Person | None"  ──►  Person
    Person.dogs: Backlinks["Dog"] = backlinks("owner")   the dogs whose owner is this person

    Shelter.dogs: list["Dog"]   ──►  Dog, Dog, …     sets, too, and dict[str, "Dog | None"]
    Dog.shelters: Backlinks["Shelter"] = backlinks("dogs")   each once, however often its list has the dog

A store keeps the key of the object that a link leads to. In Python a link of a managed object holds that number, of an
unmanaged one the object itself; reading the attribute makes an object of a number. The classes may come later than
their names: they are looked up when a store is opened.
"""

import builtins
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import objects
from .errors import InvalidArgument, SchemaError, WrongStore, WrongType
from .kinds import MIXED, SET, convert, is_embedded, is_loose, is_object, is_same, wrong

if TYPE_CHECKING:
    from .kinds import Described
    from .properties import Condition, Property
    from .transaction import Transaction


class Later:
    """A class that an annotation names before it is there: `"Person | None"`."""

    def __init__(self, text: str, module: str) -> None:
        self.text = text
        self.module = module
        self.__name__ = text.rpartition(".")[2]

    def __getattr__(self, name: str) -> "Later":
        if name.startswith("__"):
            raise AttributeError(name)
        return Later(f"{self.text}.{name}", self.module)

    def __or__(self, other: Any) -> Any:
        return typing.Union[self, other]  # noqa: UP007  # neither need be a type

    def __ror__(self, other: Any) -> Any:
        return typing.Union[other, self]  # noqa: UP007

    def __call__(self, *_: object) -> None:  # else it could not be part of a Union
        raise TypeError(f"{self.text} is not there yet")

    def resolve(self, models: "Mapping[str, type]") -> type | None:
        """What the name means now: in its module, or among the models of a store."""
        found = self.there()
        return found if found in models.values() else models.get(self.__name__)

    def there(self) -> type | None:
        """The class that has the name in its module by now."""
        found: Any = vars(sys.modules[self.module]) if self.module in sys.modules else {}
        for part in self.text.split("."):
            found = found.get(part) if isinstance(found, Mapping) else getattr(found, part, None)
        return found if isinstance(found, type) else None


class Names(dict[str, Any]):
    """What the names of an annotation mean; those that mean nothing yet are classes to come."""

    def __init__(self, module: str, scope: Mapping[str, Any]) -> None:
        super().__init__(scope)
        self._module = module

    def __missing__(self, name: str) -> Any:
        module = sys.modules.get(self._module)  # None: the class stands in a text that exec() ran
        found = self if module is None else vars(module).get(name, self)
        if found is self:
            found = getattr(builtins, name, self)
        return Later(name, self._module) if found is self else found


def target_of(prop: "Property", models: Mapping[str, type]) -> type:
    """The class that a link leads to, which is one of the models; found once."""
    target = prop.target
    if isinstance(target, Later):
        found = target.resolve(models)
        if found is None:
            raise SchemaError(
                f"{prop.path} is a link to {target.text}, which is not among the models",
                class_name=prop.model_name,
                property_name=prop.name,
            )
        target = _aim(prop, found)
    assert isinstance(target, type)
    known = models.get(target.__name__)
    if known is not target and known is not None and is_same(known, target):
        return _aim(prop, known)  # it was defined again since
    if known is not target:
        raise SchemaError(
            f"{prop.path} is a link to {target.__name__}, which is not among the models",
            class_name=prop.model_name,
            property_name=prop.name,
        )
    return target


def _aim(prop: "Property", target: type) -> type:
    prop.target = target
    if prop.shape is None:
        prop.python_type = target
    else:
        prop.shape.element.target = prop.shape.element.python_type = target
    check_target(prop)
    return target


def check_target(prop: "Property") -> None:
    """SchemaError: it is a set of embedded objects."""
    if prop.kind == SET and is_embedded(prop.target):
        raise SchemaError(
            f"{prop.path} is a set of {prop.target.__name__}, whose objects are embedded: a list or dict can hold them",
            class_name=prop.model_name,
            property_name=prop.name,
        )


def place(prop: "Described", obj: Any) -> tuple[int, int]:
    """The object that a link shall lead to, or is compared with, as the library knows it: class and store in one
    number, and key."""
    store = obj._o_block.store
    if store is None:
        raise WrongStore(
            f"{prop.path}: this {type(obj).__name__} belongs to no store: add it first",
            class_name=prop.model_name,
            property_name=prop.name,
        )
    return store._binding(type(obj)).head, obj._o_key


@contextmanager
def added(transaction: "Transaction", values: Iterable[Any]) -> Iterator[None]:
    """Unmanaged objects that are about to become elements are added first, with all that they lead to: all of it, or
    none."""
    loose = [value for value in values if is_loose(value)]
    if not loose:
        yield
        return
    from .inserting import add_linked

    with transaction.savepoint():
        for value in loose:
            add_linked(transaction, value)
        yield


def getter(prop: "Property", read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Makes an object of the number that a managed object holds."""

    def get(self: Any) -> Any:
        value = read(self)
        if type(value) is not int:
            return value  # None, or the object of an unmanaged one
        store = self._o_block.store
        binding = store._leading(prop.target)
        return objects.make(binding.model, store._unread(binding), value)

    return get


class DeclaredBacklinks(NamedTuple):
    """What backlinks() returns, until the class is ready."""

    origin_property: str


def backlinks(origin: str, *, init: Literal[False] = False) -> Any:
    """The inverse of a link: `dogs: Backlinks["Dog"] = backlinks("owner")` are the dogs whose `owner` is this object;
    or, of a list, set or dict of links, the objects that have this one in it, each once. Of a property of type Any, or
    a collection of them, those that have a link to this object anywhere inside.

    Always up to date, and not stored: found through the index that every link has. Read-only: set the link."""
    if not isinstance(origin, str):
        raise InvalidArgument(f'backlinks() takes the name of a link, such as "owner", not {origin!r}')
    return DeclaredBacklinks(origin)


def links_to(prop: Any, obj: Any) -> "Condition":
    """Who has a link to an object, as the value, as an element, or anywhere inside of an Any: the inverse of a property
    that declares none, `store.objects(Shelter).where(links_to(Shelter.dogs, rex))`. WrongType: a property without
    links, an object of another class. WrongStore: an unmanaged object, to which nothing links."""
    from .properties import LINKS_TO, Condition, Property

    if not isinstance(prop, Property) or (prop.target is None and not is_mixed(prop)):
        raise WrongType(f"a property with links is wanted, such as Shelter.dogs, not {prop!r}")
    condition = Condition(prop, LINKS_TO, obj)
    if not is_object(obj):
        raise wrong(prop, obj, "an object")
    place(prop, convert(condition.asked(), obj))
    return condition


def is_mixed(prop: "Property") -> bool:
    """Has it any values, or a collection of them, in which links may lie?"""
    return prop.kind == MIXED or (prop.shape is not None and prop.shape.element.kind == MIXED)


class Inverse(property):
    """The inverse of a link, in the class that the link leads to: `Person.dogs`."""

    def __init__(self, name: str, origin: Any, origin_property: str) -> None:
        super().__init__(self._read, self._refuse, None)
        self.name = name
        self.origin = origin  # the class that has the link, or Later
        self.origin_property = origin_property
        self.link: Property | None = None
        self.model_name = ""

    def resolve(self, model: type, models: Mapping[str, type]) -> None:
        """Finds the link; the class is one of the models."""
        origin = self._find(models)
        if origin is None or origin not in models.values():
            shown = self.origin.text if isinstance(self.origin, Later) else self.origin.__name__
            raise self._wrong(model, f"{shown} is not among the models")
        for prop in origin._objstore_properties:
            if prop.name == self.origin_property and (
                is_mixed(prop) or (prop.target is not None and target_of(prop, models) is model)
            ):
                self.origin, self.link = origin, prop
                return
        raise self._wrong(model, f"{origin.__name__} has no link {self.origin_property!r} to {model.__name__}")

    def _find(self, models: Mapping[str, type]) -> Any:
        if isinstance(self.origin, Later):
            return self.origin.resolve(models)
        known = models.get(self.origin.__name__)
        return known if known is not None and is_same(known, self.origin) else self.origin

    def _wrong(self, model: type, message: str) -> SchemaError:
        return SchemaError(
            f"{model.__name__}.{self.name}: {message}", class_name=model.__name__, property_name=self.name
        )

    def _read(self, obj: Any) -> Any:
        from .properties import LINKS_TO, Condition
        from .results import Backlinks

        store = obj._o_block.store
        if store is None:
            name = type(obj).__name__
            raise WrongStore(
                f"{name}.{self.name}: this {name} belongs to no store, so nothing links to it",
                class_name=name,
                property_name=self.name,
            )
        assert self.link is not None  # a store that has the object has resolved it
        binding = store._leading(self.origin)
        link = next((p for p in binding.properties if p.name == self.origin_property), self.link)
        return Backlinks(store, binding, Condition(link, LINKS_TO, obj))

    def _refuse(self, obj: Any, _: object) -> None:
        name = type(obj).__name__
        raise InvalidArgument(
            f"{name}.{self.name} cannot be set: it is what leads here by {self.origin_property!r}, which can be set",
            class_name=name,
            property_name=self.name,
        )

    def __repr__(self) -> str:
        return f"<inverse {self.name} of {self.origin_property!r}>"


def resolve(models: Iterable[type]) -> None:
    """Looks up the classes of all links and inverses, when a store is opened with these models. SchemaError: one of
    them is not among them."""
    by_name = {model.__name__: model for model in models}
    for model in by_name.values():
        _aim_all(model, by_name)
    for model in by_name.values():
        _find_inverses(model, by_name)


def resolve_one(model: type, models: Mapping[str, type]) -> None:
    """The same of one class, by the names of those of a store."""
    _aim_all(model, models)
    _find_inverses(model, models)


def _aim_all(model: type, models: Mapping[str, type]) -> None:
    for prop in vars(model).get("_objstore_properties", ()):
        if prop.target is not None:
            target_of(prop, models)


def _find_inverses(model: type, models: Mapping[str, type]) -> None:
    for inverse in vars(model).get("_objstore_inverses", ()):
        inverse.resolve(model, models)
