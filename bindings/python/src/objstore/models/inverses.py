"""The inverses of links: backlinks() in a class, and links_to() for a query."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from ..errors import InvalidArgument, SchemaError, WrongStore, WrongType
from ..objects.model_types import ModelType, properties_of
from ..values.elements import ELEMENT, Element, Shape, is_mixed
from ..values.kinds import LINK, SET, is_object, is_same, wrong
from . import nodes
from .expressions import Condition, Expression, any_, expression
from .links import Later, target_of
from .properties import ObjectAttribute, Property, property_in


class AnyBacklinks:
    """The base of Backlinks, which annotations of inverses name."""

    __slots__ = ()


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


class LinksTo(Condition):
    """What links_to() returns. Alone it is an inverse, which is found without a query."""

    __slots__ = ("link", "target")

    def __init__(self, condition: Condition, link: Property, target: Any) -> None:
        super().__init__(condition._nodes, condition._texts, condition._properties, "links_to({}, {})", link, target)
        self.link = link
        self.target = target


def links_to(prop: Any, obj: Any) -> Condition:
    """Objects that have a link to an object, as the value, as an element, or anywhere inside of an Any: the inverse of
    a property that declares none, `store.objects(Shelter).where(links_to(Shelter.dogs, rex))`. WrongType: a property
    without links, an object of another class. WrongStore: an unmanaged object, to which nothing links."""
    link = _link(prop)
    if not is_object(obj):
        raise wrong(link, obj, "an object")
    return LinksTo((link if link.kind == LINK else any_(link)) == obj, link, obj)


def _link(given: Any) -> Property:
    prop = property_in(given)
    if prop is None or (prop.target is None and not is_mixed(prop)):
        raise WrongType(f"a property with links is wanted, such as Shelter.dogs, not {given!r}")
    return prop


class Inverse:
    """The inverse of a link, in the class that the link leads to: `Person.dogs`."""

    kind, nullable, enum, stored_as = LINK, False, None, None  # as what a query describes

    def __init__(self, name: str, origin: Any, origin_property: str) -> None:
        self.name = name
        self.origin = origin  # the class that has the link, or Later
        self.origin_property = origin_property
        self.link: Property | None = None
        self.model: Any = None
        self.model_name = ""
        self.shape = Shape(SET, Element(LINK, False, None, ELEMENT, origin), None)
        made = nodes.OBJECT + nodes.incoming(origin.__name__, origin_property)
        self.attribute = ObjectAttribute(self, made, self._read, self._refuse)

    def attach(self, model: type) -> None:
        """Called once, when the class is ready."""
        self.model, self.model_name = model, model.__name__
        self.shape = self.shape.of(self.name, self.model_name)

    @property
    def path(self) -> str:
        return f"{self.model_name}.{self.name}"

    @property
    def target(self) -> Any:
        """The class that it leads to, as a property has it."""
        return self.origin

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
                self.shape.element.target = self.shape.element.python_type = origin
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
        return store._backlinks(binding, link, obj)

    def _refuse(self, obj: Any, _: object) -> None:
        name = type(obj).__name__
        raise InvalidArgument(
            f"{name}.{self.name} cannot be set: it is what leads here by {self.origin_property!r}, which can be set",
            class_name=name,
            property_name=self.name,
        )

    def __repr__(self) -> str:
        return f"<inverse {self.name} of {self.origin_property!r}>"


class _Origins:
    """What incoming() is about: all objects that link to one of a class."""

    name = "incoming"
    stored_as = None

    def __init__(self, model: Any) -> None:
        self.model, self.model_name = model, model.__name__


def incoming(of: Any) -> Expression:
    """For queries, what links to an object, without an inverse that says so: `incoming(Dog.owner)` are the dogs whose
    owner a person is, `store.objects(Person).where(incoming(Dog.owner).count > 2)`. Of a class it is whatever links
    there, which can only be counted: `.where(incoming(Person).count == 0)`."""
    if isinstance(of, ModelType):
        properties_of(of)  # InvalidArgument: the base of all
        made = nodes.OBJECT + nodes.node(nodes.ALL_INCOMING, 1)
        return Expression(made, (), (_Origins(of),), None, False, f"incoming({of.__name__})")
    link = _link(of)
    target = link.target.newest() if isinstance(link.target, Later) else link.target
    if target is None:
        raise InvalidArgument(f"incoming() takes a link to a class that is there, or a class, not {of!r}")
    inverse = Inverse(f"incoming({link.path})", link.model, link.stored_as or link.name)
    inverse.attach(target)
    return expression(inverse.attribute)
