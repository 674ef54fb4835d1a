"""The library calls Python: nothing counts as done before the Python code has ended, and every exception gets out.

    store.deliver() ─► objstore_deliver ─► handler raises: kept, the library is told a status ─► … ─┐
          ▲───────────────────────── the exception itself is raised ◄───────────────────────────────┘

A signal handler may raise in a callback before its first line, and behind its last one. ctypes shows such an exception
by sys.unraisablehook, drops it, and hands the library whatever lies on the stack. So callbacks signal their end to the
library by a call (objstore_finish): without it they have not, and what they belong to is undone or comes again. And
during a call of the library that may call back, the hook is one that keeps these exceptions; on the main thread it is
of C, since a signal handler could raise in one of Python, and that would be lost with what it was given. On other
threads there are no signal handlers, but what one thread raises in another (PyThreadState_SetAsyncExc) comes in the
same places: there the hook is of Python, and shows at once what is not for a call, since such a thread may wait in the
library for hours.
"""

import _signal  # type: ignore[import-not-found]  # whose getsignal() makes no enumerations: 60 ns
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import AsyncGeneratorType, CodeType, FrameType, GeneratorType
from typing import Any

from ..errors import Error, InvalidArgument
from . import ffi
from .failures import failure

_finish = ffi.bind("objstore_finish")
MUST_FINISH = ffi.address("objstore_must_finish")  # for `free_userdata`: its callback ends by finish()
FAILED = 10_000  # OBJSTORE_USER_STATUS: what the library gets for an exception

_entries: set[CodeType] = set()  # of the functions that the library calls


class _Lent(threading.local):
    calls: "Calls | None" = None  # of the call of the library that this thread is in; None: Python did not lend it


lent = _Lent()


class Calls:
    """A call of the library that may call Python back."""

    def __init__(self) -> None:
        self.raised: list[BaseException] = []  # by what it called
        self.problem: Error | None = None  # what the library said of the call
        self.unheard = 0  # change sets that were not wanted, after all
        self.handlers: frozenset[CodeType] = frozenset()  # of signals, when it began
        self.is_of_worker = False  # of a thread that no signal handler runs on, and that has no caller

    def callback(self, prototype: Any, function: Callable[..., object]) -> Any:
        """A C function that calls function(*arguments), for this call."""
        raised = self.raised

        def called(*arguments: Any) -> int:
            try:
                function(*arguments)
                status = 0
            except BaseException as error:
                raised.append(error)
                status = FAILED
            return int(_finish(status))

        return entry(prototype)(called)

    def run(self, function: Callable[..., int], *arguments: Any) -> int:
        """Makes the call; its status. What was raised is in `raised`, what the library said in `problem`: that is read
        before any frame is left, since keeping a traceback keeps frames, for which Python makes objects then, and the
        garbage collector may run."""
        outer = lent.calls
        is_main = threading.current_thread() is threading.main_thread()  # only there Python runs signal handlers
        if not is_main and outer is not None and _running(sys._getframe(1)) is not outer:
            outer = None  # it was interrupted where it would have said that it is over
        if outer is not None:
            outer.take(is_main)
        lent.calls = self
        ends_keeping = is_main and (outer is None or sys.unraisablehook is not _keep)
        if not is_main:
            _threads[threading.get_ident()] = self
        # From a look at the hook to its exchange nothing is called: no other thread comes in between.
        hook, wanted = sys.unraisablehook, _keep if is_main else _sort
        if hook is not _keep and hook is not wanted:
            if hook is not _sort:
                _hook.others = hook
            sys.unraisablehook = wanted
        try:
            status = function(*arguments)
            if status:
                self.problem = failure(status)
            self.take(is_main)
        except BaseException as error:  # a signal handler's, after the call
            self.take(is_main)
            self.show(error)
            raise
        finally:
            lent.calls = outer
            if not is_main and outer is None:
                _threads.pop(threading.get_ident(), None)
                if not _threads and sys.unraisablehook is _sort:
                    sys.unraisablehook = _hook.others
            elif not is_main and outer is not None:
                _threads[threading.get_ident()] = outer
            elif ends_keeping and sys.unraisablehook is _keep:
                sys.unraisablehook = _sort if _threads else _hook.others
        return status

    def take(self, is_main: bool) -> None:
        """Of what was kept, what callbacks of this call raised before their first line: it goes before what they raised
        behind it. Those of other threads' calls stay; the rest the main thread shows. No byte code between noting one
        and forgetting it lets a signal handler run."""
        at = 0
        while at < len(_kept):
            kept = _kept[at]
            calls = _calls_of(kept)
            if calls is self and kept.exc_value is not None:
                self.raised[:0] = [kept.exc_value]
                _kept.remove(kept)
            elif is_main and (calls is None or calls not in _threads.values()):
                _kept.remove(kept)
                _hook.others(kept)
            else:
                at += 1

    def check(self) -> None:
        """Raises what was raised, or else what the library said."""
        if self.raised:
            raised = self.first()
            self.show(raised)
            raise raised
        if self.problem is not None:
            raise self.problem

    def first(self) -> BaseException:
        """Of several exceptions one that ends the program, such as KeyboardInterrupt, goes before those that are
        mistakes."""
        return next((error for error in self.raised if not isinstance(error, Exception)), self.raised[0])

    def show(self, instead: BaseException) -> None:
        """Shows those that cannot be raised, since another one is."""
        while self.raised:
            error = self.raised.pop(0)
            if error is not instead:
                sys.excepthook(type(error), error, error.__traceback__)


