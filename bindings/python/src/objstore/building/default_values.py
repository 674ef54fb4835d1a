"""What new objects get that values describe, where they leave something out and the model has a function for it.

The library keeps defaults that are values. What `field(default_factory=…)` says is Python's: it is called before the
library is, once for each object that is new. So of an upsert one must know first whether its object is there.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..values.kinds import MISSING

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding
    from ..writing.transaction import Transaction


def left_out(binding: "Binding", given: "Iterable[Property]") -> "list[Property]":
    """The properties with a factory that are not among those given."""
    if not binding.factories:
        return []
    there = {p.index for p in given}
    return [p for p in binding.factories if p.index not in there]


class Completing:
    """Objects that one call describes, each completed once."""

    def __init__(self, transaction: "Transaction", policy: int) -> None:
        self._transaction = transaction
        self._policy = policy
        # What new objects have of the properties with factories, by class and key: the library may come to the second
        # description of an object before the first one.
        self._described: dict[tuple[int, Any], dict[int, Any]] = {}

    def complete(
        self,
        binding: "Binding",
        pairs: "list[tuple[Property, Any]]",
        known_by: "tuple[int, tuple[Property, ...]] | None" = None,
    ) -> None:
        """Adds what factories make. `known_by`: a unique index that says which object is meant, instead of the primary
        key."""
        if not binding.factories:
            return
        missing = left_out(binding, (p for p, _ in pairs))
        parts = binding.key if known_by is None else known_by[1]
        for prop in (p for p in missing if any(p is part for part in parts)):
            pairs.append((prop, prop.made()))
        missing = [p for p in missing if not any(p is part for part in parts)]
        key = self._key(pairs, parts) if self._policy and parts else None
        if key is None:
            pairs += [(p, p.made()) for p in missing]
            return
        name = binding.class_id, (None if known_by is None else known_by[0], *key)
        described = self._described.get(name)
        if described is None and self._finds(binding, parts, key, known_by):
            return
        if described is None:
            made = [(p, p.made()) for p in missing]
            self._described[name] = {p.index: value for p, value in pairs + made}
        else:
            made = [(p, described[p.index]) for p in missing]
        pairs += made

    def finds(self, binding: "Binding", pairs: "list[tuple[Property, Any]]") -> bool:
        """Is there an object with this primary key?"""
        key = self._key(pairs, binding.key)
        return key is not None and self._finds(binding, binding.key, key, None)

    def _key(self, pairs: "list[tuple[Property, Any]]", parts: "tuple[Property, ...]") -> list[Any] | None:
        """What an existing object would be found by; None: there is none, or the library knows an error."""
        given = {p.index: value for p, value in pairs}
        key = []
        for part in parts:
            value = given.get(part.index, part.default)
            if value is MISSING:
                if part.generated or not part.nullable:
                    return None
                value = None
            key.append(part.convert(value))
        return key

    def _finds(
        self,
        binding: "Binding",
        parts: "tuple[Property, ...]",
        key: list[Any],
        known_by: "tuple[int, tuple[Property, ...]] | None",
    ) -> bool:
        view = self._transaction
        if known_by is not None:
            return view.find_by(known_by[0], parts, key) is not None
        if len(parts) == 1:
            return view.find(binding, key[0]) is not None
        return view.find_by(binding.index_id(view.handle, parts), parts, key) is not None
