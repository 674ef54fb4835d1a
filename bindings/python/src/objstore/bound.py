"""Bound functions: Python as a plain C function pointer, for C code that can pass a function and nothing else."""

import contextlib
import ctypes
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _ffi, delivery
from ._check import check
from .changes import Changes, class_of
from .errors import Error, InCallback, InvalidArgument, NoSuchClass, Status
from .transaction import Transaction, current_task, here

if TYPE_CHECKING:
    from .store import Store

_bind_write_body = _ffi.bind("objstore_bind_write_body")
_bind_change_handler = _ffi.bind("objstore_bind_change_handler")
_bound_close = _ffi.bind("objstore_bound_close")
_fail = _ffi.bind("objstore_fail")
_exists = _ffi.bind("objstore_exists")

_numbers = itertools.count(1)
_alive: "dict[int, Bound]" = {}  # until closed: C code may call them


class Bound:
    """A C function made at run time. `function` is for ctypes, `address` for everybody else.

    It can be called from any thread until it is closed, whether or not this object is kept; never after. As a context
    manager it is closed at the end of the block.
    """

    def __init__(self, store: "Store", function: Callable[[Any], object], bind: Any, callback: Any) -> None:
        if not callable(function):
            raise InvalidArgument(f"a function is wanted, not {function!r}")
        self._store = store
        self._body = function
        self._number = next(_numbers)
        self.exception: BaseException | None = None  # what the last call raised, if it was a transaction's body
        address, handle = ctypes.c_void_p(), ctypes.c_void_p()
        _alive[self._number] = self
        try:
            check(bind(callback, self._number, None, ctypes.byref(address), ctypes.byref(handle)))
        except BaseException:
            del _alive[self._number]
            raise
        self._handle: int | None = handle.value
        self.address: int = address.value or 0
        self.function: Any = type(callback)(self.address)

    @property
    def is_closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """Gives the function back: it must not be called any more. Inside a call of it: the call goes on."""
        handle, self._handle = self._handle, None
        if handle is not None:
            check(_bound_close(handle))
            _alive.pop(self._number, None)

    def __enter__(self) -> "Bound":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Lent(Transaction):
    """A transaction that somebody else began and ends: C code that runs a bound body, or the opening of the store."""

    def __init__(self, store: "Store", handle: int) -> None:
        super().__init__(store, None)
        store._open_handle()
        found = ctypes.c_bool()
        for binding in store._bindings.values():  # WrongStore: it is a transaction of another one
            check(_exists(handle, _ffi.Object(binding.class_id, binding.head >> 32, 0), ctypes.byref(found)))
            break
        self.handle = handle
        self._thread, self._task = here.thread, current_task()
        self.is_open = True
        store._began(self)

    @contextlib.contextmanager
    def body(self) -> Iterator[Transaction]:
        """An exception in it undoes everything."""
        good = False
        try:
            yield self
            good = True
        finally:
            self._outlive()
            self._end(committed=good)

    def cancel(self) -> None:
        raise InCallback("who began this transaction ends it: raise an exception, and it is cancelled")


def write_body(store: "Store", body: Callable[[Transaction], object]) -> Bound:
    return Bound(store, body, _bind_write_body, _body)


def change_handler(store: "Store", handler: Callable[[Changes[Any]], object]) -> Bound:
    return Bound(store, handler, _bind_change_handler, _handler)


def _run_body(view: int, number: int) -> int:
    bound = _alive.get(number)
    if bound is None:
        return Status.CLOSED_HANDLE
    bound.exception = None
    try:
        with Lent(bound._store, view).body() as transaction:
            bound._body(transaction)
        return 0
    except BaseException as error:
        bound.exception = error
        code = int(error.status) if isinstance(error, Error) else 0
        message = f"{type(error).__name__}: {error}".encode(errors="replace")
        return int(_fail(code, _ffi.text_of(message)))


_body = _ffi.WriteBody(_run_body)

def _run_handler(changes: int, number: int) -> int:
    bound = _alive.get(number)
    return Status.CLOSED_HANDLE if bound is None else delivery.guarded(_handle, bound, changes)


_handler = _ffi.ChangeHandler(_run_handler)


def _handle(bound: Bound, changes: int) -> None:
    store, class_id = bound._store, class_of(changes)
    binding = next((b for b in store._bindings.values() if b.class_id == class_id), None)
    if binding is None:
        raise NoSuchClass(f"a change set of a class that {store!r} was opened without")
    made: Changes[Any] = Changes(store, binding, changes)
    try:
        bound._body(made)
    finally:
        made._end()
