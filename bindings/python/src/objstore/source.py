"""What one can ask objects of: an open store, or a frozen version of one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from . import kinds, objects
from .errors import NoSuchClass
from .models import Model
from .results import Results
from .schema import Binding
from .views import Block, Epoch, View

if TYPE_CHECKING:
    from .frozen import Frozen
    from .properties import Property
    from .store import Store

M = TypeVar("M", bound=Model)


class Source:
    """Reading: get() and objects(), which Store and Frozen share."""

    is_frozen = False

    def __init__(self, bindings: Mapping[type, Binding]) -> None:
        self._bindings = bindings

    def get(self, model: type[M], key: Any) -> M | None:
        """The object with this primary key, or None."""
        binding = self._binding(model)
        if type(key) is not binding.key_type:
            key = kinds.convert(binding.primary_key, key)
        view = self._reader()
        found = view.find(binding, key)
        if found is None:
            return None
        made: M = object.__new__(model)
        made._o_block = objects.view_block(view, self, binding)  # so that reading it need not look for a newer version
        made._o_key = found
        made._o_row = 0
        return made

    def objects(self, model: type[M]) -> Results[M]:
        """All objects of a class, in the order of their creation."""
        return Results(self, self._binding(model))

    # For objects and results

    def _binding(self, model: type) -> Binding:
        try:
            return self._bindings[model]
        except KeyError:
            name = getattr(model, "__name__", repr(model))
            known = ", ".join(m.__name__ for m in self._bindings) or "no models"
            raise NoSuchClass(f"the store was opened with {known}, not with {name}", class_name=name) from None

    def _unread(self, binding: Binding) -> Block:
        """A block for objects that nothing is known of yet; each gets one of its own when it is read."""
        return Block(Epoch(False), self, [], None, False)

    def _reader(self) -> View:
        """The view to read through now."""
        raise NotImplementedError

    def _view_for(self, epoch: Epoch) -> View:
        """The same for a block of that epoch: if that is good, without looking for something newer."""
        raise NotImplementedError

    def _lasting(self) -> "Frozen":
        """What it shows now, for as long as somebody wants it; Closed if it shows nothing any more."""
        raise NotImplementedError

    def _observed(self) -> "Store":
        """The store whose changes are meant; WrongView, AlreadyInWrite: observing is not possible here."""
        raise NotImplementedError

    def _writing(self, prop: "Property | None" = None) -> Any:
        """The caller's open transaction; NotInWrite if there is none."""
        raise objects.not_in_write(
            "writing" if prop is None else f"setting {prop.path}",
            None if prop is None else prop.model_name,
            None if prop is None else prop.name,
        )
