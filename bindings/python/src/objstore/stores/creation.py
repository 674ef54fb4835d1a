"""Creating objects in an open store: from values, from other objects, from JSON."""

import os
from collections.abc import Callable, Iterable
from typing import IO, Any, TypeVar

from ..building.outcomes import Counts, Policy, policy_number
from ..json import json_creation
from ..models.expressions import Operand
from ..models.model import Model
from ..models.properties import Property
from ..objects import state
from ..observing.tokens import properties
from ..writing import from_values
from .lookup import Source

M = TypeVar("M", bound=Model)


class Factory(Source):
    """create(), create_all(), copy(), and the same from JSON."""

    def create(
        self, model: type[M], values: Any, update: Policy = "error", *, exact: bool = False, by: object = None
    ) -> M:
        """Creates an object from values, and returns it:

            store.create(
                Person, {"id": 7, "name": "Jane", "dogs": [rex, {"name": "Ella"}], "address": {"city": "Rome"}}
            )
            store.create(Person, [7, "Jane", [rex, ["Ella", 5]]])

        The values are named by a dictionary, or a named tuple; or a sequence in the order of the properties, as many as
        there are (with `exact`: all); or anything that has such attributes, such as an object of another class. What is
        left out has its default. Where a link leads, in a list of links, and for embedded objects, there are objects,
        which are linked, and added if they are unmanaged; or values, of which objects are created.

        With `update`, an existing object keeps what is not given, a list that is given replaces what was there, and
        objects nested in the values are updated, too, if they have a primary key. An object of the class itself is
        copied, see copy(). A link may also be the primary key of an object, or a reference of to_dict(), also of one
        that comes later in the values. NoSuchObject: it does not come.

        `by` is another unique property, or those of a unique index, that an existing object is known by instead of its
        primary key: `store.create(Person, {"email": "j@x.org", "name": "Jane"}, "modified", by="email")`, or
        `by=Person.email`. NoSuchIndex; KeyImmutable: a primary key is given, and that object has another one.

        All or nothing. Errors say where in the values. InvalidArgument: they lead in a circle."""
        binding, policy = self._binding(model), policy_number(update)
        made: M
        if by is None:
            made = from_values.create(self._writing(), binding, values, policy, exact)
        else:
            several: Any = [by] if isinstance(by, (str, Operand)) else by
            parts = self._unique(binding, [prop.name for prop in properties(binding, several, "by")])
            view = self._reader()
            known_by = binding.index_id(view.handle, parts), parts
            made = from_values.create_by(self._writing(), binding, values, policy, exact, known_by)
        return made

    def create_all(self, model: type[Model], rows: "Iterable[Any]", update: Policy = "error") -> Counts:
        """Creates many objects from values as create() takes them.

        All are created or none: code that catches an error can continue with the write. Fastest where rows that follow
        each other give the same properties, and nothing is nested in them. A primary key in place of an object may be
        that of a later row: `[{"id": 1, "friend": 2}, {"id": 2, "friend": 1}]`; such links are written when all rows
        are there. `position` of the error is where the row is in `rows`."""
        return from_values.create_all(self._writing(), self._binding(model), rows, policy_number(update))

    def create_from_json(
        self,
        model: type[M],
        data: "str | bytes | IO[Any] | os.PathLike[str] | dict[str, Any] | list[Any]",
        update: Policy = "error",
        *,
        relaxed: bool | None = None,
        extended: bool = False,
        convert: "Callable[[Property, Any], Any] | None" = None,
    ) -> M:
        """Creates an object from JSON: an object of names and values, or an array of values in the order of the
        properties; nested objects and arrays are links, embedded objects and collections. Names that a model does not
        have are ignored. With `update`, an existing object keeps what is not given. Returns the object.

        Types must fit: a fraction is no int, a string no datetime, bytes, ObjectId or UUID, but for `extended`
        ({"$date": …} and the like) or `convert(property, value)`, which returns what the property takes, or None.
        `relaxed` (of a str unless said otherwise): keys without quotes, strings in single quotes, a comma behind the
        last element, comments. Errors name class and property, and say line, column and path; `position` is the byte.
        All or nothing."""
        binding = self._binding(model)
        flags = json_creation.flags(data, relaxed, extended)
        key = json_creation.create(self._writing(), binding, data, policy_number(update), flags, convert)
        made: M = state.make(model, self._unread(binding), key)
        return made

    def create_all_from_json(
        self,
        model: type[Model],
        data: "str | bytes | IO[Any] | os.PathLike[str] | list[Any]",
        update: Policy = "error",
        *,
        relaxed: bool | None = None,
        extended: bool = False,
        convert: "Callable[[Property, Any], Any] | None" = None,
    ) -> int:
        """Creates an object for each element of a JSON array, all or none; how many there are. A file, or a path, is
        read as it goes: it may be larger than memory. The rest is as of create_from_json()."""
        flags = json_creation.flags(data, relaxed, extended)
        return json_creation.create_all(
            self._writing(), self._binding(model), data, policy_number(update), flags, convert
        )

    def copy(self, obj: M, update: Policy = "error") -> M:
        """Copies an object into this store, and returns the copy. `obj` may belong to another store, be frozen, or
        unmanaged; it stays as it is.

        The objects that it leads to are copied with it, each once. Those of this store are not: copies link to them.
        With `update`, a copy whose primary key is there already updates that object; an object of this store is
        returned as it is. DuplicateKey: a primary key is taken; or, without `update`, objects with one are led to
        twice. InvalidArgument: they lead in a circle. All or nothing."""
        return self.create(type(obj), obj, update)
