"""Differences, told with as little as shows them: query, properties, the objects that are wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from queries.binding import Argument
from queries.data import Database

from .variants import Difference

SHOWN = 12


@dataclass
class Tally:
    """What a run has asked and found."""

    queries: int = 0
    asked: int = 0
    refused: int = 0
    not_supported: Counter[str] = field(default_factory=Counter)
    # By what kind of condition it was: how often, and one of them in words.
    differences: dict[str, list[str]] = field(default_factory=dict)

    def differ(self, kind: str, told: str) -> None:
        """One more difference."""
        self.differences.setdefault(kind, []).append(told)

    def count(self) -> int:
        """How many differences there are."""
        return sum(len(told) for told in self.differences.values())

    def lines(self, seconds: float) -> list[str]:
        """The report, the most frequent kinds of differences first."""
        result: list[str] = []
        for kind, told in sorted(self.differences.items(), key=lambda item: -len(item[1])):
            result.append(f"{len(told)} × {kind}\n{min(told, key=len)}\n")
        if self.not_supported:
            result.append(f"not supported: {self.not_supported.total()}")
            result.extend(f"{count:8} {why}" for why, count in self.not_supported.most_common())
        speed = self.queries / seconds if seconds else 0
        result.append(
            f"{self.queries} queries, of which {self.refused} must be refused; asked in {self.asked} ways,"
            f" {self.not_supported.total()} are not supported, {self.count()} differ;"
            f" {seconds:.1f} s of CPU, {speed:.0f} queries/s"
        )
        return result


def told(
    seed: int,
    database: Database,
    class_name: str,
    names: list[str],
    query: str,
    arguments: list[Argument],
    difference: Difference,
) -> str:
    """A difference in words."""
    properties = database.schema.classes[class_name].properties
    lines = [f"seed {seed}: {class_name}: {query}" + (f"  arguments {arguments}" if arguments else "")]
    for name in names:
        found = properties[name]
        described = (
            f"{found.collection + ' of ' if found.collection else ''}{found.kind}{'?' if found.nullable else ''}"
        )
        lines.append(f"    {name}: {described}")
    lines.append(f"    {difference.where}")
    lines.append(f"    expected {shortened(difference.expected)}")
    lines.append(f"    found    {shortened(difference.found)}")
    for key in wrong(difference)[:3]:
        row = database.tables[class_name].get(key)
        if row is not None:
            lines.append(f"    {key}: " + ", ".join(f"{name} = {row.fields[name]!r}" for name in names))
    return "\n".join(lines)


def shortened(found: object) -> str:
    """A list with its beginning only."""
    if isinstance(found, list) and len(found) > SHOWN:
        return f"{found[:SHOWN]} … {len(found)}"
    return str(found)


def wrong(difference: Difference) -> list[int]:
    """The objects that are too much or too little, or stand elsewhere."""
    expected, found = difference.expected, difference.found
    if not isinstance(expected, list) or not isinstance(found, list):
        return []
    apart = sorted(set(expected) ^ set(found))
    return apart or [key for pair in zip(expected, found) if pair[0] != pair[1] for key in pair]
