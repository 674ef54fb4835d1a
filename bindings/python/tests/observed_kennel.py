"""A kennel that is watched by observers of every kind, each of which has a copy of what it observes."""

from typing import Any

import objstore
from objstore import Backlinks, backlinks, desc, field, group, projected, value


class Keeper(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    dogs: list["Hound"]
    liked: set["Hound"]
    words: list[str]
    numbers: set[int]
    notes: dict[str, str]
    extra: Any = None
    hounds: Backlinks["Hound"] = backlinks("keeper")


class Hound(objstore.Model):
    name: str = ""
    age: int = 0
    keeper: Keeper | None = None


class Luke(objstore.Model):
    id: objstore.ObjectId = field(primary_key=True, generated=True)
    name: str = ""


class Node(objstore.Model):
    name: str = ""
    next: "Node | None" = None


class HoundView(objstore.Projection[Hound]):
    title = projected(Hound.name)
    keeper_name = projected(Hound.keeper, Keeper.name)


MODELS = [Keeper, Hound, Luke, Node]


def line(dog):
    return f"{dog.name} {dog.age}"


def view(dog):
    return f"{dog.title} {dog.keeper_name}"


def entries(notes):
    return [f"{key} {value}" for key, value in sorted(notes.items())]


class Copy:
    """What is observed, as its change sets make it."""

    def __init__(self, name, observed, text, read, keys=None):
        self.name, self.text, self.read, self.told, self.lines = name, text, read, 0, None
        self.token = observed.observe(self.follow) if keys is None else observed.observe(self.follow, keys)

    def real(self, source=None):
        return self.read(source)

    def follow(self, change):
        self.told += 1
        if change.is_initial:
            self.lines = self.read(change.after)
            return
        for positions in (change.deletions, change.insertions, change.modifications, change.modifications_after):
            assert list(positions) == sorted(positions)
        if self.text is None:  # of values, which change sets do not have
            after = self.read(change.after)
            come = iter([after[at] for at in change.insertions])
            changed = iter([after[at] for at in change.modifications_after])
        else:
            moved = {at: obj for (_, at), obj in zip(change.moves, change.moved)}
            others = iter(change.inserted)
            come = (self.text(moved[at] if at in moved else next(others)) for at in change.insertions)
            changed = map(self.text, change.modified)
        for at in reversed(change.deletions):
            del self.lines[at]
        for at, text in zip(change.insertions, come, strict=True):
            self.lines.insert(at, text)
        for at, text in zip(change.modifications_after, changed, strict=True):
            self.lines[at] = text


class SectionCopy(Copy):
    """Results in sections, each a key and its lines."""

    def follow(self, change):
        self.told += 1
        if change.is_initial:
            self.lines = self.read(change.after)
            return
        moved = {at: obj for (_, at), obj in zip(change.moves, change.moved)}
        come = iter(change.inserted)
        for section, at in reversed(change.deletions):
            del self.lines[section][1][at]
        for section, key in reversed(list(zip(change.section_deletions, change.deleted_keys))):
            assert self.lines.pop(section) == (key, [])
        for section, key in zip(change.section_insertions, change.inserted_keys):
            self.lines.insert(section, (key, []))
        for place in change.insertions:
            self.lines[place[0]][1].insert(place[1], self.text(moved[place] if place in moved else next(come)))
        assert next(come, None) is None
        for (section, at), dog in zip(change.modifications_after, change.modified, strict=True):
            self.lines[section][1][at] = self.text(dog)


class Kennel:
    """Two handles of one file: one writes, one watches."""

    def __init__(self, folder):
        self.path = folder / "kennel.objstore"
        self.store = objstore.open(self.path, models=MODELS)
        self.watching = objstore.open(self.path, models=MODELS)
        with self.store.write():
            keeper = self.store.create(Keeper, {"id": 1, "name": "Dachary", "words": ["a", "b"]})
            keeper.dogs.append(Hound(name="Rex", age=5, keeper=keeper))
            keeper.numbers.update([3059, 3062, 3064])
            keeper.notes["first"] = "1"
            keeper.extra = {"seen": [1, "x", [2]], "by": {"first": 1}}
        self.written, self.commits = [], []
        self.copies = self._watch()
        self.follow("the beginning")

    def _watch(self):
        watching = self.watching

        def results(name, make, text=line, keys=None):
            return Copy(name, make(watching), text, lambda source: [text(each) for each in make(source)], keys)

        def collection(name, attribute, text=None, show=None):
            show = show or (lambda found: [str(each) if text is None else text(each) for each in found])
            return Copy(
                name,
                getattr(watching.get(Keeper, 1), attribute),
                text,
                lambda source: show(getattr(source.get(Keeper, 1), attribute)),
            )

        def sections(name, make):
            def read(source):
                return [(section.key, [line(dog) for dog in section]) for section in make(source)]

            return SectionCopy(name, make(watching), line, read)

        def nested(name, key, show):
            return Copy(name, keeper.extra[key], None, lambda source: show(source.get(Keeper, 1).extra[key].copy()))

        def rows(name, make):
            """Tables, and values that are asked for."""
            return Copy(name, make(watching), None, lambda source: list(make(source)))

        def some_of_the_list(source):
            return source.get(Keeper, 1).dogs.objects().where(Hound.age < 10)

        keeper = watching.get(Keeper, 1)
        self.tokens = [
            keeper.observe(lambda change: self.written.append(change.written(0))),
            watching.observe_commits(self.commits.append),
        ]
        return [
            results("class", lambda source: source.objects(Hound)),
            results("query", lambda source: source.objects(Hound).where(Hound.age < 10)),
            results("behind a link", lambda source: source.objects(Hound).where(Hound.keeper.name == "Dachary")),
            results("sorted", lambda source: source.objects(Hound).order_by(Hound.name)),
            results("limited", lambda source: source.objects(Hound).order_by(desc(Hound.age)).limit(3)),
            results("distinct", lambda source: source.objects(Hound).order_by(Hound.age).distinct(Hound.age)),
            results(
                "key path", lambda source: source.objects(Hound).order_by(Hound.name), lambda dog: dog.name, ["name"]
            ),
            results("projection", lambda source: source.objects(HoundView), view),
            results("keepers", lambda source: source.objects(Keeper), lambda keeper: keeper.name),
            results("lukes", lambda source: source.objects(Luke), lambda luke: luke.name),
            results("nodes", lambda source: source.objects(Node), lambda node: node.name),
            collection("list", "dogs", line),
            collection("set of objects", "liked", line),
            collection("words", "words"),
            collection("set", "numbers", show=lambda found: [str(each) for each in sorted(found)]),
            collection("dict", "notes", show=entries),
            sections("sections", lambda source: source.objects(Hound).order_by(Hound.name).sections(Hound.age)),
            sections(
                "sections behind a link",
                lambda source: source.objects(Hound).sections(Hound.keeper.name, order="ascending"),
            ),
            sections("sections of the list", lambda source: some_of_the_list(source).sections(Hound.age)),
            results("inverse", lambda source: source.get(Keeper, 1).hounds),
            results("of the inverse", lambda source: source.get(Keeper, 1).hounds.order_by(desc(Hound.age)).limit(3)),
            results("of the list", some_of_the_list),
            results("of the list, sorted", lambda source: some_of_the_list(source).order_by(Hound.name)),
            rows(
                "table", lambda source: source.objects(Hound).order_by(Hound.name).select(Hound.age, Hound.keeper.name)
            ),
            rows("groups", lambda source: source.objects(Hound).group_by(Hound.age).order_by(desc(group.count))),
            rows(
                "sums",
                lambda source: (
                    source.objects(Hound).where(Hound.age < 15).group_by(Hound.keeper.name).select(group.sum(Hound.age))
                ),
            ),
            rows("groups of the list", lambda source: some_of_the_list(source).group_by(Hound.name).limit(3)),
            rows("some words", lambda source: source.get(Keeper, 1).words.where(value > "a").order_by(desc(value))),
            rows("some numbers", lambda source: source.get(Keeper, 1).numbers.where(value < 3063)),
            rows("some notes", lambda source: source.get(Keeper, 1).notes.where(value != "1")),
            nested("list in a value", "seen", lambda found: list(map(str, found))),
            nested("dict in a value", "by", entries),
        ]

    def follow(self, after):
        """Delivers, compares all copies with what is there; how many of them were told something."""
        before = [copy.told for copy in self.copies]
        self.watching.refresh()
        for copy in self.copies:
            assert copy.lines == copy.real(self.watching), f"{copy.name} after {after}"
        return sum(told != copy.told for told, copy in zip(before, self.copies))

    @property
    def keeper(self):
        return self.store.get(Keeper, 1)

    def close(self):
        for token in [*self.tokens, *(copy.token for copy in self.copies)]:
            token.close()
        self.watching.close()
        self.store.close()


def change_something(store, chance, step):
    """One of everything that the observers look at."""
    with store.write():
        keeper, dogs = store.get(Keeper, 1), store.objects(Hound)
        for _ in range(chance.randrange(1, 4)):
            what, count = chance.randrange(14), len(dogs)
            if what == 0 or count < 3:
                dog = store.add(Hound(name=f"dog {step}", age=chance.randrange(20), keeper=keeper))
                keeper.dogs.insert(chance.randrange(len(keeper.dogs) + 1), dog)
                keeper.liked.add(dog)
            elif what == 1:
                store.delete(dogs[chance.randrange(count)])
            elif what == 2:
                dogs[chance.randrange(count)].age = chance.randrange(20)
            elif what == 3:
                keeper.name = chance.choice(["Dachary", "Ann"])
            elif what == 4:
                keeper.words.insert(chance.randrange(len(keeper.words) + 1), f"w{step}")
            elif what == 5 and keeper.words:
                del keeper.words[chance.randrange(len(keeper.words))]
            elif what == 6:
                keeper.numbers ^= {chance.randrange(9)}
            elif what == 7:
                keeper.notes[f"k{chance.randrange(5)}"] = str(step)
            elif what == 8:
                keeper.notes.pop(f"k{chance.randrange(5)}", None)
            elif what == 9:
                seen = keeper.extra["seen"]
                seen.insert(chance.randrange(len(seen) + 1), chance.choice([step, [step], f"w{step}"]))
            elif what == 10 and len(keeper.extra["seen"]):
                keeper.extra["seen"].pop(chance.randrange(len(keeper.extra["seen"])))
            elif what == 11:
                keeper.extra["by"][f"k{chance.randrange(5)}"] = step
            elif what == 12:
                dogs[chance.randrange(count)].keeper = chance.choice([keeper, None])
            elif keeper.dogs:
                keeper.dogs.append(keeper.dogs.pop(0))
