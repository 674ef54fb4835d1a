"""Expressions about the properties of a class: what a program writes in place of the text of a query.

    (Dog.age < 2) & Dog.name.starts_with("R")  ─►  the nodes of `age < 2 AND name BEGINSWITH "R"`

Nothing is asked here, and names and types are not looked at: the library does that when it makes a query of them.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from typing import TYPE_CHECKING, Any, NoReturn

from ..arguments import switch
from ..errors import InvalidArgument, WrongType
from ..messages import shown
from ..values import constants, kinds
from ..values.constants import ANYTHING, SINGLE, Packed
from ..values.places import GeoShape
from . import nodes, paths, roots
from .paths import element_of
from .roots import Roots


class Part:
    """A piece of a query: its nodes."""

    __slots__ = ("_nodes", "_texts", "_properties", "_words")
    __array_ufunc__ = None  # a scalar of NumPy on the left, as in `moment < Dog.born`, leaves the question to this

    def __init__(self, nodes: bytes, texts: tuple[bytes, ...], properties: Roots, *words: Any) -> None:
        self._nodes = nodes
        self._texts = texts  # of its constants, in their order
        self._properties = properties  # in it, of the objects that it is about; and inverses of these
        self._words = words  # for messages: a format, and what is in it

    def __repr__(self) -> str:
        form, *words = self._words
        try:
            return str(form.format(*map(_shown, words)))
        except RecursionError:  # one in the other in the other …, which only the library refuses
            return "…"

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(f"'{self!r}' is of this process alone: it cannot be copied or pickled")


def _shown(word: Any) -> str:
    if isinstance(word, Part):
        return repr(word)
    return str(word._described.name) if isinstance(word, Operand) else shown(word)


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
    count = nodes.operands(left._nodes, kind)
    made, last, properties = roots.together(left, right)
    if count:  # of a chain it is one more
        made = made[: -nodes.SIZE]
    return Condition(
        made + last + nodes.node(kind, max(count, 1) + 1),
        left._texts + right._texts,
        properties,
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
        _properties: Roots
        _many: int  # does a collection lie behind it, so that there may be many? paths.OF_LIST …: its elements
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
        return _compare(self, nodes.IN, _list(self, listed), "{}.in_({})", self, listed)

    def between(self, low: object, high: object) -> Condition:
        """Is it one of the two, or between them?"""
        return _compare(self, nodes.BETWEEN, _list(self, [low, high]), "{}.between({}, {})", self, low, high)

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

    def search(self, words: object) -> Condition:
        """Are these words in the text, which is declared with field(full_text=True)? `"write -tests wri*"`: those with
        a minus are not; of those with a star only the beginning is given."""
        return _compare_text(self, nodes.FULL_TEXT, "{}.search({})", words, True, True)

    def within(self, shape: GeoShape) -> Condition:
        """Does the place lie in a box, a circle or a polygon? `Shop.home.within(geo_circle((7.45, 46.95),
        kilometers=10))`. See geo_circle() for what a place is."""
        if not isinstance(shape, GeoShape):
            raise WrongType(f"within() takes a geo_box(), geo_circle() or geo_polygon(), not {shown(shape)}")
        return _compare(self, nodes.GEO_WITHIN, (_shape(shape), ()), "{}.within({})", self, shape)

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
        made = self._nodes + nodes.node(nodes.ARITHMETIC, 1, nodes.NEGATE)
        return Expression(made, self._texts, self._properties, None, False, "-{}", self)

    def __pos__(self) -> "Operand":
        return self

    @property
    def length(self) -> "Expression":
        """How many characters a text has, or bytes a binary; of a list, set or dict, each that is in it."""
        return paths.length(self)

    # Links and collections

    @property
    def count(self) -> "Expression":
        """How many elements a list, set or dict has, or how many objects lead here."""
        return self._then(paths.COUNT, (), None, False, "{}.count", self)

    def sum(self, of: Any = None) -> "Expression":
        """Of the numbers in a list, set or dict; or of a property of the objects in it, `Person.dogs.sum(Dog.age)`.
        None is left out; of nothing it is 0, and the others are None."""
        return self._aggregate(nodes.SUM, "sum", of)

    def min(self, of: Any = None) -> "Expression":
        return self._aggregate(nodes.MINIMUM, "min", of)

    def max(self, of: Any = None) -> "Expression":
        return self._aggregate(nodes.MAXIMUM, "max", of)

    def avg(self, of: Any = None) -> "Expression":
        return self._aggregate(nodes.AVERAGE, "avg", of)

    def where(self, *conditions: "Condition | int") -> "Expression":
        """The objects in a list, set or dict, or those that lead here, of which something is true:
        `Person.dogs.where(Dog.age > 3).count > 2`. A condition may also be about the object that is asked about, where
        that is of another class: `Dog.age > Person.least`."""
        if not conditions:
            raise InvalidArgument("where() takes one condition, or more")
        return paths.filtered(self, all_of(conditions))

    @property
    def keys(self) -> "Expression":
        """Of a dict: `any_(Dog.notes.keys) == "door"`."""
        return paths.keys(self)

    @property
    def values(self) -> "Expression":
        """Of a dict: `any_(Dog.notes.values) == "locked"`."""
        return paths.values(self)

    @property
    def type(self) -> "Expression":
        """What type a value of a property of type Any has, by its name, such as "string", "int", "link", "list",
        "object" (a dict), or "numeric": `Dog.extra.type == "string"`."""
        return self._then(_TYPE, (), None, False, "{}.type", self)

    def __getitem__(self, step: Any) -> "Expression":
        """An element of a list, `Dog.toys[0]`, `Dog.toys[-1]`, or each, `Dog.toys[:]`; of a dict, `Dog.notes["door"]`.
        A property of what a link leads to, `Dog.owner[Person.name]`: as `Dog.owner.name`, but also where an operand
        has a method of that name."""
        return paths.through(self, step) if isinstance(step, Operand) else paths.item(self, step)

    def _then(
        self,
        step: bytes,
        texts: tuple[bytes, ...],
        described: Any,
        many: int,
        *words: Any,
        before: bytes | None = None,
        roots: Roots | None = None,
    ) -> "Expression":
        """What a further step of a path leads to. Of any_(…) it is a step of what is inside."""
        made, end = self._nodes if before is None else before, b""
        if made[-nodes.SIZE] == nodes.QUANTIFIED:
            made, end = made[: -nodes.SIZE], made[-nodes.SIZE :]
        kind = Expression if getattr(described, "target", None) is None else ObjectExpression
        about = self._properties if roots is None else roots
        return kind(made + step + end, self._texts + texts, about, described, many, *words)

    def _aggregate(self, kind: int, name: str, of: Any) -> "Expression":
        form = f"{{}}.{name}()" if of is None else f"{{}}.{name}({{}})"
        return paths.aggregate(self, kind, form, None if of is None else named(of))

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
    """What is computed of properties: `Dog.age * 2`, `Dog.name.length`; or lies behind them: `Dog.owner.name`."""

    __slots__ = ("_described", "_plain", "_many")
    __reduce_ex__ = Part.__reduce_ex__

    def __init__(
        self, nodes: bytes, texts: tuple[bytes, ...], properties: Roots, described: Any, many: int, *words: Any
    ) -> None:
        super().__init__(nodes, texts, properties, *words)
        self._described = described
        self._plain = ANYTHING if described is None else described if constants.is_plain(described) else None
        self._many = many

    def __getattr__(self, name: str) -> "Expression":
        return paths.behind(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *paths.completions(self)]


class Either:
    """A method of operands, or of objects the property of that name, where only that can be meant: `Dog.owner.count`
    is no number of owners."""

    def __init__(self, name: str, method: Any) -> None:
        self._name = name
        self._method = method

    def __get__(self, operand: Any, owner: Any = None) -> Any:
        if operand is not None and paths.is_meant(operand, self._name):
            return paths.behind(operand, self._name)
        return self._method.__get__(operand, owner)

    def __set__(self, operand: object, value: object) -> NoReturn:  # so that it comes before what an instance has
        raise AttributeError(self._name)


class ObjectExpression(Expression):
    """What leads to objects."""

    __slots__ = ()
    locals().update({name: Either(name, vars(Operand)[name]) for name in paths.NAMES})


def expression(value: object) -> Expression:
    """What a query compares: for type checkers, to which `Dog.name` is a str, with the methods of one:
    `expression(Dog.name).contains("x")`. Of something else a constant."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Operand):
        return value._then(b"", (), value._described, value._many, "{}", value)
    constant, texts = constants.packed(ANYTHING, value)
    return Expression(nodes.CONSTANT_HEAD + constant, texts, (), None, False, "{}", value)


