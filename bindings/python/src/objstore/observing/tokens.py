"""Observers: which functions are called with changes, and until when.

The library hands back a number with each call, and the number finds its token. So one C callback serves all
observers, and a call that is on its way while the token ends finds nothing, and does nothing.
"""

import ctypes
import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..arguments import milliseconds, seconds
from ..errors import InvalidArgument, Status
from ..messages import shown
from ..models.model import Model
from ..models.properties import Property
from ..native import ffi
from ..native.callbacks import MUST_FINISH, ended, entry, finish, plain
from ..native.failures import check, failure
from ..native.handles import ClosingBlock, Handle, cell_of
from ..objects.model_types import property_named
from ..reading.evaluations import Evaluation
from ..reading.views import View
from ..schema import redefinition
from ..writing.silent import AnyToken
from . import bookmarks, delivery
from .changes import AnyChanges, Changes
from .element_changes import ElementChanges
from .key_paths import KeyPaths

if TYPE_CHECKING:
    from ..schema.bindings import Binding
    from ..stores.open_store import OpenStore
    from ..values.elements import Shape


_observe_class = ffi.bind("objstore_observe_paths")
_results_observe = ffi.bind("objstore_results_observe_paths")
_object_observe = ffi.bind("objstore_object_observe")
_token_pause = ffi.bind("objstore_token_pause")
_token_resume = ffi.bind("objstore_token_resume")
_token_since = ffi.bind("objstore_token_since")
_token_lag = ffi.bind("objstore_token_lag")
_token_set_interval = ffi.bind("objstore_token_set_interval")
_collection_observe = ffi.bind("objstore_collection_observe_paths")
_mixed_observe = ffi.bind("objstore_mixed_observe")
_token_close = ffi.bind("objstore_token_close")
_view_open = ffi.bind("objstore_view_open")
_view_close = ffi.bind("objstore_view_close")

M = TypeVar("M", bound=Model)
INITIAL, PAUSED = 0x1, 0x2
_numbers = itertools.count(1)
_tokens: "dict[int, weakref.ref[Token]]" = {}


class Token(AnyToken, ClosingBlock):
    """An observer. Keep it: observing ends when the token is closed, or garbage; and with the store.

    As a context manager it ends with its block.
    """

    __slots__ = ("_store", "_number", "_cell", "_is_closed", "_ending", "_is_inside", "__weakref__")
    _store: "OpenStore"

    def __init__(self) -> None:
        self._cell = cell_of(self, _token_close)  # what the library writes its handle to
        self._is_closed = False
        self._ending, self._is_inside = None, False
        self._number = next(_numbers)
        if self._number % 1000 == 0:
            for number in [number for number, token in list(_tokens.items()) if token() is None]:
                _tokens.pop(number, None)
        _tokens[self._number] = weakref.ref(self)

    @property
    def _out(self) -> Any:
        return ctypes.byref(self._cell)

    @property
    def is_closed(self) -> bool:
        """Was the token closed? (The end of its store does not show here.)"""
        return self._is_closed

    @property
    def _observer(self) -> ctypes.c_void_p:
        return self._cell

    def close(self) -> None:
        """Ends the observer. Its handler is not called again; if it runs on another thread, that call is waited for,
        except inside of a handler and of a write. Closing twice is allowed."""
        if not self._is_closed:
            _tokens.pop(self._number, None)  # first: a call on its way does nothing, and is not waited for
            status = _token_close(self._cell)
            self._is_closed = True
            if status not in (0, Status.CLOSED_HANDLE):  # its store was closed, or this comes again
                raise failure(status)

    def pause(self) -> None:
        """Nothing is told any more until resume(), and then all that was committed meanwhile, at once. A call that runs
        on another thread goes on. Pausing twice is allowed."""
        check(_token_pause(self._cell))

    def resume(self) -> None:
        """Goes on after pause(); otherwise nothing."""
        check(_token_resume(self._cell))

    @property
    def lag(self) -> int:
        """How many versions were committed that the observer has not been told of."""
        versions = ctypes.c_uint64()
        check(_token_lag(self._cell, ctypes.byref(versions)))
        return versions.value

    def bookmark(self) -> bytes:
        """Names the version that the observer has been told of, also where that told it of nothing; inside its handler,
        that of the change set. The observer keeps it until it is told of a later one: time for `store.keep_version`. A
        call of the handler that runs on another thread is waited for.

        VersionGone: it was too far behind (`observer_lag`), and has not begun anew yet. InCallback: inside of a
        handler, while another thread runs the observer's own."""
        return bookmarks.of_token(self._cell)

    def set_interval(self, interval: float) -> None:
        """At least so many seconds, up to a day, lie between the end of one call and the next; what is committed
        meanwhile is told in one piece. 0: no rest."""
        length = seconds("interval", interval, ever=False) or 0.0
        check(_token_set_interval(self._cell, milliseconds(length)))

    def _begin(self, since: bytes | None) -> None:
        """Where a program stopped: as what was made with flags(initial, since)."""
        if since is not None:
            try:
                check(_token_since(self._cell, ctypes.byref(bookmarks.given(since))))
                check(_token_resume(self._cell))
            except BaseException:
                self.close()
                raise

    def _called(self, given: Any, call: delivery.Call) -> None:
        """From the library."""
        raise NotImplementedError


