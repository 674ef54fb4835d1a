"""Asks the atlas from Python: the questions of questions.tsv as texts, and some of them as expressions of Python, too.

    ask.py atlas.objstore <questions.tsv

A line for each: the answer, the microseconds that it took (the fastest of five), the question. ask.c and AskSwift print
the same. Where the question wants it, lines follow that say how it was found.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

from classes import MODELS, City, Country

import objstore
from objstore import Results, Table, any_, desc, group

TIMES = 5

Answer = int | Table
Asked = Callable[[Results[City], Results[Country]], Answer]

EXPRESSIONS: dict[str, Asked] = {
    "cities of over a million people": lambda cities, _: cities.where(City.population > 1_000_000).count(),
    "cities called San …": lambda cities, _: cities.where(City.name.starts_with("San")).count(),
    "cities with burg in their name": lambda cities, _: cities.where(City.name.contains("burg", case=False)).count(),
    "cities that are also called Wien": lambda cities, _: cities.where(any_(City.alternateNames) == "Wien").select(
        City.name
    ),
    "Swiss cities of over 100,000 people": lambda cities, _: cities.where(
        City.country.name == "Switzerland", City.population > 100_000
    ).count(),
    "the ten largest cities": lambda cities, _: cities.order_by(desc(City.population)).limit(10).select(City.name),
    "countries of over 500 cities": lambda _, countries: (
        countries.where(Country.cities.count > 500).order_by(Country.iso).select(Country.iso)
    ),
    "countries of over 100,000,000 people in cities": lambda _, countries: (
        countries.where(Country.cities.sum(City.population) > 100_000_000).order_by(Country.iso).select(Country.iso)
    ),
    "countries with 14 neighbours": lambda _, countries: (
        countries.where(Country.neighbours.count == 14).order_by(Country.iso).select(Country.iso)
    ),
    "countries of each continent": lambda _, countries: (
        countries.group_by(Country.continent).order_by(desc(group.count)).select(Country.continent, group.count)
    ),
    "countries of over 1,000 cities, and how many": lambda cities, _: (
        cities.group_by(City.country)
        .having(group.count > 1000)
        .order_by(desc(group.count))
        .select(City.country.name, group.count)
    ),
}


def ask(question: str, asked: Callable[[], Answer], remark: str = "") -> None:
    fastest = float("inf")
    for _ in range(TIMES):
        begin = time.perf_counter()
        answer = asked()
        if isinstance(answer, Table):
            len(answer)  # it is asked when it is used
        fastest = min(fastest, time.perf_counter() - begin)
    text = answer if isinstance(answer, int) else ", ".join(" ".join(map(str, row)) for row in answer)
    print(text, f"{fastest * 1e6:.0f}", question + remark, sep="\t")


def main(path: str) -> None:
    with objstore.open(path, models=MODELS, mode="read-only") as store:
        cities, countries = store.objects(City), store.objects(Country)
        for line in sys.stdin:
            if line.startswith("#"):
                continue
            question, name, kind, wants_plan, _, text = line.rstrip("\n").split("\t")
            objects: Results[Any] = cities if name == "City" else countries
            if kind == "count":
                ask(question, lambda objects=objects, text=text: objects.filter(text).count())
            else:
                ask(question, lambda objects=objects, text=text: objects.table(text))
            if wants_plan == "plan":
                for step in str(objects.filter(text).explain(run=True)).splitlines():
                    print(f"  {step}")
            if question in EXPRESSIONS:
                ask(question, lambda question=question: EXPRESSIONS[question](cities, countries), "\tas an expression")


if __name__ == "__main__":
    main(sys.argv[1])
