"""Observers of results in sections, and what says the keys of these where that is a function."""

import ctypes
import itertools
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import Status
from ..models.model import Model
from ..native import ffi
from ..native.callbacks import FAILED, MUST_FINISH, entry, finish, lent
from ..native.failures import check
from ..native.handles import Handle
from ..reading.views import View
from . import delivery
from .section_changes import ReadKey, SectionChanges
from .streams import AnyStream, Arriving
from .tokens import ChangeToken, flags, handler_entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..schema.bindings import Binding
    from ..stores.frozen import Frozen
    from ..stores.open_store import OpenStore

_observe = ffi.bind("objstore_sections_observe")
_view_open = ffi.bind("objstore_view_open")
_view_freeze = ffi.bind("objstore_view_freeze")
_view_close = ffi.bind("objstore_view_close")

K = TypeVar("K")
M = TypeVar("M", bound=Model)
_numbers = itertools.count(1)
_ENDED = "a function that says the key of a section looks at the object that it was given, while it runs"


class SectionToken(ChangeToken[M]):
    """An observer of sections."""

    __slots__ = ("_read_key", "_keyed")

    def observe_sections(
        self,
        make: "Callable[[View], tuple[Any, ReadKey]]",
        keyed: "Keyed | None",
        one: ffi.Value | None,
        initial: bool,
        since: bytes | None,
    ) -> None:
        """`make`: the sections in a view, and what reads their keys. `keyed`: what is called for these. `one`: the key
        of the one section that is observed."""
        view = Handle(_view_close)
        check(_view_open(self._store._open_handle(), ctypes.byref(view.cell)))
        if keyed is not None:
            keyed.freeze(view.cell.value or 0)
        self._keyed = keyed
        try:
            made, self._read_key = make(View(view.cell.value or 0, fast=False))
            check(
                _observe(
                    made.cell,
                    None if one is None else ctypes.byref(one),
                    self._paths.array,
                    self._paths.count,
                    flags(initial, since),
                    handler_entry,
                    self._number,
                    MUST_FINISH,
                    self._out,
                )
            )
        finally:
            if keyed is not None:
                keyed.begun()
        self._begin(since)

    def _called(self, given: Any, call: delivery.Call) -> None:
        self._tell(SectionChanges(self._store, self._binding, given, self._read_key), call)


class _SectionStreamToken(Arriving, SectionToken[M]):
    __slots__ = ("arrivals",)


class SectionStream(AnyStream[SectionChanges[K, M]]):
    """The changes of results in sections: `sections.changes()`; see AnyStream."""

    def __init__(
        self,
        store: "OpenStore",
        binding: "Binding",
        keys: "Iterable[object] | None",
        begin: Callable[[SectionToken[M]], None],
    ) -> None:
        super().__init__(store)
        token: _SectionStreamToken[M] = _SectionStreamToken(store, binding, self._arrivals.wake, keys)
        self._begin(token)
        begin(token)


class Keyed:
    """A function of Python that says the keys of objects in whatever version observers look at them. The library hands
    back its number."""

    def __init__(
        self, store: "OpenStore", made: "Callable[[Frozen, int], Any]", answer: Callable[[Any, int], None]
    ) -> None:
        """`made`: an object by its key. `answer`: writes the key of its section to an address."""
        self.number = next(_numbers)
        self._store = store
        self._made = made
        self._answer = answer
        self._first = 0, Handle(_view_close)
        _known[self.number] = self

    def freeze(self, view: int) -> None:
        """From the view in which observing begins, which shows one version all the time, but is a live one."""
        frozen = Handle(_view_close)
        check(_view_freeze(view, ctypes.byref(frozen.cell)))
        self._first = view, frozen

    def begun(self) -> None:
        """Lets go of that version."""
        self._first = 0, Handle(_view_close)

    def call(self, view: int, key: int, out: int) -> None:
        live, frozen = self._first
        shown = self._store._lent((frozen.cell.value or 0) if view == live else view, _ENDED)
        try:
            self._answer(self._made(shown, key), out)
        finally:
            shown.close()


_known: "weakref.WeakValueDictionary[int, Keyed]" = weakref.WeakValueDictionary()


@entry(ffi.SectionKey)
def keyed_entry(view: int, obj: ffi.Object, out: int, number: int) -> int:
    keyed = _known.get(number)
    if keyed is None:
        return finish(Status.CLOSED_HANDLE)
    status = 0
    try:
        keyed.call(view, obj.key, out)
    except BaseException as error:
        status = FAILED
        if lent.calls is None:
            sys.excepthook(type(error), error, error.__traceback__)
        else:
            lent.calls.raised.append(error)
    return finish(status)
