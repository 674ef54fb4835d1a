"""What lies behind an operand: properties of the class that a link leads to, elements, keys, what a condition leaves.

Dog.owner.address.city     ─►  the object, property "owner", property "address", property "city"
Dog.owner[Person.name]         the same, for names that operands have methods for
"""

import difflib
from typing import TYPE_CHECKING, Any

from ..arguments import INT64, whole
from ..errors import InvalidArgument, NoSuchProperty
from ..messages import a, shown
from ..values import constants, kinds
from ..values.constants import ANYTHING
from . import links, nodes, roots

if TYPE_CHECKING:
    from .expressions import Condition, Expression, Operand

# What operands have besides comparisons: the names of these are names of properties where only those can be meant.
NAMES = (
    *("between", "contains", "starts_with", "ends_with", "like", "search", "within", "length"),
    *("count", "sum", "min", "max", "avg", "where", "keys", "values", "type"),
)
METHODS = (*NAMES, "in_", "equals")
_OF_COLLECTIONS = frozenset({"count", "sum", "min", "max", "avg", "where"})


def shape_of(described: Any) -> Any:
    """Of a list, set or dict; None: it is a single value."""
    return getattr(described, "shape", None)


def element_of(described: Any) -> Any:
    """What the elements are of, if it is a list, set or dict."""
    shape = shape_of(described)
    return described if shape is None else shape.element


def is_many(operand: "Operand") -> bool:
    return bool(operand._many) or shape_of(operand._described) is not None


def class_of(operand: "Operand") -> Any:
    """The class that it leads to; None: to none. NoSuchProperty: it is not there yet."""
    target = getattr(operand._described, "target", None)
    if not isinstance(target, links.Later):
        return target
    found = target.newest()
    if found is None:
        raise NoSuchProperty(f"{named(operand)} leads to {target.text}, which is not there yet")
    return found


def named(operand: "Operand") -> str:
    """For messages: Dog.owner, owner.address."""
    described = operand._described
    is_property = operand is described or operand is getattr(described, "attribute", None)
    return str(described.path) if is_property else repr(operand)


def is_dict(operand: "Operand") -> bool:
    shape = shape_of(operand._described)
    return operand._many == OF_DICT if shape is None else shape.kind == kinds.MAP


OF_LIST, OF_DICT = 2, 3  # the elements of a list or set, or of a dict: many, and not taken out of it yet


# Properties


def member(model: Any, name: str) -> Any:
    """What a class has by a name for queries: a property or an inverse; None: nothing."""
    found = getattr(model, name, None)
    described = getattr(type(found), "_is_attribute", False)
    return found if described else None


def is_meant(operand: "Operand", name: str) -> bool:
    """Is a name that operands have a method for that of a property, of the class that is led to?"""
    if name in _OF_COLLECTIONS and is_many(operand):
        return False
    if name in ("keys", "values") and is_dict(operand):
        return False
    target = getattr(operand._described, "target", None)
    model = target.newest() if isinstance(target, links.Later) else target
    return model is not None and member(model, name) is not None


def behind(operand: "Operand", name: str) -> "Expression":
    """A property of what a link, or links, lead to. NoSuchProperty."""
    if name.startswith("__"):  # what Python asks of any object
        raise AttributeError(name)
    model = class_of(operand)
    found = None if model is None else member(model, name)
    if found is None:
        raise _absent(operand, model, name)
    return _through(operand, found, "{}." + name, operand)


def through(operand: "Operand", step: "Operand") -> "Expression":
    """The same, of a property that is given as one of its class: Dog.owner[Person.name]."""
    if nodes.steps(step._nodes) is None:
        raise InvalidArgument(f"{named(operand)}[…] takes a property, an index or a key, not {step!r}")
    _check(operand, step)
    return _through(operand, step, "{}[{}]", operand, step)


def _through(operand: "Operand", step: "Operand", *words: Any) -> "Expression":
    made = nodes.steps(step._nodes)
    assert made is not None
    if is_dict(operand):  # whose keys have names, too
        made = _VALUES + made
    return operand._then(made, step._texts, step._described, is_many(operand) or bool(step._many), *words)


def _check(operand: "Operand", of: "Operand") -> None:
    """InvalidArgument: a property is not of the class that an operand leads to."""
    model = class_of(operand)
    for root in of._properties:
        if model is not None and not roots.is_same(root.model, model):
            raise InvalidArgument(
                f"{named(of)} is of {root.model_name}, and {named(operand)} leads to {model.__name__}"
            )


