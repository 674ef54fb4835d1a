"""Objects from nested values, or of other objects, in one call of the library: all becomes one array of C values.

    {"name": "Jane", "dogs": [rex, ["Buster", 5]]}
        ─►   map 2 · "name" · "Jane" · "dogs" · list 2 · rex · map 2 · "name" · …

Names represent positions, too: a file may have its properties in another order than the class. An object that is not in
the store is a node of its own, to which links lead (graph_nodes.py).
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from ..errors import DuplicateKey, Embedded, Error, about
from ..messages import a
from ..objects import state
from ..objects.state import name_of
from ..values import elements, kinds
from ..values.kinds import INT, LINK, LIST, MAP, STRING, is_loose
from . import default_values, descriptions, references
from .graph_nodes import DESCRIBED, ELEMENT, NOT_GIVEN, NodeLink, Nodes
from .outcomes import UNCHANGED

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding
    from ..values.kinds import Described
    from ..writing.transaction import Transaction


class Part:
    """What is in the array besides values of properties; a kinds.Described."""

    name = model_name = ""
    nullable = True
    enum: Any = None

    def __init__(self, kind: int, what: str) -> None:
        self.kind = kind
        self.path = self.type_name = what


NAME, INDEX = Part(STRING, "a name"), Part(INT, "an index")
_KEY, _NODE = Part(kinds.MIXED, "a reference"), Part(LINK, "a node")
_OPENING = {LIST: Part(LIST, "a list"), MAP: Part(MAP, "a dict")}


class Assembly:
    """One call of the library that creates or changes objects, with what is nested in them and what they lead to: all
    or nothing. Each method that says what is to be made returns the number of its node; make() makes it."""

    def __init__(self, transaction: "Transaction", policy: int, exact: bool = False, circles: bool = False) -> None:
        """`circles`: unmanaged objects may lead to each other in circles."""
        self.nodes = Nodes()
        self._refers = True  # may a primary key represent its object?
        self._transaction = transaction
        self._store = transaction.store
        self._policy = policy
        self._completing = default_values.Completing(transaction, policy)
        self._exact = exact
        self._nesting = descriptions.Nesting()
        self._root: int | None = None
        self._current = 0  # the node that is being described
        self._due: deque[tuple[int, Any]] = deque()  # nodes that were met, and their objects
        self._added: dict[int, int] = {}  # nodes of unmanaged objects, by id()
        self._copied: dict[Any, int] | None = None  # of those that are copied; None: unmanaged ones are added
        self._again: Any = None  # one that was met twice, though a second copy would have its key
        self._leads: dict[int, list[int]] | None = None if circles else {}  # which node to which
        self._models: dict[int, type] = {}  # of those nodes
        self._loose: set[int] = set()  # unmanaged embedded objects, by id()
        self._path: list[str] = []  # where in the values; it stays where something fails

    def add(self, binding: "Binding", obj: Any, root: int | None = None) -> int:
        """An unmanaged object, which becomes the store's."""
        number = self._added.get(id(obj))
        if number is None:
            number = self._added[id(obj)] = self.nodes.add(root, 0, binding.class_id, obj=obj)
            self._describes(root, number, lambda: self._put_unmanaged(binding, obj))
        return number

    def create(
        self,
        binding: "Binding",
        values: Any,
        root: int | None = None,
        known_by: "tuple[int, tuple[Property, ...]] | None" = None,
    ) -> int:
        """An object that values describe. `known_by`: it is known by that unique index, and not by its primary key."""
        ids = (binding.class_id, 0) if known_by is None else (0, known_by[0])
        number = self.nodes.add(root, DESCRIBED, *ids)
        self._describes(root, number, lambda: self._describe(binding.model, values, known_by))
        return number

    def copy(self, binding: "Binding", obj: Any, root: int | None = None) -> int:
        """An object of the class with the values of `obj`, which may belong to another store, to none, or to another
        class, and copies of the objects that it leads to, as far as they are not in this store."""
        number = self.nodes.add(root, DESCRIBED, binding.class_id)
        self._copied = {name_of(obj): number}
        self._describes(root, number, lambda: self._describe(binding.model, obj))
        self._copied = None
        return number

    def give(self, binding: "Binding", key: int, prop: "Property", value: Any, root: int | None = None) -> int:
        """What a value is or describes, to a property of an object."""
        number = self.nodes.add_property(root, DESCRIBED, binding.head, key, binding.ids[prop.index])
        self._describes(root, number, lambda: self._put_property(prop, value))
        return number

    def embed(self, c: Any, element: "Described", part: "Described", place: Any, obj: Any) -> None:
        """An unmanaged object, which becomes the one at a place in a collection, a C value."""
        self._embeds(element, obj)
        head = c.owner.class_id | c.owner.store_tag << 32
        number = self.nodes.add_property(None, ELEMENT, head, c.owner.key, c.property_id, obj)
        self._put(part, place)
        self._describes(None, number, lambda: self._put_unmanaged(self._store._binding(type(obj)), obj))

    def set(self, binding: "Binding", key: int, prop: "Property", value: Any) -> bool:
        """Gives a property of an object what a value is or describes, which objects in it say themselves; was something
        written?"""
        self._refers = False
        number = self.give(binding, key, prop, value)
        return self.make()[number] != UNCHANGED

    def make(self) -> "Sequence[int]":
        """All that was said; what became of each node."""
        if len(self.nodes):
            self.nodes.make(self._transaction, self._policy)
        return self.nodes.outcomes

    def _describes(self, root: int | None, number: int, describe: Callable[[], None]) -> None:
        """Describes a node, and then those that it leads to."""
        self._root, self._current = root, number
        self.nodes.begins.append((len(self.nodes.values), root))
        self._placing(describe)
        while self._due:
            self._current, obj = self._due.popleft()
            self._placing(self._describe_found, obj)
        if self._leads:
            try:
                TopologicalSorter(self._leads).prepare()
            except CycleError as error:
                raise descriptions.cyclic(self._models[error.args[1][0]]) from None
            self._leads.clear()
        if self._again is not None:
            raise _twice(self._again)

    def _describe_found(self, obj: Any) -> None:
        if self._copied is None:
            self._put_unmanaged(self._store._binding(type(obj)), obj)
        else:
            self._describe(type(obj), obj)

    def _placing(self, describe: Callable[..., None], *given: Any) -> None:
        """What fails inside of objects that are described inside each other says where."""
        try:
            describe(*given)
        except Error as error:
            if len(self._path) > 1:
                error.message = f"${''.join(self._path)}: {error.message}"
            raise

    # The array

    def _put(self, part: "Described", value: Any) -> None:
        self.nodes.parts.append(part)
        self.nodes.values.append(value)

    def _put_unmanaged(self, binding: "Binding", obj: Any) -> None:
        """An unmanaged object, whose single values were converted when it got them."""
        given, parts, values = obj._o_values, self.nodes.parts, self.nodes.values
        if not binding.is_ordered:
            return self._put_all(
                [(p, v) for p, v in zip(binding.properties, given) if v is not None or not p.generated]
            )
        parts.append(_OPENING[LIST])
        values.append(len(given))
        at = len(values)
        if binding.is_row:
            parts += binding.properties
            values += given
            for prop in binding.links:
                if given[prop.index] is not None:
                    values[at + prop.index] = self._linked(given[prop.index])
            for prop in binding.generated:
                if given[prop.index] is None:
                    parts[at + prop.index], values[at + prop.index] = _NODE, NOT_GIVEN
            return
        for prop, value in zip(binding.properties, given):
            if prop.generated and value is None:
                self._put(_NODE, NOT_GIVEN)
            elif prop.exact is not None:
                self._put(prop, value)
            else:
                self._path.append(f".{prop.name}")
                self._put_property(prop, value)
                self._path.pop()

    def _describe(self, model: type, values: Any, known_by: "tuple[int, tuple[Property, ...]] | None" = None) -> None:
        """An object that values describe."""
        self._nesting.enter(model, values)
        pairs, binding = descriptions.pairs(model, values, self._exact), self._store._binding(model)
        is_outermost = self._nesting.is_outermost
        if is_outermost or not (references.has_key_alone(model, pairs) and self._completing.finds(binding, pairs)):
            self._completing.complete(binding, pairs, known_by)
        self._put_all(pairs)
        self._nesting.leave()

    def _put_all(self, pairs: "Iterable[tuple[Property, Any]]") -> None:
        pairs = list(pairs)
        self._put(_OPENING[MAP], len(pairs))
        for prop, value in pairs:
            self._put(NAME, prop.stored_as or prop.name)
            self._path.append(f".{prop.name}")
            self._put_property(prop, value)
            self._path.pop()

    def _put_property(self, prop: "Property", value: Any) -> None:
        shape = prop.shape
        if shape is None:
            if prop.target is None:
                value = kinds.convert(prop, value)
                self._put(prop, kinds.with_objects(value, self._linked) if prop.kind == kinds.MIXED else value)
            else:
                self._put_target(prop, prop, value)
            return
        content: Any = prop.convert(value) if prop.target is None else elements.given(prop, value)
        if shape.element.kind == kinds.MIXED:
            content = kinds.with_objects(content if isinstance(content, dict) else list(content), self._linked)
        self._put(_OPENING[LIST if shape.key is None else MAP], len(content))
        for at, element in enumerate(content) if shape.key is None else content.items():
            if shape.key is not None:
                at = shape.key.convert(at)
                self._put(NAME, str(at.value if shape.key.enum is not None else at))
            if prop.target is None:
                self._put(shape.element, element)
                continue
            self._path.append(f"[{at}]" if shape.key is None else f".{at}")
            self._put_target(prop, shape.element, element)
            self._path.pop()

    def _put_target(self, prop: "Property", part: "Property | elements.Element", value: Any) -> None:
        """An object that a property leads to, or None."""
        target: type = self._store._leading(prop.target).model
        embeds = kinds.is_embedded(target)
        if descriptions.is_copy_of_old(prop, value):
            pass  # it describes a new object
        elif value is None or isinstance(value, state.Slots):
            value = part.convert(value)
            if value is None or (embeds and not is_loose(value) and self._copied is None):
                self._put(part, value)  # the library knows whether it is there already
                return
            if not embeds:
                self._put(part, self._linked(value))
                return
            if self._copied is None:
                self._embeds(prop, value)
                self.nodes.embedded.append((len(self.nodes.values), value))
                self._nesting.enter(target, value)
                self._put_unmanaged(self._store._binding(type(value)), value)
                self._nesting.leave()
                return
        elif self._refers and references.is_tagged(value):
            self._put_tagged(part, target, value)
            return
        elif not descriptions.is_possible(value):
            key = references.key_of(target, value) if self._refers else None
            if key is None:
                raise descriptions.wrong(part, target, value)
            self._put(*key)
            return
        self._describe(target, value)

    def _embeds(self, prop: "Described", obj: Any) -> None:
        """An unmanaged object is about to be embedded: once."""
        if id(obj) in self._loose:
            raise about(
                Embedded,
                prop,
                f"{prop.path}: {a(type(obj).__name__)} is there twice, and an embedded object has one place",
            )
        self._loose.add(id(obj))

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
            self._put(_KEY, kinds.raw(value, _KEY))

    def _linked(self, obj: Any) -> Any:
        """What a link to an object leads to in the store: it, or the node that it becomes."""
        if self._copied is None:
            if obj._o_block.store is not None:
                return obj
            known, name, owner = self._added, id(obj), obj
        else:
            if self._store._has(obj):
                return obj
            known, name, owner = self._copied, name_of(obj), None
        number = known.get(name)
        if number is None:
            class_id = self._store._binding(type(obj)).class_id
            number = known[name] = self.nodes.add(self._root, 0, class_id, obj=owner)
            self._due.append((number, obj))
        elif owner is None and not self._policy and obj._o_block.store is not None and type(obj)._objstore_key:
            self._again = obj
        if self._leads is not None:
            self._leads.setdefault(self._current, []).append(number)
            self._models[number] = type(obj)
        return NodeLink(number)


def _twice(obj: Any) -> DuplicateKey:
    key = type(obj)._objstore_key
    shown = ", ".join(f"{part.name} {getattr(obj, part.name)!r}" for part in key)
    return DuplicateKey(
        f"the objects to be copied lead twice to the {type(obj).__name__} with {shown}, and the "
        "second copy would have the key of the first; update='modified' or 'all' makes one of them",
        class_name=key[0].model_name,
        property_name=", ".join(part.name for part in key),
    )
