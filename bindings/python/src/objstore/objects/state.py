"""What every object has: where its values are, which object it is, and how it is shown."""

from collections import deque
from contextlib import suppress
from itertools import repeat
from typing import TYPE_CHECKING, Any

from ..errors import Closed, Error, NoSuchObject, NotInWrite, WrongStore
from ..native.callbacks import hand_on
from ..reading.views import Block
from ..values import kinds
from . import versions

if TYPE_CHECKING:
    from ..reading.views import View
    from ..schema.bindings import Binding


class Slots:
    """What every object has."""

    __slots__ = (
        "_o_block",  # where its values are: LOOSE, or a Block, which is replaced as time goes on
        "_o_row",  # its row there; never changes
        "_o_key",  # its key in the store, if managed
        "_o_values",  # its values, while unmanaged
        "__weakref__",
    )
    _o_block: Any
    _o_row: int
    _o_key: int
    _o_values: list[Any] | None


class _LooseEpoch:
    fast = False


class _Loose:
    """The block of unmanaged objects: their values are their own."""

    epoch = _LooseEpoch()
    store = None
    columns: list[Any] = []


LOOSE = _Loose()


def start(obj: Any, values: list[Any]) -> None:
    """Makes an object that was just created unmanaged, with these values."""
    obj._o_values = values
    obj._o_block = LOOSE
    obj._o_row = 0


def blank(model: type) -> Any:
    """An unmanaged object whose values are still to come."""
    made: Any = object.__new__(model)
    # Of their types: where objects lead in a circle, a message may show one before its values are there.
    start(made, [None if p.shape is None else p.python_type() for p in made._objstore_properties])
    return made


def loose_values(obj: Any) -> list[Any]:
    """The values of an unmanaged object."""
    if obj._o_block.store is not None:
        raise TypeError(
            f"this {type(obj).__name__} is managed by a store: copy or pickle obj.detach(), or send its key"
        )
    values: list[Any] = obj._o_values
    return values


def read(obj: Any, index: int) -> Any:
    """The value of a property that is not at hand in the object's block, or perhaps not good any more."""
    block = obj._o_block
    store = block.store
    if store is None:
        return obj._o_values[index]
    binding = store._binding(type(obj))
    view = store._view_for(block.epoch)
    key = obj._o_key
    if block.epoch is view.epoch and (binding.class_id, key) not in view.written:
        column = block.columns[index]
        if column is None:
            column = block.column(binding, index)
        if column is not None:
            return column[obj._o_row]
        value = view.get(binding, key, index)
        if block.single:
            block.columns[index] = {obj._o_row: value}
        return value
    value = view.get(binding, key, index)
    obj._o_block = fresh = view_block(view, store, binding)
    fresh.columns[index] = {obj._o_row: value}
    return value


def view_block(view: "View", store: Any, binding: "Binding") -> Block:
    """A block of one object, with nothing in it yet."""
    return Block(view.epoch, store, [None] * len(binding.properties), None, True)


def make(model: type, block: Any, key: int, row: int = 0) -> Any:
    """A managed object."""
    obj: Any = object.__new__(model)
    obj._o_block = block
    obj._o_key = key
    obj._o_row = row
    return obj


def make_many(model: Any, block: Any, keys: list[int], rows: Any) -> list[Any]:
    """Managed objects of one block. Every loop is inside the interpreter: 0.2 µs an object."""
    made: list[Any] = list(map(object.__new__, repeat(model, len(keys))))
    _set_all("_o_block", made, repeat(block))
    _set_all("_o_key", made, keys)
    _set_all("_o_row", made, rows)
    return made


def manage(objects: list[Any], block: Block, keys: Any) -> None:
    """Makes unmanaged objects managed ones. They keep their values until forget(), for loosen()."""
    _set_all("_o_key", objects, keys)
    _set_all("_o_block", objects, repeat(block))


def forget(objects: list[Any]) -> None:
    """Drops the values that managed objects had while unmanaged: the transaction that added them is committed."""
    _set_all("_o_values", objects, repeat(None))


