"""Model classes: what objects of a store look like in Python."""

import copy
import enum
import inspect
import keyword
import sys
import types
import typing
import uuid
from collections.abc import Callable, Sequence  # also for typing.get_type_hints
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from . import copies, described, elements, embedded, jsons, kinds, links, objects, written
from .constructors import checked, constructor
from .counters import Counter
from .dicts import Dict
from .elements import Element, Shape
from .errors import Error, InvalidArgument, NoSuchProperty, NotSupported, SchemaError
from .html import object_table
from .indexes import Index, check_indexes
from .links import DeclaredBacklinks, Inverse, Later, backlinks
from .lists import List
from .object_id import ObjectId
from .properties import MISSING, Declared, Property, field
from .sets import Set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self, dataclass_transform

    from .changes import Changes
    from .observing import Token
elif sys.version_info >= (3, 11):
    from typing import dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda decorated: decorated


M = TypeVar("M", bound="Model")
NO_KEY = "a primary key is an int, a str, an ObjectId or a UUID, or one of them | None"
NO_CASCADE = "on_delete is for links, and lists, sets and dicts of links"
COLLECTIONS: dict[Any, int] = {
    list: kinds.LIST,
    List: kinds.LIST,
    set: kinds.SET,
    Set: kinds.SET,
    dict: kinds.MAP,
    Dict: kinds.MAP,
}


class ModelMeta(type):
    """Makes properties of a class's annotations, and its constructor."""

    _objstore_properties: tuple[Property, ...] = ()
    _objstore_by_name: dict[str, Property] = {}
    _objstore_inverses: tuple[Inverse, ...] = ()
    _objstore_key: tuple[Property, ...] = ()  # the primary key, which may be of several
    _objstore_embedded = False
    _objstore_of_file = False  # was it made of a file's class?

    def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> "ModelMeta":
        namespace.setdefault("__slots__", ())  # a misspelt attribute is an error, not a new one
        cls = super().__new__(meta, name, bases, namespace, **options)
        if bases == (objects.Slots,):
            return cls
        _declare(cls, sys._getframe(1).f_locals)
        own = namespace.get("__init__")
        setattr(cls, "__init__", constructor(cls) if own is None else checked(cls, own))
        return cls


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field, backlinks))
class Model(objects.Slots, metaclass=ModelMeta):
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

    __indexes__: "ClassVar[Sequence[Index]]" = ()
    """Indexes of several properties."""

    __stored_as__: "ClassVar[str | None]" = None
    """What the file calls the class, if not by its name here; of a property: field(stored_as=…). Not inherited."""

    if not TYPE_CHECKING:  # checkers take the constructor from the annotations

        def __init__(self, /, **values: Any) -> None:
            cls = type(self)
            if unknown := values.keys() - {p.name for p in cls._objstore_properties}:
                raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {min(unknown)!r}")
            objects.start(self, [p.given(values.get(p.name, MISSING)) for p in cls._objstore_properties])

    @property
    def is_managed(self) -> bool:
        """Does the object belong to a store?"""
        return self._o_block.store is not None

    @property
    def is_frozen(self) -> bool:
        """Does it show one version for ever?"""
        store = self._o_block.store
        return store is not None and store.is_frozen

    @property
    def is_valid(self) -> bool:
        """Can its attributes be read? Not when it was deleted, or its store closed."""
        return objects.exists(self)

    def freeze(self) -> "Self":
        """The same object as it is now, for ever; inside of a write as it was before that. Keeps its version until it
        is garbage, so let go of it. NoSuchObject: it was deleted, or the write that has made it is not over."""
        frozen: Self = objects.freeze(self)
        return frozen

    def detach(self, depth: int | None = None) -> "Self":
        """An unmanaged copy, with copies of the objects that it leads to, each once, also in a circle: `depth` links
        away (0: none of them), None: all. A link that leads further is None in the copy, as is the value of a key in a
        dict; in a list or set it is left out. Embedded objects are parts of theirs."""
        detached: Self = copies.detach(self, depth)
        return detached

    @classmethod
    def from_values(cls, values: Any, *, exact: bool = False) -> "Self":
        """An unmanaged object of values as Store.create() takes them: a dictionary, a sequence, or anything with such
        attributes. What is nested in them becomes unmanaged objects, too; objects are taken as they are."""
        made: Self = described.unmanaged(cls, values, exact)
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
        return jsons.of_object(self, depth, jsons.flags(pretty, extended, nan_as_null))

    def to_dict(self, depth: int = 1) -> "dict[str, Any]":
        """The object as a dict of its properties, managed or not: the form of to_json(), of builtin lists and dicts and
        the values that the attributes have. Sets are lists, in the order of a store; links are dicts, or references, as
        in to_json()."""
        return written.as_dict(self, depth)

    def observe(self, handler: "Callable[[Changes[Self]], object]", keys: "Iterable[object] | None" = None) -> "Token":
        """Calls handler(change) when this object is changed or deleted: `change.written(0)` are the names of the
        properties that were written, `change.deletion_count` is 1 when it is gone. The first change is the first that
        happens: none is `is_initial`. The rest is as for results."""
        token: Token = objects.observe(self, handler, keys)
        return token

    def __eq__(self, other: object) -> bool:
        return self is other or objects.same(self, other)

    def __hash__(self) -> int:
        return objects.hash_of(self)

    def __repr__(self) -> str:
        name, why = type(self).__name__, "deleted or closed"
        try:
            if self.is_valid:
                values = (f"{p.name}={objects.shown(self, p)}" for p in type(self)._objstore_properties)
                return f"{name}({', '.join(values)})"
        except Error as error:  # behind a fork(); or another thread deletes it, or closes the store, just now
            why = error.message
        return f"<{name} {self._o_key}, {why}>"

    def _repr_html_(self) -> str:
        return object_table(self)

    # Unmanaged objects, such as detached ones, are copied and pickled as any others, with what they lead to, also in a
    # circle.

    def __copy__(self) -> "Self":
        values = objects.loose_values(self)
        made: Self = objects.blank(type(self))
        objects.start(made, values.copy())
        return made

    def __deepcopy__(self, memo: "dict[int, Any]") -> "Self":
        values = objects.loose_values(self)
        made: Self = objects.blank(type(self))
        memo[id(self)] = made
        objects.start(made, copy.deepcopy(values, memo))
        return made

    def __reduce_ex__(self, protocol: object) -> Any:
        # By name: the class that it is read into may have other properties, or these in another order.
        values = objects.loose_values(self)
        return objects.blank, (type(self),), {p.name: values[p.index] for p in type(self)._objstore_properties}

    def __setstate__(self, values: dict[str, Any]) -> None:
        given = {property_named(type(self), name).index: value for name, value in values.items()}
        objects.start(self, [p.unpickled(given.get(p.index, MISSING)) for p in type(self)._objstore_properties])


