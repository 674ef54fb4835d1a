"""Random questions to lists, sets and dicts of plain values: against plain loops, and against the same questions to
objects that have the values in a property."""

import math
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

import pytest

import objstore
from objstore import ObjectId, asc, desc, value

START = datetime(2020, 1, 1, tzinfo=timezone.utc)
NAN = math.nan
POOLS: dict[str, list[Any]] = {
    "bool": [True, False],
    "int": [-(2**63), -7, -1, 0, 1, 2, 3, 5, 8, 2**63 - 1],
    "float": [-math.inf, -2.5, -0.0, 0.0, 0.5, 1.0, 3.0, 1e300, math.inf, NAN],
    "str": ["", "a", "A", "ab", "Anna", "ä", "Äx", "b*", "long text with a common beginning 1", "z\U0001f415"],
    "bytes": [b"", b"a", b"A", b"ab", b"\x00\xff", b"a*"],
    "decimal": [Decimal("-1.5"), Decimal("0"), Decimal("1.0"), Decimal("1.00"), Decimal("2.25"), Decimal("1E+20")],
    "time": [START + timedelta(days=days, microseconds=days) for days in (-9, -1, 0, 1, 400)],
    "uuid": [uuid.UUID(int=number) for number in (0, 1, 2**64, 2**127, 2**128 - 1)],
    "oid": [ObjectId(f"{number:024x}") for number in (0, 1, 2**90, 2**95)],
    "any": [True, False, 1, 2, 1.0, 2.5, Decimal("2.50"), "a", "b", b"a", START, NAN, uuid.UUID(int=5)],
}
TYPES = {
    "bool": bool, "int": int, "float": float, "str": str, "bytes": bytes, "decimal": Decimal, "time": datetime,
    "uuid": uuid.UUID, "oid": ObjectId, "any": Any,
}  # fmt: skip
ORDERED = {"bool", "int", "float", "str", "decimal", "time", "uuid", "oid", "any"}
NUMBERS = {"int", "float", "decimal"}
TEXTS = {"str", "bytes"}
FAMILIES = [bool, (int, float, Decimal), (str, bytes), datetime, ObjectId, uuid.UUID]


def nullable(kind: str) -> Any:
    return Any if kind == "any" else TYPES[kind] | None


def _models() -> tuple[type, type]:
    owner: dict[str, Any] = {"__module__": __name__, "__annotations__": {}}
    cell: dict[str, Any] = {"__module__": __name__, "__annotations__": {"number": int}}
    for kind in POOLS:
        owner["__annotations__"] |= {
            f"{kind}_list": list[nullable(kind)],
            f"{kind}_set": set[TYPES[kind]],
            f"{kind}_dict": dict[str, nullable(kind)],
        }
        cell["__annotations__"][f"{kind}_value"] = nullable(kind)
    return type("Owner", (objstore.Model,), owner), type("Cell", (objstore.Model,), cell)


Owner, Cell = _models()


@pytest.fixture(scope="module")
def store() -> Iterator[objstore.Store]:
    with objstore.open(memory="", models=[Owner, Cell]) as opened:
        yield opened


# The meaning, as plain as it can be


def family(each: Any) -> int:
    return next(number for number, types in enumerate(FAMILIES) if isinstance(each, types))


def is_nan(each: Any) -> bool:
    return isinstance(each, float) and math.isnan(each)


def plain(each: Any) -> Any:
    """What is compared: numbers exactly, texts and times by their bytes."""
    return each.encode() if isinstance(each, str) else str(each) if isinstance(each, ObjectId) else each


def order(a: Any, b: Any) -> int:
    """As SORT has it, ascending."""
    if a is None or b is None:
        return (a is not None) - (b is not None)
    if family(a) != family(b):
        return family(a) - family(b)
    if is_nan(a) or is_nan(b):
        return (not is_nan(a)) - (not is_nan(b))
    x, y = plain(a), plain(b)
    return (x > y) - (x < y)


def holds(sign: str, a: Any, b: Any) -> bool:
    if a is None or b is None or is_nan(a) or is_nan(b):
        same = a is None and b is None
        return same if sign == "==" else not same if sign == "!=" else False
    if family(a) != family(b):
        return sign == "!="
    found = order(a, b)
    return {"==": found == 0, "!=": found != 0, "<": found < 0, "<=": found <= 0, ">": found > 0, ">=": found >= 0}[
        sign
    ]


@dataclass
class Condition:
    """In text, with arguments; as an expression; as a loop."""

    text: str
    arguments: list[Any]
    expression: Any
    test: Callable[[Any], bool]


@dataclass
class Question:
    steps: list[tuple[str, list[Any], Callable[[Any], Any], Callable[[list[Any]], list[Any]]]] = field(
        default_factory=list
    )


def renumbered(text: str, start: int) -> str:
    for number in range(9, -1, -1):
        text = text.replace(f"${number}", f"${number + start}")
    return text


