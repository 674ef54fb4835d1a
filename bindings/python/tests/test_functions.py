"""Typed observers, and Python as plain C functions."""

import ctypes
import enum
import gc
import threading
from datetime import datetime, timezone
from functools import partial
from random import Random

import pytest

import objstore
from conftest import KENNEL
from models import Color, Dog, Everything, Mood, Person, Turtle
from objstore.native import ffi

c_write = ffi.bind("objstore_write")  # other C code, which is handed function pointers
c_observe = ffi.bind("objstore_observe")
c_token_close = ffi.bind("objstore_token_close")
c_last_message = ffi.bind("objstore_last_message")
CALLBACK = 49


# Typed observers


def test_each_kind(path):
    with objstore.open(path, models=[Everything]) as store:
        told = []
        names = (
            "key flag number real text raw when color mood flag_or_none number_or_none real_or_none text_or_none "
            "raw_or_none when_or_none color_or_none mood_or_none"
        ).split()
        signature = (
            "str, bool, i64, f64, str, bin, time, str, i64, bool?, i64?, f64?, str?, bin?, time?, str?, i64?, "
            "event -> void"
        )
        token = store.observe_typed(Everything, names, signature, lambda *a: told.append(a))
        when = datetime(2024, 2, 29, 12, 30, 1, 500, timezone.utc)
        with store.write():
            store.add(Everything(key="ä", flag=True, number=-(2**63), real=0.5, text="", raw=b"\0x", when=when))
        with store.write():
            store.add(
                Everything(
                    key="b",
                    when=when,
                    flag_or_none=False,
                    number_or_none=7,
                    real_or_none=1.5,
                    text_or_none="",
                    raw_or_none=b"",
                    when_or_none=when,
                    color_or_none=Color.WHITE,
                    mood_or_none=Mood.WILD,
                )
            )
        assert store.deliver() == 1
        nothing = (None,) * 8
        some = (False, 7, 1.5, "", b"", when, Color.WHITE, Mood.WILD)
        assert told == [
            ("ä", True, -(2**63), 0.5, "", b"\0x", when, Color.BROWN, Mood.CALM, *nothing, "inserted"),
            ("b", False, 0, 0.0, "", b"", when, Color.BROWN, Mood.CALM, *some, "inserted"),
        ]
        assert type(told[0][1]) is bool and told[0][6].tzinfo is timezone.utc
        token.close()


def test_which_objects(store):
    told = []
    with store.observe_typed(Turtle, [Turtle._id, "age"], " i64,i64 ,event, key->status", lambda *a: told.append(a)):
        with store.write():
            store.create_all(Turtle, [[1], [2], [3]])
        assert store.deliver() == 1
        with store.write():
            store.get(Turtle, 1).name = "x"  # no property of the observer
            store.get(Turtle, 2).age = 22
            store.get(Turtle, 3).age = 33
            store.create(Turtle, [4])
            store.delete(store.get(Turtle, 1))
        assert store.deliver() == 1
    assert [t[:3] for t in told] == [
        *((i, 0, "inserted") for i in (1, 2, 3)),
        (4, 0, "inserted"),
        (2, 22, "modified"),
        (3, 33, "modified"),
    ]
    assert all(isinstance(t[3], int) for t in told)


@pytest.mark.parametrize(
    "signature, keys, kind, position",
    [
        ("i64", ["_id"], objstore.InvalidSignature, 3),
        ("i63 -> void", ["_id"], objstore.InvalidSignature, 0),
        ("i64, str? - void", ["_id", "name"], objstore.InvalidSignature, 11),
        ("i64 -> nothing", ["_id"], objstore.InvalidSignature, 7),
        ("str -> void", ["_id"], objstore.WrongType, 0),
        ("i64? -> void", ["_id"], objstore.WrongType, 0),
        ("str -> void", ["name"], objstore.WrongType, 0),
        ("i64, i64 -> void", ["_id", "_id"], objstore.InvalidArgument, None),
        ("i64 -> void", ["wings"], objstore.NoSuchProperty, None),
        ("i64 -> void", "_id", objstore.InvalidArgument, None),
    ],
)
def test_signatures_that_are_wrong(store, signature, keys, kind, position):
    with pytest.raises(kind) as caught:
        store.observe_typed(Turtle, keys, signature, print)
    assert caught.value.position == position
    assert store.statistics().observers == 0


