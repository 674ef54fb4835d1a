"""Scopes inside a transaction: with tx.savepoint(): …"""

import ctypes
from typing import TYPE_CHECKING

from . import _ffi
from ._check import check, failure
from .errors import InvalidArgument, NotInWrite, Status

if TYPE_CHECKING:
    from .transaction import Transaction

_begin = _ffi.bind("objstore_savepoint_begin")
_release = _ffi.bind("objstore_savepoint_release")
_rollback = _ffi.bind("objstore_savepoint_rollback")


class Savepoint:
    """A scope inside a transaction. Leaving the with block keeps what was done in it; an exception, or cancel(), undoes
    that, and the transaction goes on."""

    def __init__(self, transaction: "Transaction") -> None:
        self._transaction = transaction
        self._id = 0
        self._added = 0
        self.is_open = False

    def __enter__(self) -> "Savepoint":
        if self._id:
            raise InvalidArgument("a savepoint is used once: call tx.savepoint() for each")
        transaction = self._check()
        savepoint = ctypes.c_uint64()
        check(_begin(transaction.handle, ctypes.byref(savepoint)))
        self._id = savepoint.value
        self._added = transaction.added
        self.is_open = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if not self.is_open or not self._transaction.is_open:
            return
        if kind is not None:
            self._undo()
            return
        self.is_open = False
        status = _release(self._transaction.handle, self._id)
        if status not in (0, Status.OUT_OF_RANGE):  # one around it was cancelled in the meantime
            raise failure(status)

    def cancel(self) -> None:
        """Undoes what was done in the scope and ends it; what follows in the with block belongs to the scope around it."""
        if not self.is_open:
            raise InvalidArgument("the savepoint is not open")
        self._check()
        self._undo()

    def _undo(self) -> None:
        self._transaction.settle()
        status = _rollback(self._transaction.handle, self._id)
        if status == Status.IN_CALLBACK:  # of a call that is not over: it stays open
            raise failure(status)
        self.is_open = False
        if status == Status.OUT_OF_RANGE:  # one around it was cancelled in the meantime
            return
        problem = failure(status) if status else None
        self._transaction._undone(self._added)
        if problem is not None:
            raise problem

    def _check(self) -> "Transaction":
        if not self._transaction.is_open:
            raise NotInWrite("the transaction has ended")
        if not self._transaction.mine():
            raise NotInWrite("the transaction belongs to another thread or task")
        return self._transaction
