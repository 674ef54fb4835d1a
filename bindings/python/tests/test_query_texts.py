"""Operators of texts over whole leaves, against regular expressions over the same texts."""

import random
import re

import objstore
from objstore import Model, field


class Page(Model):
    id: int = field(primary_key=True)
    title: str | None
    word: str  # never null


def pattern_of(operator: str, wanted: str) -> str:
    if operator != "LIKE":
        before, behind = {"==": ("", ""), "BEGINSWITH": ("", ".*"), "ENDSWITH": (".*", ""), "CONTAINS": (".*", ".*")}[
            operator
        ]
        return before + re.escape(wanted) + behind
    parts = re.findall(r"\\[*?\\]|.", wanted, re.DOTALL)
    special = {"*": ".*", "?": "."}
    return "".join(special.get(part) or re.escape(part[-1]) for part in parts)


def test_operators_against_regular_expressions() -> None:
    seed = random.randrange(10_000)
    dice = random.Random(seed)
    # K and the long s fold to letters of ASCII.
    alphabets = ["aAbB", "abc \0", "abäÄßk\u212as\u017f", "abcdefghijklmnopqrstuvwxyz"]

    def text(most: int) -> str:
        return "".join(dice.choices(dice.choice(alphabets), k=dice.randrange(most)))

    titles = [None if dice.random() < 0.02 else text(17 if dice.random() < 0.9 else 60) for _ in range(9000)]
    with objstore.open(memory="texts", models=[Page]) as store:
        with store.write():
            store.create_all(Page, [{"id": i, "title": title, "word": title or ""} for i, title in enumerate(titles)])
        pages = store.objects(Page)
        for round in range(250):
            operator = dice.choice(["==", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "LIKE", "LIKE"])
            some = dice.choice([title for title in dice.choices(titles, k=9) if title is not None])
            start = 0 if dice.random() < 0.6 else dice.randrange(len(some) + 1)
            wanted = some[start : start + dice.choice([1, 2, 3, 9, 99])] if dice.random() < 0.8 else text(4)
            if operator == "LIKE":
                wanted = "".join(
                    re.sub(r"[*?\\]", r"\\\g<0>", c) + ("*" if dice.random() < 0.3 else "") for c in wanted
                )
                wanted = "".join("?" if c.isalpha() and dice.random() < 0.1 else c for c in wanted)
            folds = dice.random() < 0.5
            name = dice.choice(["title", "word"])
            question = f"{name} {operator}{'[c]' if folds else ''} $0"
            regex = re.compile(pattern_of(operator, wanted), re.DOTALL | (re.IGNORECASE if folds else 0))
            texts = titles if name == "title" else [title or "" for title in titles]
            expected = [i for i, text in enumerate(texts) if text is not None and regex.fullmatch(text)]
            found = [page.id for page in pages.filter(question, wanted)]
            assert found == expected, (seed, round, question, wanted)
            both = [page.id for page in pages.filter(f"id >= 3000 AND {question}", wanted)]
            assert both == [i for i in expected if i >= 3000], (seed, round, question, wanted)