def properties_of(model: type) -> tuple[Property, ...]:
    """The properties of a model class, in the order of their declaration."""
    if isinstance(model, ModelMeta) and model not in (Model, EmbeddedModel):
        return model._objstore_properties
    raise InvalidArgument(f"a class derived from objstore.Model is wanted, not {model!r}")


def fields(model: type[Model]) -> tuple[Property, ...]:
    """The properties of a model class, in the order of their declaration, as dataclasses.fields() has them of a
    dataclass:

        for p in objstore.fields(store.models["Dog"]):
            print(p.name, p.type_name, p.nullable, p.primary_key, p.indexed, p.unique)
            print(p.generated, p.counter, p.cascade, p.target)

    `type_name` is the type as a text, `python_type` the class; `target` the model that a link, or a collection of
    links, leads to, or None; `stored_as` what the file calls it, where that differs."""
    return properties_of(model)


def property_named(model: type, name: str) -> Property:
    found = model._objstore_by_name.get(name) if isinstance(model, ModelMeta) else None
    if found is not None:
        return found
    raise NoSuchProperty(
        f"{model.__name__} has no property {name!r}; it has {', '.join(p.name for p in properties_of(model))}",
        class_name=model.__name__,
        property_name=name,
    )


def _declare(cls: ModelMeta, scope: dict[str, Any]) -> None:
    """Finds the properties of a class, those of its bases first, and puts them into it."""
    found: dict[str, Property] = {}
    inverses: list[Inverse] = []
    for base in reversed(cls.__mro__[1:]):
        for prop in base.__dict__.get("_objstore_properties", ()):
            found[prop.name] = prop.copy(found[prop.name].index if prop.name in found else len(found))
    for name, annotation in inspect.get_annotations(cls).items():
        resolved = _resolve(cls, name, annotation, scope)
        if typing.get_origin(resolved) is ClassVar or resolved is ClassVar:
            continue
        _allow_name(cls, name)
        given = cls.__dict__.get(name, MISSING)
        if isinstance(given, DeclaredBacklinks) or _is_backlinks(resolved):
            inverses.append(_inverse(cls, name, resolved, given))
            continue
        declared = given if isinstance(given, Declared) else Declared(given, MISSING, False, False, False)
        found[name] = _property(cls, name, found[name].index if name in found else len(found), resolved, declared)
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
        raise _refused(cls, keys[0], "an embedded object has no primary key: it is found through its parent")
    cls._objstore_properties = tuple(found.values())
    cls._objstore_by_name = {prop.stored_as: prop for prop in found.values() if prop.stored_as is not None} | found
    cls._objstore_key = tuple(p for p in found.values() if p.primary_key)
    check_indexes(cls)
    cls._objstore_inverses = tuple(inverses)
    for inverse in inverses:
        setattr(cls, inverse.name, inverse)
    for prop in cls._objstore_properties:
        prop.attach(typing.cast("type[Model]", cls))
        setattr(cls, prop.name, prop)


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