def any_(values: Any) -> Expression:
    """Is it so of any element? `any_(Shelter.dogs) == rex`, `any_(Person.dogs).age > 3`."""
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
_TYPE = nodes.node(nodes.TYPE, 1)


def _constant(described: Any, value: object) -> Packed:
    if described is None:
        constant, texts = constants.packed(ANYTHING, kinds.raw(value, ANYTHING))
    else:
        constant, texts = constants.beside(described, value)
    return nodes.CONSTANT_HEAD + constant, texts


def _beside(operand: Operand, value: object) -> Packed:
    """The nodes of a constant that an operand is compared with."""
    described = element_of(operand._described)
    is_collection = described is not operand._described
    is_whole = is_collection or (operand._many and operand._nodes[-nodes.SIZE] != nodes.QUANTIFIED)
    if is_whole and isinstance(value, (Sequence, AbstractSet)) and not isinstance(value, SINGLE):
        return _list(operand, list(value))
    return _constant(None if is_collection and isinstance(value, Mapping) else described, value)


def _list(operand: Operand, values: list[Any]) -> Packed:
    described = element_of(operand._described)
    packed = [_constant(described, value) for value in values]
    made = b"".join([constant for constant, _ in packed])
    return made + nodes.node(nodes.LIST, len(values)), tuple([text for _, texts in packed for text in texts])


