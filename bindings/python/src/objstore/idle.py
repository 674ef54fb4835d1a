"""Lets go of what nobody uses: an idle program pins no version of a store.

One thread a process. It looks at the stores that were read a moment ago, and when there is none it sleeps until
there is one again.
"""

import os
import threading
import time
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .store import Store

PAUSE = 0.1  # seconds; a snapshot is let go of between one and two pauses after it was used last


class _Keeper:
    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._stores: set[weakref.ref[Store]] = set()
        self._thread: threading.Thread | None = None

    def watch(self, store: "weakref.ref[Store]") -> None:
        """The store has a snapshot from now on."""
        with self._wake:
            self._stores.add(store)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="objstore-idle", daemon=True)
                self._thread.start()
            else:
                self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._stores:
                    self._wake.wait()
                watched = list(self._stores)
            time.sleep(PAUSE)
            for reference in watched:
                store = reference()
                if store is None or store._let_go_if_idle():
                    with self._wake:
                        self._stores.discard(reference)
                        if store is not None and store._holds():  # it was used again in between
                            self._stores.add(reference)
                store = None  # not kept while this thread sleeps


_keeper = _Keeper()


def watch(store: "weakref.ref[Store]") -> None:
    _keeper.watch(store)


def _after_fork() -> None:
    global _keeper
    _keeper = _Keeper()  # the thread and whoever held its lock are in the parent


os.register_at_fork(after_in_child=_after_fork)
