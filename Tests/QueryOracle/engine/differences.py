"""Where the engine deliberately answers otherwise than the captured library: the oracle's reasons."""

from __future__ import annotations

from queries.differences import DIFFERENCES as ORACLE, SYNTAX as ORACLE_SYNTAX

OLD_DATES = "docs/query-language.md, from Realm: dates before 1900 have a meaning"
BYTES = "docs/query-language.md, from Realm: base64 is a binary, beside mixed values too"

DIFFERENCES: dict[int, str] = {**ORACLE, **dict.fromkeys((467, 514, 515), OLD_DATES), 3409: BYTES}
BEYOND = "docs/query-language.md: what SUBQUERY leaves is added up like other collections"
SYNTAX: dict[str, str] = {
    **ORACLE_SYNTAX,
    **{f"SUBQUERY(items, $x, $x.name == 'Tom').@{aggregate} > 0": BEYOND for aggregate in ("min", "max", "sum", "avg")},
}
