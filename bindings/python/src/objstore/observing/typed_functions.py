"""Typed observers: the properties of each changed object as arguments of a function."""

import ctypes
from collections.abc import Callable, Iterable
from ctypes import c_bool, c_double, c_float, c_int32, c_int64, c_void_p
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..arguments import INT32, UINT64, whole
from ..errors import HandlerFailed, InvalidArgument, NotSupported, OutOfRange
from ..native import ffi
from ..native.callbacks import MUST_FINISH, ended, entry, finish, plain
from ..native.failures import check
from ..values import kinds
from ..values.columns import property_ids
from . import delivery
from .changes import DELETIONS, INSERTIONS, MODIFICATIONS
from .tokens import Token, properties, token_of

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..reading.queries import Query
    from ..schema.bindings import Binding
    from ..stores.open_store import OpenStore


_observe_typed = ffi.bind("objstore_observe_typed")
_query_observe_typed = ffi.bind("objstore_query_observe_typed")

CFunction: Any = ffi.Function.__mro__[1]  # every function of ctypes is one
BEGINNING = 0  # OBJSTORE_BEGINNING
EVENTS = {BEGINNING: "began", DELETIONS: "deleted", INSERTIONS: "inserted", MODIFICATIONS: "modified"}
DELETIONS_TOO = 0x1  # OBJSTORE_TYPED_DELETIONS
BEGINNINGS_TOO = 0x2  # OBJSTORE_TYPED_BEGINNINGS
PAUSED = 0x4  # OBJSTORE_TYPED_PAUSED


def _text(address: int | None, length: int) -> str | None:
    return None if address is None else ctypes.string_at(address, length).decode()


def _binary(address: int | None, length: int) -> bytes | None:
    return None if address is None else ctypes.string_at(address, length)


def _at(type_: Any) -> Callable[[int | None], Any]:
    return lambda address: None if address is None else type_.from_address(address).value


def _moment(address: int | None) -> datetime | None:
    if address is None:
        return None
    found = ffi.Timestamp.from_address(address)
    return kinds.moment(found.seconds, found.nanoseconds)


# word: the C arguments, and what makes one Python value of them
WORDS: dict[str, tuple[tuple[Any, ...], Callable[..., Any]]] = {
    "bool": ((c_bool,), bool),
    "bool?": ((c_void_p,), _at(c_bool)),
    "i64": ((c_int64,), int),
    "i64?": ((c_void_p,), _at(c_int64)),
    "f32": ((c_float,), float),
    "f32?": ((c_void_p,), _at(c_float)),
    "f64": ((c_double,), float),
    "f64?": ((c_void_p,), _at(c_double)),
    "time": ((c_int64, c_int32), kinds.moment),
    "time?": ((c_void_p,), _moment),
    "str": ((c_void_p, c_int64), _text),
    "str?": ((c_void_p, c_int64), _text),
    "bin": ((c_void_p, c_int64), _binary),
    "bin?": ((c_void_p, c_int64), _binary),
    "key": ((c_int64,), int),
    "event": ((c_int32,), EVENTS.__getitem__),
}
WITHOUT_PROPERTY = ("key", "event")