def test_a_typed_function_that_fails(store):
    told, error = [], ValueError("mine")

    def function(number, event):
        told.append(number)
        if number == 2:
            raise error
        return 10_005 if number == 5 else None

    token = store.observe_typed(Turtle, ["_id"], "i64, event -> status", function)
    with store.write():
        store.create_all(Turtle, [[1], [2], [3]])
    with pytest.raises(ValueError) as caught:
        store.deliver()
    assert caught.value is error and told == [1, 2], "a failure ends the change set for this observer"
    with store.write():
        store.create_all(Turtle, [[4], [5], [6]])
    with pytest.raises(objstore.HandlerFailed) as failed:
        store.deliver()
    assert failed.value.callback_code == 10_005 and told == [1, 2, 4, 5]
    token.close()
    void = store.observe_typed(Turtle, ["_id"], "i64 -> void", lambda n: 1 / 0)
    with store.write():
        store.create(Turtle, [7])
    with pytest.raises(ZeroDivisionError):
        store.deliver()
    void.close()


@pytest.mark.parametrize(
    "result, code", [(1, 1), (-1, -1), (2**31 - 1, 2**31 - 1), (objstore.Status.CANCELLED, 48), (Mood.WILD, 2)]
)
def test_the_status_of_a_typed_function(store, result, code):
    told = []
    with store.observe_typed(Turtle, ["_id"], "i64 -> status", lambda n: told.append(n) or result):
        with store.write():
            store.create_all(Turtle, [[1], [2], [3]])
        with pytest.raises(objstore.HandlerFailed) as caught:
            store.deliver()
    assert caught.value.callback_code == code and told == [1]


@pytest.mark.parametrize("result", [True, False, "stop", "", 1.5, 2**31, 2**32, -(2**31) - 1, [], b"1"], ids=repr)
def test_a_typed_function_whose_result_is_no_status(store, result):
    told = []
    with store.observe_typed(Turtle, ["_id"], "i64 -> status", lambda n: told.append(n) or result):
        with store.write():
            store.create_all(Turtle, [[1], [2], [3]])
        with pytest.raises(objstore.HandlerFailed, match="observer of Turtle .* status is an int") as caught:
            store.deliver()
    assert caught.value.class_name == "Turtle" and told == [1]
    with store.observe_typed(Turtle, ["_id"], "i64 -> void", lambda n: result):
        with store.write():
            store.create(Turtle, [4])
        assert store.deliver() == 1


def test_a_function_in_c(store):
    """memcpy(destination, source, n) as a handler of "bin?, i64": no Python runs while it is called."""

    class Copied(objstore.Model):
        target: int
        text: str

    libc = ctypes.CDLL(None)
    memory = ctypes.create_string_buffer(16)
    with objstore.open(memory="", models=[Copied]) as other:
        # memcpy(target, bytes, length): void *, const void *, size_t
        token = other.observe_typed(Copied, ["target", "text"], "i64, str -> void", libc.memcpy, userdata=123)
        with other.write():
            other.create(Copied, [ctypes.addressof(memory), "from C"])
        assert other.deliver() == 1
        assert memory.value == b"from C"
        token.close()
    with pytest.raises(objstore.InvalidArgument, match="closure"):
        store.observe_typed(Turtle, ["_id"], "i64 -> void", print, userdata=1)
    with pytest.raises(objstore.InvalidArgument):
        store.observe_typed(Turtle, ["_id"], "i64 -> void", "print")


def test_a_typed_observer_that_ends_itself(store):
    told = []

    def function(number):
        told.append(number)
        tokens.clear()  # the token is garbage now

    tokens = [store.observe_typed(Turtle, ["_id"], "i64 -> status", function)]
    with store.write():
        store.create_all(Turtle, [[1], [2]])
    store.deliver()
    with store.write():
        store.create(Turtle, [3])
    assert store.deliver() == 0
    assert told[0] == 1 and 3 not in told and store.statistics().observers == 0