def _resolve(cls: type, name: str, annotation: Any, scope: dict[str, Any]) -> Any:
    """The annotation as an object; a text, also one inside of Optional[…], is looked up in the module, and where the
    class stands."""
    # a text that says a text: quoted under `from __future__ import annotations`
    while isinstance(annotation, (str, typing.ForwardRef)):
        if isinstance(annotation, typing.ForwardRef):
            annotation = annotation.__forward_arg__
        # What the class has under the name of a property is its default, and no type: `date: date = field(…)`.
        inside = {known: value for known, value in vars(cls).items() if known not in inspect.get_annotations(cls)}
        text = annotation
        try:
            annotation = eval(text, {}, links.Names(cls.__module__, {**scope, **inside}))
        except TypeError:
            raise _unsupported(cls, name, text) from None  # what is made of a class that comes later
        except Exception as error:
            raise _refused(cls, name, f"its type {text!r} cannot be read: {error}") from None
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        if kinds.Single in arguments[1:]:
            return kinds.Single
        return _resolve(cls, name, arguments[0], scope)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.Union[tuple(_resolve(cls, name, argument, scope) for argument in arguments)]  # noqa: UP007
    if typing.get_origin(annotation) in COLLECTIONS:
        resolved = tuple(_resolve(cls, name, argument, scope) for argument in arguments)
        return types.GenericAlias(elements.TYPES[COLLECTIONS[typing.get_origin(annotation)]], resolved)
    return annotation


def _unsupported(cls: type, name: str, annotation: Any) -> Exception:
    is_default = annotation is vars(cls).get(name, MISSING) and not isinstance(annotation, (str, type))
    if is_default or isinstance(annotation, (types.ModuleType, Declared)):
        return _no_type(cls, name, annotation)
    shown = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", None) or repr(annotation)
    if typing.get_origin(annotation) is not None:
        shown = str(annotation)
    return NotSupported(
        f"{cls.__name__}.{name}: properties of type {shown} are not in this version; there are bool, int, float, "
        "Float32, Decimal, str, bytes, datetime, ObjectId, UUID, an enum.Enum of int or str, and each of them | None; "
        "list[…], set[…] and dict[…, …] of these, or of Any; Any; a model class | None, which is a link, list[a model "
        "class], set[a model class], dict[…, a model class | None]; Backlinks[…]",
        class_name=cls.__name__,
        property_name=name,
    )


def _no_type(cls: type, name: str, given: Any) -> SchemaError:
    if isinstance(given, types.ModuleType):
        return _refused(cls, name, f"its type is the module {given.__name__}, and not a class in it")
    shown = "what field() returned" if isinstance(given, Declared) else repr(given)
    return _refused(
        cls,
        name,
        f"its type is {shown}, which is none: in a class body a property that has a default hides the type that is "
        "called like it; "
        "import that by another name, or begin the file with `from __future__ import annotations`",
    )


