"""References: which object or collection is meant, for another thread, another task, or later."""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..collections.collection import Collection
from ..errors import InvalidArgument, WrongStore
from ..messages import a
from ..models.model import Model
from ..objects import state, versions

if TYPE_CHECKING:
    from .lookup import Source
    from .open_store import OpenStore


T = TypeVar("T")


class Reference(Generic[T]):
    """Which object is meant, or which list, set or dict of one: `Reference(jane)`. Any thread or task may resolve it,
    as often as it likes. It pins nothing, and says nothing about what the object has: `resolve()` finds it as it is
    now, in a write as it is there, and None where it was deleted.

    Live objects may cross threads as well; a reference also says whether its object is still there. Of what is frozen
    it refers to the live one. WrongStore: the object is unmanaged. InvalidArgument: it is none."""

    __slots__ = ("_store", "_given", "_place")

    def __init__(self, to: T) -> None:
        if isinstance(to, Model):
            source = to._o_block.store
            if source is None:
                raise WrongStore(f"this {type(to).__name__} belongs to no store: there is nothing to refer to")
            self._place: tuple[int, ...] = (source._binding(type(to)).head, to._o_key)
            self._given: Any = type(to)
        elif isinstance(to, Collection):
            source = to._source
            self._place = to._place
            self._given = to
        else:
            raise InvalidArgument(f"an object of a store is wanted, or a list, set or dict of one, not {to!r}")
        self._store: OpenStore = source._live
        if isinstance(to, Collection):
            self._given = versions.moved(to, self._store)  # what is frozen would keep its version

    def resolve(self) -> T | None:
        """What it refers to, live; None: that was deleted. Closed: the store is closed."""
        return self._in(self._store)

    def _in(self, source: "Source") -> T | None:
        live = source._live
        live._open_handle()
        self._store._open_handle()  # Closed: the tag may have gone to another file since
        if live._tag != self._store._tag:
            raise WrongStore(f"this reference is to an object of {self._store.path!r}, not of {live.path!r}")
        head, key = self._place[:2]
        if not source._reader().exists(head, key):
            return None
        if isinstance(self._given, Collection):
            return versions.moved(self._given, source)  # type: ignore[return-value]
        return state.make(self._given, source._unread(source._binding(self._given)), key)  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._place == other._place

    def __hash__(self) -> int:
        return hash(self._place)

    def __repr__(self) -> str:
        name = self._given._prop.path if isinstance(self._given, Collection) else self._given.__name__
        return (
            f"<Reference to {name} of object {self._place[1]}>"
            if len(self._place) > 2
            else (f"<Reference to {name} {self._place[1]}>")
        )

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(f"{a(type(self).__name__)} is of this process alone: send the primary key of the object")
