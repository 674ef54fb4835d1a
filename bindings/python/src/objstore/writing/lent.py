"""Transactions that other code begins and ends."""

import contextlib
import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import InCallback
from ..native import ffi
from ..native.failures import check
from .current_thread import current_task, here
from .transaction import Transaction

if TYPE_CHECKING:
    from ..stores.store import Store


_exists = ffi.bind("objstore_exists")


class Lent(Transaction):
    """A transaction that other code began and ends: C code that runs a bound body, or the opening of the store."""

    def __init__(self, store: "Store", handle: int) -> None:
        super().__init__(store, None)
        store._open_handle()
        found = ctypes.c_bool()
        for binding in store._bindings.values():  # WrongStore: it is a transaction of another one
            check(_exists(handle, ffi.Object(binding.class_id, binding.head >> 32, 0), ctypes.byref(found)))
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
            try:
                self._outlive()
            finally:
                self._end(committed=good)

    def _abandon(self) -> None:
        if not self._is_over:
            self._end(committed=False)

    def cancel(self) -> None:
        raise InCallback("who began this transaction ends it: raise an exception, and it is cancelled")