@pytest.mark.parametrize(
    "results",
    [
        lambda store: store.objects(Turtle),
        lambda store: store.objects(Turtle).where(Turtle.age > 4),
        lambda store: store.objects(Turtle).where(Turtle.age > 4).order_by(Turtle.age, Turtle.name),
        lambda store: store.objects(Turtle).order_by(objstore.desc(Turtle.age)).limit(6),
        lambda store: store.objects(Turtle).filter("age > 2 DISTINCT(age)"),
    ],
    ids=["all", "where", "sorted", "limited", "distinct"],
)
def test_a_typed_observer_of_results(store, results):
    """Who does what he is told knows what is found, with its values."""
    known, found, told = {}, results(store), set()

    def function(event, key, number, age):
        told.add(event)
        if event == "deleted":
            assert known.pop(key) == (number, age)
        else:
            assert (key in known) == (event == "modified")
            known[key] = (number, age)

    random = Random(3)
    with found.observe_typed(["_id", "age"], "event, key, i64, i64 -> void", function, deletions=True):
        for number in range(60):
            with store.write():
                store.add(Turtle(_id=number, age=random.randrange(12)))
                turtles = list(store.objects(Turtle))
                for turtle in random.sample(turtles, min(len(turtles), 3)):
                    if random.random() < 0.4:
                        store.delete(turtle)
                    else:
                        turtle.age = random.randrange(12)
            store.deliver()
            assert sorted(known.values()) == sorted((turtle._id, turtle.age) for turtle in found)
    assert told == {"deleted", "inserted", "modified"}


def test_deletions_are_told_on_request(store):
    told = []
    old = store.objects(Turtle).where(Turtle.age > 4)
    token = old.observe_typed([Turtle.age], "i64 -> void", told.append)
    with store.write():
        turtle = store.add(Turtle(_id=1, age=5))
    store.deliver()
    with store.write():
        turtle.age = 1
    store.deliver()
    assert told == [5]
    token.close()
    with pytest.raises(objstore.InvalidSignature, match="a word 'event' is missing") as caught:
        old.observe_typed([Turtle.age], "i64 -> void", told.append, deletions=True)
    assert caught.value.position == 4
    with pytest.raises(objstore.WrongType, match=r"Turtle\.age"):
        old.observe_typed([Turtle.age], "event, str -> void", print, deletions=True)
    with store.write(), pytest.raises(objstore.AlreadyInWrite):
        old.observe_typed([Turtle.age], "i64 -> void", print)
    with store.freeze() as frozen, pytest.raises(objstore.WrongView):
        frozen.objects(Turtle).observe_typed([Turtle.age], "i64 -> void", print)
    assert store.statistics().observers == 0


def test_beginnings_are_told_on_request(store):
    """Whoever falls behind is told to begin anew, and what is there then."""

    class Size(enum.IntEnum):
        SMALL, LARGE = 1, 2

    class Box(objstore.Model):
        name: str
        size: Size
        seen: datetime | None = None

    with objstore.open(memory="", models=[Box], observer_lag=1) as boxes:
        with boxes.write():
            small, large = boxes.add(Box(name="a", size=Size.SMALL)), boxes.add(Box(name="b", size=Size.LARGE))
        told, known = [], []
        found = boxes.objects(Box).order_by(objstore.desc(Box.name))
        token = found.observe_typed(
            ["size", "name", "seen"],
            "i64, event, str, time? -> void",
            lambda *arguments: told.append(arguments),
            beginnings=True,
        )
        without = found.observe_typed(["name"], "str -> void", known.append)
        boxes.deliver()
        began = (None, "began", None, None)
        assert told == [began, (Size.LARGE, "inserted", "b", None), (Size.SMALL, "inserted", "a", None)]
        with boxes.write():
            small.name = "c"
        boxes.deliver()
        assert told[3:] == [(Size.SMALL, "modified", "c", None)] and known == ["c"]
        told.clear()
        for name in "xyz":
            with boxes.write():
                large.name = name
        boxes.deliver()
        assert told == [began, (Size.LARGE, "inserted", "z", None), (Size.SMALL, "inserted", "c", None)]
        assert known == ["c"]
        for box in (small, large):
            with boxes.write():
                boxes.delete(box)
        told.clear()
        boxes.deliver()
        assert told == [began]
        token.close()
        without.close()
        with pytest.raises(objstore.InvalidSignature, match="beginnings are to be told: a word 'event' is missing"):
            found.observe_typed(["name"], "str -> void", print, beginnings=True)


