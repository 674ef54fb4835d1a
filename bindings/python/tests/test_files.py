"""Opening, closing, copying and checking files."""

import errno
import os
import pickle
import shutil
from datetime import timedelta

import pytest

import objstore
from conftest import KENNEL
from models import Dog, Person, Turtle
from objstore import field
from objstore.opening import config
from test_processes import in_child


def test_creating(path):
    assert not objstore.exists(path)
    with pytest.raises(objstore.NotFound) as caught:
        objstore.open(path, models=[Dog], create="never")
    assert isinstance(caught.value, FileNotFoundError)
    with objstore.open(path, models=[Dog]) as store:
        assert store.path == str(path)
        with pytest.raises(objstore.Busy):
            objstore.delete_files(path)
    assert objstore.exists(path)
    assert os.listdir(path.parent) == [path.name]  # closed by all: a single file
    with pytest.raises(FileExistsError):
        objstore.open(path, models=[Dog], create="always")
    objstore.delete_files(path)
    assert not path.exists()


def test_wrong_arguments(path):
    for wrong in (
        {},
        {"path": path, "memory": "x"},
        {"path": path, "mode": "write"},
        {"path": path, "durability": "most"},
        {"path": path, "create": "maybe"},
        {"path": path, "write_timeout": -1},
        {"path": path, "checkpoint_bytes": 5},
    ):
        with pytest.raises(objstore.InvalidArgument):
            objstore.open(**{"models": [Dog], **wrong})
    with pytest.raises(objstore.OutOfRange, match="^relaxed: relaxed commits become durable"):
        objstore.open(path, models=[Dog], durability="relaxed", relaxed=100)
    with pytest.raises(objstore.InvalidArgument):
        objstore.open(path, models=[str])
    assert not path.exists()


@pytest.mark.parametrize(
    "name", ["schema_version", "value_bytes", "open_timeout_ms", "checkpoint_idle_ms", "log_bytes", "transaction_bytes"]
)
def test_numbers_of_a_wrong_type_or_size(path, name):
    for wrong in ("2", b"2", 1e6, True, None, [1]):
        with pytest.raises(objstore.InvalidArgument, match=f"{name} is an int, not "):
            objstore.open(path, models=[Dog], **{name: wrong})
    for wrong in (-2, 2**64, 2**64 + 1, 2**64 + 100, -(2**64) + 5):
        with pytest.raises(objstore.OutOfRange):
            objstore.open(path, models=[Dog], **{name: wrong})
    assert not path.exists()


@pytest.mark.parametrize("name", sorted(config.LIMITS))
def test_limits_have_the_names_of_the_arguments(path, name):
    for wrong in (-7, -(2**62)):
        with pytest.raises(objstore.OutOfRange, match=f"^{wrong} is not in the range of the limit {name}: "):
            objstore.open(path, models=[Dog], **{name: wrong})
    assert not path.exists()
    # Which each has of its own.
    if not name.endswith("timeout_ms") and not name.startswith("query_") and name != "observer_lag":
        with (
            objstore.open(path, models=[Dog]),
            pytest.raises(objstore.InvalidArgument, match=f"with the limit {name} [0-9]+, not 123456789"),
        ):
            objstore.open(path, models=[Dog], **{name: 123456789})


def test_the_largest_schema_version(path):
    for version in (2**63, 2**64 - 1):
        objstore.open(path, models=[Dog], schema_version=version).close()
    with pytest.raises(objstore.SchemaError):
        objstore.open(path, models=[Dog], schema_version=1)


def test_switches_are_true_or_false(path):
    for wrong in ({"exclusive": 2}, {"without_log": "no"}, {"exclusive": None}):  # 2 would switch on something else
        with pytest.raises(objstore.InvalidArgument, match="True or False"):
            objstore.open(path, models=[Dog], **wrong)
    for wrong in ({"primary_key": 2}, {"indexed": "yes"}):
        with pytest.raises(objstore.InvalidArgument, match="True or False"):
            field(**wrong)
    assert not path.exists()


WRONG_SECONDS = [-1, -0.001, float("-inf"), float("nan"), "1", True, timedelta(seconds=1)]


@pytest.mark.parametrize("seconds", WRONG_SECONDS, ids=repr)
def test_wrong_timeouts(store, path, seconds):
    for use in (
        lambda: store.write(timeout=seconds),
        lambda: store.write(lambda tx: None, timeout=seconds),
        lambda: store.wait(seconds),
        lambda: objstore.open(path, models=KENNEL, write_timeout=seconds),
        lambda: objstore.open(path, models=KENNEL, durability="relaxed", relaxed=seconds),
    ):
        with pytest.raises(objstore.InvalidArgument, match=r"time-?out|relaxed"):
            use()


