"""Paths bound to a schema: every part becomes a step, and the end has a type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Union

from . import nodes
from .data import Database
from .errors import QueryError
from .schema import Class, Property
from .syntax import parse_path
from .values import Number, Value

Argument = Union[Value, list[Value], nodes.Shape]


@dataclass(frozen=True)
class Scope:
    """What names mean: the class at hand, the variables of subqueries, the arguments."""

    database: Database
    class_name: str
    variables: dict[str, str]
    arguments: list[Argument]

    def argument(self, index: int, position: int) -> Argument:
        """The argument `$index`."""
        if index >= len(self.arguments):
            raise QueryError(position, f"an argument ${index}", f"{len(self.arguments)} arguments")
        return self.arguments[index]

    def find_class(self, name: str, position: int) -> Class:
        """The class of that name."""
        found = self.database.schema.find_class(name)
        if found is None:
            raise QueryError(position, "a class", repr(name))
        return found

    def find_property(self, class_name: str, name: str, position: int) -> Property:
        """The property of that name."""
        found = self.database.schema.classes[class_name].properties.get(name)
        if found is None:
            raise QueryError(position, f"a property of '{class_name}'", repr(name))
        return found


@dataclass(frozen=True)
class Read:
    """Read a property of an object."""

    described: Property


@dataclass(frozen=True)
class Incoming:
    """The objects that link here through a property."""

    class_name: str
    property_name: str


@dataclass(frozen=True)
class Flatten:
    """From collections to their elements; with `every` a mixed value must hold a collection."""

    every: bool = False


@dataclass(frozen=True)
class At:
    """The element at an index; -1 is the last."""

    index: int


@dataclass(frozen=True)
class AtKey:
    """The value at a key of a map."""

    key: str


@dataclass(frozen=True)
class Member:
    """A member of a mixed value: a map's value by key, a linked object's property."""

    name: str


@dataclass(frozen=True)
class KeysOf:
    """The keys of a map."""


@dataclass(frozen=True)
class ValuesOf:
    """The values of a map."""


@dataclass(frozen=True)
class LengthOf:
    """The length of strings and binaries in a collection."""


PathStep = Union[Read, Incoming, Flatten, At, AtKey, Member, KeysOf, ValuesOf, LengthOf]


@dataclass(frozen=True)
class End:
    """Where a path has come to: the kind of value, the collection around it, whether one lies behind."""

    kind: str
    target: str = ""
    collection: str = ""
    many: bool = False
    label: str = ""
    index: str = ""


@dataclass(frozen=True)
class BoundPath:
    """A path that can be walked: from the object at hand (variable empty) or a subquery's variable."""

    variable: str
    steps: tuple[PathStep, ...]
    end: End


