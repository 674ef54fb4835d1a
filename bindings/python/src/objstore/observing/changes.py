"""Change sets: what happened to what is observed, between two versions."""

import ctypes
import operator
from typing import TYPE_CHECKING, Generic, TypeVar

from ..errors import IndexOutOfRange, InvalidArgument, NotSupported, WrongStore
from ..models.model import Model
from ..native import ffi
from ..native.failures import check
from ..native.handles import cell_of
from ..objects import state
from .sides import Sides

if TYPE_CHECKING:
    from typing import Self

    from ..schema.bindings import Binding
    from ..stores.frozen import Frozen
    from ..stores.open_store import OpenStore


_get_info = ffi.bind("objstore_changes_get_info")
_list = ffi.bind("objstore_changes_list")
_masks = ffi.bind("objstore_changes_masks")
_keep = ffi.bind("objstore_changes_keep")
_close = ffi.bind("objstore_changes_close")

M = TypeVar("M", bound=Model)
INITIAL, OTHER_PROCESS, COMPARED, OWNER_DELETED, CLEARED, LOST = 0x1, 0x2, 0x4, 0x8, 0x10, 0x20
DELETIONS, INSERTIONS, MODIFICATIONS, MODIFICATIONS_AFTER, MOVES, MOVES_AFTER = 1, 2, 3, 4, 5, 6
_SAME_OBJECTS = (MODIFICATIONS_AFTER, MOVES_AFTER)  # as those before, at other positions
_INFO_BYTES = ctypes.sizeof(ffi.ChangesInfo)


def place(index: int, count: int, what: str) -> int:
    """That of `count`, as lists count them."""
    at = operator.index(index)
    if not -count <= at < count:
        raise IndexOutOfRange(f"{what} {index} of {count} {what}{'' if count == 1 else 's'}")
    return at + count if at < 0 else at


class AnyChanges:
    """Where commits changed what is observed, and between which versions. Base of change sets."""

    __slots__ = (
        "_store",
        "_sides",
        "_counts",
        "_positions",
        "_mask_words",
        "__weakref__",
        "is_initial",
        "is_from_other_process",
        "is_compared",
        "is_owner_deleted",
        "is_cleared",
        "is_lost",
        "from_version",
        "to_version",
    )

    def __init__(self, store: "OpenStore", handle: int) -> None:
        info = ffi.ChangesInfo(struct_size=_INFO_BYTES)
        check(_get_info(handle, ctypes.byref(info)))
        self._store = store
        self._sides = Sides(store, handle)
        self._counts: list[int] = []  # deletions, insertions, modifications, moves
        self._positions: list[memoryview | None] = []  # by kind
        self._mask_words: int = info.mask_words
        self.is_initial = bool(info.flags & INITIAL)  # the first one: nothing changed yet
        self.is_from_other_process = bool(info.flags & OTHER_PROCESS)  # some of it was
        self.is_compared = bool(info.flags & COMPARED)  # so late that two versions were compared: only real changes
        self.is_lost = bool(info.flags & LOST)  # it comes too late (observer_lag): look at everything anew
        self.is_owner_deleted = bool(info.flags & OWNER_DELETED)  # or what is asked about is dropped
        self.is_cleared = bool(info.flags & CLEARED)  # of an observed collection: it had elements, and has none now
        self.from_version: int = info.from_version  # what the observer knew before
        self.to_version: int = info.to_version  # what it knows now
        for which in (DELETIONS, INSERTIONS, MODIFICATIONS, MODIFICATIONS_AFTER):
            self._copy(which)
        if info.move_count:
            self._copy(MOVES)
            self._copy(MOVES_AFTER)
        else:
            self._take(None, 0)
            self._positions += [None if self._positions[0] is None else words(None, 0, "Q")] * 2

    def _copy(self, which: int) -> None:
        objects_at, positions_at, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        handle = self._sides.handle
        check(_list(handle, which, ctypes.byref(objects_at), ctypes.byref(positions_at), ctypes.byref(count)))
        if which not in _SAME_OBJECTS:
            self._take(objects_at.value, count.value)
        self._positions.append(None if positions_at.value is None else words(positions_at.value, count.value, "Q"))

    def _take(self, objects: int | None, count: int) -> None:
        """Of one of the lists: its objects, if it has any."""
        self._counts.append(count)

    # What happened

    @property
    def deletion_count(self) -> int:
        return self._counts[0]

    @property
    def insertion_count(self) -> int:
        return self._counts[1]

    @property
    def modification_count(self) -> int:
        return self._counts[2]

    @property
    def move_count(self) -> int:
        return self._counts[3]

    @property
    def before(self) -> "Frozen":
        """The store as it was."""
        return self._sides.before

    @property
    def after(self) -> "Frozen":
        """The store as the changes made it. It may have moved on since."""
        return self._sides.after

    def _shown(self, what: str) -> str:
        counts = f"{self.deletion_count} deleted, {self.insertion_count} inserted, {self.modification_count} modified"
        counts += f", {self.move_count} moved" if self.move_count else ""
        counts = "lost" if self.is_lost else "initial" if self.is_initial else counts  # these have no lists
        return f"<{type(self).__name__} of {what}, version {self.from_version} to {self.to_version}: {counts}>"

    # For observers

    def _kept(self) -> "Self":
        """The same beyond its handler, until _end()."""
        kept = cell_of(self, _close)
        check(_keep(self._sides.handle, ctypes.byref(kept)))
        self._sides.keep(kept.value)
        return self

    def _end(self) -> None:
        """Its objects cannot be read any more, and it pins nothing."""
        self._sides.close()

    def _listed(self, which: int) -> list[int]:
        positions = self._positions[which - 1]
        if positions is None:
            raise InvalidArgument("positions are known where results are observed: store.objects(…).observe(…)")
        return positions.tolist()


