"""Change sets in asyncio and trio: `async for change in results.changes():`."""

import os
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import Closed, Status, VersionGone
from ..models.model import Model
from ..native.callbacks import hand_on
from ..native.handles import ClosingBlock
from ..writing.event_loops import running
from ..writing.silent import AnyToken
from . import delivery
from .changes import AnyChanges, Changes
from .commits import Commits, CommitToken
from .element_changes import ElementChanges
from .tokens import ChangeToken, ElementToken

if TYPE_CHECKING:
    import asyncio
    import ctypes
    from collections.abc import Callable, Iterable
    from typing import Self

    from ..reading.evaluations import Evaluation
    from ..reading.views import View
    from ..schema.bindings import Binding
    from ..stores.open_store import OpenStore
    from ..values.elements import Shape
    from .key_paths import KeyPaths


M = TypeVar("M", bound=Model)
C = TypeVar("C", bound=AnyChanges | Commits)


class _AsyncioWaiter:
    """A task of asyncio that waits."""

    def __init__(self, loop: "asyncio.AbstractEventLoop") -> None:
        self.loop = loop
        self.future = loop.create_future()

    @property
    def is_left(self) -> bool:
        """Was its loop closed around it?"""
        return self.loop.is_closed()

    def wake(self) -> None:
        """Called on any thread."""
        try:
            self.loop.call_soon_threadsafe(self._wake)
        except RuntimeError as error:
            hand_on(error)
            if not self.is_left:
                raise

    def _wake(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class _TrioWaiter:
    """A task of trio that waits."""

    is_left = False  # trio ends its tasks before itself

    def __init__(self, trio: Any) -> None:
        self.trio = trio
        self._token = trio.lowlevel.current_trio_token()
        self.scope = trio.CancelScope()

    def wake(self) -> None:
        """Called on any thread."""
        try:
            self._token.run_sync_soon(self.scope.cancel)
        except self.trio.RunFinishedError as error:
            hand_on(error)


class _Arrivals(Generic[C]):
    """What came and was not taken yet; and its waiter. Any thread may deliver."""

    def __init__(self) -> None:
        self.changes: deque[C] = deque()
        self.waiter: _AsyncioWaiter | _TrioWaiter | None = None

    @property
    def is_awaited(self) -> bool:
        waiter = self.waiter
        return waiter is not None and not waiter.is_left

    def wake(self, *_: object) -> None:
        waiter = self.waiter
        if waiter is not None:
            waiter.wake()


class Arriving:
    """What tokens of streams do with what they are told."""

    __slots__ = ()
    arrivals: _Arrivals[Any]
    _handler: "Callable[[Any], object]"

    def _tell(self, changes: Any, call: delivery.Call) -> None:
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


class _CommitStreamToken(Arriving, CommitToken):
    __slots__ = ("arrivals",)


class _Descriptor:
    """Another number for a descriptor: a loop has one reader for each."""

    def __init__(self, of: int) -> None:
        self.number = os.dup(of)

    def __del__(self) -> None:
        if hasattr(self, "number"):
            os.close(self.number)


class AnyStream(AnyToken, Generic[C], ClosingBlock):
    """Change sets, one after the other, from the moment on when it was made. Base of streams.

    Waits for the store's descriptor in the running loop: no thread, no polling. Nothing is delivered while no task
    waits for it, so commits that come while a change is worked on are put together into the next one. Waiting delivers
    to the other observers of the store, too; what they raise goes to the exception handler of asyncio's loop, and is
    raised in the task of trio that waits.

    Ends when it is closed or garbage, with the store, and behind a change that `is_owner_deleted`: nothing more comes.
    As a context manager it is closed at the end of the block. It can rest, as a token can, and `without_notifying`
    takes it as one.
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

    @property
    def _observer(self) -> "ctypes.c_void_p":
        cell: ctypes.c_void_p = self._token._cell
        return cell

    @property
    def is_closed(self) -> bool:
        """Was it closed, or has it come to its end? (The end of its store does not show here.)"""
        closed: bool = self._token.is_closed
        return closed

    def pause(self) -> None:
        """Nothing more comes until resume(), and then all that was committed meanwhile, at once; what another thread
        has delivered already is not held back. Pausing twice is allowed."""
        self._token.pause()

    def resume(self) -> None:
        """Goes on after pause(); otherwise nothing."""
        self._token.resume()

    @property
    def lag(self) -> int:
        """How many versions were committed that were not taken from the stream. What another thread is delivering just
        now is in it or not."""
        versions: int = self._token.lag
        waiting = list(self._arrivals.changes)
        if not waiting:
            return versions
        # the token counts what its handler is told until that returns, and it may be in here
        first: int = waiting[0].from_version
        return self._store.statistics().published_version - first

    def bookmark(self) -> bytes:
        """Names the version that was taken from the stream: that of the change that is worked on, or, where nothing is,
        the one up to which there was nothing more to take. The stream keeps it until more is taken: time for
        `store.keep_version`.

        VersionGone: it was too far behind (`observer_lag`), and what says so was not taken yet."""
        if self._shown is not None:
            return self._shown.after.bookmark()
        waiting, told = list(self._arrivals.changes), b""
        if not waiting:
            told = self._token.bookmark()
            waiting = list(self._arrivals.changes)  # what another thread has delivered before
        if not waiting:
            return told
        if waiting[0].is_lost:
            raise VersionGone("the stream was too far behind, and has not begun anew yet")
        return waiting[0].before.bookmark()

    def set_interval(self, interval: float) -> None:
        """At least so many seconds, up to a day, lie between two changes; what is committed meanwhile comes in one
        piece. 0: no rest."""
        self._token.set_interval(interval)

    def close(self) -> None:
        """Ends it; a loop over it ends, too. Closing twice is allowed."""
        self._token.close()
        self._release()
        for changes in self._arrivals.changes:
            changes._end()
        self._arrivals.changes.clear()
        if self._arrivals.is_awaited:
            self._arrivals.wake()  # which closes the descriptor
        else:
            self._close_descriptor()

    def __aiter__(self) -> "Self":
        return self

    async def __anext__(self) -> C:
        self._go_on()
        if self._arrivals.is_awaited:
            raise RuntimeError("another task waits for the same changes already: call changes() for each")
        while not self._arrivals.changes:
            if self._token.is_closed:
                raise StopAsyncIteration
            await self._wait()
        self._shown = self._arrivals.changes.popleft()
        return self._shown

    def _take(self) -> C | None:
        """What has come, and the change before can be read no more; None: nothing."""
        self._go_on()
        if self._arrivals.changes:
            self._shown = self._arrivals.changes.popleft()
        return self._shown

    async def _wait(self) -> None:
        """Until something arrived, or it is closed; delivers what is due meanwhile."""
        trio, loop = running("observe(), and store.wait()")
        if self._descriptor is None:
            try:
                self._descriptor = _Descriptor(self._store.notify_fd)
            except Closed:
                self.close()
                return
        descriptor = self._descriptor
        waiter = _TrioWaiter(trio) if loop is None else _AsyncioWaiter(loop)
        self._arrivals.waiter = waiter
        try:
            if isinstance(waiter, _TrioWaiter):
                await self._wait_in_trio(waiter, descriptor)
            else:
                await self._wait_in_asyncio(waiter, descriptor)
        finally:
            if self._arrivals.waiter is waiter:  # it was not left, and another one waits
                self._arrivals.waiter = None
            if self._token.is_closed and not self._arrivals.is_awaited:
                self._close_descriptor()

    async def _wait_in_asyncio(self, waiter: _AsyncioWaiter, descriptor: _Descriptor) -> None:
        loop, future = waiter.loop, waiter.future
        loop.add_reader(descriptor.number, self._deliver, future)
        try:
            if not self._arrivals.changes:  # else another thread delivered it before there was a waiter
                await future
        finally:
            loop.remove_reader(descriptor.number)

    async def _wait_in_trio(self, waiter: _TrioWaiter, descriptor: _Descriptor) -> None:
        with waiter.scope:
            while not self._arrivals.changes and not self._token.is_closed:
                await waiter.trio.lowlevel.wait_readable(descriptor.number)
                self._deliver(None)

    def _deliver(self, future: "asyncio.Future[None] | None") -> None:
        """`future`: of the task of asyncio that waits; None: it is one of trio, and runs this."""
        try:
            delivered = delivery.deliver(self._store._open_handle())
        except Closed:
            self.close()
            return
        problem = delivered.problem
        if problem is not None and problem.status != Status.CALLBACK:
            if isinstance(problem, Closed):
                delivered.problem = None
                self.close()
            elif future is not None:
                delivered.problem = None
                if not future.done():
                    future.set_exception(problem)
        delivered.result()  # what handlers raised goes to the exception handler of asyncio's loop

    def _close_descriptor(self) -> None:
        self._descriptor = None  # which closes it

    def _go_on(self) -> None:
        """From the change that was worked on to the next one, if there is any."""
        if self._shown is not None and self._is_last(self._shown):
            self.close()
        else:
            self._release()

    def _is_last(self, shown: Any) -> bool:
        """Does nothing more come?"""
        last: bool = shown.is_owner_deleted
        return last

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


class ObjectStream(ChangeStream[M]):
    """The changes of one object: `store.changes_of(dog)`; see AnyStream. Ends behind its deletion, too."""

    def of_object(self, key: int, initial: bool, since: bytes | None) -> "ObjectStream[M]":
        self._token.observe_object(key, initial, since)
        return self

    def _is_last(self, shown: Any) -> bool:
        return shown.deletion_count > 0 or super()._is_last(shown)


class CommitStream(AnyStream[Commits]):
    """What is committed: `store.commits()`; see AnyStream."""

    def __init__(self, store: "OpenStore", initial: bool, since: bytes | None) -> None:
        super().__init__(store)
        token = _CommitStreamToken(store, self._arrivals.wake)
        self._begin(token)
        token.observe(initial, since)

    def _is_last(self, shown: Any) -> bool:
        return False  # there is no owner that could be deleted


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
