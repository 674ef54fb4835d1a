"""Model classes: what objects of a store look like in Python."""

import copy
import inspect
import itertools
import keyword
import sys
import typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..building import descriptions
from ..collections import embedded
from ..errors import Error, SchemaError
from ..json import json_options, json_text, plain_values
from ..objects import detaching, state
from ..objects.model_types import ModelType, properties_of, property_named
from ..values.kinds import MISSING
from . import display, links
from .annotations import inverse_of, is_backlinks, property_of, refused, resolve
from .constructors import checked, constructor
from .display import object_table
from .indexes import Index, check_indexes
from .inverses import DeclaredBacklinks, Inverse, backlinks
from .properties import Declared, Property, field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

    from ..observing.changes import Changes
    from ..observing.tokens import Token


if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
elif sys.version_info >= (3, 11):
    from typing import dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda decorated: decorated


M = TypeVar("M", bound="Model")
_numbers = itertools.count(1)


class ModelMeta(ModelType):
    """Makes properties of a class's annotations, and its constructor."""

    def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> "ModelMeta":
        namespace.setdefault("__slots__", ())  # a misspelt attribute is an error, not a new one
        cls = super().__new__(meta, name, bases, namespace, **options)
        if bases == (state.Slots,):
            return cls
        _declare(cls, sys._getframe(1).f_locals)
        own = namespace.get("__init__")
        setattr(cls, "__init__", constructor(cls) if own is None else checked(cls, own))
        return cls


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field, backlinks))
class Model(state.Slots, metaclass=ModelMeta):
    """The base of your classes.

        class Dog(objstore.Model):
            id: int = field(primary_key=True)
            name: str = ""
            weight: float | None = None

    An object is *unmanaged* until it is added to a store: an ordinary Python object. From then on it is a view of
    what is stored: reading an attribute gives what the store has now, setting one is possible inside a write only.
    Any thread may use any object. Two managed objects are equal when they are the same object of the same store.

    Types: bool, int, float, str, bytes, datetime (with a time zone; stored to the nanosecond, given back to the
    microsecond, in UTC), Decimal, ObjectId, UUID, Float32, an enum.Enum whose values are all int or all str, and each
    of them `| None`; and list[…], set[…] and dict[…, …] of all these, the keys being int, str, ObjectId or UUID. Of a
    managed object they are live: List, Set, Dict. A link to an object of a model class, `owner: "Person | None" =
    None`, and its inverse, `dogs: Backlinks["Dog"] = backlinks("owner")`. Objects that are parts of this one: see
    EmbeddedModel. A number that is counted: see Counter. Links and embedded objects may be given as what describes
    them, as for Store.create(): `person.address = {"city": "Rome"}`; those with a primary key that is there are
    updated.
    """

    _objstore_is_base = True  # of it itself: it has no properties, and objects are of the classes that derive from it

    __indexes__: "ClassVar[Sequence[Index]]" = ()
    """Indexes of several properties."""

    __stored_as__: "ClassVar[str | None]" = None
    """What the file calls the class, if not by its name here; of a property: field(stored_as=…). Not inherited."""

    if not TYPE_CHECKING:  # checkers take the constructor from the annotations

        def __init__(self, /, **values: Any) -> None:
            cls = type(self)
            if unknown := values.keys() - {p.name for p in cls._objstore_properties}:
                raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {min(unknown)!r}")
            state.start(self, [p.given(values.get(p.name, MISSING)) for p in cls._objstore_properties])

    @property
    def is_managed(self) -> bool:
        """Does the object belong to a store?"""
        return self._o_block.store is not None

    @property
    def is_frozen(self) -> bool:
        """Does it permanently show one version?"""
        store = self._o_block.store
        return store is not None and store.is_frozen

    @property
    def is_valid(self) -> bool:
        """Can its attributes be read? Not when it was deleted, or its store closed."""
        return state.exists(self)

    def freeze(self) -> "Self":
        """The same object as it is now, frozen; inside of a write as it was before that. Keeps its version until it
        is garbage, so let go of it. NoSuchObject: it was deleted, or the write that has made it is not over."""
        frozen: Self = state.freeze(self)
        return frozen

    def thaw(self) -> "Self | None":
        """The live object that a frozen one shows a former state of; None: it was deleted. One that is live is returned
        as it is. Closed: the store is closed, though what is frozen may still be at hand."""
        live: Self | None = state.thaw(self)
        return live

    def detach(self, depth: int | None = None) -> "Self":
        """An unmanaged copy, with copies of the objects that it leads to, each once, also in a circle: `depth` links
        away (0: none of them), None: all. A link that leads further is None in the copy, as is the value of a key in a
        dict; in a list or set it is left out. Embedded objects are parts of theirs."""
        detached: Self = detaching.detach(self, depth)
        return detached

    @classmethod
    def from_values(cls, values: Any, *, exact: bool = False) -> "Self":
        """An unmanaged object of values as Store.create() takes them: a dictionary, a sequence, or anything with such
        attributes. What is nested in them becomes unmanaged objects, too; objects are taken as they are."""
        made: Self = descriptions.unmanaged(cls, values, exact)
        return made

    def to_json(
        self, depth: int = 1, *, pretty: bool = False, extended: bool = False, nan_as_null: bool = False
    ) -> str:
        """The object as JSON text: all its properties, in the order of their declaration.

        A link is the object that it leads to, as far as `depth` goes: 0 follows none, 100 is the most. An object that
        lies deeper, or that is being written already (a cycle), is its primary key, or {"$ref": "Dog", "$id": 12} where
        its class has none, or it is null; with {"country": "CH", "name": "Bern"} as "$id" where the key is of several
        properties. So are links in properties of Any with `extended`, always.
        Dates are ISO 8601 texts, bytes base64, ids hexadecimal; `extended`: as in MongoDB's Extended JSON, {"$date":
        …}. NaN and the infinities are refused (OutOfRange), but for `nan_as_null` or `extended`. An unmanaged object is
        written in the same form, without the number that it is going to get where that is generated; one without a
        primary key has no other name: its "$id" is null."""
        return json_text.of_object(self, depth, json_options.flags(pretty, extended, nan_as_null))

    def to_dict(self, depth: int = 1) -> "dict[str, Any]":
        """The object as a dict of its properties, managed or not: the form of to_json(), of builtin lists and dicts and
        the values that the attributes have. Sets are lists, in the order of a store; links are dicts, or references, as
        in to_json()."""
        return plain_values.as_dict(self, depth)

    def observe(
        self,
        handler: "Callable[[Changes[Self]], object]",
        keys: "Iterable[object] | None" = None,
        *,
        initial: bool = False,
        since: bytes | None = None,
    ) -> "Token":
        """Calls handler(change) when this object is changed or deleted: `change.written(0)` are the names of the
        properties that were written, `change.deletion_count` is 1 when it is gone. The first change is the first that
        happens; with `initial` there is one before it that `is_initial`. `keys` as for results; None: of the object's
        own properties. The rest is as for results."""
        token: Token = state.observe(self, handler, keys, initial, since)
        return token

    def __eq__(self, other: object) -> bool:
        return self is other or state.same(self, other)

    def __hash__(self) -> int:
        return state.hash_of(self)

    def __repr__(self) -> str:
        name, why = type(self).__name__, "deleted or closed"
        try:
            if self.is_valid:
                values = (f"{p.name}={display.shown(self, p)}" for p in type(self)._objstore_properties)
                return f"{name}({', '.join(values)})"
        except Error as error:  # behind a fork(); or another thread deletes it, or closes the store, just now
            why = error.message
        return f"<{name} {self._o_key}, {why}>"

    def _repr_html_(self) -> str:
        return object_table(self)

    def _o_now(self, prop: Any) -> Any:
        """What represents the object where a property leads to another class: descriptions.now()."""
        return descriptions.now(prop, self)

    # Unmanaged objects, such as detached ones, are copied and pickled as any others, with what they lead to, also in a
    # circle.

    def __copy__(self) -> "Self":
        values = state.loose_values(self)
        made: Self = state.blank(type(self))
        state.start(made, values.copy())
        return made

    def __deepcopy__(self, memo: "dict[int, Any]") -> "Self":
        values = state.loose_values(self)
        made: Self = state.blank(type(self))
        memo[id(self)] = made
        state.start(made, copy.deepcopy(values, memo))
        return made

    def __reduce_ex__(self, protocol: object) -> Any:
        # By name: the class that it is read into may have other properties, or these in another order.
        values = state.loose_values(self)
        return state.blank, (type(self),), {p.name: values[p.index] for p in type(self)._objstore_properties}

    def __setstate__(self, values: dict[str, Any]) -> None:
        given = {property_named(type(self), name).index: value for name, value in values.items()}
        state.start(self, [p.unpickled(given.get(p.index, MISSING)) for p in type(self)._objstore_properties])