class Walker:
    """Binds the parts of a path one after the other."""

    def __init__(self, scope: Scope, end: End) -> None:
        self.scope = scope
        self.end = end
        self.steps: list[PathStep] = []
        self.aliases: list[tuple[str, str]] = []

    def add(self, part: nodes.Part) -> None:
        """Bind one more part."""
        if isinstance(part, nodes.Name):
            self.name(part)
        elif isinstance(part, nodes.Backlinks):
            self.backlinks(part)
        elif isinstance(part, nodes.Index):
            self.index(part.index, part.position)
        elif isinstance(part, nodes.Key):
            self.key(part.key, part.position)
        elif isinstance(part, nodes.Each):
            self.each(part.position)
        elif isinstance(part, nodes.KeyPathArgument):
            self.key_path(part)
        elif isinstance(part, nodes.IndexArgument):
            self.index_argument(part)
        else:
            self.keys_or_values(part)

    def key_path(self, part: nodes.KeyPathArgument) -> None:
        """A key path from the arguments."""
        given = self.scope.argument(part.index, part.position)
        if not isinstance(given, str):
            raise QueryError(part.position, "a key path as argument", "another value")
        for inner in parse_path(given).parts:
            self.add(inner)

    def index_argument(self, part: nodes.IndexArgument) -> None:
        """An index or a key from the arguments."""
        given = self.scope.argument(part.index, part.position)
        if isinstance(given, str):
            self.key(given, part.position)
        elif isinstance(given, Number) and given.is_integer():
            self.index(int(given.text), part.position)
        elif isinstance(given, int) and not isinstance(given, bool):
            self.index(given, part.position)
        else:
            raise QueryError(part.position, "an index or a key as argument", "another value")

    def flatten(self) -> None:
        """Go from a collection to its elements."""
        if self.end.collection:
            self.steps.append(Flatten())
            self.end = replace(self.end, collection="", many=True)

    def name(self, part: nodes.Name) -> None:
        """A property, a map's key, or the length of a collection's strings."""
        end = self.end
        if end.collection == "dictionary":
            self.key(part.text, part.position)
        elif end.kind == "link":
            self.member(part)
        elif end.kind == "mixed" and not (part.text == "length" and end.collection):
            self.flatten()
            self.steps.append(Member(part.text))
            self.end = replace(self.end, label=part.text)
        elif part.text == "length" and end.collection and end.kind in ("string", "binary", "mixed"):
            self.flatten()
            self.steps.append(LengthOf())
            self.end = replace(self.end, kind="int", label="length")
        else:
            raise QueryError(part.position, f"no member of '{end.label}', which is {end.kind}", repr(part.text))

    def member(self, part: nodes.Name) -> None:
        """A property of the class at hand, perhaps under another name."""
        class_name = self.end.target
        other = self.scope.database.schema.aliases.get((class_name, part.text))
        if other is not None:
            if (class_name, part.text) in self.aliases:
                raise QueryError(part.position, "another name that ends at a property", f"a loop at {part.text!r}")
            self.aliases.append((class_name, part.text))
            for inner in parse_path(other).parts:
                self.add(inner)
            self.aliases.pop()
            return
        described = self.scope.find_property(class_name, part.text, part.position)
        self.flatten()
        if described.kind == "backlinks":
            self.steps.append(Incoming(described.target, described.origin))
            self.end = End("link", described.target, "backlinks", self.end.many, part.text)
            return
        self.steps.append(Read(described))
        self.end = End(
            described.kind, described.target, described.collection, self.end.many, part.text, described.index
        )

    def backlinks(self, part: nodes.Backlinks) -> None:
        """The objects that link here: the property must link to the class at hand."""
        if self.end.kind != "link" or self.end.collection == "dictionary":
            raise QueryError(part.position, "an object before @links", self.end.kind)
        self.flatten()
        if not part.class_name:
            self.steps.append(Incoming("", ""))
            self.end = End("link", "", "backlinks", self.end.many, "@links")
            return
        origin = self.scope.find_class(part.class_name, part.position)
        name = self.scope.database.schema.aliases.get((origin.name, part.property_name), part.property_name)
        described = origin.properties.get(name)
        if described is None or described.kind != "link" or described.target != self.end.target:
            raise QueryError(
                part.position,
                f"a property that links to '{self.end.target}'",
                f"'{part.class_name}.{part.property_name}'",
            )
        self.steps.append(Incoming(origin.name, name))
        self.end = End("link", origin.name, "backlinks", self.end.many, part.property_name)

    def index(self, index: int, position: int) -> None:
        """An element of a list."""
        if self.end.collection == "list" or (self.end.kind == "mixed" and not self.end.collection):
            self.steps.append(At(index))
            self.end = replace(self.end, collection="")
            return
        raise QueryError(position, "a list before an index", self.end.collection or self.end.kind)

    def key(self, key: str, position: int) -> None:
        """A value of a map."""
        if self.end.collection == "dictionary" or (self.end.kind == "mixed" and not self.end.collection):
            self.steps.append(AtKey(key))
            self.end = replace(self.end, collection="", label=key)
            return
        raise QueryError(position, "a map before a key", self.end.collection or self.end.kind)

    def each(self, position: int) -> None:
        """All elements of a collection."""
        if self.end.collection:
            self.flatten()
        elif self.end.kind == "mixed":
            self.steps.append(Flatten(every=True))
            self.end = replace(self.end, many=True)
        else:
            raise QueryError(position, "a collection before [*]", self.end.kind)

    def keys_or_values(self, part: nodes.Keys | nodes.Values) -> None:
        """The keys or values of a map."""
        if self.end.collection != "dictionary" and (self.end.kind != "mixed" or self.end.collection):
            raise QueryError(part.position, "a map before @keys and @values", self.end.collection or self.end.kind)
        if isinstance(part, nodes.Keys):
            self.steps.append(KeysOf())
            self.end = End("string", "", "list", self.end.many, "@keys")
        else:
            self.steps.append(ValuesOf())
            self.end = replace(self.end, collection="list", label="@values")


def bind_path(scope: Scope, path: nodes.Path) -> BoundPath:
    """A path's parts, bound; its quantifier and operation are left to the expression around it."""
    variable, class_name, parts = "", scope.class_name, path.parts
    if scope.variables:
        first = parts[0]
        if not isinstance(first, nodes.Name) or first.text not in scope.variables:
            raise QueryError(path.position, "a path that begins with " + " or ".join(scope.variables), "another path")
        variable, class_name, parts = first.text, scope.variables[first.text], parts[1:]
    walker = Walker(scope, End("link", class_name))
    for part in parts:
        walker.add(part)
    return BoundPath(variable, tuple(walker.steps), walker.end)
