"""Results in sections: the objects with equal keys together.

results ─► Evaluation (the list) ─► Made (sections of that list, a handle) ─► Section (keys of its objects)
"""

import ctypes
import enum
import operator
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from ..arguments import switch
from ..collections import mixed
from ..errors import IndexOutOfRange, InvalidArgument
from ..messages import shown
from ..models.expressions import Operand
from ..models.model import Model
from ..native import ffi
from ..native.callbacks import MUST_FINISH, Calls, plain
from ..native.failures import check, failure
from ..native.handles import cell_of
from ..objects import state
from ..observing.section_tokens import Keyed, SectionStream, SectionToken, keyed_entry
from ..reading import packed_rows, queries
from ..reading.views import Block, answered
from ..values import constants
from ..values.c_values import give_back, take
from ..values.constants import ANYTHING
from .live_rows import SectionListing, same
from .live_tables import LiveTable
from .loops_in_writes import chunks

if TYPE_CHECKING:
    from ..observing.section_changes import SectionChanges
    from ..observing.tokens import Token
    from ..reading.evaluations import Evaluation
    from ..reading.views import Epoch, View
    from ..stores.frozen import Frozen
    from ..stores.lookup import Source
    from .results import Results

_new = ffi.bind("objstore_sections_new")
_parse = ffi.bind("objstore_sections_parse")
_by = ffi.bind("objstore_sections_by")
_count = ffi.bind("objstore_sections_count")
_at = ffi.bind("objstore_sections_at")
_objects = ffi.bind("objstore_sections_objects")
_find_key = ffi.bind("objstore_sections_find_key")
_find_position = ffi.bind("objstore_sections_find_position")
_find_object = ffi.bind("objstore_sections_find_object")
_close = ffi.bind("objstore_sections_close")

ASCENDING, DESCENDING, FIRST_LETTER = 0x1, 0x2, 0x4
Order = Literal["ascending", "descending"]
_ORDERS: dict[Any, int] = {None: 0, "ascending": ASCENDING, "descending": DESCENDING}

K = TypeVar("K")
M = TypeVar("M", bound=Model)


class _Made:
    """Sections of one list, as a handle of the library, which ends with the view of the list."""

    __slots__ = ("cell", "evaluation", "epoch", "count", "members", "__weakref__")

    def __init__(self, evaluation: "Evaluation", epoch: "Epoch") -> None:
        self.cell = cell_of(self, _close)
        self.evaluation = evaluation  # as long as another list has not its place
        self.epoch = epoch
        self.count = 0
        self.members: dict[Any, enum.Enum] = {}  # of enumerations that a function has answered, by their values


