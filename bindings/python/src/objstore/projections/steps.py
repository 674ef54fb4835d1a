"""Where a property of a projection leads: one property of the class, or several one behind the other.

projected(Person.first_name)                   first_name
projected(Person.address.city)                 address, city
projected(Person.friends, Person.first_name)   friends, then of each of them first_name
"""

from collections.abc import Iterable
from typing import Any

from ..errors import NoSuchProperty, SchemaError
from ..messages import a
from ..models import links, nodes
from ..models.expressions import Operand
from ..values.kinds import MAP, is_same


class Steps:
    """The properties on the way, by their names in the objects."""

    __slots__ = ("through", "member", "behind", "is_of_dict")

    def __init__(self, described: "list[Any]") -> None:
        many = next((at for at, each in enumerate(described) if each.shape is not None), None)
        last = len(described) - 1 if many is None else many
        names = [each.name for each in described]
        self.through: list[str] = names[:last]  # links and embedded objects on the way to what has the property
        self.member: str = names[last]
        self.behind: list[str] = names[last + 1 :]  # of each object of a collection
        self.is_of_dict: bool = described[last].shape is not None and described[last].shape.kind == MAP

    @property
    def path(self) -> str:
        return ".".join([*self.through, self.member, *self.behind])

    @property
    def is_direct(self) -> bool:
        """Is it a property of the object itself?"""
        return not self.through and not self.behind

    def holder(self, obj: Any) -> Any:
        """What has the property; None: something on the way is None."""
        for name in self.through:
            obj = getattr(obj, name)
            if obj is None:
                return None
        return obj


def observed(steps: Iterable[Steps]) -> list[str]:
    """The key paths that observers are asked to follow."""
    return list(dict.fromkeys(each.path for each in steps))


def resolve(path: tuple[Any, ...], model: Any, where: str) -> Steps:
    """The steps of what projected() was given. SchemaError, NoSuchProperty: `where` is told what is wrong with it."""
    described: list[Any] = []
    at = model
    for part in path:
        if at is None:
            raise _wrong(where, f"{described[-1].path} leads to no object, which could have {_shown(part)}")
        for name in _names(part, at, where):
            if at is None:
                raise _wrong(where, f"{described[-1].path} leads to no object, which could have {name[1]!r}")
            found = _found(at, name)
            if found is None:
                has = ", ".join(each.name for each in (*at._objstore_properties, *at._objstore_inverses))
                raise NoSuchProperty(
                    f"{where}: class {at.__name__} does not have a property {name[1]!r}; it has {has}",
                    class_name=at.__name__,
                    property_name=name[1],
                )
            described.append(found)
            at = _target(found, where)
    if sum(each.shape is not None for each in described[:-1]) > (described[-1].shape is None):
        raise _wrong(where, f"{_path(described)}: what is behind a collection is one value of each of its objects")
    return Steps(described)


def _path(described: list[Any]) -> str:
    return ".".join([described[0].path, *(each.name for each in described[1:])])


def _names(part: Any, model: Any, where: str) -> list[tuple[str, str]]:
    """Of a text, or an operand of that class: (of which class links come, or "", name)."""
    if isinstance(part, str):
        return [("", name) for name in part.split(".")]
    if not isinstance(part, Operand):
        raise _wrong(where, f"projected() takes properties, such as Person.name, or a path as text, not {part!r}")
    for root in part._properties:
        if not is_same(root.model, model):
            raise _wrong(where, f"{_shown(part)} is a property of {root.model_name}, and not of {model.__name__}")
    found = nodes.names(part._nodes)
    if not found:
        raise _wrong(where, f"{_shown(part)} is no property, but computed of some, or an element of a collection")
    return found


def _shown(part: Any) -> str:
    return str(getattr(getattr(part, "_described", None), "path", None) or repr(part))


def _found(model: Any, name: tuple[str, str]) -> Any:
    origin, text = name
    if origin:
        return next(
            (i for i in model._objstore_inverses if (i.origin.__name__, i.origin_property) == (origin, text)), None
        )
    inverse = next((i for i in model._objstore_inverses if i.name == text), None)
    return inverse or model._objstore_by_name.get(text)


def _target(described: Any, where: str) -> Any:
    target = described.target
    if not isinstance(target, links.Later):
        return target
    return target.newest()


def _wrong(where: str, message: str) -> SchemaError:
    class_name, _, property_name = where.partition(".")
    return SchemaError(f"{where}: {message}", class_name=class_name, property_name=property_name or None)


def not_a_model(name: str, given: object) -> SchemaError:
    return SchemaError(
        f"class {name}(objstore.Projection[Person]): a model class is wanted in the brackets, not {given!r} "
        f"({a(type(given).__name__)})",
        class_name=name,
    )
