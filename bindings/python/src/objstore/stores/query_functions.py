"""Functions that queries call: `haversine(lat, lon, $0, $1) < 50`.

query ─► objstore_query_count ─► a C function for the shape of the signature ─► the Python function, by its number
  ▲──────────────── what it raised is raised (native/callbacks.py) ────────────────────────┘
"""

import ctypes
import inspect
import itertools
import threading
import types
import typing
from collections.abc import Callable
from ctypes import c_int32, c_void_p
from datetime import datetime
from typing import Any

from ..arguments import INT64, UINT64, whole
from ..errors import Error, InvalidArgument, InvalidSignature, NotFound, Status, WrongType
from ..messages import shown
from ..native import ffi
from ..native.callbacks import FAILED, MUST_FINISH, entry, finish, lent, plain
from ..native.failures import check
from ..observing.typed_functions import WITHOUT_PROPERTY, WORDS, CFunction
from ..reading import queries
from ..values import kinds
from . import function_columns

_define = ffi.bind("objstore_define_function")
_undefine = ffi.bind("objstore_undefine_function")
_fail = ffi.bind("objstore_fail")

_numbers = itertools.count(1)
_alive: "dict[int, Function]" = {}  # until their store is closed: queries may have those that were replaced


class _Room(threading.local):
    text: object = None  # what a function returned last on this thread: the library copies it


_room = _Room()


class Function:
    """A function of Python as a store knows it."""

    def __init__(self, name: str, function: Callable[..., object], words: tuple[str, ...], result: str) -> None:
        self.number = next(_numbers)
        self._name = name
        self._function = function
        if result.endswith("[]"):
            self._call = self._called_with_columns
            self._columns = function_columns.Columns(name, words, result)
            return
        self._call = self._called_with_values
        self._takers: list[tuple[int, int, Callable[..., Any]]] = []
        at = 0
        for word in words:
            arguments, convert = WORDS[word]
            self._takers.append((at, at + len(arguments), convert))
            at += len(arguments)
        self._result = at
        self._put = RESULTS[result.rstrip("?")]
        self._word, self._is_nullable = result, result.endswith("?")
        self._is_text = result.startswith(("str", "bin"))

    def call(self, given: tuple[Any, ...]) -> None:
        self._call(given)

    def _called_with_values(self, given: tuple[Any, ...]) -> None:
        value = self._function(*[take(*given[a:b]) for a, b, take in self._takers])
        address = given[self._result]
        if value is not None:
            self._put(f"{self._name}()", address, value)
        elif not self._is_nullable:
            raise WrongType(f"{self._name}() returned None, and its result is {self._word}: {self._word}? may be None")
        elif not self._is_text:
            ctypes.c_bool.from_address(given[self._result + 1]).value = True

    def _called_with_columns(self, given: tuple[Any, ...]) -> None:
        self._columns.call(self._function, given)


# What a function returns, into the library's memory.


def _put_bool(what: str, address: int, value: Any) -> None:
    if not isinstance(value, bool) and getattr(value, "dtype", None) != bool:  # noqa: E721  # a dtype equals its type
        raise wrong(what, "bool", value)
    ctypes.c_bool.from_address(address).value = bool(value)


def _put_int(what: str, address: int, value: Any) -> None:
    try:
        ctypes.c_int64.from_address(address).value = whole(f"the result of {what}", value, INT64)
    except InvalidArgument:
        raise wrong(what, "int", value) from None


def _put_real(kind: Any) -> Callable[[str, int, Any], None]:
    def put(what: str, address: int, value: Any) -> None:
        try:
            if isinstance(value, (str, bytes, bytearray)):
                raise TypeError
            kind.from_address(address).value = float(value)
        except (TypeError, ValueError):
            raise wrong(what, "float", value) from None

    return put


def _put_time(what: str, address: int, value: Any) -> None:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise wrong(what, "datetime with a time zone", value)
    found = ffi.Timestamp.from_address(address)
    found.seconds, found.nanoseconds = kinds.instant(value)


def _put_text(what: str, address: int, value: Any) -> None:
    if not isinstance(value, str):
        raise wrong(what, "str", value)
    _put_bytes(address, value.encode())


def _put_binary(what: str, address: int, value: Any) -> None:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise wrong(what, "bytes", value)
    _put_bytes(address, bytes(value))


def _put_bytes(address: int, encoded: bytes) -> None:
    text = ffi.Text.from_address(address)
    made = ffi.text_of(encoded)
    _room.text = made
    text.bytes, text.length = made.bytes, made.length


def wrong(what: str, wanted: str, value: object) -> WrongType:
    article = "an" if wanted[0] in "aeiou" else "a"
    return WrongType(f"{what} returned {shown(value)} ({type(value).__name__}), and its result is {article} {wanted}")


RESULTS: dict[str, Callable[[str, int, Any], None]] = {
    "bool": _put_bool,
    "i64": _put_int,
    "f32": _put_real(ctypes.c_float),
    "f64": _put_real(ctypes.c_double),
    "time": _put_time,
    "str": _put_text,
    "bin": _put_binary,
}


# Defining


