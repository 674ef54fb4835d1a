"""Changing objects between two versions of the models."""

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _ffi, dynamic, objects
from ._check import check
from .errors import NoSuchClass, NoSuchProperty
from .frozen import Frozen
from .models import Model
from .results import Results
from .schema import Binding
from .views import View

if TYPE_CHECKING:
    from .store import Store
    from .transaction import Transaction

_migrate_property = _ffi.bind("objstore_migrate_property")
_find_class = _ffi.bind("objstore_find_class")
_delete_all = _ffi.bind("objstore_delete_all")


class Migration:
    """What open(migrate=…) calls with: the store as it was, and as it becomes.

        def migrate(migration, old_version):
            if old_version < 2:
                for old, new in migration.objects("Person"):
                    new.full_name = f"{old.first_name} {old.last_name}"

    `store` has the new models, and a write open: add, get, delete as ever. `old` is frozen and has what was there,
    with models made of the file. An exception undoes everything, and open() raises it. Of no use afterwards."""

    def __init__(self, store: "Store", transaction: "Transaction", old: int, old_version: int, new_version: int) -> None:
        self.store = store
        self.old_version = old_version
        self.new_version = new_version
        self.old_models: dict[str, type[Model]] = dynamic.models(old)
        """The classes of the file, by their names."""
        self.old = Frozen(store, View(old, fast=True), "the migration is over")
        self.old._bindings = {model: Binding(model, old, store._tag) for model in self.old_models.values()}
        self._transaction = transaction

    def objects(self, class_name: str) -> Iterator[tuple[Any, Any]]:
        """Every object that the class had, as it was, and as it becomes: set the attributes of that. None: it was deleted, or
        its class is not among the models. NoSuchClass: the file did not have the class."""
        before = self._old_model(class_name)
        model = next((m for m in self.store._bindings if m.__name__ == class_name), None)
        binding = None if model is None else self.store._binding(model)
        for old in self.old.objects(before):
            new = None
            if model is not None and binding is not None and self._transaction.exists(binding.head, old._o_key):
                new = objects.make(model, self.store._unread(binding), old._o_key)
            yield old, new

    def old_objects(self, class_name: str) -> "Results[Model]":
        """The objects that a class had: asked like any others."""
        return self.old.objects(self._old_model(class_name))

    def rename_property(self, class_name: str, old_name: str, new_name: str) -> int:
        """Gives a property the values that another one had: for how many objects. field(formerly=…) does that without writing
        an object. WrongType: they are not of the same kind."""
        before = self.old._binding(self._old_model(class_name))
        after = next((b for b in self.store._bindings.values() if b.model.__name__ == class_name), None)
        if after is None:
            raise NoSuchClass(f"{class_name} is not among the models", class_name=class_name)
        ids = []
        for binding, name in ((after, new_name), (before, old_name)):
            prop = next((p for p in binding.properties if p.name == name), None)
            if prop is None:
                what = f"{class_name} does not have a property {name}{' in the file' if binding is before else ''}"
                raise NoSuchProperty(what, class_name=class_name, property_name=name)
            ids.append(binding.ids[prop.index])
        count = ctypes.c_uint64()
        try:
            check(_migrate_property(self._transaction.handle, ids[0], self.old._view.handle, ids[1], ctypes.byref(count)))
        finally:
            self._transaction._wrote_many()
        return count.value

    def delete_data(self, class_name: str) -> int:
        """Deletes all objects of a class, among the models or not: how many there were."""
        class_id, count = ctypes.c_uint32(), ctypes.c_uint64()
        check(_find_class(self._transaction.handle, _ffi.text(class_name), ctypes.byref(class_id)))
        self._transaction.settle()
        check(_delete_all(self._transaction.handle, class_id.value, ctypes.byref(count)))
        self._transaction._wrote_many()
        return count.value

    def _old_model(self, class_name: str) -> type[Model]:
        try:
            return self.old_models[class_name]
        except KeyError:
            raise NoSuchClass(f"the file does not have a class {class_name}", class_name=class_name) from None
