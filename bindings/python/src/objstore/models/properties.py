"""Properties of model classes: their declaration, and what they accept."""

import enum
import uuid
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from ..arguments import switch
from ..errors import InvalidArgument, MissingValue, about
from ..messages import a
from ..values import constants, counters, elements, kinds
from ..values.custom_types import Custom
from ..values.elements import Shape
from ..values.kinds import MISSING
from ..values.object_id import ObjectId
from . import attributes, links, nodes, paths
from .attributes import collection_getter, collection_setter, getter, mixed_getter, setter
from .expressions import Either, Operand

if TYPE_CHECKING:
    from .model import Model


# What else a declaration says, under the names that Property() takes.
_DECLARED = (
    *("nullable", "primary_key", "indexed", "unique", "default", "default_factory", "shape", "target"),
    *("formerly", "stored_as", "cascade", "generated", "counter", "full_text"),
)


class Attribute(Operand, property):
    """What `Dog.age` is: an attribute of objects, and an operand of queries, `Dog.age < 2`.

    A subclass of the builtin, so that reading an attribute of an object goes straight to a plain function (50 ns), and
    reading it from the class gives the attribute itself. What is known of the property is in `_described`: all other
    names are free for what lies behind, as in `Dog.owner.name`.
    """

    _texts, _many = (), 0
    _is_attribute = True  # also for who does not know this class
    __hash__ = object.__hash__

    def __init__(self, described: Any, made: bytes, get: Callable[[Any], Any], set: Callable[[Any, Any], None]) -> None:
        super().__init__(get, set, None)
        self._described = described  # a Property, or an Inverse
        self._nodes = made
        self._properties = (described,)
        self._plain = described if constants.is_plain(described) else None

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:  # of a copy that is not made yet
            raise AttributeError(name)
        return paths.behind(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *paths.completions(self)]

    def __repr__(self) -> str:
        return repr(self._described)

    def __reduce_ex__(self, protocol: object) -> Any:
        return getattr, (self._described.model, self._described.name)


class ObjectAttribute(Attribute):
    """One that leads to objects."""

    locals().update({name: Either(name, vars(Operand)[name]) for name in paths.NAMES})
    locals().update({name: Either(name, vars(property)[name]) for name in vars(property) if not name.startswith("_")})


_OWN = frozenset({"_described", "_nodes", "_properties", "_plain"})


def property_in(given: object) -> "Property | None":
    """The property that is meant by Dog.age, or by one of objstore.fields(Dog)."""
    found = given._described if isinstance(given, Attribute) else given
    return found if isinstance(found, Property) else None


