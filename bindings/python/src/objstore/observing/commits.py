"""Observers of a store: that something was committed, and not what."""

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument
from ..messages import shown
from ..native import ffi
from ..native.callbacks import MUST_FINISH, ended, plain
from ..native.failures import check
from ..native.handles import cell_of
from . import delivery
from .changes import COMPARED, INITIAL, LOST, OTHER_PROCESS
from .sides import Sides
from .tokens import Token, flags, handler_entry

if TYPE_CHECKING:
    from typing import Self

    from ..stores.frozen import Frozen
    from ..stores.open_store import OpenStore


_observe_commits = ffi.bind("objstore_observe_commits")
_get_info = ffi.bind("objstore_changes_get_info")
_keep = ffi.bind("objstore_changes_keep")
_close = ffi.bind("objstore_changes_close")
_INFO_BYTES = ctypes.sizeof(ffi.ChangesInfo)


class Commits:
    """What was committed since the observer's last call, one transaction or several: the versions before and after.

    `before` and `after`, the store as it was and is, can be read until the handler returns; in `async for`, until the
    next ones are taken.
    """

    __slots__ = (
        "_sides",
        "__weakref__",
        "is_initial",
        "is_from_other_process",
        "is_compared",
        "is_lost",
        "from_version",
        "to_version",
    )

    def __init__(self, store: "OpenStore", handle: int) -> None:
        info = ffi.ChangesInfo(struct_size=_INFO_BYTES)
        check(_get_info(handle, ctypes.byref(info)))
        self._sides = Sides(store, handle)
        self.is_initial = bool(info.flags & INITIAL)  # the first one: nothing was committed yet
        self.is_from_other_process = bool(info.flags & OTHER_PROCESS)  # some of it was
        self.is_compared = bool(info.flags & COMPARED)  # so late that it is not known who committed what
        self.is_lost = bool(info.flags & LOST)  # it comes too late (observer_lag): versions before are not known
        self.from_version: int = info.from_version  # what the observer knew before
        self.to_version: int = info.to_version  # what it knows now

    @property
    def before(self) -> "Frozen":
        """The store as it was."""
        return self._sides.before

    @property
    def after(self) -> "Frozen":
        """The store as the commits made it. It may have moved on since."""
        return self._sides.after

    def _kept(self) -> "Self":
        """The same beyond its handler, until _end()."""
        kept = cell_of(self, _close)
        check(_keep(self._sides.handle, ctypes.byref(kept)))
        self._sides.keep(kept.value)
        return self

    def _end(self) -> None:
        self._sides.close()

    def __repr__(self) -> str:
        what = ": lost" if self.is_lost else ": initial" if self.is_initial else ""
        return f"<Commits, version {self.from_version} to {self.to_version}{what}>"


class CommitToken(Token):
    """An observer of a store."""

    __slots__ = ("_handler",)

    def __init__(self, store: "OpenStore", handler: Callable[[Commits], object]) -> None:
        super().__init__()
        if not callable(handler):
            raise InvalidArgument(f"a function is wanted that takes what was committed, not {shown(handler)}")
        plain("a handler", handler)
        self._store = store
        self._handler = handler

    def observe(self, initial: bool, since: bytes | None) -> None:
        store, asked = self._store._open_handle(), flags(initial, since)
        check(_observe_commits(store, asked, handler_entry, self._number, MUST_FINISH, self._out))
        self._begin(since)

    def _called(self, given: Any, call: delivery.Call) -> None:
        self._store._follow()
        self._tell(Commits(self._store, given), call)

    def _tell(self, commits: Commits, call: delivery.Call) -> None:
        call.handler = self._handler
        try:
            result = self._handler(commits)
            call.is_over = True  # no byte code between the two at which a signal handler could run
            ended("a handler", result, may_go_on=True)
        finally:
            commits._end()
