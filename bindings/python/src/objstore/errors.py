"""What can go wrong: one exception class for each thing a program may want to catch.

Each derives from Error and from the builtin that a Python programmer would expect, so that `except KeyError` and
`except objstore.Error` both work.
"""

import errno
from enum import IntEnum
from typing import Any, TypeVar


class Status(IntEnum):
    """How a call ended; the numbers of include/objstore.h."""

    OK = 0
    INVALID_ARGUMENT = 1
    CLOSED_HANDLE = 2
    WRONG_KIND = 3
    WRONG_STORE = 4
    WRONG_VIEW = 5
    NO_SUCH_CLASS = 6
    NO_SUCH_PROPERTY = 7
    NO_SUCH_OBJECT = 8
    WRONG_TYPE = 9
    NOT_NULLABLE = 10
    MISSING_VALUE = 11
    NULL_VALUE = 12
    INVALID_UTF8 = 13
    VALUE_TOO_LARGE = 14
    OUT_OF_RANGE = 15
    NO_PRIMARY_KEY = 16
    DUPLICATE_KEY = 17
    KEY_IMMUTABLE = 18
    NOT_POSITIONED = 19
    INVALID_SIGNATURE = 20
    INVALID_QUERY = 21
    NOT_SUPPORTED = 22
    NO_SUCH_INDEX = 23
    EMBEDDED = 24
    INVALID_JSON = 25
    NOT_IN_WRITE = 40
    ALREADY_IN_WRITE = 41
    IN_CALLBACK = 42
    BUSY = 43
    TIMEOUT = 44
    READ_ONLY = 45
    TOO_MANY_READERS = 46
    FORKED = 47
    CANCELLED = 48
    CALLBACK = 49
    TOO_MANY_VERSIONS = 50
    VERSION_GONE = 51
    OUT_OF_MEMORY = 60
    OUT_OF_SPACE = 61
    IO = 62
    OUTCOME_UNKNOWN = 63
    POISONED = 64
    REPLACED = 65
    NOT_FOUND = 80
    ALREADY_EXISTS = 81
    NOT_A_STORE = 82
    CORRUPT = 83
    VERSION_MISMATCH = 84
    INCOMPATIBLE_FILE_SYSTEM = 85
    NEEDS_LOG = 86
    CONFIG_MISMATCH = 87
    INVALID_SCHEMA = 88
    SCHEMA_MISMATCH = 89
    INTERNAL = 99


