"""The types that a class body declares, and the properties that are made of them."""

import enum
import inspect
import types
import typing
import uuid
from typing import Any

from ..collections.dicts import Dict
from ..collections.lists import List
from ..collections.sets import Set
from ..errors import NotSupported, SchemaError
from ..objects.model_types import ModelType
from ..values import custom_types, elements, kinds
from ..values.counters import Counter
from ..values.custom_types import Custom
from ..values.elements import Element, Shape
from ..values.kinds import MISSING
from ..values.object_id import ObjectId
from . import links
from .inverses import AnyBacklinks, DeclaredBacklinks, Inverse
from .links import Later
from .properties import Declared, Property

NO_KEY = "a primary key is an int, a str, an ObjectId or a UUID, or one of them | None"
NO_CASCADE = "on_delete is for links, and lists, sets and dicts of links"
NO_WORDS = "full_text is for texts: words are searched for in a str, or str | None"
COLLECTIONS: dict[Any, int] = {
    list: kinds.LIST,
    List: kinds.LIST,
    set: kinds.SET,
    Set: kinds.SET,
    dict: kinds.MAP,
    Dict: kinds.MAP,
}


def resolve(cls: type, name: str, annotation: Any, scope: dict[str, Any]) -> Any:
    """The annotation as an object; a text, also one inside of Optional[…], is looked up in the module, and where the
    class is defined."""
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
            raise refused(cls, name, f"its type {text!r} cannot be read: {error}") from None
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        if kinds.Single in arguments[1:]:
            return kinds.Single
        return resolve(cls, name, arguments[0], scope)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.Union[tuple(resolve(cls, name, argument, scope) for argument in arguments)]  # noqa: UP007
    if typing.get_origin(annotation) in COLLECTIONS:
        resolved = tuple(resolve(cls, name, argument, scope) for argument in arguments)
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
        "Float32, Decimal, str, bytes, datetime, ObjectId, UUID, an enum.Enum of int or str, what register_type() was "
        "told of, and each of them | None; list[…], set[…] and dict[…, …] of these, or of Any; Any; a model class | "
        "None, which is a link, list[a model class], set[a model class], dict[…, a model class | None]; Backlinks[…]",
        class_name=cls.__name__,
        property_name=name,
    )


def _no_type(cls: type, name: str, given: Any) -> SchemaError:
    if isinstance(given, types.ModuleType):
        return refused(cls, name, f"its type is the module {given.__name__}, and not a class in it")
    shown = "what field() returned" if isinstance(given, Declared) else repr(given)
    return refused(
        cls,
        name,
        f"its type is {shown}, which is none: in a class body a property that has a default hides the type that is "
        "called like it; "
        "import that by another name, or begin the file with `from __future__ import annotations`",
    )


def _scalar(cls: type, name: str, annotation: Any, whole: Any) -> "tuple[int, bool, type[enum.Enum] | Custom | None]":
    """The kind of a single value, whether it may be None, and its enumeration, or its type if that is one of the
    program; `whole` is the annotation around it."""
    plain, nullable = annotation, False
    if typing.get_origin(plain) in (typing.Union, types.UnionType):
        arguments = typing.get_args(plain)
        others = [a for a in arguments if a is not type(None)]
        if len(others) != 1 or len(arguments) != 2:
            raise _unsupported(cls, name, whole)
        plain, nullable = others[0], True
    custom = custom_types.declared(plain)
    if custom is not None:
        return custom.kind, nullable, custom
    enumeration = plain if isinstance(plain, type) and issubclass(plain, enum.Enum) else None
    kind = (
        kinds.enum_kind(enumeration) if enumeration else kinds.BY_TYPE.get(plain) if isinstance(plain, type) else None
    )
    if kind is None:
        raise _unsupported(cls, name, whole)
    return kind, nullable, enumeration


def refused(cls: type, name: str, message: str) -> SchemaError:
    return SchemaError(f"{cls.__name__}.{name}: {message}", class_name=cls.__name__, property_name=name)