class TypedToken(Token):
    """An observer whose function is called once for each object."""

    __slots__ = ("_function", "_takers", "_event_at", "_status_of")

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function
        self._takers: list[tuple[int, int, Callable[..., Any]]] = []
        self._event_at = -1  # where `event` is among the C arguments; -1: not at all
        self._status_of = ""  # the class in messages about a status; empty: there is none

    def observe(
        self,
        store: "OpenStore",
        binding: "Binding",
        keys: "Iterable[object]",
        signature: str,
        userdata: int | None,
        query: "Query | None" = None,
        deletions: bool = False,
        beginnings: bool = False,
        since: bytes | None = None,
    ) -> None:
        """`query`: what it finds; None: all objects of the class, from now on."""
        if userdata is not None:
            userdata = whole("userdata", userdata, UINT64)
        self._store = store
        meant = properties(binding, keys)
        ids = property_ids([binding.ids[p.index] for p in meant])
        if isinstance(self._function, CFunction):
            address = ctypes.cast(self._function, c_void_p).value
        elif callable(self._function):
            plain("a handler", self._function)
            if userdata is not None:
                raise InvalidArgument("userdata is for functions in C; a Python function has a closure")
            address, userdata = self._prepare(signature, meant, binding.model.__name__), self._number
        else:
            raise InvalidArgument(f"a function is wanted, of Python or of ctypes, not {self._function!r}")
        text, free = ffi.text(signature, "a signature"), None if isinstance(self._function, CFunction) else MUST_FINISH
        rest = (ids, len(meant), text, address, userdata, free, self._out)
        if query is None:
            check(_observe_typed(store._open_handle(), binding.class_id, *rest))
        else:
            flags = DELETIONS_TOO if deletions else 0
            if since is not None:
                flags |= PAUSED | BEGINNINGS_TOO  # which are told where the version is gone, and not where it is there
            elif beginnings:
                flags |= BEGINNINGS_TOO
            check(_query_observe_typed(query.cell, store._open_handle(), flags, *rest))
        if address == _NOWHERE:
            self.close()
            raise NotSupported(f"{signature!r} has a word that this package does not know")
        self._begin(since)

    def _prepare(self, signature: str, meant: "list[Property]", class_name: str) -> int:
        """What makes Python values of the C arguments; the address of the C function to call.

        The library reads the signature after this, and says what is wrong with it."""
        words, _, result = signature.partition("->")
        shape = tuple("".join(word.split()) for word in words.split(","))
        at, unused = 0, iter(meant)
        for word in shape:
            if word not in WORDS:
                return _NOWHERE
            arguments, convert = WORDS[word]
            if word == "event":
                self._event_at = at
            prop = None if word in WITHOUT_PROPERTY else next(unused, None)
            if prop is not None and prop.enum is not None:
                convert = _member(prop, convert)
            self._takers.append((at, at + len(arguments), convert))
            at += len(arguments)
        has_status = result.strip() == "status"
        self._status_of = class_name if has_status else ""
        return _function_for(shape, has_status)

    def _called(self, given: Any, call: delivery.Call) -> None:
        if self._event_at >= 0 and given[self._event_at] == BEGINNING:
            arguments = [EVENTS[BEGINNING] if a == self._event_at else None for a, _, _ in self._takers]
        else:
            arguments = [take(*given[a:b]) for a, b, take in self._takers]
        call.handler = self._function
        result = self._function(*arguments)
        if self._status_of and result is not None:
            call.status = _status(self._status_of, result)
        call.is_over = True
        ended("a handler", result, may_go_on=True)


def _status(class_name: str, result: Any) -> int:
    """What a function gave as its status."""
    try:
        return whole("its status", result, INT32)
    except (InvalidArgument, OutOfRange) as error:
        raise HandlerFailed(
            f"an observer of {class_name} with '-> status' failed: {error}", class_name=class_name
        ) from None


def _member(prop: "Property", convert: Callable[..., Any]) -> Callable[..., Any]:
    def member(*arguments: Any) -> Any:
        value = convert(*arguments)
        return None if value is None else kinds.member(prop, value)

    return member


# One C function for each shape of signature: they are never released, so none is while it runs.
_functions: dict[tuple[tuple[str, ...], bool], tuple[Any, int]] = {}


def _function_for(shape: tuple[str, ...], has_status: bool) -> int:
    made = _functions.get((shape, has_status))
    if made is None:
        arguments = [argument for word in shape for argument in WORDS[word][0]]
        prototype = ctypes.CFUNCTYPE(c_int32 if has_status else None, *arguments, c_void_p)
        function = entry(prototype)(_called if has_status else _called_for_nothing)
        made = _functions[shape, has_status] = (function, ctypes.cast(function, c_void_p).value or 0)
    return made[1]


def _called(*arguments: Any) -> int:
    token = token_of(arguments[-1])
    return finish(0) if token is None else delivery.guarded(token._called, arguments, token._store)


def _called_for_nothing(*arguments: Any) -> None:
    _called(*arguments)


_nowhere = ffi.Function(lambda: None)  # represents a function whose signature the library is going to refuse
_NOWHERE: int = ctypes.cast(_nowhere, c_void_p).value or 0
