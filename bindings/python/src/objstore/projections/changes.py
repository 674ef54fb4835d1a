"""What observers of projections are told: change sets whose objects are projections."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..native.callbacks import plain
from ..observing import delivery
from ..observing.changes import Changes
from ..observing.streams import ChangeStream
from ..writing.silent import AnyToken

if TYPE_CHECKING:
    import ctypes
    from types import TracebackType

    from ..stores.frozen import Frozen

P = TypeVar("P")


class ProjectedChanges(Generic[P]):
    """What commits changed of what is projected: as Changes, of which it is made. `deleted`, `inserted`, `modified` and
    `moved` are projections, and `written()` has the names of these."""

    __slots__ = ("base", "_projection", "_fields")

    def __init__(self, base: Changes[Any], projection: Any, fields: list[Any]) -> None:
        self.base = base
        self._projection = projection
        self._fields = fields

    @property
    def is_initial(self) -> bool:
        return self.base.is_initial

    @property
    def is_from_other_process(self) -> bool:
        return self.base.is_from_other_process

    @property
    def is_compared(self) -> bool:
        return self.base.is_compared

    @property
    def is_lost(self) -> bool:
        return self.base.is_lost

    @property
    def is_owner_deleted(self) -> bool:
        return self.base.is_owner_deleted

    @property
    def is_cleared(self) -> bool:
        return self.base.is_cleared

    @property
    def from_version(self) -> int:
        return self.base.from_version

    @property
    def to_version(self) -> int:
        return self.base.to_version

    @property
    def deletion_count(self) -> int:
        return self.base.deletion_count

    @property
    def insertion_count(self) -> int:
        return self.base.insertion_count

    @property
    def modification_count(self) -> int:
        return self.base.modification_count

    @property
    def move_count(self) -> int:
        return self.base.move_count

    @property
    def deletions(self) -> list[int]:
        return self.base.deletions

    @property
    def insertions(self) -> list[int]:
        return self.base.insertions

    @property
    def moves(self) -> list[tuple[int, int]]:
        return self.base.moves

    @property
    def modifications(self) -> list[int]:
        return self.base.modifications

    @property
    def modifications_after(self) -> list[int]:
        return self.base.modifications_after

    @property
    def deleted(self) -> list[P]:
        return self._shown(self.base.deleted)

    @property
    def inserted(self) -> list[P]:
        return self._shown(self.base.inserted)

    @property
    def modified(self) -> list[P]:
        return self._shown(self.base.modified)

    @property
    def modified_before(self) -> list[P]:
        """The objects of `modified` as they were."""
        return self._shown(self.base.modified_before)

    @property
    def moved(self) -> list[P]:
        return self._shown(self.base.moved)

    @property
    def before(self) -> "Frozen":
        """The store as it was."""
        return self.base.before

    @property
    def after(self) -> "Frozen":
        """The store as the changes made it."""
        return self.base.after

    def written(self, index: int) -> tuple[str, ...]:
        """The names of the properties of the projection that were written in a modification: `index` counts in
        `modifications`. Of what lies behind a property of the object, whether it is another value: so there may be
        none, where something on the way was written, and what is shown is what it was."""
        return self._names(self.base.written(index), partial(self.base._both, index))

    def written_in_move(self, index: int) -> tuple[str, ...]:
        """The same of an object that moved: `index` counts in `moves`."""
        return self._names(self.base.written_in_move(index), partial(self.base._both_of_move, index))

    def _names(self, written: tuple[str, ...], both: Callable[[], tuple[Any, Any]]) -> tuple[str, ...]:
        """`both`: the object as it was, and as it is."""
        if all(prop.steps.is_direct for prop in self._fields):
            return tuple(prop.name for prop in self._fields if prop.steps.member in written)
        old, new = both()
        return tuple(
            prop.name
            for prop in self._fields
            if (prop.steps.member in written if prop.steps.is_direct else prop.value(old) != prop.value(new))
        )

    def _shown(self, objects: list[Any]) -> list[P]:
        return [self._projection(obj) for obj in objects]

    def __repr__(self) -> str:
        return f"<{self._projection.__name__} of {self.base!r}>"


def telling(projection: Any, fields: list[Any], handler: Callable[[Any], object]) -> Callable[[Changes[Any]], object]:
    """Hands change sets of the objects on to a handler of projections."""
    plain("a handler", handler)

    def told(changes: Changes[Any]) -> object:
        return handler(ProjectedChanges(changes, projection, fields))

    return told


def telling_of_one(
    projection: Any, fields: list[Any], handler: Callable[[Any], object]
) -> Callable[[Changes[Any]], object]:
    """The same of one object, where something of what is projected was written."""
    plain("a handler", handler)

    def told(changes: Changes[Any]) -> object:
        made: ProjectedChanges[Any] = ProjectedChanges(changes, projection, fields)
        if changes.modification_count and not made.written(0):
            delivery.unheard()
            return None
        return handler(made)

    return told


class ProjectedStream(AnyToken, Generic[P]):
    """The changes of results of projections, one after the other: see AnyStream."""

    def __init__(self, base: ChangeStream[Any], projection: Any, fields: list[Any]) -> None:
        self._base = base
        self._projection = projection
        self._fields = fields

    def close(self) -> None:
        """Ends it; a loop over it ends, too. Closing twice is allowed."""
        self._base.close()

    @property
    def is_closed(self) -> bool:
        return self._base.is_closed

    @property
    def _observer(self) -> "ctypes.c_void_p":
        return self._base._observer

    def pause(self) -> None:
        self._base.pause()

    def resume(self) -> None:
        self._base.resume()

    @property
    def lag(self) -> int:
        return self._base.lag

    def bookmark(self) -> bytes:
        return self._base.bookmark()

    def set_interval(self, interval: float) -> None:
        self._base.set_interval(interval)

    def __aiter__(self) -> "ProjectedStream[P]":
        return self

    async def __anext__(self) -> ProjectedChanges[P]:
        return ProjectedChanges(await self._base.__anext__(), self._projection, self._fields)

    def __enter__(self) -> "ProjectedStream[P]":
        self._base.__enter__()
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", error: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self._base.__exit__(kind, error, trace)