class ListedChanges(AnyChanges):
    """Where something changed in a list. Base of change sets of anything but sections."""

    __slots__ = ()

    @property
    def deletions(self) -> list[int]:
        return self._with_moves(DELETIONS, MOVES)

    @property
    def insertions(self) -> list[int]:
        return self._with_moves(INSERTIONS, MOVES_AFTER)

    @property
    def moves(self) -> list[tuple[int, int]]:
        return list(zip(self._listed(MOVES), self._listed(MOVES_AFTER)))

    @property
    def modifications(self) -> list[int]:
        return self._listed(MODIFICATIONS)

    @property
    def modifications_after(self) -> list[int]:
        return self._listed(MODIFICATIONS_AFTER)

    def _with_moves(self, which: int, moves: int) -> list[int]:
        listed = self._listed(which)
        return sorted(listed + self._listed(moves)) if self.move_count else listed


class ChangedObjects(AnyChanges, Generic[M]):
    """Which objects were changed. Base of change sets that may have objects."""

    __slots__ = ("_binding", "_objects", "_masks")

    def __init__(self, store: "OpenStore", binding: "Binding", handle: int) -> None:
        self._binding = binding
        self._objects: list[memoryview] = []  # deletions, insertions, modifications, moves
        self._masks: memoryview | None = None
        super().__init__(store, handle)

    def _take(self, objects: int | None, count: int) -> None:
        super()._take(objects, count)
        if count and objects is None:
            raise NotSupported(
                "a change set of a collection of values, or a dict, has no objects: person.tags.observe()"
            )
        listed = words(objects, 2 * count, "q")
        if count and listed[0] & (1 << 64) - 1 != self._binding.head:
            raise WrongStore(
                f"a change set of another store or class than {self._binding.model.__name__} of {self._store!r}"
            )
        self._objects.append(listed[1::2])

    # What happened

    @property
    def deleted(self) -> list[M]:
        return self._made(self.before, self._keys_at(0))

    @property
    def inserted(self) -> list[M]:
        return self._made(self.after, self._keys_at(1))

    @property
    def modified(self) -> list[M]:
        return self._made(self.after, self._keys_at(2))

    @property
    def modified_before(self) -> list[M]:
        """The objects of `modified` as they were."""
        return self._made(self.before, self._keys_at(2))

    @property
    def moved(self) -> list[M]:
        return self._made(self.after, self._keys_at(3))

    def _keys_at(self, which: int) -> list[int]:
        keys: list[int] = self._objects[which].tolist()
        return keys

    def _made(self, side: "Frozen", keys: list[int]) -> list[M]:
        block = side._unread(self._binding)
        made: list[M] = state.make_many(self._binding.model, block, keys, [0] * len(keys))
        return made

    # For observers

    def _kept(self) -> "Self":
        self._all_masks()
        return super()._kept()

    def _all_masks(self) -> memoryview:
        """The masks of all modifications, and of all moves; read when needed first, while the handle is there."""
        if self._masks is None:
            at, count = ctypes.c_void_p(), ctypes.c_size_t()
            check(_masks(self._sides.handle, ctypes.byref(at), ctypes.byref(count)))
            self._masks = words(at.value, count.value, "Q")
        return self._masks

    def _has(self, row: int, place: int) -> bool:
        """The bit at a place of the mask of a modification; behind these of a move."""
        return bool(self._all_masks()[row * self._mask_words + place // 64] >> place % 64 & 1)


class ObjectChanges(ChangedObjects[M]):
    """Which objects were changed, and what was written in them. Base of change sets of objects."""

    __slots__ = ("_places",)

    def __init__(self, store: "OpenStore", binding: "Binding", handle: int) -> None:
        self._places: tuple[int | None, ...] = ()  # with the masks: the bit of each property
        super().__init__(store, binding, handle)

    def written(self, index: int) -> tuple[str, ...]:
        """The names of the properties that were written in a modification: `index` counts in `modifications`."""
        return self._written(place(index, self.modification_count, "modification"))

    def _both(self, index: int) -> tuple[M, M]:
        """The object of a modification as it was, and as it is."""
        return self._as_it_was_and_is(self._objects[2][place(index, self.modification_count, "modification")])

    def _both_of_move(self, index: int) -> tuple[M, M]:
        return self._as_it_was_and_is(self._objects[3][place(index, self.move_count, "move")])

    def _as_it_was_and_is(self, key: int) -> tuple[M, M]:
        keys = [key]
        return self._made(self.before, keys)[0], self._made(self.after, keys)[0]

    def written_in_move(self, index: int) -> tuple[str, ...]:
        """The same of an object that moved: `index` counts in `moves`."""
        return self._written(len(self._objects[2]) + place(index, self.move_count, "move"))

    def _written(self, row: int) -> tuple[str, ...]:
        self._all_masks()
        places = zip(self._places, self._binding.properties)
        return tuple(p.name for place, p in places if place is not None and self._has(row, place))

    def __repr__(self) -> str:
        return self._shown(self._binding.model.__name__)

    def _all_masks(self) -> memoryview:
        if self._masks is None:
            masks, view = super()._all_masks(), self.after._view.handle
            self._places = tuple(self._binding.place(view, prop) for prop in self._binding.properties)
            return masks
        return self._masks


class Changes(ObjectChanges[M], ListedChanges):
    """What commits changed since the observer's last call. Each change is reported once, in order.

        deletions                 positions in the list as it was before, of what went and of what moved
        insertions                positions in the list as it is after, of what came and of what moved
        moves                     (before, after) of what stands elsewhere among the others; only in an order of its own
        modifications             positions before, of objects that were there before and are after
        modifications_after       positions of the same objects after
        deleted, inserted, modified, moved   the objects; none of them twice

    A list follows: take out the deletions from the last to the first, put in the insertions from the first to the last.
    Positions are there for observed results only; the numbers are copies, which last. The objects are of the versions
    `before` (deleted ones) and `after`, and can be read until the handler returns; in `async for`, until the next
    change is taken.
    """

    __slots__ = ()


def class_of(handle: int) -> int:
    """The id of the class that a change set is about."""
    info = ffi.ChangesInfo(struct_size=_INFO_BYTES)
    check(_get_info(handle, ctypes.byref(info)))
    found: int = info.class_id
    return found


def words(address: int | None, count: int, kind: str) -> memoryview:
    """A copy of 64-bit words."""
    content = ctypes.string_at(address, 8 * count) if address and count else b""
    return memoryview(content).cast(kind)  # type: ignore[call-overload, no-any-return]
