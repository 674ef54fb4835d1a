"""The store that a program opens without naming a file."""

import os
from collections.abc import Iterable
from typing import Any

from ..models.model import ModelMeta
from ..stores.store import Store
from .open import open

PATH = "default.objstore"
_arguments: dict[str, Any] = {"path": PATH, "models": ()}


def set_default(
    path: "str | os.PathLike[str] | None" = None,
    *,
    memory: str | None = None,
    models: Iterable[ModelMeta],
    **options: Any,
) -> None:
    """What default_store() opens from now on, in all threads: the arguments of open(). Neither path nor memory: the
    file default.objstore in the current directory. Stores that are open stay as they are."""
    global _arguments
    if path is None and memory is None:
        path = PATH
    _arguments = {"path": path, "memory": memory, "models": list(models), **options}


def default_store() -> Store:
    """Opens the default store, as open() does what set_default() was given: each call gives a Store of its own, to be
    closed; of one file they are one store. Before set_default(): default.objstore in the current directory, without
    models."""
    return open(**_arguments)
