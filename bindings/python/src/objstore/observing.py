"""Observers: who is told of changes, and until when.

The library hands back a number with each call, and the number finds its token. So one C callback serves all
observers, and a call that is on its way while the token ends finds nothing, and does nothing.
"""

import ctypes
import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import _ffi, delivery
from ._check import check, failure
from .changes import Changes
from .errors import InvalidArgument, Status
from .indexes import Stretch
from .models import Model, property_named
from .properties import Condition, Property
from .views import View

if TYPE_CHECKING:
    from .schema import Binding
    from .store import Store

_observe = _ffi.bind("objstore_observe")
_results_observe = _ffi.bind("objstore_results_observe")
_token_close = _ffi.bind("objstore_token_close")
_view_open = _ffi.bind("objstore_view_open")
_view_close = _ffi.bind("objstore_view_close")

M = TypeVar("M", bound=Model)
INITIAL = 0x1
_numbers = itertools.count(1)
_tokens: "weakref.WeakValueDictionary[int, Token]" = weakref.WeakValueDictionary()


class Token:
    """An observer. Keep it: observing ends when the token is closed, or garbage; and with the store.

    As a context manager it ends with its block.
    """

    __slots__ = ("_number", "_handle", "__weakref__")

    def __init__(self) -> None:
        self._handle: int | None = None
        self._number = next(_numbers)
        _tokens[self._number] = self

    def _started(self, status: int, handle: ctypes.c_void_p) -> None:
        check(status)
        self._handle = handle.value

    @property
    def is_closed(self) -> bool:
        """Was the token closed? (The end of its store does not show here.)"""
        return self._handle is None

    def close(self) -> None:
        """Ends the observer. Its handler is not called again; if it runs on another thread, that call is waited for,
        except inside of a handler and of a write. Closing twice is allowed."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _tokens.pop(self._number, None)  # first: a call on its way does nothing, and is not waited for in vain
            status = _token_close(handle)
            if status not in (0, Status.CLOSED_HANDLE):  # its store was closed
                raise failure(status)

    def __enter__(self) -> "Token":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _called(self, given: Any) -> int | None:
        """From the library; the status to tell it, if that is not 0."""
        raise NotImplementedError


class ChangeToken(Token, Generic[M]):
    """An observer of change sets."""

    __slots__ = ("_store", "_binding", "_handler", "_properties", "_key")

    def __init__(
        self, store: "Store", binding: "Binding", handler: Callable[[Changes[M]], object], keys: "Iterable[object] | None"
    ) -> None:
        super().__init__()
        if not callable(handler):
            raise InvalidArgument(f"a function is wanted that takes a change, not {handler!r}")
        self._store = store
        self._binding = binding
        self._handler = handler
        self._properties = None if keys is None else properties(binding, keys)
        self._key: int | None = None  # of the only object of interest

    def observe_class(self, initial: bool) -> None:
        handle = ctypes.c_void_p()
        flags = INITIAL if initial else 0
        store, out = self._store._open_handle(), ctypes.byref(handle)
        self._started(_observe(store, self._binding.class_id, flags, _changed, self._number, None, out), handle)

    def observe_results(self, condition: Condition | Stretch | None, initial: bool) -> None:
        view, handle = ctypes.c_void_p(), ctypes.c_void_p()
        check(_view_open(self._store._open_handle(), ctypes.byref(view)))
        try:
            found = View(view.value or 0, fast=False).evaluate(self._binding, condition)
            flags = INITIAL if initial else 0
            self._started(
                _results_observe(found.handle, flags, _changed, self._number, None, ctypes.byref(handle)), handle
            )
        finally:
            _view_close(view)

    def observe_object(self, key: int) -> None:
        self._key = key
        self.observe_class(initial=False)

    def _called(self, given: Any) -> None:
        made: Changes[M] = Changes(self._store, self._binding, given)
        if self._properties is not None or self._key is not None:
            if not made._narrow(self._properties, self._key):
                delivery.unheard()
                return
        self._tell(made)

    def _tell(self, changes: Changes[M]) -> None:
        try:
            self._handler(changes)
        finally:
            changes._end()


def properties(binding: "Binding", keys: "Iterable[object]") -> list[Property]:
    """The properties of a class that are meant, by name or as Dog.age."""
    if isinstance(keys, str):
        raise InvalidArgument(f"keys is a list of properties, such as [{keys!r}]")
    found = []
    for key in keys:
        prop = property_named(binding.model, key) if isinstance(key, str) else key
        if not isinstance(prop, Property) or not any(prop is p for p in binding.properties):
            name = binding.model.__name__
            raise InvalidArgument(f"a property of {name} is wanted, not {key!r}", class_name=name)
        found.append(prop)
    return found


def _call(changes: int, number: int) -> int:
    token = _tokens.get(number)
    return 0 if token is None else delivery.guarded(token._called, changes)


_changed = _ffi.ChangeHandler(_call)