def fields(model: type[Model]) -> tuple[Property, ...]:
    """The properties of a model class, in the order of their declaration, as dataclasses.fields() has them of a
    dataclass:

        for p in objstore.fields(store.models["Dog"]):
            print(p.name, p.type_name, p.nullable, p.primary_key, p.indexed, p.unique)
            print(p.generated, p.counter, p.full_text, p.cascade, p.target)

    `type_name` is the type as a text, `python_type` the class; `target` the model that a link, or a collection of
    links, leads to, or None; `stored_as` what the file calls it, where that differs."""
    return properties_of(model)


def _declare(cls: ModelMeta, scope: dict[str, Any]) -> None:
    """Finds the properties of a class, those of its bases first, and puts them into it."""
    found: dict[str, Property] = {}
    inverses: list[Inverse] = []
    for base in reversed(cls.__mro__[1:]):
        for prop in base.__dict__.get("_objstore_properties", ()):
            found[prop.name] = prop.copy(found[prop.name].index if prop.name in found else len(found))
    for name, annotation in inspect.get_annotations(cls).items():
        resolved = resolve(cls, name, annotation, scope)
        if typing.get_origin(resolved) is ClassVar or resolved is ClassVar:
            continue
        _allow_name(cls, name)
        given = cls.__dict__.get(name, MISSING)
        if isinstance(given, DeclaredBacklinks) or is_backlinks(resolved):
            inverses.append(inverse_of(cls, name, resolved, given))
            continue
        declared = given if isinstance(given, Declared) else Declared(given, MISSING, False, False, False)
        found[name] = property_of(cls, name, found[name].index if name in found else len(found), resolved, declared)
        found[name].formerly, found[name].stored_as = declared.formerly, declared.stored_as
    for name, value in cls.__dict__.items():
        if (
            isinstance(value, (Declared, DeclaredBacklinks))
            and name not in found
            and name not in (i.name for i in inverses)
        ):
            raise SchemaError(f"{cls.__name__}.{name} has a field() and no type", class_name=cls.__name__)
    keys = [p.name for p in found.values() if p.primary_key]
    if len(keys) > 1:
        raise SchemaError(f"{cls.__name__} has {len(keys)} primary keys: {', '.join(keys)}", class_name=cls.__name__)
    if keys and cls._objstore_embedded:
        raise refused(cls, keys[0], "an embedded object has no primary key: it is found through its parent")
    cls._objstore_properties = tuple(found.values())
    cls._objstore_by_name = {prop.stored_as: prop for prop in found.values() if prop.stored_as is not None} | found
    cls._objstore_key = tuple(p for p in found.values() if p.primary_key)
    check_indexes(cls)
    cls._objstore_inverses = tuple(inverses)
    cls._objstore_number = next(_numbers)
    for inverse in inverses:
        inverse.attach(cls)
        setattr(cls, inverse.name, inverse.attribute)
    for prop in cls._objstore_properties:
        prop.attach(typing.cast("type[Model]", cls))
        setattr(cls, prop.name, prop.attribute)
    links.declare(cls)


