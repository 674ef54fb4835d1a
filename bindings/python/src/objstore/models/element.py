"""What an element of a list, set or dict of plain values is called in a question to it."""

from . import nodes
from .expressions import Expression

value = Expression(nodes.OBJECT, (), (), None, False, "value")
