"""The store before and after a change set: two frozen views that belong to it."""

import ctypes
from typing import TYPE_CHECKING

from ..errors import Closed
from ..native import ffi
from ..native.failures import check

if TYPE_CHECKING:
    from ..stores.frozen import Frozen
    from ..stores.open_store import OpenStore


_view = ffi.bind("objstore_changes_view")
_close = ffi.bind("objstore_changes_close")
BEFORE, AFTER = 1, 2
_ENDED = (
    "a change set shows its objects until its handler returns, or the next one is asked for; obj.freeze() and "
    "obj.detach() last"
)


class Sides:
    """Opened when they are asked for; closed with the handler, or with a change set that was kept."""

    __slots__ = ("_store", "_handle", "_is_kept", "_open")

    def __init__(self, store: "OpenStore", handle: int) -> None:
        self._store = store
        self._handle: int | None = handle
        self._is_kept = False
        self._open: dict[int, Frozen] = {}

    @property
    def handle(self) -> int:
        if self._handle is None:
            raise Closed(_ENDED)
        return self._handle

    @property
    def before(self) -> "Frozen":
        return self._side(BEFORE)

    @property
    def after(self) -> "Frozen":
        return self._side(AFTER)

    def _side(self, which: int) -> "Frozen":
        side = self._open.get(which)
        if side is None:
            view = ctypes.c_void_p()
            check(_view(self.handle, which, ctypes.byref(view)))
            side = self._open[which] = self._store._lent(view.value or 0, _ENDED)
        return side

    def keep(self, handle: int | None) -> None:
        """From now on they are of a change set of their own."""
        self._close_views()  # they end with the handler
        self._handle, self._is_kept = handle, True

    def close(self) -> None:
        """Nothing can be read any more, and nothing is pinned."""
        handle = self._handle
        self._close_views()
        if handle is not None and self._is_kept:
            _close(handle)  # at worst CLOSED_HANDLE: the store is closed
        self._handle = None

    def _close_views(self) -> None:
        for side in list(self._open.values()):
            side.close()
        self._open.clear()
