"""Expressions about the properties of a class: what a program writes in place of the text of a query.

    (Dog.age < 2) & Dog.name.starts_with("R")  ─►  the nodes of `age < 2 AND name BEGINSWITH "R"`

Nothing is asked here, and names and types are not looked at: the library does that when it makes a query of them.
"""

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from typing import TYPE_CHECKING, Any, NoReturn

from ..arguments import INT64, switch, whole
from ..errors import InvalidArgument, WrongType
from ..messages import shown
from ..values import constants, kinds
from ..values.constants import ANYTHING, SINGLE, Packed
from . import nodes

if TYPE_CHECKING:
    from .properties import Property


class Part:
    """A piece of a query: its nodes."""

    __slots__ = ("_nodes", "_texts", "_properties", "_words")
    __array_ufunc__ = None  # a scalar of NumPy on the left, as in `moment < Dog.born`, leaves the question to this

    def __init__(self, nodes: bytes, texts: tuple[bytes, ...], properties: "tuple[Property, ...]", *words: Any) -> None:
        self._nodes = nodes
        self._texts = texts  # of its constants, in their order
        self._properties = properties  # in it, of the objects that it is about
        self._words = words  # for messages: a format, and what is in it

    def __repr__(self) -> str:
        form, *words = self._words
        return str(form.format(*map(_shown, words)))

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(f"'{self!r}' is of this process alone: it cannot be copied or pickled")


def _shown(word: Any) -> str:
    if isinstance(word, Part):
        return repr(word)
    name = word.name if isinstance(word, Operand) else None  # type: ignore[attr-defined]  # it is a property
    return shown(word) if name is None else str(name)


def _no_truth(what: object) -> WrongType:
    return WrongType(
        f"'{_shown(what)}' is a question to a store, neither true nor false: hand it to where(). Join conditions by "
        "& | ~, each in parentheses, where Python has 'and', 'or', 'not' and '1 < x < 3'; 'x in [1, 2]' is "
        "x.in_([1, 2])"
    )


def _no_condition(what: object) -> WrongType:
    return WrongType(
        f"& | ~ join conditions, and {_shown(what)} is none: put each comparison in parentheses, as in "
        "(Dog.age < 2) & ~(Dog.name == 'Rex')"
    )


def _together(left: "tuple[Property, ...]", right: "tuple[Property, ...]") -> "tuple[Property, ...]":
    """The properties of two parts of one. InvalidArgument: they are of two classes."""
    if not left or not right:
        return left or right
    a, b = left[0], right[0]
    if a.model is not b.model and (a.model is None or b.model is None or not kinds.is_same(a.model, b.model)):
        raise InvalidArgument(f"{a.path} and {b.path} are of two classes: a query is about the objects of one")
    return tuple(dict.fromkeys(left + right))


# Conditions


class Condition(Part):
    """What is true or false of each object, such as `Dog.age < 2`: for where(). Joined by & | ~."""

    __slots__ = ()

    def __and__(self, other: object) -> "Condition":
        return _joined(nodes.AND, self, other)

    def __or__(self, other: object) -> "Condition":
        return _joined(nodes.OR, self, other)

    def __rand__(self, other: object) -> NoReturn:
        raise _no_condition(other)

    __ror__ = __rand__

    def __invert__(self) -> "Condition":
        return Condition(self._nodes + _NOT, self._texts, self._properties, "~({})", self)

    def __bool__(self) -> bool:
        raise _no_truth(self)


_NOT = nodes.node(nodes.NOT, 1)
_JOINS = {nodes.AND: "({}) & ({})", nodes.OR: "({}) | ({})"}


def _joined(kind: int, left: Condition, right: object) -> Condition:
    if not isinstance(right, Condition):
        raise _no_condition(right)
    first, count = left._nodes, nodes.operands(left._nodes, kind)
    if count:  # of a chain it is one more
        first = first[: -nodes.SIZE]
    return Condition(
        first + right._nodes + nodes.node(kind, max(count, 1) + 1),
        left._texts + right._texts,
        _together(left._properties, right._properties),
        _JOINS[kind],
        left,
        right,
    )