def define(
    store: int, name: str, function: Callable[..., object], signature: str | None, userdata: int | None
) -> "Function | Any":
    """Gives a function to the library; what has to live as long as the store. The library says what is wrong with the
    name and the signature."""
    if not isinstance(name, str):
        raise InvalidArgument(f"the name of a function is a str, not {shown(name)}")
    if signature is not None and not isinstance(signature, str):
        raise InvalidArgument(f"the signature of {name} is a str, not {shown(signature)}")
    if isinstance(function, CFunction):
        if signature is None:
            raise InvalidArgument(f"{name}: a function of ctypes needs a signature, such as 'f64, f64 -> f64'")
        userdata = None if userdata is None else whole("userdata", userdata, UINT64)
        _give(store, name, signature, ctypes.cast(function, c_void_p).value, userdata, None)
        return function
    plain(f"the function {name}", function)
    if userdata is not None:
        raise InvalidArgument("userdata is for functions in C; a Python function has a closure")
    if signature is None:
        signature = signature_of(name, function)
    words, arrow, result = (part if part == "->" else "".join(part.split()) for part in signature.partition("->"))
    shape = tuple(words.split(",")) if words else ()
    if not arrow or not _is_known(shape, result):
        # The library reads it, and refuses it.
        _give(store, name, signature, ctypes.cast(_nowhere, c_void_p).value, None, None)
        _undefine(store, ffi.text(name))
        raise InvalidSignature(f"{signature!r} has a word that this package does not know")
    made = Function(name, function, shape, result)
    _alive[made.number] = made
    try:
        _give(store, name, signature, _function_for(shape, result), made.number, MUST_FINISH)
    except BaseException:
        _alive.pop(made.number, None)
        raise
    return made


def _give(store: int, name: str, signature: str, address: int | None, userdata: int | None, free: int | None) -> None:
    texts = ffi.text(name, "the name of a function"), ffi.text(signature, "a signature")
    check(_define(store, *texts, address, userdata, free))
    queries.called(name)


def undefine(store: int, name: str) -> None:
    if not isinstance(name, str):
        raise InvalidArgument(f"the name of a function is a str, not {shown(name)}")
    status = _undefine(store, ffi.text(name, "the name of a function"))
    if status == Status.NOT_FOUND:
        raise NotFound(f"there is no function {name}")
    check(status)
    queries.called(name)


def forget(functions: "list[Any]") -> None:
    """Of a store that is closed."""
    for function in functions:
        if isinstance(function, Function):
            _alive.pop(function.number, None)
    functions.clear()


def _is_known(shape: tuple[str, ...], result: str) -> bool:
    if result.endswith("[]"):
        return function_columns.is_known(shape, result)
    is_known = all(word in WORDS and word not in WITHOUT_PROPERTY for word in shape)
    return is_known and result.removesuffix("?") in RESULTS


_WORD_OF = {bool: "bool", int: "i64", float: "f64", str: "str", bytes: "bin", datetime: "time"}


def signature_of(name: str, function: Callable[..., object]) -> str:
    """Of its type hints. InvalidSignature: they do not say it."""
    try:
        hints = typing.get_type_hints(function if inspect.isroutine(function) else type(function).__call__)
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError, NameError) as error:
        raise InvalidSignature(f"{name} needs a signature, such as 'f64, f64 -> f64': {error}") from None
    words = []
    for parameter in parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise InvalidSignature(f"{name} needs a signature, such as 'f64, f64 -> f64': it has {parameter}")
        if parameter.default is parameter.empty or parameter.name in hints:
            words.append(_word(name, f"its argument {parameter.name}", hints.get(parameter.name)))
    return f"{', '.join(words)} -> {_word(name, 'its result', hints.get('return'))}"


def _word(name: str, what: str, hint: Any) -> str:
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    options = typing.get_args(hint) if is_union else (hint,)
    named = [option for option in options if option is not type(None)]
    word = _WORD_OF.get(named[0]) if len(named) == 1 else None
    if word is None:
        has = "no type hint" if hint is None else f"the type hint {hint!r}"
        raise InvalidSignature(
            f"{name} needs a signature, such as 'f64, f64 -> f64': {what} has {has}, and none of "
            f"{', '.join(kind.__name__ for kind in _WORD_OF)}, or one of these | None"
        )
    return word + ("?" if len(options) > 1 else "")


# One C function for each shape of signature: they are never released, so none is while it runs.
_functions: dict[tuple[tuple[str, ...], str], tuple[Any, int]] = {}


def _function_for(shape: tuple[str, ...], result: str) -> int:
    made = _functions.get((shape, result))
    if made is None:
        if result.endswith("[]"):
            arguments = function_columns.arguments(shape, result)
        else:
            arguments = [argument for word in shape for argument in WORDS[word][0]]
            arguments += [c_void_p] * (2 if result.endswith("?") and not result.startswith(("str", "bin")) else 1)
        prototype = ctypes.CFUNCTYPE(c_int32, *arguments, c_void_p)
        function = entry(prototype)(_called)
        made = _functions[shape, result] = (function, ctypes.cast(function, c_void_p).value or 0)
    return made[1]


def _called(*given: Any) -> int:
    function = _alive.get(given[-1])
    if function is None:
        return finish(Status.CLOSED_HANDLE)
    status = 0
    try:
        function.call(given)
    except BaseException as error:
        if lent.calls is not None:
            lent.calls.raised.append(error)
            status = FAILED
        else:  # asked by C code
            code = int(error.status) if isinstance(error, Error) else 0
            status = int(_fail(code, ffi.text_of(f"{type(error).__name__}: {error}".encode(errors="replace"))))
    return finish(status)


_nowhere = ffi.Function(lambda: None)
