"""One query asked in many ways, which must all find what the oracle finds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from ctypes import byref, c_uint64
from dataclasses import dataclass, field
from pathlib import Path

from queries.binding import Argument
from queries.data import Database
from queries.schema import Property
from queries.values import Link, Value

from . import mutations, sums
from .asking import Asker, pack_arguments
from .library import Collection, Handle, Library, ids, text
from .loading import Store, everything, nothing
from .packing import Packed

VERSIONS = ("as loaded", "after deletions", "inside a transaction")
STORES = ("without indexes", "with indexes")


@dataclass
class Difference:
    """What was asked where, and what it found instead."""

    where: str
    expected: object
    found: object


@dataclass
class Question:
    """A query with what must be found in each version; `None`: it is not known there."""

    class_name: str
    text: str
    arguments: list[Argument]
    expected: list[list[int] | None]
    # The arguments as values of each store.
    packed: dict[int, Packed] = field(default_factory=dict)


@dataclass(frozen=True)
class Given:
    """A value for a property."""

    name: str
    value: Value


class Stores:
    """The same data in two stores, with and without indexes, each in three versions."""

    def __init__(
        self,
        library: Library,
        versions: Sequence[Database],
        made: tuple[mutations.Changes, mutations.Changes],
        folder: Path,
        compound: Sequence[tuple[str, tuple[str, ...]]] = (),
    ) -> None:
        self.library = library
        self.asker = Asker(library)
        self.versions = versions
        self.stores = [
            Store(library, versions[0], nothing, folder / "plain.objstore"),
            Store(library, versions[0], everything, folder / "indexed.objstore", compound),
        ]
        self.views: list[list[Handle]] = []
        for store in self.stores:
            loaded = store.view()
            transaction = store.begin()
            mutations.delete(store, transaction, made[0].deleted)
            library.call("commit", transaction, None)
            deleted = store.view()
            transaction = store.begin()
            mutations.make(store, transaction, made[1])
            self.views.append([loaded, deleted, transaction])
        self.asked = 0
        # The text of the query that was asked last.
        self.written = ""

    def parse(self, number: int, question: Question) -> Handle:
        """The query in one of the stores."""
        store = self.stores[number]
        if number not in question.packed:
            question.packed[number] = pack_arguments(store.packer, question.arguments)
        class_id = store.class_ids[question.class_name]
        return self.asker.parse(self.views[number][0], class_id, text(question.text), question.packed[number])

    def ask(self, question: Question) -> list[Difference]:
        """Ask in all versions of both stores."""
        found: list[Difference] = []
        for number, store in enumerate(self.stores):
            query = self.parse(number, question)
            for version, view in enumerate(self.views[number]):
                expected = question.expected[version]
                if expected is not None:
                    where = f"{STORES[number]}, {VERSIONS[version]}"
                    self.compare(found, store, question.class_name, query, view, expected, where)
            if number == 0:
                self.compare_text(found, store, store.class_ids[question.class_name], query, question)
            self.asker.close(query)
        return found

    def ask_in(self, question: Question, number: int, version: int) -> list[Difference]:
        """Ask in one version of one store."""
        found: list[Difference] = []
        expected = question.expected[version]
        query = self.parse(number, question)
        if expected is not None:
            where = f"{STORES[number]}, {VERSIONS[version]}"
            view = self.views[number][version]
            self.compare(found, self.stores[number], question.class_name, query, view, expected, where)
        self.asker.close(query)
        return found

    def compare(
        self,
        found: list[Difference],
        store: Store,
        class_name: str,
        query: Handle,
        view: Handle,
        expected: list[int],
        where: str,
    ) -> None:
        """The list, the count and the first object."""
        self.asked += 3
        keys = self.asker.keys(query, view)
        wanted = store.translated(class_name, expected)
        if keys != wanted:
            found.append(Difference(f"find, {where}", expected, store.keys_of(class_name, keys)))
        count = self.asker.count(query, view)
        if count != len(expected):
            found.append(Difference(f"count, {where}", len(expected), count))
        first = self.asker.first(query, view)
        if first != (wanted[0] if wanted else None):
            there = store.keys_of(class_name, [] if first is None else [first])
            found.append(Difference(f"first, {where}", expected[:1], there))

    def compare_text(
        self, found: list[Difference], store: Store, class_id: int, query: Handle, question: Question
    ) -> None:
        """What a query is as a text must be the same query."""
        self.asked += 1
        self.written = written = self.asker.text(query)
        again = self.asker.parse(self.views[0][0], class_id, text(written))
        rewritten = self.asker.text(again)
        if rewritten != written:
            found.append(Difference("text of the text", written, rewritten))
        expected = question.expected[0]
        if expected is not None:
            keys = self.asker.keys(again, self.views[0][0])
            if keys != store.translated(question.class_name, expected):
                there = store.keys_of(question.class_name, keys)
                found.append(Difference(f"find by the text {written}", expected, there))
        self.asker.close(again)

    def ask_joined(self, first: Question, then: Question, expected: list[int]) -> list[Difference]:
        """One query behind another; `expected` is what both find together in the first version."""
        found: list[Difference] = []
        self.asked += 1
        for number, store in enumerate(self.stores):
            one, two = self.parse(number, first), self.parse(number, then)
            joined = self.asker.then(one, two)
            keys = self.asker.keys(joined, self.views[number][0])
            if keys != store.translated(first.class_name, expected):
                there = store.keys_of(first.class_name, keys)
                found.append(Difference(f"joined, {STORES[number]}", expected, there))
            for query in (one, two, joined):
                self.asker.close(query)
        return found

    def ask_collection(
        self, question: Question, owner: Link, name: str, expected: Sequence[list[int] | None]
    ) -> list[Difference]:
        """Ask what a list, set or map of an object leads to; `expected` is what is found in each version."""
        found: list[Difference] = []
        for number, store in enumerate(self.stores):
            property_id = store.property_ids[(owner.class_name, name)]
            collection = Collection(store.objects[owner], property_id, 0, 0)
            # The first version has every object.
            whole = self.library.made("query_collection", self.views[number][0], collection)
            own = self.parse(number, question)
            query = self.asker.then(whole, own)
            for version, view in enumerate(self.views[number]):
                wanted = expected[version]
                if wanted is not None:
                    where = f"of {name} of {owner.key}, {STORES[number]}, {VERSIONS[version]}"
                    self.compare(found, store, question.class_name, query, view, wanted, where)
            for one in (whole, own, query):
                self.asker.close(one)
        return found

    def aggregate(self, question: Question, version: int, name: str, described: Property) -> list[Difference]:
        """A sum, average or extreme of a property of what a query finds."""
        expected = question.expected[version]
        if expected is None:
            return []
        found: list[Difference] = []
        table = self.versions[version].tables[question.class_name]
        stored = [table[key].fields[described.name] for key in expected]
        values = [value for value in stored if not isinstance(value, (list, dict))]
        for number, store in enumerate(self.stores):
            self.asked += 1
            query = self.parse(number, question)
            property_id = store.property_ids[(question.class_name, described.name)]
            answer = sums.asked(self.asker, query, self.views[number][version], property_id, name)
            right = sums.wrong(store.packer, described.kind, name, values, answer)
            if right is not None:
                where = f"{name} of {described.name}, {STORES[number]}, {VERSIONS[version]}"
                found.append(Difference(where, right, answer))
            self.asker.close(query)
        return found

    def change(self, question: Question, given: Given | None, then: Question) -> list[Difference]:
        """Delete what a query finds in the transaction, or give it a value; ask another query; take it back."""
        expected = question.expected[2]
        if expected is None:
            return []
        found: list[Difference] = []
        how = "deleted" if given is None else f"{given.name} set"
        for number, store in enumerate(self.stores):
            self.asked += 2
            transaction = self.views[number][2]
            query, after = self.parse(number, question), self.parse(number, then)
            savepoint, count = c_uint64(), c_uint64()
            self.library.call("savepoint_begin", transaction, byref(savepoint))
            if given is None:
                self.library.call("query_delete", query, transaction, byref(count))
            else:
                ids_given = ids([store.property_ids[(question.class_name, given.name)]])
                values = store.packer.array([given.value])
                self.library.call("query_set", query, transaction, ids_given, values.data, 1, byref(count))
            if count.value != len(expected):
                found.append(Difference(f"{how} of what it finds, {STORES[number]}", len(expected), count.value))
            wanted = then.expected[2]
            if wanted is not None:
                where = f"{then.text} after {how} of what it finds, {STORES[number]}, {VERSIONS[2]}"
                self.compare(found, store, question.class_name, after, transaction, wanted, where)
            self.library.call("savepoint_rollback", transaction, savepoint)
            where = f"after {how} of what it finds and taken back, {STORES[number]}, {VERSIONS[2]}"
            self.compare(found, store, question.class_name, query, transaction, expected, where)
            self.asker.close(query)
            self.asker.close(after)
        return found

    def reopen(self, rng: random.Random) -> int:
        """End the transactions, close the files and open them again; the version they now have is told."""
        commit = rng.random() < 0.5
        for number, store in enumerate(self.stores):
            for view in self.views[number][:2]:
                self.library.call("view_close", view)
            if commit:
                self.library.call("commit", self.views[number][2], None)
            else:
                self.library.call("cancel", self.views[number][2])
            if rng.random() < 0.3:
                self.library.call("compact", store.handle, None, None, None)
            store.reopen()
            self.views[number] = [store.view()]
        return 2 if commit else 1

    def ask_again(self, question: Question, version: int) -> list[Difference]:
        """Ask in the files that were opened again."""
        found: list[Difference] = []
        expected = question.expected[version]
        for number, store in enumerate(self.stores):
            query = self.parse(number, question)
            if expected is not None:
                where = f"{STORES[number]}, opened again {VERSIONS[version]}"
                self.compare(found, store, question.class_name, query, self.views[number][0], expected, where)
            self.asker.close(query)
        return found

    def close(self) -> None:
        """Close both stores."""
        for store in self.stores:
            store.close()
