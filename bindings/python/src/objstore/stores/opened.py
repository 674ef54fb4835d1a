"""The stores of this process, and what becomes of them when the interpreter ends.

Then threads end where they are, daemons, also inside of a handler that the library has called: nobody says that the
call is over, and closing the store would wait for that for ever. So stores that other threads are in are closed before,
which waits for their handlers while these can still run.
"""

import contextlib
from typing import TYPE_CHECKING

from ..native.callbacks import have_threads
from ..native.handles import Bag

if TYPE_CHECKING:
    from .open_store import OpenStore

stores: "Bag[OpenStore]" = Bag()


def close_what_threads_use() -> None:
    """Before Python ends them. All of them, whatever one raises."""
    with contextlib.ExitStack() as closing:
        for store in list(stores):
            if (store._worker is not None or have_threads()) and not store._is_inherited:
                closing.callback(store.close)
