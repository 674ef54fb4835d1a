"""Exceptions from outside at every place where CPython can run a signal handler, one after the other."""

import dis
import functools
import pathlib
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import objstore

PACKAGE = str(pathlib.Path(objstore.__file__).parent)


class Stop(Exception):
    """What the signal handlers here raise."""


def stop(*_: object) -> None:
    """A signal handler: whoever looks at the traceback sees that."""
    raise Stop


def raising(kind: type[BaseException]) -> Callable[[int, FrameType | None], None]:
    """A handler that raises that."""

    def handler(number: int, frame: FrameType | None) -> None:
        raise kind("a signal came")

    return handler


@functools.cache
def lock_exits(code: CodeType) -> frozenset[int]:
    """Where a `with` calls the __exit__ of its own after a block that ended well: of a lock, no handler may run there,
    nor does CPython run any: it looks for signals behind calls, at the beginning of functions and where it jumps back
    only."""
    found: set[int] = set()
    lines = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    for at in range(len(lines) - 3):
        four = lines[at : at + 4]
        if all(i.opname == "LOAD_CONST" and i.argval is None for i in four[:3]):
            end = at + 3
            while lines[end].opname in ("PRECALL", "CALL", "CALL_FUNCTION"):
                end += 1
            found |= {i.offset for i in lines[at:end]}
    return frozenset(found)


class Interruption:
    """Runs something, and raises Stop before the n-th byte code of the package that it comes to."""

    def __init__(
        self, at: int, files: tuple[str, ...] = (), handler: Callable[[int, FrameType | None], None] = stop
    ) -> None:
        self.left = at
        self.handler = handler
        self.files = files
        self.where = ""

    def run(self, action: Callable[[], Any]) -> Any:
        sys.settrace(self._called)
        try:
            return action()
        finally:
            sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or (self.files and pathlib.Path(name).name not in self.files):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._traced

    def _traced(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "opcode" and frame.f_lasti not in lock_exits(frame.f_code):
            self.left -= 1
            if self.left == 0:
                self.where = (
                    f"{pathlib.Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_name} "
                    f"at {frame.f_lasti}"
                )
                self.handler(signal.SIGUSR1, frame)
        return self._traced


def at_every_byte_code(
    action: Callable[[], Any], files: tuple[str, ...] = (), step: int = 1, keeps: int = 10
) -> Iterator[tuple[str, BaseException | None]]:
    """Where it was, and what came out. The exceptions are kept for a while, with their tracebacks and all that is in
    those."""
    kept: deque[BaseException] = deque(maxlen=keeps)
    at = 1
    while True:
        interruption = Interruption(at, files)
        raised: BaseException | None = None
        try:
            interruption.run(action)
        except Stop as error:
            kept.append(error)
            raised = error if keeps else Stop()
        if interruption.left > 0:
            return
        yield interruption.where, raised
        at += step


def elsewhere(function: Callable[[], Any], seconds: float = 60) -> Any:
    """What a function gives on another thread; TimeoutError: it waits for something that will not happen any more."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError("another thread waits for ever")
    if errors:
        raise errors[0]
    return results[0]
