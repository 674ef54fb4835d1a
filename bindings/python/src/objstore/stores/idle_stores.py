"""Releases what is not in use: an idle program pins no version of a store.

One thread a process. It looks at the stores that were read a moment ago, and when there is none it sleeps until
there is one again.
"""

import _thread
import os
import queue
import time
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .open_store import OpenStore


PAUSE = 0.1  # seconds; a snapshot is let go of between one and two pauses after it was used last


class _Keeper:
    """A signal handler may raise in watch(), between any two calls: a lock that is written in Python could stay taken
    then, and a Thread that is just being started does not survive it. So each step is one call of C, and can be done
    again."""

    def __init__(self) -> None:
        self._stores: set[weakref.ref[OpenStore]] = set()
        self._wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._started = False
        self._threads: list[int] = []  # the first one works

    def watch(self, store: "weakref.ref[OpenStore]") -> None:
        """The store has a snapshot from now on."""
        self._stores.add(store)
        if not self._started:
            _thread.start_new_thread(self._run, ())
            self._started = True
        self._wakes.put(None)

    def _run(self) -> None:
        self._threads.append(_thread.get_ident())
        if self._threads[0] != _thread.get_ident():
            return
        while True:
            if not self._stores:
                self._wakes.get()
                continue
            while not self._wakes.empty():
                self._wakes.get()
            watched = list(self._stores)
            time.sleep(PAUSE)
            for reference in watched:
                store = reference()
                if store is None or store._let_go_if_idle():
                    self._stores.discard(reference)
                    if store is not None and store._holds():  # it was used again in between
                        self._stores.add(reference)
                store = None  # not kept while this thread sleeps


_keeper = _Keeper()


def watch(store: "weakref.ref[OpenStore]") -> None:
    _keeper.watch(store)


def _after_fork() -> None:
    global _keeper
    _keeper = _Keeper()  # the thread and the holder of its lock are in the parent


os.register_at_fork(after_in_child=_after_fork)
