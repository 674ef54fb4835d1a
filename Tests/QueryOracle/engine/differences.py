"""Where the engine deliberately answers otherwise than the captured library: the oracle's reasons."""

from __future__ import annotations

from queries.differences import DIFFERENCES as ORACLE, SYNTAX as ORACLE_SYNTAX

DIFFERENCES: dict[int, str] = dict(ORACLE)
SYNTAX: dict[str, str] = dict(ORACLE_SYNTAX)