def entry(prototype: Any) -> Callable[[Callable[..., int | None]], Any]:
    """The decorator of a function that the library calls; its result does not matter."""

    def made(function: Any) -> Any:
        _entries.add(function.__code__)
        return prototype(function)

    return made


def finish(status: int) -> int:
    """The last thing that a callback does."""
    return int(_finish(status))


@entry(ffi.WaitHandler)
def _waited(_: object) -> int:
    """Is called while a call of the library waits: in it Python runs signal handlers."""
    status = 0
    try:
        pass
    except BaseException as error:
        status = FAILED
        if lent.calls is not None:
            lent.calls.raised.append(error)
    return finish(status)


WAITED: Any = _waited


class _Hook:
    others: Any = sys.unraisablehook  # for what has nothing to do with callbacks


_hook = _Hook()
_kept: "list[sys.UnraisableHookArgs]" = []  # since a call of the main thread began, by any thread
_keep: Any = _kept.append  # the hook meanwhile
_threads: dict[int, Calls] = {}  # other threads that are in a call, by their idents, and the innermost one


def have_threads() -> bool:
    """Are other threads than the main one in calls that may call back?"""
    return bool(_threads)


def _calls_of(kept: "sys.UnraisableHookArgs") -> Calls | None:
    """The call whose callback raised that before its first line, or behind its last one: its caller is below in the
    stack, or was."""
    trace = kept.exc_traceback
    if trace is None or trace.tb_frame.f_code not in _entries:
        return None
    return _running(trace.tb_frame.f_back)


def _running(frame: FrameType | None) -> Calls | None:
    """The innermost call in a stack."""
    while frame is not None and frame.f_code is not _RUN:
        frame = frame.f_back
    found: Calls | None = None if frame is None else frame.f_locals.get("self")
    return found


def _sort(given: "sys.UnraisableHookArgs") -> None:
    """The hook during a call of other threads, and none of the main thread."""
    calls = _calls_of(given)
    if calls is None or given.exc_value is None:
        _hook.others(given)
    else:
        calls.raised[:0] = [given.exc_value]


_RUN = Calls.run.__code__


def handlers() -> "frozenset[CodeType]":
    """What signals call now."""
    found = [handler for handler in map(_signal.getsignal, _NUMBERS) if callable(handler)]
    return frozenset(code for code in map(_code_of, found) if code is not None)


_NUMBERS = sorted(signal.valid_signals())


def is_interruption(error: BaseException, before: "frozenset[CodeType]" = frozenset()) -> bool:
    """Did a signal handler raise it? `before`: those that were handlers before it was raised: such a one may take
    itself away first.

    Of frames nothing but the code is read: anything else makes a cycle of each and its exception."""
    if isinstance(error, KeyboardInterrupt):
        return True
    return not (before | handlers()).isdisjoint(_passed(error))


def hand_on(error: BaseException) -> None:
    """For code that takes an error for an answer: raises it again where a signal handler has raised it."""
    if is_interruption(error):
        try:
            raise error
        finally:
            del error


def has_run(function: Any, error: BaseException) -> bool:
    """Was the function running when that was raised? True also where it is unknown: of one that is not written in
    Python."""
    code = _code_of(function)
    return code is None or code in _passed(error)


def _passed(error: BaseException) -> Iterator[CodeType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code
        trace = trace.tb_next


def plain(name: str, function: Any, instead: str = "", awaits: bool = False) -> None:
    """InvalidArgument: what runs nothing when it is called, but returns something that would. `instead`: what a
    coroutine function is told. `awaits`: a coroutine is awaited here."""
    if not callable(function):
        raise InvalidArgument(f"{name} is a function, not {function!r} ({type(function).__name__})")
    code = _code_of(function)
    flags = 0 if code is None else code.co_flags
    if flags & (CO_GENERATOR | CO_ASYNC_GENERATOR):
        raise InvalidArgument(f"{name} is a function, not a generator: its body would never run")
    if flags & CO_COROUTINE and not awaits:
        raise InvalidArgument(
            f"{name} is a function, not a coroutine function (async def): nobody would await it{instead}"
        )


# What runs other code only when it is iterated over; and what may have such a thing in it, but also what is there
# already.
_LATE = (GeneratorType, AsyncGeneratorType, map, filter)
_PASSING = (zip, enumerate)


def ended(name: str, result: Any, is_used: bool = False, may_go_on: bool = False) -> None:
    """The same of what a function has returned. `is_used`: its caller gets that, and may iterate over it: loops over
    what a store has continue beyond the write. `may_go_on`: also a future, which is worked for elsewhere."""
    if hasattr(result, "__await__") and not (may_go_on and hasattr(result, "add_done_callback")):
        if hasattr(result, "close"):
            result.close()  # it was not forgotten
        raise InvalidArgument(
            f"{name} returned {type(result).__name__!r}, which nobody awaits: it is a function that has done its work "
            "when it returns"
        )
    if isinstance(result, _LATE) or (
        not is_used and (isinstance(result, _PASSING) or type(result).__module__ == "itertools")
    ):
        raise InvalidArgument(
            f"{name} returned {type(result).__name__!r}, whose work nobody had done when it returned: it is a function "
            "that goes through that itself, by a loop or list(…)"
        )


def _code_of(function: Any) -> CodeType | None:
    """Of what is called in the end, be it a method or bound to arguments."""
    for _ in range(10):
        for attribute in ("__func__", "func", "__wrapped__"):
            inner = getattr(function, attribute, None)
            if inner is not None:
                function = inner
                break
        else:
            break
    if not hasattr(function, "__code__") and callable(function):
        function = getattr(type(function), "__call__", None)  # noqa: B004
    return getattr(function, "__code__", None)
