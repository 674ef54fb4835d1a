"""Types of the program that are stored as others: which there are."""

import weakref
from collections.abc import Callable
from typing import Any


class Custom:
    """How values of a type are stored, and made of what is."""

    __slots__ = ("python_type", "kind", "store", "load")

    def __init__(self, python_type: type, kind: int, store: Callable[[Any], Any], load: Callable[[Any], Any]) -> None:
        self.python_type = python_type
        self.kind = kind  # that of what is stored
        self.store = store
        self.load = load  # None, or a ValueError: what is stored is no value of the type

    @property
    def __name__(self) -> str:
        return self.python_type.__name__


_registered: dict[type, Custom] = {}
_found: "weakref.WeakKeyDictionary[type, Custom | None]" = weakref.WeakKeyDictionary()  # of subclasses, too


def register(custom: Custom) -> None:
    _registered[custom.python_type] = custom
    _found.clear()


def declared(python_type: Any) -> Custom | None:
    """For an annotation."""
    return _registered.get(python_type) if isinstance(python_type, type) else None


def of(value: object) -> Custom | None:
    """For a value, which may be of a subclass, as a Path always is."""
    if not _registered:
        return None
    kind = type(value)
    try:
        return _found[kind]
    except KeyError:
        pass
    found = next((_registered[base] for base in kind.__mro__ if base in _registered), None)
    _found[kind] = found
    return found