@pytest.mark.parametrize("seconds", [None, float("inf"), 1e300, 10**400, 1, 0.001, 0], ids=str)
def test_timeouts(store, path, seconds):
    """Infinity is for ever, as None is."""
    with store.write(timeout=seconds):
        store.add(Dog())
    with objstore.open(path, models=KENNEL, write_timeout=seconds) as other, other.write():
        other.add(Dog())
    with store.observe(Dog, lambda change: None):  # so that there is something to deliver
        assert store.wait(seconds) == 1
    with pytest.raises(objstore.InvalidArgument, match="relaxed is a number of seconds"):
        objstore.open(path, models=KENNEL, durability="relaxed", relaxed=float("inf"))


def test_files_that_this_user_must_not_open(path):
    objstore.open(path, models=[Dog]).close()
    os.chmod(path, 0)

    def child():
        if os.geteuid() == 0:
            os.setuid(65534)
        for use in (
            lambda: objstore.open(path, models=[Dog]),
            lambda: objstore.open(path, mode="immutable"),
            lambda: objstore.verify_file(path),
            lambda: objstore.open(memory="", models=[Dog], seed=path),
        ):
            with pytest.raises(PermissionError) as caught:
                use()
            for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
                assert isinstance(error, objstore.NotPermitted) and isinstance(error, objstore.StorageError)
                assert error.errno == error.system_error == errno.EACCES and "Permission denied" in str(error)

    in_child(child)
    with pytest.raises(objstore.StorageError) as caught:
        objstore.open(path.parent, models=[Dog])
    assert (
        not isinstance(caught.value, PermissionError)
        and caught.value.errno == caught.value.system_error == errno.EISDIR
    )


def test_another_file(path):
    path.write_text("not a store, but a text that is long enough to be looked at\n" * 200)
    with pytest.raises(objstore.NotAStore):
        objstore.open(path, models=[Dog])
    assert path.read_text().startswith("not a store")


@pytest.mark.parametrize("durability", ["full", "relaxed", "none"])
def test_durability(path, durability):
    with objstore.open(path, models=KENNEL, durability=durability, relaxed=0.05) as store:
        before = store.statistics().commits
        for i in range(20):
            with store.write():
                store.add(Person(id=i))
        store.flush()
        statistics = store.statistics()
        assert statistics.commits == before + 20
        assert statistics.durable_version >= statistics.checkpoint_version
        store.checkpoint()
        assert store.statistics().checkpoints >= 1
    with objstore.open(path, models=KENNEL) as store:
        assert store.objects(Person).count() == 20


def test_memory():
    with objstore.open(memory="shared", models=KENNEL) as one, objstore.open(memory="shared", models=KENNEL) as two:
        with one.write():
            one.add(Person(id=1))
        assert two.objects(Person).count() == 1
        with objstore.open(memory="", models=KENNEL) as other:
            assert other.objects(Person).count() == 0
    with objstore.open(memory="shared", models=KENNEL) as again:
        assert again.objects(Person).count() == 0


def test_read_only(path):
    with objstore.open(path, models=[Person]) as store, store.write():
        store.add(Person(id=1))
    for mode in ("read-only", "immutable"):
        with objstore.open(path, models=[Person], mode=mode) as store:
            assert store.get(Person, 1) is not None
            with pytest.raises(PermissionError) as caught:
                with store.write():
                    pass
            assert isinstance(caught.value, objstore.ReadOnly)


def test_schema_changes(path):
    def version(**properties):
        body = {"__annotations__": {"id": int} | {n: t for n, (t, _) in properties.items()}, "__module__": __name__}
        body |= {"id": field(primary_key=True)} | {n: d for n, (_, d) in properties.items()}
        return type(objstore.Model)("Thing", (objstore.Model,), body)

    First, Second, Other = version(), version(size=(int, 7), name=(str | None, None)), version(size=(float, 1.0))
    with objstore.open(path, models=[First]) as store, store.write():
        store.add(First(id=1))
    with pytest.raises(objstore.SchemaError) as caught:
        objstore.open(path, models=[Second])
    assert caught.value.class_name == "Thing"
    with objstore.open(path, models=[Second], schema_version=2) as store:
        assert (store.get(Second, 1).size, store.get(Second, 1).name) == (7, None)
    with pytest.raises(objstore.SchemaError):
        objstore.open(path, models=[Other], schema_version=3)
    with pytest.raises(objstore.SchemaError):
        objstore.open(path, models=[First], schema_version=1)


def test_two_models_of_one_name(path):
    class Dog2(objstore.Model):
        pass

    Dog2.__name__ = "Dog"
    with pytest.raises(objstore.SchemaError, match="two models"):
        objstore.open(path, models=[Dog, Dog2])


def test_a_model_that_was_not_given(path):
    with objstore.open(path, models=[Dog]) as store:
        with pytest.raises(objstore.NoSuchClass, match="opened with Dog, not with Person"):
            store.get(Person, 1)
        with store.write(), pytest.raises(LookupError):
            store.add(Person(id=1))


