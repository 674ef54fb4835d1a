"""Objects from nested values, in one call of the library: everything becomes one array of C values.

    {"name": "Jane", "dogs": [rex, ["Buster", 5]]}
        ─►   map 2 · "name" · "Jane" · "dogs" · list 2 · rex · map 2 · "name" · …

Names represent positions, too: a file may have its properties in another order than the class.
"""

import ctypes
import enum
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ..errors import Embedded, Error
from ..messages import a
from ..native import ffi
from ..native.failures import failure
from ..objects import state
from ..values import elements, kinds
from ..values.c_values import Values, give_back, take
from ..values.kinds import INT, LINK, LIST, MAP, STRING, is_loose
from . import default_values, descriptions, graphs, references
from .outcomes import CREATED

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding
    from ..values.kinds import Described
    from ..writing.transaction import Transaction
    from . import copying


_create_from = ffi.bind("objstore_create_from")
_upsert_from_by = ffi.bind("objstore_upsert_from_by")
_set_from = ffi.bind("objstore_set_from")


class Part:
    """What is in the array besides values of properties; a kinds.Described."""

    name = model_name = ""
    nullable = True
    enum: "type[enum.Enum] | None" = None

    def __init__(self, kind: int, what: str) -> None:
        self.kind = kind
        self.path = self.type_name = what


NAME, INDEX = Part(STRING, "a name"), Part(INT, "an index")
_KEY = Part(kinds.MIXED, "a reference")
_OPENING = {LIST: Part(LIST, "a list"), MAP: Part(MAP, "a dict")}


class _Node:
    """An object that is described inside another one: where, by which object, and what is in it."""

    __slots__ = ("prop", "step", "obj", "nodes")

    def __init__(self, prop: "Property", step: Any, obj: Any) -> None:
        self.prop = prop
        self.step = step  # an index or a key; None: the property leads there
        self.obj = obj  # an unmanaged embedded object, or None
        self.nodes: list[_Node] = []