def comparison(rnd: random.Random, kind: str) -> Condition:
    pool = POOLS[kind]
    signs = ["==", "!="] + (["<", "<=", ">", ">="] if kind in ORDERED else [])
    sign, constant = rnd.choice(signs), rnd.choice([*pool, None])
    if sign not in ("==", "!=") and constant is None:
        constant = pool[0]
    made = {
        "==": value == constant,
        "!=": value != constant,
        "<": value < constant,
        "<=": value <= constant,
        ">": value > constant,
        ">=": value >= constant,
    }[sign]
    return Condition(f"@self {sign} $0", [constant], made, lambda each: holds(sign, each, constant))


def member(rnd: random.Random, kind: str) -> Condition:
    some = rnd.choices([*POOLS[kind], None], k=rnd.choice([0, 1, 3, 12]))
    return Condition("@self IN $0", [some], value.in_(some), lambda each: any(holds("==", each, one) for one in some))


def between(rnd: random.Random, kind: str) -> Condition:
    low, high = rnd.choices(POOLS[kind], k=2)
    return Condition(
        "@self BETWEEN $0",
        [[low, high]],
        value.between(low, high),
        lambda each: holds(">=", each, low) and holds("<=", each, high),
    )


def text_test(rnd: random.Random, kind: str) -> Condition:
    part = rnd.choice(POOLS[kind])
    fold = rnd.random() < 0.4 and kind == "str"
    word, method, test = rnd.choice(
        [
            ("BEGINSWITH", "starts_with", lambda a, b: a.startswith(b)),
            ("ENDSWITH", "ends_with", lambda a, b: a.endswith(b)),
            ("CONTAINS", "contains", lambda a, b: b in a),
            ("==", "equals", lambda a, b: a == b),
        ]
    )

    def folded(each: Any) -> Any:
        return each.lower() if fold else each

    mark = "[c]" if fold else ""
    made = getattr(value, method)(part, case=not fold)
    return Condition(
        f"@self {word}{mark} $0",
        [part],
        made,
        lambda each: each is not None and bool(test(folded(each), folded(part))),
    )


def length(rnd: random.Random, kind: str) -> Condition:
    number = rnd.randrange(4)
    return Condition(
        "@self.@count > $0",
        [number],
        value.length > number,
        lambda each: each is not None and len(each) > number,
    )


def arithmetic(rnd: random.Random, kind: str) -> Condition:
    factor, bound = rnd.choice([2, 3, -1]), rnd.choice([-5, 0, 4, 7])

    def test(each: Any) -> bool:
        if each is None:
            return False
        product = each * factor
        if kind == "int":
            product = product + 1
            if not all(-(2**63) <= number < 2**63 for number in (each * factor, product)):
                return False
        else:
            product = product + 1
        return holds("<", product, bound)

    return Condition(f"@self * {factor} + 1 < $0", [bound], value * factor + 1 < bound, test)


def kind_test(rnd: random.Random, kind: str) -> Condition:
    name, types = rnd.choice(
        [("string", str), ("bool", bool), ("numeric", (int, float, Decimal)), ("null", type(None)), ("binary", bytes)]
    )
    return Condition(
        f"@self.@type == '{name}'",
        [],
        value.type == name,
        lambda each: isinstance(each, types) and (name == "bool" or not isinstance(each, bool)),
    )


def condition(rnd: random.Random, kind: str, depth: int = 2) -> Condition:
    if depth and rnd.random() < 0.5:
        if rnd.random() < 0.3:
            inner = condition(rnd, kind, depth - 1)
            return Condition(f"NOT ({inner.text})", inner.arguments, ~inner.expression, lambda e: not inner.test(e))
        a, b = condition(rnd, kind, depth - 1), condition(rnd, kind, depth - 1)
        text = renumbered(b.text, len(a.arguments))
        if rnd.random() < 0.5:
            return Condition(
                f"({a.text}) AND ({text})",
                a.arguments + b.arguments,
                a.expression & b.expression,
                lambda e: a.test(e) and b.test(e),
            )
        return Condition(
            f"({a.text}) OR ({text})",
            a.arguments + b.arguments,
            a.expression | b.expression,
            lambda e: a.test(e) or b.test(e),
        )
    makers = [comparison, member]
    if kind in ORDERED:
        makers.append(between)
    if kind in TEXTS:
        makers += [text_test, length]
    if kind in NUMBERS:
        makers.append(arithmetic)
    if kind == "any":
        makers.append(kind_test)
    return rnd.choice(makers)(rnd, kind)


