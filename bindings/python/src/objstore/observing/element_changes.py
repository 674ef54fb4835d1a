"""Change sets of lists, sets and dicts: which elements came, went, moved and were replaced."""

import ctypes
from typing import TYPE_CHECKING, Any

from ..errors import WrongType
from ..messages import a
from ..native import ffi
from ..native.failures import check
from ..values.c_values import Values
from .changes import DELETIONS, INSERTIONS, MODIFICATIONS, ListedChanges

if TYPE_CHECKING:
    from ..stores.open_store import OpenStore
    from ..values.elements import Shape


_keys = ffi.bind("objstore_changes_keys")
_BYTES = ctypes.sizeof(ffi.Value)


class ChangedElements(ListedChanges):
    """Where elements changed, and which keys of a dict. Base of change sets of elements."""

    __slots__ = ("_shape", "_path", "_key_lists")

    def __init__(self, store: "OpenStore", shape: "Shape", path: str, handle: int) -> None:
        super().__init__(store, handle)
        self._shape = shape
        self._path = path
        self._key_lists: list[list[Any]] = (
            [] if shape.key is None else [self._read(which) for which in (DELETIONS, INSERTIONS, MODIFICATIONS)]
        )

    def _read(self, which: int) -> list[Any]:
        at, count = ctypes.c_void_p(), ctypes.c_size_t()
        check(_keys(self._sides.handle, which, ctypes.byref(at), ctypes.byref(count)))
        if not count.value or self._shape.key is None:
            return []
        values = Values(count.value)
        ctypes.memmove(values.address, at, _BYTES * count.value)
        return values.get_all(self._shape.key, count.value)

    @property
    def deleted_keys(self) -> list[Any]:
        return self._keys_of(0)

    @property
    def inserted_keys(self) -> list[Any]:
        return self._keys_of(1)

    @property
    def modified_keys(self) -> list[Any]:
        return self._keys_of(2)

    def _keys_of(self, which: int) -> list[Any]:
        if self._shape.key is None:
            raise WrongType(f"{self._path} is {a(self._shape.type_name)}: only dicts have keys")
        return list(self._key_lists[which])

    def __repr__(self) -> str:
        return self._shown(self._path)


class ElementChanges(ChangedElements):
    """What commits changed in a list, set or dict since the observer's last call. Each change is reported once, in
    order.

        deletions                 positions before, of what went and of what moved
        insertions                positions after, of what came and of what moved
        moves                     (before, after) of elements of a list that stand elsewhere among the others
        modifications             positions before, of elements in whose place another value, or an equal one, was put
        modifications_after       their positions after
        deleted_keys, inserted_keys, modified_keys   of a dict, ascending

    A list follows: take out the deletions from the last to the first, put in the insertions from the first to the last,
    and read the modified ones anew. All of it are copies, which last; the stores `before` and `after` can be read until
    the handler returns, and in `async for` until the next change is taken.
    """

    __slots__ = ()
