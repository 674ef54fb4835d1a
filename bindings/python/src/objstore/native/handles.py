"""Handles of the library, which are closed whatever happens.

A signal handler of Python may raise between any two byte codes: also between the call that opens something and the
statement that would remember it, and in a `__del__`, where Python shows the exception and drops it. So

* the library writes a handle into a cell that belongs to its owner before the call;
* when the owner is gone, the library's own function is called for what the cell has then, as the callback of a weak
  reference: there is no byte code of Python in it, and so no place where a signal handler could run.
"""

import ctypes
import operator
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from itertools import compress, repeat
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ..messages import a

T = TypeVar("T")


class Closer(weakref.ref[Any]):
    """Closes what is in a cell when its owner is gone. It is called with itself, and ctypes takes its cell for it."""

    __slots__ = ("_as_parameter_",)
    _as_parameter_: Any
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # its own, not the owner's


# A weak reference that is garbage together with its owner is not called: they are kept here.
_closers: set[Closer] = set()
_looks = 1000  # of which those whose owner is gone are left out when there are this many


def cell_of(owner: Any, close: Any) -> ctypes.c_void_p:
    """Room for a handle, which `close` is called for when the owner is gone; for NULL or a handle that is closed
    already it does nothing."""
    closer = Closer(owner, close)
    cell = closer._as_parameter_ = ctypes.c_void_p()
    _closers.add(closer)  # from here on it is called
    if len(_closers) > _looks:
        _look()
    return cell


def when_gone(owner: Any, function: Any) -> Closer:
    """Calls a function that is not written in Python, with what this returns, unless that is forgotten first."""
    closer = Closer(owner, function)
    _closers.add(closer)
    return closer


def _look() -> None:
    global _looks
    # Owners may have a truth value of their own: that of a table is whether it has rows, for which it would be asked.
    # However many there are, it is one byte code: no signal handler runs inside.
    closers, owner_of = list(_closers), cast(Any, Closer.__call__)
    _closers.difference_update(compress(closers, map(operator.is_, map(owner_of, closers), repeat(None))))
    _looks = 1000 + 2 * len(_closers)


forget = _closers.discard


class Handle:
    """A handle of the library by itself."""

    __slots__ = ("cell", "__weakref__")

    def __init__(self, close: Any) -> None:
        self.cell = cell_of(self, close)


class Bag(Generic[T]):
    """Objects while they are referenced elsewhere. As a weakref.WeakSet, but nothing runs when one of them goes."""

    __slots__ = ("_references", "_looks")

    def __init__(self) -> None:
        self._references: list[weakref.ref[Any]] = []
        self._looks = 16

    def add(self, obj: T) -> None:
        self._references.append(weakref.ref(obj))
        if len(self._references) > self._looks:
            self._references = [reference for reference in self._references if reference() is not None]
            self._looks = 16 + 2 * len(self._references)

    def __iter__(self) -> Iterator[T]:
        for reference in list(self._references):
            obj = reference()
            if obj is not None:
                yield obj

    def __bool__(self) -> bool:
        return bool(self._references)


class Block:
    """What can be used in a with statement, and ends then even where its __exit__ does not run to its end.

    `with x:` takes x.__exit__ before it calls x.__enter__, and keeps what it got as long as the block lasts. What it
    gets here is a call of that function, which has no other reference: no frame does, and so no traceback. When it is
    gone and the block has not said that it is over, x._leave() is called, at once. So an exception before the first
    line of __exit__, or behind the last one of __enter__, leaves nothing open, whoever keeps that exception."""

    __slots__ = ()
    _instead = ""  # what to do instead of copying it
    if TYPE_CHECKING:  # else they are slots, or attributes, of each class
        _ending: "weakref.ref[Any] | None"  # of what the with statement has; None: there is none
        _is_inside: bool  # set by __enter__

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(
            f"{a(type(self).__name__)} is of this process alone: it cannot be copied or pickled{self._instead}"
        )

    def _over(self) -> None:
        """At the end of __exit__."""
        self._ending = None  # type: ignore[misc]
        self._is_inside = False  # type: ignore[misc]

    def _was_left(self, _: object) -> None:
        if self._is_inside:
            self._leave()
        self._over()

    def is_left(self) -> bool:
        """Was it left, and did a second exception keep _leave() from its end?"""
        return self._is_inside and self._ending is not None and self._ending() is None

    def _leave(self) -> None:
        """What __exit__ does for an exception, or what is missing of it. Called again, it does nothing."""
        raise NotImplementedError


class _Exit:
    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __get__(self, block: Any, kind: Any = None) -> Any:
        if block is None:
            return self._function
        ending = partial(self._function, block)
        if block._ending is None and not block._is_inside:
            block._ending = weakref.ref(ending, block._was_left)
        return ending


F = TypeVar("F", bound=Callable[..., Any])


def ends_the_block(function: F) -> F:
    """The decorator of __exit__ in a Block."""
    return cast(F, _Exit(function))


class ClosingBlock(Block):
    """A Block that is closed at its end."""

    __slots__ = ()

    def close(self) -> None:
        """Closing twice is allowed."""
        raise NotImplementedError

    def __enter__(self: T) -> T:
        self._is_inside = True  # type: ignore[attr-defined]
        return self

    @ends_the_block
    def __exit__(self, *_: object) -> None:
        self.close()
        self._over()

    def _leave(self) -> None:
        self.close()
