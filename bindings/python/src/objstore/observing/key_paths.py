"""Key paths: which modifications an observer is told of, as the library reads them.

"age", Dog.age                        that property
"owner.name", Dog.owner.name          the link, and the name of the object behind it
"*", "owner.*"                        every property of the object itself, of its owner
"clubs.name", Dog.clubs.name          of the objects whose links lead here, through an inverse
"""

import ctypes
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import InvalidArgument
from ..messages import shown
from ..models import nodes, roots
from ..models.expressions import Operand
from ..native import ffi

if TYPE_CHECKING:
    from ..schema.bindings import Binding


class KeyPaths:
    """Those of an observer, for a call: an array of texts, or NULL where all modifications count."""

    def __init__(self, binding: "Binding", given: "Iterable[object] | None") -> None:
        self.array: ctypes.Array[ffi.Text] | None = None
        self.count = 0
        if given is None:
            return
        if isinstance(given, str):
            raise InvalidArgument(f"keys is a list of properties, such as [{given!r}]")
        if not isinstance(given, Iterable):
            raise InvalidArgument(f"keys is a list of properties, by name or as Dog.age, not {shown(given)}")
        self._texts = [ffi.text(_path(binding, each), "keys") for each in given]
        self.count = len(self._texts)
        self.array = (ffi.Text * max(1, self.count))(*self._texts)


def _path(binding: "Binding", given: object) -> str:
    if isinstance(given, str) and given:
        return given
    model = binding.model
    if isinstance(given, Operand) and all(roots.is_same(root.model, model) for root in given._properties):
        path = nodes.key_path(given._nodes)
        if path is not None:
            return path
    raise InvalidArgument(
        f"keys: a property of {model.__name__} is wanted, or a path that begins with one, not {shown(given)}",
        class_name=model.__name__,
    )