def test_typed_observers_begin_where_a_program_stopped(store):
    with store.write():
        old = store.create(Turtle, [1])
    told, kept = [], store.freeze()
    seen = kept.bookmark()
    with store.write():
        old.age = 5
        store.create(Turtle, {"_id": 2, "age": 0})
    asked = ["_id", "age"], "event, i64, i64 -> void"
    for make in (store.objects(Turtle).where(Turtle._id < 9).observe_typed, partial(store.observe_typed, Turtle)):
        told.clear()
        with make(*asked, lambda *a: told.append(a), since=seen) as token:
            store.deliver()
            assert told == [("inserted", 2, 0), ("modified", 1, 5)] and token.lag == 0
            with store.write():
                old.age = 6
            store.deliver()
            assert told[2:] == [("modified", 1, 6)]
        with store.write():
            old.age = 5
        with pytest.raises(objstore.InvalidArgument, match="a bookmark"):
            make(*asked, print, since=b"x")
    assert store.statistics().observers == 0
    gone = store.bookmark()  # nobody keeps that version
    with store.write():
        old.age = 7
    told.clear()
    found = store.objects(Turtle)
    with found.observe_typed(*asked, lambda *a: told.append(a), beginnings=True, since=gone):
        store.deliver()
    assert told == [("began", None, None), ("inserted", 1, 7), ("inserted", 2, 0)]
    kept.close()


@pytest.mark.parametrize("of_class", [False, True])
def test_whoever_begins_at_a_version_that_is_gone_is_told_the_beginning(store, of_class):
    with store.write():
        store.create(Turtle, {"_id": 1, "age": 1})
    make = partial(store.observe_typed, Turtle) if of_class else store.objects(Turtle).observe_typed
    asked, told = (["_id", "age"], "event, i64, i64 -> void"), []
    kept, gone = store.freeze(), store.bookmark()
    there = kept.bookmark()
    with make(*asked, lambda *a: told.append(a), since=there):
        assert store.deliver() == 0 and told == []  # nothing was committed since
    with store.write():
        store.get(Turtle, 1).age = 2
    with make(*asked, lambda *a: told.append(a), since=there):
        store.deliver()
    assert told == [("modified", 1, 2)]
    told.clear()
    kept.close()
    store.invalidate()
    with store.write():
        store.get(Turtle, 1).age = 3
    with make(*asked, lambda *a: told.append(a), since=gone):
        store.deliver()
        assert told == [("began", None, None), ("inserted", 1, 3)]
        with store.write():
            store.get(Turtle, 1).age = 4
        store.deliver()
    assert told[2:] == [("modified", 1, 4)]
    with pytest.raises(objstore.InvalidSignature, match="beginnings are to be told: a word 'event' is missing"):
        make(["_id"], "i64 -> void", print, since=there)


def test_a_typed_observer_of_an_inverse(path):
    class Keeper(objstore.Model):
        name: str
        pets: objstore.Backlinks["Pet"] = objstore.backlinks("keeper")

    class Pet(objstore.Model):
        name: str
        keeper: Keeper | None = None

    with objstore.open(path, models=[Keeper, Pet]) as store:
        with store.write():
            ann, bob = store.add(Keeper(name="Ann")), store.add(Keeper(name="Bob"))
            rex = store.add(Pet(name="Rex", keeper=ann))
        told = []
        token = ann.pets.observe_typed(["name"], "event, str -> void", lambda *a: told.append(a), deletions=True)
        with store.write():
            store.add(Pet(name="Ella", keeper=ann))
            rex.keeper = bob
        store.deliver()
        assert told == [("deleted", "Rex"), ("inserted", "Ella")]
        token.close()


# Bound functions


def test_a_transaction_body(store):
    made = []

    def body(tx):
        made.append(store.add(Person(id=len(made), name="from C")))
        assert tx.is_open and tx.mine() and made[-1].is_managed
        with pytest.raises(objstore.InCallback, match="raise an exception"):
            tx.cancel()

    with store.bind_write_body(body) as bound:
        assert bound.address and not bound.is_closed
        for other_userdata in (None, 12345):  # which it ignores
            assert c_write(store.handle, bound.function, other_userdata, None) == 0
        assert [(p.id, p.name) for p in store.objects(Person)] == [(0, "from C"), (1, "from C")]
        assert made[0].name == "from C" and bound.exception is None
        thread = threading.Thread(target=c_write, args=(store.handle, bound.address, None, None))
        thread.start()
        thread.join(30)
        assert store.objects(Person).count() == 3
    assert bound.is_closed
    bound.close()
    with store.write():
        store.add(Person(id=9))


