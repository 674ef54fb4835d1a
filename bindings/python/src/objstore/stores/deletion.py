"""Deleting one object, or several."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..collections.set_wise import LinkCollection
from ..errors import InvalidArgument, WrongStore
from ..models.model import Model
from ..queries.results import Results

if TYPE_CHECKING:
    from ..writing.transaction import Transaction
    from .store import Store


def delete(store: "Store", given: "Model | Iterable[Model]") -> None:
    """Deletes an object, or all of several."""
    transaction = store._writing()
    if isinstance(given, Model):
        _delete(store, transaction, given)
    elif isinstance(given, Results) and given._source is store:
        given.delete()
    elif isinstance(given, LinkCollection) and given._source is store:
        given.delete_objects()
    elif isinstance(given, Iterable):
        listed = list(given)
        for obj in listed:
            _check_own(store, obj)
        transaction.delete_together([store._binding(type(obj)).head for obj in listed], [obj._o_key for obj in listed])
    else:
        raise InvalidArgument(f"an object of a model is wanted, or several, not {given!r}")


def _delete(store: "Store", transaction: "Transaction", obj: Model) -> None:
    _check_own(store, obj)
    transaction.delete(store._binding(type(obj)), obj._o_key)


def _check_own(store: "Store", obj: Model) -> None:
    if not store._owns(obj):
        raise WrongStore(f"this {type(obj).__name__} does not belong to {store!r}", class_name=type(obj).__name__)
