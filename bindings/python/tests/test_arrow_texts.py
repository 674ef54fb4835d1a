"""Texts in Arrow as dictionaries and views, against plain loops over objects."""

import gc
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pytest

import objstore
from objstore import Model, asc, desc, field, group

FORMS = ("plain", "dictionaries", "views")
STRING = {
    "plain": pyarrow.large_string(),
    "dictionaries": pyarrow.dictionary(pyarrow.int32(), pyarrow.large_string()),
    "views": pyarrow.string_view(),
}
BINARY = {"plain": pyarrow.large_binary(), "dictionaries": pyarrow.large_binary(), "views": pyarrow.binary_view()}
FEW = [
    "",
    "a",
    "zwölf Zeich",
    "thirteen byte",
    "x\0y",
    "\0",
    "a longer text that lies outside of its view " * 3,
    "Bern",
]


class Place(Model):
    name: str = field(primary_key=True)
    land: str | None = None


class Row(Model):
    number: int = field(primary_key=True)
    digit: int = 0
    few: str | None = None  # segments are dictionaries
    flat: str = ""  # the same, never null
    some: str | None = None  # some segments are
    many: str | None = None  # none is, and some texts are long
    raw: bytes | None = None
    place: Place | None = None
    items: list["Row"]


TEXTS = ("few", "flat", "some", "many")


def content(dice: random.Random, number: int, places: list[Place]) -> dict[str, Any]:
    maybe = lambda value: None if dice.random() < 0.1 else value
    rare = number // 512 % 3 == 0
    return {
        "number": number,
        "digit": number % 7,
        "few": maybe(dice.choice(FEW)),
        "flat": dice.choice(FEW),
        "some": maybe(str(dice.random()) * dice.randrange(4) if rare else dice.choice(FEW)),
        "many": maybe("y" * dice.randrange(4000, 20_000) if dice.random() < 0.002 else "é" * dice.randrange(20)),
        "raw": maybe(dice.randbytes(dice.randrange(30))),
        "place": maybe(dice.choice(places)),
    }


