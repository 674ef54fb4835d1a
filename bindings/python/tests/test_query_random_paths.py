"""Random conditions about what links lead to, against loops over plain objects that lead to each other in memory."""

import operator
import random
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import Backlinks, EmbeddedModel, all_, any_, backlinks, field, incoming, none_


class Place(EmbeddedModel):
    city: str | None = None
    height: int | None = None
    floors: list[int]


class Being(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    age: int | None = None
    weight: float | None = None
    owner: "Keeper | None" = None
    place: Place | None = None
    friends: list["Being"]
    rivals: set["Being"]
    tags: list[str]
    marks: set[int]
    notes: dict[str, int]
    note: Any = None
    liked: Backlinks["Being"] = backlinks("friends")
    keepers: Backlinks["Keeper"] = backlinks("pets")


class Keeper(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    least: int = 0
    home: Place | None = None
    pets: list[Being]
    best: dict[str, "Being | None"]
    places: list[Place]
    owned: Backlinks["Being"] = backlinks("owner")


store = store_of([Place, Being, Keeper])

NAMES = ["", "a", "A", "ab", "b", "é"]
CITIES = ["Rome", "Oslo", "rome", None]
NUMBERS = [-2, -1, 0, 1, 2, 3]
REALS = [-1.5, 0.0, 0.25, 1.0, 2.0, None]
NOTES = [None, True, 1, 1.0, 2, "a", b"a", [1, "a"], {"k": 1}]
BEINGS, KEEPERS = 30, 10


# The same in memory


def data(rng: random.Random) -> dict[type, list[Any]]:
    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.3 else value

    def place() -> Any:
        floors = [rng.choice(NUMBERS) for _ in range(rng.randrange(3))]
        return SimpleNamespace(city=rng.choice(CITIES), height=maybe(rng.choice(NUMBERS)), floors=floors)

    def some(of: list[Any]) -> list[Any]:
        return [rng.choice(of) for _ in range(rng.choice([0, 0, 1, 2, 3, 4]))]

    beings = [
        SimpleNamespace(
            id=i,
            name=rng.choice(NAMES),
            age=maybe(rng.choice(NUMBERS)),
            weight=rng.choice(REALS),
            place=maybe(place()),
            tags=some(NAMES),
            marks=set(some(NUMBERS)),
            notes={key: rng.choice(NUMBERS) for key in some(NAMES)},
            note=rng.choice(NOTES),
        )
        for i in range(BEINGS)
    ]
    keepers = [
        SimpleNamespace(id=i, name=rng.choice(NAMES), least=rng.choice(NUMBERS), home=maybe(place()))
        for i in range(KEEPERS)
    ]
    for being in beings:
        being.owner, being.friends = maybe(rng.choice(keepers)), some(beings)
        being.rivals = list({each.id: each for each in some(beings)}.values())
    for keeper in keepers:
        keeper.pets = some(beings)
        keeper.best = {key: maybe(rng.choice(beings)) for key in some(NAMES)}
        keeper.places = [place() for _ in range(rng.randrange(3))]
        keeper.owned = [being for being in beings if being.owner is keeper]
    for being in beings:
        # What links several times is there as often.
        being.liked = [other for other in beings for each in other.friends if each is being]
        being.keepers = [keeper for keeper in keepers for each in keeper.pets if each is being]
        being.incoming = len(being.liked) + len(being.keepers)
        being.incoming += sum(being is each for other in beings for each in other.rivals)
        being.incoming += sum(being is each for keeper in keepers for each in keeper.best.values())
    return {Being: beings, Keeper: keepers}


def filled(store: objstore.Store, plain: dict[type, list[Any]]) -> None:
    def values(of: Any) -> Any:
        return None if of is None else {"city": of.city, "height": of.height, "floors": of.floors}

    with store.write():
        made: dict[int, Any] = {}
        for each in plain[Being]:
            names = ("id", "name", "age", "weight", "tags", "marks", "notes", "note")
            row = {name: getattr(each, name) for name in names} | {"place": values(each.place)}
            made[id(each)] = store.create(Being, row)
        for each in plain[Keeper]:
            row = {"id": each.id, "name": each.name, "least": each.least, "home": values(each.home)}
            made[id(each)] = keeper = store.create(Keeper, row | {"places": [values(one) for one in each.places]})
            keeper.pets = [made[id(one)] for one in each.pets]
            keeper.best = {key: None if one is None else made[id(one)] for key, one in each.best.items()}
        for each in plain[Being]:
            being = made[id(each)]
            being.owner = None if each.owner is None else made[id(each.owner)]
            being.friends = [made[id(one)] for one in each.friends]
            being.rivals = {made[id(one)] for one in each.rivals}
        for model, each in [(model, each) for model, of in plain.items() for each in of]:
            OBJECTS.setdefault(model, []).append((made[id(each)], each))


OBJECTS: dict[type, list[tuple[Any, Any]]] = {}  # those of the store, and what they are in memory


# Paths: an operand, and what it is of an object


ONE = {Being: {"owner": Keeper, "place": Place}, Keeper: {"home": Place}, Place: {}}
MANY = {
    Being: {"friends": Being, "rivals": Being, "liked": Being, "keepers": Keeper},
    Keeper: {"pets": Being, "best": Being, "places": Place, "owned": Being},
    Place: {},
}
LEAVES = {
    Being: {"name": NAMES, "age": NUMBERS, "weight": REALS},
    Keeper: {"name": NAMES, "least": NUMBERS},
    Place: {"city": CITIES, "height": NUMBERS},
}
COUNTED = {Being: ["tags", "marks", "notes"], Keeper: [], Place: ["floors"]}
SUMMED = {Being: ["marks", "notes"], Keeper: [], Place: ["floors"]}
Env = dict[type, Any]  # of each class the object that a condition is about
Path = tuple[Any, Callable[[Env], list[Any]], bool]  # the operand, the values, may there be many?


def to_one(rng: random.Random, path: Path, model: type, depth: int) -> tuple[Path, type]:
    """Goes on through links that lead to one."""
    operand, of, many = path
    while depth and ONE[model] and rng.random() < 0.5:
        name, target = rng.choice(list(ONE[model].items()))
        operand, of, model, depth = step(rng, operand, model, name), followed(of, name), target, depth - 1
    return (operand, of, many), model


def followed(of: Callable[[Env], list[Any]], name: str) -> Callable[[Env], list[Any]]:
    return lambda env: [None if each is None else getattr(each, name) for each in of(env)]


def flat(of: Callable[[Env], list[Any]], name: str) -> Callable[[Env], list[Any]]:
    def elements(env: Env) -> list[Any]:
        found = []
        for each in of(env):
            values = [] if each is None else getattr(each, name)
            found += values.values() if isinstance(values, dict) else values
        return found

    return elements


def step(rng: random.Random, operand: Any, model: Any, name: str) -> Any:
    """Each way to write it."""
    if operand is model:
        return getattr(model, name)
    way = rng.randrange(3)
    return getattr(operand, name) if way == 0 else operand[getattr(model, name)] if way == 1 else operand[name]


def objects(rng: random.Random, model: type) -> tuple[Path, type]:
    """A collection of objects, or several behind each other."""
    start = model
    path: Path = (model, lambda env: [env[start]], False)
    for _ in range(1 if rng.random() < 0.7 else 2):
        path, model = to_one(rng, path, model, 1)
        if not MANY[model]:
            break
        name, target = rng.choice(list(MANY[model].items()))
        if path[0] is Being and name in ("liked", "keepers") and rng.random() < 0.3:  # without an inverse that says so
            operand = incoming(Being.friends if name == "liked" else Keeper.pets)
        else:
            operand = step(rng, path[0], model, name)
        path, model = (operand, flat(path[1], name), True), target
        if name == "best":  # of a dict the next is a key
            path = (any_(operand), path[1], True)
            break
    return (path, model) if path[2] else objects(rng, start)


def leaf(rng: random.Random, path: Path, model: type, kinds: tuple[type, ...] = (int, float, str)) -> tuple[Path, list]:
    names = [name for name, values in LEAVES[model].items() if isinstance(values[0], kinds)]
    name = rng.choice(names)
    return (step(rng, path[0], model, name), followed(path[1], name), path[2]), LEAVES[model][name]


def value(rng: random.Random, model: type, kinds: tuple[type, ...] = (int, float, str)) -> tuple[Path, list[Any]]:
    """One, of the object itself or through links that lead to one."""
    start = model
    path, model = to_one(rng, (model, lambda env: [env[start]], False), model, 2)
    return leaf(rng, path, model, kinds)


# Conditions


def compared(symbol: str, a: Any, b: Any) -> bool:
    """None equals None and nothing else, and is neither less nor greater."""
    if symbol == "!=":
        return not compared("==", a, b)
    if a is None or b is None:
        return symbol == "==" and a is b
    if not isinstance(a, str):
        a, b = Fraction(a), Fraction(b)
    return bool(SYMBOLS[symbol](a, b))


SYMBOLS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Made = tuple[Any, Callable[[Env], bool]]
QUANTIFIERS: dict[Any, Callable[[Any], bool]] = {
    None: any,
    any_: any,
    all_: all,
    none_: lambda found: not any(found),
}


def asked(rng: random.Random, path: Path, choices: list[Any], around: list[type]) -> Made:
    """Compares what a path leads to."""
    operand, of, many = path
    quantifier = rng.choice(list(QUANTIFIERS)) if many else None
    if quantifier is not None and not repr(operand).startswith("any_("):
        operand = quantifier(operand)
    elif repr(operand).startswith("any_("):
        quantifier = any_
    holds = QUANTIFIERS[quantifier]
    kind = rng.randrange(8)
    if kind == 0 and isinstance(choices[0], str):
        part = rng.choice(["a", "A", "o", ""])
        return operand.contains(part), lambda env: holds([v is not None and part in v for v in of(env)])
    if kind == 6 and isinstance(choices[0], str):
        part = rng.choice(["a", "RO", "É"])
        return operand.starts_with(part, case=False), lambda env: holds(
            [v is not None and v.lower().startswith(part.lower()) for v in of(env)]
        )
    if kind == 7 and isinstance(choices[0], (int, float)):
        computed, constant = rng.choice([operand * 2 - 1, 2 * operand - 1, -(1 - operand * 2)]), rng.choice(NUMBERS)
        return computed > constant, lambda env: holds([v is not None and v * 2 - 1 > constant for v in of(env)])
    if kind == 1:
        chosen = rng.sample(choices, 2)
        return operand.in_(chosen), lambda env: holds([any(compared("==", v, c) for c in chosen) for v in of(env)])
    if kind == 2 and not many:
        low, high = rng.choice(choices), rng.choice(choices)
        return operand.between(low, high), lambda env: all(
            compared(">=", v, low) and compared("<=", v, high) for v in of(env)
        )
    symbol = rng.choice(list(SYMBOLS))
    if kind == 3 and around:  # with something of an object around
        types = (str,) if isinstance(choices[0], str) else (int, float)
        (other, other_of, _), _ = value(rng, rng.choice(around), types)
        return SYMBOLS[symbol](operand, other), lambda env: holds(
            [compared(symbol, v, other_of(env)[0]) for v in of(env)]
        )
    constant = rng.choice(choices)
    return SYMBOLS[symbol](operand, constant), lambda env: holds([compared(symbol, v, constant) for v in of(env)])


def an_object(rng: random.Random, path: Path, target: type) -> Made:
    """Is it this one?"""
    operand, of, _ = path
    is_quantified = repr(operand).startswith("any_(")
    quantifier = any_ if is_quantified else rng.choice(list(QUANTIFIERS))
    if quantifier is not None and not is_quantified:
        operand = quantifier(operand)
    (one, this), (other, that) = rng.choice(OBJECTS[target]), rng.choice(OBJECTS[target])
    holds = QUANTIFIERS[quantifier]
    kind = rng.randrange(3)
    if kind == 0:
        return operand == one, lambda env: holds([each is this for each in of(env)])
    if kind == 1:
        return operand != one, lambda env: holds([each is not this for each in of(env)])
    return operand.in_([one, other]), lambda env: holds([each is this or each is that for each in of(env)])


def aggregated(values: list[Any], name: str) -> Any:
    values = [each for each in values if each is not None]
    if name == "sum":
        return sum(values)
    return (
        None if not values else sum(values) / len(values) if name == "avg" else {"min": min, "max": max}[name](values)
    )


def simple(rng: random.Random, model: type, around: list[type], depth: int) -> Made:
    kind = rng.randrange(8)
    if kind == 0:
        path, choices = value(rng, model)
        return asked(rng, path, choices, around)
    if kind == 1:
        return elements(rng, model, around)
    path, target = objects(rng, model)
    if target is not Place and rng.random() < 0.1:
        return an_object(rng, path, target)
    operand, of, _ = path
    is_quantified = repr(operand).startswith("any_(")
    if depth and kind in (2, 3, 4) and target is not Place and not is_quantified:
        inner, test = condition(rng, target, [each for each in around if each is not target] + [], depth - 1)
        outer = of

        def left(env: Env) -> list[Any]:
            return [each for each in outer(env) if each is not None and test({**env, target: each})]

        operand, of = operand.where(inner), left
    if is_quantified or kind in (2, 5):
        one, model = to_one(rng, (operand, of, True), target, 1)
        found, choices = leaf(rng, one, model)
        return asked(rng, found, choices, around)
    if kind in (3, 6):
        counted = (operand.count, lambda env: [sum(each is not None for each in of(env))], False)
        return asked(rng, counted, [0, 1, 2, 3], around)
    name = rng.choice(["sum", "min", "max", "avg"])
    start: Path = (target, lambda env: [env[target]], False)
    (member, member_of, _), choices = leaf(rng, *to_one(rng, start, target, 1), (int, float))
    total = (
        getattr(operand, name)(member),
        lambda env: [aggregated([member_of({target: each})[0] for each in of(env) if each is not None], name)],
        False,
    )
    return asked(rng, total, [*NUMBERS, 0.5, None], around)


def elements(rng: random.Random, model: type, around: list[type]) -> Made:
    """Lists, sets and dicts of single values, and values of any type."""
    if model is not Being:
        (operand, of, _), at = to_one(rng, (model, lambda env: [env[model]], False), model, 1)
        if at is not Place:
            return elements_of_one(rng, model, around)
        name = "floors"
        operand, values = step(rng, operand, at, name), flat(of, name)
        if rng.random() < 0.5:
            return asked(rng, (operand, values, True), NUMBERS, around)
        total = rng.choice(["sum", "min", "max"])
        return asked(
            rng, (getattr(operand, total)(), lambda env: [aggregated(values(env), total)], False), [*NUMBERS], around
        )
    kind = rng.randrange(9)
    being = lambda env: env[Being]
    if kind == 0 and rng.random() < 0.3:
        return asked(rng, (Being.tags.length, lambda env: list(map(len, being(env).tags)), True), [0, 1, 2], around)
    if kind == 0:
        return asked(rng, (Being.tags, lambda env: being(env).tags, True), NAMES, around)
    if kind == 1:
        at = rng.choice([0, 1, -1, -2, 5])
        one = lambda env: [(being(env).tags[at:] or [None])[0] if -len(being(env).tags) <= at else None]
        return asked(rng, (Being.tags[at], one, False), [*NAMES, None], around)
    if kind == 2:
        key = rng.choice(NAMES)
        return asked(rng, (Being.notes[key], lambda env: [being(env).notes.get(key)], False), [*NUMBERS, None], around)
    if kind == 3:
        return asked(rng, (Being.notes.keys, lambda env: list(being(env).notes), True), NAMES, around)
    if kind == 4:
        operand = rng.choice([Being.notes, Being.notes.values])
        return asked(rng, (operand, lambda env: list(being(env).notes.values()), True), NUMBERS, around)
    if kind == 5:
        name = rng.choice(COUNTED[Being])
        counted = (getattr(Being, name).count, lambda env: [len(getattr(being(env), name))], False)
        return asked(rng, counted, [0, 1, 2, 3], around)
    if kind == 6:
        name, total = rng.choice(SUMMED[Being]), rng.choice(["sum", "min", "max", "avg"])
        summed = getattr(getattr(Being, name), total)()
        numbers = lambda env: [v for v in flat(lambda env: [being(env)], name)(env)]
        return asked(rng, (summed, lambda env: [aggregated(numbers(env), total)], False), [*NUMBERS, None], around)
    if kind == 7:
        wanted = rng.sample(list(TYPES), 2)
        if rng.random() < 0.5:
            return Being.note.type.in_(wanted), lambda env: type(being(env).note) in [TYPES[name] for name in wanted]
        return Being.note.type != wanted[0], lambda env: type(being(env).note) is not TYPES[wanted[0]]
    whole = [rng.choice(NAMES) for _ in range(rng.randrange(3))]
    return Being.tags == whole, lambda env: being(env).tags == whole


TYPES = {"string": str, "int": int, "double": float, "bool": bool, "binary": bytes, "list": list, "object": dict}


def elements_of_one(rng: random.Random, model: type, around: list[type]) -> Made:
    return asked(rng, *value(rng, model), around)


def condition(rng: random.Random, model: type, around: list[type], depth: int) -> Made:
    kind = rng.randrange(4 if depth else 1)
    if kind < 2:
        return simple(rng, model, [*around, model], depth)
    made, test = condition(rng, model, around, depth - 1)
    if rng.random() < 0.3:
        return ~made, lambda env: not test(env)
    other, other_test = condition(rng, model, around, depth - 1)
    if kind == 2:
        return made & other, lambda env: test(env) and other_test(env)
    return made | other, lambda env: test(env) or other_test(env)


@pytest.mark.parametrize("seed", range(8))
def test_random_paths(store, seed):
    print("seed", seed)
    rng = random.Random(seed)
    plain = data(rng)
    OBJECTS.clear()
    filled(store, plain)
    found_some = 0
    for turn in range(100):
        model = rng.choice([Being, Keeper])
        made, test = condition(rng, model, [], 2)
        wanted = [each.id for each in plain[model] if test({model: each})]
        results = store.objects(model).where(made)
        assert [each.id for each in results] == wanted, (seed, turn, made)
        assert store.objects(model).where(made).count() == len(wanted), (seed, turn, made)
        try:
            text = results.query_text()
        except objstore.NotSupported:  # the language has no form for it
            continue
        again = store.objects(model).filter(text)
        assert [each.id for each in again] == wanted and again.query_text() == text, (seed, turn, text)
        found_some += 0 < len(wanted) < len(plain[model])
    assert found_some > 40  # or the conditions say nothing
    for being in plain[Being]:
        n = being.incoming
        assert store.get(Being, being.id) in store.objects(Being).where(incoming(Being).count == n)