class ChangeToken(Token, Generic[M]):
    """An observer of change sets."""

    __slots__ = ("_binding", "_handler", "_paths")

    def __init__(
        self,
        store: "OpenStore",
        binding: "Binding",
        handler: Callable[[Any], object],
        keys: "Iterable[object] | None",
    ) -> None:
        super().__init__()
        if not callable(handler):
            raise InvalidArgument(f"a function is wanted that takes a change, not {handler!r}")
        plain("a handler", handler)
        self._store = store
        self._binding = binding
        self._handler = handler
        self._paths = KeyPaths(binding, keys)

    def observe_class(self, initial: bool, since: bytes | None = None) -> None:
        check(
            _observe_class(
                self._store._open_handle(),
                self._binding.class_id,
                self._paths.array,
                self._paths.count,
                flags(initial, since),
                handler_entry,
                self._number,
                MUST_FINISH,
                self._out,
            )
        )
        self._begin(since)

    def observe_results(self, find: Callable[[View], Evaluation], initial: bool, since: bytes | None = None) -> None:
        """`find`: the results in a view."""
        view = Handle(_view_close)
        check(_view_open(self._store._open_handle(), ctypes.byref(view.cell)))
        found = find(View(view.cell.value or 0, fast=False))
        check(
            _results_observe(
                found.handle,
                self._paths.array,
                self._paths.count,
                flags(initial, since),
                handler_entry,
                self._number,
                MUST_FINISH,
                self._out,
            )
        )
        self._begin(since)

    def observe_collection(self, place: Any, initial: bool, since: bytes | None = None) -> None:
        """`place`: an objstore_collection."""
        check(
            _collection_observe(
                self._store._open_handle(),
                place,
                self._paths.array,
                self._paths.count,
                flags(initial, since),
                handler_entry,
                self._number,
                MUST_FINISH,
                self._out,
            )
        )
        self._begin(since)

    def observe_nested(self, call: Callable[..., int], initial: bool, since: bytes | None) -> None:
        """`call`: of a function that takes a path, which it has."""
        asked, store = flags(initial, since), self._store._open_handle()
        check(call(_mixed_observe, store, asked, handler_entry, self._number, MUST_FINISH, self._out))
        self._begin(since)

    def observe_object(self, key: int, initial: bool, since: bytes | None) -> None:
        check(
            _object_observe(
                self._store._open_handle(),
                ffi.Object(self._binding.class_id, self._binding.head >> 32, key),
                self._paths.array,
                self._paths.count,
                flags(initial, since),
                handler_entry,
                self._number,
                MUST_FINISH,
                self._out,
            )
        )
        self._begin(since)

    def _called(self, given: Any, call: delivery.Call) -> None:
        self._store._follow()
        self._tell(Changes(self._store, self._binding, given), call)

    def _tell(self, changes: AnyChanges, call: delivery.Call) -> None:
        call.handler = self._handler
        try:
            result = self._handler(changes)
            call.is_over = True  # no byte code between the two at which a signal handler could run
            ended("a handler", result, may_go_on=True)
        finally:
            changes._end()


class ElementToken(ChangeToken[Any]):
    """An observer of a list, set or dict whose changes are not about objects."""

    __slots__ = ("_shape", "_path")

    def __init__(
        self,
        store: "OpenStore",
        binding: "Binding",
        handler: Callable[[Any], object],
        shape: "Shape",
        path: str,
        keys: KeyPaths | None = None,
    ) -> None:
        super().__init__(store, binding, handler, None)
        if keys is not None:
            self._paths = keys
        self._shape = shape
        self._path = path

    def _called(self, given: Any, call: delivery.Call) -> None:
        self._store._follow()
        self._tell(ElementChanges(self._store, self._shape, self._path, given), call)


def flags(initial: bool, since: bytes | None) -> int:
    return PAUSED if since is not None else INITIAL if initial else 0


def properties(binding: "Binding", given: "Iterable[object]", what: str = "keys") -> list[Property]:
    """The properties of a class that are meant, by name or as Dog.age."""
    if isinstance(given, str):
        raise InvalidArgument(f"{what} is a list of properties, such as [{given!r}]")
    if not isinstance(given, Iterable):
        raise InvalidArgument(f"{what} is a list of properties, by name or as Dog.age, not {shown(given)}")
    found = []
    for each in given:
        prop = property_named(binding.model, each) if isinstance(each, str) else redefinition.own(binding, each)
        if prop is None:
            name = binding.model.__name__
            raise InvalidArgument(f"{what}: a property of {name} is wanted, not {shown(each)}", class_name=name)
        found.append(prop)
    return found


def token_of(number: int) -> Token | None:
    reference = _tokens.get(number)
    return None if reference is None else reference()


@entry(ffi.ChangeHandler)
def handler_entry(changes: int, number: int) -> int:
    token = token_of(number)
    return finish(0) if token is None else delivery.guarded(token._called, changes, token._store)
