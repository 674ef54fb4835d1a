"""The thread that calls the handlers of a store which was opened with deliver_on_worker.

A thread of Python: it waits in the library as any other may, and no thread of the library runs Python. It has the
handle, and not the store: a store that nothing refers to is closed, with which the thread ends.
"""

import queue
import threading

from ..errors import Status
from . import delivery

_PAUSE = 1.0  # seconds, after which a store that could not be read is tried again


class Worker:
    def __init__(self, store: int, path: str) -> None:
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._thread = threading.Thread(
            target=_work, args=(store, self._ended), name=f"objstore worker of {path}", daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """Of a store that was closed."""
        self._ended.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join()


def _work(store: int, ended: "queue.SimpleQueue[None]") -> None:
    while True:
        delivered = delivery.wait_for_ever(store)
        problem = delivered.problem
        for error in delivered.calls.raised:
            _show(error)
        if problem is None or problem.status == Status.CALLBACK:
            continue
        if problem.status in (Status.CLOSED_HANDLE, Status.FORKED):
            return
        _show(problem)
        if problem.status == Status.REPLACED:  # nothing more comes
            return
        try:
            return ended.get(timeout=_PAUSE)
        except queue.Empty:
            pass


def _show(error: BaseException) -> None:
    threading.excepthook(
        threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread()))
    )