def _shape(shape: GeoShape) -> bytes:
    def numbers(values: Iterable[float]) -> bytes:
        return b"".join([nodes.CONSTANT_HEAD + constants.packed(ANYTHING, value)[0] for value in values])

    rings = [numbers(itertools.chain.from_iterable(ring)) for ring in shape.rings]
    if shape.name == "geoBox":
        return rings[0] + nodes.node(nodes.BOX, 4)
    if shape.radius is not None:
        return rings[0] + numbers([shape.radius]) + nodes.node(nodes.CIRCLE, 3)
    lists = [made + nodes.node(nodes.LIST, 2 * len(ring)) for made, ring in zip(rings, shape.rings)]
    return b"".join(lists) + nodes.node(nodes.POLYGON, len(rings))


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
    if isinstance(right, Operand):
        first, last, properties = roots.together(left, right)
        return Condition(first + last + node, left._texts + right._texts, properties, form, left, right)
    made, texts = _beside(left, right)
    return Condition(left._nodes + made + node, left._texts + texts, left._properties, form, left, right)


def _compare(left: Operand, operator: int, right: Packed, *words: Any) -> Condition:
    made, texts = right
    node = nodes.node(nodes.COMPARE, 2, operator)
    return Condition(left._nodes + made + node, left._texts + texts, left._properties, *words)


def _compare_text(left: Operand, operator: int, form: str, text: object, case: bool, accents: bool) -> Condition:
    node = nodes.node(nodes.COMPARE, 2, operator, modifiers(case, accents))
    made, texts, properties = _both(left, text)
    return Condition(made + node, texts, properties, form, left, text)


def modifiers(case: bool, accents: bool) -> int:
    return nodes.IGNORES_CASE * (not switch("case", case)) | nodes.IGNORES_ACCENTS * (not switch("accents", accents))


def _computed(operation: int, left: Operand, right: object) -> Expression:
    node, form = _CALCULATIONS[operation]
    made, texts, properties = _both(left, right)
    return Expression(made + node, texts, properties, None, False, form, left, right)


def _both(left: Operand, right: object) -> tuple[bytes, tuple[bytes, ...], Roots]:
    """Both sides, of which the right one may be a constant, which means what it is."""
    if isinstance(right, Operand):
        first, last, properties = roots.together(left, right)
        return first + last, left._texts + right._texts, properties
    made, texts = _constant(None, right)
    return left._nodes + made, left._texts + texts, left._properties


def _quantified(kind: int, form: str, values: Any) -> Expression:
    if not isinstance(values, Operand):
        raise WrongType(f"a list, set or dict of a class is wanted, such as Shelter.dogs, not {shown(values)}")
    made, described = values._nodes + nodes.node(nodes.QUANTIFIED, 1, kind), element_of(values._described)
    expression_kind = Expression if getattr(described, "target", None) is None else ObjectExpression
    is_collection = described is not values._described
    many = paths.OF_DICT if paths.is_dict(values) else paths.OF_LIST if is_collection else True
    return expression_kind(made, values._texts, values._properties, described, many, form, values)


def named(value: Any) -> Operand:
    """A property, or by its name, "age" or "owner.name"; "@self" is the element that a query of values is about."""
    if isinstance(value, Operand):
        return value
    if value == "@self":
        return Expression(nodes.OBJECT, (), (), None, False, "@self")
    if isinstance(value, str):
        made = b"".join([nodes.OBJECT, *map(nodes.property_of, value.split("."))])
        return Expression(made, (), (), None, False, "{}", value)
    raise InvalidArgument(f"a property is wanted, such as Dog.age or 'age', not {_shown(value)}")
