"""Sum, minimum, maximum and average of results."""

from typing import TYPE_CHECKING, Any

from ..errors import WrongType, about
from ..native import ffi
from ..native.failures import check
from ..reading.views import asked
from ..values.c_values import give_back, take

if TYPE_CHECKING:
    from ..models.properties import Property
    from .results import Results


_aggregate = ffi.bind("objstore_query_aggregate")

KINDS = {"sum": 1, "min": 2, "max": 3, "avg": 4}


def aggregate(results: "Results[Any]", name: str, prop: "Property") -> Any:
    if prop.enum is not None:  # to the library it is an int
        raise about(WrongType, prop, f"{prop.path}: there is no {name} of {prop.type_name}")
    view = results._source._reader()  # kept during the call: another thread may move on meanwhile
    query = results._asked(view)
    s = take()
    property_id = results._binding.ids[prop.index]
    check(asked(query, _aggregate, query.cell, view.handle, property_id, KINDS[name], s.values.address))
    value = s.values.get(prop)
    give_back(s)
    return value