def all_of(conditions: Sequence[object]) -> Condition:
    """One condition of one or more. InvalidArgument: something is none."""
    found: Any = None
    for condition in conditions:
        if not isinstance(condition, Condition):
            raise InvalidArgument(f"a comparison of a property is wanted, such as Dog.age < 2, not {_shown(condition)}")
        found = condition if found is None else _joined(nodes.AND, found, condition)
    return found  # type: ignore[no-any-return]


# Operands


class Operand:
    """What is compared: a property, or what is computed of some."""

    __slots__ = ()
    __array_ufunc__ = None
    __hash__ = object.__hash__

    if TYPE_CHECKING:
        _nodes: bytes
        _texts: tuple[bytes, ...]
        _properties: tuple[Property, ...]
        _described: Any  # the property, or the elements, that its values are of; None: of no such
        _plain: Any  # the same, for messages, where constants beside it are what they are; None: they are not

    # Comparing

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]
        return _compared(self, nodes.EQUAL, value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]
        return _compared(self, nodes.NOT_EQUAL, value)

    def __lt__(self, value: object) -> Condition:
        return _compared(self, nodes.LESS, value)

    def __le__(self, value: object) -> Condition:
        return _compared(self, nodes.LESS_EQUAL, value)

    def __gt__(self, value: object) -> Condition:
        return _compared(self, nodes.GREATER, value)

    def __ge__(self, value: object) -> Condition:
        return _compared(self, nodes.GREATER_EQUAL, value)

    def in_(self, values: Iterable[object]) -> Condition:
        """Is it one of these? `Dog.age.in_([1, 2])`, `Dog.owner.in_(people)`."""
        if isinstance(values, SINGLE) or not isinstance(values, Iterable):
            raise WrongType(f"in_() takes a list of values, not {shown(values)}")
        listed = list(values)
        return _compare(self, nodes.IN, _list(self, listed), 0, "{}.in_({})", self, listed)

    def between(self, low: object, high: object) -> Condition:
        """Is it one of the two, or between them?"""
        return _compare(self, nodes.BETWEEN, _list(self, [low, high]), 0, "{}.between({}, {})", self, low, high)

    # Texts and binaries. `case=False`: upper and lower case are the same; `accents=False`: accents do not count.

    def equals(self, text: object, *, case: bool = True, accents: bool = True) -> Condition:
        """The same as ==, with these: `Dog.name.equals("rex", case=False)`."""
        return _compare_text(self, nodes.EQUAL, "{}.equals({})", text, case, accents)

    def contains(self, text: object, *, case: bool = True, accents: bool = True) -> Condition:
        return _compare_text(self, nodes.CONTAINS, "{}.contains({})", text, case, accents)

    def starts_with(self, text: object, *, case: bool = True, accents: bool = True) -> Condition:
        return _compare_text(self, nodes.BEGINS_WITH, "{}.starts_with({})", text, case, accents)

    def ends_with(self, text: object, *, case: bool = True, accents: bool = True) -> Condition:
        return _compare_text(self, nodes.ENDS_WITH, "{}.ends_with({})", text, case, accents)

    def like(self, pattern: object, *, case: bool = True, accents: bool = True) -> Condition:
        """Is the whole text like the pattern? `*` stands for any characters, `?` for one; `\\` before them for
        themselves."""
        return _compare_text(self, nodes.LIKE, "{}.like({})", pattern, case, accents)

    # Computing

    def __add__(self, other: object) -> "Expression":
        return _computed(nodes.ADD, self, other)

    def __radd__(self, other: object) -> "Expression":
        return _computed(nodes.ADD, expression(other), self)

    def __sub__(self, other: object) -> "Expression":
        return _computed(nodes.SUBTRACT, self, other)

    def __rsub__(self, other: object) -> "Expression":
        return _computed(nodes.SUBTRACT, expression(other), self)

    def __mul__(self, other: object) -> "Expression":
        return _computed(nodes.MULTIPLY, self, other)

    def __rmul__(self, other: object) -> "Expression":
        return _computed(nodes.MULTIPLY, expression(other), self)

    def __truediv__(self, other: object) -> "Expression":
        return _computed(nodes.DIVIDE, self, other)

    def __rtruediv__(self, other: object) -> "Expression":
        return _computed(nodes.DIVIDE, expression(other), self)

    def __neg__(self) -> "Expression":
        return _step(self, nodes.node(nodes.ARITHMETIC, 1, nodes.NEGATE), (), None, "-{}", self)

    def __pos__(self) -> "Operand":
        return self

    @property
    def length(self) -> "Expression":
        """How many characters a text has, or bytes a binary."""
        return _step(self, _COUNT, (), None, "{}.length", self)

    # Links and collections

    @property
    def count(self) -> "Expression":
        """How many elements a list, set or dict has."""
        return _step(self, _COUNT, (), None, "{}.count", self)

    def sum(self, of: Any = None) -> "Expression":
        """Of the numbers in a list, set or dict; or of a property of the objects in it, `Person.dogs.sum(Dog.age)`."""
        return _aggregate(self, nodes.SUM, "{}.sum({})", of)

    def min(self, of: Any = None) -> "Expression":
        return _aggregate(self, nodes.MINIMUM, "{}.min({})", of)

    def max(self, of: Any = None) -> "Expression":
        return _aggregate(self, nodes.MAXIMUM, "{}.max({})", of)

    def avg(self, of: Any = None) -> "Expression":
        return _aggregate(self, nodes.AVERAGE, "{}.avg({})", of)

    def __getitem__(self, step: Any) -> "Expression":
        """A property of what a link leads to, `Dog.owner[Person.name]`; an element of a list, or of a dict:
        `Dog.toys[0]`, `Dog.notes["door"]`."""
        words = "{}[{}]", self, step
        if isinstance(step, Operand):
            return _step(self, step._nodes[nodes.SIZE :], step._texts, step._described, *words)
        described = _element(self._described)
        if isinstance(step, str):
            key, texts = constants.packed(ANYTHING, step)
            return _step(self, nodes.head(nodes.KEY, 1) + key, texts, described, *words)
        place = whole("the place of an element", step, INT64)
        return _step(self, nodes.node(nodes.ELEMENT, 1, nodes.PLACE_AT, number=place), (), described, *words)

    # What Python would ask of it

    def __bool__(self) -> bool:
        raise _no_truth(self)

    def __contains__(self, value: object) -> bool:
        raise WrongType(
            f"'{_shown(value)} in {_shown(self)}' is no question to a store: of a list, set or dict it is "
            f"any_({_shown(self)}) == {_shown(value)}, of a text {_shown(self)}.contains({_shown(value)})"
        )

    __iter__ = None  # or Python would take the elements one by one

    def __and__(self, other: object) -> NoReturn:
        raise _no_condition(self)

    __rand__ = __or__ = __ror__ = __and__

    def __invert__(self) -> NoReturn:
        raise _no_condition(self)


