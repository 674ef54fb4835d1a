"""Orders of texts and numbers of all lengths, in whole leaves, with holes and in lists, against sorted()."""

import random

import pytest

import objstore
from objstore import List, Model, desc, field

# Around what a sort looks at first, what an address has room for, and what lies outside of a segment.
LENGTHS = [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 72, 100, 4096, 4097, 65534, 65535, 65536, 70000]


class Word(Model):
    id: int = field(primary_key=True)
    text: str | None
    raw: bytes | None
    number: int | None
    real: float | None
    few: int | None


class Shelf(Model):
    words: List[Word]


def texts(dice: random.Random) -> list[str | None]:
    long = ["x" * length + tail for length in LENGTHS for tail in ("", "a", "b", "\0")]
    odd = ["\0", "\0\0", "\0a", "ä", "äb", "zz", "\U0001f600", "\ue000", "\x7f", "\x80", "xxxxxxxx\0", "xxxxxxx"]
    short = ["".join(dice.choices("abc", k=dice.randrange(12))) for _ in range(5000)]
    return [*long, *odd, *long[::3], *short, *(None for _ in range(40))]


def numbers(dice: random.Random) -> int | None:
    return dice.choice([None, -(2**63), 2**63 - 1, 0, dice.randrange(-5, 5), dice.getrandbits(63)])


def reals(dice: random.Random) -> float | None:
    return dice.choice([None, 0.0, -0.0, float("inf"), float("-inf"), dice.uniform(-9, 9), 5e-324])


def few(dice: random.Random) -> int | None:
    return dice.choice([None, *(256 * number for number in range(-3, 9))])


@pytest.mark.parametrize("seed", range(3))
def test_orders(seed: int) -> None:
    dice = random.Random(seed)
    words = texts(dice)
    dice.shuffle(words)
    with objstore.open(memory="orders", models=[Word, Shelf]) as store:
        with store.write():
            for number, text in enumerate(words):
                raw = None if text is None else text.encode()[::-1]
                store.add(Word(id=number, text=text, raw=raw, number=numbers(dice), real=reals(dice), few=few(dice)))
        check(store, dice)
        with store.write():
            for word in dice.sample(list(store.objects(Word)), 500):
                store.delete(word)
            check(store, dice)  # pages of the write
        check(store, dice)
        store.compact()
        check(store, dice)


def check(store: objstore.Store, dice: random.Random) -> None:
    rows = [(w.id, w.text, w.raw, w.number, w.real, w.few) for w in store.objects(Word)]
    keys = {
        Word.text: lambda row: (row[1] is not None, (row[1] or "").encode()),
        Word.raw: lambda row: (row[2] is not None, row[2] or b""),
        Word.number: lambda row: (row[3] is not None, row[3] or 0),
        Word.real: lambda row: (row[4] is not None, row[4] or 0.0),
        Word.few: lambda row: (row[5] is not None, row[5] or 0),
    }
    for first, key in keys.items():
        ordered = sorted(rows, key=key)
        assert [w.id for w in store.objects(Word).order_by(first)] == [row[0] for row in ordered]
        assert [w.id for w in store.objects(Word).order_by(first).limit(60)] == [row[0] for row in ordered[:60]]
        turned = sorted(rows, key=key, reverse=True)
        # A reversed sort() keeps the order of what is equal, and so does this one.
        assert [w.id for w in store.objects(Word).order_by(desc(first))] == [row[0] for row in turned]
        second, other = dice.choice(list(keys.items()))
        both = sorted(sorted(rows, key=other, reverse=True), key=key)
        assert [w.id for w in store.objects(Word).order_by(first, desc(second))] == [row[0] for row in both]
        some = sorted((row for row in rows if row[0] % 3), key=key)
        few = store.objects(Word).where(Word.id.in_([row[0] for row in rows if row[0] % 3])).order_by(first)
        assert [w.id for w in few] == [row[0] for row in some]


def test_orders_of_a_list() -> None:
    dice = random.Random(4)
    with objstore.open(memory="orders_of_a_list", models=[Word, Shelf]) as store, store.write():
        words = [
            store.add(Word(id=number, text=text, raw=None, number=numbers(dice), real=reals(dice), few=few(dice)))
            for number, text in enumerate(texts(dice))
        ]
        shelf = store.add(Shelf(words=dice.choices(words, k=7000)))
        rows = [(w.id, w.text) for w in shelf.words]
        ordered = sorted(rows, key=lambda row: (row[1] is not None, (row[1] or "").encode()))
        assert [w.id for w in shelf.words.order_by(Word.text)] == [row[0] for row in ordered]
        firsts = list(dict.fromkeys(row[1] for row in rows))
        assert [w.text for w in shelf.words.distinct(Word.text)] == firsts


@pytest.mark.parametrize("seed", [1, 2])
def test_the_first_of_many_texts(seed: int) -> None:
    """Of whole leaves of short texts hardly any is looked at: neither those that come first, nor the last of a part."""
    dice = random.Random(seed)
    words = ["".join(dice.choices("ab\0", k=dice.randrange(14))) for _ in range(9000)]
    words[::500] = ["".join(dice.choices("yz", k=dice.randrange(9, 40))) for _ in words[::500]]
    with objstore.open(memory="many_texts", models=[Word]) as store:
        with store.write():
            store.create_all(Word, [{"id": i, "text": word} for i, word in enumerate(words)])
        for added in (90_001, 90_000):
            rows = [(word.text or "", word.id) for word in store.objects(Word)]
            ordered = sorted(rows, key=lambda row: row[0])
            turned = sorted(rows, key=lambda row: row[0], reverse=True)
            for limit in (1, 2, 7, 100, 1000):
                first = store.objects(Word).order_by(Word.text).limit(limit)
                assert [word.id for word in first] == [row[1] for row in ordered[:limit]]
                last = store.objects(Word).order_by(desc(Word.text)).limit(limit)
                assert [word.id for word in last] == [row[1] for row in turned[:limit]]
            # With holes, and one that is added to the last part.
            with store.write():
                store.objects(Word).where(Word.id < 3).delete()
                store.create(Word, {"id": added, "text": ""})


def test_where_an_object_is() -> None:
    with objstore.open(memory="places", models=[Word, Shelf]) as store, store.write():
        for number in range(300):
            store.add(Word(id=number, text=f"{number * 7 % 300:03}", number=number % 5))
        words, turned = store.objects(Word), store.objects(Word).order_by(desc(Word.text))
        few = store.objects(Word).where(Word.number == 3)
        shelf = store.add(Shelf(words=[words[5], words[2], words[5], words[9]]))
        for results in (words, turned, few, turned.limit(7), shelf.words.where(Word.id < 9), words.where(Word.id < 0)):
            found = list(results)
            for word in words:
                if word in found:
                    assert results.index(word) == found.index(word) and word in results
                    assert results[results.index(word)] == word
                else:
                    with pytest.raises(ValueError, match="not among the results"):
                        results.index(word)
                    assert word not in results
        gone = turned[3]
        store.delete(gone)
        with pytest.raises(ValueError, match="deleted or closed.* is not among"):
            turned.index(gone)
        with pytest.raises(ValueError, match="not among"):
            turned.index(Word(id=5))
        with pytest.raises(ValueError, match="not among"):
            turned.index(shelf)  # type: ignore[arg-type]
