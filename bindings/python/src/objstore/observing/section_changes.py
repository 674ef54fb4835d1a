"""Change sets of results in sections: which sections came and went, and in which ones objects did."""

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..models.model import Model
from ..native import ffi
from ..native.failures import check
from .changes import (
    DELETIONS,
    INSERTIONS,
    MODIFICATIONS,
    MODIFICATIONS_AFTER,
    MOVES,
    MOVES_AFTER,
    ObjectChanges,
    words,
)

if TYPE_CHECKING:
    from ..schema.bindings import Binding
    from ..stores.frozen import Frozen
    from ..stores.open_store import OpenStore

_list = ffi.bind("objstore_changes_list")
_keys = ffi.bind("objstore_changes_keys")
_sections = ffi.bind("objstore_changes_sections")
SECTION_DELETIONS, SECTION_INSERTIONS = 7, 8
_BYTES = ctypes.sizeof(ffi.Value)

K = TypeVar("K")
M = TypeVar("M", bound=Model)
Place = tuple[int, int]
ReadKey = Callable[[bytes, "Frozen"], Any]


class SectionChanges(ObjectChanges[M], Generic[K, M]):
    """What commits changed in results in sections since the observer's last call. Each change is reported once, in
    order. Places are (section, index in it).

        section_deletions         numbers before, of sections without objects now, and of those that stand elsewhere
        section_insertions        numbers after, of new sections, and of those that stand elsewhere
        deleted_keys, inserted_keys   the keys of these
        deletions                 places before, of objects that went and that moved
        insertions                places after, of objects that came and that moved
        moves                     (before, after) of objects that are in another section, or stand elsewhere in theirs
        modifications             places before, of objects that were there before and are after
        modifications_after       places of the same objects after
        deleted, inserted, modified, moved   the objects; none of them twice

    Sections follow: take out the deletions from the last to the first, then the section_deletions, which are empty; put
    in the section_insertions from the first to the last, then the insertions. All numbers are copies, which last, and
    the objects and keys that are objects are as those of Changes.
    """

    __slots__ = ("_numbers", "_section_lists", "_key_bytes", "_read_key")

    def __init__(self, store: "OpenStore", binding: "Binding", handle: int, read_key: "ReadKey") -> None:
        super().__init__(store, binding, handle)
        self._read_key = read_key
        self._numbers: list[list[int]] = []  # the section of each object, by kind of change
        self._section_lists: list[list[int]] = []
        self._key_bytes: list[list[bytes]] = []
        at, count, nothing = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p()
        for which in (DELETIONS, INSERTIONS, MODIFICATIONS, MODIFICATIONS_AFTER, MOVES, MOVES_AFTER):
            check(_sections(handle, which, ctypes.byref(at), ctypes.byref(count)))
            self._numbers.append(words(at.value, count.value, "Q").tolist())
        for which in (SECTION_DELETIONS, SECTION_INSERTIONS):
            check(_list(handle, which, ctypes.byref(nothing), ctypes.byref(at), ctypes.byref(count)))
            self._section_lists.append(words(at.value, count.value, "Q").tolist())

    def _at(self, which: int) -> "list[Place]":
        return list(zip(self._numbers[which - 1], self._listed(which)))

    @property
    def section_deletions(self) -> list[int]:
        return list(self._section_lists[0])

    @property
    def section_insertions(self) -> list[int]:
        return list(self._section_lists[1])

    @property
    def deleted_keys(self) -> list[K]:
        return self._keys_of(SECTION_DELETIONS, self.before) if self._section_lists[0] else []

    @property
    def inserted_keys(self) -> list[K]:
        return self._keys_of(SECTION_INSERTIONS, self.after) if self._section_lists[1] else []

    @property
    def deletions(self) -> "list[Place]":
        return sorted(self._at(DELETIONS) + self._at(MOVES))

    @property
    def insertions(self) -> "list[Place]":
        return sorted(self._at(INSERTIONS) + self._at(MOVES_AFTER))

    @property
    def moves(self) -> "list[tuple[Place, Place]]":
        return list(zip(self._at(MOVES), self._at(MOVES_AFTER)))

    @property
    def modifications(self) -> "list[Place]":
        return self._at(MODIFICATIONS)

    @property
    def modifications_after(self) -> "list[Place]":
        return self._at(MODIFICATIONS_AFTER)

    def _keys_of(self, which: int, side: "Frozen") -> list[K]:
        at, count = ctypes.c_void_p(), ctypes.c_size_t()
        check(_keys(self._sides.handle, which, ctypes.byref(at), ctypes.byref(count)))
        content, address = [], at.value or 0
        for place in range(count.value):
            content.append(self._read_key(ctypes.string_at(address + _BYTES * place, _BYTES), side))
        return content

    def __repr__(self) -> str:
        return self._shown(f"sections of {self._binding.model.__name__}")