class Property(Operand):
    """One property of a model class, as its declaration says."""

    _texts, _many = (), 0  # as an operand
    __hash__ = object.__hash__

    def __init__(
        self,
        name: str,
        index: int,
        kind: int,
        *,
        nullable: bool = False,
        primary_key: bool = False,
        indexed: bool = False,
        unique: bool = False,
        default: Any = MISSING,
        default_factory: Any = MISSING,
        enumeration: "type[enum.Enum] | Custom | None" = None,
        shape: Shape | None = None,
        target: Any = None,
        formerly: tuple[str, ...] = (),
        stored_as: str | None = None,
        cascade: bool = False,
        generated: bool = False,
        counter: bool = False,
        full_text: bool = False,
    ) -> None:
        if kind == kinds.MIXED:
            read, write = mixed_getter(self), setter(self)
        elif shape is None:
            get = self.stored = getter(index)  # what is stored, without what represents it
            read = (
                counters.getter(self, get) if counter else get if target is None else attributes.link_getter(self, get)
            )
            write = setter(self)
        else:
            read, write = collection_getter(self), collection_setter(self)
        self.shape = shape  # of a collection; None: a single value
        self.name = name
        self.index = index
        self.kind = kind
        self.nullable = nullable
        self.primary_key = primary_key
        self.indexed = indexed
        self.unique = unique
        self.enum = enumeration
        self.formerly = formerly  # what it was called before
        self.stored_as = stored_as  # what the file calls it, if not by its name
        self.cascade = cascade  # of links: what they lead to is deleted with the object
        self.counter = counter  # read as a Counter
        self.full_text = full_text  # words are searched for in it
        self.generated = generated  # a new object that is given no value gets a new one
        self.target = target  # of a link, or a collection of links: the class that it leads to, or links.Later
        self.python_type: type = (
            elements.TYPES[kind] if shape is not None else target or kinds.python_type(kind, enumeration)
        )
        # A value of this very type a store takes as it is.
        self.exact: type | None = None if shape is not None or kind in kinds.CHECKED else self.python_type
        self.default = default
        self.default_factory = default_factory  # makes what an object gets that is given no value
        self.model: type[Model] | None = None
        self.model_name = ""
        self._nodes = nodes.OBJECT + nodes.property_of(stored_as or name)
        self._properties, self._described = (self,), self
        self._plain = self if constants.is_plain(self) else None
        self.attribute = (Attribute if target is None else ObjectAttribute)(self, self._nodes, read, write)

    def attach(self, model: "type[Model]") -> None:
        """Called once, when the class is ready: names it in errors, and checks the default."""
        self.model, self.model_name = model, model.__name__
        if isinstance(self.target, type):
            links.check_target(self)
        if self.shape is not None:
            self.shape = self.shape.of(self.name, self.model_name)
        elif self.default is not MISSING:
            self.default = kinds.convert(self, self.default)

    def copy(self, index: int) -> "Property":
        """The same property for a subclass."""
        given = {name: getattr(self, name) for name in _DECLARED}
        return Property(self.name, index, self.kind, enumeration=self.enum, **given)

    @property
    def path(self) -> str:
        return f"{self.model_name}.{self.name}"

    @property
    def embeds(self) -> bool:
        """Does it hold embedded objects?"""
        return kinds.is_embedded(self.target)

    @property
    def type_name(self) -> str:
        if self.kind == kinds.MIXED:
            return "Any"
        if self.counter:
            return "Counter"
        return kinds.name(self.kind, self.python_type) if self.shape is None else self.shape.type_name

    def convert(self, value: Any) -> Any:
        """What the property holds when it is given `value`; of a collection a new builtin one."""
        return kinds.convert(self, value) if self.shape is None else elements.content(self, value)

    def given(self, value: Any) -> Any:
        """What a new object holds when the constructor is given `value`, or MISSING."""
        if value is not MISSING:
            return self.convert(value)
        if self.default_factory is not MISSING:
            return self.made()
        if self.kind == kinds.MIXED and self.default is not MISSING:
            return self.convert(self.default)  # a copy: the object may change it
        if self.shape is not None:
            return self.python_type()
        if self.default is not MISSING:
            return self.default
        if self.generated:
            return None if self.kind == kinds.INT else ObjectId() if self.kind == kinds.OBJECT_ID else uuid.uuid4()
        if self.nullable:
            return None
        raise self.missing()

    def unpickled(self, value: Any) -> Any:
        """What an object holds that was pickled with `value`, or MISSING. Collections and lists and dicts of any values
        stay the ones that they are: in a circle they may be filled later, and what is in them is checked when the
        object is added, as ever."""
        if value is MISSING:
            return self.given(value)
        if self.kind == kinds.MIXED or (self.generated and value is None):
            return value
        if self.shape is None:
            return kinds.convert(self, value)
        if isinstance(value, self.python_type) or (self.kind == kinds.SET and isinstance(value, elements.ObjectSet)):
            return value
        raise kinds.wrong(self, value, a(elements.NAMES[self.kind]))

    def made(self) -> Any:
        """What the factory makes for one object: checked like what is given."""
        return self.convert(self.default_factory())

    def missing(self) -> MissingValue:
        return about(MissingValue, self, f"{self.path} has no default and must be given a value")

    def __repr__(self) -> str:
        return f"<property {self.path}>"


