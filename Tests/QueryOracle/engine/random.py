"""Asks the engine random queries and compares its answers with the oracle's."""

from __future__ import annotations

import argparse
import random
import time

from .generated import run_generated
from .library import Library
from .report import Tally
from .scalars import Wishes, run_rounds


def main() -> int:
    """Ask by the command line's wishes; 0 where nothing differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument(
        "--scalars", action="store_true", help="only of properties of the class itself, in great number"
    )
    parser.add_argument("--objects", type=int, help="how many objects (with --scalars)")
    parser.add_argument("--refused", type=float, default=0.05, help="share of queries that must be errors")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        help="a form of comparison to leave out (with --scalars), such as text",
    )
    parser.add_argument(
        "--all-ways",
        type=float,
        default=1.0,
        help="share of queries that are asked in all ways (with --scalars); the others by one store and version each",
    )
    options = parser.parse_args()
    seed: int | None = options.seed
    if seed is None:
        seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}", flush=True)
    library, tally = Library(), Tally()
    begun = time.process_time()
    if options.scalars:
        wishes = Wishes(options.objects, frozenset(options.without), options.all_ways)
        run_rounds(library, seed, options.queries, tally, wishes)
    else:
        run_generated(library, seed, options.queries, options.refused, tally)
    print("\n".join(tally.lines(time.process_time() - begun)))
    return 1 if tally.differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
