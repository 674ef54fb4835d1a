"""New objects, one or many: from Python values to rows and columns.

Many are inserted in groups, the objects of a class or the rows that give the same properties. What can be checked is
checked for all groups before the first one is inserted; what the library alone knows, such as a key that is taken,
undoes the groups before: all or none. Lists, sets and dicts are filled when their objects are there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from . import elements, filling, kinds, objects
from .columns import Columns, at_rows, words
from .errors import Error, InvalidArgument, NoPrimaryKey
from .filling import Filling
from .kinds import is_loose
from .models import property_named
from .properties import MISSING, Property
from .transaction import CHANGED, CREATED, POLICIES, UNCHANGED, Counts, Transaction

if TYPE_CHECKING:
    from .schema import Binding
    from .store import Store

MODIFIED = POLICIES["modified"]
_values_of = attrgetter("_o_values")
_block_of = attrgetter("_o_block")


def all_unmanaged(group: list[Any]) -> bool:
    """Are they nothing but unmanaged objects? All at once, 20 ns each."""
    return all(issubclass(t, objects.Slots) for t in set(map(type, group))) and set(map(_block_of, group)) <= {objects.LOOSE}


def _allow(binding: "Binding", policy: int) -> None:
    if policy and binding.key_property is None:
        raise NoPrimaryKey(
            f"{binding.model.__name__} does not have a primary key, so there is nothing to find an existing object by",
            class_name=binding.model.__name__,
        )


def add(transaction: Transaction, binding: "Binding", obj: Any, policy: int) -> None:
    _allow(binding, policy)
    if any(map(is_loose, _targets(binding, obj))):
        _add_graph(transaction, obj, policy, {})
    else:
        _add_one(transaction, binding, obj, policy)


def _add_one(transaction: Transaction, binding: "Binding", obj: Any, policy: int, without: "frozenset[int]" = frozenset()) -> int:
    """All properties but those with these indexes; what became of the object."""
    values = obj._o_values
    if not binding.collections and not without:
        key, outcome = transaction.create(binding, binding.scalars, values, policy)
    else:
        properties = [p for p in binding.scalars if p.index not in without]
        # Unmanaged lists, sets and dicts are builtin ones: what is in them was not looked at before.
        contents = [(p, p.convert(values[p.index])) for p in binding.collections if p.index not in without]
        key, outcome = _one(transaction, binding, properties, [values[p.index] for p in properties], contents, policy)
    transaction.adopt(binding, [obj], [key])
    return outcome


def _targets(binding: "Binding", obj: Any) -> list[Any]:
    """The objects that the links of an unmanaged object lead to, or None."""
    found = [obj._o_values[prop.index] for prop in binding.links]
    for prop in binding.link_collections:
        found += _elements(obj, prop)
    return found


def _elements(obj: Any, prop: Property) -> list[Any]:
    """The objects in a collection of an unmanaged object, or None; what they are was not looked at before."""
    content = prop.convert(obj._o_values[prop.index])
    return list(content.values() if isinstance(content, dict) else content)


def add_linked(transaction: Transaction, target: Any) -> None:
    """Adds the object that a link of a managed one shall lead to, if it is unmanaged."""
    if is_loose(target):
        add(transaction, transaction.store._binding(type(target)), target, 0)


def _add_graph(transaction: Transaction, root: Any, policy: int, outcomes: dict[int, int]) -> None:
    """Adds an unmanaged object and those that its links lead to: each once, all or none. What a link leads to is added
    before it, but for one link of each circle, which is set in the end, like collections of them. `outcomes`: what became of each, by id()."""
    store = transaction.store
    with transaction.savepoint():
        late: list[tuple[Any, Property, Any]] = []
        collections: list[tuple[Any, Property, Any]] = []
        for obj in _in_depth(store, root):
            binding = store._binding(type(obj))
            circular = [p for p in binding.links if is_loose(obj._o_values[p.index])]
            late += [(obj, p, obj._o_values[p.index]) for p in circular]
            full = [p for p in binding.link_collections if any(map(is_loose, _elements(obj, p)))]
            collections += [(obj, p, obj._o_values[p.index]) for p in full]
            skipped = frozenset(p.index for p in circular + full)
            # A linked object without a primary key can only be created.
            allowed = policy if obj is root or binding.key_property is not None else 0
            outcomes[id(obj)] = _add_one(transaction, binding, obj, allowed, skipped)
        for obj, prop, target in late:
            if policy != POLICIES["modified"] or getattr(obj, prop.name) != target:
                transaction.set(store._binding(type(obj)), obj._o_key, prop, target)
                outcomes[id(obj)] = max(outcomes[id(obj)], CHANGED)
        for obj, prop, content in collections:
            if filling.update(transaction, store._binding(type(obj)), obj._o_key, prop, prop.convert(content), policy == MODIFIED):
                outcomes[id(obj)] = max(outcomes[id(obj)], CHANGED)


def _in_depth(store: "Store", root: Any) -> list[Any]:
    """Unmanaged objects, each behind those that its links lead to; without recursion, for a chain may be long."""
    found: list[Any] = []
    seen = {id(root)}
    path = [(root, iter(_targets(store._binding(type(root)), root)))]
    while path:
        obj, targets = path[-1]
        for target in targets:
            if is_loose(target) and id(target) not in seen:
                seen.add(id(target))
                path.append((target, iter(_targets(store._binding(type(target)), target))))
                break
        else:
            found.append(obj)
            path.pop()
    return found


def _one(
    transaction: Transaction, binding: "Binding", properties: list[Property], row: list[Any], contents: list[tuple[Property, Any]],
    policy: int,
) -> tuple[int, int]:  # fmt: skip
    """Creates or updates one object; its key and what became of it."""
    if not any(content for _, content in contents) and not (policy and contents):
        return transaction.create(binding, properties, row, policy)
    with transaction.savepoint():
        return _put(transaction, binding, properties, row, contents, policy)


def _put(
    transaction: Transaction, binding: "Binding", properties: list[Property], row: list[Any],
    contents: "Iterable[tuple[Property, Any]]", policy: int,
) -> tuple[int, int]:  # fmt: skip
    """Creates or updates an object with its collections; its key and what became of it."""
    key, outcome = transaction.create(binding, properties, row, policy)
    for prop, content in contents:
        if outcome != CREATED or content:
            written = filling.update(transaction, binding, key, prop, content, policy == MODIFIED and outcome != CREATED)
            if written and outcome == UNCHANGED:
                outcome = CHANGED
    return key, outcome


class _Group:
    """Rows of one class that give the same properties, converted and checked."""

    def __init__(
        self, binding: "Binding", properties: list[Property], lists: list[list[Any]], rows: int, policy: int
    ) -> None:
        self.binding = binding
        self._policy = policy
        self._rows = rows
        single = [(p, values) for p, values in zip(properties, lists) if p.shape is None]
        self._single = [p for p, _ in single]
        self._contents = [(p, elements.contents(p, values)) for p, values in zip(properties, lists) if p.shape is not None]
        self._lists = [values for _, values in single]
        self._columns = None if policy and self._contents else Columns(binding, self._single, self._lists, rows)
        self._fillings = [f for f in (Filling(binding, p, contents) for p, contents in self._contents) if not f.is_empty]

    def insert(self, transaction: Transaction) -> "tuple[Counts, memoryview]":
        """All rows or none; their keys."""
        if self._columns is None:
            with transaction.savepoint():
                return self._upsert(transaction)
        if not self._fillings:
            return transaction.insert(self._columns, self._policy)
        with transaction.savepoint():
            counts, keys = transaction.insert(self._columns, self._policy)
            for filling_ in self._fillings:
                filling_.fill(transaction, keys)
            return counts, keys

    def _upsert(self, transaction: Transaction) -> "tuple[Counts, memoryview]":
        """One by one: whether an existing object is changed is for its collections to say, too."""
        keys, outcomes = words(self._rows), [0, 0, 0]
        try:
            for at in range(self._rows):
                row = [values[at] for values in self._lists]
                contents = [(p, values[at]) for p, values in self._contents]
                keys[at], outcome = _put(transaction, self.binding, self._single, row, contents, self._policy)
                outcomes[outcome] += 1
        except Error as error:
            error.position = at
            raise
        return Counts(outcomes[CREATED], outcomes[CHANGED], outcomes[UNCHANGED]), memoryview(keys)


def add_all(transaction: Transaction, store: "Store", given: list[Any], policy: int) -> Counts:
    prepared = []
    for group, positions in _by_model(store, given):
        model = type(group[0])
        with _located(positions[:1]):
            binding = store._binding(model)
            _allow(binding, policy)
        if (policy or binding.key_property is None) and len(set(map(id, group))) < len(group):
            raise InvalidArgument(f"a {model.__name__} is there twice", class_name=model.__name__)
        if (binding.links or binding.link_collections) and any(is_loose(target) for obj in group for target in _targets(binding, obj)):
            return _add_graphs(transaction, store, given, policy)
        rows = list(map(_values_of, group))
        lists = [list(map(itemgetter(p.index), rows)) for p in binding.properties]
        with _located(positions):
            prepared.append((_Group(binding, list(binding.properties), lists, len(group), policy), group, positions))
    total = Counts(0, 0, 0)
    with _together(transaction, len(prepared)):
        for built, group, positions in prepared:
            with _located(positions):
                counts, keys = built.insert(transaction)
            transaction.adopt(built.binding, group, keys)
            total = Counts(*map(sum, zip(total, counts)))
    return total


def _add_graphs(transaction: Transaction, store: "Store", given: list[Any], policy: int) -> Counts:
    """One by one: links lead to unmanaged objects, which are not counted unless they are given, too."""
    outcomes: dict[int, int] = {}
    added: list[int] = []
    with transaction.savepoint():
        for at, obj in enumerate(given):
            with _located([at]):
                if id(obj) not in outcomes:
                    if not store._addable(obj):
                        continue
                    _allow(store._binding(type(obj)), policy)
                    _add_graph(transaction, obj, policy, outcomes)
                elif id(obj) in added:
                    raise InvalidArgument(f"a {type(obj).__name__} is there twice", class_name=type(obj).__name__)
                added.append(id(obj))
    counts = [outcomes[name] for name in added]
    return Counts(counts.count(CREATED), counts.count(CHANGED), counts.count(UNCHANGED))


def _together(transaction: Transaction, groups: int) -> "AbstractContextManager[object]":
    """All groups or none; a single one is that by itself."""
    return transaction.savepoint() if groups > 1 else nullcontext()


def _by_model(store: "Store", given: list[Any]) -> "Iterable[tuple[list[Any], Sequence[int]]]":
    """The unmanaged objects of each class, and where they stand."""
    positions: Sequence[int] = range(len(given))
    if not all_unmanaged(given):
        at, positions = 0, []
        try:
            for at, obj in enumerate(given):
                if store._addable(obj):
                    positions.append(at)
        except Error as error:
            error.position = at
            raise
        given = [given[at] for at in positions]
    if len(set(map(type, given))) == 1:  # as a rule
        return [(given, positions)]
    by_model: dict[type, tuple[list[Any], list[int]]] = {}
    for obj, at in zip(given, positions):
        group, its_positions = by_model.setdefault(type(obj), ([], []))
        group.append(obj)
        its_positions.append(at)
    return by_model.values()


@contextmanager
def _located(positions: Sequence[int]) -> Iterator[None]:
    """Errors in a group of rows say where the row is in all that the caller gave."""
    try:
        yield
    except Error as error:
        if error.position is not None:
            error.position = positions[error.position]
        elif len(positions) == 1:
            error.position = positions[0]
        raise


def create(transaction: Transaction, binding: "Binding", values: Any, policy: int) -> Any:
    _allow(binding, policy)
    properties = _named(binding, values)
    row = [kinds.convert(p, v) if p.shape is None else p.convert(v) for p, v in zip(properties, _in_order(values))]
    _complete(binding, properties, row)
    if not binding.collections:
        key, _ = transaction.create(binding, properties, row, policy)
    else:
        contents = [(p, v) for p, v in zip(properties, row) if p.shape is not None]
        single = [(p, v) for p, v in zip(properties, row) if p.shape is None]
        key, _ = _one(transaction, binding, [p for p, _ in single], [v for _, v in single], contents, policy)
    return objects.make(binding.model, transaction.store._unread(binding), key)


def create_all(transaction: Transaction, binding: "Binding", rows: Iterable[Any], policy: int) -> Counts:
    """In groups of rows that give the same properties, one after the other; usually that is one group."""
    _allow(binding, policy)
    prepared, start = [], 0
    for shape, group in _groups(rows):
        positions = range(start, start + len(group))
        start += len(group)
        with _located(positions[:1]):
            properties = _named(binding, group[0])
            defaults: list[Any] = []
            _complete(binding, properties, defaults)
            _demand(binding, properties, policy)
        if isinstance(shape, tuple):
            given = [list(map(itemgetter(name), group)) for name in shape]
        else:
            given = [list(map(itemgetter(i), group)) for i in range(shape)]
        with _located(positions):
            lists = [_converted(p, values) for p, values in zip(properties, given)]
            lists += [[value] * len(group) for value in defaults]
            prepared.append((_Group(binding, properties, lists, len(group), policy), positions))
    total = Counts(0, 0, 0)
    with _together(transaction, len(prepared)):
        for built, positions in prepared:
            with _located(positions):
                counts, _ = built.insert(transaction)
            total = Counts(*map(sum, zip(total, counts)))
    return total


def _groups(rows: Iterable[Any]) -> "Iterable[tuple[Any, list[Any]]]":
    """Pairs of a shape (the names, or the number of the values) and the rows of it that follow each other."""
    rows = rows if isinstance(rows, list) else list(rows)
    types = set(map(type, rows))
    if types == {dict}:
        shapes: list[Any] = list(map(tuple, rows))
    elif types <= {list, tuple}:
        shapes = list(map(len, rows))
    else:
        shapes = [tuple(r) if isinstance(r, Mapping) else len(r) if _is_list(r) else None for r in rows]
    if len(set(shapes)) <= 1:  # as a rule; all rows are looked at without a loop
        return [(shapes[0], rows)] if rows else []
    return [(shape, [row for _, row in group]) for shape, group in groupby(zip(shapes, rows), itemgetter(0))]


def _is_list(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str)


def _in_order(values: Any) -> Iterable[Any]:
    return values.values() if isinstance(values, Mapping) else values


def _named(binding: "Binding", values: Any) -> list[Property]:
    """The properties that values are given for."""
    model = binding.model
    if isinstance(values, Mapping):
        return [property_named(model, name) for name in values]
    if not _is_list(values):
        raise InvalidArgument(
            f"{model.__name__} is made of a mapping or a list, not of {values!r}", class_name=model.__name__
        )
    if len(values) > len(binding.properties):
        raise InvalidArgument(
            f"{model.__name__}: more values ({len(values)}) than properties ({len(binding.properties)})",
            class_name=model.__name__,
        )
    return list(binding.properties[: len(values)])


def _complete(binding: "Binding", properties: list[Property], values: list[Any]) -> None:
    """Adds the default of the primary key, which the library does not keep, if the key is not given."""
    key = binding.key_property
    if key is not None and key.default is not MISSING and not any(p is key for p in properties):
        properties.append(key)
        values.append(key.default)


def _demand(binding: "Binding", properties: list[Property], policy: int) -> None:
    """MissingValue if new objects cannot be made of these properties. With a policy there may be objects already, which
    keep what is not given."""
    for prop in binding.scalars:
        needed = prop.primary_key or not (policy or prop.nullable)
        if needed and prop.default is MISSING and not any(prop is p for p in properties):
            raise prop.missing()


def _converted(prop: Property, values: list[Any]) -> list[Any]:
    """The values as the property holds them; those that are of the right type are not looked at one by one."""
    if prop.shape is not None:
        return values  # _Group converts them
    types = set(map(type, values))
    if prop.nullable:
        types.discard(type(None))
    if types <= {prop.python_type} and prop.kind not in kinds.CHECKED:
        return values
    return at_rows(partial(kinds.convert, prop), values)