def fill(store: objstore.Store, dice: random.Random, count: int) -> None:
    with store.write():
        places = [store.create(Place, {"name": f"p{i}", "land": dice.choice([None, *FEW])}) for i in range(9)]
        for number in range(count):
            store.create(Row, content(dice, number, places))
    with store.write():
        rows = list(store.objects(Row))
        for row in dice.sample(rows, count // 20):  # dictionaries with texts that no row has any more
            row.few = dice.choice([None, "", "new", f"only {row.number} has it"])
        for row in dice.sample(rows, count // 10):
            store.delete(row)


def check(results: Any, wanted: dict[str, list[Any]], form: str) -> None:
    table = results.to_arrow(texts=form)
    table.validate(full=True)
    for name, values in wanted.items():
        column = table.column(name)
        assert column.type == (BINARY if name == "raw" else STRING)[form], name
        assert column.null_count == values.count(None), name
        assert column.to_pylist() == values, name


def columns(rows: Any) -> dict[str, list[Any]]:
    rows = list(rows)
    return {name: [getattr(row, name) for row in rows] for name in (*TEXTS, "raw")}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with objstore.open(tmp_path_factory.mktemp("texts") / "texts.objstore", models=[Place, Row]) as opened:
        fill(opened, random.Random(5), 9000)
        yield opened


@pytest.mark.parametrize("form", FORMS)
def test_parts(store: objstore.Store, form: str) -> None:
    rows = store.objects(Row)
    for results in (
        rows,
        rows.where(Row.few == "Bern"),
        rows.where(Row.digit == 1),
        rows.where(Row.number.in_([7, 600, 8999])),
        rows.where(Row.number < 0),
        rows.order_by(desc(Row.number)),
        rows.order_by(asc(Row.few)).limit(300),
        rows.offset(5000).limit(700),
        rows.distinct(Row.few),
        rows.where(Row.few == None),
        rows.where(Row.flat == ""),
    ):
        check(results, columns(results), form)


@pytest.mark.parametrize("form", FORMS)
def test_tables(store: objstore.Store, form: str) -> None:
    rows = store.objects(Row)
    table = rows.select("few", Row.place.land, many=Row.many)
    wanted = {
        "few": [row.few for row in rows],
        "place.land": [row.place.land if row.place else None for row in rows],
        "many": [row.many for row in rows],
    }
    check(table, wanted, form)
    assert len(table) == len(rows)  # now it is there, and a stream is made of it
    check(table, wanted, form)
    groups = rows.group_by(Row.few, Row.place.land).select(Row.few, Row.place.land, n=group.count)
    for _ in range(2):
        assert groups.to_arrow(texts=form).column("few").to_pylist() == groups["few"]
        check(groups, {name: groups[name] for name in ("few", "place.land")}, form)


@pytest.mark.parametrize("form", FORMS)
def test_objects_twice_and_transactions(store: objstore.Store, form: str) -> None:
    with store.write() as tx:
        row, other = store.objects(Row)[:2]
        row.few, other.few = "changed a moment ago", None
        other.items = [row, other, row, row]
        store.create(Row, {"number": 10**6, "some": "made a moment ago"})
        check(store.objects(Row), columns(store.objects(Row)), form)
        assert other.items.objects().to_arrow(texts=form)["few"].to_pylist().count("changed a moment ago") >= 1
        tx.cancel()


def test_random_content(tmp_path: Path) -> None:
    for seed in range(4):
        dice = random.Random(seed)
        with objstore.open(tmp_path / f"{seed}.objstore", models=[Place, Row]) as store:
            fill(store, dice, dice.choice([1, 511, 513, 3000, 6000]))
            rows = store.objects(Row)
            for _ in range(3):
                for form in FORMS:
                    for results in (rows, rows.where(Row.digit == dice.randrange(8))):
                        check(results, columns(results), form)
                with store.write():
                    for row in rows.where(Row.digit == dice.randrange(7)):
                        row.few, row.some = dice.choice([*FEW, None]), str(dice.randrange(9))


def test_what_rows_are_older_than(tmp_path: Path) -> None:
    def models(*names: str) -> Any:
        body = {"__module__": __name__, "number": field(primary_key=True), "__annotations__": {"number": int}}
        for name in names:
            body["__annotations__"][name] = str if name == "filled" else str | None
            body[name] = "the text of all" if name == "filled" else None
        return type("Old", (Model,), body)

    path = tmp_path / "s.objstore"
    Before = models()
    with objstore.open(path, models=[Before]) as store, store.write():
        for number in range(5000):
            store.create(Before, {"number": number})
    After = models("filled", "empty")
    with objstore.open(path, models=[After], schema_version=2) as store:
        with store.write():
            for number in range(5000, 5100):
                store.create(After, {"number": number, "filled": f"x{number % 2}", "empty": ""})
        filled = ["the text of all"] * 5000 + ["x0", "x1"] * 50
        for form in FORMS:
            check(store.objects(After), {"filled": filled, "empty": [None] * 5000 + [""] * 100}, form)
        table = store.objects(After).to_arrow(texts="dictionaries")
        assert table["filled"].chunk(0).dictionary.to_pylist() == ["the text of all", "x0", "x1"]


def test_dictionaries_go_on(tmp_path: Path) -> None:
    """That of a batch begins with that of the one before, and has nothing that no row has; a large one ends."""
    with objstore.open(tmp_path / "s.objstore", models=[Place, Row]) as store:
        with store.write():
            for number in range(210_000):
                few = FEW[number // 3 % 5] if number < 150_000 else f"late {number % 4}"
                store.create(Row, {"number": number, "few": few, "many": f"{number:>14}"})
        rows = store.objects(Row)
        batches = list(pyarrow.RecordBatchReader.from_stream(rows.arrow(texts="dictionaries")))
        assert len(batches) == 4
        few = [batch["few"].dictionary.to_pylist() for batch in batches]
        assert few == [FEW[:5], FEW[:5], FEW[:5] + [f"late {i}" for i in (0, 1, 2, 3)]] + [few[2]]
        many = [batch["many"].dictionary.to_pylist() for batch in batches]
        sizes = [len(values) for values in many]
        assert sizes[0] == batches[0].num_rows and many[0] == batches[0]["many"].to_pylist()
        assert many[1] == many[0] + batches[1]["many"].to_pylist()
        assert many[2] == batches[2]["many"].to_pylist() and many[3] == many[2] + batches[3]["many"].to_pylist()
        assert pyarrow.Table.from_batches(batches)["few"].to_pylist() == [row.few for row in rows]
        one = rows.to_arrow(texts="dictionaries")
        assert len({tuple(chunk.dictionary.to_pylist()) for chunk in one["few"].chunks}) == 1
        counts = one.group_by("few").aggregate([([], "count_all")])
        assert sum(counts["count_all"].to_pylist()) == 210_000 and counts.num_rows == 9


def test_what_outlives_the_store(tmp_path: Path) -> None:
    """Batches stay as they were, whatever becomes of the reader, the store and the pages that they were read from."""
    path = tmp_path / "s.objstore"
    readers, batches = [], []
    with objstore.open(path, models=[Place, Row]) as store:
        fill(store, random.Random(3), 70_000)
        wanted = columns(store.objects(Row))
        for form in FORMS:
            table = store.objects(Row).select("few", "many")
            assert len(table) > 0
            of_table = pyarrow.RecordBatchReader.from_stream(table.arrow(texts=form)).read_next_batch()
            del table
            readers.append(pyarrow.RecordBatchReader.from_stream(store.objects(Row).arrow(texts=form)))
            first = readers[-1].read_next_batch()
            batches.append((of_table, first["few"], first["many"]))
            left = store.objects(Row).arrow(texts=form).__arrow_c_stream__()
            del first, left, of_table
        gc.collect()
    for reader in readers:
        with pytest.raises(OSError, match="clos"):
            reader.read_next_batch()
    del reader
    readers.clear()
    with objstore.open(path, models=[Place, Row]) as store:
        for _ in range(2):
            with store.write():
                store.objects(Row).delete()
                for number in range(5000):
                    store.create(Row, {"number": number, "few": "other", "many": "z" * 100})
    gc.collect()
    for of_table, few, many in batches:
        few.validate(full=True)
        many.validate(full=True)
        assert few.to_pylist() == wanted["few"][: len(few)] and many.to_pylist() == wanted["many"][: len(many)]
        assert of_table["few"].to_pylist() == wanted["few"] and of_table["many"].to_pylist() == wanted["many"]


def test_streams_can_be_left(store: objstore.Store) -> None:
    from objstore.queries import arrow

    for form in FORMS:
        stream = store.objects(Row).arrow(texts=form)
        for _ in range(20):
            stream.__arrow_c_stream__()
        reader = pyarrow.RecordBatchReader.from_stream(stream)
        batch = reader.read_next_batch()
        reader.close()
        assert batch.num_rows > 0 and pyarrow.table(stream).num_rows == len(store.objects(Row))
    gc.collect()
    assert not arrow._streams


def test_pandas(store: objstore.Store) -> None:
    rows = store.objects(Row).order_by(desc(Row.number))
    frame = rows.to_pandas(texts="dictionaries")
    assert isinstance(frame["few"].dtype, pandas.CategoricalDtype)
    assert set(frame["few"].dtype.categories) == {row.few for row in rows if row.few is not None}
    for form in FORMS:
        frame = rows.to_pandas(texts=form)
        for name in TEXTS:
            found = [None if value is None or value != value else value for value in frame[name].tolist()]
            assert found == [getattr(row, name) for row in rows], (form, name)
        assert rows.select("few").to_pandas(texts=form)["few"].isna().sum() == sum(row.few is None for row in rows)


@pytest.mark.parametrize("texts", ["dictionary", "", None, 1, b"views", ["views"]])
def test_forms_that_there_are_not(store: objstore.Store, texts: Any) -> None:
    rows = store.objects(Row)
    asked: list[Callable[..., Any]] = [rows.arrow, rows.to_arrow, rows.to_pandas, rows.select("few").arrow]
    for ask in (*asked, rows.select("few").to_arrow, rows.select("few").to_pandas):
        with pytest.raises(objstore.InvalidArgument, match="texts is 'plain', 'dictionaries' or 'views', not"):
            ask(texts=texts)


class Numbered(Model):
    number: int = field(primary_key=True)
    text: str


@pytest.mark.parametrize("texts", FORMS)
def test_threads_that_share_a_reader(tmp_path: Path, texts: Any) -> None:
    """Each batch comes once, and whole."""
    with objstore.open(tmp_path / "shared", models=[Numbered]) as store:
        with store.write():
            store.create_all(Numbered, [{"number": i, "text": f"g{i % 7}"} for i in range(140_000)])
        reader = pyarrow.RecordBatchReader.from_stream(store.objects(Numbered).arrow(texts=texts))
        batches: list[Any] = []

        def read() -> None:
            try:
                while True:
                    batches.append(reader.read_next_batch())
            except StopIteration:
                pass

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(read) for _ in range(4)]:
                done.result()
        rows = sorted((row["number"], row["text"]) for batch in batches for row in batch.to_pylist())
        assert rows == [(i, f"g{i % 7}") for i in range(140_000)]
