"""Names that a property has elsewhere: in a migration what the file calls it, and what the program calls it."""

from typing import Any, NoReturn

from ..errors import NoSuchProperty


class Elsewhere(property):
    """Replaces in a class a property that only the other of the two versions has, and says so."""

    def __init__(self, class_name: str, name: str, message: str) -> None:
        super().__init__(self._refuse, self._refuse_value, None)
        self._class_name = class_name
        self._name = name
        self._message = message

    def _refuse(self, _: object) -> NoReturn:
        raise NoSuchProperty(
            f"{self._class_name}.{self._name} {self._message}", class_name=self._class_name, property_name=self._name
        )

    def _refuse_value(self, obj: object, _: object) -> NoReturn:
        self._refuse(obj)


class Signs:
    """Those of one migration, until it is over."""

    def __init__(self) -> None:
        self._put: list[tuple[type, str, Elsewhere]] = []

    def put(self, model: type, name: str, message: str) -> None:
        """What has the name already keeps it."""
        if not hasattr(model, name):
            sign = Elsewhere(model.__name__, name, message)
            self._put.append((model, name, sign))  # before it is there: a signal handler may raise in between
            setattr(model, name, sign)

    def remove(self) -> None:
        while self._put:
            model, name, sign = self._put[-1]
            found: Any = vars(model).get(name)
            if found is sign:
                delattr(model, name)
            self._put.pop()