def _scalar(cls: type, name: str, annotation: Any, whole: Any) -> tuple[int, bool, type[enum.Enum] | None]:
    """The kind of a single value, whether it may be None, and its enumeration; `whole` is the annotation around it."""
    plain, nullable = annotation, False
    if typing.get_origin(plain) in (typing.Union, types.UnionType):
        arguments = typing.get_args(plain)
        others = [a for a in arguments if a is not type(None)]
        if len(others) != 1 or len(arguments) != 2:
            raise _unsupported(cls, name, whole)
        plain, nullable = others[0], True
    enumeration = plain if isinstance(plain, type) and issubclass(plain, enum.Enum) else None
    kind = (
        kinds.enum_kind(enumeration) if enumeration else kinds.BY_TYPE.get(plain) if isinstance(plain, type) else None
    )
    if kind is None:
        raise _unsupported(cls, name, whole)
    return kind, nullable, enumeration


def _refused(cls: type, name: str, message: str) -> SchemaError:
    return SchemaError(f"{cls.__name__}.{name}: {message}", class_name=cls.__name__, property_name=name)


def _property(cls: type, name: str, index: int, annotation: Any, declared: Declared) -> Property:
    if declared.default is not MISSING and declared.default_factory is not MISSING:
        raise _refused(cls, name, "it has a default and a default_factory; one of them is enough")
    if typing.get_origin(annotation) in COLLECTIONS or (isinstance(annotation, type) and annotation in COLLECTIONS):
        return _collection(cls, name, index, annotation, declared)
    if declared.generated:
        _check_generated(cls, name, annotation, declared)
    if _is_any(annotation):
        return _mixed(cls, name, index, declared)
    target, nullable = _link_target(annotation)
    if target is not None:
        return _link(cls, name, index, target, nullable, declared)
    counter, annotation = _counter(annotation)
    kind, nullable, enumeration = _scalar(cls, name, annotation, annotation)
    if declared.cascade:
        raise _refused(cls, name, NO_CASCADE)
    if declared.primary_key and (kind not in kinds.KEYS or counter):
        raise _refused(cls, name, NO_KEY)
    if (declared.indexed or declared.unique) and kind == kinds.BINARY:
        raise _refused(cls, name, "bytes cannot be indexed" if declared.indexed else "bytes cannot be unique")
    return Property(
        name,
        index,
        kind,
        nullable=nullable,
        primary_key=declared.primary_key,
        indexed=declared.indexed,
        unique=declared.unique,
        default=declared.default,
        default_factory=declared.default_factory,
        enumeration=enumeration,
        generated=declared.generated,
        counter=counter,
    )


def _counter(annotation: Any) -> tuple[bool, Any]:
    """Is it a Counter, or Counter | None? And what is stored for it."""
    if annotation is Counter:
        return True, int
    if Counter in typing.get_args(annotation):
        return True, typing.Union[tuple(int if a is Counter else a for a in typing.get_args(annotation))]  # noqa: UP007
    return False, annotation


def _check_generated(cls: type, name: str, annotation: Any, declared: Declared) -> None:
    if annotation not in (ObjectId, uuid.UUID) and not (annotation is int and declared.primary_key):
        raise _refused(
            cls, name, "generated are ObjectIds and UUIDs, and an int that is the primary key, and never None"
        )
    if declared.default is not MISSING or declared.default_factory is not MISSING:
        raise _refused(cls, name, "what is generated has no default")


def _is_any(annotation: Any) -> bool:
    return annotation is Any or bool(annotation == typing.Optional[Any])  # noqa: UP045


def _mixed(cls: type, name: str, index: int, declared: Declared) -> Property:
    if declared.cascade:
        raise _refused(cls, name, NO_CASCADE)
    if declared.primary_key:
        raise _refused(cls, name, NO_KEY)
    default, factory = declared.default, declared.default_factory
    if factory is list or factory is dict:
        default, factory = factory(), MISSING  # which the file can keep
    return Property(
        name,
        index,
        kinds.MIXED,
        nullable=True,
        indexed=declared.indexed,
        unique=declared.unique,
        default=default,
        default_factory=factory,
    )


