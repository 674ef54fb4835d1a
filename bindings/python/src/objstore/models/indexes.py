"""Indexes of several properties."""

from typing import TYPE_CHECKING, Any

from ..arguments import switch
from ..errors import InvalidArgument, SchemaError
from ..values import kinds

if TYPE_CHECKING:
    from .properties import Property


UNIQUE, PRIMARY_KEY = 0x1, 0x2  # OBJSTORE_INDEX_…


class Index:
    """An ordered index of 2 to 8 properties, in the `__indexes__` of a model:

        class Person(objstore.Model):
            last: str
            first: str = ""
            born: int | None = None
            __indexes__ = [Index("last", "first", unique=True), Index("born", "last")]

    It orders by the first property, where that is equal by the second, and so on: None first, then values as
    comparisons have them, NaN last. `unique`: no two objects have the same values in all of them; where one of the
    values is None they are never the same. `primary_key`: they are the primary key together, which never changes: each
    is a bool, int, str, datetime, ObjectId or UUID, and never None. The index of one property is field(indexed=True) or
    field(unique=True).
    """

    __slots__ = ("primary_key", "properties", "unique")

    def __init__(self, *properties: str, unique: bool = False, primary_key: bool = False) -> None:
        if wrong := [p for p in properties if not isinstance(p, str)]:
            raise InvalidArgument(f"an index is of properties by name, not of {wrong[0]!r}")
        self.properties = properties
        self.primary_key = switch("primary_key", primary_key)
        self.unique = switch("unique", unique) or self.primary_key

    @property
    def _flags(self) -> int:
        return self.unique * UNIQUE | self.primary_key * PRIMARY_KEY

    def __repr__(self) -> str:
        kind = ", primary_key=True" if self.primary_key else ", unique=True" if self.unique else ""
        return f"Index({', '.join(map(repr, self.properties))}{kind})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and (self.properties, self._flags) == (other.properties, other._flags)

    def __hash__(self) -> int:
        return hash((self.properties, self._flags))


def check_indexes(cls: Any) -> None:
    """What the library would refuse when a store is opened."""
    names = [p.name for p in cls._objstore_properties]
    known: set[tuple[str, ...]] = set()
    given: Any = getattr(cls, "__indexes__")

    def refuse(index: object, message: str) -> SchemaError:
        return SchemaError(f"{cls.__name__}.__indexes__: {index!r}: {message}", class_name=cls.__name__)

    if isinstance(given, (str, Index)) or not hasattr(given, "__iter__"):
        raise refuse(given, "a list of Index(…) is wanted")
    for name, value in vars(cls).items():
        if isinstance(value, Index):
            raise refuse(value, f"it stands in {name}, where nobody looks: __indexes__ = [Index(…)] is wanted")
    for index in given:
        if not isinstance(index, Index):
            raise refuse(index, "an Index(…) is wanted")
        if unknown := [name for name in index.properties if name not in names]:
            raise refuse(index, f"there is no property {unknown[0]!r}; there are {', '.join(names)}")
        if not 2 <= len(index.properties) <= 8:
            raise refuse(index, "it is of 2 to 8 properties; that of one is field(indexed=True) or field(unique=True)")
        if len(set(index.properties)) < len(index.properties):
            raise refuse(index, "a property is given twice")
        if index.properties in known:
            raise refuse(index, "there are two of these properties")
        if index.primary_key:
            cls._objstore_key = _key(cls, index, refuse)
        known.add(index.properties)


def _key(cls: Any, index: Index, refuse: Any) -> "tuple[Property, ...]":
    """The properties that are the primary key together."""
    if cls._objstore_key:
        raise refuse(index, f"the class has a primary key already: {', '.join(p.name for p in cls._objstore_key)}")
    if cls._objstore_embedded:
        raise refuse(index, "an embedded object has no primary key: it is found through its parent")
    parts = tuple(cls._objstore_by_name[name] for name in index.properties)
    for part in parts:
        if part.kind not in kinds.KEY_PARTS or part.nullable or part.counter:
            message = (
                f"{part.name}: part of a primary key is a bool, int, str, datetime, ObjectId or UUID, and never None"
            )
            raise refuse(index, message)
    return parts
