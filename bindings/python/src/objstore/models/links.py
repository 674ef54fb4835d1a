"""Links: properties that lead to another object, and the classes that they lead to.

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
import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import SchemaError, about
from ..values.kinds import SET, is_embedded, is_same

if TYPE_CHECKING:
    from .properties import Property


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

    def newest(self) -> type | None:
        """The class that is meant, as far as that is known before a store is opened: the one that has the name in its
        module, or that was declared there last, inside of a function."""
        return self.there() or _declared.get((self.module, self.__name__))


_declared: "weakref.WeakValueDictionary[tuple[str, str], type]" = weakref.WeakValueDictionary()


def declare(model: type) -> None:
    """It can be found by its name from now on."""
    _declared[model.__module__, model.__name__] = model


class Names(dict[str, Any]):
    """What the names of an annotation mean; those that mean nothing yet are classes to come."""

    def __init__(self, module: str, scope: Mapping[str, Any]) -> None:
        super().__init__(scope)
        self._module = module

    def __missing__(self, name: str) -> Any:
        module = sys.modules.get(self._module)  # None: the class is in a text that exec() ran
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
            raise about(SchemaError, prop, f"{prop.path} is a link to {target.text}, which is not among the models")
        target = _aim(prop, found)
    assert isinstance(target, type)
    known = models.get(target.__name__)
    if known is not target and known is not None and is_same(known, target):
        return _aim(prop, known)  # it was defined again since
    if known is not target:
        raise about(SchemaError, prop, f"{prop.path} is a link to {target.__name__}, which is not among the models")
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
        raise about(
            SchemaError,
            prop,
            f"{prop.path} is a set of {prop.target.__name__}, whose objects are embedded: a list or dict can hold them",
        )


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
