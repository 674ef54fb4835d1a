"""What a program that was away asks: bookmarks, versions that are kept, and what was committed since."""

import subprocess
import sys
from pathlib import Path

import pytest

import objstore
from objstore import Dict, List, Set, desc, field


class Dog(objstore.Model):
    name: str = field(primary_key=True)
    age: int = 0
    tags: List[str]


class Person(objstore.Model):
    name: str = field(primary_key=True)
    dogs: List[Dog]
    marks: Set[int]
    notes: Dict[str, str]


MODELS = [Dog, Person]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dogs.objstore"


def opened(path: Path, **options):
    return objstore.open(path, models=MODELS, **options)


def fill(store, count=10):
    with store.write():
        dogs = [store.add(Dog(name=f"d{n}", age=n)) for n in range(count)]
        store.add(Person(name="ann", dogs=dogs[:3], marks={1, 2}, notes={"a": "x"}))


def names(objects):
    return sorted(dog.name for dog in objects)


def test_what_was_committed_since_is_told_after_a_restart(path):
    with opened(path) as store:
        fill(store)
        seen = store.bookmark()
        store.keep_version("index", seen)
        with store.write():
            store.get(Dog, "d1").age = 100
    with opened(path) as store:
        with store.write():
            store.delete(store.get(Dog, "d2"))
            store.add(Dog(name="new"))
    with opened(path) as store:
        changes = []

        def told(change):
            assert not change.is_lost and not change.is_initial
            before = {dog.name: dog.age for dog in change.before.objects(Dog)}
            assert before == {f"d{n}": n for n in range(10)}
            changes.append((names(change.deleted), names(change.inserted), names(change.modified)))

        with store.observe(Dog, told, since=seen), store.objects(Dog).observe(told, since=seen):
            assert store.deliver() == 2
            assert changes == [(["d2"], ["new"], ["d1"])] * 2
            assert store.deliver() == 0
            with store.write():
                store.add(Dog(name="later"))
            seen = store.bookmark()
            # What it knew before is not its begin any more, and it is told as any other.
        store.release_version("index")
        assert store.kept_versions() == []


def test_each_kind_of_observer_begins_where_a_program_stopped(path):
    with opened(path) as store:
        fill(store)
        seen = store.bookmark()
        store.keep_version("replica")
    with opened(path) as store:
        with store.write():
            ann = store.get(Person, "ann")
            ann.dogs.append(store.get(Dog, "d7"))
            ann.dogs.pop(0)
            ann.marks.add(9)
            ann.notes["b"] = "y"
            store.get(Dog, "d9").age = 1
            store.get(Dog, "d1").tags.append("good")
    with opened(path) as store:
        ann, heard = store.get(Person, "ann"), {}

        def observe(name, observed, *arguments, **options):
            def told(change):
                heard[name] = change_of(change)

            return observed.observe(told, *arguments, since=seen, **options)

        def change_of(change):
            if not hasattr(change, "deletions"):
                return change.written(0)
            return change.deletions, change.insertions, change.modifications_after

        tokens = [
            observe("dogs", ann.dogs),
            observe("marks", ann.marks),
            observe("notes", ann.notes),
            observe("sorted", store.objects(Dog).order_by(desc(Dog.age)).limit(3)),
            observe("distinct", store.objects(Dog).where(Dog.age < 3)),
            observe("paths", store.objects(Dog), ["tags"]),
        ]
        object_told, commits = [], []
        tokens.append(ann.observe(lambda change: object_told.append(sorted(change.written(0))), since=seen))
        tokens.append(store.observe_commits(lambda made: commits.append(made.is_initial), since=seen))
        store.deliver()
        # d1 is in the list, and has other tags.
        assert heard["dogs"] == ([0], [2], [0])
        assert heard["marks"] == ([], [2], [])
        assert heard["notes"] == ([], [1], [])
        assert heard["sorted"] == ([0], [2], [])
        assert heard["distinct"] == ([], [3], [1])
        assert heard["paths"] == ([], [], [1])
        assert object_told == [["dogs", "marks", "notes"]]
        assert commits == [False]
        for token in tokens:
            token.close()