class Sections(Generic[K, M]):
    """The objects of results, those with equal keys together: `dogs.sections(Dog.name)`.

    Live, as the results: each use sees what there is then. A Section that was taken out of it stays as it is."""

    __slots__ = ("_results", "_key", "_flags", "_kept")

    def __init__(
        self, results: "Results[M]", key: object, arguments: tuple[Any, ...], order: "Order | None", first_letter: bool
    ) -> None:
        if order not in _ORDERS:
            raise InvalidArgument(f"order is 'ascending', 'descending' or None, not {shown(order)}")
        self._results = results
        self._flags = _ORDERS[order] | (FIRST_LETTER if switch("first_letter", first_letter) else 0)
        self._kept: _Made | None = None
        self._key: Any = key
        if isinstance(key, str):
            self._key = key, constants.arguments(arguments)
        elif arguments:
            raise InvalidArgument("arguments are for $0, $1 … of a text")
        elif not isinstance(key, Operand):
            plain("the key of sections", key)

    # Making

    def _now(self) -> "tuple[View, _Made]":
        """The sections, and the view that they end with: to be kept during calls."""
        results = self._results
        view, evaluation = results._evaluate()
        kept = self._kept
        if kept is not None and kept.evaluation is evaluation and kept.epoch is view.epoch:
            return view, kept
        made = _Made(evaluation, view.epoch)
        self._make(made)
        count = ctypes.c_uint64()
        check(_count(made.cell, ctypes.byref(count)))
        made.count = count.value
        self._kept = made
        return view, made

    def _make(self, made: _Made, keyed: Keyed | None = None) -> None:
        """`keyed`: where a function says the keys, and observers go on asking it."""
        key, flags, evaluation = self._key, self._flags, made.evaluation
        if isinstance(key, tuple):
            text, arguments = key
            calls, handle, out = queries.calls_in_text(text), evaluation.handle, ctypes.byref(made.cell)
            queries.parse(text, arguments, lambda *given: answered(calls, _parse, handle, *given, flags, out))
        elif isinstance(key, Operand):
            binding = self._results._about(key)  # type: ignore[arg-type]
            nodes = binding.nodes_of(key)  # type: ignore[arg-type]
            given, _texts = queries.with_addresses(nodes, key._texts)
            number, out = queries.number_of(nodes), ctypes.byref(made.cell)
            if status := answered(queries.calls_in(nodes), _new, evaluation.handle, given, number, flags, out):
                raise queries.failed(status)
        elif keyed is not None:
            asked = Calls()
            asked.run(_by, evaluation.handle, flags, keyed_entry, keyed.number, MUST_FINISH, ctypes.byref(made.cell))
            asked.check()
        else:
            self._ask(key, made, evaluation.handle)

    def _ask(self, function: Callable[[M], Any], made: _Made, handle: int) -> None:
        """By what a function answers."""
        results, answer = self._results, self._answering(function, made.members)
        calls = Calls()
        called = calls.callback(ffi.SectionKey, lambda _, obj, out, __: answer(results._one(obj.key), out))
        calls.run(_by, handle, self._flags, called, None, MUST_FINISH, ctypes.byref(made.cell))
        calls.check()

    def _answering(self, function: Callable[[M], Any], members: dict[Any, enum.Enum]) -> Callable[[M, int], None]:
        """What writes the answer about an object to an address."""
        kept: list[Any] = []  # the text of the last answer

        def answer(obj: M, out: int) -> None:
            value = function(obj)
            if isinstance(value, enum.Enum):
                members[value.value] = value
                value = value.value
            content, text = constants.with_texts(*constants.packed(ANYTHING, value), constants.SIZE // 8, 0)
            kept[:] = [text]
            ctypes.memmove(out, content, len(content))

        return answer

    # Sections

    def __len__(self) -> int:
        return self._now()[1].count

    def __iter__(self) -> "Iterator[Section[K, M]]":
        _view, made = self._now()
        return iter([self._section(made, index) for index in range(made.count)])

    @overload
    def __getitem__(self, index: int) -> "Section[K, M]": ...
    @overload
    def __getitem__(self, index: slice) -> "list[Section[K, M]]": ...
    def __getitem__(self, index: int | slice) -> "Section[K, M] | list[Section[K, M]]":
        _view, made = self._now()
        if isinstance(index, slice):
            return [self._section(made, at) for at in range(made.count)[index]]
        number = operator.index(index)
        at = number + made.count if number < 0 else number
        if not 0 <= at < made.count:
            model = self._results._binding.model.__name__
            raise IndexOutOfRange(f"section {number} of {made.count}", class_name=model)
        return self._section(made, at)

    def keys(self) -> list[K]:
        """The keys, one of each section."""
        _view, made = self._now()
        return [self._read(made, index)[0] for index in range(made.count)]

    def get(self, key: K) -> "Section[K, M] | None":
        """The section with that key, or None."""
        _view, made = self._now()
        at = self._find(made, key)
        return None if at is None else self._section(made, at)

    def __contains__(self, key: object) -> bool:
        """Is there a section with that key?"""
        _view, made = self._now()
        return self._find(made, key.key if isinstance(key, Section) else key) is not None

    def find(self, obj: M) -> tuple[int, int] | None:
        """In which section an object is, and at which index there; None: in none."""
        identity = state.identity(obj) if isinstance(obj, Model) else None
        if identity is None or identity[0] != self._results._binding.head:
            return None
        _view, made = self._now()
        s = take()
        s.head.value, s.key.value = identity
        found = self._place(made, _find_object, s.object)
        give_back(s)
        return found

    def find_position(self, position: int) -> tuple[int, int] | None:
        """In which section the object is that results[position] was when they were made, and at which index there;
        None: it had been deleted."""
        number = operator.index(position)
        _view, made = self._now()
        if not 0 <= number < made.evaluation.count:
            model = self._results._binding.model.__name__
            raise IndexOutOfRange(f"position {number} of {made.evaluation.count} results", class_name=model)
        return self._place(made, _find_position, number)

    def _place(self, made: _Made, function: Any, what: Any) -> tuple[int, int] | None:
        section, index, found = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_bool()
        check(function(made.cell, what, ctypes.byref(section), ctypes.byref(index), ctypes.byref(found)))
        return (section.value, index.value) if found.value else None

    def _find(self, made: _Made, key: Any) -> int | None:
        value, _kept = _value(key)
        section, found = ctypes.c_uint64(), ctypes.c_bool()
        check(_find_key(made.cell, value, ctypes.byref(section), ctypes.byref(found)))
        return section.value if found.value else None

    def _section(self, made: _Made, index: int) -> "Section[K, M]":
        key, count = self._read(made, index)
        return Section(self, made, index, key, count)

    def _read(self, made: _Made, index: int) -> tuple[Any, int]:
        """The key of a section, and how many objects it has."""
        section = ffi.Section()
        if status := _at(made.cell, index, None, ctypes.byref(section)):
            raise failure(status)
        return self._key_of(bytes(section.key), self._results._source, made.members), section.count

    def _key_of(self, value: bytes, source: "Source", members: dict[Any, enum.Enum]) -> Any:
        """An objstore_value as Python has it."""
        s = take()
        s.values.memory[:] = value
        described = self._key._described if isinstance(self._key, Operand) and not self._flags & FIRST_LETTER else None
        if described is None or described.enum is None:
            described = ANYTHING
        key = s.values.get(described, lambda class_id, key: mixed.linked(source, ANYTHING, class_id, key))
        give_back(s)
        return members.get(key, key) if members else key

    # Observing

    def observe(
        self,
        handler: "Callable[[SectionChanges[K, M]], object]",
        keys: "Iterable[object] | None" = None,
        *,
        initial: bool = True,
        since: bytes | None = None,
    ) -> "Token":
        """Calls handler(change) for what every commit changes in these sections from now on: which sections and objects
        came, went and moved. A change of what says the key of a section is one in any case; otherwise `keys`,
        `initial` and `since` are as those of Results.observe.

        A function that says the keys is called for all objects after each commit, inside of store.deliver() and
        store.wait(), with objects of that version."""
        token: SectionToken[M] = SectionToken(self._results._source._observed(), self._results._binding, handler, keys)
        self._begin(token, None, initial, since)
        return token

    def changes(
        self, keys: "Iterable[object] | None" = None, *, initial: bool = True, since: bytes | None = None
    ) -> "SectionStream[K, M]":
        """The same for asyncio: `async for change in sections.changes(): …`"""
        store, binding = self._results._source._observed(), self._results._binding
        return SectionStream(store, binding, keys, lambda token: self._begin(token, None, initial, since))

    def live(
        self,
        columns: "Iterable[object] | None" = None,
        *,
        rows: int = 20,
        interval: float = 0.1,
        keys: "Iterable[object] | None" = None,
    ) -> LiveTable[M]:
        """The first `rows` objects of them as a table in a notebook that follows every commit, those of each section
        below its key; see Results.live."""
        results = self._results
        shown, followed = results._columns(columns, keys)
        return LiveTable(
            f"{results._binding.model.__name__}{results._shown()} in sections",
            SectionListing(shown, self._of, same),
            partial(self.changes, followed),
            rows,
            interval,
        )

    def _of(self, source: "Source") -> "Sections[K, M]":
        """The same of another version."""
        if source is self._results._source:
            return self
        made: Sections[K, M] = object.__new__(Sections)
        made._results, made._key, made._flags, made._kept = self._results._of(source), self._key, self._flags, None
        return made

    def _begin(self, token: SectionToken[M], one: ffi.Value | None, initial: bool, since: bytes | None) -> None:
        results, members, keyed = self._results, dict[Any, enum.Enum](), None
        binding = results._binding
        if not isinstance(self._key, tuple | Operand):

            def made(side: "Frozen", key: int) -> M:
                found: list[M] = state.make_many(binding.model, side._unread(binding), [key], [0])
                return found[0]

            keyed = Keyed(token._store, made, self._answering(self._key, members))

        def make(view: "View") -> tuple[Any, Any]:
            made = _Made(results._find(view), view.epoch)
            self._make(made, keyed)
            return made, lambda value, side: self._key_of(value, side, members)

        token.observe_sections(make, keyed, one, initial, since)

    def __repr__(self) -> str:
        return f"<Sections of {self._results!r}>"


def _value(key: Any) -> tuple[ffi.Value, Any]:
    """A key as an objstore_value, and what that points to."""
    if isinstance(key, enum.Enum):
        key = key.value
    content, kept = constants.with_texts(*constants.packed(ANYTHING, key), constants.SIZE // 8, 0)
    return ffi.Value.from_buffer_copy(content), kept


class Section(Generic[K, M]):
    """The objects with one key, in the order of the results: `for dog in section`, `section[0]`, `section[-3:]`.

    It stays as it is: objects may have been deleted since. A loop passes those."""

    __slots__ = ("_sections", "_results", "_made", "_index", "_object_keys", "_positions", "key")

    key: K

    def __init__(self, sections: Sections[K, M], made: _Made, index: int, key: K, count: int) -> None:
        self._sections, self._results = sections, sections._results
        self._made, self._index, self.key = made, index, key
        objects, positions, got = (ffi.Object * count)(), (ctypes.c_uint64 * count)(), ctypes.c_size_t()
        check(_objects(made.cell, index, 0, objects, positions, count, ctypes.byref(got)))
        self._object_keys = array("q", memoryview(objects).cast("B").cast("q")[1::2].tolist() if count else ())
        self._positions = positions

    @property
    def positions(self) -> list[int]:
        """Where the objects are in the results, ascending."""
        return list(self._positions)

    def __len__(self) -> int:
        return len(self._object_keys)

    def __iter__(self) -> Iterator[M]:
        for start, count in chunks(len(self)):
            view, made = self._results._source._reader(), self._made
            if made.epoch is view.epoch:
                some = self._prefetched(start, count)
            else:
                some = self._results._existing(self._object_keys[start : start + count].tolist())
            for obj in some:
                # What a write has created does not come any more when that was cancelled.
                if not view.is_write or obj.is_valid:
                    yield obj

    def _prefetched(self, start: int, count: int) -> list[M]:
        """Objects with their values, without those that were deleted since."""
        results, made = self._results, self._made
        binding = results._binding
        ids = binding.prefetched_ids
        rows = packed_rows.read_section(made.cell, self._index, start, count, ids, len(ids))
        block = Block(made.epoch, results._source, [None] * len(binding.properties), rows, False)
        keys = rows.keys()
        there = [row for row, key in enumerate(keys) if key >= 0]
        return state.make_many(binding.model, block, [keys[row] for row in there], there)

    @overload
    def __getitem__(self, index: int) -> M: ...
    @overload
    def __getitem__(self, index: slice) -> list[M]: ...
    def __getitem__(self, index: int | slice) -> M | list[M]:
        if isinstance(index, slice):
            return [self._results._one(key) for key in self._object_keys[index]]
        number, count = operator.index(index), len(self)
        if not -count <= number < count:
            model = self._results._binding.model.__name__
            raise IndexOutOfRange(f"index {number} of {count} objects of a section", class_name=model)
        return self._results._one(self._object_keys[number])

    def observe(
        self,
        handler: "Callable[[SectionChanges[K, M]], object]",
        keys: "Iterable[object] | None" = None,
        *,
        initial: bool = True,
        since: bytes | None = None,
    ) -> "Token":
        """Calls handler(change) for what every commit changes in the section with this key from now on: what moves into
        it is an insertion, what moves out of it a deletion. Where it stands among the others is not reported. Otherwise
        as Sections.observe."""
        results = self._results
        token: SectionToken[M] = SectionToken(results._source._observed(), results._binding, handler, keys)
        one, _kept = _value(self.key)
        self._sections._begin(token, one, initial, since)
        return token

    def __contains__(self, obj: object) -> bool:
        identity = state.identity(obj) if isinstance(obj, Model) else None
        return identity is not None and identity[0] == self._results._binding.head and identity[1] in self._object_keys

    def __repr__(self) -> str:
        return f"<Section {self.key!r}: {len(self):,}>"
