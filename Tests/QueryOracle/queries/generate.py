"""Prints random schemas, objects and queries with the oracle's answers, as JSON."""

from __future__ import annotations

import argparse
import json
import random
import sys
from typing import Any

from .binding import Argument
from .captured import argument
from .data import Database, load
from .errors import QueryError
from .evaluate import run
from .generate_data import DataGenerator
from .generate_queries import QueryGenerator


def generate(seed: int, count: int, refused: float) -> dict[str, Any]:
    """A data set with `count` queries; some share of them must be refused."""
    rng = random.Random(seed)
    generated = DataGenerator(rng).generate()
    database = load(generated.dataset)
    generator = QueryGenerator(rng, generated, database)
    queries: list[dict[str, Any]] = []
    while len(queries) < count:
        class_name = rng.choices(("Person", "Dog", "Zone"), (3, 1, 1))[0]
        wrong = rng.random() < refused
        text = generator.refused(class_name) if wrong else generator.query(class_name)
        answer = answered(database, class_name, text, list(generator.arguments))
        if ("error" in answer) != wrong:
            raise AssertionError(f"seed {seed}: {text} {generator.arguments}: {answer}")
        queries.append({"table": class_name, "query": text, "args": generator.arguments, **answer})
    return {"seed": seed, "dataset": generated.dataset, "queries": queries}


def answered(database: Database, class_name: str, text: str, written: list[Any]) -> dict[str, Any]:
    """What the oracle says: the keys in order, or the error with its position."""
    try:
        arguments: list[Argument] = [argument(database, one) for one in written]
        return {"keys": run(database, class_name, text, arguments)}
    except QueryError as error:
        return {"error": {"position": error.position, "expected": error.expected, "found": error.found}}


def main() -> int:
    """Generate by the command line's wishes; the seed is printed to standard error too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--refused", type=float, default=0.05, help="share of queries that must be errors")
    options = parser.parse_args()
    seed: int | None = options.seed
    if seed is None:
        seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}", file=sys.stderr)
    json.dump(generate(seed, options.queries, options.refused), sys.stdout, ensure_ascii=False)
    print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
