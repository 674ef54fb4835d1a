"""Arithmetic and aggregates of numbers."""

from __future__ import annotations

import math
from decimal import Decimal

from .values import (
    DECIMAL128,
    INT_MAX,
    INT_MIN,
    Float32,
    Number,
    Numeric,
    Timestamp,
    Value,
    is_nan,
    number_as_decimal,
    order,
    settle,
    to_float32,
)


def calculate(operator: str, left: Value, right: Value) -> Value:
    """`left operator right`: null where a side is no number; decimals beat floats, floats beat ints."""
    if not isinstance(left, (int, Float32, float, Decimal, Number)) or isinstance(left, bool):
        return None
    if not isinstance(right, (int, Float32, float, Decimal, Number)) or isinstance(right, bool):
        return None
    if isinstance(left, Number):
        left = settle(left, right)
    if isinstance(right, Number):
        right = settle(right, left)
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return calculate_decimals(operator, as_decimal(left), as_decimal(right))
    if isinstance(left, int) and isinstance(right, int):
        return calculate_ints(operator, left, right)
    return calculate_floats(operator, as_float(left), as_float(right))


def as_decimal(value: Numeric) -> Decimal:
    """A number as a decimal; a float by the shortest digits that stand for it."""
    if isinstance(value, Number):
        return number_as_decimal(value)
    if isinstance(value, Float32):
        return DECIMAL128.create_decimal(shortest(value))
    if isinstance(value, float):
        return DECIMAL128.create_decimal(repr(value))
    return DECIMAL128.create_decimal(value)


def shortest(value: Float32) -> str:
    """The fewest digits that give this single precision number."""
    for digits in range(1, 10):
        text = f"{value.value:.{digits}g}"
        if to_float32(float(text)) == value.value:
            return text
    return repr(value.value)


def as_float(value: Numeric) -> float:
    """A number as a double."""
    if isinstance(value, Number):
        return float(value.text)
    return value.value if isinstance(value, Float32) else float(value)


def in_range(value: int) -> int | None:
    """An integer result; null where it leaves 64 bits."""
    return value if INT_MIN <= value <= INT_MAX else None


def calculate_ints(operator: str, left: int, right: int) -> Value:
    """Integers: division cuts the fraction off, by zero it is null."""
    if operator == "+":
        return in_range(left + right)
    if operator == "-":
        return in_range(left - right)
    if operator == "*":
        return in_range(left * right)
    if right == 0:
        return None
    quotient = abs(left) // abs(right)
    return in_range(quotient if (left < 0) == (right < 0) else -quotient)


def calculate_floats(operator: str, left: float, right: float) -> float:
    """Doubles by IEEE 754."""
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if right != 0 or math.isnan(right):
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def calculate_decimals(operator: str, left: Decimal, right: Decimal) -> Decimal:
    """Decimals of 34 digits by IEEE 754."""
    if operator == "+":
        return DECIMAL128.add(left, right)
    if operator == "-":
        return DECIMAL128.subtract(left, right)
    if operator == "*":
        return DECIMAL128.multiply(left, right)
    return DECIMAL128.divide(left, right)


def aggregate(name: str, kind: str, found: list[Value]) -> Value:
    """`@min`, `@max`, `@sum` and `@avg`: nulls do not count, and neither does what is no number."""
    counted = [value for value in found if counts(name, value)]
    if name in ("min", "max"):
        return extreme(name, counted)
    numbers = [value for value in counted if isinstance(value, (int, Float32, float, Decimal))]
    if name == "avg":
        return average(kind, numbers)
    return total(kind, numbers)


def counts(name: str, value: Value) -> bool:
    """Whether a value takes part in an aggregate."""
    if value is None or is_nan(value):
        return False
    if name in ("min", "max"):
        return True
    return isinstance(value, (int, Float32, float, Decimal, Timestamp)) and not isinstance(value, bool)


def extreme(name: str, counted: list[Value]) -> Value:
    """The least or greatest by the order of all values; null where there is none."""
    best: Value = None
    for value in counted:
        if best is None or (order(value, best) < 0 if name == "min" else order(value, best) > 0):
            best = value
    return best


def total(kind: str, numbers: list[int | Float32 | float | Decimal]) -> Value:
    """The sum: of ints an int, of mixed values a decimal; of nothing 0."""
    if kind == "int":
        return in_range(sum(number for number in numbers if isinstance(number, int)))
    if kind in ("decimal128", "mixed"):
        result = Decimal(0)
        for number in numbers:
            result = DECIMAL128.add(result, as_decimal(number))
        return result
    accumulated = 0.0
    for number in numbers:
        accumulated += as_float(number)
    return accumulated


def average(kind: str, numbers: list[int | Float32 | float | Decimal]) -> Value:
    """The mean: of ints a double; of nothing null."""
    if not numbers:
        return None
    if kind == "int":
        return sum(number for number in numbers if isinstance(number, int)) / len(numbers)
    summed = total(kind, numbers)
    if isinstance(summed, Decimal):
        return DECIMAL128.divide(summed, Decimal(len(numbers)))
    return summed / len(numbers) if isinstance(summed, (int, float)) else None
