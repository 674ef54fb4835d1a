"""Results: the objects of a class, or those of them that satisfy a condition."""

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..collections import set_wise
from ..errors import Closed, Error, IndexOutOfRange, InvalidArgument, WrongType
from ..json import json_options, json_text
from ..models import groups, nodes, steps
from ..models.display import cell, results_table
from ..models.expressions import Condition, Part, all_of
from ..models.inverses import AnyBacklinks, LinksTo
from ..models.model import Model
from ..models.nodes import FALSE
from ..models.properties import Property
from ..models.roots import is_same
from ..objects import state
from ..objects.detaching import detach_all
from ..objects.model_types import property_named
from ..observing.streams import ChangeStream
from ..observing.tokens import ChangeToken, Token, properties
from ..observing.typed_functions import TypedToken
from ..reading import packed_rows, queries
from ..reading.evaluations import Evaluation
from ..reading.queries import Query
from ..reading.views import Block, Snapshot, View
from ..schema import redefinition
from ..values import constants
from . import aggregates, arrays, arrow, plans, tables
from .arrow import ArrowStream, Texts
from .live_rows import Columns, Listing, same, windows
from .live_tables import LiveTable
from .loops_in_writes import Loop, chunks
from .plans import Plan
from .sections import Order, Sections
from .tables import Groups, Table

if TYPE_CHECKING:
    import numpy

    from ..observing.changes import Changes
    from ..schema.bindings import Binding
    from ..stores.lookup import Source
    from ..writing.transaction import Transaction


M = TypeVar("M", bound=Model)
N = TypeVar("N")


