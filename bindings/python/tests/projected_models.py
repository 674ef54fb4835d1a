"""Classes of the tests of projections, and a store of theirs."""

from collections.abc import Iterator

import objstore
from objstore import Backlinks, backlinks, field, projected


class Address(objstore.EmbeddedModel):
    city: str = ""
    zip: str | None = None


class Person(objstore.Model):
    id: int = field(primary_key=True)
    first_name: str = ""
    last_name: str = field(default="", stored_as="surname")
    age: int = 0
    address: Address | None = None
    boss: "Person | None" = None
    friends: list["Person"]
    named: dict[str, "Person | None"]
    tags: set[str]
    staff: Backlinks["Person"] = backlinks("boss")


class Toy(objstore.Model):
    label: str = ""


class PersonView(objstore.Projection[Person]):
    first_name = projected(Person.first_name)
    home_city = projected(Person.address.city)
    friend_names = projected(Person.friends, Person.first_name)


class Detailed(PersonView):
    """Adds to what its base shows."""

    zip = projected(Person.address, Address.zip)
    surname = projected(path="last_name")
    boss = projected(Person.boss)
    boss_city = projected(path="boss.address.city")
    bosses_friends = projected(Person.boss, Person.friends, Person.first_name)
    staff_names = projected(Person.staff, Person.last_name)
    named = projected(Person.named, Person.first_name)
    friends_cities = projected(Person.friends, Person.address, Address.city)
    tags = projected(Person.tags)
    note = "no property of the store"

    @property
    def title(self):
        return f"{self.first_name} from {self.home_city}"


class ToyView(objstore.Projection[Toy]):
    text = projected(Toy.label)


MODELS = [Person, Address, Toy]


def opened() -> Iterator[objstore.Store]:
    """A store with Jason, his boss and his friends."""
    with objstore.open(memory="", models=MODELS) as made:
        with made.write():
            pam = made.add(Person(id=2, first_name="Pamela", last_name="Landy"))
            marie = made.add(Person(id=3, first_name="Marie", address=Address(city="Goa")))
            made.add(
                Person(
                    id=1,
                    first_name="Jason",
                    last_name="Bourne",
                    age=40,
                    address=Address(city="Zurich"),
                    boss=pam,
                    friends=[marie, Person(id=4, first_name="Nicky")],
                    named={"best": marie, "none": None},
                    tags={"cia"},
                )
            )
        yield made
