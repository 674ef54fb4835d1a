"""Frozen versions of a store."""

import weakref
from typing import TYPE_CHECKING, Any

from ..errors import Closed, NotInWrite, WrongView
from ..native import ffi
from ..native.handles import ClosingBlock
from ..observing import bookmarks
from ..reading.views import Epoch, Snapshot, View
from .lookup import Source

if TYPE_CHECKING:
    from ..models.properties import Property
    from .open_store import OpenStore
    from .store import Store


_view_close = ffi.bind("objstore_view_close")


class Frozen(Source, ClosingBlock):
    """One version of a store, permanently. Any thread may use it, all of them at the same time."""

    is_frozen = True
    _instead = "; detach() what is to be kept of it"

    def __init__(self, store: "OpenStore", view: View, ended: str = "this frozen version of a store is closed") -> None:
        super().__init__(store._bindings)
        self._store = store  # stays open as long as this
        self._view = view
        self._ended = ended
        self._closed = False
        self._copy: weakref.ref[Frozen] | None = None
        self._ending, self._is_inside = None, False
        store._frozen.add(self)

    @property
    def _live(self) -> "OpenStore":
        return self._store

    def version(self) -> int:
        """The version that it shows."""
        return self._reader().version()

    def bookmark(self) -> bytes:
        """Names the version, in 40 bytes to write down: of this store, and no other. What was committed since is told
        to an observer that begins there (`since=`)."""
        return bookmarks.of_view(self._reader().handle)

    def freeze(self) -> "Frozen":
        """This, since it is frozen."""
        return self._lasting()

    def thaw(self) -> "Store":
        """The live store."""
        store: Any = self._store
        return store  # type: ignore[no-any-return]

    def _lasting(self) -> "Frozen":
        """The same version for as long as it is needed: this one, or a copy if it ends with a change set."""
        view = self._reader()
        view.version()  # Closed: the store is
        if isinstance(view, Snapshot):
            return self
        copy = None if self._copy is None else self._copy()
        if copy is None:  # one serves all objects of the change set
            copy = freeze(self._store, view.handle)
            copy._bindings = self._bindings  # of a migration: those of the file's classes
            self._copy = weakref.ref(copy)
        return copy

    def close(self) -> None:
        """Lets go of the version. Its objects cannot be read any more. Closing twice is allowed."""
        if not self._closed:
            self._expire()
            if isinstance(self._view, Snapshot):  # else it belongs to a change set, and ends with it
                _view_close(self._view.handle)  # at worst CLOSED_HANDLE: the store is closed, or this comes again
            self._closed = True

    def _expire(self) -> None:
        """What was read before is not to be shown any more."""
        self._view.epoch.fast = False
        self._view.epoch = Epoch(False)

    def _reader(self) -> View:
        if self._closed:
            raise Closed(self._ended)
        return self._view

    def _view_for(self, epoch: Epoch) -> View:
        return self._reader()

    def _writing(self, prop: "Property | None" = None) -> Any:
        raise NotInWrite(
            f"{'writing' if prop is None else f'setting {prop.path}'} is not possible: this is how it was, in a "
            "version that never changes",
            class_name=None if prop is None else prop.model_name,
            property_name=None if prop is None else prop.name,
        )

    def _observed(self) -> "OpenStore":
        raise WrongView("a frozen version never changes: there is nothing to observe")


def freeze(store: "OpenStore", view: int | None) -> Frozen:
    """What a view of the library shows now."""
    return Frozen(store, Snapshot(view, fast=True))