def test_a_version_that_nobody_keeps_is_gone(path):
    with opened(path) as store:
        fill(store)
        seen = store.bookmark()
    with opened(path) as store:
        for n in range(3):
            with store.write():
                store.get(Dog, "d1").age = 50 + n
            store.checkpoint()
        with pytest.raises(objstore.VersionGone, match="begin anew"):
            store.at(seen)
        with pytest.raises(objstore.VersionGone):
            store.keep_version("late", seen)
        changes = []

        def told(change):
            changes.append((change.is_lost, change.is_initial, change.deletions, change.insertions))

        with store.objects(Dog).observe(told, since=seen):
            assert store.deliver() == 1
            assert changes == [(True, False, [], [])]
            with store.write():
                store.add(Dog(name="after"))
            assert store.deliver() == 1
            assert changes[1] == (False, False, [], [10])


def test_a_bookmark_of_what_is_now_tells_nothing(path):
    with opened(path) as store:
        fill(store)
        seen = store.bookmark()
    for _ in range(2):  # a checkpoint, and a clean close, change nothing
        with opened(path) as store:
            calls = []
            with store.observe(Dog, calls.append, since=seen):
                assert store.deliver() == 0 and calls == []
            with store.at(seen) as frozen:
                assert len(frozen.objects(Dog)) == 10
            store.checkpoint()


def test_frozen_versions_by_bookmark(path):
    with opened(path) as store:
        fill(store)
        seen = store.bookmark()
        frozen = store.freeze()
        assert frozen.bookmark() == seen and len(seen) == 40
        store.keep_version("a", seen)
        frozen.close()
        with store.write():
            store.delete_everything()
        assert len(store.objects(Dog)) == 0
        with store.at(seen) as then:
            assert names(then.objects(Dog)) == names(f for f in then.objects(Dog)) and len(then.objects(Dog)) == 10
            assert then.bookmark() == seen
            assert then.get(Person, "ann").dogs[0].name == "d0"
        (kept,) = store.kept_versions()
        assert (kept.name, kept.bookmark) == ("a", seen)
        assert kept.version == [pin.version for pin in store.pins() if pin.holder == "kept"][0]


def test_names_move_and_are_limited(path):
    with opened(path) as store:
        fill(store)
        first = store.bookmark()
        store.keep_version("moves")
        with store.write():
            store.get(Dog, "d0").age = 77
        store.keep_version("moves")
        assert [kept.bookmark for kept in store.kept_versions()] == [store.bookmark()]
        with store.write():
            store.get(Dog, "d0").age = 78
        store.checkpoint()
        store.checkpoint()
        with pytest.raises(objstore.VersionGone):
            store.at(first)
        for n in range(15):
            store.keep_version(f"n{n:02}")
        with pytest.raises(objstore.TooManyVersions, match="'moves'.*'n00'"):
            store.keep_version("one more")
        store.keep_version("moves")  # which still can
        store.release_version("n03")
        store.keep_version("one more")
        assert len(store.kept_versions()) == 16
        for kept in store.kept_versions():
            store.release_version(kept.name)
        assert not [pin for pin in store.pins() if pin.holder == "kept"]
        with pytest.raises(objstore.NotFound, match="'moves'"):
            store.release_version("moves")


@pytest.mark.parametrize("name", ["", "x" * 65, "a\0b", 7, None])
def test_bad_names(path, name):
    with opened(path) as store, pytest.raises(objstore.InvalidArgument):
        store.keep_version(name)


def test_longest_name(path):
    with opened(path) as store:
        fill(store)
        store.keep_version("é" * 32)
    with opened(path) as store:
        assert [kept.name for kept in store.kept_versions()] == ["é" * 32]


