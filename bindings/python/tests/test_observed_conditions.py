"""Observers of conditions about collections, inverses, aggregates and subqueries are told what their queries find."""

import random

import pytest

import objstore
from objstore import Dict, List, Set, field


class Toy(objstore.Model):
    number: int = field(primary_key=True)
    size: int = 0


class Collar(objstore.EmbeddedModel):
    color: str = "red"
    toy: Toy | None = None


class Dog(objstore.Model):
    number: int = field(primary_key=True)
    age: int = 0
    toy: Toy | None = None
    friend: "Dog | None" = None
    collar: Collar | None = None
    tags: List[str]


class Person(objstore.Model):
    number: int = field(primary_key=True)
    dogs: List[Dog]
    favourites: Set[Dog]
    by_name: Dict[str, Dog | None]
    best: Dog | None = None
    scores: List[int]


MODELS = [Toy, Collar, Dog, Person]

CONDITIONS = [
    (Person, "ANY dogs.age > 5"),
    (Person, "ALL dogs.age > 2"),
    (Person, "NONE dogs.age == 3"),
    (Person, "dogs.@count > 2"),
    (Person, "dogs.@count == 0"),
    (Person, "dogs.@sum.age >= 12"),
    (Person, "dogs.@max.age == 9 AND best.age < 5"),
    (Person, "dogs.@avg.age > 4 OR favourites.@count > 1"),
    (Person, "SUBQUERY(dogs, $d, $d.age > 4 AND $d.toy.size > 3).@count > 0"),
    (Person, "SUBQUERY(dogs, $d, $d.friend.age > 6).@count >= 2"),
    (Person, "ANY favourites.toy.size == 4"),
    (Person, "ANY by_name.@values.age > 7"),
    (Person, "by_name['a'].age > 3"),
    (Person, "best.tags.@count > 1"),
    (Person, "ANY dogs.tags == 'x'"),
    (Person, "ANY dogs.collar.color == 'blue'"),
    (Person, "ANY dogs.collar.toy.size > 6"),
    (Person, "best.friend.friend.age > 4"),
    (Person, "ANY scores > 3 AND scores.@count < 3"),
    (Person, "dogs.@count > favourites.@count"),
    (Person, "best.age > best.friend.age"),
    (Person, "ANY dogs.friend.toy.size > 2 AND NOT best == nil"),
    (Dog, "@links.Person.dogs.@count > 1"),
    (Dog, "ANY @links.Person.dogs.number > 4"),
    (Dog, "SUBQUERY(@links.Person.dogs, $p, $p.best.age > 4).@count > 0"),
    (Dog, "@links.Person.best.@count == 0 AND age > 2"),
    (Dog, "friend.@links.Person.dogs.@count > 0"),
    (Dog, "@links.Dog.friend.@sum.age > 8"),
    (Dog, "ANY @links.Person.favourites.dogs.age > 7"),
    (Dog, "toy.@links.Dog.toy.@count > 1"),
    (Dog, "tags.@count > 1"),
    (Toy, "@links.Dog.toy.@max.age > 6"),
    (Toy, "ANY @links.Dog.toy.friend.age > 6"),
    (Toy, "ANY @links.Dog.toy.@links.Person.dogs.number > 5"),
    (Toy, "@links.Collar.toy.@count > 0"),
]


ORDERS = [
    (Person, "TRUEPREDICATE SORT(best.age DESC, number ASC)"),
    (Person, "dogs.@count > 0 SORT(best.toy.size ASC, best.age DESC)"),
    (Person, "TRUEPREDICATE SORT(dogs.@count DESC)"),
    (Person, "TRUEPREDICATE SORT(dogs.@sum.age DESC, best.number ASC) LIMIT(6)"),
    (Person, "best.age > 2 SORT(best.friend.age ASC) OFFSET(1) LIMIT(3)"),
    (Dog, "TRUEPREDICATE SORT(toy.size ASC)"),
    (Dog, "age > 2 SORT(friend.toy.size DESC, age ASC)"),
    (Dog, "TRUEPREDICATE SORT(@links.Person.dogs.@count DESC, toy.size ASC)"),
    (Dog, "TRUEPREDICATE SORT(collar.toy.size ASC, collar.color DESC)"),
    (Dog, "friend.age > 3 SORT(friend.age DESC) LIMIT(5)"),
    (Toy, "TRUEPREDICATE SORT(@links.Dog.toy.@max.age DESC) LIMIT(4)"),
]


