"""Articles in messages: "a Dog", "an Item"."""

import re

_SOUNDS_LIKE_A_VOWEL = re.compile(r"(?!eu|one|u(?:s[ei]|ni|u))[aeiou]|hour|honest|heir", re.IGNORECASE)


def a(name: str) -> str:
    """A name of a class or type with its indefinite article."""
    return f"{'an' if _SOUNDS_LIKE_A_VOWEL.match(name) else 'a'} {name}"
