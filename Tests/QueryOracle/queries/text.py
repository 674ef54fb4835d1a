"""Strings and binaries: folding of case and diacritics, LIKE, and full text."""

from __future__ import annotations

import unicodedata


def fold_character(character: str) -> str:
    """Simple case folding: one character to one character, where full folding would give more."""
    folded = character.casefold()
    if len(folded) == 1:
        return folded
    lowered = character.lower()
    return lowered if len(lowered) == 1 else character


def fold_case(text: str) -> str:
    """A text as `[c]` sees it."""
    return "".join(fold_character(character) for character in text)


def strip_diacritics(text: str) -> str:
    """A text as `[d]` sees it: decomposed, without the combining marks."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(character for character in decomposed if unicodedata.category(character) != "Mn")


def prepare(value: str | bytes, ignore_case: bool, ignore_diacritics: bool) -> str | bytes:
    """A value as the flags of an operator see it; of a binary only ASCII letters have a case."""
    if isinstance(value, bytes):
        return value.lower() if ignore_case else value
    if ignore_diacritics:
        value = strip_diacritics(value)
    return fold_case(value) if ignore_case else value


def symbols(pattern: str) -> list[tuple[str, bool]]:
    """The characters of a pattern, and whether a backslash took their meaning; before others it is one itself."""
    found: list[tuple[str, bool]] = []
    index = 0
    while index < len(pattern):
        escapes = pattern[index] == "\\" and pattern[index + 1 : index + 2] in ("*", "?", "\\")
        index += escapes
        found.append((pattern[index], escapes))
        index += 1
    return found


def like(text: str, pattern: str) -> bool:
    """Whether the whole text fits a pattern of `?` (one character) and `*` (any number); `\\*` is a star."""
    fits = [True] + [False] * len(text)
    for symbol, literal in symbols(pattern):
        if symbol == "*" and not literal:
            for index in range(1, len(text) + 1):
                fits[index] = fits[index] or fits[index - 1]
            continue
        for index in range(len(text), 0, -1):
            fits[index] = fits[index - 1] and (text[index - 1] == symbol or (symbol == "?" and not literal))
        fits[0] = False
    return fits[len(text)]


def string_operator(operator: str, left: str | bytes, right: str | bytes) -> bool:
    """BEGINSWITH, ENDSWITH, CONTAINS and LIKE; a string and a binary never fit."""
    if isinstance(left, bytes) and isinstance(right, bytes):
        # One character a byte, so that both kinds run through the same code.
        left, right = left.decode("latin-1"), right.decode("latin-1")
    if not isinstance(left, str) or not isinstance(right, str):
        return False
    if operator == "beginswith":
        return left.startswith(right)
    if operator == "endswith":
        return left.endswith(right)
    if operator == "contains":
        return right in left
    return like(left, right)


def is_word_character(character: str) -> bool:
    """A letter or digit of ASCII or Latin-1."""
    return ord(character) < 0x100 and character.isalnum() and character not in "ªº²³¹¼½¾"


def tokens(text: str) -> list[str]:
    """The words of a text as full text search sees them."""
    words: list[str] = []
    word = ""
    for character in text + " ":
        if is_word_character(character):
            word += character
        elif word:
            words.append(fold_case(strip_diacritics(word)))
            word = ""
    return words


def text_matches(text: str, search: str) -> bool:
    """TEXT: every word is there, no word after `-` is, `*` at the end of a word stands for its rest."""
    words = tokens(text)
    for term in search.split():
        excluded = term.startswith("-")
        wanted = tokens(term)
        for index, word in enumerate(wanted):
            is_prefix = term.endswith("*") and index == len(wanted) - 1
            found = any(have.startswith(word) for have in words) if is_prefix else word in words
            if found == excluded:
                return False
    return True