def step(rnd: random.Random, kind: str) -> Any:
    """A text with its arguments, the same by methods, and as a loop over (place, value)."""
    which = rnd.choice(["filter", "sort", "distinct", "limit", "offset"])
    if which == "filter":
        made = condition(rnd, kind)
        return (
            made.text,
            made.arguments,
            lambda results: results.where(made.expression),
            lambda pairs: [pair for pair in pairs if made.test(pair[1])],
        )
    if which == "sort":
        down = rnd.random() < 0.5
        sign = -1 if down else 1
        return (
            f"SORT(@self {'DESC' if down else 'ASC'})",
            [],
            lambda results: results.order_by(desc(value) if down else asc(value)),
            lambda pairs: sorted(pairs, key=cmp_to_key(lambda a, b: sign * order(a[1], b[1]))),
        )
    if which == "distinct":

        def firsts(pairs: list[Any]) -> list[Any]:
            kept: list[Any] = []
            for pair in pairs:
                if not any(order(pair[1], other[1]) == 0 for other in kept):
                    kept.append(pair)
            return kept

        return "DISTINCT(@self)", [], lambda results: results.distinct(), firsts
    number = rnd.choice([0, 1, 3, 7, 100])
    if which == "limit":
        return f"LIMIT({number})", [], lambda results: results.limit(number), lambda pairs: pairs[:number]
    return f"OFFSET({number})", [], lambda results: results.offset(number), lambda pairs: pairs[number:]


def same(a: list[Any], b: list[Any]) -> bool:
    def exact(each: Any) -> Any:
        return (type(each), str(each) if isinstance(each, (Decimal, float)) else each)

    return [exact(each) for each in a] == [exact(each) for each in b]


@pytest.mark.parametrize("shape", ["list", "set", "dict"])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("seed", range(3))
def test_as_loops(store: objstore.Store, kind: str, shape: str, seed: int) -> None:
    rnd = random.Random(f"{kind} {shape} {seed}")
    name, pool = f"{kind}_{shape}", [*POOLS[kind], None]
    count = rnd.choice([0, 3, 20, 90])
    with store.write():
        owner = store.create(Owner, {})
        if shape == "list":
            getattr(owner, name).extend(rnd.choices(pool, k=count))
        elif shape == "set":
            getattr(owner, name).update(rnd.sample(POOLS[kind], k=min(count, len(POOLS[kind]) - 1)))
        else:
            getattr(owner, name).update({f"k{rnd.randrange(200)}": rnd.choice(pool) for _ in range(count)})
    collection = getattr(owner, name)
    before = list(collection.items()) if shape == "dict" else list(enumerate(collection))
    for _ in range(40):
        pairs, by_text, by_methods = before, collection.elements(), collection.elements()
        texts = []
        for _ in range(rnd.randrange(1, 5)):
            text, arguments, method, loop = step(rnd, kind)
            texts.append((text, arguments))
            pairs, by_text, by_methods = loop(pairs), by_text.filter(text, *arguments), method(by_methods)
        wanted = [each for _, each in pairs]
        for results in (by_text, by_methods):
            assert same(list(results), wanted), texts
            assert results.places() == [place for place, _ in pairs], texts
            assert len(results) == len(wanted)
            assert same([results.first()], wanted[:1] or [None])
            assert same(results[1:3], wanted[1:3])
        aggregates(kind, by_text, wanted)


def aggregates(kind: str, results: Any, found: list[Any]) -> None:
    kept = [each for each in found if each is not None and not is_nan(each)]
    if kind != "bytes":
        smallest = min(kept, key=cmp_to_key(order), default=None)
        largest = max(kept, key=cmp_to_key(order), default=None)
        for mine, theirs in ((results.min(), smallest), (results.max(), largest)):
            assert (mine is None) == (theirs is None) and (mine is None or order(mine, theirs) == 0)
    if kind == "int":
        if -(2**63) <= sum(kept) < 2**63:
            assert results.sum() == sum(kept)
        else:
            with pytest.raises(objstore.OutOfRange):
                results.sum()
        assert results.avg() == (sum(kept) / len(kept) if kept else None)
    if kind == "decimal":
        assert results.sum() == sum(kept)
    if kind in ("str", "bytes", "bool", "time", "uuid"):
        with pytest.raises(objstore.WrongType, match=f"Owner.{kind}_"):
            results.sum()


@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("seed", range(4))
def test_as_a_property(store: objstore.Store, kind: str, seed: int) -> None:
    """What a query of objects finds, of which each has one of the elements."""
    rnd = random.Random(f"property {kind} {seed}")
    elements = rnd.choices([*POOLS[kind], None], k=rnd.choice([1, 40, 300]))
    with store.write():
        store.objects(Cell).delete()
        owner = store.create(Owner, {f"{kind}_list": elements})
        for number, each in enumerate(elements):
            store.create(Cell, {"number": number, f"{kind}_value": each})
    listed, cells = getattr(owner, f"{kind}_list"), store.objects(Cell)
    for _ in range(40):
        by_values, by_objects = listed.elements(), cells
        texts = []
        for _ in range(rnd.randrange(1, 4)):
            text, arguments, _method, _loop = step(rnd, kind)
            texts.append((text, arguments))
            by_values = by_values.filter(text, *arguments)
            by_objects = by_objects.filter(text.replace("@self", f"{kind}_value"), *arguments)
        assert by_values.places() == [cell.number for cell in by_objects], texts
