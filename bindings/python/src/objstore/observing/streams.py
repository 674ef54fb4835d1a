"""Change sets in asyncio: `async for change in results.changes():`."""

import asyncio
import os
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import Closed, Status
from ..models.model import Model
from ..native.handles import ClosingBlock
from . import delivery
from .changes import AnyChanges, Changes
from .element_changes import ElementChanges
from .tokens import ChangeToken, ElementToken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from ..reading.evaluations import Evaluation
    from ..reading.views import View
    from ..schema.bindings import Binding
    from ..stores.open_store import OpenStore
    from ..values.elements import Shape
    from .key_paths import KeyPaths


M = TypeVar("M", bound=Model)
C = TypeVar("C", bound=AnyChanges)


class _Arrivals(Generic[C]):
    """What came and was not taken yet; and its waiter. Any thread may deliver."""

    def __init__(self) -> None:
        self.changes: deque[C] = deque()
        self.waiter: asyncio.Future[None] | None = None

    def wake(self, *_: object) -> None:
        waiter = self.waiter
        if waiter is not None:
            waiter.get_loop().call_soon_threadsafe(_wake, waiter)


class Arriving:
    """What tokens of streams do with what they are told."""

    __slots__ = ()
    arrivals: _Arrivals[Any]
    _handler: "Callable[[Any], object]"

    def _tell(self, changes: AnyChanges, call: delivery.Call) -> None:
        kept, arrived = changes._kept(), self.arrivals.changes
        call.handler = self._handler
        if arrived and (arrived[-1].from_version, arrived[-1].is_initial) == (kept.from_version, kept.is_initial):
            arrived.pop()  # a signal handler interrupted this: it comes again, with what was committed meanwhile
        arrived += (kept,)
        call.is_over = True  # no byte code between the two at which a signal handler could run
        self._handler(changes)


class _StreamToken(Arriving, ChangeToken[M]):
    __slots__ = ("arrivals",)


class _ElementStreamToken(Arriving, ElementToken):
    __slots__ = ("arrivals",)


class _Descriptor:
    """Another number for a descriptor: a loop has one reader for each."""

    def __init__(self, of: int) -> None:
        self.number = os.dup(of)

    def __del__(self) -> None:
        if hasattr(self, "number"):
            os.close(self.number)


def _wake(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


class AnyStream(Generic[C], ClosingBlock):
    """Change sets, one after the other, from the moment on when it was made. Base of streams.

    Waits for the store's descriptor in the running loop: no thread, no polling. Nothing is delivered while no task
    waits for it, so commits that come while a change is worked on are put together into the next one. Waiting delivers
    to the other observers of the store, too; what they raise goes to the loop's exception handler.

    Ends when it is closed or garbage, and with the store. As a context manager it is closed at the end of the block.
    """

    def __init__(self, store: "OpenStore") -> None:
        self._store = store
        self._arrivals: _Arrivals[C] = _Arrivals()
        self._descriptor: _Descriptor | None = None
        self._ending, self._is_inside = None, False
        self._shown: C | None = None
        self._token: Any  # one that is Arriving

    def _begin(self, token: Any) -> None:
        token.arrivals = self._arrivals
        self._token = token

    def close(self) -> None:
        """Ends it; a loop over it ends, too. Closing twice is allowed."""
        self._token.close()
        self._release()
        for changes in self._arrivals.changes:
            changes._end()
        self._arrivals.changes.clear()
        waiter = self._arrivals.waiter
        if waiter is not None:
            waiter.get_loop().call_soon_threadsafe(_wake, waiter)  # which closes the descriptor
        else:
            self._close_descriptor()

    def __aiter__(self) -> "Self":
        return self

    async def __anext__(self) -> C:
        self._release()
        if self._arrivals.waiter is not None:
            raise RuntimeError("another task waits for the same changes already: call changes() for each")
        while not self._arrivals.changes:
            if self._token.is_closed:
                raise StopAsyncIteration
            await self._wait()
        self._shown = self._arrivals.changes.popleft()
        return self._shown

    def _take(self) -> C | None:
        """What has come, and the change before can be read no more; None: nothing."""
        self._release()
        if self._arrivals.changes:
            self._shown = self._arrivals.changes.popleft()
        return self._shown

    async def _wait(self) -> None:
        """Until something arrived, or it is closed; delivers what is due meanwhile."""
        loop = asyncio.get_running_loop()
        if self._descriptor is None:
            try:
                self._descriptor = _Descriptor(self._store.notify_fd)
            except Closed:
                self.close()
                return
        descriptor = self._descriptor
        self._arrivals.waiter = waiter = loop.create_future()
        loop.add_reader(descriptor.number, self._deliver, waiter)
        try:
            if not self._arrivals.changes:  # else another thread delivered it before there was a waiter
                await waiter
        finally:
            self._arrivals.waiter = None
            loop.remove_reader(descriptor.number)
            if self._token.is_closed:
                self._close_descriptor()

    def _deliver(self, waiter: "asyncio.Future[None]") -> None:
        try:
            delivered = delivery.deliver(self._store._open_handle())
        except Closed:
            self.close()
            return
        problem = delivered.problem
        if problem is not None and problem.status != Status.CALLBACK:
            delivered.problem = None
            if isinstance(problem, Closed):
                self.close()
            elif not waiter.done():
                waiter.set_exception(problem)
        delivered.result()  # what handlers raised goes to the loop's exception handler

    def _close_descriptor(self) -> None:
        self._descriptor = None  # which closes it

    def _release(self) -> None:
        """The change that was worked on can be read no more, and pins nothing."""
        shown, self._shown = self._shown, None
        if shown is not None:
            shown._end()


class ChangeStream(AnyStream[Changes[M]]):
    """The changes of some results, or of the objects in a collection: `results.changes()`; see AnyStream."""

    def __init__(self, store: "OpenStore", binding: "Binding", keys: "Iterable[object] | None") -> None:
        super().__init__(store)
        token: _StreamToken[M] = _StreamToken(store, binding, self._arrivals.wake, keys)
        self._begin(token)

    def of_results(self, find: "Callable[[View], Evaluation]", initial: bool, since: bytes | None) -> "ChangeStream[M]":
        self._token.observe_results(find, initial, since)
        return self

    def of_collection(self, place: Any, initial: bool, since: bytes | None) -> "ChangeStream[M]":
        self._token.observe_collection(place, initial, since)
        return self


class ElementStream(AnyStream[ElementChanges]):
    """The changes of a list, set or dict: `person.tags.changes()`; see AnyStream."""

    def __init__(
        self,
        store: "OpenStore",
        binding: "Binding",
        shape: "Shape",
        path: str,
        keys: "KeyPaths | None" = None,
    ) -> None:
        super().__init__(store)
        self._begin(_ElementStreamToken(store, binding, self._arrivals.wake, shape, path, keys))

    def of_collection(self, place: Any, initial: bool, since: bytes | None) -> "ElementStream":
        self._token.observe_collection(place, initial, since)
        return self

    def of_nested(self, call: "Callable[..., int]", initial: bool, since: bytes | None) -> "ElementStream":
        self._token.observe_nested(call, initial, since)
        return self
