"""The constructors of model classes."""

import functools
from collections.abc import Callable
from typing import Any

from ..errors import InvalidArgument, MissingValue, about
from ..objects import state
from ..values import kinds
from ..values.kinds import MISSING


def constructor(cls: Any) -> Callable[..., None]:
    """An __init__ of keyword arguments, written out like a dataclass's: 100,000 objects take 40 ms.

    Its parameters are called like the properties, and so hide what else has that name, be it type or self. Everything
    that it uses therefore begins with _o_, which no property does."""
    scope: dict[str, Any] = {
        "_o_type": type,
        "_o_loose": state.LOOSE,
        "_o_class": cls,
        "_o_start_derived": _start_derived,
    }
    parameters, lines = [], []
    for prop in cls._objstore_properties:
        p = f"_o_p{prop.index}"
        scope |= {p: prop, f"{p}_type": prop.python_type, f"{p}_default": MISSING}
        is_made = prop.default_factory is not MISSING
        usual = prop.default if prop.default is not MISSING else None if prop.nullable and not is_made else MISSING
        scope[f"{p}_default"] = usual
        parameters.append(f"{prop.name}={p}_default")
        if prop.shape is not None:
            empty = f"{p}.made" if is_made else f"{p}_type"
            lines.append(f"  {prop.name} = {empty}() if {prop.name} is {p}_default else {p}.given({prop.name})")
            continue
        # A value of exactly the right type is taken as it is. Not a datetime, which may have no time zone, and the
        # like.
        none = f" and {prop.name} is not None" if prop.nullable else ""
        fits = (
            f"_o_type({prop.name}) is not {p}_type{none}"
            if prop.kind not in kinds.CHECKED
            else f"{prop.name} is not None or not {prop.nullable}"
        )
        begin = "if"
        if is_made:
            lines.append(f"  if {prop.name} is {p}_default: {prop.name} = {p}.made()")
            begin = "elif"
        lines.append(f"  {begin} {fits}: {prop.name} = {p}.given({prop.name})")
    names = ", ".join(p.name for p in cls._objstore_properties)
    star = ", *, " if parameters else ""
    source = (
        f"def __init__(_o_self, /{star}{', '.join(parameters)}):\n" + "\n".join(lines) + "\n"
        f"  if _o_type(_o_self) is not _o_class: return _o_start_derived(_o_self, _o_class, [{names}])\n"
        f"  _o_self._o_values = [{names}]\n  _o_self._o_block = _o_loose\n  _o_self._o_row = 0\n"
    )
    exec(source, scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made


def _must_be_given(prop: Any) -> bool:
    return (
        prop.default is MISSING
        and prop.default_factory is MISSING
        and not prop.nullable
        and prop.shape is None
        and not prop.generated
    )


def _start_derived(obj: Any, base: Any, values: list[Any]) -> None:
    """The rest of a constructor that a derived class with an __init__ of its own called: the object has properties that
    the constructor does not know. They keep what the constructor of another base gave them, or get their defaults."""
    given = {prop.name: value for prop, value in zip(base._objstore_properties, values)}
    earlier = getattr(obj, "_o_values", None)
    completed = []
    for prop in type(obj)._objstore_properties:
        if prop.name not in given and earlier is not None:
            completed.append(earlier[prop.index])
        elif prop.name not in given and _must_be_given(prop):
            raise about(
                MissingValue,
                prop,
                f"{prop.path} has no default, and {base.__qualname__}.__init__() does not take it: give it a default, "
                "or call objstore.Model.__init__(self, …) with the values of all properties",
            )
        else:
            completed.append(prop.given(given.get(prop.name, MISSING)))
    state.start(obj, completed)


def checked(cls: type, own: Any) -> Any:
    """The constructor of a class that has its own: without that of Model there are no values to set or to read."""

    @functools.wraps(own)
    def __init__(self: Any, /, *positional: Any, **named: Any) -> None:
        try:
            own(self, *positional, **named)
        except AttributeError as error:
            if error.name not in state.Slots.__slots__ or hasattr(self, "_o_block"):
                raise
        if not hasattr(self, "_o_block"):
            raise InvalidArgument(
                f"{cls.__name__}.__init__ has to call super().__init__(…), with the values, before it does anything "
                "else"
            )

    return __init__
