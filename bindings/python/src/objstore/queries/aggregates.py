"""Sum, minimum, maximum and average of results.

Of a whole class the library computes them. Of a part they are computed here, from the one column that is read.
"""

from typing import TYPE_CHECKING, Any

from ..errors import NotSupported, OutOfRange, WrongType, about
from ..native import ffi
from ..native.failures import check
from ..reading import packed_rows
from ..values.c_values import give_back, take
from ..values.columns import property_ids
from ..values.kinds import DECIMAL, DOUBLE, FLOAT, INT, LARGEST, OBJECT_ID, SMALLEST, TIMESTAMP, UUID

if TYPE_CHECKING:
    from ..models.properties import Property
    from .results import Results


_aggregate = ffi.bind("objstore_aggregate")

KINDS = {"sum": 1, "min": 2, "max": 3, "avg": 4}


def aggregate(results: "Results[Any]", name: str, prop: "Property") -> Any:
    adds = name in ("sum", "avg")
    if adds and prop.kind == DECIMAL:
        raise about(
            NotSupported,
            prop,
            f"{prop.path}: the {name} of a Decimal is of a later version: sum(obj.{prop.name} for obj in …)",
        )
    allowed = (INT, FLOAT, DOUBLE) if adds else (INT, FLOAT, DOUBLE, DECIMAL, TIMESTAMP, OBJECT_ID, UUID)
    if prop.kind not in allowed or prop.enum is not None:
        raise about(WrongType, prop, f"{prop.path}: there is no {name} of {prop.type_name}")
    if results._condition is not None:
        return _of_part(results, name, prop)
    binding = results._binding
    view = results._source._reader()  # kept during the call: another thread may move on meanwhile
    s = take()
    check(_aggregate(view.handle, binding.class_id, binding.ids[prop.index], KINDS[name], s.values.address))
    value = s.values.get(prop)
    give_back(s)
    return value


def _of_part(results: "Results[Any]", name: str, prop: "Property") -> Any:
    _view, evaluation = results._evaluate()
    rows = packed_rows.read(evaluation.handle, 0, evaluation.count, property_ids([results._binding.ids[prop.index]]), 1)
    values = [v for v in rows.column(0, prop) if v is not None]
    if name == "sum":
        return _sum(prop, values)
    if name == "avg":
        return float(sum(values)) / len(values) if values else None  # of ints exact: the sum may be over 64 bits
    # NaN is skipped; a signaling one cannot even be compared with itself
    comparable = [v for v in values if not v.is_nan()] if prop.kind == DECIMAL else [v for v in values if v == v]
    return (min if name == "min" else max)(comparable) if comparable else None


def _sum(prop: "Property", values: list[Any]) -> Any:
    if prop.kind == DOUBLE or prop.kind == FLOAT:
        return float(sum(values))
    total = sum(values)
    if SMALLEST <= total <= LARGEST:
        return total
    raise about(OutOfRange, prop, f"{prop.path}: the sum {total} does not fit 64 bits")
