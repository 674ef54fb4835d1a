"""The generator: the same for the same seed, and its queries are understood."""

from __future__ import annotations

import json
import random

import pytest

from queries.data import load, scalar
from queries.generate import answered, generate
from queries.nodes import Literal
from queries.pools import SCALAR_KINDS, pool, to_json, to_text
from queries.syntax import parse_constant
from queries.values import compare


def test_same_seed_same_output() -> None:
    """A seed is all that is needed to find a failure again."""
    assert json.dumps(generate(7, 20, 0.1)) == json.dumps(generate(7, 20, 0.1))


@pytest.mark.parametrize("seed", range(5))
def test_output_can_be_read_back(seed: int) -> None:
    """What is printed is enough to get the same answers."""
    document = json.loads(json.dumps(generate(seed, 20, 0.1)))
    data = load(document["dataset"])
    for query in document["queries"]:
        answer = answered(data, query["table"], query["query"], query["args"])
        assert answer == {key: query[key] for key in answer}


@pytest.mark.parametrize("kind", SCALAR_KINDS)
def test_values_survive_both_spellings(kind: str) -> None:
    """What is written as JSON and as text is read as the same value."""
    rng = random.Random(1)
    for value in pool(kind, True, True):
        written = to_json(value)
        assert (scalar(written, kind) if isinstance(written, dict) else written) == value
        literal = parse_constant(to_text(value, rng))
        assert isinstance(literal, Literal)
        assert compare(literal.value, value) == 0
