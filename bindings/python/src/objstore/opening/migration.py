"""Changing objects between two versions of the models."""

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import NoSuchClass, NoSuchProperty
from ..models.model import Model
from ..models.properties import Attribute
from ..native import ffi
from ..native.failures import check
from ..objects import state
from ..objects.model_types import properties_of
from ..queries.results import Results
from ..reading.views import View
from ..schema import file_models
from ..schema.bindings import Binding
from ..stores.frozen import Frozen
from .absent_names import Signs

if TYPE_CHECKING:
    from ..stores.store import Store
    from ..writing.transaction import Transaction


_migrate_property = ffi.bind("objstore_migrate_property")
_find_class = ffi.bind("objstore_find_class")
_delete_all = ffi.bind("objstore_delete_all")
_delete_orphans = ffi.bind("objstore_delete_orphans")


class Migration:
    """What open(migrate=…) calls with: the store as it was, and as it becomes.

        def migrate(migration, old_version):
            if old_version < 2:
                for old, new in migration.objects("Person"):
                    new.full_name = f"{old.first_name} {old.last_name}"

    Each has its own names: `old` those of the file, `new` those of the program. `store` has the new models, and a write
    open: add, get, delete as ever. `old` is frozen and has what was there,
    with models made of the file. An exception undoes everything, and open() raises it. Of no use afterwards."""

    def __init__(
        self, store: "Store", transaction: "Transaction", old: int, old_version: int, new_version: int
    ) -> None:
        self.store = store
        self.old_version = old_version
        self.new_version = new_version
        self.old_models: dict[str, type[Model]] = file_models.models(old)
        """The classes of the file, by their names."""
        self.old = Frozen(store, View(old, fast=True), "the migration is over")
        self.old._bindings = {model: Binding(model, old, store._tag) for model in self.old_models.values()}
        self._transaction = transaction
        self._signs = Signs()

    def begin(self) -> None:
        """Before its function is called; end() is always called."""
        self._add_names()

    def objects(self, class_name: str) -> Iterator[tuple[Any, Any]]:
        """Every object that the class had, as it was, and as it becomes: set the attributes of that. None: it was
        deleted, or its class is not among the models. NoSuchClass: the file did not have the class."""
        before = self._old_model(class_name)
        model = self._model(class_name)
        binding = None if model is None else self.store._binding(model)
        for old in self.old.objects(before):
            new = None
            if model is not None and binding is not None and self._transaction.exists(binding.head, old._o_key):
                new = state.make(model, self.store._unread(binding), old._o_key)
            yield old, new

    def old_objects(self, class_name: str) -> "Results[Model]":
        """The objects that a class had: queried like any others."""
        return self.old.objects(self._old_model(class_name))

    def rename_property(self, class_name: str, old_name: str, new_name: str) -> int:
        """Gives a property the values that another one had: for how many objects. field(formerly=…) does that without
        writing an object. WrongType: they are not of the same kind."""
        before = self.old._binding(self._old_model(class_name))
        model = self._model(class_name)
        after = None if model is None else self.store._binding(model)
        if after is None:
            raise NoSuchClass(f"{class_name} is not among the models", class_name=class_name)
        ids = []
        for binding, name in ((after, new_name), (before, old_name)):
            prop = next((p for p in binding.properties if name in (p.name, p.stored_as)), None)
            if prop is None:
                what = f"{class_name} does not have a property {name}{' in the file' if binding is before else ''}"
                raise NoSuchProperty(what, class_name=class_name, property_name=name)
            ids.append(binding.ids[prop.index])
        count = ctypes.c_uint64()
        try:
            check(
                _migrate_property(self._transaction.handle, ids[0], self.old._view.handle, ids[1], ctypes.byref(count))
            )
        finally:
            self._transaction._wrote_many()
        return count.value

    def delete_data(self, class_name: str) -> int:
        """Deletes all objects of a class, among the models or not: how many there were."""
        return self._delete(_delete_all, class_name)

    def delete_orphans(self, class_name: str) -> int:
        """Deletes the objects of a class that no link leads to: how many there were. What has no parent when a class
        becomes embedded is an error at the end of the migration otherwise."""
        return self._delete(_delete_orphans, class_name)

    def _delete(self, function: Any, class_name: str) -> int:
        class_id, count = ctypes.c_uint32(), ctypes.c_uint64()
        check(_find_class(self._transaction.handle, ffi.text(class_name), ctypes.byref(class_id)))
        self._transaction.settle()
        check(function(self._transaction.handle, class_id.value, ctypes.byref(count)))
        self._transaction._wrote_many()
        return count.value

    def _add_names(self) -> None:
        """What the file calls classes and properties is taken like what the program calls them."""
        for model in self._models():
            stored = model.__stored_as__ or model.__name__
            old = self.old_models.get(model.__name__) or self.old_models.get(stored)
            if old is None:
                continue
            self.old_models.setdefault(model.__name__, old)
            self.old_models.setdefault(stored, old)
            for prop in model._objstore_by_name.values():
                names = (prop.name, prop.stored_as or prop.name)
                for name, other in (names, names[::-1]):
                    if name in vars(old) and other not in vars(old):
                        setattr(old, other, vars(old)[name])
            self._tell_names(model, old)

    def _tell_names(self, model: type[Model], old: type[Model]) -> None:
        """A name of the other version raises an error that says what it is called here."""
        known, renamed = properties_of(model), {}
        for prop in known:
            before = next(
                (name for name in (prop.stored_as, *prop.formerly) if name is not None and name in vars(old)), None
            )
            if before is not None:
                renamed[before] = prop.name
                self._signs.put(
                    old, prop.name, f"is what the program calls it: the file has it as {old.__name__}.{before}"
                )
            else:
                self._signs.put(old, prop.name, "is new: the file does not have it")
        for name in [name for name, value in vars(old).items() if isinstance(value, Attribute)]:
            if name in renamed:
                message = f"is what the file calls it: here it is {model.__name__}.{renamed[name]}"
            else:
                message = "was in the file, and the program does not have it: it can be read of the old object"
            self._signs.put(model, name, message)

    def end(self) -> None:
        """The names of the other version are gone from the classes. Called twice where a signal handler raised in
        it."""
        self._signs.remove()
        self.old.close()

    def _model(self, class_name: str) -> type[Model] | None:
        """Among the program's, by whichever name."""
        return next((m for m in self._models() if class_name in (m.__name__, m.__stored_as__)), None)

    def _models(self) -> list[type[Model]]:
        return [model for model in self.store._bindings if issubclass(model, Model)]

    def _old_model(self, class_name: str) -> type[Model]:
        try:
            return self.old_models[class_name]
        except KeyError:
            raise NoSuchClass(f"the file does not have a class {class_name}", class_name=class_name) from None