def test_a_body_that_fails(store):
    problem = KeyError("mine")

    def body(tx):
        added.append(store.add(Person(id=1)))
        raise problem

    added = []
    with store.bind_write_body(body) as bound:
        assert c_write(store.handle, bound.address, None, None) == CALLBACK
        assert c_last_message() == b"KeyError: 'mine'"
        assert bound.exception is problem
        assert not store.objects(Person) and not added[0].is_managed
    with store.bind_write_body(lambda tx: store.create_all(Person, [[1], [1]])) as bound:
        assert c_write(store.handle, bound.address, None, None) == CALLBACK
        assert isinstance(bound.exception, objstore.DuplicateKey)
        error = ffi.Error(struct_size=ctypes.sizeof(ffi.Error))
        ffi.bind("objstore_last_error")(ctypes.byref(error))
        assert error.callback_code == objstore.Status.DUPLICATE_KEY
    assert not store.objects(Person)


def test_a_body_in_another_store(store):
    with objstore.open(memory="", models=KENNEL) as other, other.bind_write_body(lambda tx: other.add(Dog())) as bound:
        assert c_write(store.handle, bound.address, None, None) == CALLBACK
        assert isinstance(bound.exception, objstore.WrongStore)
        assert c_write(other.handle, bound.address, None, None) == 0
        assert other.objects(Dog).count() == 1 and not store.objects(Dog)


def test_a_change_handler(store):
    told = []
    with store.bind_change_handler(lambda c: told.append((c.is_initial, [p.name for p in c.inserted]))) as bound:
        token = ctypes.c_void_p()
        class_id = store._binding(Person).class_id
        assert c_observe(store.handle, class_id, 1, bound.function, None, None, ctypes.byref(token)) == 0
        with store.write():
            store.add(Person(id=1, name="Ada"))
        assert store.deliver() == 1
        assert told == [(True, [])]  # of the state at its delivery, with Ada
        with store.write():
            store.add(Person(id=3, name="Bea"))
        assert store.deliver() == 1
        assert told[1:] == [(False, ["Bea"])]
        bound._body = lambda change: 1 / 0
        with store.write():
            store.add(Person(id=2))
        with pytest.raises(ZeroDivisionError):
            store.deliver()
        assert c_token_close(token) == 0


def test_a_thousand_at_once(store):
    """Each has its own context; half of them are released, and the rest continues."""
    with store.write():
        counter = store.add(Person(id=0, name=""))

    def make(number):
        def body(tx):
            called.append(number)
            counter.name = str(number)

        return body

    called = []
    bounds = [store.bind_write_body(make(i)) for i in range(1000)]
    gc.collect()
    assert len({b.address for b in bounds}) == 1000
    for i in range(0, 1000, 7):
        assert c_write(store.handle, bounds[i].address, None, None) == 0
        assert counter.name == str(i)
    for bound in bounds[::2]:
        bound.close()
    called.clear()
    kept = [b.address for b in bounds[1::2]]
    del bounds, bound  # alive until closed, whether or not they are kept
    gc.collect()
    for address in kept[::5]:
        assert c_write(store.handle, address, None, None) == 0
    assert called == list(range(1, 1000, 2))[::5]


def test_a_bound_function_that_closes_itself(store):
    def body(tx):
        bound.close()
        store.add(Dog(name="after"))

    bound = store.bind_write_body(body)
    assert c_write(store.handle, bound.address, None, None) == 0
    assert bound.is_closed and [d.name for d in store.objects(Dog)] == ["after"]
    with pytest.raises(objstore.InvalidArgument):
        store.bind_write_body("body")


def test_a_bound_function_of_a_closed_store(store, path):
    other = objstore.open(path, models=KENNEL)
    bound = other.bind_write_body(lambda tx: other.add(Dog()))
    other.close()
    assert c_write(store.handle, bound.address, None, None) == CALLBACK
    assert isinstance(bound.exception, objstore.Closed)
    assert not store.objects(Dog)
    bound.close()
