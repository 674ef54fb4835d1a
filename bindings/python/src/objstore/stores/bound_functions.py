"""Bound functions: Python as a plain C function pointer, for C code that can pass a function and nothing else."""

import ctypes
import itertools
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import Error, InvalidArgument, NoSuchClass, Status
from ..native import ffi
from ..native.callbacks import MUST_FINISH, ended, entry, finish, plain
from ..native.failures import check
from ..native.handles import ClosingBlock
from ..observing import delivery
from ..observing.changes import Changes, class_of
from ..observing.commits import Commits
from ..writing.lent import Lent
from ..writing.transaction import Transaction

if TYPE_CHECKING:
    from .store import Store


_bind_write_body = ffi.bind("objstore_bind_write_body")
_bind_change_handler = ffi.bind("objstore_bind_change_handler")
_bound_close = ffi.bind("objstore_bound_close")
_fail = ffi.bind("objstore_fail")

_numbers = itertools.count(1)
_alive: "dict[int, Bound]" = {}  # until closed: C code may call them


class Bound(ClosingBlock):
    """A C function made at run time. `function` is for ctypes, `address` for all others.

    It can be called from any thread until it is closed, whether or not this object is kept; never after. As a context
    manager it is closed at the end of the block.
    """

    def __init__(self, store: "Store", function: Callable[[Any], object], bind: Any, callback: Any) -> None:
        if not callable(function):
            raise InvalidArgument(f"a function is wanted, not {function!r}")
        plain("the body" if callback is _body else "a handler", function)
        self._store = store
        self._body = function
        self._number = next(_numbers)
        self._ending, self._is_inside = None, False
        self._is_closed = False
        self._cell = ctypes.c_void_p()
        self.exception: BaseException | None = None  # what the last call raised, if it was a transaction's body
        address = ctypes.c_void_p()
        _alive[self._number] = self
        try:
            check(bind(callback, self._number, MUST_FINISH, ctypes.byref(address), ctypes.byref(self._cell)))
            self.address: int = address.value or 0
            self.function: Any = type(callback)(self.address)
        except BaseException:
            self.close()
            raise

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """Gives the function back: it must not be called any more. Inside a call of it: the call continues."""
        if not self._is_closed:
            status = _bound_close(self._cell)
            if status != Status.CLOSED_HANDLE:  # this comes again
                check(status)
            _alive.pop(self._number, None)
            self._is_closed = True


def write_body(store: "Store", body: Callable[[Transaction], object]) -> Bound:
    return Bound(store, body, _bind_write_body, _body)


def change_handler(store: "Store", handler: Callable[[Changes[Any]], object]) -> Bound:
    return Bound(store, handler, _bind_change_handler, _handler)


@entry(ffi.WriteBody)
def _body(view: int, number: int) -> int:
    bound = _alive.get(number)
    if bound is None:
        return finish(Status.CLOSED_HANDLE)
    bound.exception = None
    lent = None
    try:
        lent = Lent(bound._store, view)
        with lent.body() as transaction:
            ended("the body", bound._body(transaction))
        status = 0
    except BaseException as error:
        bound.exception = error
        if lent is not None:
            lent._abandon()
        code = int(error.status) if isinstance(error, Error) else 0
        message = f"{type(error).__name__}: {error}".encode(errors="replace")
        status = int(_fail(code, ffi.text_of(message)))
    return finish(status)


@entry(ffi.ChangeHandler)
def _handler(changes: int, number: int) -> int:
    bound = _alive.get(number)
    if bound is None:
        return finish(Status.CLOSED_HANDLE)
    return delivery.guarded(partial(_handle, bound), changes, bound._store)


def _handle(bound: Bound, changes: int, call: delivery.Call) -> None:
    store, class_id = bound._store, class_of(changes)
    made: Any
    if not class_id:  # of whatever was committed
        made = Commits(store, changes)
    else:
        binding = store._of_class(class_id)
        if binding is None:
            raise NoSuchClass(f"a change set of a class that {store!r} was opened without")
        made = Changes(store, binding, changes)
    call.handler = bound._body
    try:
        result = bound._body(made)
        call.is_over = True
        ended("a handler", result, may_go_on=True)
    finally:
        made._end()