def _allow_name(cls: ModelMeta, name: str) -> None:
    """Refuses names that would hide something of every object, or cannot be written in Python."""
    reason = None
    if name.startswith(("_o_", "_objstore_", "__")) or name in vars(Model):
        reason = "the name is used by objstore.Model"
    elif name == "parent" and cls._objstore_embedded:
        reason = "the name is used by objstore.EmbeddedModel"
    elif not name.isidentifier() or keyword.iskeyword(name):
        reason = "the name is none that an attribute can have"
    if reason is not None:
        raise SchemaError(f"{cls.__name__}.{name}: {reason}", class_name=cls.__name__, property_name=name)


class EmbeddedModel(Model):
    """The base of classes whose objects are parts of others, each of one:

        class Address(objstore.EmbeddedModel):
            street: str = ""
            city: str = ""

        class Person(objstore.Model):
            name: str
            address: Address | None = None              # or list[Address], dict[str, Address | None]

    They come into a store with their parent, or by being put into it, `person.address = Address(city="Rome")`, and go
    when it is deleted, or when they are taken out of it or replaced. One cannot be given a second place: that is
    Embedded. They have no primary key; otherwise they are objects like others, can be queried and observed.
    """

    _objstore_is_base = True
    _objstore_embedded = True

    @property
    def parent(self) -> Model | None:
        """The object that this one lies in; None while it is unmanaged."""
        found: Model | None = embedded.parent(self)
        return found