def test_bad_bookmarks(path, tmp_path):
    with opened(path) as store, opened(tmp_path / "other.objstore") as other:
        fill(store)
        seen = store.bookmark()
        for bad in (b"", seen[:39], seen + b"x", bytes(40), bytes([seen[0] ^ 1]) + seen[1:], "text", 7):
            with pytest.raises(objstore.InvalidArgument):
                store.at(bad)
            with pytest.raises(objstore.InvalidArgument):
                store.observe(Dog, print, since=bad)
        with pytest.raises(objstore.WrongStore, match="another store"):
            other.at(seen)
        with pytest.raises(objstore.WrongStore):
            other.observe(Dog, print, since=seen)
        with store.write():
            store.add(Dog(name="not yet"))
            assert store.bookmark() == seen
            with pytest.raises(objstore.AlreadyInWrite):
                store.keep_version("index")
            with pytest.raises(objstore.AlreadyInWrite):
                store.release_version("index")


def test_a_schema_that_changed_begins_anew(path):
    with opened(path) as store:
        fill(store)
        seen = store.bookmark()
        store.keep_version("index")

    class Cat(objstore.Model):
        name: str

    with objstore.open(path, models=[*MODELS, Cat], schema_version=2) as store:
        lost = []
        with store.objects(Dog).observe(lambda change: lost.append(change.is_lost), since=seen):
            store.deliver()
        assert lost == [True]
        with store.at(seen) as then:
            assert len(then.objects(Dog)) == 10


def test_what_is_observed_was_not_there_yet(path):
    with opened(path) as store:
        fill(store)
        seen = store.bookmark()
        store.keep_version("index")
        with store.write():
            bob = store.add(Person(name="bob"))
        lost = []
        tokens = [
            bob.dogs.observe(lambda change: lost.append(change.is_lost), since=seen),
            bob.observe(lambda change: lost.append(change.is_lost), since=seen),
        ]
        store.deliver()
        assert lost == [True, True]
        for token in tokens:
            token.close()


CHILD = """
import sys, os, objstore
class Dog(objstore.Model):
    name: str = objstore.field(primary_key=True)
    age: int = 0
    tags: objstore.List[str]
class Person(objstore.Model):
    name: str = objstore.field(primary_key=True)
    dogs: objstore.List[Dog]
    marks: objstore.Set[int]
    notes: objstore.Dict[str, str]
store = objstore.open(sys.argv[1], models=[Dog, Person])
if sys.argv[2] == "keep":
    sys.stdout.buffer.write(store.bookmark())
    store.keep_version("child")
    sys.stdout.flush()
else:
    with store.write():
        store.get(Dog, "d5").age += 1
os.kill(os.getpid(), 9)
"""


def child(path, what):
    return subprocess.run([sys.executable, "-c", CHILD, str(path), what], capture_output=True, check=False).stdout


def test_processes_that_are_killed(path):
    with opened(path) as store:
        fill(store)
    seen = child(path, "keep")
    assert len(seen) == 40
    for _ in range(5):
        child(path, "write")
    with opened(path) as store:
        ages = []
        with store.observe(Dog, lambda change: ages.append([(d.name, d.age) for d in change.modified]), since=seen):
            store.deliver()
        assert ages == [[("d5", 10)]]
        # Another process keeps it on, and this one finds it there.
        child(path, "keep")
        assert [kept.name for kept in store.kept_versions()] == ["child"]
        with pytest.raises(objstore.VersionGone):
            store.at(seen)


def program_of_the_document():
    document = Path(__file__).parents[3] / "docs/observing.md"
    if not document.exists():
        pytest.skip("the documents are not here")
    section = document.read_text(encoding="utf-8").partition("\n## Coming back\n")[2]
    return section.partition("```python\n")[2].partition("```")[0]


