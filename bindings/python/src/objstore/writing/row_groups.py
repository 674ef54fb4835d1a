"""Rows of new objects of one class, converted and checked before the first one is inserted."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ..building.assembly import Assembly
from ..building.outcomes import Counts, counts_of
from ..collections.filling import Filling
from ..errors import Embedded, Error, NoPrimaryKey
from ..values import elements
from ..values.columns import Columns
from ..values.kinds import is_embedded

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding
    from .transaction import Transaction


def allow(binding: "Binding", policy: int) -> None:
    if policy and not binding.key:
        raise NoPrimaryKey(
            f"{binding.model.__name__} does not have a primary key, so there is nothing to find an existing object by",
            class_name=binding.model.__name__,
        )


def allow_alone(binding: "Binding") -> None:
    if is_embedded(binding.model):
        name = binding.model.__name__
        raise Embedded(
            f"class {name} is embedded: its objects are added with their parent, or put into it", class_name=name
        )


class Group:
    """Rows of one class that give the same properties, converted and checked."""

    def __init__(
        self, binding: "Binding", properties: list["Property"], lists: list[list[Any]], rows: int, policy: int
    ) -> None:
        self.binding = binding
        self._policy = policy
        self._rows = rows
        single = [(p, values) for p, values in zip(properties, lists) if p.shape is None]
        self._single = [p for p, _ in single]
        self._contents = [
            (p, elements.contents(p, values)) for p, values in zip(properties, lists) if p.shape is not None
        ]
        self._lists = [values for _, values in single]
        self._columns = None if policy and self._contents else Columns(binding, self._single, self._lists, rows)
        self._fillings = [
            f for f in (Filling(binding, p, contents) for p, contents in self._contents) if not f.is_empty
        ]

    def insert(self, transaction: "Transaction") -> "tuple[Counts, memoryview]":
        """All rows or none; their keys."""
        if self._columns is None:
            return self._upsert(transaction)
        if not self._fillings:
            return transaction.insert(self._columns, self._policy)
        with transaction.savepoint():
            counts, keys = transaction.insert(self._columns, self._policy)
            for filling_ in self._fillings:
                filling_.fill(transaction, keys)
            return counts, keys

    def _upsert(self, transaction: "Transaction") -> "tuple[Counts, memoryview]":
        """Row by row: whether an existing object is changed is for its collections to say, too."""
        assembly = Assembly(transaction, self._policy)
        given = [*zip(self._single, self._lists), *self._contents]
        for at in range(self._rows):
            assembly.row(self.binding, [(p, values[at]) for p, values in given], at)
        return counts_of([*assembly.make()]), memoryview(assembly.nodes.objects)[1::2]


def all_or_none(transaction: "Transaction", groups: int) -> "AbstractContextManager[object]":
    """All groups or none; a single one is that by itself."""
    return transaction.savepoint() if groups > 1 else nullcontext()


@contextmanager
def located(positions: Sequence[int]) -> Iterator[None]:
    """Errors in a group of rows say where the row is in all that the caller gave."""
    try:
        yield
    except Error as error:
        if error.position is not None:
            inside, error.position = error.position, positions[error.position]
            error.message = re.sub(rf"\brow {inside}\b", f"row {error.position}", error.message, count=1)
        elif len(positions) == 1:
            error.position = positions[0]
        raise
