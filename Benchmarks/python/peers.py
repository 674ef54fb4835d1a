"""What each peer of cases.py does, in the way that its users would write it."""

import pathlib
import sqlite3
from dataclasses import dataclass
from typing import Any, Protocol

import objstore
from objstore import field

Row = tuple[int, str, int, float, "str | None"]


class Peer(Protocol):
    """Stores are opened, filled and asked; what get() and query() answer is the sum of ages and lengths of names."""

    name: str

    def version(self) -> str: ...
    def create(self, folder: pathlib.Path) -> Any: ...
    def close(self, store: Any) -> None: ...
    def insert(self, store: Any, rows: list[Row]) -> None: ...
    def sums(self, store: Any) -> tuple[int, int, float]: ...
    def get(self, store: Any, ids: list[int]) -> int: ...
    def update(self, store: Any, scores: list[tuple[int, float]]) -> None: ...
    def query(self, store: Any, below: int) -> int: ...
    def column(self, store: Any) -> Any: ...


class Person(objstore.Model):
    id: int = field(primary_key=True)
    name: str
    age: int = field(indexed=True)
    score: float
    email: str | None = None


class Objstore:
    name = "objstore"

    def version(self) -> str:
        return objstore.__version__

    def create(self, folder: pathlib.Path) -> objstore.Store:
        return objstore.open(folder / "bench.objstore", models=[Person])

    def close(self, store: objstore.Store) -> None:
        store.close()

    def insert(self, store: objstore.Store, rows: list[Row]) -> None:
        with store.write():
            store.create_all(Person, rows)

    def sums(self, store: objstore.Store) -> tuple[int, int, float]:
        people = store.objects(Person)
        return people.count(), people.sum(Person.age), people.sum(Person.score)

    def get(self, store: objstore.Store, ids: list[int]) -> int:
        total = 0
        for i in ids:
            person = store.get(Person, i)
            assert person is not None
            total += person.age + len(person.name)
        return total

    def update(self, store: objstore.Store, scores: list[tuple[int, float]]) -> None:
        with store.write():
            for i, score in scores:
                person = store.get(Person, i)
                assert person is not None
                person.score = score

    def query(self, store: objstore.Store, below: int) -> int:
        total = 0
        for person in store.objects(Person).where(Person.age < below):
            total += person.age + len(person.name)
        return total

    def column(self, store: objstore.Store) -> Any:
        return store.objects(Person).to_numpy("score")


@dataclass(slots=True)
class Plain:
    """An object of a row of SQLite."""

    id: int
    name: str
    age: int
    score: float
    email: str | None


class Sqlite:
    """WAL, synchronous=FULL; the module keeps statements prepared by itself."""

    name = "sqlite"

    def version(self) -> str:
        return sqlite3.sqlite_version

    def create(self, folder: pathlib.Path) -> sqlite3.Connection:
        store = sqlite3.connect(folder / "bench.sqlite")
        (mode,) = store.execute("pragma journal_mode = wal").fetchone()
        assert mode == "wal"
        store.execute("pragma synchronous = full")
        store.execute(
            "create table person (id integer primary key, name text not null, age integer not null, score real not "
            "null, email text)"
        )
        store.execute("create index person_age on person (age)")
        store.commit()
        return store

    def close(self, store: sqlite3.Connection) -> None:
        store.close()

    def insert(self, store: sqlite3.Connection, rows: list[Row]) -> None:
        with store:
            store.executemany("insert into person values (?, ?, ?, ?, ?)", rows)

    def sums(self, store: sqlite3.Connection) -> tuple[int, int, float]:
        found: tuple[int, int, float] = store.execute("select count(*), sum(age), sum(score) from person").fetchone()
        return found

    def get(self, store: sqlite3.Connection, ids: list[int]) -> int:
        total = 0
        for i in ids:
            age, name = store.execute("select age, name from person where id = ?", (i,)).fetchone()
            total += age + len(name)
        return total

    def update(self, store: sqlite3.Connection, scores: list[tuple[int, float]]) -> None:
        with store:
            for i, score in scores:
                store.execute("update person set score = ? where id = ?", (score, i))

    def query(self, store: sqlite3.Connection, below: int) -> int:
        total = 0
        for row in store.execute("select id, name, age, score, email from person where age < ?", (below,)):
            person = Plain(*row)
            total += person.age + len(person.name)
        return total

    def column(self, store: sqlite3.Connection) -> Any:
        import numpy

        return numpy.fromiter(
            (score for (score,) in store.execute("select score from person order by id")), numpy.float64
        )


PEERS: dict[str, Peer] = {peer.name: peer for peer in (Objstore(), Sqlite())}
