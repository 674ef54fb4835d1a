"""Who is told how far queries have come: Store.watch_queries().

query ─► objstore_query_find ─► one C function ─► the Python function, by its number
  ▲──────────────── what it raised is raised (native/callbacks.py) ────┘
"""

import itertools
from collections.abc import Callable

from ..arguments import seconds
from ..errors import Error
from ..native import ffi
from ..native.callbacks import FAILED, MUST_FINISH, entry, finish, lent, plain
from ..native.failures import check
from ..reading import views

_watch = ffi.bind("objstore_watch_queries")

_fail = ffi.bind("objstore_fail")

_numbers = itertools.count(1)


def watch(store: int, function: Callable[[int, int], object] | None, interval: float) -> int:
    """Gives a function to the library, for all queries of a store; its number, 0 for none."""
    milliseconds = round(1000 * (seconds("interval", interval, ever=False) or 0))
    if function is None:
        check(_watch(store, milliseconds, None, None, None))
        return 0
    plain("the function", function)
    number = next(_numbers)
    views.watchers[number] = function
    try:
        check(_watch(store, milliseconds, _pointer, number, MUST_FINISH))
    except BaseException:
        forget(number)
        raise
    return number


def forget(number: int) -> None:
    views.watchers.pop(number, None)


def _told(done: int, total: int, number: int) -> int:
    function = views.watchers.get(number)
    status = 0
    try:
        if function is not None:  # it may have been replaced while a query is asked
            function(done, total)
    except BaseException as error:
        if lent.calls is not None:
            lent.calls.raised.append(error)
            status = FAILED
        else:  # another library reads a stream: its error has the text
            code = int(error.status) if isinstance(error, Error) else 0
            status = int(_fail(code, ffi.text_of(f"{type(error).__name__}: {error}".encode(errors="replace"))))
    return finish(status)


_pointer = entry(ffi.Progress)(_told)