class World:
    def __init__(self, store, chance):
        self.store, self.chance = store, chance
        self.next = 100

    def one(self, model):
        found = self.store.objects(model)
        return found[self.chance.randrange(len(found))] if len(found) else None

    def some(self, model):
        found = list(self.store.objects(model))
        return self.chance.sample(found, min(len(found), self.chance.randrange(5)))

    def add(self):
        self.next += 1
        model = self.chance.choice([Toy, Dog, Person])
        if model is Toy:
            return self.store.add(Toy(number=self.next, size=self.chance.randrange(8)))
        if model is Dog:
            dog = self.store.add(Dog(number=self.next, age=self.chance.randrange(10), toy=self.one(Toy)))
            dog.friend = self.one(Dog)
            return dog
        return self.store.add(Person(number=self.next, best=self.one(Dog), dogs=self.some(Dog)))

    def step(self):
        chance = self.chance
        kind = chance.randrange(14)
        dog, person, toy = self.one(Dog), self.one(Person), self.one(Toy)
        if kind == 0 or None in (dog, person, toy):
            self.add()
        elif kind == 1:
            dog.age = chance.randrange(10)
        elif kind == 2:
            dog.toy = chance.choice([None, toy])
        elif kind == 3:
            dog.friend = chance.choice([None, self.one(Dog)])
        elif kind == 4:
            toy.size = chance.randrange(8)
        elif kind == 5:
            person.best = chance.choice([None, dog])
        elif kind == 6:
            person.dogs.insert(chance.randrange(len(person.dogs) + 1), dog)
        elif kind == 7 and len(person.dogs):
            del person.dogs[chance.randrange(len(person.dogs))]
        elif kind == 8:
            (person.favourites.add if chance.random() < 0.6 else person.favourites.discard)(dog)
        elif kind == 9:
            person.by_name[chance.choice("ab")] = chance.choice([None, dog])
        elif kind == 10:
            dog.tags = [chance.choice("xyz") for _ in range(chance.randrange(4))]
        elif kind == 11:
            if dog.collar is None or chance.random() < 0.4:
                dog.collar = chance.choice([None, Collar(color=chance.choice(["red", "blue"]), toy=toy)])
            else:
                dog.collar.color = chance.choice(["red", "blue"])
        elif kind == 12:
            person.scores = [chance.randrange(6) for _ in range(chance.randrange(4))]
        elif kind == 13 and chance.random() < 0.5:
            self.store.delete(chance.choice([dog, person, toy]))
        elif kind == 13:
            person.dogs = self.some(Dog)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("sort", ["", " SORT(number DESC)", " SORT(number ASC) LIMIT(4)"])
def test_what_is_told_is_what_is_found(seed, sort):
    follow(seed, [(model, text + sort) for model, text in CONDITIONS], None)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("keys", [None, [], ["*"]])
def test_orders_by_what_lies_behind_paths(seed, keys):
    """Also where nobody is told of the modifications that move an object."""
    follow(seed + 100, ORDERS, keys)


def follow(seed, questions, keys):
    chance = random.Random(seed)
    with objstore.open(memory=f"conditions-{seed}-{len(questions)}", models=MODELS) as store:
        world = World(store, chance)
        with store.write():
            for _ in range(30):
                world.add()
        queries = [store.objects(model).filter(text) for model, text in questions]
        copies = [[found.number for found in results] for results in queries]
        tokens = []

        def follower(index):
            def follow(change):
                copy = copies[index]
                for at in reversed(change.deletions):
                    del copy[at]
                moved = {after: obj for (_, after), obj in zip(change.moves, change.moved)}
                come = iter(change.inserted)
                for at in change.insertions:
                    copy.insert(at, (moved[at] if at in moved else next(come)).number)
                assert [copy[at] for at in change.modifications_after] == [obj.number for obj in change.modified]

            return follow

        for index, results in enumerate(queries):
            tokens.append(results.observe(follower(index), keys, initial=False))
        for step in range(150):
            with store.write():
                for _ in range(chance.choice([1, 1, 1, 2, 4, 40])):
                    world.step()
            if chance.random() < 0.8:
                store.deliver()
                for index, (model, text) in enumerate(questions):
                    found = [obj.number for obj in store.objects(model).filter(text)]
                    assert copies[index] == found, f"seed {seed}, step {step}: {model.__name__} {text}"
        for token in tokens:
            token.close()