class Assembly:
    """One call of the library that creates or changes an object, and what is nested in it. All or nothing."""

    def __init__(
        self,
        transaction: "Transaction",
        policy: int,
        exact: bool = False,
        made: "copying.Made | None" = None,
        known_by: "tuple[int, tuple[Property, ...]] | None" = None,
    ) -> None:
        """`made`: copies that stand in for objects; without, unmanaged ones are added, and become the store's.
        `known_by`: the object is known by that unique index, and not by its primary key."""
        self._known_by = known_by
        self._refers = True  # may a primary key represent its object?
        self._transaction = transaction
        self._store = transaction.store
        self._policy = policy
        self._completing = default_values.Completing(transaction, policy)
        self._exact = exact
        self._made = made
        self._parts: list[Described] = []
        self._values: list[Any] = []
        self._nesting = descriptions.Nesting()
        self._nodes: list[_Node] = []
        self._loose: set[int] = set()  # unmanaged embedded objects, by id()
        self._scope = ExitStack()
        self._began = False
        self._path: list[str] = []  # where in the values; it stays where something fails

    def create(self, binding: "Binding", values: Any) -> tuple[int, int]:
        """An object that values describe: its key, and what became of it."""
        return self._create(binding, lambda: self._describe(binding.model, values))

    def create_of(self, binding: "Binding", pairs: "list[tuple[Property, Any]]") -> tuple[int, int]:
        """The same of properties and their values."""
        return self._create(binding, lambda: self._put_all(pairs))

    def _create(self, binding: "Binding", describe: Any) -> tuple[int, int]:
        transaction = self._transaction
        with self._scope:
            self._placing(describe)
            made, outcome, room = ffi.Object(), ctypes.c_int32(), self._room()
            if self._policy:
                transaction.settle()
            function, known_by = (
                (_create_from, binding.class_id) if self._known_by is None else (_upsert_from_by, self._known_by[0])
            )
            if status := function(
                transaction.handle,
                known_by,
                self._policy,
                0,
                room.address,
                len(self._values),
                ctypes.byref(made),
                ctypes.byref(outcome),
            ):
                raise failure(status)
            if outcome.value != CREATED:
                transaction._wrote_many()
            else:
                transaction._writes(binding.class_id, made.key)
            if self._loose:
                self._adopt(binding, made.key, self._nodes)
        return made.key, outcome.value

    def set(self, binding: "Binding", key: int, prop: "Property", value: Any, refers: bool = False) -> bool:
        """Gives a property of an object what a value is or describes; was something written? `refers`: also what a
        primary key in it leads to."""
        transaction = self._transaction
        self._refers = refers
        with self._scope:
            self._placing(lambda: self._put_property(prop, value))
            room = self._room()
            transaction.settle()
            s = take()
            s.head.value, s.key.value = binding.head, key
            if status := _set_from(
                transaction.handle,
                s.object,
                binding.ids[prop.index],
                self._policy,
                room.address,
                len(self._values),
                s.flag_address,
            ):
                raise failure(status)
            changed: bool = s.flag.value
            give_back(s)
            transaction._wrote_many()
            if self._loose:
                self._adopt(binding, key, self._nodes)
        return changed

    def _room(self) -> Values:
        room = Values(len(self._values))
        room.fill(self._parts, self._values)
        return room

    def _placing(self, describe: Any) -> None:
        """What fails inside of objects that are described inside each other says where."""
        try:
            describe()
        except Error as error:
            if len(self._path) > 1:
                error.message = f"${''.join(self._path)}: {error.message}"
            raise

    # The array

    def _put(self, part: "Described", value: Any) -> None:
        self._parts.append(part)
        self._values.append(value)

    def _describe(self, model: type, values: Any) -> None:
        """An object that values describe."""
        self._nesting.enter(model, values)
        pairs, binding = descriptions.pairs(model, values, self._exact), self._store._binding(model)
        is_outermost = self._nesting.is_outermost
        if is_outermost or not (references.has_key_alone(model, pairs) and self._completing.finds(binding, pairs)):
            self._completing.complete(binding, pairs, self._known_by if is_outermost else None)
        self._put_all(pairs)
        self._nesting.leave()

    def _put_all(self, pairs: "Iterable[tuple[Property, Any]]") -> None:
        pairs = list(pairs)
        self._put(_OPENING[MAP], len(pairs))
        for prop, value in pairs:
            self._put(NAME, prop.stored_as or prop.name)
            self._path.append(f".{prop.name}")
            if prop.target is None and prop.shape is None:
                self._put_plain(prop, value)
            else:
                self._put_property(prop, value)
            self._path.pop()

    def _put_plain(self, prop: "Property", value: Any) -> None:
        value = kinds.convert(prop, value)
        self._put(prop, kinds.with_objects(value, self._linked) if prop.kind == kinds.MIXED else value)

    def _put_property(self, prop: "Property", value: Any) -> None:
        shape = prop.shape
        if shape is None:
            if prop.target is None:
                self._put_plain(prop, value)
            else:
                self._put_target(prop, prop, None, value)
            return
        content: Any = prop.convert(value) if prop.target is None else elements.given(prop, value)
        if shape.element.kind == kinds.MIXED:
            content = self._with_linked(content)
        if shape.key is None:
            self._put(_OPENING[LIST], len(content))
            for at, element in enumerate(content):
                if prop.target is None:
                    self._put(shape.element, element)
                else:
                    self._path.append(f"[{at}]")
                    self._put_target(prop, shape.element, at, element)
                    self._path.pop()
            return
        self._put(_OPENING[MAP], len(content))
        for key, element in content.items():
            key = shape.key.convert(key)
            self._put(NAME, str(key.value if shape.key.enum is not None else key))
            if prop.target is None:
                self._put(shape.element, element)
            else:
                self._path.append(f".{key}")
                self._put_target(prop, shape.element, key, element)
                self._path.pop()

    def _with_linked(self, content: Any) -> Any:
        """A collection of any values, with the objects of this store that are meant; of a set, as a list."""
        if isinstance(content, dict):
            return {key: kinds.with_objects(value, self._linked) for key, value in content.items()}
        return [kinds.with_objects(value, self._linked) for value in content]

    def _put_target(self, prop: "Property", part: "Property | elements.Element", step: Any, value: Any) -> None:
        """An object that a property leads to, or None."""
        target: type = self._store._leading(prop.target).model
        embeds = kinds.is_embedded(target)
        if descriptions.is_copy_of_old(prop, value):
            pass  # it describes a new object
        elif value is None or isinstance(value, state.Slots):
            value = part.convert(value)
            if value is None or (embeds and not is_loose(value) and self._made is None):
                self._put(part, value)  # the library knows whether it is there already
                return
            if not embeds:
                self._put(part, self._linked(value))
                return
            if self._made is None:
                if id(value) in self._loose:
                    raise Embedded(
                        f"{prop.path}: {a(target.__name__)} is there twice, and an embedded object has one place",
                        class_name=prop.model_name,
                        property_name=prop.name,
                    )
                self._loose.add(id(value))
        elif self._refers and references.is_tagged(value):
            self._put_tagged(part, target, value)
            return
        elif not descriptions.is_possible(value):
            key = references.key_of(target, value) if self._refers else None
            if key is None:
                raise descriptions.wrong(part, target, value)
            self._put(*key)
            return
        node = _Node(prop, step, value if id(value) in self._loose else None)
        outer, self._nodes = self._nodes, node.nodes
        self._describe(target, value)
        self._nodes = outer
        outer.append(node)

    def _put_tagged(self, part: "Described", target: type, reference: dict[str, Any]) -> None:
        """{"$ref": class, "$id": key}: which of them there are the library knows."""
        name, key = reference["$ref"], reference["$id"]
        parts = key if type(key) is dict else {"$id": key}
        if type(name) is not str or not all(type(n) is str and references.is_part(value) for n, value in parts.items()):
            raise descriptions.wrong(part, target, reference)
        self._put(_OPENING[MAP], 2)
        self._put(NAME, "$ref")
        self._put(_KEY, name)
        self._put(NAME, "$id")
        if parts is key:
            self._put(_OPENING[MAP], len(parts))
        for name, value in parts.items():
            if parts is key:
                self._put(NAME, name)
            self._put(_KEY, value.value if isinstance(value, enum.Enum) else value)

    def _linked(self, obj: Any) -> Any:
        """The object of this store that a link to an object leads to."""
        if self._made is not None:
            return obj if self._store._has(obj) else self._made.find(obj)
        if is_loose(obj):
            graphs.in_order(self._transaction, obj, 0)  # where they lead in a circle, they are no values
            self._begin()
            self._transaction.add_nested(obj, self._policy)
        return obj

    def _begin(self) -> None:
        """The store is about to be changed before the call that all is for."""
        if not self._began:
            self._began = True
            self._scope.enter_context(self._transaction.savepoint())

    # Afterwards

    def _adopt(self, binding: "Binding", key: int, nodes: list[_Node]) -> None:
        """Unmanaged embedded objects become those that were made of them."""
        for node in nodes:
            target = self._store._leading(node.prop.target)
            if node.prop.kind == LINK:
                inner = self._transaction.get(binding, key, node.prop.index)
            elif node.prop.kind == kinds.SET:
                continue  # unknown which is which
            else:
                owner = state.make(binding.model, self._store._unread(binding), key)
                inner = getattr(owner, node.prop.name)[node.step]._o_key
            if node.obj is not None:
                self._transaction.adopt(target, [node.obj], [inner])
            self._adopt(target, inner, node.nodes)
