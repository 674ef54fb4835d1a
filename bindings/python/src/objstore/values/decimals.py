"""Decimals as a store keeps them: decimal128 of IEEE 754-2008 in the binary encoding, 128 bits as one number."""

from decimal import Decimal

LARGEST = 10**34 - 1
_BIAS, _GREATEST = 6176, 12287
_INFINITY, _NAN, _SNAN = 0x78 << 120, 0x7C << 120, 0x7E << 120
_COEFFICIENT = (1 << 113) - 1
ZERO = Decimal(0)


def bits(value: Decimal) -> int | None:
    """The bits of a number; None where it is not exactly a decimal128. The zeros at its end stay, as far as there is
    room: 1.00 is not 1.0."""
    sign, digits, exponent = value.as_tuple()
    top = sign << 127
    if isinstance(exponent, str):
        if digits and digits != (0,):
            return None  # a NaN that says something
        return top | {"F": _INFINITY, "n": _NAN, "N": _SNAN}[exponent]
    if len(digits) > 4000:  # of which Python makes no int
        if any(digits[34:]):
            return None
        digits, exponent = digits[:34], exponent + len(digits) - 34
    coefficient = int("".join(map(str, digits)) or "0")
    stored = exponent + _BIAS
    if coefficient == 0:
        return top | min(max(stored, 0), _GREATEST) << 113
    if coefficient > LARGEST or stored < 0:
        text = str(coefficient)
        surplus = max(len(text) - 34, -stored)
        if surplus > len(text) - len(text.rstrip("0")):
            return None
        coefficient //= 10**surplus
        stored += surplus
    if stored > _GREATEST:
        missing = stored - _GREATEST
        if missing > 34 or coefficient * 10**missing > LARGEST:
            return None
        coefficient *= 10**missing
        stored = _GREATEST
    return top | stored << 113 | coefficient


def from_bits(number: int) -> Decimal:
    sign, kind = number >> 127, number >> 122 & 31
    if kind >= 30:
        word = "Infinity" if kind == 30 else "sNaN" if number >> 121 & 1 else "NaN"
        return Decimal("-" + word if sign else word)
    if number >> 125 & 3 == 3:
        return Decimal((sign, (0,), (number >> 111 & 0x3FFF) - _BIAS))
    coefficient = number & _COEFFICIENT
    if coefficient > LARGEST:
        coefficient = 0
    return Decimal((sign, tuple(map(int, str(coefficient))), (number >> 113 & 0x3FFF) - _BIAS))