def property_of(cls: type, name: str, index: int, annotation: Any, declared: Declared) -> Property:
    if declared.default is not MISSING and declared.default_factory is not MISSING:
        raise refused(cls, name, "it has a default and a default_factory; one of them is enough")
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
        raise refused(cls, name, NO_CASCADE)
    if declared.primary_key and (kind not in kinds.KEYS or counter):
        raise refused(cls, name, NO_KEY)
    if declared.full_text and kind != kinds.STRING:
        raise refused(cls, name, NO_WORDS)
    if (declared.indexed or declared.unique) and kind == kinds.BINARY:
        raise refused(cls, name, "bytes cannot be indexed" if declared.indexed else "bytes cannot be unique")
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
        full_text=declared.full_text,
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
        raise refused(
            cls, name, "generated are ObjectIds and UUIDs, and an int that is the primary key, and never None"
        )
    if declared.default is not MISSING or declared.default_factory is not MISSING:
        raise refused(cls, name, "what is generated has no default")


def _is_any(annotation: Any) -> bool:
    return annotation is Any or bool(annotation == typing.Optional[Any])  # noqa: UP045


def _mixed(cls: type, name: str, index: int, declared: Declared) -> Property:
    if declared.cascade:
        raise refused(cls, name, NO_CASCADE)
    if declared.primary_key:
        raise refused(cls, name, NO_KEY)
    if declared.full_text:
        raise refused(cls, name, NO_WORDS)
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
        raise refused(cls, name, f"say what is in the {python_type.__name__}, as in {example}")
    key = None
    if kind == kinds.MAP:
        key_kind, nullable, enumeration = _scalar(cls, name, arguments[0], annotation)
        if key_kind not in kinds.KEYS or nullable or isinstance(enumeration, Custom):
            raise refused(cls, name, "a key is an int, a str, an ObjectId, a UUID or an enum.Enum, and never None")
        key = Element(key_kind, False, enumeration, elements.KEY)
    target, nullable = _link_target(arguments[-1])
    if _is_any(arguments[-1]):
        element = Element(kinds.MIXED, True, None, elements.ELEMENT)
    elif target is None:
        element = Element(*_scalar(cls, name, arguments[-1], annotation), elements.ELEMENT)
    elif nullable != (kind == kinds.MAP):
        shown = f"{target.__name__}{'' if nullable else ' | None'}"
        message = "never None: an object that is deleted leaves it" if nullable else "None when its object is deleted"
        raise refused(cls, name, f"a link in a {python_type.__name__} is {message}; declare it as {shown}")
    else:
        element = Element(kinds.LINK, nullable, None, elements.ELEMENT, target)
    if declared.primary_key or declared.indexed or declared.unique:
        raise refused(cls, name, f"a {python_type.__name__} is no primary key, has no index, and is not unique")
    if declared.full_text:
        raise refused(cls, name, NO_WORDS)
    if declared.default is not MISSING:
        raise refused(
            cls, name, f"what a {python_type.__name__} begins with is said by a function: field(default_factory=…)"
        )
    factory = MISSING if declared.default_factory is python_type else declared.default_factory
    if declared.generated or (declared.cascade and target is None):
        raise refused(cls, name, NO_CASCADE if declared.cascade else f"a {python_type.__name__} is not generated")
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
        raise refused(cls, name, f"a link can always be None: {target.__name__} | None")
    if declared.primary_key:
        raise refused(cls, name, "a link cannot be a primary key")
    if declared.full_text:
        raise refused(cls, name, NO_WORDS)
    if declared.indexed:
        raise refused(cls, name, "a link has an index anyway: it cannot be asked for")
    if declared.unique:
        raise refused(cls, name, "a link cannot be unique by itself: an Index of it and another property can")
    if declared.default is not MISSING and declared.default is not None:
        raise refused(cls, name, "the default of a link can only be None, or what a default_factory makes")
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
    return plain if isinstance(plain, (ModelType, Later)) else None, union


def is_backlinks(annotation: Any) -> bool:
    declared = typing.get_origin(annotation) or annotation
    return isinstance(declared, type) and issubclass(declared, AnyBacklinks)


def inverse_of(cls: type, name: str, annotation: Any, given: Any) -> Inverse:
    origin = typing.get_args(annotation)[0] if is_backlinks(annotation) and typing.get_args(annotation) else None
    if isinstance(origin, typing.ForwardRef):
        origin = Later(origin.__forward_arg__, cls.__module__)
    if not isinstance(origin, (ModelType, Later)) or not isinstance(given, DeclaredBacklinks):
        raise SchemaError(
            f'{cls.__name__}.{name}: an inverse is declared as {name}: Backlinks["Dog"] = backlinks("owner")',
            class_name=cls.__name__,
            property_name=name,
        )
    return Inverse(name, origin, given.origin_property)