class Error(Exception):
    """The base of all errors of this package.

    status         a Status, or an int that this package does not know
    class_name     the class involved, or None
    property_name  the property involved, or None
    position       where in the text of a query, in bytes, or in an array of rows, counted from 0, or None
    system_error   errno, or 0
    callback_code  what a function in C gave when it failed, or 0
    """

    code: Status | int = Status.INTERNAL

    def __init__(
        self,
        message: str,
        *,
        status: "Status | int | None" = None,
        class_name: str | None = None,
        property_name: str | None = None,
        position: int | None = None,
        system_error: int = 0,
        callback_code: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = type(self).code if status is None else status
        self.class_name = class_name
        self.property_name = property_name
        self.position = position
        self.system_error = system_error
        self.callback_code = callback_code
        if system_error and isinstance(self, OSError):
            setattr(self, "errno", system_error)  # which only the builtin declares

    def __str__(self) -> str:  # KeyError would show the repr, OSError nothing
        return self.message

    def __reduce__(self) -> "tuple[object, ...]":  # the builtins among the bases pickle their own way
        return _rebuild, (type(self), self.message, self.__dict__.copy())


def _rebuild(kind: type[Error], message: str, state: dict[str, object]) -> Error:
    error = kind(message, system_error=state["system_error"])  # type: ignore[arg-type]
    error.__dict__.update(state)
    return error


E = TypeVar("E", bound=Error)


def about(kind: type[E], prop: Any, message: str, position: int | None = None) -> E:
    """An error with the property that it is about, or whose elements."""
    return kind(message, class_name=prop.model_name, property_name=prop.name, position=position)


class LibraryNotFound(Error, ImportError):
    """libobjstore.so cannot be found or loaded."""

    code = Status.NOT_FOUND


class MissingNumpy(Error, ImportError):
    """NumPy is not installed."""

    code = Status.NOT_FOUND


class MissingArrow(Error, ImportError):
    """PyArrow, or pandas, is not installed."""

    code = Status.NOT_FOUND


class InvalidArgument(Error, ValueError):
    code = Status.INVALID_ARGUMENT


class Closed(Error, ValueError):
    """The store was closed, as with a closed file."""

    code = Status.CLOSED_HANDLE


class WrongStore(Error, ValueError):
    """An object of another store."""

    code = Status.WRONG_STORE


class WrongView(Error, TypeError):
    """Observing what is frozen, and never changes."""

    code = Status.WRONG_VIEW


class NoSuchClass(Error, LookupError):
    code = Status.NO_SUCH_CLASS


class NoSuchProperty(Error, AttributeError):
    code = Status.NO_SUCH_PROPERTY


class NoSuchObject(Error, KeyError):
    """The object was deleted, or the transaction that made it was cancelled."""

    code = Status.NO_SUCH_OBJECT


class WrongType(Error, TypeError):
    """A value that does not fit its property."""

    code = Status.WRONG_TYPE


class NotNullable(Error, TypeError):
    """None for a property that may not be None."""

    code = Status.NOT_NULLABLE


class NullValue(Error, ValueError):
    """None where a number is to be added to."""

    code = Status.NULL_VALUE


class MissingValue(Error, TypeError):
    """No value for a property that has no default."""

    code = Status.MISSING_VALUE


class InvalidText(Error, ValueError):
    """Text that has no UTF-8 form."""

    code = Status.INVALID_UTF8


class TooLarge(Error, ValueError):
    code = Status.VALUE_TOO_LARGE


class OutOfRange(Error, ValueError):
    """A number or a time that does not fit."""

    code = Status.OUT_OF_RANGE


class IndexOutOfRange(OutOfRange, IndexError):
    """results[i] beyond the end."""


class NoPrimaryKey(Error, TypeError):
    code = Status.NO_PRIMARY_KEY


class DuplicateKey(Error, KeyError):
    """An object with this primary key, or with these unique values, exists."""

    code = Status.DUPLICATE_KEY


class NoSuchIndex(Error, LookupError):
    """The class has no index of these properties."""

    code = Status.NO_SUCH_INDEX


class Embedded(Error, ValueError):
    """An embedded object has exactly one parent, in which it is made."""

    code = Status.EMBEDDED


class InvalidJSON(Error, ValueError):
    """A JSON text that is none; `position` is the byte, and the message says line, column and path."""

    code = Status.INVALID_JSON


class KeyImmutable(Error, AttributeError):
    """A primary key cannot be changed."""

    code = Status.KEY_IMMUTABLE


class InvalidQuery(Error, ValueError):
    """A filter that cannot be read, or that means nothing; `position` is the byte to look at."""

    code = Status.INVALID_QUERY


class InvalidSignature(Error, ValueError):
    """The signature of a typed observer cannot be read; `position` is the byte to look at."""

    code = Status.INVALID_SIGNATURE


class NotSupported(Error, NotImplementedError):
    """Valid, but not in this version."""

    code = Status.NOT_SUPPORTED


class NotInWrite(Error, RuntimeError):
    """Writing outside `with store.write():`, or through something frozen."""

    code = Status.NOT_IN_WRITE


class AlreadyInWrite(Error, RuntimeError):
    """This thread has a transaction open."""

    code = Status.ALREADY_IN_WRITE


class InCallback(Error, RuntimeError):
    """Not from inside a handler."""

    code = Status.IN_CALLBACK


class Busy(Error, BlockingIOError):
    """Another thread or process has it: the writer's lock, the files."""

    code = Status.BUSY


class Timeout(Error, TimeoutError):
    code = Status.TIMEOUT


class ReadOnly(Error, PermissionError):
    """The store is open read-only."""

    code = Status.READ_ONLY


class TooManyReaders(Error, RuntimeError):
    code = Status.TOO_MANY_READERS


class Forked(Error, RuntimeError):
    """The store was opened by the parent process: open it again in this one."""

    code = Status.FORKED


class Cancelled(Error, RuntimeError):
    code = Status.CANCELLED


class HandlerFailed(Error, RuntimeError):
    """A change handler returned a status; `callback_code` has it. Or something that is none."""

    code = Status.CALLBACK


class TooManyVersions(Error, RuntimeError):
    """More versions are alive than the store was opened with as its most, or are to be kept by names than can be; the
    message says who keeps them."""

    code = Status.TOO_MANY_VERSIONS


class VersionGone(Error, LookupError):
    """The version of a bookmark is not kept by anybody any more: begin anew."""

    code = Status.VERSION_GONE


class OutOfMemory(Error, MemoryError):
    code = Status.OUT_OF_MEMORY


class StorageError(Error, OSError):
    """The disk or the file system failed; `system_error` has errno. What was tried did not happen."""

    code = Status.IO


class NotPermitted(StorageError, PermissionError):
    """The system does not let this process read, write or make a file."""


class OutOfSpace(StorageError):
    code = Status.OUT_OF_SPACE


class OutcomeUnknown(StorageError):
    """The disk refused to sync: the transaction is whole or absent. Open again and look."""

    code = Status.OUTCOME_UNKNOWN


class Poisoned(StorageError):
    """A sync failed: reading continues, writing does not, until all processes have closed the store."""

    code = Status.POISONED


class Replaced(StorageError):
    """The store's file was deleted, or another one has its place: close the store and open it again."""

    code = Status.REPLACED


class NotFound(Error, FileNotFoundError):
    code = Status.NOT_FOUND


class AlreadyExists(Error, FileExistsError):
    code = Status.ALREADY_EXISTS


class NotAStore(Error, ValueError):
    """The file is something else, or of a format or file system that cannot be used."""

    code = Status.NOT_A_STORE


class Corrupt(Error, ValueError):
    """A check of the content failed; after verify() `findings` has a line for each."""

    code = Status.CORRUPT
    findings: tuple[str, ...] = ()


class SchemaError(Error, TypeError):
    """The models contradict themselves, or the file."""

    code = Status.INVALID_SCHEMA


class InternalError(Error, RuntimeError):
    """The library found an error of its own: please report the message."""

    code = Status.INTERNAL


_BY_STATUS: dict[int, type[Error]] = {
    int(kind.code): kind
    for kind in (
        InvalidArgument,
        Closed,
        WrongStore,
        WrongView,
        NoSuchClass,
        NoSuchProperty,
        NoSuchIndex,
        Embedded,
        NoSuchObject,
        WrongType,
        NotNullable,
        NullValue,
        MissingValue,
        InvalidText,
        TooLarge,
        OutOfRange,
        NoPrimaryKey,
        DuplicateKey,
        KeyImmutable,
        InvalidQuery,
        InvalidJSON,
        InvalidSignature,
        HandlerFailed,
        NotSupported,
        NotInWrite,
        AlreadyInWrite,
        InCallback,
        Busy,
        Timeout,
        ReadOnly,
        TooManyReaders,
        TooManyVersions,
        VersionGone,
        Forked,
        Cancelled,
        OutOfMemory,
        StorageError,
        OutOfSpace,
        OutcomeUnknown,
        Poisoned,
        Replaced,
        NotFound,
        AlreadyExists,
        NotAStore,
        Corrupt,
        SchemaError,
    )
}
_BY_STATUS |= {
    Status.VERSION_MISMATCH: NotAStore,
    Status.INCOMPATIBLE_FILE_SYSTEM: NotAStore,
    Status.NEEDS_LOG: NotAStore,
    Status.CONFIG_MISMATCH: InvalidArgument,
    Status.SCHEMA_MISMATCH: SchemaError,
}


def class_for(status: int, system_error: int = 0) -> type[Error]:
    """The exception for a status of the library; InternalError for those that this package never causes."""
    if status == Status.IO and system_error in (errno.EACCES, errno.EPERM):
        return NotPermitted
    return _BY_STATUS.get(status, InternalError)