class Results(Generic[M]):
    """A question to a store and its answer, in the order of creation, of order_by(), or of an index. Live: each use
    sees the newest version, while a for loop that has begun continues over the objects that it began with, also beyond
    the end of the write that it began in. If that is cancelled, what it had created does not come any more.

        for dog in store.objects(Dog).where(Dog.age < 2).order_by(desc(Dog.age)): …
        len(dogs), dogs[0], dogs[-1], dogs[10:20], dog in dogs, dogs.index(dog), dogs.sum(Dog.age), dogs.to_numpy("age")
    """

    __slots__ = ("_source", "_binding", "_before", "_part", "_made", "_key")
    _is_inverse = False

    def __init__(
        self, source: "Source", binding: "Binding", before: Query | None = None, part: Condition | None = None
    ) -> None:
        self._source = source
        self._binding = binding
        self._before = before  # among what this finds, or all objects of the class,
        self._part = part  # those that satisfy this; None: all
        self._made: Query | bool | None = None  # both together, when they have been asked twice; False: once
        self._key: Any = None  # of the list that was made last

    # Narrowing. The results of each of these are made of these results: what is behind limit(), say, is about those
    # that it has left.

    def where(self, *conditions: "Condition | int") -> "Results[M]":
        """Those that satisfy a condition, or several:

            .where(Dog.age < 2)
            .where((Dog.age < 2) & ~Dog.name.starts_with("R"), Dog.owner == ann)

        A condition is a property that is compared with a value or another property, by == != < <= > >=, .in_(…),
        .between(…), or of texts .contains(…), .starts_with(…), .ends_with(…), .like(…), .equals(…), .search(…); and
        what & | ~ make of conditions, each in parentheses. Numbers have + - * /, texts .length. None equals None, and
        is neither less nor greater than anything.

            .where(Dog.owner.address.city == "Bern")          what links lead to; None on the way makes it None
            .where(any_(Person.dogs).age > 3)                 elements of a list, set, dict or inverse; all_, none_
            .where(Person.dogs.count > 5, Person.dogs.max(Dog.age) < 9)
            .where(Person.dogs.where(Dog.age > 3).count > 2)

        What cannot be asked is an error when they are used: WrongType, NotSupported."""
        if not conditions:
            return self
        part, binding, mine = conditions[0], self._binding, self._part
        if len(conditions) != 1 or type(part) is not Condition:
            part = all_of(conditions)
        if not part._properties or part._properties[0].model is not binding.model:
            binding = self._about(part)
        if type(part) is LinksTo and self._is_everything:
            return Backlinks(self._source, binding, part.link, part.target)
        if self._is_inverse:
            return Results(self._source, binding, self._asked(self._source._any_view()), part)
        return Results(self._source, binding, self._before, part if mine is None else mine & part)

    def filter(self, text: str, *arguments: Any) -> "Results[M]":
        """The same from text, which may sort and limit, too: `.filter("age < $0 AND name BEGINSWITH[c] 'r' SORT(age
        DESC) LIMIT(10)", 2)`. $0, $1 … are the arguments, of which lists are for IN and BETWEEN. The language:
        docs/query-language.md. InvalidQuery, NoSuchProperty, WrongType, NotSupported have the byte as `position`, and
        show it."""
        if not isinstance(text, str):
            raise WrongType(f"a filter is a text such as 'age < $0', not {text!r}")
        view, binding = self._source._any_view(), self._binding
        query = queries.of_text(view.handle, binding.class_id, text, constants.arguments(arguments))
        return self._then(view, binding, query)

    def order_by(self, *keys: object) -> "Results[M]":
        """In the order of properties, ascending, or of asc(…) and desc(…): `.order_by(Dog.name, desc(Dog.owner.name))`.
        None comes first. Those that are equal stay in the order that they have here."""
        return self._made_of(steps.order_by(self._named(keys)), is_ascending=False)

    def distinct(self, *values: object) -> "Results[M]":
        """The first of those whose properties have the same values."""
        return self._made_of(steps.distinct(self._named(values)))

    def limit(self, count: int) -> "Results[M]":
        """The first ones, so many at most."""
        return self._made_of(steps.limit(count))

    def offset(self, count: int) -> "Results[M]":
        """Those behind the first ones, so many."""
        return self._made_of(steps.offset(count))

    # Tables

    def select(self, *values: object, **names: object) -> Table:
        """A table of values of each object, in columns that are called as they are written in the language, or by a
        name: `.select(Dog.name, "owner.name", years=Dog.age / 12)`. Each is one value of an object: a property, what
        lies behind a path, what is computed."""
        return tables.table(self, [groups.select(self._named(values), dict(zip(names, self._named(names.values()))))])

    def group_by(self, *keys: object, **names: object) -> Groups:
        """Groups of objects with equal values: `.group_by(Dog.city).select(Dog.city, n=group.count)`. Without a value
        all are one group."""
        step = groups.group_by(self._named(keys), dict(zip(names, self._named(names.values()))))
        return Groups(self, (step,))

    def table(self, text: str, *arguments: Any) -> Table:
        """The same from text, with GROUP and SELECT: `.table("age > $0 GROUP(city) HAVING(@count > 3) SELECT(city,
        @count AS n, @avg.age)", 5)`. Errors as of filter()."""
        if not isinstance(text, str):
            raise WrongType(f"a query is a text such as 'GROUP(city)', not {text!r}")
        view, binding = self._source._any_view(), self._binding
        query = queries.of_text(view.handle, binding.class_id, text, constants.arguments(arguments))
        return tables.of_query(self, view, query)

    def to_arrow(self, *, texts: Texts = "plain") -> Any:
        """All properties of single values, as a pyarrow.Table; `texts` as of arrow(), of dictionaries one for all
        batches. MissingArrow: PyArrow is not installed."""
        return arrow.to_arrow(self, texts, "to_arrow()")

    def to_pandas(self, *, texts: Texts = "plain") -> Any:
        """The same as a pandas.DataFrame; with texts="dictionaries" columns of str are categories."""
        return arrow.to_pandas(self, texts)

    def arrow(self, *, texts: Texts = "plain") -> ArrowStream:
        """What other libraries read, as they read the results themselves, with columns of str in another form:
        `texts="dictionaries"` are numbers of the texts of a dictionary, the smallest and fastest where many rows have
        the same; `"views"`, which bytes have, too, are what Polars and DuckDB have inside. Dictionaries may differ from
        batch to batch. InvalidArgument: `texts` is something else."""
        return ArrowStream(texts, lambda flags: tables.stream(self, flags))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """What pyarrow, Polars, DuckDB and pandas read: all properties of single values, batch by batch, of the version
        that is the newest now."""
        return tables.stream(self, 0)

    def query_text(self) -> str:
        """What is asked, as filter() takes it: constants stand in it. NotSupported: it is a range of an index, or has
        a condition behind limit(), offset() or distinct()."""
        return self._asked(self._source._any_view()).text()

    def explain(self, *, run: bool = False) -> Plan:
        """How they are found: by which index, inverse or scan, about how many objects that is, what is asked of each,
        and which steps follow. `print(results.explain())` shows lines for people. With run=True they are asked once,
        and the plan says what was found, in what time."""
        return plans.plan(self, run)

    def _named(self, values: Iterable[Any]) -> list[Any]:
        """Properties for their names; what is none, the library says."""
        known: dict[str, Property] = getattr(self._binding.model, "_objstore_by_name")
        return [known.get(value, value) if isinstance(value, str) else value for value in values]

    def _made_of(self, step: Part, is_ascending: bool = True) -> "Results[M]":
        binding, view = self._about(step), self._source._any_view()
        query = queries.of_nodes(view.handle, binding.class_id, binding.nodes_of(step), step._texts, is_ascending)
        return self._then(view, binding, query)

    def _then(self, view: View, binding: "Binding", query: Query) -> "Results[M]":
        """What a query finds among these."""
        if not self._is_everything:
            query = queries.then(self._asked(view), query)
        return Results(self._source, binding, query)

    def _about(self, part: Part) -> "Binding":
        """The class that a part of a query is about, which is this one, or is this one defined again."""
        binding = self._binding
        if not part._properties or part._properties[0].model is binding.model:
            return binding
        prop = part._properties[0]
        if not is_same(prop.model, binding.model):
            name = binding.model.__name__
            raise InvalidArgument(f"'{part}' is about {prop.model_name}, and these are {name}", class_name=name)
        return self._source._binding(prop.model)

    @property
    def _is_everything(self) -> bool:
        """Are they all objects of the class?"""
        return self._before is None and self._part is None and not self._is_inverse

    def _asked(self, view: View) -> Query:
        """The query, which may have to be made, in a view."""
        made = self._made
        if not made:
            part, binding = self._part, self._binding
            if part is None:
                made = binding.everything(view.handle) if self._before is None else self._before
            else:
                made = queries.of_nodes(view.handle, binding.class_id, binding.nodes_of(part), part._texts)
                made = made if self._before is None else queries.then(self._before, made)
            self._made = made
        return made  # type: ignore[return-value]  # True it never is

    def _find(self, view: View) -> Evaluation:
        """What there is in a view."""
        part, binding = self._part, self._binding
        if not self._made and self._before is None and part is not None:
            self._key = queries.key(binding.class_id, binding.nodes_of(part), part._texts)
            found = view.remembered(self._key)
            if found is not None:
                return found
        query = self._asked(view)
        self._key = query.key
        return view.evaluate(query)

    # Versions

    @property
    def is_frozen(self) -> bool:
        """Do they permanently show one version?"""
        return self._source.is_frozen

    def freeze(self) -> "Results[M]":
        """The same as they are now, frozen, and the objects in them, too; inside of a write as they were before that.
        Keeps its version until it is garbage, so let go of it."""
        return self._of(self._source._lasting())

    def thaw(self) -> "Results[M]":
        """The live ones that frozen ones show a former state of. Those that are live are returned as they are. Closed:
        the store is closed."""
        live = self._source._live
        live._open_handle()
        return self._of(live)

    def _of(self, source: "Source") -> "Results[M]":
        if source is self._source:
            return self
        return Results(source, source._binding(self._binding.model), self._before, self._part)

    # The list

    def _evaluate(self) -> tuple[View, Evaluation]:
        view = self._source._reader()
        return view, self._find(view)

    def detach(self, depth: int | None = None) -> list[M]:
        """Unmanaged copies of the objects, as Model.detach() makes them: those that several lead to are the same in
        all."""
        return detach_all(self, depth)

    def count(self) -> int:
        """How many there are."""
        view, binding, part = self._source._reader(), self._binding, self._part
        if self._key is not None:  # list() asks for both
            found = view.remembered(self._key)
            if found is not None:
                return found.count
        if self._made is None and self._before is None and part is not None:
            self._made = False
            return view.count_once(binding.class_id, binding.nodes_of(part), part._texts)
        return view.count(binding, None if self._is_everything else self._asked(view))

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return self.count() > 0

    def __iter__(self) -> Iterator[M]:
        view, evaluation = self._evaluate()
        if view.loops is None:
            pieces = self._chunks(view, evaluation, 0, evaluation.count)
            if isinstance(view, Snapshot):
                view.iterations.add(pieces)
            return itertools.chain.from_iterable(pieces)
        loop = Loop(self, view, evaluation)
        view.loops.add(loop)
        return itertools.chain.from_iterable(loop.chunks())

    def _chunks(self, view: View, evaluation: Evaluation, start: int, end: int) -> Iterator[list[M]]:
        """Lists of objects that are read together."""
        for at, count in chunks(end - start):
            yield self._objects(view, evaluation, start + at, count)

    def _existing(self, keys: list[int]) -> list[M]:
        """Of the objects with these keys those that are there now."""
        view, head = self._source._reader(), self._binding.head
        there = [key for key in keys if view.exists(head, key)]
        return state.make_many(self._binding.model, self._source._unread(self._binding), there, [0] * len(there))

    def _objects(self, view: View, evaluation: Evaluation, start: int, count: int) -> list[M]:
        """The objects from index `start` on, without those that were deleted since, their values prefetched."""
        binding = self._binding
        rows = packed_rows.read(evaluation.handle, start, count, binding.prefetched_ids, len(binding.prefetched_ids))
        block = Block(view.epoch, self._source, [None] * len(binding.properties), rows, False)
        keys = rows.keys()
        if not rows.deleted:
            return state.make_many(binding.model, block, keys, range(count))
        there = [row for row, key in enumerate(keys) if key >= 0]
        return state.make_many(binding.model, block, [keys[row] for row in there], there)

    @overload
    def __getitem__(self, index: int) -> M: ...
    @overload
    def __getitem__(self, index: slice) -> list[M]: ...
    def __getitem__(self, index: int | slice) -> M | list[M]:
        view, evaluation = self._evaluate()
        count = evaluation.count
        if isinstance(index, slice):
            start, stop, step = index.indices(count)
            wanted = range(start, stop, step)
            if not wanted:
                return []
            low, high = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
            return list(itertools.chain.from_iterable(self._chunks(view, evaluation, low, high + 1)))[::step]
        number = operator.index(index)  # TypeError: 1.5; NumPy's integers are none that ctypes takes
        at = number + count if number < 0 else number
        if not 0 <= at < count:
            raise IndexOutOfRange(f"index {number} of {count} results", class_name=self._binding.model.__name__)
        return self._one(evaluation.keys(at, 1)[0])

    def _one(self, key: int) -> M:
        made: M = state.make(self._binding.model, self._source._unread(self._binding), key)
        return made

    def first(self) -> M | None:
        """The first one, or None."""
        view = self._source._reader()
        key = view.first(self._asked(view))
        return None if key is None else self._one(key)

    def index(self, obj: M) -> int:
        """Where an object is, the first place if it is there more than once: `results[results.index(dog)]` is the dog.
        ValueError: it is none of them."""
        mine = state.identity(obj) if isinstance(obj, Model) else None
        place = None if mine is None or mine[0] != self._binding.head else self._index(*mine)
        if place is None:
            raise ValueError(f"{obj!r} is not among the results")
        return place

    def _index(self, head: int, key: int) -> int | None:
        _, evaluation = self._evaluate()
        return evaluation.place(head, key, self._before is None or self._before.is_ascending)

    def __contains__(self, obj: object) -> bool:
        if not isinstance(obj, Model):
            return False
        mine = state.identity(obj)
        if mine is None or mine[0] != self._binding.head:
            return False
        if self._is_everything:
            return self._source._reader().exists(*mine)
        return self._index(*mine) is not None

    # Sections

    @overload
    def sections(
        self, key: str, *arguments: Any, order: "Order | None" = None, first_letter: bool = False
    ) -> "Sections[Any, M]": ...
    @overload
    def sections(self, key: Callable[[M], N], *, order: "Order | None" = None) -> "Sections[N, M]": ...
    @overload
    def sections(self, key: N, *, order: "Order | None" = None, first_letter: bool = False) -> "Sections[N, M]": ...
    def sections(
        self, key: Any, *arguments: Any, order: "Order | None" = None, first_letter: bool = False
    ) -> "Sections[Any, M]":
        """The objects with equal keys together, in the order in which the first of each come here, or in the order of
        the keys ('ascending', 'descending'); inside in the order that they have here.

            dogs.sections(Dog.owner.name)           by a value: of a property, of what links lead to, computed
            dogs.sections("age / $0", 10)           the same as text, as filter() takes it
            dogs.sections(lambda dog: dog.name[:2]) by what a function answers, which should only look

        `first_letter`: by the first letter of a text, as a capital. None is a key, too; equal numbers are one key.
        What cannot be a key is an error when they are used: WrongType, NotSupported, InvalidQuery."""
        return Sections(self, key, arguments, order, first_letter)

    # Numbers

    def _property(self, given: Any) -> Property:
        """Dog.age or "age"."""
        if isinstance(given, str):
            return property_named(self._binding.model, given)
        if (prop := redefinition.own(self._binding, given)) is not None:
            return prop
        raise InvalidArgument(f"a property of {self._binding.model.__name__} is wanted, such as Dog.age or 'age'")

    @overload
    def sum(self, property: str) -> Any: ...
    @overload
    def sum(self, property: N) -> N: ...
    def sum(self, property: Any) -> Any:
        """The sum of an int or float property, None left out; 0 of nothing. OutOfRange: over 64 bits."""
        return aggregates.aggregate(self, "sum", self._property(property))

    @overload
    def min(self, property: str) -> Any: ...
    @overload
    def min(self, property: N) -> N | None: ...
    def min(self, property: Any) -> Any:
        """The smallest value of an int, float, Decimal, datetime, ObjectId or UUID property; None of nothing."""
        return aggregates.aggregate(self, "min", self._property(property))

    @overload
    def max(self, property: str) -> Any: ...
    @overload
    def max(self, property: N) -> N | None: ...
    def max(self, property: Any) -> Any:
        """The largest value of an int, float, Decimal, datetime, ObjectId or UUID property; None of nothing."""
        return aggregates.aggregate(self, "max", self._property(property))

    def avg(self, property: object) -> float | None:
        """The average of an int or float property, None left out; None of nothing."""
        result: float | None = aggregates.aggregate(self, "avg", self._property(property))
        return result

    def to_numpy(self, property: object) -> "numpy.ndarray[Any, Any]":
        """A property of all as an array: int64, float64, bool, datetime64[us]; str and bytes as an array of objects.
        Of a property that may be None it is a masked array."""
        return arrays.to_numpy(self, self._property(property))

    # Observing

    @overload
    def to_json(
        self,
        file: None = None,
        *,
        depth: int = 1,
        pretty: bool = False,
        extended: bool = False,
        nan_as_null: bool = False,
    ) -> str: ...
    @overload
    def to_json(
        self,
        file: "IO[Any]",
        *,
        depth: int = 1,
        pretty: bool = False,
        extended: bool = False,
        nan_as_null: bool = False,
    ) -> None: ...
    def to_json(
        self,
        file: "IO[Any] | None" = None,
        *,
        depth: int = 1,
        pretty: bool = False,
        extended: bool = False,
        nan_as_null: bool = False,
    ) -> str | None:
        """The objects as a JSON array: a str, or written piece by piece to a file that is open for text or bytes. The
        rest is as of Model.to_json."""
        return json_text.of_results(self, depth, json_options.flags(pretty, extended, nan_as_null), file)

    def observe(
        self,
        handler: "Callable[[Changes[M]], object]",
        keys: "Iterable[object] | None" = None,
        *,
        initial: bool = True,
        since: bytes | None = None,
    ) -> Token:
        """Calls handler(change) for what every commit changes in this list from now on, whichever thread or process
        makes it: inside store.deliver() and store.wait(), on the thread that calls them. An object that begins to
        satisfy the condition is an insertion, one that stops a deletion.

        keys     which modifications are reported: properties by name, or as Dog.age; "owner.name" and Dog.owner.name
                 for what lies behind links; "*" for the objects' own. None: theirs, and what is up to four links away
        initial  the first call, change.is_initial, is of the state at its delivery; what was committed before is in it
        since    a bookmark of what the program has seen (store.bookmark(), change.after.bookmark()): the first call is
                 of what was committed since, or, where that version is not kept any more, `change.is_lost`: begin anew

        Observing lasts as long as the token that is returned. Not inside a write (AlreadyInWrite), and not what is
        frozen (WrongView)."""
        token: ChangeToken[M] = ChangeToken(self._source._observed(), self._binding, handler, keys)
        token.observe_results(self._find, initial, since)
        return token

    def observe_typed(
        self,
        keys: "Iterable[object]",
        signature: str,
        function: Callable[..., object],
        *,
        userdata: int | None = None,
        deletions: bool = False,
        beginnings: bool = False,
        since: bytes | None = None,
    ) -> Token:
        """Calls function(…) once for each object that begins to be found, or is found and was changed in one of the
        properties `keys`, with their values as arguments; as of Store.observe_typed:

            dogs.where(Dog.age > 9).observe_typed(["id", "name"], "event, i64, str -> void", on_dog, deletions=True)

        deletions   also once for each object that was deleted, or is not found any more, before the others, with the
                    values that it had; then `event` is "deleted", and the signature needs that word (InvalidSignature)
        beginnings  also what is there, at the first delivery, and again where it is too late to say what changed: once
                    with "began" as `event` and None for all else, then an insertion for each that is found

        since       a bookmark: the first calls are of what was committed since, or, where that version is not kept any
                    more, the beginning, as with `beginnings`: the signature needs the word `event`, too

        Without `beginnings` and `since`: from now on; what is there is not told."""
        store = self._source._observed()
        token = TypedToken(function)
        query = self._asked(self._source._any_view())
        token.observe(store, self._binding, keys, signature, userdata, query, deletions, beginnings, since)
        return token

    def changes(
        self, keys: "Iterable[object] | None" = None, *, initial: bool = True, since: bytes | None = None
    ) -> ChangeStream[M]:
        """The same for asyncio: `async for change in results.changes(): …`"""
        stream: ChangeStream[M] = ChangeStream(self._source._observed(), self._binding, keys)
        return stream.of_results(self._find, initial, since)

    def live(
        self,
        columns: "Iterable[object] | None" = None,
        *,
        rows: int = 20,
        interval: float = 0.1,
        keys: "Iterable[object] | None" = None,
    ) -> "LiveTable[M]":
        """The first `rows` of them as a table in a notebook that follows every commit, at most each `interval` seconds:

            store.objects(City).order_by(desc(City.population)).live([City.name, City.population], rows=5)

        `columns`: which properties, by name or as Dog.name; None: all. `keys`: which modifications count, as of
        observe(); None: those of the columns."""
        shown, followed = self._columns(columns, keys)
        caption = self._binding.model.__name__ + self._shown()
        return LiveTable(
            caption, Listing(shown, windows(self._of), same), partial(self.changes, followed), rows, interval
        )

    def _columns(
        self, columns: "Iterable[object] | None", keys: "Iterable[object] | None"
    ) -> "tuple[Columns[M], Iterable[object]]":
        """Those of a live table, and which modifications count."""
        binding = self._binding
        shown = binding.properties if columns is None else properties(binding, columns, "columns")
        followed = [prop.name for prop in shown] if keys is None else keys
        return [(prop.name, partial(cell, prop=prop)) for prop in shown], followed

    # Changing

    def update(self, /, **values: Any) -> int:
        """Sets properties of all of them, or of none, in one step: `.update(city="Toronto")`. How many there were.

        Each is visited once, also where the condition is about what changes. NoSuchProperty, WrongType; DuplicateKey:
        two would have one unique value; KeyImmutable."""
        return set_wise.update(self, values)

    def increment(self, /, **deltas: Any) -> int:
        """Adds to int and float properties of all of them, or of none, in one step: `.increment(age=1)`. None stays
        None. How many there were. WrongType: another property, or a delta of another type. OutOfRange: a sum of more
        than 64 bits."""
        return set_wise.increment(self, deltas)

    def delete(self) -> int:
        """Deletes all of them, or none, in one step; how many there were."""
        transaction: Transaction = self._source._writing()
        if self._is_everything:
            return transaction.delete_all(self._binding)
        _view, found = self._evaluate()  # kept during the call
        return transaction.delete_results(found.handle)

    # Copying

    def __copy__(self) -> "Results[M]":
        return self  # never changes: only the answer does

    def __reduce_ex__(self, protocol: object) -> Any:
        name, model = type(self).__name__, self._binding.model.__name__
        raise TypeError(
            f"these {name} of {model} belong to a store: copy or pickle results.detach(), or [each.detach() for each "
            "in results]"
        )

    # Showing

    def __repr__(self) -> str:
        try:
            count = f"{self.count():,}"
        except Closed:
            count = "closed"
        except Error as error:  # code that shows values wants no exception of them
            count = error.message
        return f"<Results of {self._binding.model.__name__}{self._shown()}: {count}>"

    def _shown(self) -> str:
        """What is asked, in a repr."""
        if self._is_everything:
            return ""
        try:
            query = self._asked(self._source._any_view())
            return f" where {getattr(query, 'shown', '') or query.text()}"
        except Error:
            return ""

    def _repr_html_(self) -> str:
        return results_table(self)


