"""Rounds of queries of the whole language: the generator's schemas, objects and queries, each asked in all ways."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from queries.binding import Argument
from queries.captured import argument
from queries.data import Database, load
from queries.errors import QueryError
from queries.evaluate import linked, run, run_among
from queries.generate_data import DataGenerator
from queries.generate_queries import QueryGenerator
from queries.nodes import Box, Circle, Polygon
from queries.values import Link

from . import mutations
from .asking import pack_arguments
from .library import NOT_SUPPORTED, EngineError, Library, text
from .loading import renamed
from .packing import typed
from .reasons import REFUSALS, reason
from .report import Tally, told
from .variants import VERSIONS, Difference, Question, Stores

ROUND = 100
CLASSES = ("Person", "Dog", "Zone")


class GeneratedRound:
    """A schema with objects, and queries about it."""

    def __init__(self, library: Library, seed: int, tally: Tally, folder: Path) -> None:
        self.seed = seed
        self.tally = tally
        self.rng = random.Random(seed)
        generated = DataGenerator(self.rng).generate()
        loaded = load(generated.dataset)
        self.generator = QueryGenerator(self.rng, generated, loaded)
        deleted = mutations.deletion(self.rng, loaded, 1 / 3)
        less = mutations.changed(loaded, deleted)
        more = mutations.changes(self.rng, less, {name: len(table) for name, table in loaded.tables.items()})
        self.versions = [loaded, less, mutations.changed(less, more)]
        self.stores = Stores(library, self.versions, (deleted, more), folder)

    def run(self, queries: int, refused: float) -> None:
        """Ask all queries of the round."""
        asked: list[Question] = []
        for _ in range(queries):
            self.tally.queries += 1
            class_name = self.rng.choices(CLASSES, (3, 1, 1))[0]
            if self.rng.random() < refused:
                self.refuse(class_name, self.generator.refused(class_name))
            elif self.rng.random() < 0.2:
                self.join(class_name)
            else:
                written = self.generator.query(class_name)
                question = self.supported(class_name, written)
                if question is not None:
                    asked.append(question)
                    self.report(question, self.stores.ask)
                    self.ask_collections(question, written, self.arguments())
        version = self.stores.reopen(self.rng)
        for question in asked:
            self.report(question, lambda question: self.stores.ask_again(question, version))
        self.tally.asked += self.stores.asked
        self.stores.close()

    def arguments(self) -> list[Argument]:
        """The arguments of the query that was drawn last, as values with types of their own."""
        return [typed_argument(argument(self.versions[0], one)) for one in self.generator.arguments]

    def renamed(self, written: str, given: list[Argument]) -> list[Argument]:
        """The arguments as they are for a store: paths have its names."""
        paths = {int(number) for number in re.findall(r"\$K(\d+)", written)}
        return [
            renamed(self.versions[0], one) if number in paths and isinstance(one, str) else one
            for number, one in enumerate(given)
        ]

    def supported(self, class_name: str, written: str) -> Question | None:
        """A query with what the oracle finds; none where the engine does not evaluate it."""
        given = self.arguments()
        question = Question(class_name, renamed(self.versions[0], written), self.renamed(written, given), [])
        if not self.takes(question, written):
            return None
        expected = [found(database, class_name, written, given) for database in self.versions]
        return replace(question, expected=expected)

    def takes(self, question: Question, written: str) -> bool:
        """Whether the engine takes a query; why it does not is counted."""
        store = self.stores.stores[0]
        packed = pack_arguments(store.packer, question.arguments)
        view, class_id = self.stores.views[0][0], store.class_ids[question.class_name]
        try:
            self.stores.asker.close(self.stores.asker.parse(view, class_id, text(question.text), packed))
            return True
        except EngineError as error:
            if error.status == NOT_SUPPORTED:
                self.tally.not_supported[reason(error.message)] += 1
            else:
                self.tell(question, Difference("parse", "an answer", error))
            return False

    def refuse(self, class_name: str, written: str) -> None:
        """Ask what the oracle refuses; the engine must refuse it too, at the same place."""
        self.tally.refused += 1
        given = self.arguments()
        try:
            run(self.versions[0], class_name, written, given)
        except QueryError as error:
            expected = error
        else:
            raise AssertionError(f"seed {self.seed}: the oracle takes {written}")
        question = Question(class_name, renamed(self.versions[0], written), self.renamed(written, given), [])
        store = self.stores.stores[0]
        view, class_id = self.stores.views[0][0], store.class_ids[class_name]
        try:
            packed = pack_arguments(store.packer, given)
            self.stores.asker.close(self.stores.asker.parse(view, class_id, text(question.text), packed))
            self.tell(question, Difference("refused", expected, "an answer"))
        except EngineError as error:
            if error.status == NOT_SUPPORTED:
                self.tally.not_supported[reason(error.message)] += 1
            elif error.status not in REFUSALS:
                self.tell(question, Difference("refused", expected, error))

    def join(self, class_name: str) -> None:
        """A query and a condition, as one text and joined."""
        self.generator.arguments = []
        one = self.generator.condition(class_name, "", self.rng.choice((0, 1)))
        count = len(self.generator.arguments)
        two = self.generator.condition(class_name, "", self.rng.choice((0, 1)))
        steps = self.generator.steps(class_name)
        question = self.supported(class_name, f"({one}) AND ({two}){steps}")
        if question is None:
            return
        self.report(question, self.stores.ask)
        given, expected = question.arguments, question.expected[0] or []
        first = Question(class_name, renamed(self.versions[0], one), given[:count], [])
        # Its arguments are counted on from those of the first.
        then = Question(class_name, renamed(self.versions[0], two + steps), given, [])
        self.report(question, lambda _: self.stores.ask_joined(first, then, expected))

    def ask_collections(self, question: Question, written: str, given: list[Argument]) -> None:
        """Ask the same of what lists, sets and maps lead to."""
        first = self.versions[0]
        places = [
            (row.link, described)
            for name, table in first.tables.items()
            for described in first.schema.classes[name].properties.values()
            if described.collection and described.kind == "link" and described.target == question.class_name
            for row in table.values()
        ]
        for owner, described in self.rng.sample(places, min(2, len(places))):
            expected = [
                found_among(
                    database,
                    question.class_name,
                    written,
                    given,
                    [] if (row := database.find(owner)) is None else linked(described, row.fields[described.name]),
                )
                for database in self.versions
            ]
            self.report(
                question, partial(self.stores.ask_collection, owner=owner, name=described.name, expected=expected)
            )

    def report(self, question: Question, ask: Callable[[Question], list[Difference]]) -> None:
        """Ask, and tell what is wrong."""
        try:
            differences = ask(question)
        except EngineError as error:
            differences = [Difference("an error", "an answer", error)]
        for difference in differences[:1]:
            self.tell(question, difference)

    def tell(self, question: Question, difference: Difference) -> None:
        """Enter a difference."""
        properties = self.versions[0].schema.classes[question.class_name].properties
        names = [name for name in properties if name in question.text]
        version = next((number for number, name in enumerate(VERSIONS) if name in difference.where), 0)
        words = told(
            self.seed, self.versions[version], question.class_name, names, question.text, question.arguments, difference
        )
        self.tally.differ(difference.where.split(",")[0][:30], words)


def typed_argument(given: Argument) -> Argument:
    """An argument with a type of its own."""
    if isinstance(given, (Box, Circle, Polygon)):
        return given
    return [typed(one) for one in given] if isinstance(given, list) else typed(given)


def found(database: Database, class_name: str, written: str, arguments: list[Argument]) -> list[int] | None:
    """What the oracle finds; unknown where it refuses the query in this version: its objects are gone."""
    try:
        return run(database, class_name, written, arguments)
    except QueryError:
        return None


def found_among(
    database: Database, class_name: str, written: str, arguments: list[Argument], among: list[Link]
) -> list[int] | None:
    """What the oracle finds among certain objects; unknown as in `found`."""
    try:
        return run_among(database, class_name, written, arguments, among)
    except QueryError:
        return None


def run_generated(library: Library, seed: int, queries: int, refused: float, tally: Tally) -> None:
    """At least so many queries; each round has the next seed, and is the same for the same seed."""
    while queries > 0:
        try:
            with tempfile.TemporaryDirectory() as folder:
                GeneratedRound(library, seed, tally, Path(folder)).run(ROUND, refused)
        except Exception as error:
            error.add_note(f"in the round of seed {seed}")
            raise
        queries -= ROUND
        seed += 1