def _absent(operand: "Operand", model: Any, name: str) -> NoSuchProperty:
    described, path = operand._described, named(operand)
    if model is None:
        near = difflib.get_close_matches(name, METHODS, 1)
        meant = f": did you mean {near[0]}?" if near else ""
        if described is not None and described.kind == kinds.MIXED:
            message = f"what {path} leads to is not known before it is asked: write {path}[{name!r}]"
        elif path == "value" and not operand._properties:  # objstore.value, of mixed elements
            message = f"what an element leads to is not known before it is asked: write value[{name!r}]"
        elif described is None:
            message = f"{path} is computed, and does not have a property {name}{meant}"
        else:
            message = f"{path} is {a(described.type_name)}, which does not have a property {name}{meant}"
        return NoSuchProperty(message, property_name=name)
    has = names(model)
    near = difflib.get_close_matches(name, [*has, *METHODS])
    meant = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(has)}"
    return NoSuchProperty(
        f"{path}.{name}: class {model.__name__} does not have a property {name}: {meant}",
        class_name=model.__name__,
        property_name=name,
    )


def names(model: Any) -> list[str]:
    return [each.name for each in (*model._objstore_properties, *model._objstore_inverses)]


def completions(operand: "Operand") -> list[str]:
    """What may follow, for who types it."""
    target = getattr(operand._described, "target", None)
    model = target.newest() if isinstance(target, links.Later) else target
    return [] if model is None else sorted({*names(model)})


# Elements


def item(operand: "Operand", step: Any) -> "Expression":
    """An element of a list, or by its key of a dict."""
    described, words = operand._described, ("{}[{}]", operand, step)
    shape = shape_of(described)
    if shape is not None and shape.kind == kinds.MAP:
        key, texts = constants.beside(shape.key, step)
        return operand._then(nodes.head(nodes.KEY, 1) + key, texts, shape.element, operand._many, *words)
    if isinstance(step, str):
        if getattr(described, "target", None) is not None:  # of objects a property
            return behind(operand, step)
        key, texts = constants.packed(ANYTHING, step)
        return operand._then(nodes.head(nodes.KEY, 1) + key, texts, described, operand._many, *words)
    if isinstance(step, slice):
        if step != slice(None):
            raise InvalidArgument(f"{named(operand)}[…]: an index, or [:] for every element, not {shown(step)}")
        made = nodes.node(nodes.ELEMENT, 1, nodes.PLACE_EVERY)
        return operand._then(made, (), element_of(described), True, "{}[:]", operand)
    place = whole("the place of an element", step, INT64)
    made = nodes.node(nodes.ELEMENT, 1, nodes.PLACE_AT, number=place)
    return operand._then(made, (), element_of(described), operand._many, *words)


def keys(operand: "Operand") -> "Expression":
    shape = shape_of(operand._described)
    described = shape.key if shape is not None else None
    return operand._then(nodes.node(nodes.KEYS, 1), (), described, True, "{}.keys", operand)


def values(operand: "Operand") -> "Expression":
    described = element_of(operand._described)
    return operand._then(_VALUES, (), described, True, "{}.values", operand)


_VALUES = nodes.node(nodes.VALUES, 1)


# What is computed of them


def length(operand: "Operand") -> "Expression":
    """Of a text, or of each that is in a list, set or dict: not of that itself."""
    if shape_of(operand._described) is None and operand._many not in (OF_LIST, OF_DICT):
        return operand._then(COUNT, (), None, False, "{}.length", operand)
    step = (_VALUES if is_dict(operand) else b"") + nodes.property_of("length")
    return operand._then(step, (), None, True, "{}.length", operand)


COUNT = nodes.node(nodes.COUNT, 1)


def aggregate(operand: "Operand", kind: int, form: str, of: "Operand | None") -> "Expression":
    """`of`: a property of each element; None: of themselves."""
    inner: bytes | None = b""
    if of is not None:
        inner = nodes.steps(of._nodes)
        if inner is None:
            raise InvalidArgument(
                f"{named(operand)}: a property of the elements is wanted, such as Dog.age, not {of!r}"
            )
        _check(operand, of)
    assert inner is not None
    texts = () if of is None else of._texts
    return operand._then(
        _EACH + inner + nodes.node(nodes.AGGREGATE, 2, kind),
        texts,
        None,
        False,
        form,
        operand,
        *([] if of is None else [of]),
    )


_EACH = nodes.node(nodes.VARIABLE, number=1)


def filtered(operand: "Operand", condition: "Condition") -> "Expression":
    """Those elements of a collection of objects for which a condition is true."""
    model = class_of(operand)
    if model is None or not is_many(operand):
        raise InvalidArgument(
            f"where() is of a list, set or dict of objects, or an inverse, and not of {named(operand)}"
        )
    before, made, properties = roots.inside(operand, condition, model, named(operand))
    step = made + nodes.node(nodes.FILTER, 2)
    described = element_of(operand._described)
    return operand._then(
        step, condition._texts, described, True, "{}.where({})", operand, condition, before=before, roots=properties
    )
