"""Float32, Decimal, ObjectId and UUID: stored as given, asked, added up, and as primary keys."""

import copy
import math
import pickle
import random
import struct
import uuid
from datetime import datetime, timezone
from decimal import Decimal

import pytest

import objstore
from objstore import Float32, ObjectId, field

TOKEN = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


class Scalars(objstore.Model):
    key: int = field(primary_key=True)
    single: Float32 = 0.5
    amount: Decimal = field(default=Decimal("1.50"), indexed=True)
    maker: ObjectId = field(default=ObjectId("0123456789abcdef01234567"), indexed=True)
    token: uuid.UUID = field(default=TOKEN, indexed=True)
    single_or_none: Float32 | None = field(default=None, indexed=True)
    amount_or_none: Decimal | None = None
    maker_or_none: ObjectId | None = None
    token_or_none: uuid.UUID | None = None


class Named(objstore.Model):
    id: uuid.UUID = field(primary_key=True)
    text: str = ""


class Made(objstore.Model):
    id: ObjectId = field(primary_key=True)
    text: str = ""


def nearest(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


VALUES = {
    "single": [0.0, -0.0, 0.1, 3, -1.5, math.inf, -math.inf, math.nan, 1e-45, 3.4028234663852886e38, 2**24 + 1],
    "amount": list(
        map(
            Decimal,
            [
                "0",
                "-0",
                "0.00",
                "1.0",
                "1.00",
                "-12.50",
                "9" * 34,
                "1E+6144",
                "-9.999999999999999999999999999999999E+6144",
                "1E-6176",
                "0E-6176",
                "0E+6111",
                "Infinity",
                "-Infinity",
                "NaN",
                "-NaN",
                "123456789012345678901234567.1234567",
            ],
        )
    ),
    "maker": [
        ObjectId(bytes(12)),
        ObjectId(b"\xff" * 12),
        ObjectId(b"\x7f" + b"\xff" * 11),
        ObjectId(b"\x80" + bytes(11)),
        ObjectId(),
    ],
    "token": [
        uuid.UUID(int=0),
        uuid.UUID(int=2**128 - 1),
        uuid.UUID(int=2**127),
        uuid.UUID(int=2**63),
        TOKEN,
        uuid.uuid4(),
    ],
}
CASES = [(name, value) for name, values in VALUES.items() for value in values]
CASES += [(name + "_or_none", value) for name, value in CASES] + [(name + "_or_none", None) for name in VALUES]


@pytest.fixture
def store(path):
    with objstore.open(path, models=[Scalars, Named, Made]) as opened:
        yield opened
        if not opened.is_closed:
            opened.verify()


def check(obj, name, value):
    found = getattr(obj, name)
    if value is None:
        assert found is None
    elif name.startswith("single"):
        wanted = nearest(value)
        assert type(found) is float and struct.pack("<f", found) == struct.pack("<f", wanted), (name, value, found)
    elif name.startswith("amount"):
        # Python may write the same number with more zeros than there is room for, or fewer.
        wanted = value if value.adjusted() < 6112 or not value.is_finite() else None
        assert (str(found) == str(value)) if wanted is not None else found == value, (name, value, found)
    else:
        assert type(found) is type(value) and found == value, (name, value, found)


def test_round_trips(store):
    """Each value through: add, set, add_all, create_all; read one by one, prefetched, frozen, and after reopening."""
    with store.write():
        for key, (name, value) in enumerate(CASES):
            check(store.add(Scalars(key=key, **{name: value})), name, value)
            changed = store.add(Scalars(key=1000 + key))
            setattr(changed, name, value)
            check(changed, name, value)
        store.add_all([Scalars(key=2000 + key, **{name: value}) for key, (name, value) in enumerate(CASES)])
        store.create_all(Scalars, [{"key": 3000 + key, name: value} for key, (name, value) in enumerate(CASES)])

    def check_all(source):
        prefetched = {obj.key: obj for obj in source.objects(Scalars)}
        assert len(prefetched) == 4 * len(CASES)
        for key, (name, value) in enumerate(CASES):
            for way in (0, 1000, 2000, 3000):
                check(source.get(Scalars, way + key), name, value)
                check(prefetched[way + key], name, value)
                if not name.startswith("token"):
                    assert prefetched[way + key].token == TOKEN

    check_all(store)
    with store.freeze() as frozen:
        check_all(frozen)
    path = store.path
    store.verify()
    store.close()
    with objstore.open(path, models=[Scalars, Named, Made]) as again:
        check_all(again)


def test_an_unmanaged_object_holds_what_will_be_stored():
    obj = Scalars(key=1, single=0.1, amount=7)
    assert obj.single == nearest(0.1) and obj.amount == 7 and type(obj.amount) is Decimal
    obj.single = 1
    assert obj.single == 1.0 and type(obj.single) is float


@pytest.mark.parametrize(
    "name, value, error",
    [
        ("single", "0.5", objstore.WrongType),
        ("single", True, objstore.WrongType),
        ("single", 1e39, objstore.OutOfRange),
        ("single", None, objstore.NotNullable),
        ("amount", 0.5, objstore.WrongType),
        ("amount", "1.5", objstore.WrongType),
        ("amount", True, objstore.WrongType),
        ("amount", Decimal("1" * 35), objstore.OutOfRange),
        ("amount", Decimal("1E+6145"), objstore.OutOfRange),
        ("amount", Decimal("1E-6177"), objstore.OutOfRange),
        ("amount", Decimal("NaN5"), objstore.OutOfRange),
        ("amount", 10**40 + 1, objstore.OutOfRange),
        ("amount", None, objstore.NotNullable),
        ("maker", "0123456789abcdef01234567", objstore.WrongType),
        ("maker", b"x" * 12, objstore.WrongType),
        ("token", "00112233-4455-6677-8899-aabbccddeeff", objstore.WrongType),
        ("token", 5, objstore.WrongType),
        ("token", None, objstore.NotNullable),
    ],
)
def test_what_does_not_fit(store, name, value, error):
    with store.write():
        kept = store.add(Scalars(key=1))
        before = getattr(kept, name)
        for way in (
            lambda: setattr(kept, name, value),
            lambda: store.add(Scalars(**{"key": 2, name: value})),
            lambda: store.create(Scalars, {"key": 2, name: value}),
            lambda: store.create_all(Scalars, [{"key": 2, name: value}]),
            lambda: store.objects(Scalars).update(**{name: value}),
        ):
            with pytest.raises(error) as caught:
                way()
            assert (caught.value.class_name, caught.value.property_name) == ("Scalars", name)
            assert f"Scalars.{name}" in str(caught.value)
        assert getattr(kept, name) == before
    assert [e.key for e in store.objects(Scalars)] == [1]


def test_asking(store):
    random.seed(5)
    rows = [
        Scalars(
            key=i,
            single=random.randrange(-20, 20) / 4,
            amount=Decimal(random.randrange(-50, 50)).scaleb(-random.randrange(3)),
            maker=ObjectId(bytes([random.randrange(256)]) + bytes(10) + bytes([i % 256])),
            token=uuid.UUID(int=random.getrandbits(128)),
            single_or_none=None if i % 3 else random.randrange(-4, 4) / 2,
            token_or_none=None if i % 2 else uuid.UUID(int=i << 64),
        )
        for i in range(500)
    ]
    plain = [{p: getattr(row, p) for p in VALUES | {"single_or_none": 0, "token_or_none": 0}} for row in rows]
    with store.write():
        store.add_all(rows)
    objects = store.objects(Scalars)
    for name in plain[0]:
        prop = getattr(Scalars, name)
        values = [row[name] for row in plain]
        there = [v for v in values if v is not None]
        for constant in random.sample(there, 5):
            assert objects.where(prop == constant).count() == sum(v == constant for v in values)
            assert objects.where(prop != constant).count() == sum(v != constant for v in values)
            assert objects.where(prop < constant).count() == sum(v < constant for v in there)
            assert objects.where(prop >= constant).count() == sum(v >= constant for v in there)
            assert objects.filter(f"{name} <= $0", constant).count() == sum(v <= constant for v in there)
        assert objects.min(prop) == min(there) and objects.max(prop) == max(there)
        assert type(objects.max(prop)) is type(there[0])
        part = objects.where(Scalars.key < 100)
        assert part.min(prop) == min(v for v in values[:100] if v is not None)
    assert objects.sum(Scalars.single) == sum(r["single"] for r in plain)
    assert objects.avg(Scalars.single) == pytest.approx(sum(r["single"] for r in plain) / 500)
    assert objects.where(Scalars.key < 10).sum(Scalars.single) == sum(r["single"] for r in plain[:10])
    for results in (objects, objects.where(Scalars.key < 10)):
        rows = plain if results is objects else plain[:10]
        assert results.sum(Scalars.amount) == sum((r["amount"] for r in rows if r["amount"] is not None), Decimal(0))
        with pytest.raises(objstore.WrongType, match="Scalars.token"):
            results.sum(Scalars.token)


def test_numbers_that_are_equal(store):
    with store.write():
        store.add(Scalars(key=1, amount=Decimal("1.0"), single=0.1))
        store.add(Scalars(key=2, amount=Decimal("1.00"), single=-0.0))
        store.add(Scalars(key=3, amount=Decimal("NaN"), single=math.nan))
    keys = lambda results: [obj.key for obj in results]
    objects = store.objects(Scalars)
    assert keys(objects.where(Scalars.amount == 1)) == [1, 2]
    assert keys(objects.filter("amount = 1.000")) == [1, 2] and keys(
        objects.filter("amount > 0.9999999999999999999999")
    ) == [1, 2]
    assert keys(objects.where(Scalars.single == 0.1)) == [1] and keys(objects.filter("single = 0")) == [2]
    assert (
        keys(objects.where(Scalars.single == math.nan)) == keys(objects.where(Scalars.amount == Decimal("NaN"))) == []
    )
    assert keys(objects.filter(f"token = uuid({TOKEN})")) == [1, 2, 3] and keys(
        objects.filter("maker = oid(0123456789abcdef01234567)")
    ) == [1, 2, 3]
    for text in ("token = 'x'", "maker = '5'", "amount = 'five'", "amount = true", "single = 'x'"):
        with pytest.raises(objstore.WrongType, match="Scalars"):
            objects.filter(text)
    with store.write():
        objects[0].amount = Decimal("1.00")  # the same number with other bits
    assert str(store.get(Scalars, 1).amount) == "1.00" and keys(objects.where(Scalars.amount == 1)) == [1, 2]


@pytest.mark.parametrize("model, make", [(Named, uuid.uuid4), (Made, ObjectId)])
def test_primary_keys(store, model, make):
    ids = [make() for _ in range(3000)]
    with store.write():
        counts = store.add_all([model(id=id, text=str(i)) for i, id in enumerate(ids)])
        assert counts.created == 3000
        with pytest.raises(objstore.DuplicateKey) as caught:
            store.add(model(id=ids[7]))
        assert str(ids[7]) in str(caught.value) and caught.value.property_name == "id"
        with pytest.raises(objstore.DuplicateKey):
            store.add_all([model(id=ids[0])])
        assert store.add(model(id=ids[7], text="again"), update="modified").text == "again"
        assert store.create_all(model, [{"id": ids[8], "text": "8"}, {"id": make()}], update="all") == (1, 1, 0)
        with pytest.raises(objstore.KeyImmutable):
            store.get(model, ids[1]).id = make()
    assert all(store.get(model, id).text == (str(i) if i != 7 else "again") for i, id in enumerate(ids))
    assert store.get(model, make()) is None
    with pytest.raises(objstore.WrongType, match=f"{model.__name__}.id"):
        store.get(model, "x")
    with store.write():
        assert store.objects(model).where(model.id == ids[5]).delete() == 1
    assert store.get(model, ids[5]) is None and len({obj for obj in store.objects(model)}) == 3000


def test_numpy(store):
    numpy = pytest.importorskip("numpy")
    with store.write():
        store.add_all(
            [
                Scalars(
                    key=i,
                    single=i / 4,
                    single_or_none=None if i % 2 else i,
                    amount=i,
                    token_or_none=TOKEN if i % 2 else None,
                )
                for i in range(100)
            ]
        )
    for results, count in ((store.objects(Scalars), 100), (store.objects(Scalars).where(Scalars.key < 30), 30)):
        singles = results.to_numpy("single")
        assert singles.dtype == numpy.float32 and singles.tolist() == [i / 4 for i in range(count)]
        masked = results.to_numpy("single_or_none")
        assert masked.mask.tolist() == [i % 2 == 1 for i in range(count)] and masked.compressed().tolist() == list(
            range(0, count, 2)
        )
        assert results.to_numpy("amount").tolist() == [Decimal(i) for i in range(count)]
        assert results.to_numpy("token_or_none").tolist() == [TOKEN if i % 2 else None for i in range(count)]


def test_typed_observers(store):
    seen = []
    with store.observe_typed(
        Scalars, ["single", "single_or_none"], "f32, f32? -> void", lambda a, b: seen.append((a, b))
    ):
        with store.write():
            store.add(Scalars(key=1, single=0.25))
            store.add(Scalars(key=2, single=-1.5, single_or_none=2.5))
        store.wait(1.0)
    assert seen == [(0.25, None), (-1.5, 2.5)]
    with pytest.raises(objstore.WrongType, match="Scalars.single"):
        store.observe_typed(Scalars, ["single"], "f64 -> void", lambda a: None)


def test_object_ids():
    made = [ObjectId() for _ in range(1000)]
    assert len(set(made)) == 1000 and len({m.bytes[4:9] for m in made}) == 1
    assert abs((made[0].timestamp - datetime.now(timezone.utc)).total_seconds()) < 60
    one = ObjectId("00FFa0b1c2d3e4f506172839")
    assert (
        one.hex == str(one) == "00ffa0b1c2d3e4f506172839"
        and bytes(one) == one.bytes
        and ObjectId(one) == one == ObjectId(one.bytes)
    )
    assert repr(one) == "ObjectId('00ffa0b1c2d3e4f506172839')" and one.timestamp == datetime.fromtimestamp(
        0xFFA0B1, timezone.utc
    )
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one and hash(one) == hash(ObjectId(one.bytes))
    low, high = ObjectId(b"\x7f" + b"\xff" * 11), ObjectId(b"\x80" + bytes(11))
    assert low < high and high >= low and low != high and one != one.hex
    for wrong in ("", "0", "g" * 24, "0" * 25, " " * 24, b"", b"x" * 13, " 0" * 12, "0x" * 12):
        with pytest.raises(ValueError):
            ObjectId(wrong)
    with pytest.raises(TypeError):
        ObjectId(5)
    with pytest.raises(AttributeError):
        one.bytes = b""


def test_decimals_and_their_bits():
    """Against the library's own way from text to bits and back."""
    from objstore.native import ffi
    from objstore.values import decimals

    read, write = ffi.bind("objstore_decimal128_from_text"), ffi.bind("objstore_decimal128_to_text")
    random.seed(9)
    texts = [str(v) for v in VALUES["amount"]] + ["sNaN", "-sNaN"]
    for _ in range(2000):
        digits = tuple(random.randrange(10) for _ in range(random.randrange(1, 36)))
        texts.append(
            str(
                Decimal(
                    (
                        random.randrange(2),
                        digits,
                        random.choice([0, -2, random.randrange(-6220, 6150), random.randrange(-50, 50)]),
                    )
                )
            )
        )
    import ctypes

    for text in texts:
        number = Decimal(text)
        out = ffi.Decimal128()
        status = read(ffi.text(text), ctypes.byref(out))
        bits = decimals.bits(number)
        if bits is None:
            assert status != 0, text
            continue
        assert status == 0 and bits == out.high << 64 | out.low, text
        buffer = ctypes.create_string_buffer(48)
        assert write(out, buffer) == 0
        assert str(decimals.from_bits(bits)) == buffer.value.decode(), text


@pytest.mark.parametrize("annotation", [Float32, Decimal, float, Float32 | None])
def test_no_primary_key(annotation):
    with pytest.raises(objstore.SchemaError, match="Wrong.id: a primary key"):
        type("Wrong", (objstore.Model,), {"__annotations__": {"id": annotation}, "id": field(primary_key=True)})
