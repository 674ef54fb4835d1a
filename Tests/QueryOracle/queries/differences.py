"""Where the documented meaning deliberately differs from the captured library, case by case."""

from __future__ import annotations

LOST = "the data set's dates are whole milliseconds; the captured objects had nanoseconds"
NULL_TEXT = "QUERIES.md, Meaning: string operators are false where a side is null"
NULL_ORDER = "QUERIES.md, Meaning: < <= > >= are false where a side is null"
ALL_EMPTY = "QUERIES.md, Meaning: ALL and NONE hold on nothing"
ALL_FLAT = (
    "QUERIES.md, Meaning: `ALL p` is `NONE NOT p`, over all values the path reaches; the library asked for "
    "one list whose elements all fit"
)
TWO_LISTS = "QUERIES.md, Meaning: two collections on both sides are defined; the library has not implemented it"
NO_VALUE = "QUERIES.md, Meaning: a constant that no value can equal makes the condition empty, not an error"
TYPES = "F99 and QUERIES.md, Meaning: a constant of another family is an error; a text is never read as an int"

NO_CONDITION = "docs/query-language.md: a text without a condition is about all objects"
SYNTAX: dict[str, str] = dict.fromkeys(("SORT(p ASCENDING)", "distinct(p)"), NO_CONDITION)

DIFFERENCES: dict[int, str] = {
    **dict.fromkeys((9, 10, 462, 509, 689), LOST),
    **dict.fromkeys((422, 423, 424, 426, 436, 551, 552, 553, 554, 555, 556, 557, 558, 588), NULL_TEXT),
    3311: NULL_ORDER,
    4333: ALL_EMPTY,
    1057: ALL_FLAT,
    **dict.fromkeys((1062, 1063, 1064), TWO_LISTS),
    **dict.fromkeys((3121, 3122, 3130), NO_VALUE),
    3184: TYPES,
}
