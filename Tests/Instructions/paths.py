"""The hot paths of the Python package, for Tests/Instructions/run: `paths.py [PATH...]`.

As in paths.c: rounds of this many operations, of which the first is not counted. INSTRUCTIONS_MARKS names the library
of marks.c.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Callable

import objstore
from objstore import field
from objstore.stores import idle_stores

ROUNDS = 5
ITEMS = 2000


class Item(objstore.Model):
    id: int = field(primary_key=True)
    number: int = field(default=0, indexed=True)
    name: str = ""
    price: float = 0.0


marks = ctypes.PyDLL(os.environ["INSTRUCTIONS_MARKS"])
marks.marks_begin.argtypes = [ctypes.c_char_p, ctypes.c_int64]

# What the idle thread does when a store was not used for a while would come between operations, which are slow here.
idle_stores.PAUSE = 1e6

store = objstore.open(memory="", models=[Item])
with store.write():
    for i in range(ITEMS):
        store.create(Item, {"id": i, "number": i * 7919 % 1000, "name": f"the name of item {i}", "price": i / 4})
item = store.get(Item, 1234)
cheap = store.objects(Item).where(Item.id < 100)


def get_int(turns: range) -> None:
    for _ in turns:
        item.number  # noqa: B018


def get_text(turns: range) -> None:
    for _ in turns:
        item.name  # noqa: B018


def find(turns: range) -> None:
    get = store.get
    for turn in turns:
        get(Item, turn * 31 % ITEMS)


def loop(turns: range) -> None:
    total = 0.0
    for each in cheap:
        total += each.price
    assert total == 1237.5, total


def where_count(turns: range) -> None:
    for turn in turns:
        assert len(store.objects(Item).where(Item.number == turn)) == 2


def set_float(turns: range) -> None:
    for turn in turns:
        item.price = turn


def measure(name: str, count: int, run: Callable[[range], None]) -> None:
    wanted = sys.argv[1:]
    if wanted and name not in wanted:
        return
    described = name.encode()
    marks.marks_fresh_heap()
    for turn in range(ROUNDS + 1):
        gc.collect()
        turns = range(turn * count, (turn + 1) * count)
        if turn:
            marks.marks_begin(described, count)
        run(turns)
        if turn:
            marks.marks_end()


gc.disable()
sys.setswitchinterval(1e6)
marks.marks_start()
measure("python_get_int", 1000, get_int)
measure("python_get_text", 1000, get_text)
measure("python_find", 100, find)
measure("python_loop", 100, loop)
measure("python_where_count", 10, where_count)
with store.write():
    measure("python_set", 100, set_float)
marks.marks_stop()
store.close()
