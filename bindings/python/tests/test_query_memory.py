"""What a query may allocate: a limit of the handle, and what docs/query-language.md says an object needs."""

import pytest

import objstore
from objstore import Model, OutOfMemory, OutOfRange, asc, desc, field, group


class Row(Model):
    id: int = field(primary_key=True)
    number: int = 0
    name: str = ""


COUNT = 60_000
KINDS = {
    "find": lambda rows: rows.where(Row.number >= 0).explain(run=True).found,
    "sort": lambda rows: rows.order_by(desc(Row.number)).explain(run=True).found,
    "sort texts": lambda rows: rows.order_by(asc(Row.name), desc(Row.number)).explain(run=True).found,
    "the first": lambda rows: rows.order_by(desc(Row.number)).limit(100).explain(run=True).found,
    "groups": lambda rows: len(rows.group_by(Row.id).select(Row.id, group.count)),
    "distinct": lambda rows: len(rows.distinct(Row.name, Row.number)),
    "sections": lambda rows: len(rows.sections(Row.name)),
    "table": lambda rows: len(rows.select(Row.id, Row.name)),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("limited") / "rows"
    with objstore.open(path, models=[Row]) as store, store.write():
        store.add_all([Row(id=i, number=i * 7919 % COUNT, name=f"row {i * 31 % COUNT}") for i in range(COUNT)])
    return path


def needs(path, ask):
    """The least limit, in bytes, with which it is answered; to a hundredth."""
    low, high = 1, 1 << 30
    while high - low > high // 100:
        middle = (low + high) // 2
        with objstore.open(path, models=[Row], query_bytes=middle) as store:
            try:
                ask(store.objects(Row))
                high = middle
            except OutOfMemory:
                low = middle
    return high


@pytest.mark.parametrize("kind", KINDS)
def test_as_much_as_is_said(filled, kind):
    said = {"find": 24, "sort": 58, "sort texts": 74, "the first": 8, "groups": 96}
    said |= {"distinct": 200, "sections": 176, "table": 72}
    assert 4 <= needs(filled, KINDS[kind]) / COUNT <= said[kind]


def test_too_little(filled):
    with (
        objstore.open(filled, models=[Row], query_bytes=100_000) as store,
        objstore.open(filled, models=[Row]) as other,
    ):
        rows = store.objects(Row)
        for ask in KINDS.values():
            with pytest.raises(OutOfMemory, match="QUERY_BYTES"):
                ask(rows)
            assert ask(other.objects(Row)) > 0  # the limit is of the handle
        assert rows.count() == COUNT and rows.where(Row.number == 7).first().number == 7
        assert len(rows.where(Row.number < 100).order_by(Row.name)) == 100
        assert rows.sum(Row.number) == sum(range(COUNT))
        with store.write() as tx:
            for change in (lambda found: found.update(name="changed"), lambda found: found.delete()):
                with pytest.raises(OutOfMemory):
                    change(rows.where(Row.number >= 0))
            assert rows.where(Row.name == "changed").count() == 0 and rows.count() == COUNT
            store.add(Row(id=-1, name="changed"))
            assert rows.where(Row.number < 5).update(name="changed") == 6
            tx.cancel()


def test_with_somebody_who_watches(filled):
    told = []
    with objstore.open(filled, models=[Row], query_bytes=100_000) as store:
        store.watch_queries(lambda done, total: told.append(done), interval=0)
        with pytest.raises(OutOfMemory):
            KINDS["sort"](store.objects(Row))
        assert store.objects(Row).where(Row.number < 5).count() == 5 and told


def test_wrong_limits(filled):
    for wrong in (0, -1):
        with pytest.raises(OutOfRange):
            objstore.open(filled, models=[Row], query_bytes=wrong)


def test_what_functions_do_is_not_counted(filled, tmp_path):
    limited = objstore.open(filled, models=[Row], query_bytes=400_000)
    with limited as store, objstore.open(tmp_path / "other", models=[Row]) as other:
        asked = []

        def uses(x):
            if not asked:
                with other.write():
                    other.add_all([Row(id=i, number=-i) for i in range(20_000)])
                asked.append([row.id for row in other.objects(Row).order_by(Row.number).limit(15_000)])
            return x

        store.define_function("uses", uses, "i64 -> i64")
        assert store.objects(Row).filter("uses(number) == 5").count() == 1
        assert asked == [list(range(19_999, 4_999, -1))]
