"""Words of messages: articles ("a Dog", "an Item"), and values."""

import re

_SOUNDS_LIKE_A_VOWEL = re.compile(r"(?!eu|one|u(?:s[ei]|ni|u))[aeiou]|hour|honest|heir", re.IGNORECASE)


def a(name: str) -> str:
    """A name of a class or type with its indefinite article."""
    return f"{'an' if _SOUNDS_LIKE_A_VOWEL.match(name) else 'a'} {name}"


def shown(value: object) -> str:
    """As repr() has it; Python writes no int of thousands of digits."""
    try:
        return repr(value)
    except ValueError:
        return (
            f"an int of {value.bit_length()} bits"
            if isinstance(value, int)
            else f"{a(type(value).__name__)} with an int of many digits"
        )
    except NotImplementedError:  # of Pandas, for a time that no other datetime can say
        return f"{a(type(value).__name__)} that cannot be shown"
