"""Projections: what a view of an object looks like in Python."""

import keyword
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from ..errors import Error, InvalidArgument, NoSuchObject, NoSuchProperty, SchemaError, WrongType
from ..messages import a, shown
from ..models.model import Model
from ..objects import state
from ..objects.model_types import ModelType
from ..observing.tokens import Token
from ..values.kinds import is_same
from .changes import ProjectedChanges, telling_of_one
from .lists import ProjectedList
from .steps import Steps, not_a_model, observed, resolve

if TYPE_CHECKING:
    from typing_extensions import Self

M = TypeVar("M", bound=Model)
N = TypeVar("N")


class Projected:
    """A property of a projection: what projected() returns."""

    __slots__ = ("_path", "name", "projection_name", "steps")

    def __init__(self, path: tuple[Any, ...]) -> None:
        self._path = path
        self.name = self.projection_name = ""  # known when the class is ready, as are
        self.steps: Steps = None  # type: ignore[assignment]

    def attach(self, name: str, projection_name: str, model: Any) -> None:
        self.name, self.projection_name = name, projection_name
        self.steps = resolve(self._path, model, f"{projection_name}.{name}")

    def value(self, obj: Any) -> Any:
        """What the object has there; None: something on the way is None."""
        steps = self.steps
        holder = steps.holder(obj)
        if holder is None:
            return None
        found = getattr(holder, steps.member)
        return ProjectedList(found, steps.behind, steps.is_of_dict) if steps.behind else found

    def __get__(self, view: Any, owner: Any = None) -> Any:
        return self if view is None else self.value(view._o_base)

    def __set__(self, view: Any, value: Any) -> None:
        steps = self.steps
        if steps.behind:
            raise self._refused(
                InvalidArgument, f"cannot be set: set its elements, or {type(view._o_base).__name__}.{steps.member}"
            )
        holder = steps.holder(view._o_base)
        if holder is None:
            where = f"{type(view._o_base).__name__}.{steps.path}"
            raise self._refused(NoSuchObject, f"cannot be set: on the way to {where} there is None")
        setattr(holder, steps.member, value)

    def _refused(self, kind: "type[Any]", message: str) -> Error:
        made: Error = kind(
            f"{self.projection_name}.{self.name} {message}", class_name=self.projection_name, property_name=self.name
        )
        return made

    def __repr__(self) -> str:
        return f"<projected {self.projection_name}.{self.name}>"


@overload
def projected(property: N, /) -> N: ...
@overload
def projected(collection: Mapping[Any, Any], member: N, /) -> "ProjectedList[N | None]": ...
@overload
def projected(collection: Iterable[Any], member: N, /) -> ProjectedList[N]: ...
@overload
def projected(link: object, member: N, /) -> "N | None": ...
@overload
def projected(first: object, second: object, third: object, /, *more: object) -> Any: ...
@overload
def projected(*, path: str) -> Any: ...
def projected(*properties: Any, path: str | None = None) -> Any:
    """What a property of a Projection shows:

        projected(Person.first_name)                    a property, under this or another name
        projected(Person.address, Address.city)         of what a link leads to, or what is embedded; None if that is
        projected(Person.address.city)                  the same
        projected(path="address.city")                  the same as text
        projected(Person.friends, Person.first_name)    of each object of a list, set, dict or inverse: a ProjectedList

    Setting it sets that, inside a write."""
    if (path is None) == (not properties):
        raise InvalidArgument("projected() takes properties, such as projected(Person.name), or a path")
    return Projected(properties or (path,))


