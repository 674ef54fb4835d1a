"""Frozen collections and back: the same list, set or dict in another version of its store."""

from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import NoSuchObject
from ..reading.views import Epoch

if TYPE_CHECKING:
    from ..stores.lookup import Source

C = TypeVar("C")


def moved(collection: C, source: "Source") -> C:
    """The same that is read through something else."""
    made: Any = object.__new__(type(collection))
    for slot in collection._copied:  # type: ignore[attr-defined]
        setattr(made, slot, getattr(collection, slot))
    made._source, made._epoch = source, Epoch(False)
    return made  # type: ignore[no-any-return]


def freeze(collection: C, head: int, key: int) -> C:
    """`head` and `key` are those of the object that it is a part of."""
    given: Any = collection
    source = given._source._lasting()
    if source is given._source:
        return collection
    if not source._reader().exists(head, key):
        if given._source._reader().exists(head, key):
            raise being_made(given._prop.model_name)
        raise NoSuchObject(f"this {given._prop.model_name} was deleted", class_name=given._prop.model_name)
    return moved(collection, source)


def being_made(class_name: str) -> NoSuchObject:
    return NoSuchObject(
        f"the write that has made this {class_name} is not over: no version has it that could be frozen",
        class_name=class_name,
    )


def thaw(collection: C, head: int, key: int) -> C | None:
    given: Any = collection
    live = given._source._live
    if live is given._source:
        return collection
    live._open_handle()  # Closed
    return moved(collection, live) if live._reader().exists(head, key) else None