class Backlinks(Results[M], AnyBacklinks):
    """The objects whose link leads to an object, in the order of creation: `dogs: Backlinks["Dog"] =
    backlinks("owner")`.

    Results like any others, found through the index that every link has. Of an object that was deleted there are
    none."""

    __slots__ = ("_link", "_target")
    _is_inverse = True

    def __init__(self, source: "Source", binding: "Binding", link: Property, target: Any) -> None:
        super().__init__(source, binding)
        self._link = link
        self._target = target  # the object

    def _asked(self, view: View) -> Query:
        """What is made of it needs a query, while it needs none itself."""
        made = self._made
        if not made:
            made = queries.of_incoming(view.handle, *self._place())
            if made is None:  # it was deleted, and may come back
                return queries.of_nodes(view.handle, self._binding.class_id, FALSE, ())
            made.shown = f"{self._link.name} links to {state.named(self._target)}"
            self._made = made
        return made  # type: ignore[return-value]  # True it never is

    def _place(self) -> tuple[int, int, int]:
        binding = self._target._o_block.store._binding(type(self._target))
        return self._binding.ids[self._link.index], binding.head, self._target._o_key

    def _of(self, source: "Source") -> "Results[M]":
        if source is self._source:
            return self
        return type(self)(source, source._binding(self._binding.model), self._link, self._target)

    def _find(self, view: View) -> Evaluation:
        found = view.incoming(*self._place())
        if found is None:  # nothing leads to what was deleted
            return view.evaluate(queries.of_nodes(view.handle, self._binding.class_id, nodes.FALSE, ()))
        return found

    def count(self) -> int:
        return self._source._reader().count_incoming(*self._place())

    def first(self) -> M | None:
        """The first one, or None."""
        _view, evaluation = self._evaluate()
        return self._one(evaluation.keys(0, 1)[0]) if evaluation.count else None