class Expression(Operand, Part):
    """What is computed of properties: `Dog.age * 2`, `Dog.name.length`."""

    __slots__ = ("_described", "_plain")
    __reduce_ex__ = Part.__reduce_ex__

    def __init__(
        self, nodes: bytes, texts: tuple[bytes, ...], properties: "tuple[Property, ...]", described: Any, *words: Any
    ) -> None:
        super().__init__(nodes, texts, properties, *words)
        self._described = described
        self._plain = ANYTHING if described is None else described if constants.is_plain(described) else None


def expression(value: object) -> Expression:
    """What a query compares: for type checkers, to which `Dog.name` is a str, with the methods of one:
    `expression(Dog.name).contains("x")`. Of something else a constant."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Operand):
        return Expression(value._nodes, value._texts, value._properties, value._described, "{}", value)
    constant, texts = constants.packed(ANYTHING, value)
    return Expression(nodes.CONSTANT_HEAD + constant, texts, (), None, "{}", value)


def any_(values: Any) -> Expression:
    """Is it so of any element? `any_(Shelter.dogs) == rex`, `any_(Person.dogs[Dog.age]) > 3`."""
    return _quantified(nodes.ANY, "any_({})", values)


def all_(values: Any) -> Expression:
    """Is it so of all elements? Also where there are none."""
    return _quantified(nodes.ALL, "all_({})", values)


def none_(values: Any) -> Expression:
    """Is it so of no element?"""
    return _quantified(nodes.NONE, "none_({})", values)


_COMPARISONS = {
    operator: (nodes.node(nodes.COMPARE, 2, operator), f"{{}} {symbol} {{}}")
    for operator, symbol in zip(range(nodes.EQUAL, nodes.IN), ("==", "!=", "<", "<=", ">", ">="))
}
_CALCULATIONS = {
    operation: (nodes.node(nodes.ARITHMETIC, 2, operation), f"({{}} {symbol} {{}})")
    for operation, symbol in zip(range(nodes.ADD, nodes.NEGATE), "+-*/")
}
_COUNT = nodes.node(nodes.COUNT, 1)


def _element(described: Any) -> Any:
    """What the elements are of, if it is a list, set or dict."""
    shape = getattr(described, "shape", None)
    return described if shape is None else shape.element


def _constant(described: Any, value: object) -> Packed:
    constant, texts = constants.packed(ANYTHING, value) if described is None else constants.beside(described, value)
    return nodes.CONSTANT_HEAD + constant, texts


def _beside(operand: Operand, value: object) -> Packed:
    """The nodes of what an operand is compared with."""
    if isinstance(value, Operand):
        return value._nodes, value._texts
    described = operand._described
    if getattr(described, "shape", None) is None:
        return _constant(described, value)
    if isinstance(value, (Sequence, AbstractSet)) and not isinstance(value, SINGLE):
        return _list(operand, list(value))
    return _constant(None if isinstance(value, Mapping) else described.shape.element, value)


def _list(operand: Operand, values: list[Any]) -> Packed:
    described = _element(operand._described)
    packed = [_constant(described, value) for value in values]
    made = b"".join([constant for constant, _ in packed])
    return made + nodes.node(nodes.LIST, len(values)), tuple([text for _, texts in packed for text in texts])


def _both(left: Operand, right: object) -> "tuple[Property, ...]":
    return _together(left._properties, right._properties) if isinstance(right, Operand) else left._properties


def _compared(left: Operand, operator: int, right: object) -> Condition:
    node, form = _COMPARISONS[operator]
    plain = left._plain
    if type(right) is int and plain is not None and kinds.SMALLEST <= right <= kinds.LARGEST:  # as a rule
        made = left._nodes + nodes.with_an_int(right, node)
        return Condition(made, left._texts, left._properties, form, left, right)
    put = constants.SIMPLE.get(type(right))
    if plain is not None and put is not None:
        constant, texts = put(plain, right)
        made = b"".join((left._nodes, nodes.CONSTANT_HEAD, constant, node))
        return Condition(made, left._texts + texts, left._properties, form, left, right)
    made, texts = _beside(left, right)
    return Condition(left._nodes + made + node, left._texts + texts, _both(left, right), form, left, right)


def _compare(left: Operand, operator: int, right: Packed, modifiers: int, *words: Any) -> Condition:
    made, texts = right
    node = nodes.node(nodes.COMPARE, 2, operator, modifiers)
    return Condition(left._nodes + made + node, left._texts + texts, left._properties, *words)


def _compare_text(left: Operand, operator: int, form: str, text: object, case: bool, accents: bool) -> Condition:
    right = (text._nodes, text._texts) if isinstance(text, Operand) else _constant(None, text)
    made = _compare(left, operator, right, _modifiers(case, accents), form, left, text)
    made._properties = _both(left, text)
    return made


def _modifiers(case: bool, accents: bool) -> int:
    return nodes.IGNORES_CASE * (not switch("case", case)) | nodes.IGNORES_ACCENTS * (not switch("accents", accents))


def _computed(operation: int, left: Operand, right: object) -> Expression:
    made, texts = (right._nodes, right._texts) if isinstance(right, Operand) else _constant(None, right)
    node, form = _CALCULATIONS[operation]
    return Expression(left._nodes + made + node, left._texts + texts, _both(left, right), None, form, left, right)


def _step(operand: Operand, step: bytes, texts: tuple[bytes, ...], described: Any, *words: Any) -> Expression:
    """What is made of one operand."""
    return Expression(operand._nodes + step, operand._texts + texts, operand._properties, described, *words)


def _aggregate(operand: Operand, kind: int, form: str, of: Any) -> Expression:
    inner, texts = (b"", ()) if of is None else (_named(of)._nodes[nodes.SIZE :], _named(of)._texts)
    return _step(operand, _EACH + inner + nodes.node(nodes.AGGREGATE, 2, kind), texts, None, form, operand, of)


_EACH = nodes.node(nodes.VARIABLE, number=1)


def _quantified(kind: int, form: str, values: Any) -> Expression:
    if not isinstance(values, Operand):
        raise WrongType(f"a list, set or dict of a class is wanted, such as Shelter.dogs, not {shown(values)}")
    return _step(values, nodes.node(nodes.QUANTIFIED, 1, kind), (), _element(values._described), form, values)


# Steps behind the condition


class SortKey(Part):
    """What results are ordered by: asc(Dog.name), desc(Dog.age)."""

    __slots__ = ()


class Step(Part):
    """What is done with the objects that satisfy the condition."""

    __slots__ = ()


def asc(value: Any, *, case: bool = True, accents: bool = True) -> SortKey:
    """For order_by(): the smallest first, and None before it. `case=False`: upper and lower case are the same."""
    return _sort_key(value, nodes.ASCENDING, "asc({})", case, accents)


def desc(value: Any, *, case: bool = True, accents: bool = True) -> SortKey:
    """For order_by(): the greatest first, and None last. `case=False`: upper and lower case are the same."""
    return _sort_key(value, nodes.DESCENDING, "desc({})", case, accents)


def _sort_key(value: Any, direction: int, form: str, case: bool, accents: bool) -> SortKey:
    of = _named(value)
    node = nodes.node(nodes.SORT_KEY, 1, direction, _modifiers(case, accents))
    return SortKey(of._nodes + node, of._texts, of._properties, form, value)


def _named(value: Any) -> "Operand | Expression":
    """A property, or by its name."""
    if isinstance(value, Operand):
        return value
    if isinstance(value, str):
        return Expression(nodes.OBJECT + nodes.property_of(value), (), (), None, "{}", value)
    raise InvalidArgument(f"a property is wanted, such as Dog.age or 'age', not {_shown(value)}")


def order_by(keys: Sequence[Any]) -> Step:
    return _of_many(nodes.SORT, "order_by", [key if isinstance(key, SortKey) else asc(key) for key in keys])


def distinct(values: Sequence[Any]) -> Step:
    return _of_many(nodes.DISTINCT, "distinct", [_named(value) for value in values])


def limit(count: int) -> Step:
    return _step_of(b"", (), (), nodes.node(nodes.LIMIT, number=whole("the limit", count, INT64)), "limit")


def offset(count: int) -> Step:
    return _step_of(b"", (), (), nodes.node(nodes.OFFSET, number=whole("the offset", count, INT64)), "offset")


def _of_many(kind: int, name: str, parts: "Sequence[Any]") -> Step:
    if not parts:
        raise InvalidArgument(f"{name}() takes one property, or more")
    properties: tuple[Property, ...] = ()
    for part in parts:
        properties = _together(properties, part._properties)
    made = b"".join([part._nodes for part in parts])
    texts = tuple([text for part in parts for text in part._texts])
    return _step_of(made, texts, properties, nodes.node(kind, len(parts)), name)


def _step_of(made: bytes, texts: tuple[bytes, ...], properties: "tuple[Property, ...]", node: bytes, name: str) -> Step:
    """A query of all objects, with one step."""
    return Step(nodes.TRUE + made + node + _WITH_A_STEP, texts, properties, name)


_WITH_A_STEP = nodes.node(nodes.WHOLE, 2)
