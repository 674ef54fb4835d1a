"""Rounds of queries about plain properties: one class of objects, hundreds of queries, each asked in all ways."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from queries.binding import Argument
from queries.data import Stored
from queries.evaluate import run
from queries.values import Value, equal

from . import mutations, sums
from .asking import pack_arguments
from .library import NOT_SUPPORTED, EngineError, Library, text
from .masks import Atom, Values, World
from .reasons import reason
from .report import Tally, told
from .scalar_conditions import ScalarConditions
from .scalar_data import CLASS, Column, Things, things
from .scalar_queries import AND, QueryDrawer, ScalarQuery
from .scalar_trees import Both
from .variants import VERSIONS, Difference, Given, Question, Stores

# How many queries a round has, and how many where there are more objects than so many.
ROUND = 400
FEWER = 60
SMALL = 300
# How many queries of a round each comparison is for.
USES = 8
# Of a round whose queries are mostly asked in one way: so many times as many, and of each comparison.
LIGHT = 10
LIGHT_USES = 32
# Up to so many objects this share of answers is computed by the oracle as a whole, too.
FEW = 60
CHECKED = 0.01


@dataclass(frozen=True)
class Wishes:
    """How many objects a round has, and which forms of comparisons it leaves out."""

    count: int | None = None
    without: frozenset[str] = frozenset()
    # The share of queries that are asked in all ways; the others by one store and version each.
    all_ways: float = 1.0

    @property
    def light(self) -> bool:
        """Whether most are asked in one way."""
        return self.all_ways < 1


class Round:
    """One class of objects and its queries."""

    def __init__(self, library: Library, seed: int, tally: Tally, folder: Path, wishes: Wishes) -> None:
        self.seed = seed
        self.wishes = wishes
        self.tally = tally
        self.rng = random.Random(seed)
        self.things: Things = things(self.rng, wishes.count)
        loaded = self.things.database
        deleted = mutations.deletion(self.rng, loaded, 1 / 3)
        less = mutations.changed(loaded, deleted)
        more = mutations.changes(self.rng, less, {CLASS: self.things.count})
        self.versions = [loaded, less, mutations.changed(less, more)]
        self.values = Values(loaded, CLASS)
        self.worlds = [World(self.values, version) for version in self.versions]
        self.questions: dict[ScalarQuery, Question] = {}
        compound = [(CLASS, names) for names in self.things.compound]
        self.stores = Stores(library, self.versions, (deleted, more), folder, compound)

    def run(self, queries: int) -> None:
        """Ask all queries of the round."""
        pool = self.pool(max(1, queries // (LIGHT_USES if self.wishes.light else USES)))
        equatable = [column for column in self.things.columns if column.ordered]
        sortable = [column for column in equatable if column.described.kind != "binary"]
        texts = [column for column in sortable if column.described.kind == "string"]
        flagged = [] if "text" in self.wishes.without else names_of(texts)
        drawer = QueryDrawer(self.rng, pool, names_of(sortable), names_of(equatable), flagged)
        asked = [ScalarQuery(atom) for atom in pool]
        asked.extend(drawer.query() for _ in range(queries - len(asked)))
        whole: list[ScalarQuery] = []
        for query in asked:
            self.tally.queries += 1
            if self.wishes.light and self.rng.random() >= self.wishes.all_ways:
                self.ask_once(query)
                continue
            whole.append(query)
            self.report(query, self.ask)
            if isinstance(query.condition, Both) and self.rng.random() < 0.5:
                self.split(query)
            elif self.rng.random() < 0.1:
                self.chain(query, drawer.query())
            elif self.rng.random() < 0.3:
                self.aggregate(query)
            elif self.rng.random() < 0.1:
                self.change(query)
        version = self.stores.reopen(self.rng)
        for query in whole:
            self.report(query, lambda query: self.stores.ask_again(self.question(query), version))
        self.tally.asked += self.stores.asked
        self.stores.close()

    def pool(self, count: int) -> list[Atom]:
        """Comparisons that the engine evaluates."""
        conditions = ScalarConditions(self.rng, self.things, self.wishes.without)
        result: list[Atom] = []
        for _ in range(20 * count):
            atom = conditions.atom()
            self.values.bind(atom)
            if self.evaluates(atom):
                result.append(atom)
            if len(result) == count:
                break
        return result

    def evaluates(self, atom: Atom) -> bool:
        """Whether the engine takes a comparison; why it does not is counted."""
        store = self.stores.stores[0]
        packed = pack_arguments(store.packer, atom.arguments)
        written = atom.text(0)
        try:
            asker = self.stores.asker
            asker.close(asker.parse(self.stores.views[0][0], store.class_ids[CLASS], text(written), packed))
            return True
        except EngineError as error:
            if error.status == NOT_SUPPORTED:
                self.tally.not_supported[reason(error.message)] += 1
                self.tally.queries += 1
            else:
                self.tell(ScalarQuery(atom), Difference("parse", "an answer", error))
            return False

    def question(self, query: ScalarQuery) -> Question:
        """A query with what the oracle finds in each version."""
        if query not in self.questions:
            arguments: list[Argument] = []
            written = query.text(arguments)
            self.questions[query] = Question(CLASS, written, arguments, [query.finds(world) for world in self.worlds])
        return self.questions[query]

    def text(self, query: ScalarQuery) -> Question:
        """A query of which nothing is known but its text."""
        arguments: list[Argument] = []
        written = query.text(arguments)
        return Question(CLASS, written, arguments, [])

    def ask(self, query: ScalarQuery) -> list[Difference]:
        """Ask one query; now and then the oracle is asked about it as a whole."""
        question = self.question(query)
        found = self.stores.ask(question)
        if len(self.worlds[0].keys) <= FEW and self.rng.random() < CHECKED:
            found += self.check(question)
        return found

    def ask_once(self, query: ScalarQuery) -> None:
        """Ask one query in one version of one store."""
        number, version = self.rng.randrange(2), self.rng.randrange(3)

        def ask(query: ScalarQuery) -> list[Difference]:
            question = self.text(query)
            question.expected = [None, None, None]
            question.expected[version] = query.finds(self.worlds[version])
            return self.stores.ask_in(question, number, version)

        self.report(query, ask)

    def check(self, question: Question) -> list[Difference]:
        """Ask the oracle about the whole query, and about the text that the engine has written of it."""
        whole = run(self.versions[0], CLASS, question.text, question.arguments)
        if whole != question.expected[0]:
            raise AssertionError(f"{question.text} {question.arguments}: {whole} {question.expected[0]}")
        # The oracle does not know how the engine writes an object.
        if "link(" in self.stores.written:
            return []
        read = run(self.versions[0], CLASS, self.stores.written, [])
        return [] if read == whole else [Difference(f"text read by the oracle: {self.stores.written}", whole, read)]

    def split(self, query: ScalarQuery) -> None:
        """The same query as two, joined."""
        if not isinstance(query.condition, Both):
            return
        cut = self.rng.randrange(1, len(query.condition.parts))
        first, then = query.condition.parts[:cut], query.condition.parts[cut:]
        one = ScalarQuery(first[0] if cut == 1 else Both(first, AND[0]))
        two = ScalarQuery(then[0] if len(then) == 1 else Both(then, AND[0]), query.steps)
        self.chain(one, two)

    def aggregate(self, query: ScalarQuery) -> None:
        """A sum, average or extreme of what a query finds."""
        fitting = [column.described for column in self.things.columns if column.described.kind in sums.FITTING]
        described = self.rng.choice(fitting)
        name, version = self.rng.choice(sums.FITTING[described.kind]), self.rng.randrange(3)
        self.report(query, lambda query: self.stores.aggregate(self.question(query), version, name, described))

    def change(self, query: ScalarQuery) -> None:
        """Delete what a query finds, or give all of it a value; then ask for what is left, or what has the value."""
        world, arguments = self.worlds[2], list[Argument]()
        fitting = [
            column for column in self.things.columns if column.described.kind in ("int", "string", "bool", "uuid")
        ]
        fitting = [column for column in fitting if column.palette and column.described.name != "_id"]
        keys = set(query.finds(world))
        if self.rng.random() < 0.5 or not fitting:
            given, written = None, "TRUEPREDICATE"
            expected = [key for key in world.keys if key not in keys]
        else:
            column = self.rng.choice(fitting)
            given = Given(column.described.name, self.rng.choice(column.palette))
            written, arguments = f"{given.name} == $0", [given.value]
            table = self.versions[2].tables[CLASS]
            expected = [key for key in world.keys if key in keys or same(table[key].fields[given.name], given.value)]
        then = Question(CLASS, written, arguments, [None, None, expected])
        try:
            found = self.stores.change(self.question(query), given, then)
        except EngineError as error:
            found = [Difference("changed", "an answer", error)]
        if found:
            self.tell(query, found[0])

    def chain(self, one: ScalarQuery, two: ScalarQuery) -> None:
        """What one query finds among what another does."""
        expected = two.after(one).finds(self.worlds[0])
        first, then = self.text(one), self.text(two)
        try:
            found = self.stores.ask_joined(first, then, expected)
        except EngineError as error:
            found = [Difference("joined", expected, error)]
        for difference in found:
            names = list(dict.fromkeys(one.names() + two.names()))
            written = f"{first.text}  THEN  {then.text}"
            arguments = first.arguments + then.arguments
            words = told(self.seed, self.versions[0], CLASS, names, written, arguments, difference)
            self.tally.differ(difference.where, words)

    def report(self, query: ScalarQuery, ask: Callable[[ScalarQuery], list[Difference]]) -> None:
        """Ask, and tell what is wrong of the smallest query that shows it."""
        found = self.tried(query, ask)
        if not found:
            return
        again = True
        while again:
            again = False
            for simpler in query.simpler():
                less = self.tried(simpler, ask)
                if less:
                    query, found, again = simpler, less, True
                    break
        self.tell(query, found[0])

    def tried(self, query: ScalarQuery, ask: Callable[[ScalarQuery], list[Difference]]) -> list[Difference]:
        """Ask; an error is a difference."""
        try:
            return ask(query)
        except EngineError as error:
            return [Difference("an error", "an answer", error)]

    def tell(self, query: ScalarQuery, difference: Difference) -> None:
        """Enter a difference."""
        arguments: list[Argument] = []
        written = query.text(arguments)
        version = next((number for number, name in enumerate(VERSIONS) if name in difference.where), 0)
        words = told(self.seed, self.versions[version], CLASS, query.names(), written, arguments, difference)
        forms = " | ".join(dict.fromkeys(atom.form for atom in query.atoms()))
        steps = " ".join(type(step).__name__ for step in query.steps)
        self.tally.differ(f"{forms} {steps}".strip() + f" ({difference.where.split(',')[0][:20]})", words)


def same(stored: Stored, value: Value) -> bool:
    """Whether a property has a value."""
    return not isinstance(stored, (list, dict)) and equal(stored, value)


def names_of(columns: list[Column]) -> list[str]:
    """Names of properties."""
    return [column.described.name for column in columns]


def run_rounds(library: Library, seed: int, queries: int, tally: Tally, wishes: Wishes) -> None:
    """At least so many queries about plain properties; a round depends on its seed alone, and each has the next."""
    while queries > 0:
        try:
            with tempfile.TemporaryDirectory() as folder:
                one = Round(library, seed, tally, Path(folder), wishes)
                asked = (ROUND if one.things.count <= SMALL else FEWER) * (LIGHT if wishes.light else 1)
                one.run(asked)
        except Exception as error:
            error.add_note(f"in the round of seed {seed}")
            raise
        queries -= asked
        seed += 1
