"""New objects, one or many, from values.

Many are inserted in groups of rows that give the same properties. What can be checked is checked for all groups
before the first one is inserted; what the library alone knows, such as a key that is taken, undoes the groups before:
all or none. Lists, sets and dicts are filled when their objects are there.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ..building import default_values, descriptions, graphs, references
from ..building.assembly import Assembly
from ..building.outcomes import UNCHANGED, Counts, counts_of
from ..errors import InvalidArgument
from ..objects import state
from ..objects.model_types import property_named
from ..values import elements, kinds, timestamps
from ..values.columns import at_rows
from ..values.custom_types import Custom
from .row_groups import Group, all_or_none, allow, located

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding
    from .transaction import Transaction


def create(transaction: "Transaction", binding: "Binding", values: Any, policy: int, exact: bool) -> Any:
    allow(binding, policy)
    if isinstance(values, state.Slots):
        return copy(transaction, binding, values, policy)
    values = descriptions.by_name(values)
    is_flat = not exact and _is_flat(binding, values)
    properties = _named(binding, values) if is_flat else []
    if (
        not is_flat
        or default_values.left_out(binding, properties)
        or any(prop.shape is not None for prop in properties)
    ):
        return create_by(transaction, binding, values, policy, exact, None)
    row = [kinds.convert(p, v) for p, v in zip(properties, _in_order(values))]
    key, _ = transaction.create(binding, properties, row, policy)
    return state.make(binding.model, transaction.store._unread(binding), key)


def copy(transaction: "Transaction", binding: "Binding", obj: Any, policy: int) -> Any:
    """An object of the class with the values of `obj`, and copies of what it leads to, as far as it is not there."""
    if _is_there(transaction, binding, obj, policy):
        return obj
    assembly = Assembly(transaction, policy)
    assembly.copy(binding, obj)
    return _made(transaction, binding, assembly)


def _is_there(transaction: "Transaction", binding: "Binding", obj: Any, policy: int) -> bool:
    """Would it be a copy of itself? NoSuchObject: it was deleted."""
    store = transaction.store
    return bool(policy and type(obj) is binding.model and store._owns(obj) and not store._addable(obj))


def create_by(
    transaction: "Transaction",
    binding: "Binding",
    values: Any,
    policy: int,
    exact: bool,
    known_by: "tuple[int, tuple[Property, ...]] | None",
) -> Any:
    """The same where a unique index says which object there is, and for whatever is nested."""
    assembly = Assembly(transaction, policy, exact)
    assembly.create(binding, values, known_by=known_by)
    return _made(transaction, binding, assembly)


def _made(transaction: "Transaction", binding: "Binding", assembly: Assembly) -> Any:
    """The first object of an assembly."""
    assembly.make()
    return state.make(binding.model, transaction.store._unread(binding), assembly.nodes.objects[1])


def _is_flat(binding: "Binding", values: Any) -> bool:
    """Are they a mapping or a list, and is nothing nested in them?"""
    if binding.mixed and _links_in_mixed(binding, values):
        return False
    if not isinstance(values, Mapping):
        return binding.is_alone and _is_list(values)
    return binding.is_alone or not any(name in values for name in binding.leading)


def _links_in_mixed(binding: "Binding", values: Any) -> bool:
    """Do mixed values among those of an object link to objects?"""
    if isinstance(values, Mapping):
        return any(kinds.objects_in(values[p.name]) for p in binding.mixed if p.name in values)
    return _is_list(values) and any(kinds.objects_in(values[p.index]) for p in binding.mixed if p.index < len(values))


def _is_nested(transaction: "Transaction", binding: "Binding", row: Any) -> bool:
    """Is there something in a row that is to be created or added, too?"""
    if _links_in_mixed(binding, row):
        return True
    given = row.items() if isinstance(row, Mapping) else zip((p.name for p in binding.properties), row)
    for name, value in given:
        if name not in binding.leading:
            continue
        prop = property_named(binding.model, name)
        if value is None and not prop.embeds:
            continue
        if prop.shape is not None and not isinstance(value, (list, tuple, set, frozenset)):
            return True
        for obj in graphs.held(prop, value):
            if prop.embeds or not isinstance(obj, state.Slots) or not transaction.store._has(obj):
                return True
    return False


def _create_each(transaction: "Transaction", binding: "Binding", rows: list[Any], policy: int) -> Counts:
    """In one call for all: rows have more nested in them than columns can say."""
    assembly = Assembly(transaction, policy)
    waiting: list[tuple[int, Property, Any]] = []  # what may lead to the object of a later row
    numbers: list[int] = []
    with transaction.savepoint():
        for at, row in enumerate(rows):
            with located([at]):
                if isinstance(row, state.Slots):
                    is_there = _is_there(transaction, binding, row, policy)
                    numbers.append(-1 if is_there else assembly.copy(binding, row, at))
                    continue
                row, late = _without_parts(binding, row)
                numbers.append(assembly.create(binding, row, at))
                waiting += [(at, prop, value) for prop, value in late]
        made = [*assembly.make(), UNCHANGED]
        outcomes = [made[number] for number in numbers]
        if waiting:
            keys, assembly = assembly.nodes.objects[1::2], Assembly(transaction, policy)
            for row, prop, value in waiting:
                with located([row]):
                    assembly.give(binding, keys[numbers[row]], prop, value, row)
            for (row, _, _), outcome in zip(waiting, assembly.make()):
                outcomes[row] = max(outcomes[row], outcome)
    return counts_of(outcomes)


def _without_parts(binding: "Binding", row: Any) -> "tuple[Any, list[tuple[Property, Any]]]":
    """The values of a row that can be written at once, and those that wait: the parts of a primary key describe a new
    object where there is none yet that has it."""
    if binding.is_alone or type(row) not in (dict, list, tuple):
        return row, []
    pairs = descriptions.pairs(binding.model, row)
    late = [(p, value) for p, value in pairs if references.has_parts(p, value)]
    if not late:
        return row, late
    return {p.name: value for p, value in pairs if not any(p is other for other, _ in late)}, late


def create_all(transaction: "Transaction", binding: "Binding", rows: Iterable[Any], policy: int) -> Counts:
    """In groups of rows that give the same properties, one after the other; usually that is one group."""
    allow(binding, policy)
    rows = list(rows)
    if any(map(descriptions.is_record, set(map(type, rows)))):
        rows = [descriptions.by_name(row) for row in rows]
    regular = all(issubclass(t, (Mapping, Sequence)) and not issubclass(t, str) for t in set(map(type, rows)))
    if not regular or (
        (binding.mixed or not binding.is_alone) and any(_is_nested(transaction, binding, row) for row in rows)
    ):
        return _create_each(transaction, binding, rows, policy)
    groups, start = [], 0
    for shape, group in _groups(rows):
        positions = range(start, start + len(group))
        start += len(group)
        with located(positions[:1]):
            properties = _named(binding, group[0])
        # Of an upsert each row has to be looked for, and its collections say whether it is changed; what is made may be
        # objects, which are added.
        if any(
            policy or p.target is not None or elements.is_mixed(p) for p in default_values.left_out(binding, properties)
        ) or (policy and any(p.shape is not None for p in properties)):
            return _create_each(transaction, binding, rows, policy)
        groups.append((shape, group, positions, properties))
    prepared = []
    for shape, group, positions, properties in groups:
        with located(positions):
            new = _new_values(binding, properties, len(group))
        if isinstance(shape, tuple):
            given = [list(map(itemgetter(name), group)) for name in shape]
        else:
            given = [list(map(itemgetter(i), group)) for i in range(shape)]
        with located(positions):
            lists = [_converted(p, values) for p, values in zip(properties, given)]
            lists += new
            prepared.append((Group(binding, properties, lists, len(group), policy), positions))
    total = Counts(0, 0, 0)
    with all_or_none(transaction, len(prepared)):
        for built, positions in prepared:
            with located(positions):
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


def _named(binding: "Binding", values: Any) -> list["Property"]:
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


def _new_values(binding: "Binding", properties: list["Property"], rows: int) -> list[list[Any]]:
    """Adds what factories make, which columns must have; what is generated the library makes."""
    made = default_values.left_out(binding, properties)
    properties += made
    return [at_rows(lambda _, p=p: p.made(), range(rows)) for p in made]  # type: ignore[misc]


def _converted(prop: "Property", values: list[Any]) -> list[Any]:
    """The values as the property holds them; those that are of the right type are not looked at one by one."""
    if prop.shape is not None:
        return values  # Group converts them
    types = set(map(type, values))
    if prop.nullable:
        types.discard(type(None))
    if types <= {prop.python_type} and prop.kind not in kinds.CHECKED and not isinstance(prop.enum, Custom):
        return values
    taken = timestamps.taken(values, prop.nullable) if prop.kind == kinds.TIMESTAMP else None
    return at_rows(partial(kinds.convert, prop), values) if taken is None else taken