def _collection(cls: type, name: str, index: int, annotation: Any, declared: Declared) -> Property:
    kind = COLLECTIONS[typing.get_origin(annotation) or annotation]
    python_type, arguments = elements.TYPES[kind], typing.get_args(annotation)
    if len(arguments) != (2 if kind == kinds.MAP else 1):
        example = "dict[str, int]" if kind == kinds.MAP else f"{python_type.__name__}[str]"
        raise _refused(cls, name, f"say what is in the {python_type.__name__}, as in {example}")
    key = None
    if kind == kinds.MAP:
        key_kind, nullable, enumeration = _scalar(cls, name, arguments[0], annotation)
        if key_kind not in kinds.KEYS or nullable:
            raise _refused(cls, name, "a key is an int, a str, an ObjectId, a UUID or an enum.Enum, and never None")
        key = Element(key_kind, False, enumeration, elements.KEY)
    target, nullable = _link_target(arguments[-1])
    if _is_any(arguments[-1]):
        element = Element(kinds.MIXED, True, None, elements.ELEMENT)
    elif target is None:
        element = Element(*_scalar(cls, name, arguments[-1], annotation), elements.ELEMENT)
    elif nullable != (kind == kinds.MAP):
        shown = f"{target.__name__}{'' if nullable else ' | None'}"
        message = "never None: an object that is deleted leaves it" if nullable else "None when its object is deleted"
        raise _refused(cls, name, f"a link in a {python_type.__name__} is {message}; declare it as {shown}")
    else:
        element = Element(kinds.LINK, nullable, None, elements.ELEMENT, target)
    if declared.primary_key or declared.indexed or declared.unique:
        raise _refused(cls, name, f"a {python_type.__name__} is no primary key, has no index, and is not unique")
    if declared.default is not MISSING:
        raise _refused(
            cls, name, f"what a {python_type.__name__} begins with is said by a function: field(default_factory=…)"
        )
    factory = MISSING if declared.default_factory is python_type else declared.default_factory
    if declared.generated or (declared.cascade and target is None):
        raise _refused(cls, name, NO_CASCADE if declared.cascade else f"a {python_type.__name__} is not generated")
    return Property(
        name,
        index,
        kind,
        shape=Shape(kind, element, key),
        target=target,
        cascade=declared.cascade,
        default_factory=factory,
    )


def _link(cls: type, name: str, index: int, target: Any, nullable: bool, declared: Declared) -> Property:
    if not nullable:
        if isinstance(target, Later):
            raise _unsupported(cls, name, target.text)  # a link, or a slip of the pen
        raise _refused(cls, name, f"a link can always be None: {target.__name__} | None")
    if declared.primary_key:
        raise _refused(cls, name, "a link cannot be a primary key")
    if declared.indexed:
        raise _refused(cls, name, "a link has an index anyway: it cannot be asked for")
    if declared.unique:
        raise _refused(cls, name, "a link cannot be unique by itself: an Index of it and another property can")
    if declared.default is not MISSING and declared.default is not None:
        raise _refused(cls, name, "the default of a link can only be None, or what a default_factory makes")
    return Property(
        name,
        index,
        kinds.LINK,
        nullable=True,
        default=declared.default,
        target=target,
        cascade=declared.cascade,
        default_factory=declared.default_factory,
    )


def _link_target(annotation: Any) -> tuple[Any, bool]:
    """The model class of an annotation, or Later, if it is that of a link; and whether None is allowed."""
    others = [a for a in typing.get_args(annotation) if a is not type(None)]
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType) and len(others) == 1
    plain = others[0] if union else annotation
    return plain if isinstance(plain, (ModelMeta, Later)) else None, union


def _is_backlinks(annotation: Any) -> bool:
    from .results import Backlinks

    return annotation is Backlinks or typing.get_origin(annotation) is Backlinks


def _inverse(cls: type, name: str, annotation: Any, given: Any) -> Inverse:
    origin = typing.get_args(annotation)[0] if _is_backlinks(annotation) and typing.get_args(annotation) else None
    if isinstance(origin, typing.ForwardRef):
        origin = Later(origin.__forward_arg__, cls.__module__)
    if not isinstance(origin, (ModelMeta, Later)) or not isinstance(given, DeclaredBacklinks):
        raise SchemaError(
            f'{cls.__name__}.{name}: an inverse is declared as {name}: Backlinks["Dog"] = backlinks("owner")',
            class_name=cls.__name__,
            property_name=name,
        )
    return Inverse(name, origin, given.origin_property)


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
    Embedded. They have no primary key; otherwise they are objects like others, can be asked for and observed.
    """

    _objstore_embedded = True

    @property
    def parent(self) -> Model | None:
        """The object that this one lies in; None while it is unmanaged."""
        found: Model | None = embedded.parent(self)
        return found