def test_copy(store, tmp_path):
    with store.write():
        store.create_all(Turtle, [[i, f"turtle {i}"] for i in range(20_000)])
    seen = []
    target = tmp_path / "copy.objstore"
    store.copy_to(target, progress=lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] <= seen[-1][1]
    with pytest.raises(objstore.AlreadyExists):
        store.copy_to(target)
    with objstore.open(target, models=KENNEL) as copy:
        copy.verify()
        assert [t.name for t in copy.objects(Turtle)] == [t.name for t in store.objects(Turtle)]
        assert copy.get(Turtle, 5) != store.get(Turtle, 5)  # another store

    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    with pytest.raises(Enough):
        store.copy_to(tmp_path / "stopped.objstore", progress=stop)
    assert not (tmp_path / "stopped.objstore").exists()
    with pytest.raises(Enough):
        store.verify(progress=stop)
    store.verify()


def test_verify_finds_damage(path):
    with objstore.open(path, models=KENNEL) as store, store.write():
        store.create_all(Turtle, [[i, f"turtle {i:08}"] for i in range(20_000)])
    content = bytearray(path.read_bytes())
    at = content.find(b"turtle 00010000")
    assert at > 0, "the names are not stored as they are: damage something else"
    content[at + 12] ^= 1
    path.write_bytes(content)
    with objstore.open(path, models=KENNEL) as store:
        with pytest.raises(objstore.Corrupt) as caught:
            store.verify()
        assert caught.value.findings and all(isinstance(line, str) for line in caught.value.findings)


def test_a_copied_file_is_another_store(path):
    """Copied as a file, it has the uuid of the original: only open stores are distinguished."""
    with objstore.open(path, models=KENNEL) as store, store.write():
        store.create_all(Person, [[1, "Rex"], [2, "Ella"]])
    other = path.with_name("copy.objstore")
    shutil.copy(path, other)
    with objstore.open(path, models=KENNEL) as live, objstore.open(other, models=KENNEL) as copy:
        theirs = copy.get(Person, 2)
        assert theirs != live.get(Person, 2) and theirs not in live.objects(Person)
        with live.write():
            live.delete(live.get(Person, 2))
            for use in (
                lambda: live.delete(theirs),
                lambda: live.add(theirs),
                lambda: live.add_all(copy.objects(Person), update="modified"),
            ):
                with pytest.raises(objstore.WrongStore):
                    use()
            assert live.add_all([person.detach() for person in copy.objects(Person)], update="modified") == (1, 0, 1)
        assert [p.name for p in live.objects(Person)] == [p.name for p in copy.objects(Person)] == ["Rex", "Ella"]


def test_an_object_of_a_closed_store_belongs_to_none(path):
    """The copy may have got the tag that the closed store had."""
    with objstore.open(path, models=KENNEL) as store:
        with store.write():
            theirs = store.add(Person(id=1))
    other = path.with_name("copy.objstore")
    shutil.copy(path, other)
    with objstore.open(other, models=KENNEL) as copy:
        with copy.write():
            for use in (copy.delete, copy.add):
                with pytest.raises(objstore.Closed):
                    use(theirs)
        assert copy.objects(Person).count() == 1


def test_verify_file_and_salvage(path, tmp_path):
    with objstore.open(path, models=KENNEL) as store:
        with store.write():
            store.create_all(Turtle, [[i, f"turtle {i * 7919 % 20011:08}"] for i in range(20_000)])
        with pytest.raises(objstore.Busy):
            objstore.verify_file(path)
    seen = []
    report = objstore.verify_file(path, progress=lambda done, total: seen.append((done, total)))
    assert report.complete and report.findings == [] and report.classes["Turtle"].objects == 20_000
    assert seen and seen[-1][0] == seen[-1][1]

    content = bytearray(path.read_bytes())
    at = content.find(b"turtle 00010000")
    assert at > 0, "the names are not stored as they are: damage something else"
    content[at + 12] ^= 1
    path.write_bytes(content)
    report = objstore.verify_file(path)
    assert not report.complete and any("class Turtle, property name" in line for line in report.findings)
    target = tmp_path / "salvaged.objstore"
    report = objstore.salvage(path, target)
    assert path.read_bytes() == content
    lost = report.classes["Turtle"].lost_values["name"]
    assert (
        not report.complete
        and 0 < lost <= 4096
        and report.classes["Turtle"].lost == 0
        and report.classes["Turtle"].objects == 20_000
    )
    with objstore.open(target, models=KENNEL) as store:
        store.verify()
        changed = [t for t in store.objects(Turtle) if t.name != f"turtle {t._id * 7919 % 20011:08}"]
        assert len(changed) == lost and all(t.name is None for t in changed)
    with pytest.raises(objstore.AlreadyExists):
        objstore.salvage(path, target)

    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    with pytest.raises(Enough):
        objstore.salvage(path, tmp_path / "stopped.objstore", progress=stop)
    assert not list(tmp_path.glob("stopped*"))
    with pytest.raises(objstore.NotFound):
        objstore.verify_file(tmp_path / "none")
    (tmp_path / "text").write_text("no store")
    with pytest.raises(objstore.NotAStore):
        objstore.salvage(tmp_path / "text", tmp_path / "other")
