"""The thread that calls the handlers of a store which was opened with deliver_on_worker.

A thread of Python: it waits in the library as any other may, and no thread of the library runs Python. It has the
handle, and not the store: a store that nothing refers to is closed, with which the thread ends.

No signal handler runs in it, and none may run in the middle of Thread.start(), which does not survive an exception: so
it is begun by another thread, and whoever begins it or waits for it calls nothing but C.
"""

import _thread
import contextlib
import os
import queue
import sys
import threading

from ..errors import Status
from . import delivery


class Worker:
    def __init__(self, store: int, path: str) -> None:
        self._process = os.getpid()  # a forked child has no such thread
        self._ident: int | None = None
        self._has_ended = False
        self._running = _thread.allocate_lock()  # while it runs
        begun: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        _thread.start_new_thread(_begin, (self._work, store, f"objstore worker of {path}", begun))
        problem = begun.get()
        if problem is not None:
            raise problem

    def end(self) -> None:
        """Of a store that was closed: waits till no handler is called any more."""
        if os.getpid() == self._process and not self._has_ended and threading.get_ident() != self._ident:
            self._running.acquire()
            self._running.release()

    def _work(self, store: int, begun: "queue.SimpleQueue[BaseException | None]") -> None:
        self._ident = threading.get_ident()
        with self._running:
            begun.put(None)
            while _deliver(store):
                pass
            self._has_ended = True


def _begin(work: object, store: int, name: str, begun: "queue.SimpleQueue[BaseException | None]") -> None:
    try:
        threading.Thread(target=work, args=(store, begun), name=name, daemon=True).start()  # type: ignore[arg-type]
    except BaseException as error:  # there can be no more threads: who opens the store is told
        begun.put(error)


def _deliver(store: int) -> bool:
    """Once; false: nothing comes any more. A function, whose frame keeps nothing while the thread waits again."""
    delivered = delivery.wait_for_ever(store)
    for error in delivered.calls.raised:
        _show(error)
    problem = delivered.problem
    if problem is None or problem.status == Status.CALLBACK:
        return True
    if problem.status in (Status.CLOSED_HANDLE, Status.FORKED):
        return False
    _show(problem)  # the library is quiet now until something is committed
    return problem.status != Status.REPLACED


def _show(error: BaseException) -> None:
    """As a thread does whose run() ends so, but it goes on whatever becomes of that."""
    args = threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread()))
    try:
        threading.excepthook(args)
    except BaseException as other:
        with contextlib.suppress(Exception):  # there is nothing to write to
            sys.excepthook(type(other), other, other.__traceback__)