def test_the_program_of_the_document(path, tmp_path, capsys):
    program, seen = program_of_the_document(), tmp_path / "seen"

    def run(change):
        with opened(path) as store:
            change(store)
        with opened(path) as store:
            exec(program, {"store": store, "seen": seen, "Dog": Dog})
        return capsys.readouterr().out.strip()

    def written(*ages):
        def change(store):
            for age in ages:
                with store.write():
                    store.get(Dog, "d5").age = age

        return change

    assert run(fill) == "all 10"
    assert run(written(7, 8)) == "out 0 in 0 again 1"
    assert run(written()) == ""

    def lose(store):
        store.release_version("index")
        for age in range(3):
            written(age)(store)
            store.checkpoint()

    assert run(lose) == "all 10"
    assert run(written(9)) == "out 0 in 0 again 1"


def test_streams_begin_there(path):
    import asyncio

    with opened(path) as store:
        fill(store)
        seen = store.bookmark()
        store.keep_version("index")
        with store.write():
            store.get(Dog, "d3").age = 1

        async def first():
            async for change in store.objects(Dog).changes(since=seen):
                return change.modifications

        assert asyncio.run(first()) == [3]


def test_space_is_used_again_when_it_is_released(path):
    with opened(path) as store:
        fill(store, 3000)
        store.checkpoint()
        store.keep_version("index")

        def rewritten():
            for n in range(8):
                with store.write():
                    for dog in store.objects(Dog):
                        dog.age = n * 1_000_000
                store.checkpoint()
            return store.statistics().pinned_bytes

        held = rewritten()
        assert held > 0
        store.release_version("index")
        assert rewritten() < held
        store.verify()


def test_in_memory():
    with objstore.open(memory="kept", models=MODELS) as store:
        fill(store)
        seen = store.bookmark()
        store.keep_version("index")
        with store.write():
            store.delete(store.get(Dog, "d0"))
        with store.at(seen) as then:
            assert len(then.objects(Dog)) == 10


def test_read_only(path):
    with opened(path) as store:
        fill(store)
        seen = store.bookmark()
        store.keep_version("index", seen)
    with objstore.open(path, models=MODELS, mode="immutable") as store:
        assert [kept.bookmark for kept in store.kept_versions()] == [seen]
        with store.at(seen) as then:
            assert len(then.objects(Dog)) == 10
        with pytest.raises(objstore.ReadOnly):
            store.keep_version("more")
        with pytest.raises(objstore.ReadOnly):
            store.release_version("index")


def test_what_others_write_makes_no_difference_to_it(path, tmp_path, capsys):
    program = program_of_the_document()

    def run():
        with opened(path) as store:
            names = {"store": store, "Dog": Dog, "seen": tmp_path / "seen"}
            exec(program, names)
            with store.write():
                store.add(Dog(name=f"d{len(store.objects(Dog))}"))
            store.deliver()
            for name in "ab":
                with store.write():
                    store.add(Person(name=name), update="all")
                store.checkpoint()
                store.deliver()
                names["keep"]()
            with store.write():
                store.add(Dog(name=f"d{len(store.objects(Dog))}"))  # while it is away
            names["token"].close()

    with opened(path) as store:
        fill(store, 3)
    for _ in range(3):
        run()
    assert capsys.readouterr().out.splitlines() == ["all 3", "out 0 in 1 again 0"] + ["out 0 in 1 again 0"] * 4


def test_what_an_observer_has_been_told_of(path):
    with opened(path, observer_lag=2) as store:
        fill(store)
        inside = []
        token = store.observe(Dog, lambda change: inside.append((token.bookmark(), change.after.bookmark())))
        other = store.observe(Person, lambda change: None, initial=False)
        begun = token.bookmark()
        assert begun == store.bookmark() == other.bookmark()
        with store.write():
            store.get(Dog, "d1").age = 5
        assert token.bookmark() == begun != store.bookmark()
        store.deliver()
        assert token.bookmark() == other.bookmark() == store.bookmark() and all(a == b for a, b in inside)
        token.pause()
        for age in range(9):
            with store.write():
                store.get(Dog, "d1").age = age
        store.deliver()
        with pytest.raises(objstore.VersionGone, match="too far behind"):
            token.bookmark()
        token.resume()
        store.deliver()
        assert token.bookmark() == store.bookmark()
        token.close()
        with pytest.raises(objstore.Closed):
            token.bookmark()
