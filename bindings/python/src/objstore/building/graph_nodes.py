"""One call of the library that makes objects which lead to each other, and what became of them.

    a ─► b ─► a        node 0: ["a", ─► node 1]    node 1: ["b", ─► node 0]

Which is made first, and which link of a circle waits, the library knows.
"""

from array import array
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..errors import Error
from ..native import ffi
from ..native.failures import failure
from ..values import columns
from ..values.c_values import Values
from .outcomes import CREATED

if TYPE_CHECKING:
    from ..values.kinds import Described
    from ..writing.transaction import Transaction


_create_graph = ffi.bind("objstore_create_graph")
ELEMENT, DESCRIBED = 2, 4  # OBJSTORE_NODE_…


_NODES = SimpleNamespace(head=0x65646F6E << 32)  # the class of objstore_node_link


class NodeLink:
    """Stands for what a node becomes, wherever an object may be that a link leads to: with what converting looks at."""

    __slots__ = ("_o_key",)
    _objstore_properties = ()
    _o_block = SimpleNamespace(store=SimpleNamespace(_binding=lambda _: _NODES))

    def __init__(self, number: int) -> None:
        self._o_key = number


NOT_GIVEN = NodeLink(-1)


class Nodes:
    """The nodes of one call, and their values."""

    def __init__(self) -> None:
        self.parts: list[Described] = []
        self.values: list[Any] = []
        self.owners: list[Any] = []  # the unmanaged objects that become the store's; of other nodes None
        self.roots: list[int | None] = []  # which of what the caller gave led to a node first
        self.begins: list[tuple[int, int | None]] = []  # where the values of each of these begin
        self.embedded: list[tuple[int, Any]] = []  # unmanaged embedded objects, and where their values begin
        self.are_new = True  # none of them is about what exists
        self.objects = self.outcomes = array("q")  # of the nodes: class and key, and what became of it
        self._words = array("Q")

    def __len__(self) -> int:
        return len(self.roots)

    def add(self, root: int | None, flags: int, class_id: int = 0, index_id: int = 0, obj: Any = None) -> int:
        """An object of a class, or one that a unique index knows; its number. `obj`: is unmanaged, and becomes it."""
        self._words.extend((class_id | index_id << 32, flags << 32, 0, 0))
        return self._added(root, obj)

    def add_property(self, root: int | None, flags: int, head: int, key: int, property_id: int, obj: Any = None) -> int:
        """What a property of an object gets, or, as an ELEMENT, an embedded object in it."""
        self.are_new = False
        self._words.extend((0, property_id | flags << 32, head, key))
        return self._added(root, obj)

    def _added(self, root: int | None, obj: Any) -> int:
        self.owners.append(obj)
        self.roots.append(root)
        return len(self.roots) - 1

    def make(self, transaction: "Transaction", policy: int) -> None:
        """All of them, or none."""
        count, size = len(self), len(self.values)
        room = Values(max(size, 1))
        try:
            room.fill(self.parts, self.values)
        except Error as error:
            refused = max(at for at in range(size) if room.words[5 * at])  # the kind of each is written first
            root = next((root for begin, root in reversed(self.begins) if begin <= refused), None)
            error.position = error.position if root is None else root
            raise
        self.objects, self.outcomes = columns.words(2 * count), array("i", bytes(4 * count))
        embedded = columns.words(2 * size) if self.embedded else None
        if policy or not self.are_new:
            transaction.settle()
        if status := _create_graph(
            transaction.handle,
            policy,
            0,
            columns.address_of(self._words),
            count,
            room.address,
            size,
            columns.address_of(self.objects),
            columns.address_of(self.outcomes),
            None if embedded is None else columns.address_of(embedded),
        ):
            problem = failure(status)
            if problem.position is not None:
                problem.position = self.roots[problem.position]
            raise problem
        if self.are_new and (not policy or set(self.outcomes) <= {CREATED}):
            transaction._evaluations.clear()  # what was read before is as it was
        else:
            transaction._wrote_many()
        made = zip(self.owners, self.objects[1::2])
        inner = [(obj, embedded[2 * at + 1]) for at, obj in self.embedded if embedded[2 * at]] if embedded else []
        self._adopt(transaction, [(obj, key) for obj, key in made if obj is not None] + inner)

    def _adopt(self, transaction: "Transaction", made: list[tuple[Any, int]]) -> None:
        """Unmanaged objects become those that were made of them."""
        by_model: dict[type, tuple[list[Any], list[int]]] = {}
        for obj, key in made:
            group, keys = by_model.setdefault(type(obj), ([], []))
            group.append(obj)
            keys.append(key)
        for model, (group, keys) in by_model.items():
            transaction.adopt(transaction.store._binding(model), group, keys)
