"""Scopes inside a transaction: with tx.savepoint(): …"""

import ctypes
from typing import TYPE_CHECKING

from ..errors import InvalidArgument, NotInWrite, Status
from ..native import ffi
from ..native.failures import check, failure
from ..native.handles import Block, ends_the_block

if TYPE_CHECKING:
    from .transaction import Transaction


_begin = ffi.bind("objstore_savepoint_begin")
_release = ffi.bind("objstore_savepoint_release")
_rollback = ffi.bind("objstore_savepoint_rollback")


class Savepoint(Block):
    """A scope inside a transaction. Leaving the with block keeps what was done in it; an exception, or cancel(), undoes
    that, and the transaction continues."""

    def __init__(self, transaction: "Transaction") -> None:
        self._transaction = transaction
        self._ending, self._is_inside = None, False
        self._cell = ctypes.c_uint64()  # its number, which the library writes
        self._added = 0
        self._is_undone = False  # by the library, at least
        self.is_open = False

    def __enter__(self) -> "Savepoint":
        if self._cell.value:
            raise InvalidArgument("a savepoint is used once: call tx.savepoint() for each")
        transaction = self._check()
        self._is_inside = True
        try:
            self._added = transaction.added
            check(_begin(transaction.handle, ctypes.byref(self._cell)))
            self.is_open = True
            return self
        except BaseException:
            self._leave()
            raise

    @ends_the_block
    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if self.is_open and self._transaction.is_open:
            if kind is not None:
                self._undo()
            else:
                self._keep()
        self._over()

    def _keep(self) -> None:
        try:
            status = _release(self._transaction.handle, self._cell.value)
            self.is_open = False
        except (
            BaseException
        ):  # of a signal handler: it may be released already, and belongs to the scope around it then
            self._leave()
            raise
        if status not in (0, Status.OUT_OF_RANGE):  # one around it was cancelled in the meantime
            raise failure(status)

    def _leave(self) -> None:
        """Undoes what can be undone."""
        self.is_open = self.is_open or self._cell.value != 0
        if self.is_open and self._transaction.is_open:
            self._undo()

    def cancel(self) -> None:
        """Undoes what was done in the scope and ends it; what follows in the with block belongs to the scope around
        it."""
        if not self.is_open:
            raise InvalidArgument("the savepoint is not open")
        self._check().store._open_handle()  # Forked: there is nothing to undo
        self._undo()

    def _undo(self) -> None:
        # in a forked child: the write is the parent's, and what the program raised gets out
        if self._transaction.store._is_inherited:
            self.is_open = False
            return
        self._transaction.settle()
        again, self._is_undone = self._is_undone, True
        status = _rollback(self._transaction.handle, self._cell.value)
        if status == Status.IN_CALLBACK:  # of a call that is not over: it stays open
            self._is_undone = again
            raise failure(status)
        if status == Status.OUT_OF_RANGE and not again:  # one around it was cancelled in the meantime
            self.is_open = False
            return
        problem = failure(status) if status not in (0, Status.OUT_OF_RANGE) else None
        self._transaction._undone(self._added)
        self.is_open = False
        if problem is not None:
            raise problem

    def _check(self) -> "Transaction":
        if not self._transaction.is_open:
            raise NotInWrite("the transaction has ended")
        if not self._transaction.mine():
            raise NotInWrite("the transaction belongs to another thread or task")
        return self._transaction