def loosen(objects: list[Any]) -> None:
    """Makes objects unmanaged again: the transaction that added them was cancelled."""
    _set_all("_o_block", objects, repeat(LOOSE))


def _set_all(slot: str, objects: list[Any], values: Any) -> None:
    deque(map(getattr(Slots, slot).__set__, objects, values), maxlen=0)


def named(value: Any) -> str:
    """As in the repr of an object that has it: of another object only what it is, since links lead in circles."""
    if not isinstance(value, Slots):
        return repr(value)
    model: Any = type(value)
    key = model._objstore_key
    with suppress(Error):  # gone just now, or behind a fork()
        if key and exists(value):
            return f"<{model.__name__} {', '.join(repr(getattr(value, part.name)) for part in key)}>"
    return f"<{model.__name__}>" if value._o_block.store is None else f"<{model.__name__} #{value._o_key}>"


class _Named:
    """Represents an object in output that shows its owner."""

    def __init__(self, obj: Any) -> None:
        self._obj = obj

    def __repr__(self) -> str:
        return named(self._obj)


def readable(value: Any) -> Any:
    """A plain mixed value whose objects say only what they are: links lead in circles."""
    return kinds.with_objects(value, _Named)


def exists(obj: Any) -> bool:
    store = obj._o_block.store
    if store is None:
        return True
    try:
        view: View = store._reader()
        return view.exists(store._binding(type(obj)).head, obj._o_key)
    except Closed as error:
        hand_on(error)
        return False


def freeze(obj: Any) -> Any:
    store = obj._o_block.store
    if store is None:
        raise WrongStore(f"this {type(obj).__name__} belongs to no store: there is nothing to freeze")
    frozen = store._lasting()
    if frozen is store:
        return obj
    binding = frozen._binding(type(obj))
    made = make(type(obj), frozen._unread(binding), obj._o_key)
    if not made.is_valid:
        if obj.is_valid:
            raise versions.being_made(type(obj).__name__)
        first = getattr(made, binding.properties[0].name)  # raises NoSuchObject, with all there is to say
        len(first)  # as a collection does when it is used
    return made


def thaw(obj: Any) -> Any:
    store = obj._o_block.store
    if store is None:
        raise WrongStore(f"this {type(obj).__name__} belongs to no store: there is nothing to thaw")
    live = store._live
    if live is store:
        return obj
    live._open_handle()  # Closed
    binding = live._binding(type(obj))
    if not live._reader().exists(binding.head, obj._o_key):
        return None
    return make(type(obj), live._unread(binding), obj._o_key)


def observe(obj: Any, handler: Any, keys: Any, initial: bool, since: bytes | None) -> Any:
    store = obj._o_block.store
    if store is None:
        raise WrongStore(f"this {type(obj).__name__} belongs to no store: there is nothing to observe")
    if not obj.is_valid:
        raise NoSuchObject(f"this {type(obj).__name__} was deleted", class_name=type(obj).__name__)
    return store._observed()._observe_object(store._binding(type(obj)), obj._o_key, handler, keys, initial, since)


def identity(obj: Any) -> tuple[int, int] | None:
    """Store and class in one number, and key; None of an unmanaged object."""
    store = obj._o_block.store
    return None if store is None else (store._binding(type(obj)).head, obj._o_key)


def name_of(obj: Any) -> Any:
    """What identifies an object, however often it was read."""
    return identity(obj) or id(obj)


def same(a: Any, b: Any) -> bool:
    if not hasattr(b, "_o_block"):
        return False
    mine = identity(a)
    return mine is not None and mine == identity(b)


def hash_of(obj: Any) -> int:
    mine = identity(obj)
    return object.__hash__(obj) if mine is None else hash(mine)


def not_in_write(what: str, class_name: str | None = None, property_name: str | None = None) -> NotInWrite:
    return NotInWrite(
        f"{what} is possible only inside 'with store.write():' of the same store, on the thread that began it",
        class_name=class_name,
        property_name=property_name,
    )