class Declared(NamedTuple):
    """What field() returns, until the class is ready."""

    default: Any
    default_factory: Any
    primary_key: bool
    indexed: bool
    unique: bool
    formerly: tuple[str, ...] = ()
    cascade: bool = False
    generated: bool = False
    stored_as: str | None = None
    full_text: bool = False


@overload
def field(
    *,
    primary_key: bool = ...,
    indexed: bool = ...,
    unique: bool = ...,
    formerly: str | Iterable[str] = ...,
    stored_as: str | None = ...,
    full_text: bool = ...,
    on_delete: Literal["cascade"] | None = ...,
) -> Any: ...
@overload
def field(
    *,
    generated: Literal[True],
    primary_key: bool = ...,
    indexed: bool = ...,
    unique: bool = ...,
    formerly: str | Iterable[str] = ...,
    stored_as: str | None = ...,
    init: Literal[False] = False,
) -> Any: ...
@overload
def field(
    *,
    default: Any,
    primary_key: bool = ...,
    indexed: bool = ...,
    unique: bool = ...,
    formerly: str | Iterable[str] = ...,
    stored_as: str | None = ...,
    full_text: bool = ...,
    on_delete: Literal["cascade"] | None = ...,
) -> Any: ...
@overload
def field(
    *,
    default_factory: Callable[[], Any],
    primary_key: bool = ...,
    indexed: bool = ...,
    unique: bool = ...,
    formerly: str | Iterable[str] = ...,
    stored_as: str | None = ...,
    full_text: bool = ...,
    on_delete: Literal["cascade"] | None = ...,
) -> Any: ...
def field(
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    primary_key: bool = False,
    indexed: bool = False,
    unique: bool = False,
    formerly: str | Iterable[str] = (),
    stored_as: str | None = None,
    generated: bool = False,
    full_text: bool = False,
    on_delete: Literal["cascade"] | None = None,
    init: Literal[False] = False,
) -> Any:
    """Says more about a property: `id: int = field(primary_key=True)`.

    default          what an object gets that is made without a value
    default_factory  a function without arguments, called once for each object that is made without a value, in Python:
                     `when: datetime = field(default_factory=lambda: datetime.now(timezone.utc))`. What it returns is
                     checked like what is given. Not called for objects that are there, nor by create_from_json() and
                     create_all_from_json(), where the library makes the objects. Of a collection `list`, `set` or
                     `dict` says only to type checkers that it may be left out, as it may anyway
    primary_key      int, str, ObjectId or UUID: unique, and never changed
    generated        ObjectId, UUID, or an int that is the primary key: an object that is made without a value gets a
                     new one. Ids are there at once; an int is None until the object is added, and then above all that
                     there are and all that were generated, from 1
    indexed          comparisons find their objects without a scan; not for bytes
    unique           no two objects have the same value, but any number None; has an index; not for bytes, links,
                     collections
    full_text        str: `Dog.name.search("write -tests")` looks for words in it; has no index in this version
    on_delete        "cascade", for links, and lists, sets and dicts of them: when an object is deleted, what it leads
                     to by this property goes with it, whoever else links there
    formerly         what the property was called before, a name or several: with a higher `schema_version` a file that
                     has it by that name keeps its values
    stored_as        what the file calls the property, if not by its name here; of a class: `__stored_as__`
    """
    flags = switch("primary_key", primary_key), switch("indexed", indexed), switch("unique", unique)
    names = (formerly,) if isinstance(formerly, str) else tuple(formerly)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"formerly is a name or several, not {formerly!r}")
    if on_delete not in (None, "cascade"):
        raise InvalidArgument(f"on_delete is 'cascade' or None, not {on_delete!r}")
    if stored_as is not None and not isinstance(stored_as, str):
        raise TypeError(f"stored_as is a name, not {stored_as!r}")
    if default_factory is not MISSING and not callable(default_factory):
        raise TypeError(f"default_factory is a function without arguments, not {default_factory!r}")
    more = {"generated": switch("generated", generated), "full_text": switch("full_text", full_text)}
    return Declared(default, default_factory, *flags, names, on_delete == "cascade", stored_as=stored_as, **more)