class ProjectionMeta(type):
    """Finds what a projection shows."""

    _objstore_model: Any = None
    _objstore_projected: "dict[str, Projected]" = {}

    def __new__(
        meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> "ProjectionMeta":
        namespace.setdefault("__slots__", ())  # a misspelt attribute is an error, not a new one
        cls = super().__new__(meta, name, bases, namespace, **options)
        if any(isinstance(base, ProjectionMeta) for base in bases):
            _declare(cls, name, namespace)
        return cls


def _declare(cls: ProjectionMeta, name: str, namespace: dict[str, Any]) -> None:
    for base in namespace.get("__orig_bases__", ()):
        if typing.get_origin(base) is Projection:
            model = typing.get_args(base)[0]
            if not isinstance(model, ModelType) or "_objstore_is_base" in vars(model):
                raise not_a_model(name, model)
            cls._objstore_model = model
    model = cls._objstore_model
    if model is None:
        raise SchemaError(
            f"class {name}: say what it is a projection of: class {name}(objstore.Projection[Person])", class_name=name
        )
    found: dict[str, Projected] = {}
    for inherited in reversed(cls.__mro__[1:]):
        if isinstance(inherited, ProjectionMeta):
            if inherited._objstore_model is not None and not is_same(inherited._objstore_model, model):
                raise SchemaError(
                    f"class {name}: it is a projection of {model.__name__}, and {inherited.__name__} one of "
                    f"{inherited._objstore_model.__name__}",
                    class_name=name,
                )
            found |= inherited._objstore_projected
    for attribute, value in namespace.items():
        if isinstance(value, Projected):
            if attribute in _RESERVED or attribute.startswith("_o_") or keyword.iskeyword(attribute):
                raise SchemaError(
                    f"{name}.{attribute}: the name is used by objstore.Projection",
                    class_name=name,
                    property_name=attribute,
                )
            value.attach(attribute, name, model)
            found[attribute] = value
        elif attribute in found:
            del found[attribute]
    cls._objstore_projected = found


class Projection(Generic[M], metaclass=ProjectionMeta):
    """The base of views of an object, which show a part of it, under names of their own:

        class PersonView(objstore.Projection[Person]):
            first_name = projected(Person.first_name)
            home_city = projected(Person.address, Address.city)
            friend_names = projected(Person.friends, Person.first_name)

        for view in store.objects(PersonView).where(Person.age > 3): print(view.first_name, view.home_city)
        PersonView(person).first_name = "David"         # inside a write

    A projection stores nothing: reading an attribute reads what it shows of the object, `view.base`, setting one sets
    it there. So it is live, frozen or unmanaged as the object is. Conditions are about the object's own class. Two are
    equal when they are of one class and their objects are equal.
    """

    __slots__ = ("_o_base", "__weakref__")
    _o_base: M

    _objstore_model: ClassVar[Any]
    _objstore_projected: ClassVar[dict[str, Projected]]

    def __init__(self, base: M, /) -> None:
        model = model_of(type(self))
        if not isinstance(base, Model) or not (isinstance(base, model) or is_same(type(base), model)):
            raise WrongType(
                f"{type(self).__name__}() takes {a(model.__name__)}, not {shown(base)} ({type(base).__name__})",
                class_name=type(self).__name__,
            )
        self._o_base = base

    @property
    def base(self) -> M:
        """The object that is shown."""
        return self._o_base

    @property
    def is_managed(self) -> bool:
        """Does the object belong to a store?"""
        return self._o_base.is_managed

    @property
    def is_frozen(self) -> bool:
        """Does it permanently show one version?"""
        return self._o_base.is_frozen

    @property
    def is_valid(self) -> bool:
        """Can its attributes be read? Not when the object was deleted, or its store closed."""
        return self._o_base.is_valid

    def freeze(self) -> "Self":
        """The same of the object as it is now, frozen: see Model.freeze()."""
        return type(self)(self._o_base.freeze())

    def thaw(self) -> "Self | None":
        """The same of the live object; None: it was deleted. See Model.thaw()."""
        live = self._o_base.thaw()
        return None if live is None else type(self)(live)

    def observe(
        self,
        handler: "Callable[[ProjectedChanges[Self]], object]",
        keys: "Iterable[object] | None" = None,
        *,
        initial: bool = False,
        since: bytes | None = None,
    ) -> Token:
        """Calls handler(change) when what is projected is changed, or the object deleted: see Model.observe().
        `change.written(0)` are names of the projection; `keys` are some of these, or PersonView.first_name."""
        fields = fields_of(type(self), keys)
        told = telling_of_one(type(self), fields, handler)
        return self._o_base.observe(told, observed(prop.steps for prop in fields), initial=initial, since=since)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and bool(self._o_base == other._o_base)

    def __hash__(self) -> int:
        return hash((type(self), self._o_base))

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            if self.is_valid:
                values = (
                    f"{each}={_text(prop.value(self._o_base))}" for each, prop in type(self)._objstore_projected.items()
                )
                return f"{name}({', '.join(values)})"
        except Error as error:
            return f"<{name}, {error.message}>"
        return f"<{name} of {self._o_base!r}>"


def _text(value: Any) -> str:
    """Of another object only what it is: links lead in circles."""
    return state.named(value)


_RESERVED = frozenset(name for name in vars(Projection) if not name.startswith("__")) | {"__slots__"}


def model_of(projection: Any) -> Any:
    """The class that is projected."""
    if projection._objstore_model is None:
        raise InvalidArgument("objstore.Projection is the base of your classes, and shows nothing itself")
    return projection._objstore_model


def fields_of(projection: Any, keys: "Iterable[object] | None") -> "list[Projected]":
    """The properties of a projection that are meant, by name or as PersonView.first_name; None: all."""
    known: dict[str, Projected] = projection._objstore_projected
    if keys is None:
        return list(known.values())
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise InvalidArgument(f"keys is a list of properties of {projection.__name__}, not {shown(keys)}")
    found = []
    for key in keys:
        name = key.name if isinstance(key, Projected) else key
        prop = known.get(name) if isinstance(name, str) else None
        if prop is None or (isinstance(key, Projected) and prop is not key):
            raise NoSuchProperty(
                f"keys: a property of {projection.__name__} is wanted, which has {', '.join(known)}, not {shown(key)}",
                class_name=projection.__name__,
                property_name=name if isinstance(name, str) else None,
            )
        found.append(prop)
    return found


def observed_keys(fields: "Iterable[Projected]") -> list[str]:
    return observed(prop.steps for prop in fields)
