"""Rows of new objects of one class, converted and checked before the first one is inserted."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ..building.outcomes import Counts
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
    """Rows of one class that give the same properties, converted and checked; with a policy no collections."""

    def __init__(
        self, binding: "Binding", properties: list["Property"], lists: list[list[Any]], rows: int, policy: int
    ) -> None:
        self.binding = binding
        self._policy = policy
        single = [(p, values) for p, values in zip(properties, lists) if p.shape is None]
        contents = [(p, elements.contents(p, values)) for p, values in zip(properties, lists) if p.shape is not None]
        self._columns = Columns(binding, [p for p, _ in single], [values for _, values in single], rows)
        self._fillings = [f for f in (Filling(binding, p, values) for p, values in contents) if not f.is_empty]

    def insert(self, transaction: "Transaction") -> "tuple[Counts, memoryview]":
        """All rows or none; their keys."""
        with transaction.savepoint() if self._fillings else nullcontext():
            counts, keys = transaction.insert(self._columns, self._policy)
            for filling in self._fillings:
                filling.fill(transaction, keys)
            return counts, keys


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
