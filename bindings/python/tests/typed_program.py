"""A program as a user writes it. mypy --strict must accept it, and complain exactly where a line says so."""

from __future__ import annotations

import asyncio
import enum
import uuid
from datetime import datetime, timezone
from decimal import Decimal

import objstore
from objstore import (
    Backlinks,
    Float32,
    Index,
    ObjectId,
    any_,
    asc,
    backlinks,
    desc,
    expression,
    field,
    incoming,
    projected,
)


class Color(enum.Enum):
    BROWN = "brown"
    WHITE = "white"


class Dog(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    age: int = field(default=0, indexed=True)
    weight: float | None = None
    data: bytes | None
    born: datetime | None = None
    color: Color = Color.BROWN
    owner: Person | None = None


class Person(objstore.Model):
    name: str = field(full_text=True)
    mail: str | None = field(default=None, unique=True)
    boss: Person | None = None
    dogs: Backlinks[Dog] = backlinks("owner")
    walked: objstore.List[Dog] = field(default_factory=list)
    named: dict[str, Dog | None] = field(default_factory=dict)
    __indexes__ = [Index("name", "mail", unique=True)]


class Order(objstore.Model):
    id: ObjectId = field(primary_key=True)
    price: Decimal
    weight: Float32 = 0.5
    token: uuid.UUID | None = None


class Kennel(objstore.Model):
    name: str
    dogs: list[str] = field(default_factory=list)
    ages: set[int] = field(default_factory=set)
    notes: dict[str, float | None] = field(default_factory=dict)
    walks: objstore.List[datetime] = field(default_factory=list)
    colors: objstore.Set[Color] = field(default_factory=set)
    by_id: objstore.Dict[ObjectId, str]


class Address(objstore.EmbeddedModel):
    city: str = ""


class Guest(objstore.Model):
    id: int = field(primary_key=True, generated=True)
    name: str = ""
    home: Address | None = None
    others: objstore.List[Address] = field(default_factory=list)
    named: dict[str, Address | None] = field(default_factory=dict)
    bed: Kennel | None = field(default=None, on_delete="cascade")


class DogView(objstore.Projection[Dog]):
    title = projected(Dog.name)
    owner_name = projected(Dog.owner, Person.name)
    walks = projected(path="age")


class GuestView(objstore.Projection[Guest]):
    city = projected(Guest.home, Address.city)
    cities = projected(Guest.others, Address.city)
    named = projected(Guest.named, Address.city)


MODELS = [Dog, Person, Order, Kennel, Address, Guest]


def projections(store: objstore.Store) -> None:
    """Views of objects."""
    views: objstore.ProjectedResults[DogView] = store.objects(DogView).where(Dog.age < 20).order_by(Dog.name)
    titles: list[str] = [view.title for view in views]
    first: DogView | None = views.first()
    with store.write():
        view = DogView(store.add(Dog(id=30, name="Bo", data=None)))
        view.title = "Bobo"
        base: Dog = view.base
        guest = GuestView(store.add(Guest(name="Ann", others=[Address(city="Rome")])))
        guest.cities[0] = "Oslo"
    homes: objstore.LiveTable[Address] = guest.base.others.live([Address.city])
    homes.close()
    name: str | None = view.owner_name
    cities: objstore.ProjectedList[str] = guest.cities
    named: list[str | None] = list(guest.named)
    thawed: DogView | None = view.freeze().thaw()
    some: list[DogView] = views[:2]

    def told(change: objstore.ProjectedChanges[DogView]) -> None:
        print([each.title for each in change.modified])

    with views.observe(told, keys=["title"]), view.observe(told, keys=[DogView.title]):
        store.deliver()
    print(titles, first, base.name, name, cities[0], named, thawed, some, guest.city)
    view.title = 5  # error: assignment
    view.titel  # error: attr-defined
    first.title  # error: union-attr
    DogView(guest.base)  # error: arg-type
    view.observe(lambda: None)  # error: arg-type, misc
    guest.cities[0] = 5  # error: call-overload, assignment
    store.objects(str)  # error: type-var, call-overload


def nested(store: objstore.Store) -> None:
    """Embedded objects, values and copies."""
    with store.write():
        guest = store.add(Guest(name="Ann", home=Address(city="Rome"), others=[Address()]))
        guest.home = Address(city="Bern")
        guest.others.append(Address(city="Oslo"))
        guest.named["x"] = None
        parent: objstore.Model | None = guest.others[0].parent
        made: Guest = store.create(Guest, {"name": "Bob", "home": {"city": "Rome"}}, exact=False)
        copy: Guest = store.copy(Guest.from_values([7, "Eve"]), update="modified")
        number: int = copy.id
    loose: Guest = made.detach(depth=1)
    all_of_them: list[Guest] = store.objects(Guest).detach()
    print(parent, number, loose.name, len(all_of_them))
    Guest(name="Ann", home="Rome")  # error: arg-type
    Guest(nmae="Ann")  # error: call-arg
    made.home.city  # error: union-attr
    guest.parent  # error: attr-defined
    field(on_delete="nothing")  # error: call-overload


def collections(kennel: Kennel) -> None:
    """The builtin names are what checkers take for builtin ones; List, Set and Dict say what they are."""
    kennel.dogs.append("Rex")
    kennel.dogs = [*kennel.dogs, "Max"]
    kennel.ages |= {1, 2}
    kennel.notes["a"] = None
    kennel.walks = (datetime.now(timezone.utc) for _ in range(2))
    kennel.walks += kennel.walks[:1]
    kennel.walks.move(0, 1)
    kennel.colors = [Color.BROWN]
    kennel.colors |= {Color.WHITE}
    kennel.by_id.update({ObjectId(): "x"})
    first: str = kennel.dogs[0]
    walk: datetime = kennel.walks[0]
    walks: list[datetime] = kennel.walks[1:]
    colors: set[Color] = kennel.colors | {Color.BROWN}
    texts: list[str] = list(kennel.by_id.values())
    note: float | None = kennel.notes.get("a")
    names: list[str] = [color.value for color in kennel.colors]
    live: objstore.List[datetime] = kennel.walks
    live.sort(key=lambda when: when.timestamp())
    print(first, walk, walks, colors, texts, note, names, kennel.by_id.pop(ObjectId(), None))
    kennel.dogs.append(5)  # error: arg-type
    kennel.walks = ["x"]  # error: list-item
    kennel.walks.append("x")  # error: arg-type
    kennel.ages = {"x"}  # error: arg-type
    kennel.by_id = {"x": "y"}  # error: dict-item
    kennel.colors.add("brown")  # error: arg-type


def queries(store: objstore.Store) -> None:
    """What a checker takes for a comparison of values is a condition."""
    dogs: objstore.Results[Dog] = store.objects(Dog).where(
        (Dog.age < 2) & ~(Dog.name == "Rex"), Dog.color != Color.BROWN
    )
    heavy = expression(Dog.weight) > 2.5
    condition: objstore.Condition = heavy | expression(Dog.name).contains("x", case=False)
    twice: objstore.Expression = expression(Dog.weight) * 2 + Dog.age
    some = dogs.where(condition, twice <= 7).order_by(Dog.name, desc(Dog.age), asc("id", case=True)).limit(5).offset(1)
    names: list[str] = [dog.name for dog in some.distinct(Dog.name)]
    walked: Person | None = store.objects(Person).where(any_(Person.walked) == dogs.first()).first()
    text: str = dogs.filter("age < $0 SORT(age DESC)", 2).query_text()
    plan: objstore.Plan = dogs.where(Dog.age < 2).explain(run=True)
    kinds: tuple[str, int | None, tuple[str, ...]] = (plan.access, plan.estimate, plan.steps)
    print(names, walked, text, kinds, str(plan), expression(Dog.name).in_(["x"]), expression(Dog.age).between(1, 2))
    words: objstore.Condition = expression(Person.name).search("ann -mei*")
    far = words & any_(Person.walked).name.contains("x") & (expression(Person.walked).max(Dog.age) > 3)
    often: objstore.Expression = expression(Person.walked).where(Dog.age > 2, Dog.name == "Rex").count
    people = store.objects(Person).where(far, often > 2, incoming(Dog.owner).count == 0)
    print(people, expression(Dog.owner).boss.name == "Ann", Person.name == "Ann", expression(Person.named).keys)
    far.where(Dog.age > 2)  # error: attr-defined
    if walked is not None:
        young: objstore.Results[Dog] = walked.walked.where(Dog.age < 2).order_by(Dog.name)
        years: int = walked.walked.objects().sum(Dog.age)
        print(young, years)
    kennel = store.objects(Kennel)[0]
    late: objstore.ValueResults[datetime] = kennel.walks.where(objstore.value > kennel.walks[0]).order_by()
    last: datetime | None = late.max()
    shown: list[Color] = list(kennel.colors.distinct().limit(2))
    named_so: objstore.ValueResults[str] = kennel.by_id.filter("@self BEGINSWITH $0", "x")
    print(last, shown, named_so.places())
    wrong: objstore.Results[Dog] = kennel.walks.limit(1)  # error: assignment
    dogs.where("age < 2")  # error: arg-type
    dogs.filter(Dog.age < 2)  # error: arg-type
    dogs.limit("2")  # error: arg-type
    desc(Dog.age, case="no")  # error: arg-type
    dogs.explain(True)  # error: call-arg


async def asynchronous(dogs: objstore.Results[Dog]) -> None:
    async for change in dogs.changes():
        names: list[str] = [dog.name for dog in change.modified]
        print(change.is_initial, names)
        break


async def waiting(store: objstore.Store, dog: Dog) -> None:
    rex: Dog = await store.write_async(lambda tx: store.add(Dog(id=20, data=b"")), allow_grouping=True, timeout=5)
    async with store.write_async(timeout=None) as tx:
        rex.age = int(tx.is_open)
    both: tuple[Dog, int] = await asyncio.gather(
        store.write_async(lambda tx: rex), store.write_async(lambda tx: tx.version())
    )
    version: int = store.submit_write(lambda tx: tx.version()).result()
    print(both, version, store.is_writing_async)

    @store.transactional
    def aged(tx: objstore.Transaction, of: Dog, years: int = 1) -> int:
        of.age += years
        return of.age

    @store.transactional
    async def named(tx: objstore.Transaction, of: Dog, *, name: str) -> Dog:
        of.name = name
        return of

    age: int = aged(dog, years=2)
    again: Dog = await named(dog, name="Rex")
    there: Dog | None = objstore.Reference(again).resolve()
    thawed: Dog | None = again.freeze().thaw()
    frozen: objstore.Results[Dog] = store.objects(Dog).freeze()
    print(age, there, thawed, frozen.is_frozen, store.resolve(objstore.Reference(dog)))
    aged(dog, years="2")  # error: arg-type
    await named(dog)  # error: call-arg
    there.name  # error: union-attr
    store.write_async(allow_grouping=True)  # error: call-overload
    store.submit_write("body")  # error: arg-type


def main(path: str) -> None:
    with objstore.open(path, models=MODELS) as store:
        with store.write() as tx:
            dog = store.add(Dog(id=1, name="Rex", data=None), update="modified")
            dog.age += 1
            counts = store.add_all([Dog(id=2, data=b"", born=datetime.now(timezone.utc), color=Color.WHITE)])
            print(counts.created, tx.is_open)
        created = store.write(lambda tx: store.create(Dog, {"id": 3, "name": "Max"}))
        name: str = created.name
        found = store.get(Dog, 1)
        if found is not None:
            weight: float | None = found.weight
            print(weight, found.detach().name, found.freeze().color.value)
        with store.write():
            created.owner = store.add(Person(name="Ann", boss=Person(name="Bob")))
        owner = created.owner
        if owner is not None and owner.boss is not None:
            pets: list[str] = [each.name for each in owner.dogs]
            first: Dog | None = owner.dogs.first()
            print(owner.boss.name, pets, len(owner.dogs), first)
            walked: list[str] = [each.name for each in owner.walked]
            named: list[Dog | None] = list(owner.named.values())
            print(walked, named)
        young = store.objects(Dog).where(Dog.age < 2)
        names: list[str] = [each.name for each in young]
        total: int = young.sum(Dog.age)
        print(young.sum("age") + 1, young.min("age"), young.max("age"))
        oldest: int | None = young.max(Dog.age)
        some: list[Dog] = young[1:3]
        print(name, names, total, oldest, some, young[0].age, store.statistics().file_bytes)
        with store.freeze() as frozen:
            print(frozen.objects(Dog).filter("age < $0", 2).count())

        def told(change: objstore.Changes[Dog]) -> None:
            positions: list[int] = change.insertions
            print(positions, [dog.name for dog in change.inserted], change.before.get(Dog, 1))

        token: objstore.Token = young.observe(told, keys=["age", Dog.name])
        with token, found.observe(told) if found else token:
            count: int = store.wait(0)
            print(count, store.deliver(), store.notify_fd)
        typed = store.observe_typed(Dog, ["id", "weight"], "i64, f64? -> status", lambda id, weight: 0)
        typed.close()
        with store.bind_write_body(lambda tx: store.delete_all(Person)) as bound:
            address: int = bound.address
            print(address)
        with store.write():
            order = store.add(Order(id=ObjectId(), price=Decimal("12.50"), token=uuid.uuid4()))
            order.weight = order.weight * 2
        dear: objstore.Results[Order] = store.objects(Order).where(Order.price > Decimal(5))
        most: Decimal | None = dear.max(Order.price)
        made: datetime = dear[0].id.timestamp
        weights: float = dear.sum(Order.weight)
        print(most, made, weights, order.id.hex, store.get(Order, order.id))
        with store.write():
            kennel = store.add(Kennel(name="K", dogs=["a"], walks=iter([datetime.now(timezone.utc)]), by_id={}))
            collections(kennel)
        kennel.walks.observe(lambda change: print(change.insertions, change.moves), initial=False).close()
        kennel.by_id.observe(lambda change: print(change.inserted_keys)).close()
        walks: objstore.LiveTable[datetime] = kennel.walks.live(rows=3)
        entries: objstore.LiveTable[tuple[ObjectId, str]] = kennel.by_id.live(interval=1)
        by_weight: objstore.LiveTable[Dog] = store.objects(Dog).sections(Dog.weight).live([Dog.id], keys=["id"])
        print(walks.update(), entries.is_closed, by_weight.is_closed)
        for table in (walks, entries, by_weight):
            table.close()
        ages, late = young.group_by(Dog.name), kennel.walks.where(objstore.value > datetime.now(timezone.utc))
        ages.observe(lambda change: print(change.changed(0), change.table.columns, change.insertions)).close()
        late.observe(lambda change: print(change.values[0], change.inserted_keys), since=store.bookmark()).close()
        rows: objstore.TableStream = young.select(Dog.name).changes(initial=False)
        values: objstore.ValueStream = late.changes()
        for live in (ages.live(rows=2), ages.table().live(interval=1), late.live()):
            live.close()
        ages.observe(print, keys=["age"])  # error: call-arg
        rows.close()
        values.close()
        stream: objstore.ElementStream = kennel.walks.changes()
        of_dog: objstore.ChangeStream[Dog] = store.changes_of(dog, keys=["age"])
        commits: objstore.CommitStream = store.commits()
        with of_dog, commits, store.write(without_notifying=[of_dog, commits, stream]):
            print(of_dog.lag, commits.bookmark(), stream.is_closed)
        store.changes_of("Rex")  # error: type-var
        stream.close()
        nested(store)
        projections(store)
        queries(store)
        asyncio.run(asynchronous(store.objects(Dog)))
        asyncio.run(waiting(store, dog))
        with store.observe(Dog, told) as other, store.write(without_notifying=[other]) as silent:
            silent.without_notifying(other)
            silent.without_notifying(dog)  # error: arg-type
        person: Person | None = store.find_by(Person, name="Ada", mail="ada@x")
        people: objstore.Results[Person] = store.objects_in(Person, ["name", "mail"], from_=["A"], to=("B", None))
        print(person, [each.mail for each in people])

        Dog(id=1, data=None, nmae="Rex")  # error: call-arg
        Dog(id="1", data=None)  # error: arg-type
        kennel.walks.live(3)  # error: arg-type
        Kennel(name="K", dogs=[5], by_id={})  # error: list-item
        Kennel(name="K", by_id={}, walks=["x"])  # error: list-item
        Kennel(name="K")  # error: call-arg
        Dog(1, "Rex")  # error: misc, call-arg
        Order(id=ObjectId(), price=1.5)  # error: arg-type
        Order(id="x", price=Decimal(1))  # error: arg-type
        order.token = "x"  # error: assignment
        Dog(name="Rex", data=None)  # error: call-arg
        store.find_by(Person, mail="ada@x").name  # error: union-attr
        Index("name", 5)  # error: arg-type
        dog.age = "three"  # error: assignment
        dog.agee  # error: attr-defined
        store.get(Dog, 1).name  # error: union-attr
        young[0].owner.name  # error: union-attr
        created.owner = dog  # error: assignment
        Person(name="Ann", dogs=[])  # error: call-arg
        objstore.open(path, models=[str])  # error: list-item
        young.observe(lambda: None)  # error: arg-type, misc
        young.observe("told")  # error: arg-type
        store.add("dog")  # error: type-var
        store.add(dog, update="sometimes")  # error: arg-type
        objstore.open(path, models=[Dog], durability="much")  # error: arg-type


if __name__ == "__main__":
    import sys

    main(sys.argv[1])
