"""The names by which pickles know what is in them.

A pickle can be read when classes have changed since (README), and so when the modules of this package have: names in
pickles of objects stay the ones that they had first, wherever it lies now.
"""

import sys

from . import objects
from .objects.state import blank
from .values import counters, elements, object_id

setattr(objects, "blank", blank)
blank.__module__ = objects.__name__
for name, module, pickled in (
    ("counters", counters, counters.Counter),
    ("elements", elements, elements.ObjectSet),
    ("object_id", object_id, object_id.ObjectId),
):
    pickled.__module__ = f"{__package__}.{name}"
    sys.modules[pickled.__module__] = module
